"""Equations of the matrix A'S A + C behind a repair, without S where that is large.

A model over n points has a row for each of them, in which the few columns of its hyperplane stand
beside a slack of the row's own. In A'S A the slacks alone are a matrix that is diagonal, or nearly
so; a factorisation that orders rows by itself takes a hundred times as long as to eliminate them
first and to solve what is left, a small dense system.

On a semidefinite block S maps V to R V R, R the root of a matrix of order k. As a matrix it has
k^4 / 4 entries, so that it is only applied. What it adds to A'S A stands in the columns of A that
the block holds; they are full columns too. Where they are too many for a dense matrix, or that
takes too long to compute, conjugate gradients need products with S alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve
from scipy.sparse.linalg import splu

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import pack, triangle_scale, unpack
from tightmargin.solvers.execution.deadline import is_over

DENSE_LIMIT = 5000
FULL = 0.2  # of the rows: from so many entries on a column counts as full
FULL_LIMIT = 500  # of such columns
SHIFT = 1e-13
PRODUCTS = 2e10  # of doubles: what semidefinite blocks may take to be written out
STEPS, ENOUGH = 200, 1e-10  # of conjugate gradients, and what they leave of the right side
CHUNK = 2**22  # doubles of a block's columns at a time


@dataclass(frozen=True, eq=False)
class Root:
    """V -> R V R on the rows of a semidefinite block.

    Attributes
    ----------
    rows : slice
    matrix : array (k, k)
        R, symmetric and semidefinite.
    """

    rows: slice
    matrix: Array

    def times(self, v: Array) -> Array:
        """Product with the entries of a matrix."""
        return pack(self.matrix @ unpack(v) @ self.matrix)

    def diagonal(self) -> Array:
        """Diagonal of the map."""
        own = np.diag(self.matrix)
        i, j = np.tril_indices(len(own))
        return np.asarray(own[i] * own[j] + self.matrix[i, j] ** 2) / np.where(i == j, 2.0, 1.0)

    def gram(self, A: sp.csc_matrix) -> Array:
        """A'S A for the columns of A (rows, n)."""
        k, n = len(self.matrix), A.shape[1]
        i, j = np.tril_indices(k)
        used = np.unique(A.indices)
        lines, scale = A[used].T.tocsr(), triangle_scale(k)[used]
        found = np.empty((n, n))
        width = max(1, CHUNK // max(len(used), 1))
        for start in range(0, n, width):
            chunk = range(start, min(start + width, n))
            images = np.empty((len(used), len(chunk)))
            for place, column in enumerate(chunk):
                entries = slice(A.indptr[column], A.indptr[column + 1])
                row, number = A.indices[entries], A.data[entries]
                inside = np.unique(np.r_[i[row], j[row]])
                a, b = np.searchsorted(inside, i[row]), np.searchsorted(inside, j[row])
                own = np.zeros((len(inside), len(inside)))
                own[a, b] = own[b, a] = number / np.where(a == b, 1.0, np.sqrt(2.0))
                half = self.matrix[:, inside]
                images[:, place] = ((half @ own) @ half.T)[i[used], j[used]] * scale
            found[:, start : start + len(chunk)] = lines @ images
        return found

    def work(self, A: sp.csc_matrix) -> float:
        """Products of doubles that `gram` takes, or somewhat more."""
        k = len(self.matrix)
        return float((np.minimum(2 * np.diff(A.indptr), k) * float(k * k)).sum())


@dataclass(frozen=True, eq=False)
class NormalMatrix:
    """A'S A + C, not computed.

    Attributes
    ----------
    A : csc_matrix (m, n)
    scaled : csr_matrix (m, m)
        S, symmetric and semidefinite; 0 in the rows of `roots`.
    curvature : csc_matrix (n, n)
        C.
    roots : sequence of Root
        S on semidefinite blocks.
    """

    A: sp.csc_matrix
    scaled: sp.csr_matrix
    curvature: sp.csc_matrix
    roots: Sequence[Root] = ()

    @cached_property
    def in_matrices(self) -> NDArray[np.bool_]:
        """Which columns semidefinite blocks hold."""
        found = np.zeros(self.A.shape[1], dtype=bool)
        for root in self.roots:
            found |= np.diff(self.A[root.rows].indptr) > 0
        return found

    @cached_property
    def full(self) -> NDArray[np.bool_]:
        """Which columns of A are full, or held by semidefinite blocks."""
        count = np.diff(self.A.indptr)
        found = count > max(FULL * self.A.shape[0], 1.0)
        few = 0 < found.sum() <= FULL_LIMIT
        return (found | self.in_matrices) if few else self.in_matrices

    @property
    def is_large(self) -> bool:
        """Whether semidefinite blocks are too large to be written out."""
        if self.in_matrices.sum() > DENSE_LIMIT:
            return True
        return sum(root.work(self.A[root.rows]) for root in self.roots) > PRODUCTS

    def scaled_times(self, v: Array) -> Array:
        """S v."""
        product = np.asarray(self.scaled @ v)
        for root in self.roots:
            product[root.rows] = root.times(v[root.rows])
        return product

    def times(self, v: Array) -> Array:
        """Product with a vector."""
        product = self.A.T @ self.scaled_times(self.A @ v)
        return np.asarray(product + self.curvature @ v if self.curvature.nnz else product)

    def sparse(self) -> sp.csc_matrix:
        """The matrix itself, where there are no semidefinite blocks."""
        product = (self.A.T @ (self.scaled @ self.A)).tocsc()
        return product + self.curvature if self.curvature.nnz else product

    def near_diagonal(self) -> Array:
        """Diagonal of the matrix, the entries of a semidefinite block taken one by one."""
        S = self.scaled.diagonal()
        for root in self.roots:
            S[root.rows] = root.diagonal()
        squares = sp.csc_matrix((self.A.data**2, self.A.indices, self.A.indptr), self.A.shape)
        return np.asarray(squares.T @ S + self.curvature.diagonal())


def solved(normal: NormalMatrix, target: Array) -> Array:
    """Solve a semidefinite, badly scaled system: diagonal scaling, a tiny shift, refinement.

    By conjugate gradients a large one, as far as a count of steps and the deadline allow.
    """
    if normal.is_large:
        return _by_gradients(normal, target)
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
        apply_core = _dense(core - border.T @ eliminated)

        def apply(right: Array) -> Array:
            found = np.empty(len(right))
            first = apply_corner(right[~self.full]) if len(outer) else right[~self.full]
            rest = right[self.full] - border.T @ first
            found[self.full] = apply_core(rest)
            found[~self.full] = first - eliminated @ found[self.full]
            return found

        return apply


def _split(normal: NormalMatrix) -> _Parts:
    full, C = normal.full, normal.curvature
    plain = np.ones(normal.A.shape[0], dtype=bool)
    for root in normal.roots:
        plain[root.rows] = False
    A, S = normal.A, normal.scaled
    if normal.roots:
        A, S = A[plain], S[plain][:, plain]
    dense, others = A[:, full].toarray(), A[:, ~full]
    scaled = S @ dense
    corner = (others.T @ (S @ others)).tocsc()
    border, core = others.T @ scaled, np.asarray(dense.T @ scaled)
    place = np.cumsum(full) - 1
    for root in normal.roots:
        block = normal.A[root.rows]
        held = np.flatnonzero(np.diff(block.indptr))
        core[np.ix_(place[held], place[held])] += root.gram(block[:, held])
    if C.nnz:
        corner = (corner + C[~full][:, ~full]).tocsc()
        border = border + C[~full][:, full].toarray()
        core = core + C[full][:, full].toarray()
    return _Parts(full, corner, np.asarray(border), np.asarray(core))


def _by_gradients(normal: NormalMatrix, target: Array) -> Array:
    """The system by conjugate gradients, scaled by its diagonal."""
    diagonal = normal.near_diagonal()
    largest = float(diagonal.max(initial=0.0))
    if not largest > 0:
        return np.zeros(len(target))
    inverse = 1 / np.maximum(diagonal, 1e-30 * largest)
    solution, left = np.zeros(len(target)), target.copy()
    along = inverse * left
    size = float(left @ along)
    least, best = size, solution
    for _ in range(STEPS):
        if is_over() or not size > 0 or least <= ENOUGH**2 * float(target @ (inverse * target)):
            break
        image = normal.times(along)
        bend = float(along @ image)
        if not bend > 0:
            break
        length = size / bend
        solution, left = solution + length * along, left - length * image
        steepest = inverse * left
        size, before = float(left @ steepest), size
        along = steepest + size / before * along
        if size < least:
            least, best = size, solution
    return best


def _dense(matrix: Array) -> Callable[[Array], Array]:
    """Multiply with the inverse of a matrix that is definite but for rounding."""
    if len(matrix) > FULL_LIMIT:
        try:
            factor = cho_factor(matrix, check_finite=False)
        except LinAlgError:  # indefinite by rounding: LU below does not mind
            pass
        else:
            return lambda right: cho_solve(factor, right, check_finite=False)
    factors = lu_factor(matrix, check_finite=False)
    return lambda right: lu_solve(factors, right, check_finite=False)


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
