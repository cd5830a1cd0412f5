"""What is known of the truncated hinge of several classes: methods, closing bounds, incumbents.

The d.c. algorithm ends where it cannot improve; that this is the optimum it does not say. Its bound
is that of a short branch and bound on the exact problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Entry, Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.multiclass.hinge import (
    classes_and_intercepts,
    multiclass_hinge,
    smallest_leads,
)
from tightmargin.formulations.multiclass.truncated_hinge import Machine, cap_of
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.engines.running import Limits, StopReason, deriving_time
from tightmargin.solvers.hinge.batch_multiclass import LARGEST
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.multiclass.dca import truncated_dca
from tightmargin.solvers.multiclass.search import AT_ONCE, TruncatedSearch, truncated_search
from tightmargin.solvers.registry import (
    ClosingBounds,
    Finding,
    IncumbentHeuristic,
    Method,
    register_closing_bounds,
    register_incumbents,
    register_method,
)
from tightmargin.solvers.searches import finding_of, register_finding
from tightmargin.solvers.solve import solve

# --- The bound that a certificate of multiclass_truncated asks for, by our own branch and bound --


BRANCHES = "branch and bound over"
TREE = {"no leaf of the tree, open ones included, holds a better machine": True}
# Nodes that take a few seconds: the number of a machine's products sets the time of each.
MOST_NODES, PRODUCTS, POINT_LIMIT, CLOSING_STARTS = 5_000, 20_000_000, 200, 10


def affordable_nodes(data: MulticlassData) -> int:
    """Nodes of a branch and bound that takes a few seconds; 0 where it is not worth a start."""
    unknowns = (data.n_classes - 1) * (data.d + 1)
    limit = min(MOST_NODES, PRODUCTS // (data.n * data.n_classes * unknowns**2))
    return 0 if limit < AT_ONCE or data.n > POINT_LIMIT else limit


def truncated_bound(origin: Origin) -> Lemma | None:
    """Lower bound on a model of multiclass_truncated; None without one."""
    data, words = origin.data, origin.parameters
    limit = affordable_nodes(data)
    if not limit:
        return None
    weight = words["class_weight"]
    found = _remembered(
        data,
        float(words["ridge"]),
        float(words["truncation"]),
        None if weight is None else tuple(float(c) for c in weight),
        words["intercept"],
        limit,
    )
    # A machine that was solved badly may leave a gap where no node is left.
    closed = found.objective - found.bound <= 2 * SEARCH_GAP * found.objective
    finished = "" if closed else "unfinished "
    return Lemma(found.bound, f"{finished}{BRANCHES} {found.nodes:,} nodes", TREE)


@lru_cache(maxsize=4)
def _remembered(
    data: MulticlassData,
    ridge: float,
    truncation: float,
    class_weight: tuple[float, ...] | None,
    intercept: str,
    limit: int,
) -> TruncatedSearch:
    """One certificate asks more than once; the same bound every time, whatever the solver found."""
    words: dict[str, Any] = {"ridge": ridge, "truncation": truncation,
                             "class_weight": class_weight, "intercept": intercept}  # fmt: skip
    start = truncated_dca(data, **words, starts=CLOSING_STARTS)
    known = (start.B, start.b)
    found = truncated_search(data, **words, incumbent=known, node_limit=limit)
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return found


# --- A good point of the truncated hinge loss of several classes, and models started from it -----


WORDS = ("ridge", "truncation", "class_weight", "intercept")
INCUMBENT_STARTS, MANY_POINTS = 10, 200  # from there on the hinge machine is the only start


def truncated_incumbent(
    entry: str, data: MulticlassData, parameters: Mapping[str, Any]
) -> tuple[Array, Array]:
    """Scores (B, b) with a small truncated loss, by the d.c. algorithm from a few starts.

    With more unknowns than that algorithm takes, those of multiclass_hinge.

    Raises ValueError: a hyperparameter that the builder refuses.
    """
    declared = CATALOGUE[entry].parameters
    words = {word: parameters.get(word, declared[word].default) for word in WORDS}
    cap_of(words["truncation"])
    if (data.n_classes - 1) * (data.d + 1) <= LARGEST:
        starts = INCUMBENT_STARTS if data.n < MANY_POINTS else 1
        found = truncated_dca(data, **words, starts=starts, time_limit=deriving_time())
        return found.B, found.b
    words.pop("truncation")
    model = multiclass_hinge(data, **words)
    return classes_and_intercepts(model.origin, solve(model).values, {})


def start_classes(model: pyo.ConcreteModel, data: MulticlassData, incumbent: Machine) -> None:
    """Give the variables of a truncated model the incumbent's values."""
    B, b = (np.asarray(part, dtype=float) for part in incumbent)
    loss = np.maximum(0.0, 1 - smallest_leads(data, B, b))
    z = loss > cap_of(model.origin.parameters["truncation"])
    numbers = {"B": B.ravel(), "b": b, "v": loss, "z": z.astype(float)}
    for name, values in (numbers | {"xi": np.where(z, 0.0, loss)}).items():
        component = model.find_component(name)
        if component is not None:
            for variable, number in zip(component.values(), values.tolist(), strict=True):
                variable.set_value(number, skip_validation=True)


ENTRY = "multiclass_truncated"
TRUNCATED_SEARCH, DCA = "truncated-search", "dca"
STARTS, NODES = 10, 1000


def _by_search(origin: Origin, limits: Limits) -> Finding:
    """Branch and bound over kept and given-up points; a big-M plays no part in it."""
    words = {word: origin.parameters[word] for word in (*WORDS, "incumbent")}
    return _finding(origin, truncated_search(origin.data, **words, time_limit=limits.time_limit))


def _finding(origin: Origin, found: TruncatedSearch) -> Finding:
    return finding_of(
        found,
        {"B": found.B.ravel(), "b": found.b},
        TRUNCATED_SEARCH,
        Lemma(found.bound, f"{BRANCHES} {found.nodes:,} nodes", TREE),
        over="given-up points",
        effort=f"{found.nodes:,} nodes",
        nodes=found.nodes,
    )


register_finding(TruncatedSearch, _finding)


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
        (ENTRY,),
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
