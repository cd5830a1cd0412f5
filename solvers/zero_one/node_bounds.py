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
from tightmargin.solvers.zero_one.active_set import DEPENDENT, Grown, WorkingSets, grow, kept_gram

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
