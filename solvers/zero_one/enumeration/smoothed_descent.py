"""Good directions for the 0-1 loss by descent on a smoothed count, many at a time.

A hyperplane of length 1 / gamma violates the points whose margin is below gamma along its unit
vector v, so that for each gamma a direction is wanted that has few of them. Their number is
replaced by a sum of logistic functions of a width that falls, and v moves against its gradient on
the sphere by steps whose length falls too. Every descent has a gamma of its own, and weights of its
own on the points that fade to the true ones: so those that begin alike end apart. Nothing here
depends on the price of a point, which may be huge: the exact problem along a direction weighs it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.zero_one.enumeration.active_sets import Points, from_members

DESCENTS = 256
NUMBERS = 128_000  # margins of all descents, of more points fewer descents
FEWEST = 16
SMALLEST, LARGEST = 0.005, 0.7  # gamma of the first descents, beside the points' size
OFFSET = 0.3  # standard deviation of a free intercept
WIDTHS = (0.1, 0.3)  # of the logistic functions of later descents, beside the points' size
FIRST_WIDTH = 0.4
LAST_WIDTH, LEAST_WIDTH = 0.2, 0.002  # the former beside gamma
STEP, FIRST_STEP, LAST_STEP = 0.15, 0.3, 0.003
MEMORY = 0.8  # of earlier gradients
ITERATIONS = 120
UNEVEN = (0.3, 1.0, 2.0)  # powers of exponential numbers, which are the weights
SHORTEST = 1e-100  # of weights
APART, STRETCHED = 0.5, 0.8  # how far some descents begin from a known hyperplane


@dataclass(frozen=True, eq=False)
class Descents:
    """Descents on one set of points.

    Attributes
    ----------
    rows : array (m, k)
        Signed points of mean square length 1, and a column of labels for a free intercept.
    counted : int
        Columns that count in the norm.
    weight : array (m,)
    scale : float
        What the points were divided by.
    """

    rows: Array
    counted: int
    weight: Array
    scale: float

    @property
    def many(self) -> int:
        """How many descents there are at a time."""
        return max(FEWEST, min(DESCENTS, NUMBERS // len(self.rows)))

    @property
    def work(self) -> int:
        """Numbers that go through a logistic function in one round."""
        return self.many * ITERATIONS * len(self.rows)

    def first(self, rng: np.random.Generator) -> Array:
        """Where descents from nowhere end, half of them begun near the mean of the points."""
        v = rng.normal(size=(self.many, self.rows.shape[1]))
        v = self._on_sphere(v)
        v[:, self.counted :] = OFFSET * rng.normal(size=v[:, self.counted :].shape)
        mean = self.weight @ self.rows
        size = float(np.linalg.norm(mean))
        if size > 0:
            v[::2] = v[::2] / 2 + mean / size
        gamma = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), self.many))
        return self._descend(
            self._on_sphere(v), gamma, self._weights(rng), 2 * ITERATIONS, FIRST_WIDTH, FIRST_STEP
        )

    def near(self, known: Array, rng: np.random.Generator) -> Array:
        """Where descents from known hyperplanes end.

        A quarter of them begins between two of the hyperplanes, a quarter beside one.

        Parameters
        ----------
        known : array (K, k)
            Hyperplanes, not of unit length, in the coordinates of `rows`.
        """
        size = 1 / np.linalg.norm(known[:, : self.counted], axis=1)
        at = np.arange(self.many) % len(known)
        v, gamma = known[at] * size[at, None], size[at] * np.exp(0.4 * rng.normal(size=self.many))
        part = self.many // 4
        other, share = rng.integers(len(known), size=part), rng.random((part, 1))
        v[:part] = share * v[:part] + (1 - share) * known[other] * size[other, None]
        away = rng.normal(size=(part, v.shape[1])) / np.sqrt(v.shape[1])
        v[part : 2 * part] += APART * away
        gamma[part : 2 * part] *= np.exp(STRETCHED * rng.normal(size=part))
        width = float(rng.choice(WIDTHS))
        return self._descend(self._on_sphere(v), gamma, self._weights(rng), ITERATIONS, width, STEP)

    def values(self, v: Array, penalty: float) -> Array:
        """The least objective of the multiples of unit vectors, inf where none is positive."""
        u = v @ self.rows.T
        order = np.argsort(-u, axis=1)
        ordered = np.take_along_axis(u, order, axis=1) * self.scale
        kept = np.cumsum(self.weight[order], axis=1)
        with np.errstate(divide="ignore", over="ignore"):
            values = 1 / (ordered * ordered) + penalty * (self.weight.sum() - kept)
        return np.asarray(np.where(ordered > 0, values, np.inf).min(axis=1))

    def _weights(self, rng: np.random.Generator) -> Array:
        power = rng.choice(UNEVEN, size=(self.many, 1))
        return np.asarray(rng.exponential(size=(self.many, len(self.rows))) ** power)

    def _on_sphere(self, v: Array) -> Array:
        length = np.sqrt((v[:, : self.counted] ** 2).sum(axis=1, keepdims=True))
        return v / np.maximum(length, np.finfo(float).tiny)

    def _descend(
        self, v: Array, gamma: Array, uneven: Array, iterations: int, width: float, step: float
    ) -> Array:
        """Descend from unit vectors v (R, k) with gamma (R,) and weights (R, m)."""
        margin = gamma[:, None]
        last = np.maximum(LAST_WIDTH * margin, LEAST_WIDTH)
        moved = np.zeros_like(v)
        for share in np.linspace(0.0, 1.0, iterations, endpoint=False).tolist():
            wide = width * (last / width) ** share
            z = np.tanh((margin - v @ self.rows.T) / (2 * wide))
            slope = (1 - z * z) * self.weight
            if share < 0.5:
                slope *= uneven ** (1 - 2 * share)
            moved = MEMORY * moved + (1 - MEMORY) * (slope @ self.rows)
            size = np.sqrt((moved * moved).sum(axis=1, keepdims=True))
            length = step * (LAST_STEP / step) ** share
            v = self._on_sphere(v + length * moved / np.maximum(size, np.finfo(float).tiny))
        return v

    def of_set(self, points: Points, members: Index) -> Array:
        """The hyperplane of an active set in the coordinates of `rows`."""
        v = from_members(points, members[None, :]).v[0]
        if points.intercept != "free":
            return v * self.scale
        offset = points.y[members[0]] - points.rows[members[0]] @ v
        return np.append(v * self.scale, offset)

    def has_direction(self, plane: Array) -> bool:
        """Whether a hyperplane has weights to begin near."""
        return bool(np.linalg.norm(plane[: self.counted]) > SHORTEST)

    def in_data(self, points: Points, v: Array) -> tuple[Array, float]:
        """(w, b) of a unit vector in the coordinates of the data."""
        w = v[: self.counted] / self.scale
        if points.intercept == "free":
            return w, float(v[-1] - points.centre @ w)
        return points.hyperplane(w, 0)


def descents_on(points: Points) -> Descents:
    """Descents in the coordinates of the points, which are not all at 0."""
    scale = float(np.sqrt((points.rows * points.rows).sum(axis=1).mean()))
    rows = points.rows / scale
    if points.intercept == "free":
        rows = np.column_stack([rows, np.ones(len(rows))])
    return Descents(points.y[:, None] * rows, points.rows.shape[1], points.weight, scale)
