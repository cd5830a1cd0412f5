"""A lower bound from multipliers that no repair makes stationary, as long as x is bounded.

For z in the dual cone and any x^ let r = P x^ + q + A'z be what is left of stationarity. Weak
duality with r kept gives

    f(x) >= -1/2 x^'P x^ - b'z + offset + r'x     for every feasible x,

and r'x >= -sum_j |r_j| X_j where |x_j| <= X_j at every point that matters. With S the dual slack of
a semidefinite program this is the safe bound  b'y + min(0, lambda_min(S)) trace(X) of Jansson,
Chaykin & Keil (Rigorous error bounds for the optimal value in semidefinite programming, SIAM
Journal on Numerical Analysis 46, 2007): it holds at any accuracy, that of a first-order method too.

X is derived, not assumed: only points no worse than a known value f^ matter, because the bound is
at most f^. Their limits follow from the bounds of the variables, from an objective whose terms are
bounded below, from linear rows, and from the minors of the cones: |M_ij| <= sqrt(M_ii M_jj), and
no entry of a second-order cone exceeds the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from solvers.classify import Classification
from solvers.conic_form import ConicForm
from solvers.standard_form import StandardForm

Array = NDArray[np.float64]

METHOD = (
    "weak duality at the given multipliers, what they leave over proven limits of the variables"
)
ROUNDS = 6
OUTWARD = 1 + 1e-12


@dataclass
class _Limits:
    """Intervals of the columns, narrowed step by step."""

    low: Array
    high: Array

    def rows(self, A: sp.csr_matrix) -> tuple[Array, Array]:
        """Least and largest value of A x; infinite where a column without a limit occurs."""
        up, down = A.maximum(0), A.minimum(0)
        return _product(up, self.low) + _product(down, self.high), (
            _product(up, self.high) + _product(down, self.low)
        )

    def narrow(self, columns: NDArray[Any], low: Array, high: Array) -> None:
        """Intersect, a little outwards."""
        pad = 1e-12 * np.maximum(np.abs(low), np.abs(high), where=np.isfinite(low) &
                                 np.isfinite(high), out=np.zeros(len(low)))  # fmt: skip
        np.maximum.at(self.low, columns, np.where(np.isfinite(low), low - pad, -np.inf))
        np.minimum.at(self.high, columns, np.where(np.isfinite(high), high + pad, np.inf))


def _product(A: sp.csr_matrix, x: Array) -> Array:
    """A x where infinite entries of x count only in columns that occur."""
    finite = np.where(np.isfinite(x), x, 0.0)
    endless = np.where(np.isfinite(x), 0.0, np.sign(x))
    sums = A @ finite
    which = abs(A) @ np.abs(endless)
    signs = A @ endless
    return np.where(which > 0, np.where(signs > 0, np.inf, -np.inf), sums)


def limits_of_variables(form: StandardForm, classification: Classification, known: float) -> Array:
    """X (n,) with |x_j| <= X_j at every feasible x of objective at most `known`; inf if unknown."""
    limits = _Limits(form.lower.copy(), form.upper.copy())
    for _ in range(ROUNDS):
        before = limits.low.copy(), limits.high.copy()
        _by_matrices(form, limits)
        _by_objective(form, limits, known)
        _by_rows(form.A, form.row_lower, form.row_upper, limits)
        _by_cones(form, classification, limits)
        if np.array_equal(before[0], limits.low) and np.array_equal(before[1], limits.high):
            break
    return np.maximum(np.abs(limits.low), np.abs(limits.high))


def _by_rows(A: sp.csr_matrix, lower: Array, upper: Array, limits: _Limits) -> None:
    """a_j x_j <= side - the least of the other terms, and the other way round."""
    entries = A.tocoo()
    i, j, a = entries.row, entries.col, entries.data
    with np.errstate(invalid="ignore"):
        least = np.where(a > 0, a * limits.low[j], a * limits.high[j])
        most = np.where(a > 0, a * limits.high[j], a * limits.low[j])
    high = upper[i] - _others(least, i, A.shape[0], -np.inf)
    low = lower[i] - _others(most, i, A.shape[0], np.inf)
    limits.narrow(j, np.where(a > 0, low / a, high / a), np.where(a > 0, high / a, low / a))


def _others(terms: Array, rows: Array, height: int, endless: float) -> Array:
    """Sum of the other terms of each term's row; `endless` when one of them is."""
    finite = np.where(np.isfinite(terms), terms, 0.0)
    sums = np.bincount(rows, finite, height)
    open_terms = np.bincount(rows, ~np.isfinite(terms), height)
    rest = open_terms[rows] - ~np.isfinite(terms)
    # What is subtracted again was rounded; widen by that.
    size = 1e-14 * np.bincount(rows, np.abs(finite), height)[rows]
    return np.where(rest > 0, endless, sums[rows] - finite + np.sign(endless) * size)


