"""Hyperplanes of the 0-1 loss: the best one along a direction, and through active points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.formulations.zero_one.loss import EPS, margins

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


# --- Hyperplanes that touch the margin at a given set of points, many sets at a time -------------
# For a set A of points the hyperplane of least norm with y_i (<w, x_i> + b) = 1 on A. With an
# intercept that is penalised or absent this is the point of least norm on linear equations with
# rows (x_i, 1) or x_i. With a free intercept, b is eliminated by a reference point a of A: <w, x_i
# - x_a> = y_i - y_a. Either way the equations are orthonormalised one point at a time, so that all
# sets with a common beginning share the work.


@dataclass(frozen=True, eq=False)
class Points:
    """The distinct labelled points in the coordinates the equations live in, label +1 first.

    rows (m, D): x_i; with a 1 appended for a penalised intercept; minus `centre` for a free one.
    y, weight (m,): labels, and what all copies of a point in the data weigh.
    original (m,): a row of the data that holds this point.
    centre (d,): what was subtracted.
    radius: largest row norm; with a free intercept, a bound on the distance of two points.
    """

    rows: Array
    y: Array
    weight: Array
    original: Index
    centre: Array
    radius: float
    intercept: str

    @property
    def n_pos(self) -> int:
        """Number of distinct points labelled +1."""
        return int((self.y > 0).sum())

    @property
    def largest(self) -> int:
        """Largest size of an independent set."""
        return self.rows.shape[1] + (1 if self.intercept == "free" else 0)

    def hyperplane(self, v: Array, member: int) -> tuple[Array, float]:
        """(w, b) in the coordinates of the data; `member` is a point of the active set."""
        if self.intercept == "none":
            return v, 0.0
        if self.intercept == "penalised":
            return v[:-1], float(v[-1])
        return v, float(self.y[member] - self.rows[member] @ v - self.centre @ v)


@dataclass(frozen=True, eq=False)
class ActiveSets:
    """P active sets of one size s, as k = s linear equations (k = s - 1 with a free intercept).

    members (P, s): rows of `Points`; the first one is the reference of a free intercept.
    basis (P, k, D): orthonormal rows that span the equations.
    inverse (P, k, k): inverse of the triangular L in equations = L basis.
    coefficients (P, k): beta in v = sum of beta_k equation_k.
    v (P, D): least-norm solution.
    norm2, spread (P,): ||v||^2, and the squared Frobenius norm of `inverse`: between 1 and k times
        1 / sigma_min(equations)^2.
    """

    members: Index
    basis: Array
    inverse: Array
    coefficients: Array
    v: Array
    norm2: Array
    spread: Array

    def take(self, chosen: Mask | Index) -> ActiveSets:
        """Some of the sets."""
        return ActiveSets(
            self.members[chosen],
            self.basis[chosen],
            self.inverse[chosen],
            self.coefficients[chosen],
            self.v[chosen],
            self.norm2[chosen],
            self.spread[chosen],
        )


def distinct_points(data: TrainingData, intercept: str) -> Points:
    """Merge repeated points and choose the coordinates that suit the intercept."""
    one_of("intercept", intercept, INTERCEPTS)
    labelled = np.column_stack([-data.y, data.X + 0.0])  # + 0.0 turns -0.0 into 0.0
    _, original, place = np.unique(labelled, axis=0, return_index=True, return_inverse=True)
    weight = np.bincount(place.reshape(-1), weights=data.multiplicity).astype(np.float64)
    rows, y = data.X[original], data.y[original]
    centre = np.zeros(data.d)
    if intercept == "penalised":
        rows = np.column_stack([rows, np.ones(len(y))])
    elif intercept == "free":
        centre = rows.mean(axis=0)
        rows = rows - centre
    radius = float(np.linalg.norm(rows, axis=1).max()) * (2.0 if intercept == "free" else 1.0)
    return Points(rows, y, weight, original, centre, radius, intercept)


def without_equations(points: Points, reference: Index) -> ActiveSets:
    """Sets to start from: one point each with a free intercept, otherwise one empty set."""
    dimension = points.rows.shape[1]
    members = reference[:, None] if points.intercept == "free" else np.zeros((1, 0), dtype=np.intp)
    count = len(members)
    return ActiveSets(
        members,
        np.zeros((count, 0, dimension)),
        np.zeros((count, 0, 0)),
        np.zeros((count, 0)),
        np.zeros((count, dimension)),
        np.zeros(count),
        np.zeros(count),
    )


@np.errstate(over="ignore", invalid="ignore")
def extend(points: Points, sets: ActiveSets, parent: Index, point: Index) -> ActiveSets:
    """Sets parent[k] with point[k] added: one Gram-Schmidt step, repeated once for accuracy.

    A dependent point gets a tiny pivot, hence a huge `spread`; its numbers mean nothing.
    """
    row, target = points.rows[point], points.y[point]
    if points.intercept == "free":
        first = sets.members[parent, 0]
        row, target = row - points.rows[first], target - points.y[first]
    basis, inverse = sets.basis[parent], sets.inverse[parent]
    along = np.einsum("pkd,pd->pk", basis, row)
    across = row - np.einsum("pk,pkd->pd", along, basis)
    again = np.einsum("pkd,pd->pk", basis, across)
    across -= np.einsum("pk,pkd->pd", again, basis)
    along += again
    pivot = np.sqrt(np.einsum("pd,pd->p", across, across))
    pivot = np.maximum(pivot, EPS * points.radius)
    unit = across / pivot[:, None]
    step = (target - np.einsum("pd,pd->p", row, sets.v[parent])) / pivot
    size = basis.shape[1]
    last = np.empty((len(parent), size + 1))
    last[:, :size] = -np.einsum("pk,pkl->pl", along, inverse)
    last[:, size] = 1.0
    last /= pivot[:, None]
    coefficients = step[:, None] * last
    coefficients[:, :size] += sets.coefficients[parent]
    grown = np.zeros((len(parent), size + 1, size + 1))
    grown[:, :size, :size] = inverse
    grown[:, size, :] = last
    return ActiveSets(
        np.column_stack([sets.members[parent], point]),
        np.concatenate([basis, unit[:, None, :]], axis=1),
        grown,
        coefficients,
        sets.v[parent] + step[:, None] * unit,
        sets.norm2[parent] + step**2,
        sets.spread[parent] + np.einsum("pk,pk->p", last, last),
    )


def from_members(points: Points, members: Index) -> ActiveSets:
    """Sets with the given members (P, s), s >= 1."""
    each = np.arange(len(members), dtype=np.intp)
    if points.intercept == "free":
        sets, start = without_equations(points, members[:, 0]), 1
    else:
        sets = without_equations(points, members[:0, 0]).take(np.zeros_like(each))
        start = 0
    for column in range(start, members.shape[1]):
        sets = extend(points, sets, each, members[:, column])
    return sets


def set_margins(points: Points, sets: ActiveSets) -> Array:
    """y_i (<w, x_i> + b) of every distinct point for every set, (P, m)."""
    scores = sets.v @ points.rows.T
    if points.intercept == "free":
        first = sets.members[:, 0]
        offset = points.y[first] - np.einsum("pd,pd->p", points.rows[first], sets.v)
        scores += offset[:, None]
    return np.multiply(scores, points.y, out=scores)
