"""Rows 13 and 14: a solver without package or licence is named with what mends it and who can.

tests/project/test_structure.py imports everything with none.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.inside.solvers import backends_registry as registry
from tests.references.reference_solutions import points
from tests.support.command_line import run, write_csv
from tightmargin.solvers import LicenceError, SizeLimitError, SolverNotInstalledError

DATA = points("overlapping", 1, n=10)
ABLE = [name for name, solver in SOLVERS.items() if "QP" in solver.classes]


def test_row_13_without_solvers_each_refusal_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Imports are blocked one after the other; auto does without, until none is left."""
    model = tm.c_svc(DATA, C=1.0)
    for k, solver in enumerate(ABLE):
        monkeypatch.setitem(sys.modules, SOLVERS[solver].package, None)
        with pytest.raises(SolverNotInstalledError) as refusal:
            tm.solve(model, solver)
        command = f"{solver} is not installed (pip install {SOLVERS[solver].distribution})"
        sentence = str(refusal.value)
        assert sentence.startswith(command)
        others = set(sentence.partition("installed solvers for QP: ")[2].split(", "))
        left = [SOLVERS[name] for name in ABLE[k + 1 :]]
        here = {info.name for info in left if info.installed and not info.unlicensed()}
        assert others <= (here or {"none"})
        if here:
            assert tm.solve(model).solver in here
    with pytest.raises(SolverNotInstalledError, match="no installed solver takes QP") as refusal:
        tm.solve(model)
    free = {SOLVERS[name].distribution for name in ABLE if SOLVERS[name].free}
    assert set(str(refusal.value).partition("install ")[2].split(" or ")) == free


# --- row 14: no licence, and a model beyond one ---------------------------------------------------


def test_row_14_a_missing_licence_says_how_to_keep_the_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No licence for MOSEK, whatever this machine has; nothing is left in the temporary folder."""
    file, folder = write_csv(tmp_path / "points.csv", DATA), tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    info = replace(SOLVERS["mosek"], unlicensed=lambda: "A license cannot be located")
    monkeypatch.setitem(SOLVERS, "mosek", info)
    with pytest.raises(LicenceError, match="cannot be located") as refusal:
        tm.solve(tm.c_svc(DATA, C=1.0), "mosek")
    sentence = str(refusal.value)
    assert "tm.export(model, 'c_svc.ptf')" in sentence
    free = {name for name in ABLE if SOLVERS[name].installed and SOLVERS[name].free}
    assert set(sentence.partition("without one are ")[2].split(", ")) == free
    answer = run("solve", "c_svc", "--data", file, "--set", "C=1", "--solver", "mosek")
    assert (answer.code, answer.complaint) == (2, f"tightmargin: {sentence}")
    assert list(folder.iterdir()) == []


def quadratic(n: int) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n), bounds=(0, 1))
    m.objective = pyo.Objective(expr=sum((m.x[k] - 0.5) ** 2 for k in range(n)))
    return m


def test_row_14_a_size_limit_is_told_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 variables pass, 201 do not: what the wheel's licence takes in quadratic models."""
    if not SOLVERS["gurobi"].installed:
        pytest.skip("gurobi is not installed")
    monkeypatch.setattr(registry, "gurobi_is_restricted", lambda: True)
    assert tm.solve(quadratic(200), "gurobi").objective == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(SizeLimitError) as refusal:
        tm.solve(quadratic(201), "gurobi")
    sentence = str(refusal.value)
    assert "gurobi: the model has 201 variables, and its restricted licence takes 200" in sentence
    others = sentence.partition("; try ")[2].split(", ")
    assert others[0] == "clarabel"
    assert "gurobi" not in others
    assert set(others) <= set(ABLE)
