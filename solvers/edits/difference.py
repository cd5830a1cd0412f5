"""What an edit of a catalogue model is: what its builder writes that is gone, and what was added.

The builder is run again, the bounds and fixings of the edited model are put on the new one as
well (a transformation of disjunctions reads them, and a fixed variable is a constant in every
row), and the two are compared as arrays, row by row and by the names of variables. An edit is a
restriction when every row is still there or tighter and nothing but rows, bounds, fixings and
integrality was added. All numbers are compared exactly: what differs by rounding counts as changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.core.expr.visitor import identify_variables
from pyomo.gdp import Disjunct

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.array_variables import ArrayVar, VarArrays
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.model.columns import row_name
from tightmargin.solvers.model.polynomial import Key, LocalQuadratic, Quadratic, QuadraticRow
from tightmargin.solvers.model.reader import PsdRow, StandardForm
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import without_quotients

# --- Quadratic functions of the columns of a model: negated, subtracted, moved to other columns --


Lost = Mapping[Key, Fraction]


def column(n: int, j: int) -> Quadratic:
    """The function x_j."""
    a = np.zeros(n)
    a[j] = 1.0
    return linear(a)


def linear(a: Array) -> Quadratic:
    """The function a'x."""
    return Quadratic(sp.csr_matrix((len(a), len(a))), a, 0.0)


def minus(new: Quadratic, old: Quadratic) -> Quadratic | None:
    """The difference of two functions, None where a coefficient of it is no double."""
    found = Quadratic((new.Q - old.Q).tocsr(), new.a - old.a, new.constant - old.constant)
    for difference, after, before in _function_coefficients(found, new, old):
        if Fraction(difference) != Fraction(after) - Fraction(before):
            return None
    lost = [{**goal.lost, (): goal.lost.get((), 0) + goal.rest} for goal in (new, old)]
    return _with_lost(found, *lost)


def _with_lost(found: Quadratic, new: Lost, old: Lost) -> Quadratic | None:
    """A difference of doubles and that of what they lack; None where it is no double."""
    if new == old:
        return found
    Q, a, constant = found.Q.tolil(), found.a.copy(), found.constant
    for key in new.keys() | old.keys():
        more = new.get(key, Fraction(0)) - old.get(key, Fraction(0))
        number = constant if not key else float(a[key]) if len(key) == 1 else float(Q[key])
        share = 2 if len(key) == 2 and key[0] != key[1] else 1
        total = Fraction(number) + more / share
        if Fraction(float(total)) != total:
            return None
        if not key:
            constant = float(total)
        elif len(key) == 1:
            a[key] = float(total)
        else:
            Q[key] = Q[key[::-1]] = float(total)
    Q = Q.tocsr()
    Q.eliminate_zeros()
    return Quadratic(Q, a, constant)


def _function_coefficients(
    found: Quadratic, new: Quadratic, old: Quadratic
) -> Iterator[tuple[float, float, float]]:
    """Every coefficient of a difference that is not 0, and those that it comes from."""
    Q = found.Q.tocoo()
    for i, j, v in zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True):
        yield v, float(new.Q[i, j]), float(old.Q[i, j])
    for j in np.flatnonzero(found.a).tolist():
        yield float(found.a[j]), float(new.a[j]), float(old.a[j])
    yield found.constant, new.constant, old.constant


def negative(goal: Quadratic) -> Quadratic:
    """The function with the other sign."""
    return Quadratic(-goal.Q, -goal.a, -goal.constant)


def moved_functions(goal: Quadratic, place: Index, n: int) -> Quadratic | None:
    """A function over other columns; None where one of its variables is not among them."""
    Q = goal.Q.tocoo()
    used = np.unique(np.concatenate([np.flatnonzero(goal.a), Q.row, Q.col]).astype(np.int64))
    if (place[used] < 0).any():
        return None
    a = np.zeros(n)
    columns = np.flatnonzero(goal.a)
    a[place[columns]] = goal.a[columns]
    there = sp.csr_matrix((Q.data, (place[Q.row], place[Q.col])), shape=(n, n))
    lost = {tuple(sorted(int(place[j]) for j in key)): v for key, v in goal.lost.items()}
    return replace(goal, Q=there, a=a, lost=lost)


# --- Rows of two models held against each other, by name: which are gone, new, changed, or moved
# All numbers are compared exactly: what differs by rounding counts as changed.


Names = Sequence[str | None]  # of columns; None for variables that belong to another model


class RowKind(StrEnum):
    """Which of the lists of a standard form a row is in."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"
    SEMIDEFINITE = "semidefinite"


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

    place: column of `form` for each column of `other`, -1 for none.
    """
    return [
        *_linear(form, other, place),
        *_quadratic(form, other, place),
        *_semidefinite(form, other, place),
    ]


def linear_names(form: StandardForm) -> list[str]:
    """Names of the linear rows, without making them."""
    return form.rows.names()


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


