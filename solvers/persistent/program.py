"""The rows and columns of a live program as they stand, apart from any solver."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.standard_form.columns import Columns, Rows
from tightmargin.solvers.standard_form.names import Labels, Listed
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm


class Program:
    """A linear program read from a model, with what was added and changed since.

    Rows and columns keep their numbers for good: those of the model first, then added ones.

    Attributes
    ----------
    base : StandardForm
        The model as it was read.
    cost, lower, upper : arrays
        Of the columns.
    row_lower, row_upper : arrays
        Of the rows.
    scale : list
        Factor by which each added row was multiplied, a power of two.
    """

    def __init__(self, base: StandardForm) -> None:
        self.base = base
        self.cost = base.objective.a.copy()
        self.lower, self.upper = base.lower.copy(), base.upper.copy()
        self.row_lower, self.row_upper = base.row_lower.copy(), base.row_upper.copy()
        self._exact = base.exact  # of what was not changed since
        self.scale: list[float] = []
        self.row_names: list[str] = []
        self.column_names: list[str] = []
        self._rows: list[tuple[Index, Array]] = []
        self._columns: list[tuple[Index, Array]] = []
        self._changed: dict[tuple[int, int], float] = {}
        self._form: StandardForm | None = None

    @property
    def n(self) -> int:
        """Number of columns."""
        return len(self.cost)

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    def add_row(
        self, index: Index, numbers: Array, sides: tuple[float, float], scale: float, name: str
    ) -> None:
        """Append a row."""
        self._rows.append((index, numbers))
        self.row_lower = np.append(self.row_lower, sides[0])
        self.row_upper = np.append(self.row_upper, sides[1])
        self.scale.append(scale)
        self.row_names.append(name)
        self._form = None

    def add_column(
        self, index: Index, numbers: Array, cost: float, bounds: tuple[float, float], name: str
    ) -> None:
        """Append a column."""
        self._columns.append((index, numbers))
        self.cost = np.append(self.cost, cost)
        self.lower = np.append(self.lower, bounds[0])
        self.upper = np.append(self.upper, bounds[1])
        self.column_names.append(name)
        self._form = None

    def set_column(self, j: int, cost: float, lower: float, upper: float) -> None:
        """Change cost and bounds of a column."""
        if (lower, upper) != (self.lower[j], self.upper[j]):
            self._exact = self._exact.without(column=j)
        self.cost[j], self.lower[j], self.upper[j] = cost, lower, upper
        self._form = None

    def set_row(self, i: int, lower: float, upper: float) -> None:
        """Change the sides of a row."""
        self._exact = self._exact.without(row=i)
        self.row_lower[i], self.row_upper[i] = lower, upper
        self._form = None

    def set_entry(self, i: int, j: int, number: float) -> None:
        """Change one coefficient."""
        self._changed[i, j] = number
        self._form = None

    def row_name(self, i: int) -> str:
        """Name of a row."""
        first = len(self.base.row_lower)
        return self.base.rows.name(i) if i < first else self.row_names[i - first]

    def column_name(self, j: int) -> str:
        """Name of a column."""
        first = self.base.n
        return self.base.columns.name(j) if j < first else self.column_names[j - first]

    def factor(self, i: int) -> float:
        """Factor by which row i was multiplied when it was taken."""
        first = len(self.base.row_lower)
        return 1.0 if i < first else self.scale[i - first]

    def factors(self) -> Array:
        """The same of all rows."""
        return np.concatenate([np.ones(len(self.base.row_lower)), self.scale])

    def row(self, i: int) -> tuple[Index, Array]:
        """Columns and coefficients of a row as it stands."""
        A = self.form().A
        span = slice(A.indptr[i], A.indptr[i + 1])
        return A.indices[span].astype(np.int64), A.data[span]

    def form(self) -> StandardForm:
        """Everything as a standard form."""
        if self._form is None:
            base = self.base
            goal = base.objective
            self._form = replace(
                base,
                columns=self._column_labels(),
                lower=self.lower.copy(),
                upper=self.upper.copy(),
                integer=np.zeros(self.n, dtype=bool),
                objective=Quadratic(
                    sp.csr_matrix((self.n, self.n)), self.cost.copy(), goal.constant
                ),
                matrix=self._matrix(),
                row_lower=self.row_lower.copy(),
                row_upper=self.row_upper.copy(),
                rows=self._row_labels(),
                exact=self._exact,
            )
        return self._form

    def _matrix(self) -> sp.csc_matrix:
        old = self.base.columnwise.tocoo()
        m0, n0 = old.shape
        i = [old.row, *(np.full(len(at), m0 + k) for k, (at, _) in enumerate(self._rows))]
        j = [old.col, *(at for at, _ in self._rows)]
        v = [old.data, *(numbers for _, numbers in self._rows)]
        i += [at for at, _ in self._columns]
        j += [np.full(len(at), n0 + k) for k, (at, _) in enumerate(self._columns)]
        v += [numbers for _, numbers in self._columns]
        rows, columns, numbers = (np.concatenate(part) for part in (i, j, v))
        if self._changed:
            places = np.array(list(self._changed), dtype=np.int64)
            flat = rows.astype(np.int64) * self.n + columns
            kept = ~np.isin(flat, places[:, 0] * self.n + places[:, 1])
            rows = np.concatenate([rows[kept], places[:, 0]])
            columns = np.concatenate([columns[kept], places[:, 1]])
            numbers = np.concatenate([numbers[kept], list(self._changed.values())])
        matrix = sp.csc_matrix((numbers, (rows, columns)), shape=(self.m, self.n))
        matrix.eliminate_zeros()
        return matrix

    def _column_labels(self) -> Columns:
        if not self.column_names:
            return self.base.columns
        old, new = np.arange(self.base.n), np.arange(len(self.column_names))
        labels = Labels(("", self.base.columns, old), ("", Listed(self.column_names), new))
        return cast(Columns, labels)

    def _row_labels(self) -> Rows:
        if not self.row_names:
            return self.base.rows
        old, new = np.arange(len(self.base.rows)), np.arange(len(self.row_names))
        labels = Labels(("", self.base.rows, old), ("", Listed(self.row_names), new))
        return cast(Rows, labels)
