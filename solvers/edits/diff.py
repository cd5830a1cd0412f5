"""tm.diff: two models row by row, each change decided by a proof or by a point.

Fixed variables take part as variables with one value, so that rows are the same whether something
is fixed or not. A change of Params is followed one Param at a time, on a copy of the former model
in which it alone has its new value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.gdp import Disjunct

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.mathematics import Term, between_text, sum_text
from tightmargin.number_words import number_text
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.edits.decided import Decision, Ground
from tightmargin.solvers.edits.difference import (
    RowChange,
    RowKind,
    column,
    column_names,
    linear,
    minus,
    moved_functions,
    negative,
    row_changes,
)
from tightmargin.solvers.edits.model_difference import Answer, Change, ModelDifference, joined
from tightmargin.solvers.model.polynomial import Quadratic
from tightmargin.solvers.model.reader import StandardForm, refuse_other_objects, standard_form
from tightmargin.solvers.model.restated import representable, restate
from tightmargin.solvers.model.rewrites import without_quotients

# --- Rows, bounds and objectives of a standard form as a line of mathematics ---------------------


Name = str


def row_text(form: StandardForm, names: Sequence[Name], kind: RowKind, k: int) -> str:
    """A row by the names of its variables, as it was written where the arrays scale it."""
    if kind is RowKind.LINEAR:
        row, scale = form.A[[k]].tocoo(), float(form.exact.scales.get(k, 1))
        numbers = (row.data / scale).tolist()
        terms = [(a, names[j]) for j, a in zip(row.col.tolist(), numbers, strict=True)]
        low, high = float(form.row_lower[k]) / scale, float(form.row_upper[k]) / scale
        return between_text(low, sum_text(terms), high)
    if kind is RowKind.SEMIDEFINITE:
        return f"a matrix of order {form.psd[k].order} is positive semidefinite"
    quadratic = form.quadratic[k]
    body = quadratic.body
    at = [names[j] for j in body.index.tolist()]
    entries = zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
    terms = [*_products(((at[i], at[j], v) for i, j, v in entries)), *zip(
        body.a.tolist(), at, strict=True
    )]  # fmt: skip
    low, high = quadratic.lower - body.constant, quadratic.upper - body.constant
    return between_text(low, sum_text(terms), high)


def objective_text(objective: Quadratic, names: Sequence[Name]) -> str:
    """A quadratic function by the names of its variables."""
    Q = objective.Q.tocoo()
    entries = zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True)
    terms = list(_products(((names[i], names[j], v) for i, j, v in entries)))
    columns = np.flatnonzero(objective.a)
    terms += [(float(objective.a[j]), names[j]) for j in columns.tolist()]
    constant = [(objective.constant, "")] if objective.constant else []
    return sum_text([*terms, *constant])


def bound_text(name: str, low: float, high: float, *, integer: bool) -> str:
    """What the bounds of a variable say, and whether it is an integer."""
    text = f"{name} = {number_text(low)}" if low == high else between_text(low, name, high)
    return f"{text}, integer" if integer else text


def _products(entries: Iterable[tuple[str, str, float]]) -> Iterable[Term]:
    """x'Qx, both halves given, as squares and products."""
    found: dict[tuple[str, str], float] = {}
    for one, other, v in entries:
        pair = (one, other) if one <= other else (other, one)
        found[pair] = found.get(pair, 0.0) + v
    for (one, other), v in found.items():
        yield v, f"{one}^2" if one == other else f"{one} {other}"


# --- Changes between two models as arrays, by names of rows and variables, and what they do ------
# A row that was added is asked of the model before, over which it is implied or misses a point; a
# row that was removed is asked of the model after; a changed one both ways.


FOREIGN = "it holds a variable that the other model does not have"
UNASKED = Decision(Answer.UNASKED, "")
Statement = tuple[Quadratic, Fraction]  # goal >= side, over the columns of the model that says it


