"""Largest margin of separable points.

Takeda & Sugiyama 2008, (2); Lee 2020, (1)-(3). Both need separable data: on overlapping classes
hard_margin_svc is infeasible, and max_margin_svc has the meaningless optimum w = 0. No loss is
summed: weights of points change nothing, as a point that is written down twice does not.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_dual_weight,
    add_hyperplane,
    balanced_alpha,
    complete_dual,
    complete_plane,
    dual_norm,
    errors_of,
    norm_of,
    signed_score,
    signed_scores,
    squared_norm,
    two_class_formulation,
    with_intercept,
)
from tightmargin.formulations.common.margin_levels import ON_CAP, ON_MARGIN
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, one_of

NO_NAME = 1e-12  # of the longest F'(y o alpha) there could be: no direction, but rounding
NAMED = "weak duality: minus half the squared norm of the separating hyperplane that alpha names"


def _check_hard_margin(origin: Origin, values: Values) -> PaperCheck:
    """Scale (w, b) until every point reaches margin 1; not possible when one is misclassified."""
    u, w, b = signed_scores(origin.data, values)
    intercept = origin.parameters["intercept"]
    shortfall = float(u.min())
    facts = {"errors": int((u <= 0).sum()), "support_vectors": _at_least(u)}
    if shortfall <= 0:
        return PaperCheck(norm_of(w, b, intercept) / 2, violation=1 - shortfall, facts=facts)
    scale = 1 / min(shortfall, 1.0)
    repaired = complete_plane(origin, w * scale, b * scale)
    return PaperCheck(norm_of(w * scale, b * scale, intercept) / 2, repaired=repaired, facts=facts)


def _at_least(u: NDArray[np.float64]) -> int:
    """How many points have the smallest score."""
    return int((u <= u.min() + ON_MARGIN * float(np.abs(u).max())).sum())


@two_class_formulation(
    ProblemClass.QP,
    "Takeda & Sugiyama 2008, (2); Lee 2020, (2), (3)",
    check=_check_hard_margin,
    keeps_sparse=True,
    takes=(TrainingData,),
)
def hard_margin_svc(data: TrainingData, *, intercept: str = "free") -> pyo.ConcreteModel:
    """Hard-margin SVC.

        min   1/2 ||w||^2
        s.t.  margin[i]   y_i (<w, x_i> + b) >= 1

    Names here -> in the papers: n -> m. Lee writes ||w||^2 without the 1/2; intercept="none" is
    Lee (3).
    """
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    m.margin = AffineRows(m.I, signed_score(m, data), lower=1.0)
    m.objective = pyo.Objective(expr=0.5 * squared_norm(m, intercept))
    return m


def _check_max_margin(origin: Origin, values: Values) -> PaperCheck:
    """Scale (w, b) into the unit ball; rho is the smallest signed score."""
    u, w, b = signed_scores(origin.data, values)
    intercept = origin.parameters["intercept"]
    scale = 1 / max(1.0, np.sqrt(norm_of(w, b, intercept)))
    rho = float(u.min()) * scale
    repaired = complete_plane(origin, w * scale, b * scale) | {"rho": np.array(rho)}
    facts: dict[str, object] = {
        "errors": int((u <= 0).sum()),
        "support_vectors": _at_least(u),
    }
    if rho <= 0:
        facts["degenerate"] = "the classes are not separable: w = 0 is optimal"
    return PaperCheck(-rho, repaired=repaired, facts=facts)


@two_class_formulation(
    ProblemClass.SOCP,
    "Lee 2020, (1)",
    check=_check_max_margin,
    keeps_sparse=True,
    takes=(TrainingData,),
)
def max_margin_svc(data: TrainingData, *, intercept: str = "free") -> pyo.ConcreteModel:
    """Largest geometric margin in the unit ball.

        min   -rho
        s.t.  margin[i]   y_i (<w, x_i> + b) >= rho
              norm        ||w||^2 <= 1

    The paper has ||w|| = 1; the ball has the same optimum whenever the points are separable, and
    then rho = 1 / ||w_hard||. Names here -> in the paper: rho -> the objective of (1).
    """
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    m.rho = pyo.Var()
    m.margin = AffineRows(m.I, [*signed_score(m, data), (-1.0, m.rho)], lower=0.0)
    m.norm = pyo.Constraint(expr=squared_norm(m, intercept) <= 1)
    m.objective = pyo.Objective(expr=-m.rho)
    return m


# --- the dual -------------------------------------------------------------------------------------


def _classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """w = F'(y o alpha) and the intercept in the middle between the classes."""
    y = origin.data.y
    w, b, _norm = dual_norm(origin, np.asarray(values["alpha"], dtype=float))
    return with_intercept(
        origin, w, b, lambda scores: -float(scores[y > 0].min() + scores[y < 0].max()) / 2
    )


