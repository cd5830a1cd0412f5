"""The 0-1 loss models solved by the conflict search, certified like the results of solvers."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.zero_one.loss import margins
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.certify import GAP_TOLERANCE, Case
from tightmargin.solvers.edits.model_identity import form_and_origin, unedited_origin
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.result import SolveResult, Status
from tightmargin.solvers.search_results import certified_search, search_result
from tightmargin.solvers.standard_form.standard_form import standard_form
from tightmargin.solvers.zero_one.closing_bounds import CONFLICTS
from tightmargin.solvers.zero_one.conflict_search.result import ConflictSearch, Stop, TracePoint
from tightmargin.solvers.zero_one.conflict_search.search import conflict_search

CONFLICT_SEARCH = "conflict-search"
SEARCHED_ZERO_ONE = ("zero_one_big_m", "zero_one_bilinear")
POINTS = 1000
NO_POINT = "the best hyperplane is no point of this model: its big-M is too small"
GAP = GAP_TOLERANCE / 2  # the other half is for rounding
STATUS = {Stop.PROVEN: Status.OPTIMAL, Stop.INTERRUPTED: Status.INTERRUPTED}


def is_searched(model: pyo.ConcreteModel) -> bool:
    """Whether gap tables leave this model to the conflict search.

    It states the 0-1 problem (a given M may state less), has POINTS at most, and is not edited.
    """
    if not isinstance(getattr(model, "origin", None), Origin):
        return False
    origin = model.origin
    if origin.entry not in SEARCHED_ZERO_ONE or origin.data.n > POINTS:
        return False
    given = origin.parameters.get("big_m", "derived")
    if not isinstance(given, str):
        return False
    return unedited_origin(model, standard_form(model)) is not None


def solve_by_conflicts(
    model: pyo.ConcreteModel,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    say: Callable[[TracePoint], None] = lambda point: None,
) -> SolveResult:
    """Solve a 0-1 loss model by branch and bound over kept points, without any solver.

    The search knows the problem, not the model: a big-M plays no part in it.

    Parameters
    ----------
    model
        Of zero_one_big_m or zero_one_bilinear, not edited.
    time_limit : float, optional
        Seconds; the best point, a proven bound and the trace are kept, as after Ctrl-C.
    threads, seed : int, optional
        Recorded; the search has one thread and draws nothing but its first incumbent.
    say : callable(TracePoint)
        Told about progress.

    Returns
    -------
    SolveResult
        Values are also loaded into the model's variables. `solver` is "tightmargin"; facts hold
        the trace as rows of (seconds, bound, incumbent).

    Raises
    ------
    ValueError
        Another or an edited model; more than 5000 points.
    """
    limits = checked_limits(time_limit, threads, seed)
    form, origin = form_and_origin(model, SEARCHED_ZERO_ONE, "the conflict search")
    began = time.perf_counter()
    found = conflict_search(
        origin.data.points,
        penalty=origin.parameters["penalty"],
        intercept=origin.parameters["intercept"],
        incumbent=origin.parameters.get("incumbent"),
        gap=GAP,
        time_limit=limits.time_limit,
        say=say,
    )
    case = Case(model, form, classify(form), origin, limits)
    x = point_with(model, form, np.zeros(form.n), _values(origin, found))
    facts = {
        "no_duals": "a search over kept points has no multipliers of the model's rows",
        "engine": CONFLICT_SEARCH,
        "stop": str(found.stop),
        "nodes": found.nodes,
        "steps": found.steps,
        "trace": [[p.seconds, p.lower_bound, p.objective] for p in found.trace],
    }
    certified = certified_search(
        case, x, STATUS.get(found.stop, Status.FEASIBLE), bound=found.lower_bound,
        proof=f"{CONFLICTS} {found.nodes:,} nodes", facts=facts,
    )  # fmt: skip
    return search_result(
        case,
        certified,
        began,
        message=_message(found) if certified.objective is not None else NO_POINT,
    )


def _values(origin: Origin, found: ConflictSearch) -> dict[str, np.ndarray]:
    data = origin.data.points
    z = margins(data, found.w, found.b) < 1
    return {"w": found.w, "b": np.asarray(found.b), "z": z.astype(float)}


def _message(found: ConflictSearch) -> str:
    if found.stop is Stop.PROVEN:
        return ""
    ended = found.stop.replace("_", " ")
    return f"{ended}: the gap is {100 * found.gap:.2f} % after {found.nodes:,} nodes"
