"""Pyomo expressions of degree at most two as columns and numbers.

Sums, products and squares of variables are read here directly, and whatever has no free variable is
a number. Pyomo's own reader is not asked: it adds repeated terms up one after the other, so that
1e16 x - x - 1e16 x is 0 to it. Here sums, products and quotients of numbers, integers beyond 2^53
and the values of fixed variables are exact, and what no double holds is kept as a Fraction beside
the nearest one. Functions of numbers, log(3) say, are the double that Python gives. What is too
small for a double is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
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
    NPV_DivisionExpression,
    NPV_ProductExpression,
    PowExpression,
    ProductExpression,
    SumExpression,
)
from pyomo.core.expr.numvalue import is_potentially_variable
from pyomo.core.expr.visitor import identify_variables

from tightmargin.formulations.modeling.affine_rows import LazyTerms, lazy_terms
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.model.columns import (
    NUMBERS,
    Columns,
    known_value,
    number,
    refuse_missing_params,
    shown,
)
from tightmargin.solvers.model.polynomial import (
    Number,
    Polynomial,
    known,
    merge,
    products,
    quotient,
    times,
)


class _UnfamiliarError(Exception):
    """An expression this reader leaves to Pyomo's."""


def read(expression: Any, columns: Columns, owner: str | Callable[[], str]) -> Polynomial | None:
    """Read an expression of degree at most two; None when it is of another kind.

    NumberError, which names the `owner`, where a number is not finite or not real.
    """
    polynomial = Polynomial()
    try:
        try:
            _walk(expression, 1.0, polynomial, columns)
        except _UnfamiliarError:
            _refuse_missing_numbers(expression)
            return None
        if not polynomial.is_plain():
            _refuse_bad_numbers(polynomial, columns, owner if isinstance(owner, str) else owner())
            merge(polynomial)
    except NumberError:
        raise
    except (ArithmeticError, ValueError) as why:
        raise NumberError(
            f"{owner if isinstance(owner, str) else owner()}: what stands there without a free "
            f"variable is no finite real number{f' ({why})' if str(why) else ''}: look at its "
            "Params and fixed variables"
        ) from why
    return polynomial


def affine(e: Any) -> tuple[list[tuple[Any, Number]], Number] | None:
    """Free variables of an affine expression with coefficients other than 0, and its constant.

    All are exact; None where the expression is not affine, NumberError as of `read`.
    """
    columns = Columns(pyo.Block(concrete=True))
    polynomial = read(e, columns, lambda: shown(e))
    if polynomial is None or polynomial.products:
        return None
    index, numbers = polynomial.linear()
    pairs = zip(index.tolist(), numbers.tolist(), strict=True)
    exact = polynomial.exact
    terms = [(columns.foreign[k], exact.get((k,), a)) for k, a in pairs if a]
    return terms, exact.get((), polynomial.constant)


def quadratic_in(e: Any) -> Polynomial | None:
    """An expression by columns of its own; as `read`."""
    return read(e, Columns(pyo.Block(concrete=True)), lambda: shown(e))


def _refuse_missing_numbers(e: Any) -> None:
    """Raise for a part without free variables that has no value."""
    refuse_missing_params(e)
    rest = [e]
    while rest:
        part = rest.pop()
        if isinstance(part, ExpressionBase | NamedExpressionData):
            if _is_fixed(part):
                _fixed_value(part)
            else:
                rest += part.args


def _walk(e: Any, factor: Number, into: Polynomial, columns: Columns) -> None:
    reader = _READERS.get(e.__class__)
    if reader is not None:
        reader(e, factor, into, columns)
    elif isinstance(e, NamedExpressionData) and e.args[0] is not None:
        _walk(e.args[0], factor, into, columns)
    elif _is_constant(e):
        into.add((), times(factor, number(e)))
    elif e.is_variable_type():
        _add_variable(e, factor, into, columns)
    elif _is_fixed(e):
        into.add((), times(factor, _fixed_value(e)))
    else:
        raise _UnfamiliarError


