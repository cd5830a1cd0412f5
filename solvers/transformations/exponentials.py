"""exp, log and entropy become variables beside exponential cones, on a copy of the model.

With K = {(u, v, t) : v > 0, v exp(u / v) <= t} and its closure, a term that only makes a row or the
objective dearer is the least t with

    exp(p)                    (p, 1, t) in K
    -log(p)                   (-t, 1, p) in K
    p log(p)                  (-t, p, 1) in K
    log(sum_k c_k exp(p_k))   (p_k - t, 1, s_k) in K for all k, sum_k c_k s_k <= 1, c_k >= 0

for affine p. What stands in another place is left as it is, and is then not convex here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyomo.environ as pyo
from pyomo.common.modeling import unique_component_name
from pyomo.core.expr.numeric_expr import (
    MonomialTermExpression,
    ProductExpression,
    UnaryFunctionExpression,
)
from pyomo.repn import generate_standard_repn

from tightmargin.solvers.transformations.norms import is_at_least_0, nodes_of
from tightmargin.solvers.transformations.terms import (
    is_affine,
    is_constant,
    terms_of,
)

BLOCK = "exponentials"
Triple = tuple[Any, Any, Any]


@dataclass(frozen=True, eq=False)
class Rewritten:
    """A copy of a model without such terms, and what its cones hold.

    Attributes
    ----------
    model : ConcreteModel
    triples : list of (u, v, t)
        Affine expressions of the copy that are to lie in K.
    positive : list
        Variables under a logarithm: a point with one of them at 0 has no value.
    """

    model: pyo.ConcreteModel
    triples: list[Triple] = field(default_factory=list)
    positive: list[Any] = field(default_factory=list)


def mentions_exponential(parts: tuple[Any, ...]) -> bool:
    """Whether exp() or log() occurs in rows or an objective."""
    return any(_called(e) in ("exp", "log") for owner in parts for e in nodes_of(owner.expr))


def without_exponentials(model: pyo.ConcreteModel, parts: tuple[Any, ...]) -> Rewritten:
    """A copy in which every term that has an exponential cone is a variable.

    Parameters
    ----------
    parts : tuple
        Rows of the model, or its objective, in which terms are sought.
    """
    copy = model.clone()
    block = pyo.Block()
    copy.add_component(unique_component_name(copy, BLOCK), block)
    block.value = pyo.VarList()
    block.share = pyo.VarList(within=pyo.NonNegativeReals)
    block.rows = pyo.ConstraintList()
    found = Rewritten(copy)
    for part in parts:
        owner = pyo.ComponentUID(part).find_component_on(copy)
        low, body, high = _sides(owner)
        sign = 0 if low is not None and high is not None else 1 if low is None else -1
        if not sign:
            continue
        terms = [_replaced(e, factor, sign, block, found) for e, factor in terms_of(body)]
        expression = pyo.quicksum(terms)
        owner.set_value(expression if owner.ctype is pyo.Objective else (low, expression, high))
    return found


def _sides(owner: Any) -> tuple[Any, Any, Any]:
    """Lower side, expression, upper side; an objective is one with a side on which it pulls."""
    if owner.ctype is pyo.Objective:
        minimise = owner.sense == pyo.minimize
        return (None, owner.expr, 0) if minimise else (0, owner.expr, None)
    low, body, high = owner.to_bounded_expression()
    return low, body, high


def _replaced(e: Any, factor: Any, sign: int, block: pyo.Block, found: Rewritten) -> Any:
    """factor * e, or factor times the variable that takes the place of e."""
    dearer, cheaper = is_at_least_0(sign * factor), is_at_least_0(-sign * factor)
    name = _called(e)
    inside = e.args[0] if name in ("exp", "log") else None
    if name == "exp" and dearer and is_affine(inside):
        t = block.value.add()
        found.triples.append((inside, 1.0, t))
    elif name == "log" and cheaper and is_affine(inside):
        t = block.value.add()
        found.triples.append((t, 1.0, inside))
        _note_positive(inside, found)
    elif name == "log" and dearer and _exponentials(inside) is not None:
        t = block.value.add()
        shares = []
        for c, p in _exponentials(inside) or ():
            s = block.share.add()
            found.triples.append((p - t, 1.0, s))
            shares.append(c * s)
        block.rows.add(pyo.quicksum(shares) <= 1)
    elif dearer and (entropy := _entropy(e)) is not None:
        share, p = entropy
        t = block.value.add()
        found.triples.append((-t, p, 1.0))
        _note_positive(p, found)
        return factor * share * t
    else:
        return factor * e
    return factor * t


def _note_positive(p: Any, found: Rewritten) -> None:
    if p.is_variable_type():
        found.positive.append(p)


def _called(e: Any) -> str:
    return str(e.getname()) if isinstance(e, UnaryFunctionExpression) else ""


def _exponentials(e: Any) -> list[tuple[Any, Any]] | None:
    """Pairs (c_k, p_k) with e = sum_k c_k exp(p_k), a number being one of p = 0; None otherwise."""
    pairs: list[tuple[Any, Any]] = []
    for part, factor in terms_of(e):
        if is_constant(part):
            c, p = factor * part, 0.0
        elif _called(part) == "exp" and is_affine(part.args[0]):
            c, p = factor, part.args[0]
        else:
            return None
        if not is_at_least_0(c):
            return None
        if pyo.value(c) > 0:
            pairs.append((c, p))
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
    """The c with p = c q for affine p and q; None where there is none."""
    if not is_affine(p):
        return None
    ours, theirs = (_coefficients(e) for e in (p, q))
    if ours.keys() != theirs.keys():
        return None
    ratios = {ours[key] / theirs[key] for key in theirs if theirs[key]}
    same = len(ratios) == 1 and all(ours[key] == 0 for key in theirs if not theirs[key])
    return ratios.pop() if same else None


def _coefficients(e: Any) -> dict[int, float]:
    """Of an affine expression by variable, the constant under 0."""
    repn = generate_standard_repn(e, quadratic=False)
    found = {0: float(pyo.value(repn.constant))}
    for variable, number in zip(repn.linear_vars, repn.linear_coefs, strict=True):
        found[id(variable)] = found.get(id(variable), 0.0) + float(pyo.value(number))
    return found
