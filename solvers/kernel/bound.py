"""One inequality behind every bound, from any numbers whatever, with every rounding counted.

Let f be convex once integrality is dropped, Q - diag(c) semidefinite for its Q
(solvers/model/convexity.py), g any direction, mu >= 0, z in the dual cone of rows A x + s = b, and
x^ any point. Then at every x that meets the rows

    g'x + mu f(x) >= - mu/2 x^'P x^ - b'z + sum_j [ r_j x_j + mu c_j (x_j - x^_j)^2 ],
    r = g + mu (P x^ + q) + A'z,

and each term of the sum is at least its minimum over a box, or over the limits of its variable:
those of its bounds, and those that follow for points of objective at most U (kernel/limits.py), so
that min(beta, U) is a bound for all points. A variable that bends (c_j > 0) needs no limit. With

    g = 0, mu = 1     it is a lower bound on f: weak duality,
    g = 0, mu = 0     where it is above 0, no point is in the box: Farkas,
    g = a row         g'x >= the minimum - mu U is a row that every point of the box meets.

What does not depend on the box is computed once; then a box costs a handful of operations on
vectors. Constants of the objective are left out. With S the dual slack of a semidefinite program
this is the bound b'y + min(0, lambda_min(S)) trace(X) of Jansson, Chaykin & Keil (Rigorous error
bounds for the optimal value in semidefinite programming, SIAM Journal on Numerical Analysis 46,
2007); it holds at any accuracy, that of a first-order method too.

r is known up to gamma_k sum |terms| (Higham, Accuracy and Stability of Numerical Algorithms, sec.
3.1). Where that much on a variable without a limit would cost everything, r_j is computed exactly
or nearly so, and made 0 exactly by moving as many multipliers that have room:
what is left of stationarity there is never called rounding. A product that underflows is off by up
to 2^-1075, and is charged with that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from tightmargin.formulations.common.rounding import OUTWARD
from tightmargin.formulations.common.rounding import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.solvers.exact import dot_integers, dyadic, rounded_down, rounded_up, scaled
from tightmargin.solvers.kernel.limits import Reach, Subject, excess_of
from tightmargin.solvers.kernel.statement import SEAL, Infeasible, LowerBound, relaxed
from tightmargin.solvers.kernel.systems import (
    ENCLOSED_LIMIT,
    FREE_LIMIT,
    Residuals,
    Step,
    exact_residuals,
    near_residuals,
    step_of,
)
from tightmargin.solvers.model.conic import ConicForm, triangle_scale, unpack, without_own_bounds
from tightmargin.solvers.model.convexity import Reading, proven_at_least
from tightmargin.solvers.model.scaling import Factors, scaled_conic

# --- Multipliers that are proven to lie in the dual cone -----------------------------------------


def in_dual_cone(conic: ConicForm, z: Array) -> Array | None:
    """Multipliers that are proven to lie in the dual cone, near those given; None if none are."""
    z = z.copy()
    widths: dict[int, list[int]] = {}
    for block in conic.blocks:
        match block.kind:
            case "nonneg":
                z[block.rows] = np.maximum(z[block.rows], 0.0)
            case "soc":
                widths.setdefault(block.size, []).append(block.start)
            case "psd":
                found = _definite(z[block.rows])
                if found is None:
                    return None
                z[block.rows] = found
    for width, starts in widths.items():
        places = np.array(starts)[:, None] + np.arange(width)
        parts = z[places]
        top = np.abs(parts[:, 1:]).max(axis=1, initial=0.0)
        unit = np.where(top > 0, top, 1.0)  # no square over- or underflows
        norm = unit * np.sqrt(((parts[:, 1:] / unit[:, None]) ** 2).sum(axis=1))
        z[places[:, 0]] = np.maximum(parts[:, 0], norm * (1 + (width + 8) * 2 * UNIT))
    return z


def _definite(part: Array) -> Array | None:
    """Entries of a matrix that is proven semidefinite, a little more on the diagonal if need be.

    It is looked at with its diagonal near 1: a matrix of 1, 1e8 and 1e16 would drown in its
    rounding, and more of the same everywhere costs what the largest unknowns are worth.
    """
    Z = unpack(part)
    k = len(Z)
    if not Z.any():
        return part
    own = np.diag(Z)
    largest = float(own.max())
    if not largest > 0:
        return None
    exponents = np.frexp(np.maximum(own, largest * 1e-100))[1]
    factors = np.ldexp(1.0, -(exponents // 2))  # of two: nothing is rounded
    try:
        balanced = float(np.linalg.eigvalsh(Z * np.outer(factors, factors))[0])
        smallest = float(np.linalg.eigvalsh(Z)[0])
    except LinAlgError:
        return None
    rounding = (k + 4) * k * UNIT
    for more in (0.0, 8.0, 64.0):
        if balanced >= -more * rounding:
            found = _lifted(part, Z, own + 4 * more * rounding / factors**2, factors)
            if found is not None:
                return found
    size = float(np.abs(Z).max())
    for more in (0.0, 8.0, 64.0):
        shift = more * rounding * size + max(0.0, -smallest) * (1 + 1e-6 * bool(more))
        found = _lifted(part, Z, own + shift, factors)
        if found is not None:
            return found
    return None


def _lifted(part: Array, Z: Array, diagonal: Array, factors: Array) -> Array | None:
    """The entries with another diagonal; None where these are not proven semidefinite."""
    Z = Z.copy()
    np.fill_diagonal(Z, diagonal)
    if not proven_at_least(Z * np.outer(factors, factors), 0.0):
        return None
    lifted = part.copy()
    lifted[triangle_scale(len(Z)) == 1.0] = diagonal
    return lifted


# --- Stationarity in rational numbers of the few columns on which no rounding may be left --------
# On a variable without a limit any residual costs everything. The residual of such a column is
# computed exactly; where it does not vanish (or has the wrong sign beside the one limit there is),
# as many multipliers of linear rows as there are such columns, all of them with room on both
# sides, are moved by numbers that solve the equations exactly: rational ones, or where there are
# more equations than whole numbers solve quickly, numbers that are known to within a proven
# radius.


# Multipliers with room for each equation, as far as a factorisation of so many entries allows, and
# in any case; all of them are tried after those only within CELLS of entries.
FEW, FEWEST, CELLS = 20, 3, 5_000_000
FEW_ENTRIES = 5_000
# As many entries are computed exactly within a few tenths of a second.
ENTRY_LIMIT = 5_000_000
ZERO = Fraction(0)
# Of the largest multiplier: with less room there is none for what rounding leaves over.
SMALLEST_ROOM = 1e-13
LITTLE = 1e-12  # of the terms of a residual: rounding left it


@dataclass(frozen=True, eq=False)
class ExactColumns:
    """What exact arithmetic adds to a bound.

    columns: columns whose terms are exact.
    least: least of r_j x_j in each of them, rounded down.
    point (n,): x^, some entries moved, to the nearest floats.
    residual, radius (n,): what the moves add to P x + q + A'z, and how far that may be off.
    constant: what they add to -1/2 x'P x - b'z, rounded down.
    """

    columns: Index
    least: Array
    point: Array
    residual: Array
    radius: Array
    constant: float


def exact_columns(
    conic: ConicForm,
    x: Array,
    z: Array,
    columns: Index,
    reach: Reach,
    readings: tuple[Reading, ...] = (),
    *,
    exactly: bool = True,
) -> ExactColumns | None:
    """Terms of the given columns once they are made finite; None where they cannot be.

    exactly: whether no rounding counts, not even one in the last place of what the moves are, as
        for a bound of 0. Otherwise residuals are summed in twice the precision and the moves
        enclosed, which takes a third of the time.
    """
    starts = conic.A.indptr
    if (starts[columns + 1] - starts[columns]).sum() > ENTRY_LIMIT:
        return None
    if not _is_exact(conic, z, columns, readings):
        return None
    # A few products are the faster in whole numbers.
    exactly = exactly or (starts[columns + 1] - starts[columns]).sum() <= FEW_ENTRIES
    found = None if exactly else _terms_of(conic, x, z, columns, reach, exactly=False)
    if found is None:
        found = _terms_of(conic, x, z, columns, reach, exactly=True)
    floats = None if found is None else found.step.floats()
    if found is None or floats is None:
        return None
    step, part = found.step, found.movers.T
    rounding = (len(floats) + 16) * 4 * UNIT
    return ExactColumns(
        np.array(list(found.least), dtype=np.intp),
        np.array([rounded_down(value) for value in found.least.values()]),
        _point(x, len(conic.b), step.moves),
        part @ floats,
        abs(part) @ (rounding * np.abs(floats) + OUTWARD * step.radius),
        rounded_down(_change(conic, found.movers, x, step)),
    )


@dataclass(frozen=True, eq=False)
class _Columns:
    """Least of r_j x_j by column once a step is made, the step, and what it moves along."""

    least: dict[int, Fraction]
    step: Step
    movers: sp.csr_matrix


def _terms_of(
    conic: ConicForm,
    x: Array,
    z: Array,
    columns: Index,
    reach: Reach,
    *,
    exactly: bool,
    limit: int | None = None,
) -> _Columns | None:
    """None where they cannot be made finite.

    limit: equations up to which columns with one limit and next to nothing left are solved for too;
        without it only those that need it are.
    """
    residuals = (exact_residuals if exactly else near_residuals)(conic, x, z, columns)
    if residuals is None:
        return None
    endless = [j for j, ends in residuals.items() if _least_between(*ends, j, reach) is None]
    # A step for some columns without a limit must not move the others; one limit may hold anyway.
    free = [j for j in residuals if reach.low[j] == -np.inf and reach.high[j] == np.inf]
    choices = [sorted({*endless, *free}), free] if set(endless) - set(free) else [free]
    if endless and limit is not None:  # or all with next to nothing left, where they are few
        sizes = np.abs(conic.q[columns]) + conic.sizes[:, columns].T @ np.abs(z)
        little = [j for j, size in zip(residuals, sizes.tolist(), strict=True)
                  if abs(residuals[j][0]) <= LITTLE * size]  # fmt: skip
        choices += [sorted({*endless, *free, *little})] if len(little) <= limit else []
    for wrong in choices if endless else [[]]:
        step: Step | None = Step({}, np.zeros(0))
        if wrong:
            places = np.array(wrong, dtype=np.intp)
            most = FREE_LIMIT if limit is None else limit
            step = _moved(conic, z, places, residuals, reach, exactly=exactly, limit=most)
        if step is None:
            continue
        movers = _movers(conic, step.moves)
        ends = _moved_residuals(movers, step, residuals, wrong)
        least = {j: _least_between(*ends[j], j, reach) for j in residuals}
        known = {j: value for j, value in least.items() if value is not None}
        if len(known) == len(least):
            return _Columns(known, step, movers)
    return None


def exact_linear(conic: ConicForm, z: Array, reach: Reach, limit: int) -> Fraction | None:
    """The right side for a linear objective without a rounding; None where z proves nothing.

    conic: of linear rows alone, without those of bounds, which are the limits.
    limit: columns without a limit up to which multipliers are moved.
    """
    z = within_room(conic, z, reach)
    none, columns = np.zeros(len(conic.q)), np.arange(len(conic.q))
    found = _terms_of(conic, none, z, columns, reach, exactly=True, limit=limit)
    if found is None or found.step.radius.any():
        return None
    sides, multipliers = dyadic(conic.b), dyadic(z)
    product = dot_integers(sides.integers, multipliers.integers)
    total = _change(conic, found.movers, none, found.step) + sum(
        filter(None, found.least.values()), ZERO
    )
    return total - scaled(product, sides.exponent + multipliers.exponent)


def _moved_residuals(
    movers: sp.csr_matrix, step: Step, residuals: Residuals, solved: list[int]
) -> Residuals:
    """The residuals once the moves are made; those that they solve for are 0."""
    ends = residuals | dict.fromkeys(solved, (ZERO, ZERO))
    others = np.array(list(residuals.keys() - set(solved)), dtype=np.intp)
    moved = movers[:, others].tocoo()
    deltas, radius = list(step.moves.values()), list(map(Fraction, step.radius.tolist()))
    entries = (part.tolist() for part in (moved.row, others[moved.col], moved.data))
    for k, j, a in zip(*entries, strict=True):
        factor = Fraction(a)
        low, high = ends[j]
        middle, far = factor * deltas[k], abs(factor) * radius[k]
        ends[j] = low + middle - far, high + middle + far
    return ends


def _point(x: Array, height: int, step: dict[int, Fraction]) -> Array:
    """x^ with the moves of its own, to the nearest floats."""
    point = x.copy()
    for i, delta in step.items():
        if i >= height:
            point[i - height] = float(Fraction(float(x[i - height])) + delta)
    return point


def _change(conic: ConicForm, movers: sp.csr_matrix, x: Array, step: Step) -> Fraction:
    """-b'dz - dx'P x - 1/2 dx'P dx, or less."""
    height, total = len(conic.b), Fraction(0)
    for k, (i, delta) in enumerate(step.moves.items()):
        if i < height:
            side, radius = Fraction(float(conic.b[i])), Fraction(float(step.radius[k]))
            total -= side * delta + abs(side) * radius
            continue
        for j, p in _entries(movers, k):
            there = Fraction(float(x[j])) + step.moves.get(height + j, Fraction(0)) / 2
            total -= delta * Fraction(p) * there
    return total


