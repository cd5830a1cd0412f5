"""Local search below nu_bar: fixed points of (9), counts of both updates, refusals above."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.inside.formulations import loss_weights, reduced_hulls, support_value
from tests.inside.solvers import LiveResult, LocalSearch
from tests.inside.solvers import local_search as module
from tests.references import reference_solutions
from tests.references.polytope_corners import gauss
from tests.references.reference_solutions import INTERCEPTS, points
from tightmargin.formulations import TrainingData, extended_nu_svc_reverse
from tightmargin.solvers import extended_nu_local, nu_range, solve

TOY = gauss(7, 60, 2)
NEARBY = 1e-4


def below(data: TrainingData, share: float, **options: Any) -> float:
    return share * nu_range(data, **options).nu_bar


def weight(found: LocalSearch, intercept: str) -> np.ndarray:
    return np.append(found.w, found.b) if intercept == "penalised" else found.w


@pytest.mark.parametrize(
    ("update", "share"),
    [("algorithm_7", 0.05), ("algorithm_7", 0.9), ("damped", 0.5)],
)
def test_the_best_of_some_starts_is_the_best_direction(update: str, share: float) -> None:
    data = points("overlapping", 1)
    nu = below(data, share)
    costs = np.full(data.n, 1 / data.n)
    found = extended_nu_local(data, nu=nu, update=update, starts=8)
    best = reference_solutions.nu_risk_on_circle(data, "free", nu, costs).value
    assert found.objective == pytest.approx(best, rel=1e-6)
    if share == 0.5:  # nothing outside the ball is lower than on the sphere
        outside = solve(extended_nu_svc_reverse(data, nu=nu))
        assert outside.objective == pytest.approx(best, rel=1e-6)
    assert all(one.converged for one in found.solutions)
    assert -nu * found.rho + costs @ found.xi == pytest.approx(found.objective, rel=1e-9)
    assert (data.y * (data.X @ found.w + found.b) - found.rho + found.xi >= -1e-9).all()


@pytest.mark.parametrize(
    ("balance", "intercept"), list(zip(["uniform", "balanced", "uniform"], INTERCEPTS, strict=True))
)
def test_every_end_is_a_fixed_point_and_nothing_near_it_is_better(
    balance: str, intercept: str
) -> None:
    """(9) at w, solved by another layer, has w's own value; and h is no less all around."""
    data = points("unbalanced", 2)
    nu = below(data, 0.5, class_balance=balance, intercept=intercept)
    costs = loss_weights(data, balance)
    found = extended_nu_local(
        data, nu=nu, class_balance=balance, intercept=intercept, starts=4, seed=1
    )
    hulls = reduced_hulls(data, nu=nu, class_balance=balance, intercept=intercept)
    steps = NEARBY * np.random.default_rng(0).standard_normal((200, hulls.k))
    for one in found.solutions:
        assert np.linalg.norm(one.weight) == pytest.approx(1.0, abs=1e-12)
        assert one.objective == pytest.approx(support_value(hulls, one.weight), rel=1e-9)
        linear = reference_solutions.nu_risk_linearised(data, intercept, nu, costs, one.weight)
        assert linear.value == pytest.approx(one.objective, rel=1e-6)
        around = one.weight + steps
        around /= np.linalg.norm(around, axis=1, keepdims=True)
        assert min(support_value(hulls, v) for v in around) >= one.objective * (1 - 1e-9)
    assert support_value(hulls, weight(found, intercept)) == pytest.approx(found.objective)


def test_a_limit_of_steps_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", {"algorithm_7": 1, "damped": 3})
    nu = below(TOY, 0.3)
    for update, steps in module.STEPS.items():
        (one,) = extended_nu_local(TOY, nu=nu, starts=1, update=update).solutions
        assert not one.converged
        assert one.iterations == steps
        hulls = reduced_hulls(TOY, nu=nu)
        assert one.objective == pytest.approx(support_value(hulls, one.weight), rel=1e-12)


def test_multipliers_that_are_no_normal_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Either sign is read rightly; numbers that disagree with h by sorting are an error."""
    nu = below(TOY, 0.3)
    honest = extended_nu_local(TOY, nu=nu, starts=3)
    own = LiveResult.row_duals

    def replaced(change: Any) -> Any:
        return property(lambda answer: change(own.func(answer)))

    monkeypatch.setattr(LiveResult, "row_duals", replaced(lambda duals: -duals))
    assert extended_nu_local(TOY, nu=nu, starts=3).objective == honest.objective
    monkeypatch.setattr(
        LiveResult, "row_duals", replaced(lambda duals: duals + 0.3 * (duals == duals[0]))
    )
    with pytest.raises(RuntimeError, match="disagree with h by sorting"):
        extended_nu_local(TOY, nu=nu, starts=3)
