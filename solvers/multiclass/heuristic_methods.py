"""Good points of hard models by methods that prove nothing, with a bound of ours beside them.

The d.c. algorithm and the alternating machines end where they cannot improve; that this is the
optimum they do not say. The point is certified like any other, and the bound is that of a convex
relaxation, or of a short branch and bound of ours on the exact problem.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.matrix.shapes import checked_rank, checked_shape, frame
from tightmargin.solvers.backends.base import Limits
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.certify import Case
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.edits.model_identity import form_and_origin
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.matrix.alternating import INTERRUPTED, matrix_alternating
from tightmargin.solvers.model_building import build
from tightmargin.solvers.multiclass.branch_and_bound import Stop, truncated_search
from tightmargin.solvers.multiclass.closing_bounds import BRANCHES, affordable_nodes
from tightmargin.solvers.multiclass.dca import truncated_dca
from tightmargin.solvers.result import SolveResult, Status
from tightmargin.solvers.search_results import certified_search, search_result
from tightmargin.solvers.standard_form.standard_form import StandardForm

Array = NDArray[np.float64]

DCA, TRUNCATED = "dca", ("multiclass_truncated",)
ALTERNATING, BOUNDED_RANK = "alternating", ("matrix_svc_bilinear",)
STARTS = 10
NODES = 1000
PROJECTION = "matrix_svc_projection"
NO_DUALS = "a heuristic has no multipliers of the model's rows"


@dataclass(frozen=True, eq=False)
class Found:
    """Where a heuristic ended.

    Attributes
    ----------
    values : mapping
        Of the variables that fix the point; the entry's own check fills in the others.
    bound, proof : float or None, str
        Proven by a relaxation, and how.
    """

    values: Mapping[str, Array]
    status: Status
    message: str
    bound: float | None = None
    proof: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def solve_by_dca(
    model: pyo.ConcreteModel,
    *,
    starts: int = STARTS,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
) -> SolveResult:
    """Run the d.c. algorithm on multiclass_truncated, and bound what it can have missed.

    Parameters
    ----------
    model
        Of multiclass_truncated, not edited.
    starts : int
        The hinge machine, then others by `seed`.
    time_limit : float, optional
        Seconds of the heuristic, and again of its bound; the best point is kept, as after Ctrl-C.
    threads : int, optional
        Recorded; the heuristic has one.
    seed : int, optional
        Of the starts; 0 when None.

    Returns
    -------
    SolveResult
        Values are also loaded into the model's variables. FEASIBLE and NOT_CERTIFIED unless the
        bound of a short branch and bound closes the gap: the point stays that of the d.c.
        algorithm, the bound is one on the exact model. Where that would take long (many points or
        unknowns) the bound is that of the continuous relaxation. `solver` is "tightmargin"; facts
        hold the least value of every start.

    Raises
    ------
    ValueError
        Another or an edited model, bad starts, seed or time_limit.
    """
    began = time.perf_counter()
    limits = checked_limits(time_limit, threads, 0 if seed is None else seed)
    form, origin = form_and_origin(model, TRUNCATED, DCA)
    words = origin.parameters
    found = truncated_dca(
        origin.data,
        ridge=words["ridge"],
        truncation=words["truncation"],
        class_weight=words["class_weight"],
        intercept=words["intercept"],
        starts=starts,
        seed=limits.seed or 0,
        time_limit=limits.time_limit,
    )
    nodes = 0 if found.interrupted else min(NODES, affordable_nodes(origin.data))
    tree = None
    if nodes:
        tree = truncated_search(
            origin.data,
            **{word: words[word] for word in ("ridge", "truncation", "class_weight", "intercept")},
            incumbent=(found.B, found.b),
            node_limit=nodes,
            time_limit=limits.time_limit,
        )
    stopped = found.interrupted or (tree is not None and tree.stop is Stop.INTERRUPTED)
    where = Found(
        {"B": found.B.ravel(), "b": found.b},
        Status.INTERRUPTED if stopped else Status.FEASIBLE,
        f"{found.starts} of {starts} starts, the best ended at {found.value:.9g}",
        bound=None if tree is None else tree.lower_bound,
        proof="" if tree is None else f"{BRANCHES} {tree.nodes:,} nodes",
        facts={"starts": found.starts, "start_values": [run.value for run in found.runs]},
    )
    return _certified(model, form, origin, limits, where, DCA, began)


def solve_by_alternating(
    model: pyo.ConcreteModel,
    *,
    starts: int = STARTS,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
) -> SolveResult:
    """Run the alternating machines on matrix_svc_bilinear, with the bound of the projection SDP.

    Parameters
    ----------
    model
        Of matrix_svc_bilinear, not edited.
    starts : int
        The optimum of any rank cut down to this one, then random factors by `seed`.
    time_limit : float, optional
        Seconds of the heuristic, and of the SDP; the best point is kept, as after Ctrl-C.
    threads : int, optional
        Of the SDP; the heuristic has one.
    seed : int, optional
        Of the starts; 0 when None.

    Returns
    -------
    SolveResult
        Values are also loaded into the model's variables. FEASIBLE and NOT_CERTIFIED unless the
        bound of matrix_svc_projection closes the gap. `solver` is "tightmargin"; facts hold the
        value of every start.

    Raises
    ------
    ValueError
        Another or an edited model, bad starts, seed or time_limit.
    """
    began = time.perf_counter()
    limits = checked_limits(time_limit, threads, 0 if seed is None else seed)
    form, origin = form_and_origin(model, BOUNDED_RANK, ALTERNATING)
    words = origin.parameters
    same = {word: words[word] for word in ("ridge", "shape", "rank", "intercept")}
    found = matrix_alternating(
        origin.data, **same, starts=starts, seed=limits.seed or 0, time_limit=limits.time_limit
    )
    size = checked_shape(words["shape"], origin.data.d)
    U, V = frame(found.w, *size, checked_rank(words["rank"], *size))
    stopped = found.stop == INTERRUPTED
    relaxed = None if stopped else _projection(origin, same, limits)
    where = Found(
        {"w": found.w, "b": np.asarray(found.b), "U": U.ravel(), "V": V.ravel()},
        Status.INTERRUPTED if stopped else Status.FEASIBLE,
        f"{len(found.solutions)} of {starts} starts, the best ended at {found.objective:.9g}",
        None if relaxed is None else relaxed.bound,
        "" if relaxed is None else f"{PROJECTION}: {relaxed.certificate.bound_method}",
        {
            "starts": len(found.solutions),
            "start_values": [each.objective for each in found.solutions],
            "stop": found.stop,
        },
    )
    return _certified(model, form, origin, limits, where, ALTERNATING, began)


def _projection(origin: Origin, words: Mapping[str, Any], limits: Limits) -> SolveResult:
    model = build(PROJECTION, origin.data, **words)
    return solve(model, time_limit=limits.time_limit, threads=limits.threads)


def _certified(
    model: pyo.ConcreteModel,
    form: StandardForm,
    origin: Origin,
    limits: Limits,
    found: Found,
    method: str,
    began: float,
) -> SolveResult:
    case = Case(model, form, classify(form), origin, limits)
    certified = certified_search(
        case,
        point_with(model, form, np.zeros(form.n), found.values),
        found.status,
        bound=found.bound,
        proof=found.proof,
        facts={"no_duals": NO_DUALS, "engine": method, **found.facts},
    )
    return search_result(case, certified, began, message=found.message)