def rounded_rows(conic: ConicForm, readings: tuple[Reading, ...]) -> NDArray[np.bool_]:
    """Which rows of the form may not say the model to the last place: those of most cones.

    readings: of the quadratic rows, in the order of the second-order cones; without them no cone
        counts as exact.
    """
    rounded = np.zeros(len(conic.b), dtype=bool)
    cones = iter(readings)
    for block in conic.blocks:
        if block.kind == "psd":
            rounded[block.rows] = True
        if block.kind == "soc":
            reading = next(cones, None)
            cone = None if reading is None else reading.cone
            rounded[block.rows] = cone is None or not cone.exact
    return rounded


def _is_exact(conic: ConicForm, z: Array, columns: Index, readings: tuple[Reading, ...]) -> bool:
    """Whether only rows whose numbers are the model's own act on some columns."""
    if not any(block.kind in ("soc", "psd") for block in conic.blocks):
        return True
    rows = conic.A[:, columns].indices
    return not (rounded_rows(conic, readings) & (z != 0))[rows].any()


def _movers(conic: ConicForm, moves: dict[int, Fraction]) -> sp.csr_matrix:
    """Row of A, or of P behind them, that each step moves along."""
    height = len(conic.b)
    numbers = np.array(list(moves), dtype=np.intp)
    if not len(numbers):
        return sp.csr_matrix((0, len(conic.q)))
    own = numbers < height
    if own.all():
        return conic.A[numbers].tocsr()
    found = sp.vstack([conic.A[numbers[own]], conic.P[numbers[~own] - height]], format="csr")
    place = np.argsort(np.argsort(~own, kind="stable"), kind="stable")
    return found[place]


