"""Pyomo expressions in the language of formulas, long sums cut short."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr import numeric_expr as ne
from pyomo.core.expr.relational_expr import (
    EqualityExpression,
    InequalityExpression,
    RangedExpression,
)

from tightmargin.formulations.modeling.linear_sums import lazy_terms
from tightmargin.formulations.modeling.semidefinite import order, psd_entries
from tightmargin.printing import NUMBERS

# Pyomo's own LaTeX printer stops at constants such as 3 * 2, refuses single rows, escapes no name.
_BINARY: dict[type, Callable[[], ast.operator]] = {
    ne.ProductExpression: ast.Mult,
    ne.DivisionExpression: ast.Div,
    ne.PowExpression: ast.Pow,
}
_RELATIONS: dict[type, Callable[[], ast.cmpop]] = {
    EqualityExpression: ast.Eq,
    InequalityExpression: ast.LtE,
    RangedExpression: ast.LtE,
}


def relation_node(row: Any) -> ast.expr:
    """Node of a constraint as it was written, its constant side on the right."""
    relation = row.expr
    sides = [expression_node(side) for side in relation.args]
    op = _RELATIONS[type(relation)]
    if isinstance(relation, RangedExpression):
        return ast.Compare(sides[0], [op(), op()], sides[1:])
    entries = psd_entries(relation.args[1])
    if entries is not None:
        name = ast.Name(f"matrix of order {order(len(entries))}")
        return ast.Call(ast.Name("psd"), [name], [])
    if isinstance(relation, InequalityExpression) and _is_number(relation.args[0]):
        return ast.Compare(sides[1], [ast.GtE()], [sides[0]])
    return ast.Compare(sides[0], [op()], [sides[1]])


def expression_node(expression: Any) -> ast.expr:
    """Node of an expression."""
    if _is_number(expression):
        return number_node(float(pyo.value(expression)))
    if not expression.is_expression_type():
        return name_node(expression)
    if expression.is_named_expression_type():
        return expression_node(expression.expr)
    if isinstance(expression, ne.SumExpression):  # of which LinearExpression is one
        return _sum(expression)
    op = next((op for kind, op in _BINARY.items() if isinstance(expression, kind)), None)
    if op is not None:
        left, right = (expression_node(arg) for arg in expression.args)
        return _product(left, right) if op is ast.Mult else ast.BinOp(left, op(), right)
    if isinstance(expression, ne.NegationExpression):
        return ast.UnaryOp(ast.USub(), expression_node(expression.args[0]))
    if isinstance(expression, ne.UnaryFunctionExpression):
        return _function(expression.getname(), expression_node(expression.args[0]))
    if isinstance(expression, ne.AbsExpression):
        return _function("abs", expression_node(expression.args[0]))
    return ast.Name(f"{type(expression).__name__}(...)")


def name_node(component: Any) -> ast.expr:
    """Node of a variable or Param, its index as one."""
    owner, index = component.parent_component(), component.index()
    if index is None:
        return ast.Name(str(component.name))
    keys = index if isinstance(index, tuple) else (index,)
    shown: list[ast.expr] = [ast.Name(str(key)) for key in keys]
    return ast.Subscript(ast.Name(str(owner.name)), ast.Tuple(shown))


def number_node(value: float) -> ast.expr:
    """Node of a number to six digits."""
    rounded = float(f"{value:.6g}")
    whole = int(rounded) if rounded.is_integer() and abs(rounded) < 1e6 else rounded
    return ast.UnaryOp(ast.USub(), ast.Constant(-whole)) if rounded < 0 else ast.Constant(whole)


def sum_node(terms: Sequence[ast.expr], count: int) -> ast.expr:
    """Node of a sum, of which the first terms are given."""
    if not terms:
        return ast.Constant(0)
    found = terms[0]
    for term in terms[1:]:
        minus = _without_sign(term)
        op = ast.Add() if minus is None else ast.Sub()
        found = ast.BinOp(found, op, term if minus is None else minus)
    if count > len(terms):
        found = ast.BinOp(found, ast.Add(), ast.Constant(...))
    return found


def _sum(expression: Any) -> ast.expr:
    lazy = lazy_terms(expression) if isinstance(expression, ne.LinearExpression) else None
    if lazy is not None:  # arrays, of which no term is made here
        keys = [key for key, _ in zip(lazy.variable.keys(), range(NUMBERS), strict=False)]
        named = [_array_term(lazy.variable, key) for key in keys]
        terms = [
            _product(number_node(float(a)), name)
            for a, name in zip(lazy.numbers.values[:NUMBERS], named, strict=True)
        ]
        return sum_node(terms, len(lazy))
    args = expression.args
    return sum_node([expression_node(arg) for arg in args[:NUMBERS]], len(args))


def _array_term(variable: Any, key: Any) -> ast.expr:
    keys = key if isinstance(key, tuple) else (key,)
    shown: list[ast.expr] = [ast.Name(str(each)) for each in keys]
    return ast.Subscript(ast.Name(str(variable.name)), ast.Tuple(shown))


def _product(left: ast.expr, right: ast.expr) -> ast.expr:
    match left:
        case ast.Constant(value=1):
            return right
        case ast.UnaryOp(operand=ast.Constant(value=1)):
            return ast.UnaryOp(ast.USub(), right)
    if isinstance(right, ast.Constant) and not isinstance(left, ast.Constant):
        left, right = right, left
    return ast.BinOp(left, ast.Mult(), right)


def _function(name: str, argument: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("unary"), [ast.Constant(name), argument], [])


def _without_sign(node: ast.expr) -> ast.expr | None:
    """What a negative term takes away; None where it is not negative."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return operand
        case ast.BinOp(left=ast.UnaryOp(op=ast.USub(), operand=left), op=ast.Mult(), right=right):
            return ast.BinOp(left, ast.Mult(), right)
    return None


def _is_number(expression: Any) -> bool:
    """Whether it is a plain number, and no Param, whose name says more."""
    return isinstance(expression, int | float) or expression.__class__ in ne.native_numeric_types
