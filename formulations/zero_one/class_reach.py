"""How far each point is from the farthest point of its own class."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tightmargin.formulations.data.training_data import TrainingData

Array = NDArray[np.float64]

CHUNK_DISTANCES = 2**22  # 32 MiB of distances at a time, whatever n is


@lru_cache(maxsize=4)
def same_class_reach(data: TrainingData) -> Array:
    """Distance from each point to the farthest point of its own class, (n,).

    O(n^2) time and O(n) memory; 0 for the only point of a class.
    """
    reach = np.zeros(data.n)
    for label in (-1.0, 1.0):
        rows = np.flatnonzero(data.y == label)
        points = data.factor[rows]
        for part in _slices(len(rows)):
            reach[rows[part]] = cdist(points[part], points).max(axis=1)
    reach.setflags(write=False)
    return reach


def _slices(count: int) -> Iterator[slice]:
    step = max(1, CHUNK_DISTANCES // count)
    for start in range(0, count, step):
        yield slice(start, start + step)
