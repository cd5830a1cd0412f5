"""Exact optimum of the truncated hinge loss of several classes, by branch and bound.

    min  ridge N + sum_i c_i min([1 - u_i]_+, t),      t = 1 - s

A node says of some points that they are kept (u_i >= s: they cost their hinge loss), of some that
they are given up (they pay c_i t), and nothing of the others. At the optimum that multiclass_big_m
keeps, an open point either is kept, or has 1 - u_i <= M_i; so it costs at least t / M_i times its
hinge loss when M_i >= t, and is kept otherwise. With these factors a node is bounded by a hinge
machine with other costs, whose bound is proven (node_bounds.py). What the given-up points pay
is known, and so is who is kept, so M_i shrinks down the tree. The least bound of the nodes that are
left is a bound on the problem whenever the search is stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import ClassWeight, unweighted_unlike
from tightmargin.formulations.multiclass.hinge import class_costs, smallest_leads
from tightmargin.formulations.multiclass.truncated_hinge import (
    big_m_paid,
    cap_of,
    checked_machine,
    truncated_objective,
)
from tightmargin.formulations.zero_one.loss import EPS
from tightmargin.number_words import count_text
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.engines.running import StopReason, drive
from tightmargin.solvers.hinge.batch_multiclass import (
    Space,
    hinge_multipliers,
    machine_space,
    slope_of,
)
from tightmargin.solvers.searches import CatalogueModel, GlobalSearch, Trace

# --- Lower bounds on hinge machines of several classes by weak duality, from any multipliers -----
#     min  ridge N + sum_i c_i max(0, max_k 1 - f_{y_i}(x_i) + f_k(x_i)),      N = sum_k ||B_k||^2
# is at least  sum a_ik - ||pull||^2 / (4 ridge) - ||pull on b|| reach  for a_ik >= 0 with sum over
# k other than y_i of a_ik <= c_i, where pull = sum a_ik (gradient of f_{y_i}(x_i) - f_k(x_i)) and
# reach bounds ||b|| at an optimum; with a penalised or no intercept the last term is not there.


def intercept_reach(space: Space, ridge: float, truncation: float, known: float) -> float:
    """Bound on ||b|| at the optimum that multiclass_big_m keeps, from a known objective.

    There every class a has a point j at which f_a - f_k >= min(s, -1) for all k (its own kept
    point, or the one where it would begin to cost something), so b_a - b_k >= min(s, -1) -
    sqrt(2 known / ridge) max ||x||, for every pair; and b sums to zero.
    """
    points = space.X * space.unit
    if space.intercept != "none":
        points = points[:, :-1]
    farthest = float(np.sqrt((points**2).sum(axis=1).max()))
    most = max(1.0, -truncation) + math.sqrt(2 * known / ridge) * farthest
    return math.sqrt(len(space.Q)) * most * (1 + 1e-9)


def hinge_bounds(space: Space, costs: Array, multipliers: Array, reach: float) -> Array:
    """Proven lower bounds (B,) of the machines with costs (B, n); multipliers (B, n, K)."""
    a = _into_box(space, costs, multipliers)
    free = space.price == 0
    if free.any():
        a = _balanced(space, a)
    pull = slope_of(space, a, space.y)
    total = a.sum(axis=(1, 2))
    # Each entry of pull is a sum of n K products, with |x| and twice the multipliers in them.
    size = 2 * a.sum(axis=2) @ np.abs(space.X)
    error = 8 * (costs.shape[1] * len(space.Q) + 16) * EPS * size
    priced, width = ~free, np.abs(pull).max(axis=1) + error
    count = space.Q.shape[1]
    square = (pull[:, :, priced] ** 2 / (4 * space.price[priced])).sum(axis=(1, 2))
    slack = count * (width[:, priced] * error[:, priced] / space.price[priced]).sum(axis=1)
    lower: Array = total * (1 - 8 * costs.shape[1] * EPS) - square * (1 + 64 * EPS) - slack
    if free.any():
        left = np.sqrt((pull[:, :, free] ** 2).sum(axis=(1, 2))) + count * error[:, free].sum(
            axis=1
        )
        lower = lower - left * reach
    return lower


def _into_box(space: Space, costs: Array, multipliers: Array) -> Array:
    """Multipliers of the other classes, at least 0 and with a sum of at most the cost."""
    a = np.maximum(np.where(np.isfinite(multipliers), multipliers, 0.0), 0.0)
    a[:, np.arange(len(space.y)), space.y] = 0.0
    total = a.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(total > costs, costs / total, 1.0)
    return a * np.where(np.isfinite(factor), factor, 0.0)[:, :, None]


def _balanced(space: Space, a: Array) -> Array:
    """Smaller multipliers by which each class gives as much as it takes, as far as that goes.

    What class k gives to another is the sum of its a_i,other over the points i of k. Where k gives
    too much and the other takes too much, less goes there.
    """
    K = len(space.Q)
    members = (space.y[:, None] == np.arange(K)).astype(float)
    flow = np.einsum("ik,bil->bkl", members, a)
    excess = flow.sum(axis=2) - flow.sum(axis=1)
    factor = np.ones(flow.shape)
    for k in range(K):
        for other in range(K):
            most = flow[:, k, other]
            less = np.clip(np.minimum(excess[:, k], -excess[:, other]), 0.0, most)
            with np.errstate(divide="ignore", invalid="ignore"):
                factor[:, k, other] = np.where(most > 0, 1 - less / most, 1.0)
            excess[:, k] -= less
            excess[:, other] += less
    return a * factor[:, space.y, :]


States = NDArray[np.int8]

OPEN, KEPT, GIVEN_UP = 0, 1, 2
AT_ONCE = 64  # nodes that are branched together
NODE_LIMIT = 20_000


@dataclass(frozen=True, eq=False, repr=False)
class TruncatedSearch(GlobalSearch):
    """The optimum of a truncated hinge problem, enclosed; see GlobalSearch.

    B, b (K, d) (K,).
    nodes: hinge machines that were solved.
    """

    B: Array
    b: Array
    nodes: int
    _parts = ".B, .b, .trace, .to_frame()"

    def _title(self) -> str:
        return f"TruncatedSearch: {len(self.b)} classes, {count_text(self.B.shape[1], 'feature')}"

    def _effort(self) -> str:
        return f"{count_text(self.nodes, 'node')}, {self.seconds:.2g} s"


@unweighted_unlike("multiclass_truncated")
def truncated_search(
    data: MulticlassData,
    *,
    ridge: float,
    truncation: float,
    class_weight: ClassWeight = None,
    intercept: str = "free",
    incumbent: tuple[ArrayLike, ArrayLike] | None = None,
    gap: float = SEARCH_GAP,
    node_limit: int = NODE_LIMIT,
    time_limit: float | None = None,
) -> TruncatedSearch:
    """Branch and bound over kept and given-up points; the module's docstring has the proof.

    Parameters
    ----------
    data : MulticlassData
        Points and their classes.
    ridge, truncation, class_weight, intercept
        As for multiclass_truncated.
    incumbent : (B, b), optional
        Scores to start from.
    gap : float
        Relative gap at which a node is no longer looked at.
    node_limit : int
        Most machines to solve.
    time_limit : float, optional
        Seconds; the best point and bound are kept, as after Ctrl-C.

    Raises
    ------
    ValueError
        A bad hyperparameter, incumbent or limit; more than 3000 unknowns (K - 1)(d + 1).

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.gaussian_class_data(n=12, d=2, classes=3, sigma=0.5, seed=0)
    >>> found = tm.search.truncated_search(data, ridge=0.1, truncation=0.0)
    >>> found.objective - found.bound < 1e-5
    True
    """
    words = {"ridge": ridge, "truncation": truncation, "class_weight": class_weight,
             "intercept": intercept}  # fmt: skip
    cap_of(truncation)
    if not 0 <= gap < 1:
        raise ValueError(f"gap must be a number from 0 to below 1, got {gap!r}")
    if not isinstance(node_limit, int) or isinstance(node_limit, bool) or node_limit < 0:
        raise ValueError(f"node_limit must be a whole number of at least 0, got {node_limit!r}")
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must be at least 0 seconds, got {time_limit!r}")
    space = machine_space(data, ridge, intercept)
    search = _TruncatedSearch(data, space, words, gap, node_limit, time_limit)
    if incumbent is not None:
        search.offer(*checked_machine("incumbent", incumbent, data))
    stop = drive("branch and bound over given-up points", search)
    seconds, lower = search.elapsed(), min(search.bound(), search.known)
    search.trace.note(seconds, search.nodes, lower, search.known, last=True)
    known = words | {"big_m": "derived", "incumbent": (search.B, search.b)}
    return TruncatedSearch(
        objective=search.known, bound=lower, stop=stop, seconds=seconds,
        trace=tuple(search.trace.points), B=search.B, b=search.b, nodes=search.nodes,
        about=CatalogueModel("multiclass_truncated", data, known),
    )  # fmt: skip


@dataclass(eq=False)
class _TruncatedSearch:
    data: MulticlassData
    space: Space
    words: Mapping[str, Any]
    gap: float
    node_limit: int
    time_limit: float | None
    nodes: int = 0
    settled: float = np.inf  # least bound of the nodes that are done with
    known: float = field(init=False)

    def __post_init__(self) -> None:
        n, K, d = self.data.n, self.data.n_classes, self.data.d
        self.started, self.trace = time.perf_counter(), Trace()
        self.costs = class_costs(self.data, self.words["class_weight"])
        self.cap = cap_of(self.words["truncation"])
        self.B, self.b = np.zeros((K, d)), np.zeros(K)
        self.known = np.inf
        self.offer(self.B, self.b)
        if self.words["intercept"] == "free":
            best = int(np.bincount(self.data.y, weights=self.costs).argmax())
            self.offer(self.B, np.where(np.arange(K) == best, 1 - 1 / K, -1 / K))
        self.states: States = np.zeros((1, n), dtype=np.int8)
        self.bounds = np.zeros(1)
        self.branch = np.full(1, -1)
        self.centres = np.zeros((1, self.space.Q.shape[1], self.space.X.shape[1]))

    @property
    def threshold(self) -> float:
        """Nodes at or above this bound need no closer look."""
        return self.known * (1 - self.gap)

    def bound(self) -> float:
        """What is proven now."""
        return float(min(self.settled, self.bounds.min(initial=np.inf)))

    def offer(self, B: Array, b: Array) -> None:
        """Remember scores if they are the best so far."""
        value = truncated_objective(self.data, B, b, **self.words)
        if value < self.known:
            self.known, self.B, self.b = value, B, b

    def begin(self) -> None:
        """Bound the whole."""
        self._solve(self.states, self.bounds, self.centres)
        self.states, self.bounds = self.states[1:], self.bounds[1:]
        self.branch, self.centres = self.branch[1:], self.centres[1:]

    @property
    def is_open(self) -> bool:
        """Whether a node is left."""
        return len(self.states) > 0

    def elapsed(self) -> float:
        """Seconds since the call."""
        return time.perf_counter() - self.started

    def limit(self) -> StopReason | None:
        """The limit that is reached."""
        seconds = self.elapsed()
        self.trace.note(seconds, self.nodes, min(self.bound(), self.known), self.known)
        if self.nodes >= self.node_limit:
            return StopReason.NODE_LIMIT
        late = self.time_limit is not None and seconds > self.time_limit
        return StopReason.TIME_LIMIT if late else None

    def standing(self) -> tuple[float, float, str]:
        """For the live line."""
        return min(self.bound(), self.known), self.known, f"{self.nodes:,} nodes"

    def step(self) -> None:
        """Branch the nodes with the least bounds."""
        order = np.argsort(self.bounds, kind="stable")[:AT_ONCE]
        taken = self.bounds[order] < self.threshold
        if not taken.all():  # from here on every node is at the threshold
            self._settle(np.delete(np.arange(len(self.bounds)), order[taken]))
            order = np.arange(len(self.bounds))
        if not len(order):
            return
        rows = np.arange(len(order))
        children = np.repeat(self.states[order], 2, axis=0)
        children[2 * rows, self.branch[order]] = KEPT
        children[2 * rows + 1, self.branch[order]] = GIVEN_UP
        bounds = np.repeat(self.bounds[order], 2)
        self._solve(children, bounds, np.repeat(self.centres[order], 2, axis=0))
        self._keep(np.delete(np.arange(len(self.states)), order))

    def _settle(self, rows: NDArray[np.intp]) -> None:
        self.settled = min(self.settled, float(self.bounds[rows].min(initial=np.inf)))
        self._keep(np.delete(np.arange(len(self.bounds)), rows))

    def _keep(self, rows: NDArray[np.intp]) -> None:
        self.states, self.bounds = self.states[rows], self.bounds[rows]
        self.branch, self.centres = self.branch[rows], self.centres[rows]

    def _proven(self, costs: Array, multipliers: Array, paid: Array) -> Array:
        """Bounds of nodes (B,) from the multipliers of their machines."""
        ridge, truncation = self.words["ridge"], self.words["truncation"]
        reach = intercept_reach(self.space, ridge, truncation, self.known)
        found = hinge_bounds(self.space, costs, multipliers, reach)
        return paid + np.where(np.isfinite(found), np.maximum(found, 0.0), 0.0)

    def _nearest_kept(self, kept: NDArray[np.bool_]) -> Array:
        """Distance from each point to the nearest kept point of its class, in each node (B, n)."""
        nearest = np.full(kept.shape, np.inf)
        for j in np.flatnonzero(kept.any(axis=0)):
            rows = np.ix_(kept[:, j], self.data.y == self.data.y[j])
            distance = np.linalg.norm(self.data.X[rows[1][0]] - self.data.X[j], axis=1)
            nearest[rows] = np.minimum(nearest[rows], distance)
        return nearest

    def _solve(self, states: States, bounds: Array, centres: Array) -> None:
        """Bound nodes by their machines and add those that stay open to the list."""
        given_up, kept = states == GIVEN_UP, states == KEPT
        paid = self.cap * (given_up @ self.costs)
        big_m = big_m_paid(
            self.data, self.costs, self.cap, self.words["ridge"], self.words["intercept"],
            self.known, paid, self._nearest_kept(kept),
        )  # fmt: skip
        factor = np.where(kept, 1.0, np.where(given_up, 0.0, np.minimum(1.0, self.cap / big_m)))
        costs = factor * self.costs
        A, multipliers = hinge_multipliers(self.space, costs, centres)
        self.nodes += len(states)
        bounds = np.maximum(bounds, self._proven(costs, multipliers, paid))
        B, b = self.space.machine(A)
        violation = np.empty(states.shape)
        for k in range(len(states)):
            self.offer(B[k], b[k])
            violation[k] = np.maximum(0.0, 1 - smallest_leads(self.data, B[k], b[k]))
        # Branch where the machine charges least of what the loss is.
        missing = self.costs * np.minimum(violation, self.cap) - costs * violation
        missing = np.where((states == OPEN) & (factor < 1), missing, -np.inf)
        branch = missing.argmax(axis=1)
        leaf = ~np.isfinite(missing.max(axis=1))
        poor = leaf & (bounds < self.threshold)  # its point was offered: the multipliers are poor
        if poor.any():
            again = hinge_multipliers(self.space, costs[poor], A[poor])[1]
            bounds[poor] = np.maximum(bounds[poor], self._proven(costs[poor], again, paid[poor]))
        done = leaf | (bounds >= self.threshold)
        self.settled = min(self.settled, float(bounds[done].min(initial=np.inf)))
        rows = ~done
        self.states = np.concatenate([self.states, states[rows]])
        self.bounds = np.concatenate([self.bounds, bounds[rows]])
        self.branch = np.concatenate([self.branch, branch[rows]])
        self.centres = np.concatenate([self.centres, A[rows]])
