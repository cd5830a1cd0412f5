"""Points of the conic relaxations re-evaluated from the data, with their closed-form bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hyperplane import augmented, norm_of, signed_scores
from tightmargin.formulations.conic.closed_form_bound import (
    CLOSED_FORM,
    budget_bound,
    priced_hypotheses,
    strengthening_bound,
)
from tightmargin.formulations.conic.strengthening import (
    conic_loss,
    least_indicator,
    strengthening_values,
)
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.modeling.cones import outer_products, symmetric
from tightmargin.formulations.zero_one.big_m import derive_intercept_bound, intercept_bound_value
from tightmargin.formulations.zero_one.checks import AT_CUTOFF, known_points, why_doubtful
from tightmargin.formulations.zero_one.loss import degenerate
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds, stated_bounds

LITTLE = 1e-6  # of a part of W
ROOM = 1e-6  # least width of either side of an undecided point: cones need an inside
REACHED = 3e-7  # short of the cutoff: a part of what a proven gap may be
TRACE = "the norm is a sum of squares"
RANK_TOLERANCE = 1e-6  # of the size of W


def check_fixed(origin: Origin, values: Values) -> PaperCheck:
    """Norm plus conic losses, and the z, s, r that attain them."""
    u, w, b = signed_scores(origin.data, values)
    penalty, intercept = origin.parameters["penalty"], origin.parameters["intercept"]
    gamma = strengthening_values(
        augmented(origin.data, intercept),
        origin.parameters["strengthening"],
        origin.data.multiplicity,
    )
    prices = origin.data.prices(penalty)
    v = 1 - u
    objective = norm_of(w, b, intercept) + float(conic_loss(v, gamma, prices).sum())
    p, q = np.maximum(v, 0.0), np.maximum(-v, 0.0)
    z = least_indicator(v, gamma, prices)
    active = gamma > 0
    s = p**2 / np.where((p > 0) & active, z, 1.0)
    repaired = {"p": p, "q": q, "z": z, "s": s[active], "r": q[active] ** 2}
    return PaperCheck(objective, repaired=repaired, facts=_facts(origin, values, gamma, penalty))


def _facts(origin: Origin, values: Values, gamma: Array, penalty: float) -> dict[str, object]:
    """Errors, the strengthening with the loss that it puts on every point, and a trivial w."""
    u, w, b = signed_scores(origin.data, values)
    facts: dict[str, object] = {
        "errors": int((u <= 0).sum()),
        "strengthening": gamma.tolist(),
        "conic_losses": conic_loss(1 - u, gamma, origin.data.prices(penalty)).tolist(),
    }
    trivial = degenerate(origin.data, w, b, origin.parameters["intercept"])
    return facts | ({"degenerate": trivial} if trivial else {})


def _lifted(origin: Origin, values: Values) -> tuple[Array, Array, Array, Array]:
    """Points, repaired W, v and T: W is raised until W - w~ w~' is semidefinite."""
    intercept = origin.parameters["intercept"]
    points = augmented(origin.data, intercept)
    u, w, b = signed_scores(origin.data, values)
    weight = w if intercept == "none" else np.append(w, b)
    W = symmetric(values["W"]) if values["W"].ndim == 1 else values["W"]
    W = _raised(W, weight, origin.data.d)
    T = np.einsum("ij,jk,ik->i", points, W, points) - 2 * u + 1
    return points, W, 1 - u, T


def _raised(W: Array, weight: Array, d: int) -> Array:
    """W with what it lacks added to its diagonal.

    In proportion to the size of its two parts, because that of the features goes with their units
    and that of the intercept, if there is one, does not; but the same everywhere where the
    features are no more than noise beside it, and the proportion says nothing.
    """
    own = np.maximum(np.diag(W), weight**2)
    parts = np.r_[np.full(d, own[:d].max()), own[d:]]
    for sizes in (parts, np.full(len(W), own.max())):
        size = np.sqrt(np.where(sizes > 0, sizes, sizes.max() or 1.0))
        lack = (W - np.outer(weight, weight)) / np.outer(size, size)
        shift = max(0.0, -float(np.linalg.eigvalsh(lack)[0]))
        if shift <= LITTLE:
            break
    return W if shift == 0 else W + np.diag((shift * (1 + 1e-9) + 1e-15) * size**2)


def _ratio(v: Array, T: Array) -> Array:
    """v_i / T_i where v_i > 0; T_i >= v_i^2 there."""
    inside = v > 0
    return np.where(inside, v / np.maximum(T, np.where(inside, v * v, 1.0)), 0.0)


def _repaired(W: Array, v: Array, T: Array) -> dict[str, Array]:
    """The least z for (w, b, W), with every auxiliary variable of the three forms."""
    inside = v > 0
    p, q = np.maximum(v, 0.0), np.maximum(-v, 0.0)
    z = _ratio(v, T) * p
    s, r = np.where(inside, T, 0.0), np.where(inside, 0.0, T)
    return {"W": W, "z": z, "p": p, "q": q, "T": np.maximum(T, 0.0), "s": s, "r": r}


