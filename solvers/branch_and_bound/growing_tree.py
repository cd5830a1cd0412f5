"""A tree while it grows: its nodes, the boxes that are still open, and the least bound of all."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.execution.work import NODE
from tightmargin.solvers.proofs.tree.derived import Step
from tightmargin.solvers.proofs.tree.minorant import Minorant, SparseMultipliers
from tightmargin.solvers.proofs.tree.tree import Branch, Leaf, TreeProof, leaf_value


@dataclass(frozen=True, eq=False)
class Known:
    """Multipliers and what they say."""

    multipliers: SparseMultipliers
    minorant: Minorant

    def value(self, low: Array, high: Array, step: Fraction | None) -> float:
        """Bound of a box, infinity where it has no point."""
        return leaf_value(self.minorant, self.multipliers.mu, low, high, step)


@dataclass(frozen=True, eq=False)
class OpenNode:
    """A box that is still to be bounded: its parent's bound and multipliers, and how it came."""

    number: int
    low: Array
    high: Array
    bound: float = -math.inf
    parent: Known | None = None
    column: int = -1
    side: int = 0
    distance: float = 0.0


OPEN = 6  # arrays of an open node: limits, and its share of what is known of its parent


class GrowingTree:
    """Nodes by number, the root first; each is closed, split, or open."""

    def __init__(self, low: Array, high: Array) -> None:
        self.worst = math.inf  # least bound of a closed node
        self._kept = 0
        self._nodes: list[Branch | Leaf | None] = [None]
        self._certificates: list[SparseMultipliers] = []
        self._numbers: dict[int, int] = {}
        self._heap: list[tuple[float, int, OpenNode]] = []
        self._ties = count()
        self.push(OpenNode(0, low, high))

    @property
    def is_open(self) -> bool:
        """Whether a box is left."""
        return bool(self._heap)

    @property
    def numbers(self) -> int:
        """About how many numbers are kept."""
        width = OPEN * len(self._heap[0][2].low) if self._heap else 0
        return self._kept + NODE * len(self._nodes) + (width + NODE) * len(self._heap)

    def bound(self) -> float:
        """Least bound of all boxes."""
        return min(self._heap[0][0], self.worst) if self._heap else self.worst

    def push(self, node: OpenNode) -> None:
        """Keep a box for later."""
        heapq.heappush(self._heap, (node.bound, next(self._ties), node))

    def pop(self) -> OpenNode:
        """Take the open box of least bound."""
        return heapq.heappop(self._heap)[2]

    def close(self, number: int, known: Known | None, value: float) -> None:
        """Leave a node with the bound that multipliers prove."""
        self._nodes[number] = Leaf(self._certificate(known))
        self.worst = min(self.worst, value)

    def split(self, number: int, column: int, at: float) -> tuple[int, int]:
        """Numbers of the two children of a node."""
        below = len(self._nodes)
        self._nodes += [None, None]
        self._nodes[number] = Branch(column, at, below, below + 1)
        return below, below + 1

    def fix(
        self,
        number: int,
        known: Known,
        low: Array,
        high: Array,
        prices: Mapping[int, float],
        target: float,
        step: Fraction | None,
    ) -> tuple[int, Array, Array]:
        """Fix binaries whose price closes one side: that side is a leaf of the same multipliers."""
        for j, price in prices.items():
            costly = 1.0 if price > 0 else 0.0
            low_there, high_there = low.copy(), high.copy()
            low_there[j] = high_there[j] = costly
            there = known.value(low_there, high_there, step)
            if there < target:
                continue
            below, above = self.split(number, j, 0.0)
            closed, number = (above, below) if costly else (below, above)
            self.close(closed, known, there)
            low, high = low.copy(), high.copy()
            low[j] = high[j] = 1.0 - costly
        return number, low, high

    def renumber(self, places: Index) -> None:
        """Give the rows of all multipliers the numbers that they have now that others joined them.

        Parameters
        ----------
        places : array
            The new number of each row, by its old one.
        """
        moved: dict[int, SparseMultipliers] = {}

        def of(given: SparseMultipliers) -> SparseMultipliers:
            if id(given) not in moved:
                moved[id(given)] = replace(given, rows=places[given.rows])
            return moved[id(given)]

        kept, open_nodes = self._certificates, self._heap
        self._certificates = [of(certificate) for certificate in kept]
        self._numbers = {id(found): k for k, found in enumerate(self._certificates)}
        self._heap = [
            (bound, tie, node if node.parent is None else replace(
                node, parent=replace(node.parent, multipliers=of(node.parent.multipliers))
            ))
            for bound, tie, node in open_nodes
        ]  # fmt: skip

    def proof(self, cutoff: float, rounds: Sequence[tuple[Step, ...]]) -> TreeProof:
        """The tree as it stands, open nodes with what their parents say of them."""
        nodes = list(self._nodes)
        for _, _, node in self._heap:
            nodes[node.number] = Leaf(self._certificate(node.parent))
        whole = tuple(Leaf(-1) if node is None else node for node in nodes)
        return TreeProof(cutoff, tuple(rounds), tuple(self._certificates), whole)

    def _certificate(self, known: Known | None) -> int:
        if known is None:
            return -1
        key = id(known.multipliers)
        if key not in self._numbers:
            self._numbers[key] = len(self._certificates)
            self._certificates.append(known.multipliers)
            self._kept += NODE + 2 * (len(known.multipliers.rows) + len(known.multipliers.columns))
        return self._numbers[key]
