"""Absolute values and Euclidean norms become variables above them, on a copy of the model.

Pyomo has no reading of abs() and sqrt(), so the model would count as non-convex. Where a term
c |p| or c sqrt(s) with affine p and a sum s >= 0 of squares makes a row or the objective only
dearer (c >= 0 on the smaller side of a row or in a minimisation, with the signs turned on the other
side), it is the least c t with

    t >= p, t >= -p            or            s <= t^2, t >= 0.

A point of the model with every t at its term's value is a point of the copy, and a point of the
copy without its t is one of the model that costs no more: both have the same least value. A row
|p| <= number, with nothing else in it, becomes -number <= p <= number and needs no variable.

Any other use is left as it is; `refuse_unread_terms` says what to do where no solver reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.core.base.expression import NamedExpressionData
from pyomo.core.expr.numeric_expr import (
    AbsExpression,
    DivisionExpression,
    Expr_ifExpression,
    MaxExpression,
    MinExpression,
    NegationExpression,
    PowExpression,
    ProductExpression,
    SumExpression,
    UnaryFunctionExpression,
)
from pyomo.core.expr.relational_expr import RelationalExpression

from tightmargin.formulations.modeling.lazy_constraints import LazyRows
from tightmargin.number_words import count_text, short
from tightmargin.solvers.errors import ProblemClassError
from tightmargin.solvers.standard_form.terms import (
    is_affine,
    is_at_least_0,
    is_constant,
    multiple,
    nodes_of,
    only_objective,
    parts_of,
    product,
    total,
)
from tightmargin.solvers.transformations.norms import (
    argument_of,
    is_held,
    is_norm,
    is_written_as_squares,
    mentions_norm,
    summands,
)

BLOCK = "epigraphs"
_FUNCTIONS = ("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "tanh")
_OPERATIONS = (
    DivisionExpression, NamedExpressionData, NegationExpression, PowExpression, ProductExpression,
    RelationalExpression, SumExpression,
)  # fmt: skip
WIDTH = 60  # characters of an expression in a sentence


def without_norms(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The model itself, or a copy without absolute values and norms that make it dearer.

    The copy has a block `epigraphs` with `value[k]` for the k-th term, rows `above[k]` and
    `below[k]` of an absolute value, and `cone[k]` of a norm. What is squared there and no single
    variable gets one, `part`, with a row `equals`.
    """
    if not any(_convex_terms(owner) or _is_interval(owner) for owner in _owners(model)):
        return model
    copy = model.clone()
    owners = [owner for owner in _owners(copy) if _convex_terms(owner) or _is_interval(owner)]
    block = pyo.Block()
    copy.add_component(unique_component_name(copy, BLOCK), block)
    block.value = pyo.VarList(within=pyo.NonNegativeReals)
    block.above = pyo.Constraint(pyo.Any)
    block.below = pyo.Constraint(pyo.Any)
    block.cone = pyo.Constraint(pyo.Any)
    block.part = pyo.VarList()
    block.equals = pyo.ConstraintList()
    for owner in owners:
        _rewrite(owner, block)
    return copy


def added_blocks(model: pyo.ConcreteModel, rewritten: pyo.ConcreteModel) -> list[pyo.Block]:
    """The blocks that a rewritten copy of a model has beside its own: epigraphs, exact numbers."""
    if rewritten is model:
        return []
    known = {block.name for block in model.component_objects(pyo.Block, descend_into=False)}
    blocks = rewritten.component_objects(pyo.Block, descend_into=False)
    return [block for block in blocks if block.name not in known]


def expanded_constant(block: pyo.Block) -> Fraction:
    """What squares that became variables would leave in the constant if they were expanded."""
    return block.constant if _is_exact(block) else Fraction(0)


def is_hidden(name: str, blocks: Sequence[pyo.Block]) -> bool:
    """Whether a variable or row is one of those that were added."""
    return any(name.startswith(f"{block.name}.") for block in blocks)


def words_on(block: pyo.Block) -> str:
    """What a block of variables stands for."""
    if not block.component("value"):
        count = (
            count_text(len(block.lost) + len(block.base), "variable") if _is_exact(block) else ""
        )
        return f"numbers that no double is became {count} of {block.name}" if count else ""
    count = count_text(len(block.value), "variable")
    return f"absolute values and norms became {count}, {block.value.name}" if block.value else ""


def _is_exact(block: pyo.Block) -> bool:
    return block.component("lost") is not None


def refuse_unread_terms(parts: Iterable[Any]) -> None:
    """Raise ProblemClassError for a term that no solver reads, naming row and term.

    Parameters
    ----------
    parts : iterable
        Constraints, or an objective, beyond degree two.
    """
    for owner in parts:
        goal = owner.ctype is pyo.Objective
        for e in nodes_of(owner.expr):
            if is_held(e) or _is_read(e):
                continue
            where = f"{'objective' if goal else 'row'} {owner.name}: {short(str(e), WIDTH)}"
            raise ProblemClassError(f"{where} {_instead(e, goal=goal)}")


def _is_read(e: Any) -> bool:
    if isinstance(e, AbsExpression):
        return False
    if isinstance(e, UnaryFunctionExpression):
        return e.getname() in _FUNCTIONS
    return isinstance(e, _OPERATIONS)


