"""What is known of the extended robust machine: its global search, and the d.c. algorithm.

The d.c. algorithm ends where it cannot improve; that this is the optimum it does not say. Its bound
is that of a short search.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.cuts.conical.result import RobustSearch
from tightmargin.cuts.conical.robust_search import LARGEST, robust_search
from tightmargin.cuts.conical.simplicial import MOST_DIMENSIONS, WORDS
from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.engines.running import Limits, StopReason, is_over, seconds_left
from tightmargin.solvers.exact import rounded_down
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.nu.local_search import robust_dca
from tightmargin.solvers.registry import (
    ClosingBounds,
    Finding,
    Method,
    Values,
    register_closing_bounds,
    register_method,
)
from tightmargin.solvers.searches import finding_of, register_finding

ENTRY = "extended_robust_svc"
ROBUST_SEARCH, DCA = "robust-search", "dca"
STARTS = 20
DIMENSIONS, POINTS = 7, 1000  # up to which the search takes seconds to minutes
CELLS = 1000  # of a short search: a few seconds


def dimensions(origin: Origin) -> int:
    """Numbers (w, b) of a model."""
    return int(origin.data.d) + (origin.parameters["intercept"] != "none")


def _words(origin: Origin) -> dict[str, Any]:
    return {word: origin.parameters[word] for word in ("nu", "mu", "intercept")}


def lemma_of(origin: Origin, found: RobustSearch) -> Lemma | None:
    """What the kernel proved, as a bound on the model.

    The model's prices are doubles: that of a slack is c, near 1 / n, and `level_price` is at most
    that of (nu - mu) n errors. So its objective at any of its points is n c times a value that is
    nowhere below the least risk, which is at most 0.
    """
    if found.lemma is None:
        return None
    n = int(origin.data.n)
    value = rounded_down(Fraction(found.lemma.value) * n * Fraction(1 / n))
    opening = "" if found.stop is StopReason.PROVEN else "unfinished "
    return Lemma(value, opening + found.lemma.words, found.lemma.hypotheses)


def _by_search(origin: Origin, limits: Limits) -> Finding:
    found = robust_search(
        origin.data.points, **_words(origin), gap=SEARCH_GAP, time_limit=limits.time_limit
    )
    return _finding(origin, found)


def _finding(origin: Origin, found: RobustSearch) -> Finding:
    return finding_of(
        found,
        _machine(found.w, found.b),
        ROBUST_SEARCH,
        lemma_of(origin, found),
        over="cones",
        effort=f"{found.cells:,} cones",
        cells=found.cells,
    )


register_finding(RobustSearch, _finding)


def _machine(w: Array, b: float) -> dict[str, Array]:
    """What fixes a point; the entry's check gives the best levels and outliers for it."""
    return {"w": w, "b": np.asarray(b)}


def short_search(origin: Origin, values: Values | None) -> RobustSearch | None:
    """A search of a few seconds, from a known machine on; None where it would take longer."""
    if is_over() or _refuses(origin) or not _is_small(origin):
        return None
    known = None
    if values is not None:
        known = np.asarray(values["w"]), float(values["b"]) if "b" in values else 0.0
    return robust_search(
        origin.data.points, **_words(origin), incumbent=known, gap=SEARCH_GAP,
        time_limit=seconds_left(), cell_limit=CELLS,
    )  # fmt: skip


def robust_bound(origin: Origin, values: Values | None) -> Lemma | None:
    """Bound of a short search."""
    found = short_search(origin, values)
    if found is None:
        return None
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return lemma_of(origin, found)


def _by_dca(origin: Origin, limits: Limits) -> Finding:
    """The d.c. algorithm from many starts, with the bound of a short search."""
    starts = limits.options.get("starts", STARTS)
    local = robust_dca(
        origin.data, **_words(origin), starts=starts, seed=limits.seed or 0,
        time_limit=limits.time_limit,
    )  # fmt: skip
    machine = _machine(local.w, local.b)
    found = None if local.interrupted else short_search(origin, machine)
    stopped = local.interrupted or (found is not None and found.stop is StopReason.INTERRUPTED)
    return Finding(
        machine,
        Status.INTERRUPTED if stopped else Status.FEASIBLE,
        DCA,
        bound=None if found is None else lemma_of(origin, found),
        facts={
            "no_duals": "no multipliers: a heuristic has none of the model's rows",
            "starts": len(local.ends),
            "start_values": local.ends.tolist(),
        },
        message=f"{len(local.ends)} of {starts} starts, the best ended at {local.risk:.9g}",
    )


def _refuses(origin: Origin) -> str:
    if dimensions(origin) > MOST_DIMENSIONS:
        return (
            f"(w, b) has {dimensions(origin)} numbers, and the search takes {MOST_DIMENSIONS} at "
            "most"
        )
    if float(np.abs(np.asarray(origin.data.points.X)).max(initial=0.0)) > LARGEST:
        return "features are beyond 2^200 in size; give X in another unit"
    return ""


def _is_small(origin: Origin) -> bool:
    return dimensions(origin) <= DIMENSIONS and int(origin.data.n) <= POINTS


def _leaves_to_search(origin: Origin) -> str:
    if not _is_small(origin):
        return ""
    intercept = "none" if origin.parameters["intercept"] == "none" else "penalised"
    columns = np.asarray(augmented(origin.data.points, intercept))
    if np.linalg.matrix_rank(columns) < columns.shape[1]:
        return ""  # along (w, b) without any score cones close slowly: minutes on five points
    return f"up to {DIMENSIONS} numbers (w, b) it proves what binaries for the points leave open"


register_method(
    Method(
        ROBUST_SEARCH,
        (ENTRY,),
        _by_search,
        "branch and bound over simplicial cones of (w, b), which needs no binaries",
        refuses=_refuses,
        automatic=_leaves_to_search,
    )
)
register_method(
    Method(
        DCA,
        (ENTRY,),
        _by_dca,
        "the d.c. algorithm from many starts, with the bound of a short search over cones",
        options=("starts",),
        draws=True,
    )
)
register_closing_bounds(ClosingBounds((ENTRY,), robust_bound, optimal=(WORDS,)))
