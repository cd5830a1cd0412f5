"""Rows of a model written as sums of (coefficients, variable) terms, kept as arrays.

A formulation file lists its terms,

    m.margin = AffineRows(m.I, [((y, X), m.w), (y, m.b), (1.0, m.xi)], lower=1.0)

reads  y_i (<w, x_i> + b) + xi_i >= 1  for every i in m.I. The numbers stay in the arrays; row i
becomes an ordinary Pyomo constraint when somebody touches m.margin[i] (looks at it, deactivates,
replaces it, writes a file), and solve() hands the arrays of the untouched rows over as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.base.constraint import Constraint
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.core.expr.relational_expr import (
    EqualityExpression,
    InequalityExpression,
    RangedExpression,
)

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.lazy_constraints import LazyRows
from tightmargin.formulations.modeling.linear_sums import dot, shared, squares, total
from tightmargin.formulations.modeling.mathematics import between_text, sum_text
from tightmargin.formulations.modeling.row_terms import (
    Block,
    Term,
    all_entries,
    block,
    entry,
    numbers_of,
    times,
)
from tightmargin.printing import NUMBERS

__all__ = [
    "AffineRows",
    "dot",
    "equal_rows",
    "rows_by_index",
    "shared",
    "squares",
    "times",
    "total",
]


class AffineRows(LazyRows):
    """lower <= sum of terms <= upper, one row for each element of `index`.

    Parameters
    ----------
    index : Pyomo Set
        Rows, n of them; row k of an array belongs to the k-th element.
    terms : list of (coefficients, variable)
        An array (n, k), dense or sparse, with a variable of k elements contributes a full row, and
        a pair (factors (n,), array) the row times its factor; a number, an array (n,) or a Param
        with a variable over `index` contributes its own element; the same with a scalar variable
        contributes one column.
    lower, upper : number, array (n,), Param or None
        Sides; the same object on both sides makes an equation.

    Raises
    ------
    ValueError
        When the shape of a term does not fit `index` and its variable.
    """

    def __init__(
        self, index: pyo.Set, terms: Sequence[Term], *, lower: Any = None, upper: Any = None
    ) -> None:
        n = len(index)
        self._blocks = [block(coefficients, variable, n) for coefficients, variable in terms]
        self._equal = lower is not None and lower is upper
        self._sides = [
            None if side is None else numbers_of(side, n, "side") for side in (lower, upper)
        ]
        super().__init__(index)

    def _written(self, k: int) -> Any:
        coefficients: list[Any] = []
        variables: list[Any] = []
        for term in self._blocks:
            a, x = term.row(k)
            coefficients += a
            variables += x
        return self._relation(k, LinearExpression(linear_coefs=coefficients, linear_vars=variables))

    def _relation(self, k: int, body: LinearExpression) -> Any:
        low, high = (None if side is None else entry(side, k) for side in self._sides)
        if self._equal:
            return EqualityExpression((body, low))
        if low is not None and high is not None:
            return RangedExpression((low, body, high), False)
        if high is None:
            return InequalityExpression((low, body), False)
        return InequalityExpression((body, high), False)

    def row_text(self, k: int) -> str:
        """Row number k as a line of mathematics."""
        terms = [term for part in self._blocks for term in part.named_terms(k)]
        low, high = (float(side[0]) for side in self.sides(np.array([k])))
        return between_text(low, sum_text(terms, NUMBERS), high)

    def blocks(self) -> list[Block]:
        """Terms, for whoever hands the arrays to a solver."""
        return self._blocks

    def sides(self, rows: Index) -> tuple[Array, Array]:
        """Lower and upper sides of some rows, infinite where there is none."""
        low, high = (
            np.full(len(rows), empty) if side is None else all_entries(side, rows)
            for side, empty in zip(self._sides, (-np.inf, np.inf), strict=True)
        )
        return low, high


def equal_rows(index: pyo.Set, terms: Sequence[Term], value: Any) -> AffineRows:
    """Rows with both sides equal to `value`."""
    return AffineRows(index, terms, lower=value, upper=value)


def rows_by_index(index: pyo.Set, relation: Callable[[Any], Any]) -> Constraint:
    """Ordinary rows relation(i) for i in `index`; unlike a rule, nothing unpicklable is kept."""
    return Constraint(index, rule={element: relation(element) for element in index})
