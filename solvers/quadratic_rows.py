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
import scipy.sparse as sp
from numpy.typing import NDArray

from solvers.standard_form import Quadratic, QuadraticRow, StandardForm

Array = NDArray[np.float64]

EIGENVALUE_TOLERANCE = 1e-11


class Shape(StrEnum):
    """Kind of a quadratic row."""

    CONVEX = "convex"
    REVERSE = "reverse convex"
    NONCONVEX = "nonconvex"


@dataclass(frozen=True, eq=False)
class Cone:
    """(A x + b) lies in the second-order cone: its first entry is at least the norm of the rest."""

    A: sp.csr_matrix
    b: Array


@dataclass(frozen=True, eq=False)
class Reading:
    """What a row is; `cone` is present when it is convex, `reason` when it is not."""

    shape: Shape
    cone: Cone | None = None
    reason: str = ""


def read_row(row: QuadraticRow, form: StandardForm) -> Reading:
    """Classify one quadratic row of a model."""
    low, high = np.isfinite(row.lower), np.isfinite(row.upper)
    if low and high:
        return Reading(Shape.NONCONVEX, reason=f"{row.data.name} has two sides")
    sign = 1.0 if high else -1.0
    side = row.upper if high else row.lower
    body = Quadratic(sign * row.body.Q, sign * row.body.a, sign * (row.body.constant - side))
    return _read(body, form, row.data.name)


def _read(g: Quadratic, form: StandardForm, name: str) -> Reading:
    support = np.unique(g.Q.nonzero()[0])
    q = g.Q[support][:, support].toarray()
    eigenvalues = np.linalg.eigvalsh(q)
    tolerance = EIGENVALUE_TOLERANCE * np.abs(eigenvalues).max(initial=1e-300)
    if eigenvalues[0] >= -tolerance:
        return Reading(Shape.CONVEX, _convex_cone(g, support, q))
    cone = _product_cone(g, support, q, form) or _norm_cone(g, support, q, form)
    if cone is not None:
        return Reading(Shape.CONVEX, cone)
    if eigenvalues[-1] <= tolerance:
        return Reading(Shape.REVERSE, reason=f"{name} is a reverse convex row")
    return Reading(
        Shape.NONCONVEX,
        reason=f"{name} is not convex (or a cone whose factors lack bounds >= 0)",
    )


def _root(q: Array) -> Array:
    """L with L'L = q for a semidefinite q."""
    if np.count_nonzero(q - np.diag(np.diag(q))) == 0:
        diagonal = np.diag(q)
        return np.diag(np.sqrt(np.maximum(diagonal, 0.0)))[diagonal > 0]
    values, vectors = np.linalg.eigh(q)
    keep = values > EIGENVALUE_TOLERANCE * values[-1]
    return (vectors[:, keep] * np.sqrt(values[keep])).T


def _over_columns(matrix: Array, support: NDArray[np.intp], n: int) -> sp.csr_matrix:
    wide = sp.lil_matrix((len(matrix), n))
    if len(matrix):
        wide[:, support] = matrix
    return wide.tocsr()


def _convex_cone(g: Quadratic, support: NDArray[np.intp], q: Array) -> Cone:
    """||Lx||^2 <= t with t = -(a'x + c); a plain norm bound when t is a positive constant."""
    n = len(g.a)
    squares = _over_columns(_root(q), support, n)
    if not g.a.any() and g.constant < 0:
        radius = np.sqrt(-g.constant)
        return Cone(
            sp.vstack([sp.csr_matrix((1, n)), squares]).tocsr(),
            np.r_[radius, np.zeros(squares.shape[0])],
        )
    t = sp.csr_matrix(-g.a[None, :])
    return Cone(
        sp.vstack([t, t, 2 * squares]).tocsr(),
        np.r_[1 - g.constant, -1 - g.constant, np.zeros(squares.shape[0])],
    )


