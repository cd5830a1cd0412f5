"""Numbers that stand in Pyomo expressions, exactly where they are rational."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.base.expression import NamedExpressionData
from pyomo.core.base.param import ParamData, ScalarParam
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

from tightmargin.number_words import short
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.polynomial import (
    Number,
    exact_or_float,
    known,
    plus,
    quotient,
    times,
)

NUMBERS = (int, float, np.float64, np.int64)
WIDTH = 60  # characters of an expression in a sentence
LARGEST_POWER = 64  # whole powers that are multiplied out; others are the double that Python gives


def shown(e: Any) -> str:
    """An expression in a sentence."""
    return short(str(e), WIDTH)


def number(e: Any) -> Number:
    """Present value of a constant expression.

    Raises
    ------
    NumberError
        A Param in it has no value, or it has none that is a real number itself.
    """
    if e.__class__ is float:
        return e
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
