"""The doctor: healthy solvers pass, sick ones are found out."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from rich.console import Console

from tests.inside.experiments import tables
from tests.inside.solvers import SOLVERS, TRIALS, UNSUPPORTED, attempt, doctor, examine
from tests.support.command_line import run
from tightmargin.formulations import ProblemClass

CLI = "tightmargin.solvers.doctor.examine"  # what the command asks


def test_installed_solvers_prove_every_class_they_claim() -> None:
    examined = examine()
    for report in examined:
        usable = report.installed and not report.unlicensed
        tried = {trial.problem_class for trial in report.trials}
        assert tried == (set(SOLVERS[report.name].classes) if usable else set())
        assert [(t.problem_class, t.reason) for t in report.trials if not t.proven] == []
        assert report.healthy
    free = [report for report in examined if "free" in report.licence]
    assert {t.problem_class for r in free for t in r.trials if t.proven} == set(ProblemClass)


def test_a_wrong_answer_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimum of -x - 2y moved by a thousandth stands in for a solver that is wrong by it."""
    model, optimum = TRIALS[ProblemClass.LP]()
    monkeypatch.setitem(TRIALS, ProblemClass.LP, lambda: (model, optimum - 1e-3))
    trial = attempt("highs", ProblemClass.LP)
    assert not trial.proven
    assert "-6" in trial.reason


def test_a_broken_installation_is_a_diagnosis(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise ImportError("libsomething.so: cannot open shared object file")

    monkeypatch.setattr(doctor, "solve", broken)
    found = examine(["highs"])
    monkeypatch.setattr(CLI, lambda: found)
    answer = run("solvers", "--json")
    assert answer.code == 1
    (highs,) = [s for s in answer.json["solvers"] if s["name"] == "highs"]
    assert {c["proven"] for c in highs["classes"]} == {False}
    assert "libsomething.so" in answer.stderr


def test_a_package_that_cannot_be_imported_is_shown_with_its_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "half_a_solver.py").write_text("raise ImportError('no libhalf.so')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(SOLVERS, "scs", replace(SOLVERS["scs"], package="half_a_solver"))
    found = examine(["scs"])
    (report,) = found
    monkeypatch.setattr(CLI, lambda: found)
    assert (report.installed, report.version, report.trials) == (True, "", ())
    assert not report.healthy
    assert report.broken == "ImportError: no libhalf.so"
    assert report.install == "pip install --force-reinstall scs"
    answer = run("solvers")
    assert answer.code == 1
    assert answer.stderr == "scs cannot be imported: ImportError: no libhalf.so\n"
    document = run("solvers", "--json").json
    assert [s["name"] for s in document["solvers"] if s["broken"]] == ["scs"]


def test_an_exception_in_a_tiny_solve_is_shown_with_its_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The other classes and the other solvers are examined all the same."""
    honest = doctor.solve

    def faulty(model: pyo.ConcreteModel, solver: str) -> Any:
        if solver == "scs" and hasattr(model, "row") and model.row.body.polynomial_degree() == 2:
            raise RuntimeError("out of\nmemory")
        return honest(model, solver)

    monkeypatch.setattr(doctor, "solve", faulty)
    found = examine(["scs", "highs"])
    monkeypatch.setattr(CLI, lambda: found)
    answer = run("solvers")
    assert answer.code == 1
    assert answer.stderr == "scs does not prove SOCP: RuntimeError: out of memory\n"
    assert "LP QP SOCP FAILED SDP" in answer.stdout


@pytest.mark.parametrize(
    ("sick", "installed", "words"),
    [
        ({"package": "no_such_package"}, False, "not installed"),
        ({"unlicensed": lambda: "the licence ended"}, True, "the licence ended"),
    ],
)
def test_a_solver_that_is_not_there_is_reported_and_not_tried(
    sick: dict[str, Any], installed: bool, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SOLVERS, "highs", replace(SOLVERS["highs"], **sick))
    found = examine(["highs"])
    (report,) = found
    assert (report.installed, report.trials, report.healthy) == (installed, (), True)
    assert "highspy" in report.install
    monkeypatch.setattr(CLI, lambda: found)
    answer = run("solvers")
    assert answer.code == 0
    assert words in answer.stdout


def test_limits_of_the_wheel_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    if not SOLVERS["gurobi"].installed:
        pytest.skip("gurobi is not installed")
    monkeypatch.setattr(doctor, "gurobi_is_restricted", lambda: True)
    (report,) = examine(["gurobi"])
    for number in ("2000 variables", "2000 rows", "200 variables"):
        assert number in report.limits
    monkeypatch.setattr(doctor, "gurobi_is_restricted", lambda: False)
    assert "no size limit" in examine(["gurobi"])[0].limits


def test_the_table_and_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eighty columns are enough, and what is left out is said with a reason."""
    found = tuple(examine())
    monkeypatch.setattr(CLI, lambda: found)
    written = io.StringIO()
    screen = Console(file=written, width=80, markup=False)
    with monkeypatch.context() as patch:
        patch.setattr(tables, "_console", lambda: screen)
        assert run("solvers").code == 0
    text = written.getvalue()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    answer = run("solvers", "--json")
    assert answer.code == 0
    document = answer.json
    assert [entry["names"] for entry in document["unsupported"]] == [n for n, _ in UNSUPPORTED]
    assert [solver["name"] for solver in document["solvers"]] == list(SOLVERS)
    for solver in document["solvers"]:
        info = SOLVERS[solver["name"]]
        assert f"pip install {info.distribution}" in text
        assert solver["installed"] == info.installed
        assert solver["version"] == (info.version or None)
        assert {c["problem_class"] for c in solver["classes"]} <= {str(c) for c in info.classes}
    assert not {name.strip() for names, _ in UNSUPPORTED for name in names.split(",")} & {*SOLVERS}
    wide = run("solvers").stdout
    assert all(group in wide and why in wide for group, why in UNSUPPORTED)
