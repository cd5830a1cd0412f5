"""The verdict on a saved result: what it says against itself and against what is computed again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.experiments.saved_results.verification_facts import (
    contradicted_fact,
    contradicted_variable,
    unchecked_parts,
)
from tightmargin.formulations.catalogue import PaperCheck
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed, value_text
from tightmargin.solvers.certify.case import (
    CLAIM_TOLERANCE,
    FEASIBILITY_TOLERANCE,
    Case,
    onto_bounds,
)
from tightmargin.solvers.certify.certify import upper_end
from tightmargin.solvers.kernel.statement import (
    CLOSED,
    FeasiblePoint,
    LowerBound,
    point_by_formula,
    unit,
)
from tightmargin.solvers.kernel.verdict import Judgement, Verdict, judged, weakest
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.names import is_triangle, point_with, variables
from tightmargin.solvers.model.residuals import primal_residual
from tightmargin.solvers.result import Certificate, SolveResult
from tightmargin.solvers.tables import Framed

# Arithmetic repeated in double precision, perhaps on another machine: of the objective, and of the
# sum of its absolute terms, which may cancel.
OBJECTIVE_TOLERANCE, TERM_TOLERANCE = 1e-9, 1e-13
# A bound proven again is a proof by itself; it may lie this far below the saved one.
BOUND_TOLERANCE = 1e-7

NO_OPTIMUM = (Status.INFEASIBLE, Status.UNBOUNDED)


@dataclass(frozen=True, repr=False)
class Repeated(Printed):
    """One number of a result, as saved and as computed again."""

    name: str
    saved: float | None
    recomputed: float | None
    confirmed: bool


def told_of(row: Repeated) -> str:
    """Whether a number was confirmed, for a table."""
    return "yes" if row.confirmed else "NO"


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Framed):
    """A saved result beside its recomputation.

    numbers: empty for a result without a point.
    verdict: what our own computation makes of the file.
    bound_method: how the bound, or that there is no optimum, was proven again; empty when it was
        not.
    claims: what stays the word of the solver, or of whoever saved the file.
    reason: why the file is not confirmed; empty when it is.
    status: that of the file.
    unchecked: words of the file that nothing here computes again.
    absolute_gap: the caller's allowance where the verdict rests on it; 0 where the gap is closed
        without.
    problem: what was proven again is of this: the file's formulation, hyperparameters and
        preparation.
    """

    numbers: tuple[Repeated, ...]
    verdict: Verdict
    bound_method: str
    claims: tuple[str, ...]
    reason: str
    status: Status = Status.OPTIMAL
    unchecked: tuple[str, ...] = ()
    absolute_gap: float = 0.0
    problem: str = ""
    _table = "numbers"

    def _page(self) -> Page:
        told = self.reason or (self.bound_method and f"proven again by {self.bound_method}")
        names = ("saved", "recomputed")
        rows = [
            (row.name, *(value_text(getattr(row, name)) or "-" for name in names), told_of(row))
            for row in self.numbers
        ]
        parts = [(count_text(len(self.claims), "claim"), "claims", self.claims)]
        parts += [(count_text(len(self.unchecked), "word"), "unchecked", self.unchecked)]
        left = "; ".join(f"{count} of the file: .{name}" for count, name, of in parts if of)
        told = "; ".join(part for part in (self.allowance, told) if part)
        title = f"Verification: {self.verdict}" + (told and f", {told}")
        return Page(title, columns=("number", *names, "confirmed"), rows=rows, more=left)

    @property
    def confirmed(self) -> bool:
        """Whether everything the file states was proven again or is marked as a claim."""
        return not self.reason

    @property
    def allowance(self) -> str:
        """What the verdict rests on beside the proofs, in words; empty where it is nothing."""
        if not self.absolute_gap:
            return ""
        recomputed = {row.name: row.recomputed for row in self.numbers}
        objective, bound = recomputed["objective"], recomputed["bound"]
        assert objective is not None
        assert bound is not None
        gap = f"{abs(objective - bound):.3g}"
        return f"by an absolute gap of {self.absolute_gap:g} that the caller allows; it is {gap}"

    @property
    def without_optimum(self) -> bool:
        """Whether what was proven again is that there is no point or no least value."""
        return self.confirmed and self.status in NO_OPTIMUM


def compared(
    result: SolveResult,
    case: Case,
    checked: PaperCheck,
    proof: LowerBound | None,
    why: str,
) -> Verification:
    """The file beside what is computed again, and what our own computation makes of it.

    checked: of the saved point.
    proof: the best lower bound that was proven here.
    why: why that may be less than the saved one.
    """
    saved, stated = result.certificate, result.objective
    assert stated is not None
    k = case.constant
    bound = None if proof is None else proof.value(k)
    violation = _violation(result, case, checked)
    rounding = _rounding(result, case, checked.objective)
    same = abs(checked.objective - stated) <= rounding
    feasible = violation <= FEASIBILITY_TOLERANCE
    held = result.bound is None or reaches(bound, result.bound, case)
    claims = []
    if saved.solver_bound is not None:
        claims.append(f"bound {saved.solver_bound:.17g}: the word of {result.solver}")
    if saved.facts.get("second_solver"):
        claims.append(_second_claim(saved.facts))
    if not held:
        claims.append(
            f"bound {result.bound:.17g}: proven when it was saved ({saved.bound_method}), {why}"
        )
    if checked.unproven:
        claims.append(f"that an optimum of the problem is one of the model: {checked.unproven}")
    point = _point(result, case, checked, proof) if feasible else None
    allowed = case.limits.absolute_gap
    strict, again = judged(point, proof), judged(point, proof, absolute_gap=allowed)
    reason = ""
    if not same:
        reason = (
            f"the saved objective {stated:.17g} is {checked.objective:.17g} when computed again"
        )
    elif not feasible:
        reason = f"the point is infeasible by {violation:.2e}"
    else:
        reason = (
            _against_itself(result, checked.objective, bound, case, rounding)
            or _foreign_names(result, case)
            or contradicted_variable(result, checked.repaired)
            or _other_objective(result, case, rounding)
            or contradicted_fact(saved.facts, checked.facts)
            or _unfounded(result, case, checked, proof, point, again, claims)
        )
    numbers = (
        Repeated("objective", stated, checked.objective, same),
        Repeated("violation", saved.primal_residual, violation, feasible),
        Repeated("bound", result.bound, bound, held),
    )
    verdict = Verdict.NOT_CERTIFIED if reason else saved.verdict
    words = "" if proof is None else proof.words
    return Verification(
        numbers, verdict, words, tuple(claims), reason, result.status,
        unchecked_parts(result, checked.facts, again, words, checked.unproven),
        0.0 if strict.verdict.closed or not verdict.closed else allowed,
    )  # fmt: skip


def _foreign_names(result: SolveResult, case: Case) -> str:
    """Names of variables that the model does not have, in words; empty where there are none."""
    known = {component.name for component in variables(case.model)}
    foreign = [name for name in (*result.values, *result.ray) if name not in known]
    return f"the model has no variable {', '.join(foreign)}" if foreign else ""


def _violation(result: SolveResult, case: Case, checked: PaperCheck) -> float:
    """Of the paper's constraints at the point, and of the model's rows at all saved variables."""
    refuse_missing(result.values, case)
    if not all(np.isfinite(array).all() for array in result.values.values()):
        return float("inf")
    for component in variables(case.model):
        # A matrix is read by its lower triangle, and shown as a whole.
        array = result.values.get(component.name)
        if array is None or array.ndim != 2 or not is_triangle(component):
            continue
        if not np.array_equal(array, array.T):
            return float("inf")
    x = point_with(case.model, case.form, np.full(case.form.n, np.nan), result.values)
    if np.isnan(x).any():
        # Variables of disjuncts are in no file: the formula says all there is.
        return max(checked.violation, checked.unsaved)
    return max(checked.violation, primal_residual(case.form, x)[0])


def _other_objective(result: SolveResult, case: Case, rounding: float) -> str:
    """Where the objective of all saved variables is not the saved one; empty if it is."""
    stated = result.objective
    assert stated is not None
    x = point_with(case.model, case.form, np.full(case.form.n, np.nan), result.values)
    if np.isnan(x).any():
        return ""
    value = case.form.sense * case.form.value(x)
    room = CLOSED * case.unit(stated, value) + rounding
    if abs(value - stated) <= room:
        return ""
    return f"the saved variables have the objective {value:.17g}, not {stated:.17g}"


def _rounding(result: SolveResult, case: Case, objective: float) -> float:
    """How far two computations of the objective may lie apart."""
    x = point_with(case.model, case.form, np.zeros(case.form.n), result.values)
    x = np.where(np.isfinite(x), x, 0.0)
    goal, size = case.form.objective, np.abs(x)
    terms = float(size @ (abs(goal.Q) @ size)) + float(np.abs(goal.a) @ size) + abs(goal.constant)
    apart = unit(objective, objective, goal.constant)
    return OBJECTIVE_TOLERANCE * apart + TERM_TOLERANCE * (terms + abs(objective))


def _against_itself(
    result: SolveResult, objective: float, bound: float | None, case: Case, rounding: float
) -> str:
    """Where the numbers of the file contradict each other or what is computed; empty if nowhere."""
    saved = result.certificate
    if result.status in NO_OPTIMUM:
        return f"it is {result.status} and has a feasible point"
    if saved.verdict.closed and result.status is not Status.OPTIMAL:
        return f"it is {saved.verdict}, and its status is {result.status}"
    for name, number, room in (
        ("saved bound", result.bound, CLOSED),
        ("bound proven here", bound, CLOSED),
        ("solver's bound", saved.solver_bound, CLAIM_TOLERANCE),
    ):
        if number is None:
            continue
        if not number <= objective + rounding + room * case.unit(objective, number):
            return f"the {name} {number:.17g} exceeds the objective {objective:.17g}"
    if saved.bound != result.bound:
        return f"the saved bound is {result.bound} and that of its certificate {saved.bound}"
    residual, upper = saved.primal_residual, saved.upper
    if residual is not None and not 0 <= residual <= FEASIBILITY_TOLERANCE:
        return f"the saved violation {residual:.3g} is not that of a feasible point"
    if upper is not None and not objective - rounding <= upper:
        return f"the saved upper end {upper:.17g} is below the objective {objective:.17g}"
    room = rounding + CLOSED * case.unit(objective, objective)
    if upper is not None and saved.verdict.closed and not upper <= objective + room:
        return f"the saved upper end {upper:.17g} is above the objective {objective:.17g}"
    return _other_gap(result, objective, case)


def _other_gap(result: SolveResult, objective: float, case: Case) -> str:
    """Where the saved gap, or its unit, is not that of objective and bound; empty if they are."""
    gap, upper = result.certificate.gap, result.certificate.upper
    if gap is not None and result.bound is not None:
        # Beside an optimum of 0 the objective may be rounding, and a proven upper end is more.
        end = objective if upper is None else upper
        ends = [(objective, max(1.0, abs(objective)))]
        ends += [(each, case.unit(each, result.bound)) for each in (objective, end)]
        apart = max(objective - result.bound, 0.0)
        shares = [max(each - result.bound, 0.0) / size for each, size in ends if size > 0]
        if not any(abs(gap - share) <= CLOSED * max(1.0, gap) for share in shares):
            return f"the saved gap {gap:.3g} is that of another bound, {apart:.3g} away"
    if "unit" in result.certificate.facts and result.bound is not None:
        if result.unit is None:
            return "the saved unit of the gap is no number"
        known = [objective] if upper is None else [objective, upper]
        units = [case.unit(each, result.bound) for each in known]
        if not any(math.isclose(result.unit, each, rel_tol=CLOSED) for each in units):
            return f"the saved unit {result.unit:.9g} of the gap is {units[-1]:.9g}"
    return ""


def _unfounded(
    result: SolveResult,
    case: Case,
    checked: PaperCheck,
    proof: LowerBound | None,
    point: FeasiblePoint | None,
    again: Judgement,
    claims: list[str],
) -> str:
    """Why the saved verdict does not follow from what was proven again; empty if it does."""
    saved, k, stated = result.certificate, case.constant, result.objective
    assert stated is not None
    last = "".join(f": {claim}" for claim in claims[-1:])
    bound = None if proof is None else proof.value(k)
    held = result.bound is None or reaches(bound, result.bound, case)
    closed = case.closes(checked.objective, proof) and case.closes(stated, proof)
    if saved.verdict is Verdict.NOT_CERTIFIED:
        return f"it was saved as NOT_CERTIFIED: {saved.reason}"
    if held and saved.verdict.closed and weakest([again.verdict, saved.verdict]) != saved.verdict:
        why = again.reason + asked_gap(saved)
        return f"it was saved as {saved.verdict}, and is not again: {why}"
    if not held or (saved.verdict.closed and not closed):
        return f"the saved bound could not be proven again{last}"
    if saved.upper is not None:
        most = point.value(k) if point is not None and point.exact else math.inf
        room = CLOSED * case.unit(saved.upper, saved.upper)
        if not most <= saved.upper + room:
            return f"the saved upper end {saved.upper:.17g} could not be proven again"
    # A bound on the problem itself needs no proof that the model keeps its optimum.
    if checked.unproven and not saved.unproven and (case.classification.convex or not closed):
        return f"the saved bounds rest on what nothing proves: {checked.unproven}"
    if saved.verdict is Verdict.SOLVER_BOUND and saved.solver_bound is None:
        return "it rests on a solver's bound and holds none"
    return ""


def asked_gap(saved: Certificate) -> str:
    """What a file that was saved with an allowance needs of the caller; empty for others."""
    asked = saved.facts.get("absolute_gap")
    if not asked:
        return ""
    return (
        f"; it was saved with an absolute gap of {asked}, and no file allows itself one: certify it"
        f" with --absolute-gap {asked} (in Python absolute_gap={asked}) if you allow it"
    )


def _point(
    result: SolveResult, case: Case, checked: PaperCheck, proof: LowerBound | None
) -> FeasiblePoint | None:
    """What is proven of the saved point, its slacks from the formula where no file holds them."""
    x = point_with(case.model, case.form, np.full(case.form.n, np.nan), checked.repaired)
    x = point_with(case.model, case.form, x, result.values)
    if np.isnan(x).any():  # variables of disjuncts are in no file
        error = _rounding(result, case, checked.objective)
        varying = checked.objective - case.constant
        return point_by_formula(case.form, varying, error, "by the paper's formula")
    return upper_end(case, onto_bounds(case.form, x), proof, checked)


def reaches(bound: float | None, stated: float, case: Case) -> bool:
    """Whether a bound proven here is as good as the saved one, up to repeated arithmetic."""
    return bound is not None and bound >= stated - BOUND_TOLERANCE * case.unit(stated, bound)


def _second_claim(facts: Mapping[str, Any]) -> str:
    name, value, bound = (facts.get(f"second_{w}") for w in ("solver", "objective", "bound"))
    return f"{name} was asked as well: objective {value}, bound {bound}"


def refuse_shapes(values: Mapping[str, Array], case: Case) -> None:
    """Raise ValueError for an array in the place of one number."""
    for c in variables(case.model):
        if not c.is_indexed() and np.ndim(values.get(c.name, 0.0)):
            shape = np.shape(values[c.name])
            raise ValueError(f"the result holds {c.name}, one number, as an array of shape {shape}")


def refuse_missing(values: Mapping[str, Array], case: Case, what: str = "the result") -> None:
    """Raise ValueError unless there is an array for every variable of the model."""
    # What stands for numbers that no double is follows from the others, and is in no file.
    written = [c for c in variables(case.model) if not hasattr(c.parent_block(), "defined")]
    missing = [c.name for c in written if len(c) and c.name not in values]
    if missing:
        raise ValueError(f"{what} holds no values of {', '.join(missing)}")
