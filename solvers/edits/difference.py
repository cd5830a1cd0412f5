"""What an edit of a catalogue model is: what its builder writes that is gone, and what was added.

The builder is run again, the bounds and fixings of the edited model are put on the new one as
well (a transformation of disjunctions reads them, and a fixed variable is a constant in every
row), and the two are compared as arrays, row by row and by the names of variables. An edit is a
restriction when every row is still there or tighter and nothing but rows, bounds, fixings and
integrality was added. All numbers are compared exactly: what differs by rounding counts as changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables

from tightmargin.formulations.data.arrays import Index
from tightmargin.formulations.modeling.array_variables import VarArrays
from tightmargin.solvers.disjunctive.transformation import is_disjunctive, transformed
from tightmargin.solvers.edits.differences.functions import minus, moved
from tightmargin.solvers.edits.row_changes import (
    Names,
    RowChange,
    RowKind,
    column_names,
    row_changes,
)
from tightmargin.solvers.edits.variables import Added, added_to, component_of, mirrored
from tightmargin.solvers.standard_form.quadratic import Quadratic, QuadraticRow
from tightmargin.solvers.standard_form.restated import representable
from tightmargin.solvers.standard_form.standard_form import StandardForm
from tightmargin.solvers.transformations.quotients import without_quotients

OTHER_OBJECTIVE = "the objective was changed"


@dataclass(frozen=True, eq=False)
class Difference:
    """An edited model beside what its builder writes.

    Attributes
    ----------
    loosened : str
        What of the builder's model is missing, looser or changed; empty for a restriction.
    objective : str
        How the objective differs; empty when it is the builder's.
    added : tuple of Added
    dropped : tuple of str
        Linear rows that are missing.
    loosened_otherwise : str
        What is looser besides them.
    more : Quadratic or None
        What was added to the objective, over the columns of the edited model; None where that is
        nothing, or cannot be said in doubles.
    """

    loosened: str = ""
    objective: str = ""
    added: tuple[Added, ...] = ()
    dropped: tuple[str, ...] = ()
    loosened_otherwise: str = ""
    more: Quadratic | None = None

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
    _, other = representable(without_quotients(fresh))
    names, theirs = column_names(form), column_names(other)
    at = {name: k for k, name in enumerate(names) if name is not None}
    gone = [name for name in theirs if name is None or name not in at]
    if gone:
        missing = loosened or f"variable {gone[0]} is missing"
        return Difference(missing, "", tuple(added), (), missing)
    place = np.array([at[name] for name in theirs if name is not None], dtype=np.int64)
    changes = row_changes(form, other, place)
    added += [_added(form, change, names) for change in changes if _says_more(change)]
    new = set(range(form.n)) - set(place.tolist())
    added += _nonlinear(form) + _new_variables(form, names, sorted(new))
    words = [change.loosened for change in changes]
    dropped = tuple(c.name for c in changes if c.after is None and c.kind is RowKind.LINEAR)
    kept = [c.loosened for c in changes if c.after is not None or c.kind is not RowKind.LINEAR]
    objective, more = _objective(form, other, place)
    return Difference(
        loosened or next(filter(None, words), ""),
        objective,
        tuple(added),
        dropped,
        loosened or next(filter(None, kept), ""),
        more,
    )


def _says_more(change: RowChange) -> bool:
    """Whether a row is new, or was only made tighter."""
    if change.before is None:
        return True
    return change.same_body and change.narrower and not change.wider


def _added(form: StandardForm, change: RowChange, names: Names) -> Added:
    """The row as it is now; one that says more than it did says so as a whole."""
    k = change.after
    assert k is not None
    if change.kind is RowKind.LINEAR:
        return _added_row(form, change.name, k, names)
    if change.kind is RowKind.QUADRATIC:
        return _added_quadratic(change.name, form.quadratic[k], names)
    return _unreadable(change.name, _names_at(names, form.psd[k].F.indices))


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


def _added_quadratic(label: str, row: QuadraticRow, names: Names) -> Added:
    body = row.body
    at = [names[j] for j in body.index.tolist()]
    products = tuple(
        (at[i], at[j], float(v)) for i, j, v in zip(body.i, body.j, body.v, strict=True)
    )
    low, high = float(row.lower - body.constant), float(row.upper - body.constant)
    return _statement(label, names, body.index.tolist(), body.a.tolist(), products, low, high)


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


def _objective(
    form: StandardForm, other: StandardForm, place: Index
) -> tuple[str, Quadratic | None]:
    """How the objective differs, and by what."""
    beyond = any(row.ctype is pyo.Objective for row in form.nonlinear)
    former = moved(other.objective, place, form.n)
    if beyond or former is None or form.sense != other.sense:
        return OTHER_OBJECTIVE, None
    more = minus(form.objective, former)
    if more is not None and not (more.Q.nnz or more.a.any() or more.constant):
        return "", None
    return OTHER_OBJECTIVE, more
