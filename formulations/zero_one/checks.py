"""Points of the 0-1 loss models re-evaluated from (w, b); whether M and slack bounds are proven."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hyperplane import complete_plane, norm_of, signed_scores
from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import finite_hyperplane
from tightmargin.formulations.zero_one.big_m import BigM, below_proven, big_m_param, derive_big_m
from tightmargin.formulations.zero_one.conflicts import least_kept_norm, least_paid
from tightmargin.formulations.zero_one.loss import (
    degenerate,
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.formulations.zero_one.slack_bounds import (
    STATED,
    Hyperplane,
    SlackBounds,
    closed_slack_bounds,
    shrunk,
    stated_bounds,
    with_rows,
)

# --- Points of the 0-1 loss models re-evaluated from (w, b), and the proof that their M is valid

KEPT_TOLERANCE = 1e-5  # solvers meet rows to about 1e-6: points this close to 1 count as kept


def add_big_m(
    m: pyo.ConcreteModel,
    data: TrainingData,
    big_m: ArrayLike | str,
    intercept: str,
    incumbent: Hyperplane | None,
    bounds: SlackBounds | None = None,
) -> None:
    """Param big_m over the points; derived values keep their proof as `m.big_m_proof`."""
    if incumbent is not None:
        finite_hyperplane("incumbent", incumbent, data.d)

    def derived() -> BigM:
        penalty = pyo.value(m.penalty)
        known = incumbent_objective(data, incumbent, penalty, intercept)
        if bounds is not None:
            return bounds.big_m
        return derive_big_m(data, penalty=penalty, intercept=intercept, upper_bound=known)

    big_m_param(m, data.n, big_m, derived)


def exact_point(
    data: TrainingData, w: Array, b: float, kept: Mask, penalty: float, intercept: str
) -> tuple[float, Array, float, Array]:
    """Objective, w, b and z after scaling (w, b) so that every kept point truly reaches margin 1.

    A solver's row tolerance lets kept points fall short of 1 by 1e-6 and its objective beat the
    optimum; the scaled point is feasible in floating point, and violations are counted strictly.
    """
    scaled = scale_onto_margin(data, w, b, kept)
    if scaled is not None:
        w, b = scaled
    z = (margins(data, w, b) < 1).astype(float)
    return norm_of(w, b, intercept) + penalty * data.mass(z > 0), w, b, z


def candidates(u: Array, values: Values, use_z: bool) -> list[Mask]:
    """Which points a solver meant to keep: by its own z, and by their margin."""
    by_margin = u >= 1 - KEPT_TOLERANCE
    if not use_z or "z" not in values:
        return [by_margin]
    by_choice = (values["z"] < 0.5) & (u > 0.5)
    return [by_choice, by_margin]


def best_exact_point(
    origin: Origin, values: Values, *, use_z: bool = True
) -> tuple[float, Array, float, Array]:
    """Feasible point of the 0-1 model nearest to what a solver returned."""
    u, w, b = signed_scores(origin.data, values)
    penalty, intercept = origin.parameters["penalty"], origin.parameters["intercept"]
    points = [
        exact_point(origin.data, w, b, kept, penalty, intercept)
        for kept in candidates(u, values, use_z)
    ]
    return min(points, key=lambda point: point[0])


def counted_facts(origin: Origin, w: Array, b: float, z: Array) -> dict[str, Any]:
    """Counts and the two trivial optima a reader must know about."""
    scores = origin.data.factor @ w + b
    facts: dict[str, Any] = {
        "violations": int(z.sum()),
        "errors": int((origin.data.y * scores <= 0).sum()),
    }
    trivial = degenerate(origin.data, w, b, origin.parameters["intercept"])
    return facts | ({"degenerate": trivial} if trivial else {})


def why_unproven(origin: Origin, objective: float) -> str:
    """Why M may cut optima off, or an empty string; `objective` is that of a true 0-1 point.

    Any M at or above the value derived from a point that is known to exist is valid, whether it
    was derived or given.
    """
    parameters = origin.parameters
    known = min(objective, _known_objective(origin))
    needed = derive_big_m(
        origin.data,
        penalty=parameters["penalty"],
        intercept=parameters["intercept"],
        upper_bound=known,
    ).values
    return below_proven(parameters["big_m"], needed)


def check_logic(origin: Origin, values: Values) -> PaperCheck:
    """0-1 objective of (w, b), recomputed; for models without a big-M."""
    objective, w, b, z = best_exact_point(origin, values)
    repaired = complete_plane(origin, w, b) | {"z": z}
    return PaperCheck(objective, repaired=repaired, facts=counted_facts(origin, w, b, z))


def check_big_m(origin: Origin, values: Values) -> PaperCheck:
    """0-1 objective of (w, b), recomputed, with the validity of M."""
    checked = check_logic(origin, values)
    return PaperCheck(
        checked.objective,
        repaired=checked.repaired,
        unproven=why_unproven(origin, checked.objective),
        facts=checked.facts,
    )


def incumbent_objective(
    data: TrainingData, incumbent: Hyperplane | None, penalty: float, intercept: str
) -> float | None:
    """True 0-1 objective of a known hyperplane; None without one."""
    if incumbent is None:
        return None
    w, b = finite_hyperplane("incumbent", incumbent, data.d)
    return zero_one_objective(data, w, b, penalty=penalty, intercept=intercept)


def _known_objective(origin: Origin) -> float:
    """Best objective known without the point at hand: a trivial one, or the stated incumbent's."""
    penalty, intercept = origin.parameters["penalty"], origin.parameters["intercept"]
    trivial = derive_big_m(origin.data, penalty=penalty, intercept=intercept).upper_bound
    stated = incumbent_objective(
        origin.data, origin.parameters.get("incumbent"), penalty, intercept
    )
    return trivial if stated is None else min(trivial, stated)


