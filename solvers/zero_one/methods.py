"""What is known of the 0-1 loss and the ramp loss: methods, closing bounds, incumbents."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Entry, Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import is_weighted, refusal_of_weights
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.svc.c_svc import c_svc
from tightmargin.formulations.zero_one.ramp import ramp_objective
from tightmargin.solvers.certificates.case import GAP_TOLERANCE
from tightmargin.solvers.conic.relaxation_bound import (
    bound_from_facts,
    is_zero_one,
    relaxation_bound,
)
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.edits.searches import EditedSearch, Statements, register_edited_search
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.deadline import deriving_time, is_over, seconds_left
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.methods import (
    DIRECT,
    PROCESSES,
    ClosingBounds,
    Finding,
    IncumbentHeuristic,
    Method,
    Values,
    processes_of,
    register_closing_bounds,
    register_incumbents,
    register_method,
)
from tightmargin.solvers.proofs.cones.cover import WORDS as CONES
from tightmargin.solvers.proofs.packings.cover import WORDS as CONFLICTS
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.proofs.packings.signed_points import LARGEST
from tightmargin.solvers.zero_one.closing_bounds import (
    ENUMERATION,
    conflict_bound,
    conflict_lemma,
    few_dimensional_bound,
    zero_one_bound,
)
from tightmargin.solvers.zero_one.cone_methods import (
    EDITED,
    SEARCHED,
    STATUS,
    cone_finding,
    found_values,
    is_stated_by_word,
    leaves_to_cones,
    refuses_beside,
    refuses_featureless,
    why_no_point,
)
from tightmargin.solvers.zero_one.cones.from_models import RAMP, bound_by_cones, by_cones, suits
from tightmargin.solvers.zero_one.conflict_search.result import ConflictSearch
from tightmargin.solvers.zero_one.conflict_search.search import check_workers, conflict_search
from tightmargin.solvers.zero_one.edited import side_rows
from tightmargin.solvers.zero_one.enumeration.incumbent import zero_one_incumbent
from tightmargin.solvers.zero_one.enumeration.ramp_enumeration import ramp_bound

CONFLICT_SEARCH = "conflict-search"
BOTH = "cones-then-conflicts"
POINTS = 1000
SHARE = 0.7  # of the time, after which cones that have proven nothing leave it to conflicts
BESIDE = 100_000_000  # products of points and cells, which rows may make of little use
GAP = GAP_TOLERANCE / 2  # the other half is for rounding


# --- the conflict search -------------------------------------------------------------------------


def _by_conflicts(
    origin: Origin,
    limits: Limits,
    side: SideRows | None = None,
    incumbent: tuple[Array, float] | None = None,
) -> Finding:
    """Branch and bound over kept points: it knows the problem, and a big-M plays no part in it."""
    found = conflict_search(
        origin.data.points,
        penalty=origin.parameters["penalty"],
        intercept=origin.parameters["intercept"],
        incumbent=origin.parameters.get("incumbent") if incumbent is None else incumbent,
        gap=GAP,
        time_limit=limits.time_limit,
        side=side,
        **processes_of(limits),
    )
    return _finding(origin, found, conflict_lemma(found, side), side)


def _by_conflicts_beside(origin: Origin, added: Statements, limits: Limits) -> Finding:
    """The same beside what an edit adds: every node keeps it."""
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    return _by_conflicts(origin, limits, side)


def _conflicts_beside(origin: Origin, added: Statements, values: Values) -> Lemma | None:
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    b = float(values["b"]) if "b" in values else 0.0
    return conflict_bound(origin, (values["w"], b), side)


def _refuses(origin: Origin, added: Statements) -> str:
    found = side_rows(origin, added)
    return found if isinstance(found, str) else ""


def _finding(
    origin: Origin, found: ConflictSearch, lemma: Lemma | None, side: SideRows | None
) -> Finding:
    return Finding(
        found_values(origin, found.w, found.b, found.given_up),
        STATUS.get(found.stop, Status.FEASIBLE),
        CONFLICT_SEARCH,
        bound=lemma,
        facts={
            "no_duals": "no multipliers: a search over kept points has none of the model's rows",
            "stop": str(found.stop),
            "nodes": found.nodes,
            "steps": found.steps,
            "trace": [[p.seconds, p.bound, p.objective] for p in found.trace],
        },
        message=_message(found),
        no_point=why_no_point(origin, found, side),
    )


def _message(found: ConflictSearch) -> str:
    if not np.isfinite(found.objective):
        return ""
    if found.stop is StopReason.PROVEN:
        return ""
    ended = found.stop.replace("_", " ")
    return f"{ended}: the gap is {100 * found.gap:.2f} % after {found.nodes:,} nodes"


register_method(
    Method(
        CONFLICT_SEARCH,
        SEARCHED,
        _by_conflicts,
        "branch and bound over kept points, which proves the optimum without a solver",
        options=PROCESSES,
    )
)
register_edited_search(
    EditedSearch(
        CONFLICT_SEARCH,
        EDITED,
        _refuses,
        _by_conflicts_beside,
        _conflicts_beside,
        automatic=lambda origin: "",
    )
)


# --- cones where the dimensions are few, then conflicts ------------------------------------------


def _by_both(origin: Origin, limits: Limits, side: SideRows | None = None) -> Finding:
    """What is left of the time of the first goes to the second, which begins where it ended."""
    check_workers(**processes_of(limits))
    alone = is_weighted(origin.data) or origin.data.n > LARGEST
    if not (alone or suits(origin, side)):
        return _by_conflicts(origin, limits, side)
    began, seconds = time.perf_counter(), limits.time_limit
    share = seconds if alone or seconds is None else SHARE * seconds
    most = None if alone or side is None else BESIDE // int(origin.data.n)
    found = by_cones(origin, share, side, cell_limit=most)
    first = cone_finding(origin, found, side)
    if alone or found.stop in (StopReason.PROVEN, StopReason.INTERRUPTED):
        return first
    known = (found.w, found.b) if np.isfinite(found.objective) else None
    second = _by_conflicts(origin, limits.without(time.perf_counter() - began), side, known)
    better = first.bound is not None and (
        second.bound is None or first.bound.value > second.bound.value
    )
    return replace(second, bound=first.bound) if better else second


def _by_both_beside(origin: Origin, added: Statements, limits: Limits) -> Finding:
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    return _by_both(origin, limits, side)


def _too_large(origin: Origin) -> str:
    """Why none of the two takes a model: conflicts count every point once."""
    if is_weighted(origin.data) and not suits(origin):
        return refusal_of_weights(f"method {BOTH} in so many dimensions")
    return refuses_featureless(origin)


def _leaves_to_both(origin: Origin) -> str:
    why = leaves_to_cones(origin)
    if why or not is_stated_by_word(origin) or origin.data.n > POINTS:
        return why
    return f"up to {POINTS:,} points it proves in seconds what a big-M leaves open"


register_method(
    Method(
        BOTH,
        SEARCHED,
        _by_both,
        "cones of directions where the dimensions are few, then the search over kept points",
        refuses=_too_large,
        options=PROCESSES,
        automatic=_leaves_to_both,
        weighted=True,
    )
)
register_edited_search(
    EditedSearch(
        BOTH,
        EDITED,
        refuses_beside,
        _by_both_beside,
        lambda origin, added, values: None,
        automatic=_leaves_to_both,
    )
)


# --- bounds that close a gap ---------------------------------------------------------------------


def _ramp_bound(origin: Origin, values: Values | None) -> Lemma | None:
    found = None if is_weighted(origin.data) else ramp_bound(origin)
    if found is not None or is_over():
        return found
    return bound_by_cones(origin, None, seconds=seconds_left())


register_closing_bounds(
    ClosingBounds(
        is_zero_one,
        zero_one_bound,
        relaxation_bound,
        bound_from_facts,
        optimal=(ENUMERATION, CONES, CONFLICTS),
    )
)
register_closing_bounds(
    ClosingBounds(
        is_zero_one,
        few_dimensional_bound,
        relaxation_bound,
        bound_from_facts,
        optimal=(ENUMERATION, CONES),
        weighted=True,
    )
)
register_closing_bounds(
    ClosingBounds(lambda origin: origin.entry == RAMP, _ramp_bound, optimal=(CONES,), weighted=True)
)


# --- incumbents ----------------------------------------------------------------------------------


def _zero_one_incumbent(
    entry: Entry, data: Any, parameters: Mapping[str, Any]
) -> tuple[Array, float] | None:
    """A good hyperplane by the heuristic of the enumeration."""
    if not data.d:
        return None
    intercept = parameters.get("intercept", entry.parameters["intercept"].default)
    found = zero_one_incumbent(
        data.points,
        penalty=parameters["penalty"],
        intercept=intercept,
        time_limit=deriving_time(),
    )
    return found.w, found.b


def _ramp_incumbent(
    entry: Entry, data: Any, parameters: Mapping[str, Any]
) -> tuple[Array, float] | None:
    """The better of the 0-1 loss and of the hinge loss, for the ramp loss."""
    if not data.d:
        return None
    points, C = data.points, parameters["C"]
    intercept = parameters.get("intercept", entry.parameters["intercept"].default)
    by_count = zero_one_incumbent(
        points, penalty=4 * C, intercept=intercept, time_limit=deriving_time()
    )
    hinge = solve(c_svc(points, C=C, intercept=intercept), method=DIRECT).values
    by_hinge = hinge["w"], float(hinge["b"]) if "b" in hinge else 0.0
    candidates = [(by_count.w, by_count.b), by_hinge]
    return min(
        candidates, key=lambda point: ramp_objective(points, point[0], point[1], C, intercept)
    )


def _start(model: pyo.ConcreteModel, data: Any, incumbent: tuple[Any, Any]) -> None:
    """Give the variables the incumbent's values, a start for solvers that take one."""
    indicators = _indicators(model)
    if not indicators:
        return
    w, b = np.asarray(incumbent[0], dtype=float), float(incumbent[1])
    for variable, number in zip(model.w.values(), w.tolist(), strict=True):
        variable.set_value(number)
    if model.find_component("b") is not None:
        model.b.set_value(b)
    u = data.y * (data.factor @ w + b)
    outliers = u < (-1 if model.find_component("xi") is not None else 1)
    for variable, out in zip(indicators, outliers.tolist(), strict=True):
        variable.set_value(float(out))
    if model.find_component("keep") is not None:
        for kept, out in zip(model.keep.values(), outliers.tolist(), strict=True):
            kept.binary_indicator_var.set_value(float(not out))


def _indicators(model: pyo.ConcreteModel) -> list[Any]:
    """Variables that are 1 for the points a model gives up."""
    if model.find_component("z") is not None:
        return list(model.z.values())
    if model.find_component("drop") is not None:
        return [part.binary_indicator_var for part in model.drop.values()]
    return []


def _of_points(entry: Entry, *words: str) -> bool:
    return TrainingData in entry.takes and all(word in entry.parameters for word in words)


register_incumbents(
    IncumbentHeuristic(
        lambda entry: _of_points(entry, "penalty"),
        _zero_one_incumbent,
        _start,
        ("penalty", "intercept"),
        weighted=True,
    )
)
register_incumbents(
    IncumbentHeuristic(
        lambda entry: _of_points(entry, "C"),
        _ramp_incumbent,
        _start,
        ("C", "intercept"),
        weighted=True,
    )
)
