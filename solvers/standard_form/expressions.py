"""Pyomo expressions of degree at most two as columns and numbers.

Sums, products and squares of variables are read here directly, and whatever has no free variable is
a number. Pyomo's own reader is not asked: it adds repeated terms up one after the other, so that
1e16 x - x - 1e16 x is 0 to it. Here every coefficient and every constant is the double nearest to
the exact sum of its parts, and a product too small for a double is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.base.expression import NamedExpressionData
from pyomo.core.base.var import ScalarVar, VarData
from pyomo.core.expr.base import ExpressionBase
from pyomo.core.expr.numeric_expr import (
    DivisionExpression,
    Expr_ifExpression,
    LinearExpression,
    MonomialTermExpression,
    NegationExpression,
    PowExpression,
    ProductExpression,
    SumExpression,
)
from pyomo.core.expr.visitor import identify_mutable_parameters, identify_variables

from tightmargin.formulations.modeling.linear_sums import LazyTerms, lazy_terms
from tightmargin.number_words import short
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.columns import Columns
from tightmargin.solvers.standard_form.polynomial import (
    Polynomial,
    merge,
    quotient,
    scaled,
    times,
)

WIDTH = 60  # characters of an expression in a sentence
_NUMBERS = (int, float, np.float64, np.int64)


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
        found = _terms(expression, columns)
    except NumberError:
        raise
    except (ArithmeticError, ValueError) as why:
        raise NumberError(
            f"{owner}: what stands there without a free variable is no finite real number"
            f"{f' ({why})' if str(why) else ''}: look at its Params and fixed variables"
        ) from why
    if found is not None:
        _refuse_bad_numbers(found, columns, owner)
        merge(found)
    return found


def affine(e: Any) -> tuple[list[tuple[Any, float]], float] | None:
    """Variables of an affine expression with their coefficients, and its constant.

    Returns
    -------
    (list of (variable, coefficient), float), or None
        The free variables, each once, with coefficients other than 0; None where the expression is
        not affine in them.

    Raises
    ------
    NumberError
        As `read` does.
    """
    columns = Columns(pyo.Block(concrete=True))
    found = read(e, columns, _shown(e))
    if found is None or found.products:
        return None
    index, numbers = found.linear()
    pairs = zip(index.tolist(), numbers.tolist(), strict=True)
    return [(columns.foreign[k], a) for k, a in pairs if a], found.constant


def quadratic_in(e: Any) -> Polynomial | None:
    """An expression by columns of its own; as `read`."""
    return read(e, Columns(pyo.Block(concrete=True)), _shown(e))


def _shown(e: Any) -> str:
    return short(str(e), WIDTH)


def _terms(expression: Any, columns: Columns) -> Polynomial | None:
    found = Polynomial()
    try:
        _walk(expression, 1.0, found, columns)
    except _UnfamiliarError:
        _refuse_missing_numbers(expression)
        return None
    return found


def _refuse_missing_numbers(e: Any) -> None:
    """Raise for what has no free variable and no value either, in an expression of any kind."""
    refuse_missing_params(e)
    left = [e]
    while left:
        part = left.pop()
        if isinstance(part, ExpressionBase | NamedExpressionData):
            if _is_fixed(part):
                _fixed_value(part)
            else:
                left += part.args


def _walk(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    reader = _READERS.get(e.__class__)
    if reader is not None:
        reader(e, factor, into, columns)
    elif isinstance(e, NamedExpressionData) and e.args[0] is not None:
        _walk(e.args[0], factor, into, columns)
    elif _is_constant(e):
        into.constants.append(times(factor, number(e)))
    elif e.is_variable_type():
        _add_variable(e, factor, into, columns)
    elif _is_fixed(e):
        into.constants.append(times(factor, _fixed_value(e)))
    else:
        raise _UnfamiliarError


def _fixed_value(e: Any) -> float:
    """Value of an expression whose variables are all fixed."""
    value = known_value(e)
    if value is None:
        refuse_missing_params(e)
        raise ArithmeticError(f"{_shown(e)} is no real number")
    return value


def _add_number(e: float, factor: float, into: Polynomial, columns: Columns) -> None:
    into.constants.append(times(factor, e))


def _add_variable(variable: Any, a: float, into: Polynomial, columns: Columns) -> None:
    if variable.fixed:
        into.constants.append(times(a, pyo.value(variable)))
    else:
        into.index.append(columns.column(variable))
        into.coefficient.append(a)


def _add_linear(e: LinearExpression, factor: float, into: Polynomial, columns: Columns) -> None:
    terms = lazy_terms(e)
    if terms is not None:
        _add_arrays(terms, factor, into, columns)
        return
    into.constants.append(times(factor, number(e.constant)))
    for a, variable in zip(e.linear_coefs, e.linear_vars, strict=True):
        value = a if a.__class__ is float else number(a)
        _add_variable(variable, times(factor, value), into, columns)


def _add_arrays(terms: LazyTerms, factor: float, into: Polynomial, columns: Columns) -> None:
    at, values = columns.of(terms.variable)
    numbers = scaled(terms.numbers.values, factor)
    fixed = at < 0
    if fixed.any():
        into.constants += [
            times(*pair)
            for pair in zip(numbers[fixed].tolist(), values[fixed].tolist(), strict=True)
        ]
        at, numbers = at[~fixed], numbers[~fixed]
    into.arrays.append((at, numbers))


def _add_monomial(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    a, variable = e.args
    _add_variable(variable, times(factor, number(a)), into, columns)


def _add_parts(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    for part in e.args:
        _walk(part, factor, into, columns)


def _add_negative(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    _walk(e.args[0], -factor, into, columns)


def _add_product(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    for one, other in (e.args, reversed(e.args)):
        if _is_fixed(one):
            value = times(factor, _fixed_value(one))
            if value:  # whatever is multiplied by 0
                _walk(other, value, into, columns)
            return
    a, b = e.args
    _multiply(_linear_part(a, columns), _linear_part(b, columns), factor, into)


def _add_quotient(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    numerator, denominator = e.args
    if not _is_fixed(denominator):
        raise _UnfamiliarError
    _walk(numerator, quotient(factor, _fixed_value(denominator)), into, columns)


def _add_choice(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    condition, yes, no = e.args
    if not _is_fixed(condition):
        raise _UnfamiliarError
    refuse_missing_params(condition)
    _walk(yes if pyo.value(condition) else no, factor, into, columns)


def _add_power(e: Any, factor: float, into: Polynomial, columns: Columns) -> None:
    base, exponent = e.args
    power = _fixed_value(exponent) if _is_fixed(exponent) else math.nan
    if _is_fixed(base) and not math.isnan(power):
        into.constants.append(times(factor, _fixed_value(e)))
    elif power == 2:
        part = _linear_part(base, columns)
        _multiply(part, part, factor, into)
    elif power == 1:
        _walk(base, factor, into, columns)
    elif power == 0:
        into.constants.append(factor)
    else:
        raise _UnfamiliarError


def _linear_part(e: Any, columns: Columns) -> Polynomial:
    found = Polynomial()
    _walk(e, 1.0, found, columns)
    if found.products:
        raise _UnfamiliarError
    index, numbers = found.linear()
    found.index, found.coefficient, found.arrays = index.tolist(), numbers.tolist(), []
    return found


def _multiply(a: Polynomial, b: Polynomial, factor: float, into: Polynomial) -> None:
    """Add factor * a * b for linear a and b."""
    if a.constant and b.constant:
        into.constants.append(times(factor, a.constant, b.constant))
    for one, other in ((a, b), (b, a)):
        if other.constant:
            into.index += one.index
            into.coefficient += [times(factor, other.constant, p) for p in one.coefficient]
    into.products += [
        (i, j, times(factor, p, q))
        for i, p in zip(a.index, a.coefficient, strict=True)
        for j, q in zip(b.index, b.coefficient, strict=True)
    ]


def _is_fixed(e: Any) -> bool:
    """Whether no free variable occurs in an expression."""
    return _is_constant(e) or all(variable.fixed for variable in identify_variables(e))


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
        raise NumberError(f"{_shown(e)} is no finite real number: look at its Params")
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


_READERS: dict[type, Callable[[Any, float, Polynomial, Columns], None]] = {
    **dict.fromkeys(_NUMBERS, _add_number),
    VarData: _add_variable,
    ScalarVar: _add_variable,
    DivisionExpression: _add_quotient,
    Expr_ifExpression: _add_choice,
    LinearExpression: _add_linear,
    MonomialTermExpression: _add_monomial,
    NegationExpression: _add_negative,
    PowExpression: _add_power,
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
