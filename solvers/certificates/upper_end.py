"""The upper end of a proven interval: the best feasible point near the one that a solver left."""

from __future__ import annotations

from tightmargin.formulations.catalogue import PaperCheck
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.zero_optimum import NEARLY_ZERO, zero_point
from tightmargin.solvers.exact_points.exact_point import exact_point
from tightmargin.solvers.proofs.feasible_point import near_point
from tightmargin.solvers.proofs.lemma import point_by_formula
from tightmargin.solvers.proofs.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.proofs.verdict import Verdict, judged

FORMULA = "the formulation's formula, which meets its rows by construction"

REPAIR = 1e-4  # of the objective: what costs more is another point, such as 0, and no repair


def upper_end(
    case: Case, x: Array, lower: LowerBound | None, check: PaperCheck | None = None
) -> FeasiblePoint | None:
    """An exactly feasible point near x, or x itself with what it misses its rows by.

    Parameters
    ----------
    lower : LowerBound or None
        Which of the two is worth more is decided by the verdict with it.
    check : PaperCheck or None
        Of x: where its point has no doubles for coordinates, the formula says what it costs.
    """
    exact = exact_point(case.form, case.classification, x, case.limits)
    if exact is not None and _verdict(case, exact, lower) is Verdict.CERTIFIED:
        return exact
    if lower is not None and lower.varying == 0 and _is_nearly_zero(case, x):
        zero = zero_point(case.form, x)
        if zero is not None:
            return zero
    if exact is None and check is not None and check.error is not None and not check.violation:
        varying = check.objective - case.constant
        return point_by_formula(case.form, varying, check.error, FORMULA, x)
    near = near_point(case.form, x)
    if near is not None and _verdict(case, near, lower) is Verdict.WITHIN_TOLERANCE:
        return near
    if exact is None or near is None:
        return exact or near
    size = max(abs(exact.varying), abs(near.varying))
    return exact if exact.varying - near.varying <= REPAIR * size else near


def _verdict(case: Case, point: FeasiblePoint, lower: LowerBound | None) -> Verdict:
    return judged(point, lower, absolute_gap=case.limits.absolute_gap).verdict


def _is_nearly_zero(case: Case, x: Array) -> bool:
    varying = case.form.objective.varying(x)
    return abs(varying) <= NEARLY_ZERO * case.scale(varying)
