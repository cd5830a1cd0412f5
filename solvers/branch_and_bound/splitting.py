"""Splitting a box in two: which column, where, and what is known of the halves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.branch_and_bound.branching import PseudoCosts, Urgency, chosen, half
from tightmargin.solvers.branch_and_bound.growing_tree import GrowingTree, OpenNode
from tightmargin.solvers.branch_and_bound.node_solver import NodeSolver

TRIES = 2  # columns that are tried out at a node


@dataclass(frozen=True, eq=False)
class Splitting:
    """What a search splits its boxes with.

    Attributes
    ----------
    tree : GrowingTree
    solver : NodeSolver
    costs : PseudoCosts
    urgency : Urgency
    integer : array of int
        Integer columns.
    step : Fraction or None
        As for `Known.value`.
    """

    tree: GrowingTree
    solver: NodeSolver
    costs: PseudoCosts
    urgency: Urgency
    integer: Index
    step: Fraction | None

    def halve(self, node: OpenNode, x: Array, left: Index, target: float) -> None:
        """Put both halves of a box into the tree, with what is known of the whole.

        Parameters
        ----------
        node : OpenNode
            Its `bound` and `parent` are what is proven of the box itself.
        x : array (n,)
            A point of the box.
        left : array of int
            Integer columns that are not fixed.
        target : float
            Bound at which a box needs no further look.
        """
        low, high, value, known = node.low, node.high, node.bound, node.parent
        urgency = self.urgency.at(x)[np.searchsorted(self.integer, left)]
        room = target - value if math.isfinite(target - value) else 1.0

        def growth(column: int, side: int) -> float:
            found = self.solver.solve(*half(low, high, x, column, side))
            if found is None or not math.isfinite(value):
                return 0.0
            return max(0.0, min(found.bound, target) - value)

        j = chosen(self.costs, left, x, urgency, max(room, 1e-12), growth, TRIES)
        at = min(max(math.floor(x[j]), low[j]), high[j] - 1)
        for side, child in enumerate(self.tree.split(node.number, j, float(at))):
            box = half(low, high, x, j, side)
            least = value if known is None else max(value, known.value(*box, self.step))
            distance = abs(x[j] - at) if side == 0 else abs(at + 1 - x[j])
            self.tree.push(OpenNode(child, *box, least, known, j, side, float(distance)))
