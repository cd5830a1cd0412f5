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
from tests.inside.solvers import SOLVERS
from tests.references import reference_solutions
from tests.support import cbf_reader
from tests.support.command_line import run, write_csv

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
    import highspy

    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    assert h.readModel(str(file)) == highspy.HighsStatus.kOk
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return h.getObjectiveValue()


def gurobi_optimum(file: Path) -> float:
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.read(str(file), env=env) as model:
        model.optimize()
        assert model.Status == gurobipy.GRB.OPTIMAL
        return model.ObjVal


def hinge() -> float:
    return reference_solutions.hinge(DATA, "free", 0.5, C).value


def zero_one() -> float:
    return reference_solutions.zero_one_optimum(DATA, "penalised", PENALTY)


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_highs_reads_a_quadratic_program(suffix: str, train: Path) -> None:
    file = exported("c_svc", suffix, train, f"C={C}")
    assert highs_optimum(file) == pytest.approx(hinge(), rel=1e-5)


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".nl"])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("zero_one_big_m", "big_m=derived"),
        ("zero_one_disjunctive", "transformation=bigm"),
        ("zero_one_disjunctive", "transformation=hull"),
        ("zero_one_bilinear", "both_sides=false"),
    ],
)
def test_scip_reads_mixed_integer_programs(
    suffix: str, name: str, settings: str, train: Path
) -> None:
    file = exported(name, suffix, train, f"penalty={PENALTY}", settings)
    assert scip_optimum(file) == pytest.approx(zero_one(), rel=1e-5)


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".nl"])
def test_scip_reads_second_order_cones(suffix: str, train: Path) -> None:
    file = exported("max_margin_svc", suffix, train, "intercept=penalised")
    expected = reference_solutions.max_margin(DATA, "penalised").value
    assert scip_optimum(file) == pytest.approx(expected, abs=1e-5)


def test_gurobi_reads_quadratic_objectives(train: Path) -> None:
    if not SOLVERS["gurobi"].installed:
        pytest.skip("gurobi is not installed")
    file = exported("zero_one_big_m", ".lp", train, f"penalty={PENALTY}", "big_m=derived")
    assert gurobi_optimum(file) == pytest.approx(zero_one(), rel=1e-6)


def test_conic_files_state_the_semidefinite_row(train: Path) -> None:
    file = exported("conic_sdp", ".cbf", train, f"penalty={PENALTY}")
    expected = reference_solutions.theorem_2(DATA, "penalised", penalty=PENALTY).value
    assert cbf_reader.read(file).solved().objective == pytest.approx(expected, rel=1e-6)


def test_rows_and_variables_keep_their_names(train: Path) -> None:
    lp = exported("c_svc", ".lp", train, f"C={C}").read_text()
    for word in ("margin(0)", "w(1)", "xi(8)"):
        assert word in lp
    nl = exported("c_svc", ".nl", train, f"C={C}")
    rows = nl.with_suffix(".row").read_text().split()
    assert [row for row in rows if row.startswith("margin[")] == [
        f"margin[{i}]" for i in range(DATA.n)
    ]
    assert {"w[0]", "w[1]", "b", "xi[0]"} <= set(nl.with_suffix(".col").read_text().split())


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".nl"])
@pytest.mark.parametrize("name", ["conic_sdp", "conic_sdp_dual"])
def test_a_semidefinite_row_is_refused_by_formats_without_one(
    name: str, suffix: str, train: Path
) -> None:
    file = train.with_name(f"model{suffix}")
    answer = run("export", name, "--data", train, "--set", f"penalty={PENALTY}", file)
    assert answer.code == 2
    for word in ("cbf", "ptf", "task"):
        assert word in answer.complaint
    assert not file.exists()


@pytest.mark.parametrize(
    ("name", "file", "expected"),
    [
        ("c_svc", "model.gms", ".lp or .mps or .nl"),
        ("c_svc", "no/such/folder/model.lp", "no folder"),
        ("c_scv", "model.lp", "did you mean c_svc"),
    ],
)
def test_other_files_are_refused(name: str, file: str, expected: str, train: Path) -> None:
    answer = run("export", name, "--data", train, "--set", f"C={C}", train.parent / file)
    assert answer.code == 2
    assert expected in answer.complaint


def test_the_document(train: Path) -> None:
    file = train.with_name("model.mps")
    words = ["--data", train, "--set", f"C={C}", file, "--json"]
    assert run("export", "c_svc", *words).json == {
        "schema": "tightmargin/1", "command": "export",
        "formulation": "c_svc", "file": str(file), "format": "mps",
    }  # fmt: skip


def test_what_is_written_is_the_normalised_problem(train: Path) -> None:
    file = exported("c_svc", ".mps", train, f"C={C}", "normalise=zscore")
    X = (DATA.X - DATA.X.mean(axis=0)) / DATA.X.std(axis=0)
    expected = reference_solutions.hinge(type(DATA)(X, np.array(DATA.y)), "free", 0.5, C).value
    assert highs_optimum(file) == pytest.approx(expected, rel=1e-5)


