"""Which points matter for the optimum over (b, rho, xi) near given weights.

At a weight each group gives its mass from the lowest scores on. Points far below the last used
score are used in full, points far above it not at all, and stay so for weights nearby: only what
lies in a band of ranks about it is in doubt. A program that fixes the others is a guess that costs
nothing but strength, because every choice of shares gives a true lower bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.nu.reduced_hull import MASS_TOLERANCE, Group, ReducedHulls

BAND = 15  # ranks on each side of the last used one
WORTH = 8  # bands a group; with fewer points than that all are kept


@dataclass(eq=False)
class Doubt:
    """What every weight seen so far agrees on.

    used, unused (n,): points that all weights use in full, and that none uses.
    """

    used: Mask
    unused: Mask

    @property
    def columns(self) -> NDArray[np.int64]:
        """The others."""
        return np.flatnonzero(~(self.used | self.unused))


def nothing_known(hulls: ReducedHulls) -> Doubt:
    """To start from: the first weight decides."""
    n = len(hulls.caps)
    return Doubt(np.ones(n, dtype=bool), np.ones(n, dtype=bool))


def worthwhile(hulls: ReducedHulls) -> bool:
    """Whether there are many more points than a band holds."""
    return len(hulls.caps) > WORTH * BAND * len(hulls.groups)


def look(hulls: ReducedHulls, doubt: Doubt, weight: Array) -> None:
    """Add what a weight (k,) leaves in doubt."""
    scores = hulls.signed @ weight
    for group in hulls.groups:
        own = scores[group.members]
        low, high, order = _ranks(own, group)
        used = np.zeros(len(own), dtype=bool)
        used[order[:low]] = True
        unused = np.zeros(len(own), dtype=bool)
        unused[order[high:]] = True
        doubt.used[group.members] &= used
        doubt.unused[group.members] &= unused


def _ranks(scores: Array, group: Group) -> tuple[int, int, NDArray[np.int64]]:
    """Ends of the band, and an order in which lower ranks come before it and higher ones after."""
    count = len(scores)
    if group.equal:
        last = math.ceil(group.mass / float(group.caps[0]) * (1 - MASS_TOLERANCE))
        low, high = max(last - BAND, 0), min(last + BAND, count)
        return low, high, np.argpartition(scores, [max(low - 1, 0), high - 1])
    order = np.argsort(scores)
    last = int(np.searchsorted(np.cumsum(group.caps[order]), group.mass))
    return max(last - BAND, 0), min(last + BAND, count), order
