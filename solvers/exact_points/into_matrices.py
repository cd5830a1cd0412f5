"""Ways into semidefinite rows that cost no solve, from a point on or a hair outside their border.

A solver ends on the border of the semidefinite cone, so that rounding decides on which side. With
F_k(x) + g_k the matrices of the rows, a direction d with F_k d = I adds to every eigenvalue; where
equations forbid it, as a trace of 1 does, one with F_k d = c_k I - F_k(x) - g_k leads towards a
multiple of the identity: a convex combination with it. d solves that in the least-squares sense
together with A d = 0 for the equations, and need not be exact: candidates are proven elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.semidefinite import symmetric
from tightmargin.solvers.standard_form.standard_form import StandardForm

PRODUCTS = 300  # with the rows
CLOSE = 1e-12
LENGTHS = (1.0, 8.0, 64.0, 512.0, 4096.0)  # over what eigenvalues and their rounding ask for


def into_matrices(form: StandardForm, x: Array) -> Iterator[tuple[Array, Array]]:
    """Directions (n,) in which no eigenvalue falls, and the steps to try, short ones first."""
    short, size = _shortest(form, x)
    if not 0 < size < np.inf:
        return
    equal = np.isfinite(form.row_lower) & (form.row_lower == form.row_upper)
    movable = ~form.integer & (form.lower < form.upper)
    body = sp.vstack([*(row.F for row in form.psd), form.A[equal]]).tocsr()
    body = body.multiply(movable).tocsr()
    lines = 1 / _norms(body)
    body = (sp.diags(lines) @ body).tocsc()
    columns = 1 / _norms(body.T.tocsr())
    balanced = body @ sp.diags(columns)
    for inside in (size * _identities(form), _middles(form, x)):
        right = lines * np.r_[inside, np.zeros(int(equal.sum()))]
        found = lsqr(balanced, right, atol=CLOSE, btol=CLOSE, iter_lim=PRODUCTS)[0]
        if np.isfinite(found).all() and found.any():
            yield columns * found, short / size * np.array(LENGTHS)


def _norms(matrix: sp.csr_matrix) -> Array:
    """Euclidean norms of the rows, 1 of those of zeros."""
    found = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return np.where(found > 0, found, 1.0)


def _shortest(form: StandardForm, x: Array) -> tuple[float, float]:
    """What has to be added to the least eigenvalue, with its rounding, and the largest entry."""
    short, largest = 0.0, 0.0
    for row in form.psd:
        matrix = symmetric(row.F @ x + row.g)
        size = float(np.abs(matrix).max())
        if not np.isfinite(size):
            return np.inf, np.inf
        least = float(np.linalg.eigvalsh(matrix)[0])
        short = max(short, row.order**2 * ROUNDOFF * size - 2 * min(least, 0.0))
        largest = max(largest, size)
    return short, largest


def _identities(form: StandardForm) -> Array:
    return np.concatenate([_diagonal(row.order).astype(float) for row in form.psd])


def _middles(form: StandardForm, x: Array) -> Array:
    """From each matrix to the multiple of the identity that has its trace."""
    parts = []
    for row in form.psd:
        entries, own = row.F @ x + row.g, _diagonal(row.order)
        parts.append(np.where(own, entries[own].mean(), 0.0) - entries)
    return np.concatenate(parts)


def _diagonal(order: int) -> Array:
    i, j = np.tril_indices(order)
    return np.asarray(i == j)
