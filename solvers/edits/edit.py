"""What an edit of a catalogue model is: what its builder writes that is gone, and what was added.

The builder is run again with the present hyperparameters, its model is read once, and the two are
compared. An edit is a restriction when every row is still there or tighter and nothing but rows,
bounds, fixings and integrality was added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables
from pyomo.gdp import Disjunct

from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.formulations.data.arrays import Index
from tightmargin.formulations.modeling.array_variables import VarArrays
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.model.columns import ATTAINED, Ends, held_by, row_name
from tightmargin.solvers.model.difference import Difference, Names, RowChange, RowKind, row_terms
from tightmargin.solvers.model.polynomial import Number, Quadratic
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import is_disjunctive, without_quotients

NOWHERE = frozenset[str]()
OTHER_OBJECTIVE = "the objective was changed"


@dataclass(frozen=True)
class Added:
    """One row, bound or fixing that the builder does not write.

    name: of the row or variable.
    statement: what it says, by names of variables and with its numbers, so that two models can be
        held against each other; None where that cannot be told (a row beyond degree two).
    touched: components of the variables that occur.
    holds_up: those of them whose elements cannot always be made smaller without leaving it.
    """

    name: str
    statement: tuple[Any, ...] | None
    touched: frozenset[str] = NOWHERE
    holds_up: frozenset[str] = NOWHERE


@dataclass(frozen=True, eq=False)
class Edit:
    """An edited model beside what its builder writes.

    loosened: what of the builder's model is missing, looser or changed; empty for a restriction.
    objective: how the objective differs; empty when it is the builder's.
    added, tuple of Added.
    dropped: linear rows that are missing.
    loosened_otherwise: what is looser besides them.
    more: what was added to the objective, over the columns of the edited model; None where that is
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
    def is_none(self) -> bool:
        """Whether nothing that has a name differs."""
        return self.is_restriction and not self.added

    @property
    def words(self) -> str:
        """The edit in a few words."""
        parts = [part for part in (self.loosened, self.objective) if part]
        names = list(dict.fromkeys(part.name for part in self.added))
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        return "; ".join([*parts, *([shown] if shown else [])])


# --- The builder's model, read once for all that is asked of an edited one ------------------------


@dataclass(frozen=True, eq=False)
class Built:
    """What a builder writes, as it returns it, and as a solver gets it with its arrays."""

    written: pyo.ConcreteModel
    model: pyo.ConcreteModel
    form: StandardForm


@dataclass(eq=False)
class _Compared:
    """A model beside the builder's for the hyperparameters that it has now."""

    origin: Origin
    built: Built
    unedited: bool
    edit: Edit | None = None


# By the arrays of the model that is compared, which nothing here may keep.
_COMPARED: WeakKeyDictionary[StandardForm, _Compared] = WeakKeyDictionary()


def built(origin: Origin) -> Built:
    """The model of an origin."""
    written = CATALOGUE[origin.entry].build(origin.data, **origin.parameters)
    return Built(written, *_as_solved(written))


def _as_solved(model: pyo.ConcreteModel) -> tuple[pyo.ConcreteModel, StandardForm]:
    plain = without_disjunctions(model) if is_disjunctive(model) else model
    return representable(without_quotients(plain))


def _compared(model: pyo.ConcreteModel, form: StandardForm) -> _Compared | None:
    """None for models that are not of the catalogue."""
    if not isinstance(getattr(model, "origin", None), Origin):
        return None
    if form not in _COMPARED:
        origin = origin_now(model)
        fresh = built(origin)
        _COMPARED[form] = _Compared(origin, fresh, Difference(fresh.form, form).none)
    return _COMPARED[form]


def unedited_origin(model: pyo.ConcreteModel, form: StandardForm) -> Origin | None:
    """Origin of a model that is what its builder writes; None when edited or foreign.

    Raises ValueError: when a hyperparameter was set to something its builder refuses.
    """
    found = _compared(model, form)
    return None if found is None or not found.unedited else found.origin


def set_anew(written: Origin, now: Origin) -> list[str]:
    """Hyperparameters that are numbers, and other ones now."""
    pairs = {word: (value, now.parameters[word]) for word, value in written.parameters.items()}
    return [
        word
        for word, both in pairs.items()
        if all(isinstance(value, int | float) for value in both) and both[0] != both[1]
    ]


def as_built(model: pyo.ConcreteModel, form: StandardForm) -> pyo.ConcreteModel:
    """What the builder of a model of the catalogue writes, which is not ours to change."""
    found = _compared(model, form)
    assert found is not None
    return found.built.written


def edit_of(model: pyo.ConcreteModel, form: StandardForm) -> Edit | None:
    """How a model differs from its builder's; None for foreign ones.

    model, form: as it is solved: disjunctions and quotients are replaced already.
    """
    found = _compared(model, form)
    if found is not None and found.edit is None:
        found.edit = _edit(model, form, found.built)
    return None if found is None else found.edit


