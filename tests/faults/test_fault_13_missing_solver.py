"""Rows 13 and 14: a solver without package or licence is named with what mends it and who can.

tests/project/test_refusals.py blocks one package after the other in a process of its own,
tests/project/test_structure.py imports everything with none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.inside.solvers import backends_registry as registry
from tests.references.reference_solutions import points
from tightmargin.solvers import LicenceError, SizeLimitError, SolverNotInstalledError, export

DATA = points("overlapping", 0, n=6)
MODELS: dict[str, Any] = {
    "LP": tm.extended_nu_svc_linearised(DATA, nu=0.2, w_ref="mean_difference"),
    "QP": tm.c_svc(DATA, C=1.0),
    "SOCP": tm.max_margin_svc(DATA),
    "SDP": tm.conic_sdp(DATA, penalty=1.0),
    "MIQP": tm.zero_one_big_m(DATA, penalty=1.0, big_m=100.0),
}


@pytest.mark.parametrize("kind", MODELS)
def test_row_13_without_solvers_each_refusal_says_what_to_install(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(SOLVERS["highs"]), "installed", property(lambda self: False))
    able = [name for name, solver in SOLVERS.items() if kind in solver.classes]
    for solver in able:
        with pytest.raises(SolverNotInstalledError) as refusal:
            tm.solve(MODELS[kind], solver)
        command = f"{solver} is not installed (pip install {SOLVERS[solver].distribution})"
        assert str(refusal.value).startswith(command)
        assert str(refusal.value).endswith(f"installed solvers for {kind}: none")
    with pytest.raises(SolverNotInstalledError, match=f"takes {kind} models") as refusal:
        tm.solve(MODELS[kind])
    free = {SOLVERS[name].distribution for name in able if SOLVERS[name].free}
    assert set(str(refusal.value).partition("install ")[2].split(" or ")) == free


# --- row 14: no licence, and a model beyond one ---------------------------------------------------

TEN = points("overlapping", 1, n=10)


@pytest.fixture
def no_mosek(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A MOSEK that is installed and really finds no licence; files go to the folder returned."""
    if not SOLVERS["mosek"].installed:
        pytest.skip("mosek is not installed")
    import mosek

    try:
        with mosek.Env() as env:
            env.checkoutlicense(mosek.feature.pts)
    except mosek.Error:
        pass
    else:
        pytest.skip("mosek has a licence here")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_row_14_a_missing_licence_says_how_to_keep_the_model(no_mosek: Path) -> None:
    model = tm.conic_sdp(TEN, penalty=1.0)
    with pytest.raises(LicenceError) as refusal:
        tm.solve(model, "mosek")
    sentence = str(refusal.value)
    assert not list(no_mosek.iterdir()), "nobody asked for a file"
    name = sentence.partition("tm.export(model, '")[2].partition("'")[0]
    file = export(model, no_mosek / name)
    assert "Task" in file.read_text(encoding="utf-8")[:200]
    named = sentence.partition("without one are ")[2].split(", ")
    assert named
    assert all(SOLVERS[name].free for name in named)
    assert tm.solve(model, named[0]).objective is not None, "the solver that was named takes it"


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
    assert others
    assert "gurobi" not in others
    assert all("QP" in SOLVERS[name].classes for name in others)
