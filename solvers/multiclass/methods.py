"""The truncated hinge of several classes solved by our own branch and bound, without a solver."""

from __future__ import annotations

import time

import numpy as np
import pyomo.environ as pyo

from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.certify import Case
from tightmargin.solvers.edits.model_identity import form_and_origin
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.multiclass.branch_and_bound import Stop, TruncatedSearch, truncated_search
from tightmargin.solvers.result import SolveResult, Status
from tightmargin.solvers.search_results import certified_search, search_result

TRUNCATED_SEARCH = "truncated-search"
SEARCHED_CLASSES = ("multiclass_truncated",)
STATUS = {Stop.PROVEN: Status.OPTIMAL, Stop.INTERRUPTED: Status.INTERRUPTED}


def solve_by_truncated_search(
    model: pyo.ConcreteModel,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
) -> SolveResult:
    """Solve multiclass_truncated by branch and bound over kept and given-up points.

    The search knows the problem, not the model: a big-M plays no part in it.

    Parameters
    ----------
    model
        Of multiclass_truncated, not edited. Its incumbent is where the search starts.
    time_limit : float, optional
        Seconds; the best point and a proven bound are kept, as after Ctrl-C.
    threads, seed : int, optional
        Recorded; the search has one thread and draws nothing.

    Returns
    -------
    SolveResult
        Values are also loaded into the model's variables. `solver` is "tightmargin"; facts hold
        the number of nodes.

    Raises
    ------
    ValueError
        Another or an edited model; more than 3000 unknowns (K - 1)(d + 1).
    """
    began = time.perf_counter()
    limits = checked_limits(time_limit, threads, seed)
    form, origin = form_and_origin(model, SEARCHED_CLASSES, TRUNCATED_SEARCH)
    kept = ("ridge", "truncation", "class_weight", "intercept", "incumbent")
    found = truncated_search(
        origin.data,
        **{word: origin.parameters[word] for word in kept},
        time_limit=limits.time_limit,
    )
    case = Case(model, form, classify(form), origin, limits)
    certified = certified_search(
        case,
        point_with(model, form, np.zeros(form.n), {"B": found.B.ravel(), "b": found.b}),
        STATUS.get(found.stop, Status.FEASIBLE),
        bound=found.lower_bound,
        proof=f"branch and bound over {found.nodes:,} nodes",
        facts={
            "no_duals": "a search over given-up points has no multipliers of the model's rows",
            "engine": TRUNCATED_SEARCH,
            "stop": str(found.stop),
            "nodes": found.nodes,
        },
    )
    return search_result(case, certified, began, message=_message(found))


def _message(found: TruncatedSearch) -> str:
    if found.stop is Stop.PROVEN:
        return ""
    gap = found.objective - found.lower_bound
    return f"{found.stop.replace('_', ' ')}: the gap is {gap:.3g} after {found.nodes:,} nodes"
