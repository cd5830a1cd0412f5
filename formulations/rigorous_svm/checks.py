"""Points of the rigorous SVM re-evaluated from the data, primal and dual.

Whatever a solver says about slacks, cones and multipliers: the loss is recomputed from (w, b), the
dual value from alpha, and alpha names a hyperplane whose loss bounds the dual.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hinge import hinge_check
from tightmargin.formulations.common.hyperplane import norm_of, weight_and_intercept
from tightmargin.formulations.common.intercept_recovery import hinge_intercept
from tightmargin.formulations.common.least_eigenvalue import OUTWARD
from tightmargin.formulations.common.multipliers import balanced_alpha, dual_norm
from tightmargin.formulations.common.nu_property import ON_CAP
from tightmargin.formulations.common.rounded_sums import most_hinge, score_errors, summed_up
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma

ON_BALL = 1e-6  # of H: as near as this the norm row is active
NO_PRICE = 1e-6  # of the loss, and of the longest v for that many multipliers: such a price is none
NEAR_END = 1e-5  # interior-point methods leave about this much at an end of [0, 1]
NO_NAME = 1e-12  # of the longest F'(y o alpha) there could be: no direction, but rounding
NEVER_NEGATIVE = "hinge losses are never negative"
LOSSES = {"every term of the objective is a hinge loss": True}
NAMED = "weak duality: minus the loss of the hyperplane that alpha names"
OPTIMAL = 1e-6  # of the loss: a gap from which on alpha says nothing of other machines
FREE = (
    "gamma = 0: if alpha is optimal, norm_bound is at or above the largest that matters, and the "
    "solution of rsvm_relaxed is optimal"
)


def hinge_sum(data: TrainingData | GramData, w: Array, b: float) -> float:
    """E(w, b) = sum_i s_i [1 - y_i (<w, f_i> + b)]_+."""
    losses = np.maximum(0.0, 1 - data.y * (data.factor @ w + b))
    return float(losses.sum() if data.weights is None else data.weights @ losses)


def loss_check(origin: Origin, values: Values) -> PaperCheck:
    """E recomputed; nothing but the slacks is repaired, because no row holds (w, b)."""
    found = hinge_check(origin, values, 0.0, origin.data.multiplicity)
    w, b = weight_and_intercept(origin, values, {})
    norm = float(np.sqrt(norm_of(w, b, origin.parameters["intercept"])))
    facts = dict(found.facts) | {"norm": norm}
    return replace(found, bound=Lemma(0.0, NEVER_NEGATIVE, LOSSES), facts=facts)


def ball_check(origin: Origin, values: Values) -> PaperCheck:
    """w drawn into the ball, then the intercept of least loss, then E."""
    radius, intercept = origin.parameters["norm_bound"], origin.parameters["intercept"]
    w, b = _into_ball(*weight_and_intercept(origin, values, {}), radius, intercept)
    if intercept == "free":
        b = _better_intercept(origin.data, w, b)
    moved = {"w": w} | ({} if intercept == "none" else {"b": np.array(b)})
    found = loss_check(origin, {**values, **moved})
    active = bool(found.facts["norm"] >= radius * (1 - ON_BALL))
    return replace(
        found,
        repaired={**found.repaired, **moved},
        facts=dict(found.facts) | {"norm_active": active},
    )


def _into_ball(w: Array, b: float, radius: float, intercept: str) -> tuple[Array, float]:
    length = float(np.sqrt(norm_of(w, b, intercept)))
    if length <= radius:
        return w, b
    scale = radius / length
    return w * scale, b * scale if intercept == "penalised" else b


def _better_intercept(data: TrainingData | GramData, w: Array, b: float) -> float:
    """The intercept of least loss, unless rounding makes the given one the better."""
    best = hinge_intercept(data.factor @ w, data.y, data.multiplicity)
    return best if hinge_sum(data, w, best) <= hinge_sum(data, w, b) else b


def named_hyperplane(origin: Origin, alpha: Array) -> tuple[Array, float] | None:
    """H v / ||v|| with v = F'(y o alpha), the paper's w; None where S = 0 and it is 0 / 0."""
    data, intercept = origin.data, origin.parameters["intercept"]
    v, v_b, norm = dual_norm(origin, alpha)
    if np.sqrt(norm) <= NO_NAME * _reach(data, intercept) * data.total_weight:
        return None
    scale = origin.parameters["norm_bound"] / float(np.sqrt(norm))
    if intercept == "free":
        return scale * v, hinge_intercept(scale * (data.factor @ v), data.y, data.multiplicity)
    return scale * v, scale * v_b if intercept == "penalised" else 0.0


def _reach(data: TrainingData | GramData, intercept: str) -> float:
    """The longest point, with the 1 of a penalised intercept."""
    reach = float(np.sqrt(squared_lengths(data.factor).max(initial=0.0)))
    return float(np.hypot(reach, 1.0)) if intercept == "penalised" else reach


def multiplier_hyperplane(origin: Origin, duals: Values) -> tuple[Array, float] | None:
    """Multipliers of `weight`, `weight_b` and `balance`, which are -w and -b; None without them.

    With right-hand sides r of `weight` and s of `balance` the value of the dual is
    max over ||w|| <= H and b of  -E(w, b) - <w, r> - b s,  so that d value / d r = -w.
    """
    data, intercept = origin.data, origin.parameters["intercept"]
    row = {"free": "balance", "penalised": "weight_b", "none": None}[intercept]
    if (data.d and "weight" not in duals) or (row is not None and row not in duals):
        return None
    w = -np.asarray(duals["weight"], dtype=float) if data.d else np.zeros(0)
    b = 0.0 if row is None else -float(duals[row])
    w, b = _into_ball(w, b, origin.parameters["norm_bound"], intercept)
    return w, _better_intercept(data, w, b) if intercept == "free" else b


def dual_classifier(origin: Origin, values: Values, duals: Values) -> tuple[Array, float]:
    """The better hyperplane of those that the multipliers and alpha name.

    Raises ValueError: S = 0, and the result holds no multipliers.
    """
    found = [
        multiplier_hyperplane(origin, duals),
        named_hyperplane(origin, np.asarray(values["alpha"], dtype=float)),
    ]
    known = [hyperplane for hyperplane in found if hyperplane is not None]
    if not known:
        raise ValueError(
            "sum_i alpha_i y_i x_i = 0 names no hyperplane, and the solver returned no "
            "multipliers, which would: solve it with clarabel, or solve rsvm"
        )
    return min(known, key=lambda hyperplane: hinge_sum(origin.data, *hyperplane))


def _feasible_alpha(origin: Origin, given: Array) -> Array:
    """The best of three: as given, with what is near an end of [0, s_i] moved there, and 0."""
    data, H = origin.data, origin.parameters["norm_bound"]
    caps = data.multiplicity
    low, high = given < NEAR_END * caps, given > (1 - NEAR_END) * caps
    near = np.where(low, 0.0, np.where(high, caps, given))
    intercept = origin.parameters["intercept"]
    balanced = [
        balanced_alpha(alpha, data.y, data.multiplicity, intercept)
        for alpha in (given, near, np.zeros(data.n))
    ]
    return min(
        balanced,
        key=lambda alpha: H * float(np.sqrt(dual_norm(origin, alpha)[2])) - float(alpha.sum()),
    )


def dual_check(origin: Origin, values: Values) -> tuple[PaperCheck, float]:
    """alpha made feasible, H sqrt(S) - sum alpha there, and sqrt(S).

    The bound is weak duality read from the other side: the model minimises minus the dual, and
    minus the loss of any hyperplane in the ball is below that.
    """
    data, H = origin.data, origin.parameters["norm_bound"]
    intercept = origin.parameters["intercept"]
    alpha = _feasible_alpha(origin, np.asarray(values["alpha"], dtype=float))
    v, v_b, norm = dual_norm(origin, alpha)
    length, mass = float(np.sqrt(norm)), float(alpha.sum())
    repaired = {"alpha": alpha, "v": v}
    if intercept == "penalised":
        repaired["v_b"] = np.array(v_b)
    facts: dict[str, Any] = {
        "gamma": length / H,
        "capacity_price": length,
        "support_vectors": int((alpha > ON_CAP * data.multiplicity).sum()),
    }
    named = named_hyperplane(origin, alpha)
    # H alone may make H sqrt(S) small: then a little more capacity has its price.
    free = length <= NO_PRICE * _reach(data, intercept) * max(1.0, mass)
    if free and H * length <= NO_PRICE * max(1.0, mass - H * length):
        facts["degenerate"] = FREE
    elif named is not None:
        facts["errors"] = int((data.y * (data.factor @ named[0] + named[1]) <= 0).sum())
    found = PaperCheck(H * length - mass, repaired=repaired, facts=facts)
    if named is not None:
        longest = H * (1 + 4 * np.finfo(float).eps * (data.d + 2))  # counted by _loss_at_most
        norm = float(np.sqrt(norm_of(*named, intercept)))
        inside = {"||w|| <= H for the hyperplane that alpha names": norm <= longest}
        found = replace(found, bound=Lemma(-loss_at_most(data, *named), NAMED, inside))
    return found, length


def loss_at_most(data: TrainingData | GramData, w: Array, b: float) -> float:
    """E(w, b), rounded up, of w drawn into its ball by as much as the norm's rounding may hide."""
    products = data.factor @ w
    errors = score_errors(data.factor, w, b)
    drawn_in = OUTWARD * 8 * np.finfo(float).eps * (data.d + 2) * (np.abs(products) + errors)
    losses = most_hinge(data.y * (products + b), errors + drawn_in)
    return summed_up(data.multiplicity, losses)
