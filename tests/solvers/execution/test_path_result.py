"""What all paths say the same way: certified, interrupted and their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import PathResult, StopReason
from tests.references import reference_solutions
from tests.references.reference_solutions import points

DATA = points("overlapping", 3, n=14)
RIDGE = 0.05
WORDS = ["objective", "upper", "bound", "gap", "verdict", "stop", "seconds"]


def penalty_value(penalty: float) -> float:
    return reference_solutions.theorem_2(DATA, "penalised", penalty=penalty).value


def budget_value(budget: float) -> float:
    return reference_solutions.theorem_2(DATA, "penalised", budget=budget).value


def capacity_value(norm_bound: float) -> float:
    return reference_solutions.least_loss(DATA, "free", norm_bound).value


def nu_value(nu: float) -> float:
    caps = np.full(DATA.n, 1 / DATA.n)
    return reference_solutions.nu_risk_on_circle(DATA, "free", nu, caps).value


def pi_value(pi: float) -> float:
    costs = np.where(DATA.y > 0, 1 - pi, pi) / DATA.n
    return reference_solutions.hinge(DATA, "free", RIDGE, costs).value


# What makes a path, the hyperparameter, its values in the order of the rows, the optimum at one,
# and columns of the family's own.
PATHS: dict[str, tuple[Callable[[], Any], str, list[float], Callable[[float], float], set[str]]] = {
    "penalty": (
        lambda: tm.paths.conic_path(DATA, penalties=[6.0, 0.3]),
        "penalty", [0.3, 6.0], penalty_value,
        {"budget", "spent", "method", "b", "rank", "errors", "tolerance"},
    ),
    "budget": (
        lambda: tm.paths.conic_path(DATA, budgets=[0.1, 0.4]),
        "budget", [0.4, 0.1], budget_value,
        {"penalty", "spent", "method", "b", "rank", "errors", "tolerance"},
    ),
    "norm_bound": (
        lambda: tm.paths.rsvm_path(DATA, [0.7, 0.3]),
        "norm_bound", [0.3, 0.7], capacity_value, {"method", "steps", "errors"},
    ),
    "nu": (
        lambda: tm.paths.extended_nu_path(DATA, [0.2, 0.4]),
        "nu", [0.4, 0.2], nu_value,
        {"cvar", "claim_closes", "claimed_bound", "tolerance", "how", "side", "constant", "b",
         "rho", "norm_multiplier", "stationarity", "support_share", "margin_error_share", "errors"},
    ),
    "pi": (
        lambda: tm.paths.class_probabilities(DATA, ridge=RIDGE, grid=[0.3, 0.6]),
        "pi", [0.3, 0.6], pi_value, {"b", "method", "claimed"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=PATHS)
def case(request: pytest.FixtureRequest) -> tuple[Any, ...]:
    make, *rest = PATHS[request.param]
    return make(), *rest


def test_the_table_has_the_optimum_of_every_value(case: tuple[Any, ...]) -> None:
    found, parameter, values, optimum, own = case
    frame = found.to_frame()
    assert list(frame.columns[:8]) == [parameter, *WORDS]
    assert set(frame.columns[8:]) == own
    assert frame[parameter].tolist() == pytest.approx(values)
    for value, row in zip(values, frame.to_dict("records"), strict=True):
        expected = optimum(value)
        assert row["objective"] == pytest.approx(expected, rel=2e-6)
        assert row["bound"] <= expected + 1e-7 * abs(expected)
        assert row["gap"] == max(0.0, row["objective"] - row["bound"])
        assert (row["verdict"], row["seconds"] > 0) == ("CERTIFIED", True)


def test_certified_and_interrupted_ask_for_every_value(case: tuple[Any, ...]) -> None:
    found: Any = case[0]
    assert isinstance(found, PathResult)
    assert (found.certified, found.interrupted) == (True, False)
    cut = replace(found, not_reached=(0.5,))
    assert (cut.certified, cut.interrupted) == (False, True)


def test_a_row_without_proof_or_that_ctrl_c_ended_counts() -> None:
    found = tm.paths.extended_nu_path(DATA, [0.2, 0.4])
    one, other = found.rows
    unproven = replace(found, rows=(one, replace(other, below=None, claim_closes=True)))
    assert (unproven.certified, unproven.interrupted) == (False, False)
    assert unproven.to_frame()["verdict"].tolist() == ["CERTIFIED", "SOLVER_BOUND"]
    stopped = replace(found, rows=(one, replace(other, stop=str(StopReason.INTERRUPTED))))
    assert stopped.interrupted
