"""A model whose numbers no doubles are, as one of more variables and rows whose numbers are.

A sum of numbers times variables is hi'x + s t, where hi are the next doubles towards 0, s is a
power of two and t is a new variable that equals what is lost, over s:

    d t = sum_j d (c_j - hi_j) / s x_j

whose numbers are treated in the same way; d is 1 unless quotients such as a third stand there. What
is lost of a number has its sign, so that limits of the sum of which t is a part are limits of both.

Squares of an objective, whose numbers lose all digits of a fit far from 0 once they are expanded,
become squares of new variables that equal their bases. A point of the model with these values is a
point of the copy, and a point of the copy without them is one of the model of the same objective.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.core.expr.numeric_expr import NPV_DivisionExpression, NPV_SumExpression

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.cones import psd_entries
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.model.columns import Columns, number, shown
from tightmargin.solvers.model.expressions import (
    is_at_least_0,
    is_constant,
    product,
    read,
    squares_of,
    terms_of,
    total,
)
from tightmargin.solvers.model.polynomial import Number, Polynomial
from tightmargin.solvers.model.reader import Inexact, InexactError, StandardForm, standard_form

BLOCK = "exact_numbers"
FEWEST, MOST = -900, 900  # powers of two that a number is taken apart into
PARTS = 40

Terms = list[tuple[Fraction, Any]]  # coefficient and variable; None for a number


def representable(model: pyo.ConcreteModel) -> tuple[pyo.ConcreteModel, StandardForm]:
    """The model itself, or a copy that has the same points in more variables, and its arrays.

    Raises NumberError: a number that is no sum of few doubles.
    """
    try:
        return model, standard_form(model, closely=True)
    except InexactError:
        copy = model.clone()
        restate(copy)
        return copy, standard_form(copy)


def restate(model: pyo.ConcreteModel) -> None:
    """Put other rows in the place of those with numbers that no double is, on the model itself."""
    try:
        standard_form(model, closely=True)
    except InexactError as found:
        block = pyo.Block()
        model.add_component(unique_component_name(model, BLOCK), block)
        writing = _Writing(block, found.columns)
        for row in found.rows:
            writing.rewrite(row)


def complete(model: pyo.ConcreteModel, columns: Columns, x: Array, *, ray: bool = False) -> None:
    """Give the new variables of a copy the values that their rows leave, those of others given."""
    blocks = model.component_objects(pyo.Block, descend_into=False)
    if any(getattr(block, "defined", ()) for block in blocks):
        x[:] = [float(value) for value in completed(model, columns, x.tolist(), ray=ray)]


def completed(
    model: pyo.ConcreteModel, columns: Columns, x: Sequence[Number], *, ray: bool = False
) -> list[Number]:
    """The same in exact numbers; NaN beside one."""
    found = list(x)
    for block in model.component_objects(pyo.Block, descend_into=False):
        for variable, terms in getattr(block, "defined", ()):
            parts: list[tuple[Fraction, Number]] = []
            for value, v in terms:
                k = -1 if v is None else columns.column(v)
                held: Number = 0.0 if ray else 1.0 if v is None else v.value
                parts.append((value, found[k] if k >= 0 else held))
            known = all(math.isfinite(at) for _, at in parts)
            whole = sum((value * Fraction(at) for value, at in parts if known), Fraction(0))
            found[columns.column(variable)] = whole if known else math.nan
    return found


class _Writing:
    """New variables and rows in a block of a model."""

    def __init__(self, block: pyo.Block, columns: Columns) -> None:
        self.block, self.columns = block, columns
        block.lost, block.base = pyo.VarList(), pyo.VarList()
        block.row = pyo.ConstraintList()
        block.constant = Fraction(0)  # what squares would leave in the constant, expanded
        block.defined = []  # each new variable, and the terms that it is the sum of
        self._done: set[int] = set()

    def rewrite(self, row: Inexact) -> None:
        """Give a row or the objective other terms."""
        data, found = row.data, row.read
        if id(data) in self._done:
            return
        self._done.add(id(data))
        if data.ctype is pyo.Objective:
            squares = self._squares(data.expr, 1 if data.sense == pyo.minimize else -1)
            data.set_value(self._quadratic(found) if squares is None else squares)
            return
        entries = psd_entries(data.body)
        if entries is not None:
            shifted = [self.doubles(self._linear(self._read(entry))) for entry in entries]
            body = data.body.create_node_with_local_data((*shifted, data.body.args[-1]))
            data.set_value(body >= 0)
            return
        if found.products:
            low, _, high = data.to_bounded_expression()
            data.set_value((low, self._quadratic(found), high))
            return
        low, _, high = data.to_bounded_expression()
        if low is not None and high is not None and number(low) == number(high):
            data.set_value(self.doubles(self._linear(found, low)) == 0)
        else:
            data.set_value((low, self.doubles(self._linear(found)), high))

    def doubles(self, terms: Terms) -> Any:
        """An expression in doubles that equals sums of numbers times variables."""
        kept: list[Any] = []
        rests: Terms = []
        for value, variable in terms:
            nearest = _towards_zero(value)
            kept.append(nearest if variable is None else nearest * variable)
            rest = value - Fraction(nearest)
            if rest:
                rests.append((rest, variable))
        if rests:
            kept.append(self._sum(rests))
        return pyo.quicksum(kept)

    def _sum(self, terms: Terms) -> Any:
        """A new variable t times a power of two s, with d t = sum_j d c_j / s x_j in doubles."""
        common = math.lcm(*(_odd(value.denominator) for value, _ in terms))
        if common.bit_length() > PARTS * 53:
            raise NumberError(
                f"numbers such as {float(terms[0][0]):g} are no quotients of few doubles: write "
                "one number in the place of each product and quotient"
            )
        scale = _power(max(_log(value) for value, _ in terms))
        whole = common / _power(_log(Fraction(common)))
        t = self.block.lost.add()
        self.block.defined.append((t, [(value / scale, variable) for value, variable in terms]))
        shares = [(value * whole / scale, variable) for value, variable in terms]
        self.block.row.add(self.doubles([*shares, (-whole, t)]) == 0)
        return float(scale) * t

    def _linear(self, found: Polynomial, less: Any = 0) -> Terms:
        """The linear terms, less a number."""
        variables = {key: value for key, value in found.numbers().items() if len(key) < 2}
        variables[()] = variables.get((), Fraction(0)) - Fraction(number(less))
        return [(value, self.columns[key[0]] if key else None) for key, value in variables.items()]

    def _quadratic(self, found: Polynomial) -> Any:
        """The same numbers with linear terms in doubles."""
        products = [
            _written(value) * (self.columns[key[0]] * self.columns[key[1]])
            for key, value in found.numbers().items()
            if len(key) == 2
        ]
        return pyo.quicksum([*products, self.doubles(self._linear(found))])

    def _squares(self, e: Any, sense: int) -> Any:
        """The objective with variables for the bases of convex squares; None without any."""
        rest: list[Any] = []
        squares: list[tuple[Any, Any]] = []
        for term, factor in terms_of(e):
            found = [] if is_constant(term) else squares_of(term, factor)
            convex = all(base is not None and is_at_least_0(sense * c) for c, base in found)
            if found and convex:
                squares += found
            else:
                rest.append(product(factor, term))
        if all(base.is_variable_type() for _, base in squares):
            return None
        for c, base in squares:
            if base.is_variable_type():
                rest.append(product(c, base**2))
            else:
                self.block.constant += abs(Fraction(number(c))) * self._constant(base) ** 2
        return pyo.quicksum(
            [
                self._quadratic(self._read(total(rest)) if rest else Polynomial()),
                *(product(c, self._base(b) ** 2) for c, b in squares if not b.is_variable_type()),
            ]
        )

    def _constant(self, e: Any) -> Fraction:
        """An affine function where its variables with equal bounds are put in, others at 0."""
        held = [
            (value, variable)
            for value, variable in self._linear(self._read(e))
            if variable is None or (variable.lb is not None and variable.lb == variable.ub)
        ]
        return sum((a if v is None else a * Fraction(number(v.lb)) for a, v in held), Fraction(0))

    def _base(self, e: Any) -> Any:
        """A new variable that equals an affine function."""
        variable = self.block.base.add()
        terms = self._linear(self._read(e))
        self.block.defined.append((variable, terms))
        self.block.row.add(self.doubles([*terms, (Fraction(-1), variable)]) == 0)
        return variable

    def _read(self, e: Any) -> Polynomial:
        found = read(e, self.columns, shown(e))
        assert found is not None
        return found


def _is_dyadic(value: Fraction) -> bool:
    return value.denominator.bit_count() == 1


def _odd(number: int) -> int:
    """The odd part of a number."""
    return number // (number & -number)


def _log(value: Fraction) -> int:
    """Logarithm of a size to base 2, to within 1."""
    return abs(value.numerator).bit_length() - value.denominator.bit_length()


def _power(exponent: int) -> Fraction:
    if not FEWEST <= exponent <= MOST:
        raise NumberError(f"2^{exponent} stands in an exact number: scale the data")
    return Fraction(2) ** exponent


def _written(value: Fraction) -> Any:
    """A number as an expression in doubles."""
    if not _is_dyadic(value):
        whole = _power(_log(Fraction(value.denominator)))
        both = _written(value.numerator / whole), _written(value.denominator / whole)
        return NPV_DivisionExpression(both)
    parts: list[float] = []
    while value:
        parts.append(float(value))
        value -= Fraction(parts[-1])
        if len(parts) > PARTS or not parts[-1]:
            raise NumberError("a number that is no sum of few doubles: write one number")
    return parts[0] if len(parts) == 1 else NPV_SumExpression(parts)


def _towards_zero(value: Fraction) -> float:
    """The nearest double that is no larger in size."""
    nearest = float(value)
    return math.nextafter(nearest, 0.0) if abs(Fraction(nearest)) > abs(value) else nearest
