"""tm.diff: two models row by row, each change decided by a proof or by a point.

Fixed variables take part as variables with one value, so that rows are the same whether something
is fixed or not. A change of Params is followed one Param at a time, on a copy of the former model
in which it alone has its new value.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.mathematics import Term, between_text, sum_text
from tightmargin.number_words import number_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.edits.decided import UNASKED, Answer, Decision, Ground
from tightmargin.solvers.model.difference import (
    Difference,
    RowChange,
    RowKind,
    column_names,
    expression_texts,
    row_terms,
)
from tightmargin.solvers.model.polynomial import Quadratic, column, linear, moved, negative
from tightmargin.solvers.model.reader import StandardForm, refuse_other_objects
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import fixings_as_bounds, without_quotients
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.tables import Framed

PARTS_SHOWN = 5
CELL = 44  # characters of a row's mathematics in a table


class Effect(StrEnum):
    """What a change, or a whole edit, does to the points of a model."""

    SAME = "same"
    REDUNDANT = "redundant"
    RESTRICTION = "restriction"
    RELAXATION = "relaxation"
    BOTH = "restriction and relaxation"
    OTHER_OBJECTIVE = "other objective"
    UNDECIDED = "undecided"


def joined(answers: Iterable[Answer]) -> Answer:
    """The answer for several statements together."""
    found = set(answers)
    for answer in (Answer.REFUTED, Answer.OPEN, Answer.IMPLIED):
        if answer in found:
            return answer
    return Answer.UNASKED


@dataclass(frozen=True, eq=False, repr=False)
class Change(Printed):
    """One row, bound, fixing, integrality, objective or Param that is not what it was.

    kind: "row", "bound", "fixing", "integrality", "variable", "objective" or "Param".
    before, after: its mathematics in the two models; empty where it is missing.
    kept: whether every point of the model before meets what is said after: if not, points are lost.
    old: whether every point of the model after meets what was said before: if not, points are new.
    other_objective: whether it changes the objective somewhere.
    never_lower: of such a change: whether the objective is proven to be nowhere lower in the model
        after.
    words: how it was decided.
    multipliers: of rows of the other model that imply it, each d bound / d right-hand side; bounds
        of variables take part without being listed. The kernel proved the bound from them.
    point: the variables that occur in it, at an exactly feasible point of the other model that
        misses it; to the nearest doubles.
    parts: what a Param changes.
    """

    kind: str
    name: str
    before: str = ""
    after: str = ""
    kept: Answer = Answer.UNASKED
    old: Answer = Answer.UNASKED
    other_objective: bool = False
    never_lower: bool = False
    words: str = ""
    multipliers: Mapping[str, float] = field(default_factory=dict)
    point: Mapping[str, float] = field(default_factory=dict)
    parts: tuple[Change, ...] = ()
    _shown = ("kind", "name", "action", "effect", "before", "after", "words", "point", "parts")

    @property
    def effect(self) -> Effect:
        """The verdict on this change alone."""
        if self.other_objective:
            return Effect.OTHER_OBJECTIVE
        if self.kept.holds and self.old.holds:
            return Effect.REDUNDANT
        if Answer.OPEN in (self.kept, self.old):
            return Effect.UNDECIDED
        if self.old.holds:
            return Effect.RESTRICTION
        return Effect.RELAXATION if self.kept.holds else Effect.BOTH

    @property
    def action(self) -> str:
        """Whether it is added, removed or changed."""
        if not self.before:
            return "added"
        return "changed" if self.after else "removed"

    def __str__(self) -> str:
        """Verdict, mathematics before and after, and why."""
        lines = [f"{self.effect}: {' '.join(filter(None, (self.kind, self.name)))} {self.action}"]
        lines += [f"  - {self.before}"] if self.before else []
        lines += [f"  + {self.after}"] if self.after else []
        lines += [f"    {self.words}"] if self.words else []
        if self.point:
            at = [f"{name} = {value:.6g}" for name, value in self.point.items()]
            lines.append(f"    at {', '.join(at[:PARTS_SHOWN])}" + " ..." * (len(at) > PARTS_SHOWN))
        for part in self.parts[:PARTS_SHOWN]:
            lines += [f"  {line}" for line in str(part).splitlines()]
        if len(self.parts) > PARTS_SHOWN:
            lines.append(f"  and {len(self.parts) - PARTS_SHOWN} more of the kind")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class ModelDifference(Framed):
    """What `tightmargin.diff` returns.

    Attributes
    ----------
    changes : tuple of Change
        None where the two models are the same.
    sense : int
        +1 where the edited model minimises, -1 where it maximises.
    steps : int
        Through how many models the changes lead: one for each Param that was changed, and one.
    """

    changes: tuple[Change, ...]
    sense: int = 1
    steps: int = 1

    @property
    def restricts(self) -> bool:
        """Whether every point of the edited model is proven to be one of the former."""
        return all(change.old.holds for change in self.changes)

    @property
    def relaxes(self) -> bool:
        """Whether every point of the former model is proven to be one of the edited."""
        return all(change.kept.holds for change in self.changes)

    @property
    def same_objective(self) -> bool:
        """Whether the objective is the same at every point."""
        return not any(change.other_objective for change in self.changes)

    @property
    def keeps_bounds(self) -> bool:
        """Whether lower bounds of the former model hold for the edited one (upper, maximising).

        So they do where it restricts, and adds to the objective nothing but what is proven to be
        at least 0.
        """
        costs = all(c.never_lower for c in self.changes if c.other_objective)
        return self.restricts and costs

    @property
    def keeps_points(self) -> bool:
        """Whether points of the former model are points of the edited one; values may differ."""
        return self.relaxes

    @property
    def effect(self) -> Effect:
        """The verdict on the edit as a whole."""
        if not self.same_objective:
            return Effect.OTHER_OBJECTIVE
        if self.restricts:
            return Effect.SAME if self.relaxes else Effect.RESTRICTION
        if self.relaxes:
            return Effect.RELAXATION
        told = {answer for c in self.changes for answer in (c.kept, c.old)}
        return Effect.UNDECIDED if Answer.OPEN in told or self.steps > 1 else Effect.BOTH

    def bound_from(self, result: SolveResult) -> float | None:
        """The proven bound of a result of the former model, where it holds for the edited one."""
        return result.bound if self.keeps_bounds and not result.certificate.unproven else None

    def value_from(self, result: SolveResult) -> float | None:
        """What a proven point of the former model costs in the edited one, at most; or None."""
        return result.certificate.upper if self.relaxes and self.same_objective else None

    def _page(self) -> Page:
        counts = Counter(str(change.effect) for change in self.changes)
        told = ", ".join(f"{number} {word}" for word, number in counts.items())
        return Page(
            f"ModelDifference: {self.effect}" + (f" ({told})" if told else ""),
            columns=("", "change", "mathematics", "effect") if self.changes else (),
            rows=[_cells(change) for change in self.changes],
            cell=CELL,
        )

    def _records(self) -> list[dict[str, Any]]:
        """One row a change, its mathematics before and after."""
        return [
            {
                "kind": change.kind,
                "name": change.name,
                "action": change.action,
                "before": change.before,
                "after": change.after,
                "effect": str(change.effect),
                "words": change.words,
            }
            for change in self.changes
        ]

    def __str__(self) -> str:
        """Every change with its mathematics."""
        head = f"{self.effect}: {len(self.changes)} change{'' if len(self.changes) == 1 else 's'}"
        return "\n".join([head, *(str(change) for change in self.changes)])


def _cells(change: Change) -> tuple[str, ...]:
    sign = {"added": "+", "removed": "-", "changed": "~"}[change.action]
    what = " ".join(filter(None, (change.kind, change.name)))
    return sign, what, change.after or change.before, str(change.effect)


# --- Rows, bounds and objectives as a line of mathematics ----------------------------------------


def row_text(
    form: StandardForm,
    names: Sequence[str],
    kind: RowKind,
    k: int,
    *,
    lower: bool = True,
    upper: bool = True,
) -> str:
    """A row, or a side of it, by the names of its variables; unscaled, as it was written."""
    if kind is RowKind.SEMIDEFINITE:
        return f"a matrix of order {form.psd[k].order} is positive semidefinite"
    row = row_terms(form, kind, k)
    scale = float(form.exact.scales.get(k, 1)) if kind is RowKind.LINEAR else 1.0
    products = _products((names[i], names[j], v) for i, j, v in row.products)
    text = sum_text([*products, *((a / scale, names[j]) for j, a in row.linear)])
    low, high = (row.low if lower else -np.inf), (row.high if upper else np.inf)
    return between_text(low / scale, text, high / scale)


def objective_text(objective: Quadratic, names: Sequence[str]) -> str:
    """A quadratic function by the names of its variables."""
    Q = objective.Q.tocoo()
    entries = zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True)
    terms = list(_products((names[i], names[j], v) for i, j, v in entries))
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


# --- Changes between two models, and what they do ------------------------------------------------
# A row that was added is asked of the model before, over which it is implied or misses a point; a
# row that was removed is asked of the model after; a changed one both ways.


FOREIGN = "it holds a variable that the other model does not have"
Statement = tuple[Quadratic, Fraction]  # goal >= side, over the columns of the model that says it


@dataclass(frozen=True, eq=False)
class _Model:
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
    def of(cls, model: pyo.ConcreteModel, until: float) -> _Model:
        """A model as it is compared; a copy, in which what is fixed has bounds instead."""
        if None in column_names(representable(_flat(model))[1]):
            raise ValueError(f"{model.name}: a variable of another model occurs in it")
        copy = _flat(model.clone())
        fixed = frozenset(fixings_as_bounds(copy, whole=False))
        copy, form = representable(copy)
        names = tuple(str(name) for name in column_names(form))
        return cls(Ground(copy, form, until), names, fixed)

    def row(self, kind: RowKind, k: int | None) -> str:
        """A row of degree two; empty for none."""
        return "" if k is None else row_text(self.form, self.names, kind, k)

    def domain(self, j: int) -> str:
        """What a variable may be."""
        form = self.form
        low, high = float(form.lower[j]), float(form.upper[j])
        return bound_text(self.names[j], low, high, integer=bool(form.integer[j]))

    @property
    def goal(self) -> str:
        """The objective, of degree two."""
        if self.form.sense == 1:
            return f"minimise {objective_text(self.form.objective, self.names)}"
        return f"maximise {objective_text(negative(self.form.objective), self.names)}"

    def decide(
        self, names: tuple[str, ...], statements: Iterable[Statement], like: int | None = None
    ) -> Decision:
        """Whether all of some statements over such columns hold; the first that does not says why.

        like: number of a linear row that may imply one by itself.
        """
        at = {name: j for j, name in enumerate(self.names)}
        place = np.array([at.get(name, -1) for name in names], dtype=np.int64)
        found = UNASKED
        for goal, side in statements:
            there = moved(goal, place, self.form.n)
            if there is None:
                return Decision(Answer.OPEN, FOREIGN)
            decision = self.ground.decide(there, side, like)
            if decision.answer is not Answer.IMPLIED:
                return decision
            found = decision if found is UNASKED else found
        return found


def _flat(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """Without disjunctions and quotients."""
    return without_quotients(without_disjunctions(model))


@dataclass(frozen=True, eq=False)
class _Step:
    """Two models that are compared."""

    before: _Model
    after: _Model
    what: Difference

    @classmethod
    def between(cls, before: _Model, after: _Model) -> _Step:
        """From one model to the next."""
        return cls(before, after, Difference(before.form, after.form))

    def changes(self) -> Iterator[Change]:
        """Everything that differs: variables and their bounds, rows, and the objective."""
        for j in self.what.new.tolist():
            yield self._new_variable(j)
        for i in self.what.gone.tolist():
            name, domain = self.before.names[i], self.before.domain(i)
            yield Change("variable", name, domain, "", words="no longer there")
        for i in self.what.bounds.tolist():
            yield self._bounds(i, int(self.what.place[i]))
        yield from map(self._row, self.what.rows)
        if self.what.objective is not None:
            yield self._objective()

    def _row(self, row: RowChange) -> Change:
        if row.kind is RowKind.BEYOND:
            texts = self.what.beyond_texts(row)
            lost, found = (Answer.OPEN if text else Answer.UNASKED for text in texts)
            return Change("row", row.name, *texts, found, lost, words=str(row.kind))
        before, after = self.before, self.after
        texts = before.row(row.kind, row.before), after.row(row.kind, row.after)
        kept, old = UNASKED, UNASKED
        if row.after is not None and not (row.same_body and not row.narrower):
            kept = _decided(before, after, row.kind, row.after, row.before)
        if row.before is not None and not (row.same_body and not row.wider):
            old = _decided(after, before, row.kind, row.before, row.after)
        return self._change("row", row.name, texts, kept, old)

    def _new_variable(self, j: int) -> Change:
        """Any point goes on with a value for it; what its rows ask is theirs to say."""
        form = self.after.form
        empty = form.integer[j] and np.ceil(form.lower[j]) > np.floor(form.upper[j])
        words = "it has no value" if empty else "by itself it changes nothing"
        kept = Answer.OPEN if empty else Answer.UNASKED
        domain = self.after.domain(j)
        return Change("variable", self.after.names[j], "", domain, kept, words=words)

    def _bounds(self, i: int, j: int) -> Change:
        before, after = self.before, self.after
        name, f, g = before.names[i], before.form, after.form
        tighter = _tighter(f, i, float(g.lower[j]), float(g.upper[j]))
        looser = _tighter(g, j, float(f.lower[i]), float(f.upper[i]))
        kept, old = before.decide(before.names, tighter), after.decide(after.names, looser)
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
        return self._change(kind, name, (before.domain(i), after.domain(j)), kept, old)

    def _objective(self) -> Change:
        before, after, found = self.before, self.after, self.what.objective
        assert found is not None
        goals = before.form.goal, after.form.goal
        if any(goal is not None for goal in goals):
            texts = expression_texts(*(None if goal is None else goal.expr for goal in goals))
        else:
            texts = before.goal, after.goal
        more = found.more
        if more is None:
            return Change("objective", "", *texts, other_objective=True, words=found.words)
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

    def _change(
        self, kind: str, name: str, texts: tuple[str, str], kept: Decision, old: Decision
    ) -> Change:
        """A change with the words and the point of what decided it."""
        told = kept if kept.answer is not Answer.UNASKED else old
        words, point = told.words, told.point
        if kept.answer is not Answer.UNASKED and old.answer is not Answer.UNASKED:
            words = f"after, over the model before: {kept.words}; before, over the one after: " + (
                old.words
            )
            point = kept.point or old.point
        owner = self.before if point is not None and point is kept.point else self.after
        return Change(
            kind, name, *texts, kept.answer, old.answer, words=words,
            multipliers=told.multipliers,
            point={} if point is None else _named(owner, point.x, texts),
        )  # fmt: skip


def _named(model: _Model, x: Array | None, texts: Sequence[str]) -> Mapping[str, float]:
    """The variables that a text speaks of, at a point."""
    if x is None:
        return {}
    words = set(" ".join(texts).replace("^2", "").split())
    return {name: float(x[j]) for j, name in enumerate(model.names) if name in words}


def _decided(over: _Model, owner: _Model, kind: RowKind, k: int, like: int | None) -> Decision:
    """Whether row k of one model holds over another one, in which `like` has its name."""
    if kind is RowKind.SEMIDEFINITE:
        return Decision(Answer.OPEN, "a semidefinite row is compared by its numbers alone")
    if kind is RowKind.QUADRATIC and owner.form.quadratic[k].is_rounded:
        return Decision(Answer.OPEN, "the row has numbers that no double is")
    like = like if kind is RowKind.LINEAR else None
    return over.decide(owner.names, _statements(owner.form, kind, k), like)


def _statements(form: StandardForm, kind: RowKind, k: int) -> Iterator[Statement]:
    if kind is RowKind.LINEAR:
        body = linear(form.A[k].toarray().ravel())
        low, high = form.sides_of(k)
    else:
        row = form.quadratic[k]
        body, low, high = row.body.over(form.n), row.lower, row.upper
    if math.isfinite(low):
        yield body, Fraction(low)
    if math.isfinite(high):
        yield negative(body), -Fraction(high)


def _tighter(form: StandardForm, j: int, low: float, high: float) -> Iterator[Statement]:
    """Bounds that a model does not have already, as statements over it."""
    goal = column(form.n, j)
    if low > form.lower[j]:
        yield goal, Fraction(low)
    if high < form.upper[j]:
        yield negative(goal), -Fraction(high)


def _and_whole(found: Decision, over: _Model, j: int) -> Decision:
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
    after = _Model.of(edited, until)
    changes: list[Change] = []
    step = built.clone()
    before = _Model.of(step, halfway)  # a Param may change hundreds of rows, and others wait
    names = _changed_params(built, edited)
    for name in names:
        former = _numbers(step.find_component(name))
        _set_param(step, edited, name)
        now = _Model.of(step, halfway)
        parts = tuple(_Step.between(before, now).changes())
        changes.append(_of_param(name, former, _numbers(edited.find_component(name)), parts))
        before = now
    changes += _added_params(built, edited)
    before = replace(before, ground=replace(before.ground, until=until))
    changes += _Step.between(before, after).changes()
    return ModelDifference(tuple(changes), after.form.sense, 1 + len(names))


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
    changed = [key for key in now if now[key] != former[key]]
    return Change(
        "Param",
        name,
        _values(name, former, changed),
        _values(name, now, changed),
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