def _fixed_value(e: Any) -> Number:
    """Value of an expression whose variables are all fixed."""
    value = known_value(e)
    if value is None:
        refuse_missing_params(e)
        raise ArithmeticError(f"{shown(e)} is no real number")
    return value


def _add_variable(variable: Any, a: Number, into: Polynomial, columns: Columns) -> None:
    if variable.fixed:
        into.add((), times(a, known(pyo.value(variable))))
    elif a.__class__ is float:
        into.index.append(columns.column(variable))
        into.coefficient.append(a)
    else:
        into.add((columns.column(variable),), a)


def _add_arrays(terms: LazyTerms, factor: Number, into: Polynomial, columns: Columns) -> None:
    at, values = columns.of(terms.variable)
    numbers, fixed = terms.numbers.values, at < 0
    if fixed.any():
        for a, value in zip(numbers[fixed].tolist(), values[fixed].tolist(), strict=True):
            into.add((), times(times(factor, a), value))
        at, numbers = at[~fixed], numbers[~fixed]
    values_of_terms, errors = (
        products(numbers, factor) if factor.__class__ is float else (numbers, None)
    )
    if errors is None:  # one by one
        for j, a in zip(at.tolist(), numbers.tolist(), strict=True):
            into.add((j,), times(factor, a))
        return
    into.arrays.append((at, values_of_terms))
    if errors.any():
        into.arrays.append((at[errors != 0], errors[errors != 0]))


def _add_parts(e: SumExpression, factor: Number, into: Polynomial, columns: Columns) -> None:
    """The terms of a sum; those of a free variable of the model without a call for each."""
    if e._args_.__class__ is LazyTerms and (terms := lazy_terms(e)) is not None:
        _add_arrays(terms, factor, into, columns)
        return
    known_columns, index, coefficient = columns.position, into.index, into.coefficient
    for part in e._args_[: e._nargs]:
        kind = part.__class__
        if kind is MonomialTermExpression:
            a, variable = part._args_
            j = known_columns.get(id(variable))
            if a.__class__ is not float:
                a = number(a)
            if factor != 1.0:
                a = -a if factor == -1.0 else times(factor, a)
            if j is None or a.__class__ is not float:
                _add_variable(variable, a, into, columns)
            else:
                index.append(j)
                coefficient.append(a)
        elif kind is VarData and factor.__class__ is float:
            j = known_columns.get(id(part))
            if j is None:
                _add_variable(part, factor, into, columns)
            else:
                index.append(j)
                coefficient.append(factor)
        else:
            _walk(part, factor, into, columns)


def _add_product(e: Any, factor: Number, into: Polynomial, columns: Columns) -> None:
    for one, other in (e.args, reversed(e.args)):
        if _is_fixed(one):
            value = times(factor, _fixed_value(one))
            if value:  # whatever is multiplied by 0
                _walk(other, value, into, columns)
            return
    a, b = e.args
    _multiply(_linear_part(a, columns), _linear_part(b, columns), factor, into)


def _add_quotient(e: Any, factor: Number, into: Polynomial, columns: Columns) -> None:
    numerator, denominator = e.args
    if not _is_fixed(denominator):
        raise _UnfamiliarError
    _walk(numerator, quotient(factor, _fixed_value(denominator)), into, columns)


def _add_choice(e: Any, factor: Number, into: Polynomial, columns: Columns) -> None:
    condition, yes, no = e.args
    if not _is_fixed(condition):
        raise _UnfamiliarError
    refuse_missing_params(condition)
    _walk(yes if pyo.value(condition) else no, factor, into, columns)


