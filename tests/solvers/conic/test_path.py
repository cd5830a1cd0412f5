"""The conic estimator along its penalty and its budget, its optima, and proofs by hand."""

from __future__ import annotations

import functools
import itertools
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.formulations import StrengtheningBound
from tests.inside.solvers import (
    Case,
    Limits,
    Subject,
    clarabel,
    classify,
    named_values,
    standard_form,
    without_quotients,
    write_proof,
)
from tests.inside.solvers import conic_low_rank as low
from tests.inside.solvers import conic_methods as methods
from tests.inside.solvers import conic_path_rows as steps
from tests.references import reference_solutions
from tests.support.covering import covering
from tightmargin.formulations import CATALOGUE, TrainingData
from tightmargin.solvers import SolverNotInstalledError, Verdict, conic_path, penalty_grid

PENALTIES = (0.02, 0.3, 1.3, 6.0, 40.0)
TOLERANCE = 1e-6
DATA = reference_solutions.points("overlapping", 1, n=12)


@functools.cache
def known() -> steps.ConicPath:
    return conic_path(DATA, penalties=PENALTIES)


@functools.cache
def optimum(mode: str, penalty: float) -> float:
    return reference_solutions.theorem_2(DATA, mode, penalty=penalty).value


def by_hand(data: TrainingData, row: steps.ConicRow, mode: str) -> tuple[float, float]:
    """(trace W, sum z) from the data and the row's w, b and W."""
    X = data.X if mode == "none" else np.column_stack([data.X, np.ones(data.n)])
    weight = row.w if mode == "none" else np.append(row.w, row.b)
    assert np.linalg.eigvalsh(row.W - np.outer(weight, weight))[0] >= -1e-12 * np.trace(row.W)
    v = np.maximum(1 - data.y * (X @ weight), 0.0)
    T = np.array([x @ row.W @ x for x in X]) - 2 * data.y * (X @ weight) + 1
    return float(np.trace(row.W)), float((v**2 / T).sum())


@pytest.mark.parametrize(("mode", "budgets"), [("penalised", (0.5, 0.2, 0.02)), ("none", (0.2,))])
def test_a_budget_has_the_value_of_its_own_problem(mode: str, budgets: tuple[float, ...]) -> None:
    path = conic_path(DATA, budgets=budgets, intercept=mode)
    assert path.certified
    assert [row.budget for row in path.rows] == list(budgets)
    for row in path.rows:
        expected = reference_solutions.theorem_2(DATA, mode, budget=row.budget).value
        assert row.objective == pytest.approx(expected, rel=2e-6)
        assert row.bound <= expected * (1 + 1e-7)
        trace, spent = by_hand(DATA, row, mode)
        assert trace == pytest.approx(row.objective, rel=1e-12)
        assert spent <= row.budget * DATA.n * (1 + 1e-12)
        # Weak duality by hand: the value at the penalty, less what the budget costs there.
        dual = optimum(mode, row.penalty) - row.penalty * row.budget * DATA.n
        assert row.bound <= dual + 1e-6 * expected


@pytest.mark.parametrize("noise", [1e-3, 1.0])
def test_a_falsified_point_still_gives_a_bound_and_a_larger_gap(noise: float) -> None:
    rng, problem = np.random.default_rng(5), steps.low_rank_problem(DATA, "penalised")
    for row in known().rows:
        true = optimum("penalised", row.penalty)
        false = row.factor + noise * rng.standard_normal(row.factor.shape)
        proof = problem.proof(false, row.penalty)
        if proof is not None:
            assert proof.value <= true * (1 + 1e-7)
        value = problem.value_and_gradient(false, row.penalty)[0]
        assert value >= true * (1 - 1e-7)
        assert proof is None or value - proof.value > row.gap


