"""The bound that a certificate of multiclass_truncated asks for, by our own branch and bound."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.multiclass.branch_and_bound import (
    AT_ONCE,
    GAP,
    TruncatedSearch,
    truncated_search,
)
from tightmargin.solvers.multiclass.dca import truncated_dca

BRANCHES = "branch and bound over"
TREE = {"no leaf of the tree, open ones included, holds a better machine": True}
# Nodes that take a few seconds: the number of a machine's products sets the time of each.
MOST_NODES, PRODUCTS, POINT_LIMIT, STARTS = 5_000, 20_000_000, 200, 10


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
    closed = found.objective - found.bound <= 2 * GAP * found.objective
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
    start = truncated_dca(data, **words, starts=STARTS)
    known = (start.B, start.b)
    found = truncated_search(data, **words, incumbent=known, node_limit=limit)
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return found