def _add_power(e: Any, factor: Number, into: Polynomial, columns: Columns) -> None:
    base, exponent = e.args
    power = _fixed_value(exponent) if _is_fixed(exponent) else math.nan
    if _is_fixed(base) and not math.isnan(power):
        into.add((), times(factor, _fixed_value(e)))
    elif power == 2:
        part = _linear_part(base, columns)
        _multiply(part, part, factor, into)
    elif power == 1:
        _walk(base, factor, into, columns)
    elif power == 0:
        into.add((), factor)
    else:
        raise _UnfamiliarError


def _linear_part(e: Any, columns: Columns) -> tuple[dict[int, Number], Number]:
    """Coefficients by column, and the constant."""
    polynomial = Polynomial()
    _walk(e, 1.0, polynomial, columns)
    if polynomial.products or any(len(key) == 2 for key, _ in polynomial.fractions):
        raise _UnfamiliarError
    merge(polynomial)
    index, numbers = polynomial.linear()
    exact = polynomial.exact
    pairs = zip(index.tolist(), numbers.tolist(), strict=True)
    return {j: exact.get((j,), a) for j, a in pairs}, exact.get((), polynomial.constant)


def _multiply(
    a: tuple[dict[int, Number], Number],
    b: tuple[dict[int, Number], Number],
    factor: Number,
    into: Polynomial,
) -> None:
    """Add factor * a * b for linear a and b."""
    if a[1]:  # infinity times a constant that is not there would be NaN, and named as the constant
        constant = times(factor, a[1])
        if b[1]:
            into.add((), times(constant, b[1]))
        for j, q in b[0].items():
            into.add((j,), times(constant, q))
    for i, p in a[0].items():
        scale = times(factor, p)
        if b[1]:
            into.add((i,), times(scale, b[1]))
        for j, q in b[0].items():
            into.add((i, j), times(scale, q))


def _is_fixed(e: Any) -> bool:
    """Whether no free variable occurs in an expression."""
    return _is_constant(e) or all(variable.fixed for variable in identify_variables(e))


def _is_constant(e: Any) -> bool:
    return e.__class__ in NUMBERS or not e.is_potentially_variable()


_READERS: dict[type, Callable[[Any, Number, Polynomial, Columns], None]] = {
    **dict.fromkeys(NUMBERS, lambda e, factor, into, _: into.add((), times(factor, known(e)))),
    VarData: _add_variable,
    ScalarVar: _add_variable,
    DivisionExpression: _add_quotient,
    Expr_ifExpression: _add_choice,
    LinearExpression: _add_parts,
    MonomialTermExpression: lambda e, factor, into, columns: _add_variable(
        e.args[1], times(factor, number(e.args[0])), into, columns
    ),
    NegationExpression: lambda e, factor, into, columns: _walk(e.args[0], -factor, into, columns),
    PowExpression: _add_power,
    ProductExpression: _add_product,
    SumExpression: _add_parts,
}


def _refuse_bad_numbers(polynomial: Polynomial, columns: Columns, owner: str) -> None:
    if not math.isfinite(polynomial.constant):
        raise NumberError(f"{owner}: constant term is {polynomial.constant}")
    for k, a in zip(polynomial.index, polynomial.coefficient, strict=True):
        if not math.isfinite(a):
            raise NumberError(f"{owner}: coefficient of {columns.name(k)} is {a}")
    for at, numbers in polynomial.arrays:
        for k in np.flatnonzero(~np.isfinite(numbers)).tolist():
            name = columns.name(int(at[k]))
            raise NumberError(f"{owner}: coefficient of {name} is {numbers[k]}")
    for i, j, a in polynomial.products:
        if not math.isfinite(a):
            pair = f"{columns.name(i)} * {columns.name(j)}"
            raise NumberError(f"{owner}: coefficient of {pair} is {a}")


# --- Sums, factors, squares and affine functions in Pyomo expressions that are rewritten ---------


def only_objective(model: pyo.ConcreteModel) -> Any:
    """The active objective; None unless there is exactly one."""
    objectives = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    return objectives[0] if len(objectives) == 1 else None


