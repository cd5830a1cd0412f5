"""A second solver on request: agreement is recorded and proves nothing, disagreement is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import highs, scip
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv
from tightmargin.solvers import Claim, Status, Verdict

DATA = reference_solutions.points("overlapping", 5, n=12)


def knapsack() -> pyo.ConcreteModel:
    """Values 10, 7, 6 and weights 5, 4, 3 up to 7: the best is 7 + 6 = 13; the LP says 15.33..."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), within=pyo.Binary)
    m.weight = pyo.Constraint(expr=5 * m.x[0] + 4 * m.x[1] + 3 * m.x[2] <= 7)
    m.objective = pyo.Objective(expr=-(10 * m.x[0] + 7 * m.x[1] + 6 * m.x[2]))
    return m


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make SCIP or HiGHS change its claim about the knapsack itself."""

    def change(solver: str, **words: Any) -> None:
        module = {"scip": scip, "highs": highs}[solver]
        honest = module.run

        def run_changed(form: Any, *rest: Any) -> Claim:
            claim = honest(form, *rest)
            return replace(claim, **words) if form.integer.any() else claim

        monkeypatch.setattr(module, "run", run_changed)

    return change


@pytest.mark.parametrize("liar", ["highs", "scip"])
def test_a_bound_beyond_the_point_of_the_other_is_named(
    liar: str, says: Callable[..., None]
) -> None:
    """One ends at -12 and calls it optimal with the bound -12; the other has a point of -13."""
    worse = np.array([0.0, 0.0, 1.0])
    says(liar, x=worse, bound=-6.0, objective=-6.0)
    result = tm.solve(knapsack(), "highs", second_solver="scip")
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    sentence = f"{liar} claims the bound -6, and a feasible point has -13"
    assert result.certificate.reason == sentence
    assert sentence in result.message
    assert result.certificate.facts["second_agrees"] is False
    assert result.objective == -13, "the better point is kept"
    assert result.solver == "highs"
    assert result.status is not Status.OPTIMAL


@pytest.mark.parametrize("liar", ["highs", "scip"])
def test_a_denied_point_is_named(liar: str, says: Callable[..., None]) -> None:
    says(liar, status=Status.INFEASIBLE, x=None, bound=None, objective=None)
    result = tm.solve(knapsack(), "highs", second_solver="scip")
    assert result.objective == -13
    assert result.certificate.facts["second_agrees"] is False
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.certificate.reason.startswith(f"{liar} says")


def test_a_proof_of_ours_stands_whatever_the_second_one_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = highs.run

    def denied(form: Any, *rest: Any) -> Claim:
        return Claim(Status.INFEASIBLE, message="no") if form.is_quadratic else honest(form, *rest)

    monkeypatch.setattr(highs, "run", denied)
    options = {"max_iter": 90}  # of the first solver
    model = tm.c_svc(DATA, C=1.0)
    result = tm.solve(model, "clarabel", options=options, second_solver="highs")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.facts["second_agrees"] is False
    assert "highs says" in result.message, "and it is said all the same"


def test_a_better_point_of_the_second_one_is_kept(says: Callable[..., None]) -> None:
    says("highs", status=Status.FEASIBLE, x=np.array([0.0, 0.0, 1.0]), bound=-15.0, objective=None)
    result = tm.solve(knapsack(), "highs", second_solver="scip")
    assert result.objective == -13
    assert result.certificate.facts["second_agrees"] is True, "the first one claimed no optimum"
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    assert result.certificate.solver_bound == -15.0, "the word of the solver that is named"


def test_the_command_line_asks_a_second_solver(tmp_path: Path) -> None:
    file, out = write_csv(tmp_path / "train.csv", DATA), tmp_path / "fit.json"
    words = ["--solver", "clarabel", "--second-solver", "highs", "--out", out]
    answer = run("solve", "c_svc", "--data", file, "--set", "C=1", *words)
    assert answer.code == 0, answer.stderr
    lines = dict(line.split(None, 2)[1:] for line in answer.stdout.splitlines()
                 if line.startswith("second "))  # fmt: skip
    assert lines["solver"].strip() == "highs"
    assert lines["agrees"].strip() == "True"
    answer = run("certify", out)
    assert answer.code == 0
    assert "claim: highs was asked as well" in answer.stdout
