"""Exact arithmetic for h_limit: multipliers, margins and norms of small or degenerate data."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.exact_arithmetic import dot_integers, dyadic, scaled, solve_exactly
from tightmargin.solvers.rigorous_svm.norm_limit.centred_rows import Rows
from tightmargin.solvers.zero_one.enumeration.active_sets import RationalPoints

Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

INTEGER_PRODUCTS = 2_000_000
RATIONAL_NUMBERS = 20_000  # of the points, where every one is multiplied by a fraction
RATIONAL_ROWS = 25  # equations solved in fractions
DEPENDENT = 1e-9
DOUBLE = float(np.finfo(np.float64).eps)


def exact_loss(data: TrainingData | GramData, alpha: Array) -> float | None:
    """Sum of exact multipliers that satisfy (10), those inside (0, 1) near the given ones.

    None where there are none: then the same entries of alpha being 0 and 1 is not enough, or the
    data are too large for this.
    """
    if data.n * (data.d + 1) > INTEGER_PRODUCTS:
        return None
    inside = np.flatnonzero((alpha > 0) & (alpha < 1))
    columns = [*np.asarray(data.factor).T, np.ones(data.n)]
    weights = dyadic(data.y * alpha)
    exact = [dyadic(column) for column in columns]
    rest = [dot_integers(column.integers, weights.integers) for column in exact]
    if not any(rest):
        return math.fsum(alpha.tolist())
    if not 0 < len(inside) <= RATIONAL_ROWS:
        return None
    # A step x of the inner multipliers: sum_i y_i x_i f_i = -rest, in units of each column.
    signs = data.y[inside].astype(int).tolist()
    lines = [
        [sign * column.integers[i] for sign, i in zip(signs, inside.tolist(), strict=True)]
        for column in exact
    ]
    step = solve_exactly(lines, [scaled(-r, weights.exponent) for r in rest])
    if step is None:
        return None
    moved = [Fraction(float(alpha[i])) + x for i, x in zip(inside.tolist(), step, strict=True)]
    if not all(0 < x < 1 for x in moved):
        return None
    return float(sum(moved, Fraction(0)) + int((alpha >= 1).sum()))


def on_their_sides(
    data: TrainingData | GramData, side: NDArray[np.int8], w: Array, b: float, doubtful: Index
) -> bool:
    """Whether some rows are on their sides of u_i = 1 (see `h_limit_face.sides`), exactly."""
    if len(doubtful) * (data.d + 1) > INTEGER_PRODUCTS:
        return False
    right = dyadic(np.append(w, [b, 1.0]))
    factor = np.asarray(data.factor)
    for i in doubtful.tolist():
        left = dyadic(np.append(factor[i], [1.0, -data.y[i]]))
        rest = dot_integers(left.integers, right.integers) * int(data.y[i])
        s = int(side[i])
        if s * rest < 0 or (s == 0 and rest):
            return False
    return True


def exact_norm(
    data: TrainingData | GramData, rows: Rows, side: NDArray[np.int8], touched: Mask
) -> float | None:
    """Norm of the least point through independent touched rows, if it is on the face.

    None where it is not, or the data are too large for this.
    """
    index = np.flatnonzero(touched)
    if not (len(index) and data.d) or data.n * data.d > RATIONAL_NUMBERS:
        return None
    columns = np.column_stack([rows.points[index], np.ones(len(index))])
    _, r, order = qr(columns.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > DEPENDENT * diagonal.max(initial=0.0)).sum())
    if not 2 <= rank <= RATIONAL_ROWS:  # a single row is met by w = 0
        return None
    exact = RationalPoints(data.points, "free")
    point = exact.solve(index[order[:rank]])
    if point is None:
        return None
    for label, row, s in zip(exact.labels, exact.rows, side.tolist(), strict=True):
        score = sum((a * f for a, f in zip(row, point.w, strict=True)), Fraction(0))
        rest = label * (score / exact.scale + point.b) - 1
        if s * rest < 0 or (s == 0 and rest):
            return None
    return math.sqrt(point.norm2) * (1 + 4 * DOUBLE)
