"""Points of the extended nu family re-evaluated from w alone: the objective is h(w), by sorting.

Whatever a solver says about b, rho and xi, the best of them for its w are found anew; and w is
scaled onto its norm row, because the objective is positively homogeneous.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.common.hyperplane import with_total
from tightmargin.formulations.common.margin_levels import margin_facts, multiplier_facts
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.nu.polytope import EPS, proven_slope
from tightmargin.formulations.nu.reduced_hull import (
    ReducedHulls,
    best_levels,
    reduced_hulls,
    support_error,
    support_value,
)

NO_DIRECTION = 1e-7  # interior point methods leave about this much of a w that is 0
SCALES = ("takeda", "perez_cruz")
SLOPE = "h(w) >= slope ||w||, by points of the reduced-hull difference"
BOUND_METHOD = "distance of 0 to the boundary of an inner hull of the reduced-hull difference"


def norm_squared(scale: str) -> float:
    """||w||^2 of a normalised w: 1, or 2 in the scale of Perez-Cruz et al."""
    return 2.0 if scale == "perez_cruz" else 1.0


def objective_factor(n: float, scale: str) -> float:
    """What the objective of Takeda & Sugiyama is multiplied with: 1 or n."""
    return float(n) if scale == "perez_cruz" else 1.0


def hulls_of(origin: Origin) -> ReducedHulls:
    """The set U of a model."""
    parameters = origin.parameters
    nu = parameters["nu"] if "nu" in parameters else 1 - parameters["beta"]
    return reduced_hulls(
        origin.data,
        nu=nu,
        class_balance=parameters["class_balance"],
        intercept=parameters["intercept"],
    )


def weight_of(origin: Origin, values: Values) -> Array:
    """w, or (w, b) when the intercept is penalised."""
    w = np.asarray(values["w"], dtype=float)
    return np.append(w, values["b"]) if origin.parameters["intercept"] == "penalised" else w


def at_weight(origin: Origin, hulls: ReducedHulls, w: Array) -> tuple[dict[str, Any], Any]:
    """Values of all variables that are best for w, and facts about the hyperplane."""
    b, rho, xi = best_levels(hulls, w)
    intercept = origin.parameters["intercept"]
    values: dict[str, Any] = {"w": w, "rho": np.array(rho), "xi": xi}
    if intercept == "penalised":
        values |= {"w": w[:-1], "b": w[-1:].reshape(())}
    elif intercept == "free":
        values["b"] = np.array(b)
    u = hulls.signed @ w + hulls.y * b
    facts = margin_facts(u, rho, hulls.caps, hulls.nu, free=True)
    length = float(np.linalg.norm(w))
    if length <= NO_DIRECTION:
        facts["degenerate"] = "w = 0 up to rounding: nu is at or below nu_bar"
    else:
        level = support_value(hulls, w) / length
        facts["cvar"] = level / hulls.nu
        # KKT of Perez-Cruz et al. (32), times w: minus half the objective in their scale.
        facts["norm_multiplier"] = -origin.data.total_weight * level / math.sqrt(2)
        if level < 0:
            facts["side"] = "nu is above nu_bar: the optimum is negative"
    return values, facts


def _normalised(origin: Origin, values: Values, low: float, high: float) -> PaperCheck:
    """w scaled until low <= ||w|| / radius <= high, and the objective there."""
    hulls, w = hulls_of(origin), weight_of(origin, values)
    scale = origin.parameters["scale"]
    radius, length = math.sqrt(norm_squared(scale)), float(np.linalg.norm(w))
    if length > 0:
        w = w * (min(max(length, low * radius), high * radius) / length)
    repaired, facts = at_weight(origin, hulls, w)
    factor = objective_factor(origin.data.total_weight, scale)
    return PaperCheck(
        factor * support_value(hulls, w),
        violation=low if length == 0 else 0.0,
        repaired=repaired,
        error=factor * support_error(hulls, w) if length > 0 else None,
        facts=facts,
    )


def _with_bound(found: PaperCheck, bound: float | None, hypotheses: dict[str, bool]) -> PaperCheck:
    if bound is None:
        return found
    return replace(found, bound=Lemma(bound, BOUND_METHOD, {SLOPE: True, **hypotheses}))


def _slope(origin: Origin, found: PaperCheck) -> float | None:
    """Proven r with objective >= r ||w||."""
    slope = proven_slope(hulls_of(origin), weight_of(origin, found.repaired))
    if slope is None:
        return None
    factor = objective_factor(origin.data.total_weight, origin.parameters.get("scale", "takeda"))
    return slope * factor - 4 * EPS * abs(slope) * factor  # twice multiplied by what follows


def _radius(origin: Origin) -> float:
    return math.sqrt(norm_squared(origin.parameters["scale"]))


def _on_sphere(origin: Origin, slope: float) -> float:
    """Slope times radius, rounded down; what rounds is a root and a product."""
    value = slope * _radius(origin)
    return value - 4 * EPS * abs(value)


def check_sphere(origin: Origin, values: Values) -> PaperCheck:
    """||w|| made exact."""
    found = _normalised(origin, values, 1.0, 1.0)
    slope = _slope(origin, found)
    bound = None if slope is None else _on_sphere(origin, slope)
    return _with_bound(found, bound, {"||w|| is the radius": True})


def check_ball(origin: Origin, values: Values) -> PaperCheck:
    """w drawn into the ball."""
    return _normalised(origin, values, 0.0, 1.0)


def check_reverse(origin: Origin, values: Values) -> PaperCheck:
    """w pushed out of the ball; a negative slope proves nothing, because ||w|| has no limit."""
    found = _normalised(origin, values, 1.0, np.inf)
    slope = _slope(origin, found)
    bound = None if slope is None else _on_sphere(origin, slope)
    return _with_bound(
        found, bound, {"the slope is not negative": slope is not None and slope >= 0}
    )


def check_linearised(origin: Origin, values: Values) -> PaperCheck:
    """w scaled onto the row <w_ref, w> = 1; not possible on the wrong side of it."""
    hulls, w = hulls_of(origin), weight_of(origin, values)
    scale = origin.parameters["scale"]
    share = float(w @ origin.parameters["w_ref"]) / norm_squared(scale)
    if share > 0:
        w = w / share
    repaired, facts = at_weight(origin, hulls, w)
    objective = objective_factor(origin.data.total_weight, scale) * support_value(hulls, w)
    return PaperCheck(
        objective, violation=0.0 if share > 0 else 1 - share, repaired=repaired, facts=facts
    )


def check_polar(origin: Origin, values: Values) -> PaperCheck:
    """w drawn into the polytope {objective <= 1}; r ||w|| <= objective <= 1 bounds the norm."""
    hulls, w = hulls_of(origin), weight_of(origin, values)
    factor = objective_factor(origin.data.total_weight, origin.parameters["scale"])
    level = factor * support_value(hulls, w)
    if level > 1:
        w = w / level
    repaired, facts = at_weight(origin, hulls, w)
    found = PaperCheck(-float(w @ w), repaired=repaired, facts=facts)
    slope = _slope(origin, found)
    positive = slope is not None and slope > 0
    bound = None if slope is None or not positive else -1 / slope**2 * (1 + 1e-15)
    return _with_bound(found, bound, {"the slope is positive": positive})


def check_cvar(origin: Origin, values: Values) -> PaperCheck:
    """||w|| made exact; the value at risk is minus rho."""
    hulls, w = hulls_of(origin), weight_of(origin, values)
    length = float(np.linalg.norm(w))
    if length > 0:
        w = w / length
    repaired, facts = at_weight(origin, hulls, w)
    repaired["value_at_risk"] = -repaired.pop("rho")
    found = PaperCheck(
        support_value(hulls, w) / hulls.nu,
        violation=0.0 if length > 0 else 1.0,
        repaired=repaired,
        error=support_error(hulls, w) / hulls.nu * (1 + 1e-12) if length > 0 else None,
        facts=facts,
    )
    slope = proven_slope(hulls, w)
    bound = None if slope is None else slope / hulls.nu - 4 * EPS * abs(slope / hulls.nu)
    return _with_bound(found, bound, {"||w|| = 1": True})


def check_linearised_dual(origin: Origin, values: Values) -> PaperCheck:
    """Multipliers projected on their box and masses; what then misses the line is a violation."""
    hulls, alpha = hulls_of(origin), np.clip(values["alpha"], 0.0, None)
    alpha = np.minimum(alpha, hulls.caps)
    for group in hulls.groups:
        alpha[group.members] = with_total(alpha[group.members], group.caps, group.mass)
    w_ref = np.asarray(origin.parameters["w_ref"], dtype=float)
    u = -(alpha @ hulls.signed)
    t = float(u @ w_ref) / float(w_ref @ w_ref)
    size = max(1.0, float((alpha @ np.abs(hulls.signed)).max()))
    scale = origin.parameters["scale"]
    times = norm_squared(scale) * objective_factor(origin.data.total_weight, scale)
    return PaperCheck(
        -times * t,
        violation=float(np.abs(u - t * w_ref).max()) / size,
        repaired={"alpha": alpha, "t": np.array(t)},
        facts=multiplier_facts(alpha, hulls.caps, hulls.nu),
    )
