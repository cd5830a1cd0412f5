"""Columns of a single row: in the dual they are bounds on that row's multiplier, and no row.

A column x_j >= 0 that occurs in row i alone, with coefficient a and cost c and no quadratic term,
asks of the dual only  c - a y_i >= 0, which is y_i <= c / a for a > 0 and y_i >= c / a for a < 0.
Such a column raises (a > 0) or lowers (a < 0) the value of its row; x_j <= 0 does the opposite,
and a free one does both and fixes y_i. Once the other columns are known, it takes the value that
brings its row to the side the price c asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.standard_form.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class Slacks:
    """At most one column per row that raises it and one that lowers it.

    Attributes
    ----------
    raising, lowering : arrays (m,)
        Column of each row, -1 where there is none; a free column stands in both.
    raising_size, lowering_size : arrays (m,)
        Its coefficient, 1 where there is none.
    low, high : arrays (m,)
        Interval that the sides and these columns leave to the row's multiplier.
    """

    raising: Index
    lowering: Index
    raising_size: Array
    lowering_size: Array
    low: Array
    high: Array

    @cached_property
    def columns(self) -> Index:
        """All of them, ascending."""
        both = np.concatenate([self.raising, self.lowering])
        # Counted: to sort them, or to hash them as numpy does, takes ten times as long.
        return np.flatnonzero(np.bincount(both[both >= 0]))

    def complete(self, A: sp.csr_matrix, row_lower: Array, row_upper: Array, x: Array) -> Array:
        """The point with these columns set from the others (theirs in `x` are ignored).

        A column that costs something moves its row just into its sides; one that earns something
        moves it to the far side.
        """
        x = x.copy()
        x[self.columns] = 0.0
        value = A @ x
        here = self._raised
        if here.size:
            far = np.where(self.high[here] < 0, row_upper[here], row_lower[here])
            x[self.raising[here]] += _step(far - value[here]) / self.raising_size[here]
        here = self._lowered
        if here.size:
            far = np.where(self.low[here] > 0, row_lower[here], row_upper[here])
            x[self.lowering[here]] -= _step(value[here] - far) / self.lowering_size[here]
        return x

    @cached_property
    def _raised(self) -> Index:
        return np.flatnonzero(self.raising >= 0)

    @cached_property
    def _lowered(self) -> Index:
        return np.flatnonzero(self.lowering >= 0)


def _step(distance: Array) -> Array:
    """How far to move: nowhere for a row that is met.

    Nor for one that is open on the side the price asks for, where the model is unbounded.
    """
    step = np.maximum(distance, 0.0)
    return step if np.isfinite(step).all() else np.where(np.isfinite(step), step, 0.0)


def slacks(form: StandardForm, A: sp.csc_matrix) -> Slacks:
    """Find the slack columns of a linear or convex quadratic program with rows A."""
    m = A.shape[0]
    # First the columns that lower their row, then those that raise it.
    taken, sizes = np.full((2, m), -1, dtype=np.int64), np.ones((2, m))
    limits = np.array([
        np.where(np.isfinite(form.row_upper), -np.inf, 0.0),
        np.where(np.isfinite(form.row_lower), np.inf, 0.0),
    ])  # fmt: skip
    columns, rows, a = _singles(form, A)
    price = form.objective.a[columns] / a
    lower, upper = form.lower[columns], form.upper[columns]
    free = np.isneginf(lower) & np.isposinf(upper)
    nonnegative, nonpositive = (lower == 0) & np.isposinf(upper), np.isneginf(lower) & (upper == 0)
    raises = np.where(a > 0, nonnegative, nonpositive)
    # Free columns choose first, because they need both places of their row.
    for kind, places in (
        (free, [0, 1]),
        (raises, [1]),
        ((nonnegative | nonpositive) & ~raises, [0]),
    ):
        vacant = taken[places].max(axis=0)[rows] < 0
        # A price that leaves no multiplier is for a row of the dual to refuse.
        fits = (limits[0, rows] <= price) & (price <= limits[1, rows])
        chosen = np.flatnonzero(kind & vacant & fits)
        chosen = chosen[np.unique(rows[chosen], return_index=True)[1]]
        for place in places:
            at = rows[chosen]
            taken[place, at] = columns[chosen]
            sizes[place, at] = a[chosen]
            limits[place, at] = price[chosen]
    return Slacks(taken[1], taken[0], sizes[1], sizes[0], limits[0], limits[1])


def _singles(form: StandardForm, A: sp.csc_matrix) -> tuple[Index, Index, Array]:
    """Columns with one entry, in a row that has a side, and no quadratic term: column, row, a."""
    alone = np.diff(A.indptr) == 1
    alone[curved(form)] = False
    columns = np.flatnonzero(alone)
    entries = A.indptr[columns]
    rows = A.indices[entries].astype(np.int64)
    sided = np.isfinite(form.row_lower[rows]) | np.isfinite(form.row_upper[rows])
    return columns[sided], rows[sided], A.data[entries[sided]]


def curved(form: StandardForm) -> Index:
    """Columns with a quadratic term, ascending."""
    return np.unique(form.objective.Q.indices).astype(np.int64)
