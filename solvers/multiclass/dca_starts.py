"""Where the d.c. algorithm for the truncated hinge loss begins: hinge machines on changed data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.hinge_batch.multiclass import hinge_batch
from tightmargin.solvers.hinge_batch.multiclass_space import Space

HINGE, NOISE, SUBSET, RANDOM = "hinge", "label noise", "subset", "random"
KINDS = (NOISE, SUBSET, RANDOM)
BATCH = 32  # starts that go on together
KEPT = (0.3, 0.9)  # share of the points that a subset keeps
NOISY = (0.1, 0.5)  # share of the points that take another class
LEADS = (0.3, 3.0)  # typical lead of a random start


def start_batches(
    space: Space, costs: Array, starts: int, seed: int, deadline: float | None
) -> Iterator[tuple[tuple[str, ...], Array]]:
    """Names and points A of the starts, the hinge machine first and by itself.

    Parameters
    ----------
    costs : array (n,)
        Cost of each point.
    """
    yield (HINGE,), hinge_batch(space, costs[None], deadline=deadline)
    rng = np.random.default_rng(seed)
    for first in range(1, starts, BATCH):
        numbers = range(first, min(first + BATCH, starts))
        names = tuple(KINDS[(number - 1) % len(KINDS)] for number in numbers)
        yield names, _starts(space, costs, names, rng, deadline)


def _starts(
    space: Space,
    costs: Array,
    names: tuple[str, ...],
    rng: np.random.Generator,
    deadline: float | None,
) -> Array:
    n, K = len(costs), len(space.Q)
    prices, labels = np.tile(costs, (len(names), 1)), np.tile(space.y, (len(names), 1))
    random = np.zeros((len(names), K - 1, space.X.shape[1]))
    for row, name in enumerate(names):
        if name == NOISE:
            changed = rng.random(n) < rng.uniform(*NOISY)
            labels[row, changed] = rng.integers(K, size=int(changed.sum()))
        elif name == SUBSET:
            prices[row, rng.random(n) > rng.uniform(*KEPT)] = 0.0
        else:
            random[row] = rng.standard_normal(random.shape[1:])
    found = hinge_batch(space, prices, y=labels, deadline=deadline)
    drawn = np.array([name == RANDOM for name in names])
    size = np.abs(space.scores(random[drawn])).mean(axis=(1, 2))
    lead = rng.uniform(*LEADS, size=int(drawn.sum()))
    factor = np.where(size > 0, lead / np.where(size > 0, size, 1.0), 0.0)
    found[drawn] = random[drawn] * factor[:, None, None]
    return found
