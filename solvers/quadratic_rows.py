"""Which quadratic rows are convex, and as which second-order cone.

A row g(x) = x'Qx + a'x + c <= 0 is one of

    convex     Q is semidefinite
    cone       one product k f_1 f_2 of two affine factors that the bounds keep nonnegative exceeds
               a sum of squares (rotated cone), or one square does (norm cone)
    reverse    -Q is semidefinite: the feasible side is outside a convex set
    nonconvex  anything else

and the first two are {x : (A x + b) in a second-order cone}.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from solvers.standard_form import LocalQuadratic, QuadraticRow, StandardForm

Array = NDArray[np.float64]
Index = NDArray[np.int64]

EIGENVALUE_TOLERANCE = 1e-11


class Shape(StrEnum):
    """Kind of a quadratic row."""

    CONVEX = "convex"
    REVERSE = "reverse convex"
    NONCONVEX = "nonconvex"


@dataclass(frozen=True, eq=False)
class Cone:
    """(A x + b) lies in the second-order cone: its first entry is at least the norm of the rest.

    Attributes
    ----------
    A : array (m, k)
        Over the columns `index` (k,).
    b : array (m,)
    """

    A: Array
    b: Array
    index: Index


@dataclass(frozen=True, eq=False)
class Reading:
    """What a row is; `cone` is present when it is convex, `reason` when it is not."""

    shape: Shape
    cone: Cone | None = None
    reason: str = ""


def read_rows(form: StandardForm) -> tuple[Reading, ...]:
    """Classify the quadratic rows of a model.

    Rows that differ in nothing but their columns, a thousand cones of one family, are decided
    once: the answer depends on the numbers and on the bounds of the columns alone.
    """
    known: dict[tuple[object, ...], Reading] = {}
    found = []
    for row in form.quadratic:
        body = row.body
        arrays = (body.i, body.j, body.v, body.a, form.lower[body.index], form.upper[body.index])
        key = (row.lower, row.upper, body.constant, *(array.tobytes() for array in arrays))
        reading = known.get(key)
        if reading is None:
            reading = read_row(row, form)
            if reading.cone is not None:
                known[key] = reading
        elif reading.cone is not None:
            cone = reading.cone
            reading = Reading(reading.shape, Cone(cone.A, cone.b, body.index))
        found.append(reading)
    return tuple(found)


def read_row(row: QuadraticRow, form: StandardForm) -> Reading:
    """Classify one quadratic row of a model."""
    low, high = np.isfinite(row.lower), np.isfinite(row.upper)
    if low and high:
        return Reading(Shape.NONCONVEX, reason=f"{row.data.name} has two sides")
    g = row.body.shifted(1.0, row.upper) if high else row.body.shifted(-1.0, row.lower)
    product = _product_cone(g, form)
    if product is not None:
        return Reading(Shape.CONVEX, product)
    support = np.unique(g.i)
    q = _dense(g, support)
    eigenvalues = np.diag(q) if _is_diagonal(q) else np.linalg.eigvalsh(q)
    tolerance = EIGENVALUE_TOLERANCE * float(np.abs(eigenvalues).max())
    if eigenvalues.min() >= -tolerance:
        return Reading(Shape.CONVEX, _convex_cone(g, support, q))
    norm = _norm_cone(g, support, q, form)
    if norm is not None:
        return Reading(Shape.CONVEX, norm)
    if eigenvalues.max() <= tolerance:
        return Reading(Shape.REVERSE, reason=f"{row.data.name} is a reverse convex row")
    return Reading(
        Shape.NONCONVEX,
        reason=f"{row.data.name} is not convex (or a cone whose factors lack bounds >= 0)",
    )


def _dense(g: LocalQuadratic, support: Index) -> Array:
    """Q over some of its local positions."""
    at = np.full(len(g.index), -1)
    at[support] = np.arange(len(support))
    inside = (at[g.i] >= 0) & (at[g.j] >= 0)
    q = np.zeros((len(support), len(support)))
    q[at[g.i[inside]], at[g.j[inside]]] = g.v[inside]
    return q


def _is_diagonal(q: Array) -> bool:
    return np.count_nonzero(q) == np.count_nonzero(np.diag(q))


def _root(q: Array) -> Array:
    """L with L'L = q for a semidefinite q."""
    if _is_diagonal(q):
        diagonal = np.diag(q)
        return np.diag(np.sqrt(np.maximum(diagonal, 0.0)))[diagonal > 0]
    values, vectors = np.linalg.eigh(q)
    keep = values > EIGENVALUE_TOLERANCE * values[-1]
    return (vectors[:, keep] * np.sqrt(values[keep])).T


def _convex_cone(g: LocalQuadratic, support: Index, q: Array) -> Cone:
    """||Lx||^2 <= t with t = -(a'x + c); a plain norm bound when t is a positive constant."""
    root = _root(q)
    squares = np.zeros((len(root), len(g.index)))
    squares[:, support] = root
    if not g.a.any() and g.constant < 0:
        radius = np.sqrt(-g.constant)
        top = np.zeros((1, len(g.index)))
        return Cone(np.vstack([top, squares]), np.r_[radius, np.zeros(len(root))], g.index)
    t = -g.a[None, :]
    return Cone(
        np.vstack([t, t, 2 * squares]),
        np.r_[1 - g.constant, -1 - g.constant, np.zeros(len(root))],
        g.index,
    )


