"""The upper end of a proven interval: the best feasible point near the one that a solver left."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tightmargin.formulations.catalogue import PaperCheck
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.exponential.bound import exponential_point
from tightmargin.solvers.certificates.zero_optimum import NEARLY_ZERO, zero_point
from tightmargin.solvers.exact_points.exact_point import exact_point
from tightmargin.solvers.execution.deadline import is_over
from tightmargin.solvers.methods import bounds_of
from tightmargin.solvers.proofs.feasible_point import near_point, proven_point
from tightmargin.solvers.proofs.lemma import point_by_formula
from tightmargin.solvers.proofs.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.proofs.verdict import Verdict

FORMULA = "the formulation's formula, which meets its rows by construction"

QUICK = 100_000  # entries of rows
REPAIR = 1e-4  # of the objective: what costs more is another point, such as 0, and no repair


def upper_end(
    case: Case, x: Array, lower: LowerBound | None, check: PaperCheck | None = None
) -> FeasiblePoint | None:
    """An exactly feasible point near x or a better one, or x with what it misses its rows by.

    Parameters
    ----------
    lower : LowerBound or None
        Which of the two is worth more is decided by the verdict with it.
    check : PaperCheck or None
        Of x: where its point has no doubles for coordinates, the formula says what it costs.
    """
    if case.form.nonlinear:
        return exponential_point(case, x)
    if _is_too_late(case):
        return None
    exact: FeasiblePoint | None = None
    for found in _exact_points(case, x, check):
        exact = found if exact is None or found.end < exact.end else exact
        if _verdict(case, exact, lower) is Verdict.CERTIFIED:
            return exact
    if lower is not None and lower.varying == 0 and _is_nearly_zero(case, x):
        zero = zero_point(case.form, x)
        if zero is not None:
            return zero
    if exact is None and check is not None and check.error is not None and not check.violation:
        varying = check.objective - case.constant
        return point_by_formula(case.form, varying, check.error, FORMULA, x)
    near = None if _is_too_late(case) else near_point(case.form, x)
    if near is not None and _verdict(case, near, lower) is Verdict.WITHIN_TOLERANCE:
        return near
    if exact is None or near is None:
        return exact or near
    size = max(abs(exact.varying), abs(near.varying))
    return exact if exact.varying - near.varying <= REPAIR * size else near


def _is_too_late(case: Case) -> bool:
    """Whether the time is over for a look at a point that takes longer than a moment."""
    return is_over() and (bool(case.form.psd) or case.form.columnwise.nnz > QUICK)


def _exact_points(case: Case, x: Array, check: PaperCheck | None) -> Iterator[FeasiblePoint]:
    """Exactly feasible points: one that the formulation knows, one near x, one of the family's."""
    known = None if check is None else _known_point(case, x, check)
    if known is not None:
        yield known
    if _is_too_late(case):
        return
    near = exact_point(case.form, case.classification, x, case.limits)
    if near is not None:
        yield near
    closer = None if is_over() else _closer_point(case, x)
    if closer is not None and _is_a_repair(case, x, closer):
        yield closer


def _known_point(case: Case, x: Array, check: PaperCheck) -> FeasiblePoint | None:
    """The first point that the formulation knows and the kernel finds feasible."""
    for values in check.known:
        exact: dict[int, Fraction] = {}
        for name, numbers in values.items():
            component = case.model.find_component(name)
            if component is None:
                continue
            columns, _ = case.form.columns.of(component)
            pairs = zip(columns.tolist(), numbers, strict=True)
            exact |= {column: number for column, number in pairs if column >= 0}
        found = proven_point(case.form, x, exact)
        if found is not None:
            return found
    return None


def _is_a_repair(case: Case, x: Array, closer: FeasiblePoint) -> bool:
    """Whether a point may stand for what the solver found.

    Where the solver was ours to choose, any better one; where it was named, nothing but its last
    digits: what a solver of a user's does wrong is not hidden.
    """
    if case.automatic:
        return True
    found = case.form.objective.varying(x)
    size = max(abs(found), abs(closer.varying))
    return abs(found - closer.varying) <= REPAIR * size


def _closer_point(case: Case, x: Array) -> FeasiblePoint | None:
    """A point that the family finds where the solver ends too far from the optimum."""
    bounds = bounds_of(case.origin)
    if bounds is None or bounds.point is None or case.origin is None:
        return None
    values = bounds.point(case.origin)
    if values is None:
        return None
    start = point_with(case.model, case.form, x, values)
    check = case.paper_check(start)
    if check is not None:
        start = point_with(case.model, case.form, start, check.repaired)
    return exact_point(case.form, case.classification, start, case.limits)


def _verdict(case: Case, point: FeasiblePoint, lower: LowerBound | None) -> Verdict:
    return case.judged(point, lower).verdict


def _is_nearly_zero(case: Case, x: Array) -> bool:
    varying = case.form.objective.varying(x)
    return abs(varying) <= NEARLY_ZERO * case.scale(varying)
