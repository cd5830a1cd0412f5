"""From a solver's point to one that is feasible in exact arithmetic, at next to no cost.

Candidates are tried from cheap to dear, and each is put to the kernel, which alone says whether it
is feasible; what is wrong here costs a verdict and never makes a false one. Every candidate has its
equations solved on columns with room and its missed rows made up by columns of their own:

    the point itself, and where one row holds a norm the point moved onto that sphere
    the point scaled up or down by little: margins that are missed, norms that are exceeded
    a step into the semidefinite rows, along a direction that least squares find
    a step towards a point strictly inside, the optimum of the model with tighter rows
    the same within the face that all points lie in, where rows imply equations
    between two points on the sides of the one quadratic equation that there is

and the shortest step that is feasible counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.sparse.linalg import lsqr

from tightmargin.formulations.common.rounding import ROUNDOFF
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.modeling.cones import symmetric
from tightmargin.solvers.engines import clarabel
from tightmargin.solvers.engines.registry import SOLVERS, needs_gigabytes
from tightmargin.solvers.engines.running import Limits, is_over
from tightmargin.solvers.exact import solve_exactly
from tightmargin.solvers.kernel.points import (
    Point,
    crossing_point,
    exact_dot,
    exact_dots,
    held_row,
    linear_excess,
    point_of,
    proven_point,
    quadratic_excess,
)
from tightmargin.solvers.kernel.statement import FeasiblePoint
from tightmargin.solvers.kernel.systems import hold_clearly, known_stack
from tightmargin.solvers.model.conic import Block, ConicForm, conic_form
from tightmargin.solvers.model.convexity import Classification
from tightmargin.solvers.model.polynomial import QuadraticRow
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.scaling import scaling

# --- Rows made to hold by columns that no other row objects to ------------------------------------
# A row objects to raising a column where that moves it towards a side of its own, as locks are
# counted in the presolve of mixed-integer programs (Achterberg et al., Presolve reductions in mixed
# integer programming, INFORMS Journal on Computing 32, 2020). A column that only rows object to
# which have such a column themselves may move as well: those rows are repaired in the next round.
# Where that leaves a row without a column, rows that hold by far more than is needed object to
# nothing.


Flags = NDArray[np.bool_]

ROUNDS = 8
LEVELS = 4
SAMPLE = 16  # entries of a column that are looked at first
UP = 1 + 2.0**-50
AMPLE = 1e3  # of what missed rows need: a row with so much room objects to nothing


@dataclass(frozen=True, eq=False)
class Entries:
    """What each row that can be missed says of each column in it.

    row: linear rows first, then quadratic ones.
    slope: of the row in the column at the point.
    straight: whether the row is affine in the column.
    """

    row: Index
    column: Index
    slope: Array
    straight: Flags


@dataclass(frozen=True, eq=False)
class Moves:
    """Columns that may be moved for each row, cheapest first.

    row, column, step: moving `column` by `step` improves `row` by 1.
    """

    row: Index
    column: Index
    step: Array


def moves_of(form: StandardForm, x: Array, need: Array) -> Moves:
    """The best column for each row that has one, at a point.

    need: by how much each row is missed: no more is looked for once those that are have a column.
    """
    few = _unblocked(form)
    if few is not None:
        moves = _chosen(form, x, need, few, 1)
        repaired = np.zeros(len(need), dtype=bool)
        repaired[moves.row] = True
        if repaired[need > 0].all():
            return moves
    return _chosen(form, x, need, _entries(form, x), 2 * LEVELS)


def _chosen(form: StandardForm, x: Array, need: Array, entries: Entries, levels: int) -> Moves:
    """The same among columns all of whose entries are given, in so many rounds."""
    needed = need > 0
    row, column, slope = entries.row, entries.column, entries.slope
    rows = form.A.shape[0] + len(form.quadratic)
    low = np.r_[form.row_lower, [row.lower for row in form.quadratic]]
    high = np.r_[form.row_upper, [row.upper for row in form.quadratic]]
    has_low, has_high = np.isfinite(low)[row], np.isfinite(high)[row]
    movable = ~form.integer & (form.lower < form.upper) & ~_in_equations(form, low == high, entries)
    # Towards its only side is away from violation: up for a lower side and a positive slope.
    rising = slope > 0
    acts = ~entries.straight | (slope != 0)
    objects_up = acts & (~entries.straight | np.where(rising, has_high, has_low))
    objects_down = acts & (~entries.straight | np.where(rising, has_low, has_high))
    blocked_up, blocked_down = _of_semidefinite(form)
    blocked_up += form.upper <= x
    blocked_down += form.lower >= x
    price = 2 * (form.objective.Q @ x) + form.objective.a
    repaired = np.zeros(rows, dtype=bool)
    found: list[Index] = []
    silent = np.zeros(rows, dtype=bool)
    for _ in range(levels):
        objects = ~(repaired | silent)[row]
        count_up = np.bincount(column[objects_up & objects], minlength=form.n) + blocked_up
        count_down = np.bincount(column[objects_down & objects], minlength=form.n) + blocked_down
        free_up, free_down = movable & (count_up == 0), movable & (count_down == 0)
        near = np.flatnonzero((free_up | free_down)[column])
        up = rising[near] == has_low[near]
        free = np.where(up, free_up[column[near]], free_down[column[near]])
        helps = entries.straight[near] & (slope[near] != 0) & (has_low[near] != has_high[near])
        fits = helps & free & ~repaired[row[near]]
        fit, up = near[fits], up[fits]
        if not len(fit):
            room = _room_within(form, x, low, high) > AMPLE * float(need.max(initial=0.0))
            if silent.any() or not room.any():
                break
            silent = room
            continue
        each = np.where(up, price[column[fit]], -price[column[fit]]) / np.abs(slope[fit])
        order = np.lexsort((each, row[fit]))
        first = order[np.r_[True, np.diff(row[fit][order]) > 0]]
        found.append(fit[first])
        repaired[row[fit[first]]] = True
        if repaired[needed].all():
            break
    chosen = np.concatenate([np.zeros(0, dtype=np.int64), *found])
    sign = np.where(rising[chosen] == has_low[chosen], 1.0, -1.0)
    return Moves(row[chosen], column[chosen], sign / np.abs(slope[chosen]))


def _room_within(form: StandardForm, x: Array, low: Array, high: Array) -> Array:
    """By how much each row holds on the nearer of its sides."""
    value = np.r_[form.A @ x, [row.body.at(x) for row in form.quadratic]]
    return np.minimum(value - low, high - value)


def with_rows_met(
    form: StandardForm, x: Array, exact: Mapping[int, Fraction], *, clearly: bool
) -> Array:
    """The point with what its rows miss made up by their columns, as far as they have any.

    exact: coordinates that are no doubles; equations hold them in their place.
    clearly: whether rows are met by more than their rounding, which is quickly seen, or only just.
    """
    for _ in range(ROUNDS):
        need = _needs(form, x, exact, clearly=clearly)
        if need is None or not need.any():
            return x
        moves = moves_of(form, x, need)
        wanted = need[moves.row] > 0
        if not wanted.any():
            return x
        far = need[moves.row[wanted]] * np.abs(moves.step[wanted]) * UP
        up, down = np.zeros(form.n), np.zeros(form.n)
        for total, sign in ((up, 1), (down, -1)):
            these = np.sign(moves.step[wanted]) == sign
            np.maximum.at(total, moves.column[wanted][these], far[these])
        moved = np.where(up > 0, np.nextafter(x + up, np.inf), x)
        moved = np.where((down > 0) & (up == 0), np.nextafter(x - down, -np.inf), moved)
        moved = np.clip(moved, form.lower, form.upper)
        if not np.isfinite(moved).all() or (moved == x).all():
            return x
        x = moved
    return x


def _needs(
    form: StandardForm, x: Array, exact: Mapping[int, Fraction], *, clearly: bool
) -> Array | None:
    """By how much each row has to be moved; None where the numbers overflow."""
    at = point_of(x, exact)
    if at is None:
        return None
    if not clearly:
        sided = form.row_lower != form.row_upper  # no column mends an equation
        linear = linear_excess(form, at, among=sided)
        return np.r_[linear, quadratic_excess(form.quadratic, at)]
    return np.r_[_rough_excess(form, x), quadratic_excess(form.quadratic, at)]


def _rough_excess(form: StandardForm, x: Array) -> Array:
    """By how much to move each linear row so that it holds by more than its rounding."""
    A = form.A
    value, size = A @ x, form.sizes @ np.abs(x)
    rounding = (np.diff(A.indptr) + 8) * 2.0**-53 * size
    missed = np.maximum(form.row_lower - value, value - form.row_upper)
    short = (missed + rounding > 0) & (form.row_lower != form.row_upper)
    return np.where(short, missed + 3 * rounding, 0.0)


def _entries(form: StandardForm, x: Array) -> Entries:
    A = form.A
    first = A.shape[0]
    rows, columns, slopes = [np.repeat(np.arange(first), np.diff(A.indptr))], [A.indices], [A.data]
    straight = [np.ones(A.nnz, dtype=bool)]
    if not form.quadratic:
        return Entries(rows[0], columns[0], slopes[0], straight[0])
    for k, row in enumerate(form.quadratic):
        body = row.body
        y = x[body.index]
        # Both halves of Q are stored.
        slope = body.a + 2 * np.bincount(body.i, body.v * y[body.j], len(y))
        bends = np.zeros(len(y), dtype=bool)
        bends[body.i[(body.i == body.j) & (body.v != 0)]] = True
        rows.append(np.full(len(y), first + k))
        columns.append(body.index)
        slopes.append(slope)
        straight.append(~bends)
    return Entries(*(np.concatenate(part) for part in (rows, columns, slopes, straight)))


def _unblocked(form: StandardForm) -> Entries | None:
    """Entries of the columns that may be free: few rows object to raising or to lowering a slack.

    Of a long column the first entries show, as a rule, that some row objects to either. None where
    a quadratic row may object to one of the columns that are left.
    """
    A = form.columnwise
    count = np.diff(A.indptr)
    start = np.repeat(A.indptr[:-1], np.minimum(count, SAMPLE))
    column = np.repeat(np.arange(form.n), np.minimum(count, SAMPLE))
    place = np.arange(len(start)) - np.searchsorted(column, column)
    row, rising = A.indices[start + place], A.data[start + place] > 0
    has_low, has_high = np.isfinite(form.row_lower)[row], np.isfinite(form.row_upper)[row]
    acts = A.data[start + place] != 0
    up = np.bincount(column[acts & np.where(rising, has_high, has_low)], minlength=form.n) > 0
    down = np.bincount(column[acts & np.where(rising, has_low, has_high)], minlength=form.n) > 0
    kept = ~(up & down)
    if any(kept[quadratic.body.index].any() for quadratic in form.quadratic):
        return None
    at = np.flatnonzero(np.repeat(kept, count))
    return Entries(
        A.indices[at],
        np.repeat(np.flatnonzero(kept), count[kept]),
        A.data[at],
        np.ones(len(at), dtype=bool),
    )


def _in_equations(form: StandardForm, equations: Flags, entries: Entries) -> Flags:
    found = np.zeros(form.n, dtype=bool)
    if equations.any():
        found[entries.column[equations[entries.row]]] = True
    return found


def _of_semidefinite(form: StandardForm) -> tuple[Array, Array]:
    """How many semidefinite rows object to raising each column, and to lowering it.

    Raising what stands on the diagonal alone, with positive coefficients, no row objects to.
    """
    up, down = np.zeros(form.n), np.zeros(form.n)
    for row in form.psd:
        F = row.F.tocoo()
        i, j = np.tril_indices(row.order)
        off = (i != j)[F.row]
        up[F.col[off | (F.data < 0)]] += 1
        down[F.col[off | (F.data > 0)]] += 1
    return up, down


# --- Two points on the sides of a quadratic equation that no rational point near a given one meets


CROSSING_STEPS = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)  # relative, outwards and inwards


def between(
    form: StandardForm, x: Array, near: Callable[[StandardForm, Array], FeasiblePoint | None]
) -> FeasiblePoint | None:
    """A point of a model with one quadratic equation, found between two others; None without one.

    x (n,): nearly feasible.
    near: an exactly feasible point of a model near a given one.
    """
    held = held_row(form)
    if held is None:
        return None
    rest = replace(form, quadratic=tuple(r for k, r in enumerate(form.quadratic) if k != held))
    body, moving = form.quadratic[held].body, ~form.integer
    slope = np.zeros(form.n)
    np.add.at(slope, body.index[body.i], 2 * body.v * x[body.index[body.j]])
    slope[body.index] += body.a
    slope = np.where(moving, slope, 0.0)
    size = float(np.abs(slope).max(initial=0.0))
    if size == 0:
        return None
    along = slope / size * float(np.abs(x[body.index]).max(initial=0.0))
    for step in CROSSING_STEPS:
        ends = [near(rest, x + sign * step * along) for sign in (-1.0, 1.0)]
        pairs = [(end.x, end.rational) for end in ends if end is not None and end.x is not None]
        if len(pairs) == 2:
            found = crossing_point(form, *pairs)
            if found is not None:
                return found
    return None


# --- The equations of a model solved without rounding, on columns that have room -----------------
# An equation with a column of its own, as v = F'alpha or a simplex, is solved for that column, the
# one with the most room; the equations that are left together, for columns chosen by a pivoted QR
# factorisation in which each is weighted with its room.


Solved = tuple[Array, Mapping[int, Fraction]]

LARGEST_CORE = 400  # equations that are solved together
ENDLESS = 1e3  # room of a column without a bound, over the largest room of those with both
# Least room of a column at its bound, over its own size and over that of all.
AT_BOUND, NOWHERE = 1e-6, 1e-20
DEPENDENT = 1e-13
MILDER = (1.0, 0.5, 0.25, 0.0)  # powers of the room that columns are weighted with


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations and the columns that they are solved for.

    matrix: their coefficients.
    core, basis: equations that are solved together, and for which columns.
    own (rows, columns): equations that are solved for a column of their own, group by group.
    """

    matrix: sp.csr_matrix
    right: Array
    core: Index
    basis: Index
    own: list[tuple[Index, Index]] = field(default_factory=list)

    @property
    def dependent(self) -> Index:
        """Columns that they are solved for."""
        return np.concatenate([self.basis, *(columns for _, columns in self.own)])

    def solved(self, x: Array) -> Solved | None:
        """The point with its basic coordinates solved for; None where there is no solution."""
        exact: dict[int, Fraction] = {}
        if len(self.core):
            found = self._core(x)
            if found is None:
                return None
            exact |= found
        for rows, columns in self.own:
            others = x.copy()
            others[columns] = 0.0
            at = point_of(others, exact)
            if at is None:
                return None
            lines = self.matrix[rows]
            pivots = np.asarray(lines[np.arange(len(rows)), columns]).ravel().tolist()
            sides = self.right[rows].tolist()
            for j, rest, pivot, side in zip(
                columns.tolist(), exact_dots(lines, at), pivots, sides, strict=True
            ):
                exact[j] = (Fraction(side) - rest) / Fraction(pivot)
        at = point_of(x, exact)
        return None if at is None else (at.x, at.exact)

    def _core(self, x: Array) -> dict[int, Fraction] | None:
        at = point_of(x, {})
        if at is None:
            return None
        basis = tuple(self.basis.tolist())
        lines, sides = [], []
        for i in self.core.tolist():
            right, pivots = self._without(i, basis, at)
            numbers = [Fraction(pivots.get(j, 0.0)) for j in basis]
            common = lcm(*(number.denominator for number in numbers))
            lines.append([int(number * common) for number in numbers])
            sides.append(right * common)
        found = solve_exactly(lines, sides)
        return None if found is None else dict(zip(basis, found, strict=True))

    def _without(
        self, i: int, columns: tuple[int, ...], at: Point
    ) -> tuple[Fraction, dict[int, float]]:
        """Right side of an equation less all but some columns, and the coefficients of those."""
        span = slice(self.matrix.indptr[i], self.matrix.indptr[i + 1])
        index, numbers = self.matrix.indices[span], self.matrix.data[span]
        basic = np.isin(index, columns)
        rest = exact_dot(numbers[~basic], index[~basic], at)
        pivots = dict(zip(index[basic].tolist(), numbers[basic].tolist(), strict=True))
        return Fraction(float(self.right[i])) - rest, pivots


