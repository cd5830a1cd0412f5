"""What a result of a conic relaxation says besides its value, and what is refused beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.experiments import decision_values
from tests.inside.formulations import budget_grid, conic_loss, primal_point
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.support.certified import certified
from tests.support.command_line import run, write_csv
from tightmargin.formulations import TrainingData
from tightmargin.solvers import SolveResult

PENALTY = 1.3


# --- the forms, on one table ---------------------------------------------------------------------


def test_the_point_of_the_dual_needs_its_multiplier() -> None:
    data = points("overlapping", 0, n=12)
    result = tm.solve(tm.conic_sdp_dual(data, penalty=PENALTY))
    for duals in ({}, {"outer": -result.duals["outer"]}):
        with pytest.raises(ValueError, match=r"in the multiplier of outer.*with clarabel"):
            primal_point(data, result.values, duals, penalty=PENALTY, intercept="penalised")


# --- rank ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_rank_of_the_lift_counts_eigenvalues_beyond_the_stated_size(scale: float) -> None:
    """It does not depend on the units of the points."""
    data = points("overlapping", 3, n=12)
    scaled = TrainingData(scale * data.X, data.y)
    common: dict[str, Any] = {"penalty": PENALTY / scale**2, "intercept": "none"}
    result = certified(tm.conic_sdp(scaled, **common))
    facts = result.certificate.facts
    W, w = result.values["W"], result.values["w"]
    beyond = np.linalg.eigvalsh(W - np.outer(w, w)) > facts["rank_tolerance"]
    assert facts["rank_of_lift"] == beyond.sum() == 1
    assert facts["rank_tolerance"] == pytest.approx(1e-6 * result.objective, rel=1e-6)
    expected = reference_solutions.theorem_2(data, "none", penalty=PENALTY)
    lift = np.linalg.eigvalsh(expected.extra["W"] - np.outer(expected.w, expected.w))
    assert (lift > 1e-4 * lift[-1]).sum() == 1


# --- a budget ------------------------------------------------------------------------------------


def test_the_grid_of_budgets_ends_at_a_half_and_leaves_zero_out() -> None:
    grid = budget_grid()
    assert len(grid) == 100
    assert (grid[0], grid[-1]) == (0.005, 0.5)
    assert np.allclose(np.diff(grid), 0.005)
    assert budget_grid(2).tolist() == [0.25, 0.5]
    for count in (0, -1, 2.5, True, "many"):
        with pytest.raises(ValueError, match="count must be a whole number"):
            budget_grid(count)  # type: ignore[arg-type]


# --- trivial optima ------------------------------------------------------------------------------

# Every point carries both labels, -1 twice as often in the second: nothing can be learnt.
PLACES = np.random.default_rng(0).standard_normal((6, 2))
BOTH = TrainingData(np.repeat(PLACES, 2, axis=0), np.tile([1, -1], 6))


def test_a_score_of_zero_is_labelled_minus_one_and_is_an_error_of_a_result(tmp_path: Path) -> None:
    out, file = tmp_path / "fit.json", write_csv(tmp_path / "both.csv", BOTH)
    words = ("--set", "penalty=0.05", "big_m=derived", "intercept=none")
    assert run("solve", "zero_one_big_m", "--data", file, *words, "--out", out).code == 0
    saved = SolveResult.load(out)
    assert saved.certificate.facts["errors"] == BOTH.n
    assert not decision_values(saved, BOTH.X).any()
    answer = run("predict", out, "--data", file, "--json")
    assert answer.json["labels"] == [-1] * BOTH.n
    assert answer.json["errors"] == BOTH.n_pos


# --- the file ------------------------------------------------------------------------------------


def test_losses_of_a_result_are_those_of_proposition_1() -> None:
    data = points("unbalanced", 1, n=12)
    result = certified(tm.conic_fixed(data, penalty=PENALTY, strengthening="scaled"))
    facts, w, b = result.certificate.facts, result.values["w"], float(result.values["b"])
    v = 1 - data.y * (data.X @ w + b)
    assert "degenerate" not in facts
    assert facts["conic_losses"] == pytest.approx(
        conic_loss(v, facts["strengthening"], PENALTY).tolist()
    )
    assert w @ w + b * b + sum(facts["conic_losses"]) == pytest.approx(result.objective, rel=1e-9)
