"""Convex models in conic form, with one svec convention.

    minimise   1/2 x'P x + q'x + offset
    s.t.       A x + s = b,   s in zero x nonneg x second-order x semidefinite cones

A semidefinite block holds the row-wise lower triangle (= column-wise upper triangle), with
off-diagonal entries times sqrt(2). Multipliers z of the rows satisfy P x + q + A'z = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.printing import Printed
from tightmargin.solvers.model.convexity import Classification, Cone
from tightmargin.solvers.model.reader import StandardForm

ROOT2 = np.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows in one cone: "zero", "nonneg", "soc", "psd", or "exp" for Clarabel alone."""

    kind: str
    start: int
    size: int
    data: Any = None  # Pyomo constraint of a soc or psd block

    @property
    def rows(self) -> slice:
        """Rows of A that belong to the block."""
        return slice(self.start, self.start + self.size)


@dataclass(frozen=True, eq=False)
class ConicForm:
    """See the module's docstring."""

    P: sp.csc_matrix
    q: Array
    offset: float
    A: sp.csc_matrix
    b: Array
    blocks: tuple[Block, ...]  # zero rows, then nonneg, then the cones
    equal: Index  # rows of the standard form behind the zero rows
    low: Index  # behind the nonneg rows: rows with a lower side, with an upper side, columns
    high: Index
    low_bound: Index
    high_bound: Index

    @cached_property
    def sizes(self) -> sp.csc_matrix:
        """Absolute values of A, with its own indices."""
        return sp.csc_matrix((np.abs(self.A.data), self.A.indices, self.A.indptr), self.A.shape)

    def blocks_of(self, kind: str) -> list[Block]:
        """Blocks of one kind."""
        return [block for block in self.blocks if block.kind == kind]


# A solver is handed what the certificate looks at later: it is made once.
_MADE: WeakKeyDictionary[StandardForm, tuple[Classification, ConicForm]] = WeakKeyDictionary()


def conic_form(form: StandardForm, classification: Classification) -> ConicForm:
    """Conic form of a model that is convex once integrality is dropped; ValueError of others."""
    known = _MADE.get(form)
    if known is None or known[0] is not classification:
        known = classification, _conic_form(form, classification)
        _MADE[form] = known
    return known[1]


def _conic_form(form: StandardForm, classification: Classification) -> ConicForm:
    if not classification.relaxes_to_convex:
        raise ValueError(f"no conic form: {classification.reason}")
    finite_low, finite_high = np.isfinite(form.row_lower), np.isfinite(form.row_upper)
    same = finite_low & finite_high & (form.row_lower == form.row_upper)
    equal = np.flatnonzero(same)
    low, high = np.flatnonzero(finite_low & ~same), np.flatnonzero(finite_high & ~same)
    low_bound = np.flatnonzero(np.isfinite(form.lower))
    high_bound = np.flatnonzero(np.isfinite(form.upper))
    identity = sp.identity(form.n, format="csr")
    parts = [
        _rows(form.A, equal), -_rows(form.A, low), _rows(form.A, high),
        -identity[low_bound], identity[high_bound],
    ]  # fmt: skip
    sides = [
        form.row_lower[equal], -form.row_lower[low], form.row_upper[high],
        -form.lower[low_bound], form.upper[high_bound],
    ]  # fmt: skip
    blocks: list[Block] = []
    _append(blocks, "zero", len(equal))
    _append(blocks, "nonneg", sum(map(len, (low, high, low_bound, high_bound))))
    cones = [reading.cone for reading in classification.readings if reading.cone is not None]
    for row, cone in zip(form.quadratic, cones, strict=True):
        sides.append(cone.b)
        _append(blocks, "soc", len(cone.b), row.data)
    if cones:
        parts.append(_stacked(cones, form.n))
    for psd_row in form.psd:
        scale = triangle_scale(psd_row.order)
        parts.append(sp.diags(-scale) @ psd_row.F)
        sides.append(scale * psd_row.g)
        _append(blocks, "psd", len(scale), psd_row.data)
    A = sp.vstack([part.tocsr() for part in parts], format="csr").tocsc()
    goal, b = form.objective, np.concatenate(sides)
    return ConicForm(
        form.P, goal.a, goal.constant, A, b, tuple(blocks), equal, low, high, low_bound, high_bound
    )


def without_own_bounds(conic: ConicForm, z: Array) -> tuple[ConicForm, Array]:
    """The form and multipliers without the rows that are bounds of single columns."""
    first = sum(map(len, (conic.equal, conic.low, conic.high)))
    lost = len(conic.low_bound) + len(conic.high_bound)
    if not lost:
        return conic, z
    kept = np.r_[0:first, first + lost : len(conic.b)]
    blocks: list[Block] = []
    for block in conic.blocks:
        size = block.size - lost if block.kind == "nonneg" else block.size
        _append(blocks, block.kind, size, block.data)
    none = np.zeros(0, dtype=np.int64)
    A, b = conic.A[kept], conic.b[kept]
    shorter = replace(conic, A=A, b=b, blocks=tuple(blocks), low_bound=none, high_bound=none)
    return shorter, z[kept]