def _least_margin(data: TrainingData | GramData, w: Array, b: float) -> float:
    """The smallest y_i (<w, f_i> + b), with what rounding can hide taken off."""
    sizes = abs(data.factor) @ np.abs(w) + abs(b)
    rounding = 4 * np.finfo(float).eps * np.sqrt(data.d + 1) * sizes
    return float((data.y * (data.factor @ w + b) - rounding).min())


def _check(origin: Origin, values: Values) -> PaperCheck:
    """alpha made feasible and scaled to its best length; the bound is that of its hyperplane.

    Along t alpha the objective t^2 S / 2 - t sum alpha is least at t = sum alpha / S. A hyperplane
    with all margins at least g > 0 is feasible for hard_margin_svc when divided by g.
    """
    data, intercept = origin.data, origin.parameters["intercept"]
    given = np.asarray(values["alpha"], dtype=float)
    alpha = balanced_alpha(given, data.y, np.full(data.n, np.inf), intercept)
    S, mass = dual_norm(origin, alpha)[2], float(alpha.sum())
    reach = squared_lengths(data.factor).max(initial=0.0)
    reach = float(np.sqrt(reach + (intercept == "penalised")))
    named = np.sqrt(S) > NO_NAME * reach * mass
    if named:
        alpha = alpha * (mass / S)
    repaired, norm = complete_dual(origin, alpha)
    facts: dict[str, object] = {"support_vectors": int((alpha > ON_CAP * alpha.max()).sum())}
    bound = None
    if named:
        w, b = _classifier(origin, repaired, {})
        margin = _least_margin(data, w, b)
        facts["errors"] = errors_of(data, w, b)
        feasible = {"all margins of the hyperplane are positive": margin > 0}
        if margin > 0:
            value = -norm_of(w, b, intercept) / (2 * margin**2) * (1 + 1e-14)
            bound = Lemma(value, NAMED, feasible)
    objective = norm / 2 - float(alpha.sum())
    return PaperCheck(objective, repaired=repaired, bound=bound, facts=facts)


@two_class_formulation(
    ProblemClass.QP,
    "Lee 2020, dual of (3), printed after (6)",
    dual_of="hard_margin_svc",
    check=_check,
    classifier=_classifier,
    keeps_sparse=True,
)
def hard_margin_svc_dual(
    data: TrainingData | GramData, *, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Dual of hard_margin_svc, on points or on a kernel matrix.

        min   1/2 ||v||^2 - sum_i alpha_i
        s.t.  weight[j]    v = sum_i alpha_i y_i f_i,   alpha_i >= 0
              balance      sum_i y_i alpha_i = 0

    f_i are the rows of a factor F with kernel matrix F F' (the points themselves for the linear
    kernel). v is the w of hard_margin_svc, and the margin is 1 / ||v||, where
    ||v||^2 = sum_i alpha_i = -2 times the optimum; ||v|| is also the largest norm_bound of rsvm
    that matters. The balance row belongs to the free intercept; a penalised one adds
    v_b = sum_i y_i alpha_i to the norm instead, and without one (Lee's (3)) neither is there.
    Where the classes overlap the model is unbounded, as hard_margin_svc has no point then.

    This is the dual of 1/2 ||w||^2. The paper starts from ||w||^2 and goes on with 1/2 ||w||^2 in
    the same line; the dual of ||w||^2 is sum_i alpha_i - 1/4 ||v||^2, with twice the optimum, twice
    the multipliers and w = v / 2. Names here -> in the paper: n -> m.
    """
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, data.n - 1)
    m.alpha = ArrayVar(m.I, lower=0.0)
    norm = add_dual_weight(m, data, intercept)
    m.objective = pyo.Objective(expr=0.5 * norm - dot(1.0, m.alpha))
    return m
