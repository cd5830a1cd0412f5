"""Terms c p^2 / T of an objective become variables over rotated cones, on a copy of the model.

Pyomo has no reading of a quadratic over a linear function, so the model would count as non-convex.
Where T >= 0 follows from the bounds of its variables and c has the sign of a cost, the term is
convex, with p^2 / 0 = 0 where p = 0 and infinite elsewhere; it is the least c t with

    p^2 <= t T,   t >= 0.

Any other quotient is left as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.core.expr.numeric_expr import DivisionExpression

from tightmargin.solvers.standard_form.constants import known_value, number
from tightmargin.solvers.standard_form.polynomial import Number
from tightmargin.solvers.standard_form.terms import (
    affine_or_none,
    is_affine,
    multiple,
    only_objective,
    parts_of,
    product,
    squares_of,
    total,
)

BLOCK = "quotients"


@dataclass(frozen=True, eq=False)
class _Quotient:
    """coefficient * base^2 / divisor with affine base and divisor."""

    coefficient: Any
    base: Any
    divisor: Any


def without_quotients(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The model itself, or a copy whose objective has cones in the place of convex quotients.

    The copy has a block `quotients` with `value[k]` for p^2 / T of the k-th quotient, rows
    `cone[k]`, and, where p or T is no single variable, variables for them with rows `equals`.
    A model with no objective, or several, is returned as it is: whoever reads it says so.
    """
    goal = only_objective(model)
    if goal is None or not _split(goal)[0]:
        return model
    copy = model.clone()
    goal = only_objective(copy)
    assert goal is not None
    quotients, rest = _split(goal)
    quotients = [q for q in quotients if pyo.value(q.coefficient) != 0]
    block = pyo.Block()
    copy.add_component(unique_component_name(copy, BLOCK), block)
    block.K = pyo.RangeSet(0, len(quotients) - 1)
    block.value = pyo.Var(block.K, within=pyo.NonNegativeReals)
    block.part = pyo.VarList()
    block.equals = pyo.ConstraintList()
    pairs = [(_single(block, q.base), _single(block, q.divisor)) for q in quotients]
    cones = {k: p**2 <= block.value[k] * t for k, (p, t) in enumerate(pairs)}
    block.cone = pyo.Constraint(block.K, rule=cones)
    costs = (q.coefficient * block.value[k] for k, q in enumerate(quotients))
    goal.set_value(total([*rest, *costs]))
    return copy


def _split(goal: Any) -> tuple[list[_Quotient], list[Any]]:
    """Convex quotients of an objective, and terms that add up to the rest of it."""
    quotients: list[_Quotient] = []
    rest: list[Any] = []
    _walk(goal.expr, 1, 1 if goal.sense == pyo.minimize else -1, quotients, rest)
    return quotients, rest


def _walk(e: Any, factor: Any, sense: int, found: list[_Quotient], rest: list[Any]) -> None:
    """Sort the terms of factor * e; whatever is no sum of quotients is one term of the rest."""
    for part, scale in parts_of(e):
        if part is e:
            quotients = _convex_quotients(e, factor, sense)
            if quotients is None:
                rest.append(product(factor, e))
            else:
                found += quotients
        else:
            _walk(part, multiple(factor, scale), sense, found, rest)


def _convex_quotients(e: Any, factor: Any, sense: int) -> list[_Quotient] | None:
    """factor * e as convex quotients; None when it is not that."""
    if not isinstance(e, DivisionExpression):
        return None
    numerator, divisor = e.args
    if not is_affine(divisor) or _least(divisor) < 0:
        return None
    found: list[_Quotient] = []
    squares = squares_of(numerator, factor)
    for coefficient, base in squares:
        value = known_value(coefficient)
        if base is None or value is None or not sense * value >= 0:
            return None
        found.append(_Quotient(coefficient, base, divisor))
    return found


def _least(e: Any) -> Number:
    """Least value of an affine function over the bounds of its variables."""
    found = affine_or_none(e)
    if found is None:
        return -math.inf
    terms, constant = found
    total = Fraction(constant)
    for variable, a in terms:
        end = variable.lower if a > 0 else variable.upper
        if end is None:
            return -math.inf
        total += Fraction(a) * Fraction(number(end))
    return total


def _single(block: pyo.Block, e: Any) -> Any:
    """A variable as it is; of another affine function, a new variable that equals it."""
    if e.is_variable_type():
        return e
    least = _least(e)
    variable = block.part.add()
    variable.setlb(0.0 if least >= 0 else None)
    block.equals.add(variable == e)
    return variable
