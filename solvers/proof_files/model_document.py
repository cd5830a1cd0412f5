"""Numbers and a model as the text of a proof file; the format is in checker.py."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from tightmargin.formulations.modeling.semidefinite import lower_pairs
from tightmargin.solvers.exact_arithmetic import rounded_up, shortened_up
from tightmargin.solvers.proof_files.checker import CLOSED, SCHEMA, Model
from tightmargin.solvers.standard_form.standard_form import StandardForm

Number = float | Fraction
NEGLIGIBLE = Fraction(1, 10**9)  # of the unit of a gap: what a double may lose of an end
DECIMAL = 200  # bits up to which people are spared hexadecimal fractions


def text(value: Number) -> str:
    """An exact number: a double as float.hex writes it, or a fraction."""
    exact = Fraction(value)
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = math.inf
    if math.isfinite(nearest) and Fraction(nearest) == exact:
        return (nearest + 0.0).hex()
    above, below = exact.numerator, exact.denominator
    if max(above.bit_length(), below.bit_length()) <= DECIMAL:
        return f"{above}/{below}"
    return f"{above:#x}/{below:#x}"


def limit(value: float) -> str | None:
    """A limit or side; None where it is infinite."""
    return text(value) if math.isfinite(value) else None


def vector(entries: Mapping[int, Number] | Iterable[tuple[int, Number]]) -> list[list[Any]]:
    """Numbers by index, without zeros."""
    pairs = entries.items() if isinstance(entries, Mapping) else entries
    return [[int(j), text(value)] for j, value in pairs if value]


def triangle(entries: Mapping[tuple[int, int], Number]) -> list[list[Any]]:
    """Numbers by (i, j) with i >= j, without zeros."""
    return [[int(i), int(j), text(value)] for (i, j), value in entries.items() if value]


def products(i: Iterable[int], j: Iterable[int], v: Iterable[float]) -> dict[tuple[int, int], Any]:
    """Coefficients of x_i x_j, i >= j, of x'Qx from the entries of both halves of Q."""
    found: dict[tuple[int, int], Fraction] = {}
    for row, column, value in zip(i, j, v, strict=True):
        place = (max(row, column), min(row, column))
        found[place] = found.get(place, Fraction(0)) + Fraction(value)
    return found


class NotProvenError(ValueError):
    """What was to be written is not proven; the message says what is missing."""


def begun(form: StandardForm) -> dict[str, Any]:
    """A document with its model and no claim yet.

    Raises
    ------
    NotProvenError
        The model is beyond degree two.
    """
    try:
        model = model_document(form)
    except (ValueError, OverflowError) as error:
        raise NotProvenError(str(error)) from None
    sense = "minimised" if form.sense == 1 else "maximised: f is its objective times -1"
    about = f"the model is {sense}"
    if form.rounded:
        about += (
            f"; {form.rounded} has numbers that no double is or that are excluded: this model has "
            "doubles next to them, its points include those of the former, and nowhere does it "
            "cost more"
        )
    return {"schema": SCHEMA, "about": about, "model": model}


def rounded_end(model: Model, value: Fraction, way: int) -> Fraction:
    """An end of a claim, outward (1 up, -1 down): a double, or a fraction if that loses much."""
    near = way * Fraction(rounded_up(way * value))
    if abs(near - value) <= NEGLIGIBLE * model.measure(value, value):
        return near
    return way * shortened_up(way * value)


def claim_between(
    model: Model, lower: Fraction, upper: Fraction, absolute_gap: float
) -> dict[str, str]:
    """The claim that both ends make: an optimum where they are close enough, else bounds."""
    lower = rounded_end(model, min(lower, upper), -1)
    gap, allowed = upper - lower, Fraction(absolute_gap)
    closed = gap <= max(CLOSED * model.measure(lower, upper), allowed)
    claim = {"kind": "optimum" if closed else "bounds", "lower": text(lower), "upper": text(upper)}
    if allowed and closed:
        claim["absolute_gap"] = text(absolute_gap)
    return claim


def model_document(form: StandardForm) -> dict[str, Any]:
    """The model of a standard form.

    Raises
    ------
    ValueError
        It holds a function beyond degree two.
    """
    if form.nonlinear:
        raise ValueError(f"{form.nonlinear[0].name} is not quadratic")
    A, Q = form.A, form.objective.Q.tocoo()
    starts = A.indptr.tolist()
    columns, numbers = A.indices.tolist(), [text(value) for value in A.data.tolist()]
    sides = zip(form.row_lower.tolist(), form.row_upper.tolist(), strict=True)
    rows = [
        {
            "name": form.rows.name(k),
            "lower": limit(low),
            "upper": limit(high),
            "linear": [list(pair) for pair in zip(columns[s:e], numbers[s:e], strict=True)],
        }
        for k, (s, e, (low, high)) in enumerate(zip(starts[:-1], starts[1:], sides, strict=True))
    ]
    return {
        "variables": list(form.columns.names()),
        "lower": [limit(value) for value in form.lower.tolist()],
        "upper": [limit(value) for value in form.upper.tolist()],
        "integer": [j for j, whole in enumerate(form.integer.tolist()) if whole],
        "objective": {
            "constant": text(form.objective.constant),
            "linear": vector(enumerate(form.objective.a.tolist())),
            "products": triangle(products(Q.row.tolist(), Q.col.tolist(), Q.data.tolist())),
        },
        "rows": rows,
        "quadratic": [_quadratic(row) for row in form.quadratic],
        "psd": [_semidefinite(row) for row in form.psd],
    }


def _quadratic(row: Any) -> dict[str, Any]:
    body, at = row.body, row.body.index
    pairs = products(at[body.i].tolist(), at[body.j].tolist(), body.v.tolist())
    return {
        "name": row.data.name,
        "lower": limit(row.lower),
        "upper": limit(row.upper),
        "constant": text(body.constant),
        "linear": vector(zip(at.tolist(), body.a.tolist(), strict=True)),
        "products": triangle(pairs),
    }


def _semidefinite(row: Any) -> dict[str, Any]:
    F, entries = row.F, []
    for k, (i, j) in enumerate(lower_pairs(row.order)):
        span = slice(F.indptr[k], F.indptr[k + 1])
        pairs = zip(F.indices[span].tolist(), F.data[span].tolist(), strict=True)
        entries.append([i, j, text(float(row.g[k])), vector(pairs)])
    return {"name": row.data.name, "order": row.order, "entries": entries}
