"""Good hyperplanes beside side rows: points are dropped until the rest can be kept, then exchanged.

A start is a set of points to keep. While nothing keeps them and the side rows, the point with the
largest multiplier goes. Then one point at a time is kept or given up as long as that helps. What
comes out are members of working sets; nothing is proven here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.proofs.packings.signed_points import SignedPoints
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import (
    Grown,
    empty_sets,
    grow,
)
from tightmargin.solvers.zero_one.conflict_search.hyperplanes import least_weights

NEARLY = 1e-6  # of the margin
ROUNDS = 200
NEAREST = 100  # points to the margin, which are exchanged
DROPPED = 200  # one point at a time goes where there are so many, of more points more


def planes_beside(
    points: SignedPoints, side: SideRows, kept: Mask, penalty: float
) -> Iterator[Index]:
    """Members of hyperplanes that meet the side rows and counts, each start's last one best.

    Parameters
    ----------
    kept : array (n,) of bool
        Points that some good hyperplane keeps, which need not meet the side rows.
    """
    for start in (kept, np.zeros_like(kept), np.ones_like(kept)):
        yield from _Improved(points, side, penalty).planes(start)


def with_best_intercept(
    points: SignedPoints, data: TrainingData, side: SideRows, members: Index
) -> tuple[Array, float] | None:
    """The least weights with equality at members without b, and a free b that keeps the most.

    None where no b that puts a point on its margin, or makes a side row an equation, is allowed.
    """
    w = least_weights(points, members)
    scores = data.X @ w
    turning = side.of_b != 0
    edges = (side.most - side.weights @ w)[turning] / side.of_b[turning]
    allowed = [b for b in np.r_[data.y - scores, edges].tolist() if side.admits(w, b, NEARLY**2)]
    if not allowed:
        return None
    kept = [int((data.y * (scores + b) >= 1 - NEARLY).sum()) for b in allowed]
    return w, allowed[int(np.argmax(kept))]


_Kept: TypeAlias = tuple[Mask, Array, Index]  # what is kept, margins, members


class _Improved:
    """Local search from one start."""

    def __init__(self, points: SignedPoints, side: SideRows, penalty: float) -> None:
        self.points, self.side, self.penalty = points, side, penalty
        self.value = np.inf

    def planes(self, start: Mask) -> Iterator[Index]:
        """Members of a first hyperplane, and of each better one."""
        found = self._kept_whole(start)
        for _ in range(ROUNDS):
            if found is None:
                return
            kept, margins, members = found
            yield members
            found = self._better(kept, margins)

    def _grown(self, kept: Mask, target: Array) -> Grown:
        rows = len(self.points.right) - self.points.n
        allowed = np.hstack([kept | self.side.kept, np.ones((len(kept), rows), dtype=bool)])
        return grow(self.points, empty_sets(self.points, len(kept)), allowed, target)

    def _outcome(self, found: Grown, k: int) -> tuple[float, _Kept]:
        """One row of a batch and its value."""
        count = found.sets.count[k]
        members, alpha = found.sets.members[k, :count], found.sets.alpha[k, :count]
        margins = self.points.rows[: self.points.n] @ (alpha @ self.points.rows[members])
        kept = margins >= self.points.right[: self.points.n] - NEARLY
        given_up = ~kept | self.side.paid
        value = float(found.norm2[k]) + self.penalty * int(given_up.sum())
        return value if self.side.allows(given_up) else np.inf, (kept, margins, members)

    def _kept_whole(self, start: Mask) -> _Kept | None:
        """As many points of a start as can be kept; None where the side rows leave nothing."""
        kept = start & ~self.side.paid
        while True:
            found = self._grown(kept[None, :], np.full(1, np.inf))
            if found.finished[0]:
                self.value, reached = self._outcome(found, 0)
                return reached
            count = found.sets.count[0]
            members, alpha = found.sets.members[0, :count], found.sets.alpha[0, :count]
            loose = (members < self.points.n) & np.r_[kept & ~self.side.kept, False][
                np.minimum(members, self.points.n)
            ]
            if not loose.any():
                return None
            heaviest = np.argsort(-alpha[loose])[: -(-len(kept) // DROPPED)]
            kept[members[loose][heaviest]] = False

    def _better(self, kept: Mask, margins: Array) -> _Kept | None:
        """The best exchange of one point; None where none helps."""
        n = self.points.n
        free = np.flatnonzero(~self.side.kept & ~self.side.paid)
        near = np.abs(margins - self.points.right[:n])[free]
        free = free[np.argsort(near, kind="stable")[:NEAREST]]
        trials = np.repeat(kept[None, :] & ~self.side.paid, len(free), axis=0)
        trials[np.arange(len(free)), free] ^= True
        trials = trials[[self._is_worth(trial) for trial in trials]]
        if not len(trials):
            return None
        found = self._grown(trials, self.value - self.penalty * (n - trials.sum(axis=1)))
        best = None
        for k in np.flatnonzero(found.finished & ~found.conflict).tolist():
            value, reached = self._outcome(found, k)
            if value < self.value * (1 - NEARLY):
                self.value, best = value, reached
        return best

    def _is_worth(self, trial: Mask) -> bool:
        return np.isinf(self.value) or self.side.allows(~(trial | self.side.kept) | self.side.paid)
