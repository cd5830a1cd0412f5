"""How cheap a set of points can be kept at all: a lower bound that is proven in exact arithmetic.

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
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.training_data import TrainingData

Array = NDArray[np.float64]

BALANCE = 1e4  # weight of sum alpha_i y_i = 0 beside points of size 1


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
