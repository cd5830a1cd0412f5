"""The search once more below an optimum that is known, with what proves the bound of each node.

Recording is left out of the search itself: it would hold conflicts of every node in memory, for
files that are rarely asked for, and many of its nodes are of the time before the best hyperplane
was found. With that one as the cutoff the tree does not depend on the
order of its nodes, and is smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.proofs.packings.cover import packed_masks
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.proofs.packings.signed_points import SignedPoints
from tightmargin.solvers.zero_one.conflict_search.node_bounds import Bounded, Nodes, bounded
from tightmargin.solvers.zero_one.conflict_search.tree import Tree
from tightmargin.solvers.zero_one.packings.recorded_nodes import Conflict, records_of


@dataclass(eq=False)
class Node:
    """What a file needs of a node; sets of points are the bits of a number.

    Attributes
    ----------
    kept : int
        Points that the branches above keep.
    fixed : int
        Points that are kept besides: giving one of them up costs too much beside the packing.
    given_up : list of (point, conflict)
        Points that cannot be kept, in order.
    packing : list of conflicts
        Those that are proven to reach the target, and the one of `kept` last.
    rest : conflict or None
        What keeping all points costs that the packing leaves.
    branch : int
    halves : (int, int) or None
        Nodes in which the branch is kept and given up; None where it is not split.
    """

    kept: int
    fixed: int
    given_up: list[tuple[int, Conflict]]
    packing: list[Conflict]
    rest: Conflict | None
    branch: int
    halves: tuple[int, int] | None = None

    @property
    def chain(self) -> list[Conflict]:
        """The conflicts that bound the node."""
        if self.rest is None:
            return self.packing
        return [*self.packing[:-1], self.rest, self.packing[-1]]


class RecordedTree(Tree):
    """A tree whose nodes are kept, with their conflicts.

    Attributes
    ----------
    written : list of Node
        The root first, halves after the node they are of.
    size : int
        Splits and leaves of a file, before any is found to be needless.
    interrupted : bool
        By Ctrl-C.
    """

    def __init__(self, data: TrainingData, penalty: float, intercept: str, gap: float) -> None:
        super().__init__(data, penalty, intercept, gap, SideRows.nothing(data.n, data.d))
        self.written: list[Node] = []
        self.size = 0
        self.interrupted = False
        self._place: dict[bytes, int] = {}  # of open nodes, by what they keep and give up

    def _bounding(self) -> Callable[..., Bounded]:
        return self._recorded

    def _recorded(self, points: SignedPoints, nodes: Nodes, **limits: Any) -> Bounded:
        """Bound nodes, those that keep their branch first, and write them down."""
        found = bounded(points, nodes, **limits)
        records = records_of(found.evidence)
        masks = packed_masks(found.nodes.kept, found.nodes.violated)
        first = len(self.written)
        kept, after = _bits(nodes.kept), _bits(found.nodes.kept)
        new: list[Node] = []
        for k, record in enumerate(records):
            branch = int(found.branch[k])
            if np.isfinite(found.bound[k]) and branch >= 0:
                self._place[masks[k]] = first + k
            new.append(
                Node(kept[k], after[k] & ~kept[k], record.given_up, [*record.packing, record.kept],
                     record.rest, branch)
            )  # fmt: skip
            self.size += 1 + 2 * len(record.given_up)
        # An interrupt before these lines leaves the nodes of the batch as leaves.
        self.written += new
        for k, node in enumerate(self.batch):
            halves = (first + k, first + len(self.batch) + k)
            self.written[self._place[node[2]]].halves = halves
        return found


def _bits(masks: Mask) -> list[int]:
    """Rows of bool as numbers whose bits they are."""
    packed = np.packbits(masks, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


@dataclass(eq=False)
class Packings:
    """A tree as files have it: conflicts, and nodes by their numbers or as a point that splits.

    Attributes
    ----------
    conflicts : list of conflicts
    nodes : list of int or list of int
    """

    conflicts: list[Conflict] = field(default_factory=list)
    nodes: list[int | list[int]] = field(default_factory=list)


class _Writer:
    """Reads the nodes from the leaves to the root, so that only what is used is written."""

    def __init__(self, written: list[Node]) -> None:
        self.numbers: dict[Conflict, int] = {}
        self.above: list[int] = []  # points that a conflict keeps, as bits
        self.nodes: list[list[int | list[int]]] = [[] for _ in written]
        self.needs = [0] * len(written)  # kept points that are made use of
        self.written = written

    def number(self, conflict: Conflict) -> int:
        if conflict not in self.numbers:
            self.numbers[conflict] = len(self.numbers)
            self.above.append(sum(1 << i for i, a in conflict if a > 0))
        return self.numbers[conflict]

    def leaf(self, chain: list[Conflict], kept: int) -> tuple[list[int], int]:
        """The numbers of a chain, and what it needs of the points that are kept."""
        numbers = [self.number(conflict) for conflict in chain if conflict]
        need = 0
        for k in numbers:
            need |= self.above[k] & kept
        return numbers, need

    def write(self, place: int) -> None:
        """One node, its halves being written."""
        node = self.written[place]
        kept = node.kept | node.fixed
        if node.halves is None:
            leaf, need = self.leaf(node.chain, kept)
            nodes: list[int | list[int]] = [leaf]
        else:
            nodes, need = self._joined(node.branch, *node.halves)
        for i in _places(node.fixed & need):
            leaf, more = self.leaf(node.packing, node.kept)
            nodes, need = [i, *nodes, leaf], need & ~(1 << i) | more
        for i, conflict in reversed(node.given_up):
            leaf, more = self.leaf([conflict], node.kept)
            nodes, need = [i, leaf, *nodes], need | more
        self.nodes[place], self.needs[place] = nodes, need

    def _joined(self, branch: int, first: int, second: int) -> tuple[list[int | list[int]], int]:
        """A split; where the point that is kept is not made use of, that half is the whole."""
        need, bit = self.needs[first], 1 << branch
        halves = self.nodes[first], self.nodes[second]
        self.nodes[first], self.nodes[second] = [], []
        if not need & bit:
            return halves[0], need
        return [branch, *halves[0], *halves[1]], need & ~bit | self.needs[second]


def _places(bits: int) -> list[int]:
    """The points of a set."""
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


def packings(written: list[Node]) -> Packings:
    """The nodes of a recorded tree as a file has them."""
    writer = _Writer(written)
    for place in reversed(range(len(written))):
        writer.write(place)
    return _renumbered(writer)


def _renumbered(writer: _Writer) -> Packings:
    """With the conflicts that occur, in their order."""
    old, new = list(writer.numbers), dict[int, int]()
    nodes = [
        node if isinstance(node, int) else [new.setdefault(k, len(new)) for k in node]
        for node in writer.nodes[0]
    ]
    return Packings([old[k] for k in new], nodes)


@reads_dense_points
def recorded(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: tuple[Array, float] | None,
    gap: float,
    cutoff: float,
    go_on: Callable[[RecordedTree], bool],
    until: float = np.inf,
) -> RecordedTree:
    """A tree that proves what it can below a known hyperplane.

    Parameters
    ----------
    incumbent : (w, b) or None
        None for that of the heuristic.
    cutoff : float
        Bounds from here on, or from the objective on, less `gap` of it, are of no interest.
    go_on : callable(tree) -> bool
        Asked before open nodes are split; Ctrl-C ends the search as well, with what is proven.
    until : float
        Of time.monotonic(): a share of what is left is for the heuristic.
    """
    tree = RecordedTree(data, penalty, intercept, gap)
    tree.until = until
    try:
        tree.start(incumbent)
    except KeyboardInterrupt:
        tree.interrupted = True
        tree.start((np.zeros(data.d), 0.0))
    tree.cutoff, tree.until = cutoff, np.inf
    try:
        tree.root()
    except KeyboardInterrupt:
        tree.interrupted = True
        tree.root()
    try:
        while not tree.interrupted and tree.select() and go_on(tree):
            tree.expand()
    except KeyboardInterrupt:
        tree.interrupted = True
    return tree
