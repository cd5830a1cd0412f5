"""Variables whose bounds and values stand in arrays, and what a Pyomo domain says of a variable.

Element i becomes an ordinary Pyomo variable when somebody touches m.xi[i]; until then it costs
nothing, and solve() reads and loads all elements at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.base.component_namer import index_repr
from pyomo.core.base.range import NumericRange
from pyomo.core.base.var import IndexedVar, VarData

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.mathematics import between_text
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed, Readable

# --- A variable over an index whose bounds and values are kept as arrays -------------------------


@dataclass(frozen=True, eq=False, repr=False)
class VarArrays(Printed):
    """All elements of a variable, in the order of its index.

    lower, upper (n,): infinite where there is no bound.
    values (n,): NaN where there is none.
    fixed, integer (n,).
    """

    lower: Array
    upper: Array
    values: Array
    fixed: NDArray[np.bool_]
    integer: NDArray[np.bool_]


class ArrayVar(IndexedVar, Readable):
    """Variable x_i over an index.

    lower, upper: bounds; a Param is read at the time of use, a pair is its multiple by the array.
    within: domain, the reals by default.
    Raises ValueError: when an array of bounds does not fit `index`.
    """

    def __init__(
        self, index: pyo.Set, *, lower: Any = None, upper: Any = None, within: Any = pyo.Reals
    ) -> None:
        self._sides = [_side(side, len(index)) for side in (lower, upper)]
        self._stored: Array | None = None
        self._numbers_of: dict[Any, int] | None = None
        super().__init__(index, within=within, dense=False, ctype=pyo.Var)

    def _title(self) -> str:
        return f"{self.name}: {count_text(len(self), 'variable')}"

    def _page(self) -> Page:
        first = next(iter(self.keys()), None)
        if first is None:
            return Page(self._title())
        name = f"{self.name}{index_repr(first)}"
        low, high, domain = self.limits_of(first)
        facts = [
            (name, f"{between_text(low, name, high)}, in {domain}"),
            ("edit", f"like any Pyomo variable: {name}.fix(0)"),
        ]
        return Page(self._title(), facts)

    def limits_of(self, index: Any) -> tuple[float, float, str]:
        """Bounds (or the value that it is fixed at) and domain of an element, which is not made."""
        made, k = self._data.get(index), self.number_of(index)
        sides = tuple(_bound(side, k) for side in self._sides)
        if made is not None:
            sides = (made.value, made.value) if made.fixed else made.bounds
        low, high = (
            empty if side is None else float(pyo.value(side))
            for side, empty in zip(sides, (-np.inf, np.inf), strict=True)
        )
        shared = self._rule_domain(self.parent_block(), None, self)
        return low, high, str(shared if made is None else made.domain)

    def __len__(self) -> int:
        return len(self._index_set)

    def __contains__(self, index: Any) -> bool:
        return index in self._index_set

    def keys(self, sort: Any = False, ordered: Any = None) -> Iterator[Any]:
        """Elements of the index set, in its order."""
        return iter(self._index_set)

    def __delitem__(self, index: Any) -> None:
        raise TypeError(f"{self.name}[{index}] cannot be deleted: fix it, or build another model")

    def clear(self) -> None:
        """Refuse: rows kept as arrays would still refer to the elements."""
        raise TypeError(f"{self.name} cannot be cleared: build another model")

    def _getitem_when_not_present(self, index: Any) -> VarData:
        element = super()._getitem_when_not_present(index)
        k = self.number_of(index)
        low, high = (_bound(side, k) for side in self._sides)
        if low is not None:
            element.lower = low
        if high is not None:
            element.upper = high
        if self._stored is not None and not np.isnan(self._stored[k]):
            element.set_value(float(self._stored[k]), skip_validation=True)
        return element

    def get_values(self, include_fixed_values: bool = True) -> dict[Any, float | None]:
        """Index-value pairs of all elements."""
        held = self.arrays()
        pairs = zip(self.keys(), held.values.tolist(), held.fixed.tolist(), strict=True)
        return {
            index: None if np.isnan(value) else value
            for index, value, fixed in pairs
            if include_fixed_values or not fixed
        }

    extract_values = get_values

    def number_of(self, index: Any) -> int:
        """Position of an element in the arrays."""
        if self._numbers_of is None:
            self._numbers_of = {element: k for k, element in enumerate(self._index_set)}
        return self._numbers_of[index]

    def touched(self) -> dict[Any, VarData]:
        """Elements that exist as ordinary variables, by index."""
        return self._data

    def arrays(self) -> VarArrays:
        """What the elements are now, touched ones included."""
        n = len(self)
        domain = self._rule_domain(self.parent_block(), None, self)
        low, high, _ = domain.get_interval()
        whole = is_integer(domain)
        if whole is None and len(self._data) < n:
            raise ValueError(
                f"the domain of {self.name}, {domain}, is no interval and not the integers of one"
            )
        lower = np.maximum(_present(self._sides[0], n, -np.inf), -np.inf if low is None else low)
        upper = np.minimum(_present(self._sides[1], n, np.inf), np.inf if high is None else high)
        values = np.full(n, np.nan) if self._stored is None else self._stored.copy()
        fixed, integer = np.zeros(n, dtype=bool), np.full(n, whole is True)
        for index, element in self._data.items():
            k = self.number_of(index)
            low, high = element.bounds
            lower[k], upper[k] = -np.inf if low is None else low, np.inf if high is None else high
            values[k] = np.nan if element.value is None else element.value
            fixed[k], own = element.fixed, is_integer(element.domain)
            if own is None and not element.fixed:
                raise ValueError(
                    f"the domain of {element.name}, {element.domain}, is no interval and not the "
                    f"integers of one: {what_to_say(element.domain)}"
                )
            integer[k] = bool(own)
        return VarArrays(lower, upper, values, fixed, integer)

    def load(self, values: Array) -> None:
        """Set the values (n,) of all elements; NaN leaves a touched one as it is."""
        self._stored = np.array(values, dtype=np.float64)
        for index, element in self._data.items():
            number = float(self._stored[self.number_of(index)])
            if not np.isnan(number):
                element.set_value(number, skip_validation=True)


def _side(side: Any, n: int) -> tuple[Array | None, Any] | None:
    """Bounds as (array, Param), either of which may be missing."""
    if side is None:
        return None
    if isinstance(side, pyo.Param):
        return None, side
    scale, param = side if isinstance(side, tuple) else (side, None)
    numbers = np.asarray(scale, dtype=np.float64)
    if numbers.shape not in ((), (n,)):
        raise ValueError(f"bounds: expected a number or {n} numbers, got shape {numbers.shape}")
    return np.broadcast_to(numbers, (n,)), param


def _bound(side: tuple[Array | None, Any] | None, k: int) -> Any:
    """Bound of one element: a Param stays mutable in it."""
    if side is None:
        return None
    numbers, param = side
    if numbers is None:
        return param
    return float(numbers[k]) if param is None else param * float(numbers[k])


def _present(side: tuple[Array | None, Any] | None, n: int, empty: float) -> Array:
    if side is None:
        return np.full(n, empty)
    numbers, param = side
    scale = 1.0 if param is None else float(pyo.value(param))
    return np.full(n, scale) if numbers is None else numbers * scale


# --- What a Pyomo domain says of a variable: any number of an interval, its integers, or neither


def is_integer(domain: Any) -> bool | None:
    """Whether a domain holds the integers of an interval, or all its numbers; None if neither.

    Set([0, 2, 5]), RangeSet(0, 10, 2) and the union of two intervals are neither, and Pyomo's own
    `is_integer` calls them continuous.
    """
    low, high, step = domain.get_interval()
    if step == 0:
        return False
    whole = step == 1 and all(end is None or end == int(end) for end in (low, high))
    return True if whole else None


def is_choice(domain: Any) -> bool:
    """Whether a domain with gaps holds a few numbers, or numbers at equal distances from one."""
    start, _, step = domain.get_interval()
    if step and start is not None:
        return True
    return bool(domain.isfinite()) and len(domain) > 0 and all(map(_is_number, domain))


def what_to_say(domain: Any) -> str:
    """What to write in the place of a domain that `is_integer` knows nothing of."""
    if is_choice(domain):
        return "write the choice with binaries, or call tightmargin.solve, which does"
    if domain.isfinite():
        other = next((value for value in domain if not _is_number(value)), None)
        return "it is empty" if other is None else f"it holds {other!r}, which is no number"
    if not any(isinstance(part, NumericRange) for part in domain.ranges()):
        return "say within=pyo.Reals, pyo.Integers or another set of numbers"
    return "write with binaries in which of its parts the variable lies"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
