"""What differs between two models: columns, rows of each kind and the objective, told by name.

All numbers are compared exactly: what differs by rounding counts as changed. So does what stands
beyond degree two as soon as its text, a Param or a fixed variable in it is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.core.expr import expression_to_string
from pyomo.core.expr.visitor import identify_mutable_parameters, identify_variables

from tightmargin.formulations.data.arrays import Index
from tightmargin.solvers.model.columns import Columns
from tightmargin.solvers.model.polynomial import (
    LocalQuadratic,
    Quadratic,
    QuadraticRow,
    minus,
    moved,
)
from tightmargin.solvers.model.reader import PsdRow, StandardForm

Sparse: TypeAlias = sp.csr_matrix | sp.csc_matrix
Names = Sequence[str | None]  # of columns; None for variables that belong to another model
Sides = tuple[bool, bool, bool]  # of a RowChange: same body, wider, narrower
OTHER_SENSE = "the other sense"


class RowKind(StrEnum):
    """Which of the lists of a standard form a row is in."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"
    SEMIDEFINITE = "semidefinite"
    BEYOND = "beyond degree two"


@dataclass(frozen=True)
class RowTerms:
    """low <= sum of a x_j + sum of v x_i x_j <= high, with both halves of the products."""

    linear: Sequence[tuple[int, float]]
    products: Sequence[tuple[int, int, float]]
    low: float
    high: float


def row_terms(form: StandardForm, kind: RowKind, k: int) -> RowTerms:
    """A linear or quadratic row, its constant moved to the sides."""
    if kind is RowKind.LINEAR:
        place = slice(form.A.indptr[k], form.A.indptr[k + 1])
        line = zip(form.A.indices[place].tolist(), form.A.data[place].tolist(), strict=True)
        return RowTerms(list(line), (), float(form.row_lower[k]), float(form.row_upper[k]))
    row = form.quadratic[k]
    at = row.body.index.tolist()
    entries = zip(row.body.i.tolist(), row.body.j.tolist(), row.body.v.tolist(), strict=True)
    products = [(at[i], at[j], v) for i, j, v in entries]
    low, high = (float(side - row.body.constant) for side in (row.lower, row.upper))
    return RowTerms(list(zip(at, row.body.a.tolist(), strict=True)), products, low, high)


