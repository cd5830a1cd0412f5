"""The proof file of a 0-1 or ramp result that cones of directions prove; checker.py has the format.

Edited models have one too where rows of w and b and limits of them were added and no more: each is
named by its row or column. Fixed columns are none of a file's, and so is a decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.edits.searches import Statements
from tightmargin.solvers.exact_arithmetic import rounded_up
from tightmargin.solvers.proof_files.checker import Model
from tightmargin.solvers.proof_files.model_document import (
    NotProvenError,
    begun,
    claim_between,
    text,
)
from tightmargin.solvers.proof_files.upper_point import upper_point
from tightmargin.solvers.proofs.cones.conflict import Caps, Conflict, proven
from tightmargin.solvers.proofs.cones.problem import ConeProblem
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.zero_one.cones.from_models import RAMP, by_cones, cones_of, suits
from tightmargin.solvers.zero_one.cones.result import ConeSearch
from tightmargin.solvers.zero_one.conflict_search.side_rows import SideRows

LONGEST = 200_000  # cells, which take the checker some minutes
# Rows that keep a point.
ROWS = {"zero_one_big_m": "margin", "zero_one_bilinear": "kept", RAMP: "margin"}


@dataclass(frozen=True, eq=False)
class Beside:
    """What an edit adds: as the search takes it, and as it stands in the model."""

    side: SideRows
    statements: Statements


def suits_a_file(origin: Origin, side: SideRows | None = None) -> bool:
    """Whether cones prove a model that one row a point states."""
    decided = side is not None and (
        side.kept.any() or side.paid.any() or side.counts or side.moved.any()
    )
    return origin.entry in ROWS and not decided and suits(origin, side)


def cone_document(
    case: Case, origin: Origin, result: SolveResult, seconds: float | None, beside: Beside | None
) -> dict[str, Any]:
    """The proof of a result of a model as it is built, or beside what an edit adds.

    Parameters
    ----------
    seconds : float or None
        For the search, which starts from the result's hyperplane.

    Raises
    ------
    NotProvenError
        Nothing is proven, the cells are too many, the result holds no point, or two points of
        different classes in one place of a ramp loss cost something whatever is done.
    """
    if not result.values:
        raise NotProvenError(f"the result is {result.status}, and holds no point")
    side = None if beside is None else beside.side
    problem = cones_of(origin, side)
    if problem.constant:
        raise NotProvenError("points of different classes are in one place")
    w, b = result.values["w"], float(result.values.get("b", np.zeros(())))
    found = by_cones(origin, seconds, side, incumbent=(w, b))
    if found.lemma is None or found.cover.cells > LONGEST:
        raise NotProvenError(
            f"cones of directions prove a gap of {100 * found.gap:.2g} % in {found.cover.cells:,} "
            f"cells, and a file holds {LONGEST:,}"
        )
    return _document(case, origin, result, found, directed(case, origin, problem, found, beside))


def _document(
    case: Case, origin: Origin, result: SolveResult, found: ConeSearch, part: dict[str, Any]
) -> dict[str, Any]:
    form = case.form
    document = begun(form)
    document["directed"] = part
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


def directed(
    case: Case, origin: Origin, problem: ConeProblem, found: ConeSearch, beside: Beside | None
) -> dict[str, Any]:
    """The cover with what names its points, and the rows beside them, in the model."""
    form, model = case.form, case.model
    columns = form.columns.of(model.find_component("w"))[0].tolist()
    of_b, z = model.find_component("b"), form.columns.of(model.find_component("z"))[0]
    b = None if of_b is None else int(form.columns.of(of_b)[0][0])
    if problem.k > len(columns):
        columns.append(b)
    rows = _rows(case, origin)
    centre = np.r_[problem.centre, np.zeros(len(columns) - len(problem.centre))]
    order = problem.order.tolist()
    document = {
        "columns": columns,
        "units": [text(value) for value in problem.units.tolist()],
        "centre": [text(value) for value in centre.tolist()],
        "intercept": b if problem.band else None,
        "points": [[rows[i][0], int(z[i]), *rows[i][1:]] for i in order],
        "bits": "".join("1" if bit else "0" for bit in found.cover.bits.tolist()),
        # One that rounding has left without a word is none.
        "conflicts": [
            _known(part)
            for part in found.cover.known
            if isinstance(part, Conflict) and proven(problem, [part])
        ],
    }
    if beside is not None:
        document["beside"] = _sides(case, beside.statements)
    if origin.entry == RAMP:
        slacks = form.columns.of(model.find_component("xi"))[0]
        document["slacks"] = [int(slacks[i]) for i in order]
        document["caps"] = [
            {**_known(part), "capped": part.capped.tolist()}
            for part in found.cover.known
            if isinstance(part, Caps)
        ]
    return document


def _known(part: Conflict | Caps) -> dict[str, Any]:
    rows = [[k, text(value)] for k, value in enumerate(part.of_rows.tolist()) if value]
    return {
        "points": part.points.tolist(),
        "multipliers": [text(a) for a in part.alpha.tolist()],
        **({"rows": rows} if rows else {}),
    }


def _sides(case: Case, statements: Statements) -> list[list[Any]]:
    """The rows and limits in the order in which SideRows has them: upper sides, then lower ones."""
    form = case.form
    upper: list[list[Any]] = []
    lower: list[list[Any]] = []
    rows = {form.rows.name(k): k for k in range(len(form.rows))}
    columns = {name: j for j, name in enumerate(form.columns.names())}
    for part in statements:
        assert part.statement is not None
        kind, *rest = part.statement
        if kind in ("lower", "upper"):
            (upper if kind == "upper" else lower).append(["column", columns[rest[0]], kind])
            continue
        _, _, low, high = rest
        if part.name not in rows:
            raise NotProvenError(f"row {part.name} is stated otherwise in the model")
        upper += [["row", rows[part.name], "upper"]] if high < np.inf else []
        lower += [["row", rows[part.name], "lower"]] if low > -np.inf else []
    return [*upper, *lower]


def _rows(case: Case, origin: Origin) -> list[list[Any]]:
    """The row of each point, with its side where it is a quadratic one."""
    form, name = case.form, ROWS[origin.entry]
    if origin.entry != "zero_one_bilinear":
        places = enumerate(form.rows.locations())
        return [[k] for k, (component, _) in places if component.name == name]
    rows = enumerate(form.quadratic)
    return [[k, "upper"] for k, row in rows if row.data.parent_component().name == name]
