"""Points that cannot all be kept below a known objective: single ones and pairs, in closed form.

Let rho(S) be the least norm2 of a hyperplane with u_i >= 1 for every i in S. At a point that keeps
all of S nothing else is known to be violated, so rho(S) above the known objective, and nothing
less, proves that S holds a violated point:  sum_S z_i >= 1.

By weak duality, at its best multiple, any alpha >= 0 proves

    rho(S) >= (sum alpha_i)^2 / ||sum alpha_i y_i x~_i||^2,      sum alpha_i y_i = 0 if b is free,

so rounding matters in the norm only, which is taken too large here.

How cheap a set of points can be kept at all: a lower bound that is proven in exact arithmetic.

rho(S), the least norm2 with u_i >= 1 for every i in S, is at least

    (sum alpha_i)^2 / ||sum alpha_i y_i x~_i||^2        for any alpha >= 0 on S, not 0,

with sum alpha_i y_i = 0 if b is free (weak duality, at the best multiple of alpha; x~_i has its
constant entry when b is penalised). Equality holds at the multipliers of the hard-margin machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.formulations.zero_one.loss import EPS

BALANCE = 1e4  # weight of sum alpha_i y_i = 0 beside points of size 1

Conflicts = tuple[tuple[int, ...], ...]

NUMBERS_AT_ONCE = 2**20


def single_norms(data: TrainingData, intercept: str) -> Array:
    """rho({i}) = 1 / ||x~_i||^2, or 0 with a free intercept (w = 0, b = y_i), (n,).

    Never too large; inf for x~_i = 0, which nothing keeps.
    """
    one_of("intercept", intercept, INTERCEPTS)
    if intercept == "free":
        return np.zeros(data.n)
    points = augmented(data, intercept)
    return _bound(np.sqrt((points**2).sum(axis=1)), np.zeros(data.n))


def pair_norms(data: TrainingData, intercept: str, rows: Index | None = None) -> Array:
    """rho({i, j}) for some rows i, all by default, and every j, (m, n); never too large.

    penalised, none: a_i = y_i x~_i are the signed points and g_ij their Gram entries. The point of
        least norm of the segment from a_i to a_j is s a_i + (1 - s) a_j with
        s = (g_jj - g_ij) / ||a_i - a_j||^2 cut off at 0 and 1, and rho is one over its squared
        norm: (g_ii + g_jj - 2 g_ij) / (g_ii g_jj - g_ij^2) where 0 < s < 1, otherwise
        1 / min(g_ii, g_jj).

    free: two points of one class are kept by w = 0, so 0. For two classes sum alpha_i y_i = 0
        leaves alpha_i = alpha_j, and rho = 4 / ||x_i - x_j||^2.
    """
    one_of("intercept", intercept, INTERCEPTS)
    chosen = np.arange(data.n) if rows is None else rows
    step = max(1, NUMBERS_AT_ONCE // (data.n * (data.d + 1)))
    parts = [chosen[start : start + step] for start in range(0, len(chosen), step)]
    of = _across if intercept == "free" else _along
    points = data.y[:, None] * augmented(data, "none" if intercept == "free" else intercept)
    return np.vstack([np.empty((0, data.n)), *(of(data.y, points, part) for part in parts)])


def _across(y: Array, points: Array, rows: Index) -> Array:
    """Free intercept: with labels +1 and -1 the difference of x is the sum of y x."""
    c = points[rows][:, None, :] + points[None, :, :]
    size = np.sqrt((points**2).sum(axis=1))
    rho = 4 * _bound(np.sqrt((c**2).sum(axis=2)), size[rows][:, None] + size[None, :])
    return np.where(y[rows][:, None] != y[None, :], rho, 0.0)


def _along(_: Array, points: Array, rows: Index) -> Array:
    a, b = points[rows][:, None, :], points[None, :, :]
    difference = b - a
    length2 = (difference**2).sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(length2 > 0, (b * difference).sum(axis=2) / length2, 0.0)
    share = np.clip(share, 0.0, 1.0)[:, :, None]
    size = np.sqrt((points**2).sum(axis=1))
    shared = share[:, :, 0] * size[rows][:, None] + (1 - share[:, :, 0]) * size[None, :]
    c = share * a + (1 - share) * b
    return _bound(np.sqrt((c**2).sum(axis=2)), shared)


def _bound(norm: Array, size: Array) -> Array:
    """1 / norm^2 for a computed norm of a sum of vectors whose norms sum to `size`.

    Each entry of the sum was rounded at most three times, relative to its terms; the sum of squares
    of k < 2^20 entries is off by k roundings, relative.
    """
    upper = norm * (1 + 1e-9) + 4 * EPS * size
    with np.errstate(divide="ignore", over="ignore"):
        return (1 - 8 * EPS) / upper**2


def pair_conflicts(data: TrainingData, *, cutoff: float, intercept: str) -> Conflicts:
    """Single points and pairs, of other points, of which one is violated wherever norm2 <= cutoff.

    Parameters
    ----------
    cutoff : float
        A known objective, or a bound on norm2.
    """
    alone = single_norms(data, intercept) > cutoff
    found: list[tuple[int, ...]] = [(int(i),) for i in np.flatnonzero(alone)]
    left = np.flatnonzero(~alone)
    step = max(1, NUMBERS_AT_ONCE // data.n)
    for start in range(0, len(left), step):
        rows = left[start : start + step]
        i, j = np.nonzero(pair_norms(data, intercept, rows) > cutoff)
        first = rows[i]
        wanted = (first < j) & ~alone[j]
        found += zip(first[wanted].tolist(), j[wanted].tolist(), strict=True)
    return tuple(found)


def disjoint(conflicts: Conflicts) -> Conflicts:
    """Conflicts without common points, smallest first: each holds a violated point of its own."""
    taken: set[int] = set()
    chosen = []
    for points in sorted(conflicts, key=len):
        if taken.isdisjoint(points):
            taken.update(points)
            chosen.append(points)
    return tuple(chosen)


def least_paid(conflicts: Conflicts, weights: Array) -> float:
    """What disjoint ones of these conflicts weigh at least: each its lightest point."""
    return math.fsum(float(weights[list(points)].min()) for points in disjoint(conflicts))


def proven_norm(
    data: TrainingData, points: Sequence[int], alpha: ArrayLike, intercept: str
) -> float:
    """The bound of the module's docstring, without rounding but for the last step, downwards.

    Parameters
    ----------
    points : sequence of int
    alpha : array
        A number for each of them; negative ones count as 0, and with a free intercept those of
        the second class are multiplied by what makes the two classes equal.

    Returns
    -------
    float
        0 where alpha proves nothing, inf where it proves that nothing keeps the points.
    """
    numbers = np.asarray(alpha, dtype=float)
    used = np.flatnonzero(numbers > 0)
    at = np.asarray(points, dtype=np.intp)[used]
    weights = [Fraction(a) for a in numbers[used].tolist()]
    labels = [int(y) for y in data.y[at]]
    if intercept == "free":
        first, second = (
            sum((a for a, y in zip(weights, labels, strict=True) if y == label), Fraction(0))
            for label in (1, -1)
        )
        if not (first and second):
            return 0.0
        ratio = first / second
        weights = [a * ratio if y < 0 else a for a, y in zip(weights, labels, strict=True)]
    mode = "penalised" if intercept == "penalised" else "none"
    signed = [a * y for a, y in zip(weights, labels, strict=True)]
    columns = [[Fraction(x) for x in row] for row in augmented(data, mode)[at].tolist()]
    total = sum(weights, Fraction(0))
    if not total:
        return 0.0
    sums = (sum(map(Fraction.__mul__, signed, c), Fraction(0)) for c in zip(*columns, strict=True))
    square = sum((c * c for c in sums), Fraction(0))
    if not square:
        return math.inf
    try:
        return math.nextafter(float(total * total / square), 0.0)
    except OverflowError:
        return math.inf


def hard_margin_weights(data: TrainingData, points: Sequence[int], intercept: str) -> Array:
    """Multipliers alpha >= 0 on some points, near those of their hard-margin machine.

    Nonnegative least squares on (sum alpha_i y_i x~_i, sum alpha_i) = (0, 1) finds the direction of
    least norm (Lawson & Hanson, Solving least squares problems, 1974, chapter 23). It needs no
    accuracy: any alpha is a proof.
    """
    at = np.asarray(points, dtype=np.intp)
    mode = "penalised" if intercept == "penalised" else "none"
    x = augmented(data, mode)[at]
    if intercept == "free":
        x = x - x.mean(axis=0)
    size = float(np.abs(x).max(initial=0.0)) or 1.0
    rows = data.y[at, None] * x / size
    if intercept == "free":
        rows = np.column_stack([rows, BALANCE * data.y[at]])
    system = np.vstack([rows.T, np.ones(len(at))])
    alpha, _ = nnls(system, np.r_[np.zeros(rows.shape[1]), 1.0])
    return np.asarray(alpha)


def least_kept_norm(data: TrainingData, points: Sequence[int], intercept: str) -> float:
    """A proven lower bound on rho(S) that is near it."""
    return proven_norm(data, points, hard_margin_weights(data, points, intercept), intercept)
