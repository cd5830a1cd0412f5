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
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.edits.searches import Statements
from tightmargin.solvers.proof_files.model_document import (
    NotProvenError,
    begun,
    text,
)
from tightmargin.solvers.proofs.cones.conflict import Caps, Conflict, proven
from tightmargin.solvers.proofs.cones.problem import ConeProblem
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.zero_one.cones.from_models import RAMP, by_cones, cones_of, suits
from tightmargin.solvers.zero_one.cones.result import ConeSearch
from tightmargin.solvers.zero_one.file_parts import ROWS, hyperplane_of, point_rows, with_claim

LONGEST = 200_000  # cells, which take the checker some minutes


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
    w, b = hyperplane_of(result)
    side = None if beside is None else beside.side
    problem = cones_of(origin, side)
    if problem.constant:
        raise NotProvenError("points of different classes are in one place")
    # More cells than a file holds are of no use to it.
    found = by_cones(origin, seconds, side, cell_limit=LONGEST, incumbent=(w, b))
    if found.lemma is None or found.cover.cells > LONGEST:
        raise NotProvenError(
            f"cones of directions prove a gap of {100 * found.gap:.2g} % in {found.cover.cells:,} "
            f"cells, and a file holds {LONGEST:,}"
        )
    document = begun(case.form)
    document["directed"] = directed(case, origin, problem, found, beside)
    lower = Fraction(found.bound) - Fraction(case.form.objective.constant)
    return with_claim(document, case, result, lower)


def directed(
    case: Case, origin: Origin, problem: ConeProblem, found: ConeSearch, beside: Beside | None
) -> dict[str, Any]:
    """The cover with what names its points, and the rows beside them, in the model."""
    form, model = case.form, case.model
    columns = form.columns.of(model.find_component("w"))[0].tolist()
    of_b = model.find_component("b")
    b = None if of_b is None else int(form.columns.of(of_b)[0][0])
    if problem.k > len(columns):
        columns.append(b)
    rows = point_rows(case, origin)
    centre = np.r_[problem.centre, np.zeros(len(columns) - len(problem.centre))]
    order = problem.order.tolist()
    document = {
        "columns": columns,
        "units": [text(value) for value in problem.units.tolist()],
        "centre": [text(value) for value in centre.tolist()],
        "intercept": b if problem.band else None,
        "points": [rows[i] for i in order],
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
