"""The 0-1 loss machine with a big-M: exact, relaxed, and as a weighted hinge.

Cepeda, Gomez & Han 2024, (3), (4) and section 2. The objective is ||w||^2 + penalty * #violations,
without 1/2, and the paper's intercept is the weight of a constant column, hence penalised; Brooks
2011 has 1/2 ||w||^2 + C #violations with a free one: penalty = 2 C and twice the objective.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    signed_score,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, rows_by_index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import add_parameter, positive
from tightmargin.formulations.zero_one.checks import (
    add_big_m,
    check_big_m,
    check_relaxed,
    check_weighted_hinge,
    doubted,
)
from tightmargin.formulations.zero_one.slack_bounds import Hyperplane, SlackBounds, stated_bounds


@two_class_formulation(
    ProblemClass.MIQP,
    "Cepeda, Gomez & Han 2024, (3); Brooks 2011",
    paper_class="MIO",
    check=doubted(check_big_m),
)
def zero_one_big_m(
    data: TrainingData | GramData,
    *,
    penalty: float,
    big_m: ArrayLike | str,
    intercept: str = "penalised",
    incumbent: Hyperplane | None = None,
    slack_bounds: SlackBounds | Mapping[str, Any] | str | None = None,
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
        otherwise (tightmargin.solvers.zero_one.heuristic finds better ones).
    slack_bounds : SlackBounds or "derived", optional
        What holds at some optimum (slack_bounds.py;
        tightmargin.cuts.bound_tightening.tighten.tighten proves it). "derived" then takes M_i from
        it, the bounds of z_i decide what it decides, and its conflicts become rows
            conflict[k]   sum_{i in S_k} z_i >= 1

    Names here -> in the paper: penalty -> lambda; z_i = 1 as soon as y_i f(x_i) < 1, not below 0
    only; at 1 either z_i is allowed, and 0 is cheaper. On a kernel matrix w has an entry for each
    column of its factor.
    """
    m = _without_z(data, penalty, intercept)
    m.z = ArrayVar(m.I, within=pyo.Binary)
    bounds = _add_rows(m, data, big_m, intercept, incumbent, slack_bounds)
    if bounds is not None:
        _add_statements(m, bounds)
    return m


@two_class_formulation(
    ProblemClass.QP,
    "Cepeda, Gomez & Han 2024, (4)",
    relaxes="zero_one_big_m",
    check=doubted(check_relaxed),
)
def zero_one_relaxed(
    data: TrainingData | GramData,
    *,
    penalty: float,
    big_m: ArrayLike | str,
    intercept: str = "penalised",
    incumbent: Hyperplane | None = None,
    slack_bounds: SlackBounds | Mapping[str, Any] | str | None = None,
) -> pyo.ConcreteModel:
    """Continuous relaxation of zero_one_big_m: 0 <= z_i <= 1.

        min   ||w||^2 + penalty sum_i z_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + M_i z_i >= 1,   0 <= z_i <= 1

    A lower bound only when M is valid; its value tends to 0 as M grows. Parameters as for
    zero_one_big_m, but of slack_bounds only M_i is taken.
    """
    m = _without_z(data, penalty, intercept)
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    _add_rows(m, data, big_m, intercept, incumbent, slack_bounds)
    return m


@two_class_formulation(
    ProblemClass.QP,
    "Cepeda, Gomez & Han 2024, sec. 2, hinge reading of (4)",
    relaxes="zero_one_big_m",
    check=doubted(check_weighted_hinge),
)
def zero_one_hinge(
    data: TrainingData | GramData,
    *,
    penalty: float,
    big_m: ArrayLike | str,
    intercept: str = "penalised",
    incumbent: Hyperplane | None = None,
    slack_bounds: SlackBounds | Mapping[str, Any] | str | None = None,
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
    _add_rows(m, data, big_m, intercept, incumbent, slack_bounds)
    return m


def _without_z(data: TrainingData | GramData, penalty: float, intercept: str) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    return m


def _add_rows(
    m: pyo.ConcreteModel,
    data: TrainingData | GramData,
    big_m: ArrayLike | str,
    intercept: str,
    incumbent: Hyperplane | None,
    slack_bounds: SlackBounds | Mapping[str, Any] | str | None,
) -> SlackBounds | None:
    bounds = None
    if slack_bounds is not None:
        penalty = pyo.value(m.penalty)
        bounds = stated_bounds(data.points, slack_bounds, incumbent, "none", penalty, intercept)
    add_big_m(m, data.points, big_m, intercept, incumbent, bounds)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (m.big_m, m.z)], lower=1.0)
    loss = dot(data.multiplicity, m.z)
    m.objective = pyo.Objective(expr=squared_norm(m, intercept) + m.penalty * loss)
    return bounds


def _add_statements(m: pyo.ConcreteModel, bounds: SlackBounds) -> None:
    """Bounds of z at decided points, and the conflicts that no violated point settles."""
    for i in np.flatnonzero(bounds.kept).tolist():
        m.z[i].setub(0)
    for i in np.flatnonzero(bounds.violated).tolist():
        m.z[i].setlb(1)
    sets = [points for points in bounds.conflicts if not bounds.violated[list(points)].any()]
    if sets:
        m.K = pyo.RangeSet(0, len(sets) - 1)
        m.conflict = rows_by_index(m.K, lambda k: sum(m.z[i] for i in sets[k]) >= 1)
