"""Any loss of a margin against a regulariser: Lee 2020, (7), Table 1, and powers of the hinge loss.

With u_i = y_i (<w, x_i> + b), xi_i >= 0 unless it is said otherwise, and weights c_i of sum 1:

    hinge            max(0, 1 - u)           u + xi >= 1                    sum c xi
    squared_hinge    max(0, 1 - u)^2         u + xi >= 1                    sum c xi^2
    squared          (1 - u)^2               u + xi = 1, xi free            sum c xi^2
    huberised        see below               u + xi + q >= 1, q >= 0        sum c (xi + q^2 / (2 h))

The huberised hinge is 0 from u = 1 on, (1 - u)^2 / (2 h) down to 1 - h, and the line 1 - u - h / 2
with the same slope below: the split of 1 - u into xi and q chooses between the two by itself.

    ridge            ||w||^2, and b^2 where the intercept is penalised
    l1               sum_j |w_j|             -size_j <= w_j <= size_j       sum size
    group            sum_g sqrt(d_g) ||w_g||        ||w_g|| <= size_g       sum sqrt(d_g) size_g

over groups g of d_g features; a penalised intercept is an entry, or a group, of its own.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    mean_weights,
    norm_of,
    signed_score,
    signed_scores,
    squared_norm,
    two_class_formulation,
    weight_and_intercept,
)
from tightmargin.formulations.common.rounding import score_errors
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, rows_by_index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.cones import (
    BASE,
    ONE,
    POWER,
    RotatedCones,
    power_cones,
    power_values,
    rational_exponent,
)
from tightmargin.formulations.parameters import add_parameter, one_of, positive

# --- Losses of a margin and regularisers of w, as rows and terms of a model and as numbers -------

HINGE, SQUARED_HINGE, SQUARED, HUBERISED = "hinge", "squared_hinge", "squared", "huberised"
LOSSES = (HINGE, SQUARED_HINGE, SQUARED, HUBERISED)
RIDGE, L1, GROUP = "ridge", "l1", "group"
REGULARISERS = (RIDGE, L1, GROUP)
ROUNDED_UP = 1 + 8 * float(np.finfo(float).eps)  # of a square root that is to be enough

Groups = Sequence[Any]


def add_loss(m: pyo.ConcreteModel, data: TrainingData | GramData, loss: str) -> Any:
    """Variables and rows `margin` of a loss; returns its mean. The Param `bend` is h."""
    m.xi = ArrayVar(m.I, lower=None if loss == SQUARED else 0.0)
    terms = [*signed_score(m, data), (1.0, m.xi)]
    if loss == HUBERISED:
        m.q = ArrayVar(m.I, lower=0.0)
        terms.append((1.0, m.q))
    one = 1.0
    m.margin = AffineRows(m.I, terms, lower=one, upper=one if loss == SQUARED else None)
    weights = mean_weights(data)
    if loss == HINGE:
        return dot(weights, m.xi)
    if loss == HUBERISED:
        return dot(weights, m.xi) + _weighted_squares(weights, m.q) / (2 * m.bend)
    return _weighted_squares(weights, m.xi)


def _weighted_squares(weights: float | Array, variable: ArrayVar) -> Any:
    numbers = np.broadcast_to(weights, len(variable)).tolist()
    return pyo.quicksum(c * x**2 for c, x in zip(numbers, variable.values(), strict=True))


def loss_parts(loss: str, u: Array, bend: float) -> tuple[Array, dict[str, Array]]:
    """Losses (n,) at scores u, and the variables of `add_loss` that have them."""
    short = 1 - u
    if loss == SQUARED:
        return short**2, {"xi": short}
    violation = np.maximum(0.0, short)
    if loss == HINGE:
        return violation, {"xi": violation}
    if loss == SQUARED_HINGE:
        return violation**2, {"xi": violation}
    q = np.minimum(violation, bend)
    return violation - q + q**2 / (2 * bend), {"xi": violation - q, "q": q}


def checked_regulariser(
    regulariser: str, groups: Groups | None, data: TrainingData | GramData
) -> str:
    """The word, or a ValueError: an unknown one, or one that speaks of features of a kernel."""
    one_of("regulariser", regulariser, REGULARISERS)
    if isinstance(data, GramData) and regulariser != RIDGE:
        raise ValueError(
            f"regulariser {regulariser} is a function of the features, and a kernel matrix has "
            "none: take ridge"
        )
    if groups is not None:
        members(groups, data.d)
    elif regulariser == GROUP:
        raise ValueError(f"regulariser {GROUP} needs groups: {data.d} labels, one for each feature")
    return regulariser


def members(groups: Groups, d: int) -> list[list[int]]:
    """Features of each group, in the order in which the groups first occur.

    Raises ValueError: no d labels.
    """
    listed = isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str)
    labels = list(groups) if listed and getattr(groups, "ndim", 1) == 1 else []
    if len(labels) != d or not all(map(_is_label, labels)):
        raise ValueError(f"groups must be {d} labels, one for each feature; got {groups!r}")
    found: dict[Any, list[int]] = {}
    for j, label in enumerate(labels):
        found.setdefault(label, []).append(j)
    return list(found.values())


def _is_label(label: Any) -> bool:
    if isinstance(label, float) and not math.isfinite(label):
        return False
    return isinstance(label, Hashable)


def add_regulariser(
    m: pyo.ConcreteModel, regulariser: str, groups: Groups | None, intercept: str
) -> Any:
    """Variables and rows of a regulariser of (w, b); returns it."""
    if regulariser == RIDGE:
        return squared_norm(m, intercept)
    if regulariser == L1:
        total = _add_sizes(m)
    else:
        assert groups is not None
        total = _add_norms(m, members(groups, len(m.J)))
    if intercept != "penalised":
        return total
    m.size_b = pyo.Var(within=pyo.NonNegativeReals)
    m.above_b = pyo.Constraint(expr=m.size_b - m.b >= 0)
    m.below_b = pyo.Constraint(expr=m.size_b + m.b >= 0)
    return total + m.size_b


def _add_sizes(m: pyo.ConcreteModel) -> Any:
    m.size = pyo.Var(m.J, within=pyo.NonNegativeReals)  # which the rows imply: a limit for proofs
    m.above = AffineRows(m.J, [(1.0, m.size), (-1.0, m.w)], lower=0.0)
    m.below = AffineRows(m.J, [(1.0, m.size), (1.0, m.w)], lower=0.0)
    return dot(1.0, m.size)


def _add_norms(m: pyo.ConcreteModel, parts: list[list[int]]) -> Any:
    m.G = pyo.RangeSet(0, len(parts) - 1)
    m.size = pyo.Var(m.G, within=pyo.NonNegativeReals)
    m.cone = rows_by_index(
        m.G, lambda g: pyo.quicksum(m.w[j] ** 2 for j in parts[g]) <= m.size[g] ** 2
    )
    return dot(np.sqrt([len(part) for part in parts]), m.size)


def regulariser_parts(
    regulariser: str, groups: Groups | None, w: Array, b: float, intercept: str
) -> tuple[float, dict[str, Array]]:
    """The regulariser of numbers (w, b), and the variables of `add_regulariser` that have it."""
    if regulariser == RIDGE:
        return norm_of(w, b, intercept), {}
    price_of_b = abs(b) if intercept == "penalised" else 0.0
    named = {"size_b": np.array(price_of_b)} if intercept == "penalised" else {}
    if regulariser == L1:
        return float(np.abs(w).sum()) + price_of_b, {"size": np.abs(w)} | named
    assert groups is not None
    parts = members(groups, len(w))
    sizes = np.array([float(np.linalg.norm(w[part])) * ROUNDED_UP for part in parts])
    roots = np.array([math.sqrt(len(part)) for part in parts])
    return float(roots @ sizes) + price_of_b, {"size": sizes} | named


# --- A power of the hinge loss: Cepeda, Gomez & Han 2024, (1), where it is convex ----------------

AS_THEY_ARE = (1, 2)  # exponents whose powers are terms of a QP


def _check_hinge_power(origin: Origin, values: Values) -> PaperCheck:
    words, data = origin.parameters, origin.data
    u, w, b = signed_scores(data, values)
    xi = np.maximum(0.0, 1 - u)
    exponent = rational_exponent("exponent", words["exponent"])
    parts = {} if exponent in AS_THEY_ARE else power_values(xi, exponent)
    loss = float(data.prices(words["penalty"]) @ xi ** float(exponent))
    facts = {
        "errors": int((u <= 0).sum()),
        "margin_violations": int((u < 1 - 1e-9).sum()),
    }
    objective = norm_of(w, b, words["intercept"]) + loss
    return PaperCheck(objective, repaired={"xi": xi} | parts, facts=facts)


@two_class_formulation(
    ProblemClass.SOCP, "Cepeda, Gomez & Han 2024, (1)", check=_check_hinge_power, keeps_sparse=True
)
def hinge_power_svc(
    data: TrainingData | GramData,
    *,
    penalty: float,
    exponent: float | str,
    intercept: str = "penalised",
) -> pyo.ConcreteModel:
    """Norm and a power of the hinge loss, of any rational exponent from 1 on.

        min   ||w||^2 + penalty sum_i t_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i >= 1,   xi_i, t_i, v1_i, v2_i, ... >= 0
              mean1[i]    v1_i^2 <= a product of two of xi_i, t_i and 1; so on for v2, ...
              power[i]    xi_i^2 <= such a product, which may have means v
              reach[i]    t_i >= exponent (xi_i - 1)

    The cones say t_i >= xi_i^exponent exactly: for 3/2 they are v1_i^2 <= xi_i and
    xi_i^2 <= t_i v1_i, and modeling/cones.py has the others. reach follows from a tangent of
    the power; it bounds xi where only cones would, which proofs need. Exponents 1 and 2 have none
    of these: the loss is then xi_i (c_svc with C = penalty / 2, at twice its objective) or xi_i^2,
    and the model a QP.

    Exponent 0 counts violations and is zero_one_big_m. Strictly between 0 and 1 the power is
    concave: the problem is NP-hard, no cone states it and no proof here closes it, so that no
    builder has it. Names here -> in the paper: penalty -> lambda, exponent -> eta.

    Parameters
    ----------
    penalty : float
        Price of the losses, positive; a point of weight s_i counts s_i times.
    exponent : float or str
        From 1 to 16, as the fraction that it is written as: 1.3 is 13/10, and "4/3" is 4/3. The
        numerator is at most 64.

    Raises
    ------
    ValueError
        An exponent that is no such number.
    """
    fraction = rational_exponent("exponent", exponent)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    weights = np.broadcast_to(data.multiplicity, data.n)
    if fraction == 1:
        loss = dot(weights, m.xi)
    elif fraction == 2:
        numbers = weights.tolist()
        loss = pyo.quicksum(c * x**2 for c, x in zip(numbers, m.xi.values(), strict=True))
    else:
        _add_cones(m, fraction)
        loss = dot(weights, m.t)
    m.objective = pyo.Objective(expr=squared_norm(m, intercept) + m.penalty * loss)
    return m


def _add_cones(m: pyo.ConcreteModel, exponent: Fraction) -> None:
    """Variables t, v1, v2, ... and rows power, mean1, mean2, ... over the points."""
    m.t = ArrayVar(m.I, lower=0.0)
    m.one = pyo.Param(initialize=1.0)
    sides = {BASE: m.xi, POWER: m.t, ONE: m.one}
    *means, power = power_cones(exponent)
    for cone in means:
        sides[cone.inner] = ArrayVar(m.I, lower=0.0)
        setattr(m, cone.inner, sides[cone.inner])
        row = RotatedCones(m.I, sides[cone.inner], sides[cone.left], sides[cone.right])
        setattr(m, f"mean{cone.inner[1:]}", row)
    m.power = RotatedCones(m.I, m.xi, sides[power.left], sides[power.right])
    slope = float(exponent)
    m.reach = AffineRows(m.I, [(1.0, m.t), (-slope, m.xi)], lower=-slope)


# --- The general problem of a loss and a regulariser: Lee 2020, (7), with the losses of Table 1

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
