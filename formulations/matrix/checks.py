"""Points of the matrix SVM re-evaluated from the data: hinge losses, norms of B, its rank.

With the singular values sigma of B every norm here has a closed form, so that the lifted variables
of a solver play no part in an objective:

    ||B||_F^2  = sum sigma_i^2          ||B||_*  = sum sigma_i
    least tr T of the projection SDP    = least sum sigma_i^2 / p_i, 0 <= p <= 1, sum p <= r
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hyperplane import weight_and_intercept
from tightmargin.formulations.common.intercept_recovery import hinge_intercept
from tightmargin.formulations.common.least_eigenvalue import OUTWARD, UNDERFLOW, growth
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.matrix.shapes import (
    checked_rank,
    checked_shape,
    frame,
    nearest_of_rank,
    numerical_rank,
    singular_values,
    spread_norm,
)
from tightmargin.formulations.modeling.semidefinite import lower_pairs
from tightmargin.formulations.parameters import finite_hyperplane

NO_PART = 1e-14  # of the largest singular value: rounding, for which there is no direction
ROUNDING = 1e-9  # by which the proven ranges of the exact model are widened


@dataclass(frozen=True, eq=False)
class MatrixPoint:
    """B (flat, row by row) and b with what their losses and norms are.

    loss: sum of the hinge losses xi (n,), each times the weight of its point.
    price_of_b: b^2 with a penalised intercept, otherwise 0.
    values (m, n): singular values of B, largest first.
    """

    w: Array
    b: float
    xi: Array
    loss: float
    price_of_b: float
    values: Array
    errors: int

    def facts(self) -> dict[str, Any]:
        """What a reader of a result wants to know."""
        return {
            "errors": self.errors,
            "singular_values": self.values.tolist(),
            "rank": numerical_rank(self.values),
        }


def matrix_point(
    data: TrainingData, w: Array, b: float, shape: tuple[int, int], intercept: str
) -> MatrixPoint:
    """Evaluate a hyperplane; a free intercept is replaced by the best where that is better."""
    scores = data.factor @ w
    xi = np.maximum(0.0, 1 - data.y * (scores + b))
    if intercept == "free":
        best = hinge_intercept(scores, data.y, data.multiplicity)
        better = np.maximum(0.0, 1 - data.y * (scores + best))
        if _loss(data, better) < _loss(data, xi):
            b, xi = best, better
    return MatrixPoint(
        w, b, xi, _loss(data, xi), b * b if intercept == "penalised" else 0.0,
        singular_values(w, *shape), int((data.y * (scores + b) <= 0).sum()),
    )  # fmt: skip


def _loss(data: TrainingData, xi: Array) -> float:
    return float(xi.sum() if data.weights is None else data.weights @ xi)


def bounded_objective(
    data: TrainingData, w: Array, b: float, ridge: float, shape: tuple[int, int], intercept: str
) -> float:
    """Sum of the hinge losses plus ridge / 2 ||B||_F^2 (and b^2 if penalised)."""
    found = matrix_point(data, w, b, shape, intercept)
    return found.loss + ridge / 2 * (float(found.values @ found.values) + found.price_of_b)


def _point(origin: Origin, w: Array, b: float) -> MatrixPoint:
    return matrix_point(origin.data, w, b, _shape(origin), origin.parameters["intercept"])


def _shape(origin: Origin) -> tuple[int, int]:
    return checked_shape(origin.parameters["shape"], origin.data.d)


def _named(origin: Origin, found: MatrixPoint) -> dict[str, Array]:
    named = {"w": found.w, "xi": found.xi}
    return named | ({} if origin.parameters["intercept"] == "none" else {"b": np.array(found.b)})


def _triangle(matrix: Array) -> Array:
    """Entries of the lower triangle in the order of `lower_pairs`."""
    return np.array([matrix[i, j] for i, j in lower_pairs(len(matrix))])


def check_full(origin: Origin, values: Values) -> PaperCheck:
    """Objective from (w, b) alone."""
    found = _point(origin, *weight_and_intercept(origin, values, {}))
    norm = float(found.values @ found.values) + found.price_of_b
    objective = found.loss + origin.parameters["ridge"] / 2 * norm
    return PaperCheck(objective, repaired=_named(origin, found), facts=found.facts())


def known_point(
    data: TrainingData, incumbent: Any, shape: tuple[int, int], rank: int, intercept: str
) -> MatrixPoint:
    """The known point (w, b) of the exact model, cut down to the rank; without one, B = 0."""
    w, b = finite_hyperplane("incumbent", incumbent or (np.zeros(data.d), 0.0), data.d)
    b = 0.0 if intercept == "none" else b
    return matrix_point(data, nearest_of_rank(w, *shape, rank), b, shape, intercept)


def check_bilinear(origin: Origin, values: Values) -> PaperCheck:
    """B = U V' of the bounded rank whatever w says, and the objective there.

    Columns of length 1 are seldom doubles. But the product of any U, V in doubles is that of a QR
    factorisation of U in real numbers, whose frame meets its rows; so the objective is right to
    what rounding takes from that product, from the losses and from the norm.
    """
    shape, ridge = _shape(origin), origin.parameters["ridge"]
    rank = checked_rank(origin.parameters["rank"], *shape)
    _, b = weight_and_intercept(origin, values, {})
    product = np.reshape(values["U"], (shape[0], rank)) @ np.reshape(values["V"], (-1, rank)).T
    U, V = frame(product.ravel(), *shape, rank)
    found = _point(origin, (U @ V.T).ravel(), b)
    norm = float(found.w @ found.w) + found.price_of_b
    error = _product_error(origin, found, U, V)
    return PaperCheck(
        found.loss + ridge / 2 * norm,
        repaired=_named(origin, found) | {"U": U.ravel(), "V": V.ravel()},
        error=error if _is_in_range(origin, found, norm + 2 * error / ridge) else None,
        facts=found.facts(),
    )


def _product_error(origin: Origin, found: MatrixPoint, U: Array, V: Array) -> float:
    """What the objective at the product of U and V may differ by from the one computed."""
    data, ridge = origin.data, origin.parameters["ridge"]
    sizes = (np.abs(U) @ np.abs(V).T).ravel()  # no entry of the product is larger
    losses = 1 + abs(found.b) + np.abs(data.factor) @ sizes
    squares = float(sizes @ sizes) + found.price_of_b
    terms = data.n + data.d + 2 * U.shape[1] + 16
    rounding = growth(terms) * (_loss(data, losses) + ridge / 2 * squares)
    lost = terms**2 * UNDERFLOW * (1 + ridge + float(np.abs(data.factor).max()))
    return OUTWARD * (rounding + lost)


def _is_in_range(origin: Origin, found: MatrixPoint, norm: float) -> bool:
    """Whether entries of B and V of at most this squared norm, and b, are in their ranges."""
    words, shape = origin.parameters, _shape(origin)
    known = known_point(origin.data, words["incumbent"], shape, words["rank"], words["intercept"])
    reach, limit = ranges(origin.data, known, words["ridge"], words["intercept"])
    wider = 1 + ROUNDING / 2
    return norm <= reach**2 * wider and abs(found.b) <= limit * wider


def ranges(data: TrainingData, known: MatrixPoint, ridge: Any, intercept: str) -> tuple[Any, Any]:
    """Bounds on the entries of B and V, and on b, of every point that is no worse than a known one.

    ridge: the bounds are expressions of it.
    """
    norm = float(known.w @ known.w) + known.price_of_b
    reach = (2 * known.loss / ridge + norm) ** 0.5
    longest = math.sqrt(float(np.einsum("ij,ij->i", data.X, data.X).max()))
    return reach, reach if intercept == "penalised" else 1 + longest * reach


def check_projection(origin: Origin, values: Values) -> PaperCheck:
    """The best T and P for B in closed form, and the objective of the SDP there.

    The facts hold the objective of the exact problem at the nearest B of the bounded rank.
    """
    m, n = _shape(origin)
    ridge, intercept = origin.parameters["ridge"], origin.parameters["intercept"]
    rank = checked_rank(origin.parameters["rank"], m, n)
    found = _point(origin, *weight_and_intercept(origin, values, {}))
    left, sizes, right = np.linalg.svd(np.reshape(found.w, (m, n)), full_matrices=False)
    sizes = np.where(sizes > NO_PART * sizes[0], sizes, 0.0)
    norm, p = spread_norm(sizes, rank)
    inside = np.divide(sizes**2, p, out=np.zeros_like(sizes), where=p > 0)
    near = nearest_of_rank(found.w, m, n, rank)
    facts = found.facts() | {
        "trace_P": float(p.sum()),
        "rounded_objective": bounded_objective(
            origin.data, near, found.b, ridge, (m, n), intercept
        ),
    }
    return PaperCheck(
        found.loss + ridge / 2 * (norm + found.price_of_b),
        repaired=_named(origin, found)
        | {"T": _triangle((right.T * inside) @ right), "P": _triangle((left * p) @ left.T)},
        facts=facts,
    )


def check_nuclear(origin: Origin, values: Values) -> PaperCheck:
    """Objective with the sum of the singular values for the traces."""
    m, n = _shape(origin)
    found = _point(origin, *weight_and_intercept(origin, values, {}))
    left, sizes, right = np.linalg.svd(np.reshape(found.w, (m, n)), full_matrices=False)
    norm = float(sizes @ sizes) + found.price_of_b
    words = origin.parameters
    return PaperCheck(
        found.loss + words["ridge"] / 2 * norm + words["tau"] * float(sizes.sum()),
        repaired=_named(origin, found)
        | {"W1": _triangle((left * sizes) @ left.T), "W2": _triangle((right.T * sizes) @ right)},
        facts=found.facts() | {"nuclear_norm": float(sizes.sum())},
    )
