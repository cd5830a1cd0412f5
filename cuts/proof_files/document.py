"""The proof file of an extended nu-SVC.

Below nu_bar the facets of an inner hull of U prove the lower end (directions.py); above it the
multipliers of the problem in which w lies in the ball, whose optimum is on the sphere. The upper
end is a rational point: the sphere has some next to any direction.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.cuts.cut.polar_problem import polar_problem
from tightmargin.cuts.inner_hull.hull_search import HullSearch
from tightmargin.cuts.model_directions import search_arguments, side_of
from tightmargin.cuts.proof_files.directions import (
    Document,
    Roles,
    directions_of,
)
from tightmargin.formulations.nu.extended_checks import weight_of
from tightmargin.solvers.certify.case import GAP_TOLERANCE, Case
from tightmargin.solvers.certify.points import on_sphere
from tightmargin.solvers.model.names import point_with
from tightmargin.solvers.model.restated import completed
from tightmargin.solvers.proof_files.checker import Model, ProofError, number
from tightmargin.solvers.proof_files.write import (
    NotProvenError,
    begun,
    claim_between,
    rounded_end,
    text,
)
from tightmargin.solvers.registry import DIRECT
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.result_proof import kept_of
from tightmargin.solvers.solve import solve


def hull_document(case: Case, result: SolveResult, seconds: float | None) -> Document:
    """The proof of a result of the extended nu family.

    Above nu_bar it is that of the ball problem, whose optimum lies on the sphere.

    case: of a model as it is built: extended_nu_svc, its reverse and polar forms, or min_cvar.
    result: its hyperplane is the first direction of the search for facets.
    seconds: for the search.
    Raises NotProvenError: nu is nu_bar, there are more than 7 dimensions, the time did not suffice,
        or Qhull's facets do not enclose 0.
    """
    origin = case.origin
    assert origin is not None
    if not result.values:
        raise NotProvenError(f"the result is {result.status}, and holds no point")
    side = side_of(origin)
    if side == 0:
        raise NotProvenError("at nu_bar the optimum is 0, and no multipliers say so exactly")
    try:
        if side > 0:
            return _ball_document(case, result, seconds)
        return _facet_document(case, result, seconds)
    except ProofError as error:
        raise NotProvenError(str(error)) from None


# --- below nu_bar --------------------------------------------------------------------------------


def _facet_document(case: Case, result: SolveResult, seconds: float | None) -> Document:
    """With facets of an inner hull that the search closes around the result's direction."""
    origin = case.origin
    assert origin is not None
    weight = weight_of(origin, result.values)
    problem = polar_problem(origin.data, **search_arguments(origin))
    try:
        search = HullSearch(
            problem=problem, tolerance=GAP_TOLERANCE / 4, absolute=0.0, time_limit=seconds,
            step_limit=None, seed=0, began=time.perf_counter(),
        )  # fmt: skip
    except ValueError as error:
        raise NotProvenError(str(error)) from None
    search.supervised([weight / np.linalg.norm(weight)])
    if search.surface is None:
        raise NotProvenError("no facets were found in the time that there was")
    roles = Roles.of(case)
    document = begun(case.form)
    model = Model(document["model"])
    parts, lower = directions_of(roles, model, search, search.surface)
    return document | parts | _claim(case, roles, model, lower, result)


# --- above nu_bar --------------------------------------------------------------------------------


def _ball_document(case: Case, result: SolveResult, seconds: float | None) -> Document:
    """With the multipliers of the problem in which w lies in the ball."""
    relaxed = case.model.clone()
    norm = relaxed.find_component("norm")
    if norm is None:
        raise NotProvenError("above nu_bar the model has no optimum")
    norm.set_value((None, norm.body, norm.upper))
    found = solve(relaxed, method=DIRECT, time_limit=seconds)
    proven = kept_of(found)
    assert proven is not None
    document = proven.document()
    document |= {"model": begun(case.form)["model"], "cutoff": document["claim"]["upper"]}
    lower = number(document["claim"]["lower"], "lower")
    roles, model = Roles.of(case), Model(document["model"])
    return document | _claim(case, roles, model, lower, result)


# --- the claim and the point ---------------------------------------------------------------------


def _claim(
    case: Case, roles: Roles, model: Model, lower: Fraction, result: SolveResult
) -> Document:
    """What is proven, with an exactly feasible point."""
    x = _point(case, roles, result)
    if x is None:
        return {"claim": {"kind": "bounds", "lower": text(rounded_end(model, lower, -1))}}
    upper = rounded_end(model, model.objective.value(model.feasible(x)), 1)
    claim = claim_between(model, lower, upper, case.limits.absolute_gap)
    return {"claim": claim, "point": [text(value) for value in x]}


def _point(case: Case, roles: Roles, result: SolveResult) -> list[Fraction] | None:
    """The hyperplane of a result, with w on the sphere exactly or with the level exactly at 1.

    None where the sphere has no rational point that is known, as two points of one dimension.
    """
    form = case.form
    near = point_with(case.model, form, np.nan_to_num(form.point()), result.values)
    x = [Fraction(value) for value in near.tolist()]
    if roles.level is None:
        row = form.quadratic[0]
        square = Fraction(row.lower) - Fraction(row.body.constant)
        found = on_sphere(near[roles.weights], square)
        if found is None:
            return None
        for j, value in zip(roles.weights, found, strict=True):
            x[j] = value
    _set_slacks(form.A[roles.margins], roles, x)
    x = [Fraction(value) for value in completed(case.model, form.columns, x)]
    if roles.level is not None:
        value = sum((c * v for c, v in zip(roles.prices, x, strict=True)), Fraction(0))
        if value <= 0:
            raise NotProvenError("the level of the result's point is not positive")
        x = [v / value for v in x]
    return x


def _set_slacks(rows: Any, roles: Roles, x: list[Fraction]) -> None:
    """xi_i at what its row asks for."""
    for j in roles.slacks.tolist():
        x[j] = Fraction(0)
    for i, j in enumerate(roles.slacks.tolist()):
        span = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.indices[span].tolist(), rows.data[span].tolist(), strict=True)
        x[j] = max(Fraction(0), -sum((Fraction(a) * x[k] for k, a in pairs), Fraction(0)))