@dataclass(frozen=True)
class RowChange:
    """A row that is not the same in both models.

    before, after: its number among the rows of this kind; None where it is missing.
    same_body: whether nothing but its sides differs.
    wider, narrower: whether a side was moved outwards or inwards, of a row with the same body.
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

    @property
    def restricts(self) -> bool:
        """Whether it is new, or was only made tighter."""
        return self.before is None or (self.same_body and self.narrower and not self.wider)


@dataclass(frozen=True, eq=False)
class ObjectiveChange:
    """An objective that is not the same in both models.

    more: what was added to the minimisation, over the columns after; None where no doubles say it.
    words: why they do not.
    """

    more: Quadratic | None
    words: str = ""


@dataclass(frozen=True, eq=False)
class Difference:
    """Two models beside each other; each part is compared when it is first asked for."""

    before: StandardForm
    after: StandardForm

    @cached_property
    def none(self) -> bool:
        """Whether nothing differs: the arrays are equal, or whatever has a name is."""
        if same_arrays(self.before, self.after):
            return True
        counts = [
            (form.n, form.sense, len(form.rows), len(form.quadratic), len(form.psd))
            for form in (self.before, self.after)
        ]
        return (
            counts[0] == counts[1]
            and not (len(self.gone) or len(self.new) or len(self.bounds))
            and self.objective is None
            and not self.rows
        )

    @cached_property
    def names(self) -> tuple[Names, Names]:
        """Of the columns before and after."""
        return column_names(self.before), column_names(self.after)

    @cached_property
    def place(self) -> Index:
        """Column after of each column before; -1 for none."""
        at = {name: j for j, name in enumerate(self.names[1]) if name is not None}
        places = [-1 if name is None else at.get(name, -1) for name in self.names[0]]
        return np.array(places, dtype=np.int64)

    @property
    def gone(self) -> Index:
        """Columns before that are no longer there."""
        return np.flatnonzero(self.place < 0)

    @property
    def new(self) -> Index:
        """Columns after that were not there."""
        return np.setdiff1d(np.arange(self.after.n), self.place)

    @property
    def bounds(self) -> Index:
        """Columns before whose bounds or integrality changed."""
        old, new = self.before, self.after
        common = np.flatnonzero(self.place >= 0)
        there = self.place[common]
        apart = old.integer[common] != new.integer[there]
        for name in ("lower", "upper"):
            apart |= getattr(old, name)[common] != getattr(new, name)[there]
        if any(form.exact.bounds or form.exact.open for form in (old, new)):
            pairs = zip(common.tolist(), there.tolist(), strict=True)
            apart |= [old.exact.end_of(i) != new.exact.end_of(j) for i, j in pairs]
        return common[apart]

    @cached_property
    def rows(self) -> list[RowChange]:
        """Rows that are gone, changed or moved, and new ones, kind by kind."""
        found = self._linear()
        found += self._each(RowKind.QUADRATIC, self._quadratic)
        found += self._each(RowKind.SEMIDEFINITE, self._semidefinite)
        return found + self._each(RowKind.BEYOND, self._beyond)

    @cached_property
    def objective(self) -> ObjectiveChange | None:
        """How the objective changed; None for not at all."""
        old, new = self.before, self.after
        if old.goal is not None or new.goal is not None:
            texts = [None if form.goal is None else _text(form, form.goal) for form in (old, new)]
            if texts[0] != texts[1]:
                return ObjectiveChange(None, RowKind.BEYOND)
            return None if old.sense == new.sense else ObjectiveChange(None, OTHER_SENSE)
        former = moved(old.objective, self.place, new.n)
        if former is None:
            gone = "a variable of the former objective is no longer there"
            return ObjectiveChange(None, gone)
        more = minus(new.objective, former)
        if more is None:
            return ObjectiveChange(None, "the change of a coefficient is no double")
        if old.sense != new.sense:
            return ObjectiveChange(None, OTHER_SENSE)
        changed = more.Q.nnz or more.a.any() or more.constant
        return ObjectiveChange(more) if changed else None

    def _linear(self) -> list[RowChange]:
        old, new, n = self.before, self.after, self.after.n
        labels = new.rows.names()
        pairs, gone, added = _paired(old.rows.names(), labels, RowKind.LINEAR)
        theirs, ours = pairs[:, 0], pairs[:, 1]
        former = old.A[theirs]
        lost = self.place[former.indices] < 0
        missing = np.repeat(np.arange(len(theirs)), np.diff(former.indptr))[lost]
        apart = np.zeros(len(ours), dtype=bool)
        apart[missing] = True
        there = _moved(former, np.maximum(self.place, 0), n)
        apart[abs(new.A[ours] - there).tocoo().row] = True
        low, high = new.row_lower[ours], new.row_upper[ours]
        wider = (low < old.row_lower[theirs]) | (high > old.row_upper[theirs])
        narrower = (low > old.row_lower[theirs]) | (high < old.row_upper[theirs])
        if old.exact.sides or new.exact.sides:  # doubles are next to the sides only
            for k, (i, j) in enumerate(zip(theirs.tolist(), ours.tolist(), strict=True)):
                (old_low, old_high), (new_low, new_high) = old.sides_of(i), new.sides_of(j)
                wider[k] = new_low < old_low or new_high > old_high
                narrower[k] = new_low > old_low or new_high < old_high
        changed = [
            RowChange(
                labels[ours[k]], RowKind.LINEAR, int(theirs[k]), int(ours[k]), not apart[k],
                bool(wider[k]), bool(narrower[k]),
            )
            for k in np.flatnonzero(apart | wider | narrower).tolist()
        ]  # fmt: skip
        return [*gone, *changed, *added]

    def _each(self, kind: RowKind, compare: Callable[[Any, Any], Sides | None]) -> list[RowChange]:
        """Rows of a kind one by one; compare(old, new) is None for two that are the same."""
        old, new = _listed(self.before, kind), _listed(self.after, kind)
        pairs, gone, added = _paired([name for name, _ in old], [name for name, _ in new], kind)
        compared = [(i, j, compare(old[i][1], new[j][1])) for i, j in pairs.tolist()]
        changed = [
            RowChange(new[j][0], kind, i, j, *found)
            for i, j, found in compared
            if found is not None
        ]
        return [*gone, *changed, *added]

    def _quadratic(self, old: QuadraticRow, new: QuadraticRow) -> Sides | None:
        body = _coefficients(new.body, new.body.index)
        same = body == _coefficients(old.body, self.place[old.body.index])
        lost = {tuple(sorted(self.place[list(key)].tolist())): v for key, v in old.lost.items()}
        same = same and (new.lost, new.sides) == (lost, old.sides)
        wider = new.lower < old.lower or new.upper > old.upper
        narrower = new.lower > old.lower or new.upper < old.upper
        return None if same and not (wider or narrower) else (same, wider, narrower)

    def _semidefinite(self, old: PsdRow, new: PsdRow) -> Sides | None:
        known = old.F.shape[0] == new.F.shape[0] and (self.place[old.F.indices] >= 0).all()
        same = known and np.array_equal(old.g, new.g)
        if same and not (new.F - _moved(old.F, self.place, self.after.n)).nnz:
            return None
        return False, False, False

    def _beyond(self, old: Any, new: Any) -> Sides | None:
        same = _text(self.before, old) == _text(self.after, new)
        return None if same else (False, False, False)

    def beyond_texts(self, row: RowChange) -> tuple[str, str]:
        """A row beyond degree two before and after; with values of Params where these alone differ.

        Empty where it is missing.
        """
        parts = [
            None if k is None else form.beyond[k].expr
            for form, k in ((self.before, row.before), (self.after, row.after))
        ]
        return expression_texts(parts[0], parts[1])


def expression_texts(old: Any, new: Any) -> tuple[str, str]:
    """Two expressions, with the values of Params where these alone differ; "" for None."""
    first, second = ("" if e is None else str(e) for e in (old, new))
    if first != second:
        return first, second
    return expression_to_string(old, compute_values=True), expression_to_string(
        new, compute_values=True
    )


def column_names(form: StandardForm) -> Names:
    """Names of the columns; variables that occur without being on the model may be called alike."""
    names: list[str | None] = [*form.columns.names()]
    outside = form.columns.foreign
    for k, variable in enumerate(outside, start=len(names) - len(outside)):
        if not _is_on(_model_of(form.columns), variable):
            names[k] = None
    return names


def _model_of(columns: Columns) -> Any:
    return columns.parts[0].component.model() if columns.parts else None


def _is_on(model: Any, variable: Any) -> bool:
    """Whether a variable is on a model, in a disjunct perhaps; the model of another may be gone."""
    owner = variable.parent_component()
    return model is not None and owner is not None and owner.model() is model


def _text(form: StandardForm, part: Any) -> tuple[Any, ...]:
    """All that a row or objective beyond degree two says, with its numbers."""
    model = _model_of(form.columns)
    variables = identify_variables(part.expr)
    return (
        str(part.expr),
        [(v.name, v.value if v.fixed else None, _is_on(model, v)) for v in variables],
        [(p.name, p.value) for p in identify_mutable_parameters(part.expr)],
    )


def _listed(form: StandardForm, kind: RowKind) -> list[tuple[str, Any]]:
    """Rows of a kind that are no array, with their names."""
    if kind is RowKind.BEYOND:
        return [(str(part.name), part) for part in form.beyond]
    rows = form.quadratic if kind is RowKind.QUADRATIC else form.psd
    return [(str(row.data.name), row) for row in rows]


def _paired(
    before: Sequence[str], after: Sequence[str], kind: RowKind
) -> tuple[Index, list[RowChange], list[RowChange]]:
    """Numbers (k, 2) of the rows that both have, and changes for those gone and those new."""
    at, known = {name: j for j, name in enumerate(after)}, set(before)
    both = [(i, at[name]) for i, name in enumerate(before) if name in at]
    gone = [RowChange(name, kind, i, None) for i, name in enumerate(before) if name not in at]
    new = [RowChange(name, kind, None, j) for j, name in enumerate(after) if name not in known]
    return np.array(both, dtype=np.int64).reshape(-1, 2), gone, new


def _moved(A: sp.csr_matrix, place: Index, n: int) -> sp.csr_matrix:
    """Coefficients over the columns of another model, which has all of them."""
    return sp.csr_matrix((A.data, place[A.indices], A.indptr), shape=(A.shape[0], n))


def _coefficients(body: LocalQuadratic, columns: Index) -> tuple[Any, ...]:
    """By column; a column that the other model lacks is none of its, and two of them differ."""
    at = [int(j) if j >= 0 else -1 - k for k, j in enumerate(columns.tolist())]
    entries = zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
    pairs = {(at[i], at[j]): v for i, j, v in entries if v}
    linear = {j: float(a) for j, a in zip(at, body.a, strict=True) if a}
    return pairs, linear, body.constant


# --- Equal arrays, in one order ------------------------------------------------------------------


def same_arrays(a: StandardForm, b: StandardForm) -> bool:
    """Whether two models are equal as arrays; names of rows may differ, those of columns not."""
    arrays = ("lower", "upper", "integer", "row_lower", "row_upper")
    counts = [(f.sense, len(f.rows), len(f.quadratic), len(f.psd)) for f in (a, b)]
    same_order = a.matrix.format == b.matrix.format  # else it costs a copy
    return (
        counts[0] == counts[1]
        and _same_columns(a.columns, b.columns)
        and a.exact.same_as(b.exact)
        and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays)
        and [_text(a, part) for part in a.nonlinear] == [_text(b, part) for part in b.nonlinear]
        and (_same_matrix(a.matrix, b.matrix) if same_order else _same_matrix(a.A, b.A))
        and _same_goal(a.objective, b.objective)
        and all(
            (p.lower, p.upper, p.lost, p.sides) == (q.lower, q.upper, q.lost, q.sides)
            and _same_body(p.body, q.body)
            for p, q in zip(a.quadratic, b.quadratic, strict=True)
        )
        and all(
            _same_matrix(p.F, q.F) and np.array_equal(p.g, q.g)
            for p, q in zip(a.psd, b.psd, strict=True)
        )
    )


def _same_columns(a: Columns, b: Columns) -> bool:
    """Whether the free variables have the same names in the same order."""
    if len(a.parts) != len(b.parts):
        return False
    return _outside(a) == _outside(b) and all(
        p.component.name == q.component.name
        and np.array_equal(p.columns, q.columns)
        and _same_index(p.component, q.component)
        for p, q in zip(a.parts, b.parts, strict=True)
    )


def _outside(columns: Columns) -> list[tuple[str, bool]]:
    """Variables that no block of the model has, and whether they are on it all the same."""
    model = _model_of(columns)
    return [(v.name, _is_on(model, v)) for v in columns.foreign]


def _same_index(a: Any, b: Any) -> bool:
    """Whether two components have the same keys in the same order."""
    first, second = a.index_set(), b.index_set()
    ranges = all(isinstance(each, pyo.RangeSet) and each.isfinite() for each in (first, second))
    if ranges and len(a) == len(b) == len(first) == len(second):
        return list(first.ranges()) == list(second.ranges())
    return list(a.keys()) == list(b.keys())


def _same_matrix(a: Sparse, b: Sparse) -> bool:
    """Whether two matrices are equal; both are canonical, so their arrays are."""
    if a.shape != b.shape or a.nnz != b.nnz:
        return False
    return all(np.array_equal(getattr(a, k), getattr(b, k)) for k in ("indptr", "indices", "data"))


def _same_body(a: LocalQuadratic, b: LocalQuadratic) -> bool:
    arrays = ("index", "i", "j", "v", "a")
    return a.constant == b.constant and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays
    )


def _same_goal(a: Quadratic, b: Quadratic) -> bool:
    if a.exact_constant != b.exact_constant or a.lost != b.lost:
        return False
    return np.array_equal(a.a, b.a) and _same_matrix(a.Q, b.Q)
