"""Hyperplanes of the search: the best one so far, made as good as what it keeps allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

from tightmargin.formulations.common.hyperplane import norm_of
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.loss import (
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.formulations.zero_one.ramp import ramp_objective
from tightmargin.solvers.hinge.batch import hinge_machines
from tightmargin.solvers.kernel.cones import TINY, Caps, ConeProblem, Conflict, factors
from tightmargin.solvers.kernel.signed_points import SideRows, SignedPoints, signed_points
from tightmargin.solvers.zero_one.directions import (
    best_along,
    distinct_points,
    from_members,
    hinge_directions,
)
from tightmargin.solvers.zero_one.heuristic import least_norm_members, zero_one_incumbent
from tightmargin.solvers.zero_one.node_bounds import Grown, empty_sets, grow

# --- The soft-margin machine beside rows of w and b, for good hyperplanes of the ramp loss -------
#     min_v  1/2 v'Pv + sum_i c_i max(0, 1 - g_i'v)   s.t.   R v <= s
# An interior-point method says which points touch the margin and which rows are equations; with
# those, v solves linear equations, and meets what it touches as nearly as doubles can.


NEAR_MARGIN = 1e-6  # of the margin, and of the size of a row


def machine_beside(G: Array, price: Array, costs: Array, R: Array, s: Array) -> list[Array]:
    """The machine's v (k,) as the method ends, and as the equations have it; none where none is.

    G (n, k): rows g_i.
    price (k,): diagonal of P.
    costs (n,): c_i >= 0; 0 leaves the point out.
    R, s (m, k) (m,).
    """
    unit = np.abs(G).max(axis=0, initial=0.0)
    unit[unit == 0] = 1.0
    there = costs > 0
    G, c, P = G[there] / unit, costs[there], price / unit**2
    R, s = R / unit, np.asarray(s, dtype=float)
    size = np.maximum(np.abs(R).max(axis=1, initial=0.0), np.abs(s) * (~R.any(axis=1)))
    R, s = R[size > 0] / size[size > 0, None], s[size > 0] / size[size > 0]
    v = _by_interior_point(G, P, c, R, s)
    if v is None:
        return []
    polished = _on_equations(G, P, c, R, s, v)
    return [found / unit for found in (v, polished) if np.isfinite(found).all()]


def _by_interior_point(G: Array, P: Array, c: Array, R: Array, s: Array) -> Array | None:
    import clarabel

    (n, k), m = G.shape, len(s)
    scale = float(max(P.max(initial=0.0), c.max(initial=0.0))) or 1.0
    eye = sp.identity(n)
    blocks = [[-sp.csc_matrix(G), -eye], [sp.csc_matrix((n, k)), -eye]]
    blocks.append([sp.csc_matrix(R), sp.csc_matrix((m, n))])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sp.block_diag([sp.diags(P / scale), sp.csc_matrix((n, n))], format="csc"),
        np.r_[np.zeros(k), c / scale],
        sp.bmat(blocks, format="csc"),
        np.r_[-np.ones(n), np.zeros(n), s],
        [clarabel.NonnegativeConeT(2 * n + m)],
        settings,
    )
    found = solver.solve()
    x = np.array(found.x)
    return x[:k] if "Solved" in str(found.status) and np.isfinite(x).all() else None


def _on_equations(G: Array, P: Array, c: Array, R: Array, s: Array, v: Array) -> Array:
    """P v = sum over the slope of c_i g_i + pulls of what is touched, which is met."""
    u = G @ v
    touched, slope = np.abs(u - 1) <= NEAR_MARGIN, u < 1 - NEAR_MARGIN
    size = np.abs(R) @ np.abs(v) + np.abs(s)
    active = np.abs(R @ v - s) <= NEAR_MARGIN * size
    lines, right = np.vstack([G[touched], R[active]]), np.r_[np.ones(int(touched.sum())), s[active]]
    k, m = len(v), len(right)
    # One step from v, so that what the equations leave open stays where it is.
    system = np.block([[np.diag(P), lines.T], [lines, np.zeros((m, m))]])
    rest = np.r_[c[slope] @ G[slope] - P * v, right - lines @ v]
    step = np.linalg.lstsq(system, rest, rcond=None)[0]
    return np.asarray(v + step[:k])


# --- The best hyperplane along one direction, and the multipliers that prove a hyperplane's norm


TOUCHING = 1e-6  # of the margin, and of the size of a side row
PAIRS = 4_000_000  # of thresholds of a band, and of points and multiples
TRIED = 100  # multiples, cheapest first, that kept points and counts may not allow

Plane = tuple[Array, float]


def plane_along(problem: ConeProblem, r: Array, half: Array) -> Plane | None:
    """The cheapest hyperplane of a direction of the cube, with the scale of the data.

    Side rows are met by some direction of the box around it, since its own may miss an equation.
    None where no multiple meets the kept points and the counts.
    """
    U = problem.points @ r
    m = square = float((r * r) @ problem.squares)
    if problem.free_norm:  # of two directions that give up as many, the one of less norm
        m /= 2 * problem.largest_norm
    low, high = (float(e[0]) for e in factors(problem, r[None], half[None], np.array([square])))
    if low > high or low == np.inf:
        return None
    t, b = (_band if problem.band else _ray)(problem, U, m, low, high)
    if not 0 < t < np.inf:
        return None
    v = t * r / problem.units
    w = v[: len(problem.centre)]
    if len(v) > len(w):
        b = float(v[-1])
    return w, b - float(problem.centre @ w)


def _ray(problem: ConeProblem, U: Array, m: float, low: float, high: float) -> tuple[float, float]:
    if problem.ramp:
        return _ramp(problem, U, m, low, high), 0.0
    t = np.maximum(np.r_[low, 1 / U[U > 0]], low)
    t = np.unique(t[(t > 0) & (t <= high)])
    order = np.argsort(U)
    lost = np.r_[0.0, np.cumsum(problem.prices[order])]
    costs = m * t * t + lost[np.searchsorted(U[order], (1 - TOUCHING**2) / t)]
    for best in t[np.argsort(costs, kind="stable")[:TRIED]].tolist():
        if _allowed(problem, best * U < 1 - TOUCHING**2):
            return best, 0.0
    return 0.0, 0.0


def _ramp(problem: ConeProblem, U: Array, m: float, low: float, high: float) -> float:
    """The best of the ends, and of where a point leaves its slope or a parabola turns."""
    t = 1 / np.abs(U[U != 0])
    t = t[np.isfinite(t)]
    few = max(1, PAIRS // max(1, len(U)))
    t = np.sort(t)[np.linspace(0, len(t) - 1, min(few, len(t))).astype(int)] if len(t) else t
    if m > 0:
        slopes = np.abs(U[None, :]) * t[:, None] < 1
        pull = (slopes * (problem.prices * U)).sum(axis=1)
        t = np.r_[t, pull[pull > 0] / (2 * m)]
    t = np.clip(np.r_[t, low, high if np.isfinite(high) else low], low, high)
    loss = np.clip(1 - t[:, None] * U[None, :], 0.0, 2.0) @ problem.prices
    return float(t[(m * t * t + loss).argmin()])


def _band(problem: ConeProblem, U: Array, m: float, low: float, high: float) -> tuple[float, float]:
    cut = problem.positives
    if not 0 < cut < len(U) or cut * (len(U) - cut) > PAIRS:
        return 0.0, 0.0
    sides, lost, counts = [], [], []
    for part in (slice(0, cut), slice(cut, None)):
        order = np.argsort(U[part], kind="stable")
        ends, prices, kept = U[part][order], problem.prices[part][order], problem.kept[part][order]
        sides.append(ends)
        above = np.cumsum(kept) - kept > 0  # a point that has to be kept would be given up
        lost.append(np.where(above, np.inf, np.cumsum(prices) - prices))
        counts.append(np.arange(len(ends)))
    width = sides[0][:, None] + sides[1][None, :]
    t = np.maximum(2 / np.where(width > 0, width, np.nan), low)
    values = m * t * t + lost[0][:, None] + lost[1][None, :]
    most = min((most for _, most in problem.counts), default=len(U))
    few = counts[0][:, None] + counts[1][None, :] <= most
    values = np.where((width > 0) & (t <= high) & few, values, np.inf)
    i, j = np.unravel_index(int(np.argmin(values)), values.shape)
    if not np.isfinite(values[i, j]):
        return 0.0, 0.0
    best = float(t[i, j])
    return best, best * float(sides[1][j] - sides[0][i]) / 2


def _allowed(problem: ConeProblem, given_up: NDArray[np.bool_]) -> bool:
    if (given_up & problem.kept).any():
        return False
    return all(int(given_up[points].sum()) <= most for points, most in problem.counts)


def conflict_of(
    problem: ConeProblem, w: Array, b: float, *, rows_alone: bool = False
) -> Conflict | None:
    """Multipliers of the points and side rows that a hyperplane touches.

    None where they are none, or say nothing of its norm.
    """
    given = problem.given
    y = _labels(problem)
    near = np.abs(y * (given.X @ w + b) - 1) <= TOUCHING
    touching = np.flatnonzero(near & (not rows_alone))
    active = _active(problem, w, b)
    signs = np.r_[y[touching], -np.ones(len(active))]
    columns = np.vstack([given.X[touching], given.weights[active]])
    of_b = np.r_[np.ones(len(touching)), given.of_b[active]]
    system, goal = _stationarity(problem, signs[:, None] * columns, signs * of_b, w, b)
    if not system.shape[1]:
        return None
    norms = np.linalg.norm(system, axis=0)
    norms[norms == 0] = 1.0
    size = float(np.linalg.norm(goal)) or 1.0
    alpha = nnls(system / norms, goal / size)[0] / norms * size
    of_points, of_rows = alpha[: len(touching)], np.zeros(len(problem.sides))
    of_rows[active] = alpha[len(touching) :]
    used = of_points > 0
    said = used.any() or of_rows.any()
    return Conflict(touching[used], of_points[used], of_rows) if said else None


def caps_of(problem: ConeProblem, w: Array, b: float) -> Caps | None:
    """Multipliers of the machine that a hyperplane of the ramp loss is the optimum of."""
    given = problem.given
    y = _labels(problem)
    u = y * (given.X @ w + b)
    capped = u < -1
    touching = np.flatnonzero(np.abs(u - 1) <= TOUCHING)
    active = _active(problem, w, b)
    alpha = np.where((u < 1) & ~capped, problem.prices, 0.0)
    alpha[touching] = 0.0
    of_rows = np.zeros(len(problem.sides))
    lines = np.vstack([y[:, None] * given.X, -given.weights])
    system, goal = _stationarity(problem, lines, np.r_[y, -given.of_b], w, b)
    n, free = len(y), np.r_[touching, len(y) + active]
    if len(free):
        rest = goal - system[:, :n] @ alpha
        unit = float(np.linalg.norm(rest)) or 1.0
        norms = np.linalg.norm(system[:, free], axis=0)
        scale = np.r_[problem.prices[touching] / unit, 1 / np.maximum(norms[len(touching) :], TINY)]
        ends = np.r_[np.ones(len(touching)), np.full(len(active), np.inf)]
        found = lsq_linear(system[:, free] * scale, rest / unit, (0.0, ends), "bvls", tol=1e-14)
        inside = np.clip(found.x, 0.0, ends)
        alpha[touching] = inside[: len(touching)] * problem.prices[touching]
        of_rows[active] = (inside * scale * unit)[len(touching) :]
    used = np.flatnonzero(alpha > 0)
    return Caps(used, alpha[used], of_rows, np.flatnonzero(capped))


def _active(problem: ConeProblem, w: Array, b: float) -> NDArray[np.intp]:
    """Side rows that a hyperplane touches."""
    given = problem.given
    reached = given.weights @ w + given.of_b * b
    scale = np.abs(given.weights) @ np.abs(w) + np.abs(given.of_b * b) + np.abs(problem.sides)
    return np.flatnonzero(np.abs(reached - problem.sides) <= TOUCHING * scale)


def _labels(problem: ConeProblem) -> Array:
    return np.where(np.arange(len(problem.prices)) < problem.positives, 1.0, -1.0)


def _stationarity(
    problem: ConeProblem, lines: Array, pull: Array, w: Array, b: float
) -> tuple[Array, Array]:
    """System and right side of  v = sum of multipliers times lines, with b's part as it is."""
    if problem.given.penalised:
        return np.vstack([lines.T, pull[None]]), np.r_[w, b]
    if problem.free_intercept:
        reach = float(np.abs(lines).max(initial=1e-300))
        return np.vstack([lines.T, reach * pull[None]]), np.r_[w, 0.0]
    return lines.T, w


