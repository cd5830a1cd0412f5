"""Our own lower bound on a model, from whatever multipliers there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.backends.preference import needs_gigabytes
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.conic_form import Multipliers, conic_multipliers
from tightmargin.solvers.canonical_form.named_values import named_duals, named_values
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.kkt import conditions
from tightmargin.solvers.certificates.multiplier_search import EarlyBound, larger, searched_bound
from tightmargin.solvers.certificates.zero_optimum import is_nearly_zero, zero_bound
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.deadline import is_over, seconds_left
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.plain_json import plain
from tightmargin.solvers.proofs.exact_lp import exact_lp_bound
from tightmargin.solvers.proofs.statement import LowerBound
from tightmargin.solvers.proofs.weak_duality import proven_bound

# Entries of a linear program up to which an exact bound takes a few thousandths of a second; beyond
# that it takes two or three times as long as one that is the same to so much of the known value.
FEW_ENTRIES, LAST_DIGITS = 10_000, 1e-13

# Fact under which multipliers of others are kept, so that the bound can be proven again.
BOUND_DUALS = "bound_duals"
BOUND_POINT = "bound_point"  # of a quadratic program, whose weak duality is taken at a point


@dataclass(frozen=True)
class Bound:
    """Best proven bound so far.

    Attributes
    ----------
    proof : LowerBound or None
    residuals : mapping
        The conditions of kkt.py at the multipliers it comes from, as they were given.
    reason : str
        Why there is no bound.
    origin : str
        Said behind the words of the proof: whose multipliers they were.
    facts : mapping
        With which it can be proven again.
    """

    proof: LowerBound | None = None
    residuals: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    origin: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """How it is proven; empty without a bound."""
        return "" if self.proof is None else self.proof.words + self.origin

    @property
    def varying(self) -> float | None:
        """Its number without the constant of the objective."""
        return None if self.proof is None else self.proof.varying

    def value(self, constant: float) -> float | None:
        """Its number with the constant of the objective, rounded down."""
        return None if self.proof is None else self.proof.value(constant)

    def better(self, proof: LowerBound | None, facts: Mapping[str, Any] | None = None) -> Bound:
        """The larger of this bound and another one."""
        if proof is None or (self.proof is not None and self.proof.end >= proof.end):
            return self
        return replace(self, proof=proof, reason="", origin="", facts=facts or {})


def model_bound(case: Case, claim: Claim, early: EarlyBound | None = None) -> Bound:
    """Bound of the model itself, of its convex relaxation when some variables are integer.

    Parameters
    ----------
    early : callable() -> (LowerBound or None, bool), optional
        As for `searched_bound`; not asked where the solver has no multipliers.
    """
    form, classification = case.form, case.classification
    if not classification.relaxes_to_convex:
        return Bound(reason=f"no convex relaxation: {classification.reason}")
    x = np.zeros(form.n) if claim.x is None else claim.x
    if claim.duals is not None:
        return _from_multipliers(case, x, claim.duals, Bound(), early)
    # The solver has none; anybody's multipliers will do, because they are checked here.
    other = of_clarabel(case)
    if isinstance(other, str):
        return Bound(reason=f"no multipliers: {other}")
    x, duals = other
    facts: dict[str, Any] = {BOUND_DUALS: plain(named_duals(form, duals))}
    if form.is_quadratic:
        facts |= {BOUND_POINT: plain(named_values(case.model, form, x))}
    return _from_multipliers(case, x, duals, Bound(origin=" from clarabel", facts=facts))


def of_clarabel(case: Case, *, closer: bool = False) -> tuple[Array, Multipliers] | str:
    """Its point and multipliers, or why there are none.

    Parameters
    ----------
    case : Case
    closer : bool
        In numbers near 1 and to smaller tolerances, whatever the numbers of the model are.
    """
    if not SOLVERS["clarabel"].installed:
        return "the solver gives none, and clarabel is missing"
    if is_over():
        return "the solver gives none, and the time is over"
    if needs_gigabytes(case.form):
        return "the solver gives none, and clarabel would need gigabytes"
    alone = Limits(seconds_left(), case.limits.threads)
    factors = case.factors if closer else case.scaling
    if factors is None:
        other = clarabel.run_conic(case.conic, len(case.form.rows), alone)
    else:
        other = clarabel.run_scaled(case.form, case.classification, alone, factors)
    if other.duals is None or other.x is None:
        return other.message
    return other.x, other.duals


def _from_multipliers(
    case: Case, x: Array, duals: Multipliers, found: Bound, early: EarlyBound | None = None
) -> Bound:
    """The bound at a point and multipliers, with what is already known of them."""
    form = case.form
    z = conic_multipliers(case.conic, duals)
    if not np.isfinite(z).all():
        return Bound(reason="the multipliers hold nan or infinity")
    known = form.objective.varying(x)
    if not np.isfinite(known):
        return Bound(reason=f"the objective is {known} at the point")
    residuals = conditions(form, case.conic, duals, x, abs(known))
    proof, reason = None, ""
    if not form.is_quadratic and not form.psd:
        proof = _linear_bound(case, x, z, known, duals.rows)
        if proof is not None and is_nearly_zero(case, proof.varying):
            proof = larger(proof, zero_bound(case.subject, z, max(known, 0.0)))
    if proof is None:
        proof, reason = searched_bound(case, x, z, known, early)
    return replace(found, proof=proof, residuals=residuals, reason=reason)


def _linear_bound(case: Case, x: Array, z: Array, known: float, y: Array) -> LowerBound | None:
    """The bound of a linear program: to the last digits of a large one, exact of any other."""
    form = case.form
    if form.columnwise.nnz > FEW_ENTRIES:
        near = proven_bound(case.subject, x, z, None)
        if near is not None and known - near.varying <= LAST_DIGITS * abs(known):
            return near
    return exact_lp_bound(form, y)
