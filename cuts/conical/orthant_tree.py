"""Halved orthants as a tree: which cones are open, and the cover that they make."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.cuts.conical.cone_program import Bounded
from tightmargin.cuts.conical.simplicial import HalvedOrthants
from tightmargin.formulations.data.arrays import Array

NEAR = 1e-4  # of the target: what rounding may take from a bound that is halved no further


@dataclass(eq=False)
class Cone:
    """A node of the tree.

    generators (D, D).
    split (int, int, int): generators and exponent, once it is halved.
    children, pair of Cone or None.
    """

    generators: NDArray[np.int64]
    depth: int
    found: Bounded
    split: tuple[int, int, int] | None = None
    children: tuple[Cone, Cone] | None = None


class OrthantTree:
    """Open cones, the one with the least bound first.

    roots, list of Cone.
    closed: least bound of the cones that are not open any more.
    """

    def __init__(self) -> None:
        self.roots: list[Cone] = []
        self.closed = 0.0
        self._heap: list[tuple[float, int, Cone]] = []
        self._order = itertools.count()

    @property
    def least(self) -> float:
        """Least bound of all leaves."""
        return min(self.closed, self._heap[0][0]) if self._heap else self.closed

    @property
    def open(self) -> int:
        """Number of open cones."""
        return len(self._heap)

    def add(self, cone: Cone, target: float) -> None:
        """A leaf, closed where its bound is at the target, or would be but for its multipliers."""
        value, believed = cone.found.value, cone.found.believed
        if value >= target or (believed >= target and value >= target - NEAR * abs(target)):
            self.close(cone)
        else:
            heapq.heappush(self._heap, (cone.found.value, next(self._order), cone))

    def close(self, cone: Cone) -> None:
        """A leaf that nothing is done about any more."""
        self.closed = min(self.closed, cone.found.value)

    def take(self) -> Cone:
        """The open cone with the least bound, which stays a leaf until it has children."""
        return heapq.heappop(self._heap)[2]

    def cover(self, exponents: NDArray[np.int64], directions: list[Array]) -> HalvedOrthants:
        """All leaves with what proves them, for the kernel."""
        width = len(exponents)
        halved: list[tuple[int, int, int]] = []
        leaves: list[Bounded] = []
        below = self.roots[::-1]
        while below:
            cone = below.pop()
            if cone.children is None or cone.split is None:
                halved.append((-1, -1, 0))
                leaves.append(cone.found)
            else:
                halved.append(cone.split)
                below.extend(reversed(cone.children))
        every = [np.empty(0, dtype=np.intp), *(leaf.which for leaf in leaves)]
        used, numbers = np.unique(np.concatenate(every), return_inverse=True)
        owner = np.repeat(np.arange(len(leaves)), [len(leaf.which) for leaf in leaves])
        return HalvedOrthants(
            exponents,
            np.array(halved, dtype=np.int64).reshape(-1, 3),
            np.array([directions[k] for k in used]).reshape(-1, width),
            np.column_stack([owner, numbers]).astype(np.int64),
            np.concatenate([np.empty(0), *(leaf.shares for leaf in leaves)]),
            np.array([leaf.u for leaf in leaves]).reshape(-1, width),
        )
