"""Theorem 1 for a general Q: linear costs over the hull have the optimum that z in {0, 1} has."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import tightmargin as tm
from tests.references.reference_solutions import points
from tightmargin.formulations import conic_hull
from tightmargin.solvers import Verdict

DATA = points("overlapping", 3, n=6)


def definite(rng: np.random.Generator, k: int) -> np.ndarray:
    A = rng.standard_normal((k, k + 1))
    return A @ A.T + 0.1 * np.eye(k)


def by_both_choices(x: Any, y: float, Q: Any, g: Any, penalty: float) -> float:
    """min w'Qw + g'w + penalty z over W_Q: one quadratic program for each z."""
    values = []
    for z in (0, 1):
        w = cp.Variable(len(x))
        u = y * (x @ w)
        cost = cp.quad_form(w, cp.psd_wrap(Q)) + g @ w
        problem = cp.Problem(cp.Minimize(cost), [u >= 1 if z == 0 else u <= 1])
        values.append(float(problem.solve(solver=cp.CLARABEL)) + penalty * z)
    return min(values)


@pytest.mark.parametrize("seed", range(8))
def test_the_hull_has_the_optimum_of_the_binary_problem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    intercept = "penalised" if seed % 2 else "none"
    k = DATA.d + seed % 2
    Q, g, point = definite(rng, k), 2 * rng.standard_normal(k), int(rng.integers(DATA.n))
    penalty = float(rng.uniform(0.05, 2))
    model = conic_hull(DATA, penalty=penalty, quadratic=Q, point=point, intercept=intercept)
    weight = [*model.w.values()] + ([model.b] if seed % 2 else [])
    model.objective.expr += sum(float(a) * entry for a, entry in zip(g, weight, strict=True))
    found = tm.solve(model, absolute_gap=1e-6)
    x = np.append(DATA.X[point], 1.0)[:k]
    expected = by_both_choices(x, float(DATA.y[point]), Q, g, penalty)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("penalty", "given_up"), [(0.01, True), (50.0, False)])
def test_without_a_cost_it_is_the_smaller_price(penalty: float, given_up: bool) -> None:
    Q = definite(np.random.default_rng(9), 3)
    found = tm.solve(conic_hull(DATA, penalty=penalty, quadratic=Q, point=2))
    x = np.append(DATA.X[2], 1.0)
    gamma = 1 / float(x @ np.linalg.solve(Q, x))
    assert (penalty < gamma) is given_up
    assert found.objective == pytest.approx(min(penalty, gamma), rel=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"quadratic": np.eye(2)}, "quadratic must be 3 x 3"),
        ({"quadratic": "wide"}, "quadratic must hold real numbers"),
        ({"quadratic": 1j * np.eye(3)}, "quadratic must hold real numbers"),
        ({"quadratic": 1e-320 * np.eye(3)}, "in another unit"),
        ({"quadratic": 1e200 * np.eye(3)}, "in another unit"),
        ({"quadratic": np.diag([1.0, 1.0, 0.0])}, "positive definite"),
        ({"quadratic": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, "symmetric"),
        ({"point": 6}, "point must be a whole number from 0 to 5"),
        ({"point": 1.0}, "point must be a whole number"),
        ({"intercept": "free"}, "intercept must be one of penalised, none"),
        ({"penalty": -1.0}, "penalty must be a positive"),
    ],
)
def test_a_bad_word_is_refused_by_name(words: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        conic_hull(DATA, **({"penalty": 1.0} | words))


def test_a_point_of_zeros_has_no_hull() -> None:
    data = tm.TrainingData([[0.0, 0.0], [1.0, 2.0]], [1, -1])
    with pytest.raises(ValueError, match="point is 0"):
        conic_hull(data, penalty=1.0, intercept="none")
    weighted = tm.TrainingData(DATA.X, DATA.y, sample_weight=np.arange(1, 7))
    with pytest.raises(ValueError, match="does not take weighted points"):
        conic_hull(weighted, penalty=1.0)


def test_labels_of_several_classes_are_no_signs() -> None:
    data = tm.MulticlassData(np.eye(3), [0, 1, 2])
    with pytest.raises(TypeError, match="data must be TrainingData, got MulticlassData"):
        conic_hull(data, penalty=1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="TrainingData or GramData, got MulticlassData"):
        tm.extended_robust_svc(data, nu=0.5, mu=0.0)  # type: ignore[arg-type]
