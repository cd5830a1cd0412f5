"""Results of the searches of this package, certified like those of solvers.

A search works on directions of w; its best one becomes a point of the model, re-evaluated by the
formulation's own check, and the bound it proves on

    min { h(w) : ||w|| = 1 }

becomes one on the objective of the model. At nu_bar and above there is nothing to search: the ball
problem is convex, and its optimum lies on the sphere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.cuts.inner_hull.hull_search import hull_search
from tightmargin.cuts.model_directions import (
    lower_at_nu_bar,
    model_bound,
    search_arguments,
    side_of,
    values_along,
)
from tightmargin.cuts.nu_path.engines import HULL_UP_TO
from tightmargin.cuts.nu_path.nu_path import extended_nu_path
from tightmargin.cuts.outer_loop.cutting_plane import cutting_plane
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.cuts.search.result import SearchResult
from tightmargin.cuts.search.stop import StopReason
from tightmargin.cuts.spatial_branching.branch_and_cut import branch_and_cut
from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.nu.extended import extended_nu_svc_ball
from tightmargin.formulations.nu.extended_checks import NO_DIRECTION, weight_of
from tightmargin.formulations.parameters import one_of
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.certify import GAP_TOLERANCE, Case, Certified
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.edits.model_identity import unedited_origin
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.nu.local_search import extended_nu_local
from tightmargin.solvers.nu.nu_range import CVAR, POLAR, REVERSE, remark
from tightmargin.solvers.result import SolveResult, Status
from tightmargin.solvers.search_results import certified_search, search_result
from tightmargin.solvers.standard_form.standard_form import standard_form
from tightmargin.solvers.versions import versions

Array = NDArray[np.float64]
Searched: TypeAlias = SearchResult | CuttingPlaneResult

SEARCHED = ("extended_nu_svc", REVERSE, POLAR, CVAR)
SEARCHES = ("auto", "branch-and-cut", "cutting-plane", "hull", "local")
OWN = "tightmargin"
ENGINE = "engine"
TOLERANCE = GAP_TOLERANCE / 2  # the other half is for what a change of units rounds away
STATUS = {StopReason.PROVEN: Status.OPTIMAL, StopReason.INTERRUPTED: Status.INTERRUPTED}
NU_BAR = "nu_bar from below in exact arithmetic, and the largest slope of the optimum in nu"


@dataclass(frozen=True, eq=False)
class _Found:
    """A direction (k,), and a proven lower bound of h on the unit sphere."""

    weight: Array
    lower: float
    proof: str
    status: Status
    message: str
    facts: Mapping[str, Any]
    solver: str = OWN
    version: str = field(default_factory=lambda: versions()[OWN])


def solve_by_search(
    model: pyo.ConcreteModel,
    method: str = "auto",
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    absolute_gap: float = 0.0,
) -> SolveResult:
    """Solve a model of the extended nu family by a search of our own.

    Parameters
    ----------
    model
        Of extended_nu_svc, extended_nu_svc_reverse, extended_nu_svc_polar or min_cvar, not edited.
    method : str
        "branch-and-cut", "hull" (up to 7 features), "cutting-plane", or "auto": the hull up to
        three dimensions, and branch and cut beyond and where Qhull gives up. "local" is Algorithm 7
        from 20 directions, which proves nothing.
    time_limit : float, optional
        Seconds; the best point and a proven bound are kept, as after Ctrl-C.
    threads : int, optional
        For the convex problem at nu_bar and above; a search has one. extended_nu_svc_reverse is
        left to a solver at nu_bar.
    absolute_gap : float
        As of solve(): next to nu_bar the optimum is 0, and no gap is small beside it.

    Returns
    -------
    SolveResult
        Values are also loaded into the model's variables. `solver` is "tightmargin" for a search.

    Raises
    ------
    ValueError
        Another or an edited model, an unknown method, a time limit for "local"; nu where the
        formulation states nothing; as the search.
    """
    one_of("method", method, SEARCHES)
    if method == "local" and time_limit is not None:
        raise ValueError("local ends after 20 starts and takes no time limit: leave it out")
    limits = checked_limits(time_limit, threads, seed, absolute_gap=absolute_gap)
    form = standard_form(model)
    origin = unedited_origin(model, form)
    if origin is None or origin.entry not in SEARCHED:
        raise ValueError(f"a search takes a model of {', '.join(SEARCHED)} as it was built")
    placed, began = remark(origin), time.perf_counter()
    if origin.entry == REVERSE and side_of(origin) == 0:
        # Any multiple of a solution is one, and a bound a rounding below 0 is none without a limit.
        return solve(
            model, time_limit=time_limit, threads=threads, seed=seed, absolute_gap=absolute_gap
        )
    found = _found(origin, method, limits.time_limit, limits.threads, limits.seed)
    case = Case(model, form, classify(form), origin, limits)
    certified = _certified(case, origin, found)
    message = "; ".join(part for part in (placed, found.message) if part)
    result = search_result(case, certified, began, message=message)
    return replace(result, solver=found.solver, version=found.version)


# --- the searches --------------------------------------------------------------------------------


def _found(
    origin: Origin,
    method: str,
    time_limit: float | None,
    threads: int | None,
    seed: int | None,
) -> _Found:
    data, problem = origin.data, search_arguments(origin)
    if side_of(origin) >= 0:
        return _not_below(origin, time_limit, threads, seed)
    start = 0 if seed is None else seed
    if method == "local":
        return _local(data, problem, start)
    # The polar objective is a square, in which a relative gap counts twice.
    tolerance = TOLERANCE / 2 if origin.entry == POLAR else TOLERANCE
    common = problem | {"tolerance": tolerance, "time_limit": time_limit, "seed": start}
    if method == "cutting-plane":
        return _told(cutting_plane(data, **common), origin)
    # Near nu_bar in large units the verdict asks for more than the searches' own absolute gap.
    common["absolute"] = 0.0
    if method == "branch-and-cut":
        return _told(branch_and_cut(data, **common), origin)
    if method == "hull":
        return _told(hull_search(data, **common), origin)
    if data.d + (problem["intercept"] == "penalised") > HULL_UP_TO:
        return _told(branch_and_cut(data, **common), origin)
    found = hull_search(data, **common)
    if found.stop is StopReason.NUMERICAL:
        found = branch_and_cut(data, start=found.best.weight, **common)
    return _told(found, origin)


def _told(found: Searched, origin: Origin) -> _Found:
    """A finished search in the words of this module."""
    if isinstance(found, CuttingPlaneResult):
        engine = "cutting_plane"
        counts = {"rounds": len(found.trace.to_json())}
    else:
        engine = found.engine
        counts = {"nodes" if engine == "branch_and_cut" else "rounds": found.steps}
    counts |= {"linear_programs": found.lp_solves, "cuts": len(found.cuts)}
    proof = found.proof or f"{engine.replace('_', ' ')}, not finished"
    return _Found(
        found.best.weight,
        found.lower_bound,
        proof,
        STATUS.get(found.stop, Status.FEASIBLE),
        found.message,
        {ENGINE: engine, "stop": str(found.stop), "trace": _trace(found, origin)} | counts,
    )


def _trace(found: Searched, origin: Origin) -> list[list[float | None]]:
    """Rows of (seconds, bound, objective) in units of the model, where one of the two changed."""
    states = [(state.seconds, state.lower, state.upper) for state in found.trace]
    states.append((found.seconds, found.lower_bound, found.best.objective))
    rows: list[list[float | None]] = []
    for seconds, *ends in states:
        row = [seconds, *(model_bound(origin, end) for end in ends)]
        if not rows or rows[-1][1:] != row[1:]:
            rows.append(row)
    return rows


def _local(data: TrainingData, problem: dict[str, Any], seed: int) -> _Found:
    found = extended_nu_local(data, seed=seed, **problem)
    weight = found.w
    if problem["intercept"] == "penalised":
        weight = np.append(weight, found.b)
    starts = len(found.solutions)
    facts = {ENGINE: "local", "starts": starts, "iterations": found.iterations}
    words = f"the best of {starts} local solutions, which no search has proven to be global"
    return _Found(weight, -math.inf, "", Status.FEASIBLE, words, facts)


def _not_below(
    origin: Origin, time_limit: float | None, threads: int | None, seed: int | None
) -> _Found:
    """At nu_bar or above: the ball problem, or where it leaves w at 0 the least hinge loss."""
    data, problem = origin.data, search_arguments(origin)
    proof, engine = NU_BAR, "boundary"
    if side_of(origin) > 0:
        ball = extended_nu_svc_ball(data, **problem)
        result = solve(ball, time_limit=time_limit, threads=threads, seed=seed)
        if result.objective is None:
            raise RuntimeError(f"the ball problem ended with {result.status}: {result.message}")
        weight = weight_of(replace(origin, parameters=problem), result.values)
        proof, engine = result.certificate.bound_method, "ball"
        if np.linalg.norm(weight) > NO_DIRECTION:
            lower = -math.inf if result.bound is None else result.bound
            words = "solved as extended_nu_svc_ball, whose optimum lies on the sphere, by "
            return _Found(
                weight, lower, proof, result.status, words + result.solver, {ENGINE: engine},
                result.solver, result.version,
            )  # fmt: skip
    path = extended_nu_path(data, [problem.pop("nu")], time_limit=time_limit, **problem)
    (row,) = path.rows
    words = "the hyperplane of the least hinge loss, which is a solution at nu_bar"
    proven = lower_at_nu_bar(origin) if engine == "boundary" else row.lower_bound
    lower = -math.inf if proven is None else proven
    return _Found(path.weights[0], lower, proof, Status.OPTIMAL, words, {ENGINE: engine})


# --- from a search to a certificate --------------------------------------------------------------


def _certified(case: Case, origin: Origin, found: _Found) -> Certified:
    """The point checked, and the search's bound where it is the better one."""
    x = point_with(case.model, case.form, np.zeros(case.form.n), values_along(origin, found.weight))
    no_duals = {"no_duals": "a search over directions has no multipliers"}
    return certified_search(
        case, x, found.status, bound=model_bound(origin, found.lower), proof=found.proof,
        facts=no_duals | dict(found.facts),
    )  # fmt: skip
