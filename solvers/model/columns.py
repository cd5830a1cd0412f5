"""Columns and rows of a model as sequences whose Pyomo objects are made only when asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.base.component_namer import index_repr
from pyomo.core.base.expression import NamedExpressionData
from pyomo.core.base.param import ParamData, ScalarParam
from pyomo.core.base.range import NumericRange
from pyomo.core.base.var import ScalarVar, VarData
from pyomo.core.expr.numeric_expr import (
    AbsExpression,
    DivisionExpression,
    MaxExpression,
    MinExpression,
    NegationExpression,
    PowExpression,
    ProductExpression,
    SumExpression,
)
from pyomo.core.expr.visitor import identify_mutable_parameters

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.affine_rows import AffineRows
from tightmargin.formulations.modeling.array_variables import (
    ArrayVar,
    VarArrays,
    is_integer,
    what_to_say,
)
from tightmargin.number_words import count_text, short
from tightmargin.printing import Printed, Readable
from tightmargin.solvers.errors import DomainError, NumberError
from tightmargin.solvers.exact import rounded_down, rounded_up
from tightmargin.solvers.model.polynomial import (
    LARGEST_WHOLE,
    Number,
    QuadraticRow,
    Sides,
    exact_or_float,
    known,
    plus,
    quotient,
    times,
)

# --- Numbers that stand in Pyomo expressions, exactly where they are rational --------------------


NUMBERS = (int, float, np.float64, np.int64)
WIDTH = 60  # characters of an expression in a sentence
LARGEST_POWER = 64  # whole powers that are multiplied out; others are the double that Python gives


def shown(e: Any) -> str:
    """An expression in a sentence."""
    return short(str(e), WIDTH)


def number(e: Any) -> Number:
    """Present value of a constant expression; NumberError where it is no real number."""
    if e.__class__ is float:
        return e
    if e.__class__ is int and -LARGEST_WHOLE <= e <= LARGEST_WHOLE:
        return float(e)
    if e.__class__ is ParamData and e._value.__class__ is float:
        return e._value
    if e.__class__ in NUMBERS:
        return known(e)
    value = known_value(e)
    if value is None:
        refuse_missing_params(e)
        raise NumberError(f"{shown(e)} is no finite real number: look at its Params")
    return value


def known_value(e: Any) -> Number | None:
    """Present value of a constant expression; None where it has none that is a real number."""
    try:
        value = _value(e)
    except (ArithmeticError, ValueError, TypeError):  # which Pyomo lets through
        return None
    return None if value is None or isinstance(value, complex) else value


def _value(e: Any) -> Any:
    """Value of an expression without free variables, exact where it is rational."""
    if e.__class__ in NUMBERS:
        return known(e)
    if e.__class__ in _LEAVES:
        value = pyo.value(e, exception=False)
        return None if value is None else known(value)
    if isinstance(e, NamedExpressionData) and e.args[0] is not None:
        return _value(e.args[0])
    rule = next((_VALUES[kind] for kind in e.__class__.__mro__ if kind in _VALUES), None)
    parts = [] if rule is None else [_value(part) for part in e.args]
    if rule is None or any(part is None or isinstance(part, complex) for part in parts):
        value = pyo.value(e, exception=False)
        return value if value is None or isinstance(value, complex) else known(value)
    return rule(*parts)


def _sum(*parts: Number) -> Number:
    total: Number = 0.0
    for part in parts:
        total = plus(total, part)
    return total


def _power(base: Number, exponent: Number) -> Any:
    if not math.isfinite(base) or not abs(float(exponent)) <= LARGEST_POWER or exponent % 1:
        return float(base) ** float(exponent)
    return exact_or_float(Fraction(base) ** int(exponent))


_LEAVES = (ParamData, ScalarParam, VarData, ScalarVar)
_VALUES: dict[type, Callable[..., Any]] = {
    SumExpression: _sum,
    ProductExpression: times,
    DivisionExpression: quotient,
    NegationExpression: lambda a: -a,
    PowExpression: _power,
    AbsExpression: abs,
    MaxExpression: lambda *parts: max(parts, key=Fraction),
    MinExpression: lambda *parts: min(parts, key=Fraction),
}


def refuse_missing_params(expression: Any) -> None:
    """Raise for a Param of an expression that has no value, by name."""
    for param in identify_mutable_parameters(expression):
        if pyo.value(param, exception=False) is None:
            raise NumberError(f"Param {param.name} has no value: set it before solving")


# --- Sides of rows and bounds that no double is, or that no point may attain ---------------------


INSIDE = 2.0**-64  # from a bound of 0 that no point may attain


@dataclass(frozen=True, eq=False, repr=False)
class ExactEnds(Printed):
    """What the doubles of a StandardForm stand for, where it is something else.

    A linear row of the model times its scale, from 1 to 2, has doubles for coefficients; the
    multiplier of the model's row is that of the arrays times it.
    """

    sides: Mapping[int, Sides] = field(default_factory=dict)  # of rows, None: the double itself
    bounds: Mapping[int, Sides] = field(default_factory=dict)  # of columns
    open: Mapping[int, tuple[bool, bool]] = field(default_factory=dict)  # excluded bounds
    scales: Mapping[int, Fraction] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.sides or self.bounds or self.open)

    def end_of(self, column: int) -> tuple[object, ...]:
        """Exact and excluded bounds of a column; empty without any."""
        ends = self.bounds.get(column), self.open.get(column)
        return ends if any(ends) else ()

    def without(self, *, row: int | None = None, column: int | None = None) -> ExactEnds:
        """The same but for a row or a column that has other ends now."""
        return replace(
            self,
            sides={k: v for k, v in self.sides.items() if k != row},
            bounds={k: v for k, v in self.bounds.items() if k != column},
            open={k: v for k, v in self.open.items() if k != column},
        )

    def same_as(self, other: ExactEnds) -> bool:
        """Whether both say the same."""
        return (self.sides, self.bounds, self.open) == (other.sides, other.bounds, other.open)


def outwards(low: Number, high: Number) -> tuple[float, float, Sides]:
    """Doubles next to two sides, outwards, and the sides that they are not."""
    ends: list[float] = []
    kept: list[Fraction | None] = []
    for number, rounded in ((low, rounded_down), (high, rounded_up)):
        is_double = number.__class__ is not Fraction
        ends.append(float(number) if is_double else rounded(Fraction(number)))
        kept.append(None if is_double else Fraction(number))
    return ends[0], ends[1], (kept[0], kept[1])


def inwards(low: Array, high: Array, sides: Mapping[int, Sides]) -> tuple[Array, Array]:
    """The doubles next to what is between some sides, inwards."""
    low, high = low.copy(), high.copy()
    for k, (lower, upper) in sides.items():
        low[k] = low[k] if lower is None else rounded_up(lower)
        high[k] = high[k] if upper is None else rounded_down(upper)
    return low, high


def above(bound: float) -> float:
    """A double above a bound, where the bound itself is excluded."""
    return INSIDE if bound == 0 else math.nextafter(bound, math.inf)


def inner_row(row: QuadraticRow) -> QuadraticRow:
    """Doubles each of whose points meets the row of the model."""
    if not row.is_rounded:
        return row
    low, high = inwards(np.array([row.lower]), np.array([row.upper]), {0: row.sides})
    body = row.body if row.inside is None else row.inside
    return replace(
        row, body=body, lower=float(low[0]), upper=float(high[0]), lost={}, sides=(None, None)
    )


Ends = tuple[Sides, tuple[bool, bool]]
Excluded = tuple[float | None, float | None]

ATTAINED: Ends = ((None, None), (False, False))


@dataclass(frozen=True, eq=False)
class Elements:
    """Elements of one variable component."""

    component: Any
    columns: Index  # of every element in the order of the index, -1 where fixed
    held: VarArrays
    ends: Mapping[int, Ends]  # bounds that no double is, and which of the two are excluded


class Columns(Sequence[Any], Readable):
    """Free variables of a model, one a column: those of the model first, then foreign ones."""

    def __init__(self, model: pyo.Block) -> None:
        self.parts: list[Elements] = []
        self.foreign: list[Any] = []
        self._arrays: dict[int, Elements] = {}
        self.position: dict[int, int] = {}
        self._owner: list[tuple[int, Index]] = []
        self._count = 0
        self._sealed = False
        for component in model.component_objects(pyo.Var, descend_into=True):
            if not component.is_reference():
                self._append(component)

    def _title(self) -> str:
        return f"Columns: {count_text(len(self), 'variable')}"

    def _append(self, component: Any) -> None:
        lazy = isinstance(component, ArrayVar)
        held, ends = held_by(component)
        free = np.flatnonzero(~held.fixed)
        columns = np.full(len(held.fixed), -1, dtype=np.int64)
        columns[free] = np.arange(self._count, self._count + len(free))
        part = Elements(component, columns, held, ends)
        _refuse_bad_bounds(part)
        if lazy:
            self._arrays[id(component)] = part
        else:
            for element, column in zip(component.values(), columns.tolist(), strict=True):
                if column >= 0:
                    self.position[id(element)] = column
        self.parts.append(part)
        self._owner.append((self._count, free))
        self._count += len(free)

    def column(self, variable: Any) -> int:
        """Column of a free variable; a foreign one gets the next, or -1 once the model is read."""
        place = self.position.get(id(variable))
        if place is not None:
            return place
        owner = self._arrays.get(id(variable.parent_component()))
        if owner is not None:
            place = int(owner.columns[owner.component.number_of(variable.index())])
        elif self._sealed:
            return -1
        else:
            place = self._count + len(self.foreign)
            self.foreign.append(variable)
        self.position[id(variable)] = place
        return place

    def of(self, component: Any) -> tuple[Index, Array]:
        """Columns of the elements of a component, -1 where there is none, and values there."""
        part = self._arrays.get(id(component))
        if part is not None:
            return part.columns, part.held.values
        elements = list(component.values())
        columns = [-1 if v.fixed else self.column(v) for v in elements]
        values = [v.value if at < 0 else math.nan for v, at in zip(elements, columns, strict=True)]
        return np.array(columns, dtype=np.int64), np.array(values, dtype=np.float64)

    def seal(self) -> None:
        """Give no more columns: the model is read."""
        self._sealed = True

    def gathered(self) -> VarArrays:
        """Bounds, values and kinds of all columns, in order."""
        parts = [part.held for part in self.parts]
        kept = [free for _, free in self._owner]
        if self.foreign:
            outside = Elements(None, np.zeros(0, dtype=np.int64), *_held(self.foreign))
            _refuse_bad_bounds(outside, self.foreign)
            parts.append(outside.held)
            kept.append(np.arange(len(self.foreign)))

        def joined(name: str, kind: Any) -> Any:
            pieces = [getattr(held, name)[at] for held, at in zip(parts, kept, strict=True)]
            return np.concatenate([np.zeros(0, dtype=kind), *pieces])

        lower, upper, values = (joined(name, float) for name in ("lower", "upper", "values"))
        return VarArrays(lower, upper, values, joined("fixed", bool), joined("integer", bool))

    def ends(self) -> dict[int, Ends]:
        """Bounds that no double is, and bounds that are excluded, by column."""
        exact = {}
        for part in self.parts:
            for k, ends in part.ends.items():
                if part.columns[k] >= 0:
                    exact[int(part.columns[k])] = ends
        for k, ends in (_held(self.foreign)[1] if self.foreign else {}).items():
            exact[self._count + k] = ends
        return exact

    def __len__(self) -> int:
        return self._count + len(self.foreign)

    def __getitem__(self, k: Any) -> Any:
        component, index = self.location(range(len(self))[k])
        return component if index is None else component[index]

    def location(self, k: int) -> tuple[Any, Any]:
        """Component and index of a column; a variable itself and None when it is single."""
        if k >= self._count:
            return self.foreign[k - self._count], None
        starts = [start for start, _ in self._owner]
        at = int(np.searchsorted(starts, k, side="right")) - 1
        start, free = self._owner[at]
        component = self.parts[at].component
        if not component.is_indexed():
            return component, None
        number = int(free[k - start])
        if isinstance(component, ArrayVar):
            return component, component.index_set().at(number + 1)
        return component, list(component.keys())[number]

    def name(self, k: int) -> str:
        """Name of a column."""
        return row_name(*self.location(k))

    def names(self) -> list[str]:
        """Names of all columns."""
        return self.labels().names()

    def labels(self) -> Labels:
        """The names without the variables."""
        pairs = zip(self._owner, self.parts, strict=True)
        parts = [_names(part.component, free) for (_, free), part in pairs]
        outside = Listed([variable.name for variable in self.foreign])
        return Labels(*parts, ("", outside, np.arange(len(self.foreign))))


class Rows(Sequence[Any], Readable):
    """Pyomo constraints of the linear rows: those kept as arrays, then single ones."""

    def __init__(self, arrays: list[tuple[AffineRows, Index]], single: list[Any]) -> None:
        self.arrays, self.single = arrays, single
        self._ends = np.cumsum([len(numbers) for _, numbers in arrays])

    def _title(self) -> str:
        return f"Rows: {count_text(len(self), 'linear row')}"

    def __len__(self) -> int:
        return (int(self._ends[-1]) if len(self._ends) else 0) + len(self.single)

    def __getitem__(self, k: Any) -> Any:
        component, key = self.location(range(len(self))[k])
        return component if key is None else component[key]

    def location(self, k: int) -> tuple[Any, Any]:
        """Component and index of a row kept in arrays; the row itself and None otherwise."""
        part = int(np.searchsorted(self._ends, k, side="right"))
        start = int(self._ends[part - 1]) if part else 0
        if part == len(self.arrays):
            return self.single[k - start], None
        component, numbers = self.arrays[part]
        return component, component.row_key(numbers[k - start])

    def name(self, k: int) -> str:
        """Name of a row."""
        return row_name(*self.location(k))

    def names(self) -> list[str]:
        """Names of all rows."""
        return self.labels().names()

    def locations(self) -> Iterator[tuple[Any, Any]]:
        """Component and index of every row, without making it."""
        for component, numbers in self.arrays:
            for key in component.row_keys(numbers):
                yield component, key
        for row in self.single:
            yield row.parent_component(), row.index()

    def labels(self) -> Labels:
        """The names without the constraints."""
        parts = [_names(component, numbers) for component, numbers in self.arrays]
        single = Listed([row.name for row in self.single])
        return Labels(*parts, ("", single, np.arange(len(self.single))))


def _names(component: Any, numbers: Any) -> tuple[str, Any, Index]:
    """A part of Labels that holds the index set of a component and nothing else of it."""
    at = np.asarray(numbers, dtype=np.intp)
    if not component.is_indexed():
        return str(component.name), Listed([""]), at
    kept = isinstance(component, ArrayVar | AffineRows)
    keys = component.index_set() if kept else list(component.keys())
    return str(component.name), Indices(keys), at


def row_name(component: Any, index: Any) -> str:
    """Name of an element of a component, or of a single one when the index is None."""
    return str(component.name) if index is None else f"{component.name}{index_repr(index)}"


@contextmanager
def holding(columns: Columns, x: Array) -> Iterator[None]:
    """Set the variables to a point for as long as something is evaluated there."""
    before = [v.value for v in columns]
    try:
        for v, number in zip(columns, x.tolist(), strict=True):
            v.set_value(number, skip_validation=True)
        yield
    finally:
        for v, old in zip(columns, before, strict=True):
            v.set_value(old, skip_validation=True)


def value_of(expression: Any) -> float:
    """Present value of any expression; NaN where it has none, as log(-1)."""
    try:
        value = pyo.value(expression, exception=False)  # with it Pyomo prints what went wrong
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan
    return math.nan if value is None or isinstance(value, complex) else float(value)


def _are_integer(elements: list[Any]) -> NDArray[np.bool_]:
    """Which elements are integer; free ones have an interval or its integers as their domain."""
    known: dict[int, bool | None] = {}
    for variable in elements:
        domain = variable.domain
        if id(domain) not in known:
            known[id(domain)] = is_integer(domain)
        if known[id(domain)] is None and not variable.fixed:
            raise DomainError(
                f"the domain of {variable.name}, {domain}, is no interval and not the integers of "
                f"one, and a solver would take it for one: {what_to_say(domain)}"
            )
    return np.array([bool(known[id(variable.domain)]) for variable in elements], dtype=bool)


def held_by(component: Any) -> tuple[VarArrays, dict[int, Ends]]:
    """Elements of a variable in the order of its index, and ends that their doubles do not say."""
    if not isinstance(component, ArrayVar):
        return _held(list(component.values()))
    keys = list(component.touched())
    _, ends = _held(list(component.touched().values()))
    return component.arrays(), {component.number_of(keys[k]): end for k, end in ends.items()}


def _held(elements: list[Any]) -> tuple[VarArrays, dict[int, Ends]]:
    integer = _are_integer(elements)  # before bounds, which a domain of words has none of
    domains: dict[int, tuple[Any, Any, Excluded]] = {}
    lows, highs = [], []
    ends: dict[int, Ends] = {}
    for k, variable in enumerate(elements):
        domain = variable.domain
        if id(domain) not in domains:
            domains[id(domain)] = (*domain.bounds(), excluded(domain))
        first, last, (least, greatest) = domains[id(domain)]
        lower, upper = (
            variable._lb if first is None else first if variable._lb is None else variable.lower,
            variable._ub if last is None else last if variable._ub is None else variable.upper,
        )
        low: Number = -math.inf if lower is None else number(lower)
        high: Number = math.inf if upper is None else number(upper)
        if not (low.__class__ is high.__class__ is float and least is greatest is None):
            is_open = (False, False) if variable.fixed else (low == least, high == greatest)
            low, high, sides = outwards(low, high)
            if (sides, is_open) != ATTAINED:
                ends[k] = sides, is_open
        lows.append(low)
        highs.append(high)
    values = [math.nan if v.value is None else float(v.value) for v in elements]
    held = VarArrays(
        lower=np.array(lows, dtype=np.float64),
        upper=np.array(highs, dtype=np.float64),
        values=np.array(values, dtype=np.float64),
        fixed=np.array([v.fixed for v in elements], dtype=bool),
        integer=integer,
    )
    return held, ends


def excluded(domain: Any) -> Excluded:
    """Ends of the interval of a domain that are not in it, as 0 of PositiveReals."""
    ranges = [part for part in domain.ranges() if isinstance(part, NumericRange)]
    if len(ranges) != 1 or ranges[0].step != 0:
        return None, None
    only = ranges[0]
    return (
        None if only.closed[0] or only.start is None else only.start,
        None if only.closed[1] or only.end is None else only.end,
    )


def _refuse_bad_bounds(part: Elements, elements: list[Any] | None = None) -> None:
    held = part.held
    low, high = held.lower, held.upper
    values = np.where(held.fixed & np.isfinite(held.values), held.values, np.nan)
    strange = (values < low) | (values > high) | (held.integer & (values != np.round(values)))
    strange &= ~np.isnan(values)
    for k in np.flatnonzero(strange).tolist():
        variable = elements[k] if elements else list(part.component.values())[k]
        raise NumberError(
            f"{variable.name} is fixed at {variable.value}, which its bounds or its domain "
            f"{variable.domain} exclude: fix it at another value, or change them"
        )
    bad = np.flatnonzero(~held.fixed & (~(low < math.inf) | ~(high > -math.inf)))
    if not bad.size:
        return
    k = int(bad[0])
    if elements is None:
        keys = list(part.component.keys())
        name = row_name(part.component, keys[k] if part.component.is_indexed() else None)
    else:
        name = elements[k].name
    side(low[k], -math.inf, f"lower bound of {name}")
    side(high[k], math.inf, f"upper bound of {name}")


def side(value: Any, empty: float, owner: str) -> float:
    """One side of a row or a bound; NumberError for NaN or an infinity that no point satisfies."""
    if value is None:
        return empty
    number = float(value)
    if math.isnan(number):
        raise NumberError(f"{owner} is nan")
    if number == -empty:
        raise NumberError(f"{owner} is {number}: no point can satisfy it")
    return number


# --- Names of columns and rows that are no Pyomo objects, where a sentence needs them ------------


@dataclass(frozen=True)
class Label:
    """Something that has a name and nothing else."""

    name: str


@dataclass(frozen=True)
class Listed:
    """Names in a list."""

    words: list[str]

    def name(self, k: int) -> str:
        """Name at a position."""
        return self.words[k]


class Indices:
    """The elements of an index set as they stand behind a name."""

    def __init__(self, elements: Any) -> None:
        self._elements = elements

    def __getstate__(self) -> dict[str, Any]:
        """The elements alone: a set of Pyomo's takes its model along."""
        return {"_elements": self._keys}

    @cached_property
    def _keys(self) -> list[Any]:
        return list(self._elements)

    def name(self, k: int) -> str:
        """Element at a position."""
        return str(index_repr(self._keys[k]))


class Labels(Sequence[Label]):
    """Names made when needed: of a part (prefix, names, positions) prefix + names[positions[k]]."""

    def __init__(self, *parts: tuple[str, Any, Index]) -> None:
        self.parts = parts
        self._ends = np.cumsum([len(positions) for *_, positions in parts])

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, k: Any) -> Any:
        return Label(self.name(range(len(self))[k]))

    def name(self, k: int) -> str:
        """Name at a position."""
        part = int(np.searchsorted(self._ends, k, side="right"))
        words, names, positions = self.parts[part]
        start = int(self._ends[part - 1]) if part else 0
        return words + str(names.name(int(positions[k - start])))

    def labels(self) -> Labels:
        """The same names, made now."""
        return Labels(("", Listed(self.names()), np.arange(len(self))))

    def names(self) -> list[str]:
        """All of them."""
        return [words + str(names.name(k)) for words, names, at in self.parts for k in at.tolist()]