def equations_of(form: StandardForm, x: Array) -> Equations | None:
    """The equations with a choice of columns that have room at a point; None where none have."""
    rows = np.flatnonzero(np.isfinite(form.row_lower) & (form.row_lower == form.row_upper))
    matrix = form.A[rows].tocsr()
    none = np.zeros(0, dtype=np.int64)
    if not len(rows):
        return Equations(matrix, form.row_lower[rows], none, none)
    room = _room(form, x)
    own: list[tuple[Index, Index]] = []
    # Equations of integer columns alone hold or do not.
    left = abs(matrix) @ (room > 0).astype(float) > 0
    while left.any():
        chosen = _own_columns(matrix, left, room)
        if chosen is None:
            break
        own.append(chosen)
        left[chosen[0]] = False
    core = np.flatnonzero(left)
    basis = _basis(matrix[core], room) if len(core) <= LARGEST_CORE else None
    if basis is None:
        return None
    return Equations(matrix, form.row_lower[rows], core, basis, own[::-1])


def _room(form: StandardForm, x: Array) -> Array:
    """How far each column may move; 0 for integer and fixed ones, and for no other."""
    room = np.maximum(np.minimum(x - form.lower, form.upper - x), 0.0)
    ends = np.isfinite(room)
    size = max(float(room[ends].max(initial=0.0)), float(np.abs(x).max(initial=0.0))) or 1.0
    width = form.upper - form.lower
    own = np.where(np.isfinite(width), width, np.abs(x))
    least = np.maximum(AT_BOUND * own, NOWHERE * size)
    room = np.where(ends, np.maximum(room, least), ENDLESS * size)
    room[form.integer | (form.lower == form.upper)] = 0.0
    return room