@contextmanager
def as_edit_of_its_base(model: pyo.ConcreteModel) -> Iterator[bool]:
    """For a while the model is one of the innermost entry it was made of; says whether it is.

    What a catalogue model rests on besides its rows (an M derived from a known point, an intercept
    in a box) is known by its entry. Under the name of a registered builder that only adds to it
    nothing would be.
    """
    written = base = getattr(model, "origin", None)
    while isinstance(base, Origin) and base.base is not None:
        base = base.base
    if base is written:
        yield False
        return
    model.origin = base
    try:
        yield True
    finally:
        model.origin = written


# --- Variables: their limits and fixings, of those that are constants in the arrays too -----------


@dataclass(frozen=True)
class _Limits:
    """What a variable may be."""

    low: tuple[Number, bool]  # the end, and whether it is excluded
    high: tuple[Number, bool]  # the same of minus the variable
    ends: tuple[float, float]  # the doubles next to them, outwards
    fixed: float | None
    integer: bool

    @classmethod
    def of(cls, held: VarArrays, ends: Ends, k: int) -> _Limits:
        """Those of element k."""
        (low, high), (open_low, open_high) = ends
        outer = float(held.lower[k]), float(held.upper[k])
        return cls(
            (outer[0] if low is None else low, open_low),
            (-outer[1] if high is None else -high, open_high),
            outer,
            float(held.values[k]) if held.fixed[k] else None,
            bool(held.integer[k]),
        )

    def admits(self, value: float) -> bool:
        """Whether the variable may have a value."""
        inside = (value, False) >= self.low and (-value, False) >= self.high
        return inside and not (self.integer and value != np.round(value))


@dataclass(frozen=True, eq=False)
class _Change:
    """A variable of the builder's that may be something else now."""

    component: Any
    key: Any
    then: _Limits
    now: _Limits

    @property
    def name(self) -> str:
        """Of the variable."""
        return row_name(self.component, self.key)

    @property
    def looser(self) -> str:
        """What it may do that the builder forbids, or an empty string."""
        now, then = self.now, self.then
        if then.fixed is not None:
            kept = now.fixed == then.fixed
            return "" if kept else f"{self.name} is not fixed as its builder fixes it"
        if now.fixed is not None:
            if then.admits(now.fixed):
                return ""
            return f"{self.name} is fixed at {now.fixed:.6g}, which its builder does not admit"
        if now.low < then.low or now.high < then.high:
            return f"the bounds of {self.name} are wider"
        return f"{self.name} need not be an integer" if then.integer and not now.integer else ""

    def put_on(self, model: pyo.ConcreteModel) -> None:
        """Give a model of the builder's the same bounds or fixing."""
        component, now = model.find_component(self.component.name), self.now
        element = component if self.key is None else component[self.key]
        low, high = float(now.low[0]), -float(now.high[0])
        element.setlb(None if low == -np.inf else low)
        element.setub(None if high == np.inf else high)
        if now.fixed is None:
            element.unfix()
            return
        if not now.fixed.is_integer():
            element.domain = pyo.Reals  # an edit of the domain came with it, else nobody reads it
        element.fix(now.fixed, skip_validation=True)


def _variable_changes(model: pyo.ConcreteModel, fresh: Built) -> tuple[list[str], list[_Change]]:
    """Variables of the builder's whose limits are others, and what is looser, in words."""
    looser: list[str] = []
    changes: list[_Change] = []
    for component in fresh.written.component_objects(pyo.Var, descend_into=(pyo.Block, Disjunct)):
        if component.is_reference():
            continue  # its variables stand elsewhere too
        twin = model.find_component(component.name)
        if twin is None or twin.ctype is not pyo.Var or list(twin) != list(component):
            looser.append(f"variable {component.name} was replaced")
            continue
        # As a solver gets them: disjunctions may be replaced with rounded bounds.
        then, old_ends = held_by(fresh.model.find_component(component.name))
        now, new_ends = held_by(twin)
        same = (
            (now.fixed == then.fixed) & (now.integer == then.integer)
            & (~now.fixed | (now.values == then.values))
            & (now.fixed | ((now.lower == then.lower) & (now.upper == then.upper)))
        )  # fmt: skip
        for k in old_ends.keys() | new_ends.keys():
            same[k] &= now.fixed[k] or old_ends.get(k) == new_ends.get(k)
        keys = list(component.keys()) if not same.all() and component.is_indexed() else []
        for k in np.flatnonzero(~same).tolist():
            old = _Limits.of(then, old_ends.get(k, ATTAINED), k)
            new = _Limits.of(now, new_ends.get(k, ATTAINED), k)
            changes.append(_Change(component, keys[k] if keys else None, old, new))
            looser.append(changes[-1].looser)
    return looser, changes