# --- Variables of an edited catalogue model beside those of a new one of its builder -------------


NOWHERE = frozenset[str]()


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


def _state(component: Any) -> VarArrays:
    if isinstance(component, ArrayVar):
        return component.arrays()
    elements = list(component.values())
    ends = [variable.bounds for variable in elements]
    return VarArrays(
        np.array([-np.inf if low is None else low for low, _ in ends], dtype=float),
        np.array([np.inf if high is None else high for _, high in ends], dtype=float),
        np.array([np.nan if v.value is None else v.value for v in elements], dtype=float),
        np.array([v.fixed for v in elements], dtype=bool),
        np.array([v.is_integer() or v.is_binary() for v in elements], dtype=bool),
    )


def mirrored(model: pyo.ConcreteModel, fresh: pyo.ConcreteModel) -> tuple[str, list[Added]]:
    """Bounds and fixings of the edited model put on the new one; what was loosened, and added."""
    loosened, added = "", []
    for component in fresh.component_objects(pyo.Var, descend_into=(pyo.Block, Disjunct)):
        twin = model.find_component(component.name)
        if twin is None or twin.ctype is not pyo.Var or list(twin) != list(component):
            loosened = loosened or f"variable {component.name} was replaced"
            continue
        keys, now, then = list(component.keys()), _state(twin), _state(component)
        same = (
            (now.fixed == then.fixed) & (now.integer == then.integer)
            & (~now.fixed | (now.values == then.values))
            & (now.fixed | ((now.lower == then.lower) & (now.upper == then.upper)))
        )  # fmt: skip
        for k in np.flatnonzero(~same).tolist():
            key = keys[k] if component.is_indexed() else None
            name = row_name(component, key)
            why = _looser(name, now, then, k)
            loosened = loosened or why
            element = component if key is None else component[key]
            added += added_to(name, now, then, k)
            _put(element, now, k)
    return loosened, added


def _looser(name: str, now: VarArrays, then: VarArrays, k: int) -> str:
    """What an element may do that the builder forbids, or an empty string."""
    if then.fixed[k]:
        kept = now.fixed[k] and now.values[k] == then.values[k]
        return "" if kept else f"{name} is not fixed as its builder fixes it"
    if now.fixed[k]:
        value = now.values[k]
        inside = then.lower[k] <= value <= then.upper[k]
        if not inside or (then.integer[k] and value != np.round(value)):
            return f"{name} is fixed at {value:.6g}, which its builder does not admit"
        return ""
    if now.lower[k] < then.lower[k] or now.upper[k] > then.upper[k]:
        return f"the bounds of {name} are wider"
    return f"{name} need not be an integer" if then.integer[k] and not now.integer[k] else ""


def added_to(name: str, now: VarArrays, then: VarArrays | None, k: int) -> list[Added]:
    """Bounds, fixing and integrality of an element that the builder's one does not have."""
    component = frozenset({component_of(name)})
    low, high = now.lower[k], now.upper[k]
    if now.fixed[k]:
        low = high = now.values[k]
    found = []
    if now.fixed[k] or low > (-np.inf if then is None else then.lower[k]):
        # An element that is at least 0 anyway can still go down to 0.
        free = then is not None and low <= then.lower[k]
        found.append(
            Added(name, ("lower", name, float(low)), component, NOWHERE if free else component)
        )
    if now.fixed[k] or high < (np.inf if then is None else then.upper[k]):
        found.append(Added(name, ("upper", name, float(high)), component))
    if now.integer[k] and not now.fixed[k] and not (then is not None and then.integer[k]):
        found.append(Added(name, ("integer", name), component))
    return found


def _put(element: Any, now: VarArrays, k: int) -> None:
    low, high = float(now.lower[k]), float(now.upper[k])
    element.setlb(None if low == -np.inf else low)
    element.setub(None if high == np.inf else high)
    if now.fixed[k]:
        value = float(now.values[k])
        if not value.is_integer():
            element.domain = pyo.Reals  # an edit of the domain came with it, else nobody reads it
        element.fix(value, skip_validation=True)
    else:
        element.unfix()


def component_of(name: str) -> str:
    """Component of an element: w of w[0]."""
    return name.partition("[")[0]


OTHER_OBJECTIVE = "the objective was changed"


@dataclass(frozen=True, eq=False)
class Difference:
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

    model: as it is solved: disjunctions and quotients are replaced already.
    form: of that model.
    fresh: as its builder returns it.
    transformation: for disjunctions of `fresh`.
    """
    loosened, added = mirrored(model, fresh)
    _, other = representable(without_quotients(without_disjunctions(fresh, transformation)))
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
    former = moved_functions(other.objective, place, form.n)
    if beyond or former is None or form.sense != other.sense:
        return OTHER_OBJECTIVE, None
    more = minus(form.objective, former)
    if more is not None and not (more.Q.nnz or more.a.any() or more.constant):
        return "", None
    return OTHER_OBJECTIVE, more
