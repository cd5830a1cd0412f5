"""Our own lower bound on a model, from whatever multipliers there are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.cone_recognition import Cone
from tightmargin.solvers.canonical_form.conic_form import Multipliers, conic_multipliers
from tightmargin.solvers.canonical_form.named_values import named_duals, named_values
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.dual_repair import repaired
from tightmargin.solvers.certificates.kkt import conditions
from tightmargin.solvers.certificates.safe_bound import ABOVE, Reach, limits_of_variables
from tightmargin.solvers.certificates.weak_duality import METHOD, proven_bound
from tightmargin.solvers.certificates.zero_optimum import zero_bound
from tightmargin.solvers.exact.lp_bound import METHOD as EXACT_METHOD
from tightmargin.solvers.exact.lp_bound import exact_lp_value
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.plain_json import plain

# Fact under which multipliers of others are kept, so that the bound can be proven again.
BOUND_DUALS = "bound_duals"
BOUND_POINT = "bound_point"  # of a quadratic program, whose weak duality is taken at a point

TIGHT = 1e-9
SHRUNK = 1e-8
# Of the natural size of the objective: there a bound of exactly 0 is tried.
NEARLY_ZERO = 1e-6


@dataclass(frozen=True)
class Bound:
    """Best proven bound so far.

    Attributes
    ----------
    value : float or None
        Rounded down once the constant of the objective is added.
    residuals : mapping
        The conditions of kkt.py at the multipliers it comes from, as they were given.
    reason : str
        Why there is no bound.
    varying : float or None
        The bound without that constant, where it was proven so: beside a large constant it is what
        a small gap shows in.
    """

    value: float | None = None
    method: str = ""
    residuals: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    varying: float | None = None

    def at(self, varying: Fraction, constant: float) -> Bound:
        """The bound with its value, to which the constant of the objective is added."""
        value = rounded_down(varying + Fraction(constant))
        return replace(self, value=value, varying=rounded_down(varying))

    def better(
        self, value: float | None, method: str, facts: Mapping[str, Any] | None = None
    ) -> Bound:
        """The larger of this bound and another one."""
        if value is None or (self.value is not None and self.value >= value):
            return self
        return replace(self, value=value, method=method, reason="", facts=facts or {}, varying=None)


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
    exact = exact_lp_value(form, duals.rows) if linear else None
    if exact is None:
        found = _double_bound(case, duals, x)
        return replace(found, method=found.method + origin + relaxed, facts=facts)
    residuals = conditions(form, case.conic, duals, x, abs(form.objective.varying(x)))
    found = Bound(None, EXACT_METHOD + relaxed, residuals, facts=facts)
    if is_nearly_zero(case, float(exact)):
        known = Reach(form.lower, form.upper, math.inf)
        z = conic_multipliers(case.conic, duals)
        exact = exact if zero_bound(case.conic, form, z, known) is None else Fraction(0)
    return found.at(exact, form.objective.constant)


def _double_bound(case: Case, duals: Multipliers, x: Array) -> Bound:
    form, conic = case.form, case.conic
    z = conic_multipliers(conic, duals)
    if not np.isfinite(z).all():
        return Bound(reason="the multipliers hold nan or infinity")
    known = form.objective.varying(x)
    if not np.isfinite(known):
        return Bound(reason=f"the objective is {known} at the point")
    residuals = conditions(form, conic, duals, x, abs(known))
    found, reason = multiplier_bound(case, x, z, known)
    if found is None:
        return Bound(None, "", residuals, reason)
    return Bound(None, METHOD, residuals).at(Fraction(found), form.objective.constant)


def multiplier_bound(case: Case, x: Array, z: Array, known: float) -> tuple[float | None, str]:
    """Best bound from given multipliers, repaired if need be, without the objective's constant.

    Parameters
    ----------
    known : float
        Objective at a point, without the constant: where points cost more, none is excluded.
    """
    form, conic, kind = case.form, case.conic, case.classification
    bend = kind.curvature
    assert bend is not None
    # A little above what is known, so that a bound that exceeds it shows.
    reach = limits_of_variables(form, kind, known + abs(known) * ABOVE)

    def proven(point: Array, multipliers: Array) -> float | None:
        return proven_bound(
            conic, point, multipliers,
            reach=reach, curvature=bend, readings=kind.readings,
        )  # fmt: skip

    best = proven(x, z)
    if is_tight(known, best):
        return best, ""
    better = repaired(conic, x, z, tuple(form.columns.names()))
    best = _larger(best, proven(better.x, better.z))
    as_written = all(row.cone is None or is_whole(row.cone) for row in kind.readings)
    if as_written and not is_tight(known, best):
        best = _larger(best, _near_one(case, x, z, reach))
    if not is_tight(known, best):
        # Where costs are positive, a little less of everything leaves them a little of themselves.
        less = 1 - SHRUNK
        best = _larger(best, proven(less * better.x, less * better.z))
    convex = bool((bend >= 0).all())
    if convex and (best is None or is_nearly_zero(case, best)):
        best = _larger(best, zero_bound(conic, form, better.z, reach))
    reason = better.reason or "what is left of stationarity acts on a variable without a limit"
    return best, "" if best is not None else reason


def _near_one(case: Case, x: Array, z: Array, reach: Reach) -> float | None:
    """In numbers near 1 less is lost to rounding.

    The factors are powers of two, so that the bound of the scaled form is one of this form.
    """
    scaled, c = case.factors.conic(case.conic), case.factors.columns
    curvature = case.classification.curvature
    assert curvature is not None
    size = scaled.objective
    better = repaired(scaled.conic, scaled.scaled_point(x), scaled.scaled_multipliers(z))
    near = Reach(reach.low / c, reach.high / c, reach.cutoff / size)
    found = proven_bound(
        scaled.conic, better.x, better.z, reach=near, curvature=curvature * c * c / size
    )
    return None if found is None else size * found


def is_whole(cone: Cone) -> bool:
    """Whether f and g of a cone (f + g, f - g, h) come back from its first two rows exactly.

    Only then may they be scaled apart: what a sum has lost is nothing beside the sum, and may be
    all that there is of f. A cone that misses its row has no scaled form either.
    """
    if cone.excess is not None:
        return False
    if cone.factors is None:
        return True
    F, ends = cone.factors
    half = np.array([[0.5, 0.5], [0.5, -0.5]])
    return bool((half @ cone.A[:2] == F).all() and (half @ cone.b[:2] == ends).all())


def is_nearly_zero(case: Case, bound: float) -> bool:
    """Whether a bound is below 0 by so little that the optimum may be 0."""
    return bound < 0 and abs(bound) <= NEARLY_ZERO * case.scale(bound)


def is_tight(known: float, bound: float | None) -> bool:
    """Whether nothing is to be gained from another bound."""
    return bound is not None and known - bound <= TIGHT * max(abs(known), abs(bound))


def _larger(a: float | None, b: float | None) -> float | None:
    found = [value for value in (a, b) if value is not None]
    return max(found, default=None)
