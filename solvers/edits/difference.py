"""What an edit of a catalogue model is: what its builder writes that is gone, and what was added.

The builder is run again, the bounds and fixings of the edited model are put on the new one as
well (a transformation of disjunctions reads them, and a fixed variable is a constant in every
row), and the two are compared as arrays, row by row and by the names of variables. An edit is a
restriction when every row is still there or tighter and nothing but rows, bounds, fixings and
integrality was added. All numbers are compared exactly: what differs by rounding counts as changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.core.expr.visitor import identify_variables

from tightmargin.formulations.modeling.array_variables import VarArrays
from tightmargin.solvers.disjunctive.transformation import is_disjunctive, transformed
from tightmargin.solvers.edits.variables import Added, added_to, component_of, mirrored
from tightmargin.solvers.standard_form.columns import row_name
from tightmargin.solvers.standard_form.quadratic import LocalQuadratic, QuadraticRow
from tightmargin.solvers.standard_form.standard_form import PsdRow, StandardForm, standard_form
from tightmargin.solvers.transformations.quotients import without_quotients

Index = NDArray[np.int64]
Names = Sequence[str | None]  # of columns; None for variables that belong to another model


@dataclass(frozen=True)
class Difference:
    """An edited model beside what its builder writes.

    Attributes
    ----------
    loosened : str
        What of the builder's model is missing, looser or changed; empty for a restriction.
    objective : str
        How the objective differs; empty when it is the builder's.
    added : tuple of Added
    """

    loosened: str = ""
    objective: str = ""
    added: tuple[Added, ...] = ()

    @property
    def is_restriction(self) -> bool:
        """Whether rows, bounds and fixings were added and nothing else was done."""
        return not self.loosened and not self.objective

    @property
    def words(self) -> str:
        """The edit in a few words."""
        parts = [part for part in (self.loosened, self.objective) if part]
        names = list(dict.fromkeys(part.name for part in self.added))
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        return "; ".join([*parts, *([shown] if shown else [])])


def difference(
    model: pyo.ConcreteModel, form: StandardForm, fresh: pyo.ConcreteModel, transformation: str
) -> Difference:
    """How a model differs from a new one of its builder, which is changed on the way.

    Parameters
    ----------
    model : ConcreteModel
        As it is solved: disjunctions and quotients are replaced already.
    form : StandardForm
        Of that model.
    fresh : ConcreteModel
        As its builder returns it.
    transformation : str
        For disjunctions of `fresh`.
    """
    loosened, added = mirrored(model, fresh)
    if is_disjunctive(fresh):
        fresh = transformed(fresh, transformation)
    other = standard_form(without_quotients(fresh))
    names, theirs = _column_names(form), _column_names(other)
    at = {name: k for k, name in enumerate(names) if name is not None}
    gone = [name for name in theirs if name is None or name not in at]
    if gone:
        missing = loosened or f"variable {gone[0]} is missing"
        return Difference(missing, "", tuple(added))
    place = np.array([at[name] for name in theirs if name is not None], dtype=np.int64)
    for compared in (_linear(form, other, place, names), _quadratic(form, other, place, names),
                     _semidefinite(form, other, place)):  # fmt: skip
        loosened = loosened or compared[0]
        added += compared[1]
    new = set(range(form.n)) - set(place.tolist())
    added += _nonlinear(form) + _new_variables(form, names, sorted(new))
    return Difference(loosened, _objective(form, other, place), tuple(added))


def _column_names(form: StandardForm) -> Names:
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


def _linear(
    form: StandardForm, other: StandardForm, place: Index, names: Names
) -> tuple[str, list[Added]]:
    labels, theirs = _row_names(form), _row_names(other)
    at = {label: k for k, label in enumerate(labels)}
    gone = [label for label in theirs if label not in at]
    if gone:
        return f"row {gone[0]} is missing or of another kind", []
    rows = np.array([at[label] for label in theirs], dtype=np.int64)
    A = form.A[rows]
    apart = np.unique(abs(A - _moved(other.A, place, form.n)).tocoo().row)
    if len(apart):
        return f"row {theirs[int(apart[0])]} was changed", []
    low, high = form.row_lower[rows], form.row_upper[rows]
    wider = np.flatnonzero((low < other.row_lower) | (high > other.row_upper))
    if len(wider):
        return f"row {theirs[int(wider[0])]} is looser", []
    tighter = rows[(low > other.row_lower) | (high < other.row_upper)]
    new = sorted({*range(len(labels))} - set(rows.tolist()) | set(tighter.tolist()))
    return "", [_added_row(form, labels[k], k, names) for k in new]


def _row_names(form: StandardForm) -> list[str]:
    return [row_name(component, key) for component, key in form.rows.locations()]


def _moved(A: sp.csr_matrix, place: Index, n: int) -> sp.csr_matrix:
    """Coefficients of the builder's model over the columns of the edited one."""
    return sp.csr_matrix((A.data, place[A.indices], A.indptr), shape=(A.shape[0], n))


