"""Proofs in a file that a symmetric matrix is semidefinite, or how much it lacks of that."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from scipy.sparse.csgraph import connected_components

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.curvature import block_curvature
from tightmargin.solvers.proof_files.model_document import vector

ELIMINATED = 40  # orders up to which the checker's own elimination takes no time


def curvature_of(Q: sp.spmatrix) -> tuple[Array, list[Any]] | None:
    """Numbers c with Q - diag(c) semidefinite, and squares by which the checker sees it.

    A c is positive where the form bends for certain, 0 where that is all that can be said, and a
    rounding below 0 where Q itself may be one below a semidefinite matrix.
    """
    Q = sp.csr_matrix(Q)
    least, squares = Q.diagonal(), list[Any]()
    used = np.unique(Q.nonzero()[0])
    if not len(used):
        return least, squares
    inside = Q[used][:, used].tocsr()
    count, owner = connected_components(inside, directed=False)
    order = np.argsort(owner, kind="stable")
    for block in np.split(order, np.cumsum(np.bincount(owner, minlength=count))[:-1]):
        places = used[block]
        found = _of_block(inside[block][:, block].toarray())
        if found is None:
            return None
        least[places] = found[0]
        squares += [
            ["0x1.0000000000000p+0", vector(zip(places.tolist(), line.tolist(), strict=True))]
            for line in found[1]
        ]
    return least, squares


def _of_block(B: Array) -> tuple[Array, Array] | None:
    """c and rows l_k with B - diag(c) - sum l_k l_k' semidefinite in the checker's eyes."""
    k, none = len(B), np.zeros((0, len(B)))
    bend = block_curvature(B)[0]
    if bend is None:
        return None
    if k == 1 or (k <= ELIMINATED and bend >= 0):
        return np.full(k, bend), none
    if bend > 0:
        try:
            root = np.asarray(np.linalg.cholesky(B - 1.5 * bend * np.eye(k)).T)
            if (_dominance(B, root) >= bend).all():
                return np.full(k, bend), root
        except LinAlgError:
            pass  # the eigenvectors below show what there is
    values, vectors = np.linalg.eigh(B)
    keep = values > k * UNIT * values[-1]
    root = np.asarray((vectors[:, keep] * np.sqrt(values[keep])).T)
    return _dominance(B, root), root


def _dominance(B: Array, root: Array) -> Array:
    """c for which B - diag(c) - root'root is diagonally dominant, all roundings counted."""
    rest: Array = B - root.T @ root
    size = np.abs(B) + np.abs(root).T @ np.abs(root)
    rounding = (len(root) + 4) * 2 * UNIT * size
    beside = np.abs(rest) + rounding
    diagonal = np.diag(rest) - np.diag(rounding)
    off = beside.sum(axis=1) - np.diag(beside)
    return diagonal - off * (1 + 4 * len(B) * UNIT) - 4 * UNIT * np.abs(diagonal)


def squares_of(Z: Array) -> list[Any]:
    """Squares by which the checker sees that a definite matrix of large order is one."""
    if len(Z) <= ELIMINATED:
        return []
    root = np.linalg.cholesky(Z - 0.5 * float(np.linalg.eigvalsh(Z)[0]) * np.eye(len(Z))).T
    return [["0x1.0000000000000p+0", vector(enumerate(line.tolist()))] for line in root]
