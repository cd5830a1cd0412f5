"""The proof file of a 0-1 result that cones of directions prove; the format is in checker.py."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.exact_arithmetic import rounded_up
from tightmargin.solvers.proof_files.checker import Model
from tightmargin.solvers.proof_files.model_document import (
    NotProvenError,
    begun,
    claim_between,
    text,
)
from tightmargin.solvers.proof_files.upper_point import upper_point
from tightmargin.solvers.proofs.cones.conflict import Conflict
from tightmargin.solvers.proofs.cones.cover import ConeCover
from tightmargin.solvers.proofs.cones.problem import ConeProblem, cone_problem
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.zero_one.cones.from_models import by_cones, suits
from tightmargin.solvers.zero_one.cones.result import ConeSearch

LONGEST = 200_000  # cells, which take the checker some minutes
ROWS = {"zero_one_big_m": "margin", "zero_one_bilinear": "kept"}  # that keep a point


def suits_a_file(origin: Origin) -> bool:
    """Whether cones prove a model that one row a point states."""
    return origin.entry in ROWS and suits(origin)


def cone_document(case: Case, result: SolveResult, seconds: float | None) -> dict[str, Any]:
    """The proof of a result of zero_one_big_m or zero_one_bilinear as it is built.

    Parameters
    ----------
    seconds : float or None
        For the search, which starts from the result's hyperplane.

    Raises
    ------
    NotProvenError
        Nothing is proven, the cells are too many, or the result holds no point.
    """
    origin = case.origin
    assert origin is not None
    if not result.values:
        raise NotProvenError(f"the result is {result.status}, and holds no point")
    w, b = result.values["w"], float(result.values.get("b", np.zeros(())))
    found = by_cones(origin, seconds, incumbent=(w, b))
    if found.lemma is None or found.cover.cells > LONGEST:
        raise NotProvenError(
            f"cones of directions prove a gap of {100 * found.gap:.2g} % in {found.cover.cells:,} "
            f"cells, and a file holds {LONGEST:,}"
        )
    return _document(case, result, found)


def _document(case: Case, result: SolveResult, found: ConeSearch) -> dict[str, Any]:
    form, origin = case.form, case.origin
    assert origin is not None
    document = begun(form)
    problem = cone_problem(
        origin.data.points.X,
        origin.data.y,
        origin.parameters["penalty"] * origin.data.multiplicity,
        intercept=origin.parameters["intercept"],
    )
    document["directed"] = directed(case, problem, found.cover)
    lower = Fraction(found.bound) - Fraction(form.objective.constant)
    x = upper_point(
        form, case.classification, point_with(case.model, form, form.point(), result.values)
    )
    if x is None:
        document["claim"] = {"kind": "bounds", "lower": text(lower)}
        return document
    model = Model(document["model"])
    upper = Fraction(rounded_up(model.objective.value(model.feasible(x))))
    document["claim"] = claim_between(lower, upper, case.limits.absolute_gap)
    document["point"] = [text(value) for value in x]
    return document


def directed(case: Case, problem: ConeProblem, cover: ConeCover) -> dict[str, Any]:
    """The cover with what names its points in the model."""
    form, model = case.form, case.model
    columns = form.columns.of(model.find_component("w"))[0].tolist()
    of_b, z = model.find_component("b"), form.columns.of(model.find_component("z"))[0]
    b = None if of_b is None else int(form.columns.of(of_b)[0][0])
    if problem.given.penalised:
        columns.append(b)
    rows = _rows(case)
    centre = np.r_[problem.centre, np.zeros(len(columns) - len(problem.centre))]
    conflicts = [
        {"points": known.points.tolist(), "multipliers": [text(a) for a in known.alpha.tolist()]}
        for known in cover.known
        if isinstance(known, Conflict)
    ]
    return {
        "columns": columns,
        "units": [text(value) for value in problem.units.tolist()],
        "centre": [text(value) for value in centre.tolist()],
        "intercept": b if problem.band else None,
        "points": [[rows[i][0], int(z[i]), *rows[i][1:]] for i in problem.order.tolist()],
        "bits": "".join("1" if bit else "0" for bit in cover.bits.tolist()),
        "conflicts": conflicts,
    }


def _rows(case: Case) -> list[list[Any]]:
    """The row of each point, with its side where it is a quadratic one."""
    form, origin = case.form, case.origin
    assert origin is not None
    name = ROWS[origin.entry]
    if origin.entry == "zero_one_big_m":
        places = enumerate(form.rows.locations())
        return [[k] for k, (component, _) in places if component.name == name]
    rows = enumerate(form.quadratic)
    return [[k, "upper"] for k, row in rows if row.data.parent_component().name == name]
