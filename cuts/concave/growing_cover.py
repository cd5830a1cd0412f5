"""A cover by boxes as it grows: nodes and multipliers in lists, handed to the kernel as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.cuts.concave.node_program import Prices
from tightmargin.cuts.concave.root_box import RootBox
from tightmargin.cuts.proofs import BoxCover, BoxMultipliers, Directions
from tightmargin.formulations.data.arrays import Array


@dataclass
class GrowingCover:
    """Nodes so far; the root is number 0, and open until something closes it."""

    axis: list[int] = field(default_factory=lambda: [-1])
    at: list[float] = field(default_factory=lambda: [0.0])
    below: list[int] = field(default_factory=lambda: [-1])
    above: list[int] = field(default_factory=lambda: [-1])
    choice: list[int] = field(default_factory=lambda: [-1])
    _rows: list[NDArray[np.int64]] = field(default_factory=list)
    _y: list[Array] = field(default_factory=list)
    _others: list[tuple[float, Array, Array]] = field(default_factory=list)

    def known(self, prices: Prices) -> int:
        """Keep multipliers, those of rows as the few that are not 0, and return their number."""
        rows = np.flatnonzero(prices.y)
        self._rows.append(rows)
        self._y.append(prices.y[rows])
        self._others.append((prices.mu, prices.w, prices.t))
        return len(self._others) - 1

    def close(self, node: int, choice: int) -> None:
        """Multipliers of a leaf, or the best that an open one has."""
        self.choice[node] = choice

    def split(self, node: int, axis: int, at: float, choice: int) -> tuple[int, int]:
        """Split an open node; both children have `choice` until something better closes them."""
        below = len(self.axis)
        for _ in range(2):
            self.axis.append(-1)
            self.at.append(0.0)
            self.below.append(-1)
            self.above.append(-1)
            self.choice.append(choice)
        self.axis[node], self.at[node] = axis, at
        self.below[node], self.above[node] = below, below + 1
        return below, below + 1

    def cover(self, directions: Directions, root: RootBox, m: int) -> BoxCover:
        """The arrays for the kernel."""
        used = sorted({c for a, c in zip(self.axis, self.choice, strict=True) if a < 0 <= c})
        place = {c: k for k, c in enumerate(used)}
        kept = [self._others[c] for c in used]
        r, K = directions.vectors.shape[1], len(directions.rows)
        ends = np.cumsum([0, *(len(self._rows[c]) for c in used)])
        nothing = np.zeros(0)
        numbers = np.concatenate([nothing, *(self._y[c] for c in used)])
        rows = np.concatenate([nothing.astype(int), *(self._rows[c] for c in used)])
        multipliers = BoxMultipliers(
            np.array([mu for mu, _, _ in kept]),
            sp.csr_matrix((numbers, rows, ends), shape=(len(used), m)),
            np.array([w for _, w, _ in kept]).reshape(len(used), K),
            np.array([t for _, _, t in kept]).reshape(len(used), r),
        )
        choice = [place.get(c, -1) for c in self.choice]
        return BoxCover(
            directions, root.limits, np.array(self.axis), np.array(self.at), np.array(self.below),
            np.array(self.above), np.array(choice), multipliers, root.cutoff,
        )  # fmt: skip