@dataclass(frozen=True, eq=False)
class Sides:
    """One of the two models.

    ground: over which statements are decided, with every variable a column.
    names: of the columns.
    fixed: those that are fixed in the model.
    """

    ground: Ground
    names: tuple[str, ...]
    fixed: frozenset[str]

    @property
    def form(self) -> StandardForm:
        """Its arrays."""
        return self.ground.form

    @classmethod
    def of(cls, model: pyo.ConcreteModel, until: float) -> Sides:
        """A model as it is compared; a copy, in which what is fixed has bounds instead."""
        if None in column_names(representable(_flat(model))[1]):
            raise ValueError(f"{model.name}: a variable of another model occurs in it")
        copy = _flat(model.clone())
        fixed = []
        for variable in copy.component_data_objects(pyo.Var, descend_into=(pyo.Block, Disjunct)):
            if variable.fixed and variable.value is not None:
                value = variable.value
                variable.domain = pyo.Reals
                variable.setlb(value)
                variable.setub(value)
                variable.unfix()
                fixed.append(str(variable.name))
        restate(copy)
        form = standard_form(copy)
        names = tuple(str(name) for name in column_names(form))
        return cls(Ground(copy, form, until), names, frozenset(fixed))

    def at(self) -> dict[str, int]:
        """Column of each name."""
        return {name: j for j, name in enumerate(self.names)}


