"""The linear program of a node, min h(w) over a box and its rows, solved in HiGHS as its dual.

    max   tau (1 + l'u) - phi sigma'beta + s-'l - s+'u
    s.t.  -sum_i lambda_i z_i - tau (l + u) + sum_m sigma_m a_m = s- - s+,
          lambda in the masses and caps of U;  tau, sigma, s-, s+ >= 0

One row for each coordinate and group of points. With all points it stays in HiGHS: between two
nodes k coefficients and 2 k + 1 costs change, and the basis is kept. With many points a program of
those whose shares are in doubt (active_points.py) is quicker made than that is solved. The
multipliers of the first k rows are w. Without a box, and
with w_ref for l + u, the program shoots a ray from 0 along w_ref to the boundary of U: (9) of
Takeda & Sugiyama 2008, the step of their Algorithm 7. Nothing that HiGHS says is believed: bounds
are proven from the multipliers (node_bound.py), values found by sorting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.cuts.simplex import new_highs
from tightmargin.cuts.spatial_branching.active_points import Doubt, look, nothing_known, worthwhile
from tightmargin.cuts.spatial_branching.node_bound import (
    Bound,
    Multipliers,
    Rows,
    largest_entry,
    member,
    point_error,
    proven_bound,
)
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.nu.reduced_hull import ReducedHulls, support_value

# Of tau and sigma: where box and rows have no point in common the program would be unbounded
# without it, and with it has a value beyond every objective unless they nearly touch.
LARGEST = 1e4
LOOKS, RAY_LOOKS = 3, 8  # solves with few points before all of them are taken
NEARLY = 0.2  # of what is missing to the level: a bound may fall short by so much with few points
RAY_BOX = 100.0
EXACT = 1e-10
LOCAL_STEPS = 100
SAME_VALUE = 1e-12


@dataclass(frozen=True, eq=False)
class _Node:
    """What differs between programs.

    direction (k,): l + u, or the direction of a ray.
    costs (2 k + 1,): of tau, s-, s+, for a minimisation.
    cut_costs (m,).
    ray: whether cuts are left out, and the box when all points are there: with few of them U may be
        too small for a ray to meet it, and a wide box keeps the program feasible.
    """

    direction: Array
    costs: Array
    cut_costs: Array
    ray: bool


@dataclass(frozen=True, eq=False)
class Solved:
    """A node's program after its solve.

    weight (k,): a minimiser according to HiGHS; 0 when it failed.
    """

    bound: Bound
    weight: Array


class BoxLP:
    """The programs of all nodes, one after the other.

    rows: cuts, see `add_cut`.
    """

    def __init__(self, hulls: ReducedHulls, seed: int = 0) -> None:
        n, k = hulls.signed.shape
        self.hulls, self.n, self.k = hulls, n, k
        self.size = largest_entry(hulls)
        self.rows = Rows(np.zeros((0, k)), np.zeros(0))
        self.solves = 0
        self._whole, self._part = new_highs(seed), new_highs(seed)
        self._narrow = worthwhile(hulls)
        place = np.zeros(n, dtype=np.int32)
        for g, group in enumerate(hulls.groups):
            place[group.members] = k + g
        self._numbers = np.hstack([-hulls.signed, np.ones((n, 1))])
        features = np.tile(np.arange(k, dtype=np.int32), (n, 1))
        self._places = np.hstack([features, place[:, None]])
        # tau's coefficients are 1 until the first node, so that they have a place.
        start = _Node(np.ones(k), np.zeros(2 * k + 1), np.zeros(0), False)
        self._load(self._whole, start, np.arange(n), np.zeros(n, dtype=bool))
        self._head = np.arange(2 * k + 1, dtype=np.int32)

    def _load(self, lp: Any, node: _Node, columns: Index, used: Mask) -> None:
        """Columns tau, s-, s+, lambda of some points, cuts; points that are used in full."""
        k, hulls, count = self.k, self.hulls, len(columns)
        features = np.arange(k, dtype=np.int32)
        cuts = len(node.cut_costs)
        ends = 3 * k + (k + 1) * np.arange(count)
        last = 3 * k + (k + 1) * count + k * np.arange(cuts + 1)
        starts = np.concatenate([[0], k + np.arange(2 * k), ends, last])
        index = np.concatenate(
            [features, features, features, self._places[columns].ravel(), np.tile(features, cuts)]
        )
        numbers = np.concatenate(
            [
                -node.direction, -np.ones(k), np.ones(k), self._numbers[columns].ravel(),
                self.rows.normals[:cuts].ravel(),
            ]
        )  # fmt: skip
        given = np.where(used, hulls.caps, 0.0)
        masses = [group.mass - float(given[group.members].sum()) for group in hulls.groups]
        sides = np.concatenate([given @ hulls.signed, masses])
        costs = np.concatenate([node.costs, np.zeros(count), node.cut_costs])
        upper = np.concatenate(
            [
                [LARGEST],
                np.full(2 * k, np.inf),
                hulls.caps[columns],
                np.full(cuts, 0.0 if node.ray else LARGEST),
            ]
        )
        width = len(costs)
        lp.passModel(
            width, len(sides), len(numbers), 1, 1, 0.0, costs, np.zeros(width), upper,
            sides, sides, starts.astype(np.int32), index.astype(np.int32), numbers,
            np.zeros(width, dtype=np.int32),
        )  # fmt: skip

    def add_cut(self, normal: Array, side: float) -> None:
        """Add the row normal'w <= phi side to all programs from here on."""
        features = np.arange(self.k, dtype=np.int32)
        self._whole.addCol(0.0, 0.0, LARGEST, self.k, features, normal)
        self.rows = Rows(np.vstack([self.rows.normals, normal]), np.append(self.rows.sides, side))

    def solve(self, lower: Array, upper: Array, level: float, hint: Array | None = None) -> Solved:
        """The program of a box, with phi = level in the cuts.

        hint (k,): a weight nearby, the parent's say: with many points only those are looked at
            whose shares it leaves in doubt, and further ones where that was too few.
        """
        costs = np.concatenate([[-1.0 - float(lower @ upper)], -lower, upper])
        node = _Node(lower + upper, costs, level * self.rows.sides, False)
        box = (lower, upper)

        def bounded(found: Multipliers) -> Bound:
            return proven_bound(self.hulls, self.size, found, box, self.rows, level)

        if hint is not None and self._narrow:
            doubt = nothing_known(self.hulls)
            for _ in range(LOOKS):
                look(self.hulls, doubt, hint)
                answer = self._run_part(node, doubt)
                if answer is None:
                    break
                bound, hint = bounded(answer[0]), answer[1]
                missing = support_value(self.hulls, hint) - bound.value
                if bound.value >= level or missing <= NEARLY * (level - bound.value):
                    return Solved(bound, hint)
        found, weight = self._run_whole(node)
        return Solved(bounded(found), weight)

    def _run_part(self, node: _Node, doubt: Doubt) -> tuple[Multipliers, Array] | None:
        """Solve with the points in doubt alone; None when that fails."""
        columns = doubt.columns
        self._load(self._part, node, columns, doubt.used)
        self._part.run()
        self.solves += 1
        if self._part.getModelStatus().name != "kOptimal":
            return None
        x, weight = _solution(self._part, self.k)
        shares = np.where(doubt.used, self.hulls.caps, 0.0)
        first = 2 * self.k + 1
        shares[columns] = x[first : first + len(columns)]
        return Multipliers(shares, float(x[0]), x[first + len(columns) :]), weight

    def _run_whole(self, node: _Node) -> tuple[Multipliers, Array]:
        """Solve with all points, from the last basis."""
        lp, k, first = self._whole, self.k, 2 * self.k + 1
        for j, number in enumerate(node.direction.tolist()):
            lp.changeCoeff(j, 0, -number)
        lp.changeColsCost(first, self._head, node.costs)
        columns = np.arange(first + self.n, first + self.n + len(node.cut_costs), dtype=np.int32)
        if len(columns):
            lp.changeColsCost(len(columns), columns, node.cut_costs)
        if node.ray:
            self._hold(columns, 0.0)
        self.solves += 1
        lp.run()
        if lp.getModelStatus().name != "kOptimal":
            # A warm start sometimes fails where a cold one does not.
            lp.clearSolver()
            lp.run()
        x, weight = _solution(lp, k)
        if node.ray:
            self._hold(columns, np.inf)
        if len(x) == 0:  # multipliers 0, which prove little, but not wrongly
            x = np.zeros(first + self.n + len(columns))
        shares = x[first : first + self.n]
        return Multipliers(shares, float(x[0]), x[first + self.n :]), weight

    def _hold(self, cuts: NDArray[np.int32], most: float) -> None:
        """Bound the multipliers of box and cuts from above: a ray has neither."""
        held = np.concatenate([self._head[1:], cuts])
        upper = np.full(len(held), most)
        upper[2 * self.k :] = min(most, LARGEST)
        self._whole.changeColsBounds(len(held), held, np.zeros(len(held)), upper)

    # --- the ray -------------------------------------------------------------------------------

    def shoot(self, direction: Array, *, nearby: bool = False) -> tuple[Multipliers, Array]:
        """Multipliers of the point of U farthest along a direction, and its normal w.

        nearby: look only at points in doubt at the direction, and at what that leads to.
        """
        costs = np.full(2 * self.k + 1, RAY_BOX)
        costs[0] = -1.0
        node = _Node(direction, costs, np.zeros(len(self.rows.sides)), True)
        if nearby and self._narrow:
            doubt, hint = nothing_known(self.hulls), direction
            for _ in range(RAY_LOOKS):
                look(self.hulls, doubt, hint)
                answer = self._run_part(node, doubt)
                if answer is None:
                    break
                found, hint = answer
                # <direction, w> = 1 inside the box, and the objective is the length of the ray.
                inside = float(np.abs(hint).max()) < RAY_BOX * (1 - EXACT)
                if inside and support_value(self.hulls, hint) <= found.secant * (1 + EXACT):
                    return answer
        return self._run_whole(node)

    def local_search(self, weight: Array) -> tuple[Array, float]:
        """Algorithm 7 from a weight: a weight of norm 1 that is best for itself, and its value."""
        weight = weight / np.linalg.norm(weight)
        value = support_value(self.hulls, weight)
        for _ in range(LOCAL_STEPS):
            _, normal = self.shoot(weight, nearby=True)
            length = float(np.linalg.norm(normal))
            if not (0 < length < np.inf):
                break
            other = support_value(self.hulls, normal / length)
            if not other < value * (1 - SAME_VALUE):
                break
            weight, value = normal / length, other
        return weight, value

    def extent(self, direction: Array, level: float) -> float:
        """Proven bound on <direction, w> where ||w|| = 1 and h(w) < level; a direction of norm 1.

        The farther a direction reaches in U, the less of it has a w with a small h.
        """
        found, _ = self.shoot(direction)
        u = member(self.hulls, found.shares)
        along = float(u @ direction)
        if not along > 0:
            return np.inf
        # level > h(w) >= <u, w> >= along <direction, w> - ||rest|| for norm 1.
        rest = float(np.linalg.norm(u - along * direction))
        rounding = 2 * float(np.sqrt(self.k)) * point_error(self.hulls, self.size)
        return (level + rest + rounding) / along * (1 + 1e-12)


def _solution(lp: Any, k: int) -> tuple[Array, Array]:
    """Columns, empty where there are none, and multipliers of the first k rows, all numbers."""
    solution = lp.getSolution()
    x, weight = np.array(solution.col_value), np.array(solution.row_dual[:k])
    x[~np.isfinite(x)] = 0.0
    usable = len(weight) == k and bool(np.isfinite(weight).all())
    return x, weight if usable else np.zeros(k)
