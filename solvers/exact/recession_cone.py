"""The recession cone of a model: the directions that its rows never stop.

The rows of a model, with their finite sides moved to zero, leave a cone of directions:

    A_i d >= 0, <= 0 or = 0 as row i has sides, and d_j likewise by the bounds of column j,
    Q d = 0 where the objective is convex,
    Q_k d = 0 and a_k'd <= 0 in a convex quadratic row,
    A_k d in the cone of a row that is a second-order cone, and F d semidefinite.

ray_search.py looks for directions of the cone in floating point, ray_rounding.py moves them onto
the rows they touch in rational arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.canonical_form.cone_recognition import Shape
from tightmargin.solvers.standard_form.quadratic import LocalQuadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

ZERO = 1e-7


@dataclass(frozen=True, eq=False)
class Recession:
    """Linear rows, bounds and cones of the directions; every finite side is zero.

    Attributes
    ----------
    unit : array (n,)
        Powers of two: the direction is unit * d, so that columns of any size count alike and the
        rows stay exact.
    R : csr_matrix (m, n)
        Rows over d, to be met exactly.
    low, high : arrays (m,)
        0 or infinite.
    lower, upper : arrays (n,)
        The same for the columns.
    cones : tuple of (str, csr_matrix (k, n))
        "soc": the first row is at least the norm of the others. "psd": the row-wise lower triangle
        of a semidefinite matrix.
    """

    unit: Array
    R: sp.csr_matrix
    low: Array
    high: Array
    lower: Array
    upper: Array
    cones: tuple[tuple[str, sp.csr_matrix], ...]


def recession(form: StandardForm, classification: Classification) -> Recession:
    """Directions that the convex part of a model never stops; other rows are left out."""
    low = np.where(np.isfinite(form.row_lower), 0.0, -math.inf)
    high = np.where(np.isfinite(form.row_upper), 0.0, math.inf)
    parts: list[tuple[sp.csr_matrix, Array, Array]] = [(form.A, low, high)]
    if form.objective.Q.nnz and classification.relaxes_to_convex:
        parts.append(_level(_nonempty(form.objective.Q.tocsr())))
    cones: list[tuple[str, sp.csr_matrix]] = []
    for row, reading in zip(form.quadratic, classification.readings, strict=True):
        if reading.shape is not Shape.CONVEX or reading.cone is None:
            continue
        g = row.body if np.isfinite(row.upper) else row.body.shifted(-1.0, row.lower)
        if _is_semidefinite(g):
            parts.append(_level(_spread(g.i, g.j, g.v, g.index, form.n)))
            slope = _spread(np.zeros(len(g.a), int), np.arange(len(g.a)), g.a, g.index, form.n)
            parts.append((slope, np.full(1, -math.inf), np.zeros(1)))
        else:
            cones.append(("soc", _over(reading.cone.A, reading.cone.index, form.n)))
    cones += [("psd", psd_row.F.tocsr()) for psd_row in form.psd]
    everything = sp.vstack([R for R, *_ in parts], format="csr")
    unit = powers(sizes(sp.vstack([everything, *(A for _, A in cones)], format="csr"), 0))
    scale = sp.diags(unit)
    return Recession(
        unit,
        (everything @ scale).tocsr(),
        np.concatenate([low for _, low, _ in parts]),
        np.concatenate([high for *_, high in parts]),
        np.where(np.isfinite(form.lower), 0.0, -math.inf),
        np.where(np.isfinite(form.upper), 0.0, math.inf),
        tuple((kind, (A @ scale).tocsr()) for kind, A in cones),
    )


def _level(rows: sp.csr_matrix) -> tuple[sp.csr_matrix, Array, Array]:
    return rows, np.zeros(rows.shape[0]), np.zeros(rows.shape[0])


def _nonempty(rows: sp.csr_matrix) -> sp.csr_matrix:
    return rows[np.flatnonzero(np.diff(rows.indptr))]


def _is_semidefinite(g: LocalQuadratic) -> bool:
    q = np.zeros((len(g.index), len(g.index)))
    q[g.i, g.j] = g.v
    values = np.linalg.eigvalsh(q)
    return bool(values[0] >= -1e-11 * np.abs(values).max())


def _spread(i: Index, j: Index, v: Array, index: Index, n: int) -> sp.csr_matrix:
    """Local rows over all columns, empty ones left out."""
    height = int(i.max()) + 1 if len(i) else 0
    return _nonempty(sp.csr_matrix((v, (i, index[j])), shape=(height, n)))


def _over(A: Array, index: Index, n: int) -> sp.csr_matrix:
    i, j = A.nonzero()
    return sp.csr_matrix((A[i, j], (i, index[j])), shape=(len(A), n))


def sizes(matrix: sp.csr_matrix, axis: int) -> Array:
    """Largest absolute entry of every column (axis 0) or row (axis 1); 0 where there is none."""
    if not matrix.shape[axis]:
        return np.zeros(matrix.shape[1 - axis])
    return np.asarray(abs(matrix).max(axis=axis).todense()).ravel()


def powers(numbers: Array) -> Array:
    """Powers of two that bring numbers to size 1."""
    known = np.where((numbers > 0) & np.isfinite(numbers), numbers, 1.0)
    return np.exp2(-np.round(np.log2(known)))
