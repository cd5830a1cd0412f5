"""Rows made to hold by columns that no other row objects to: slacks, epigraphs, absolute values.

A row objects to raising a column where that moves it towards a side of its own, as locks are
counted in the presolve of mixed-integer programs (Achterberg et al., Presolve reductions in mixed
integer programming, INFORMS Journal on Computing 32, 2020). A column that only rows object to which
have such a column themselves may move as well: those rows are repaired in the next round. Where
that leaves a row without a column, rows that hold by far more than is needed object to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.kernel.points import linear_excess, point_of, quadratic_excess
from tightmargin.solvers.model.reader import StandardForm

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
            room = _room(form, x, low, high) > AMPLE * float(need.max(initial=0.0))
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


def _room(form: StandardForm, x: Array, low: Array, high: Array) -> Array:
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
