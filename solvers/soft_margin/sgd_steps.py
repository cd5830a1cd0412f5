"""The steps of stochastic gradient descent, on points and on a kernel matrix, and what they weigh.

What a later average needs of the draws are four sums for each point, so that a run of any length
takes the memory of one block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData

Draws = NDArray[np.int64]
# Places k in the draws at which y <theta, x> was below level k, so that theta moved.
Moves = Callable[[list[int], list[float]], list[int]]


@dataclass(eq=False)
class Walk:
    """A sequence of iterates w_t = theta_t / (lambda (t - behind)) from theta_1 = 0.

    With K_j = 1/1 + ... + 1/(j - behind), a draw j that moved theta has in the sum over t > j of
    1 / (t - behind) the weight K_T - K_j.

    Attributes
    ----------
    n : int
        Points.
    strength : float
        lambda.
    behind : int
        0 for Algorithm 3 as printed, 1 for the rule of the text.
    rng : Generator
        Of the draws.
    moves : callable
        Keeps theta.
    steps : int
        Taken.
    """

    n: int
    strength: float
    behind: int
    rng: np.random.Generator
    moves: Moves
    steps: int = 0
    _harmonic: float = 0.0  # K_T
    _last: int | None = None  # the point that moved theta in the very last step
    _drawn: Array = field(init=False)
    _drawn_at: Array = field(init=False)
    _moved: Array = field(init=False)
    _moved_at: Array = field(init=False)

    def __post_init__(self) -> None:
        self._drawn, self._drawn_at, self._moved, self._moved_at = np.zeros((4, self.n))

    def advance(self, size: int) -> None:
        """Take that many steps."""
        draws = self.rng.integers(self.n, size=size)
        t = np.arange(self.steps + 1, self.steps + size + 1) - self.behind
        divisors = np.where(t == 0, 1, t)  # at w_1 = 0 every margin is below 1 whatever divides it
        moved = np.array(
            self.moves(draws.tolist(), (self.strength * divisors).tolist()), dtype=np.int64
        )
        sums = self._harmonic + np.cumsum(np.where(t == 0, 0.0, 1 / divisors))
        self._add(draws, sums, moved)
        self._harmonic = float(sums[-1])
        self.steps += size
        ends = len(moved) > 0 and moved[-1] == size - 1
        self._last = int(draws[-1]) if ends else None

    def _add(self, draws: Draws, sums: Array, moved: Draws) -> None:
        n = self.n
        self._drawn += np.bincount(draws, minlength=n)
        self._drawn_at += np.bincount(draws, sums, minlength=n)
        self._moved += np.bincount(draws[moved], minlength=n)
        self._moved_at += np.bincount(draws[moved], sums[moved], minlength=n)

    def weights(self) -> tuple[Array, Array]:
        """For each point (1/T) sum (K_T - K_j): over the draws that moved theta, and over all."""
        steps = max(1, self.steps)
        moved = self._harmonic * self._moved - self._moved_at
        drawn = self._harmonic * self._drawn - self._drawn_at
        return np.maximum(moved, 0.0) / steps, np.maximum(drawn, 0.0) / steps

    def last_weights(self) -> Array:
        """Weights of w_T, which knows nothing of the last draw."""
        counts = self._moved.copy()
        if self._last is not None:
            counts[self._last] -= 1
        return counts / max(1, self.steps - self.behind)


def _on_points(data: TrainingData) -> Moves:
    """Algorithm 3: theta in the space of the points."""
    rows, theta = list(data.y[:, None] * data.X), np.zeros(data.d)

    def moves(draws: list[int], levels: list[float]) -> list[int]:
        moved = []
        for k, i in enumerate(draws):
            if theta.dot(rows[i]) < levels[k]:
                np.add(theta, rows[i], out=theta)
                moved.append(k)
        return moved

    return moves


def _on_kernel(data: GramData) -> Moves:
    """Algorithm 4: y_i <theta, psi(x_i)> at all points, from entries of the matrix alone."""
    columns, scores = list(np.outer(data.y, data.y) * data.gram), np.zeros(data.n)

    def moves(draws: list[int], levels: list[float]) -> list[int]:
        moved = []
        for k, i in enumerate(draws):
            if scores[i] < levels[k]:
                np.add(scores, columns[i], out=scores)
                moved.append(k)
        return moved

    return moves


def walk_on(data: TrainingData | GramData, strength: float, rule: str, seed: int) -> Walk:
    """The walk that belongs to the data; `strength` is lambda."""
    moves = _on_kernel(data) if isinstance(data, GramData) else _on_points(data)
    behind = 1 if rule == "update" else 0
    return Walk(data.n, strength, behind, np.random.default_rng(seed), moves)