# --- Hyperplanes through the members of a working set, in the coordinates of the data ------------


def hyperplane(points: SignedPoints, members: Index) -> tuple[Array, float] | None:
    """The hyperplane of least norm with equality at all members, in the coordinates of the data.

    None when the members are empty, or say nothing of a free intercept.
    """
    if not members.size:
        return None
    right = points.right[members]
    if points.intercept != "free":
        v = _least_solution(points.rows[members], right)
        if points.intercept == "none":
            return v / points.scale, 0.0
        return v[:-1] / points.scale, float(v[-1]) / points.scale
    A, pull = points.counted[members], points.pull[members]
    size = float(pull @ pull)
    if size == 0:
        return None
    # The part of the equations that b has no say in.
    v = _least_solution(A - np.outer(pull, pull @ A) / size, right - pull * (pull @ right) / size)
    w = v / points.scale
    b = float(pull @ (right - A @ v)) / size
    return w, b + points.shift - float(points.centre @ w)


def least_weights(points: SignedPoints, members: Index) -> Array:
    """The least w with equality at members in which a free intercept does not occur."""
    A, right = points.counted[members], points.right[members]
    return _least_solution(A, right) / points.scale


def _least_solution(A: Array, right: Array) -> Array:
    return np.asarray(np.linalg.lstsq(A, right, rcond=1e-12)[0], dtype=np.float64)