def _product_cone(
    g: Quadratic, support: NDArray[np.intp], q: Array, form: StandardForm
) -> Cone | None:
    """Squares of the other variables at most -k f_1 f_2, both factors nonnegative."""
    pairs = [
        (i, j)
        for i, j in zip(*np.nonzero(np.triu(q, 1)), strict=True)
        if q[i, i] == 0 and q[j, j] == 0
        and np.count_nonzero(q[i]) == 1 and np.count_nonzero(q[j]) == 1
    ]  # fmt: skip
    if len(pairs) != 1:
        return None
    (i, j) = pairs[0]
    s, t, k = int(support[i]), int(support[j]), 2 * float(q[i, j])
    others = np.array([m for m in range(len(support)) if m not in (i, j)], dtype=int)
    completed = _complete_squares(q[np.ix_(others, others)], g.a[support[others]])
    linear = g.a.copy()
    linear[[s, t]] = 0.0
    linear[support[others]] = 0.0
    if completed is None or linear.any():
        return None
    root, shift = completed
    # k s t + a_s s + a_t t + c' = k (s + a_t / k)(t + a_s / k) needs c' = a_s a_t / k.
    rest = g.constant - float(shift @ shift)
    needed = g.a[s] * g.a[t] / k
    if abs(rest - needed) > 1e-12 * max(1.0, abs(rest), abs(needed)):
        return None
    shifts = {s: g.a[t] / k, t: g.a[s] / k}
    signs = _factor_signs(shifts, k, form)
    if signs is None:
        return None
    n, squares = len(g.a), _over_columns(root, support[others], len(g.a))
    scale = np.sqrt(abs(k))
    first, second = (
        (sp.csr_matrix(([scale * sign], ([0], [v])), shape=(1, n)), scale * sign * shifts[v])
        for v, sign in zip((s, t), signs, strict=True)
    )
    return Cone(
        sp.vstack([first[0] + second[0], first[0] - second[0], 2 * squares]).tocsr(),
        np.r_[first[1] + second[1], first[1] - second[1], 2 * shift],
    )


def _complete_squares(q: Array, a: Array) -> tuple[Array, Array] | None:
    """Root L and shift e with x'qx + a'x = ||Lx + e||^2 - ||e||^2; None if q or a does not fit."""
    if len(q) == 0:
        return np.zeros((0, 0)), np.zeros(0)
    if np.linalg.eigvalsh(q)[0] < -EIGENVALUE_TOLERANCE * np.abs(q).max():
        return None
    root = _root(q)
    shift, *_ = np.linalg.lstsq(root.T, a / 2, rcond=None)
    fits = np.abs(root.T @ shift - a / 2).max() <= 1e-12 * max(1.0, np.abs(a).max())
    return (root, np.asarray(shift)) if fits else None


def _factor_signs(
    shifts: dict[int, float], k: float, form: StandardForm
) -> tuple[float, float] | None:
    """Signs that make both factors of -k f_1 f_2 >= 0 nonnegative within the bounds."""
    (s, ds), (t, dt) = shifts.items()
    up = {v: form.lower[v] + d >= -1e-12 for v, d in ((s, ds), (t, dt))}
    down = {v: form.upper[v] + d <= 1e-12 for v, d in ((s, ds), (t, dt))}
    if k < 0:
        if up[s] and up[t]:
            return 1.0, 1.0
        return (-1.0, -1.0) if down[s] and down[t] else None
    if up[s] and down[t]:
        return 1.0, -1.0
    return (-1.0, 1.0) if down[s] and up[t] else None


def _norm_cone(
    g: Quadratic, support: NDArray[np.intp], q: Array, form: StandardForm
) -> Cone | None:
    """||Lx|| <= sqrt(k) t for one variable t that the bounds keep on one side of zero."""
    negative = np.flatnonzero(np.diag(q) < 0)
    if len(negative) != 1 or g.a.any() or g.constant != 0:
        return None
    j = int(negative[0])
    others = np.array([m for m in range(len(support)) if m != j], dtype=int)
    if np.count_nonzero(q[j]) != 1 or len(others) == 0:
        return None
    rest = q[np.ix_(others, others)]
    if np.linalg.eigvalsh(rest)[0] < -EIGENVALUE_TOLERANCE * np.abs(rest).max():
        return None
    t = int(support[j])
    if form.lower[t] >= 0:
        sign = 1.0
    elif form.upper[t] <= 0:
        sign = -1.0
    else:
        return None
    n = len(g.a)
    top = sp.csr_matrix(([sign * np.sqrt(-q[j, j])], ([0], [t])), shape=(1, n))
    squares = _over_columns(_root(rest), support[others], n)
    return Cone(sp.vstack([top, squares]).tocsr(), np.zeros(1 + squares.shape[0]))
