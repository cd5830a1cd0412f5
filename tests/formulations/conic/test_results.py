"""What a result of a conic relaxation says besides its value, and what is refused beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.experiments import decision_values
from tests.inside.formulations import budget_grid, conic_loss, gram_data, primal_point
from tests.inside.solvers import FACTS
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.support.certified import certified
from tests.support.command_line import run, write_csv
from tightmargin.formulations import TrainingData
from tightmargin.solvers import SolveResult, Verdict

PENALTY = 1.3
PRICED = ("penalised", "none")
PRIMAL = (tm.conic_sdp, tm.conic_sdp_literal, tm.conic_sdp_eliminated)


def norm(values: Any, mode: str) -> float:
    return float(values["w"] @ values["w"]) + (float(values["b"]) ** 2 if mode != "none" else 0.0)


# --- the forms, on one table ---------------------------------------------------------------------


def instance(kind: str) -> tuple[Any, str, float]:
    """Data, what is done with the intercept, and the optimum by cvxpy."""
    match kind:
        case "three features":
            data = points("overlapping", 7, n=12, d=3)
            return (
                data,
                "penalised",
                reference_solutions.theorem_2(data, "penalised", penalty=PENALTY).value,
            )
        case "no intercept":
            data = points("unbalanced", 3, n=12)
            return data, "none", reference_solutions.theorem_2(data, "none", penalty=PENALTY).value
    gram = gram_data(points("unbalanced", 4, n=10), kernel="poly", degree=2, coef0=1.0)
    signed = np.outer(gram.y, gram.y) * (gram.gram + 1)
    return gram, "penalised", reference_solutions.kernel_theorem_2(signed, PENALTY)


@pytest.mark.parametrize("kind", ["three features", "no intercept", "quadratic kernel"])
def test_every_form_has_one_optimum_and_one_solution(kind: str) -> None:
    data, mode, expected = instance(kind)
    common: dict[str, Any] = {"penalty": PENALTY, "intercept": mode}
    primal = {build.__name__: certified(build(data, **common)) for build in PRIMAL}
    dual = certified(tm.conic_sdp_dual(data, **common))
    gamma = np.array(dual.certificate.facts["strengthening"])
    # At the best gamma of a kernel, I - sum gamma x x' is singular but for rounding, and what that
    # leaves of the bound depends on its last digits.
    fixed = tm.solve(tm.conic_fixed(data, strengthening=gamma, **common))
    assert fixed.bound <= expected + 1e-7
    if kind != "quadratic kernel":
        assert fixed.certificate.verdict is Verdict.CERTIFIED
    values = {name: result.objective for name, result in primal.items()}
    values |= {"dual": -dual.objective, "fixed": fixed.objective}
    assert values == {name: pytest.approx(expected, rel=1e-6) for name in values}
    # The multipliers of the dual are the primal solution.
    point = primal_point(data, dual.values, dual.duals, **common)
    twice = primal_point(data, dual.values, {"outer": 2 * dual.duals["outer"]}, **common)
    assert all(twice[name] == pytest.approx(array) for name, array in point.items())
    z = primal["conic_sdp"].values["z"]
    assert np.trace(point["W"]) + PENALTY * point["z"].sum() == pytest.approx(expected, rel=1e-6)
    assert norm(point, mode) + point["losses"].sum() == pytest.approx(expected, rel=1e-6)
    assert point["z"] == pytest.approx(z, abs=1e-3)
    assert primal["conic_sdp_eliminated"].values["quotients.value"] == pytest.approx(z, abs=1e-3)
    for result in primal.values():
        facts = result.certificate.facts
        assert result.values["w"] == pytest.approx(point["w"], abs=1e-3)
        assert result.values["W"] == pytest.approx(point["W"], abs=1e-2)
        assert facts["strengthening"] == pytest.approx(gamma.tolist(), rel=1e-2, abs=1e-4)
        losses = np.array(facts["conic_losses"])
        assert norm(result.values, mode) + losses.sum() == pytest.approx(expected, rel=1e-4)
        assert losses == pytest.approx(point["losses"], abs=1e-3)


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


@pytest.mark.parametrize("budget", [0.02, 0.3])
def test_the_penalty_of_a_budget_has_its_solution(budget: float) -> None:
    data = points("overlapping", 5, n=14)
    spent = certified(tm.conic_sdp_budget(data, budget=budget))
    facts = spent.certificate.facts
    penalty = facts["penalty"]
    same = certified(tm.conic_sdp(data, penalty=penalty))
    share = penalty * budget * data.n
    assert same.objective - share == pytest.approx(spent.objective, rel=1e-6, abs=1e-6 * share)
    assert same.values["w"] == pytest.approx(spent.values["w"], abs=1e-3)
    assert float(same.values["b"]) == pytest.approx(float(spent.values["b"]), abs=1e-3)
    assert facts["strengthening"] == pytest.approx(
        same.certificate.facts["strengthening"], rel=1e-2, abs=1e-4
    )
    loss = norm(spent.values, "penalised") + sum(facts["conic_losses"])
    assert loss == pytest.approx(same.objective, rel=1e-3)


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
MOSTLY = TrainingData(np.repeat(PLACES[:4], 3, axis=0), np.tile([1, -1, -1], 4))


@pytest.mark.parametrize(
    ("build", "mode"), list(zip([*PRIMAL, tm.conic_fixed], PRICED * 2, strict=True))
)
def test_a_relaxation_with_w_zero_says_so(build: Any, mode: str) -> None:
    """Swapping the labels changes nothing, so w~ = 0 is optimal by convexity."""
    words = {"strengthening": "scaled"} if build is tm.conic_fixed else {}
    result = certified(build(BOTH, penalty=1.0, intercept=mode, **words))
    assert np.abs(result.values["w"]).max() < 1e-4
    told = result.certificate.facts["degenerate"]
    assert told == "w = 0: every score is 0, which is no side (predict says -1)"


@pytest.mark.parametrize(
    ("mode", "penalty", "told"),
    [
        ("penalised", 0.5, "class -1, the majority (w~ = -e_1, the constant column alone)"),
        ("free", 0.5, "class -1, the majority"),
        ("none", 0.05, "no side (predict says -1)"),
    ],
)
def test_the_0_1_optimum_of_a_majority_says_so(mode: str, penalty: float, told: str) -> None:
    """4 of 12 are positive: 1 + 4 penalty with w~ = -e_1, 12 penalty with w~ = 0."""
    price = {"penalised": min(1 + 4 * penalty, 12 * penalty), "free": 4 * penalty}
    expected = price.get(mode, 12 * penalty)
    assert reference_solutions.zero_one_optimum(MOSTLY, mode, penalty) == pytest.approx(expected)
    result = certified(
        tm.build("zero_one_big_m", MOSTLY, penalty=penalty, big_m="derived", intercept=mode)
    )
    assert result.objective == pytest.approx(expected)
    assert result.certificate.facts["degenerate"].endswith(told)


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


@pytest.mark.parametrize("build", [tm.conic_sdp_dual, tm.conic_sdp_budget])
def test_what_a_result_says_is_in_its_file_under_documented_names(
    build: Any, tmp_path: Path
) -> None:
    words = {"budget": 0.2} if build is tm.conic_sdp_budget else {"penalty": PENALTY}
    result = tm.solve(build(points("overlapping", 0, n=12), **words))
    facts = result.certificate.facts
    assert set(facts) <= set(FACTS)
    result.save(tmp_path / "fit.json")
    written = json.loads((tmp_path / "fit.json").read_text())["certificate"]["facts"]
    wanted = {"strengthening"}
    if build is not tm.conic_sdp_dual:
        wanted |= {"conic_losses", "rank_of_lift", "rank_tolerance"}
    for name in wanted:
        assert written[name] == facts[name]
        assert np.size(facts[name]) == (1 if name.startswith("rank") else 12)


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


# --- bad input -----------------------------------------------------------------------------------