def test_integers_named_as_sections_are_refused_in_lp_files(tmp_path: Path) -> None:
    """A line of such a name alone begins a section, and the column would be no integer."""
    m = pyo.ConcreteModel()
    m.st = pyo.Var(within=pyo.Binary)
    m.x = pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x + m.st >= 0.5)
    m.goal = pyo.Objective(expr=m.x + 2 * m.st)
    with pytest.raises(ValueError, match="st is an integer whose name begins a section"):
        tm.export(m, tmp_path / "model.lp")
    assert tm.same_model(m, tm.read_model(tm.export(m, tmp_path / "model.mps")))


def test_ranges_that_round_become_two_rows_of_an_mps_file(tmp_path: Path) -> None:
    """-1e17 + (1.5 - -1e17) is 0: the width of a row need not give its upper side back."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.far = pyo.Constraint(expr=pyo.inequality(-1e17, m.x + m.y, 1.5))
    m.near = pyo.Constraint(expr=pyo.inequality(-1, m.x - m.y, 2))
    m.goal = pyo.Objective(expr=m.x)
    file = tm.export(m, tmp_path / "model.mps")
    assert file.read_text().count("RNG") == 1
    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(file))
    lp = highs.getLp()
    sides = set(zip(lp.row_lower_, lp.row_upper_, strict=True))
    assert sides == {(-1e17, np.inf), (-np.inf, 1.5), (-1.0, 2.0)}
    assert tm.same_model(m, tm.read_model(file))


@pytest.mark.parametrize("suffix", ["lp", "mps"])
@pytest.mark.parametrize("place", ["bound", "side"])
def test_what_readers_take_for_infinite_is_refused(suffix: str, place: str, tmp_path: Path) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1e20 if place == "bound" else 1))
    model.row = pyo.Constraint(expr=2 * model.x >= (-1e25 if place == "side" else 1))
    model.goal = pyo.Objective(expr=-model.x)
    with pytest.raises(ValueError, match=f"has the {place} -?1e.*take for none"):
        tm.export(model, tmp_path / f"far.{suffix}")
    assert not list(tmp_path.iterdir())


def test_two_names_that_are_one_in_a_file_are_refused(tmp_path: Path) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["a b", "a_b"], bounds=(0, 1))
    model.goal = pyo.Objective(expr=model.x["a b"] - 2 * model.x["a_b"])
    with pytest.raises(ValueError, match="have one name in a lp file: rename one, or write mps"):
        tm.export(model, tmp_path / "names.lp")
    assert tm.same_model(model, tm.read_model(tm.export(model, tmp_path / "names.mps")))


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


def last_digits() -> pyo.ConcreteModel:
    """A bound and a cost that are products of decimals."""
    m = pyo.ConcreteModel()
    m.p = pyo.Param(initialize=0.1, mutable=True)
    m.x, m.y = pyo.Var(bounds=(0, 3 * m.p)), pyo.Var()
    m.row = pyo.Constraint(expr=m.x + m.y >= 0.3)
    m.goal = pyo.Objective(expr=3 * m.p * m.x + m.y**2)
    return m


def side_of_a_sum() -> pyo.ConcreteModel:
    m = last_digits()
    m.row.set_value(m.x + m.y >= m.p + 0.2)
    return m


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".dat-s"])
@pytest.mark.parametrize(
    ("build", "said"),
    [
        (open_bound, ": x may be at a bound in the file, which the model excludes"),
        (tiny_square_beside_a_product, ": the objective has numbers that no double is"),
        (side_of_a_sum, ": a side of row row has a number that no double is"),
        (last_digits, ""),
    ],
)
def test_a_file_warns_of_what_is_another_model_in_it(
    build: Callable[[], pyo.ConcreteModel], said: str, suffix: str, tmp_path: Path
) -> None:
    model, file = build(), tmp_path / f"model{suffix}"
    with pytest.warns(UserWarning, match=said) if said else contextlib.nullcontext():
        tm.export(model, file)
    assert tm.same_model(model, tm.read_model(file))


@pytest.mark.parametrize("place", ["row", "bent", "goal"])
def test_terms_that_cancel_are_no_lp_file(place: str, tmp_path: Path) -> None:
    """1e16 x + x - 1e16 x, which is x."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    x = {each: m.x for each in ("row", "bent", "goal")}
    x[place] = 1e16 * m.x + m.x - 1e16 * m.x
    m.row = pyo.Constraint(expr=x["row"] + m.y >= 1)
    m.bent = pyo.Constraint(expr=x["bent"] + m.y**2 <= 3)
    m.goal = pyo.Objective(expr=x["goal"] + 2 * m.y, sense=pyo.maximize)
    with pytest.raises(ValueError, match=f"{place} has terms that cancel, .* or write mps"):
        tm.export(m, tmp_path / "model.lp")
    assert tm.same_model(m, tm.read_model(tm.export(m, tmp_path / "model.mps")))


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".cbf"])
def test_a_row_that_is_scaled_to_doubles_comes_back(suffix: str, tmp_path: Path) -> None:
    """A lp file has it as it was written, others as the arrays have it: the same row."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(-50, 50)), pyo.Var(bounds=(-50, 3))
    m.c = pyo.Constraint(expr=0.1 * (m.x + 3 * m.y) >= 0)
    m.o = pyo.Objective(expr=m.x + 2 * m.y)
    again = tm.read_model(tm.export(m, tmp_path / f"model{suffix}"))
    assert tm.same_model(m, again)
    assert tm.solve(again).objective == pytest.approx(-3, rel=1e-6)
