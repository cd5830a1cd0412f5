"""Trees of parts of the points for a proof file, each with its share of norm2.

What their bounds add up to stands in conflict_search/parts.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.zero_one.conflict_search.parts import larger_splits
from tightmargin.solvers.zero_one.packings.recorded_tree import RecordedTree, recorded


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the points, and the tree of the problem in which they cost `times` as much."""

    points: list[int]
    tree: RecordedTree
    times: int

    @property
    def share(self) -> float:
        """Of the bound of all points."""
        return self.tree.bound / self.times

    @property
    def most(self) -> Fraction:
        """No leaf has to prove more."""
        return Fraction(self.tree.objective)


@reads_dense_points
def recorded_parts(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: tuple[Array, float],
    gap: float,
    seconds: float,
    longest: int,
) -> list[Part]:
    """The parts that prove most, of larger ones as long as all before are closed in time.

    Parameters
    ----------
    incumbent : (w, b)
        A hyperplane to whose margins parts are alike.
    longest : int
        Splits and leaves of all parts together.
    """
    best: list[Part] = []
    end = time.monotonic() + seconds
    for split in larger_splits(data, *incumbent):
        parts, closed = list[Part](), True
        for k, own in enumerate(split):
            now = time.monotonic()
            until = now + (end - now) / (len(split) - k)
            tree = recorded(
                TrainingData(data.X[own], data.y[own]),
                penalty=len(split) * penalty,
                intercept=intercept,
                incumbent=None,
                gap=gap,
                cutoff=np.inf,
                go_on=_while(until, longest // len(split)),
                until=until,
            )
            parts.append(Part(own.tolist(), tree, len(split)))
            closed &= not tree.is_open
            if tree.interrupted:
                end = now  # of the others the roots alone
        if sum(part.share for part in parts) > sum(part.share for part in best):
            best = parts
        if not closed or time.monotonic() > end:
            break
    return best


def _while(until: float, most: int) -> Callable[[RecordedTree], bool]:
    return lambda tree: time.monotonic() < until and tree.size <= most
