"""Exported files, read and solved by programs that know nothing of us."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv
from tests.support.covering import in_turn

DATA = reference_solutions.points("overlapping", 4, n=9)
C, PENALTY = 0.7, 1.3


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "train.csv", DATA)


def exported(name: str, suffix: str, train: Path, *settings: str) -> Path:
    file = train.with_name(f"model{suffix}")
    answer = run("export", name, "--data", train, "--set", *settings, file)
    assert answer.code == 0, answer.stderr
    assert answer.stdout == f"wrote {file}\n"
    return file


def scip_optimum(file: Path) -> float:
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(file))
    model.optimize()
    assert model.getStatus() == "optimal"
    return model.getObjVal()


def highs_optimum(file: Path) -> float:
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    assert h.readModel(str(file)) == highspy.HighsStatus.kOk
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return h.getObjectiveValue()


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_highs_reads_a_quadratic_program(suffix: str, train: Path) -> None:
    """And what is written is the normalised problem."""
    X = (DATA.X - DATA.X.mean(axis=0)) / DATA.X.std(axis=0)
    normalised = tm.TrainingData(X, np.array(DATA.y))
    for data, words in ((DATA, ()), (normalised, ("normalise=zscore",))):
        file = exported("c_svc", suffix, train, f"C={C}", *words)
        expected = reference_solutions.hinge(data, "free", 0.5, C).value
        assert highs_optimum(file) == pytest.approx(expected, rel=1e-5)


MODELS = [
    "zero_one_big_m big_m=derived", "zero_one_disjunctive transformation=bigm",
    "zero_one_disjunctive transformation=hull", "zero_one_bilinear both_sides=false",
]  # fmt: skip


@pytest.mark.parametrize(("model", "suffix"), in_turn(MODELS, [".lp", ".mps", ".nl"]))
def test_scip_reads_mixed_integer_programs(model: str, suffix: str, train: Path) -> None:
    name, settings = model.split()
    file = exported(name, suffix, train, f"penalty={PENALTY}", settings)
    expected = reference_solutions.zero_one_optimum(DATA, "penalised", PENALTY)
    assert scip_optimum(file) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".nl"])
def test_scip_reads_second_order_cones(suffix: str, train: Path) -> None:
    file = exported("max_margin_svc", suffix, train, "intercept=penalised")
    expected = reference_solutions.max_margin(DATA, "penalised").value
    assert scip_optimum(file) == pytest.approx(expected, abs=1e-5)


def test_the_document_of_the_command(train: Path) -> None:
    """Its refusals: tests/solvers/test_refusals.py."""
    file = train.with_name("model.mps")
    assert run("export", "c_svc", "--data", train, "--set", f"C={C}", file, "--json").json == {
        "schema": "tightmargin/1", "command": "export",
        "formulation": "c_svc", "file": str(file), "format": "mps",
    }  # fmt: skip


def open_bound() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=pyo.PositiveReals)
    m.goal = pyo.Objective(expr=m.x)
    return m


def tiny_square_beside_a_product() -> pyo.ConcreteModel:
    """3e10 x y loses up to 2^-19, which the square of x, of coefficient 1, gives up."""
    m = pyo.ConcreteModel()
    m.p = pyo.Param(initialize=0.1, mutable=True)
    m.x, m.y = pyo.Var(), pyo.Var()
    m.goal = pyo.Objective(expr=m.x**2 + 1e24 * m.y**2 + 3e11 * m.p * m.x * m.y + m.x)
    return m


def last_digits(sum_in_a_side: bool = False) -> pyo.ConcreteModel:
    """A bound and a cost that are products of decimals."""
    m = pyo.ConcreteModel()
    m.p = pyo.Param(initialize=0.1, mutable=True)
    m.x, m.y = pyo.Var(bounds=(0, 3 * m.p)), pyo.Var()
    m.row = pyo.Constraint(expr=m.x + m.y >= (m.p + 0.2 if sum_in_a_side else 0.3))
    m.goal = pyo.Objective(expr=3 * m.p * m.x + m.y**2)
    return m


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (open_bound, ": x may be at a bound in the file, which the model excludes"),
        (tiny_square_beside_a_product, ": the objective has numbers that no double is"),
        (lambda: last_digits(True), ": a side of row row has a number that no double is"),
        (last_digits, ""),
    ],
)
def test_a_file_warns_of_what_is_another_model_in_it(
    build: Callable[[], pyo.ConcreteModel], said: str, tmp_path: Path
) -> None:
    for suffix in (".lp", ".mps", ".dat-s"):
        model, file = build(), tmp_path / f"model{suffix}"
        with pytest.warns(UserWarning, match=said) if said else contextlib.nullcontext():
            tm.export(model, file)
        assert tm.same_model(model, tm.read_model(file))
