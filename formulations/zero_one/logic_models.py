"""The 0-1 loss machine without a chosen big-M: products and disjunctions.

Cepeda, Gomez & Han 2024, (5), and the same choice as a Pyomo disjunctive program. Both carry
bounds on (w, b) that an optimum satisfies, from the best hyperplane that is known, because spatial
branching and the transformations of a disjunction need them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunct, Disjunction

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values, formulation
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented_weight,
    signed_scores,
    squared_norm,
    weight_and_intercept,
)
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, rows_by_index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import add_parameter, flag, one_of, positive
from tightmargin.formulations.zero_one.checks import KEPT_TOLERANCE, Hyperplane, check_logic
from tightmargin.formulations.zero_one.loss import zero_one_objective
from tightmargin.formulations.zero_one.variable_bounds import bound_hyperplane

TRANSFORMATIONS = ("bigm", "hull", "mbigm", "cuttingplane", "indicator")


def _check_disjunctive(origin: Origin, values: Values) -> PaperCheck:
    """0-1 objective of (w, b); a hyperplane in parts is not shrunk.

    "hull" holds (w, b) as a sum of variables of its own, which a repair of (w, b) leaves behind:
    stretching by a solver's tolerance is within that tolerance, shrinking onto the margin is not.
    """
    checked = check_logic(origin, values)
    if origin.parameters["transformation"] != "hull":
        return checked
    u, w, b = signed_scores(origin.data, values)
    if not np.all((u >= 1) | (u < 1 - KEPT_TOLERANCE)):
        return checked  # some kept point falls short by a tolerance: w was stretched
    words = {word: origin.parameters[word] for word in ("penalty", "intercept")}
    objective = zero_one_objective(origin.data, w, b, **words)
    return replace(checked, objective=objective, repaired={})


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
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """0-1 loss SVM with products instead of a big-M.

        min   ||w||^2 + penalty sum_i z_i,   z_i in {0, 1}
        s.t.  kept[i]      (1 - u_i) (1 - z_i) <= 0        u_i = y_i (<w, x_i> + b)     (5a)
              violated[i]  (1 - u_i) z_i >= 0                                           (5b)

    (5b) is redundant at the optimum; it is written only with both_sides=True.

    Parameters
    ----------
    incumbent : (w, b), optional
        A known hyperplane; its objective is recomputed. The better it is, the tighter are the
        bounds on (w, b) (variable_bounds.py); without one they come from w = 0.
    """
    flag("both_sides", both_sides)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    bound_hyperplane(m, data, intercept, incumbent)
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
    check=_check_disjunctive,
    classifier=weight_and_intercept,
)
def zero_one_disjunctive(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str = "penalised",
    transformation: str = "bigm",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """0-1 loss SVM as a choice for every point: keep it at margin 1, or pay the penalty.

        min   ||w||^2 + penalty sum_i [i dropped]
        s.t.  keep[i]: y_i (<w, x_i> + b) >= 1    or    drop[i]

    Parameters
    ----------
    transformation : "bigm", "hull", "mbigm", "cuttingplane" or "indicator"
        What solve() makes of the disjunctions; the model itself stays disjunctive. "mbigm"
        solves small problems for its constants, with HiGHS; "cuttingplane" solves convex ones,
        with ipopt, and is refused without it. "indicator" keeps the logic and needs no constant:
        SCIP and Gurobi take it.
    incumbent : (w, b), optional
        As for zero_one_bilinear.

    Continuous relaxations. With the bounds l <= (w, b) <= u of both disjuncts and a row
    <a, (w, b)> >= 1, "bigm" takes M = 1 - min <a, .> over the box, and "mbigm", which minimises
    over the other disjunct, finds the same box and the same M: equal bounds. "hull" splits
    (w, b) = p + q with p in (1 - z) box, <a, p> >= 1 - z and q in z box; minimising <a, q> over
    z box alone gives back the row of "bigm", so the bound of "hull" is at least as large, and it
    is larger in general, because p must stay in its own box. "cuttingplane" adds to "bigm" cuts
    that are valid for "hull" and lies between the two. None of them sees two points at once.
    """
    one_of("transformation", transformation, TRANSFORMATIONS)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    bound_hyperplane(m, data, intercept, incumbent)
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