def _relaxed(origin: Origin, values: Values, cap: float) -> PaperCheck:
    u, w, b = signed_scores(origin.data, values)
    big_m, intercept = origin.parameters["big_m"], origin.parameters["intercept"]
    z = np.maximum(0.0, (1 - u) / big_m)
    loss = float(origin.data.multiplicity @ z)
    objective = norm_of(w, b, intercept) + origin.parameters["penalty"] * loss
    return PaperCheck(
        objective,
        violation=max(0.0, float(z.max()) - cap),
        repaired={"z": np.minimum(z, cap)},
        unproven=why_unproven(origin, best_exact_point(origin, values, use_z=False)[0]),
        facts=counted_facts(origin, w, b, (u < 1).astype(float)),
    )


def check_relaxed(origin: Origin, values: Values) -> PaperCheck:
    """Objective of (4) with the least z that (w, b) allows."""
    return _relaxed(origin, values, cap=1.0)


def check_weighted_hinge(origin: Origin, values: Values) -> PaperCheck:
    """Objective of the hinge reading from (w, b)."""
    return _relaxed(origin, values, cap=np.inf)


# --- Checks of the big-M models that also ask whether their slack bounds may be believed ---------

Known = tuple[Array, float, float]  # w, b, objective
AT_CUTOFF = 1e-6

Check = Callable[[Origin, Values], PaperCheck]


def doubted(check: Check) -> Check:
    """A check whose models may carry slack bounds: M is proven if these are."""

    @functools.wraps(check)
    def asked(origin: Origin, values: Values) -> PaperCheck:
        checked = check(origin, values)
        p, data = origin.parameters, origin.data.points
        if p.get("slack_bounds") is None:
            return checked
        bounds = stated_bounds(
            data, p["slack_bounds"], p["incumbent"], "none", p["penalty"], p["intercept"]
        )
        stated = replace(origin, data=data, parameters={**p, "conflicts": "none"})
        doubt = why_doubtful(stated, values, bounds, 0.0) or _too_small(p["big_m"], bounds.upper)
        repaired = dict(checked.repaired)
        objective = checked.objective
        if origin.entry == "zero_one_big_m":
            # A point that is paid for by its bound is paid for, wherever it lies.
            paid = np.maximum(repaired["z"], bounds.violated)
            objective += p["penalty"] * float(data.multiplicity @ (paid - repaired["z"]))
            repaired["z"] = paid
        return replace(checked, objective=objective, repaired=repaired, unproven=doubt)

    return asked


def _too_small(big_m: np.ndarray, upper: np.ndarray) -> str:
    """Where an M is below what the slack bounds allow, or an empty string."""
    short = upper - np.broadcast_to(np.asarray(big_m, dtype=float), upper.shape)
    worst = int(np.argmax(short))
    if short[worst] > 1e-9 * max(1.0, abs(upper[worst])):
        return f"M[{worst}] is below the proven value {upper[worst]:.6g}"
    return ""


