"""What is written, read back and held against its origin: the catalogue and small models."""

from __future__ import annotations

from pathlib import Path

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.conformance.problems import PROBLEMS, Problem
from tests.project.test_catalogue_solvers import TRIALS, built
from tightmargin.formulations import CATALOGUE, ProblemClass
from tightmargin.solvers import NumberError, ProblemClassError, SameModel

TEXT = (".lp", ".mps")
CONIC = (".cbf", ".task", ".ptf", ".jtask", ".dat-s")
CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)
BENT = (ProblemClass.NONCONVEX, ProblemClass.LRCP)
BEYOND_QUADRATIC = ("deviance_svc",)
EXACT = 1e-13  # factors of cones are rounded, nothing else is


def holds(suffix: str, problem_class: ProblemClass) -> bool:
    """Whether a format has a place for models of a class."""
    if suffix in TEXT:
        return problem_class is not ProblemClass.SDP
    return problem_class in CONVEX or (suffix != ".dat-s" and problem_class not in BENT)


def same(model: object, file: Path) -> SameModel:
    return tm.same_model(model, tm.read_model(file))


@pytest.mark.parametrize("name", sorted(TRIALS))
def test_a_formulation_comes_back_from_every_format_that_holds_it(
    name: str, tmp_path: Path
) -> None:
    model = built(name, TRIALS[name].intercepts[0])
    for suffix in (*TEXT, ".cbf", ".task", ".dat-s"):
        file = tmp_path / f"model{suffix}"
        if holds(suffix, CATALOGUE[name].problem_class) and name not in BEYOND_QUADRATIC:
            found = same(model, tm.export(model, file))
            assert found, f"{suffix}: {found}"
            assert (found.columns_by, found.largest <= EXACT) == ("name", True), suffix
        else:
            with pytest.raises((ValueError, ProblemClassError), match=r"write|solvers that can"):
                tm.export(model, file)
            assert not file.exists()


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_a_small_model_comes_back(problem: Problem, tmp_path: Path) -> None:
    written = 0
    for suffix in (*TEXT, *CONIC):
        model = problem.build()
        try:
            file = tm.export(model, tmp_path / f"model{suffix}")
        except (ValueError, ProblemClassError, NumberError):
            assert not holds(suffix, problem.problem_class)
            continue
        found = same(problem.build(), file)
        assert found, f"{suffix}: {found}"
        assert found.largest <= EXACT
        written += 1
    assert written >= 2


@pytest.mark.parametrize("suffix", [".dat-s", ".cbf", ".task"])
def test_a_convex_row_that_is_written_as_a_cone_comes_back_alone(
    suffix: str, tmp_path: Path
) -> None:
    """4 x^2 <= (x + 3)^2 - (x + 1)^2: the difference of the sides is 2, so that x >= -3 follows."""
    if suffix == ".task":
        pytest.importorskip("mosek")
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2))
    m.bent = pyo.Constraint(expr=(m.x[0] - 1) ** 2 + m.x[0] <= 3)
    m.row = pyo.Constraint(expr=m.x[0] + m.x[1] >= 1)
    m.objective = pyo.Objective(expr=m.x[0] + 2 * m.x[1])
    found = same(m, tm.export(m, tmp_path / f"model{suffix}"))
    assert found, str(found)


def test_the_sign_of_a_cone_stays_where_its_row_does_not_say_it(tmp_path: Path) -> None:
    """x^2 + z^2 <= t^2 holds for t = -5 too: the sign of t is said besides."""
    file = tmp_path / "cone.dat-s"
    file.write_text("3\n2\n3 -1\n1.0 0.0 0.0\n1 1 1 1 1.0\n1 1 2 2 1.0\n1 1 3 3 1.0\n"
                    "2 1 1 2 1.0\n3 1 1 3 1.0\n0 2 1 1 -5.0\n1 2 1 1 1.0\n")  # fmt: skip
    model = tm.read_model(file)
    assert tm.solve(model).objective == pytest.approx(0.0, abs=1e-9)


def test_a_file_with_a_number_changed_is_another_model(tmp_path: Path) -> None:
    """Every number counts but the one of a row c x >= 0, whose scale says nothing."""
    data = tm.data.outlier_data("clustered", n=4, d=2, sigma=0.5, seed=3)
    model = tm.conic_sdp(data, penalty=1.3)
    file = tm.export(model, tmp_path / "model.dat-s")
    assert same(model, file)
    lines = file.read_text().splitlines()
    entries = {k: line.split() for k, line in enumerate(lines) if line.count(" ") == 4}
    places = [tuple(words[1:4]) for words in entries.values()]
    numbers = {k: words for k, words in entries.items() if words[0].isdigit()}
    assert len(numbers) > 50
    for k, words in numbers.items():
        number = repr(float(words[4]) * 1.001)
        changed = [*lines[:k], " ".join([*words[:4], number]), *lines[k + 1 :]]
        file.write_text("\n".join(changed))
        is_scale = words[1] == "1" and places.count(tuple(words[1:4])) == 1
        assert bool(same(model, file)) == is_scale, lines[k]
