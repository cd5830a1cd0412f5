"""Active sets of the 0-1 and of the ramp loss against brute force, fractions and algebra."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.experiments import load
from tests.inside.formulations import margins, ramp_objective, trivial_points, zero_one_objective
from tests.inside.solvers import (
    RationalPoints,
    count_sets,
    ramp_enumeration,
    zero_one_enumeration,
    zero_one_incumbent,
)
from tests.inside.solvers import enumeration_capped_sets as sets_module
from tests.references import reference_solutions
from tests.references.brute_force import zero_one_optima
from tests.solvers.zero_one.clouds import INTERCEPTS, clustered, overlapping
from tests.support.covering import covering
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict

PENALTIES = (0.05, 0.7, 40.0)
C = 0.7


@st.composite
def grid_data(draw: st.DrawFn) -> TrainingData:
    """Few points on a small grid: repeated, opposed, collinear, on the origin, or nearly so."""
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 2))
    cells = st.lists(st.integers(-2, 2), min_size=d, max_size=d)
    X = np.array(draw(st.lists(cells, min_size=n, max_size=n)), dtype=float)
    labels = draw(st.lists(st.sampled_from([-1, 1]), min_size=n - 2, max_size=n - 2))
    scale, shift = draw(st.sampled_from([1.0, 1 / 7, 30.0])), draw(st.sampled_from([0.0, 5.0]))
    return TrainingData((X + shift) * scale, [1, -1, *labels])


@pytest.mark.parametrize("intercept", INTERCEPTS)
@settings(max_examples=20)
@given(data=grid_data())
def test_degenerate_data_agree_with_brute_force(intercept: str, data: TrainingData) -> None:
    """The heuristic lies between the optimum and the trivial points."""
    expected = zero_one_optima(data, PENALTIES, intercept)
    results = zero_one_enumeration(data, penalty=PENALTIES, intercept=intercept)
    for penalty, optimum, found in zip(PENALTIES, expected, results, strict=True):
        words: dict[str, Any] = {"penalty": penalty, "intercept": intercept}
        assert found.objective == zero_one_objective(data, found.w, found.b, **words)
        assert (found.kept == (margins(data, found.w, found.b) >= 1)).all()
        assert 0 <= found.objective - found.bound <= 1e-8 * found.objective
        assert found.objective == pytest.approx(optimum, rel=1e-6)
        assert found.bound == pytest.approx(optimum, rel=1e-6)
    point = zero_one_incumbent(data, **words)
    assert point.objective == zero_one_objective(data, point.w, point.b, **words)
    trivial = trivial_points(data, **words)[0].objective
    assert found.bound <= point.objective <= trivial


def test_the_heuristic_reaches_the_enumerated_optimum() -> None:
    data = overlapping(18, 2, 1)
    for penalty in (0.3, 20.0):
        found = zero_one_incumbent(data, penalty=penalty, intercept="free")
        exact = zero_one_enumeration(data, penalty=penalty, intercept="free")
        assert found.objective == pytest.approx(exact.objective, rel=1e-8)
    again = zero_one_incumbent(data, penalty=penalty, intercept="free")
    assert (again.b, again.objective, again.source) == (found.b, found.objective, found.source)


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


def test_too_many_sets_are_refused_with_their_number() -> None:
    data = clustered(20, 2, 0)
    assert count_sets(20, 2, "penalised") == 20 + 190 + 1140
    with pytest.raises(ValueError, match=r"limit = 1,349 is below the 1,350 active sets"):
        zero_one_enumeration(data, penalty=1.0, intercept="penalised", limit=1349)
    found = zero_one_enumeration(data, penalty=1.0, intercept="penalised", limit=1350)
    assert found.n_sets == 1350


def grid(seed: int, n: int = 7, d: int = 2) -> TrainingData:
    """Small integers: points in one place, on common lines, and features that repeat others."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float)
    return TrainingData(np.column_stack([X, 2 * X[:, 0]]), np.where(np.arange(n) < 3, 1.0, -1.0))


@pytest.mark.parametrize(
    ("kind", "intercept"),
    [("grid", "free"), ("grid", "none"), ("overlapping", "penalised"), ("unbalanced", "free")],
)
def test_the_ramp_optimum_is_that_of_trying_every_set(kind: str, intercept: str) -> None:
    data = grid(1) if kind == "grid" else reference_solutions.points(kind, 2, n=6)
    truth = reference_solutions.ramp_optimum(data, intercept, C)
    found = ramp_enumeration(data, C=C, intercept=intercept)
    assert found.objective == pytest.approx(truth, rel=1e-7)
    assert found.bound <= truth * (1 + 1e-9)
    assert found.bound == pytest.approx(truth, rel=1e-7)
    assert found.objective == ramp_objective(data, found.w, found.b, C, intercept)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_nearly_dependent_vertices_are_exact(intercept: str, monkeypatch: Any) -> None:
    data = reference_solutions.points("overlapping", 4, n=6)
    rounded = ramp_enumeration(data, C=C, intercept=intercept)
    monkeypatch.setattr(sets_module, "SAFE_CONDITION", 0.0)
    exact = ramp_enumeration(data, C=C, intercept=intercept)
    assert exact.n_sets == rounded.n_sets
    assert exact.bound == pytest.approx(rounded.bound, rel=1e-9)
    monkeypatch.setattr(sets_module, "RATIONAL_LIMIT", 3)
    assert ramp_enumeration(data, C=C, intercept=intercept) is None


@pytest.mark.usefixtures("no_search_of_ours")
def test_beyond_its_size_the_bound_stays_the_solvers_word() -> None:
    data = reference_solutions.points("overlapping", 7, n=8)
    model = tm.ramp_big_m(data, C=C, big_m="derived")
    result = tm.solve(model, method="direct", prove=False)
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    proven = tm.solve(model)
    assert proven.certificate.verdict is Verdict.CERTIFIED
    assert proven.objective == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize(("place", "intercept"), [(0.5, "free"), (0.0, "none")])
def test_points_in_one_place_are_no_matter(place: float, intercept: str) -> None:
    """Nothing but the constant tells them apart from nothing."""
    data = TrainingData(np.full((5, 1), place), [1.0, 1.0, -1.0, -1.0, -1.0])
    truth = reference_solutions.ramp_optimum(data, intercept, C)
    result = tm.solve(tm.ramp_big_m(data, C=C, big_m=20.0, intercept=intercept))
    assert result.objective == pytest.approx(truth, rel=1e-6)
    assert result.bound is None or result.bound <= truth * (1 + 1e-9)


def test_the_ramp_loss_of_the_design_notes(data_folder: Path) -> None:
    """n60d2ATj0 at C = 1 is 20.733906, by Gurobi in 57,900 nodes."""
    data = load(str(data_folder / "hard_margin_loss" / "n60d2ATj0"))
    found = ramp_enumeration(data, C=1.0, intercept="free")
    assert found.objective == pytest.approx(20.733906, abs=5e-7)
    assert found.bound == pytest.approx(20.733906, abs=5e-7)