def _flat(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """Without disjunctions and quotients."""
    return without_quotients(without_disjunctions(model))


def form_changes(before: Sides, after: Sides) -> list[Change]:
    """Everything that differs: variables and their bounds, rows, and the objective."""
    at = after.at()
    place = np.array([at.get(name, -1) for name in before.names], dtype=np.int64)
    changes = list(_of_variables(before, after, place))
    for row in row_changes(after.form, before.form, place):
        changes.append(_of_row(before, after, row))
    changes += _beyond_degree_two(before, after)
    objective = _of_objective(before, after, place)
    return changes if objective is None else [*changes, objective]


# --- rows ----------------------------------------------------------------------------------------


def _of_row(before: Sides, after: Sides, row: RowChange) -> Change:
    texts = _row(before, row, row.before), _row(after, row, row.after)
    kept, old = UNASKED, UNASKED
    if row.after is not None and not (row.same_body and not row.narrower):
        kept = _decided(before, after, row, row.after, row.before)
    if row.before is not None and not (row.same_body and not row.wider):
        old = _decided(after, before, row, row.before, row.after)
    return _change("row", row.name, texts, kept, old, before, after)


def _row(side: Sides, row: RowChange, k: int | None) -> str:
    return "" if k is None else row_text(side.form, side.names, row.kind, k)


def _decided(over: Sides, owner: Sides, row: RowChange, k: int, like: int | None) -> Decision:
    """Whether row k of one model holds over another one, in which `like` has its name."""
    if row.kind is RowKind.SEMIDEFINITE:
        return Decision(Answer.OPEN, "a semidefinite row is compared by its numbers alone")
    if row.kind is RowKind.QUADRATIC and owner.form.quadratic[k].is_rounded:
        return Decision(Answer.OPEN, "the row has numbers that no double is")
    like = like if row.kind is RowKind.LINEAR else None
    return _over(over, owner.names, list(_statements(owner.form, row.kind, k)), like)


def _statements(form: StandardForm, kind: RowKind, k: int) -> Iterator[Statement]:
    if kind is RowKind.LINEAR:
        body = linear(np.asarray(form.A[[k]].todense()).ravel())
        low, high = form.sides_of(k)
    else:
        row = form.quadratic[k]
        local, a = row.body, np.zeros(form.n)
        a[local.index] = local.a
        where = (local.index[local.i], local.index[local.j])
        body = Quadratic(sp.csr_matrix((local.v, where), shape=(form.n, form.n)), a, local.constant)
        low, high = row.lower, row.upper
    if math.isfinite(low):
        yield body, Fraction(low)
    if math.isfinite(high):
        yield negative(body), -Fraction(high)


def _over(
    over: Sides, names: tuple[str, ...], statements: list[Statement], like: int | None = None
) -> Decision:
    """All of some statements together; the first one that is refuted or open says why."""
    at = over.at()
    place = np.array([at.get(name, -1) for name in names], dtype=np.int64)
    decisions = []
    for goal, side in statements:
        there = moved_functions(goal, place, over.form.n)
        if there is None:
            return Decision(Answer.OPEN, FOREIGN)
        decisions.append(over.ground.decide(there, side, like))
        if decisions[-1].answer is not Answer.IMPLIED:
            return decisions[-1]
    return decisions[0] if decisions else UNASKED


def _beyond_degree_two(before: Sides, after: Sides) -> list[Change]:
    """Rows that no array holds, by their text."""
    texts = [
        {
            str(part.name): str(part.expr)
            for part in side.form.nonlinear
            if part is not side.form.goal
        }
        for side in (before, after)
    ]
    found = []
    for name in dict.fromkeys([*texts[0], *texts[1]]):
        old, new = (text.get(name, "") for text in texts)
        if old != new:
            kept, lost = (Answer.OPEN if text else Answer.UNASKED for text in (new, old))
            found.append(Change("row", name, old, new, kept, lost, words="beyond degree two"))
    return found


# --- variables -----------------------------------------------------------------------------------


def _of_variables(before: Sides, after: Sides, place: Index) -> Iterator[Change]:
    known = set(before.names)
    for j, name in enumerate(after.names):
        if name not in known:
            yield _of_new(after, j)
    for i, name in enumerate(before.names):
        if place[i] < 0:
            yield Change("variable", name, _domain(before, i), "", words="no longer there")
    f, g = before.form, after.form
    common = np.flatnonzero(place >= 0)
    others = place[common]
    apart = (
        (f.lower[common] != g.lower[others])
        | (f.upper[common] != g.upper[others])
        | (f.integer[common] != g.integer[others])
    )
    for k, (i, j) in enumerate(zip(common.tolist(), others.tolist(), strict=True)):
        apart[k] |= f.exact.end_of(i) != g.exact.end_of(j)
    for i in common[apart].tolist():
        yield _of_bounds(before, after, i, int(place[i]))


def _of_new(after: Sides, j: int) -> Change:
    """Any point goes on with a value for it; what its rows ask is theirs to say."""
    form = after.form
    empty = form.integer[j] and np.ceil(form.lower[j]) > np.floor(form.upper[j])
    words = "it has no value" if empty else "by itself it changes nothing"
    kept = Answer.OPEN if empty else Answer.UNASKED
    return Change("variable", after.names[j], "", _domain(after, j), kept, words=words)


def _of_bounds(before: Sides, after: Sides, i: int, j: int) -> Change:
    name, f, g = before.names[i], before.form, after.form
    kept = _over(before, before.names, list(_tighter(f, i, float(g.lower[j]), float(g.upper[j]))))
    old = _over(after, after.names, list(_tighter(g, j, float(f.lower[i]), float(f.upper[i]))))
    if f.exact.end_of(i) or g.exact.end_of(j):
        kept = old = Decision(Answer.OPEN, "a bound is excluded, or no double")
    if g.integer[j] and not f.integer[i]:
        kept = _and_whole(kept, before, i)
    elif f.integer[i] and not g.integer[j]:
        old = _and_whole(old, after, j)
    kind = "bound"
    if (name in before.fixed) != (name in after.fixed):
        kind = "fixing"
    elif f.lower[i] == g.lower[j] and f.upper[i] == g.upper[j]:
        kind = "integrality"
    texts = _domain(before, i), _domain(after, j)
    return _change(kind, name, texts, kept, old, before, after)


def _tighter(form: StandardForm, j: int, low: float, high: float) -> Iterator[Statement]:
    """Bounds that a model does not have already, as statements over it."""
    goal = column(form.n, j)
    if low > form.lower[j]:
        yield goal, Fraction(low)
    if high < form.upper[j]:
        yield negative(goal), -Fraction(high)


def _and_whole(found: Decision, over: Sides, j: int) -> Decision:
    """Together with the statement that a variable is whole: one value proves it, a point not."""
    if found.answer not in (Answer.UNASKED, Answer.IMPLIED):
        return found
    low, high = float(over.form.lower[j]), float(over.form.upper[j])
    if low == high and low == np.round(low):
        return Decision(Answer.IMPLIED, "it has one value, which is whole")
    # Halfway between two whole numbers, or near the only ones that there are.
    start = low if np.isfinite(low) else (high - 1 if np.isfinite(high) else 0.0)
    part = min(np.floor(start) + 0.5, high)
    lower, upper = over.form.lower.copy(), over.form.upper.copy()
    lower[j] = upper[j] = part
    at = replace(over.form, lower=lower, upper=upper)
    point = (
        None if part == np.round(part) or part < low else replace(over.ground, form=at).has_point()
    )
    if point is not None:
        return Decision(Answer.REFUTED, "a feasible point has a fraction", point=point)
    return Decision(Answer.OPEN, "whether it is whole was asked of one value only")


def _domain(side: Sides, j: int) -> str:
    form = side.form
    low, high = float(form.lower[j]), float(form.upper[j])
    return bound_text(side.names[j], low, high, integer=bool(form.integer[j]))


# --- the objective -------------------------------------------------------------------------------


def _of_objective(before: Sides, after: Sides, place: Index) -> Change | None:
    f, g = before.form, after.form
    if f.goal is not None or g.goal is not None:
        old, new = ("" if form.goal is None else str(form.goal.expr) for form in (f, g))
        if old == new:
            return None
        return Change("objective", "", old, new, other_objective=True, words="beyond degree two")
    texts = _goal(before), _goal(after)
    former = moved_functions(f.objective, place, g.n)
    if former is None:
        words = "a variable of the former objective is no longer there"
        return Change("objective", "", *texts, other_objective=True, words=words)
    more = minus(g.objective, former)
    if more is None:
        words = "the change of a coefficient is no double"
        return Change("objective", "", *texts, other_objective=True, words=words)
    if not (more.Q.nnz or more.a.any() or more.constant or f.sense != g.sense):
        return None
    if f.sense != g.sense:
        return Change("objective", "", *texts, other_objective=True, words="the other sense")
    grows = after.ground.decide(more, Fraction(0))
    falls = after.ground.decide(negative(more), Fraction(0))
    never_lower = grows.answer is Answer.IMPLIED
    other = not (never_lower and falls.answer is Answer.IMPLIED)
    words = f"the change is {objective_text(more, after.names)}"
    if never_lower:
        words += ", at least 0" if other else ", which is 0 at every point"
    elif falls.answer is Answer.IMPLIED:
        words += ", at most 0"
    return Change(
        "objective", "", *texts, other_objective=other, never_lower=never_lower, words=words
    )


def _goal(side: Sides) -> str:
    form = side.form
    if form.sense == 1:
        return f"minimise {objective_text(form.objective, side.names)}"
    return f"maximise {objective_text(negative(form.objective), side.names)}"


# --- arrays --------------------------------------------------------------------------------------


def _change(
    kind: str,
    name: str,
    texts: tuple[str, str],
    kept: Decision,
    old: Decision,
    before: Sides,
    after: Sides,
) -> Change:
    """A change with the words and the point of what decided it."""
    told = kept if kept.answer is not Answer.UNASKED else old
    words, point = told.words, told.point
    if kept.answer is not Answer.UNASKED and old.answer is not Answer.UNASKED:
        words = f"after, over the model before: {kept.words}; before, over the one after: " + (
            old.words
        )
        point = kept.point or old.point
    owner = before if point is not None and point is kept.point else after
    return Change(
        kind, name, *texts, kept.answer, old.answer, words=words,
        multipliers=told.multipliers, point={} if point is None else _named(owner, point.x, texts),
    )  # fmt: skip


def _named(side: Sides, x: Array | None, texts: tuple[str, str]) -> Mapping[str, float]:
    """The variables that a text speaks of, at a point."""
    if x is None:
        return {}
    words = set(" ".join(texts).replace("^2", "").split())
    return {name: float(x[j]) for j, name in enumerate(side.names) if name in words}


def diff(
    built: pyo.ConcreteModel,
    edited: pyo.ConcreteModel | None = None,
    *,
    time_limit: float | None = None,
) -> ModelDifference:
    """What an edit did, row by row: rows, bounds, fixings, integrality, objective and Params.

    Parameters
    ----------
    built : ConcreteModel
        The model before, or the edited one alone: then the model of the catalogue that it was
        built as is built again.
    edited : ConcreteModel, optional
        The model after. Rows and variables are told apart by their names.
    time_limit : float, optional
        Seconds for all decisions together; what is left then is undecided.

    Returns
    -------
    ModelDifference
        Its repr is short, and print() shows the mathematics of every change, with what proves it:
        `redundant` with multipliers of the rows that imply it, `restriction` and `relaxation` with
        an exactly feasible point of one model that the other one excludes, `other objective`, or
        `undecided`. Neither model is changed.

    Raises
    ------
    TypeError
        Something that is no Pyomo model.
    ValueError
        A model without origin in the catalogue alone, or a variable of a third model.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> model = tm.conic_sdp(data, penalty=1.0)
    >>> model.budget = pyo.Constraint(expr=sum(model.z.values()) <= 4)
    >>> tm.diff(model).restricts, tm.diff(model).relaxes  # no point is new, some are gone
    (True, False)
    """
    refuse_other_objects("diff", built, "built")
    if edited is not None:
        refuse_other_objects("diff", edited, "edited")
    if edited is None:
        built, edited = _as_built(built), built
    began = time.perf_counter()
    limit = math.inf if time_limit is None else time_limit
    until, halfway = began + limit, began + limit / 2
    after = Sides.of(edited, until)
    changes: list[Change] = []
    step = built.clone()
    before = Sides.of(step, halfway)  # a Param may change hundreds of rows, and others wait
    names = _changed_params(built, edited)
    for name in names:
        former = _numbers(step.find_component(name))
        _set_param(step, edited, name)
        now = Sides.of(step, halfway)
        parts = tuple(form_changes(before, now))
        changes.append(_of_param(name, former, _numbers(edited.find_component(name)), parts))
        before = now
    changes += _added_params(built, edited)
    before = replace(before, ground=replace(before.ground, until=until))
    changes += form_changes(before, after)
    sense = standard_form(after.ground.model).sense
    return ModelDifference(tuple(changes), sense, 1 + len(names))


def _as_built(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The model as its builder wrote it."""
    origin = getattr(model, "origin", None)
    if not isinstance(origin, Origin):
        raise ValueError(
            f"{model.name} is no model of the catalogue: give diff the model before and after"
        )
    return CATALOGUE[origin.entry].build(origin.data, **origin.parameters)


# --- Params --------------------------------------------------------------------------------------


def _params(model: pyo.ConcreteModel) -> Iterator[Any]:
    return model.component_objects(pyo.Param, descend_into=True)


def _numbers(param: Any) -> dict[Any, Any]:
    return {key: pyo.value(entry, exception=False) for key, entry in param.items()}


def _changed_params(built: pyo.ConcreteModel, edited: pyo.ConcreteModel) -> list[str]:
    """Mutable Params of both, over the same elements, with other values."""
    found = []
    for param in _params(built):
        twin = edited.find_component(param.name)
        if twin is None or twin.ctype is not pyo.Param or not param.mutable:
            continue
        old, new = _numbers(param), _numbers(twin)
        if old.keys() == new.keys() and old != new:
            found.append(str(param.name))
    return found


def _set_param(model: pyo.ConcreteModel, edited: pyo.ConcreteModel, name: str) -> None:
    param = model.find_component(name)
    for key, value in _numbers(edited.find_component(name)).items():
        param[key] = value


def _of_param(
    name: str, former: dict[Any, Any], now: dict[Any, Any], parts: tuple[Change, ...]
) -> Change:
    moved = [key for key in now if now[key] != former[key]]
    return Change(
        "Param",
        name,
        _values(name, former, moved),
        _values(name, now, moved),
        joined(part.kept for part in parts),
        joined(part.old for part in parts),
        any(part.other_objective for part in parts),
        all(part.never_lower for part in parts if part.other_objective),
        "" if parts else "nothing rests on it",
        parts=parts,
    )


def _values(name: str, numbers: dict[Any, Any], keys: list[Any]) -> str:
    if len(keys) == 1:
        where = "" if keys[0] is None else f"[{keys[0]}]"
        return f"{name}{where} = {number_text(numbers[keys[0]])}"
    sizes = [numbers[key] for key in keys]
    return f"{len(keys)} of {len(numbers)} values of {name}, {number_text(min(sizes))} to " + (
        number_text(max(sizes))
    )


def _added_params(built: pyo.ConcreteModel, edited: pyo.ConcreteModel) -> list[Change]:
    """Params of one model alone: by themselves they say nothing."""
    found = []
    for first, second, is_new in ((built, edited, False), (edited, built, True)):
        for param in _params(first):
            if second.find_component(param.name) is None:
                text = f"{param.name} with {len(param)} value{'' if len(param) == 1 else 's'}"
                ends = ("", text) if is_new else (text, "")
                words = "a Param by itself says nothing"
                found.append(Change("Param", str(param.name), *ends, words=words))
    return found
