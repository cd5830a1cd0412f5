"""Which expressions are absolute values and Euclidean norms, and of what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import (
    AbsExpression,
    PowExpression,
    UnaryFunctionExpression,
)
from pyomo.core.expr.visitor import identify_variables

from tightmargin.solvers.canonical_form.squares import complete_squares
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.expressions import quadratic_in
from tightmargin.solvers.standard_form.terms import (
    is_affine,
    is_at_least_0,
    is_constant,
    multiple,
    nodes_of,
    squares_of,
    terms_of,
)


def mentions_norm(e: Any) -> bool:
    """Whether an absolute value or a root occurs anywhere in an expression."""
    return any(is_norm(part) for part in nodes_of(e))


def is_norm(e: Any) -> bool:
    """Whether an expression is abs(...), sqrt(...) or (...)**0.5."""
    if isinstance(e, PowExpression):
        return is_constant(e.args[1]) and pyo.value(e.args[1], exception=False) == 0.5
    return isinstance(e, UnaryFunctionExpression) and e.getname() in ("abs", "sqrt")


def is_held(e: Any) -> bool:
    """Whether all its variables are fixed: it is a number then."""
    return next(iter(identify_variables(e, include_fixed=False)), None) is None


def argument_of(e: Any) -> Any:
    """The affine p of |p|, or the sum of squares under a root; None where it is neither."""
    inside = e.args[0]
    if isinstance(e, AbsExpression):
        return inside if is_affine(inside) else None
    return inside if _is_sum_of_squares(inside) else None


def _is_sum_of_squares(e: Any) -> bool:
    """Whether an expression is proven to be at least 0 everywhere and convex."""
    return is_written_as_squares(e) or _is_semidefinite(e)


def is_written_as_squares(e: Any) -> bool:
    """c_1 p_1^2 + ... + c_k p_k^2 + number, with nothing below 0."""
    return all(base is not None and is_at_least_0(factor) for factor, base in summands(e))


def summands(e: Any) -> Iterator[tuple[Any, Any]]:
    """(coefficient, base) of each square, (number, 1) of a number, base None of anything else."""
    for term, factor in terms_of(e):
        if is_constant(term):
            yield multiple(factor, term), 1.0
        else:
            yield from squares_of(term, factor)


def _is_semidefinite(e: Any) -> bool:
    """Whether an expression is x'Qx with Q semidefinite, by elimination in rational numbers."""
    try:
        read = quadratic_in(e)
    except NumberError:
        return False
    if read is None or read.exact or read.constant or read.linear()[1].any():
        return False
    at = sorted({k for i, j, _ in read.products for k in (i, j)})
    q = np.zeros((len(at), len(at)))
    for i, j, number in read.products:
        q[at.index(i), at.index(j)] += number / 2
        q[at.index(j), at.index(i)] += number / 2
    found = complete_squares(q, np.zeros(len(at)))
    return found is not None and found.excess is None
