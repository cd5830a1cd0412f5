"""What is written, read back and held against its origin: the catalogue and small models."""

from __future__ import annotations

from pathlib import Path

import pytest

import tightmargin as tm
from tests.cases import CASES
from tests.conformance.problems import PROBLEMS
from tests.support.covering import FULL
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


# The formats of each entry and of each problem: some of them, all in turn, and with FULL all.
ENTRIES = [
    (name, suffix)
    for k, name in enumerate(sorted(CASES))
    for j, suffix in enumerate((*TEXT, ".cbf", ".task", ".dat-s"))
    if FULL or (j - k) % 5 < 2
]


@pytest.mark.parametrize(("name", "suffix"), ENTRIES)
def test_a_formulation_comes_back_from_every_format_that_holds_it(
    name: str, suffix: str, tmp_path: Path
) -> None:
    model, file = CASES[name].build(CASES[name].intercepts[0]), tmp_path / f"model{suffix}"
    if holds(suffix, CATALOGUE[name].problem_class) and name not in BEYOND_QUADRATIC:
        found = same(model, tm.export(model, file))
        assert found, found
        assert (found.columns_by, found.largest <= EXACT) == ("name", True)
    else:
        with pytest.raises((ValueError, ProblemClassError), match=r"write|solvers that can"):
            tm.export(model, file)
        assert not file.exists()


@pytest.mark.parametrize("k", range(len(PROBLEMS)), ids=lambda k: PROBLEMS[k].name)
def test_a_small_model_comes_back(k: int, tmp_path: Path) -> None:
    problem = PROBLEMS[k]
    for j, suffix in enumerate((*TEXT, *CONIC)):
        if not FULL and (j - k) % 7 > 3:
            continue
        try:
            file = tm.export(problem.build(), tmp_path / f"model{suffix}")
        except (ValueError, ProblemClassError, NumberError):
            assert not holds(suffix, problem.problem_class)
            continue
        found = same(problem.build(), file)
        assert found, f"{suffix}: {found}"
        assert found.largest <= EXACT


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
    for k, words in [*numbers.items()][:: 1 if FULL else 4]:
        number = repr(float(words[4]) * 1.001)
        changed = [*lines[:k], " ".join([*words[:4], number]), *lines[k + 1 :]]
        file.write_text("\n".join(changed))
        is_scale = words[1] == "1" and places.count(tuple(words[1:4])) == 1
        assert bool(same(model, file)) == is_scale, lines[k]
