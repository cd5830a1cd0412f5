"""The equations of a model solved without rounding, on columns that have room.

An equation with a column of its own, as v = F'alpha or a simplex, is solved for that column, the
one with the most room; the equations that are left together, for columns chosen by a pivoted QR
factorisation in which each is weighted with its room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.exact_arithmetic import solve_exactly
from tightmargin.solvers.proofs.excess import Point, exact_dot, exact_dots, point_of
from tightmargin.solvers.standard_form.standard_form import StandardForm

Solved = tuple[Array, Mapping[int, Fraction]]

LARGEST_CORE = 400  # equations that are solved together
ENDLESS = 1e3  # room of a column without a bound, over the largest room of those with both
# Least room of a column at its bound, over its own size and over that of all.
AT_BOUND, NOWHERE = 1e-6, 1e-20
DEPENDENT = 1e-13
MILDER = (1.0, 0.5, 0.25, 0.0)  # powers of the room that columns are weighted with


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations and the columns that they are solved for.

    Attributes
    ----------
    matrix : csr_matrix
        Their coefficients.
    right : array
    core, basis : arrays
        Equations that are solved together, and for which columns.
    own : list of (rows, columns)
        Equations that are solved for a column of their own, group by group.
    """

    matrix: sp.csr_matrix
    right: Array
    core: Index
    basis: Index
    own: list[tuple[Index, Index]] = field(default_factory=list)

    @property
    def dependent(self) -> Index:
        """Columns that they are solved for."""
        return np.concatenate([self.basis, *(columns for _, columns in self.own)])

    def solved(self, x: Array) -> Solved | None:
        """The point with its basic coordinates solved for; None where there is no solution."""
        exact: dict[int, Fraction] = {}
        if len(self.core):
            found = self._core(x)
            if found is None:
                return None
            exact |= found
        for rows, columns in self.own:
            others = x.copy()
            others[columns] = 0.0
            at = point_of(others, exact)
            if at is None:
                return None
            lines = self.matrix[rows]
            pivots = np.asarray(lines[np.arange(len(rows)), columns]).ravel().tolist()
            sides = self.right[rows].tolist()
            for j, rest, pivot, side in zip(
                columns.tolist(), exact_dots(lines, at), pivots, sides, strict=True
            ):
                exact[j] = (Fraction(side) - rest) / Fraction(pivot)
        at = point_of(x, exact)
        return None if at is None else (at.x, at.exact)

    def _core(self, x: Array) -> dict[int, Fraction] | None:
        at = point_of(x, {})
        if at is None:
            return None
        basis = tuple(self.basis.tolist())
        lines, sides = [], []
        for i in self.core.tolist():
            right, pivots = self._without(i, basis, at)
            numbers = [Fraction(pivots.get(j, 0.0)) for j in basis]
            common = lcm(*(number.denominator for number in numbers))
            lines.append([int(number * common) for number in numbers])
            sides.append(right * common)
        found = solve_exactly(lines, sides)
        return None if found is None else dict(zip(basis, found, strict=True))

    def _without(
        self, i: int, columns: tuple[int, ...], at: Point
    ) -> tuple[Fraction, dict[int, float]]:
        """Right side of an equation less all but some columns, and the coefficients of those."""
        span = slice(self.matrix.indptr[i], self.matrix.indptr[i + 1])
        index, numbers = self.matrix.indices[span], self.matrix.data[span]
        basic = np.isin(index, columns)
        rest = exact_dot(numbers[~basic], index[~basic], at)
        pivots = dict(zip(index[basic].tolist(), numbers[basic].tolist(), strict=True))
        return Fraction(float(self.right[i])) - rest, pivots


def equations_of(form: StandardForm, x: Array) -> Equations | None:
    """The equations with a choice of columns that have room at a point; None where none have."""
    rows = np.flatnonzero(np.isfinite(form.row_lower) & (form.row_lower == form.row_upper))
    matrix = form.A[rows].tocsr()
    none = np.zeros(0, dtype=np.int64)
    if not len(rows):
        return Equations(matrix, form.row_lower[rows], none, none)
    room = _room(form, x)
    own: list[tuple[Index, Index]] = []
    # Equations of integer columns alone hold or do not.
    left = abs(matrix) @ (room > 0).astype(float) > 0
    while left.any():
        chosen = _own_columns(matrix, left, room)
        if chosen is None:
            break
        own.append(chosen)
        left[chosen[0]] = False
    core = np.flatnonzero(left)
    basis = _basis(matrix[core], room) if len(core) <= LARGEST_CORE else None
    if basis is None:
        return None
    return Equations(matrix, form.row_lower[rows], core, basis, own[::-1])


def _room(form: StandardForm, x: Array) -> Array:
    """How far each column may move; 0 for integer and fixed ones, and for no other."""
    room = np.maximum(np.minimum(x - form.lower, form.upper - x), 0.0)
    ends = np.isfinite(room)
    size = max(float(room[ends].max(initial=0.0)), float(np.abs(x).max(initial=0.0))) or 1.0
    width = form.upper - form.lower
    own = np.where(np.isfinite(width), width, np.abs(x))
    least = np.maximum(AT_BOUND * own, NOWHERE * size)
    room = np.where(ends, np.maximum(room, least), ENDLESS * size)
    room[form.integer | (form.lower == form.upper)] = 0.0
    return room


def _own_columns(
    matrix: sp.csr_matrix, left: NDArray[np.bool_], room: Array
) -> tuple[Index, Index] | None:
    """Equations among those left that alone have some column with room, and that column."""
    entries = matrix.tocoo()
    kept = left[entries.row] & (room[entries.col] > 0) & (entries.data != 0)
    row, column, number = entries.row[kept], entries.col[kept], entries.data[kept]
    alone = np.bincount(column, minlength=matrix.shape[1])[column] == 1
    if not alone.any():
        return None
    row, column, number = row[alone], column[alone], number[alone]
    order = np.lexsort((room[column] * np.abs(number), row))
    last = np.r_[np.flatnonzero(np.diff(row[order])), len(order) - 1]
    best = order[last]
    return row[best].astype(np.int64), column[best].astype(np.int64)


def _basis(matrix: sp.csr_matrix, room: Array) -> Index | None:
    """Independent columns, the ones with most room first; None where the rows have none."""
    if not matrix.shape[0]:
        return np.zeros(0, dtype=np.int64)
    columns = np.flatnonzero((np.diff(matrix.tocsc().indptr) > 0) & (room > 0))
    if not len(columns):
        return None
    dense, best = matrix[:, columns].toarray(), np.zeros(0, dtype=np.int64)
    # Beside columns with no end of room those at a bound may be lost in rounding.
    for power in MILDER:
        weighted = dense * room[columns] ** power
        sizes = np.abs(weighted).max(axis=1)
        weighted /= np.where(sizes > 0, sizes, 1.0)[:, None]
        R, order = qr(weighted, mode="r", pivoting=True)
        pivots = np.abs(np.diag(R))
        rank = int(np.count_nonzero(pivots > DEPENDENT * pivots[0])) if pivots[0] > 0 else 0
        if rank > len(best):
            best = np.sort(columns[order[:rank]])
        if rank == len(dense):
            break
    return best if len(best) else None
