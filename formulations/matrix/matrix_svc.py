"""Machines for two classes of matrices: any rank, bounded rank, and convex relaxations of that.

Lee 2020, section 5. A predictor X_i (m x n) is a row x_i of the data, flattened row by row, and the
weights w are B in the same order: <X_i, B> = <x_i, w>. All builders share

    sum_i xi_i + ridge / 2 ||B||_F^2,     y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0

and the exact problem asks for rank(B) <= r besides. Without it c_svc with C = 1 / ridge has the
same solution and 1 / ridge times the objective. A penalised intercept adds ridge / 2 b^2.

The paper's rule r = max_i rank(X_i) says nothing as soon as one X_i has full rank, and no theorem
makes rank(B) <= rank(X_i) hold: r is the user's choice. Misprinted there: the test data of
section 5 is the training data. Names here -> in the paper: ridge -> lambda, rank -> r, n -> N.

With the singular values sigma of B every norm here has a closed form, so that the lifted variables
of a solver play no part in an objective:

    ||B||_F^2  = sum sigma_i^2          ||B||_*  = sum sigma_i
    least tr T of the projection SDP    = least sum sigma_i^2 / p_i, 0 <= p <= 1, sum p <= r
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    complete_plane,
    signed_score,
    squared_norm,
    two_class_formulation,
    weight_and_intercept,
)
from tightmargin.formulations.common.margin_levels import hinge_intercept
from tightmargin.formulations.common.rounding import OUTWARD, UNDERFLOW, growth
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.matrix.shapes import (
    Shape,
    beside,
    checked_rank,
    checked_shape,
    complete_nuclear,
    complete_projection,
    frame,
    nearest_of_rank,
    numerical_rank,
    shape_of,
    singular_values,
)
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, squares
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.cones import lower_pairs, psd
from tightmargin.formulations.parameters import add_parameter, finite_hyperplane, positive

# --- Points of the matrix SVM re-evaluated from the data: hinge losses, norms of B, its rank -----

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
    return matrix_point(origin.data, w, b, shape_of(origin), origin.parameters["intercept"])


def _named(origin: Origin, found: MatrixPoint) -> dict[str, Array]:
    return complete_plane(origin, found.w, found.b) | {"xi": found.xi}


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
    shape, ridge = shape_of(origin), origin.parameters["ridge"]
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
    words, shape = origin.parameters, shape_of(origin)
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
    m, n = shape_of(origin)
    ridge, intercept = origin.parameters["ridge"], origin.parameters["intercept"]
    rank = checked_rank(origin.parameters["rank"], m, n)
    found = _point(origin, *weight_and_intercept(origin, values, {}))
    norm, lifted, trace = complete_projection(found.w, m, n, rank)
    near = nearest_of_rank(found.w, m, n, rank)
    facts = found.facts() | {
        "trace_P": trace,
        "rounded_objective": bounded_objective(
            origin.data, near, found.b, ridge, (m, n), intercept
        ),
    }
    return PaperCheck(
        found.loss + ridge / 2 * (norm + found.price_of_b),
        repaired=_named(origin, found) | lifted,
        facts=facts,
    )


def check_nuclear(origin: Origin, values: Values) -> PaperCheck:
    """Objective with the sum of the singular values for the traces."""
    m, n = shape_of(origin)
    found = _point(origin, *weight_and_intercept(origin, values, {}))
    nuclear, lifted = complete_nuclear(found.w, m, n)
    norm = float(found.values @ found.values) + found.price_of_b
    words = origin.parameters
    return PaperCheck(
        found.loss + words["ridge"] / 2 * norm + words["tau"] * nuclear,
        repaired=_named(origin, found) | lifted,
        facts=found.facts() | {"nuclear_norm": nuclear},
    )


# --- Machines for predictors that are matrices, with a bound on the rank of the weight matrix ----


def hinge_model(data: TrainingData, ridge: float, intercept: str) -> pyo.ConcreteModel:
    """Variables w, b, xi and the rows `margin`."""
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    return m


def with_b(m: pyo.ConcreteModel, norm: Any, price: Any, intercept: str) -> Any:
    """A priced norm of B, plus the price times b^2 when the intercept is penalised."""
    return norm + price * m.b**2 if intercept == "penalised" else norm


def _triangle(m: pyo.ConcreteModel, name: str, order: int) -> list[list[Any]]:
    """Add a symmetric matrix as the variable of its lower triangle; returns the rows of that."""
    index = pyo.Set(initialize=lower_pairs(order), dimen=2)
    m.add_component(f"{name}_index", index)
    entries = ArrayVar(index)
    m.add_component(name, entries)
    return [[entries[i, j] for j in range(i + 1)] for i in range(order)]


def _half_trace(price: pyo.Param, *triangles: list[list[Any]]) -> Any:
    """price / 2 times the sum of the traces of lower triangles, term by term.

    A price in front of the sum would be multiplied by its constant 0, and an infinite one that
    somebody sets in place has to be found out.
    """
    return pyo.quicksum(0.5 * price * row[-1] for triangle in triangles for row in triangle)


@two_class_formulation(
    ProblemClass.QP,
    "Lee 2020, sec. 5, without the rank bound",
    relaxes="matrix_svc_bilinear",
    check=check_full,
    takes=(TrainingData,),
)
def matrix_svc_full(
    data: TrainingData, *, ridge: float, shape: Shape, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Matrix SVM with B of any rank.

        min   sum_i xi_i + ridge/2 ||B||_F^2
        s.t.  margin[i]   y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0

    The weakest bound on matrix_svc_bilinear, and its optimum when B happens to have that rank.

    Parameters
    ----------
    shape : "3x4" or (3, 4)
        Rows and columns of a predictor; their product is the number of features.

    Raises
    ------
    ValueError
        A shape that does not fit the data.
    """
    checked_shape(shape, data.d)
    m = hinge_model(data, ridge, intercept)
    m.objective = pyo.Objective(
        expr=dot(data.multiplicity, m.xi) + 0.5 * m.ridge * squared_norm(m, intercept)
    )  # fmt: skip
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Lee 2020, sec. 5; rank bound relaxed through projections",
    relaxes="matrix_svc_bilinear",
    check=check_projection,
    takes=(TrainingData,),
)
def matrix_svc_projection(
    data: TrainingData, *, ridge: float, shape: Shape, rank: int, intercept: str = "free"
) -> pyo.ConcreteModel:
    """SDP bound on matrix_svc_bilinear: the projection onto the columns of B is relaxed.

        min   sum_i xi_i + ridge/2 tr T
        s.t.  margin[i]   y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0
              outer       [[T, B'], [B, P]] is semidefinite
              inside      I - P is semidefinite
              spend       tr P <= rank

    A B of rank r meets the rows with T = B'B and P the projection onto its columns. The least tr T
    is a function of the singular values of B alone, the squared k-support norm at k = rank, which
    is the nuclear norm squared at rank 1: the largest convex function of B that is at most
    ||B||_F^2 on the matrices of that rank.

    Parameters and errors as for matrix_svc_bilinear.
    """
    rows, columns = checked_shape(shape, data.d)
    r = checked_rank(rank, rows, columns)
    m = hinge_model(data, ridge, intercept)
    T, P = _triangle(m, "T", columns), _triangle(m, "P", rows)
    psd(m, "outer", beside(list(m.w.values()), T, P))
    psd(m, "inside", [[(1.0 if i == j else 0.0) - x for j, x in enumerate(row)]
                      for i, row in enumerate(P)])  # fmt: skip
    m.spend = pyo.Constraint(expr=pyo.quicksum(P[i][i] for i in range(rows)) <= r)
    norm = with_b(m, _half_trace(m.ridge, T), 0.5 * m.ridge, intercept)
    m.objective = pyo.Objective(expr=dot(data.multiplicity, m.xi) + norm)
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Lee 2020, sec. 5; a nuclear norm in place of the rank bound",
    check=check_nuclear,
    takes=(TrainingData,),
)
def matrix_svc_nuclear(
    data: TrainingData, *, ridge: float, shape: Shape, tau: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Matrix SVM with a price on the nuclear norm: another model, and no bound on a rank.

        min   sum_i xi_i + ridge/2 ||B||_F^2 + tau/2 (tr W1 + tr W2)
        s.t.  margin[i]   y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0
              outer       [[W1, B], [B', W2]] is semidefinite

    The least half trace is ||B||_*, the sum of the singular values. A larger tau sets more of them
    to 0, but no tau stands for a rank: the value of this model is neither below nor above that of
    matrix_svc_bilinear in general.

    Parameters
    ----------
    shape : "3x4" or (3, 4)
        Rows and columns of a predictor; their product is the number of features.
    tau : float
        Price of the nuclear norm, positive; matrix_svc_full is the limit 0.
    """
    rows, columns = checked_shape(shape, data.d)
    m = hinge_model(data, ridge, intercept)
    add_parameter(m, "tau", positive("tau", tau))
    W1, W2 = _triangle(m, "W1", rows), _triangle(m, "W2", columns)
    psd(m, "outer", beside(list(m.w.values()), W2, W1))
    m.objective = pyo.Objective(
        expr=dot(data.multiplicity, m.xi)
        + 0.5 * m.ridge * squared_norm(m, intercept)
        + _half_trace(m.tau, W1, W2)
    )  # fmt: skip
    return m


# --- The matrix SVM with a bound on the rank of B, exact: B = U V' with orthonormal columns of U


@two_class_formulation(
    ProblemClass.NONCONVEX,
    "Lee 2020, sec. 5",
    paper_class="rank-constrained",
    check=check_bilinear,
    takes=(TrainingData,),
)
def matrix_svc_bilinear(
    data: TrainingData,
    *,
    ridge: float,
    shape: Shape,
    rank: int,
    intercept: str = "free",
    incumbent: tuple[Any, float] | None = None,
) -> pyo.ConcreteModel:
    """Matrix SVM with rank(B) <= rank, exact: B = U V' with orthonormal columns of U.

        min   sum_i xi_i + ridge/2 ||V||_F^2                        (||V||_F = ||B||_F)
        s.t.  margin[i]      y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0
              product[p,q]   B_pq = sum_k U_pk V_qk                  B_pq is w[p n + q]
              frame[k,l]     sum_p U_pk U_pl = 1 if k = l else 0
              U_pk = 0 for p < k, U_kk >= 0

    The last row takes one of the pairs (U Q, V Q), Q orthogonal, that have the same product: a QR
    factorisation of the top of U finds the Q. Every B that is no worse than a known point with sum
    of losses E and norm N has ridge/2 ||B||_F^2 <= E + ridge/2 N^2, hence

        |V_qk|, |B_pq| <= sqrt(2 E / ridge + N^2),     |U_pk| <= 1,

    and with a free intercept some best b is one of the y_i - <X_i, B>, so that
    |b| <= 1 + max_i ||X_i||_F sqrt(2 E / ridge + N^2); a penalised one counts in the norm.

    Parameters
    ----------
    shape : "3x4" or (3, 4)
        Rows and columns of a predictor; their product is the number of features.
    rank : int
        From 1 to min(m, n).
    incumbent : (w, b), optional
        The known point, cut down to the rank; its objective is recomputed, and it is where a
        solver starts. By default B = 0. tightmargin.solvers.matrix.alternating finds better ones.

    Raises
    ------
    ValueError
        A shape that does not fit the data, a rank out of its range.
    """
    rows, columns = checked_shape(shape, data.d)
    r = checked_rank(rank, rows, columns)
    known = known_point(data, incumbent, (rows, columns), r, intercept)
    m = hinge_model(data, ridge, intercept)
    _add_factors(m, (rows, columns), r)
    _add_ranges(m, data, known, intercept)
    _start(m, known.w, known.b, known.xi, (rows, columns), r)
    norm = with_b(m, 0.5 * m.ridge * squares(m.V), 0.5 * m.ridge, intercept)
    m.objective = pyo.Objective(expr=dot(data.multiplicity, m.xi) + norm)
    return m


def _add_factors(m: pyo.ConcreteModel, shape: tuple[int, int], rank: int) -> None:
    """Variables U, V and the rows `product` and `frame`."""
    m.M, m.N = (pyo.RangeSet(0, size - 1) for size in shape)
    m.K = pyo.RangeSet(0, rank - 1)
    m.U, m.V = pyo.Var(m.M, m.K), pyo.Var(m.N, m.K)
    for p, k in m.U:
        m.U[p, k].setlb(0.0 if p <= k else -1.0)
        m.U[p, k].setub(0.0 if p < k else 1.0)
    m.product = pyo.Constraint(m.M, m.N)
    for p, q in itertools.product(m.M, m.N):
        B = pyo.quicksum(m.U[p, k] * m.V[q, k] for k in m.K)
        m.product[p, q] = m.w[p * shape[1] + q] == B
    m.frame_index = pyo.Set(initialize=lower_pairs(rank), dimen=2)
    m.frame = pyo.Constraint(m.frame_index)
    for k, j in m.frame_index:
        inner = pyo.quicksum(m.U[p, k] * m.U[p, j] for p in m.M)
        m.frame[k, j] = inner == (1.0 if k == j else 0.0)


def _add_ranges(
    m: pyo.ConcreteModel, data: TrainingData, known: MatrixPoint, intercept: str
) -> None:
    """Proven ranges of B, V and b, functions of ridge, so that a sweep keeps them true."""
    reach, limit = ((1 + ROUNDING) * end for end in ranges(data, known, m.ridge, intercept))
    for variable in (*m.w.values(), *m.V.values()):
        variable.setlb(-reach)
        variable.setub(reach)
    if intercept != "none":
        m.b.setlb(-limit)
        m.b.setub(limit)


def _start(
    m: pyo.ConcreteModel, w: Array, b: float, xi: Array, shape: tuple[int, int], rank: int
) -> None:
    """Give the variables the values of the known point."""
    U, V = frame(w, *shape, rank)
    for variable, numbers in ((m.w, w), (m.U, U), (m.V, V)):
        for entry, number in zip(variable.values(), np.ravel(numbers).tolist(), strict=True):
            entry.set_value(number)
    m.xi.load(xi)
    if m.find_component("b") is not None:
        m.b.set_value(b)
