"""What proof files of 0-1 models have in common: the rows that keep points, and the claim."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.proof_files.checker import Model
from tightmargin.solvers.proof_files.model_document import (
    NotProvenError,
    claim_between,
    rounded_end,
    text,
)
from tightmargin.solvers.proof_files.upper_point import upper_point
from tightmargin.solvers.result import SolveResult

ZERO_ONE = ("zero_one_big_m", "zero_one_bilinear")
# Rows that keep a point.
ROWS = {"zero_one_big_m": "margin", "zero_one_bilinear": "kept", "ramp_big_m": "margin"}


def origin_of(case: Case) -> Origin:
    """Of a case whose family writes its files."""
    assert case.origin is not None
    return case.origin


def hyperplane_of(result: SolveResult) -> tuple[Array, float]:
    """The hyperplane of a result.

    Raises
    ------
    NotProvenError
        It holds no point.
    """
    if not result.values:
        raise NotProvenError(f"the result is {result.status}, and holds no point")
    b = result.values.get("b")
    return result.values["w"], 0.0 if b is None else float(b)


def columns_of(case: Case) -> tuple[list[int], int | None]:
    """The columns whose squares are priced, and that of an intercept that is not."""
    form, model = case.form, case.model
    columns = form.columns.of(model.find_component("w"))[0].tolist()
    of_b = model.find_component("b")
    if of_b is None:
        return columns, None
    b = int(form.columns.of(of_b)[0][0])
    if origin_of(case).parameters["intercept"] == "free":
        return columns, b
    return [*columns, b], None


def point_rows(case: Case, origin: Origin) -> list[list[Any]]:
    """For each point its row, its z, and the side of the row where it is a quadratic one.

    Raises
    ------
    NotProvenError
        Some point has no row.
    """
    form, name = case.form, ROWS[origin.entry]
    z = form.columns.of(case.model.find_component("z"))[0].tolist()
    found: dict[Any, list[Any]] = {}
    for k, (component, i) in enumerate(form.rows.locations()):
        if component.name == name:  # a bilinear one too, of a point at 0 without an intercept
            found[i] = [k, z[i]]
    for k, row in enumerate(form.quadratic):
        if row.data.parent_component().name == name:
            found[row.data.index()] = [k, z[row.data.index()], "upper"]
    if sorted(found) != list(range(len(z))):
        raise NotProvenError("some point has no row in the model")
    return [found[i] for i in range(len(z))]


def with_claim(
    document: dict[str, Any], case: Case, result: SolveResult, lower: Fraction
) -> dict[str, Any]:
    """A document with what it claims: between `lower` and the point of a result.

    Parameters
    ----------
    lower : Fraction
        Without the constant of the objective.
    """
    form = case.form
    x = upper_point(
        form, case.classification, point_with(case.model, form, form.point(), result.values)
    )
    if x is None:
        return document | {"claim": {"kind": "bounds", "lower": text(lower)}}
    model = Model(document["model"])
    upper = rounded_end(model, model.objective.value(model.feasible(x)), 1)
    return document | {
        "claim": claim_between(model, lower, upper, case.limits.absolute_gap),
        "point": [text(value) for value in x],
    }