def _norm(W: Array, intercept: str) -> float:
    counted = np.diag(W)[:-1] if intercept == "free" else np.diag(W)
    return float(counted.sum())  # without W_bb, not minus it: it may be 1e16 times the rest


def _bound_on_b(origin: Origin) -> float | None:
    p = origin.parameters
    return intercept_bound_value(
        origin.data, p.get("penalty"), p["intercept"], p["intercept_bound"]
    )


def _overrun(W: Array, bound_on_b: float | None) -> float:
    return 0.0 if bound_on_b is None else max(0.0, float(W[-1, -1]) / bound_on_b**2 - 1)


def check_sdp(origin: Origin, values: Values) -> PaperCheck:
    """Objective of (w, b, W) with the least z, and the bound of the strengthening it implies.

    gamma_i = penalty v_i^2 / T_i^2 and alpha_i = penalty v_i / T_i, times the weight of the point,
    are the multipliers of `lifted` and `hinge` at the optimum.
    """
    penalty, intercept = origin.parameters["penalty"], origin.parameters["intercept"]
    points, W, v, T = _lifted(origin, values)
    ratio = _ratio(v, T)
    z, prices = ratio * np.maximum(v, 0.0), origin.data.prices(penalty)
    unproven = intercept_doubt(origin)
    bound_on_b = _bound_on_b(origin)
    proof = strengthening_bound(
        points,
        origin.data.y,
        prices * ratio**2,
        prices * ratio,
        penalty=prices,
        bound_on_b=bound_on_b,
    )
    objective = _norm(W, intercept) + float(prices @ z)
    # The proven one, if there is one: conic_fixed accepts it as it stands.
    gamma = prices * ratio**2 if proof is None else proof.gamma
    facts = _facts(origin, values, gamma, penalty) | _rank_facts(points, W, values, objective)
    return PaperCheck(
        objective,
        violation=_overrun(W, bound_on_b),
        repaired=_repaired(W, v, T),
        bound=None if proof is None else Lemma(proof.value, CLOSED_FORM, proof.hypotheses(prices)),
        unproven=unproven,
        facts=facts,
    )


def check_eliminated(origin: Origin, values: Values) -> PaperCheck:
    """Like check_sdp; the z that is no variable there is the value of a quotient."""
    found = check_sdp(origin, values)
    return replace(found, repaired={**found.repaired, "quotients.value": found.repaired["z"]})


def intercept_doubt(origin: Origin) -> str:
    """Why a stated intercept_bound may cut the 0-1 optimum off, or an empty string."""
    stated = _bound_on_b(origin)
    if stated is None:
        return ""
    needed = derive_intercept_bound(origin.data.points, penalty=origin.parameters["penalty"])
    if stated >= needed * (1 - 1e-9):
        return ""
    return f"intercept_bound = {stated:.6g} is below the proven value {needed:.6g}"


def _rank_facts(points: Array, W: Array, values: Values, objective: float) -> dict[str, object]:
    """Rank of W - w~ w~', and the size up to which an eigenvalue of it counts as 0.

    A W below 1 / ||x~_i||^2 for every i moves no score by as much as the margin 1.
    """
    weight = np.append(values["w"], values["b"]) if "b" in values else values["w"]
    eigenvalues = np.linalg.eigvalsh(W - np.outer(weight, weight))
    unit = 1 / max(float((points**2).sum(axis=1).max()), 1e-300)
    tolerance = RANK_TOLERANCE * max(objective, float(np.trace(W)), unit)
    return {"rank_of_lift": int((eigenvalues > tolerance).sum()), "rank_tolerance": tolerance}


def check_budget(origin: Origin, values: Values) -> PaperCheck:
    """Norm of (w, b, W), the share spent, and the bound at the best penalty."""
    points, W, v, T = _lifted(origin, values)
    ratio = _ratio(v, T)
    weights, n = origin.data.multiplicity, origin.data.total_weight
    spend = origin.parameters["budget"] * n
    used = float(weights @ (ratio * np.maximum(v, 0.0)))
    bound_on_b = _bound_on_b(origin)
    proof = budget_bound(points, origin.data.y, ratio, spend, bound_on_b, weights)
    bound = Lemma(0.0, TRACE, {"the trace of a semidefinite matrix is not negative": True})
    if proof is not None and proof[0] > 0:
        bound = Lemma(proof[0], CLOSED_FORM, priced_hypotheses(proof[1], ratio, spend))
    objective = _norm(W, origin.parameters["intercept"])
    facts: dict[str, object] = {"errors": int((v >= 1).sum()), "spent": used / n}
    if proof is not None:
        penalty = proof[1]
        facts |= _facts(origin, values, penalty * weights * ratio**2, penalty) | {
            "penalty": penalty
        }
    return PaperCheck(
        objective,
        violation=max(_overrun(W, bound_on_b), used / spend - 1, 0.0),
        repaired=_repaired(W, v, T),
        bound=bound,
        known=[_without_weights(origin, bound_on_b)],
        facts=facts | _rank_facts(points, W, values, objective),
    )


