"""Coefficient matrix of a model, straight from the arrays of its rows.

Every entry is counted first and then written where it belongs: no copy of the coefficients is made
on the way. Row by row is the faster order for HiGHS, which takes such a matrix in half the time;
column by column is the order in which HiGHS keeps it, so that a large one is never there three
times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.row_terms import Block
from tightmargin.solvers.standard_form.array_rows import ArrayRows

Matrix: TypeAlias = sp.csr_matrix | sp.csc_matrix

# Entries above which memory counts more than time: 100 MB of them.
LARGE = 8_000_000
# Entries of a sparse block whose places are worked out together, at least: 1 MB of them.
AT_ONCE = 20_000


def assemble(arrays: Sequence[ArrayRows], single: sp.csr_matrix, n: int) -> Matrix:
    """Matrix of the array rows, one component below the other, and then the single rows."""
    size = single.nnz + sum(len(part.numbers) * part.width() for part in arrays)
    if size <= LARGE and all(part.is_regular() for part in arrays):
        return _by_rows(arrays, single, n)
    return _by_columns(arrays, single, n)


def _by_rows(arrays: Sequence[ArrayRows], single: sp.csr_matrix, n: int) -> sp.csr_matrix:
    """Rows of one component have equally many entries, whose places are a rectangle."""
    counts = [np.full(len(part.numbers), part.width()) for part in arrays]
    starts = np.concatenate([[0], np.cumsum(np.concatenate([*counts, np.diff(single.indptr)]))])
    size = int(starts[-1])
    kind = np.int32 if size < np.iinfo(np.int32).max else np.int64
    data, indices = np.empty(size), np.empty(size, dtype=kind)
    at = 0
    for part, count in zip(arrays, counts, strict=True):
        shape = (len(count), part.width())
        place = slice(at, at + shape[0] * shape[1])
        _fill(part, data[place].reshape(shape), indices[place].reshape(shape))
        at = place.stop
    data[at:], indices[at:] = single.data, single.indices
    matrix = sp.csr_matrix((data, indices, starts.astype(kind)), shape=(len(starts) - 1, n))
    matrix.has_canonical_format = True
    if not data.all():
        matrix.eliminate_zeros()
    return matrix


def _fill(part: ArrayRows, data: Array, indices: NDArray[Any]) -> None:
    """Write coefficients and columns of some rows into rectangles, columns ascending."""
    m, at = len(part.numbers), 0
    terms = sorted(part.terms, key=lambda pair: _first(pair[1]))
    if m:
        # The first row for all of them; a row's own elements are put right below.
        first = [c[c >= 0] if term.kind == "matrix" else c[c >= 0][:1] for term, c in terms]
        indices[:] = np.concatenate(first)
    for term, columns in terms:
        free = np.flatnonzero(columns >= 0)
        if term.kind == "matrix":
            place = slice(at, at + len(free))
            values = term.numbers.values
            rows = values if m == len(values) else values[part.numbers]
            chosen = rows if len(free) == rows.shape[1] else rows[:, free]
            factors = term.factors(part.numbers)
            np.multiply(chosen, factors if np.isscalar(factors) else factors[:, None],
                        out=data[:, place])  # fmt: skip
            at += len(free)
        elif len(free):
            data[:, at] = term.coefficients(part.numbers)
            if term.kind == "element":
                indices[:, at] = columns[part.numbers]
            at += 1


def _first(columns: Index) -> int:
    free = columns[columns >= 0]
    return int(free[0]) if len(free) else -1


def _by_columns(arrays: Sequence[ArrayRows], single: sp.csr_matrix, n: int) -> sp.csc_matrix:
    counts = np.bincount(single.indices, minlength=n)
    for part in arrays:
        for term, at in part.terms:
            _count(term, part.numbers, at, counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    kind = np.int32 if starts[-1] < np.iinfo(np.int32).max else np.int64
    indices = np.empty(starts[-1], dtype=kind)
    data = np.empty(starts[-1])
    writer = _Writer(starts[:-1].copy(), indices, data)
    row = 0
    for part in arrays:
        for term, at in part.terms:
            writer.write(term, part.numbers, at, row)
        row += len(part.numbers)
    for taken in _rows_at_once(np.diff(single.indptr), n):
        writer.write_sparse(single[taken].tocsc(), np.arange(n), row + taken.start)
    matrix = sp.csc_matrix((data, indices, starts.astype(kind)), shape=(row + single.shape[0], n))
    if any(_repeats_a_variable(part) for part in arrays):
        matrix.sum_duplicates()
    else:
        matrix.has_canonical_format = True
    if not data.all():
        matrix.eliminate_zeros()
    return matrix


def _rows_at_once(lengths: Index, width: int) -> list[slice]:
    """Rows in turn, so many that work on their entries outweighs work on all columns."""
    ends, size = np.cumsum(lengths), max(AT_ONCE, width)
    full = np.arange(size, lengths.sum(), size)
    cuts = dict.fromkeys([0, *(np.searchsorted(ends, full) + 1).tolist(), len(ends)])
    return [slice(first, last) for first, last in pairwise(cuts)]


def _repeats_a_variable(part: ArrayRows) -> bool:
    variables = [term.variable for term, _ in part.terms]
    return len({id(v) for v in variables}) < len(variables) or any(
        v.is_reference() for v in variables
    )


def _count(term: Block, which: Index, at: Index, counts: Index) -> None:
    if term.kind == "column":
        counts[at[at >= 0]] += len(which)
    elif term.kind == "element":
        here = at[which]
        counts[here[here >= 0]] += 1
    elif sp.issparse(term.numbers.values):
        free = at >= 0
        values = term.numbers.values
        chosen = values if len(which) == values.shape[0] else values[which]
        per_column = np.bincount(chosen.indices, minlength=len(at))
        counts[at[free]] += per_column[free]
    else:
        counts[at[at >= 0]] += len(which)


@dataclass(frozen=True, eq=False)
class _Writer:
    """Arrays of the matrix and the next free position of every column."""

    position: Index
    indices: NDArray[np.signedinteger]
    data: Array

    def write(self, term: Block, which: Index, at: Index, row: int) -> None:
        """Write one term of rows numbered from `row`."""
        if term.kind == "matrix":
            if sp.issparse(term.numbers.values):
                lengths = np.diff(term.numbers.values.indptr)[which]
                for taken in _rows_at_once(lengths, len(at)):
                    part = term.sparse_rows(which[taken])
                    self.write_sparse(part.tocsc(), at, row + taken.start)
            else:
                self._write_dense(term, which, at, row)
            return
        here = at[which] if term.kind == "element" else np.repeat(at, len(which))
        numbers, rows = term.coefficients(which), np.arange(row, row + len(which))
        if term.kind == "column":
            if at[0] >= 0:
                start = self.position[at[0]]
                self._put(slice(start, start + len(which)), rows, numbers)
                self.position[at[0]] += len(which)
            return
        free = here >= 0
        here, numbers, rows = here[free], numbers[free], rows[free]
        self._put(self.position[here], rows, numbers)
        self.position[here] += 1

    def _write_dense(self, term: Block, which: Index, at: Index, row: int) -> None:
        values, m = term.numbers.values, len(which)
        whole = m == len(values)
        if m < len(at):
            free = np.flatnonzero(at >= 0)
            for k, number in enumerate(which.tolist()):
                factor = 1.0 if term.scale is None else term.scale.values[number]
                places = self.position[at[free]]
                self._put(places, row + k, values[number, free] * factor)
                self.position[at[free]] += 1
            return
        rows = np.arange(row, row + m, dtype=self.indices.dtype)
        factors = term.factors(which)
        for j, column in enumerate(at.tolist()):
            if column >= 0:
                start = self.position[column]
                numbers = values[:, j] if whole else values[which, j]
                place = slice(start, start + m)
                np.multiply(numbers, factors, out=self.data[place])
                self.indices[place] = rows
                self.position[column] += m

    def write_sparse(self, part: sp.csc_matrix, at: Index, row: int) -> None:
        """Write a few sparse rows whose columns go to `at`."""
        lengths = np.diff(part.indptr)
        kept = np.repeat(at >= 0, lengths)
        shifts = np.repeat(self.position[at] - part.indptr[:-1], lengths)
        places = (np.arange(part.nnz) + shifts)[kept]
        self._put(places, row + part.indices[kept], part.data[kept])
        self.position[at[at >= 0]] += lengths[at >= 0]

    def _put(self, places: Index | slice, rows: Index | int, numbers: Array) -> None:
        self.indices[places] = rows
        self.data[places] = numbers
