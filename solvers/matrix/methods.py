"""What is known of matrix predictors of bounded rank: methods, closing bounds, incumbents.

The search over cones of directions takes ranks 1 and one below full. The alternating machines end
where they cannot improve; their bound is that of the projection SDP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Entry, Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.matrix.shapes import checked_rank, checked_shape, frame
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.matrix.alternating import (
    matrix_alternating,
    matrix_incumbent,
)
from tightmargin.solvers.matrix.branch_and_bound import (
    MatrixSearch,
    is_searchable,
    matrix_search,
    search_name,
)
from tightmargin.solvers.matrix.closing_bounds import (
    CELLS_COVER,
    ENTRIES,
    EXACT,
    POINTS,
    SIDE,
    matrix_bound,
)
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
from tightmargin.solvers.result import SolveResult

MATRIX_SEARCH, ALTERNATING = "matrix-search", "alternating"
PROJECTION = "matrix_svc_projection"
STARTS = 10
STATUS = {StopReason.PROVEN: Status.OPTIMAL, StopReason.INTERRUPTED: Status.INTERRUPTED}
WORDS = ("ridge", "shape", "rank", "intercept")


def _factors(origin: Origin, w: Array, b: float) -> dict[str, Array]:
    """Values of the bilinear model: W = U V' as well."""
    size = checked_shape(origin.parameters["shape"], origin.data.d)
    U, V = frame(w, *size, checked_rank(origin.parameters["rank"], *size))
    return {"w": w, "b": np.asarray(b), "U": U.ravel(), "V": V.ravel()}


def _by_search(origin: Origin, limits: Limits) -> Finding:
    """Branch and bound over one direction, from the model's incumbent on."""
    words = {word: origin.parameters[word] for word in (*WORDS, "incumbent")}
    found = matrix_search(origin.data, **words, time_limit=limits.time_limit)
    return Finding(
        _factors(origin, found.w, found.b),
        STATUS.get(found.stop, Status.FEASIBLE),
        MATRIX_SEARCH,
        bound=Lemma(found.bound, search_name(found.cells), CELLS_COVER),
        facts={
            "no_duals": "no multipliers: a search over directions has none of the rows",
            "stop": found.stop,
            "cells": found.cells,
        },
        message=_message(found),
    )


def _message(found: MatrixSearch) -> str:
    if found.stop is StopReason.PROVEN:
        return ""
    gap = found.objective - found.bound
    ended = found.stop.replace("_", " ")
    return f"{ended}: the gap is {gap:.3g} after {found.cells:,} cells"


def _by_alternating(origin: Origin, limits: Limits) -> Finding:
    """The optimum of any rank cut down to this one, then random factors; the SDP bounds them."""
    words = {word: origin.parameters[word] for word in WORDS}
    starts = limits.options.get("starts", STARTS)
    found = matrix_alternating(
        origin.data, **words, starts=starts, seed=limits.seed or 0, time_limit=limits.time_limit
    )
    stopped = found.stop is StopReason.INTERRUPTED
    relaxed = None if stopped else _projection(origin, words, limits)
    return Finding(
        _factors(origin, found.w, found.b),
        Status.INTERRUPTED if stopped else Status.FEASIBLE,
        ALTERNATING,
        bound=_relaxed(relaxed),
        facts={
            "no_duals": "no multipliers: a heuristic has none of the model's rows",
            "starts": len(found.solutions),
            "start_values": [each.objective for each in found.solutions],
            "stop": found.stop,
        },
        message=f"{len(found.solutions)} of {starts} starts, the best ended at "
        f"{found.objective:.9g}",
    )


def _relaxed(result: SolveResult | None) -> Lemma | None:
    """The bound of the projection SDP, which every factored matrix is a point of."""
    if result is None or result.bound is None:
        return None
    words = f"{PROJECTION}: {result.certificate.bound_method}"
    return Lemma(result.bound, words, {"the bound of the SDP is proven": True})


def _projection(origin: Origin, words: Mapping[str, Any], limits: Limits) -> SolveResult:
    model = CATALOGUE[PROJECTION].build(origin.data, **words)
    return solve(model, method=DIRECT, time_limit=limits.time_limit, threads=limits.threads)


def _refuses(origin: Origin) -> str:
    size = checked_shape(origin.parameters["shape"], origin.data.d)
    rank = checked_rank(origin.parameters["rank"], *size)
    if is_searchable(size, rank):
        return ""
    return f"it takes rank 1 and rank {min(size) - 1} of {size[0]} x {size[1]}, not {rank}"


def _leaves_to_search(origin: Origin) -> str:
    m, n = checked_shape(origin.parameters["shape"], origin.data.d)
    if min(m, n) > SIDE or m * n > ENTRIES or origin.data.n > POINTS:
        return ""
    return f"up to {SIDE} rows or columns it proves in seconds what the bilinear model leaves open"


register_method(
    Method(
        MATRIX_SEARCH,
        (EXACT,),
        _by_search,
        "branch and bound over directions, which proves the optimum for ranks 1 and one below full",
        refuses=_refuses,
        automatic=_leaves_to_search,
    )
)
register_method(
    Method(
        ALTERNATING,
        (EXACT,),
        _by_alternating,
        "alternating machines, a good point with the bound of the projection SDP",
        options=("starts",),
        draws=True,
    )
)
register_closing_bounds(ClosingBounds(lambda origin: origin.entry == EXACT, matrix_bound))


def _incumbent(entry: Entry, data: Any, parameters: Mapping[str, Any]) -> tuple[Array, float]:
    return matrix_incumbent(data.points, parameters)


def _start(model: pyo.ConcreteModel, data: Any, incumbent: tuple[Any, Any]) -> None:
    """Nothing: solvers take no start of a bilinear model."""


register_incumbents(
    IncumbentHeuristic(
        lambda entry: "rank" in entry.parameters,
        _incumbent,
        _start,
        ("ridge", "shape", "rank", "intercept"),
    )
)
