"""Equations of the matrix A'S A + C behind a repair, where a few columns of A are nearly full.

A model over n points has a row for each of them, in which the few columns of its hyperplane stand
beside a slack of the row's own. In A'S A the slacks alone are a matrix that is diagonal, or nearly
so; a factorisation that orders rows by itself takes a hundred times as long as to eliminate them
first and to solve what is left, a small dense system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve
from scipy.sparse.linalg import splu

from tightmargin.formulations.data.arrays import Array

DENSE_LIMIT = 5000
FULL = 0.2  # of the rows: from so many entries on a column counts as full
FULL_LIMIT = 500  # of such columns
SHIFT = 1e-13


@dataclass(frozen=True, eq=False)
class NormalMatrix:
    """A'S A + C, not computed.

    Attributes
    ----------
    A : csc_matrix (m, n)
    scaled : csr_matrix (m, m)
        S, symmetric and semidefinite.
    curvature : csc_matrix (n, n)
        C.
    """

    A: sp.csc_matrix
    scaled: sp.csr_matrix
    curvature: sp.csc_matrix

    @cached_property
    def full(self) -> NDArray[np.bool_]:
        """Which columns of A are full; none where they are too many."""
        count = np.diff(self.A.indptr)
        found = count > max(FULL * self.A.shape[0], 1.0)
        return found if 0 < found.sum() <= FULL_LIMIT else np.zeros(len(count), dtype=bool)

    def times(self, v: Array) -> Array:
        """Product with a vector."""
        product = self.A.T @ (self.scaled @ (self.A @ v))
        return np.asarray(product + self.curvature @ v if self.curvature.nnz else product)

    def sparse(self) -> sp.csc_matrix:
        """The matrix itself."""
        product = (self.A.T @ (self.scaled @ self.A)).tocsc()
        return product + self.curvature if self.curvature.nnz else product


def solved(normal: NormalMatrix, target: Array) -> Array:
    """Solve a semidefinite, badly scaled system: diagonal scaling, a tiny shift, refinement."""
    whole: _Parts | sp.csc_matrix = _split(normal) if normal.full.any() else normal.sparse()
    diagonal = whole.diagonal()
    largest = float(diagonal.max(initial=0.0))
    if not largest > 0:  # multipliers that are all zero: nothing can be moved
        return np.zeros(len(target))
    scale = 1 / np.sqrt(np.maximum(diagonal, 1e-30 * largest))
    right = scale * target
    apply_inverse: Callable[[Array], Array]
    if isinstance(whole, _Parts):
        apply_inverse = whole.inverse(scale)

        def times(v: Array) -> Array:
            return np.asarray(scale * normal.times(scale * v))
    else:
        balanced = (sp.diags(scale) @ whole @ sp.diags(scale)).tocsc()
        apply_inverse = _factorised(balanced + SHIFT * sp.identity(len(scale), format="csc"))

        def times(v: Array) -> Array:
            return np.asarray(balanced @ v)

    solution = apply_inverse(right)
    for _ in range(3):
        solution = solution + apply_inverse(right - times(solution))
    return np.asarray(scale * solution)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The matrix by full columns, which come last, and the others.

    Attributes
    ----------
    full : array of bool (n,)
    corner : csc_matrix
        Of the others among themselves.
    border : array
        Of the others beside the full ones.
    core : array
        Of the full ones among themselves.
    """

    full: NDArray[np.bool_]
    corner: sp.csc_matrix
    border: Array
    core: Array

    def diagonal(self) -> Array:
        """Diagonal of the whole matrix."""
        found = np.zeros(len(self.full))
        found[~self.full], found[self.full] = self.corner.diagonal(), np.diag(self.core)
        return found

    def inverse(self, scale: Array) -> Callable[[Array], Array]:
        """Multiply with the inverse of the matrix between two scales, its diagonal shifted."""
        outer, inner = scale[~self.full], scale[self.full]
        by_outer = sp.diags(outer)
        corner = (by_outer @ self.corner @ by_outer).tocsc()
        apply_corner = _factorised(corner + SHIFT * sp.identity(len(outer), format="csc"))
        border = outer[:, None] * self.border * inner
        eliminated = apply_corner(border) if len(outer) else border
        core = self.core * np.outer(inner, inner) + SHIFT * np.eye(len(inner))
        factors = lu_factor(core - border.T @ eliminated, check_finite=False)

        def apply(right: Array) -> Array:
            found = np.empty(len(right))
            first = apply_corner(right[~self.full]) if len(outer) else right[~self.full]
            rest = right[self.full] - border.T @ first
            found[self.full] = lu_solve(factors, rest, check_finite=False)
            found[~self.full] = first - eliminated @ found[self.full]
            return found

        return apply


def _split(normal: NormalMatrix) -> _Parts:
    full, C = normal.full, normal.curvature
    dense, others = normal.A[:, full].toarray(), normal.A[:, ~full]
    scaled = normal.scaled @ dense
    corner = (others.T @ (normal.scaled @ others)).tocsc()
    border, core = others.T @ scaled, dense.T @ scaled
    if C.nnz:
        corner = (corner + C[~full][:, ~full]).tocsc()
        border = border + C[~full][:, full].toarray()
        core = core + C[full][:, full].toarray()
    return _Parts(full, corner, np.asarray(border), np.asarray(core))


def _factorised(matrix: sp.csc_matrix) -> Callable[[Array], Array]:
    n = matrix.shape[0]
    diagonal = matrix.diagonal()
    if matrix.nnz == np.count_nonzero(diagonal):
        return lambda right: (right.T / diagonal).T
    if n <= DENSE_LIMIT and matrix.nnz > 0.1 * n * n:
        try:
            factor = cho_factor(matrix.toarray(), overwrite_a=True, check_finite=False)
        except LinAlgError:  # indefinite by rounding: LU below does not mind
            return splu(matrix).solve
        return lambda right: cho_solve(factor, right, check_finite=False)
    # The default ordering is for unsymmetric matrices and fills up to ten times as much.
    symmetric = splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=1e-3, options={"SymmetricMode": True}
    )
    return symmetric.solve