def _instead(e: Any, *, goal: bool) -> str:
    """Why a term is not read, and what to write in its place."""
    if isinstance(e, AbsExpression) and is_affine(e.args[0]):
        wanted = "rewarded for being large" if goal else "bounded from below"
        return (
            f"is {wanted}, which is not convex: say with a binary z which sign it "
            "has, as p >= c - M (1 - z) and -p >= c - M z for abs(p) >= c"
        )
    if isinstance(e, AbsExpression):
        return (
            "is of something that is not linear: write a variable t with rows "
            "t >= it and t >= -it, where only small values of t are wanted"
        )
    if isinstance(e, Expr_ifExpression):
        return (
            "is read by no solver: choose by pyo.value() of its condition while the model is "
            "built, or write the choice with a binary"
        )
    if isinstance(e, MaxExpression | MinExpression):
        return (
            "is read by no solver: write a variable t with a row for each of its arguments, "
            "t >= p for the largest and t <= p for the least"
        )
    return (
        f"is read by no solver: what they read besides sums and powers is {', '.join(_FUNCTIONS)}"
    )


# --- what is rewritten ---------------------------------------------------------------------------


@dataclass(eq=False)
class _Terms:
    """Terms that add up to an expression.

    Attributes
    ----------
    norms : list of (factor, node)
        Absolute values and roots that become variables.
    rest : list
        Everything else.
    """

    norms: list[tuple[Any, Any]] = field(default_factory=list)
    rest: list[Any] = field(default_factory=list)


def _owners(model: pyo.ConcreteModel) -> Iterator[Any]:
    """Active rows and the objective in which abs() or sqrt() occurs."""
    for component in model.component_objects(pyo.Constraint, active=True, descend_into=True):
        lazy = isinstance(component, LazyRows)
        for row in component.touched() if lazy else component.values():
            if row.active and mentions_norm(row.expr):
                yield row
    goal = only_objective(model)
    if goal is not None and mentions_norm(goal.expr):
        yield goal


def _sides(owner: Any) -> tuple[Any, Any, Any]:
    """Lower side, expression and upper side; an objective is one with a side on which it pulls."""
    if owner.ctype is pyo.Objective:
        minimise = owner.sense == pyo.minimize
        return None if minimise else 0, owner.expr, 0 if minimise else None
    low, body, high = owner.to_bounded_expression()
    return low, body, high


def _split(owner: Any) -> _Terms:
    """The terms of a row's body, or of the objective; no norms where both sides count."""
    low, body, high = _sides(owner)
    sign = 0 if low is not None and high is not None else 1 if low is None else -1
    found = _Terms()
    _walk(body, 1, sign, found)
    return found


def _convex_terms(owner: Any) -> bool:
    return bool(_split(owner).norms)


def _walk(e: Any, factor: Any, sign: int, found: _Terms) -> None:
    for part, scale in parts_of(e):
        if part is not e:
            _walk(part, multiple(factor, scale), sign, found)
        elif _makes_dearer(part, factor, sign):
            found.norms.append((factor, part))
        else:
            found.rest.append(product(factor, part))


def _makes_dearer(e: Any, factor: Any, sign: int) -> bool:
    """Whether factor * e is a norm on the side of a row, or in an objective, where it is convex."""
    if not sign or not is_norm(e) or is_held(e):
        return False
    return is_at_least_0(sign * factor) and argument_of(e) is not None


def _is_interval(owner: Any) -> bool:
    """Whether a row reads abs(p) <= number, or the same turned round."""
    if owner.ctype is pyo.Objective:
        return False
    low, body, high = _sides(owner)
    return (
        isinstance(body, AbsExpression)
        and low is None
        and is_affine(body.args[0])
        and not is_held(body)
        and is_at_least_0(high)
    )


def _rewrite(owner: Any, block: pyo.Block) -> None:
    """Put variables in the place of the norms of a row or an objective."""
    low, body, high = _sides(owner)
    if _is_interval(owner):
        owner.set_value((-high, body.args[0], high))
        return
    terms = _split(owner)
    new = [
        product(factor, _variable(block, e)) for factor, e in terms.norms if pyo.value(factor) != 0
    ]
    expression = total([*terms.rest, *new])
    if owner.ctype is pyo.Objective:
        owner.set_value(expression)
    else:
        owner.set_value((low, expression, high))


def _variable(block: pyo.Block, e: Any) -> Any:
    """A new variable that is at least as large as a norm."""
    t, k = block.value.add(), len(block.value)
    inside = argument_of(e)
    if isinstance(e, AbsExpression):
        block.above[k] = t - inside >= 0
        block.below[k] = t + inside >= 0
    else:
        squares = _cone_terms(block, inside)
        if squares:
            block.cone[k] = total([*squares, -(t**2)]) <= 0
    return t


def _cone_terms(block: pyo.Block, e: Any) -> list[Any]:
    """The squares under a root, each of a single variable: a reader finds no cone in others."""
    if not is_written_as_squares(e):
        return [e]
    found = []
    for factor, base in summands(e):
        if pyo.value(factor) != 0:
            found.append(product(factor, _single(block, base) ** 2))
    return found


def _single(block: pyo.Block, e: Any) -> Any:
    """A free variable as it is; of another affine function, a new variable that equals it."""
    if not is_constant(e) and e.is_variable_type() and not e.fixed:
        return e
    variable = block.part.add()
    block.equals.add(variable == e)
    return variable
