"""Enumeration of active sets against brute force over kept points, fractions and algebra."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.formulations import margins, zero_one_objective
from tests.inside.solvers import EnumerationResult, RationalPoints, count_sets, zero_one_enumeration
from tests.references.brute_force import zero_one_optima
from tests.solvers.zero_one.clouds import INTERCEPTS, clustered
from tests.support.covering import covering
from tightmargin.formulations import TrainingData

PENALTIES = (0.05, 0.7, 40.0)


def check_consistency(
    data: TrainingData, penalty: float, intercept: str, found: EnumerationResult
) -> None:
    """The result's own numbers agree with each other, strictly."""
    value = zero_one_objective(data, found.w, found.b, penalty=penalty, intercept=intercept)
    assert found.objective == value
    assert (found.kept == (margins(data, found.w, found.b) >= 1)).all()
    assert found.bound <= found.objective
    assert found.objective - found.bound <= 1e-8 * found.objective


def check_against_brute_force(data: TrainingData, intercept: str, rel: float = 1e-6) -> None:
    expected = zero_one_optima(data, PENALTIES, intercept)
    results = zero_one_enumeration(data, penalty=PENALTIES, intercept=intercept)
    for penalty, optimum, found in zip(PENALTIES, expected, results, strict=True):
        check_consistency(data, penalty, intercept, found)
        assert found.objective == pytest.approx(optimum, rel=rel)
        assert found.bound == pytest.approx(optimum, rel=rel)


# --- against brute force -------------------------------------------------------------------------


@st.composite
def grid_data(draw: st.DrawFn) -> TrainingData:
    """Few points on a small grid: repeated, opposed, collinear, on the origin."""
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 2))
    cells = st.lists(st.integers(-2, 2), min_size=d, max_size=d)
    X = np.array(draw(st.lists(cells, min_size=n, max_size=n)), dtype=float)
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=n - 2, max_size=n - 2))
    scale, shift = draw(st.sampled_from([1.0, 1 / 7, 30.0])), draw(st.sampled_from([0.0, 5.0]))
    return TrainingData((X + shift) * scale, [1, -1, *labels])


@pytest.mark.parametrize("intercept", INTERCEPTS)
@settings(max_examples=30)
@given(data=grid_data())
def test_degenerate_data_agree_with_brute_force(intercept: str, data: TrainingData) -> None:
    check_against_brute_force(data, intercept)


# --- algebra -------------------------------------------------------------------------------------


def exact_optimum(data: TrainingData, penalty: float, intercept: str) -> Fraction:
    """Least objective of all active sets in rational arithmetic, nothing rounded."""
    exact = RationalPoints(data, intercept)
    X = [[Fraction(x) for x in row] for row in data.X.tolist()]
    values = [Fraction(penalty) * data.n]
    if intercept != "none":
        price = int(intercept == "penalised")
        values += [price + Fraction(penalty) * m for m in (data.n_pos, data.n_neg)]
    sizes = range(1 if intercept != "free" else 2, data.d + (1 if intercept == "none" else 2))
    for members in itertools.chain(*(itertools.combinations(range(data.n), k) for k in sizes)):
        point = exact.solve(np.array(members))
        if point is None:
            continue
        scores = [sum((w * x for w, x in zip(point.w, row, strict=True)), point.b) for row in X]
        u = [int(y) * score for y, score in zip(data.y, scores, strict=True)]
        assert all(u[i] == 1 for i in members)
        norm2 = sum(w * w for w in point.w)
        norm2 += point.b**2 if intercept == "penalised" else 0
        assert norm2 == point.norm2
        values.append(norm2 + Fraction(penalty) * sum(v < 1 for v in u))
    return min(values)


@pytest.mark.parametrize(
    ("place", "intercept"),
    covering([(1e6, 1.0), (1e7, 1.0), (0.0, 1e-6), (0.0, 1e-10), (100.0, 1e-5)], INTERCEPTS),
)
def test_ill_conditioned_sets_against_fractions(place: tuple[float, float], intercept: str) -> None:
    offset, jitter = place
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = offset + rng.integers(-2, 3, (8, 2)) + jitter * rng.standard_normal((8, 2))
        data = TrainingData(X, rng.permutation([-1, 1] * 4))
        for penalty in (0.7, 1e3):
            expected = float(exact_optimum(data, penalty, intercept))
            found = zero_one_enumeration(data, penalty=penalty, intercept=intercept)
            assert found.bound <= expected * (1 + 1e-15)
            rel = 1e-8 if offset < 1e6 else 1e-6
            assert found.objective == pytest.approx(expected, rel=rel)


def test_a_nearly_dependent_pair_can_be_needed_in_a_larger_set() -> None:
    """w = (2e9, -0.2), b = -1 touches all three; the pair alone leaves the third at margin 0.8."""
    data = TrainingData([[1e-9, 0.0], [0.0, 0.0], [1e-10, 1.0]], [1, -1, -1])
    found = zero_one_enumeration(data, penalty=1e20, intercept="free")
    assert found.kept.all()
    assert found.objective == pytest.approx(4e18, rel=1e-8)
    assert found.w == pytest.approx([2e9, -0.2], rel=1e-6)


# --- counting and refusing -----------------------------------------------------------------------


def test_too_many_sets_are_refused_with_their_number() -> None:
    data = clustered(20, 2, 0)
    expected = count_sets(20, 2, "penalised")
    assert expected == 20 + 190 + 1140
    with pytest.raises(ValueError, match=r"limit = 1,349 is below the 1,350 active sets"):
        zero_one_enumeration(data, penalty=1.0, intercept="penalised", limit=1349)
    found = zero_one_enumeration(data, penalty=1.0, intercept="penalised", limit=1350)
    assert found.n_sets == 1350
