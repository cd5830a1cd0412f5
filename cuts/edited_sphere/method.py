"""What method "branch-and-cut" does with an edited extended nu-SVC."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tightmargin.cuts.cut.polar_problem import PolarProblem, polar_problem
from tightmargin.cuts.edited_sphere.search import edited_search
from tightmargin.cuts.edited_sphere.statements import side_rows
from tightmargin.cuts.model_directions import model_bound, search_arguments, side_of
from tightmargin.cuts.spatial_branching.node_bound import SideRows
from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.nu.extended_checks import norm_squared
from tightmargin.solvers.certificates.case import GAP_TOLERANCE
from tightmargin.solvers.edits.searches import EditedSearch, register_edited_search
from tightmargin.solvers.edits.variables import Added
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.methods import Finding
from tightmargin.solvers.result import Status

METHOD = "branch-and-cut"
ENTRIES = ("extended_nu_svc",)
POINTS, DIMENSIONS = 500, 6  # up to which "auto" leaves an edited model to the search
SECONDS = 15.0  # without a time limit: what is proven by then counts
TOLERANCE = GAP_TOLERANCE / 2  # the other half is for what a change of units rounds away
STATUS = {StopReason.PROVEN: Status.OPTIMAL, StopReason.INTERRUPTED: Status.INTERRUPTED}
WORDS = "every added row, bound and fixing is one of (w, b, rho, xi), and kept by each node"
COVERED = "no box that is left open has a lower objective"


def _read(origin: Origin, added: Sequence[Added]) -> tuple[PolarProblem, SideRows] | str:
    if side_of(origin) >= 0:
        return "at nu_bar and above the boxes of the search prove nothing"
    problem = polar_problem(origin.data, **search_arguments(origin))
    rows = side_rows(origin, problem, added)
    return rows if isinstance(rows, str) else (problem, rows)


def _refuses(origin: Origin, added: Sequence[Added]) -> str:
    try:
        found = _read(origin, added)
    except ValueError as error:  # dependent features, which the problem names
        return str(error)
    return found if isinstance(found, str) else ""


def _run(origin: Origin, added: Sequence[Added], limits: Limits) -> Finding:
    read = _read(origin, added)
    assert not isinstance(read, str)
    found = edited_search(
        *read,
        tolerance=TOLERANCE,
        time_limit=SECONDS if limits.time_limit is None else limits.time_limit,
        seed=limits.seed or 0,
    )
    radius = math.sqrt(norm_squared(origin.parameters["scale"]))
    bound = model_bound(origin, found.bound)
    return Finding(
        {name: radius * value for name, value in found.best.values.items()},
        STATUS.get(found.stop, Status.FEASIBLE),
        found.engine,
        bound=None if bound is None else Lemma(bound, found.proof, {WORDS: True, COVERED: True}),
        facts={
            "no_duals": "no multipliers: a search over directions has none",
            "stop": str(found.stop),
            "nodes": found.steps,
            "linear_programs": found.lp_solves,
        },
        message=found.message,
        no_point=found.message,
    )


def _automatic(origin: Origin) -> str:
    """Measured: SCIP finds the optimum of most, and its bound is its own claim."""
    data, dimensions = origin.data, origin.data.d + (origin.parameters["intercept"] == "penalised")
    if data.n > POINTS or dimensions > DIMENSIONS:
        return ""
    return "it proves the global optimum beside what an edit adds"


register_edited_search(
    EditedSearch(METHOD, ENTRIES, _refuses, _run, lambda *_: None, automatic=_automatic)
)
