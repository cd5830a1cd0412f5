"""What this package knows of the extended nu family: searches for the global optimum.

A search works on directions of w; its best one becomes a point of the model, re-evaluated by the
formulation's own check, and the bound it proves on

    min { h(w) : ||w|| = 1 }

becomes one on the objective of the model. At nu_bar and above there is nothing to search: the ball
problem is convex, and its optimum lies on the sphere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from tightmargin.cuts.bound_tightening.result import Tightened
from tightmargin.cuts.bound_tightening.tighten import sdp_pays, tighten
from tightmargin.cuts.concave.outcome import BRANCH_AND_CUT
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
from tightmargin.cuts.proof_files.document import hull_document
from tightmargin.cuts.search.result import SearchResult
from tightmargin.cuts.spatial_branching.branch_and_cut import branch_and_cut
from tightmargin.formulations.catalogue import Entry, Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import BuilderData, points_or_kernel
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.nu.extended import extended_nu_svc_ball
from tightmargin.formulations.nu.extended_checks import NO_DIRECTION, weight_of
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.engines.running import STAGE, Limits, deriving_time
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.nu.local_search import extended_nu_local
from tightmargin.solvers.nu.nu_range import CVAR, POLAR, REVERSE
from tightmargin.solvers.registry import (
    AUTO,
    DIRECT,
    Finding,
    Method,
    Word,
    register_method,
    register_word,
)
from tightmargin.solvers.result_proof import register_document
from tightmargin.solvers.searches import register_finding, status_of
from tightmargin.solvers.solve import solve

Searched: TypeAlias = SearchResult | CuttingPlaneResult

SEARCHED = ("extended_nu_svc", REVERSE, POLAR, CVAR)
CUTTING_PLANE, HULL, LOCAL = "cutting-plane", "hull", "local"
NU_BAR = "nu_bar from below in exact arithmetic, and the largest slope of the optimum in nu"
TIGHTENED = "tightened"


# --- the searches --------------------------------------------------------------------------------


def _search(method: str) -> Callable[[Origin, Limits], Finding]:
    def run(origin: Origin, limits: Limits) -> Finding:
        data, problem = points_or_kernel(origin.data).points, search_arguments(origin)
        if side_of(origin) >= 0:
            return _not_below(origin, limits)
        start = limits.seed or 0
        if method == LOCAL:
            return _local(origin, problem, start, limits)
        # The polar objective is a square, in which a relative gap counts twice.
        tolerance = SEARCH_GAP / 2 if origin.entry == POLAR else SEARCH_GAP
        common = problem | {"tolerance": tolerance, "time_limit": limits.time_limit, "seed": start}
        if method == CUTTING_PLANE:
            return _told(cutting_plane(data, **common), origin)
        # Near nu_bar in large units the verdict asks for more than the searches' own absolute gap.
        common["absolute"] = 0.0
        many = data.d + (problem["intercept"] == "penalised") > HULL_UP_TO
        if method == BRANCH_AND_CUT or (method == AUTO and many):
            return _told(branch_and_cut(data, **common), origin)
        return _told(hull_search(data, **common), origin)

    return run


def _told(found: Searched, origin: Origin) -> Finding:
    """A finished search in the words of this module."""
    if isinstance(found, CuttingPlaneResult):
        engine = "cutting_plane"
        counts = {"rounds": len(found.trace), "nodes": found.nodes}
    else:
        engine = found.engine
        counts = {"nodes" if engine == "branch_and_cut" else "rounds": found.steps}
    counts |= {"linear_programs": found.lp_solves, "cuts": len(found.cuts)}
    proof = found.proof or f"{engine.replace('_', ' ')}, not finished"
    return _finding(
        origin,
        found.best.weight,
        status_of(found.stop),
        engine,
        lower=found.bound,
        proof=proof,
        message=found.message,
        facts={"stop": str(found.stop), "trace": _trace(found, origin)} | counts,
    )


register_finding(SearchResult, lambda origin, found: _told(found, origin))
register_finding(CuttingPlaneResult, lambda origin, found: _told(found, origin))


def _trace(found: Searched, origin: Origin) -> list[list[float | None]]:
    """Rows of (seconds, bound, objective) in units of the model, where one of the two changed."""
    states = [(state.seconds, state.lower, state.upper) for state in found.trace]
    states.append((found.seconds, found.bound, found.best.objective))
    rows: list[list[float | None]] = []
    for seconds, *ends in states:
        row = [seconds, *(model_bound(origin, end) for end in ends)]
        if not rows or rows[-1][1:] != row[1:]:
            rows.append(row)
    return rows


def _local(origin: Origin, problem: dict[str, Any], seed: int, limits: Limits) -> Finding:
    if limits.time_limit is not None:
        raise ValueError("local ends after 20 starts and takes no time limit: leave it out")
    found = extended_nu_local(origin.data, seed=seed, **problem)
    weight = found.w
    if problem["intercept"] == "penalised":
        weight = np.append(weight, found.b)
    starts = len(found.solutions)
    return _finding(
        origin,
        weight,
        Status.FEASIBLE,
        LOCAL,
        facts={"starts": starts, "iterations": found.iterations},
        message=f"the best of {starts} local solutions, which no search has proven to be global",
    )


def _not_below(origin: Origin, limits: Limits) -> Finding:
    """At nu_bar or above: the ball problem, or where it leaves w at 0 the least hinge loss."""
    data, problem = points_or_kernel(origin.data).points, search_arguments(origin)
    proof, engine = NU_BAR, "boundary"
    if side_of(origin) > 0:
        ball = extended_nu_svc_ball(data, **problem)
        result = solve(
            ball, method=DIRECT, time_limit=limits.time_limit, threads=limits.threads,
            seed=limits.seed,
        )  # fmt: skip
        if result.objective is None:
            raise RuntimeError(f"the ball problem ended with {result.status}: {result.message}")
        weight = weight_of(replace(origin, parameters=problem), result.values)
        proof, engine = result.certificate.bound_method, "ball"
        if np.linalg.norm(weight) > NO_DIRECTION:
            found = _finding(
                origin, weight, result.status, engine,
                lower=-math.inf if result.bound is None else result.bound, proof=proof,
                message="solved as extended_nu_svc_ball, whose optimum lies on the sphere, by "
                + result.solver,
            )  # fmt: skip
            return replace(found, solver=result.solver, version=result.version)
    path = extended_nu_path(data, [problem.pop("nu")], time_limit=limits.time_limit, **problem)
    (row,) = path.rows
    proven = lower_at_nu_bar(origin) if engine == "boundary" else row.bound
    return _finding(
        origin,
        path.weights[0],
        Status.OPTIMAL,
        engine,
        lower=-math.inf if proven is None else proven,
        proof=proof,
        message="the hyperplane of the least hinge loss, which is a solution at nu_bar",
    )


def _finding(
    origin: Origin,
    weight: Array,
    status: Status,
    engine: str,
    *,
    lower: float = -math.inf,
    proof: str = "",
    message: str = "",
    facts: Mapping[str, Any] | None = None,
) -> Finding:
    """A direction (k,) and a proven lower bound of h on the unit sphere, in units of the model."""
    return Finding(
        values_along(origin, weight),
        status,
        engine,
        bound=lemma_of(origin, lower, proof),
        facts={"no_duals": "no multipliers: a search over directions has none"} | dict(facts or {}),
        message=message,
    )


def lemma_of(origin: Origin, lower: float, proof: str) -> Lemma | None:
    """The bound in units of the model; its directions were covered by what `proof` names."""
    value = model_bound(origin, lower)
    if value is None:
        return None
    return Lemma(value, proof, {"no direction that is left open has a lower h": bool(proof)})


# --- what is registered --------------------------------------------------------------------------


def _refuses(origin: Origin) -> str:
    if origin.entry == REVERSE and side_of(origin) == 0:
        # A bound a rounding below 0 is none where any multiple of a point is one.
        return "at nu_bar any multiple of a solution is one, and a solver gets the model"
    return ""


def _chosen(origin: Origin) -> str:
    """Measured: SCIP leaves most of these open that a search proves in seconds."""
    return "it proves the global optimum"


# --- the word "tightened" for big_m and slack_bounds ----------------------------------------------


def with_tightened(
    entry: Entry, data: BuilderData, hyperparameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Hyperparameters with tightened bounds in place of the word.

    Raises ValueError: the entry takes no slack bounds, or no penalty is given.
    """
    own = dict(hyperparameters)
    if "slack_bounds" not in entry.parameters:
        raise ValueError(f"{entry.name} takes no tightened bounds: give big_m a number, or derived")
    if "penalty" not in own:
        raise ValueError(f"{entry.name} needs penalty: nothing is chosen for you")
    if own.get("big_m") == TIGHTENED:
        own["big_m"] = "derived"
    intercept = own.get("intercept", entry.parameters["intercept"].default)
    data = points_or_kernel(data).points
    found = tightened(data, own["penalty"], intercept, deriving_time())
    return own | {"slack_bounds": found.bounds, "incumbent": found.incumbent}