def _own_columns(
    matrix: sp.csr_matrix, left: NDArray[np.bool_], room: Array
) -> tuple[Index, Index] | None:
    """Equations among those left that alone have some column with room, and that column."""
    entries = matrix.tocoo()
    kept = left[entries.row] & (room[entries.col] > 0) & (entries.data != 0)
    row, column, number = entries.row[kept], entries.col[kept], entries.data[kept]
    alone = np.bincount(column, minlength=matrix.shape[1])[column] == 1
    if not alone.any():
        return None
    row, column, number = row[alone], column[alone], number[alone]
    order = np.lexsort((room[column] * np.abs(number), row))
    last = np.r_[np.flatnonzero(np.diff(row[order])), len(order) - 1]
    best = order[last]
    return row[best].astype(np.int64), column[best].astype(np.int64)


def _basis(matrix: sp.csr_matrix, room: Array) -> Index | None:
    """Independent columns, the ones with most room first; None where the rows have none."""
    if not matrix.shape[0]:
        return np.zeros(0, dtype=np.int64)
    columns = np.flatnonzero((np.diff(matrix.tocsc().indptr) > 0) & (room > 0))
    if not len(columns):
        return None
    dense, best = matrix[:, columns].toarray(), np.zeros(0, dtype=np.int64)
    # Beside columns with no end of room those at a bound may be lost in rounding.
    for power in MILDER:
        weighted = dense * room[columns] ** power
        sizes = np.abs(weighted).max(axis=1)
        weighted /= np.where(sizes > 0, sizes, 1.0)[:, None]
        R, order = qr(weighted, mode="r", pivoting=True)
        pivots = np.abs(np.diag(R))
        rank = int(np.count_nonzero(pivots > DEPENDENT * pivots[0])) if pivots[0] > 0 else 0
        if rank > len(best):
            best = np.sort(columns[order[:rank]])
        if rank == len(dense):
            break
    return best if len(best) else None


