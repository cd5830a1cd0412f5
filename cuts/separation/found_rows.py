"""Rows that a separator returns, read into numbers of the model that is solved."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.core.expr.relational_expr import RelationalExpression
from pyomo.core.expr.visitor import identify_variables

from tightmargin.cuts.separators.proven_row import ProvenRow
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.printing import Printed
from tightmargin.solvers.model.columns import Rows
from tightmargin.solvers.model.expressions import read
from tightmargin.solvers.model.reader import StandardForm, sides_in_doubles


@dataclass(frozen=True, eq=False, repr=False)
class FoundRow(Printed):
    """lower <= numbers x[index] <= upper, multiplied by a power of two.

    Attributes
    ----------
    name : str
    separator : str
        Who found it.
    index, numbers : arrays
        Columns and coefficients, the largest of them in [1, 2).
    lower, upper : float
    scale : float
        What the row was multiplied by.
    constraint : Constraint
        The relation as it was given, on no model.
    verify : callable() -> None, or None
        Derives the row again from its origin and raises InvalidCutError where it does not follow;
        None for a row without an origin.
    cutoff : float
        The row holds at points of the problem whose objective is at most this; infinity for all.
    exact : bool
        Whether `verify` works in exact arithmetic.
    """

    name: str
    separator: str
    index: Index
    numbers: Array
    lower: float
    upper: float
    scale: float
    constraint: Any
    verify: Callable[[], None] | None = None
    cutoff: float = math.inf
    exact: bool = False
    _shown = ("name", "separator", "lower", "upper")

    @property
    def relation(self) -> Any:
        """The relational expression."""
        return self.constraint.expr

    @property
    def model(self) -> Any:
        """The model over whose variables it is."""
        return next(iter(identify_variables(self.relation))).model()

    def excess(self, x: Array) -> float:
        """By how much a point (n,) misses the row; 0 where it meets it."""
        total = float(self.numbers @ x[self.index])
        return max(self.lower - total, total - self.upper, 0.0)

    def size_at(self, x: Array) -> float:
        """1, or the sum of the sizes of its terms at a point: what an excess is small against."""
        return max(1.0, float(np.abs(self.numbers) @ np.abs(x[self.index])))


def read_row(
    given: Any, model: pyo.ConcreteModel, form: StandardForm, separator: str, number: int
) -> FoundRow:
    """A row of a separator in numbers.

    Parameters
    ----------
    given : relational expression or ProvenRow
    number : int
        Its place among all rows that were found, from 0 on.

    Raises
    ------
    TypeError
        Anything else, such as a comparison of two numbers, which Python has answered already.
    ValueError
        A row of another model's variables, one that is not linear, or one without coefficients.
    """
    name = f"{separator}_{number}"
    owner = f"separator {separator}, row {name}"
    verify, cutoff, exact, relation = None, math.inf, False, given
    if isinstance(given, ProvenRow):
        verify, cutoff, exact = given.verify, given.cutoff, given.exact
        relation = given.relation
    if not isinstance(relation, RelationalExpression):
        told = f"is {relation!r}: two numbers were compared, and no variable is left in it"
        if not isinstance(relation, bool | np.bool_):
            told = f"is of type {type(relation).__name__}"
        raise TypeError(
            f"{owner} {told}; a row is a relation such as model.z[0] + model.z[1] >= 1, or a Cut"
        )
    for variable in identify_variables(relation):
        if variable.model() is not model:
            raise ValueError(
                f"{owner} has the variable {variable.name} of another model "
                f"({variable.model().name}): write it with the variables of the model that was "
                "given to separate()"
            )
    constraint = pyo.Constraint(expr=relation, name=name)
    constraint.construct()
    index, numbers, low, high = _linear(constraint, form, owner)
    scale = math.ldexp(1.0, 1 - math.frexp(float(np.abs(numbers).max()))[1])
    return FoundRow(
        name, separator, index, scale * numbers, scale * low, scale * high, scale, constraint,
        verify, cutoff, exact,
    )  # fmt: skip


def _linear(constraint: Any, form: StandardForm, owner: str) -> tuple[Index, Array, float, float]:
    low, body, high = constraint.to_bounded_expression()
    found = read(body, form.columns, owner)
    if found is None or found.products:
        raise ValueError(f"{owner} is not linear: every engine takes linear rows only")
    columns, given = found.linear()
    index, inverse = np.unique(columns, return_inverse=True)
    numbers = np.zeros(len(index))
    np.add.at(numbers, inverse, given)
    index, numbers = index[numbers != 0], numbers[numbers != 0]
    if not len(index):
        raise ValueError(f"{owner} has no variable that is free: nothing can be separated by it")
    return index, numbers, *sides_in_doubles(found, low, high, owner)


def with_rows(form: StandardForm, rows: Sequence[FoundRow]) -> StandardForm:
    """A standard form with more rows, which come last among the linear ones."""
    if not rows:
        return form
    counts = np.cumsum([0, *(len(row.index) for row in rows)])
    more = sp.csr_matrix(
        (
            np.concatenate([row.numbers for row in rows]),
            np.concatenate([row.index for row in rows]),
            counts,
        ),
        shape=(len(rows), form.n),
    )
    return replace(
        form,
        matrix=sp.vstack([form.A, more], format="csr"),
        row_lower=np.concatenate([form.row_lower, [row.lower for row in rows]]),
        row_upper=np.concatenate([form.row_upper, [row.upper for row in rows]]),
        rows=Rows(form.rows.arrays, [*form.rows.single, *(row.constraint for row in rows)]),
    )
