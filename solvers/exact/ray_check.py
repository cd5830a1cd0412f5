"""Whether a point and a ray prove a model unbounded below, decided in exact arithmetic.

Along x + t d every part of a model is a polynomial in t of degree two, whose two coefficients the
floating-point data and d determine exactly. A row that holds at x holds for all t >= 0 when neither
coefficient leads across its side; the objective falls without end when its leading one is negative.
This needs no convexity: x may be any feasible point, of a reverse convex row too.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.semidefinite import lower_pairs
from tightmargin.solvers.exact_arithmetic import (
    Dyadic,
    dot_integers,
    dyadic,
    is_semidefinite,
    scaled,
)
from tightmargin.solvers.standard_form.standard_form import PsdRow, QuadraticRow, StandardForm

ORDER_LIMIT = 60


def proves_unbounded(form: StandardForm, point: Array, ray: Sequence[int]) -> bool:
    """Whether no row ever stops the ray, from a point that is feasible, and the objective falls.

    Parameters
    ----------
    point : array (n,)
        Taken to be feasible; integer columns hold whole numbers.
    ray : sequence of int, length n
        A direction; its length does not matter, so that whole numbers are no restriction.
    """
    if form.nonlinear or not _stays_in_bounds(form, ray) or not _stays_in_linear_rows(form, ray):
        return False
    if not all(_stays_in_quadratic_row(row, point, ray) for row in form.quadratic):
        return False
    if not all(_stays_semidefinite(row, ray) for row in form.psd):
        return False
    Q = form.objective.Q.tocoo()
    curvature, slope = _along(Q.row, Q.col, Q.data, form.objective.a, point.tolist(), ray)
    return curvature < 0 or (curvature == 0 and slope < 0)


def is_exactly_feasible(form: StandardForm, point: Array) -> bool:
    """Whether a point meets every row, bound and integrality without any tolerance."""
    if form.nonlinear or not np.isfinite(point).all():
        return False
    inside = (form.lower <= point) & (point <= form.upper)
    whole = ~form.integer | (point == np.round(point))
    if not (inside & whole).all():
        return False
    x = dyadic(point)
    values, exponent = _row_products(form, x.integers)
    sides = zip(form.row_lower.tolist(), form.row_upper.tolist(), strict=True)
    if not all(
        _between(scaled(value, exponent + x.exponent), low, high)
        for value, (low, high) in zip(values, sides, strict=True)
    ):
        return False
    exact = [x.fraction(k) for k in range(form.n)]
    if not all(_between(_value(row, exact), row.lower, row.upper) for row in form.quadratic):
        return False
    return all(
        row.order <= ORDER_LIMIT and is_semidefinite(_matrix(row, exact, constant=True))
        for row in form.psd
    )


def _stays_in_bounds(form: StandardForm, ray: Sequence[int]) -> bool:
    sign = np.array([(d > 0) - (d < 0) for d in ray])
    stopped = ((sign < 0) & np.isfinite(form.lower)) | ((sign > 0) & np.isfinite(form.upper))
    return not stopped.any()


def _row_products(form: StandardForm, numbers: Sequence[int]) -> tuple[list[int], int]:
    """A times whole numbers, as integers and their exponent."""
    a = dyadic(form.A.data)
    starts, columns = form.A.indptr.tolist(), form.A.indices.tolist()
    found = []
    for start, end in pairwise(starts):
        entries = [numbers[j] for j in columns[start:end]]
        found.append(dot_integers(a.integers[start:end], entries))
    return found, a.exponent


def _stays_in_linear_rows(form: StandardForm, ray: Sequence[int]) -> bool:
    products, _ = _row_products(form, ray)
    sign = np.array([(p > 0) - (p < 0) for p in products], dtype=int)
    stopped = (sign < 0) & np.isfinite(form.row_lower)
    return not (stopped | ((sign > 0) & np.isfinite(form.row_upper))).any()


def _stays_in_quadratic_row(row: QuadraticRow, point: Array, ray: Sequence[int]) -> bool:
    body, at = row.body, row.body.index.tolist()
    curvature, slope = _along(
        body.i, body.j, body.v, body.a, point[body.index].tolist(), [ray[k] for k in at]
    )
    if np.isfinite(row.upper) and (curvature > 0 or slope > 0):
        return False
    return not (np.isfinite(row.lower) and (curvature < 0 or slope < 0))


def _along(
    i: NDArray, j: NDArray, v: Array, a: Array, x: Sequence[float], d: Sequence[int]
) -> tuple[Fraction, Fraction]:
    """Coefficients of t^2 and t in x'Qx + a'x along x + t d."""
    q, linear = dyadic(v), dyadic(a)
    product = _product(i, j, q, d)
    curvature = scaled(dot_integers(d, product), q.exponent)
    slope = scaled(dot_integers(linear.integers, d), linear.exponent)
    bend = sum((p * Fraction(at) for p, at in zip(product, x, strict=True) if p), Fraction(0))
    return curvature, slope + 2 * bend * scaled(1, q.exponent)


def _product(i: NDArray, j: NDArray, q: Dyadic, d: Sequence[int]) -> list[int]:
    """Q d in units of the exponent of q."""
    found = [0] * len(d)
    for row, column, value in zip(i.tolist(), j.tolist(), q.integers, strict=True):
        found[row] += value * d[column]
    return found


def _stays_semidefinite(row: PsdRow, ray: Sequence[int]) -> bool:
    if row.order > ORDER_LIMIT:
        return False
    return is_semidefinite(_matrix(row, [Fraction(d) for d in ray], constant=False))


def _matrix(row: PsdRow, x: Sequence[Fraction], *, constant: bool) -> list[list[Fraction]]:
    """F x, or F x + g, as a symmetric matrix."""
    F, k = row.F, row.order
    matrix = [[Fraction(0)] * k for _ in range(k)]
    for entry, (i, j) in enumerate(lower_pairs(k)):
        span = slice(F.indptr[entry], F.indptr[entry + 1])
        terms = zip(F.data[span].tolist(), F.indices[span].tolist(), strict=True)
        value = sum((Fraction(a) * x[c] for a, c in terms), Fraction(0))
        value += Fraction(float(row.g[entry])) if constant else 0
        matrix[i][j] = matrix[j][i] = value
    return matrix


def _value(row: QuadraticRow, x: Sequence[Fraction]) -> Fraction:
    body = row.body
    y = [x[k] for k in body.index.tolist()]
    squares = zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
    total = Fraction(body.constant) + sum(Fraction(v) * y[i] * y[j] for i, j, v in squares)
    return total + sum(Fraction(a) * z for a, z in zip(body.a.tolist(), y, strict=True))


def _between(value: Fraction, low: float, high: float) -> bool:
    above = not np.isfinite(low) or value >= Fraction(low)
    return above and (not np.isfinite(high) or value <= Fraction(high))