def why_doubtful(origin: Origin, values: Values, bounds: SlackBounds, objective: float) -> str:
    """Why the bounds may cut every optimum off, or an empty string.

    Bounds no tighter than the closed forms are proven again here, and so are conflicts. Tighter
    ones need a proof of their own, a cutoff that a known point reaches, and no known point against
    them: one as good as the cutoff that they leave out. With a free intercept only points that
    keep both classes count, because w = 0 may stand in for the others.
    """
    p, data = origin.parameters, origin.data
    penalty, intercept = p["penalty"], p["intercept"]
    stated = p["conflicts"] if not isinstance(p["conflicts"], str) else ()
    doubtful = unproven_conflicts(data, bounds, penalty, intercept)
    for points in stated:
        if tuple(sorted(set(points))) in doubtful:
            return f"nothing proves that one of the points {tuple(points)} is violated"
    if objective > bounds.cutoff * (1 + AT_CUTOFF):
        return (
            f"no point as good as the cutoff {bounds.cutoff:.9g} satisfies the slack bounds: their "
            f"relaxation has {objective:.9g}"
        )
    known = known_points(origin, values)
    best = min(known, key=lambda point: point[2])
    if bounds.cutoff < best[2] * (1 - 1e-9):
        return (
            f"no known point reaches the cutoff {bounds.cutoff:.9g} of the slack bounds: the best "
            f"one has {best[2]:.9g}"
        )
    closed = closed_slack_bounds(
        data, penalty=penalty, intercept=intercept, incumbent=(best[0], best[1])
    )
    again = shrunk(with_rows(closed, bounds.conflicts, data.prices(penalty)), data, intercept)
    if not doubtful and _contains(bounds, again):
        return ""
    if bounds.proof in ("", STATED):
        return "the slack bounds are tighter than their closed form and carry no proof"
    for w, b, value in known:
        if value <= bounds.cutoff and not bounds.admits(data, w, b, intercept):
            kept = data.y[margins(data, w, b) >= 1]
            if intercept != "free" or ((kept > 0).any() and (kept < 0).any()):
                return f"the slack bounds leave out a known point of objective {value:.9g}"
    return ""


def known_points(origin: Origin, values: Values) -> list[Known]:
    """The stated incumbent, points with w = 0, and the solver's hyperplane made exact."""
    p, data = origin.parameters, origin.data
    words = {"penalty": p["penalty"], "intercept": p["intercept"]}
    found = [(t.w, t.b, t.objective) for t in trivial_points(data, **words)]
    if p["incumbent"] is not None:
        w, b = np.asarray(p["incumbent"][0], dtype=float), float(p["incumbent"][1])
        found.append((w, b, zero_one_objective(data, w, b, **words)))
    value, w, b, _ = best_exact_point(origin, values, use_z=False)
    return [*found, (w, b, value)]


def unproven_conflicts(
    data: TrainingData, bounds: SlackBounds, penalty: float, intercept: str
) -> set[tuple[int, ...]]:
    """Conflicts of the bounds that are not proven from the cutoff, one after the other.

    Keeping the points of one costs rho, and the price of a point for each disjoint conflict beside
    it that is proven already; that must exceed the cutoff.
    """
    violated, prices = set(np.flatnonzero(bounds.violated).tolist()), data.prices(penalty)
    proven: list[tuple[int, ...]] = [(i,) for i in sorted(violated)]
    doubtful: set[tuple[int, ...]] = set()
    for points in bounds.conflicts:
        if not violated.isdisjoint(points):
            continue
        norm2 = least_kept_norm(data, points, intercept)
        beside = tuple(other for other in proven if not set(points) & set(other))
        if norm2 > bounds.cutoff or norm2 > bounds.cutoff - least_paid(beside, prices):
            proven.append(points)
        else:
            doubtful.add(points)
    return doubtful


def _contains(bounds: SlackBounds, proven: SlackBounds) -> bool:
    """Whether bounds are no tighter than proven ones; conflicts apart."""
    room = 1e-12
    return bool(
        (bounds.lower <= proven.lower + room * np.abs(proven.lower)).all()
        and (bounds.upper >= proven.upper - room * np.abs(proven.upper)).all()
        and bounds.norm2 >= proven.norm2 * (1 - room)
        and bounds.intercept[0] <= proven.intercept[0] + room
        and bounds.intercept[1] >= proven.intercept[1] - room
    )
