"""The open cells of a search over cones of directions, and the tree that covers them all.

Cells are bounded by the kernel's own function; what counts in the end is what the kernel proves of
the whole cover. A quarter of the open cells, those of least bound, is halved at a time.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.proofs.cones.cell_bounds import Cheapest, cell_bounds
from tightmargin.solvers.proofs.cones.conflict import (
    Caps,
    Conflict,
    ProvenCaps,
    ProvenConflict,
    proven,
)
from tightmargin.solvers.proofs.cones.cover import ConeCover
from tightmargin.solvers.proofs.cones.halved_boxes import SHORTEST, bits_of, faces, halves
from tightmargin.solvers.proofs.cones.problem import LARGEST, ConeProblem

PRODUCTS = 200_000  # of points and cells at a time, which stay in the cache
ROUND = 6_000_000  # of points and cells in one round, which a limit waits for
FEWEST, SHARE = 256, 4
NEAR = 0.25  # half widths up to which conflicts are looked at


class CellTree:
    """Open cells with their bounds; nodes of the tree are numbered as they are made.

    Attributes
    ----------
    target : float
        Cells whose bound reaches it are closed; it only falls.
    leaves : float
        Least bound of a cell that cannot be halved.
    cells : int
        Bounded so far.
    compiled_after : float
        Products of points and cells after which numba does the same, with the same numbers.
    """

    def __init__(self, problem: ConeProblem, target: float, compiled_after: float = np.inf) -> None:
        self.problem, self.target, self.compiled_after = problem, target, compiled_after
        self.known: list[Conflict | Caps] = []
        self.proven: tuple[ProvenConflict | ProvenCaps, ...] = ()
        self.numbered, self.cells = 2 * problem.k, 0
        self.splits: list[tuple[Index, Index]] = []
        self.leaves = np.inf
        self.centre, self.half = faces(problem.k)
        self.number = np.arange(2 * problem.k)
        self.bound = self._bounds(self.centre, self.half)
        self.cells = len(self.bound)
        self._close()

    def use(self, known: Conflict | Caps | None) -> None:
        """Look at one more conflict, or set of caps, from now on."""
        if known is not None:
            self.known.append(known)
            self.proven += proven(self.problem, [known])

    def lower_target(self, target: float) -> None:
        """Close the cells that a lower target decides."""
        self.target = min(target, self.target)
        self._close()

    @property
    def least(self) -> float:
        """Least bound of all cells, what is closed and v = 0 included."""
        return min(self.target, self.leaves, float(self.bound.min(initial=np.inf)))

    @property
    def open(self) -> int:
        """Cells that may hold a better point."""
        return len(self.bound)

    def nearest(self, count: int) -> tuple[Array, Array]:
        """Centres and half widths of the open cells of least bound."""
        few = min(count, self.open)
        best = np.argpartition(self.bound, few - 1)[:few]
        return self.centre[best], self.half[best]

    def expand(self) -> None:
        """Halve the most promising of the open cells."""
        largest = max(1, ROUND // max(1, len(self.problem.prices)))
        count = min(max(FEWEST, self.open // SHARE), largest, self.open)
        order = np.argpartition(self.bound, count - 1)
        chosen, rest = order[:count], order[count:]
        edge = self.half[chosen].max(axis=1, initial=0.0)
        final = chosen[edge <= SHORTEST]
        chosen = chosen[edge > SHORTEST]
        centre, half = halves(self.centre[chosen], self.half[chosen])
        bound = np.maximum(self._bounds(centre, half), np.repeat(self.bound[chosen], 2))
        first = self.numbered + 2 * np.arange(len(chosen))
        number = self.numbered + np.arange(2 * len(chosen))
        # All or nothing: an interrupt before these lines leaves the tree as it was.
        leaves = min(self.leaves, float(self.bound[final].min(initial=np.inf)))
        kept = bound < self.target
        state = (
            np.concatenate([self.centre[rest], centre[kept]]),
            np.concatenate([self.half[rest], half[kept]]),
            np.concatenate([self.bound[rest], bound[kept]]),
            np.concatenate([self.number[rest], number[kept]]),
        )
        split = (self.number[chosen], first)
        (self.centre, self.half, self.bound, self.number), self.leaves = state, leaves
        self.splits.append(split)
        self.numbered += 2 * len(chosen)
        self.cells += 2 * len(chosen)

    def cover(self) -> ConeCover:
        """The tree as the kernel reads it."""
        first_half = np.full(self.numbered, -1)
        for parents, first in self.splits:
            first_half[parents] = first
        return ConeCover(bits_of(self.problem.k, first_half), tuple(self.known))

    def _bounds(self, centre: Array, half: Array) -> Array:
        found = np.empty(len(centre))
        together = max(1, PRODUCTS // max(1, len(self.problem.prices)))
        cheapest = self._cheapest()
        for start in range(0, len(centre), together):
            part = slice(start, start + together)
            near = half[part].max(initial=0.0) <= NEAR
            known = (*self.proven[:1], *self.proven[1:][-2:]) if near else ()
            ceiling = min(self.target, LARGEST)
            found[part] = cell_bounds(
                self.problem, centre[part], half[part], ceiling, known, cheapest
            )
        return found

    def _cheapest(self) -> Cheapest | None:
        products = self.cells * len(self.problem.prices)
        if products < self.compiled_after or not self.problem.band or self.problem.price is None:
            return None
        # numba is optional.
        from tightmargin.solvers.zero_one.cones.compiled_levels import cheapest_levels

        return cheapest_levels

    def _close(self) -> None:
        kept = self.bound < self.target
        self.centre, self.half = self.centre[kept], self.half[kept]
        self.bound, self.number = self.bound[kept], self.number[kept]