# --- Good hyperplanes beside side rows: points are dropped until the rest can be kept, then
#     exchanged
# A start is a set of points to keep. While nothing keeps them and the side rows, the point with
# the largest multiplier goes. Then one point at a time is kept or given up as long as that helps.
# What comes out are members of working sets; nothing is proven here.


NEARLY = 1e-6  # of the margin
ROUNDS = 200
NEAREST = 100  # points to the margin, which are exchanged
DROPPED = 200  # one point at a time goes where there are so many, of more points more


def planes_beside(
    points: SignedPoints, side: SideRows, kept: Mask, penalty: float
) -> Iterator[Index]:
    """Members of hyperplanes that meet the side rows and counts, each start's last one best.

    kept (n,): points that some good hyperplane keeps, which need not meet the side rows.
    """
    for start in (kept, np.zeros_like(kept), np.ones_like(kept)):
        yield from _Improved(points, side, penalty).planes(start)


def with_best_intercept(
    points: SignedPoints, data: TrainingData, side: SideRows, members: Index
) -> tuple[Array, float] | None:
    """The least weights with equality at members without b, and a free b that keeps the most.

    None where no b that puts a point on its margin, or makes a side row an equation, is allowed.
    """
    w = least_weights(points, members)
    scores = data.X @ w
    turning = side.of_b != 0
    edges = (side.most - side.weights @ w)[turning] / side.of_b[turning]
    allowed = [b for b in np.r_[data.y - scores, edges].tolist() if side.admits(w, b, NEARLY**2)]
    if not allowed:
        return None
    kept = [int((data.y * (scores + b) >= 1 - NEARLY).sum()) for b in allowed]
    return w, allowed[int(np.argmax(kept))]


