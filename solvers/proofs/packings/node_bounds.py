"""Bounds of nodes from the multipliers of their conflicts, whatever these are.

A node has points that are kept (K), points that are given up and paid for (V), and open ones. A
hyperplane that keeps a point of V is one of the node's sibling, which keeps that point and costs no
more: those of this node are asked for <a_i, v> <= 1 on V, and for <a_i, v> >= 1 on K. (Points that
are paid for whatever happens, the `loose` ones, are not asked.) Let c = penalty |V|, and h(S) what
multipliers prove of norm2 where K and S are kept beside these rows. What is proven with them holds
in the node and below it alone. With disjoint sets S_1, S_2, ... of open points, h_j <= h(S_j),
h_1 >= h_2 >= ..., a hyperplane of the node with norm2 below h_j violates a point of S_1, one of
S_2, ... one of S_j. So with exactly k of the sets hit, norm2 >= h_{k+1}, and it costs at least

    c + max_k min( h_1, h_2 + penalty, ..., h_k + (k - 1) penalty, h(K) + k penalty ).

Where no more than r open points may be violated, one of S_1, ... S_{r+1} is kept whole, and the
last term of k = r + 1 is not needed. A node is narrowed in two ways: a point is given up, where
keeping it costs c + h({point}), and open points outside of all sets are kept, where violating one
costs a penalty more than what the sets prove. What is cut off is told with what it costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.solvers.proofs.packings.evidence import PACKING, Conflicts, Evidence
from tightmargin.solvers.proofs.packings.signed_points import SignedPoints, certified_norm2

NUMBERS = 4_000_000  # of the largest array at a time
LARGEST_MULTIPLIER = 1e100  # of a conflict with a larger one sums might be infinite


@dataclass(frozen=True, eq=False)
class Narrowed:
    """Nodes as the evidence leaves them.

    Attributes
    ----------
    kept, violated : arrays (R, n + m) of bool
    bound : array (R,)
        No hyperplane of the node costs less; infinite where there is none.
    cut : array (R,)
        Nor does one that was cut off.
    """

    kept: Mask
    violated: Mask
    bound: Array
    cut: Array


def narrowed(
    points: SignedPoints,
    penalty: float,
    kept: Mask,
    violated: Mask,
    inherited: Array,
    found: Evidence,
) -> Narrowed:
    """What evidence proves of nodes, which have at least the inherited bounds.

    Raises
    ------
    ValueError
        It names a node or a point that is not there, narrows a node by a point that is not open, or
        two conflicts of a packing share one.
    """
    some = found.conflicts
    for numbers, many in (
        (some.node, len(kept)), (some.members, kept.shape[1]),
        (some.point[some.kind >= 0], kept.shape[1]),
    ):  # fmt: skip
        if numbers.min(initial=0) < 0 or numbers.max(initial=-1) >= many:
            raise ValueError("the evidence names a node or a point that is not there")
    nodes = _Nodes(points, penalty, kept.copy(), violated.copy(), found)
    nodes.keep_counted()
    for k in np.unique(some.kind[some.kind >= 0]):
        nodes.give_up(some.take(np.flatnonzero(some.kind == k)))
    bound = nodes.packed()
    return Narrowed(
        nodes.kept, nodes.violated, np.maximum(bound, inherited), np.maximum(nodes.cut, inherited)
    )


def packed_bounds(heights: Array, own: Array, penalty: float, room: Array) -> Array:
    """The bound of the module's docstring without c, of R nodes.

    Parameters
    ----------
    heights : array (R, k)
        h_j in any order, -inf where there is none.
    own, room : array (R,)
        h(K), and how many more points may be violated.
    """
    ordered = -np.sort(-heights, axis=1)
    hit = penalty * np.arange(heights.shape[1])
    whole = np.minimum.accumulate(ordered + hit, axis=1)
    last = np.where(
        np.arange(heights.shape[1]) == room[:, None], np.inf, own[:, None] + hit + penalty
    )
    best = np.minimum(whole, last).max(axis=1, initial=-np.inf)
    return np.asarray(np.where(room < 0, np.inf, np.maximum(own, best)))


class _Nodes:
    """A batch while its evidence is read."""

    def __init__(
        self, points: SignedPoints, penalty: float, kept: Mask, violated: Mask, found: Evidence
    ) -> None:
        self.points, self.penalty, self.found = points, penalty, found
        self.kept, self.violated = kept, violated
        self.cut = np.full(len(kept), np.inf)

    @property
    def paid(self) -> Array:
        return self.penalty * self.violated.sum(axis=1)

    @property
    def open(self) -> Mask:
        return ~(self.kept | self.violated)

    def keep_counted(self) -> None:
        """Keep what no count allows to be violated any more."""
        n = self.points.n
        for count in self.points.counts:
            full = (self.violated[:, :n] & count.points).sum(axis=1) >= count.most
            self.kept[:, :n] |= full[:, None] & count.points & ~self.violated[:, :n]

    def _crowded(self) -> Mask:
        """Nodes that give up more than some count allows."""
        found = np.zeros(len(self.kept), dtype=bool)
        for count in self.points.counts:
            given_up = (self.violated[:, : self.points.n] & count.points).sum(axis=1)
            found |= given_up > count.most
        return found

    def _room(self) -> Array:
        given_up = self.violated.sum(axis=1)
        most = [count.most for count in self.points.counts if count.points.all()]
        return np.full(len(given_up), np.inf) if not most else min(most) - given_up

    def _norm2(self, node: Index, members: Index, alpha: Array, allowed: Mask) -> Array:
        """What multipliers prove of hyperplanes that keep what is allowed beside their node's."""
        short = self._of(self.violated, node, members) & ~self.points.loose[members]
        sense = np.where(allowed, 1.0, np.where(short, -1.0, 0.0))
        alpha = np.where(np.abs(alpha) <= LARGEST_MULTIPLIER, alpha, 0.0)
        found = np.zeros(len(node))
        wide = max(1, members.shape[1] * self.points.counted.shape[1])
        for first in range(0, len(node), max(1, NUMBERS // wide)):
            some = slice(first, first + max(1, NUMBERS // wide))
            found[some] = certified_norm2(self.points, members[some], alpha[some], sense[some])
        return np.where(found >= 0, found, 0.0)

    def _of(self, mask: Mask, node: Index, members: Index) -> Mask:
        """A mask of the nodes for members of theirs."""
        return np.asarray(mask[node[:, None], members])

    def give_up(self, some: Conflicts) -> None:
        """Points of one round, each of which costs too much beside what is kept."""
        node, point, members = some.node, some.point, some.members
        if not self.open[node, point].all():
            raise ValueError("a point is given up that is not open")
        allowed = self._of(self.kept, node, members) | (members == point[:, None])
        costs = self.paid[node] + self._norm2(node, members, some.alpha, allowed)
        np.minimum.at(self.cut, node, costs)
        self.violated[node, point] = True

    def packed(self) -> Array:
        """The bounds of all conflicts, after which settled points are kept."""
        found, own = self.found, np.zeros(len(self.kept))
        some = found.conflicts.take(np.flatnonzero(found.conflicts.kind < 0))
        node, members = some.node, some.members
        free = self.open
        is_open = self._of(free, node, members)
        allowed = is_open | self._of(self.kept, node, members)
        height = self._norm2(node, members, some.alpha, allowed)
        used = is_open & (some.alpha > 0)
        if self._most_used(node, members, used) > 1:
            raise ValueError("two conflicts of a packing share a point")
        alone = np.asarray(~used.any(axis=1))  # it needs nothing of the open points
        np.maximum.at(own, node[alone], height[alone])
        paid, room = self.paid, self._room()
        bound = paid + self._bounds(node, height, np.asarray(~alone), own, room)
        if found.settled.any():
            sets = ~alone & (some.kind == PACKING)
            cost = paid + self.penalty + self._bounds(node, height, sets, own, room - 1)
            in_sets = self._mask(node[sets], members[sets], used[sets])
            if (found.settled & ~(free & ~in_sets)).any():
                raise ValueError("a point is settled that is not open, or in a conflict")
            settled = found.settled.any(axis=1)
            self.cut[settled] = np.minimum(self.cut, cost)[settled]
            self.kept |= found.settled
        return np.where(self._crowded(), np.inf, bound)

    def _most_used(self, node: Index, members: Index, used: Mask) -> int:
        """How often an open point of a node is used at most."""
        row, place = np.nonzero(used)
        times = np.bincount(node[row] * self.kept.shape[1] + members[row, place])
        return int(times.max(initial=0))

    def _mask(self, node: Index, members: Index, used: Mask) -> Mask:
        found = np.zeros_like(self.kept)
        row, place = np.nonzero(used)
        found[node[row], members[row, place]] = True
        return found

    def _bounds(self, node: Index, height: Array, some: Mask, own: Array, room: Array) -> Array:
        """packed_bounds of the conflicts that `some` says."""
        node, height = node[some], height[some]
        order = np.argsort(node, kind="stable")
        node, height = node[order], height[order]
        many = np.bincount(node, minlength=len(own))
        place = np.arange(len(node)) - np.repeat(np.cumsum(many) - many, many)
        heights = np.full((len(own), int(many.max(initial=0))), -np.inf)
        heights[node, place] = height
        return packed_bounds(heights, own, self.penalty, room)
