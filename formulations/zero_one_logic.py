"""The 0-1 loss machine without a chosen big-M: products and disjunctions.

Cepeda, Gomez & Han 2024, (5), and the same choice as a Pyomo disjunctive program. Both carry
bounds on (w, b) that every optimum satisfies, from a closed-form feasible point, because spatial
branching and the transformations of a disjunction need them.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunct, Disjunction

from formulations.array_var import ArrayVar
from formulations.catalogue import ProblemClass, formulation
from formulations.data import TrainingData
from formulations.hyperplane import (
    add_hyperplane,
    augmented_weight,
    squared_norm,
    weight_and_intercept,
)
from formulations.parameters import add_parameter, flag, one_of, positive
from formulations.rows import dot, rows_by_index
from formulations.zero_one_checks import check_logic

TRANSFORMATIONS = ("bigm", "hull", "mbigm")


@formulation(
    ProblemClass.NONCONVEX,
    "Cepeda, Gomez & Han 2024, (5)",
    paper_class="non-convex MIQCP",
    restates="zero_one_big_m",
    check=check_logic,
    classifier=weight_and_intercept,
)
def zero_one_bilinear(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str = "penalised",
    both_sides: bool = False,
) -> pyo.ConcreteModel:
    """0-1 loss SVM with products instead of a big-M.

        min   ||w||^2 + penalty sum_i z_i,   z_i in {0, 1}
        s.t.  kept[i]      (1 - u_i) (1 - z_i) <= 0        u_i = y_i (<w, x_i> + b)     (5a)
              violated[i]  (1 - u_i) z_i >= 0                                           (5b)

    (5b) is redundant at the optimum; it is written only with both_sides=True.
    """
    flag("both_sides", both_sides)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    _bound_hyperplane(m, data, intercept)
    m.z = ArrayVar(m.I, within=pyo.Binary)
    slack = [1 - _score(m, data, i) for i in m.I]
    m.kept = rows_by_index(m.I, lambda i: slack[i] * (1 - m.z[i]) <= 0)
    if both_sides:
        m.violated = rows_by_index(m.I, lambda i: slack[i] * m.z[i] >= 0)
    m.objective = pyo.Objective(expr=squared_norm(m, intercept) + m.penalty * dot(1.0, m.z))
    return m


@formulation(
    ProblemClass.MIQP,
    "Cepeda, Gomez & Han 2024, sec. 2, as a disjunctive program",
    paper_class="GDP",
    restates="zero_one_big_m",
    check=check_logic,
    classifier=weight_and_intercept,
)
def zero_one_disjunctive(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str = "penalised",
    transformation: str = "bigm",
) -> pyo.ConcreteModel:
    """0-1 loss SVM as a choice for every point: keep it at margin 1, or pay the penalty.

        min   ||w||^2 + penalty sum_i [i dropped]
        s.t.  keep[i]: y_i (<w, x_i> + b) >= 1    or    drop[i]

    Parameters
    ----------
    transformation : "bigm", "hull" or "mbigm"
        What solve() makes of the disjunctions; the model itself stays disjunctive. "mbigm"
        solves small problems for its constants, with HiGHS.
    """
    one_of("transformation", transformation, TRANSFORMATIONS)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    _bound_hyperplane(m, data, intercept)
    m.keep, m.drop = Disjunct(m.I), Disjunct(m.I)
    for i in m.I:
        m.keep[i].margin = pyo.Constraint(expr=_score(m, data, i) >= 1)
    m.choice = Disjunction(m.I, rule=_choice)
    dropped = pyo.quicksum(m.drop[i].binary_indicator_var for i in m.I)
    m.objective = pyo.Objective(expr=squared_norm(m, intercept) + m.penalty * dropped)
    return m


def _choice(m: pyo.ConcreteModel, i: int) -> list[Disjunct]:
    return [m.keep[i], m.drop[i]]


def _score(m: pyo.ConcreteModel, data: TrainingData, i: int) -> pyo.Expression:
    return sum(a * x for a, x in zip(*_row(m, data, i), strict=True))


def _row(m: pyo.ConcreteModel, data: TrainingData, i: int) -> tuple[list[float], list[pyo.Var]]:
    weight = augmented_weight(m)
    point = np.append(data.factor[i], 1.0)[: len(weight)]
    return (data.y[i] * point).tolist(), weight


def _bound_hyperplane(m: pyo.ConcreteModel, data: TrainingData, intercept: str) -> None:
    """Bounds of an optimum: ||w||^2 <= U(penalty), the cost of the better trivial point.

    With a free intercept |b| <= max(1, sqrt(U) max ||x_i|| - 1) keeps an optimum (big_m.py). The
    bounds are expressions of the mutable penalty, so that they stay valid when it changes.
    """
    minority = min(data.n_pos, data.n_neg)
    if intercept == "free":
        cost = m.penalty * minority
    elif intercept == "none" or 1 + pyo.value(m.penalty) * minority > pyo.value(m.penalty) * data.n:
        cost = m.penalty * data.n
    else:
        cost = 1 + m.penalty * minority
    radius = cost**0.5
    for x in m.w.values():
        x.setlb(-radius)
        x.setub(radius)
    if intercept == "penalised":
        m.b.setlb(-radius)
        m.b.setub(radius)
    if intercept == "free":
        reach = 1 + radius * float(np.linalg.norm(data.X, axis=1).max())
        m.b.setlb(-reach)
        m.b.setub(reach)
