"""The search for what bounds a node: disjoint conflicts, and points that they decide.

What is proven of a node stands in kernel/conflicts.py, which reads the evidence that is
collected here, and bounds the node anew. The sets are found greedily, by letting points enter until
the norm proves T - c - (j - 1) penalty, which is what it takes to prune the node at the target T
(c is what is paid already).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.solvers.kernel.conflicts import (
    KEPT,
    NOBODY,
    PACKING,
    REST,
    Conflicts,
    Evidence,
    packed_bounds,
)
from tightmargin.solvers.kernel.signed_points import SignedPoints, certified_norm2, signed

# --- Least norm over many sets of points at a time, by the dual active-set method -----------------
# Each row of a batch is one problem,
#
#     min ||v||^2 :  <a_i, v> >= r_i for the allowed points i,  <a_i, v> <= r_i for the short ones.
#
# Its working set W holds v = sum_{i in W} alpha_i a_i with equality on W, alpha_i >= 0 for allowed
# points and alpha_i <= 0 for short ones. A row that v does not meet enters; its multiplier grows
# until the row is met or another multiplier reaches 0 and leaves (Goldfarb & Idnani 1983,
# Mathematical Programming 27). Every step is a proof: the bound of `certified_norm2` holds for
# whatever multipliers are reached, and a problem ends as soon as it proves its target.


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


# --- What keeping one point more costs at least, for all points at a time ------------------------


SURELY = 1e-6  # relative: what is wanted by less is computed


@dataclass(frozen=True, eq=False)
class Probed:
    """Single points that were looked at: P pairs of a working set and a point.

    row, point (P,).
    members (P, m + 1): of the working set, with the point; places that are not used have a
        multiplier of 0.
    alpha (P, m + 1).
    norm2 (P,): what the multipliers prove: the least norm2 with the point kept as well.
    """

    row: Index
    point: Index
    members: Index
    alpha: Array
    norm2: Array


def probed_norm2(points: SignedPoints, sets: WorkingSets) -> Array:
    """Proven least norm2 with each single point kept as well, (R, n + m)."""
    found = np.zeros((len(sets.count), len(points.right)))
    looked = probed(points, sets)
    found[looked.row, looked.point] = looked.norm2
    return found


def probed(
    points: SignedPoints, sets: WorkingSets, free: Mask | None = None, wanted: Array | None = None
) -> Probed:
    """What keeping one point more costs, for all that one step shows to cost anything.

    The multiplier of the point grows by one step of the active-set method. With v of the working
    set, no multipliers of it and of the point prove more than equality in all of them costs,
    ||v||^2 + lack^2 / curvature: where that is not enough, nothing more is computed.

    free (R, n + m): points that are of interest.
    wanted (R,): norms that are of interest; points that cannot reach them are left out.
    """
    W, filled = sets.members, sets.filled
    toward = np.where(filled[:, :, None], points.gram[W], 0.0)
    r = np.linalg.solve(kept_gram(points, sets), toward)
    own = np.diag(points.gram)
    curvature = own - (r * toward).sum(axis=1)
    lack = points.right - np.einsum("rm,rmn->rn", sets.alpha, toward)
    dependent = curvature <= DEPENDENT * own
    divisor = np.where(dependent, 1.0, curvature)
    look = lack > 0 if free is None else (lack > 0) & free
    if wanted is not None:
        v = np.einsum("rm,rmk->rk", sets.alpha, points.rows[W])
        most = (v * v).sum(axis=1)[:, None] + lack * lack / divisor
        enough = wanted * points.scale**2 * (1 - SURELY)
        look &= dependent | (most >= enough[:, None])
    row, point = np.nonzero(look)
    r, sense, alpha, filled = r[row, :, point], sets.sense[row], sets.alpha[row], filled[row]
    full = np.where(dependent, np.inf, lack / divisor)[row, point]
    shrinking = sense * r
    falling = filled & (shrinking > 1e-12)
    ratios = np.where(falling, np.abs(alpha) / np.where(falling, shrinking, 1.0), np.inf)
    step = np.minimum(ratios.min(axis=1), full)
    endless = ~np.isfinite(step)
    step = np.where(endless, 0.0, np.maximum(step, 0.0))
    alpha = np.where(endless[:, None], -r, alpha - step[:, None] * r)
    alpha = np.where(filled, alpha, 0.0)
    members = np.column_stack([W[row], point])
    alpha = np.column_stack([alpha, np.where(endless, 1.0, step)])
    sense = np.column_stack([sense, np.ones(len(row))])
    norm2 = certified_norm2(points, members, alpha, sense)
    return Probed(row, point, members, signed(alpha, sense), norm2)


PROBES = 3


class OutOfTimeError(Exception):
    """The time was over before a batch of nodes was bounded."""


class NotCompiledError(Exception):
    """numba keeps no compiled code of a function, and a search does not wait for its compiler."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """R nodes: kept and violated (R, n + m) of bool, and the working sets of their kept points."""

    kept: Mask
    violated: Mask
    sets: WorkingSets

    def take(self, rows: Index | Mask) -> Nodes:
        """Some of the nodes."""
        return Nodes(self.kept[rows], self.violated[rows], self.sets.take(rows))


@dataclass(frozen=True, eq=False)
class Bounded:
    """Nodes with what was found of them.

    nodes: with points fixed that the target decides.
    bound (R,): on every objective in the node; inf where the target is reached.
    branch (R,): the point to branch on; -1 where no point is free.
    candidates: members of working sets at which nothing is violated.
    directions: their v.
    evidence: from which all of it is proven.
    steps: work done.
    """

    nodes: Nodes
    bound: Array
    branch: Index
    candidates: list[Index]
    directions: Array
    evidence: Evidence
    steps: int


def bounded(
    points: SignedPoints,
    nodes: Nodes,
    *,
    penalty: float,
    target: float,
    suspects: Mask,
    until: float = np.inf,
) -> Bounded:
    """Bound nodes, and fix the points that a target decides.

    target: objectives from here on are of no interest.
    suspects (n + m,): points the best known hyperplane violates; a good conflict has one of them.
    until: of time.monotonic().
    Raises OutOfTimeError: after `until`.
    """
    work = _Work(points, nodes, penalty, target)
    work.count()
    work.keep()
    work.probe()
    work.pack(suspects, until)
    return Bounded(
        Nodes(work.kept, work.violated, work.sets), work.bound, work.branch, work.candidates,
        np.array(work.directions).reshape(-1, points.rows.shape[1]), work.evidence(), work.steps,
    )  # fmt: skip


class _Work:
    """The three stages on one batch of nodes."""

    def __init__(
        self,
        points: SignedPoints,
        nodes: Nodes,
        penalty: float,
        target: float,
    ) -> None:
        self.points, self.penalty, self.target = points, penalty, target
        self.conflicts: list[Conflicts] = []
        self.kept, self.violated = nodes.kept.copy(), nodes.violated.copy()
        self.sets = nodes.sets
        rows = len(self.kept)
        self.norm2 = np.zeros(rows)
        self.bound = np.zeros(rows)
        self.branch = np.full(rows, NOBODY)
        self.candidates: list[Index] = []
        self.directions: list[Array] = []
        self.settled = np.zeros_like(self.kept)
        self.steps = 0

    def evidence(self) -> Evidence:
        """What proves all of it."""
        width = self.sets.members.shape[1] + 1  # of a working set and a point beside it
        return Evidence(Conflicts.joined(self.conflicts, width), self.settled)

    @property
    def paid(self) -> Array:
        """Cost of the points given up."""
        return self.penalty * self.violated.sum(axis=1)

    @property
    def short(self) -> Mask:
        """Points that need not be kept in the node, as the sibling keeps them."""
        return self.violated & ~self.points.loose

    @property
    def open(self) -> Index:
        """Rows that are not pruned."""
        return np.flatnonzero(np.isfinite(self.bound))

    @property
    def room(self) -> Array:
        """How many more points may be violated, wherever they are."""
        given_up = self.violated.sum(axis=1)
        most = [c.most for c in self.points.counts if c.points.all()]
        return np.full(len(given_up), np.inf) if not most else min(most) - given_up

    def _prune(self, rows: Index) -> None:
        self.bound[rows] = np.inf

    def count(self) -> None:
        """Keep what no count allows to be violated any more."""
        for count in self.points.counts:
            free = ~self.kept[:, : self.points.n] & ~self.violated[:, : self.points.n]
            full = (self.violated[:, : self.points.n] & count.points).sum(axis=1) >= count.most
            self.kept[:, : self.points.n] |= full[:, None] & free & count.points

    def _prune_crowded(self) -> None:
        for count in self.points.counts:
            given_up = (self.violated[:, : self.points.n] & count.points).sum(axis=1)
            self._prune(np.flatnonzero(given_up > count.most))

    def keep(self) -> None:
        """The least norm of the kept points."""
        found = grow(self.points, self.sets, self.kept, self.target - self.paid, short=self.short)
        self.steps += found.steps
        self.sets, self.norm2 = found.sets, found.norm2
        self._note(np.arange(len(self.norm2)), KEPT, found)
        self.bound = self.paid + self.norm2
        self._prune(np.flatnonzero(self.bound >= self.target))
        self._prune_crowded()

    def _note(self, node: Index, kind: Index | int, found: Grown) -> None:
        each = np.ones_like(node)
        self.conflicts.append(
            Conflicts(node, kind * each, NOBODY * each, found.members, found.alpha)
        )

    def probe(self) -> None:
        """Violate the points that cannot be kept: one step of their multiplier proves it."""
        for k in range(PROBES):
            rows = self.open
            if not rows.size:
                return
            free = ~self.kept[rows] & ~self.violated[rows]
            wanted = self.target - self.paid[rows]
            looked = probed(self.points, self.sets.take(rows), free, wanted)
            proven = np.flatnonzero(looked.norm2 >= wanted[looked.row])
            if not proven.size:
                return
            row, point = rows[looked.row[proven]], looked.point[proven]
            self.violated[row, point] = True
            kind = np.full(len(row), k)
            self.conflicts.append(
                Conflicts(row, kind, point, looked.members[proven], looked.alpha[proven])
            )
            self.bound[rows] = self.paid[rows] + self.norm2[rows]
            self._prune(rows[self.bound[rows] >= self.target])
            self._prune_crowded()

    def pack(self, suspects: Mask, until: float) -> None:
        """Disjoint conflicts of every open row, their bound, a point to branch on."""
        rows = self.open
        heights: dict[int, list[float]] = {int(row): [] for row in rows}
        smallest = dict.fromkeys(heights, len(suspects) + 1)
        available = ~self.kept & ~self.violated
        paid, room, short = self.paid, self.room, self.short
        running = rows
        while running.size:
            check_time(until)
            found_so_far = np.array([len(heights[int(row)]) for row in running])
            wanted = self.target - paid[running] - self.penalty * found_so_far
            chain = (self.norm2[running] >= wanted) | (found_so_far > room[running])
            self._prune(running[chain])
            running, wanted = running[~chain], wanted[~chain]
            if not running.size:
                break
            found = grow(
                self.points, self.sets.take(running), available[running] | self.kept[running],
                wanted, short=short[running], costly=suspects & available[running],
            )  # fmt: skip
            self.steps += found.steps
            self._note(running, np.where(found.conflict, PACKING, REST), found)
            on = []
            for k, row in enumerate(running.tolist()):
                members = self._free_members(found, k, row)
                heights[row].append(float(found.norm2[k]))
                if found.conflict[k]:
                    if not members.size:
                        self._prune(np.array([row]))
                        continue
                    available[row, members] = False
                    on.append(row)
                elif found.finished[k]:
                    own = found.sets.members[k, : found.sets.count[k]]
                    self.candidates.append(own)
                    alpha = found.sets.alpha[k, : found.sets.count[k]]
                    self.directions.append(alpha @ self.points.rows[own])
                if members.size < smallest[row] and (found.conflict[k] or not found_so_far[k]):
                    first = found.first[k]
                    if members.size:
                        smallest[row] = members.size
                        self.branch[row] = first if first in members else members[-1]
            running = np.array(on, dtype=np.intp)
        for row in self.open.tolist():
            self._conclude(row, heights[row], available[row], float(paid[row]), float(room[row]))

    def _free_members(self, found: Grown, k: int, row: int) -> Index:
        """Free points of a set that its proof needs."""
        count = found.sets.count[k]
        members = found.sets.members[k, :count][found.sets.alpha[k, :count] != 0]
        return members[~self.kept[row, members] & ~self.violated[row, members]]

    def _conclude(
        self, row: int, heights: list[float], left: Mask, paid: float, room: float
    ) -> None:
        """The bound of a packing; the last height is that of all points left over."""
        own = float(self.norm2[row])
        self.bound[row] = paid + packed(heights, own, self.penalty, room)
        if self.branch[row] == NOBODY and left.any():
            self.branch[row] = int(np.flatnonzero(left)[0])
        # A point outside the packing that is violated is paid for on top of it.
        rest = packed(heights[:-1], own, self.penalty, room - 1)
        if paid + self.penalty + rest >= self.target:
            self.kept[row] |= left
            self.settled[row] = left
            if self.branch[row] != NOBODY and left[self.branch[row]]:
                self.branch[row] = NOBODY  # without a conflict all free points are left over
        if self.bound[row] >= self.target:
            self._prune(np.array([row]))


def check_time(until: float) -> None:
    """Raise OutOfTimeError after `until`."""
    if time.monotonic() > until:
        raise OutOfTimeError


def packed(heights: list[float], own: float, penalty: float, room: float = np.inf) -> float:
    """packed_bounds of one node, from heights h_j in any order and h(K)."""
    found = packed_bounds(np.array([heights]), np.array([own]), penalty, np.array([room]))
    return float(found[0])
