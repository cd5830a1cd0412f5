"""Small 0-1 and ramp loss problems: cones and the heuristic against brute force and fractions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.experiments import load
from tests.inside.formulations import margins, ramp_objective, trivial_points, zero_one_objective
from tests.inside.solvers import zero_one_incumbent
from tests.references import reference_solutions
from tests.references.active_sets import zero_one_by_sets
from tests.references.brute_force import zero_one_optima
from tests.solvers.zero_one.clouds import INTERCEPTS, overlapping
from tests.soundness import exact
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
    """The heuristic lies between the optimum and the trivial points; the other oracle agrees."""
    for penalty, optimum in zip(
        PENALTIES, zero_one_optima(data, PENALTIES, intercept), strict=True
    ):
        words: dict[str, Any] = {"penalty": penalty, "intercept": intercept}
        found = tm.search.cone_search(data, **words)
        assert found.objective == zero_one_objective(data, found.w, found.b, **words)
        assert (found.given_up == (margins(data, found.w, found.b) < 1)).all()
        assert found.objective == pytest.approx(optimum, rel=1e-6)
        assert found.objective * (1 - 2e-6) <= found.bound <= optimum * (1 + 1e-9)
        by_sets = zero_one_by_sets(data, **words)
        assert by_sets.objective == pytest.approx(optimum, rel=1e-6)
    point = zero_one_incumbent(data, **words)
    assert point.objective == zero_one_objective(data, point.w, point.b, **words)
    trivial = trivial_points(data, **words)[0].objective
    assert found.bound <= point.objective <= trivial


def test_the_heuristic_reaches_the_optimum() -> None:
    data = overlapping(18, 2, 1)
    for penalty in (0.3, 20.0):
        found = zero_one_incumbent(data, penalty=penalty, intercept="free")
        optimum = zero_one_by_sets(data, penalty=penalty, intercept="free")
        assert found.objective == pytest.approx(optimum.objective, rel=1e-8)
    again = zero_one_incumbent(data, penalty=penalty, intercept="free")
    assert (again.b, again.objective, again.source) == (found.b, found.objective, found.source)


@pytest.mark.parametrize(
    ("place", "intercept"),
    covering([(1e6, 1.0), (1e7, 1.0), (0.0, 1e-6), (0.0, 1e-10), (100.0, 1e-5)], INTERCEPTS),
)
def test_ill_conditioned_points_against_fractions(
    place: tuple[float, float], intercept: str
) -> None:
    offset, jitter = place
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = offset + rng.integers(-2, 3, (8, 2)) + jitter * rng.standard_normal((8, 2))
        data = TrainingData(X, rng.permutation([-1, 1] * 4))
        for penalty in (0.7, 1e3):
            optimum = float(exact.zero_one(data.X, data.y, intercept, penalty))
            found = tm.search.cone_search(data, penalty=penalty, intercept=intercept)
            assert found.bound <= optimum * (1 + 1e-15)
            assert found.objective == pytest.approx(optimum, rel=1e-5)


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
    found = tm.search.ramp_cone_search(data, C=C, intercept=intercept)
    assert found.objective == pytest.approx(truth, rel=1e-6)
    assert truth * (1 - 2e-6) <= found.bound <= truth * (1 + 1e-9)
    assert found.objective == ramp_objective(data, found.w, found.b, C, intercept)


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
    found = tm.search.ramp_cone_search(data, C=1.0, intercept="free")
    assert found.objective == pytest.approx(20.733906, abs=5e-7)
    assert found.bound == pytest.approx(20.733906, rel=2e-6)
