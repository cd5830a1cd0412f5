"""From names of variables and Pyomo constraints to columns and numbers of a live program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.printing import Printed, Readable
from tightmargin.solvers.canonical_form.named_values import flat
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.persistent.program import Program
from tightmargin.solvers.standard_form.columns import side
from tightmargin.solvers.standard_form.expressions import read
from tightmargin.solvers.standard_form.inexact import sides_in_doubles

SMALLEST_RATIO = 1e-9
INFINITE_SIDE = 1e20
SMALLEST_NUMBER = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class ScaledRow(Printed):
    """A row as it is sent: lower <= numbers x[index] <= upper, multiplied by `scale`."""

    index: Index
    numbers: Array
    lower: float
    upper: float
    scale: float


class Directory(Readable):
    """Columns of a live program by the names of its variables."""

    def __init__(self, model: pyo.ConcreteModel, program: Program) -> None:
        self._model, self._program = model, program
        self._known: dict[str, tuple[Any, Index, Array]] = {}

    def _title(self) -> str:
        return f"Directory of {self._model.name}: {self._program.n} columns"

    def find(self, variable: Any) -> tuple[Any, Index, Array]:
        """Component, columns (-1 where fixed) and values there, of a variable or its name.

        Raises
        ------
        ValueError
            When there is no such variable; the message lists those there are.
        """
        name = variable if isinstance(variable, str) else str(variable.name)
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._search(name)
        return found

    def row_factors(self, m: int) -> Array:
        """What turns multipliers of the first m rows into duals in the user's scale and sense."""
        return self._program.base.sense * self._program.factors()[:m]

    def _search(self, name: str) -> tuple[Any, Index, Array]:
        program = self._program
        if name in program.column_names:
            at = program.base.n + program.column_names.index(name)
            return None, np.array([at]), np.array([math.nan])
        component = self._model.find_component(name)
        if component is not None and component.ctype is pyo.Var:
            columns, held = self._columns_of(component)
            if ((columns >= 0) | np.isfinite(held)).all():
                return component, columns, held
        names = [part.component.name for part in program.base.columns.parts]
        raise ValueError(
            f"the live program has no variable {name!r}; it has "
            f"{', '.join([*names, *program.column_names])}"
        )

    def _columns_of(self, variable: Any) -> tuple[Index, Array]:
        """Columns, -1 where there is none, and then values of fixed elements."""
        columns = self._program.base.columns
        if variable.parent_component() is variable:
            return columns.of(variable)
        at = columns.column(variable)
        value = float(variable.value) if at < 0 and variable.fixed else math.nan
        return np.array([at]), np.array([value])

    def numbers(self, variable: Any, given: ArrayLike, owner: str) -> tuple[Index, Array, Array]:
        """Columns, numbers given for them, and values where fixed, one for each element."""
        component, columns, held = self.find(variable)
        numbers = flat(component, given) if component is not None else np.atleast_1d(given)
        numbers = np.asarray(numbers, dtype=np.float64)
        if len(numbers) != len(columns):
            raise ValueError(
                f"{owner}: {variable} has {len(columns)} elements, got {len(numbers)} numbers"
            )
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            raise NumberError(
                f"{owner}: coefficient of {self._element(component, variable, int(bad[0]))} "
                f"is {numbers[bad[0]]}"
            )
        return columns, numbers, held

    def _element(self, component: Any, variable: Any, k: int) -> str:
        if component is None or not component.is_indexed():
            return str(variable)
        return str(component[list(component.keys())[k]].name)

    def cut(
        self, coefficients: Mapping[Any, ArrayLike], lower: Any, upper: Any, owner: str
    ) -> ScaledRow:
        """A row from arrays by variable name; fixed variables move to the sides."""
        columns, numbers, constant = [], [], 0.0
        for variable, given in coefficients.items():
            at, part, held = self.numbers(variable, given, owner)
            free = at >= 0
            if not free.all():
                constant += float(part[~free] @ held[~free])
            columns.append(at[free])
            numbers.append(part[free])
        index = np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)
        if len(columns) > 1 and len(np.unique(index)) < len(index):
            values, counts = np.unique(index, return_counts=True)
            twice = self._program.column_name(int(values[counts > 1][0]))
            raise ValueError(f"{owner}: {twice} is given twice")
        merged = np.concatenate(numbers) if numbers else np.zeros(0)
        return self._scaled(index, merged, (lower, upper, constant), owner)

    def constraint(self, data: Any) -> ScaledRow:
        """A row from a Pyomo constraint on variables of the model as it was read."""
        owner = f"row {data.name}"
        low, body, high = data.to_bounded_expression()
        found = read(body, self._program.base.columns, owner)
        if found is None or found.products:
            raise ValueError(f"{owner} is not linear: a live program takes linear rows only")
        columns, numbers = found.linear()
        if (columns < 0).any():
            raise ValueError(
                f"{owner} has a variable that was not in the model when the live program was "
                "made: use add_column for it, or make the live program anew"
            )
        index, inverse = np.unique(columns, return_inverse=True)
        merged = np.zeros(len(index))
        np.add.at(merged, inverse, numbers)
        low, high = sides_in_doubles(found, low, high, owner)
        return self._scaled(index, merged, (low, high, 0.0), owner)

    def _scaled(
        self, index: Index, numbers: Array, sides: tuple[Any, Any, float], owner: str
    ) -> ScaledRow:
        """The row times the power of two that brings its largest coefficient into [1, 2).

        A power of two changes no digit: the row sent is exactly the row given.
        """
        kept = numbers != 0
        index, numbers = index[kept], numbers[kept]
        if not len(numbers):
            raise NumberError(f"{owner}: no coefficient differs from zero")
        sizes = np.abs(numbers)
        largest = float(sizes.max())
        small = np.flatnonzero(sizes <= SMALLEST_RATIO * largest)
        if small.size:
            k = int(small[0])
            name = self._program.column_name(int(index[k]))
            raise NumberError(
                f"{owner}: the coefficient {numbers[k]:.3g} of {name} is "
                f"{sizes[k] / largest:.3g} of the largest, and highs would drop it without a "
                f"word (it keeps what is above {SMALLEST_RATIO:g}): leave it out or rescale the "
                "variables"
            )
        if largest < SMALLEST_NUMBER:
            raise NumberError(f"{owner}: the largest coefficient is {largest:.3g}: rescale the row")
        exponent = 1 - math.frexp(largest)[1]
        low, high, constant = sides
        ends = [
            _scaled_side(
                side(given, empty, f"{owner}: {word} side") - constant, exponent, largest,
                f"{owner}: highs would read the {word} side",
            )
            for given, empty, word in ((low, -math.inf, "lower"), (high, math.inf, "upper"))
        ]  # fmt: skip
        scale = math.ldexp(1.0, exponent)
        return ScaledRow(index, np.ldexp(numbers, exponent), ends[0], ends[1], scale)


def _scaled_side(number: float, exponent: int, largest: float, words: str) -> float:
    if not math.isfinite(number):
        return number
    if abs(number) / largest >= INFINITE_SIDE / 2:
        raise NumberError(
            f"{words} {number:g}, which is {abs(number) / largest:.3g} times the largest "
            "coefficient, as infinite"
        )
    return math.ldexp(number, exponent)
