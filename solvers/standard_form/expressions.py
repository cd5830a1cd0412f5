"""Pyomo expressions of degree at most two as columns and numbers.

Pyomo's own reader walks every expression through general machinery; sums, products and squares of
variables, which is all that the formulations write, are read here directly, and anything else is
handed to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.base.expression import NamedExpressionData
from pyomo.core.base.var import ScalarVar, VarData
from pyomo.core.expr.numeric_expr import (
    DivisionExpression,
    LinearExpression,
    MonomialTermExpression,
    NegationExpression,
    PowExpression,
    ProductExpression,
    SumExpression,
)
from pyomo.core.expr.visitor import identify_mutable_parameters
from pyomo.repn import generate_standard_repn

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.linear_sums import LazyTerms, lazy_terms
from tightmargin.number_words import short
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.columns import Columns

Index = NDArray[np.int64]

WIDTH = 60  # characters of an expression in a sentence
_NUMBERS = (int, float, np.float64, np.int64)


@dataclass
class Polynomial:
    """One expression as it is read, duplicates not yet merged.

    Attributes
    ----------
    index, coefficient : lists
        Linear terms.
    products : list of (column, column, coefficient)
    arrays : list of (columns, coefficients)
        Linear terms that came as arrays.
    """

    constant: float = 0.0
    index: list[int] = field(default_factory=list)
    coefficient: list[float] = field(default_factory=list)
    products: list[tuple[int, int, float]] = field(default_factory=list)
    arrays: list[tuple[Index, Array]] = field(default_factory=list)

    def linear(self) -> tuple[Index, Array]:
        """All linear terms as arrays."""
        columns = np.array(self.index, dtype=np.int64)
        numbers = np.array(self.coefficient, dtype=np.float64)
        if not self.arrays:
            return columns, numbers
        return (
            np.concatenate([columns, *(at for at, _ in self.arrays)]),
            np.concatenate([numbers, *(a for _, a in self.arrays)]),
        )


class _UnfamiliarError(Exception):
    """An expression this reader leaves to Pyomo's."""


def read(expression: Any, columns: Columns, owner: str) -> Polynomial | None:
    """Read an expression of degree at most two; None when it is of another kind.

    Raises
    ------
    NumberError
        A coefficient or the constant is not finite or no real number; `owner` says whose.
    """
    try:
        found = _directly(expression, columns) or _through_pyomo(expression, columns)
    except NumberError:
        raise
    except (ArithmeticError, ValueError) as why:
        raise NumberError(
            f"{owner}: what stands there without a free variable is no finite real number"
            f"{f' ({why})' if str(why) else ''}: look at its Params and fixed variables"
        ) from why
    if found is not None:
        _refuse_bad_numbers(found, columns, owner)
        if found.products:
            found.products = _merged(found.products)
    return found


