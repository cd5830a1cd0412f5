"""Sums over the elements of a variable, for objectives and single rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.core.expr.numeric_expr import LinearExpression, MonomialTermExpression, SumExpression

from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.row_terms import Numbers, numbers_of


class LazyTerms(Sequence[Any]):
    """Terms c_k x_k of a LinearExpression, made when somebody looks at them.

    numbers: coefficients c (n,).
    """

    def __init__(self, numbers: Numbers, variable: ArrayVar) -> None:
        self.numbers, self.variable = numbers, variable
        self._made: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.numbers.values) if self._made is None else len(self._made)

    def __getitem__(self, which: Any) -> Any:
        return self._terms()[which]

    def append(self, term: Any) -> None:
        """Add a term, as Pyomo does when such a sum is added to a linear one."""
        self._terms().append(term)

    def extend(self, terms: Any) -> None:
        """Add terms."""
        self._terms().extend(terms)

    def _terms(self) -> list[Any]:
        if self._made is None:
            pairs = zip(self.numbers.values.tolist(), self.variable.values(), strict=True)
            self._made = [MonomialTermExpression(pair) for pair in pairs]
        return self._made


def lazy_terms(expression: LinearExpression) -> LazyTerms | None:
    """Terms of a linear expression when they still are arrays and nothing else."""
    terms = expression._args_
    if terms.__class__ is LazyTerms and expression.nargs() == len(terms.numbers.values):
        return terms
    return None


def dot(coefficients: Any, variable: Any) -> LinearExpression:
    """Linear expression sum_k coefficients_k variable_k.

    Its terms stay arrays as long as it is not added to something linear: see `total`.

    coefficients (n,): a number repeats for every element.
    Raises ValueError: when the coefficients do not fit the variable.
    """
    n = len(variable)
    found = numbers_of(coefficients, n, f"coefficients of {variable.name}")
    if isinstance(variable, ArrayVar) and isinstance(found, Numbers):
        expression = LinearExpression([])
        expression._args_, expression._nargs = LazyTerms(found, variable), n
        return expression
    if isinstance(found, Numbers):
        numbers: list[Any] = found.values.tolist()
    else:
        numbers = list(found.values()) if found.is_indexed() else [found] * n
    return LinearExpression(linear_coefs=numbers, linear_vars=list(variable.values()))


def total(*parts: Any) -> SumExpression:
    """Sum that keeps its parts as they are, where + would spell out the terms of a `dot`."""
    return SumExpression(list(parts))


def squares(variable: Any) -> Any:
    """Sum of squares of the elements of a variable."""
    return pyo.quicksum(element**2 for element in variable.values())


def shared(values: Any) -> Any:
    """Array, or csr_array of a sparse one, that nobody can write to.

    Rows keep it as it is instead of a copy.
    """
    if sp.issparse(values):
        rows = values.tocsr()
        for part in (rows.data, rows.indices, rows.indptr):
            part.setflags(write=False)
        return rows
    array = np.ascontiguousarray(values, dtype=np.float64)
    array.setflags(write=False)
    return array
