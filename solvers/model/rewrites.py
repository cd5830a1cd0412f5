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

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.modeling import unique_component_name
from pyomo.core.base.constraint import Constraint, IndexedConstraint
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
from pyomo.core.expr.visitor import identify_variables
from pyomo.gdp import Disjunct, Disjunction

from tightmargin.formulations.modeling.affine_rows import LazyRows
from tightmargin.formulations.modeling.array_variables import ArrayVar, is_choice, is_integer
from tightmargin.number_words import count_text, short
from tightmargin.solvers.errors import NumberError, ProblemClassError
from tightmargin.solvers.model.columns import known_value, number
from tightmargin.solvers.model.convexity import complete_squares
from tightmargin.solvers.model.expressions import (
    affine_or_none,
    is_affine,
    is_at_least_0,
    is_constant,
    multiple,
    nodes_of,
    only_objective,
    parts_of,
    product,
    quadratic_in,
    squares_of,
    terms_of,
    total,
)
from tightmargin.solvers.model.polynomial import Number, QuadraticRow
from tightmargin.solvers.model.reader import StandardForm

# --- Which expressions are absolute values and Euclidean norms, and of what ----------------------


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
    for i, j, weight in read.products:
        q[at.index(i), at.index(j)] += weight / 2
        q[at.index(j), at.index(i)] += weight / 2
    found = complete_squares(q, np.zeros(len(at)))
    return found is not None and found.excess is None


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

    parts: constraints, or an objective, beyond degree two.
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

    norms (factor, node): absolute values and roots that become variables.
    rest: everything else.
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


# --- Terms c p^2 / T of an objective become variables over rotated cones, on a copy of the model
# Pyomo has no reading of a quadratic over a linear function, so the model would count as
# non-convex. Where T >= 0 follows from the bounds of its variables and c has the sign of a cost,
# the term is convex, with p^2 / 0 = 0 where p = 0 and infinite elsewhere; it is the least c t with
#     p^2 <= t T,   t >= 0.
# Any other quotient is left as it is.


QUOTIENT_BLOCK = "quotients"


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
    if goal is None or not _split_quotient(goal)[0]:
        return model
    copy = model.clone()
    goal = only_objective(copy)
    assert goal is not None
    quotients, rest = _split_quotient(goal)
    quotients = [q for q in quotients if pyo.value(q.coefficient) != 0]
    block = pyo.Block()
    copy.add_component(unique_component_name(copy, QUOTIENT_BLOCK), block)
    block.K = pyo.RangeSet(0, len(quotients) - 1)
    block.value = pyo.Var(block.K, within=pyo.NonNegativeReals)
    block.part = pyo.VarList()
    block.equals = pyo.ConstraintList()
    pairs = [
        (_single_quotient(block, q.base), _single_quotient(block, q.divisor)) for q in quotients
    ]
    cones = {k: p**2 <= block.value[k] * t for k, (p, t) in enumerate(pairs)}
    block.cone = pyo.Constraint(block.K, rule=cones)
    costs = (q.coefficient * block.value[k] for k, q in enumerate(quotients))
    goal.set_value(total([*rest, *costs]))
    return copy


def _split_quotient(goal: Any) -> tuple[list[_Quotient], list[Any]]:
    """Convex quotients of an objective, and terms that add up to the rest of it."""
    quotients: list[_Quotient] = []
    rest: list[Any] = []
    _walk_quotients(goal.expr, 1, 1 if goal.sense == pyo.minimize else -1, quotients, rest)
    return quotients, rest


def _walk_quotients(
    e: Any, factor: Any, sense: int, found: list[_Quotient], rest: list[Any]
) -> None:
    """Sort the terms of factor * e; whatever is no sum of quotients is one term of the rest."""
    for part, scale in parts_of(e):
        if part is e:
            quotients = _convex_quotients(e, factor, sense)
            if quotients is None:
                rest.append(product(factor, e))
            else:
                found += quotients
        else:
            _walk_quotients(part, multiple(factor, scale), sense, found, rest)


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


def _single_quotient(block: pyo.Block, e: Any) -> Any:
    """A variable as it is; of another affine function, a new variable that equals it."""
    if e.is_variable_type():
        return e
    least = _least(e)
    variable = block.part.add()
    variable.setlb(0.0 if least >= 0 else None)
    block.equals.add(variable == e)
    return variable


