"""What is known of the truncated hinge of several classes: methods, closing bounds, incumbents.

The d.c. algorithm ends where it cannot improve; that this is the optimum it does not say. Its bound
is that of a short branch and bound on the exact problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tightmargin.formulations.catalogue import Entry, Origin
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.hinge_batch.multiclass import LARGEST
from tightmargin.solvers.methods import (
    ClosingBounds,
    Finding,
    IncumbentHeuristic,
    Method,
    register_closing_bounds,
    register_incumbents,
    register_method,
)
from tightmargin.solvers.multiclass.branch_and_bound import TruncatedSearch, truncated_search
from tightmargin.solvers.multiclass.closing_bounds import (
    BRANCHES,
    TREE,
    affordable_nodes,
    truncated_bound,
)
from tightmargin.solvers.multiclass.dca import truncated_dca
from tightmargin.solvers.multiclass.incumbent import WORDS, start_classes, truncated_incumbent

ENTRY = "multiclass_truncated"
TRUNCATED_SEARCH, DCA = "truncated-search", "dca"
STARTS, NODES = 10, 1000
STATUS = {StopReason.PROVEN: Status.OPTIMAL, StopReason.INTERRUPTED: Status.INTERRUPTED}


def _by_search(origin: Origin, limits: Limits) -> Finding:
    """Branch and bound over kept and given-up points; a big-M plays no part in it."""
    words = {word: origin.parameters[word] for word in (*WORDS, "incumbent")}
    found = truncated_search(origin.data, **words, time_limit=limits.time_limit)
    return Finding(
        {"B": found.B.ravel(), "b": found.b},
        STATUS.get(found.stop, Status.FEASIBLE),
        TRUNCATED_SEARCH,
        bound=Lemma(found.bound, f"{BRANCHES} {found.nodes:,} nodes", TREE),
        facts={
            "no_duals": "no multipliers: a search over given-up points has none of the rows",
            "stop": str(found.stop),
            "nodes": found.nodes,
        },
        message=_message(found),
    )


def _message(found: TruncatedSearch) -> str:
    if found.stop is StopReason.PROVEN:
        return ""
    gap = found.objective - found.bound
    return f"{found.stop.replace('_', ' ')}: the gap is {gap:.3g} after {found.nodes:,} nodes"


def _by_dca(origin: Origin, limits: Limits) -> Finding:
    """The d.c. algorithm from the hinge machine and from others, with the bound of a short tree."""
    words = {word: origin.parameters[word] for word in WORDS}
    starts = limits.options.get("starts", STARTS)
    found = truncated_dca(
        origin.data, **words, starts=starts, seed=limits.seed or 0, time_limit=limits.time_limit
    )
    nodes = 0 if found.interrupted else min(NODES, affordable_nodes(origin.data))
    tree = None
    if nodes:
        tree = truncated_search(
            origin.data,
            **words,
            incumbent=(found.B, found.b),
            node_limit=nodes,
            time_limit=limits.time_limit,
        )
    stopped = found.interrupted or (tree is not None and tree.stop is StopReason.INTERRUPTED)
    return Finding(
        {"B": found.B.ravel(), "b": found.b},
        Status.INTERRUPTED if stopped else Status.FEASIBLE,
        DCA,
        bound=None if tree is None else Lemma(tree.bound, f"{BRANCHES} {tree.nodes:,} nodes", TREE),
        facts={
            "no_duals": "no multipliers: a heuristic has none of the model's rows",
            "starts": found.starts,
            "start_values": [run.objective for run in found.runs],
        },
        message=f"{found.starts} of {starts} starts, the best ended at {found.objective:.9g}",
    )


def _leaves_to_search(origin: Origin) -> str:
    data: MulticlassData = origin.data
    given = origin.parameters["big_m"]
    unknowns = (data.n_classes - 1) * (data.d + 1)
    if not isinstance(given, str) or unknowns > LARGEST or not affordable_nodes(data):
        return ""
    return "where its nodes take seconds it proves the optimum without a big-M"


register_method(
    Method(
        TRUNCATED_SEARCH,
        (ENTRY,),
        _by_search,
        "branch and bound over given-up points, which proves the optimum without a solver",
        automatic=_leaves_to_search,
    )
)
register_method(
    Method(
        DCA,
        (ENTRY,),
        _by_dca,
        "the d.c. algorithm, a good point with the bound of a short branch and bound",
        options=("starts",),
        draws=True,
    )
)
register_closing_bounds(
    ClosingBounds(
        lambda origin: origin.entry == ENTRY,
        lambda origin, _: truncated_bound(origin),
        optimal=(BRANCHES,),
    )
)


def _incumbent(entry: Entry, data: Any, parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    return truncated_incumbent(entry.name, data, parameters)


register_incumbents(
    IncumbentHeuristic(
        lambda entry: MulticlassData in entry.takes and "truncation" in entry.parameters,
        _incumbent,
        start_classes,
        WORDS,
    )
)
