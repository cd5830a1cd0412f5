"""Between a model of the extended nu family and the directions that searches work on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tightmargin.cuts.nu_path.family import bound_past_nu_bar, measured_points, radius_of
from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.extended_checks import (
    at_weight,
    hulls_of,
    norm_squared,
    objective_factor,
)
from tightmargin.formulations.nu.reduced_hull import support_value
from tightmargin.solvers.nu.nu_range import CVAR, POLAR, REVERSE, nu_bar_bounds, nu_range


def search_arguments(origin: Origin) -> dict[str, Any]:
    """nu, class_balance and intercept of a model, as the searches take them."""
    parameters = origin.parameters
    nu = parameters["nu"] if "nu" in parameters else 1 - parameters["beta"]
    shared = ("class_balance", "intercept")
    return {"nu": nu} | {word: parameters[word] for word in shared}


def side_of(origin: Origin) -> int:
    """On which side of nu_bar a model is, see NuRange.side."""
    problem = search_arguments(origin)
    nu = problem.pop("nu")
    return nu_range(origin.data, **problem).side(nu)


def lower_at_nu_bar(origin: Origin) -> float | None:
    """Proven lower bound of h on the unit sphere at nu_bar; None where nu_bar has none."""
    problem = search_arguments(origin)
    nu, intercept = problem.pop("nu"), problem["intercept"]
    least = nu_bar_bounds(origin.data, **problem)[0]
    if least is None:
        return None
    return bound_past_nu_bar(nu, least, radius_of(measured_points(origin.data, intercept)))


def model_bound(origin: Origin, lower: float) -> float | None:
    """Bound on the objective of a model from a lower bound of h on the unit sphere."""
    if not math.isfinite(lower):
        return None
    scale = origin.parameters.get("scale", "takeda")
    slope = _down(lower * objective_factor(origin.data.total_weight, scale))
    if origin.entry == CVAR:
        return _down(lower / hulls_of(origin).nu)
    if origin.entry == POLAR:
        return _down(-1 / slope**2) if slope > 0 else None
    if origin.entry == REVERSE and slope < 0:
        return None
    return _down(slope * math.sqrt(norm_squared(scale)))


def _down(number: float) -> float:
    """Less by more than the roundings of two or three operations; 0 stays 0."""
    return number - 8 * np.finfo(float).eps * abs(number)


def values_along(origin: Origin, weight: Array) -> dict[str, Any]:
    """The variables of a model at its best point along a direction (k,)."""
    hulls = hulls_of(origin)
    scale = origin.parameters.get("scale", "takeda")
    w = weight / np.linalg.norm(weight)
    if origin.entry == POLAR:
        w = w / (objective_factor(origin.data.total_weight, scale) * support_value(hulls, w))
    else:
        w = w * math.sqrt(norm_squared(scale))
    values, _ = at_weight(origin, hulls, w)
    if origin.entry == CVAR:
        values["value_at_risk"] = -values.pop("rho")
    return values
