"""Row 14: no licence and a model beyond a licence are refused before a solver starts.

The raw errors come late and differ from solver to solver; here the sentence names the limit, the
size, who can take the model, and what writes it to a file for a machine with a licence.
"""

from __future__ import annotations

from pathlib import Path

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.inside.solvers import backends_registry as registry
from tests.references.reference_solutions import points
from tightmargin.solvers import LicenceError, SizeLimitError, export

DATA = points("overlapping", 1, n=10)


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
    model = tm.conic_sdp(DATA, penalty=1.0)
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
