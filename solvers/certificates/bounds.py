"""Our own lower bound on a model, from whatever multipliers there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers import clarabel
from solvers.backend import Claim, Limits
from solvers.certificates.case import Case
from solvers.certificates.kkt import conditions
from solvers.certificates.reach import METHOD as SAFE_METHOD
from solvers.certificates.reach import limits_of_variables, safe_bound
from solvers.conic_form import Multipliers, conic_multipliers
from solvers.dual_bound import METHOD, dual_bound, into_cone
from solvers.exact_lp import METHOD as EXACT_METHOD
from solvers.exact_lp import exact_lp_bound
from solvers.registry import SOLVERS
from solvers.result import plain
from solvers.values import named_duals, named_values

Array = NDArray[np.float64]

# Fact under which multipliers of others are kept, so that the bound can be proven again.
BOUND_DUALS = "bound_duals"
BOUND_POINT = "bound_point"  # of a quadratic program, whose weak duality is taken at a point


@dataclass(frozen=True)
class Bound:
    """Best proven bound so far.

    Attributes
    ----------
    residuals : mapping
        The conditions of kkt.py at the multipliers it comes from, as they were given.
    reason : str
        Why there is no bound.
    """

    value: float | None = None
    method: str = ""
    residuals: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def better(
        self, value: float | None, method: str, facts: Mapping[str, Any] | None = None
    ) -> Bound:
        """The larger of this bound and another one."""
        if value is None or (self.value is not None and self.value >= value):
            return self
        return replace(self, value=value, method=method, reason="", facts=facts or {})


def model_bound(case: Case, claim: Claim) -> Bound:
    """Bound of the model itself, of its convex relaxation when some variables are integer."""
    form, classification = case.form, case.classification
    if not classification.relaxes_to_convex:
        return Bound(reason=f"no convex relaxation: {classification.reason}")
    duals, origin = claim.duals, ""
    facts: dict[str, Any] = {}
    x = np.zeros(form.n) if claim.x is None else claim.x
    if duals is None:
        # The solver has none; anybody's multipliers will do, because they are checked here.
        if not SOLVERS["clarabel"].installed:
            return Bound(reason="no multipliers: the solver gives none, and clarabel is missing")
        alone = Limits(threads=case.limits.threads)
        if case.scaling is None:
            other = clarabel.run_conic(case.conic, len(form.rows), alone)
        else:
            other = clarabel.run_scaled(form, classification, alone, case.scaling)
        if other.duals is None or other.x is None:
            return Bound(reason=f"no multipliers: {other.message}")
        duals, x, origin = other.duals, other.x, " from clarabel"
        facts = {BOUND_DUALS: plain(named_duals(form, duals))}
        if form.is_quadratic:
            facts |= {BOUND_POINT: plain(named_values(case.model, form, x))}
    relaxed = " of the continuous relaxation" if form.integer.any() else ""
    linear = not form.is_quadratic and not form.psd
    exact = exact_lp_bound(form, duals.rows) if linear else None
    double = _double_bound(case, duals, x)
    if exact is not None:
        return replace(double, value=exact, method=EXACT_METHOD + relaxed, reason="", facts=facts)
    if double.value is None:
        return double
    return replace(double, method=double.method + origin + relaxed, facts=facts)


def _double_bound(case: Case, duals: Multipliers, x: Array) -> Bound:
    form, conic = case.form, case.conic
    z = conic_multipliers(conic, duals)
    if not np.isfinite(z).all():
        return Bound(reason="the multipliers hold nan or infinity")
    found = dual_bound(conic, x, z, tuple(form.columns.names()))
    if case.classification.convex and not case.closes(form.objective.at(x), found.value):
        # In numbers near 1 less is lost to rounding; the factors are powers of two, so that the
        # bound of the scaled form is one of this form.
        scaled = case.factors.conic(conic)
        near_one = dual_bound(scaled.conic, scaled.scaled_point(x), scaled.scaled_multipliers(z))
        value = None if near_one.value is None else scaled.objective * near_one.value
        if value is not None and (found.value is None or value > found.value):
            found = replace(found, value=value, reason="")
    scale = case.scale(form.objective.at(x))
    residuals = conditions(form, conic, duals, x, scale)
    if found.value is not None:
        return Bound(found.value, METHOD, residuals)
    safe = _safe(case, x, (into_cone(conic, z), found.z))
    if safe is not None:
        return Bound(safe, SAFE_METHOD, residuals, found.reason)
    return Bound(None, "", residuals, found.reason)


def _safe(case: Case, x: Array, candidates: tuple[Array, ...]) -> float | None:
    """Bound of reach.py. Points above a known value need none, so it is at most that value."""
    known = case.form.objective.at(x)
    if not np.isfinite(known):
        return None
    reach = limits_of_variables(case.form, case.classification, known)
    found = [safe_bound(case.conic, x, z, reach) for z in candidates]
    values = [value for value in found if value is not None]
    return min(max(values), known) if values else None