def _without_weights(origin: Origin, bound_on_b: float | None) -> RationalPoint:
    """w = 0 and b = 0, with as much of W_bb as is free: every z_i is 1 / T_i, and no norm is paid.

    A point where the budget allows for it, and then the best one.
    """
    zero, one, n = Fraction(0), Fraction(1), origin.data.n
    k = augmented(origin.data, origin.parameters["intercept"]).shape[1]
    corner = zero if bound_on_b is None else Fraction(bound_on_b**2)
    T = 1 + corner
    found = {"w": [zero] * origin.data.d, "b": [zero], "p": [one] * n, "T": [T] * n}
    return found | {"z": [1 / T] * n, "W": [zero] * (k * (k + 1) // 2 - 1) + [corner]}


# --- the strengthened SDP, and whether its bounds may be believed ---------------------------------


def check_strengthened(origin: Origin, values: Values) -> PaperCheck:
    """Objective of (w, b, W, z); the bound is that of the multipliers, which the solve checks."""
    p, data = origin.parameters, origin.data
    penalty, intercept = p["penalty"], p["intercept"]
    bounds = stated_bounds(
        data, p["slack_bounds"], p["incumbent"], p["conflicts"], penalty, intercept
    )
    W = symmetric(values["W"]) if values["W"].ndim == 1 else values["W"]
    u, w, b = signed_scores(data, values)
    counted = np.diag(W)[:-1] if intercept == "free" else np.diag(W)
    objective = float(counted.sum()) + penalty * float(data.multiplicity @ values["z"])
    weight = w if intercept == "none" else np.append(w, b)
    eigenvalues = np.linalg.eigvalsh(W - np.outer(weight, weight))
    facts: dict[str, Any] = {
        "errors": int((u <= 0).sum()),
        "rank_of_lift": int((eigenvalues > 1e-6 * max(1.0, float(np.trace(W)))).sum()),
        "cutoff": bounds.cutoff,
        "kept": int(bounds.kept.sum()),
        "violated": int(bounds.violated.sum()),
        "conflicts": len(bounds.conflicts),
    }
    if objective >= bounds.cutoff * (1 - AT_CUTOFF):
        facts["at_cutoff"] = (
            f"the relaxation reaches the known objective {bounds.cutoff:.9g}: it is optimal"
        )
    w, b, best = min(known_points(origin, values), key=lambda point: point[2])
    repaired: dict[str, Array] = {}
    reached = best * (1 - REACHED) <= objective and best <= bounds.cutoff
    if reached and bounds.admits(data, w, b, intercept):
        # The optimum is the lift of the hyperplane, of which the solver has the first digits.
        lift = next(strengthened_points(data, bounds, intercept, w, b))
        repaired = {name: np.array([float(x) for x in part]) for name, part in lift.items()}
        objective = _norm(symmetric(repaired["W"]), intercept)
        objective += penalty * float(data.multiplicity @ repaired["z"])
    return PaperCheck(
        objective,
        repaired=repaired,
        known=strengthened_points(data, bounds, intercept, w, b),
        unproven=why_doubtful(origin, values, bounds, objective),
        facts=facts,
    )


# --- the lift of a known hyperplane ---------------------------------------------------------------
# Where the relaxation reaches the known objective, its optimum is the lift of that hyperplane:
# W = w~ w~', z_i = 1 where v_i > 0, and every product of the two. Rows are made of doubles, x x'
# among them, so the lift itself misses some by a rounding. A hyperplane a hair longer keeps the
# points on its margin by a hair, and a W a hair above w~ w~' leaves T_i >= v_i^2 in any rounding;
# the bounds of slack_bounds.py have that room, one of 1e-12. From
# there on everything is a rational number that meets its equation exactly.

Numbers = list[Fraction]
RationalPoint = dict[str, Numbers]

# By how much a hyperplane is stretched and W is raised, of their own sizes; the last is the lift.
ROOMS = (
    (2.0**-42, 2.0**-47),
    (2.0**-42, 2.0**-51),
    (2.0**-36, 2.0**-46),
    (2.0**-28, 2.0**-51),
    (0.0, 0.0),
)


def strengthened_points(
    data: TrainingData, bounds: SlackBounds, intercept: str, w: Array, b: float
) -> Iterator[RationalPoint]:
    """Points of conic_sdp_strengthened at a hyperplane, products included, by variable name."""
    undecided = np.flatnonzero(~(bounds.kept | bounds.violated))
    for raised in _raised_lifts(data, bounds, intercept, w, b):
        if raised.has_room(bounds, intercept, undecided):
            yield raised.point(data.d, undecided.tolist())


@dataclass(frozen=True, eq=False)
class _Raised:
    """A hyperplane with its W, and what the rows of a model say of them, in rational numbers.

    weight: w~ = (w, b).
    W: the lower triangle.
    norm: <D, W>.
    v, T, z: v_i, T_i with the coefficients x~_i x~_i' as they are rounded, and 1 where v_i > 0 or
        where the bounds say so.
    raised: whether W is not w~ w~' itself.
    """

    weight: Numbers
    W: Numbers
    norm: Fraction
    v: Numbers
    T: Numbers
    z: Numbers
    raised: bool

    def has_room(self, bounds: SlackBounds, intercept: str, undecided: Index) -> bool:
        """Whether the rows that are nearly equations hold: norm, intercept, and v_i^2 <= T_i."""
        if not self.raised:
            return True
        if self.norm > bounds.norm2:
            return False
        if intercept != "none":
            low, high = (Fraction(end) for end in bounds.intercept)
            if self.W[-1] > (low + high) * self.weight[-1] - low * high:
                return False
        far = _exact(np.maximum(bounds.upper[undecided], ROOM))
        near = _exact(np.maximum(-bounds.lower[undecided], ROOM))
        for i, above, below in zip(undecided.tolist(), far, near, strict=True):
            v, T = self.v[i], self.T[i]
            if not v * v <= T <= (above * v if v > 0 else -below * v):
                return False
        return True

    def point(self, d: int, at: list[int]) -> RationalPoint:
        """All variables by name; `at` are the undecided points."""
        v, T, z = ([part[i] for i in at] for part in (self.v, self.T, self.z))
        p = [share * each for share, each in zip(z, v, strict=True)]
        s = [share * each for share, each in zip(z, T, strict=True)]
        found = {"w": self.weight[:d], "W": self.W, "z": self.z}
        found |= {"b": self.weight[d:]} if len(self.weight) > d else {}
        found |= {"p": p, "q": [one - each for one, each in zip(p, v, strict=True)]}
        found |= {"s": s, "r": [each - one for each, one in zip(T, s, strict=True)]}
        found["Y"] = [share * each for share in z for each in self.weight]
        found["Y_rest"] = [(1 - share) * each for share in z for each in self.weight]
        found["t"] = [share * self.norm for share in z]
        found["k"] = [(1 - share) * self.norm for share in z]
        found["Z"] = [z[i] * z[j] for i, j in combinations(range(len(at)), 2)]
        found["P"] = [z[i] * p[j] for i, j in permutations(range(len(at)), 2)]
        return found


def _raised_lifts(
    data: TrainingData, bounds: SlackBounds, intercept: str, w: Array, b: float
) -> Iterator[_Raised]:
    """The lift of a hyperplane, a little raised in several ways; the last where none has room."""
    signed = data.y[:, None] * augmented(data, intercept)
    outer, forced = outer_products(signed), bounds.violated.tolist()
    # Sizes of the weights: those in the norm at most its root, a free b at most its own.
    size = np.full(signed.shape[1], float(np.sqrt(bounds.norm2)) or 1.0)
    if intercept == "free":
        size[-1] = max(-bounds.intercept[0], bounds.intercept[1]) or 1.0
    units = np.exp2(np.ceil(np.log2(size)))
    rows, columns = np.tril_indices(len(units))
    counted = (rows == columns) & ~((intercept == "free") & (rows == len(units) - 1))
    start = w if intercept == "none" else np.append(w, b)
    for stretch, rise in ROOMS:
        # Doubles: their products are taken exactly from here on.
        stretched = start * (1 + stretch)
        raised = np.outer(stretched, stretched) + np.diag(rise * units**2)
        weight, W = _exact(stretched), _exact(raised[rows, columns])
        if not rise:
            pairs = zip(rows.tolist(), columns.tolist(), strict=True)
            W = [weight[i] * weight[j] for i, j in pairs]
        v = [1 - _dot(row, weight) for row in signed]
        T = [_dot(row, W) + 2 * each - 1 for row, each in zip(outer, v, strict=True)]
        z = [Fraction(int(each > 0 or paid)) for each, paid in zip(v, forced, strict=True)]
        yield _Raised(weight, W, _dot(counted, W), v, T, z, bool(rise))


def _exact(numbers: Array) -> Numbers:
    return [Fraction(number) for number in numbers.tolist()]


def _dot(row: Array, numbers: Numbers) -> Fraction:
    terms = (Fraction(a) * x for a, x in zip(row.tolist(), numbers, strict=True) if a)
    return sum(terms, Fraction(0))