def _merged(products: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """Products with their duplicates added up, those that cancel dropped."""
    total: dict[tuple[int, int], float] = {}
    for i, j, a in products:
        pair = (i, j) if i <= j else (j, i)
        total[pair] = total.get(pair, 0.0) + a
    return [(i, j, a) for (i, j), a in total.items() if a]


def _directly(expression: Any, columns: Columns) -> Polynomial | None:
    found = Polynomial()
    try:
        _walk(expression, 1.0, found, columns)
    except _UnfamiliarError:
        return None
    return found


def _walk(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    reader = _READERS.get(e.__class__)
    if reader is not None:
        reader(e, factor, into, columns)
    elif isinstance(e, NamedExpressionData) and e.args[0] is not None:
        _walk(e.args[0], factor, into, columns)
    elif _is_constant(e):
        into.constant += factor * number(e)
    else:
        raise _UnfamiliarError


def _add_number(e: float, factor: float, into: Polynomial, columns: Columns) -> None:
    into.constant += factor * e


def _add_variable(variable: Any, a: float, into: Polynomial, columns: Columns) -> None:
    if variable.fixed:
        into.constant += a * pyo.value(variable)
    else:
        into.index.append(columns.column(variable))
        into.coefficient.append(a)


def _add_linear(e: LinearExpression, factor: float, into: Polynomial, columns: Columns) -> None:
    terms = lazy_terms(e)
    if terms is not None:
        _add_arrays(terms, factor, into, columns)
        return
    into.constant += factor * number(e.constant)
    for a, variable in zip(e.linear_coefs, e.linear_vars, strict=True):
        value = a if a.__class__ is float else number(a)
        _add_variable(variable, factor * value, into, columns)


def _add_arrays(terms: LazyTerms, factor: float, into: Polynomial, columns: Columns) -> None:
    at, values = columns.of(terms.variable)
    numbers = factor * terms.numbers.values
    fixed = at < 0
    if fixed.any():
        into.constant += float(numbers[fixed] @ values[fixed])
        at, numbers = at[~fixed], numbers[~fixed]
    into.arrays.append((at, numbers))


def _add_monomial(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    a, variable = e.args
    _add_variable(variable, factor * number(a), into, columns)


def _add_parts(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    for part in e.args:
        _walk(part, factor, into, columns)


def _add_negative(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    _walk(e.args[0], -factor, into, columns)


def _add_product(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    a, b = e.args
    if _is_constant(a):
        _walk(b, factor * number(a), into, columns)
    elif _is_constant(b):
        _walk(a, factor * number(b), into, columns)
    else:
        _multiply(_linear_part(a, columns), _linear_part(b, columns), factor, into)


def _add_quotient(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    numerator, denominator = e.args
    if not _is_constant(denominator):
        raise _UnfamiliarError
    _walk(numerator, factor / number(denominator), into, columns)


def _add_square(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    base, exponent = e.args
    if exponent.__class__ not in _NUMBERS or exponent != 2:
        raise _UnfamiliarError
    part = _linear_part(base, columns)
    _multiply(part, part, factor, into)


def _linear_part(e: Any, columns: Columns) -> Polynomial:
    found = Polynomial()
    _walk(e, 1.0, found, columns)
    if found.products or found.arrays:
        raise _UnfamiliarError
    return found


def _multiply(a: Polynomial, b: Polynomial, factor: float, into: Polynomial) -> None:
    """Add factor * a * b for linear a and b."""
    if a.constant and b.constant:
        into.constant += factor * a.constant * b.constant
    for one, other in ((a, b), (b, a)):
        if other.constant:
            into.index += one.index
            into.coefficient += [factor * other.constant * number for number in one.coefficient]
    into.products += [
        (i, j, factor * p * q)
        for i, p in zip(a.index, a.coefficient, strict=True)
        for j, q in zip(b.index, b.coefficient, strict=True)
    ]


def _is_constant(e: Any) -> bool:
    return e.__class__ in _NUMBERS or not e.is_potentially_variable()


def number(e: Any) -> float:
    """Present value of a constant expression.

    Raises
    ------
    NumberError
        A Param in it has no value, or it has none that is a real number itself.
    """
    if e.__class__ in _NUMBERS:
        return float(e)
    value = known_value(e)
    if value is None:
        refuse_missing_params(e)
        raise NumberError(f"{short(str(e), WIDTH)} is no finite real number: look at its Params")
    return value


def known_value(e: Any) -> float | None:
    """Present value of a constant expression; None where it has none that is a real number."""
    try:
        value = pyo.value(e, exception=False)
    except (ArithmeticError, ValueError):  # which Pyomo lets through
        return None
    return None if value is None or isinstance(value, complex) else float(value)


def refuse_missing_params(expression: Any) -> None:
    """Raise for a Param of an expression that has no value, by name."""
    for param in identify_mutable_parameters(expression):
        if pyo.value(param, exception=False) is None:
            raise NumberError(f"Param {param.name} has no value: set it before solving")


def _through_pyomo(expression: Any, columns: Columns) -> Polynomial | None:
    refuse_missing_params(expression)
    repn = generate_standard_repn(expression, quadratic=True)
    if repn.nonlinear_expr is not None:
        return None
    products = [
        (columns.column(x), columns.column(y), _real(a))
        for (x, y), a in zip(repn.quadratic_vars, repn.quadratic_coefs, strict=True)
    ]
    return Polynomial(
        _real(repn.constant),
        [columns.column(v) for v in repn.linear_vars],
        [_real(a) for a in repn.linear_coefs],
        products,
    )


def _real(a: Any) -> float:
    """A number that Pyomo made of Params and fixed variables; a root of a negative one is none."""
    value = known_value(a)
    if value is None:
        raise ArithmeticError(f"{a} is no real number")
    return value


_READERS: dict[type, Callable[[Any, float, Polynomial, Columns], None]] = {
    **dict.fromkeys(_NUMBERS, _add_number),
    VarData: _add_variable,
    ScalarVar: _add_variable,
    DivisionExpression: _add_quotient,
    LinearExpression: _add_linear,
    MonomialTermExpression: _add_monomial,
    NegationExpression: _add_negative,
    PowExpression: _add_square,
    ProductExpression: _add_product,
    SumExpression: _add_parts,
}


def _refuse_bad_numbers(found: Polynomial, columns: Columns, owner: str) -> None:
    if not math.isfinite(found.constant):
        raise NumberError(f"{owner}: constant term is {found.constant}")
    for k, a in zip(found.index, found.coefficient, strict=True):
        if not math.isfinite(a):
            raise NumberError(f"{owner}: coefficient of {columns.name(k)} is {a}")
    for at, numbers in found.arrays:
        for k in np.flatnonzero(~np.isfinite(numbers)).tolist():
            name = columns.name(int(at[k]))
            raise NumberError(f"{owner}: coefficient of {name} is {numbers[k]}")
    for i, j, a in found.products:
        if not math.isfinite(a):
            pair = f"{columns.name(i)} * {columns.name(j)}"
            raise NumberError(f"{owner}: coefficient of {pair} is {a}")
