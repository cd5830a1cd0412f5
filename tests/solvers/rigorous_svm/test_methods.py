"""Models of the rigorous SVM solved by our own methods: points, multipliers, verdicts, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.formulations import Lemma
from tests.inside.solvers import FACTS, by_lemma, rsvm_point
from tests.inside.solvers import METHODS_SEARCHED as SEARCHED
from tests.inside.solvers import PATH_RESULT_METHODS as METHODS
from tests.inside.solvers import rigorous_svm_methods as methods
from tests.references import reference_solutions
from tightmargin.formulations import CATALOGUE, GramData, TrainingData
from tightmargin.solvers import Status, Verdict, solve

H = 0.7
DATA = reference_solutions.points("overlapping", 3, n=14)
SEPARABLE = reference_solutions.points("separable", 3, n=14)
DUALS = SEARCHED[1:]


def model(name: str, data: TrainingData | GramData = DATA, bound: float = H) -> pyo.ConcreteModel:
    return CATALOGUE[name].build(data, norm_bound=bound)


def sign(name: str) -> float:
    """The duals minimise minus their objective."""
    return -1.0 if name in DUALS else 1.0


@pytest.mark.parametrize(
    ("name", "method"), [(SEARCHED[k % len(SEARCHED)], name) for k, name in enumerate(METHODS)]
)
def test_every_method_finds_the_proven_optimum_of_every_form(name: str, method: str) -> None:
    built = model(name)
    result = solve(built, method=method, threads=1, seed=4)
    expected = sign(name) * reference_solutions.least_loss(DATA, "free", H).value
    assert (result.status, result.certificate.verdict) == (Status.OPTIMAL, Verdict.CERTIFIED)
    assert result.objective == pytest.approx(expected, rel=1e-7)
    assert result.bound <= result.objective + 1e-12 * abs(expected)
    assert result.objective - result.bound <= 1e-8 * abs(expected)
    assert max(result.certificate.primal_residual, result.certificate.dual_residual) <= 1e-12
    assert (result.solver, result.threads, result.seed) == ("tightmargin", 1, 4)
    assert set(result.certificate.facts) <= set(FACTS)


@pytest.mark.parametrize(
    ("name", "data"), [(SEARCHED[0], DATA), (SEARCHED[1], SEPARABLE), (SEARCHED[-1], DATA)]
)
def test_above_the_limit_the_linear_program_is_solved(name: str, data: TrainingData) -> None:
    result = solve(model(name, data, 500.0))
    expected = sign(name) * reference_solutions.least_loss(data, "free").value
    facts = result.certificate.facts
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(expected, abs=1e-6)
    assert (facts["gamma"], facts["capacity_price"]) == (0.0, 0.0)
    assert (facts["equivalence"]["C"], facts["equivalence"]["active"]) == (None, False)
    entry = CATALOGUE[name]
    origin = entry.build(data, **result.parameters).origin
    w, b = entry.classifier(origin, result.values, result.duals)
    assert np.linalg.norm(w) < 500
    loss = np.maximum(0, 1 - data.y * (data.X @ w + b)).sum()
    assert loss == pytest.approx(abs(expected), abs=1e-6)


def test_nothing_is_believed_that_the_model_does_not_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = methods.solve_rsvm

    def boaster(data: Any, **words: Any) -> Any:
        found = honest(data, **words)
        point = found.point
        lemma = Lemma(point.objective * 1.01, "a boast", {"said": True})
        return replace(found, point=replace(point, below=by_lemma(point.attained.subject, lemma)))

    def loser(data: Any, **words: Any) -> Any:
        found = honest(data, **words)
        short = rsvm_point(data, words["norm_bound"], found.point.alpha * 0.9)
        return replace(found, point=short, stop="the gap is not closed")

    monkeypatch.setattr(methods, "solve_rsvm", boaster)
    result = solve(model("rsvm"))
    assert result.status is Status.INACCURATE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "contradicts the bound" in result.certificate.reason
    monkeypatch.setattr(methods, "solve_rsvm", loser)
    for name in SEARCHED:
        result = solve(model(name))
        assert result.status is Status.FEASIBLE
        assert result.certificate.verdict is Verdict.NOT_CERTIFIED
        assert result.certificate.facts["stop"] == "open"


@pytest.mark.parametrize(("said", "status", "stop"), [
    ("interrupted", Status.INTERRUPTED, "interrupted"),
    ("time limit: the gap is not closed", Status.FEASIBLE, "time_limit"),
])  # fmt: skip
def test_what_is_stopped_keeps_its_ends(
    said: str, status: Status, stop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = methods.solve_rsvm

    def stopped(data: Any, **words: Any) -> Any:
        assert words["time_limit"] == 9.0
        found = honest(data, **words)
        early = rsvm_point(data, words["norm_bound"], found.point.alpha * 0.9)
        return replace(found, point=early, stop=said)

    monkeypatch.setattr(methods, "solve_rsvm", stopped)
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)  # reading the model takes no time
    result = solve(model("rsvm"), time_limit=9.0)
    assert (result.status, result.certificate.facts["stop"]) == (status, stop)
    optimum = reference_solutions.least_loss(DATA, "free", H).value
    assert 0 < result.bound < optimum <= result.objective * (1 + 1e-8)


@pytest.mark.parametrize(("name", "bound"), [(SEARCHED[0], H), (SEARCHED[1], 500.0)])
def test_a_method_stopped_at_its_start_says_nothing_else(name: str, bound: float) -> None:
    """What it has is the even multipliers, or 0, of which gamma = 0 was said at any H."""
    result = solve(model(name, bound=bound), time_limit=1e-9)
    facts = result.certificate.facts
    assert (result.status, facts["stop"]) == (Status.FEASIBLE, "time_limit")
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "equivalence" not in facts
    assert facts.get("degenerate", "gamma = 0: if alpha is optimal").startswith(
        "gamma = 0: if alpha is optimal"
    )
