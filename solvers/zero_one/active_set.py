"""Least norm over many sets of points at a time, by the dual active-set method.

Each row of a batch is one problem,

    min ||v||^2 :  <a_i, v> >= r_i for the allowed points i,  <a_i, v> <= r_i for the short ones.

Its working set W holds v = sum_{i in W} alpha_i a_i with equality on W, alpha_i >= 0 for allowed
points and alpha_i <= 0 for short ones. A row that v does not meet enters; its multiplier grows
until the row is met or another multiplier reaches 0 and leaves (Goldfarb & Idnani 1983,
Mathematical Programming 27). Every step is a proof: the bound of `certified_norm2` holds for
whatever multipliers are reached, and a problem ends as soon as it proves its target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.solvers.kernel.conflicts import NOBODY
from tightmargin.solvers.kernel.signed_points import SignedPoints, certified_norm2, signed

VIOLATED = 1e-7  # of the margin 1, beside which side rows are scaled
DEPENDENT = 1e-12  # of the squared length of a point
SINGULAR = 1e-15  # of the largest singular value of some rows
STEPS = 400


@dataclass(frozen=True, eq=False)
class WorkingSets:
    """Working sets of R problems: members (R, m) of int, count (R,), alpha and sense (R, m).

    The sense is -1 where a member is short, otherwise +1; alpha has that sign.
    """

    members: Index
    count: Index
    alpha: Array
    sense: Array

    @property
    def filled(self) -> Mask:
        """Places in use, (R, m)."""
        return np.arange(self.members.shape[1]) < self.count[:, None]

    def take(self, rows: Index | Mask) -> WorkingSets:
        """Some of the rows."""
        return WorkingSets(self.members[rows], self.count[rows], self.alpha[rows], self.sense[rows])


@dataclass(frozen=True, eq=False)
class Grown:
    """What became of each row.

    sets: to go on with.
    members, alpha (R, m): what proves norm2; another set where the method gave up.
    conflict (R,): the target is proven: the members cannot all be kept below it.
    finished (R,): all rows are met. Neither of the two: the method gave up.
    norm2 (R,): proven least norm of the members, hence of all rows.
    first (R,): the first allowed point that entered; -1 if nobody did.
    steps: steps taken, all rows together.
    """

    sets: WorkingSets
    members: Index
    alpha: Array
    conflict: Mask
    finished: Mask
    norm2: Array
    first: Index
    steps: int


def empty_sets(points: SignedPoints, rows: int) -> WorkingSets:
    """Nobody in any set: v = 0."""
    shape = (rows, points.largest)
    return WorkingSets(
        np.zeros(shape, np.intp), np.zeros(rows, np.intp), np.zeros(shape), np.ones(shape)
    )


def refreshed(points: SignedPoints, members: Index, count: Index, sense: Array) -> WorkingSets:
    """Working sets with multipliers solved for again from their members."""
    sets = WorkingSets(members, count, np.zeros(members.shape), sense)
    right = np.where(sets.filled, points.right[members], 0.0)
    alpha = np.asarray(
        np.linalg.solve(kept_gram(points, sets), right[:, :, None])[:, :, 0], dtype=np.float64
    )
    return WorkingSets(members, count, np.where(sets.filled, signed(alpha, sense), 0.0), sense)


def grow(
    points: SignedPoints,
    start: WorkingSets,
    allowed: Mask,
    target: Array,
    *,
    short: Mask | None = None,
    costly: Mask | None = None,
) -> Grown:
    """Let rows that are not met enter until a norm is proven or all are met.

    start: one row for each problem; members need not be allowed.
    allowed (R, n): points whose margin has to reach 1.
    target (R,): a norm2 at which the problem ends as a conflict.
    short (R, n): points whose margin must not exceed 1. They enter before all others: none of them
        is used up by a conflict.
    costly (R, n): points that a good set has exactly one of: one of them enters first if any is
        violated, then others as long as any of those is violated.
    """
    state = _State(points, start)
    active = np.arange(len(target))
    for _ in range(STEPS):
        if not active.size:
            break
        active = state.choose(active, allowed, short, costly)
        if active.size:
            active = state.advance(active, target)
    state.give_up(active)
    sets = WorkingSets(state.members, state.count, state.alpha, state.sense)
    members = np.where(state.stuck[:, None], state.stuck_members, sets.members)
    alpha = np.where(sets.filled, sets.alpha, 0.0)
    alpha = np.where(state.stuck[:, None], state.stuck_alpha, alpha)
    return Grown(
        sets, members, alpha, state.conflict, state.finished, state.norm2, state.first, state.steps
    )


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


@dataclass(frozen=True, eq=False)
class _Step:
    """A step of the entering row: alpha of the members before it and, `widened`, with it."""

    members: Index
    sense: Array
    alpha: Array
    widened: Array
    entered: Array
    leaving: Index
    whole: Mask
    endless: Mask
    norm2: Array


class _State:
    """All problems of a batch; arrays are indexed by them, `active` says which still go on."""

    def __init__(self, points: SignedPoints, start: WorkingSets) -> None:
        rows = len(start.count)
        self.points = points
        self.members, self.count = start.members.copy(), start.count.copy()
        self.sense = start.sense.copy()
        self.alpha = np.where(start.filled, start.alpha, 0.0)
        self.entering = np.full(rows, NOBODY)
        self.entered = np.zeros(rows)  # the size of the entering row's multiplier so far
        self.direction = np.ones(rows)  # and its sense
        self.first = np.full(rows, NOBODY)
        self.conflict = np.zeros(rows, bool)
        self.finished = np.zeros(rows, bool)
        self.norm2 = np.zeros(rows)
        self.stuck = np.zeros(rows, bool)
        self.stuck_members, self.stuck_alpha = start.members.copy(), np.zeros(start.members.shape)
        self.steps = 0

    def _sets(self, rows: Index) -> WorkingSets:
        return WorkingSets(self.members[rows], self.count[rows], self.alpha[rows], self.sense[rows])

    def choose(
        self, active: Index, allowed: Mask, short: Mask | None, costly: Mask | None
    ) -> Index:
        """Give each its most violated row; finish those where all rows are met."""
        free = active[self.entering[active] == NOBODY]
        if not free.size:
            return active
        sets = self._sets(free)
        v = np.einsum("rm,rmk->rk", sets.alpha, self.points.rows[sets.members])
        lack = self.points.right - v @ self.points.rows.T
        row, place = np.nonzero(sets.filled)
        member = sets.members[row, place]
        lack[row, member] = 0.0
        violation = np.where(allowed[free], lack, -1.0)
        best = violation.argmax(axis=1)
        each = np.arange(len(free))
        largest = violation[each, best]
        if costly is not None:
            own = costly[free]
            has = np.zeros(len(free), bool)
            np.logical_or.at(has, row, own[row, member])
            wanted = np.where(own != has[:, None], violation, -1.0)
            other = wanted.argmax(axis=1)
            best = np.where(wanted[each, other] > VIOLATED, other, best)
        if short is not None:
            excess = np.where(short[free], -lack, -1.0)
            other = excess.argmax(axis=1)
            over = excess[each, other] > VIOLATED
            best = np.where(over, other, best)
            largest = np.where(over, excess[each, other], largest)
            self.direction[free] = np.where(over, -1.0, 1.0)
        done = largest <= VIOLATED
        self.entering[free] = best
        self.entered[free] = 0.0
        starts = (self.first[free] == NOBODY) & ~done & (self.direction[free] > 0)
        self.first[free] = np.where(starts, best, self.first[free])
        ended = free[done]
        self.finished[ended] = True
        self._settle(ended)
        return active[~self.finished[active]]

    def _settle(self, rows: Index) -> None:
        sets = self._sets(rows)
        self.norm2[rows] = certified_norm2(self.points, sets.members, sets.alpha, sets.sense)

    def give_up(self, rows: Index) -> None:
        """Keep what the multipliers prove where it took too many steps."""
        if rows.size:
            self._settle(rows)

    def advance(self, active: Index, target: Array) -> Index:
        """One step of each; returns those that go on."""
        self.steps += len(active)
        r, full = self._whole_step(active)
        done = self._stepped(active, r, full)
        weak = np.flatnonzero(done.endless & (done.norm2 < target[active]))
        if weak.size:
            # The products of rows have the square of their condition number.
            again = self._stepped(active[weak], self._combined(active[weak]), full[weak])
            for part, found in vars(again).items():
                getattr(done, part)[weak] = found
        conflict = done.norm2 >= target[active]
        stuck = done.endless & ~conflict  # rounding leaves less than the target
        joins = ~conflict & ~stuck & done.whole
        leaves = ~(conflict | stuck | joins)
        kept = conflict | joins
        place = self.count[active]
        before = self.alpha[active]
        self.members[active] = np.where(kept[:, None], done.members, self.members[active])
        self.sense[active] = np.where(kept[:, None], done.sense, self.sense[active])
        held = np.where(stuck[:, None], before, done.alpha)
        self.alpha[active] = np.where(kept[:, None], done.widened, held)
        self.count[active] = np.where(kept, place + 1, place)
        entering = self.entering[active]
        self.entering[active] = np.where(kept | stuck, NOBODY, entering)
        self.entered[active] = done.entered
        self._drop(active[leaves], done.leaving[leaves])
        self.conflict[active] = conflict
        self.stuck[active] = stuck
        self.stuck_members[active[stuck]] = done.members[stuck]
        self.stuck_alpha[active[stuck]] = done.widened[stuck]
        ended = conflict | stuck
        self.norm2[active[ended]] = done.norm2[ended]
        return active[~ended]

    def _whole_step(self, active: Index) -> tuple[Array, Array]:
        """What the members lose by a step of the entering row, and the step that meets it."""
        points, sets = self.points, self._sets(active)
        entering, direction = self.entering[active], self.direction[active]
        toward = np.where(sets.filled, points.gram[sets.members, entering[:, None]], 0.0)
        own = points.gram[entering, entering]
        r = np.linalg.solve(kept_gram(points, sets), toward[:, :, None])[:, :, 0]
        curvature = own - (r * toward).sum(axis=1)
        lack = direction * (points.right[entering] - (sets.alpha * toward).sum(axis=1))
        lack -= self.entered[active] * own
        dependent = (curvature <= DEPENDENT * own) | (sets.count >= points.rows.shape[1])
        full = np.where(dependent, np.inf, lack / np.where(dependent, 1.0, curvature))
        return r * direction[:, None], full

    def _combined(self, rows: Index) -> Array:
        """r of `_whole_step` for rows that depend on their members, from the rows themselves."""
        r = np.zeros((len(rows), self.members.shape[1]))
        for k, row in enumerate(rows.tolist()):
            own = self.members[row, : self.count[row]]
            a = self.direction[row] * self.points.rows[self.entering[row]]
            r[k, : len(own)] = np.linalg.lstsq(self.points.rows[own].T, a, rcond=SINGULAR)[0]
        return r

    def _stepped(self, active: Index, r: Array, full: Array) -> _Step:
        """The multipliers after a step as long as no other one changes its sign."""
        sets, direction = self._sets(active), self.direction[active]
        filled, each = sets.filled, np.arange(len(active))
        shrinking = sets.sense * r
        falling = filled & (shrinking > 1e-12)
        limits = np.where(falling, np.abs(sets.alpha) / np.where(falling, shrinking, 1.0), np.inf)
        leaving = limits.argmin(axis=1)
        step = np.minimum(limits[each, leaving], full)
        # The row is minus a cone of the members: nobody meets them all.
        endless = ~np.isfinite(step)
        step = np.where(endless, 0.0, np.maximum(step, 0.0))
        alpha = np.where(endless[:, None], -r, sets.alpha - step[:, None] * r)
        alpha = np.where(filled, signed(alpha, sets.sense), 0.0)
        entered = np.where(endless, 1.0, self.entered[active] + step)
        members, sense = sets.members.copy(), sets.sense.copy()
        members[each, sets.count] = self.entering[active]
        sense[each, sets.count] = direction
        widened = alpha.copy()
        widened[each, sets.count] = direction * entered
        norm2 = certified_norm2(self.points, members, widened, sense)
        whole = full <= limits[each, leaving]
        return _Step(members, sense, alpha, widened, entered, leaving, whole, endless, norm2)

    def _drop(self, rows: Index, leaving: Index) -> None:
        """Take one member out of each set: the last one gets its place."""
        last = self.count[rows] - 1
        for held in (self.members, self.sense, self.alpha):
            held[rows, leaving] = held[rows, last]
        self.alpha[rows, last] = 0.0
        self.count[rows] = last
