"""Sums, factors, squares and affine functions in Pyomo expressions that are rewritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyomo.environ as pyo
from pyomo.core.base.expression import NamedExpressionData
from pyomo.core.expr.base import ExpressionBase
from pyomo.core.expr.numeric_expr import (
    DivisionExpression,
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

from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.constants import NUMBERS, known_value
from tightmargin.solvers.standard_form.expressions import affine
from tightmargin.solvers.standard_form.polynomial import Number, known, times


def only_objective(model: pyo.ConcreteModel) -> Any:
    """The active objective; None unless there is exactly one."""
    found = list(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    return found[0] if len(found) == 1 else None


def nodes_of(e: Any) -> Iterator[Any]:
    """An expression and its parts from the left, without numbers, variables and linear sums."""
    left = [e]
    while left:
        part = left.pop()
        if isinstance(part, MonomialTermExpression | LinearExpression):
            continue
        if isinstance(part, ExpressionBase | NamedExpressionData):
            yield part
            left += reversed(part.args)


def parts_of(e: Any) -> list[tuple[Any, Any]]:
    """Pairs (term, factor) that add up to an expression; itself and 1 when it is one term."""
    if isinstance(e, NamedExpressionData) and e.args[0] is not None:
        return [(e.args[0], 1)]
    if _is_sum(e):
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
            found = times(known(a), known(b))
            if found.__class__ is float:
                return found
    return NPV_ProductExpression((a, b))


def product(factor: Any, e: Any) -> Any:
    """A number or Param times an expression: Pyomo's own operator multiplies numbers in doubles."""
    if is_constant(e):
        return multiple(factor, e)
    return e if factor.__class__ in NUMBERS and factor == 1 else ProductExpression((factor, e))


def total(parts: Sequence[Any]) -> Any:
    """A sum of expressions and numbers: Pyomo's own operators add numbers in doubles."""
    return SumExpression(list(parts))


def _is_sum(e: Any) -> bool:
    return isinstance(e, SumExpression) and not isinstance(e, LinearExpression)


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
    """Whether an expression is affine in the variables that are not fixed.

    So is one of which they and Params leave no number, log(-1) say: whoever reads the row or the
    objective as a whole says which one has it.
    """
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
