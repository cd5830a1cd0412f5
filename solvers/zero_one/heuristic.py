"""A good point of the 0-1 loss problem, found in moments and without a mixed-integer solver.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

where # counts a point as often as it weighs.

The search runs over active sets (local_search.py). It starts from the best sets of a random sample
and from directions of hinge-loss fits, each stretched as well as possible. From there a population
of sets is bred by descents on a smoothed count of the violated points. In the
end some points of the best set are replaced at random, over and over.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.zero_one.loss import (
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.solvers.zero_one.directions import (
    ActiveSets,
    Points,
    best_along,
    distinct_points,
    extend,
    from_members,
    hinge_directions,
    set_margins,
    without_equations,
)

# --- The hard-margin machine on a set of kept points, by Wolfe's method (Math. Programming 11,
#     1976)
# The hyperplane of least norm2 with margins >= 1 on the kept points is dual to a point of least
# norm in a polytope: the hull of the rows r_i = y_i x_i (or y_i (x_i, 1)), v = p / ||p||^2; with a
# free intercept, the difference of the hulls of the two classes, w = 2 p / ||p||^2. Wolfe's method
# needs only the vertex that is least in a direction, ends after finitely many steps, and leaves
# few points in its support. ||p|| decreases, so 1 / ||p||^2 (4 / ||p||^2) bounds norm2 from below
# all along: kept sets that are too expensive, or not separable, are given up early.


OPTIMALITY = 1e-11
STEPS = 1000
RIDGE = 1e-13  # keeps a nearly dependent corral solvable; its set is solved again anyway


def least_norm_members(
    points: Points, kept: Mask, ceiling: float = np.inf, near: Index | None = None
) -> Index | None:
    """Active set of the hyperplane of least norm2 that keeps some points.

    kept (m,): which of the distinct points must have margin at least 1; with a free intercept,
        points of both classes.
    ceiling: give up once norm2 is known to be at least this.
    near: an active set of a similar problem to start from.
    Returns: rows of `points` on the margin with positive multipliers and independent equations;
        None if the kept points cannot be separated below the ceiling.
    """
    free = points.intercept == "free"
    start = near[kept[near]] if near is not None else np.zeros(0, dtype=np.intp)
    if not free:
        first = np.flatnonzero(kept)
        left, right = points.y[first, None] * points.rows[first], np.zeros_like(points.rows[:1])
        pairs = [(int(i), 0) for i in np.searchsorted(first, start)] or [(0, 0)]
        found = _nearest_point(left, right, pairs, 1 / ceiling) if len(first) else None
        return None if found is None else first[found[0][:, 0]]
    first, second = np.flatnonzero(kept & (points.y > 0)), np.flatnonzero(kept & (points.y < 0))
    if not (len(first) and len(second)):
        return None
    pairs = _spanning_pairs(first, second, start, points.n_pos)
    found = _nearest_point(points.rows[first], points.rows[second], pairs, 4 / ceiling)
    if found is None:
        return None
    chosen, p = found
    touching = np.concatenate([first[np.unique(chosen[:, 0])], second[np.unique(chosen[:, 1])]])
    # Only which multipliers are positive is asked: numbers near 1 are right at every scale.
    rows = points.rows[touching] / np.abs(points.rows[touching]).max()
    columns = np.column_stack([rows, np.ones(len(touching))])
    alpha, _ = nnls((points.y[touching, None] * columns).T, np.append(p / np.abs(p).max(), 0.0))
    return touching[alpha > 0]


def _spanning_pairs(first: Index, second: Index, start: Index, n_pos: int) -> list[tuple[int, int]]:
    """Pairs that connect the points of an active set, one fewer than points: independent."""
    i = np.searchsorted(first, start[start < n_pos]).tolist() or [0]
    k = np.searchsorted(second, start[start >= n_pos]).tolist() or [0]
    return [(i[0], other) for other in k] + [(other, k[0]) for other in i[1:]]


def _nearest_point(
    left: Array, right: Array, pairs: list[tuple[int, int]], floor: float
) -> tuple[Index, Array] | None:
    """Pairs (i, k) and the point of least norm in the hull of all left_i - right_k.

    Starts from given pairs with affinely independent differences. None once the squared norm is
    at most `floor`.
    """
    radius2 = max(float(np.einsum("ij,ij->i", side, side).max()) for side in (left, right))
    index = np.array(pairs, dtype=np.intp)
    corral = left[index[:, 0]] - right[index[:, 1]]
    corral, weight, pairs = _to_affine_minimum(corral, np.full(len(pairs), 1 / len(pairs)), pairs)
    for _ in range(STEPS):
        p = weight @ corral
        norm2 = float(p @ p)
        if norm2 <= floor or norm2 <= OPTIMALITY * radius2:
            return None
        pair = int((left @ p).argmin()), int((right @ p).argmax())
        vertex = left[pair[0]] - right[pair[1]]
        if pair in pairs or float(vertex @ p) >= norm2 * (1 - OPTIMALITY):
            break
        corral, weight, pairs = _to_affine_minimum(
            np.vstack([corral, vertex]), np.append(weight, 0.0), [*pairs, pair]
        )
    return np.array(pairs, dtype=np.intp), p


def _to_affine_minimum(
    corral: Array, weight: Array, pairs: list[tuple[int, int]]
) -> tuple[Array, Array, list[tuple[int, int]]]:
    """Move to the least-norm point of the affine hull, dropping vertices whose weight hits zero."""
    while True:
        gram = corral @ corral.T
        size = float(gram.trace()) / len(gram) or 1.0
        gram += size  # the sum of weights, scaled like the rest
        gram.flat[:: len(gram) + 1] += RIDGE * size
        u = np.linalg.solve(gram, np.ones(len(gram)))
        target = u / u.sum()
        if (target > 0).all():
            return corral, target, pairs
        falling = np.flatnonzero(target <= 0)
        room = weight[falling] / (weight[falling] - target[falling])
        weight = weight + float(room.min()) * (target - weight)
        weight[falling[room.argmin()]] = 0.0
        stay = weight > 0
        corral, weight = corral[stay], weight[stay] / weight[stay].sum()
        pairs = [pair for pair, keep in zip(pairs, stay, strict=True) if keep]


# --- Local search over active sets for the 0-1 loss ----------------------------------------------
# An optimum touches the margin at a small set of points (directions.py), and a set is worth the
# 0-1 objective of its hyperplane. A set is exchanged for a better one until neither exchanging one
# point, nor keeping one point more or less (the hard-margin machine solved again), helps.


ON_MARGIN = 1e-9
KICKED = 4  # a kick replaces at most so many points of a set
KICK_RANGE = 40  # and takes the new ones from so many nearest to the margin
NEIGHBOURS = 250
NEARLY_KEPT = 8
MARGINS_AT_ONCE = 2_000_000
WORK_LIMIT = 200_000_000  # in computed numbers, not seconds: the same result on any machine
SOLVE_PASSES = 50  # passes over the points that one hard-margin solve is counted for


@dataclass(eq=False)
class LocalSearch:
    """Local search over active sets; a set is worth the 0-1 objective of its hyperplane."""

    points: Points
    penalty: float
    until: float = np.inf  # of time.monotonic()
    spent: int = 0

    @property
    def exhausted(self) -> bool:
        """Whether the work or the time is over."""
        return self.spent > WORK_LIMIT or time.monotonic() > self.until

    def _count(self, many: int) -> None:
        """Add the work for the points, and their margins, of many active sets."""
        count, dimension = self.points.rows.shape
        self.spent += many * (count + 4 * dimension**2)

    def values(self, sets: ActiveSets) -> Array:
        """Objective of each set, points within ON_MARGIN kept; inf if v is numerically lost."""
        self._count(len(sets.members))
        violated = set_margins(self.points, sets) < 1 - ON_MARGIN
        values = sets.norm2 + self.penalty * (violated @ self.points.weight)
        lost = np.take_along_axis(violated, sets.members, axis=1).any(axis=1)
        return np.where(lost | ~np.isfinite(values), np.inf, values)

    def value(self, members: Index) -> float:
        """Objective of one set."""
        return float(self.values(from_members(self.points, members[None, :]))[0])

    def values_in_batches(self, members: Index) -> Array:
        """Objectives of many sets (P, s)."""
        batch = max(1, MARGINS_AT_ONCE // len(self.points.y))
        parts = [
            self.values(from_members(self.points, members[k : k + batch]))
            for k in range(0, len(members), batch)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def improve(self, members: Index, target: float) -> tuple[float, Index]:
        """Exchange points while that helps; below the target, also keep more or fewer points."""
        best = (self.value(members), members)
        while not self.exhausted:
            better = self._exchange(*best)
            if better is None and best[0] < target:
                better = self._rekeep(*best)
            if better is None:
                break
            best = better
        return best

    def _margins(self, members: Index) -> Array:
        return set_margins(self.points, from_members(self.points, members[None, :]))[0]

    def _nearest(self, members: Index, count: int) -> Index:
        """Points outside the set, nearest to its margin first."""
        order = np.argsort(np.abs(self._margins(members) - 1), kind="stable")
        return order[~np.isin(order, members)][:count]

    def kick(self, members: Index, rng: np.random.Generator) -> Index:
        """A few points of the set replaced by others near its margin."""
        near = self._nearest(members, KICK_RANGE)
        count = min(len(members), len(near), int(rng.integers(1, KICKED + 1)))
        kicked = members.copy()
        places = rng.choice(len(members), count, replace=False)
        kicked[places] = rng.choice(near, count, replace=False)
        return kicked

    def _exchange(self, value: float, members: Index) -> tuple[float, Index] | None:
        """Best set that differs by a point left out, a point added, or both; None if no better."""
        room = MARGINS_AT_ONCE // (len(members) * len(self.points.y))
        near = self._nearest(members, min(NEIGHBOURS, max(20, room)))
        full = from_members(self.points, members[None, :])
        candidates = [self._shortened(members)]
        candidates.append(self._extended(candidates[0], near))
        if len(members) < self.points.largest:
            candidates.append(self._extended(full, near))
        best = (value * (1 - ON_MARGIN), members)
        for sets in candidates:
            if sets.members.size and sets.members.shape[1] >= self._smallest:
                values = self.values(sets)
                k = int(values.argmin())
                if values[k] < best[0]:
                    best = (float(values[k]), sets.members[k])
        return None if best[1] is members else best

    @property
    def _smallest(self) -> int:
        return 2 if self.points.intercept == "free" else 1

    def _shortened(self, members: Index) -> ActiveSets:
        """The set without each of its points."""
        rest = np.array([np.delete(members, k) for k in range(len(members))])
        if rest.shape[1] == 0:
            return without_equations(self.points, members[:0])
        return from_members(self.points, rest)

    def _extended(self, sets: ActiveSets, new: Index) -> ActiveSets:
        """Each set with each new point."""
        count = len(sets.members)
        parent = np.repeat(np.arange(count, dtype=np.intp), len(new))
        return extend(self.points, sets, parent, np.tile(new, count))

    def _rekeep(self, value: float, members: Index) -> tuple[float, Index] | None:
        """First better set that keeps the same points, one on the margin less, or one more."""
        u = self._margins(members)
        kept = u >= 1 - ON_MARGIN
        outside = np.flatnonzero(~kept)
        nearly = outside[np.argsort(-u[outside], kind="stable")[:NEARLY_KEPT]]
        for change in [None, *members.tolist(), *nearly.tolist()]:
            wanted = kept.copy()
            if change is not None:
                wanted[change] = not wanted[change]
            self._count(SOLVE_PASSES)
            found = least_norm_members(self.points, wanted, value, members)
            if found is not None and len(found):
                reached = self.value(found)
                if reached < value * (1 - ON_MARGIN):
                    return reached, found
        return None


# --- Good directions for the 0-1 loss by descent on a smoothed count, many at a time -------------
# A hyperplane of length 1 / gamma violates the points whose margin is below gamma along its unit
# vector v, so that for each gamma a direction is wanted that has few of them. Their number is
# replaced by a sum of logistic functions of a width that falls, and v moves against its gradient
# on the sphere by steps whose length falls too. Every descent has a gamma of its own, and weights
# of its own on the points that fade to the true ones: so those that begin alike end apart. Nothing
# here depends on the price of a point, which may be huge: the exact problem along a direction
# weighs it.


DESCENTS = 256
NUMBERS = 128_000  # margins of all descents, of more points fewer descents
FEWEST = 16
SMALLEST, LARGEST = 0.005, 0.7  # gamma of the first descents, beside the points' size
OFFSET = 0.3  # standard deviation of a free intercept
WIDTHS = (0.1, 0.3)  # of the logistic functions of later descents, beside the points' size
FIRST_WIDTH = 0.4
LAST_WIDTH, LEAST_WIDTH = 0.2, 0.002  # the former beside gamma
STEP, FIRST_STEP, LAST_STEP = 0.15, 0.3, 0.003
MEMORY = 0.8  # of earlier gradients
ITERATIONS = 120
UNEVEN = (0.3, 1.0, 2.0)  # powers of exponential numbers, which are the weights
SHORTEST = 1e-100  # of weights
APART, STRETCHED = 0.5, 0.8  # how far some descents begin from a known hyperplane


@dataclass(frozen=True, eq=False)
class Descents:
    """Descents on one set of points.

    rows (m, k): signed points of mean square length 1, and a column of labels for a free intercept.
    counted: columns that count in the norm.
    weight (m,).
    scale: what the points were divided by.
    """

    rows: Array
    counted: int
    weight: Array
    scale: float

    @property
    def many(self) -> int:
        """How many descents there are at a time."""
        return max(FEWEST, min(DESCENTS, NUMBERS // len(self.rows)))

    @property
    def work(self) -> int:
        """Numbers that go through a logistic function in one round."""
        return self.many * ITERATIONS * len(self.rows)

    def first(self, rng: np.random.Generator) -> Array:
        """Where descents from nowhere end, half of them begun near the mean of the points."""
        v = rng.normal(size=(self.many, self.rows.shape[1]))
        v = self._on_sphere(v)
        v[:, self.counted :] = OFFSET * rng.normal(size=v[:, self.counted :].shape)
        mean = self.weight @ self.rows
        size = float(np.linalg.norm(mean))
        if size > 0:
            v[::2] = v[::2] / 2 + mean / size
        gamma = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), self.many))
        return self._descend(
            self._on_sphere(v), gamma, self._weights(rng), 2 * ITERATIONS, FIRST_WIDTH, FIRST_STEP
        )

    def near(self, known: Array, rng: np.random.Generator) -> Array:
        """Where descents from known hyperplanes end.

        A quarter of them begins between two of the hyperplanes, a quarter beside one.

        known (K, k): hyperplanes, not of unit length, in the coordinates of `rows`.
        """
        size = 1 / np.linalg.norm(known[:, : self.counted], axis=1)
        at = np.arange(self.many) % len(known)
        v, gamma = known[at] * size[at, None], size[at] * np.exp(0.4 * rng.normal(size=self.many))
        part = self.many // 4
        other, share = rng.integers(len(known), size=part), rng.random((part, 1))
        v[:part] = share * v[:part] + (1 - share) * known[other] * size[other, None]
        away = rng.normal(size=(part, v.shape[1])) / np.sqrt(v.shape[1])
        v[part : 2 * part] += APART * away
        gamma[part : 2 * part] *= np.exp(STRETCHED * rng.normal(size=part))
        width = float(rng.choice(WIDTHS))
        return self._descend(self._on_sphere(v), gamma, self._weights(rng), ITERATIONS, width, STEP)

    def values(self, v: Array, penalty: float) -> Array:
        """The least objective of the multiples of unit vectors, inf where none is positive."""
        u = v @ self.rows.T
        order = np.argsort(-u, axis=1)
        ordered = np.take_along_axis(u, order, axis=1) * self.scale
        kept = np.cumsum(self.weight[order], axis=1)
        with np.errstate(divide="ignore", over="ignore"):
            values = 1 / (ordered * ordered) + penalty * (self.weight.sum() - kept)
        return np.asarray(np.where(ordered > 0, values, np.inf).min(axis=1))

    def _weights(self, rng: np.random.Generator) -> Array:
        power = rng.choice(UNEVEN, size=(self.many, 1))
        return np.asarray(rng.exponential(size=(self.many, len(self.rows))) ** power)

    def _on_sphere(self, v: Array) -> Array:
        length = np.sqrt((v[:, : self.counted] ** 2).sum(axis=1, keepdims=True))
        return v / np.maximum(length, np.finfo(float).tiny)

    def _descend(
        self, v: Array, gamma: Array, uneven: Array, iterations: int, width: float, step: float
    ) -> Array:
        """Descend from unit vectors v (R, k) with gamma (R,) and weights (R, m)."""
        margin = gamma[:, None]
        last = np.maximum(LAST_WIDTH * margin, LEAST_WIDTH)
        moved = np.zeros_like(v)
        for share in np.linspace(0.0, 1.0, iterations, endpoint=False).tolist():
            wide = width * (last / width) ** share
            z = np.tanh((margin - v @ self.rows.T) / (2 * wide))
            slope = (1 - z * z) * self.weight
            if share < 0.5:
                slope *= uneven ** (1 - 2 * share)
            moved = MEMORY * moved + (1 - MEMORY) * (slope @ self.rows)
            size = np.sqrt((moved * moved).sum(axis=1, keepdims=True))
            length = step * (LAST_STEP / step) ** share
            v = self._on_sphere(v + length * moved / np.maximum(size, np.finfo(float).tiny))
        return v

    def of_set(self, points: Points, members: Index) -> Array:
        """The hyperplane of an active set in the coordinates of `rows`."""
        v = from_members(points, members[None, :]).v[0]
        if points.intercept != "free":
            return v * self.scale
        offset = points.y[members[0]] - points.rows[members[0]] @ v
        return np.append(v * self.scale, offset)

    def has_direction(self, plane: Array) -> bool:
        """Whether a hyperplane has weights to begin near."""
        return bool(np.linalg.norm(plane[: self.counted]) > SHORTEST)

    def in_data(self, points: Points, v: Array) -> tuple[Array, float]:
        """(w, b) of a unit vector in the coordinates of the data."""
        w = v[: self.counted] / self.scale
        if points.intercept == "free":
            return w, float(v[-1] - points.centre @ w)
        return points.hyperplane(w, 0)


def descents_on(points: Points) -> Descents:
    """Descents in the coordinates of the points, which are not all at 0."""
    scale = float(np.sqrt((points.rows * points.rows).sum(axis=1).mean()))
    rows = points.rows / scale
    if points.intercept == "free":
        rows = np.column_stack([rows, np.ones(len(rows))])
    return Descents(points.y[:, None] * rows, points.rows.shape[1], points.weight, scale)


SAMPLES = 20_000
LARGEST_SAMPLED = 6  # larger random sets hardly ever keep anything
STARTS = 3
KICKS = 60
ROUNDS = 100  # of a population
BRED = 0.85  # of the work limit, after which the population is left
SIZE_OF_ROUND = 16  # numbers of the points that one round is worth
ELITE = 8  # that later descents begin from
PROMISING, IMPROVED = 12, 2  # ends of descents that are looked at, and improved


@dataclass(frozen=True, eq=False)
class ZeroOneIncumbent:
    """A point of the 0-1 loss problem.

    w, b (d,): the hyperplane.
    objective: its true objective, violations counted strictly.
    source: what found it.
    """

    w: Array
    b: float
    objective: float
    source: str


def zero_one_incumbent(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    seed: int = 0,
    time_limit: float | None = None,
) -> ZeroOneIncumbent:
    """Best point found; never worse than the best point with w = 0.

    seed: seed of the sample of active sets; the result is a function of the arguments.
    time_limit: seconds after which nothing better is looked for.
    Raises ValueError: bad penalty or intercept.
    """
    cost = positive("penalty", penalty)
    trivial = trivial_points(data, penalty=cost, intercept=intercept)[0]
    best = ZeroOneIncumbent(trivial.w, trivial.b, trivial.objective, "point with w = 0")
    points = distinct_points(data, intercept)
    if points.radius == 0:
        return best
    until = np.inf if time_limit is None else time.monotonic() + time_limit
    search = LocalSearch(points, cost, until)
    rng = np.random.default_rng(seed)
    found = [
        (*search.improve(members, np.inf), source)
        for members, source in [*_from_directions(search, data), *_from_sample(search, rng)]
    ]
    found += _bred(search, data, rng)
    if not found:
        return best
    value, members, source = min(found, key=lambda candidate: candidate[0])
    for _ in range(KICKS):
        if search.exhausted:
            break
        other, changed = search.improve(search.kick(members, rng), value)
        if other < value:
            value, members, source = other, changed, "local search over active sets"
    return min(best, _incumbent(search, data, members, source), key=lambda x: x.objective)


def _from_directions(search: LocalSearch, data: TrainingData) -> list[tuple[Index, str]]:
    """Active sets of the best hyperplanes along the directions of hinge-loss fits."""
    stretched: list[tuple[float, int, Mask]] = []
    for w, b in hinge_directions(data, search.penalty, search.points.intercept):
        along = _kept_along(search, data, w, b)
        if along is not None:
            stretched.append((along[0], len(stretched), along[1]))
    found: list[tuple[float, int, Index]] = []
    for _, k, kept in sorted(stretched)[: 2 * STARTS]:
        members = least_norm_members(search.points, kept)
        if members is not None:
            found.append((search.value(members), k, members))
    return [(members, "hinge-loss direction") for *_, members in sorted(found)[:STARTS]]


def _kept_along(
    search: LocalSearch, data: TrainingData, w: Array, b: float
) -> tuple[float, Mask] | None:
    """The best objective along a direction, and the distinct points that are kept there."""
    intercept = search.points.intercept
    along = best_along(data, w, b, search.penalty, intercept)
    if along is None:
        return None
    kept = margins(data, *along) >= 1 - ON_MARGIN
    norm2 = float(along[0] @ along[0]) + (along[1] ** 2 if intercept == "penalised" else 0)
    return norm2 + search.penalty * data.mass(~kept), kept[search.points.original]


def _bred(
    search: LocalSearch, data: TrainingData, rng: np.random.Generator
) -> list[tuple[float, Index, str]]:
    """The best of a population of active sets, each round's most promising ones improved.

    The rounds grow with the size of the problem; what work is left is for kicks.
    """
    points = search.points
    descents = descents_on(points)
    population: dict[bytes, tuple[float, Index, Array]] = {}
    met: set[bytes] = set()
    for _ in range(min(ROUNDS, descents.rows.size // SIZE_OF_ROUND)):
        if search.exhausted or search.spent + descents.work > BRED * WORK_LIMIT:
            break
        search.spent += descents.work
        elite = [plane for *_, plane in sorted(population.values(), key=_value)[:ELITE]]
        v = descents.near(np.array(elite), rng) if elite else descents.first(rng)
        new = 0
        for k in np.argsort(descents.values(v, search.penalty), kind="stable")[:PROMISING].tolist():
            along = _kept_along(search, data, *descents.in_data(points, v[k]))
            if new == IMPROVED or along is None:
                break
            name = np.packbits(along[1]).tobytes()
            if name in met:
                continue
            met.add(name)
            new += 1
            start = least_norm_members(points, along[1])
            if start is not None:
                value, members = search.improve(start, np.inf)
                plane = descents.of_set(points, members)
                if np.isfinite(value) and descents.has_direction(plane):
                    population[np.sort(members).tobytes()] = (value, members, plane)
    best = sorted(population.values(), key=_value)[:1]
    return [(value, members, "descent on a smoothed count") for value, members, _ in best]


def _value(one: tuple[float, Index, Array]) -> float:
    return one[0]


def _from_sample(search: LocalSearch, rng: np.random.Generator) -> list[tuple[Index, str]]:
    """The best of a random sample of active sets."""
    points = search.points
    count = len(points.y)
    found: list[tuple[float, int, Index]] = []
    smallest = 2 if points.intercept == "free" else 1
    sizes = range(smallest, min(points.largest, LARGEST_SAMPLED, count) + 1)
    total = max(1, min(SAMPLES, 10 * MARGINS_AT_ONCE // count) // max(1, len(sizes)))
    for size in sizes:
        if search.exhausted:
            break
        members = rng.integers(count, size=(total, size))
        if points.intercept == "free":
            members[:, 0] = rng.integers(points.n_pos, size=total)
            members[:, 1] = rng.integers(points.n_pos, count, size=total)
        ordered = np.sort(members, axis=1)
        members = members[(np.diff(ordered, axis=1) > 0).all(axis=1)]
        values = search.values_in_batches(members)
        best = np.argsort(values, kind="stable")[:STARTS]
        found += [(float(values[k]), len(found) + j, members[k]) for j, k in enumerate(best)]
    return [(members, "sampled active set") for *_, members in sorted(found)[:STARTS]]


def _incumbent(
    search: LocalSearch, data: TrainingData, members: Index, source: str
) -> ZeroOneIncumbent:
    """The point of an active set, stretched until what is on the margin is truly kept."""
    v = from_members(search.points, members[None, :]).v[0]
    w, b = search.points.hyperplane(v, members[0])
    stretched = scale_onto_margin(data, w, b, margins(data, w, b) >= 1 - ON_MARGIN)
    if stretched is None:
        return ZeroOneIncumbent(w, b, np.inf, source)
    intercept = search.points.intercept
    objective = zero_one_objective(data, *stretched, penalty=search.penalty, intercept=intercept)
    return ZeroOneIncumbent(*stretched, objective, source)
