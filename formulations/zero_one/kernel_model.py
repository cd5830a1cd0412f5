"""The 0-1 loss machine in multipliers: Cepeda, Gomez & Han 2024, (24)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import augmented, norm_of, two_class_formulation
from tightmargin.formulations.common.multipliers import dual_weight
from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.sparse_points import scaled_rows
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, equal_rows, shared
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.zero_one.checks import Hyperplane, candidates, counted_facts
from tightmargin.formulations.zero_one.logic_models import bilinear_model
from tightmargin.formulations.zero_one.loss import EPS


def expansion(data: TrainingData | GramData, w: Array, b: float, intercept: str) -> Array:
    """The least alpha (n,) whose sum_i alpha_i y_i x_i is nearest to w; beside it a priced b."""
    priced = intercept == "penalised"
    points = augmented(data.points, intercept if priced else "none")
    target = np.append(w, b) if priced else w
    return data.y * np.linalg.lstsq(points.T, target, rcond=None)[0]


def _hyperplane(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """w and b that alpha names; a free b is a variable of its own."""
    w = dual_weight(origin, values)
    match origin.parameters["intercept"]:
        case "penalised":
            return w, float(origin.data.y @ values["alpha"])
        case "free":
            return w, float(values["b"])
    return w, 0.0


def _stretch(data: TrainingData, alpha: Array, w: Array, b: float, kept: Mask) -> float:
    """The least factor of alpha and b at which every kept point has margin 1 in exact arithmetic.

    What summing up w, and its scores, may round is taken off first. 1 where there is no factor.
    """
    if not kept.any():
        return 1.0
    sizes = np.abs(data.factor) @ (np.abs(data.factor).T @ np.abs(alpha)) + np.abs(alpha).sum()
    rounding = 2 * (data.n + data.d + 4) * EPS * (sizes + abs(b))
    least = float((data.y * (data.factor @ w + b) - rounding)[kept].min())
    factor = (1 + 4 * EPS) / least if least > 0 else np.inf
    return factor if np.isfinite(factor) else 1.0


def _known(origin: Origin, repaired: Values) -> Iterator[Mapping[str, Sequence[Fraction]]]:
    """The point of alpha in rational numbers, whose w (and b) meet their rows exactly."""
    data = origin.data.points
    shares = [Fraction(a) * int(y) for a, y in zip(repaired["alpha"], data.y, strict=True)]
    columns = augmented(data, origin.parameters["intercept"]).T
    sums = [
        sum((s * Fraction(x) for s, x in zip(shares, row, strict=True)), Fraction(0))
        for row in columns
    ]
    found = {name: [Fraction(float(x)) for x in np.ravel(part)] for name, part in repaired.items()}
    found["w"] = sums[: data.d]
    if origin.parameters["intercept"] == "penalised":
        found["b"] = sums[data.d :]
    yield found


def _check(origin: Origin, values: Values) -> PaperCheck:
    """0-1 objective of the hyperplane that alpha names, stretched until it keeps what is meant."""
    data, intercept = origin.data.points, origin.parameters["intercept"]
    alpha = np.asarray(values["alpha"], dtype=float)
    w, b = _hyperplane(origin, values, {})
    found = []
    for kept in candidates(data.y * (data.factor @ w + b), values, use_z=True):
        factor = _stretch(data, alpha, w, b, kept)
        scaled = {"alpha": alpha * factor, "w": w * factor, "b": np.array(b * factor)}
        z = (data.y * (data.factor @ scaled["w"] + b * factor) < 1).astype(float)
        cost = norm_of(scaled["w"], b * factor, intercept)
        found.append((cost + origin.parameters["penalty"] * data.mass(z > 0), scaled | {"z": z}))
    objective, repaired = min(found, key=lambda each: each[0])
    facts = counted_facts(origin, repaired["w"], float(repaired["b"]), repaired["z"])
    if intercept == "none":
        del repaired["b"]
    return PaperCheck(objective, repaired=repaired, known=_known(origin, repaired), facts=facts)


@two_class_formulation(
    ProblemClass.NONCONVEX,
    "Cepeda, Gomez & Han 2024, (24)",
    paper_class="non-convex MIQCP",
    restates="zero_one_big_m",
    check=_check,
    classifier=_hyperplane,
)
def zero_one_kernel(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """0-1 loss SVM in multipliers, whose hyperplane is w = sum_j alpha_j y_j x_j.

        min   alpha' K alpha + penalty sum_i z_i,   z_i in {0, 1}      K_ij = y_i y_j k(x_i, x_j)
        s.t.  kept[i]      (1 - u_i) (1 - z_i) <= 0                    u_i = (K alpha)_i    (24b)
              violated[i]  (1 - u_i) z_i >= 0                                               (24c)
              weight[j]    w = F' (y o alpha)                          k(x_i, x_j) = <f_i, f_j>

    The rows f_i of a factor F are the points themselves for the linear kernel: alpha' K alpha is
    ||w||^2 and (K alpha)_i is y_i <f_i, w>, so that the n^2 products of (24) are not spelled out
    and a singular K stays semidefinite to the last digit. A penalised b is the weight of the
    constant column, with the row weight_b for b = sum_j y_j alpha_j, and adds 1 to every
    k(x_i, x_j); a free one is a variable beside alpha. An optimal w always is such a sum: another
    part of it would add to the norm and to no score. alpha is not unique when K is singular.

    Parameters
    ----------
    incumbent : (w, b), optional
        As for zero_one_bilinear: for bounds on w, and on b.
    """
    m = bilinear_model(data, penalty, intercept, both_sides=True, incumbent=incumbent)
    m.alpha = ArrayVar(m.I)
    signed = scaled_rows(data.y, data.factor)
    m.weight = equal_rows(m.J, [(shared(signed.T), m.alpha), (-1.0, m.w)], 0.0)
    if intercept == "penalised":
        m.weight_b = pyo.Constraint(expr=dot(data.y, m.alpha) == m.b)
    return m
