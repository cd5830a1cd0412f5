"""The 0-1 loss machine with a big-M: exact, relaxed, and as a weighted hinge.

Cepeda, Gomez & Han 2024, (3), (4) and section 2. The objective is ||w||^2 + penalty * #violations,
without 1/2, and the paper's intercept is the weight of a constant column, hence penalised; Brooks
2011 has 1/2 ||w||^2 + C #violations with a free one: penalty = 2 C and twice the objective.
"""

from __future__ import annotations

import pyomo.environ as pyo
from numpy.typing import ArrayLike

from formulations.array_var import ArrayVar
from formulations.catalogue import ProblemClass, formulation
from formulations.data import TrainingData
from formulations.hyperplane import (
    add_hyperplane,
    signed_score,
    squared_norm,
    weight_and_intercept,
)
from formulations.parameters import add_parameter, positive
from formulations.rows import AffineRows, dot
from formulations.zero_one_checks import (
    Hyperplane,
    add_big_m,
    check_big_m,
    check_relaxed,
    check_weighted_hinge,
)


@formulation(
    ProblemClass.MIQP,
    "Cepeda, Gomez & Han 2024, (3); Brooks 2011",
    paper_class="MIO",
    check=check_big_m,
    classifier=weight_and_intercept,
)
def zero_one_big_m(
    data: TrainingData,
    *,
    penalty: float,
    big_m: ArrayLike | str,
    intercept: str = "penalised",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """0-1 loss SVM: a fixed price for every point inside the margin or beyond.

        min   ||w||^2 + penalty sum_i z_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + M_i z_i >= 1,   z_i in {0, 1}

    Parameters
    ----------
    big_m : number, array (n,) or "derived"
        M_i. "derived" takes the smallest values proven valid from `incumbent` (big_m.py); a
        number that is not proven valid is accepted, and results are upper bounds only.
    incumbent : (w, b), optional
        A known hyperplane, for "derived"; its objective is recomputed. The best closed-form point
        otherwise (solvers.algorithms.incumbent finds better ones).

    Names here -> in the paper: penalty -> lambda, z_i = 1 as soon as y_i f(x_i) < 1.
    """
    m = _without_z(data, penalty, intercept)
    m.z = ArrayVar(m.I, within=pyo.Binary)
    _add_rows(m, data, big_m, intercept, incumbent)
    return m


@formulation(
    ProblemClass.QP,
    "Cepeda, Gomez & Han 2024, (4)",
    relaxes="zero_one_big_m",
    check=check_relaxed,
    classifier=weight_and_intercept,
)
def zero_one_relaxed(
    data: TrainingData,
    *,
    penalty: float,
    big_m: ArrayLike | str,
    intercept: str = "penalised",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """Continuous relaxation of zero_one_big_m: 0 <= z_i <= 1.

        min   ||w||^2 + penalty sum_i z_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + M_i z_i >= 1,   0 <= z_i <= 1

    A lower bound only when M is valid; its value tends to 0 as M grows. Parameters as for
    zero_one_big_m.
    """
    m = _without_z(data, penalty, intercept)
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    _add_rows(m, data, big_m, intercept, incumbent)
    return m


@formulation(
    ProblemClass.QP,
    "Cepeda, Gomez & Han 2024, sec. 2, hinge reading of (4)",
    relaxes="zero_one_big_m",
    check=check_weighted_hinge,
    classifier=weight_and_intercept,
)
def zero_one_hinge(
    data: TrainingData,
    *,
    penalty: float,
    big_m: ArrayLike | str,
    intercept: str = "penalised",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """The relaxation (4) read as a hinge loss: z_i without its upper limit.

        min   ||w||^2 + penalty sum_i xi_i / M_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + M_i z_i >= 1,   z_i >= 0      (xi_i = M_i z_i)

    With one M for all this is c_svc with C = penalty / (2 M), up to the factor 2 in the
    objective. A lower bound only when M is valid: the usual hinge loss is M = 1. Parameters as
    for zero_one_big_m.
    """
    m = _without_z(data, penalty, intercept)
    m.z = ArrayVar(m.I, lower=0.0)
    _add_rows(m, data, big_m, intercept, incumbent)
    return m


def _without_z(data: TrainingData, penalty: float, intercept: str) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    return m


def _add_rows(
    m: pyo.ConcreteModel,
    data: TrainingData,
    big_m: ArrayLike | str,
    intercept: str,
    incumbent: Hyperplane | None,
) -> None:
    add_big_m(m, data, big_m, intercept, incumbent)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (m.big_m, m.z)], lower=1.0)
    m.objective = pyo.Objective(expr=squared_norm(m, intercept) + m.penalty * dot(1.0, m.z))