_Kept: TypeAlias = tuple[Mask, Array, Index]  # what is kept, margins, members


class _Improved:
    """Local search from one start."""

    def __init__(self, points: SignedPoints, side: SideRows, penalty: float) -> None:
        self.points, self.side, self.penalty = points, side, penalty
        self.value = np.inf

    def planes(self, start: Mask) -> Iterator[Index]:
        """Members of a first hyperplane, and of each better one."""
        found = self._kept_whole(start)
        for _ in range(ROUNDS):
            if found is None:
                return
            kept, margins, members = found
            yield members
            found = self._better(kept, margins)

    def _grown(self, kept: Mask, target: Array) -> Grown:
        rows = len(self.points.right) - self.points.n
        allowed = np.hstack([kept | self.side.kept, np.ones((len(kept), rows), dtype=bool)])
        return grow(self.points, empty_sets(self.points, len(kept)), allowed, target)

    def _outcome(self, found: Grown, k: int) -> tuple[float, _Kept]:
        """One row of a batch and its value."""
        count = found.sets.count[k]
        members, alpha = found.sets.members[k, :count], found.sets.alpha[k, :count]
        margins = self.points.rows[: self.points.n] @ (alpha @ self.points.rows[members])
        kept = margins >= self.points.right[: self.points.n] - NEARLY
        given_up = ~kept | self.side.paid
        value = float(found.norm2[k]) + self.penalty * int(given_up.sum())
        return value if self.side.allows(given_up) else np.inf, (kept, margins, members)

    def _kept_whole(self, start: Mask) -> _Kept | None:
        """As many points of a start as can be kept; None where the side rows leave nothing."""
        kept = start & ~self.side.paid
        while True:
            found = self._grown(kept[None, :], np.full(1, np.inf))
            if found.finished[0]:
                self.value, reached = self._outcome(found, 0)
                return reached
            count = found.sets.count[0]
            members, alpha = found.sets.members[0, :count], found.sets.alpha[0, :count]
            loose = (members < self.points.n) & np.r_[kept & ~self.side.kept, False][
                np.minimum(members, self.points.n)
            ]
            if not loose.any():
                return None
            heaviest = np.argsort(-alpha[loose])[: -(-len(kept) // DROPPED)]
            kept[members[loose][heaviest]] = False

    def _better(self, kept: Mask, margins: Array) -> _Kept | None:
        """The best exchange of one point; None where none helps."""
        n = self.points.n
        free = np.flatnonzero(~self.side.kept & ~self.side.paid)
        near = np.abs(margins - self.points.right[:n])[free]
        free = free[np.argsort(near, kind="stable")[:NEAREST]]
        trials = np.repeat(kept[None, :] & ~self.side.paid, len(free), axis=0)
        trials[np.arange(len(free)), free] ^= True
        trials = trials[[self._is_worth(trial) for trial in trials]]
        if not len(trials):
            return None
        found = self._grown(trials, self.value - self.penalty * (n - trials.sum(axis=1)))
        best = None
        for k in np.flatnonzero(found.finished & ~found.conflict).tolist():
            value, reached = self._outcome(found, k)
            if value < self.value * (1 - NEARLY):
                self.value, best = value, reached
        return best

    def _is_worth(self, trial: Mask) -> bool:
        return np.isinf(self.value) or self.side.allows(~(trial | self.side.kept) | self.side.paid)


NEAR_PLANE = 1e-9
DESCENTS = 12
ENOUGH = 60  # machines' reach beside the points' size


class ConePlane:
    """The cheapest hyperplane met so far; `offer` improves what is offered first.

    w, b, objective (d,).
    given_up (n,).
    """

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self.w, self.b, self.objective = np.zeros(data.d), 0.0, np.inf
        self.given_up = np.ones(data.n, dtype=bool)
        self.met: set[bytes] = set()

    def start(self) -> None:
        """Take what is known without a search."""
        raise NotImplementedError

    def take(self, w: Array, b: float) -> None:
        """Keep a hyperplane if it is better."""
        raise NotImplementedError

    def refined(self, w: Array, b: float) -> Iterable[Plane]:
        """Hyperplanes that are at least as good as this one, most likely."""
        raise NotImplementedError

    def decided(self, w: Array, b: float) -> Mask:
        """The points that a hyperplane is refined for."""
        return margins(self.data, w, b) >= 1 - NEAR_PLANE

    def search(self) -> None:
        """A dearer heuristic, once."""

    def along(self, problem: ConeProblem, r: Array, half: Array) -> Plane | None:
        """The best hyperplane of a direction of the cube, or near it in a box."""
        return plane_along(problem, r, half)

    def offer(self, plane: Plane | None) -> None:
        """Take a hyperplane and what it can be made into, once for each set that decides that."""
        if plane is None or not np.isfinite(np.append(plane[0], plane[1])).all():
            return
        self.take(*plane)
        key = np.packbits(self.decided(*plane)).tobytes()
        if key not in self.met:
            self.met.add(key)
            for better in self.refined(*plane):
                self.take(*better)


class LeastCost(ConePlane):
    """Of the 0-1 loss as it is, points weighted or not."""

    def __init__(self, data: TrainingData, penalty: float, intercept: str) -> None:
        super().__init__(data)
        self.penalty, self.intercept = penalty, intercept
        self.points = distinct_points(data, intercept)

    def start(self) -> None:
        """From fits of the hinge loss."""
        trivial = trivial_points(self.data, penalty=self.penalty, intercept=self.intercept)[0]
        self.take(trivial.w, trivial.b)
        for w, b in hinge_directions(self.data, self.penalty, self.intercept):
            self.offer(best_along(self.data, w, b, self.penalty, self.intercept))

    def search(self) -> None:
        """By local search over active sets."""
        found = zero_one_incumbent(self.data, penalty=self.penalty, intercept=self.intercept)
        self.offer((found.w, found.b))

    def along(self, problem: ConeProblem, r: Array, half: Array) -> Plane | None:
        """The best multiple, for any number of points."""
        v = np.append(r / problem.units, 0.0)
        w, b = v[: self.data.d], float(v[self.data.d])
        return best_along(self.data, w, b, self.penalty, self.intercept)

    def take(self, w: Array, b: float) -> None:
        """Objectives are counted strictly."""
        value = zero_one_objective(self.data, w, b, penalty=self.penalty, intercept=self.intercept)
        if value < self.objective:
            self.w, self.b, self.objective = w, b, value
            self.given_up = margins(self.data, w, b) < 1

    def refined(self, w: Array, b: float) -> Iterable[Plane]:
        """The least norm that keeps what it keeps."""
        kept = margins(self.data, w, b) >= 1 - NEAR_PLANE
        yield from _stretched(self.data, w, b, kept)
        members = least_norm_members(self.points, kept[self.points.original])
        if members is not None and len(members):
            v = from_members(self.points, members[None, :]).v[0]
            if np.isfinite(v).all():
                plane = self.points.hyperplane(v, int(members[0]))
                kept = margins(self.data, *plane) >= 1 - NEAR_PLANE
                yield from _stretched(self.data, *plane, kept)


def _stretched(data: TrainingData, w: Array, b: float, kept: Mask) -> Iterable[Plane]:
    found = scale_onto_margin(data, w, b, kept)
    if found is not None:
        yield found


class LeastCostBeside(ConePlane):
    """Of the 0-1 loss beside side rows: rows are met, and points are kept, to NEAR."""

    def __init__(self, data: TrainingData, penalty: float, intercept: str, side: SideRows) -> None:
        super().__init__(data)
        self.penalty, self.intercept, self.side = penalty, intercept, side
        self.points = signed_points(data, intercept=intercept, side=side)

    def start(self) -> None:
        """From hyperplanes without w, and what a fit of the hinge loss keeps."""
        for point in trivial_points(self.data, penalty=self.penalty, intercept=self.intercept):
            self.take(point.w, point.b)
        for w, b in hinge_directions(self.data, self.penalty, self.intercept):
            self.offer(best_along(self.data, w, b, self.penalty, self.intercept))
        kept = margins(self.data, self.w, self.b) >= 1 - NEAR_PLANE
        for members in planes_beside(self.points, self.side, kept, self.penalty):
            plane = self._plane(members)
            if plane is not None:
                self.take(*plane)

    def by_rows_alone(self) -> Plane | None:
        """The least norm that the rows allow; None where they ask for nothing."""
        return self._least(np.zeros(self.data.n, dtype=bool))

    def _least(self, kept: Mask) -> Plane | None:
        """The least norm that keeps some points beside the rows."""
        rows = np.ones(len(self.points.right) - self.data.n, dtype=bool)
        allowed = np.r_[kept & ~self.side.paid, rows][None, :]
        found = grow(self.points, empty_sets(self.points, 1), allowed, np.full(1, np.inf))
        if not found.finished[0]:
            return None
        return self._plane(found.sets.members[0, : found.sets.count[0]])

    def _plane(self, members: NDArray[np.intp]) -> Plane | None:
        plane = hyperplane(self.points, members)
        if plane is None and self.intercept == "free":
            return with_best_intercept(self.points, self.data, self.side, members)
        return plane

    def take(self, w: Array, b: float) -> None:
        """Where decided points, counts and rows allow it."""
        given_up = (margins(self.data, w, b) < 1 - NEAR_PLANE) | self.side.paid
        value = norm_of(w, b, self.intercept) + self.penalty * self.data.mass(given_up)
        if value >= self.objective or not self.side.allows(given_up):
            return
        if self.side.admits(w, b, NEAR_PLANE):
            self.w, self.b, self.objective, self.given_up = w, b, value, given_up

    def refined(self, w: Array, b: float) -> Iterable[Plane]:
        """The least norm that keeps what it keeps beside the rows."""
        kept = (margins(self.data, w, b) >= 1 - NEAR_PLANE) | self.side.kept
        plane = self._least(kept)
        if plane is not None:
            yield plane


class LeastRamp(ConePlane):
    """Of the ramp loss, beside rows of w and b, which are met to NEAR, or as it is."""

    def __init__(
        self, data: TrainingData, C: float, intercept: str, side: SideRows | None = None
    ) -> None:
        super().__init__(data)
        self.C, self.intercept, self.side = C, intercept, side
        column = np.ones((data.n, 0 if intercept == "none" else 1))
        self.G = data.y[:, None] * np.hstack([data.X, column])
        self.price = np.ones(self.G.shape[1])
        if intercept == "free":
            self.price[-1] = 0.0

    def start(self) -> None:
        """From the machine of all points."""
        for b in (0.0,) if self.intercept == "none" else (0.0, 1.0, -1.0):
            self.take(np.zeros(self.data.d), b)
        self.offer((np.zeros(self.data.d), 0.0))
        for w, b in hinge_directions(self.data, 2 * self.C, self.intercept):
            self.offer((w, b))

    def take(self, w: Array, b: float) -> None:
        """Keep a hyperplane if it is better, and allowed."""
        value = ramp_objective(self.data, w, b, self.C, self.intercept)
        if value < self.objective and (self.side is None or self.side.admits(w, b, NEAR_PLANE)):
            self.w, self.b, self.objective = w, b, value
            self.given_up = margins(self.data, w, b) < -1

    def decided(self, w: Array, b: float) -> Mask:
        """The points that it caps."""
        return margins(self.data, w, b) < -1

    def refined(self, w: Array, b: float) -> Iterable[Plane]:
        """Cap what is beyond the cap, solve the machine of the others, and again."""
        capped: Mask | None = None
        for _ in range(DESCENTS):
            beyond = margins(self.data, w, b) < -1
            if capped is not None and (beyond == capped).all():
                return
            capped = beyond
            costs = np.where(capped, 0.0, self.C * self.data.multiplicity)
            for v in self._machines(costs):
                if not np.isfinite(v).all():
                    return
                w, b = (v, 0.0) if self.intercept == "none" else (v[:-1], float(v[-1]))
                yield w, b

    def _machines(self, costs: Array) -> list[Array]:
        if self.side is None:
            size = float(np.linalg.norm(self.G, axis=1).max())
            reach = 2 + ENOUGH * float(np.sqrt(self.C * self.data.total_weight)) * size
            return [hinge_machines(self.G, self.price, costs[None, :], reach).v[0]]
        R = np.column_stack([self.side.weights, self.side.of_b])[:, : self.G.shape[1]]
        return machine_beside(self.G, self.price, costs, R, self.side.most)


# --- The best hyperplane of a search, and what the directions that it meets are worth ------------
# Along a direction w the 0-1 problem is one-dimensional and solved exactly: with a free intercept,
# p and q the margins y_i <w, x_i> of the two classes, each sorted upwards, giving up the a lowest
# of one and the b lowest of the other leaves a band of width p_a + q_b (indices from 0), so that
#     min over a, b with p_a + q_b > 0 of   4 ||w||^2 / (p_a + q_b)^2 + penalty (a + b).
# With a penalised intercept, or none, v = (w, b) or w is stretched until all but the k lowest of
# the margins u have reached 1:  min over k with u_k > 0 of  ||v||^2 / u_k^2 + penalty k.


NEAR_SIDE = 1e-9
PROMISING = 1e-3  # a free intercept bends the search's directions: worse values are not looked at
BETTER = 1e-9  # relative
REMEMBERED = 100_000  # sets of members that were looked at


class ConflictPlane:
    """The best hyperplane so far.

    w, b (d,).
    given_up (n,): points that are paid for.
    objective: infinite where side rows are and no hyperplane that meets them is known.
    """

    def __init__(self, data: TrainingData, penalty: float, intercept: str, side: SideRows) -> None:
        self.data, self.penalty, self.intercept, self.side = data, penalty, intercept, side
        self.w, self.b, self.objective = np.zeros(data.d), 0.0, np.inf
        self.given_up = np.ones(data.n, dtype=bool)
        self._seen: set[bytes] = set()

    def start(self, points: SignedPoints, w: Array, b: float) -> None:
        """Take a known hyperplane, and those with w = 0; beside side rows, improve them."""
        trivial = trivial_points(self.data, penalty=self.penalty, intercept=self.intercept)
        if self.side.empty:
            # The search itself meets only hyperplanes with points on their margin.
            self.take(trivial[0].w, trivial[0].b)
            self.take(w, b)
            return
        for point in trivial:
            missed = margins(self.data, point.w, point.b) < 1
            self._take_beside(point.w, point.b, missed | self.side.paid)
        kept = margins(self.data, w, b) >= 1 - NEAR_SIDE
        for members in planes_beside(points, self.side, kept, self.penalty):
            self._offer_beside(points, members)

    def offer(self, points: SignedPoints, sets: list[Index], directions: Array) -> None:
        """Look at hyperplanes through working sets, and along their directions.

        sets: members of working sets at which nothing was violated.
        directions: their v.
        """
        if not self.side.empty:
            for members in sets:
                self._offer_beside(points, members)
            return
        values = values_along(points, directions, self.penalty, self.objective)
        for k in np.argsort(values, kind="stable").tolist():
            if values[k] >= self.objective * (1 + PROMISING):
                return
            name = np.sort(sets[k]).tobytes()
            if name not in self._seen:
                self._seen.add(name)
                self._along(points, sets[k])
        if len(self._seen) > REMEMBERED:
            self._seen.clear()

    def _along(self, points: SignedPoints, members: Index) -> None:
        """The best hyperplane along the one through the members; then along that of what it keeps.

        Each round but the last one lowers the objective.
        """
        while (plane := hyperplane(points, members)) is not None:
            along = best_along(self.data, *plane, self.penalty, self.intercept)
            before = self.objective
            kept = self._take_stretched(*(plane if along is None else along))
            if kept is None or self.objective >= before * (1 - BETTER):
                return
            allowed = np.r_[kept, np.zeros(len(points.right) - self.data.n, dtype=bool)]
            found = grow(points, empty_sets(points, 1), allowed[None, :], np.full(1, np.inf))
            members = found.sets.members[0, : found.sets.count[0]]

    def _take_stretched(self, w: Array, b: float) -> Mask | None:
        kept = margins(self.data, w, b) >= 1 - NEAR_SIDE
        stretched = scale_onto_margin(self.data, w, b, kept)
        if stretched is None:
            return None
        self.take(*stretched)
        return kept

    def take(self, w: Array, b: float) -> None:
        """Take a hyperplane if it is better than the best; there are no side rows."""
        value = zero_one_objective(self.data, w, b, penalty=self.penalty, intercept=self.intercept)
        if value < self.objective:
            self.w, self.b, self.objective = w, b, value
            self.given_up = margins(self.data, w, b) < 1

    def adopt(self, w: Array, b: float, given_up: Mask, objective: float) -> None:
        """Take what another search of the same problem has found, if it is better."""
        if objective < self.objective:
            self.w, self.b, self.given_up, self.objective = w, b, given_up, objective

    def _offer_beside(self, points: SignedPoints, members: Index) -> None:
        plane = hyperplane(points, members)
        if plane is None and self.intercept == "free":
            plane = with_best_intercept(points, self.data, self.side, members)
        if plane is not None:
            kept = margins(self.data, *plane) >= 1 - NEAR_SIDE
            self._take_beside(*plane, ~kept | self.side.paid)

    def _take_beside(self, w: Array, b: float, given_up: Mask) -> None:
        """A stretched hyperplane would leave its side rows: what it misses by NEAR, it keeps."""
        norm2 = float(w @ w) + (b * b if self.intercept == "penalised" else 0.0)
        value = norm2 + self.penalty * int(given_up.sum())
        if value >= self.objective or not self.side.allows(given_up):
            return
        if self.side.admits(w, b, NEAR_SIDE):
            self.w, self.b, self.objective, self.given_up = w, b, value, given_up


def values_along(points: SignedPoints, directions: Array, penalty: float, least: float) -> Array:
    """The least objective along each direction, inf where none below `least` is found, (R,).

    directions (R, k): in the coordinates of the search.
    least: only numbers of violated points that cost less are tried.
    """
    n = points.n
    most = int(min(n, least / penalty + 1))
    if points.intercept == "free":
        w = directions[:, :-1]
        u = w @ points.counted[:n].T
        up, down = (np.sort(u[:, points.pull[:n] * sign > 0], axis=1) for sign in (1, -1))
        norm2 = 4 * (w * w).sum(axis=1) / points.scale**2
        best = np.full(len(w), np.inf)
        for a in range(min(most, up.shape[1])):
            width = up[:, a, None] + down[:, : most - a]
            best = np.minimum(best, _least_value(width, norm2, penalty, a))
        return best
    u = np.sort(directions @ points.rows[:n].T, axis=1)[:, :most]
    norm2 = (directions * directions).sum(axis=1) / points.scale**2
    return _least_value(u, norm2, penalty, 0)


def _least_value(width: Array, norm2: Array, penalty: float, already: int) -> Array:
    """Least norm2 / width^2 + penalty (already + column) of each row, over positive widths."""
    cost = penalty * (already + np.arange(width.shape[1]))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = norm2[:, None] / (width * width) + cost
    return np.asarray(np.where(width > 0, values, np.inf).min(axis=1, initial=np.inf))
