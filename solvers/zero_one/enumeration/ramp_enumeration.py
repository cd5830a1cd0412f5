"""Exact optimum of the ramp loss in few dimensions, by enumeration of the capped points.

    min  1/2 norm2 + C sum_i min(2, max(0, 1 - u_i)),      u_i = y_i (<w, x_i> + b)

Which sets are enough. Given the set S of points that pay 2 C whatever happens, the rest is convex,

    F(S) = 2 C |S| + min  1/2 norm2 + C sum over i not in S of max(0, 1 - u_i),

and F(S) is at least the optimum for every S (a capped loss is no larger), with equality for
S* = {i : u_i < -1} at an optimum. So the optimum is the least F(S) over any family that holds S*,
such as that of capped_sets.py. Sets with 2 C |S| above a known objective are left out, and F(S) is
bounded from below by weak duality (hinge_batch/binary.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.formulations.zero_one.big_m import derive_ramp_big_m
from tightmargin.formulations.zero_one.ramp import ramp_objective
from tightmargin.solvers.hinge_batch.binary import hinge_machines
from tightmargin.solvers.zero_one.enumeration.active_sets import Points, distinct_points
from tightmargin.solvers.zero_one.enumeration.capped_sets import capped_sets

VERTEX_LIMIT = 100_000
AT_ONCE = 4_000  # machines of a batch
STARTS, DESCENTS = 60, 12


@dataclass(frozen=True, eq=False)
class RampEnumeration:
    """The optimum of a ramp loss problem, enclosed.

    Attributes
    ----------
    objective : float
        Objective of (w, b).
    bound : float
        No hyperplane has a smaller objective.
    n_sets : int
        Number of sets of capped points whose machine was solved.
    """

    objective: float
    bound: float
    w: Array
    b: float
    n_sets: int


def count_vertices(n: int, d: int, intercept: str) -> int:
    """Number of subsets of n points that the enumeration in d dimensions looks at."""
    return math.comb(n, d if intercept == "none" else d + 1)


def ramp_bound(origin: Origin) -> Lemma | None:
    """Lower bound on a model of ramp_big_m; None where there is none."""
    data, parameters = origin.data, origin.parameters
    intercept = parameters["intercept"]
    if count_vertices(data.n, data.d, intercept) > VERTEX_LIMIT:
        return None
    found = _remembered(data, parameters["C"], intercept)
    if found is None:
        return None
    words = f"enumeration of {found.n_sets:,} sets of capped points"
    return Lemma(found.bound, words, {"every set that a hyperplane caps was solved": True})


@lru_cache(maxsize=4)
def _remembered(data: TrainingData, C: float, intercept: str) -> RampEnumeration | None:
    """One certificate asks more than once."""
    return ramp_enumeration(data, C=C, intercept=intercept)


@unweighted_unlike("ramp_big_m")
@reads_dense_points
def ramp_enumeration(
    data: TrainingData, *, C: float, intercept: str, limit: int = VERTEX_LIMIT
) -> RampEnumeration | None:
    """Exact optimum over all sets of capped points; the module's docstring has the proof.

    Returns
    -------
    RampEnumeration or None
        None when the features are dependent, or too many points lie on common hyperplanes.

    Raises
    ------
    ValueError
        More vertices than `limit`, a bad C, an unknown intercept.
    """
    cost = positive("C", C)
    one_of("intercept", intercept, INTERCEPTS)
    points = distinct_points(data, intercept)
    free = intercept == "free"
    rows = np.column_stack([points.rows, np.ones(len(points.y))]) if free else points.rows
    count = math.comb(*rows.shape)
    if count > limit:
        raise ValueError(
            f"limit = {limit:,} is below the {count:,} sets of {rows.shape[1]} of {len(rows)} "
            "distinct points; raise limit, or use a mixed-integer solver"
        )
    return _RampSearch(data, points, rows, cost).run()


@dataclass(eq=False)
class _RampSearch:
    data: TrainingData
    points: Points
    rows: Array
    C: float
    w: Array | None = None
    b: float = 0.0
    known: float = np.inf
    lower: float = np.inf

    def __post_init__(self) -> None:
        free = self.points.intercept == "free"
        self.G = self.points.y[:, None] * self.rows
        self.price = np.ones(self.rows.shape[1])
        self.price[-1] = 0.0 if free else 1.0
        self.weight = self.points.weight
        # The closed-form point that derive_ramp_big_m starts from.
        start = derive_ramp_big_m(self.data, C=self.C, intercept=self.points.intercept)
        self.ceiling = start.upper_bound

    def run(self) -> RampEnumeration | None:
        """All sets, cheapest first."""
        nobody = np.zeros((1, len(self.G)), dtype=bool)
        self._descend(nobody)
        most = min(self.known, self.ceiling) / (2 * self.C)
        sets = capped_sets(self.data, self.points, self.rows, most)
        if sets is None:
            return None
        sets = np.concatenate([nobody, sets])
        rng = np.random.default_rng(0)
        self._descend(sets[rng.choice(len(sets), min(STARTS, len(sets)), replace=False)])
        solved = self._bound(sets)
        assert self.w is not None
        lower = min(self.lower, self.known, self.ceiling)
        return RampEnumeration(self.known, lower, self.w, self.b, solved)

    # --- machines ----------------------------------------------------------------------------

    def _machines(self, sets: Mask) -> tuple[Array, Array]:
        """v (B, k) and lower bounds of F (B,) for sets (B, m); the best v is remembered."""
        costs = np.where(sets, 0.0, self.C * self.weight)
        # At an optimum of F some point has u_i = 1, so |b| <= 1 + ||w|| max ||row||.
        size = float(np.linalg.norm(self.rows, axis=1).max())
        top = min(self.known, self.ceiling)
        reach = 2 + math.sqrt(2 * top) * size
        found = hinge_machines(self.G, self.price, costs, reach)
        u = found.v @ self.G.T
        loss = np.minimum(2.0, np.maximum(0.0, 1 - u)) @ self.weight
        value = 0.5 * (found.v**2) @ self.price + self.C * loss
        k = int(np.argmin(np.where(np.isfinite(value), value, np.inf)))
        if value[k] < self.known:
            w, b = self._hyperplane(found.v[k])
            exact = ramp_objective(self.data, w, b, self.C, self.points.intercept)
            if exact < self.known:
                self.known, self.w, self.b = exact, w, b
        return found.v, found.lower + 2 * self.C * (sets @ self.weight)

    def _hyperplane(self, v: Array) -> tuple[Array, float]:
        if self.points.intercept == "none":
            return v, 0.0
        w, b = v[:-1], float(v[-1])
        return w, b - float(w @ self.points.centre)

    def _descend(self, sets: Mask) -> None:
        """Cap what is beyond the cap, solve again: the objective never rises."""
        for _ in range(DESCENTS):
            before = self.known
            v, _ = self._machines(sets)
            sets = v @ self.G.T < -1
            if self.known >= before:
                break

    def _bound(self, sets: Mask) -> int:
        """Least lower bound of F over sets; those above the incumbent by their caps count as it."""
        paid = 2 * self.C * (sets @ self.weight)
        order = np.argsort(paid, kind="stable")
        solved = 0
        for start in range(0, len(order), AT_ONCE):
            some = order[start : start + AT_ONCE]
            some = some[paid[some] < self.known]
            if some.size:
                _, lower = self._machines(sets[some])
                self.lower = min(self.lower, float(lower.min()))
                solved += len(some)
        return solved
