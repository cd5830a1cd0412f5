"""exp, log and entropy read as columns: t stands for a term, and the rest of the model is arrays.

A term that only makes a row or the objective dearer may be replaced by any t that is at least

    exp(p)      -log(p)      p log(p)      log(sum_k c_k exp(p_k)),  c_k >= 0

for affine p: points, objectives and optima stay as they are. Each is convex, and its epigraph is
made of exponential cones (engines/clarabel.py). What stands in another place is left as
it is, and is then not convex here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.modeling import unique_component_name
from pyomo.core.expr.numeric_expr import (
    MonomialTermExpression,
    ProductExpression,
    UnaryFunctionExpression,
)

from tightmargin.solvers.model.columns import known_value
from tightmargin.solvers.model.expressions import (
    affine_or_none,
    is_affine,
    is_at_least_0,
    is_constant,
    multiple,
    nodes_of,
    product,
    terms_of,
    total,
)
from tightmargin.solvers.model.polynomial import Number
from tightmargin.solvers.model.reader import StandardForm, standard_form
from tightmargin.solvers.model.restated import restate

BLOCK = "exponentials"
GRAINS = 2.0**50  # shares of a sum are whole multiples of one part: they add up to 1 exactly
EXP, LOG, ENTROPY, SUM = "exp", "log", "entropy", "sum"


@dataclass(frozen=True)
class Part:
    """c and p of a term: p is a column times +1 or -1, or 0 where the column is -1."""

    c: float
    column: int
    sign: float


@dataclass(frozen=True)
class Term:
    """A term and the column t that stands for it.

    kind: "exp", "log" (which is -log), "entropy" or "sum"; the first three have one part, with c =
        1.
    value: column t.
    parts, tuple of Part.
    """

    kind: str
    value: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Equation:
    """Row `row` of the form, which defines column `column` with the coefficient +1 or -1."""

    row: int
    column: int


@dataclass(frozen=True, eq=False)
class ExponentialForm:
    """A model in which every such term is a column.

    model: a copy of the model, with a block of these columns.
    form: over the columns of the model, the values t, and affine functions p that are no single
        variable. It says nothing of what t is at least.
    terms, tuple of Term.
    columns: columns of `form` that are those of the model, in its order.
    equations: of the affine functions.
    """

    model: pyo.ConcreteModel
    form: StandardForm
    terms: tuple[Term, ...]
    columns: NDArray[np.int64]
    equations: tuple[Equation, ...]

    @property
    def logarithms(self) -> list[int]:
        """Columns under a logarithm: a point with one of them at 0 has no value."""
        inside = [term.parts[0] for term in self.terms if term.kind in (LOG, ENTROPY)]
        return [part.column for part in inside if part.sign > 0]


@dataclass
class _Found:
    """Terms as they are found, with Pyomo's variables for columns."""

    block: pyo.Block
    terms: list[tuple[str, Any, list[tuple[float, Any, float]]]] = field(default_factory=list)


_READ: WeakKeyDictionary[StandardForm, ExponentialForm | None] = WeakKeyDictionary()