# --- Fixed variables become free ones within two equal bounds, on a model of ours -----------------


def fixings_as_bounds(model: pyo.ConcreteModel, *, whole: bool) -> list[str]:
    """Free what is fixed at a value, in place; names of these variables.

    whole: an integer stays one, and has no value where it was fixed at a fraction.
    """
    elements = model.component_data_objects(pyo.Var, descend_into=(pyo.Block, Disjunct))
    held = [v for v in elements if v.fixed and v.value is not None]
    for variable in held:
        value = variable.value
        if not whole:
            variable.domain = pyo.Reals
        variable.setlb(value)
        variable.setub(value)
        variable.unfix()
    return [str(variable.name) for variable in held]


# --- Variables whose domain has gaps become integer choices, on a copy of the model --------------
#     x in {v_1, ..., v_k}             x = sum_k v_k z_k,  sum_k z_k = 1,  z binary
#     x in {start, start + step, ...}  x = start + step k,  k integer
# Solvers know intervals and integers only, and take Set([0, 2, 5]) for the interval from 0 to 5.


DOMAIN_BLOCK = "choices"


def without_gaps(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """The model itself, or a copy in which no domain of a free variable has gaps.

    The copy has a block `choices`; domains that are no choice of numbers stay, and whoever reads
    the model refuses them by name.
    """
    if not any(True for _ in _with_gaps(model)):
        return model
    copy = model.clone()
    block = pyo.Block()
    copy.add_component(unique_component_name(copy, DOMAIN_BLOCK), block)
    block.choice, block.row = pyo.VarList(), pyo.ConstraintList()
    for variable in list(_with_gaps(copy)):
        start, stop, step = variable.domain.get_interval()
        if step and start is not None:
            _evenly_spaced(block, variable, start, stop, step)
        else:
            _chosen(block, variable)
    return copy


def _with_gaps(model: pyo.ConcreteModel) -> Iterator[Any]:
    known: dict[int, bool] = {}
    for component in model.component_objects(pyo.Var, descend_into=True):
        if component.is_reference():
            continue
        lazy = isinstance(component, ArrayVar)  # elements that nobody touched stay arrays
        elements = component.touched() if lazy else component
        for variable in list(elements.values()):
            domain = variable.domain
            if id(domain) not in known:
                known[id(domain)] = is_integer(domain) is None and is_choice(domain)
            if known[id(domain)] and not variable.fixed:
                yield variable


def _evenly_spaced(block: pyo.Block, variable: Any, start: float, stop: Any, step: float) -> None:
    low, high = variable.bounds
    number = block.choice.add()
    number.domain = pyo.Integers
    number.setlb(0)
    if stop is not None:
        number.setub(round((stop - start) / step))
    block.row.add(variable == start + step * number)
    variable.domain = pyo.Reals
    variable.setlb(low)
    variable.setub(high)


def _chosen(block: pyo.Block, variable: Any) -> None:
    low, high = variable.bounds
    values = sorted(float(value) for value in variable.domain)
    chosen = []
    for _ in values:
        binary = block.choice.add()
        binary.domain = pyo.Binary
        chosen.append(binary)
    block.row.add(sum(chosen) == 1)
    block.row.add(variable == sum(v * z for v, z in zip(values, chosen, strict=True)))
    variable.domain = pyo.Reals
    variable.setlb(low)
    variable.setub(high)


# --- Indicator constraints: a binary variable at 1 implies a linear row, and no constant is needed
# To Pyomo, and to every certificate, the row is the product  y (side - <a, x>) <= 0,  which says
# the same at y in {0, 1}. A solver with indicator constraints gets  y = 1  ->  <a, x> >= side
# instead.


ROWS = "implied"  # component that holds the rows, beside the disjunctions


class ImpliedRows(IndexedConstraint):
    """Rows  y (side - <a, x>) <= 0;  `indicator` maps each index to its y."""

    def __init__(self, index: pyo.Set, indicator: dict[int, Any], rows: dict[int, Any]) -> None:
        self.indicator = indicator
        super().__init__(index, rule=lambda _, k: rows[k], ctype=Constraint)


@dataclass(frozen=True, eq=False)
class Implication:
    """y = 1 implies <a, x> <= side.

    binary: column of y.
    columns, a (k,): columns and coefficients of the row.
    """

    binary: int
    columns: NDArray[np.int64]
    a: NDArray[np.float64]
    side: float


def is_disjunctive(model: pyo.ConcreteModel) -> bool:
    """Whether the model holds an active disjunction."""
    return any(True for _ in model.component_data_objects(Disjunction, active=True))


def to_indicators(model: pyo.ConcreteModel) -> None:
    """Replace the disjunctions of a model by binary variables and implied rows, in place.

    Every disjunct keeps its binary variable; exactly one is 1 (at least one when a disjunction is
    not exclusive), and it implies the linear rows of its disjunct.

    Raises ValueError: a disjunct holds a row that is not linear, or another disjunction.
    """
    indicator: dict[int, Any] = {}
    rows: dict[int, Any] = {}
    choices: list[Any] = []
    for disjunction in list(model.component_data_objects(Disjunction, active=True)):
        one = sum(part.binary_indicator_var for part in disjunction.disjuncts)
        choices.append(one == 1 if disjunction.xor else one >= 1)
        for part in disjunction.disjuncts:
            for written in _implied_sides(part):
                k = len(rows)
                indicator[k], rows[k] = part.binary_indicator_var, written
            part._deactivate_without_fixing_indicator()
        disjunction.deactivate()
    model.choices = pyo.ConstraintList()
    for choice in choices:
        model.choices.add(choice)
    model.add_component(ROWS, ImpliedRows(pyo.RangeSet(0, len(rows) - 1), indicator, rows))


def _implied_sides(part: Any) -> list[Any]:
    """Rows of a disjunct as products with its binary variable."""
    if any(True for _ in part.component_data_objects(Disjunction, active=True)):
        raise ValueError(f"transformation=indicator: {part.name} holds another disjunction")
    y, found = part.binary_indicator_var, []
    for row in part.component_data_objects(
        pyo.Constraint, active=True, descend_into=(pyo.Block, Disjunct)
    ):
        low, body, high = row.to_bounded_expression()
        if body.polynomial_degree() != 1:
            raise ValueError(f"transformation=indicator takes linear rows, and {row.name} is none")
        found += [] if low is None else [y * (low - body) <= 0]
        found += [] if high is None else [y * (body - high) <= 0]
    return found


def is_implied(row: QuadraticRow) -> bool:
    """Whether a quadratic row of a standard form stands for an indicator constraint."""
    return isinstance(row.data.parent_component(), ImpliedRows)


def implication(form: StandardForm, row: QuadraticRow) -> Implication:
    """An implied row in numbers, from its own product: y (side - <a, x>) <= 0."""
    body = row.body
    binary = form.columns.column(row.data.parent_component().indicator[row.data.index()])
    y = int(np.flatnonzero(body.index == binary)[0])
    a = np.zeros(len(body.index))
    np.add.at(a, np.where(body.i == y, body.j, body.i), body.v)
    others = np.arange(len(body.index)) != y
    return Implication(binary, body.index[others], a[others], -float(body.a[y]))


def gurobi_with_indicators() -> Any:
    """Pyomo's interface to Gurobi, with implied rows handed over as indicator constraints."""
    from pyomo.contrib.solver.solvers.gurobi.gurobi_persistent import GurobiPersistent

    class Gurobi(GurobiPersistent):
        """Exchanges the products after the model is made and before it is solved."""

        def _create_solver_model(self, pyomo_model: Any, config: Any) -> Any:
            made = super()._create_solver_model(pyomo_model, config)
            solver_model, columns = self._solver_model, self._pyomo_var_to_solver_var_map
            solver_model.update()
            for component in pyomo_model.component_objects(pyo.Constraint, active=True):
                if not isinstance(component, ImpliedRows):
                    continue
                for k, row in component.items():
                    y, terms = columns[component.indicator[k]], []
                    product = solver_model.getQCRow(self._pyomo_con_to_solver_con_map[row])
                    linear = product.getLinExpr()
                    for t in range(product.size()):
                        one, other = product.getVar1(t), product.getVar2(t)
                        x = other if one.sameAs(y) else one
                        terms.append((product.getCoeff(t), x))
                    side = sum(linear.getCoeff(t) for t in range(linear.size()))
                    solver_model.remove(self._pyomo_con_to_solver_con_map[row])
                    implied = sum(a * x for a, x in terms)
                    solver_model.addGenConstrIndicator(y, True, implied <= -side)
            solver_model.update()
            return made

    return Gurobi()