def _least_between(low: Fraction, high: Fraction, j: int, reach: Reach) -> Fraction | None:
    """The lesser one for the two ends of r, between which no r has less."""
    first = _least(low, j, reach)
    second = first if low is high else _least(high, j, reach)
    return None if first is None or second is None else min(first, second)


def _least(r: Fraction, j: int, reach: Reach) -> Fraction | None:
    """Least of r x_j over its limits; None where it has none."""
    sign = r.numerator
    if not sign:
        return ZERO
    end = float(reach.low[j] if sign > 0 else reach.high[j])
    if not end:
        return ZERO
    return r * Fraction(end) if math.isfinite(end) else None


def _moved(
    conic: ConicForm,
    z: Array,
    wrong: Index,
    residuals: Residuals,
    reach: Reach,
    *,
    exactly: bool,
    limit: int,
) -> Step | None:
    """Steps of multipliers with room, and of x^, after which the wrong columns have no residual.

    Numbers from len(b) on stand for entries of x^, which may be anything. Where no multiplier has
    room on both sides, as when one point alone is feasible, all of them are tried alike.
    """
    if len(wrong) > ENCLOSED_LIMIT:
        return None
    low, high = multiplier_room(conic, reach)
    linear = sum(map(len, (conic.equal, conic.low, conic.high)))
    room = np.minimum(z - low, high - z)[:linear]
    scale = max(float(np.abs(z[:linear]).max(initial=0.0)), 1e-300)
    ends = [residuals[j] for j in wrong.tolist()]
    right = [-(low_end + high_end) / 2 for low_end, high_end in ends]
    spread = None
    if not exactly:
        spread = np.array([rounded_up((high_end - low_end) / 2) for low_end, high_end in ends])
    block, bent = conic.A[:, wrong].tocsr(), conic.P[:, wrong]
    bends = len(z) + np.unique(bent.indices)
    if len(bends):
        block = sp.vstack([block, bent], format="csr")
    for least, weight in (
        (SMALLEST_ROOM * scale, np.minimum(room, scale)),
        (-1.0, np.ones(linear)),
    ):
        inside = np.flatnonzero((room > least) & (high > low)[:linear])
        # Those with most room are enough, as a rule, and a factorisation of all takes far longer.
        count = max(FEWEST * len(wrong), min(FEW * len(wrong), CELLS // len(wrong)))
        most = inside[np.argsort(-weight[inside], kind="stable")[:count]]
        more = len(most) < len(inside) and len(inside) * len(wrong) <= FEW * CELLS
        for chosen in (most, inside) if more else (most,):
            weights = np.concatenate([weight[chosen], np.zeros(len(bends))])
            numbers = np.concatenate([chosen, bends])
            step = step_of(block[numbers].toarray(), weights, numbers, right, spread, limit)
            if step is not None and _stays(step, z, low, high):
                return step
    return None


def moves(
    conic: ConicForm, z: Array, rest: Mapping[int, Fraction], reach: Reach, limit: int
) -> dict[int, Fraction] | None:
    """Moves of multipliers with room, and of x^, that take residuals away exactly; or None.

    rest: the residuals by column.
    limit: so many there may be.
    Returns: by number of the row; from len(b) on, of entries of x^.
    """
    columns, ends = np.array(list(rest), dtype=np.intp), {j: (r, r) for j, r in rest.items()}
    step = _moved(conic, z, columns, ends, reach, exactly=True, limit=limit)
    return None if step is None or step.radius.any() else step.moves


def _stays(step: Step, z: Array, low: Array, high: Array) -> bool:
    """Whether multipliers stay where they must."""
    rows = np.array(list(step.moves), dtype=np.intp)
    floats = step.floats()
    if floats is not None and (rows < len(z)).all():
        there = z[rows] + floats
        far = step.radius + 8 * UNIT * (np.abs(z[rows]) + np.abs(floats))
        if ((there - far > low[rows]) & (there + far < high[rows])).all():
            return True
    near = zip(step.moves.items(), map(Fraction, step.radius.tolist()), strict=True)
    return all(
        _at_least(Fraction(float(z[i])) + delta - radius, float(low[i]))
        and _at_least(-Fraction(float(z[i])) - delta - radius, -float(high[i]))
        for (i, delta), radius in near
        if i < len(z)
    )


def _at_least(number: Fraction, bound: float) -> bool:
    return not math.isfinite(bound) or number >= Fraction(bound)


def within_room(conic: ConicForm, z: Array, reach: Reach) -> Array:
    """Multipliers moved, where need be, to where no column with one entry has the wrong sign."""
    low, high = multiplier_room(conic, reach)
    fits = low <= high
    return np.where(fits, np.clip(z, np.where(fits, low, z), np.where(fits, high, z)), z)


def multiplier_room(conic: ConicForm, reach: Reach) -> tuple[Array, Array]:
    """Intervals of the multipliers: of their cone, and of the columns that hold only one row.

    A slack with a cost q_j, one entry a and one limit asks for q_j + a z_i of one sign.
    """
    equal = len(conic.equal)
    linear = equal + len(conic.low) + len(conic.high)
    low, high = np.full(len(conic.b), -np.inf), np.full(len(conic.b), np.inf)
    low[equal:linear] = 0.0
    below, above = np.isfinite(reach.low), np.isfinite(reach.high)
    straight = np.diff(conic.P.indptr) == 0
    single = np.flatnonzero((np.diff(conic.A.indptr) == 1) & straight & (below != above))
    rows, a = conic.A.indices[conic.A.indptr[single]], conic.A.data[conic.A.indptr[single]]
    own = rows < linear
    single, rows, a = single[own], rows[own], a[own]
    end = -conic.q[single] / a
    at_least = (a > 0) == below[single]
    # A quotient rounds, unless a is a power of two; step inside so that the sum keeps its sign.
    rounds = (np.abs(np.frexp(a)[0]) != 0.5) & (end != 0)
    inside = np.nextafter(end, np.where(at_least, np.inf, -np.inf))
    end = np.where(rounds, inside, end)
    np.maximum.at(low, rows[at_least], end[at_least])
    np.minimum.at(high, rows[~at_least], end[~at_least])
    return low, high


def _entries(matrix: sp.csr_matrix, i: int) -> list[tuple[int, float]]:
    span = slice(matrix.indptr[i], matrix.indptr[i + 1])
    return list(zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True))


# --- The inequality of the module's docstring: its rows, its multipliers, its right side ---------

METHOD = "weak duality, every rounding counted"
CROSSED = "limits that rows and cones imply cross, every rounding counted"
# Entries of cones are right to a few units in their last place, and so is sqrt(2).
INEXACT = 16
COSTLY = 1e-9  # of the objective, in one column
LEAST = 2.0**-1074  # the smallest number above 0: twice what an underflow loses
NORMAL = 2.0**-1000  # products above it, and a few additions later still, lose nothing
NOTHING = 1e-150  # smaller multipliers and coordinates are taken as 0: any numbers will do
LEAST_FACTOR = 2.0**-300  # of a scaling by powers of two that is called exact
DENSE = 250_000  # entries of a matrix that is small

Matrix = Any  # sparse or dense


@dataclass(frozen=True, eq=False)
class Rows:
    """What holds at every point that matters: rows, limits, and the curvature of the objective.

    conic: without rows for bounds of single columns; derived rows at the end, as nonneg rows.
    low, high (n,): limits of the columns, whole numbers where a column is integer.
    curvature (n,): c of the inequality.
    readings: of the second-order cones, in order.
    integer (n,): the only columns in which boxes differ.
    cutoff: the limits hold at points of objective at most this; infinity for all points.
    """

    conic: ConicForm
    low: Array
    high: Array
    curvature: Array
    readings: tuple[Reading, ...]
    integer: Mask
    cutoff: float = math.inf

    @cached_property
    def whole(self) -> Index:
        """Numbers of the integer columns."""
        return np.flatnonzero(self.integer)

    @cached_property
    def continuous(self) -> Index:
        """Numbers of the others."""
        return np.flatnonzero(~self.integer)

    @property
    def reach(self) -> Reach:
        """The limits."""
        return Reach(self.low, self.high, self.cutoff)

    @cached_property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """P, A', and their absolute values; small ones dense, which is quicker there."""
        P, A, sizes = self.conic.P, self.conic.A.T, self.conic.sizes.T
        if A.shape[0] * (A.shape[0] + A.shape[1]) <= DENSE:
            P, A, sizes = P.toarray(), A.toarray(), sizes.toarray()
        return P, A, abs(P), sizes

    @cached_property
    def lines(self) -> sp.csr_matrix:
        """A of the form, row by row."""
        return self.conic.A.tocsr()

    @cached_property
    def counts(self) -> Array:
        """How many entries of P and A' each column has."""
        return np.asarray(np.diff(self.conic.P.indptr) + np.diff(self.conic.A.indptr))

    @cached_property
    def longest(self) -> int:
        """Entries of the longest column of P."""
        return int(np.diff(self.conic.P.indptr).max(initial=0))

    @cached_property
    def bounded(self) -> bool:
        """Whether every continuous column has limits, and no curvature is negative."""
        ends = np.isfinite(self.low) & np.isfinite(self.high)
        return bool(ends[self.continuous].all() and (self.curvature >= 0).all())

    @cached_property
    def has_slacks(self) -> bool:
        """Whether a column with one limit has one entry, whose multiplier has a sign to keep."""
        ends = np.isfinite(self.low) != np.isfinite(self.high)
        return bool((ends & (np.diff(self.conic.A.indptr) == 1)).any())

    @cached_property
    def rounded_once(self) -> Index:
        """Columns of a linear cost and one entry that is a power of two: r_j = q_j + a z.

        A sum of two floats has the sign of the true one, and is 0 only where that is: of slacks,
        whose multipliers are at their cap exactly, nothing is left over. Entries of cones are not
        the model's own to the last place.
        """
        conic = self.conic
        straight = (np.diff(conic.A.indptr) == 1) & (np.diff(conic.P.indptr) == 0)
        columns = np.flatnonzero(straight)
        first = conic.A.indptr[columns]
        linear = conic.A.indices[first] < sum(map(len, (conic.equal, conic.low, conic.high)))
        return columns[linear & (np.abs(np.frexp(conic.A.data[first])[0]) == 0.5)]

    @cached_property
    def smallest(self) -> tuple[float, float]:
        """Least size of the numbers of A and b, and of P, that are not 0."""
        conic = self.conic
        return min(_smallest(conic.A.data), _smallest(conic.b)), _smallest(conic.P.data)

    def may_underflow(self, x: Array, z: Array) -> bool:
        """Whether a product of the inequality may be too small to be a float to its last place."""
        point, (rows, bent) = _smallest(x), self.smallest
        return min(rows * _smallest(z), bent * min(point, 1.0) * point) < NORMAL


def _smallest(numbers: Array) -> float:
    sizes = np.abs(numbers)
    return float(sizes.min(where=sizes > 0, initial=np.inf))


@dataclass(frozen=True, eq=False)
class SparseMultipliers:
    """Any numbers; what they prove is for the inequality to say.

    mu: of the objective, at least 0.
    rows, z (p,): which rows have one, and how much. Rows keep their numbers when others join them.
    columns, x (k,): where the objective is linearised; 0 in all other columns.
    """

    mu: float
    rows: Index
    z: Array
    columns: Index
    x: Array

    @classmethod
    def of(cls, mu: float, x: Array, z: Array) -> SparseMultipliers:
        """Those of a point (n,) and of all rows."""
        rows, columns = np.flatnonzero(z), np.flatnonzero(x)
        return cls(mu, rows, z[rows], columns, x[columns])


@dataclass(frozen=True, eq=False)
class Minorant:
    """The right side of the inequality for one choice of g, mu, z and x^.

    constant: what does not depend on the box, rounded down: the terms of all columns but the
        integer ones too, at their limits.
    whole (k,): the integer columns.
    low, high (k,): ends of intervals that hold their r.
    curvature, point (k,): mu c, rounded down, and x^, of the same columns.
    """

    constant: float
    whole: Index
    low: Array
    high: Array
    curvature: Array
    point: Array

    def least(self, low: Array, high: Array) -> float:
        """The minimum over a box inside the limits, rounded down; -inf where it is not finite."""
        if not len(self.whole):
            return self.constant
        below, above = low[self.whole], high[self.whole]
        if self._is_plain(below, above):
            # Whole numbers are 0 or at least 1: no product underflows.
            terms = np.minimum(
                np.minimum(self.low * below, self.high * below),
                np.minimum(self.low * above, self.high * above),
            )
            terms = terms - 2 * UNIT * np.abs(terms)
        else:
            reach = Reach(below, above, math.inf)
            terms = least_terms(self.low, self.high, self.point, reach, self.curvature)
        try:
            total = _down([self.constant, *terms.tolist()])
        except OverflowError:
            return -math.inf
        return total if math.isfinite(total) else -math.inf

    @cached_property
    def _straight(self) -> bool:
        return not self.curvature.any()

    def _is_plain(self, below: Array, above: Array) -> bool:
        return self._straight and bool(np.isfinite(below).all() and np.isfinite(above).all())


def minorant(
    rows: Rows,
    multipliers: SparseMultipliers,
    along: Array | None = None,
    box: tuple[Array, Array] | None = None,
) -> Minorant | None:
    """The inequality for any multipliers; None where these numbers prove nothing.

    along (n,): g, 0 without it.
    box (n,): what it is meant for, the limits of the rows by default. In a column that has no limit
        there r_j is made 0 exactly; in another box the minorant may be worth nothing, and is never
        wrong.
    """
    z = _spread(multipliers.rows, multipliers.z, len(rows.conic.b))
    x = _spread(multipliers.columns, multipliers.x, len(rows.low))
    if z is None or x is None:
        return None
    return inequality(rows, multipliers.mu, x, z, along, box)


def _spread(places: Index, numbers: Array, size: int) -> Array | None:
    """A vector of few entries; None where it is none."""
    whole = np.issubdtype(places.dtype, np.integer)
    if not (whole and numbers.dtype == np.float64 and places.shape == numbers.shape):
        return None
    if len(places) and not 0 <= places.min() <= places.max() < size:
        return None
    vector = np.zeros(size)
    vector[places] = numbers
    return vector


def inequality(
    rows: Rows,
    mu: float,
    x: Array,
    z: Array,
    along: Array | None = None,
    box: tuple[Array, Array] | None = None,
    *,
    exactly: bool = False,
) -> Minorant | None:
    """The minorant of a point x^ (n,) and multipliers z of all rows, in doubles.

    exactly: whether a rounding in the last place may cost everything, as for a bound of 0.
    """
    conic = rows.conic
    if not isinstance(mu, float):  # of another kind, sums would round to that
        return None
    if not (0 <= mu < math.inf and np.isfinite(x).all() and np.isfinite(z).all()):
        return None
    # Any numbers will do, so tiny ones are 0.
    inside = in_dual_cone(conic, np.where(np.abs(z) < NOTHING, 0.0, z))
    if inside is None:
        return None
    x = np.where(np.abs(x) < NOTHING, 0.0, x) if mu else np.zeros_like(x)
    with np.errstate(over="ignore", invalid="ignore"):
        cost, inexact = _cost(conic, mu, along)
        if rows.has_slacks:
            inside = within_room(replace(conic, q=cost), inside, rows.reach)
        box = box or (rows.low, rows.high)
        try:
            return _computed(rows, mu, cost, inexact, inside, x, box, exactly=exactly)
        except OverflowError:  # of a sum: such numbers prove nothing
            return None


def _cost(conic: ConicForm, mu: float, along: Array | None) -> tuple[Array, Mask]:
    """g + mu q, and where that may be rounded or mu P may be.

    A power of two scales without rounding, unless it underflows; a sum with 0 is exact.
    """
    if mu == 1 and along is None:
        return conic.q, np.zeros(len(conic.q), dtype=bool)
    bent = np.diff(conic.P.indptr) > 0
    cost = mu * conic.q
    if mu in (0.0, 1.0):
        inexact = np.zeros(len(cost), dtype=bool)
    elif math.frexp(mu)[0] == 0.5 and LEAST_FACTOR <= mu <= 1 / LEAST_FACTOR:
        inexact = (conic.q != 0) & (np.abs(cost) < NORMAL)
        inexact |= bent & (np.abs(conic.P.data).min(initial=1.0) < NORMAL / LEAST_FACTOR)
    else:
        inexact = (conic.q != 0) | bent
    if along is not None:
        inexact |= (cost != 0) & (along != 0)
        cost = cost + along
    return cost, inexact


@dataclass(frozen=True, eq=False)
class _Terms:
    """r between two ends, c, x^ and the constant of the inequality."""

    low: Array
    high: Array
    curvature: Array
    point: Array
    constant: float

    def least(self, rows: Rows, columns: Index, *, exactly: bool) -> Array:
        """Least of r_j x_j + c_j (x_j - x^_j)^2 within the limits, in some columns."""
        low, high, x = self.low[columns], self.high[columns], self.point[columns]
        below, above, c = rows.low[columns], rows.high[columns], self.curvature[columns]
        # The quicker terms of a tree's leaves are never 0 exactly.
        if rows.bounded and len(rows.whole) and not exactly:
            return _bounded_terms(low, high, x, below, above, c)
        return least_terms(low, high, x, Reach(below, above, math.inf), c)


def _computed(
    rows: Rows,
    mu: float,
    cost: Array,
    inexact: Mask,
    z: Array,
    x: Array,
    box: tuple[Array, Array],
    *,
    exactly: bool,
) -> Minorant | None:
    conic = rows.conic
    P, A, sizes_of_P, sizes_of_A = rows.matrices
    bent = mu * (P @ x)
    bent_sizes = mu * (sizes_of_P @ np.abs(x))
    residual = bent + cost + A @ z
    size = np.abs(cost) + bent_sizes + sizes_of_A @ np.abs(z)
    if inexact.any():
        # |g + mu q| may be less than what it was rounded from: |mu q| counts twice over.
        size = size + np.where(inexact, mu * np.abs(conic.q) * 2, 0.0)
    lost = 0.0 if mu in (0.0, 1.0) and not rows.may_underflow(x, z) else LEAST * (1 + mu)
    radius = (rows.counts + INEXACT + 4) * (2 * UNIT * size + lost)
    alone = rows.rounded_once[~inexact[rows.rounded_once]]
    radius[alone] = 2 * UNIT * np.abs(residual[alone]) + lost
    radius[(rows.counts == 0) & ~inexact] = 0.0
    square = 0.5 * math.fsum((x * bent).tolist()), 0.5 * float(np.abs(x) @ bent_sizes)
    constant = _constant(rows, mu, x, z, *square) - _excess(rows, z)
    if not (np.isfinite(radius).all() and math.isfinite(constant)):
        return None
    curvature = _scaled_down(rows.curvature, mu)
    terms = _Terms(residual - radius, residual + radius, curvature, x, constant)
    rest = rows.continuous
    least = terms.least(rows, rest, exactly=exactly)
    best, total = terms, _down([constant, *least.tolist()])
    endless = ~inexact & _is_endless(box, terms)
    # Rounding on a column that may be far away costs as much as on one without a limit.
    costly = np.zeros(len(x), dtype=bool)
    price = COSTLY * max(abs(constant), abs(rows.cutoff))
    costly[rest] = least < -price
    costly &= ~inexact & (np.abs(residual) <= 4 * radius) & (curvature >= 0)
    # A step for some columns without a limit may move others that had nothing left.
    free = ~inexact & (curvature == 0) & ~np.isfinite(box[0]) & ~np.isfinite(box[1])
    choices = [costly | endless] if (costly & ~endless).any() else []
    choices += [endless] if endless.any() else []
    choices += [endless | free] if endless.any() and (free & ~endless).any() else []
    for chosen in choices:
        weighted = replace(conic, P=_scaled(conic.P, mu))
        if not np.isfinite(weighted.P.data).all():
            break
        far = _without_far_limits(rows.reach, chosen)
        exact = exact_columns(
            replace(weighted, q=cost), x, z, np.flatnonzero(chosen), far, rows.readings,
            exactly=exactly,
        )  # fmt: skip
        if exact is None:
            continue
        moved = _with_exact(terms, exact, residual, radius)
        least = moved.least(rows, rest, exactly=exactly)
        value = _down([moved.constant, *least.tolist()])
        if value > total or endless.any():
            best, total = moved, value
        if math.isfinite(total):
            break
    if not math.isfinite(total):
        return None
    whole = rows.whole
    return Minorant(
        total, whole, best.low[whole], best.high[whole], best.curvature[whole], best.point[whole]
    )


def _with_exact(terms: _Terms, exact: ExactColumns, residual: Array, radius: Array) -> _Terms:
    """The terms once some multipliers were moved, with exact ones in some columns.

    What those are worth within all limits is part of the constant, and holds in every box.
    """
    residual = residual + exact.residual
    radius = radius + exact.radius + 4 * UNIT * np.abs(residual) * (exact.radius > 0)
    low, high, curvature = residual - radius, residual + radius, terms.curvature.copy()
    low[exact.columns] = high[exact.columns] = curvature[exact.columns] = 0.0
    constant = _down([terms.constant, exact.constant, *exact.least.tolist()])
    return _Terms(low, high, curvature, exact.point, constant)


def _without_far_limits(reach: Reach, costly: NDArray[np.bool_]) -> Reach:
    """Limits without the farther one of each costly column, at which nothing may be charged."""
    farther_above = costly & (np.abs(reach.high) >= np.abs(reach.low))
    farther_below = costly & ~farther_above
    return Reach(
        np.where(farther_below, -np.inf, reach.low),
        np.where(farther_above, np.inf, reach.high),
        reach.cutoff,
    )


def _is_endless(box: tuple[Array, Array], terms: _Terms) -> Mask:
    """Columns whose term has no least value in a box."""
    falls = (terms.high > 0) & ~np.isfinite(box[0]) | (terms.low < 0) & ~np.isfinite(box[1])
    # What bends the wrong way has no least value without limits, whatever r_j is.
    return falls & (terms.curvature == 0)


def _scaled(P: sp.csc_matrix, mu: float) -> sp.csc_matrix:
    """mu P, without entries where mu is 0."""
    if mu == 1:
        return P
    return (mu * P).tocsc() if mu else sp.csc_matrix(P.shape)


def _scaled_down(curvature: Array, mu: float) -> Array:
    """mu c, rounded down; a product that may have lost its last places counts as none."""
    if mu == 1:
        return curvature
    scaled = mu * curvature
    scaled = scaled - 2 * UNIT * np.abs(scaled)
    lost = (np.abs(scaled) < LEAST * 2**60) & (curvature > 0)
    scaled = np.where(lost, 0.0, scaled)
    return np.where((np.abs(scaled) < LEAST * 2**60) & (curvature < 0), -LEAST * 2**60, scaled)


def least_terms(low: Array, high: Array, x: Array, reach: Reach, curvature: Array) -> Array:
    """Least of r x_j + c_j (x_j - x^_j)^2 over the limits and all r from `low` to `high`."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        corners = [_times(r, end) for r in (low, high) for end in (reach.low, reach.high)]
        straight = np.minimum.reduce(corners)
        straight = straight - 4 * UNIT * np.abs(straight)
        far = np.maximum(np.abs(reach.low - x), np.abs(reach.high - x)) + 4 * UNIT * np.abs(x)
        bent = (curvature * far) * far * (1 + 8 * UNIT) - LEAST * (1 + far)
        straight = straight + np.where(curvature < 0, bent, 0.0)
        # r x^ - r^2 / (4 c) is concave in r, so that its least is at one of the ends.
        bends = np.where(curvature > 0, curvature, 1.0)
        bowls = []
        for r in (low, high):
            linear, square = _times(r, x), (r * r + LEAST * (r != 0)) / (4 * bends)
            square = square + LEAST * (r != 0)
            bowls.append(linear - square - 8 * UNIT * (np.abs(linear) + square))
        known = (curvature > 0) & np.isfinite(4 * bends)
        bowl = np.where(known, np.minimum(*bowls), -np.inf)
    straight = np.where(np.isnan(straight), -np.inf, straight)
    return np.maximum(straight, np.where(np.isnan(bowl), -np.inf, bowl))


def _bounded_terms(
    low: Array, high: Array, x: Array, below: Array, above: Array, c: Array
) -> Array:
    """The same, where all limits are finite and no c is negative."""
    straight = np.minimum(
        np.minimum(low * below, high * below), np.minimum(low * above, high * above)
    )
    straight = straight - 2 * UNIT * np.abs(straight) - LEAST * ((low != 0) | (high != 0))
    bent = np.flatnonzero(c > 0)
    if not len(bent):
        return straight
    # r x^ - r^2 / (4 c) is concave in r, so that its least is at one of the ends.
    at, bends, bowls = x[bent], 4 * c[bent], []
    for r in (low[bent], high[bent]):
        linear, square = r * at, (r * r + LEAST) / bends + LEAST
        bowls.append(linear - square - 8 * UNIT * (np.abs(linear) + square) - LEAST)
    bowl = np.minimum(*bowls)
    known = np.isfinite(bowl) & np.isfinite(bends)
    straight[bent] = np.fmax(straight[bent], np.where(known, bowl, -np.inf))
    return straight


def _times(a: Array, b: Array) -> Array:
    """Products in which 0 times infinity is 0, downwards where they underflow."""
    product = np.where((a == 0) | (b == 0), 0.0, a * b)
    lost = (np.abs(product) < NORMAL) & (a != 0) & (b != 0)
    return np.where(lost, product - LEAST, product)


def _constant(
    rows: Rows, mu: float, x: Array, z: Array, square: float, size_of_square: float
) -> float:
    """-mu/2 x'P x - b'z, rounded down; the first of the two with its size as computed."""
    conic = rows.conic
    sides = conic.b * z
    lost = float(((np.abs(sides) < NORMAL) & (conic.b != 0) & (z != 0)).sum())
    size = 2 * float(np.abs(sides).sum())
    if size_of_square or (mu and conic.P.nnz and x.any()):
        size += (rows.longest + 4) * size_of_square
        lost += (conic.P.nnz + len(x)) * (1 + mu) * (1 + float(np.abs(x).max()))
    for block in conic.blocks_of("soc"):
        # The two first sides are a sum and a difference of two rounded numbers.
        first = slice(block.start, block.start + 2)
        size += 4 * float(np.abs(conic.b[first]).sum()) * float(np.abs(z[first]).sum())
    if not math.isfinite(size):
        return -math.inf
    total = -math.fsum([square, *sides.tolist()])
    rounding = INEXACT * UNIT * size + 4 * lost * LEAST
    return math.nextafter(total - rounding, -math.inf) if rounding else total


def _excess(rows: Rows, z: Array) -> float:
    """Multipliers times what cones that miss their rows by a rounding may be wrong by."""
    if all(reading.cone is None or reading.cone.excess is None for reading in rows.readings):
        return 0.0
    total = 0.0
    for block, reading in zip(rows.conic.blocks_of("soc"), rows.readings, strict=True):
        if reading.cone is not None and reading.cone.excess is not None and z[block.start] > 0:
            total += float(z[block.start]) * excess_of(reading.cone, rows.reach)
    return total * (1 + INEXACT * UNIT)


def _down(terms: list[float]) -> float:
    """Sum of floats, rounded down: math.fsum rounds once, and is 0 only where the sum is."""
    total = math.fsum(terms)
    return math.nextafter(total, -math.inf) if math.isfinite(total) and total else total


# --- Bounds and proofs of emptiness from multipliers that anybody found --------------------------


def proven_bound(
    subject: Subject,
    x: Array,
    z: Array,
    cutoff: float | None,
    *,
    tangent: bool = False,
    factors: Factors | None = None,
) -> LowerBound | None:
    """The bound of the module's docstring; None where these numbers prove none.

    subject: a model that is convex once integrality is dropped.
    x (n,): any point.
    z (m,): any multipliers of the rows of `subject.conic`.
    cutoff: U of the module's docstring, without the constant of the objective: what is returned is
        min(beta, U). None to use no limits but the bounds of the variables.
    tangent: whether the objective is replaced by its tangent at 0, which a convex one is never
        below, so that a bound of 0 is no rounding away from it. Without a cutoff cones then limit
        nothing: what is left of stationarity has to be 0 exactly.
    factors: with them x and z are of the scaled form: cones whose two ends are of very different
        size lose one of them in a sum and a difference.
    """
    kind = subject.classification
    if not kind.relaxes_to_convex or x.shape != (subject.form.n,):
        return None
    if z.shape != subject.conic.b.shape or not (np.isfinite(x).all() and np.isfinite(z).all()):
        return None
    rows = _rows_of(subject, cutoff, tangent)
    if rows is None:
        return None
    whole, z, size = z, _without_own(subject.conic, z), 1.0
    if tangent:
        x = np.zeros_like(x)
    if rows.reach.empty:
        return _stated(subject, rows.cutoff, x, z)
    evidence = x, z
    if factors is not None:
        if not (factors.are_powers and all(_is_whole(reading) for reading in rows.readings)):
            return None
        scaled = scaled_conic(subject.conic, factors)
        evidence = scaled.point(x), _without_own(subject.conic, scaled.multipliers(whole))
        rows, size = _in_units(scaled.conic, rows, factors), factors.objective
    found = inequality(rows, 1.0, x, z, exactly=tangent)
    if found is None:
        return None
    return _stated(subject, size * min(found.constant, rows.cutoff), *evidence)


@lru_cache(maxsize=4)
def _rows_of(subject: Subject, cutoff: float | None, tangent: bool) -> Rows | None:
    """Rows of the relaxation, with its limits below a cutoff; None has the limits of bounds.

    `tangent` leaves the curvature of the objective out, and None where it bends downwards.
    """
    reach = subject.bounds if tangent and cutoff is None else subject.reach(cutoff)
    conic, _ = without_own_bounds(subject.conic, np.zeros(len(subject.conic.b)))
    bend, none = subject.classification.curvature, np.zeros(subject.form.n, dtype=bool)
    assert bend is not None
    if tangent:
        if (bend < 0).any():
            return None
        conic, bend = replace(conic, P=sp.csc_matrix(conic.P.shape)), np.zeros_like(bend)
    readings = subject.classification.readings
    return Rows(conic, reach.low, reach.high, bend, readings, none, reach.cutoff)


def _without_own(conic: ConicForm, z: Array) -> Array:
    """Multipliers of the rows that are no bounds of single columns."""
    first = sum(map(len, (conic.equal, conic.low, conic.high)))
    return np.delete(z, np.s_[first : first + len(conic.low_bound) + len(conic.high_bound)])


def proven_empty(subject: Subject, z: Array) -> Infeasible | None:
    """No feasible point, from multipliers: an objective of 0 would be above 0 everywhere.

    z (m,): any multipliers of the rows of `subject.conic`.
    """
    kind, n = subject.classification, subject.form.n
    if not kind.relaxes_to_convex or z.shape != subject.conic.b.shape or not np.isfinite(z).all():
        return None
    rows = _rows_of(subject, math.inf, tangent=False)
    assert rows is not None
    if rows.reach.empty:
        return Infeasible(subject=subject.form, words=CROSSED, seal=SEAL, z=np.zeros_like(z))
    found = inequality(rows, 0.0, np.zeros(n), _without_own(subject.conic, z), exactly=True)
    if found is None or not found.constant > 0:
        return None
    return Infeasible(subject=subject.form, words=METHOD + relaxed(subject.form), seal=SEAL, z=z)


def _stated(subject: Subject, varying: float, x: Array, z: Array) -> LowerBound | None:
    if not math.isfinite(varying):
        return None
    words, evidence = METHOD + relaxed(subject.form), SparseMultipliers.of(1.0, x, z)
    return LowerBound(
        subject=subject.form, words=words, seal=SEAL, varying=varying, evidence=evidence
    )


def _is_whole(reading: Reading) -> bool:
    """Whether f and g of a cone (f + g, f - g, h) come back from its first two rows exactly.

    Only then may they be scaled apart: what a sum has lost is nothing beside the sum, and may be
    all that there is of f. A cone that misses its row has no scaled form either.
    """
    cone = reading.cone
    if cone is None:
        return True
    if cone.excess is not None:
        return False
    if cone.factors is None:
        return True
    F, ends = cone.factors
    half = np.array([[0.5, 0.5], [0.5, -0.5]])
    return bool((half @ cone.A[:2] == F).all() and (half @ cone.b[:2] == ends).all())


def _in_units(scaled: ConicForm, rows: Rows, factors: Factors) -> Rows:
    """Rows of the scaled form; a limit that underflows goes to the next number outwards."""
    c, (low, high) = factors.columns, (rows.low, rows.high)
    with np.errstate(over="ignore", under="ignore"):
        least, most = low / c, high / c
        bend = rows.curvature * c**2 / factors.objective
    lost_low, lost_high = np.abs(least) < NORMAL, np.abs(most) < NORMAL
    least = np.where(lost_low & (low != 0), np.minimum(least, -NORMAL), least)
    most = np.where(lost_high & (high != 0), np.maximum(most, NORMAL), most)
    conic, _ = without_own_bounds(scaled, np.zeros(len(scaled.b)))
    return Rows(conic, least, most, bend, (), rows.integer, rows.cutoff / factors.objective)


def prepared(conic: ConicForm, z: Array, reach: Reach) -> tuple[ConicForm, Array] | None:
    """The form without rows for bounds, which limits stand for, and multipliers in the dual cone.

    None where multipliers of a semidefinite row are not proven to be near a semidefinite matrix.
    """
    conic, z = without_own_bounds(conic, z)
    z = np.where(np.abs(z) < NOTHING, 0.0, z)
    inside = in_dual_cone(conic, z)
    return None if inside is None else (conic, within_room(conic, inside, reach))