@pytest.fixture
def spoiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The low-rank result is a fifth too long, for penalties and for budgets."""
    minimum = low.low_rank_minimum

    def too_long(*words: Any) -> Any:
        return 1.2 * minimum(*words)

    for module in (low, steps):
        monkeypatch.setattr(module, "low_rank_minimum", too_long)


@pytest.mark.usefixtures("spoiled")
def test_a_spoiled_point_goes_to_the_interior_point_solver() -> None:
    path = conic_path(DATA, penalties=PENALTIES[1:3])
    assert path.certified
    assert path.fallbacks == 2
    for row in path.rows:
        assert row.method == steps.INTERIOR
        assert "clarabel" in row.stop
        assert row.objective == pytest.approx(optimum("penalised", row.penalty), rel=TOLERANCE)
    (row,) = conic_path(DATA, budgets=[0.2]).rows
    expected = reference_solutions.theorem_2(DATA, "penalised", budget=0.2).value
    assert (row.method, row.verdict) == (steps.INTERIOR, Verdict.CERTIFIED)
    assert row.objective == pytest.approx(expected, rel=2e-6)
    assert by_hand(DATA, row, "penalised")[1] <= 0.2 * 12 * (1 + 1e-12)


@pytest.mark.usefixtures("spoiled")
def test_without_a_solver_the_row_says_so_and_claims_nothing(monkeypatch: Any) -> None:
    def missing(*words: Any, **more: Any) -> Any:
        raise SolverNotInstalledError("nothing here takes an SDP")

    monkeypatch.setattr(steps, "solve", missing)
    path = conic_path(DATA, penalties=[1.3])
    (row,) = path.rows
    assert not path.certified
    assert (row.verdict, row.method) == (Verdict.NOT_CERTIFIED, low.LOW_RANK)
    assert row.stop == "nothing here takes an SDP"
    assert row.bound <= optimum("penalised", 1.3) <= row.objective


def test_a_large_penalty_on_separable_points_is_the_hard_margin_machine() -> None:
    """All multipliers are on the margin there, and v / T says nothing."""
    data = reference_solutions.points("separable", 0, n=14)
    (row,) = conic_path(data, penalties=[300.0]).rows
    machine = tm.solve(tm.hard_margin_svc(data, intercept="penalised")).values
    norm = machine["w"] @ machine["w"] + machine["b"] ** 2
    assert (row.verdict, row.method, row.stop) == (Verdict.CERTIFIED, low.HARD_MARGIN, "")
    assert row.objective == pytest.approx(norm, rel=TOLERANCE)
    expected = reference_solutions.theorem_2(data, "penalised", penalty=300.0).value
    assert row.objective == pytest.approx(expected, rel=1e-5)
    assert np.append(row.w, row.b) == pytest.approx(np.append(machine["w"], machine["b"]), rel=1e-4)


def test_a_path_without_time_is_not_certified_and_has_no_false_bound() -> None:
    path = conic_path(DATA, penalties=[1.3, 6.0], time_limit=1e-9)
    assert [row.verdict for row in path.rows] == [Verdict.NOT_CERTIFIED] * 2
    for row in path.rows:
        assert row.bound <= optimum("penalised", row.penalty) <= row.objective
        assert row.stop == "time limit"


def test_lbfgs_and_newton_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(low, "LARGE", 0)
    with monkeypatch.context() as patch:
        patch.setattr(low, "newton", None)
        path = conic_path(DATA, penalties=PENALTIES)
    # A large point that L-BFGS leaves unproven is refined.
    minimum = low.low_rank_minimum
    monkeypatch.setattr(low, "low_rank_minimum", lambda *words: 1.01 * minimum(*words))
    refined = conic_path(DATA, penalties=PENALTIES)
    for found in (path, refined):
        assert found.certified
        assert found.fallbacks == 0
        for row, other in zip(found.rows, known().rows, strict=True):
            assert row.objective == pytest.approx(other.objective, rel=TOLERANCE)


def test_a_descent_that_begins_where_z_jumps_finds_the_minimum() -> None:
    """At w = 0, b = 1 all points of one class are on their margin, and W has nothing to spare."""
    data = outlier_data("clustered", n=100, d=3, sigma=0.2, seed=5)
    problem = steps.low_rank_problem(data, "penalised")
    jump = np.array([[0.0, 0.0, 0.0, 1.0]])
    assert problem.spent(jump) == data.n_neg
    for penalty in (0.06, 0.075, 0.09):
        F = low.low_rank_minimum(problem, penalty, jump)
        value = problem.value_and_gradient(F, penalty)[0]
        proof = problem.proof(F, penalty)
        assert proof.value == pytest.approx(value, rel=TOLERANCE)
    path = conic_path(data, budgets=[0.01 * share for share in range(30, 51, 4)])
    assert path.certified
    assert path.fallbacks <= 1  # the budget that is spent at the jump itself


def test_the_grid_runs_from_half_the_points_to_a_hundredth() -> None:
    data = outlier_data("clustered", n=60, d=4, sigma=0.5, seed=7)
    grid = penalty_grid(data, 7)
    assert np.diff(np.log(grid)) == pytest.approx(np.log(grid[1] / grid[0]))
    rows = conic_path(data, penalties=grid.tolist()).rows
    assert rows[0].spent == pytest.approx(0.5, rel=1e-2)
    assert rows[-1].spent == pytest.approx(0.01, rel=1e-2)
    assert len(penalty_grid(data)) == 100


def test_all_points_may_be_given_up() -> None:
    """Up to 1 / ||sum x~ x~'|| nothing pays, and a budget of 1 costs nothing."""
    X = np.column_stack([DATA.X, np.ones(12)])
    idle = 1 / np.linalg.eigvalsh(X.T @ X)[-1]
    below, above = conic_path(DATA, penalties=[0.999 * idle, 1.01 * idle]).rows
    assert below.objective == pytest.approx(12 * 0.999 * idle)
    assert not below.factor.any()
    assert above.objective < 12 * 1.01 * idle
    (row,) = conic_path(DATA, budgets=[1.0]).rows
    assert (row.objective, row.bound, row.verdict) == (0.0, 0.0, Verdict.CERTIFIED)
    assert row.penalty <= idle


