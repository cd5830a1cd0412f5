"""Soft margin with a ridge on the mean hinge loss: plain, with a kernel, with class weights."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values, formulation
from tightmargin.formulations.common.hinge import hinge_check
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    signed_score,
    squared_norm,
    weight_and_intercept,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, equal_rows, squares
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive


def _check_soft_margin(origin: Origin, values: Values) -> PaperCheck:
    costs = np.full(origin.data.n, 1 / origin.data.n)
    return hinge_check(origin, values, origin.parameters["ridge"], costs)


@formulation(
    ProblemClass.QP,
    "Lee 2020, (4), (5)",
    check=_check_soft_margin,
    classifier=weight_and_intercept,
)
def soft_margin_svc(
    data: TrainingData, *, ridge: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Soft margin as a ridge on the mean hinge loss.

        min   ridge ||w||^2 + (1/n) sum_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i >= 1,   xi_i >= 0

    The same classifier as c_svc with C = 1 / (2 n ridge). Names here -> in the paper:
    ridge -> lambda, n -> m.
    """
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    m.objective = pyo.Objective(expr=m.ridge * squared_norm(m, intercept) + dot(1 / data.n, m.xi))
    return m


def _strictly_inside(_: pyo.ConcreteModel, pi: float) -> bool:
    return 0 < pi < 1


def _weighted_costs(origin: Origin) -> Array:
    pi = origin.parameters["pi"]
    return np.where(origin.data.y > 0, 1 - pi, pi) / origin.data.n


def _check_weighted(origin: Origin, values: Values) -> PaperCheck:
    return hinge_check(origin, values, origin.parameters["ridge"], _weighted_costs(origin))


@formulation(
    ProblemClass.QP,
    "Lee 2020, (10)",
    check=_check_weighted,
    classifier=weight_and_intercept,
)
def weighted_svc(
    data: TrainingData, *, ridge: float, pi: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Soft margin whose sign estimates whether P(Y = 1 | x) exceeds pi.

        min   ridge ||w||^2 + (1/n) [(1 - pi) sum_{y_i = 1} xi_i + pi sum_{y_i = -1} xi_i]
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i >= 1,   xi_i >= 0

    J(f) of the paper is ||w||^2, without the intercept. Names here -> in the paper:
    ridge -> lambda, n -> m.

    Raises
    ------
    ValueError
        pi outside the open interval (0, 1): at its ends one class has no cost.
    """
    if not 0 < positive("pi", pi) < 1:
        raise ValueError(f"pi must lie strictly between 0 and 1, got {pi!r}")
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.pi = pyo.Param(
        initialize=pi, mutable=True, within=pyo.PositiveReals, validate=_strictly_inside
    )
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    positive_loss = dot((data.y > 0) / data.n, m.xi)
    negative_loss = dot((data.y < 0) / data.n, m.xi)
    m.objective = pyo.Objective(
        expr=m.ridge * squared_norm(m, intercept)
        + (1 - m.pi) * positive_loss
        + m.pi * negative_loss
    )
    return m


def representer_weight(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """Classifier of a representer expansion: w = F' alpha in the coordinates of the factor."""
    b = float(values["b"]) if "b" in values else 0.0
    return origin.data.factor.T @ values["alpha"], b


def _check_kernel(origin: Origin, values: Values) -> PaperCheck:
    w, b = representer_weight(origin, values, {})
    checked = _check_soft_margin(origin, {"w": w, "b": np.array(b)})
    return PaperCheck(
        checked.objective, repaired={"xi": checked.repaired["xi"], "v": w}, facts=checked.facts
    )


@formulation(
    ProblemClass.QP,
    "Lee 2020, (8) for the soft margin, corrected",
    takes=(TrainingData, GramData),
    check=_check_kernel,
    classifier=representer_weight,
)
def kernel_soft_margin_svc(
    data: TrainingData | GramData, *, ridge: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Soft margin in the representer form w = sum_j alpha_j psi(x_j).

        min   ridge alpha'G alpha + (1/n) sum_i xi_i
        s.t.  weight[k]   v = F' alpha                     (G = F F', so alpha'G alpha = ||v||^2)
              margin[i]   y_i (<f_i, v> + b) + xi_i >= 1,  xi_i >= 0     (<f_i, v> = (G alpha)_i)

    Corrected: the paper prints 1/2 for 1/n, G alpha_i for (G alpha)_i and no intercept. alpha is
    not unique when G is singular; v and the scores are. Names here -> in the paper:
    ridge -> lambda, n -> m.
    """
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, data.n - 1)
    m.J = pyo.RangeSet(0, data.d - 1)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.alpha, m.v = ArrayVar(m.I), pyo.Var(m.J)
    m.xi = ArrayVar(m.I, lower=0.0)
    score: list = [(data.y[:, None] * data.factor, m.v)]
    norm = squares(m.v)
    if intercept != "none":
        m.b = pyo.Var()
        score.append((data.y, m.b))
        norm = norm + (m.b**2 if intercept == "penalised" else 0)
    m.weight = equal_rows(m.J, [(data.factor.T.copy(), m.alpha), (-1.0, m.v)], 0.0)
    m.margin = AffineRows(m.I, [*score, (1.0, m.xi)], lower=1.0)
    m.objective = pyo.Objective(expr=m.ridge * norm + dot(1 / data.n, m.xi))
    return m
