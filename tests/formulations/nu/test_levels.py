"""b and rho of Perez-Cruz et al. (21)-(22) beside the best ones, by a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import tightmargin as tm
from tests.references.reference_solutions import points
from tests.support.covering import FULL


def best_pairs(scores: np.ndarray, y: np.ndarray, nu: float) -> tuple[float, np.ndarray]:
    """Optimum over (b, rho, xi) for given scores, and the ends of b and rho among the optimal."""
    n = len(y)
    cost = np.r_[0.0, -nu, np.full(n, 1 / n)]
    A = np.column_stack([-y, np.ones(n), -np.eye(n)])
    bounds = [(None, None)] * 2 + [(0, None)] * n
    first = linprog(cost, A_ub=A, b_ub=y * scores, bounds=bounds)
    assert first.status == 0
    ends = []
    for k in (0, 1):
        for sign in (1.0, -1.0):
            unit = np.zeros(n + 2)
            unit[k] = sign
            within = np.vstack([A, cost])
            side = np.r_[y * scores, first.fun + 1e-10]
            found = linprog(unit, A_ub=within, b_ub=side, bounds=bounds)
            ends.append(sign * found.fun)
    return float(first.fun), np.array(ends)


@pytest.mark.parametrize("seed", range(4 if FULL else 2))
def test_at_a_solution_both_are_the_best_pair(seed: int) -> None:
    data, nu = points("overlapping", seed, n=20), 0.63
    alpha = tm.solve(tm.nu_svc_dual(data, nu=nu)).values["alpha"]
    found = tm.theory.nu_levels(data, alpha)
    scores = data.X @ (data.X.T @ (data.y * alpha))
    _, (b_low, b_high, rho_low, rho_high) = best_pairs(scores, data.y, nu)
    assert found.averaged_of >= 1
    assert found.spread < 1e-5
    assert found.b_interval == pytest.approx((b_low, b_high), abs=1e-6)
    assert found.rho_interval == pytest.approx((rho_low, rho_high), abs=1e-6)
    for b, rho in ((found.averaged_b, found.averaged_rho), (found.sorted_b, found.sorted_rho)):
        assert b_low - 1e-5 <= b <= b_high + 1e-5
        assert rho_low - 1e-5 <= rho <= rho_high + 1e-5
    machine = tm.solve(tm.nu_svc(data, nu=nu))
    assert (found.averaged_b, found.averaged_rho) == pytest.approx(
        (float(machine.values["b"]), float(machine.values["rho"])), abs=1e-4
    )


def test_without_inner_multipliers_they_are_an_end_and_the_middle() -> None:
    """At nu = 1 of balanced classes every multiplier is 1 / n: rho - b may be anything above."""
    data = tm.TrainingData([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    alpha = np.array([0.0, 0.25, 0.25, 0.0])  # nu = 1/2: w = 1/2, scores 0, .5, 1.5, 2
    found = tm.theory.nu_levels(data, alpha)
    assert found.averaged_of == 0
    # Positive scores 1.5 and 2: rho - b in [1.5, 2]... of which b + score >= rho holds the lowest.
    assert found.rho_interval == pytest.approx(((1.5 - 0.5) / 2, (2.0 - 0.0) / 2))
    assert found.b_interval == pytest.approx(((-0.5 - 2.0) / 2, (0.0 - 1.5) / 2))
    assert (found.averaged_b, found.averaged_rho) == pytest.approx((-1.0, 0.5))
    assert (found.sorted_b, found.sorted_rho) == pytest.approx((-1.0, 0.75))
    value, ends = best_pairs(np.array([0.0, 0.5, 1.5, 2.0]), data.y, 0.5)
    assert ends == pytest.approx([*found.b_interval, *found.rho_interval], abs=1e-6)
    slack = np.maximum(0, 0.5 - data.y * (np.array([0.0, 0.5, 1.5, 2.0]) - 1.0))
    assert -0.5 * 0.5 + slack.mean() == pytest.approx(value, abs=1e-9)  # the end is best as well


def test_off_a_solution_the_average_is_worse_and_the_spread_says_so() -> None:
    data, nu = points("overlapping", 3, n=20), 0.6
    alpha = np.where(data.y > 0, nu / 2 / data.n_pos, nu / 2 / data.n_neg)
    found = tm.theory.nu_levels(data, alpha)
    scores = data.X @ (data.X.T @ (data.y * alpha))

    def value(b: float, rho: float) -> float:
        return -nu * rho + np.maximum(0, rho - data.y * (scores + b)).mean()

    best, _ = best_pairs(scores, data.y, nu)
    assert found.spread > 0.1
    assert value(found.sorted_b, found.sorted_rho) == pytest.approx(best, abs=1e-9)
    assert value(found.averaged_b, found.averaged_rho) > best + 1e-3
