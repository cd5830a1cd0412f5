"""Rows of two models held against each other, by name: which are gone, new, changed, or moved.

All numbers are compared exactly: what differs by rounding counts as changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Index
from tightmargin.solvers.standard_form.columns import row_name
from tightmargin.solvers.standard_form.quadratic import LocalQuadratic, QuadraticRow
from tightmargin.solvers.standard_form.standard_form import PsdRow, StandardForm

Names = Sequence[str | None]  # of columns; None for variables that belong to another model


class RowKind(StrEnum):
    """Which of the lists of a standard form a row is in."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"
    SEMIDEFINITE = "semidefinite"


@dataclass(frozen=True)
class RowChange:
    """A row that is not the same in both models.

    Attributes
    ----------
    name : str
    kind : RowKind
    before, after : int or None
        Its number among the rows of this kind; None where it is missing.
    same_body : bool
        Whether nothing but its sides differs.
    wider, narrower : bool
        Whether a side was moved outwards or inwards, of a row with the same body.
    """

    name: str
    kind: RowKind
    before: int | None
    after: int | None
    same_body: bool = False
    wider: bool = False
    narrower: bool = False

    @property
    def loosened(self) -> str:
        """What it lets in that the former row did not, as far as can be seen; may be empty."""
        if self.after is None:
            return f"row {self.name} is missing or of another kind"
        if self.before is None or (self.same_body and not self.wider):
            return ""
        return f"row {self.name} is looser" if self.same_body else f"row {self.name} was changed"


def column_names(form: StandardForm) -> Names:
    """Names of the columns; variables that occur without being on the model may be called alike."""
    names: list[str | None] = [*form.columns.names()]
    outside = form.columns.foreign
    first = len(names) - len(outside)
    root = form.columns.parts[0].component.model() if form.columns.parts else None
    for k, variable in enumerate(outside, start=first):
        # Those of disjuncts are on the model, and are not found among its blocks. The model of
        # another variable may be gone.
        owner = variable.parent_component()
        if root is None or owner is None or owner.model() is not root:
            names[k] = None
    return names


def row_changes(form: StandardForm, other: StandardForm, place: Index) -> list[RowChange]:
    """Rows of `other` that are gone, changed or moved in `form`, and new ones, kind by kind.

    Parameters
    ----------
    place : array (other.n,)
        Column of `form` for each column of `other`, -1 for none.
    """
    return [
        *_linear(form, other, place),
        *_quadratic(form, other, place),
        *_semidefinite(form, other, place),
    ]


def linear_names(form: StandardForm) -> list[str]:
    """Names of the linear rows, without making them."""
    return [row_name(component, key) for component, key in form.rows.locations()]


def moved(A: sp.csr_matrix, place: Index, n: int) -> sp.csr_matrix:
    """Coefficients of one model over the columns of another one, which has all of them."""
    return sp.csr_matrix((A.data, place[A.indices], A.indptr), shape=(A.shape[0], n))


def _paired(
    labels: Sequence[str], theirs: Sequence[str], kind: RowKind
) -> tuple[Index, Index, list[RowChange], list[RowChange]]:
    """Numbers of the rows that both have, and changes for those that are gone and those new."""
    at, known = {label: k for k, label in enumerate(labels)}, set(theirs)
    both = [(at[label], j) for j, label in enumerate(theirs) if label in at]
    gone = [RowChange(t, kind, j, None) for j, t in enumerate(theirs) if t not in at]
    new = [RowChange(t, kind, None, k) for k, t in enumerate(labels) if t not in known]
    pairs = np.array(both, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], gone, new


def _linear(form: StandardForm, other: StandardForm, place: Index) -> list[RowChange]:
    labels = linear_names(form)
    ours, theirs, gone, new = _paired(labels, linear_names(other), RowKind.LINEAR)
    old = other.A[theirs]
    lost = place[old.indices] < 0
    missing = np.repeat(np.arange(len(theirs)), np.diff(old.indptr))[lost & (old.data != 0)]
    apart = np.zeros(len(ours), dtype=bool)
    apart[missing] = True
    apart[abs(form.A[ours] - moved(old, np.maximum(place, 0), form.n)).tocoo().row] = True
    low, high = form.row_lower[ours], form.row_upper[ours]
    wider = (low < other.row_lower[theirs]) | (high > other.row_upper[theirs])
    narrower = (low > other.row_lower[theirs]) | (high < other.row_upper[theirs])
    for k, (i, j) in enumerate(zip(ours.tolist(), theirs.tolist(), strict=True)):
        if i in form.exact.sides or j in other.exact.sides:  # doubles are next to the sides only
            (new_low, new_high), (old_low, old_high) = form.sides_of(i), other.sides_of(j)
            wider[k] = new_low < old_low or new_high > old_high
            narrower[k] = new_low > old_low or new_high < old_high
    found = [
        RowChange(
            labels[ours[k]], RowKind.LINEAR, int(theirs[k]), int(ours[k]), not apart[k],
            bool(wider[k]), bool(narrower[k]),
        )
        for k in np.flatnonzero(apart | wider | narrower).tolist()
    ]  # fmt: skip
    return [*gone, *found, *new]


def _quadratic(form: StandardForm, other: StandardForm, place: Index) -> list[RowChange]:
    labels, known = _labels(form.quadratic), _labels(other.quadratic)
    ours, theirs, gone, new = _paired(labels, known, RowKind.QUADRATIC)
    found = []
    for k, j in zip(ours.tolist(), theirs.tolist(), strict=True):
        row, old = form.quadratic[k], other.quadratic[j]
        body = _coefficients(row.body, row.body.index)
        same = body == _coefficients(old.body, place[old.body.index])
        same = same and (row.lost, row.sides) == (old.lost, old.sides)
        wider = row.lower < old.lower or row.upper > old.upper
        narrower = row.lower > old.lower or row.upper < old.upper
        if not same or wider or narrower:
            found.append(RowChange(labels[k], RowKind.QUADRATIC, j, k, same, wider, narrower))
    return [*gone, *found, *new]


def _semidefinite(form: StandardForm, other: StandardForm, place: Index) -> list[RowChange]:
    labels, known = _labels(form.psd), _labels(other.psd)
    ours, theirs, gone, new = _paired(labels, known, RowKind.SEMIDEFINITE)
    changed = [
        RowChange(labels[k], RowKind.SEMIDEFINITE, j, k)
        for k, j in zip(ours.tolist(), theirs.tolist(), strict=True)
        if not _same_matrix(form.psd[k], other.psd[j], place, form.n)
    ]
    return [*gone, *changed, *new]


def _labels(rows: Iterable[QuadraticRow | PsdRow]) -> list[str]:
    return [str(row.data.name) for row in rows]


def _coefficients(body: LocalQuadratic, columns: Index) -> tuple[Any, ...]:
    """By column; a column that the other model lacks is none of its, and two of them differ."""
    at = [int(j) if j >= 0 else -1 - k for k, j in enumerate(columns.tolist())]
    entries = zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
    pairs = {(at[i], at[j]): v for i, j, v in entries if v}
    linear = {j: float(a) for j, a in zip(at, body.a, strict=True) if a}
    return pairs, linear, body.constant


def _same_matrix(row: PsdRow, old: PsdRow, place: Index, n: int) -> bool:
    if row.F.shape[0] != old.F.shape[0] or not np.array_equal(row.g, old.g):
        return False
    if (place[old.F.indices] < 0).any():
        return False
    return bool((row.F - moved(old.F, place, n)).nnz == 0)
