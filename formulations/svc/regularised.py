"""The general problem of a loss and a regulariser: Lee 2020, (7), with the losses of Table 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hinge import mean_weights
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    signed_score,
    signed_scores,
    two_class_formulation,
    weight_and_intercept,
)
from tightmargin.formulations.common.rounded_sums import score_errors
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import add_parameter, one_of, positive
from tightmargin.formulations.svc.losses import (
    HUBERISED,
    LOSSES,
    RIDGE,
    Groups,
    add_loss,
    add_regulariser,
    checked_regulariser,
    loss_parts,
    regulariser_parts,
)

USED = 1e-6  # of the largest weight: what is below is what an interior point leaves of 0


def _checked(
    origin: Origin, values: Values
) -> tuple[Array, float, dict[str, Any], dict[str, Array]]:
    """Scores u (n,), the priced regulariser, facts, and the variables of the regulariser."""
    words = origin.parameters
    u, w, b = signed_scores(origin.data, values)
    size, named = regulariser_parts(words["regulariser"], words["groups"], w, b, words["intercept"])
    largest = float(np.abs(w).max(initial=0.0))
    facts = {
        "errors": int((u <= 0).sum()),
        "margin_violations": int((u < 1 - 1e-9).sum()),
        "used_weights": int((np.abs(w) > USED * largest).sum()),
    }
    return u, words["price"] * size, facts, named


def _check_regularised(origin: Origin, values: Values) -> PaperCheck:
    u, priced, facts, named = _checked(origin, values)
    losses, parts = loss_parts(origin.parameters["loss"], u, origin.parameters["bend"])
    weights = np.broadcast_to(mean_weights(origin.data), origin.data.n)
    return PaperCheck(priced + float(weights @ losses), repaired=parts | named, facts=facts)


@two_class_formulation(
    ProblemClass.QP, "Lee 2020, (7), (9), Table 1", check=_check_regularised, keeps_sparse=True
)
def regularised_svc(
    data: TrainingData | GramData,
    *,
    loss: str,
    price: float,
    regulariser: str = RIDGE,
    bend: float = 1.0,
    groups: Groups | None = None,
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """A loss of the margins and a priced regulariser of w, of the user's choice.

        min   price R(w) + (1/n) sum_i L(u_i),     u_i = y_i (<w, x_i> + b)

        hinge           L(u) = max(0, 1 - u)          margin[i]   u_i + xi_i >= 1, xi_i >= 0
        squared_hinge   L(u) = max(0, 1 - u)^2        the same, xi_i^2 in the objective
        squared         L(u) = (1 - u)^2              margin[i]   u_i + xi_i = 1
        huberised       L(u) = 0 from 1 on, (1 - u)^2 / (2 h) down to u = 1 - h, 1 - u - h/2 below
                                                      margin[i]   u_i + xi_i + q_i >= 1

        ridge           R(w) = ||w||^2
        l1              R(w) = sum_j |w_j|            above[j], below[j]   -size_j <= w_j <= size_j
        group           R(w) = sum_g sqrt(d_g) ||w_g||            cone[g]   ||w_g|| <= size_g

    The fourth loss of Table 1 is that of deviance_svc. With hinge and ridge this is
    soft_margin_svc. A QP with ridge; with l1 one too, or an LP with hinge; with group an SOCP. By
    the representer theorem (Theorem 2.1) w may be sought in the span of the points: on a kernel
    matrix F F' the points are the rows of F, and ridge is the one regulariser that is a function of
    ||w||. Names here -> in the paper: price -> lambda, R -> R, J, n -> m.

    Parameters
    ----------
    loss : "hinge", "squared_hinge", "squared" or "huberised"
        L.
    price : float
        Price of the regulariser, positive; losses are a mean over the points.
    regulariser : "ridge", "l1" or "group"
        R. A penalised intercept is one more entry of w, and a group of its own.
    bend : float
        h, positive: how far below the margin the huberised loss is a parabola. Others have none.
    groups : sequence of labels (d,), optional
        Features with equal labels are a group; for the regulariser group, others look at none.

    Raises
    ------
    ValueError
        An unknown word; groups that are not d labels, or none where they are asked for; l1 or group
        on a kernel matrix, which has no features.
    """
    one_of("loss", loss, LOSSES)
    checked_regulariser(regulariser, groups, data)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "price", positive("price", price))
    h = positive("bend", bend)
    if loss == HUBERISED:
        add_parameter(m, "bend", h)
    mean = add_loss(m, data, loss)
    m.objective = pyo.Objective(
        expr=m.price * add_regulariser(m, regulariser, groups, intercept) + mean
    )
    return m


def _check_deviance(origin: Origin, values: Values) -> PaperCheck:
    """u a little below the scores, so that its rows hold whatever rounding took from those."""
    scores, priced, facts, named = _checked(origin, values)
    w, b = weight_and_intercept(origin, values, {})
    u = scores - score_errors(origin.data.factor, w, b)
    weights = np.broadcast_to(mean_weights(origin.data), origin.data.n)
    mean = float(weights @ np.logaddexp(0.0, -u))
    return PaperCheck(priced + mean, repaired={"u": u} | named, facts=facts)


@two_class_formulation(
    ProblemClass.EXP, "Lee 2020, Table 1, Example 2", check=_check_deviance, keeps_sparse=True
)
def deviance_svc(
    data: TrainingData | GramData,
    *,
    price: float,
    regulariser: str = RIDGE,
    groups: Groups | None = None,
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Binomial deviance, the logistic loss, and a priced regulariser of w.

        min   price R(w) + (1/n) sum_i log(1 + exp(-u_i))
        s.t.  score[i]   y_i (<w, x_i> + b) - u_i >= 0

    The loss falls in u, so that u is the score at the optimum. Its population minimiser is
    log P(Y = 1 | x) / P(Y = -1 | x): 1 / (1 + exp(-<w, x> - b)) estimates the probability. Example
    2 of the paper prints log(1 + exp(u)), which rises; -u is meant. R as for regularised_svc.
    Names here -> in the paper: price -> lambda, n -> m.

    Parameters
    ----------
    price : float
        Price of the regulariser, positive; losses are a mean over the points.
    regulariser : "ridge", "l1" or "group"
        R. A penalised intercept is one more entry of w, and a group of its own.
    groups : sequence of labels (d,), optional
        Features with equal labels are a group; for the regulariser group, others look at none.

    Raises
    ------
    ValueError
        As for regularised_svc.
    """
    checked_regulariser(regulariser, groups, data)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "price", positive("price", price))
    m.u = ArrayVar(m.I)
    m.score = AffineRows(m.I, [*signed_score(m, data), (-1.0, m.u)], lower=0.0)
    weights = np.broadcast_to(mean_weights(data), data.n).tolist()
    mean = pyo.quicksum(
        c * pyo.log(1 + pyo.exp(-u)) for c, u in zip(weights, m.u.values(), strict=True)
    )
    m.objective = pyo.Objective(
        expr=m.price * add_regulariser(m, regulariser, groups, intercept) + mean
    )
    return m