def test_a_point_over_its_budget_is_brought_back_by_as_little_as_it_takes() -> None:
    problem = steps.low_rank_problem(DATA, "penalised")
    F = known().rows[2].factor
    spend = 0.9 * problem.spent(F)
    found = steps.within_budget(problem, F, spend)
    assert found.shape == F.shape
    assert np.array_equal(found[0], F[0])
    assert 0.999 * spend <= problem.spent(found) <= spend
    alone = steps.within_budget(problem, F[:1], spend)  # no rows to make longer
    assert problem.spent(F[:1]) > spend >= problem.spent(alone) >= 0.99 * spend
    assert steps.within_budget(problem, F, 12.0) is F


def test_ctrl_c_keeps_the_rows_that_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    visits, visit = itertools.count(), steps.ConicRows.visit

    def interrupted(self: Any, number: float) -> None:
        if next(visits) >= 2:
            raise KeyboardInterrupt
        visit(self, number)

    monkeypatch.setattr(steps.ConicRows, "visit", interrupted)
    path = conic_path(DATA, penalties=PENALTIES)
    assert [row.penalty for row in path.rows] == list(PENALTIES[:2])
    assert path.not_reached == PENALTIES[2:]
    assert not path.certified
    with pytest.raises(KeyboardInterrupt):
        conic_path(DATA, penalties=PENALTIES)


def assert_true(data: TrainingData, row: steps.ConicRow, mode: str) -> None:
    """A bound below the value of the row's point, and near it where the row is certified."""
    trace, spent = by_hand(data, row, mode)
    assert row.objective == pytest.approx(trace + row.penalty * spent, rel=1e-8)
    assert row.bound <= row.objective * (1 + 1e-9)
    if row.verdict is Verdict.CERTIFIED:
        assert row.objective - row.bound <= 1e-6 * row.objective


@pytest.mark.parametrize("seed", [3577, 3754, 1585])
def test_seeds_at_which_a_negative_factor_made_a_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 12)), int(rng.integers(1, 4))
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    y = np.where(X @ w + 0.3 * rng.normal() * (rng.random() < 0.5) > 0, 1, -1)
    scale, mode = float(10.0 ** rng.integers(-5, 2)), str(rng.choice(["penalised", "none"]))
    prices = [float(10.0 ** rng.integers(-2, 5)) for _ in range(2)]
    data = TrainingData(X * scale, y)
    path = tm.paths.conic_path(data, penalties=prices, intercept=mode)
    assert path.certified
    for row in path.rows:
        assert_true(data, row, mode)


def test_a_bound_above_the_value_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that lies: the row says so, is not certified, and hands nothing on."""
    honest = low.LowRank.bound
    lied = []

    def lying(problem: low.LowRank, gamma: np.ndarray, alpha: np.ndarray, penalty: float) -> object:
        found = honest(problem, gamma, alpha, penalty)
        if np.all(penalty == 1.0) and found is not None:
            lied.append(penalty)
            return StrengtheningBound(27019.0, found.gamma, found.alpha, found.beta)
        return found

    monkeypatch.setattr(low.LowRank, "bound", lying)
    data = TrainingData(np.random.default_rng(2).normal(size=(8, 2)), [1, -1] * 4)
    first, second, third = conic_path(data, penalties=[0.1, 1.0, 10.0]).rows
    assert lied
    assert second.verdict is Verdict.NOT_CERTIFIED
    assert second.bound == -np.inf
    assert "exceeds the value" in second.stop
    assert np.isnan(second.strengthening).all()
    for row in (first, third):
        assert row.verdict is Verdict.CERTIFIED
        assert_true(data, row, "penalised")


def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Least value -1 wherever the norm is 1; a saddle at 0, as turning x changes nothing."""
    square = float((x * x).sum())
    return square * square - 2 * square, 4 * (square - 1) * x


def bowl_hessian(x: np.ndarray) -> np.ndarray:
    flat = x.ravel()
    return 4 * (flat @ flat - 1) * np.eye(flat.size) + 8 * np.outer(flat, flat)


@pytest.mark.parametrize("late", [True, False])
def test_a_deadline_that_is_past_leaves_the_start(late: bool) -> None:
    deadline = time.perf_counter() + (-1.0 if late else 1e6)
    start = np.full((2, 3), 0.05)
    found = low.newton(bowl, bowl_hessian, start, deadline)
    assert np.array_equal(found, start) is late
    other = low.quasi_newton(bowl, start, deadline)
    assert (bowl(other)[0] > -1 + 1e-6) is late
    assert other.shape == (2, 3)
    assert late or bowl(found)[0] == pytest.approx(-1.0, abs=1e-12)


