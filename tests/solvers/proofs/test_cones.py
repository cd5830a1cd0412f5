"""What the kernel makes of covers by cones of directions: forged ones prove nothing too much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    READ,
    ConeCover,
    ConeProblem,
    Conflict,
    Count,
    SideRows,
    cell_bounds,
    cone_problem,
    faces,
    leaves,
    zero_one_enumeration,
)
from tests.inside.solvers import cover_cover_lemma as cover_lemma
from tests.inside.solvers import cover_cover_value as cover_value
from tests.support.covering import FULL, covering
from tightmargin.solvers import cone_search

DATA = tm.data.outlier_data("clustered", n=12, d=3, sigma=0.5, seed=4)
PENALTY = 0.8
INTERCEPTS = ("free", "penalised", "none")


def problem_of(intercept: str) -> ConeProblem:
    return cone_problem(DATA.X, DATA.y, np.full(DATA.n, PENALTY), intercept=intercept)


def random_boxes(k: int, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    centre, half = faces(k)
    which = rng.integers(len(centre), size=count)
    centre, half = centre[which], half[which] * 2.0 ** -rng.integers(0, 6, size=(count, 1))
    free = half > 0
    offset = rng.integers(-31, 32, size=centre.shape) / 32 * (1 - half)
    centre = np.where(free, np.round(offset * 64) / 64 * (half < 1), centre)
    return centre, np.minimum(half, 1 - np.abs(centre)) * free


@pytest.mark.parametrize(("intercept", "ramp"), covering(INTERCEPTS, [False, True]))
def test_no_hyperplane_of_a_cell_is_below_its_bound(intercept: str, ramp: bool) -> None:
    rng, square = np.random.default_rng(1), 0.5 if ramp else 1.0
    problem = cone_problem(
        DATA.X, DATA.y, np.full(DATA.n, PENALTY), intercept=intercept, ramp=ramp, square=square
    )
    centre, half = random_boxes(problem.k, rng, 60)
    bounds = cell_bounds(problem, centre, half)
    for c, h, bound in zip(centre, half, bounds, strict=True):
        r = c + h * rng.uniform(-1, 1, size=(200, problem.k))
        v = 2.0 ** rng.uniform(-3, 4, size=(200, 1)) * r / problem.units
        w, b = v[:, :3], np.zeros((200, 1))
        if intercept != "none":
            b = v[:, 3:4] if problem.k == 4 else rng.normal(size=(200, 1)) * 3
        if intercept == "free":
            b = b - (w @ problem.centre)[:, None]
        u = DATA.y * (w @ DATA.X.T + b)
        norm2 = (w * w).sum(axis=1) + (b[:, 0] ** 2 if intercept == "penalised" else 0.0)
        loss = np.clip(1 - u, 0, 2) if ramp else (u < 1).astype(float)
        values = square * norm2 + PENALTY * loss.sum(axis=1)
        assert values.min() >= bound * (1 - 1e-12)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_dear_point_hides_no_cheap_one(intercept: str) -> None:
    # w = 1, b = 0 gives up the point of price 3 alone, where 3 + 1e16 is no double.
    X, y = np.array([[-1.0], [1.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    problem = cone_problem(X, y, np.array([3.0, 1e16, 1e16]), intercept=intercept)
    assert cover_value(problem, ConeCover(np.zeros(2 * problem.k, dtype=bool))) <= 1 + 3
    data = tm.TrainingData(X, y, sample_weight=[1.0, 1e16, 1e16])
    found = cone_search(data, penalty=1.0, intercept=intercept, cell_limit=20_000)
    assert str(found.stop) == "proven"
    assert found.bound <= 2 <= found.objective * (1 + 1e-12)
    assert found.objective == pytest.approx(2)


def test_a_count_of_a_point_without_a_price_is_of_no_other() -> None:
    X, y = np.array([[1.0], [2.0], [-1.0], [0.5]]), np.array([1.0, 1.0, -1.0, -1.0])
    one = Count(np.array([True, False, False, False]), 0)
    sides = replace(SideRows.nothing(4, 1), counts=(one,))
    prices = np.array([0.0, 1.0, 1.0, 1.0])
    problem = cone_problem(X, y, prices, intercept="none", sides=sides)
    # w = 1 keeps the counted point, and gives up the last one.
    assert cover_value(problem, ConeCover(np.zeros(2, dtype=bool))) <= 1 + 1


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_forged_covers_prove_nothing_too_much(intercept: str) -> None:
    exact = zero_one_enumeration(DATA, penalty=PENALTY, intercept=intercept).objective
    found = cone_search(DATA, penalty=PENALTY, intercept=intercept)
    problem, bits = problem_of(intercept), found.cover.bits
    if intercept == "none":
        volume = sum(
            float(np.prod(np.where(h > 0, h, 1), axis=1).sum()) for _, h in leaves(3, bits)
        )
        assert volume == pytest.approx(6.0, abs=1e-12), "leaves cover the faces once"
    assert cover_value(problem, found.cover) == pytest.approx(exact, rel=2e-6)
    rng, ceiling = np.random.default_rng(0), 10 * exact
    assert cover_value(problem, found.cover, ceiling) <= exact
    known = [k for k in found.cover.known if isinstance(k, Conflict)]
    for turn in range(60 if FULL else 18):
        forged = bits.copy()
        if turn % 3 == 0:  # a box that is halved is said to be a leaf, or the other way round
            forged[rng.integers(len(bits))] ^= True
        elif turn % 3 == 1:
            forged = forged[: rng.integers(len(bits))]
        else:
            forged = np.append(forged, rng.random(3) < 0.5)
        forced = tuple(
            replace(k, alpha=k.alpha * rng.uniform(0.1, 10, len(k.alpha))) for k in known
        )
        lemma = cover_lemma(problem, ConeCover(forged, forced), ceiling)
        assert lemma is None or lemma.value <= exact
    assert cover_value(problem, ConeCover(np.zeros(2 * problem.k, dtype=bool)), ceiling) < exact


def test_what_is_no_conflict_is_refused() -> None:
    problem, bits = problem_of("free"), np.zeros(6, dtype=bool)
    for points, alpha in (
        ([0, 0], [1.0, 1.0]), ([0, 99], [1.0, 1.0]), ([-1, 3], [1.0, 1.0]),
        ([0, 9], [1.0, -1.0]), ([0, 9], [1.0, np.nan]), ([0, 9], [1.0]),
    ):  # fmt: skip
        bad = Conflict(np.array(points), np.array(alpha), np.zeros(0))
        with pytest.raises(ValueError, match="other points, or other multipliers"):
            cover_value(problem, ConeCover(bits, (bad,)))
        assert cover_lemma(problem, ConeCover(bits, (bad,)), 1e9) is None


@pytest.mark.parametrize("missed", [1e-4, 0.1, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_what_rounding_takes_from_a_margin_is_taken_from_the_bound(
    intercept: str, missed: float
) -> None:
    """One negative at 0 and two positives at 1 whose rows may say w + b >= 1 - missed only.

    The positives are in the middle, so that they are 0 once they are centred.
    """
    X, y = np.array([[0.0], [1.0], [1.0]]), np.array([-1.0, 1.0, 1.0])
    kept = slice(None) if intercept == "free" else slice(1, None)
    X, y = X[kept], y[kept]
    sides = replace(SideRows.nothing(len(y), 1), moved=np.where(y > 0, missed / READ, 0.0))
    problem = cone_problem(X, y, np.full(len(y), 1e3), intercept=intercept, sides=sides)
    found = cell_bounds(problem, np.array([[-1.0], [1.0]]), np.zeros((2, 1))).min()
    needed = max(0.0, (2.0 if intercept == "free" else 1.0) - missed) ** 2
    assert found <= needed * (1 + 1e-12)
    assert missed >= 1e-3 or found >= needed * (1 - 1e-2)
