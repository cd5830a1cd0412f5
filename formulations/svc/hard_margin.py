"""Largest margin of separable points.

Takeda & Sugiyama 2008, (2); Lee 2020, (1)-(3). Both need separable data: on overlapping classes
hard_margin_svc is infeasible, and max_margin_svc has the meaningless optimum w = 0.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values, formulation
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    norm_of,
    signed_score,
    signed_scores,
    squared_norm,
    weight_and_intercept,
)
from tightmargin.formulations.common.nu_property import ON_MARGIN
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows


def _check_hard_margin(origin: Origin, values: Values) -> PaperCheck:
    """Scale (w, b) until every point reaches margin 1; not possible when one is misclassified."""
    u, w, b = signed_scores(origin.data, values)
    intercept = origin.parameters["intercept"]
    shortfall = float(u.min())
    facts = {"errors": int((u <= 0).sum()), "support_vectors": _at_least(u)}
    if shortfall <= 0:
        return PaperCheck(norm_of(w, b, intercept) / 2, violation=1 - shortfall, facts=facts)
    scale = 1 / min(shortfall, 1.0)
    repaired = {"w": w * scale} | ({} if intercept == "none" else {"b": np.array(b * scale)})
    return PaperCheck(norm_of(w * scale, b * scale, intercept) / 2, repaired=repaired, facts=facts)


def _at_least(u: NDArray[np.float64]) -> int:
    """How many points have the smallest score."""
    return int((u <= u.min() + ON_MARGIN * float(np.abs(u).max())).sum())


@formulation(
    ProblemClass.QP,
    "Takeda & Sugiyama 2008, (2); Lee 2020, (2), (3)",
    check=_check_hard_margin,
    classifier=weight_and_intercept,
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
    repaired = {"w": w * scale, "rho": np.array(rho)}
    if intercept != "none":
        repaired["b"] = np.array(b * scale)
    facts: dict[str, object] = {
        "errors": int((u <= 0).sum()),
        "support_vectors": _at_least(u),
    }
    if rho <= 0:
        facts["degenerate"] = "the classes are not separable: w = 0 is optimal"
    return PaperCheck(-rho, repaired=repaired, facts=facts)


@formulation(
    ProblemClass.SOCP,
    "Lee 2020, (1)",
    check=_check_max_margin,
    classifier=weight_and_intercept,
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
