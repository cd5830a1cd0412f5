"""Cut a data set into folds in which both classes keep their shares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.training_data import TrainingData


def fold_numbers(data: TrainingData, count: int, *, seed: int = 0) -> NDArray[np.intp]:
    """Fold of every point, 0 to count - 1, (n,).

    Each class is shuffled by default_rng(seed), positive points first, and dealt out to the folds
    in turn, the second class where the first one ended: sizes differ by at most one, of each class
    and of all points.

    Raises
    ------
    ValueError
        Fewer than two folds, or more than the smaller class has points: a training part must hold
        both classes.
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 2:
        raise ValueError(f"folds must be a whole number of at least 2, got {count!r}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, got {seed!r}")
    smaller = min(data.n_pos, data.n_neg)
    if count > smaller:
        raise ValueError(
            f"folds: {count} of them need as many points of each class, and one class has {smaller}"
        )
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(np.flatnonzero(data.y == label)) for label in (1, -1)])
    numbers = np.empty(data.n, dtype=np.intp)
    numbers[order] = np.arange(data.n) % count
    return numbers


def splits(
    data: TrainingData, count: int, *, seed: int = 0
) -> Iterator[tuple[TrainingData, TrainingData]]:
    """Training and validation points, once for every fold.

    Raises
    ------
    ValueError
        See `fold_numbers`.
    """
    numbers = fold_numbers(data, count, seed=seed)
    for k in range(count):
        yield (
            TrainingData(data.X[numbers != k], data.y[numbers != k], spec=data.spec),
            TrainingData(data.X[numbers == k], data.y[numbers == k], spec=data.spec),
        )