def rounded_shares(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sizes over their sum, rounded so that they add up to 1 exactly."""
    whole = np.floor(np.array(sizes) / np.sum(sizes) * GRAINS)
    whole[int(np.argmax(whole))] += GRAINS - whole.sum()
    return np.asarray(whole / GRAINS)


def mentions_exponential(parts: Sequence[Any]) -> bool:
    """Whether exp() or log() occurs in rows or an objective."""
    return any(_called(e) in ("exp", "log") for owner in parts for e in nodes_of(owner.expr))


def exponential_form(form: StandardForm) -> ExponentialForm | None:
    """The model with a column for each term, read once; None for one without exp and log.

    Where some of them stand in other places, `form` of what is returned still has rows or an
    objective that are not quadratic.
    """
    if form not in _READ:
        _READ[form] = _read(form) if mentions_exponential(form.nonlinear) else None
    return _READ[form]


def _read(form: StandardForm) -> ExponentialForm:
    copy = form.nonlinear[0].model().clone()
    block = pyo.Block()
    copy.add_component(unique_component_name(copy, BLOCK), block)
    block.value, block.part, block.equals = pyo.VarList(), pyo.VarList(), pyo.ConstraintList()
    found = _Found(block)
    for part in form.nonlinear:
        owner = pyo.ComponentUID(part).find_component_on(copy)
        low, body, high = _sides(owner)
        sign = 0 if low is not None and high is not None else 1 if low is None else -1
        if not sign:
            continue
        terms = [_replaced(e, factor, sign, found) for e, factor in terms_of(body)]
        expression = total(terms)
        owner.set_value(expression if owner.ctype is pyo.Objective else (low, expression, high))
    restate(copy)
    plain = standard_form(copy)
    names = {name: k for k, name in enumerate(plain.columns.names())}
    return ExponentialForm(
        copy,
        plain,
        tuple(_in_columns(term, plain) for term in found.terms),
        np.array([names[name] for name in form.columns.names()], dtype=np.int64),
        _equations(plain, block),
    )


def _in_columns(term: tuple[str, Any, list[tuple[float, Any, float]]], plain: StandardForm) -> Term:
    kind, value, parts = term
    of = plain.columns.column
    return Term(
        kind, of(value), tuple(Part(c, -1 if v is None else of(v), sign) for c, v, sign in parts)
    )


def _equations(plain: StandardForm, block: pyo.Block) -> tuple[Equation, ...]:
    found = []
    at = {id(row): k for k, row in enumerate(block.equals.values(), 1)}
    first = len(plain.rows) - len(plain.rows.single)
    for k, row in enumerate(plain.rows.single):
        if id(row) in at:
            column = plain.columns.column(block.part[at[id(row)]])
            found.append(Equation(first + k, column))
    return tuple(found)


def _sides(owner: Any) -> tuple[Any, Any, Any]:
    """Lower side, expression, upper side; an objective is one with a side on which it pulls."""
    if owner.ctype is pyo.Objective:
        minimise = owner.sense == pyo.minimize
        return (None, owner.expr, 0) if minimise else (0, owner.expr, None)
    low, body, high = owner.to_bounded_expression()
    return low, body, high


def _replaced(e: Any, factor: Any, sign: int, found: _Found) -> Any:
    """factor * e, or factor times the variable that takes the place of e."""
    dearer, cheaper = is_at_least_0(sign * factor), is_at_least_0(-sign * factor)
    name = _called(e)
    inside = e.args[0] if name in ("exp", "log") else None
    if name == "exp" and dearer and is_affine(inside):
        return product(factor, _term(EXP, [(1.0, inside)], found))
    if name == "log" and cheaper and is_affine(inside):
        return product(multiple(-1.0, factor), _term(LOG, [(1.0, inside)], found))
    if name == "log" and dearer and (pairs := _exponentials(inside)) is not None:
        return product(factor, _term(SUM, pairs, found))
    if dearer and (entropy := _entropy(e)) is not None:
        share, p = entropy
        return product(multiple(factor, share), _term(ENTROPY, [(1.0, p)], found))
    return product(factor, e)


def _term(kind: str, pairs: Sequence[tuple[float, Any]], found: _Found) -> Any:
    """The variable t of a new term with parts (c, p)."""
    t = found.block.value.add()
    parts: list[tuple[float, Any, float]] = []
    for c, p in pairs:
        variable, sign = _signed(p)
        if variable is not None and any(variable is other for _, other, _ in parts):
            variable = None
        if variable is None and sign:
            variable, sign = _defined(p, found.block), 1.0
        parts.append((c, variable, sign))
    found.terms.append((kind, t, parts))
    return t


def _signed(p: Any) -> tuple[Any, float]:
    """Variable and sign of p that is one or its negative; None and 1 of others, and 0 of 0."""
    if is_constant(p):
        return None, float(pyo.value(p) != 0)
    if p.is_variable_type() and not p.fixed:
        return p, 1.0
    terms, constant = affine_or_none(p) or ([], 0.0)
    if len(terms) == 1 and constant == 0:
        variable, slope = terms[0]
        if abs(slope) == 1.0:
            return variable, float(slope)
    return None, 1.0


def _defined(p: Any, block: pyo.Block) -> Any:
    """A new variable that equals p."""
    variable = block.part.add()
    block.equals.add(variable == p)
    return variable


def _called(e: Any) -> str:
    return str(e.getname()) if isinstance(e, UnaryFunctionExpression) else ""


def _exponentials(e: Any) -> list[tuple[float, Any]] | None:
    """Pairs (c_k, p_k) with e = sum_k c_k exp(p_k), a number being one of p = 0; None otherwise."""
    pairs: list[tuple[float, Any]] = []
    for part, factor in terms_of(e):
        if is_constant(part):
            c, p = multiple(factor, part), 0.0
        elif _called(part) == "exp" and is_affine(part.args[0]):
            c, p = factor, part.args[0]
        else:
            return None
        number = known_value(c)
        if not is_at_least_0(c) or number.__class__ is not float:
            return None
        if number > 0:
            pairs.append((number, p))
    return pairs or None


def _entropy(e: Any) -> tuple[float, Any] | None:
    """(c, p) with e = c p log(p), c > 0 and p affine; None otherwise."""
    if not isinstance(e, ProductExpression) or isinstance(e, MonomialTermExpression):
        return None
    for outer, inner in (e.args, reversed(e.args)):
        if _called(inner) == "log" and is_affine(inner.args[0]) and not is_constant(outer):
            ratio = _ratio(outer, inner.args[0])
            if ratio is not None and ratio > 0:
                return ratio, inner.args[0]
    return None


def _ratio(p: Any, q: Any) -> float | None:
    """The c with p = c q for affine p and q, to the last bit; None where there is none."""
    if not is_affine(p):
        return None
    ours, theirs = (_coefficients(e) for e in (p, q))
    if ours.keys() != theirs.keys():
        return None
    ratios = (Fraction(ours[key]) / Fraction(theirs[key]) for key in theirs if theirs[key])
    ratio = next(map(float, ratios), None)
    if ratio is None:
        return None
    exact = Fraction(ratio)
    same = all(Fraction(ours[key]) == exact * Fraction(theirs[key]) for key in theirs)
    return ratio if same else None


def _coefficients(e: Any) -> dict[int, Number]:
    """Of an affine expression by variable, the constant under 0."""
    found = affine_or_none(e)
    assert found is not None
    terms, constant = found
    return {0: constant} | {id(variable): number for variable, number in terms}