def _added_limits(name: str, now: _Limits, then: _Limits | None) -> Iterator[Added]:
    """Bounds, fixing and integrality of a variable that the builder's one does not have."""
    component, fixed = frozenset({component_of(name)}), now.fixed is not None
    low, high = (now.fixed, now.fixed) if now.fixed is not None else now.ends
    nothing = (-np.inf, False)
    if fixed or now.low > (nothing if then is None else then.low):
        # An element that is at least 0 anyway can still go down to 0.
        free = fixed and then is not None and (low, False) <= then.low
        yield Added(name, ("lower", name, low), component, NOWHERE if free else component)
    if fixed or now.high > (nothing if then is None else then.high):
        yield Added(name, ("upper", name, high), component)
    if now.integer and not fixed and not (then is not None and then.integer):
        binary = 0 <= low <= high <= 1
        yield Added(name, ("integer", name), component, NOWHERE if binary else component)


def component_of(name: str) -> str:
    """Component of an element: w of w[0]."""
    return name.partition("[")[0]


# --- The edit -------------------------------------------------------------------------------------


def _edit(model: pyo.ConcreteModel, form: StandardForm, fresh: Built) -> Edit:
    looser, changes = _variable_changes(model, fresh)
    added = [
        part for change in changes for part in _added_limits(change.name, change.now, change.then)
    ]
    what = Difference(_with_limits(fresh, changes), form)
    if what.gone.size:
        loosened = _first([*looser, f"variable {what.names[0][what.gone[0]]} is missing"])
        return Edit(loosened, "", tuple(added), (), loosened)
    rows, names = what.rows, what.names[1]
    added += [_added_row(form, row, names) for row in rows if row.restricts]
    added += _new_variables(form, names, what.new)
    others = [row for row in rows if row.after is not None or row.kind is not RowKind.LINEAR]
    return Edit(
        loosened=_first([*looser, *(row.loosened for row in rows)]),
        objective=OTHER_OBJECTIVE if what.objective else "",
        added=tuple(added),
        dropped=tuple(r.name for r in rows if r.after is None and r.kind is RowKind.LINEAR),
        loosened_otherwise=_first([*looser, *(row.loosened for row in others)]),
        more=what.objective.more if what.objective else None,
    )


def _first(words: Iterable[str]) -> str:
    return next(filter(None, words), "")


def _with_limits(fresh: Built, changes: list[_Change]) -> StandardForm:
    """Arrays of the builder's model with the limits and fixings of the edited one."""
    # What is fixed is a constant in every row. Bounds are read where disjunctions or quotients are
    # replaced, or might be, and where numbers are rounded.
    fixed = any(change.now.fixed != change.then.fixed for change in changes)
    replaced = fresh.model is not fresh.written or fresh.form.nonlinear
    if not changes or not (fixed or replaced or fresh.form.rounded):
        return fresh.form
    copy = fresh.written.clone()
    for change in changes:
        change.put_on(copy)
    return _as_solved(copy)[1]


def _added_row(form: StandardForm, change: RowChange, names: Names) -> Added:
    """The row as it is now; one that says more than it did says so as a whole."""
    k, kind = change.after, change.kind
    assert k is not None
    if kind is RowKind.BEYOND:
        return _unreadable(change.name, [v.name for v in identify_variables(form.beyond[k].body)])
    if kind is RowKind.SEMIDEFINITE:
        columns = np.unique(form.psd[k].F.indices).tolist()
        return _unreadable(change.name, [names[j] for j in columns])
    row = row_terms(form, kind, k)
    terms = [(names[j], a) for j, a in row.linear if a]
    products = [(names[i], names[j], v) for i, j, v in row.products]
    in_products = [name for *pair, _ in products for name in pair]
    occurring = [*(name for name, _ in terms), *in_products]
    up: set[str | None] = {
        name for name, a in terms
        if (a > 0 and row.low > -np.inf) or (a < 0 and row.high < np.inf)
    } | {*in_products}  # fmt: skip
    statement = None
    if None not in occurring:
        statement = ("row", tuple(sorted(terms)), tuple(sorted(products)), row.low, row.high)
    return Added(change.name, statement, _components(occurring), _components(up))


def _components(names: Iterable[str | None]) -> frozenset[str]:
    return frozenset(component_of(name) for name in names if name is not None)


def _unreadable(label: str, occurring: Iterable[str | None]) -> Added:
    components = _components(occurring)
    return Added(label, None, components, components)


def _new_variables(form: StandardForm, names: Names, columns: Index) -> Iterator[Added]:
    nothing = np.zeros(form.n)
    held = VarArrays(form.lower, form.upper, nothing, nothing.astype(bool), form.integer)
    for j in columns.tolist():
        if (name := names[j]) is not None:
            exact = form.exact.bounds.get(j, ATTAINED[0]), form.exact.open.get(j, ATTAINED[1])
            yield from _added_limits(name, _Limits.of(held, exact, j), None)
