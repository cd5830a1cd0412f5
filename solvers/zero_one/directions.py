"""Directions for a 0-1 loss hyperplane, and the best hyperplane along each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.loss import margins

HINGE_WEIGHTS = (0.01, 0.1, 1.0, 10.0)
NEWTON_STEPS = 50
REFITS = 3
FAR = -0.5  # points with a smaller margin are left out of the next fit


def hinge_directions(
    data: TrainingData, penalty: float, intercept: str
) -> Iterator[tuple[Array, float]]:
    """(w, b) of least norm2 + c sum of squared hinge losses, for several c, then without outliers.

    After each fit, points far on the wrong side are left out and the rest is fitted again: a cheap
    stand-in for a loss that stops growing.
    """
    yield data.X[data.y > 0].mean(axis=0) - data.X[data.y < 0].mean(axis=0), 0.0
    for factor in HINGE_WEIGHTS:
        use = np.ones(data.n, dtype=bool)
        for _ in range(REFITS):
            w, b = _fit(data.X[use], data.y[use], factor * penalty, intercept)
            yield w, b
            use = margins(data, w, b) > FAR
            if not use.any():
                break


def _fit(X: Array, y: Array, c: float, intercept: str) -> tuple[Array, float]:
    """Newton's method; the objective is quadratic as long as the same points are short."""
    rows = np.column_stack([X, np.ones(len(y))]) * y[:, None]
    price = np.ones(rows.shape[1])
    price[-1] = 1.0 if intercept == "penalised" else 0.0
    if intercept == "none":
        rows[:, -1] = 0.0

    def value(v: Array) -> float:
        short = np.maximum(0.0, 1 - rows @ v)
        return float(v @ (price * v) + c * short @ short)

    v = np.zeros(rows.shape[1])
    for _ in range(NEWTON_STEPS):
        short = rows[rows @ v < 1]
        hessian = np.diag(price) + c * short.T @ short
        hessian.flat[:: len(v) + 1] += 1e-12 * max(1.0, hessian.trace())  # b alone may be free
        step = np.linalg.solve(hessian, c * short.sum(axis=0)) - v
        while value(v + step) > value(v) and np.abs(step).max() > 1e-9 * np.abs(v).max():
            step /= 2
        v = v + step
        if np.abs(step).max() <= 1e-9 * np.abs(v).max():
            break
    return v[:-1], float(v[-1]) if intercept != "none" else 0.0


def best_along(
    data: TrainingData, w: Array, b: float, penalty: float, intercept: str
) -> tuple[Array, float] | None:
    """The best multiple of (w, b); with a free intercept, of w with the best b for each multiple.

    None if w (and b) is zero or no multiple keeps a point.
    """
    if intercept == "free":
        return _best_band(data, w, penalty)
    norm2 = float(w @ w) + b * b
    u = margins(data, w, b)
    inside = np.flatnonzero(u > 0)
    order = inside[np.argsort(-u[inside], kind="stable")]
    kept = u[order]
    if not (len(kept) and norm2 > 0):
        return None
    values = norm2 / kept**2 + penalty * (data.total_weight - np.cumsum(data.multiplicity[order]))
    scale = 1 / kept[values.argmin()]
    return w * scale, b * scale


def _best_band(data: TrainingData, w: Array, penalty: float) -> tuple[Array, float] | None:
    """Best band low < <w, x> < high; positives above it and negatives below it are kept.

    The hyperplane is (t w, b) with t = 2 / (high - low) and b = -(high + low) / (high - low); both
    ends are projections of points. Its value
    4 ||w||^2 / (high - low)^2 + penalty (#positives below high + #negatives above low) is a convex
    function of high - low plus a function of each end, so the best low end never moves down as the
    high end moves up.
    """
    norm2 = float(w @ w)
    projection = data.X @ w
    high = np.unique(projection[data.y > 0])
    low = np.unique(projection[data.y < 0])
    high = high[high > low[0]]
    if norm2 == 0 or not len(high):
        return None
    at = data.y > 0
    above = _weight_below(projection[at], data.multiplicity[at], high)
    below = _weight_below(-projection[~at], data.multiplicity[~at], -low)

    def cost(i: NDArray[np.intp], k: NDArray[np.intp]) -> Array:
        width = high[i] - low[k]
        inside = np.where(width > 0, width, np.nan)
        values = 4 * norm2 / inside**2 + penalty * (above[i] + below[k])
        return np.where(width > 0, values, np.inf)

    column, value = _row_minima(cost, len(high), len(low))
    i = int(value.argmin())
    top, bottom = high[i], low[column[i]]
    return w * (2 / (top - bottom)), float(-(top + bottom) / (top - bottom))


def _weight_below(values: Array, weights: Array, ends: Array) -> Array:
    """Sum of the weights of the values below each end."""
    order = np.argsort(values, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return sums[np.searchsorted(values[order], ends, side="left")]


def _row_minima(
    cost: Callable[[NDArray[np.intp], NDArray[np.intp]], Array], n_rows: int, n_columns: int
) -> tuple[NDArray[np.intp], Array]:
    """Column and value of each row's minimum when the columns increase with the rows.

    Halving: rows in the middle of solved ones look only between their columns; each round costs
    about n_rows + n_columns evaluations.
    """
    column = np.zeros(n_rows, dtype=np.intp)
    value = np.empty(n_rows)
    step = 1 << (n_rows - 1).bit_length()
    while step >= 1:
        rows = np.arange(step - 1, n_rows, 2 * step)
        left = np.where(rows - step >= 0, column[rows - step], 0)
        right = np.where(
            rows + step < n_rows, column[np.minimum(rows + step, n_rows - 1)], n_columns - 1
        )
        size = right - left + 1
        start = np.cumsum(size) - size
        owner = np.repeat(np.arange(len(rows)), size)
        candidates = left[owner] + np.arange(len(owner)) - start[owner]
        found = cost(rows[owner], candidates)
        value[rows] = np.minimum.reduceat(found, start)
        first = np.flatnonzero(found == value[rows][owner])[::-1]
        column[rows[owner[first]]] = candidates[first]
        step //= 2
    return column, value