def _product_cone(g: LocalQuadratic, form: StandardForm) -> Cone | None:
    """Squares of the other variables at most -k f_1 f_2, both factors nonnegative."""
    counts = np.bincount(g.i, minlength=len(g.index))
    lone = (g.i < g.j) & (counts[g.i] == 1) & (counts[g.j] == 1)
    if np.count_nonzero(lone) != 1:
        return None
    at = int(np.flatnonzero(lone)[0])
    s, t, k = int(g.i[at]), int(g.j[at]), 2 * float(g.v[at])
    others = np.array([p for p in np.flatnonzero(counts) if p not in (s, t)], dtype=np.int64)
    linear = g.a.copy()
    linear[[s, t]] = 0.0
    linear[others] = 0.0
    if linear.any():
        return None
    completed = _complete_squares(_dense(g, others), g.a[others])
    if completed is None:
        return None
    root, shift = completed
    # k s t + a_s s + a_t t + c' = k (s + a_t / k)(t + a_s / k) + (c' - a_s a_t / k); what is left
    # over is one more square when it is positive, and no cone when it is negative.
    rest = g.constant - float(shift @ shift)
    needed = float(g.a[s] * g.a[t]) / k
    if rest - needed > 1e-12 * max(1.0, abs(rest), abs(needed)):
        root = np.vstack([root, np.zeros((1, root.shape[1]))])
        shift = np.append(shift, np.sqrt(rest - needed))
    elif rest - needed < -1e-12 * max(1.0, abs(rest), abs(needed)):
        return None
    shifts = float(g.a[t]) / k, float(g.a[s]) / k
    signs = _factor_signs((int(g.index[s]), int(g.index[t])), shifts, k, form)
    if signs is None:
        return None
    scale = np.sqrt(abs(k))
    A = np.zeros((2 + len(root), len(g.index)))
    A[0, [s, t]] = scale * signs[0], scale * signs[1]
    A[1, [s, t]] = scale * signs[0], -scale * signs[1]
    A[2:, others] = 2 * root
    first, second = (scale * sign * d for sign, d in zip(signs, shifts, strict=True))
    return Cone(A, np.r_[first + second, first - second, 2 * shift], g.index)


def _complete_squares(q: Array, a: Array) -> tuple[Array, Array] | None:
    """Root L and shift e with x'qx + a'x = ||Lx + e||^2 - ||e||^2; None if q or a does not fit."""
    if len(q) == 0:
        return np.zeros((0, 0)), np.zeros(0)
    smallest = np.diag(q).min() if _is_diagonal(q) else np.linalg.eigvalsh(q)[0]
    if smallest < -EIGENVALUE_TOLERANCE * np.abs(q).max():
        return None
    root = _root(q)
    if not a.any():
        return root, np.zeros(len(root))
    shift = np.asarray(np.linalg.lstsq(root.T, a / 2, rcond=None)[0])
    fits = np.abs(root.T @ shift - a / 2).max() <= 1e-12 * max(1.0, np.abs(a).max())
    return (root, shift) if fits else None


def _factor_signs(
    columns: tuple[int, int], shifts: tuple[float, float], k: float, form: StandardForm
) -> tuple[float, float] | None:
    """Signs that make both factors of -k f_1 f_2 >= 0 nonnegative within the bounds."""
    pairs = list(zip(columns, shifts, strict=True))
    up = [form.lower[column] + shift >= -1e-12 for column, shift in pairs]
    down = [form.upper[column] + shift <= 1e-12 for column, shift in pairs]
    if k < 0:
        if all(up):
            return 1.0, 1.0
        return (-1.0, -1.0) if all(down) else None
    if up[0] and down[1]:
        return 1.0, -1.0
    return (-1.0, 1.0) if down[0] and up[1] else None


def _norm_cone(g: LocalQuadratic, support: Index, q: Array, form: StandardForm) -> Cone | None:
    """||Lx|| <= sqrt(k) t for one variable t that the bounds keep on one side of zero."""
    negative = np.flatnonzero(np.diag(q) < 0)
    if len(negative) != 1 or g.a.any() or g.constant != 0:
        return None
    j = int(negative[0])
    others = np.array([p for p in range(len(support)) if p != j], dtype=np.int64)
    if np.count_nonzero(q[j]) != 1 or len(others) == 0:
        return None
    completed = _complete_squares(q[np.ix_(others, others)], np.zeros(len(others)))
    if completed is None:
        return None
    column = int(g.index[support[j]])
    if form.lower[column] >= 0:
        sign = 1.0
    elif form.upper[column] <= 0:
        sign = -1.0
    else:
        return None
    root = completed[0]
    A = np.zeros((1 + len(root), len(g.index)))
    A[0, support[j]] = sign * np.sqrt(-q[j, j])
    A[1:, support[others]] = root
    return Cone(A, np.zeros(len(A)), g.index)