# --- Ways into semidefinite rows that cost no solve, from a point on or a hair outside their
#     border
# A solver ends on the border of the semidefinite cone, so that rounding decides on which side.
# With F_k(x) + g_k the matrices of the rows, a direction d with F_k d = I adds to every
# eigenvalue; where equations forbid it, as a trace of 1 does, one with F_k d = c_k I - F_k(x) -
# g_k leads towards a multiple of the identity: a convex combination with it. d solves that in the
# least-squares sense together with A d = 0 for the equations, and need not be exact: candidates
# are proven elsewhere.


PRODUCTS = 300  # with the rows
CLOSE = 1e-12
LENGTHS = (1.0, 8.0, 64.0, 512.0, 4096.0)  # over what eigenvalues and their rounding ask for


def into_matrices(form: StandardForm, x: Array) -> Iterator[tuple[Array, Array]]:
    """Directions (n,) in which no eigenvalue falls, and the steps to try, short ones first."""
    short, size = _shortest(form, x)
    if not 0 < size < np.inf:
        return
    equal = np.isfinite(form.row_lower) & (form.row_lower == form.row_upper)
    movable = ~form.integer & (form.lower < form.upper)
    body = sp.vstack([*(row.F for row in form.psd), form.A[equal]]).tocsr()
    body = body.multiply(movable).tocsr()
    lines = 1 / _norms(body)
    body = (sp.diags(lines) @ body).tocsc()
    columns = 1 / _norms(body.T.tocsr())
    balanced = body @ sp.diags(columns)
    for inside in (size * _identities(form), _middles(form, x)):
        right = lines * np.r_[inside, np.zeros(int(equal.sum()))]
        found = lsqr(balanced, right, atol=CLOSE, btol=CLOSE, iter_lim=PRODUCTS)[0]
        if np.isfinite(found).all() and found.any():
            yield columns * found, short / size * np.array(LENGTHS)


def _norms(matrix: sp.csr_matrix) -> Array:
    """Euclidean norms of the rows, 1 of those of zeros."""
    found = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return np.where(found > 0, found, 1.0)


def _shortest(form: StandardForm, x: Array) -> tuple[float, float]:
    """What has to be added to the least eigenvalue, with its rounding, and the largest entry."""
    short, largest = 0.0, 0.0
    for row in form.psd:
        matrix = symmetric(row.F @ x + row.g)
        size = float(np.abs(matrix).max())
        if not np.isfinite(size):
            return np.inf, np.inf
        least = float(np.linalg.eigvalsh(matrix)[0])
        short = max(short, row.order**2 * ROUNDOFF * size - 2 * min(least, 0.0))
        largest = max(largest, size)
    return short, largest


def _identities(form: StandardForm) -> Array:
    return np.concatenate([_diagonal(row.order).astype(float) for row in form.psd])


def _middles(form: StandardForm, x: Array) -> Array:
    """From each matrix to the multiple of the identity that has its trace."""
    parts = []
    for row in form.psd:
        entries, own = row.F @ x + row.g, _diagonal(row.order)
        parts.append(np.where(own, entries[own].mean(), 0.0) - entries)
    return np.concatenate(parts)


def _diagonal(order: int) -> Array:
    i, j = np.tril_indices(order)
    return np.asarray(i == j)


# --- Columns that cost and that one quadratic row alone keeps up, as t in p^2 <= t T, moved down
# A point of a solver that stopped early has t above p^2 / T, and the objective would be said to be
# what t costs. Raised columns are found above; these fall until their
# row holds by little more than its rounding.


MANY = 2_000  # rows that are looked at one by one
ROOM = 16  # roundings that the row is left


def with_priced_lowered(form: StandardForm, x: Array) -> Array:
    """The point with such columns as low as their rows let them be."""
    if not 0 < len(form.quadratic) <= MANY:
        return x
    priced = _priced(form)
    if not priced.any():
        return x
    x = x.copy()
    for row in form.quadratic:
        held = np.flatnonzero(priced[row.body.index])
        if len(held) == 1:
            _lower(form, x, row, int(held[0]))
    return x


def _priced(form: StandardForm) -> NDArray[np.bool_]:
    """Columns with a linear price that occur in one quadratic row and nowhere else."""
    found = (form.objective.a > 0) & ~form.integer & (np.diff(form.columnwise.indptr) == 0)
    found &= np.diff(form.objective.Q.tocsc().indptr) == 0
    for row in form.psd:
        found[row.F.indices] = False
    occurs = np.bincount(
        np.concatenate([row.body.index for row in form.quadratic]), minlength=form.n
    )
    return np.asarray(found & (occurs == 1))


def _lower(form: StandardForm, x: Array, row: QuadraticRow, t: int) -> None:
    """Column t of a row `rest + slope t <= upper`, with a slope below 0, to where that holds."""
    body = row.body
    here = (body.i == t) | (body.j == t)
    if (here & (body.i == body.j)).any() or not np.isfinite(row.upper) or np.isfinite(row.lower):
        return
    y = x[body.index]
    y[t] = 0.0
    others = np.where(body.i == t, body.j, body.i)
    slope = float(body.a[t]) + float(body.v[here] @ y[others[here]])
    if not slope < 0:
        return
    terms = np.concatenate([body.v * y[body.i] * y[body.j], body.a * y])
    rest = float(terms.sum()) + body.constant - row.upper
    size = float(np.abs(terms).sum()) + abs(body.constant) + abs(row.upper)
    with np.errstate(over="ignore"):
        least = (rest + ROOM * len(terms) * ROUNDOFF * size) / -slope
        least += ROOM * ROUNDOFF * abs(least)
    column = int(body.index[t])
    if np.isfinite(least):
        x[column] = min(x[column], max(least, float(form.lower[column])))


