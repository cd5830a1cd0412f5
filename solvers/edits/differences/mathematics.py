"""Rows, bounds and objectives of a standard form as a line of mathematics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tightmargin.formulations.modeling.mathematics import Term, between_text, sum_text
from tightmargin.number_words import number_text
from tightmargin.solvers.edits.row_changes import RowKind
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

Name = str


def row_text(form: StandardForm, names: Sequence[Name], kind: RowKind, k: int) -> str:
    """A row by the names of its variables, as it was written where the arrays scale it."""
    if kind is RowKind.LINEAR:
        row, scale = form.A[[k]].tocoo(), float(form.exact.scales.get(k, 1))
        numbers = (row.data / scale).tolist()
        terms = [(a, names[j]) for j, a in zip(row.col.tolist(), numbers, strict=True)]
        low, high = float(form.row_lower[k]) / scale, float(form.row_upper[k]) / scale
        return between_text(low, sum_text(terms), high)
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
    return between_text(low, sum_text(terms), high)


def objective_text(objective: Quadratic, names: Sequence[Name]) -> str:
    """A quadratic function by the names of its variables."""
    Q = objective.Q.tocoo()
    entries = zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True)
    terms = list(_products(((names[i], names[j], v) for i, j, v in entries)))
    columns = np.flatnonzero(objective.a)
    terms += [(float(objective.a[j]), names[j]) for j in columns.tolist()]
    constant = [(objective.constant, "")] if objective.constant else []
    return sum_text([*terms, *constant])


def bound_text(name: str, low: float, high: float, *, integer: bool) -> str:
    """What the bounds of a variable say, and whether it is an integer."""
    text = f"{name} = {number_text(low)}" if low == high else between_text(low, name, high)
    return f"{text}, integer" if integer else text


def _products(entries: Iterable[tuple[str, str, float]]) -> Iterable[Term]:
    """x'Qx, both halves given, as squares and products."""
    found: dict[tuple[str, str], float] = {}
    for one, other, v in entries:
        pair = (one, other) if one <= other else (other, one)
        found[pair] = found.get(pair, 0.0) + v
    for (one, other), v in found.items():
        yield v, f"{one}^2" if one == other else f"{one} {other}"
