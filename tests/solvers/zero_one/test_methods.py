"""The conflict search behind a model: certified at the optimum, and closing other results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.inside.formulations import Lemma
from tests.inside.solvers import WORDS as CONFLICTS
from tests.inside.solvers import ConflictSearch, zero_one_enumeration
from tests.inside.solvers import zero_one_closing_bounds as closing_bounds
from tests.inside.solvers import zero_one_methods as searched_module
from tests.solvers.zero_one.clouds import overlapping
from tightmargin.formulations import CATALOGUE, zero_one_big_m
from tightmargin.solvers import SolveResult, Verdict, solve

DATA = overlapping(14, 2, 0)


def test_a_model_whose_m_cuts_the_optimum_off_says_so_and_goes_to_a_solver_in_tables() -> None:
    small = zero_one_big_m(DATA, penalty=1.0, big_m=0.5)
    result = solve(small, method="conflict-search")
    assert result.objective is None
    assert "big-M is too small" in result.message
    assert solve(small).solver == "scip"
    assert solve(zero_one_big_m(DATA, penalty=1.0, big_m="derived")).solver == "tightmargin"


def boastful(monkeypatch: Any, words: Callable[[ConflictSearch], Any]) -> SolveResult:
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
    assert result.bound <= exact
    assert not result.certificate.bound_method.startswith(CONFLICTS)


def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str | None]]:
    """Workers and scheduler of each search that is asked, which then does it alone."""
    asked, search = [], searched_module.conflict_search

    def heard(*args: Any, workers: int = 1, scheduler: str | None = None, **words: Any) -> Any:
        asked.append((workers, scheduler))
        return search(*args, **words)

    monkeypatch.setattr(searched_module, "conflict_search", heard)
    monkeypatch.setattr(searched_module, "suits", lambda *args: False)
    return asked


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("method", ["auto", "conflict-search"])
def test_workers_and_a_scheduler_are_passed_on(method: str, edited: bool, monkeypatch: Any) -> None:
    asked = noted(monkeypatch)
    model = CATALOGUE["zero_one_bilinear"].build(DATA, penalty=1.0)
    if edited:
        model.w[0].setlb(0.1)
    address = "tcp://HOST:8786"
    for options in (None, {"workers": 3}, {"scheduler": address}):
        result = solve(model, method=method, options=options)
        assert result.certificate.verdict is Verdict.CERTIFIED
    assert asked == [(1, None), (3, None), (1, address)]
