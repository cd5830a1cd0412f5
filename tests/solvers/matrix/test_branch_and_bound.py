"""The search over cones of directions: its bounds hold for any multipliers, and it ends proven."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.solvers import (
    SOLVERS,
    CellProblem,
    MatrixStart,
    alternating,
    direction_cells,
    fixed_columns,
)
from tests.inside.solvers import matrix_closing_bounds as closing_bounds
from tests.references.matrix import matrix_points, rank_one_on_circle, rank_two_on_sphere
from tests.references.reference_solutions import INTERCEPTS
from tightmargin.solvers import Status, Verdict, matrix_alternating, matrix_search, solve

RIDGE = 0.5
SMALL = matrix_points(1, n=10, shape=(2, 3))
DATA = matrix_points(2)


def objective(data: tm.TrainingData, w: np.ndarray, b: float, mode: str) -> float:
    losses = np.maximum(0, 1 - data.y * (data.X @ w + b))
    return float(losses.sum() + RIDGE / 2 * (w @ w + (b * b if mode == "penalised" else 0)))


def cell_problem(kind: str, mode: str, data: tm.TrainingData = DATA) -> CellProblem:
    return CellProblem(data, data.X.reshape(-1, 3, 3), RIDGE, mode, kind, 100.0)


def best_in_direction(problem: CellProblem, u: np.ndarray) -> float:
    basis = u[:, None] if problem.kind == "line" else np.linalg.svd(u[:, None])[0][:, 1:]
    words = (problem.data, problem.predictors, basis, RIDGE, problem.intercept)
    return objective(problem.data, *fixed_columns(*words), problem.intercept)


@pytest.mark.parametrize(("mode", "turned"), [("free", True), ("penalised", False)])
def test_rank_one_is_proven_for_wide_and_tall_matrices(mode: str, turned: bool) -> None:
    data, shape = SMALL, (2, 3)
    if turned:
        X = SMALL.X.reshape(-1, 2, 3).transpose(0, 2, 1).reshape(-1, 6)
        data, shape = tm.TrainingData(X, SMALL.y), (3, 2)
    found = matrix_search(data, ridge=RIDGE, shape=shape, rank=1, intercept=mode)
    best = rank_one_on_circle(SMALL, 3, mode, RIDGE)
    assert found.stop == "proven"
    assert found.bound <= best * (1 + 1e-9)
    assert found.objective == pytest.approx(best, rel=2e-6)
    assert found.objective - found.bound <= 6e-7 * max(1.0, best)
    assert objective(data, found.w, found.b, mode) == pytest.approx(found.objective, rel=1e-9)
    assert np.linalg.matrix_rank(found.w.reshape(shape), tol=1e-9) == 1


def test_one_below_full_rank_is_proven() -> None:
    found = matrix_search(DATA, ridge=RIDGE, shape="3x3", rank=2)
    best = rank_two_on_sphere(DATA, 3, "free", RIDGE)
    assert found.stop == "proven"
    assert found.bound <= best * (1 + 1e-9)
    assert found.objective == pytest.approx(best, rel=1e-5)
    assert np.linalg.matrix_rank(found.w.reshape(3, 3), tol=1e-9) == 2


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8)
def test_no_multipliers_bound_a_cone_above_any_of_its_directions(seed: int) -> None:
    """Far from optimal ones too: the closed form is proven, the solver only proposes."""
    rng = np.random.default_rng(seed)
    kind, mode = rng.choice(["line", "complement"]), rng.choice(INTERCEPTS)
    problem = cell_problem(str(kind), str(mode))
    cone = rng.standard_normal((3, 1)) + 0.7 * rng.standard_normal((3, 3))
    cone /= np.linalg.norm(cone, axis=0)
    normals = np.linalg.inv(cone)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    inside = cone @ rng.exponential(size=(3, 6))
    least = min(best_in_direction(problem, u / np.linalg.norm(u)) for u in inside.T)
    tight = problem.bound(cone).lower
    assert tight <= least + 1e-7
    for scale in (0.1, 1.0, 10.0):
        Z = scale * rng.exponential(size=(3, 3)) * (1 - np.eye(3))
        loose = problem.proven(rng.random(DATA.n), Z, normals)
        assert loose <= tight + 1e-6, "the solver's own are the best"


@pytest.mark.parametrize("after", [1, 5])
def test_ctrl_c_keeps_the_point_and_a_bound_that_holds(after: int, monkeypatch: Any) -> None:
    best = matrix_search(SMALL, ridge=RIDGE, shape="2x3", rank=1)
    calls, whole = [], CellProblem.bound

    def pressed(self: CellProblem, cone: np.ndarray) -> Any:
        calls.append(cone)
        if len(calls) == after:
            raise KeyboardInterrupt
        return whole(self, cone)

    monkeypatch.setattr(CellProblem, "bound", pressed)
    found = matrix_search(SMALL, ridge=RIDGE, shape="2x3", rank=1, incumbent=(np.ones(6), 0.0))
    assert found.stop == "interrupted"
    assert found.bound <= best.objective <= found.objective + 1e-6
    assert found.cells == after - 1


def test_limits_of_cells_and_time_leave_a_proven_bound() -> None:
    best = matrix_search(SMALL, ridge=RIDGE, shape="2x3", rank=1)
    few = matrix_search(SMALL, ridge=RIDGE, shape="2x3", rank=1, cell_limit=6)
    assert (few.stop, best.stop) == ("cell_limit", "proven")
    assert few.cells in (6, 7)
    assert 0.5 * best.objective < few.bound < best.objective - 1e-3
    late = matrix_search(
        SMALL, ridge=RIDGE, shape="2x3", rank=1, time_limit=1e-6, incumbent=(best.w, best.b)
    )
    assert late.stop == "time_limit"
    assert late.bound < best.objective
    assert late.objective == pytest.approx(best.objective, rel=1e-9)


def test_a_solver_that_breaks_down_proves_less_and_nothing_false(monkeypatch: Any) -> None:
    def nothing(self: CellProblem, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, z = whole(self, normals)
        return direction_cells._finite(np.full(len(x), np.nan)), direction_cells._finite(z * np.inf)

    whole = CellProblem._solve
    monkeypatch.setattr(CellProblem, "_solve", nothing)
    found = matrix_search(SMALL, ridge=RIDGE, shape="2x3", rank=1, cell_limit=20)
    assert found.stop == "cell_limit"
    assert found.bound <= 1e-9


def test_full_rank_and_larger_problems_get_the_bound_of_the_projection() -> None:
    whole = tm.solve(tm.matrix_svc_bilinear(DATA, ridge=RIDGE, shape="1x9", rank=1), "scip")
    assert whole.certificate.verdict is Verdict.CERTIFIED
    assert whole.status is Status.OPTIMAL
    assert whole.certificate.bound_method == closing_bounds.RELAXATION_METHOD
    wide = matrix_points(0, n=12, shape=(4, 4))
    origin = tm.matrix_svc_bilinear(wide, ridge=RIDGE, shape="4x4", rank=2).origin
    found = closing_bounds.matrix_bound(origin)
    relaxed = tm.solve(tm.matrix_svc_projection(wide, ridge=RIDGE, shape="4x4", rank=2))
    assert found.words == closing_bounds.RELAXATION_METHOD
    assert found.value <= relaxed.objective
    assert found.value == pytest.approx(relaxed.objective, rel=1e-6)


def test_without_its_solver_there_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    origin = tm.matrix_svc_bilinear(DATA, ridge=RIDGE, shape="3x3", rank=1).origin
    monkeypatch.setattr(type(SOLVERS["clarabel"]), "installed", property(lambda self: False))
    assert closing_bounds.matrix_bound(origin) is None


def test_a_search_that_is_stopped_keeps_its_gap() -> None:
    model = tm.build("matrix_svc_bilinear", DATA, ridge=RIDGE, shape="3x3", rank=1)
    found = solve(model, method="matrix-search", time_limit=1e-6)
    assert found.status is Status.FEASIBLE
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert found.bound < found.objective - 0.1
    assert found.message.startswith("time limit: the gap is")


def test_ctrl_c_keeps_the_starts_that_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, whole = [], alternating._Alternation.from_factor

    def pressed(self: Any, factor: np.ndarray) -> MatrixStart:
        calls.append(factor)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(self, factor)

    monkeypatch.setattr(alternating._Alternation, "from_factor", pressed)
    found = matrix_alternating(SMALL, ridge=RIDGE, shape="2x3", rank=1, starts=5)
    assert (found.stop, len(found.solutions)) == ("interrupted", 2)
    calls.extend([calls[0]] * 2)
    calls[:] = calls[:2]
    with pytest.raises(KeyboardInterrupt):
        matrix_alternating(SMALL, ridge=RIDGE, shape="2x3", rank=1, starts=5)


def test_the_clock_keeps_the_best_point_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(alternating, "time", clock)
    data = matrix_points(11)
    found = matrix_alternating(data, ridge=RIDGE, shape="3x3", rank=1, starts=500, time_limit=9.0)
    assert found.stop == "time_limit"
    assert 1 <= len(found.solutions) < 500
    assert found.objective == pytest.approx(objective(data, found.w, found.b, "free"), rel=1e-9)