# --- Rational points of spheres, and of models that hold a norm ----------------------------------
# A row sum_j w_j^2 = s has hardly ever a solution in doubles, and where s or s / 2 is a square a
# rational one next to any direction.


def norm_held(form: StandardForm, x: Array) -> dict[int, Fraction] | None:
    """Columns of the one row q sum_j x_j^2 = s of a form, moved onto it from a point (n,).

    None where there is no such row, or more than one, or no rational point is known.
    """
    held = [row for row in form.quadratic if row.lower == row.upper]
    if len(held) != 1:
        return None
    body, factor = held[0].body, Fraction(held[0].body.v[0])
    squares = len(body.v) == len(body.index) and (body.i == body.j).all()
    if not squares or body.a.any() or (body.v != body.v[0]).any() or not x[body.index].any():
        return None
    square = (Fraction(held[0].lower) - Fraction(body.constant)) / factor
    found = on_sphere(x[body.index], square) if square > 0 else None
    return None if found is None else dict(zip(body.index.tolist(), found, strict=True))


def on_sphere(weight: Array, square: Fraction) -> list[Fraction] | None:
    """A rational point of a sphere next to a direction; None where none is known.

    The mirror image of a rational point of the sphere, in a plane through 0 that takes it near.
    """
    pole = _rational_point(weight, square)
    if pole is None:
        return None
    target = weight / np.linalg.norm(weight) * math.sqrt(square)
    normal = [a - Fraction(b) for a, b in zip(pole, target.tolist(), strict=True)]
    along = sum((a * b for a, b in zip(normal, pole, strict=True)), Fraction(0))
    factor = 2 * along / sum((a * a for a in normal), Fraction(0))
    return [a - factor * b for a, b in zip(pole, normal, strict=True)]


def _rational_point(weight: Array, square: Fraction) -> list[Fraction] | None:
    """A point of a sphere that is far from a direction, with one entry or two of the same size."""
    for count in (1, 2):
        part = square / count
        entry = Fraction(math.isqrt(part.numerator), math.isqrt(part.denominator))
        if entry**2 == part and count <= len(weight):
            largest = np.argsort(-np.abs(weight), kind="stable")[:count].tolist()
            return [
                (-entry if weight[j] > 0 else entry) if j in largest else Fraction(0)
                for j in range(len(weight))
            ]
    return None


# --- Columns whose squares a row bounds, moved towards 0 as far as their one linear row lets them
# A solver leaves p = 1e-6 in p >= 1 - u, p^2 <= s z where both ends of the second row are as small
# and p = 0 would do: raising z to p^2 / s costs what the point is worth.


def with_squares_lowered(form: StandardForm, x: Array) -> Array:
    """The point with such columns nearer to 0."""
    if not form.quadratic:
        return x
    squared = _squared(form) & ~form.integer & (np.diff(form.columnwise.indptr) == 1)
    entries = form.A.tocoo()
    kept = squared[entries.col]
    row, column, a = entries.row[kept], entries.col[kept], entries.data[kept]
    count = np.bincount(row, minlength=form.A.shape[0])
    x = x.copy()
    alone = count[row] == 1
    _alone(form, x, row[alone], column[alone], a[alone])
    same = (form.row_lower == form.row_upper) & (count == 2)
    order = np.argsort(row[same[row]], kind="stable")
    pairs, numbers = (part[same[row]][order].reshape(-1, 2) for part in (column, a))
    _together(form, x, pairs, numbers)
    return x


def _squared(form: StandardForm) -> Flags:
    """Columns that enter quadratic rows with an upper side as squares alone, and nothing else."""
    found, spoilt = np.zeros(form.n, dtype=bool), form.objective.a != 0
    spoilt |= np.diff(form.objective.Q.indptr) > 0
    for row in form.quadratic:
        body = row.body
        square = np.zeros(len(body.index), dtype=bool)
        square[body.i[(body.i == body.j) & (body.v > 0)]] = True
        other = body.a != 0
        other[body.i[(body.i != body.j) | (body.v < 0)]] = True
        if np.isfinite(row.lower):
            other[:] = True
        found[body.index[square]] = True
        spoilt[body.index[other]] = True
    for psd_row in form.psd:
        spoilt[psd_row.F.indices] = True
    return found & ~spoilt


def _alone(form: StandardForm, x: Array, row: Array, column: Array, a: Array) -> None:
    """Each as far as its row has room, and holds by more than its rounding."""
    A = form.A
    value = (A @ x)[row]
    rounding = ((np.diff(A.indptr) + 8) * ROUNDOFF * (form.sizes @ np.abs(x)))[row]
    with np.errstate(invalid="ignore"):
        falls = (a > 0) == (x[column] > 0)
        room = np.where(falls, value - form.row_lower[row], form.row_upper[row] - value)
    far = np.minimum(np.maximum(room - 2 * rounding, 0.0) / np.abs(a), np.abs(x[column]))
    _shrink(form, x, column, far)


def _together(form: StandardForm, x: Array, pairs: Array, a: Array) -> None:
    """Two in one equation, the sum of whose terms stays as it is."""
    if not len(pairs):
        return
    terms = a * x[pairs]
    both = terms[:, 0] * terms[:, 1] < 0
    less = np.where(both, np.abs(terms).min(axis=1), 0.0)
    for k in (0, 1):
        _shrink(form, x, pairs[:, k], less / np.abs(a[:, k]))


def _shrink(form: StandardForm, x: Array, column: Array, far: Array) -> None:
    nearer = np.sign(x[column]) * np.maximum(np.abs(x[column]) - far, 0.0)
    x[column] = np.clip(nearer, form.lower[column], form.upper[column])


# --- Points strictly inside a convex model and near its optimum: its rows tightened and solved
#     again
# Of all points inside by a depth e the optimum of the tightened model costs least, e times the sum
# of the multipliers, so that the way towards it is the cheapest one into the model.


# Short of these Clarabel returns the best point that it has.
CLOSEST = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
NO_ROOM = (1e-7, 1e-9)  # in numbers near 1, of a row that always holds as an equation
ENOUGH_ROOM = 1e-2


