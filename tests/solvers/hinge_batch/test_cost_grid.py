"""The hinge grid at once: the values of the model and of another layer, true bounds, ways out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.inside.experiments import fits, loss_grids, outlier_data
from tests.inside.solvers import Machines, block_size, cost_grid, hinge_block
from tests.references import reference_solutions
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData, c_svc
from tightmargin.solvers import Status, Verdict, solve

Array = NDArray[np.float64]

MODES = ("free", "penalised", "none")
BETAS = [1 / 101, 0.3, 0.8, 100 / 101]
POINTS = outlier_data("clustered", n=40, d=3, sigma=0.4, seed=2)


def cost(beta: float) -> float:
    """The paper's penalty beta / (1 - beta) of twice the objective."""
    return beta / (1 - beta) / 2


def value_by_hand(data: TrainingData, w: Array, b: float, C: float, mode: str) -> float:
    """Objective of c_svc."""
    norm2 = float(w @ w) + (b * b if mode == "penalised" else 0.0)
    return 0.5 * norm2 + C * float(np.maximum(0, 1 - data.y * (data.X @ w + b)).sum())


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_grids, "solve", lambda *a, **k: pytest.fail("a model was solved"))


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The costs at which the model is solved, which it is."""
    costs: list[float] = []

    def seen(model: Any, **limits: Any) -> Any:
        costs.append(model.C.value)
        return solve(model, **limits)

    monkeypatch.setattr(loss_grids, "solve", seen)
    return costs


def in_turn(values: Sequence[Any]) -> list[tuple[Any, str]]:
    """Each value with one of the intercepts, all in turn; with FULL each with all."""
    return [(v, m) for k, v in enumerate(values) for j, m in enumerate(MODES) if FULL or j == k % 3]


KINDS = {
    "overlapping": reference_solutions.points("overlapping", 3, n=20),
    "separable": reference_solutions.points("separable", 3, n=20),
    "contradictory": TrainingData(np.vstack([POINTS.X] * 2), np.r_[POINTS.y, -POINTS.y]),
    "more columns than points": reference_solutions.points("separable", 3, n=12, d=25),
}


@pytest.mark.parametrize(("kind", "mode"), in_turn(list(KINDS)))
def test_the_machines_of_a_grid_are_those_of_another_layer(kind: str, mode: str) -> None:
    """cvxpy's optimum lies between the bound and the objective, which meet."""
    data = KINDS[kind]
    machines = hinge_block(data, np.array([cost(beta) for beta in BETAS]), mode)
    for beta, machine in zip(BETAS, machines, strict=True):
        best = reference_solutions.hinge(data, mode, 0.5, cost(beta)).value
        slack = 1e-7 * best  # of the witness
        assert machine.bound <= best + slack
        assert machine.objective >= best - slack
        assert machine.objective == pytest.approx(best, rel=1e-6)
        by_hand = value_by_hand(data, machine.w, machine.b, cost(beta), mode)
        assert machine.objective == pytest.approx(by_hand, rel=1e-12)
        assert machine.proven
        assert machine.certificate.verdict is Verdict.CERTIFIED
        assert mode != "none" or machine.b == 0


def test_a_free_intercept_is_the_middle_of_the_best_ones(no_model: None) -> None:
    """Points -3, -1 and 1, 2 at a cost that leaves all of them inside the margin.

    Every multiplier is C, so w = 7 C; 2 w + b <= 1 and 3 w - b <= 1 are the ends of the interval.
    """
    data = TrainingData(np.array([[-3.0], [-1.0], [1.0], [2.0]]), np.array([-1.0, -1.0, 1.0, 1.0]))
    (fit,) = fits("hinge", data, [0.04], intercept="free")
    C = cost(0.04)
    assert fit.w == pytest.approx([7 * C], rel=1e-5)
    assert fit.b == pytest.approx(((1 - 14 * C) + (21 * C - 1)) / 2, rel=1e-4)


def spoil(monkeypatch: pytest.MonkeyPatch, how: Any) -> None:
    """Let the batch end in something else at the second of its costs."""
    found = cost_grid.hinge_machines

    def wrong(*given: Any) -> Machines:
        machines = found(*given)
        v, lower = machines.v.copy(), machines.lower
        how(v, lower)
        pairs = zip(machines.lemmas, lower.tolist(), strict=True)
        return Machines(v, [replace(lemma, value=value) for lemma, value in pairs])

    monkeypatch.setattr(cost_grid, "hinge_machines", wrong)


def moved(v: Array, lower: Array) -> None:
    v[1] += 0.01


def above(v: Array, lower: Array) -> None:
    lower[1] *= 1.001


def lost(v: Array, lower: Array) -> None:
    v[1], lower[1] = np.nan, np.nan