def noisy(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)


def shapes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    X, y = noisy(0, 20, 3)
    side = np.where(X[:, 0] > 0, 1, -1)
    few = np.where(np.arange(20) < 2, 1, -1)
    return {
        "plain": (X, y), "shifted": (X + 1000, y), "scaled": (X * [1e3, 1e-3, 1.0], y),
        "copies": (np.repeat(X[:7], 3, axis=0), np.repeat(y[:7], 3)), "tiny": (X, few),
        "both": (np.repeat(X[:10], 2, axis=0), np.tile([1, -1], 10)), "ties": (np.round(X), y),
        "separable": (X + 0.3 * side[:, None], side), "one": (X[:, :1], y),
        "zero": (np.zeros((4, 2)), np.array([1, -1, 1, 1])),
    }  # fmt: skip


@pytest.mark.parametrize("penalty", [0.1, 40.0])
@pytest.mark.parametrize("mode", ["penalised", "none", "free"])
@pytest.mark.parametrize("shape", shapes())
def test_every_shape_of_data_is_certified_and_agrees(shape: str, mode: str, penalty: float) -> None:
    """Clarabel's multipliers, certified without low rank, and its last point hold the optimum."""
    data = TrainingData(*shapes()[shape])
    words = {"intercept": mode} | ({"intercept_bound": "derived"} if mode == "free" else {})
    model = tm.conic_sdp(data, penalty=penalty, **words)
    if shape == "zero" and mode == "none":
        assert tm.solve(model).objective == pytest.approx(4 * penalty)
        return
    result, twin = tm.solve(model), tm.solve(tm.conic_sdp_dual(data, penalty=penalty, **words))
    assert (result.certificate.verdict, twin.certificate.verdict) == (Verdict.CERTIFIED,) * 2
    assert "low-rank" in result.message
    assert mode == "free" or result.certificate.complementarity < 1e-5
    assert result.bound <= -twin.bound
    assert -twin.certificate.upper <= result.certificate.upper
    form = standard_form(model)
    claim = clarabel.run(form, classify(form), Limits())
    check = CATALOGUE["conic_sdp"].check(model.origin, named_values(model, form, claim.x))
    assert check.bound.value <= result.certificate.upper * (1 + 1e-12)
    assert check.violation > 0 or result.bound <= check.objective * (1 + 1e-9)


def test_points_without_entries_have_no_optimum() -> None:
    assert low.conic_optimum(np.zeros((3, 0)), np.array([1.0, -1.0, 1.0]), 1.0) is None
    assert low.conic_optimum(np.ones((2, 1)), np.array([1.0, -1.0]), 1.0, bound_on_b=0.0) is None


def test_forms_with_a_bound_on_b_below_the_proven_one_are_certified_and_agree() -> None:
    """A bound that is stated belongs to the model."""
    data = TrainingData(*noisy(0, 60, 4))
    results = [
        tm.solve(build(data, penalty=40.0, intercept="free", intercept_bound=0.25), "clarabel")
        for build in (tm.conic_sdp, tm.conic_sdp_literal, tm.conic_sdp_eliminated)
    ]
    assert {r.certificate.verdict for r in results} == {Verdict.CERTIFIED}
    assert max(r.bound for r in results) <= min(r.certificate.upper for r in results)
    assert results[0].objective == pytest.approx(results[2].objective, rel=2e-6)


def solved(entry: str, intercept: str, penalty: float) -> tuple[Case, Any]:
    limit = {"intercept_bound": 1.5} if intercept == "free" else {}
    data = TrainingData(*noisy(4, 14, 3))
    model = tm.build(entry, data, penalty=penalty, intercept=intercept, **limit)
    result = tm.solve(model, "clarabel")
    ready = without_quotients(model)
    return Case(ready, Subject(standard_form(ready)), model.origin), result


@pytest.mark.parametrize(
    ("entry", "intercept", "penalty"),
    covering(methods.WRITTEN_ENTRIES, ["free", "penalised", "none"], [0.1, 30.0]),
)
def test_a_result_without_multipliers_is_proven_by_those_of_the_path(
    entry: str, intercept: str, penalty: float, tmp_path: Path
) -> None:
    case, result = solved(entry, intercept, penalty)
    proof = write_proof(tmp_path / "proof.json", case, replace(result, duals={}))
    # The interval of the kernel and that of the checker hold the same optimum.
    assert float(proof.lower) <= result.certificate.upper
    assert result.certificate.bound <= float(proof.upper)
    assert float(proof.upper - proof.lower) <= 1e-6 * float(proof.upper)
