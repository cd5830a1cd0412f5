"""A good point of the 0-1 loss problem, found in moments and without a mixed-integer solver.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

where # counts a point as often as it weighs.

The search runs over active sets (local_search.py). It starts from the best sets of a random sample
and from directions of hinge-loss fits, each stretched as well as possible. From there a population
of sets is bred by descents on a smoothed count of the violated points (smoothed_descent.py). In the
end some points of the best set are replaced at random, over and over.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.zero_one.loss import (
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.solvers.zero_one.enumeration.active_sets import (
    distinct_points,
    from_members,
)
from tightmargin.solvers.zero_one.enumeration.directions import best_along, hinge_directions
from tightmargin.solvers.zero_one.enumeration.least_norm import least_norm_members
from tightmargin.solvers.zero_one.enumeration.local_search import (
    MARGINS_AT_ONCE,
    ON_MARGIN,
    WORK_LIMIT,
    LocalSearch,
)
from tightmargin.solvers.zero_one.enumeration.smoothed_descent import descents_on

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

    Attributes
    ----------
    w, b : array (d,), float
        The hyperplane.
    objective : float
        Its true objective, violations counted strictly.
    source : str
        What found it.
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

    Parameters
    ----------
    seed : int
        Seed of the sample of active sets; the result is a function of the arguments.
    time_limit : float, optional
        Seconds after which nothing better is looked for.

    Raises
    ------
    ValueError
        Bad penalty or intercept.
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
