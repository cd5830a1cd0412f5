"""The conflict search behind a model: certified, saved, proven again, and closing other results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import met_its_limit
from tests.inside.formulations import Lemma
from tests.inside.solvers import WORDS as CONFLICTS
from tests.inside.solvers import ZERO_ONE_SEARCHED as SEARCHED
from tests.inside.solvers import ConflictSearch, StopReason, zero_one_enumeration
from tests.inside.solvers import zero_one_closing_bounds as closing_bounds
from tests.inside.solvers import zero_one_methods as searched_module
from tests.support.command_line import run, write_csv
from tightmargin.formulations import CATALOGUE, TrainingData, zero_one_big_m
from tightmargin.solvers import SolveResult, Status, Verdict, solve


def overlapping(n: int, d: int, seed: int) -> TrainingData:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return TrainingData(rng.normal(size=(n, d)) + 0.4 * y[:, None], y)


DATA = overlapping(18, 2, 0)
WRITING = {"zero_one_big_m": {"big_m": "derived"}, "zero_one_bilinear": {}, "zero_one_kernel": {}}


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("name", SEARCHED)
def test_a_searched_model_is_certified_at_the_optimum(name: str, intercept: str) -> None:
    model = CATALOGUE[name].build(DATA, penalty=1.0, intercept=intercept, **WRITING[name])
    result = solve(model, method="conflict-search")
    exact = zero_one_enumeration(DATA, penalty=1.0, intercept=intercept).objective
    assert (result.status, result.certificate.verdict) == (Status.OPTIMAL, Verdict.CERTIFIED)
    assert result.objective == pytest.approx(exact, rel=1e-6)
    assert result.bound is not None
    assert exact * (1 - 2e-6) <= result.bound <= exact
    assert result.solver == "tightmargin"
    assert [z.value for z in model.z.values()] == result.values["z"].tolist()
    trace = result.certificate.facts["trace"]
    assert trace[-1][1] == result.bound
    assert trace[-1][2] == pytest.approx(result.objective)


def test_a_saved_result_is_proven_again(tmp_path: Path) -> None:
    file, data = tmp_path / "r.json", write_csv(tmp_path / "points.csv", DATA)
    words = ["zero_one_big_m", "--data", str(data), "--set", "penalty=1", "--set", "big_m=derived"]
    done = run("solve", *words, "--method", "conflict-search", "--out", str(file))
    assert done.code == 0
    assert "conflict search over" in done.stdout
    again = run("certify", str(file))
    assert again.code == 0
    assert "CERTIFIED" in again.stdout


def test_a_time_limit_is_exit_code_4() -> None:
    data = overlapping(120, 6, 1)
    model = zero_one_big_m(data, penalty=1.0, big_m="derived", incumbent=(np.zeros(6), 1.0))
    result = solve(model, method="conflict-search", time_limit=0.05)
    assert result.status is Status.FEASIBLE
    assert result.certificate.facts["stop"] == StopReason.TIME_LIMIT
    assert result.bound is not None
    assert 0 < result.bound < result.objective  # type: ignore[operator]
    assert "time limit" in result.message
    assert met_its_limit(result)


def test_only_models_of_the_0_1_loss_and_edits_that_it_takes_along() -> None:
    model = zero_one_big_m(DATA, penalty=1.0, big_m="derived")
    model.margin[0].deactivate()
    with pytest.raises(ValueError, match="does not take this edit"):
        solve(model, method="conflict-search")
    with pytest.raises(ValueError, match="as it was built"):
        solve(pyo.ConcreteModel(), method="conflict-search")
    with pytest.raises(ValueError, match="c_svc has no method 'conflict-search'"):
        solve(tm.catalogue["c_svc"].build(DATA, C=1.0), method="conflict-search")


def test_a_model_whose_m_cuts_the_optimum_off_says_so_and_goes_to_a_solver_in_tables() -> None:
    small = zero_one_big_m(DATA, penalty=1.0, big_m=0.5)
    result = solve(small, method="conflict-search")
    assert result.objective is None
    assert "big-M is too small" in result.message
    assert solve(small).solver == "scip"
    assert solve(zero_one_big_m(DATA, penalty=1.0, big_m="derived")).solver == "tightmargin"


def test_a_search_takes_no_solver_beside_it() -> None:
    model = zero_one_big_m(DATA, penalty=1.0, big_m="derived")
    with pytest.raises(ValueError, match="method conflict-search needs no solver"):
        solve(model, "scip", "conflict-search")
    with pytest.raises(ValueError, match="method conflict-search needs no solver"):
        solve(model, method="conflict-search", second_solver="scip")


def boastful(
    monkeypatch: pytest.MonkeyPatch, words: Callable[[ConflictSearch], Any]
) -> SolveResult:
    """The result of a search that says something else than it has found."""
    real = searched_module.conflict_search

    def told(*args: Any, **limits: Any) -> ConflictSearch:
        found = real(*args, **limits)
        return replace(found, **words(found))

    monkeypatch.setattr(searched_module, "conflict_search", told)
    return solve(zero_one_big_m(DATA, penalty=1.0, big_m="derived"), method="conflict-search")


def test_what_a_search_says_of_its_bound_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    result = boastful(monkeypatch, lambda found: {"bound": found.objective * 1.01})
    assert result.certificate.verdict is Verdict.CERTIFIED
    exact = zero_one_enumeration(DATA, penalty=1.0, intercept="penalised").objective
    assert result.bound is not None
    assert result.bound <= exact * (1 + 1e-12)


def test_a_lemma_above_the_objective_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    result = boastful(
        monkeypatch,
        lambda found: {"lemma": Lemma(found.objective * 1.01, "too much", {"it is so": True})},
    )
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "contradicts the bound" in result.certificate.reason


# --- closing the results of solvers --------------------------------------------------------------


def solved_beyond_enumeration(monkeypatch: pytest.MonkeyPatch) -> SolveResult:
    monkeypatch.setattr(closing_bounds, "SET_LIMIT", 1)
    return solve(zero_one_big_m(DATA, penalty=1.0, big_m="derived"), "scip")


def test_the_search_closes_what_enumeration_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    result = solved_beyond_enumeration(monkeypatch)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.bound_method.startswith("cones of directions in")
    monkeypatch.setattr(closing_bounds, "bound_by_cones", lambda *args, **words: None)
    result = solved_beyond_enumeration(monkeypatch)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.bound_method.startswith(CONFLICTS)


def test_an_unfinished_search_still_gives_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing_bounds, "STEP_LIMIT", 1)
    monkeypatch.setattr(closing_bounds, "bound_by_cones", lambda *args, **words: None)
    result = solved_beyond_enumeration(monkeypatch)
    exact = zero_one_enumeration(DATA, penalty=1.0, intercept="penalised").objective
    assert result.bound is not None
    assert result.bound <= exact
    assert not result.certificate.bound_method.startswith(CONFLICTS)


def test_workers_are_those_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    search = searched_module.conflict_search

    def noted(*args: Any, workers: int = 1, **words: Any) -> Any:
        asked.append(workers)
        return search(*args, **words)

    monkeypatch.setattr(searched_module, "conflict_search", noted)
    model = CATALOGUE["zero_one_bilinear"].build(DATA, penalty=1.0)
    for options in (None, {"workers": 3}):
        result = solve(model, method="conflict-search", options=options)
        assert result.certificate.verdict is Verdict.CERTIFIED
    assert asked == [1, 3]


def test_auto_passes_workers_to_the_search_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    search = searched_module.conflict_search

    def noted(*args: Any, workers: int = 1, **words: Any) -> Any:
        asked.append(workers)
        return search(*args, **words)

    monkeypatch.setattr(searched_module, "conflict_search", noted)
    monkeypatch.setattr(searched_module, "suits", lambda *args: False)
    model = CATALOGUE["zero_one_bilinear"].build(DATA, penalty=1.0)
    result = solve(model, options={"workers": 2})
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert asked == [2]
    with pytest.raises(ValueError, match="workers must be 1 or more"):
        solve(model, options={"workers": 0})


def test_a_scheduler_is_that_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []
    search = searched_module.conflict_search

    def noted(*args: Any, scheduler: str | None = None, **words: Any) -> Any:
        asked.append(scheduler)
        return search(*args, **words)

    monkeypatch.setattr(searched_module, "conflict_search", noted)
    monkeypatch.setattr(searched_module, "suits", lambda *args: False)
    model = CATALOGUE["zero_one_bilinear"].build(DATA, penalty=1.0)
    for method in ("auto", "conflict-search"):
        result = solve(model, method=method, options={"scheduler": "tcp://HOST:8786"})
        assert result.certificate.verdict is Verdict.CERTIFIED
    assert asked == ["tcp://HOST:8786"] * 2


@pytest.mark.parametrize("method", ["auto", "conflict-search"])
def test_workers_share_the_search_of_an_edited_model(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    search = searched_module.conflict_search

    def noted(*args: Any, workers: int = 1, **words: Any) -> Any:
        asked.append(workers)
        return search(*args, **words)

    monkeypatch.setattr(searched_module, "conflict_search", noted)
    monkeypatch.setattr(searched_module, "suits", lambda *args: False)
    model = CATALOGUE["zero_one_bilinear"].build(DATA, penalty=1.0)
    model.w[0].setlb(0.1)
    result = solve(model, method=method, options={"workers": 2})
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert asked == [2]


def test_an_edited_search_that_ends_early_is_not_given_up_where_it_has_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = searched_module.conflict_search

    def stopped(*args: Any, workers: int, **words: Any) -> Any:
        return search(*args, **words, step_limit=1)

    monkeypatch.setattr(searched_module, "conflict_search", stopped)
    monkeypatch.setattr(searched_module, "suits", lambda *args: False)
    model = CATALOGUE["zero_one_bilinear"].build(DATA, penalty=1.0)
    model.w[0].setlb(0.1)
    result = solve(model, options={"workers": 2})
    assert result.solver == "tightmargin"
    assert "step limit" in result.message


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"workers": 0}, "workers must be 1 or more"),
        ({"scheduler": 8786}, "scheduler must be an address"),
        ({"scheduler": "tcp://HOST:8786", "workers": 2}, "with a scheduler all of its workers"),
    ],
)
def test_options_that_name_no_processes_are_refused(options: dict[str, Any], match: str) -> None:
    model = CATALOGUE["zero_one_bilinear"].build(DATA, penalty=1.0)
    with pytest.raises(ValueError, match=match):
        solve(model, method="conflict-search", options=options)
