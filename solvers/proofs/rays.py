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
from tightmargin.solvers.proofs.feasible_point import proven_point
from tightmargin.solvers.proofs.statement import SEAL, FeasiblePoint, Unbounded
from tightmargin.solvers.standard_form.standard_form import PsdRow, QuadraticRow, StandardForm

ORDER_LIMIT = 60


RAY = "a ray that no row ever stops and along which the objective falls, in exact arithmetic"
EXACT_POINT = "from a point that is feasible in exact arithmetic"
NEAR_POINT = "from a point that misses a row by {:.1e} of its largest coefficient"


def proven_unbounded(
    form: StandardForm, point: FeasiblePoint, ray: Sequence[int]
) -> Unbounded | None:
    """A model whose objective falls along a ray that starts at a point; None where it may not.

    Parameters
    ----------
    point : FeasiblePoint
        Of this model.
    ray : sequence of int, length n
        A direction; its length does not matter, so that whole numbers are no restriction.
    """
    if point.subject is not form or point.x is None or not _falls(form, point.x, ray):
        return None
    eps = point.eps
    if point.exact and _bends(form, ray) and proven_point(form, point.x) is None:
        return None  # its coordinates are no doubles, and what bends along the ray asks for them
    words = f"{RAY}, {NEAR_POINT.format(eps) if eps else EXACT_POINT}"
    return Unbounded(subject=form, words=words, seal=SEAL, x=point.x, ray=as_floats(ray), eps=eps)


def as_floats(ray: Sequence[int]) -> Array:
    """A direction as floats, exactly where its numbers fit in 53 bits, else to rounding."""
    largest = max(map(abs, ray), default=0)
    if largest < 2**53:
        return np.array(ray, dtype=np.float64)
    return np.array([number / largest for number in ray])


def _falls(form: StandardForm, point: Array, ray: Sequence[int]) -> bool:
    """Whether no row ever stops the ray, from a point that is feasible, and the objective falls."""
    if form.nonlinear or not _stays_in_bounds(form, ray) or not _stays_in_linear_rows(form, ray):
        return False
    lost = [form.objective.lost, *(row.lost for row in form.quadratic)]
    if any(ray[j] for numbers in lost for key in numbers for j in key):
        return False  # the coefficients along the ray are other ones
    if not all(_stays_in_quadratic_row(row, point, ray) for row in form.quadratic):
        return False
    if not all(_stays_semidefinite(row, ray) for row in form.psd):
        return False
    Q = form.objective.Q.tocoo()
    curvature, slope = _along(Q.row, Q.col, Q.data, form.objective.a, point.tolist(), ray)
    return curvature < 0 or (curvature == 0 and slope < 0)


def _bends(form: StandardForm, ray: Sequence[int]) -> bool:
    """Whether a slope along the ray depends on the point: Q d is not 0 for some row or the goal."""
    Q = form.objective.Q.tocoo()
    parts = [(Q.row, Q.col, Q.data, list(ray))]
    for row in form.quadratic:
        body, at = row.body, row.body.index.tolist()
        parts.append((body.i, body.j, body.v, [ray[k] for k in at]))
    return any(any(_product(i, j, dyadic(v), d)) for i, j, v, d in parts)


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
    return is_semidefinite(_matrix(row, [Fraction(d) for d in ray]))


def _matrix(row: PsdRow, x: Sequence[Fraction]) -> list[list[Fraction]]:
    """F x as a symmetric matrix."""
    F, k = row.F, row.order
    matrix = [[Fraction(0)] * k for _ in range(k)]
    for entry, (i, j) in enumerate(lower_pairs(k)):
        span = slice(F.indptr[entry], F.indptr[entry + 1])
        terms = zip(F.data[span].tolist(), F.indices[span].tolist(), strict=True)
        value = sum((Fraction(a) * x[c] for a, c in terms), Fraction(0))
        matrix[i][j] = matrix[j][i] = value
    return matrix