def _by_objective(form: StandardForm, limits: _Limits, known: float) -> None:
    """Each term is what `known` leaves beside the least of the others; squares are at least 0."""
    goal = form.objective
    right = np.array([known - goal.constant + 1e-12 * abs(known)])
    row = sp.csr_matrix(goal.a[None, :])
    row.eliminate_zeros()
    _by_rows(row, np.array([-np.inf]), right, limits)
    Q = goal.Q
    diagonal = Q.diagonal()
    if Q.nnz and Q.nnz == np.count_nonzero(diagonal) and (diagonal >= 0).all():
        least = float(limits.rows(row)[0][0])
        squared = np.flatnonzero(diagonal)
        if np.isfinite(least):
            radius = np.sqrt(max(float(right[0]) - least, 0.0) / diagonal[squared]) * OUTWARD
            limits.narrow(squared, -radius, radius)


def _by_matrices(form: StandardForm, limits: _Limits) -> None:
    """Diagonal entries are at least 0, and M_ij^2 <= M_ii M_jj."""
    for psd in form.psd:
        i, j = np.tril_indices(psd.order)
        F, diagonal = psd.F.tocsr(), np.flatnonzero(i == j)
        _by_rows(F[diagonal], -psd.g[diagonal], np.full(len(diagonal), np.inf), limits)
        top = np.maximum(limits.rows(F)[1] + psd.g, 0.0)[diagonal]
        with np.errstate(invalid="ignore"):
            size = np.sqrt(top[i] * top[j]) * OUTWARD
        size = np.where(np.isnan(size), np.inf, size)
        _by_rows(F, -size - psd.g, size - psd.g, limits)


def _by_cones(form: StandardForm, classification: Classification, limits: _Limits) -> None:
    for row, reading in zip(form.quadratic, classification.readings, strict=True):
        if reading.cone is None:
            continue
        cone = reading.cone
        low, high = limits.low[cone.index], limits.high[cone.index]
        inner = _Limits(low, high)
        A = sp.csr_matrix(cone.A)
        top = float(inner.rows(A[:1])[1][0]) + float(cone.b[0])
        if np.isfinite(top):
            size = np.full(len(cone.b) - 1, max(top, 0.0) * OUTWARD)
            _by_rows(A[1:], -size - cone.b[1:], size - cone.b[1:], inner)
            limits.narrow(row.body.index, inner.low, inner.high)


def safe_bound(conic: ConicForm, x: Array, z: Array, reach: Array) -> float | None:
    """The bound of the module's docstring for z in the dual cone; None when it is infinite."""
    r = conic.P @ x + conic.q + conic.A.T @ z
    size = np.abs(conic.q) + abs(conic.P) @ np.abs(x) + abs(conic.A).T @ np.abs(z)
    r = np.abs(r) + 4e-15 * size
    if not np.isfinite(reach[r > 0]).all():
        return None
    quadratic = 0.5 * float(x @ (conic.P @ x))
    terms = conic.b * z
    magnitude = abs(quadratic) + float(np.abs(terms).sum()) + abs(conic.offset)
    lost = float(r[r > 0] @ reach[r > 0])
    return -quadratic - float(terms.sum()) + conic.offset - 1e-14 * magnitude - lost