def nodes_of(e: Any) -> Iterator[Any]:
    """An expression and its parts from the left, without numbers, variables and linear sums."""
    rest = [e]
    while rest:
        part = rest.pop()
        if isinstance(part, MonomialTermExpression | LinearExpression):
            continue
        if isinstance(part, ExpressionBase | NamedExpressionData):
            yield part
            rest += reversed(part.args)


def parts_of(e: Any) -> list[tuple[Any, Any]]:
    """Pairs (term, factor) that add up to an expression; itself and 1 when it is one term."""
    if isinstance(e, NamedExpressionData) and e.args[0] is not None:
        return [(e.args[0], 1)]
    if isinstance(e, SumExpression) and not isinstance(e, LinearExpression):
        return [(part, 1) for part in e.args]
    if isinstance(e, NegationExpression):
        return [(e.args[0], -1)]
    if isinstance(e, DivisionExpression) and is_constant(e.args[1]):
        return [(e.args[0], NPV_DivisionExpression((1, e.args[1])))]
    if isinstance(e, ProductExpression) and not isinstance(e, MonomialTermExpression):
        a, b = e.args
        if is_constant(a):
            return [(b, a)]
        if is_constant(b):
            return [(a, b)]
    return [(e, 1)]


def terms_of(e: Any, factor: Any = 1) -> Iterator[tuple[Any, Any]]:
    """Pairs (term, factor) that add up to factor * e, none of which is a sum or a multiple."""
    for part, scale in parts_of(e):
        if part is e:
            yield e, factor
        else:
            yield from terms_of(part, multiple(factor, scale))


def multiple(a: Any, b: Any) -> Any:
    """A product of numbers or Params, whose value is not rounded here."""
    if a.__class__ in NUMBERS and b.__class__ in NUMBERS:
        with suppress(ArithmeticError):  # whoever reads the product says so
            value = times(known(a), known(b))
            if value.__class__ is float:
                return value
    return NPV_ProductExpression((a, b))


def product(factor: Any, e: Any) -> Any:
    """A number or Param times an expression: Pyomo's own operator multiplies numbers in doubles."""
    if is_constant(e):
        return multiple(factor, e)
    return e if factor.__class__ in NUMBERS and factor == 1 else ProductExpression((factor, e))


def total(parts: Sequence[Any]) -> Any:
    """A sum of expressions and numbers: Pyomo's own operators add numbers in doubles."""
    return SumExpression(list(parts))


def squares_of(e: Any, factor: Any) -> list[tuple[Any, Any]]:
    """Pairs (coefficient, affine base) whose squares add up to factor * e; base None if not so."""
    pairs = []
    for part, scale in parts_of(e):
        if part is not e:
            pairs += squares_of(part, multiple(factor, scale))
        else:
            pairs.append((factor, root_of(e)))
    return pairs


def root_of(e: Any) -> Any:
    """The affine function whose square e is; None when it is not one."""
    if not isinstance(e, PowExpression | ProductExpression):
        return None
    base, other = e.args
    if isinstance(e, PowExpression):
        square = is_constant(other) and pyo.value(other, exception=False) == 2
    else:
        square = base is other
    return base if square and is_affine(base) else None


def is_constant(e: Any) -> bool:
    """Whether no variable occurs in an expression, fixed or not."""
    return not is_potentially_variable(e)


def is_at_least_0(e: Any) -> bool:
    """Whether a constant expression has a value now, which is not below 0."""
    value = None if e is None else known_value(e)
    return value is not None and value >= 0


def is_affine(e: Any) -> bool:
    """Whether an expression is affine in its free variables; log(-1) is left to its reader."""
    try:
        return e.is_variable_type() or affine(e) is not None
    except NumberError:
        return True


def affine_or_none(e: Any) -> tuple[list[tuple[Any, Number]], Number] | None:
    """The same as `affine`; None also where fixed variables and Params leave no number."""
    try:
        return affine(e)
    except NumberError:
        return None
