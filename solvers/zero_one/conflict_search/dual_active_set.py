"""Least norm over many sets of points at a time, by the dual active-set method.

Each row of a batch is one problem,  min ||v||^2 : <a_i, v> >= r_i for the allowed points i.  Its
working set W holds v = sum_{i in W} alpha_i a_i with equality on W and alpha >= 0. A violated
point enters; its multiplier grows until its margin reaches r_i or another multiplier reaches 0 and
leaves (Goldfarb & Idnani 1983, Mathematical Programming 27). Every step is a proof: the bound of
`certified_norm2` holds for whatever multipliers are reached, and a row ends as soon as it proves
its target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.zero_one.conflict_search.signed_points import (
    Index,
    SignedPoints,
    certified_norm2,
)

Mask = NDArray[np.bool_]

VIOLATED = 1e-7  # of the margin 1, beside which side rows are scaled
DEPENDENT = 1e-10  # of the squared length of a point
STEPS = 400
NOBODY = -1


@dataclass(frozen=True, eq=False)
class WorkingSets:
    """Working sets of R rows: members (R, m) of int, count (R,), alpha (R, m)."""

    members: Index
    count: Index
    alpha: Array

    @property
    def filled(self) -> Mask:
        """Places in use, (R, m)."""
        return np.arange(self.members.shape[1]) < self.count[:, None]

    def take(self, rows: Index | Mask) -> WorkingSets:
        """Some of the rows."""
        return WorkingSets(self.members[rows], self.count[rows], self.alpha[rows])


@dataclass(frozen=True, eq=False)
class Grown:
    """What became of each row.

    Attributes
    ----------
    conflict : array (R,) of bool
        The target is proven: the members cannot all be kept below it.
    finished : array (R,) of bool
        No allowed point is violated any more. Neither of the two: the method gave up.
    norm2 : array (R,)
        Proven least norm of the members, hence of all allowed points.
    first : array (R,) of int
        The first point that entered; -1 if nobody did.
    steps : int
        Steps taken, all rows together.
    """

    sets: WorkingSets
    conflict: Mask
    finished: Mask
    norm2: Array
    first: Index
    steps: int


def empty_sets(points: SignedPoints, rows: int) -> WorkingSets:
    """Nobody in any set: v = 0."""
    shape = (rows, points.largest)
    return WorkingSets(np.zeros(shape, np.intp), np.zeros(rows, np.intp), np.zeros(shape))


def refreshed(points: SignedPoints, members: Index, count: Index) -> WorkingSets:
    """Working sets with multipliers solved for again from their members."""
    sets = WorkingSets(members, count, np.zeros(members.shape))
    right = np.where(sets.filled, points.right[members], 0.0)
    alpha = np.linalg.solve(kept_gram(points, sets), right[:, :, None])[:, :, 0]
    return WorkingSets(members, count, np.where(sets.filled, np.maximum(alpha, 0.0), 0.0))


def grow(
    points: SignedPoints,
    start: WorkingSets,
    allowed: Mask,
    target: Array,
    *,
    costly: Mask | None = None,
) -> Grown:
    """Let violated points enter until a norm is proven or nobody is violated.

    Parameters
    ----------
    start : WorkingSets
        One row for each problem; members need not be allowed.
    allowed : array (R, n) of bool
        Points that may enter.
    target : array (R,)
        A norm2 at which the row ends as a conflict.
    costly : array (R, n) of bool, optional
        Points that a good set has exactly one of: one of them enters first if any is violated,
        then others as long as any of those is violated.
    """
    state = _State(points, start, len(target))
    active = np.arange(len(target))
    for _ in range(STEPS):
        if not active.size:
            break
        active = state.choose(active, allowed, costly)
        if active.size:
            active = state.advance(active, target)
    state.give_up(active)
    return Grown(
        WorkingSets(state.members, state.count, state.alpha),
        state.conflict, state.finished, state.norm2, state.first, state.steps,
    )  # fmt: skip


def kept_gram(points: SignedPoints, sets: WorkingSets) -> Array:
    """Inner products of the members, (R, m, m); empty places are rows of the identity."""
    W, filled = sets.members, sets.filled
    gram = points.gram[W[:, :, None], W[:, None, :]]
    gram *= filled[:, :, None] & filled[:, None, :]
    place = np.arange(W.shape[1])
    # A trace of the diagonal keeps nearly dependent members from dividing by zero.
    gram[:, place, place] += np.where(filled, 1e-13 * gram[:, place, place], 1.0)
    gram[:, place, place] += np.where(gram[:, place, place] > 0, 0.0, 1.0)
    return gram


class _State:
    """All rows of a batch; arrays are indexed by row, `active` says which are still at work."""

    def __init__(self, points: SignedPoints, start: WorkingSets, rows: int) -> None:
        self.points = points
        self.members, self.count = start.members.copy(), start.count.copy()
        self.alpha = np.where(start.filled, start.alpha, 0.0)
        self.entering = np.full(rows, NOBODY)
        self.entered = np.zeros(rows)  # the multiplier of the entering point so far
        self.first = np.full(rows, NOBODY)
        self.conflict = np.zeros(rows, bool)
        self.finished = np.zeros(rows, bool)
        self.norm2 = np.zeros(rows)
        self.steps = 0

    def _sets(self, rows: Index) -> WorkingSets:
        return WorkingSets(self.members[rows], self.count[rows], self.alpha[rows])

    def choose(self, active: Index, allowed: Mask, costly: Mask | None) -> Index:
        """Give rows without an entering point the most violated one; finish rows without any."""
        free = active[self.entering[active] == NOBODY]
        if not free.size:
            return active
        sets = self._sets(free)
        v = np.einsum("rm,rmk->rk", sets.alpha, self.points.rows[sets.members])
        lack = self.points.right - v @ self.points.rows.T
        violation = np.where(allowed[free], lack, -1.0)
        row, place = np.nonzero(sets.filled)
        violation[row, sets.members[row, place]] = -1.0
        best = violation.argmax(axis=1)
        each = np.arange(len(free))
        largest = violation[each, best]
        if costly is not None:
            own = costly[free]
            has = np.zeros(len(free), bool)
            np.logical_or.at(has, row, own[row, sets.members[row, place]])
            wanted = np.where(own != has[:, None], violation, -1.0)
            other = wanted.argmax(axis=1)
            best = np.where(wanted[each, other] > VIOLATED, other, best)
        done = largest <= VIOLATED
        self.entering[free] = best
        self.entered[free] = 0.0
        self.first[free] = np.where((self.first[free] == NOBODY) & ~done, best, self.first[free])
        ended = free[done]
        self.finished[ended] = True
        self._settle(ended)
        return active[~self.finished[active]]

    def _settle(self, rows: Index) -> None:
        sets = self._sets(rows)
        self.norm2[rows] = certified_norm2(self.points, sets.members, sets.alpha)

    def give_up(self, rows: Index) -> None:
        """Keep what the multipliers prove of rows that took too many steps."""
        if rows.size:
            self._settle(rows)

    def advance(self, active: Index, target: Array) -> Index:
        """One step of every row; returns the rows that go on."""
        points, sets = self.points, self._sets(active)
        self.steps += len(active)
        entering, filled = self.entering[active], sets.filled
        each = np.arange(len(active))
        toward = np.where(filled, points.gram[sets.members, entering[:, None]], 0.0)
        own = points.gram[entering, entering]
        r = np.linalg.solve(kept_gram(points, sets), toward[:, :, None])[:, :, 0]
        curvature = own - (r * toward).sum(axis=1)
        lack = points.right[entering] - (sets.alpha * toward).sum(axis=1)
        lack -= self.entered[active] * own
        dependent = (curvature <= DEPENDENT * own) | (sets.count >= points.rows.shape[1])
        full = np.where(dependent, np.inf, lack / np.where(dependent, 1.0, curvature))
        falling = filled & (r > 1e-12)
        limits = np.where(falling, sets.alpha / np.where(falling, r, 1.0), np.inf)
        leaving = limits.argmin(axis=1)
        step = np.minimum(limits[each, leaving], full)
        endless = ~np.isfinite(step)  # a_j is minus a cone of the members: nobody keeps them all
        step = np.where(endless, 0.0, np.maximum(step, 0.0))
        alpha = np.where(endless[:, None], np.maximum(-r, 0.0), sets.alpha - step[:, None] * r)
        alpha = np.where(filled, np.maximum(alpha, 0.0), 0.0)
        entered = np.where(endless, 1.0, self.entered[active] + step)
        members, place = sets.members.copy(), sets.count
        members[each, place] = entering
        widened = alpha.copy()
        widened[each, place] = entered
        norm2 = certified_norm2(points, members, widened)
        conflict = norm2 >= target[active]
        stuck = endless & ~conflict  # rounding leaves less than the target
        joins = ~conflict & ~stuck & (full <= limits[each, leaving])
        leaves = ~(conflict | stuck | joins)
        kept = conflict | joins
        self.members[active] = np.where(kept[:, None], members, sets.members)
        held = np.where(stuck[:, None], sets.alpha, alpha)
        self.alpha[active] = np.where(kept[:, None], widened, held)
        self.count[active] = np.where(kept, place + 1, place)
        self.entering[active] = np.where(kept | stuck, NOBODY, entering)
        self.entered[active] = entered
        self._drop(active[leaves], leaving[leaves])
        self.conflict[active] = conflict
        ended = conflict | stuck
        self.norm2[active[ended]] = norm2[ended]
        return active[~ended]

    def _drop(self, rows: Index, leaving: Index) -> None:
        """Take one member out of each row: the last one gets its place."""
        last = self.count[rows] - 1
        self.members[rows, leaving] = self.members[rows, last]
        self.alpha[rows, leaving] = self.alpha[rows, last]
        self.alpha[rows, last] = 0.0
        self.count[rows] = last