@pytest.mark.parametrize(("how", "mode"), in_turn([moved, above, lost]))
def test_a_wrong_batch_is_not_certified_and_goes_to_the_model(
    how: Any, mode: str, solved: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = fits("hinge", POINTS, BETAS, intercept=mode)
    assert not solved
    spoil(monkeypatch, how)
    costs = np.array([cost(beta) for beta in BETAS])
    machines = hinge_block(POINTS, costs, mode)
    assert [machine.proven for machine in machines] == [True, False, True, True]
    assert machines[1].certificate.verdict is Verdict.NOT_CERTIFIED
    said_of_it = {above: "contradicts the bound", lost: "the objective is nan"}
    assert said_of_it.get(how, "the proven gap is") in machines[1].certificate.reason
    said: list[str] = []
    again = fits("hinge", POINTS, BETAS, intercept=mode, progress=said.append)
    assert solved == pytest.approx([costs[1]])
    assert said[-1] == "beta 0.3 once more, by a solver of the model"
    for one, other in zip(again, honest, strict=True):
        assert one.certified
        assert one.objective == pytest.approx(other.objective, rel=1e-7)


def test_the_better_one_is_kept_where_the_model_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, moved)
    costs = np.array([cost(beta) for beta in BETAS])
    moved_to = hinge_block(POINTS, costs, "penalised")[1]

    def failing(add: float) -> Any:
        def doubtful(model: Any, **limits: Any) -> Any:
            result = solve(model, **limits)
            doubt = replace(result.certificate, verdict=Verdict.NOT_CERTIFIED, reason="in doubt")
            return replace(result, objective=result.objective + add, certificate=doubt)

        return doubtful

    for add, kept in ((1e6, True), (0.0, False)):
        monkeypatch.setattr(loss_grids, "solve", failing(add))
        fit = fits("hinge", POINTS, BETAS)[1]
        assert not fit.certified
        assert (fit.objective == pytest.approx(moved_to.objective, rel=1e-12)) is kept
        assert ("in doubt" in fit.complaint) is not kept


@pytest.mark.parametrize("mode", MODES)
def test_points_of_any_size_have_their_machine(mode: str) -> None:
    """At 1e-8 the loss of w is all but C n; without an intercept w = C sum y_i x_i.

    At 1e8 the machine is that of the model.
    """
    data, C = TrainingData(1e-8 * POINTS.X, POINTS.y), cost(0.5)
    (fit,) = fits("hinge", data, [0.5], intercept=mode)
    assert fit.certified
    at_zero = reference_solutions.hinge(TrainingData(0 * POINTS.X, POINTS.y), mode, 0.5, C).value
    assert fit.objective == pytest.approx(at_zero, rel=1e-6)
    if mode == "none":
        np.testing.assert_allclose(fit.w, C * (data.y @ data.X), rtol=1e-6)
    huge = TrainingData(1e8 * POINTS.X, POINTS.y)
    expected = solve(c_svc(huge, C=C, intercept=mode))
    (fit,) = fits("hinge", huge, [0.5], intercept=mode)
    assert fit.certified
    assert fit.objective == pytest.approx(expected.objective, rel=1e-6)


@pytest.mark.parametrize(("X", "beta"), [(1e-160 * POINTS.X, 0.5), (POINTS.X, 1e-80)])
def test_numbers_without_a_square_are_left_to_the_model(
    X: Array, beta: float, solved: list[float]
) -> None:
    data = TrainingData(X, POINTS.y)
    assert block_size(data, np.array([cost(beta)])) == 0
    fits("hinge", data, [beta])
    assert len(solved) == 1


def test_very_large_machines_are_left_to_the_model() -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) < 30, 1.0, -1.0)
    wide = TrainingData(rng.standard_normal((60, 900)), y)
    assert block_size(wide, np.ones(2)) == 0
    assert block_size(POINTS, np.ones(2)) > 100


@pytest.mark.parametrize("mode", MODES[:2])
def test_a_time_limit_keeps_what_was_found(mode: str, no_model: None) -> None:
    found = fits("hinge", POINTS, BETAS, intercept=mode, time_limit=1e-9)
    for fit in found:
        assert not fit.certified
        assert fit.w is not None
        assert fit.objective == pytest.approx(
            value_by_hand(POINTS, fit.w, fit.b, cost(fit.hyperparameter), mode)
        )
        assert fit.status is Status.INACCURATE
        assert fit.bound == 0
        assert "the proven gap is" in fit.complaint


def test_ctrl_c_in_a_solver_ends_the_grid_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver hands its last iterate over then; the grid must not go on to the next value."""
    count = []

    def stopped(model: Any, **limits: Any) -> Any:
        count.append(1)
        return replace(solve(model, **limits), status=Status.INTERRUPTED)

    monkeypatch.setattr(loss_grids, "solve", stopped)
    with pytest.raises(KeyboardInterrupt):
        fits("hinge", POINTS, BETAS, solver="clarabel")
    assert len(count) == 1