def tightened(
    data: TrainingData, penalty: float, intercept: str, time_limit: float | None = None
) -> Tightened:
    """Quick rounds, and rounds of the SDP where they pay; as much work each as a stage has."""
    words: dict[str, Any] = {"penalty": penalty, "intercept": intercept, "work_limit": STAGE}
    found = tighten(data, relaxation="qp", time_limit=time_limit, **words)
    left = None if time_limit is None else time_limit - found.seconds
    if (left is not None and left <= 0) or not sdp_pays(found):
        return found
    return tighten(
        data, relaxation="sdp", bounds=found.bounds, incumbent=found.incumbent, time_limit=left,
        **words,
    )  # fmt: skip


# --- what the registry is told -------------------------------------------------------------------

TITLES = {
    AUTO: "the hull up to three dimensions, and branch and cut beyond and where Qhull gives up",
    BRANCH_AND_CUT: "branch and cut over boxes on the unit sphere",
    HULL: "facets of an inner hull, up to 7 features",
    CUTTING_PLANE: "concavity and facial cuts in an outer loop, Algorithm 10",
    LOCAL: "Algorithm 7 from 20 directions, which proves nothing",
}
for _name, _title in TITLES.items():
    register_method(
        Method(
            _name,
            SEARCHED,
            _search(_name),
            _title,
            refuses=_refuses,
            automatic=_chosen if _name == AUTO else lambda origin: "",
            weighted=True,
        )
    )
register_document(SEARCHED, hull_document)
register_word(Word(TIGHTENED, ("big_m", "slack_bounds"), with_tightened))
