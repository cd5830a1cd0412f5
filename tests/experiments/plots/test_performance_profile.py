"""The performance profile of a comparison of solvers, and the option of compare that draws it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.inside.experiments import times_of
from tests.inside.solvers import Agreement, Model, SolverRun
from tests.support.command_line import run
from tightmargin.solvers import Certificate, SolveResult, Status, Verdict


def test_only_proven_finished_and_agreeing_solves_count() -> None:
    """Of four answers on each model one was stopped, one is not certified, one disagrees."""
    certified = Certificate(Verdict.CERTIFIED, gap=0.0)
    weak = Certificate(Verdict.NOT_CERTIFIED, "no bound")
    models = [Model(name, "QP", 1) for name in ("first", "second")]

    def answer(model: Model, solver: str, seconds: float, **given: Any) -> SolverRun:
        words: dict[str, Any] = {
            "status": Status.OPTIMAL, "objective": 2.0, "bound": 2.0, "values": {}, "duals": {},
            "certificate": certified, "solver": solver, "seconds": seconds, **given,
        }  # fmt: skip
        return SolverRun(model, solver, "1", SolveResult(**words))

    rows = (
        answer(models[0], "clarabel", 1.0), answer(models[1], "clarabel", 2.0),
        answer(models[0], "scip", 9.0, status=Status.FEASIBLE),
        answer(models[1], "scip", 3.0),
        answer(models[0], "highs", 0.5, certificate=weak), answer(models[1], "highs", 0.1,
                                                                 objective=7.0),
        SolverRun(models[0], "piqp", "1", None),
    )  # fmt: skip
    assert times_of(Agreement(rows)) == {
        "clarabel": [1.0, 2.0], "scip": [None, 3.0], "highs": [None, None], "piqp": [None, None],
    }  # fmt: skip


def test_compare_draws_the_profile_of_its_solvers(tmp_path: Path) -> None:
    file = tmp_path / "profile.svg"
    words = ["c_svc", "c_svc_dual", "--set", "C=1", "--solver", "clarabel,piqp"]
    data = "synthetic:clustered,n=20,d=2,sigma=0.5,seed=0"
    answer = run("compare", *words, "--data", data, "--profile", str(file))
    assert answer.code == 0
    content = file.read_text()
    assert content.startswith("<?xml")
    assert "clarabel" in content
    assert "piqp" in content