def _added_row(form: StandardForm, label: str, k: int, names: Names) -> Added:
    row = form.A[k].tocoo()
    low, high = float(form.row_lower[k]), float(form.row_upper[k])
    return _statement(label, names, row.col.tolist(), row.data.tolist(), (), low, high)


def _statement(
    label: str,
    names: Names,
    columns: Iterable[int],
    numbers: Iterable[float],
    products: tuple[Any, ...],
    low: float,
    high: float,
) -> Added:
    terms = [(names[j], a) for j, a in zip(columns, numbers, strict=True) if a]
    occurring = [name for name, _ in terms] + [name for *pair, _ in products for name in pair]
    own = [name for name in occurring if name is not None]
    up = {
        name for name, a in terms
        if name is not None and ((a > 0 and low > -np.inf) or (a < 0 and high < np.inf))
    } | {name for *pair, _ in products for name in pair if name is not None}  # fmt: skip
    known = len(own) == len(occurring)
    statement = ("row", tuple(sorted(terms)), tuple(sorted(products)), low, high) if known else None
    return Added(
        label, statement, frozenset(map(component_of, own)), frozenset(map(component_of, up))
    )


def _quadratic(
    form: StandardForm, other: StandardForm, place: Index, names: Names
) -> tuple[str, list[Added]]:
    rows = {str(row.data.name): row for row in form.quadratic}
    added = []
    for theirs in other.quadratic:
        label = str(theirs.data.name)
        row = rows.pop(label, None)
        if row is None:
            return f"row {label} is missing or of another kind", []
        moved = place[theirs.body.index]
        if _coefficients(row.body, row.body.index) != _coefficients(theirs.body, moved):
            return f"row {label} was changed", []
        if row.lower < theirs.lower or row.upper > theirs.upper:
            return f"row {label} is looser", []
        if (row.lower, row.upper) != (theirs.lower, theirs.upper):
            added.append(_added_quadratic(label, row, names))
    return "", added + [_added_quadratic(label, row, names) for label, row in rows.items()]


def _coefficients(body: LocalQuadratic, columns: Index) -> tuple[Any, ...]:
    pairs = {(int(columns[i]), int(columns[j])): float(v)
             for i, j, v in zip(body.i, body.j, body.v, strict=True) if v}  # fmt: skip
    linear = {int(j): float(a) for j, a in zip(columns, body.a, strict=True) if a}
    return pairs, linear, body.constant


def _added_quadratic(label: str, row: QuadraticRow, names: Names) -> Added:
    body = row.body
    at = [names[j] for j in body.index.tolist()]
    products = tuple(
        (at[i], at[j], float(v)) for i, j, v in zip(body.i, body.j, body.v, strict=True)
    )
    low, high = float(row.lower - body.constant), float(row.upper - body.constant)
    return _statement(label, names, body.index.tolist(), body.a.tolist(), products, low, high)


def _semidefinite(form: StandardForm, other: StandardForm, place: Index) -> tuple[str, list[Added]]:
    rows: dict[str, PsdRow] = {str(row.data.name): row for row in form.psd}
    for theirs in other.psd:
        label = str(theirs.data.name)
        row = rows.pop(label, None)
        if row is None:
            return f"row {label} is missing or of another kind", []
        if row.F.shape[0] != theirs.F.shape[0] or not np.array_equal(row.g, theirs.g):
            return f"row {label} was changed", []
        if (row.F - _moved(theirs.F, place, form.n)).nnz:
            return f"row {label} was changed", []
    names = _column_names(form)
    return "", [_unreadable(label, _names_at(names, row.F.indices)) for label, row in rows.items()]


def _names_at(names: Names, columns: Index) -> Iterator[str]:
    return (name for name in (names[j] for j in np.unique(columns).tolist()) if name is not None)


def _unreadable(label: str, occurring: Iterable[str]) -> Added:
    components = frozenset(map(component_of, occurring))
    return Added(label, None, components, components)


def _nonlinear(form: StandardForm) -> list[Added]:
    rows = [row for row in form.nonlinear if row.ctype is pyo.Constraint]
    return [_unreadable(str(r.name), (v.name for v in identify_variables(r.body))) for r in rows]


def _new_variables(form: StandardForm, names: Names, columns: list[int]) -> list[Added]:
    held = VarArrays(
        form.lower, form.upper, np.zeros(form.n), np.zeros(form.n, dtype=bool), form.integer
    )
    return [
        part
        for j in columns
        if (name := names[j]) is not None
        for part in added_to(name, held, None, j)
    ]


def _objective(form: StandardForm, other: StandardForm, place: Index) -> str:
    beyond = any(row.ctype is pyo.Objective for row in form.nonlinear)
    a = np.zeros(form.n)
    a[place] = other.objective.a
    Q = other.objective.Q.tocoo()
    moved = sp.csr_matrix((Q.data, (place[Q.row], place[Q.col])), shape=(form.n, form.n))
    same = (
        not beyond
        and form.sense == other.sense
        and form.objective.constant == other.objective.constant
        and np.array_equal(form.objective.a, a)
        and (form.objective.Q - moved).nnz == 0
    )
    return "" if same else "the objective was changed"
