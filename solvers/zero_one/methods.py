"""What is known of the 0-1 loss and the ramp loss: methods, closing bounds, incumbents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Entry, Origin
from tightmargin.formulations.data.arrays import Array
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
from tightmargin.solvers.edits.searches import EditedSearch, register_edited_search
from tightmargin.solvers.edits.variables import Added
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.methods import (
    DIRECT,
    ClosingBounds,
    Finding,
    IncumbentHeuristic,
    Method,
    register_closing_bounds,
    register_incumbents,
    register_method,
)
from tightmargin.solvers.result import Status
from tightmargin.solvers.zero_one.closing_bounds import (
    CONFLICTS,
    ENUMERATION,
    ONLY_ADDED,
    conflict_bound,
    conflict_lemma,
    enumerated_bound,
    zero_one_bound,
)
from tightmargin.solvers.zero_one.conflict_search.result import ConflictSearch
from tightmargin.solvers.zero_one.conflict_search.search import conflict_search
from tightmargin.solvers.zero_one.conflict_search.side_rows import SideRows
from tightmargin.solvers.zero_one.edited import side_rows
from tightmargin.solvers.zero_one.enumeration.incumbent import zero_one_incumbent
from tightmargin.solvers.zero_one.enumeration.ramp_enumeration import ramp_bound

CONFLICT_SEARCH = "conflict-search"
SEARCHED = ("zero_one_big_m", "zero_one_bilinear")
POINTS = 1000
NO_POINT = "the best hyperplane is no point of this model: its big-M is too small"
OUT_OF_BOUNDS = "the best hyperplane is no point of this model: its bounds of w and b cut it off"
NONE_FOUND = "the search found no point that meets what the edit adds"
GAP = GAP_TOLERANCE / 2  # the other half is for rounding
STATUS = {StopReason.PROVEN: Status.OPTIMAL, StopReason.INTERRUPTED: Status.INTERRUPTED}


# --- the conflict search -------------------------------------------------------------------------


def _by_conflicts(origin: Origin, limits: Limits) -> Finding:
    """Branch and bound over kept points: it knows the problem, and a big-M plays no part in it."""
    found = conflict_search(
        origin.data.points,
        penalty=origin.parameters["penalty"],
        intercept=origin.parameters["intercept"],
        incumbent=origin.parameters.get("incumbent"),
        gap=GAP,
        time_limit=limits.time_limit,
    )
    return _finding(found, conflict_lemma(found))


def _by_conflicts_beside(origin: Origin, added: Sequence[Added], limits: Limits) -> Finding:
    """The same beside what an edit adds: every node keeps it."""
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    found = conflict_search(
        origin.data.points,
        penalty=origin.parameters["penalty"],
        intercept=origin.parameters["intercept"],
        incumbent=origin.parameters.get("incumbent"),
        gap=GAP,
        time_limit=limits.time_limit,
        side=side,
    )
    no_point = NO_POINT if "big_m" in origin.parameters else OUT_OF_BOUNDS
    return _finding(
        found, conflict_lemma(found, more={ONLY_ADDED: isinstance(side, SideRows)}), no_point
    )


def _bound_beside(
    origin: Origin, added: Sequence[Added], values: Mapping[str, Array]
) -> Lemma | None:
    side = side_rows(origin, added)
    assert isinstance(side, SideRows)
    b = float(values["b"]) if "b" in values else 0.0
    return conflict_bound(origin, (values["w"], b), side)


def _refuses(origin: Origin, added: Sequence[Added]) -> str:
    found = side_rows(origin, added)
    return found if isinstance(found, str) else ""


def _finding(found: ConflictSearch, lemma: Lemma, no_point: str = NO_POINT) -> Finding:
    return Finding(
        {"w": found.w, "b": np.asarray(found.b), "z": found.given_up.astype(float)},
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
        no_point=no_point if np.isfinite(found.objective) else NONE_FOUND,
    )


def _message(found: ConflictSearch) -> str:
    if not np.isfinite(found.objective):
        return NONE_FOUND
    if found.stop is StopReason.PROVEN:
        return ""
    ended = found.stop.replace("_", " ")
    return f"{ended}: the gap is {100 * found.gap:.2f} % after {found.nodes:,} nodes"


def _leaves_to_conflicts(origin: Origin) -> str:
    """Where a given M may state less than the 0-1 problem, the model is what is asked about."""
    given = origin.parameters.get("big_m", "derived")
    if not isinstance(given, str) or origin.data.n > POINTS:
        return ""
    return f"up to {POINTS:,} points it proves in seconds what a big-M leaves open"


register_method(
    Method(
        CONFLICT_SEARCH,
        SEARCHED,
        _by_conflicts,
        "branch and bound over kept points, which proves the optimum without a solver",
        automatic=_leaves_to_conflicts,
    )
)
register_edited_search(
    EditedSearch(
        CONFLICT_SEARCH,
        SEARCHED,
        _refuses,
        _by_conflicts_beside,
        _bound_beside,
        automatic=_leaves_to_conflicts,
    )
)


# --- bounds that close a gap ---------------------------------------------------------------------

register_closing_bounds(
    ClosingBounds(
        is_zero_one,
        zero_one_bound,
        relaxation_bound,
        bound_from_facts,
        optimal=(ENUMERATION, CONFLICTS),
    )
)
register_closing_bounds(
    ClosingBounds(
        is_zero_one,
        enumerated_bound,
        relaxation_bound,
        bound_from_facts,
        optimal=(ENUMERATION,),
        weighted=True,
    )
)
register_closing_bounds(
    ClosingBounds(lambda origin: origin.entry == "ramp_big_m", lambda origin, _: ramp_bound(origin))
)


# --- incumbents ----------------------------------------------------------------------------------


def _zero_one_incumbent(
    entry: Entry, data: Any, parameters: Mapping[str, Any]
) -> tuple[Array, float] | None:
    """A good hyperplane by the heuristic of the enumeration."""
    if not data.d:
        return None
    intercept = parameters.get("intercept", entry.parameters["intercept"].default)
    found = zero_one_incumbent(data.points, penalty=parameters["penalty"], intercept=intercept)
    return found.w, found.b


def _ramp_incumbent(
    entry: Entry, data: Any, parameters: Mapping[str, Any]
) -> tuple[Array, float] | None:
    """The better of the 0-1 loss and of the hinge loss, for the ramp loss."""
    if not data.d:
        return None
    points, C = data.points, parameters["C"]
    intercept = parameters.get("intercept", entry.parameters["intercept"].default)
    by_count = zero_one_incumbent(points, penalty=4 * C, intercept=intercept)
    hinge = solve(c_svc(points, C=C, intercept=intercept), method=DIRECT).values
    candidates = [
        (by_count.w, by_count.b),
        (hinge["w"], float(hinge["b"]) if "b" in hinge else 0.0),
    ]
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
    ramp = model.find_component("xi") is not None
    outliers = u < (-1 if ramp else 1)
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
        lambda entry: _of_points(entry, "penalty"), _zero_one_incumbent, _start, weighted=True
    )
)
register_incumbents(
    IncumbentHeuristic(lambda entry: _of_points(entry, "C"), _ramp_incumbent, _start, weighted=True)
)
