"""Multipliers near given ones that prove more, tried in turn; the kernel judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.dual_centre import with_room
from tightmargin.solvers.certificates.dual_repair import repaired
from tightmargin.solvers.certificates.zero_optimum import is_nearly_zero, zero_bound
from tightmargin.solvers.execution.deadline import is_over
from tightmargin.solvers.proofs.statement import LowerBound
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.proofs.weak_duality import prepared, proven_bound

# Of the known value: a hundredth of what a verdict asks for.
TIGHT = 1e-8
SHRUNK = 1e-8
# Of a known value: points that cost so much more count too, so that a bound above it shows.
ABOVE = 1e-3
FULL = 1e-6  # of the price of a slack
EarlyBound = Callable[[], tuple[LowerBound | None, bool]]

# How far multipliers go towards the middle of the stationary ones, where they lack room.
SHARES = (1e-10, 1e-8, 1e-6)


def searched_bound(
    case: Case, x: Array, z: Array, known: float, early: EarlyBound | None = None
) -> tuple[LowerBound | None, str]:
    """Best bound from given multipliers, repaired if need be, and why there is none.

    Parameters
    ----------
    x : array (n,)
        Point at which a quadratic objective is linearised.
    z : array (m,)
        Of the rows of `case.conic`.
    known : float
        Objective at a point, without the constant: where points cost more, none is excluded.
    early : callable() -> (LowerBound or None, bool), optional
        A bound of the family's, asked for before multipliers are repaired, and whether it closes
        the gap: then nothing is repaired.
    """
    subject, conic = case.subject, case.conic
    cutoff = known + abs(known) * ABOVE
    best = proven_bound(subject, x, z, None)
    if is_tight(known, best):
        return _not_below_zero(case, best, z, cutoff), ""
    family, closed = (None, False) if early is None else early()
    best = larger(best, family)
    if closed or is_tight(known, best):
        return best, ""
    if is_over():
        return best, "the time is over" if best is None else ""
    better = repaired(conic, x, z, case.form.columns.names)
    best = larger(best, proven_bound(subject, better.x, better.z, None))
    if is_tight(known, best):
        return _not_below_zero(case, best, better.z, cutoff), ""
    # What rows and objective imply for the variables takes longer to find than a bound itself.
    for point in ((x, z), (better.x, better.z)):
        if not (is_over() or is_tight(known, best)):
            best = larger(best, _below_cutoff(subject, *point, cutoff))
    # Where nothing of their own worth is lost, it is the point that is not optimal.
    worth = max(_worth(conic, x, z), _worth(conic, better.x, better.z))
    enough = is_over() or is_tight(known, best) or is_tight(worth, best)
    if not enough:
        # In numbers near 1 the repair loses less to rounding.
        scaled = case.factors.conic(conic)
        near = repaired(scaled.conic, scaled.scaled_point(x), scaled.scaled_multipliers(z))
        found = proven_bound(subject, near.x, near.z, cutoff, factors=case.factors.factors)
        if found is None:  # cones that are not whole have no scaled form
            back = scaled.point(near.x), scaled.multipliers(near.z)
            found = _tried(subject, *back, cutoff)
        best = larger(best, found)
    if not (enough or is_tight(known, best)):
        # Where costs are positive, a little less of everything leaves them a little of themselves.
        less = 1 - SHRUNK
        best = larger(best, _tried(subject, less * better.x, less * better.z, cutoff))
    best = _not_below_zero(case, best, better.z, cutoff)
    reason = better.reason or _without_limits(case)
    return best, "" if best is not None else reason


def _without_limits(case: Case) -> str:
    """Why there is no bound, with the limits to write where a variable has neither cost nor limits.

    Of an intercept, say: however small what is left of its multipliers is, nothing bounds it.
    """
    form, curvature = case.form, case.classification.curvature
    endless = ~(np.isfinite(form.lower) | np.isfinite(form.upper)) & (form.objective.a == 0)
    if curvature is not None:
        endless &= curvature <= 0
    words = "what is left of stationarity acts on a variable without a limit"
    if not endless.any():
        return words
    name = form.columns.name(int(np.flatnonzero(endless)[0]))
    return f"{words}: {name} needs a row -B <= {name} <= B that keeps an optimum, or a price"


def _not_below_zero(
    case: Case, bound: LowerBound | None, z: Array, cutoff: float
) -> LowerBound | None:
    """The bound, or 0 where it is below that by no more than a rounding and 0 is proven."""
    if bound is not None and not is_nearly_zero(case, bound.varying):
        return bound
    return larger(bound, zero_bound(case.subject, z, cutoff))


def _worth(conic: ConicForm, x: Array, z: Array) -> float:
    """The bound of a point and multipliers that leave nothing of stationarity."""
    return -float(x @ (conic.P @ x)) / 2 - float(conic.b @ z)


def is_tight(known: float, bound: LowerBound | None) -> bool:
    """Whether nothing is to be gained from another bound."""
    if bound is None:
        return False
    return known - bound.varying <= TIGHT * max(abs(known), abs(bound.varying))


def larger(a: LowerBound | None, b: LowerBound | None) -> LowerBound | None:
    """The better one of two bounds of one subject; the first where they agree."""
    if a is None or b is None:
        return a or b
    return b if b.end > a.end else a


def _tried(subject: Subject, x: Array, z: Array, cutoff: float) -> LowerBound | None:
    """The better one of the bounds for all points and for those below the cutoff."""
    alone = proven_bound(subject, x, z, None)
    return larger(alone, _below_cutoff(subject, x, z, cutoff))


def _below_cutoff(subject: Subject, x: Array, z: Array, cutoff: float) -> LowerBound | None:
    """The bound of the first multipliers that prove one: as given, or near by."""
    found = proven_bound(subject, x, z, cutoff)
    others = _alternatives(subject, x, z, cutoff) if found is None else ()
    for other in others:
        found = proven_bound(subject, x, other, cutoff)
        if found is not None:
            break
    return found


def _alternatives(subject: Subject, x: Array, z: Array, cutoff: float) -> Iterator[Array]:
    """Multipliers that may leave nothing on a variable without a limit."""
    reach, curvature = subject.reach(cutoff), subject.classification.curvature
    if curvature is None or reach.empty or not (np.isfinite(x).all() and np.isfinite(z).all()):
        return
    ready = prepared(subject.conic, z, reach)
    if ready is None:
        return
    conic, z = ready
    full = _at_full_price(conic, reach.high, z)
    if full is not None:
        yield _with_own_bounds(subject.conic, full)
    endless = ~(np.isfinite(reach.low) & np.isfinite(reach.high)) & (curvature <= 0)
    idle = endless & (conic.q == 0) & (np.diff(conic.P.indptr) == 0)
    rows = np.unique(conic.A[:, np.flatnonzero(idle)].indices)
    rows = rows[rows < len(conic.equal)]
    if z[rows].any():
        # Variables that cost nothing and are free, as in v = F'alpha: their rows prove nothing.
        without = z.copy()
        without[rows] = 0.0
        yield _with_own_bounds(subject.conic, without)
    residual = conic.P @ x + conic.q + conic.A.T @ z
    for share in SHARES:
        moved = with_room(conic, residual, z, np.flatnonzero(endless), reach, share)
        if moved is None:
            return
        yield _with_own_bounds(subject.conic, moved)


def _at_full_price(conic: ConicForm, high: Array, z: Array) -> Array | None:
    """Multipliers that leave nothing on slacks without a limit of which they left next to nothing.

    Where each point is a margin error, as in a nu-SVC at nu_max, no others are stationary. None
    where there is no such slack: a column in one row alone.
    """
    A = conic.A.tocsc()
    alone = (np.diff(A.indptr) == 1) & (np.diff(conic.P.indptr) == 0) & np.isinf(high)
    columns = np.flatnonzero(alone & (conic.q != 0))
    entries = A.indptr[columns]
    rows, price = A.indices[entries], -conic.q[columns] / A.data[entries]
    near = np.abs(z[rows] - price) <= FULL * np.abs(price)
    if not near.any():
        return None
    moved = z.copy()
    moved[rows[near]] = price[near]
    return moved


def _with_own_bounds(conic: ConicForm, z: Array) -> Array:
    """Multipliers of the whole form, 0 for the rows that are bounds of single columns."""
    first = sum(map(len, (conic.equal, conic.low, conic.high)))
    lost = len(conic.low_bound) + len(conic.high_bound)
    return np.concatenate([z[:first], np.zeros(lost), z[first:]])
