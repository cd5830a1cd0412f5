"""The ramp loss to proven optimality: brute force over capped sets, a published optimum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.experiments import load
from tests.inside.formulations import ramp_objective
from tests.inside.solvers import enumeration_capped_sets as sets_module
from tests.inside.solvers import ramp_enumeration
from tests.references import reference_solutions
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Status, Verdict

C = 0.7


def grid(seed: int, n: int = 7, d: int = 2) -> TrainingData:
    """Small integers: points in one place, on common lines, and features that repeat others."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float)
    return TrainingData(np.column_stack([X, 2 * X[:, 0]]), np.where(np.arange(n) < 3, 1.0, -1.0))


@pytest.mark.parametrize(
    ("kind", "intercept"),
    [("grid", "free"), ("grid", "none"), ("overlapping", "penalised"), ("unbalanced", "free")],
)
def test_the_optimum_is_that_of_trying_every_set(kind: str, intercept: str) -> None:
    data = grid(1) if kind == "grid" else reference_solutions.points(kind, 2, n=6)
    truth = reference_solutions.ramp_optimum(data, intercept, C)
    found = ramp_enumeration(data, C=C, intercept=intercept)
    assert found.objective == pytest.approx(truth, rel=1e-7)
    assert found.bound <= truth * (1 + 1e-9)
    assert found.bound == pytest.approx(truth, rel=1e-7)
    assert found.objective == ramp_objective(data, found.w, found.b, C, intercept)


@pytest.mark.parametrize("intercept", reference_solutions.INTERCEPTS)
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
    assert result.status is Status.OPTIMAL
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    proven = tm.solve(model)
    assert proven.certificate.verdict is Verdict.CERTIFIED
    assert proven.objective == pytest.approx(result.objective, rel=1e-6)


# --- the continuous relaxation --------------------------------------------------------------------


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
