"""Rows of a model written as sums of (coefficients, variable) terms.

A formulation file lists its terms,

    m.margin = AffineRows(m.I, [(y[:, None] * X, m.w), (y, m.b), (1.0, m.xi)], lower=1.0)

reads  y_i (<w, x_i> + b) + xi_i >= 1  for every i in m.I, and each row is an ordinary Pyomo
constraint that can be looked at, deactivated, deleted or replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from pyomo.core.base.constraint import IndexedConstraint
from pyomo.core.expr.numeric_expr import LinearExpression

Term = tuple[Any, Any]
Pairs = tuple[list[Any], list[Any]]


class AffineRows(IndexedConstraint):
    """lower <= sum of terms <= upper, one row for each element of `index`.

    Parameters
    ----------
    index : Pyomo Set
        Rows, n of them; row k of an array belongs to the k-th element.
    terms : list of (coefficients, variable)
        An array (n, k) with a variable of k elements contributes a full row; a number, an array
        (n,) or a Param with a variable over `index` contributes its own element; the same with a
        scalar variable contributes one column.
    lower, upper : number, array (n,), Param or None
        Sides; equal sides make an equation.

    Raises
    ------
    ValueError
        When the shape of a term does not fit `index` and its variable.
    """

    def __init__(
        self, index: pyo.Set, terms: Sequence[Term], *, lower: Any = None, upper: Any = None
    ) -> None:
        n = len(index)
        readers = [_reader(coefficients, variable, n) for coefficients, variable in terms]
        sides = [_side("lower", lower, n), _side("upper", upper, n)]
        position = {element: k for k, element in enumerate(index)}

        def rule(_: pyo.Block, *element: Any) -> Any:
            k = position[element if len(element) > 1 else element[0]]
            coefficients: list[Any] = []
            variables: list[Any] = []
            for read in readers:
                a, x = read(k)
                coefficients += a
                variables += x
            body = LinearExpression(linear_coefs=coefficients, linear_vars=variables)
            low, high = sides[0](k), sides[1](k)
            return (body, low) if low is not None and low is high else (low, body, high)

        super().__init__(index, rule=rule)


def equal_rows(index: pyo.Set, terms: Sequence[Term], value: Any) -> AffineRows:
    """Rows with both sides equal to `value`."""
    return AffineRows(index, terms, lower=value, upper=value)


def dot(coefficients: Any, variable: Any) -> LinearExpression:
    """Linear expression sum_k coefficients_k variable_k; a number repeats for every element."""
    elements = list(variable.values())
    numbers = np.broadcast_to(np.asarray(coefficients, dtype=float), (len(elements),)).tolist()
    return LinearExpression(linear_coefs=numbers, linear_vars=elements)


def squares(variable: Any) -> Any:
    """Sum of squares of the elements of a variable."""
    return pyo.quicksum(element**2 for element in variable.values())


def _reader(coefficients: Any, variable: Any, n: int) -> Callable[[int], Pairs]:
    """Return k -> (coefficients, variables) of this term in row k."""
    if sp.issparse(coefficients):
        return _sparse_reader(coefficients.tocsr(), variable, n)
    elements = list(variable.values())
    if isinstance(coefficients, np.ndarray) and coefficients.ndim == 2:
        if coefficients.shape != (n, len(elements)):
            raise ValueError(
                f"term of {variable.name}: coefficients {coefficients.shape} do not fit "
                f"{n} rows and {len(elements)} variables"
            )
        table = np.asarray(coefficients, dtype=float).tolist()
        return lambda k: (table[k], elements)
    if variable.is_indexed() and len(elements) != n:
        raise ValueError(f"term of {variable.name}: {len(elements)} variables for {n} rows")
    numbers = _per_row(coefficients, n, variable.name)
    if variable.is_indexed():
        return lambda k: ([numbers[k]], [elements[k]])
    return lambda k: ([numbers[k]], elements)


def _sparse_reader(matrix: sp.csr_matrix, variable: Any, n: int) -> Callable[[int], Pairs]:
    elements = list(variable.values())
    if matrix.shape != (n, len(elements)):
        raise ValueError(
            f"term of {variable.name}: coefficients {matrix.shape} do not fit "
            f"{n} rows and {len(elements)} variables"
        )

    def read(k: int) -> Pairs:
        span = slice(matrix.indptr[k], matrix.indptr[k + 1])
        return matrix.data[span].tolist(), [elements[j] for j in matrix.indices[span]]

    return read


def _per_row(value: Any, n: int, name: str) -> list[Any]:
    """A number, array or Param as one entry a row."""
    if isinstance(value, pyo.Param):
        entries = list(value.values()) if value.is_indexed() else [value] * n
    else:
        array: NDArray[np.float64] = np.asarray(value, dtype=float)
        if array.shape not in ((), (n,)):
            raise ValueError(f"{name}: expected a number or {n} numbers, got shape {array.shape}")
        entries = np.broadcast_to(array, (n,)).tolist()
    if len(entries) != n:
        raise ValueError(f"{name}: {len(entries)} values for {n} rows")
    return entries


def _side(name: str, value: Any, n: int) -> Callable[[int], Any]:
    if value is None:
        return lambda k: None
    if np.isscalar(value):
        return lambda k: value
    entries = _per_row(value, n, name)
    return lambda k: entries[k]
