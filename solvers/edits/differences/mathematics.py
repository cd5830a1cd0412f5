"""Rows, bounds and objectives of a standard form as a line of mathematics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from tightmargin.solvers.edits.row_changes import RowKind
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

TERMS = 12  # of a sum that is printed whole

Name = str
Term = tuple[float, str]


def row_text(form: StandardForm, names: Sequence[Name], kind: RowKind, k: int) -> str:
    """A row by the names of its variables."""
    if kind is RowKind.LINEAR:
        row = form.A[[k]].tocoo()
        terms = [(a, names[j]) for j, a in zip(row.col.tolist(), row.data.tolist(), strict=True)]
        return _between(float(form.row_lower[k]), _sum(terms), float(form.row_upper[k]))
    if kind is RowKind.SEMIDEFINITE:
        return f"a matrix of order {form.psd[k].order} is positive semidefinite"
    quadratic = form.quadratic[k]
    body = quadratic.body
    at = [names[j] for j in body.index.tolist()]
    entries = zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
    terms = [*_products(((at[i], at[j], v) for i, j, v in entries)), *zip(
        body.a.tolist(), at, strict=True
    )]  # fmt: skip
    low, high = quadratic.lower - body.constant, quadratic.upper - body.constant
    return _between(low, _sum(terms), high)


def objective_text(objective: Quadratic, names: Sequence[Name]) -> str:
    """A quadratic function by the names of its variables."""
    Q = objective.Q.tocoo()
    entries = zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True)
    terms = list(_products(((names[i], names[j], v) for i, j, v in entries)))
    columns = np.flatnonzero(objective.a)
    terms += [(float(objective.a[j]), names[j]) for j in columns.tolist()]
    constant = [(objective.constant, "")] if objective.constant else []
    return _sum([*terms, *constant])


def bound_text(name: str, low: float, high: float, *, integer: bool) -> str:
    """What the bounds of a variable say, and whether it is an integer."""
    text = f"{name} = {number_text(low)}" if low == high else _between(low, name, high)
    return f"{text}, integer" if integer else text


def _products(entries: Iterable[tuple[str, str, float]]) -> Iterable[Term]:
    """x'Qx, both halves given, as squares and products."""
    found: dict[tuple[str, str], float] = {}
    for one, other, v in entries:
        pair = (one, other) if one <= other else (other, one)
        found[pair] = found.get(pair, 0.0) + v
    for (one, other), v in found.items():
        yield v, f"{one}^2" if one == other else f"{one} {other}"


def _sum(terms: Sequence[Term]) -> str:
    used = [(a, name) for a, name in terms if a]
    parts = [_term(a, name, first=not k) for k, (a, name) in enumerate(used[:TERMS])]
    if len(used) > TERMS:
        parts.append(f"+ ... ({len(used)} terms)")
    return " ".join(parts) or "0"


def _term(a: float, name: str, *, first: bool) -> str:
    sign = ("-" if a < 0 else "") if first else ("- " if a < 0 else "+ ")
    size = "" if abs(a) == 1 and name else number_text(abs(a))
    return sign + " ".join(filter(None, (size, name)))


def _between(low: float, body: str, high: float) -> str:
    if low == high:
        return f"{body} = {number_text(low)}"
    if math.isinf(low) and math.isinf(high):
        return f"{body} is free"
    if math.isinf(low):
        return f"{body} <= {number_text(high)}"
    if math.isinf(high):
        return f"{body} >= {number_text(low)}"
    return f"{number_text(low)} <= {body} <= {number_text(high)}"


def number_text(value: float) -> str:
    """A number to six digits."""
    return f"{value:.6g}"