def _rows(A: sp.csr_matrix, which: Index) -> sp.csr_matrix:
    """Some rows, ascending; where they are consecutive, a view of them."""
    if not len(which) or which[-1] - which[0] + 1 != len(which):
        return A[which]
    ends = A.indptr[which[0] : which[-1] + 2]
    inside = slice(ends[0], ends[-1])
    arrays = (A.data[inside], A.indices[inside], ends - ends[0])
    return sp.csr_matrix(arrays, shape=(len(which), A.shape[1]))


def _stacked(cones: list[Cone], n: int) -> sp.csr_matrix:
    """-A of all second-order cones, one below the other."""
    starts = np.cumsum([0, *(len(cone.b) for cone in cones)])
    shapes = {id(cone.A): cone.A for cone in cones}  # cones of one family share theirs
    nonzeros = {key: (*A.nonzero(), -A[A.nonzero()]) for key, A in shapes.items()}
    entries = [nonzeros[id(cone.A)] for cone in cones]
    rows = [start + i for start, (i, _, _) in zip(starts[:-1], entries, strict=True)]
    columns = [cone.index[j] for cone, (_, j, _) in zip(cones, entries, strict=True)]
    numbers = [number for _, _, number in entries]
    values, i, j = (np.concatenate(part) for part in (numbers, rows, columns))
    return sp.csr_matrix((values, (i, j)), shape=(int(starts[-1]), n))


def _append(blocks: list[Block], kind: str, size: int, data: Any = None) -> None:
    if size:
        start = blocks[-1].start + blocks[-1].size if blocks else 0
        blocks.append(Block(kind, start, size, data))


def triangle_scale(k: int) -> Array:
    """1 on the diagonal and sqrt(2) off it, over a row-wise lower triangle of order k."""
    i, j = np.tril_indices(k)
    return np.where(i == j, 1.0, ROOT2)


def unpack(entries: Array) -> Array:
    """Symmetric matrix of a semidefinite block's svec entries."""
    k = int((np.sqrt(8 * len(entries) + 1) - 1) / 2)
    matrix = np.zeros((k, k))
    matrix[np.tril_indices(k)] = entries / triangle_scale(k)
    return matrix + np.tril(matrix, -1).T


def pack(matrix: Array) -> Array:
    """Entries in svec order of a symmetric matrix."""
    return matrix[np.tril_indices(len(matrix))] * triangle_scale(len(matrix))


@dataclass(frozen=True, eq=False, repr=False)
class Multipliers(Printed):
    """Duals in the one sign convention of the project: d objective / d right-hand side."""

    rows: Array  # positive at an active lower side, negative at an active upper side
    bounds: Array  # reduced costs
    cones: dict[int, Array]  # vector or matrix of the dual cone, by id of the constraint


def multipliers(conic: ConicForm, z: Array, n_rows: int) -> Multipliers:
    """Multipliers of the model's rows from those of the conic form."""
    rows, bounds = np.zeros(n_rows), np.zeros(conic.A.shape[1])
    linear = (conic.equal, conic.low, conic.high, conic.low_bound, conic.high_bound)
    cuts = np.cumsum([len(part) for part in linear])
    equal, low, high, low_bound, high_bound = np.split(z[: cuts[-1]], cuts[:-1])
    rows[conic.equal] -= equal
    np.add.at(rows, conic.low, low)
    np.add.at(rows, conic.high, -high)
    bounds[conic.low_bound] += low_bound
    bounds[conic.high_bound] -= high_bound
    cones = {
        id(block.data): unpack(z[block.rows]) if block.kind == "psd" else z[block.rows]
        for block in conic.blocks
        if block.data is not None
    }
    return Multipliers(rows, bounds, cones)


def conic_multipliers(conic: ConicForm, duals: Multipliers) -> Array:
    """Inverse of `multipliers`: z of the conic form, wrong-signed parts dropped."""
    parts = [
        -duals.rows[conic.equal],
        np.maximum(duals.rows[conic.low], 0.0),
        np.maximum(-duals.rows[conic.high], 0.0),
        np.maximum(duals.bounds[conic.low_bound], 0.0),
        np.maximum(-duals.bounds[conic.high_bound], 0.0),
    ]
    for block in conic.blocks:
        if block.data is not None:
            cone = duals.cones[id(block.data)]
            parts.append(pack(cone) if block.kind == "psd" else cone)
    return np.concatenate(parts)
