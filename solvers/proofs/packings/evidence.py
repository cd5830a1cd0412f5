"""What a search found out about a batch of nodes: multipliers of conflicts, any numbers at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask

NOBODY = -1
PACKING, REST, KEPT = -1, -2, -3  # kinds of conflicts; from 0 on, of points that cannot be kept


@dataclass(frozen=True, eq=False)
class Conflicts:
    """K conflicts of some nodes.

    Attributes
    ----------
    node : array (K,) of int
        Whose conflict it is.
    kind : array (K,) of int
        PACKING: no two of a node share a point that the node leaves open. REST: at most one of a
        node, and it shares none with them. KEPT: of rows that the node keeps or gives up already.
        k >= 0: of the k-th round of points that the node gives up, since keeping them costs too
        much.
    point : array (K,) of int
        Who is given up; NOBODY for the other kinds.
    members, alpha : arrays (K, m)
        Rows of the problem and their multipliers, 0 where a place is empty.
    """

    node: Index
    kind: Index
    point: Index
    members: Index
    alpha: Array

    def take(self, some: Index | slice) -> Conflicts:
        """Some of them."""
        return Conflicts(
            self.node[some], self.kind[some], self.point[some], self.members[some],
            self.alpha[some],
        )  # fmt: skip

    @staticmethod
    def joined(parts: Sequence[Conflicts], width: int) -> Conflicts:
        """All of several, with at most `width` members each."""
        many = sum(len(part.node) for part in parts)
        node, kind, point = (np.zeros(many, np.intp) for _ in range(3))
        members, alpha = np.zeros((many, width), np.intp), np.zeros((many, width))
        first = 0
        for part in parts:
            rows, columns = slice(first, first + len(part.node)), slice(part.members.shape[1])
            node[rows], kind[rows], point[rows] = part.node, part.kind, part.point
            members[rows, columns], alpha[rows, columns] = part.members, part.alpha
            first += len(part.node)
        return Conflicts(node, kind, point, members, alpha)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is said of R nodes. Multipliers may be anything, and are judged by what they prove.

    Attributes
    ----------
    conflicts : Conflicts
    settled : array (R, n + m) of bool
        Open points in no conflict of the packing that are to be kept, since giving one of them up
        costs too much beside it.
    """

    conflicts: Conflicts
    settled: Mask