@dataclass(frozen=True, eq=False)
class Face:
    """Rows and bounds that every point meets as equations, as far as a solver can tell.

    low, high: rows that are always at their lower, and at their upper side.
    low_bound, high_bound: columns that are always at theirs.
    flat: for each cone, in order, whether it has no inside.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    low_bound: NDArray[np.int64]
    high_bound: NDArray[np.int64]
    flat: Flags

    @property
    def is_whole(self) -> bool:
        """Whether there are none of them."""
        return not any(map(len, (self.low, self.high, self.low_bound, self.high_bound)))

    def restricted(self, form: StandardForm) -> StandardForm:
        """The model with these as equations, of which every point is one of the model."""
        row_lower, row_upper = form.row_lower.copy(), form.row_upper.copy()
        lower, upper = form.lower.copy(), form.upper.copy()
        row_upper[self.low] = row_lower[self.low]
        row_lower[self.high] = row_upper[self.high]
        upper[self.low_bound] = lower[self.low_bound]
        lower[self.high_bound] = upper[self.high_bound]
        return replace(form, row_lower=row_lower, row_upper=row_upper, lower=lower, upper=upper)


class Tightened:
    """A convex model in numbers near 1, its fixed columns put in, to be solved with tighter rows.

    form: its integer columns are held at `x`.
    dependent: columns that equations are solved for: bounds of no others are tightened.
    flat: cones, in order, that have no inside and are not tightened.
    """

    def __init__(
        self,
        form: StandardForm,
        classification: Classification,
        x: Array,
        dependent: NDArray[np.int64],
        limits: Limits,
        flat: Sequence[bool] = (),
    ) -> None:
        held = replace(
            form,
            lower=np.where(form.integer, x, form.lower),
            upper=np.where(form.integer, x, form.upper),
        )
        self.limits = limits
        self.scaled = scaling(held).conic(conic_form(held, classification))
        self.fixed = held.lower == held.upper
        self.at = self.scaled.scaled_point(np.where(self.fixed, held.lower, 0.0))
        self.conic, kept = _without_columns(self.scaled.conic, self.fixed, self.at)
        self.depths = _depths(self.conic, np.isin(kept, dependent), flat)
        self.kept = kept
        self.n_rows = form.A.shape[0]

    def point(self, depth: float) -> Array | None:
        """Optimum of the model whose rows are all tighter by `depth`; None without one."""
        conic = replace(self.conic, b=self.conic.b - depth * self.depths)
        claim = clarabel.run_conic(conic, self.n_rows, self._limits())
        return None if claim.x is None else self._point(claim.x)

    def _point(self, x: Array) -> Array:
        at = self.at.copy()
        at[~self.fixed] = x
        return self.scaled.point(at)

    def faces(self) -> list[Face]:
        """Where all points lie, by how little room counts as none; the largest face last.

        Each row and cone gets a room of its own, up to ENOUGH_ROOM, and their sum is made largest:
        in a convex set all that can have room have it together.
        """
        conic, k = self.conic, 0
        rows, rooms = [], []
        for block in conic.blocks:
            within = np.arange(block.start, block.start + block.size)
            if block.kind == "nonneg":
                rows.append(within)
                rooms.append(k + np.arange(block.size))
                k += block.size
            elif block.kind in ("soc", "psd"):
                rows.append(within[_head(block)])
                rooms.append(np.full(len(rows[-1]), k))
                k += 1
        if not rows:
            return []  # equations alone: there is no row to be inside of
        row, room = np.concatenate(rows), np.concatenate(rooms)
        n = conic.A.shape[1]
        own = sp.csc_matrix((np.ones(len(row)), (row, room)), shape=(len(conic.b), k))
        nonneg = sum(block.size for block in conic.blocks if block.kind in ("zero", "nonneg"))
        body = sp.hstack([conic.A, own]).tocsr()
        limit = sp.hstack([sp.csr_matrix((k, n)), sp.identity(k)])
        blocks = _lengthened(conic.blocks, 2 * k)
        names = np.arange(n, n + k)
        wider = replace(
            conic,
            P=sp.csc_matrix((n + k, n + k)),
            q=np.r_[np.zeros(n), -np.ones(k)],
            A=sp.vstack([body[:nonneg], limit, -limit, body[nonneg:]]).tocsc(),
            b=np.r_[conic.b[:nonneg], np.full(k, ENOUGH_ROOM), np.zeros(k), conic.b[nonneg:]],
            blocks=blocks,
            high_bound=np.r_[conic.high_bound, names, names],
        )
        claim = clarabel.run_conic(wider, self.n_rows, self._limits())
        if claim.x is None:
            return []
        sizes = [len(conic.low), len(conic.high), len(conic.low_bound), len(conic.high_bound)]
        parts = np.split(claim.x[n:], np.cumsum(sizes))
        return [self._face(*(part < least for part in parts)) for least in NO_ROOM]

    def _face(
        self, low: Flags, high: Flags, low_bound: Flags, high_bound: Flags, flat: Flags
    ) -> Face:
        conic = self.conic
        return Face(
            conic.low[low],
            conic.high[high],
            self.kept[conic.low_bound[low_bound]],
            self.kept[conic.high_bound[high_bound]],
            flat,
        )

    def _limits(self) -> Limits:
        return replace(self.limits, seed=None, options=CLOSEST)


def _without_columns(
    conic: ConicForm, fixed: Flags, at: Array
) -> tuple[ConicForm, NDArray[np.int64]]:
    """The form over the columns that are not fixed, which are returned too.

    Rows of numbers alone are left out: a point meets them or does not.
    """
    kept = np.flatnonzero(~fixed)
    position = np.cumsum(~fixed) - 1
    names = ("equal", "low", "high", "low_bound", "high_bound")
    parts = [getattr(conic, name) for name in names]
    linear = sum(map(len, parts))
    used = np.diff(conic.A[:, kept].tocsr().indptr) > 0
    used[linear:] = True
    flags = np.split(used[:linear], np.cumsum([len(part) for part in parts])[:-1])
    rows = [part[flag] for part, flag in zip(parts, flags, strict=True)]
    rows[3:] = [position[part] for part in rows[3:]]
    blocks: list[Block] = []
    start = 0
    sizes = {"zero": len(rows[0]), "nonneg": sum(map(len, rows[1:]))}
    for block in conic.blocks:
        size = sizes.get(block.kind, block.size)
        if size:
            blocks.append(Block(block.kind, start, size, block.data))
            start += size
    shorter = replace(
        conic,
        P=conic.P[kept][:, kept].tocsc(),
        q=conic.q[kept] + (conic.P @ at)[kept],
        A=conic.A[:, kept].tocsr()[used].tocsc(),
        b=(conic.b - conic.A @ at)[used],
        blocks=tuple(blocks),
        **dict(zip(names, rows, strict=True)),
    )
    return shorter, kept


def _depths(conic: ConicForm, dependent: Flags, flat: Sequence[bool]) -> Array:
    """1 in rows that are tightened, on the diagonal of a matrix and in the first row of a cone."""
    depths = np.zeros(len(conic.b))
    cones = [block for block in conic.blocks if block.kind in ("soc", "psd")]
    for block, without in zip(cones, [*flat] or [False] * len(cones), strict=True):
        if not without:
            depths[block.rows][_head(block)] = 1.0
    for block in conic.blocks_of("nonneg"):
        bounds = np.concatenate([conic.low_bound, conic.high_bound])
        free = np.ones(block.size - len(bounds))
        depths[block.rows] = np.r_[free, dependent[bounds].astype(float)]
    return depths


def _head(block: Block) -> NDArray[np.int64]:
    """Rows of a cone that lead into it: the first, or the diagonal of a matrix."""
    if block.kind == "soc":
        return np.zeros(1, dtype=np.int64)
    i, j = np.tril_indices(round((2 * block.size) ** 0.5 - 0.25))
    return np.flatnonzero(i == j)


def _lengthened(blocks: Sequence[Block], more: int) -> tuple[Block, ...]:
    """The blocks with so many rows more at the end of the nonneg ones."""
    sizes = {block.kind: block.size for block in blocks if block.kind in ("zero", "nonneg")}
    zero, nonneg = sizes.get("zero", 0), sizes.get("nonneg", 0) + more
    found = [Block("zero", 0, zero)] if zero else []
    found.append(Block("nonneg", zero, nonneg))
    cones = [block for block in blocks if block.kind in ("soc", "psd")]
    return (*found, *(replace(block, start=block.start + more) for block in cones))


# Of the objective: what a point may cost before another is tried, and before a model is solved.
CHEAP, CHEAP_ENOUGH = 1e-9, 5e-8
SCALINGS = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15)
INWARD_STEPS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
HALVINGS = 4  # of the orders of magnitude between two steps
DEPTHS = (1e-4, 1e-6, 1e-8)
NEAR_BOUND = 1e-9
SHORT = 7  # digits behind the point
TINY = 1e-290  # of products of such numbers nothing is known
FACE_LIMIT = 5_000  # columns of a model for which the same is done up to a dozen times
SIZE_LIMIT = 20_000  # columns of a model that is solved again within a second or two


@dataclass
class Search:
    """The best point so far, and how candidates are put to the kernel."""

    model: StandardForm
    equations: Equations
    objective: float
    best: FeasiblePoint | None = None
    restricted: StandardForm | None = None

    @property
    def form(self) -> StandardForm:
        """The model, with what its rows imply as equations where that is known."""
        return self.model if self.restricted is None else self.restricted

    def tried(self, x: Array, *, clearly: bool = False) -> float:
        """Objective of a candidate with its equations solved and its rows met.

        Infinity where it is not feasible even so.
        """
        form = self.form
        x = np.where(form.integer, x, np.clip(x, form.lower, form.upper))
        lowered = with_priced_lowered(form, with_squares_lowered(form, x))
        solved = self.equations.solved(lowered)
        if solved is None:
            return math.inf
        met = with_rows_met(form, *solved, clearly=clearly)
        found = proven_point(self.model, met, solved[1])
        if found is None:
            return math.inf
        if self.best is None or found.end < self.best.end:
            self.best = found
        return found.varying

    def tried_with(self, x: Array, exact: Mapping[int, Fraction]) -> None:
        """Put a candidate with some rational coordinates to the kernel, its rows met."""
        x = x.copy()
        for column, number in exact.items():
            x[column] = float(number)
        found = proven_point(self.model, with_rows_met(self.form, x, exact, clearly=False), exact)
        if found is not None and (self.best is None or found.end < self.best.end):
            self.best = found

    def settled(self, share: float) -> bool:
        """Whether a point is known that costs a share of the objective at most, or time is over."""
        if is_over():
            return True
        if self.best is None:
            return False
        return self.best.varying - self.objective <= share * abs(self.objective)


def exact_point(
    form: StandardForm, classification: Classification, x: Array, limits: Limits
) -> FeasiblePoint | None:
    """An exactly feasible point near a given one, of nearly its objective; None if none is found.

    x (n,): a solver's point: rows, bounds and integrality are met to its tolerances.
    limits: of the solves for a point inside.
    """
    if form.nonlinear or not np.isfinite(x).all():
        return None
    model, form = form, form.inner
    x = np.where(form.integer, np.round(x), np.clip(x, form.lower, form.upper))
    x = np.where(np.abs(x) < TINY, 0.0, x)
    equations = equations_of(form, x)
    if equations is None:
        return None
    search = Search(model, equations, form.objective.varying(x))
    search.restricted = None if form is model else form
    _near_by(search, x)
    if not search.settled(CHEAP_ENOUGH):
        _inwards(search, classification, x, limits)
    return search.best or between(model, x, _close_point)


def _close_point(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """A point with the equations solved and the rows met, without a step."""
    equations = equations_of(form, x)
    if equations is None:
        return None
    search = Search(form, equations, form.objective.varying(x))
    search.tried(x)
    return search.best


def _near_by(search: Search, x: Array) -> None:
    """The point itself, then others that cost no solve, until one is cheap."""
    form = search.form
    _itself(search, x)
    if form.psd and search.settled(CHEAP_ENOUGH):
        return
    # The second is where a homogeneous model is at its best with an optimum of 0, the third where
    # the only points are short numbers: w = 0 and b = 1, and copies of them.
    for other in (_snapped(form, x), np.where(form.integer, x, 0.0), np.round(x, SHORT)):
        if not search.settled(CHEAP) and (other != x).any():
            search.tried(other)
    for sign in (1.0, -1.0):
        if not search.settled(CHEAP):
            _along(search, x, np.where(form.integer, 0.0, sign * x), SCALINGS)


def _itself(search: Search, x: Array) -> None:
    """The point, and nothing but its last digits moved."""
    form = search.form
    if not _misses_squares(form, x):
        search.tried(x, clearly=True)
    held = None if search.settled(CHEAP) else norm_held(form, x)
    if held is not None:
        search.tried_with(x, held)
    if form.quadratic and not search.settled(CHEAP):
        _onto_quadratics(search, x)
    if not search.settled(CHEAP):
        search.tried(x)
    if form.psd and not search.settled(CHEAP):
        _into_matrices(search, x)


def _into_matrices(search: Search, x: Array) -> None:
    """Steps into the semidefinite rows, the shortest that is long enough."""
    for direction, steps in into_matrices(search.form, x):
        for step in steps.tolist():
            if is_over() or search.tried(x + step * direction, clearly=True) < math.inf:
                break
        if search.settled(CHEAP_ENOUGH):
            return


def _misses_squares(form: StandardForm, x: Array) -> bool:
    """Whether rows of squares alone may be missed: no slack helps there, a small scaling does."""
    if not form.quadratic:
        return False
    missed = np.flatnonzero(~hold_clearly(known_stack(form.quadratic), x))
    return any(not form.quadratic[k].body.a.any() for k in missed.tolist())


def _onto_quadratics(search: Search, x: Array) -> None:
    """Scalings from the shortest on that meets all quadratic rows by itself."""
    form = search.form
    stack = known_stack(form.quadratic)
    for sign in (-1.0, 1.0):
        towards = np.where(form.integer, 0.0, sign * x)
        for k in reversed(range(len(SCALINGS))):
            if search.settled(CHEAP):
                return
            if hold_clearly(stack, x + SCALINGS[k] * towards).all():
                _along(search, x, towards, SCALINGS[k:])
                break


def _snapped(form: StandardForm, x: Array) -> Array:
    """Coordinates that are near a bound put there."""
    width = form.upper - form.lower
    size = np.where(np.isfinite(width), width, np.abs(x).max(initial=0.0))
    near = NEAR_BOUND * size
    low = np.where(x - form.lower <= near, form.lower, x)
    return np.where(form.upper - x <= near, form.upper, low)


def _along(search: Search, x: Array, towards: Array, steps: tuple[float, ...]) -> None:
    """The cheapest of some steps, given from long to short, and between the last two of them.

    A long step costs by itself, a short one may leave rows to columns that are dear.
    """
    least, longer = math.inf, math.inf
    for step in steps:
        # Beside such steps roundings are small, and rows that are met by more are quickly seen.
        objective = search.tried(x + step * towards, clearly=True)
        if objective == math.inf and longer < math.inf:
            _between(search, x, towards, step, longer)
        if objective == math.inf or objective > least or search.settled(CHEAP):
            return
        least, longer = objective, step


def _between(search: Search, x: Array, towards: Array, short: float, long: float) -> None:
    """Steps between one that is too short and one that is feasible, until it is cheap enough."""
    for _ in range(HALVINGS):
        if search.settled(CHEAP_ENOUGH):
            return
        step = math.sqrt(short * long)
        if search.tried(x + step * towards, clearly=True) == math.inf:
            short = step
        else:
            long = step


def _inwards(search: Search, classification: Classification, x: Array, limits: Limits) -> None:
    """Steps towards optima of tighter models, the tightest first."""
    small = search.form.n <= SIZE_LIMIT and SOLVERS["clarabel"].installed
    if not (small and classification.relaxes_to_convex) or needs_gigabytes(search.form):
        return
    tightened = Tightened(search.form, classification, x, search.equations.dependent, limits)
    _towards(search, tightened, x)
    if not search.settled(CHEAP_ENOUGH) and search.form.n <= FACE_LIMIT:
        _on_face(search, classification, x, tightened)


def _towards(search: Search, tightened: Tightened, x: Array) -> None:
    for depth in DEPTHS:
        inside = tightened.point(depth)
        if inside is None:
            continue
        _along(search, x, inside - x, INWARD_STEPS)
        if search.settled(CHEAP_ENOUGH):
            return
        closer = tightened.point(0.0)
        if closer is not None:
            _along(search, closer, inside - closer, INWARD_STEPS)
        if search.settled(CHEAP_ENOUGH):
            return


def _on_face(
    search: Search, classification: Classification, x: Array, tightened: Tightened
) -> None:
    """Where rows imply equations no point is inside all of them, but one may be inside the rest."""
    for face in tightened.faces():
        if face.is_whole:
            continue
        form = face.restricted(search.model.inner)
        at = np.clip(x, form.lower, form.upper)
        equations = equations_of(form, at)
        if equations is None or equations.solved(at) is None:
            continue
        search.restricted, search.equations = form, equations
        limits = tightened.limits
        within = Tightened(
            form, classification, at, equations.dependent, limits, face.flat.tolist()
        )
        search.tried(at)
        _towards(search, within, at)
        if search.settled(CHEAP_ENOUGH):
            return


# --- Exactly feasible points at which nothing costs: every column with a price or a square is 0 --
# An optimum of 0, such as that of separable data or of hulls that intersect, is attained there.
# Then a cone whose factors have a price leaves nothing of what it bounds either. What is left of
# the model has no objective: its equations are solved on columns with room, and rows that a
# solver's point meets to its last digits are met clearly by a multiple of it where the others
# scale along, as margins do.


LONGER = (0.0, 2.0**-40, 2.0**-30, 2.0**-20, 2.0**-10, 1.0)


def costless_point(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """Such a point near a given one; None where none is found.

    x (n,): a solver's point of an objective that is nearly 0.
    """
    costs = form.objective.a != 0
    costs |= np.diff(form.objective.Q.tocsr().indptr) > 0
    costs |= np.diff(form.objective.Q.tocsc().indptr) > 0
    costs |= _left_nothing(form, costs)
    if form.nonlinear or not ((form.lower <= 0) & (form.upper >= 0))[costs].all():
        return None
    fixed = replace(
        form, lower=np.where(costs, 0.0, form.lower), upper=np.where(costs, 0.0, form.upper)
    )
    for longer in LONGER:
        start = np.where(fixed.integer, x, (1 + longer) * x)
        start = np.clip(start, fixed.lower, fixed.upper)
        equations = equations_of(fixed, start)
        solved = None if equations is None else equations.solved(start)
        if solved is None:
            continue
        met = with_rows_met(fixed, *solved, clearly=True)
        found = proven_point(form, met, solved[1])
        if found is not None and found.varying <= 0:
            return found
    return None


def _left_nothing(form: StandardForm, zero: Mask) -> Mask:
    """Columns whose squares a quadratic row leaves no room where some columns are 0."""
    found = np.zeros(form.n, dtype=bool)
    for row in form.quadratic:
        body, up = row.body, bool(np.isfinite(row.upper))
        if up == bool(np.isfinite(row.lower)):
            continue
        sign = 1.0 if up else -1.0
        held = zero[body.index]
        rest = ~(held[body.i] | held[body.j])
        squares = (body.i == body.j) & (sign * body.v > 0)
        room = sign * ((row.upper if up else row.lower) - body.constant)
        if room <= 0 and squares[rest].all() and not body.a[~held].any():
            found[body.index[body.i[rest]]] = True
    return found
