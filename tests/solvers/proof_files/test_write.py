"""Every convex optimum that is certified can be written, and the file says what is true."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.conformance.problems import INFEASIBLE, PROBLEMS, UNBOUNDED, Problem
from tests.inside.solvers import (
    SOLVERS,
    NotProvenError,
    checker,
    classify,
    infeasible_document,
    multipliers_by_name,
    standard_form,
    write,
    write_document,
)
from tests.project.test_catalogue_solvers import CONVEX, TRIALS, built, optimum
from tests.solvers.proof_files import second_checker, tiny_models
from tests.solvers.proof_files.tiny_models import OPTIMA
from tightmargin.formulations import CATALOGUE, TrainingData, c_svc
from tightmargin.solvers import LicenceError, SolveResult, Verdict, solve

ENTRIES = [name for name in TRIALS if CATALOGUE[name].problem_class in CONVEX]
SOLVABLE = [problem for problem in PROBLEMS if problem.problem_class in CONVEX]


def written(model: pyo.ConcreteModel, path: Path, **words: Any) -> tuple[SolveResult, Any]:
    result = solve(model, proof=path, **words)
    assert path.exists(), result.message
    assert f"the proof is in {path}" in result.message
    return result, checker.read(str(path))


@pytest.mark.parametrize("build", OPTIMA, ids=lambda build: build.__name__)
def test_files_of_models_solved_by_hand(
    tmp_path: Path, build: Callable[[], pyo.ConcreteModel]
) -> None:
    _, document = written(build(), tmp_path / "proof.json")
    proof, expected = checker.check(document), OPTIMA[build]
    assert second_checker.decides(document)
    if isinstance(expected, str):
        assert proof.kind == expected
        return
    assert proof.lower is not None
    assert proof.upper is not None
    constant = proof.model.constant
    assert proof.lower + constant <= expected <= proof.upper + constant
    assert proof.upper - proof.lower <= Fraction(1, 10**6) * max(abs(proof.lower), abs(proof.upper))


@pytest.mark.parametrize("problem", SOLVABLE, ids=lambda problem: problem.name)
def test_files_of_problems_with_known_answers(tmp_path: Path, problem: Problem) -> None:
    _, document = written(problem.build(), tmp_path / "proof.json.gz")
    proof = checker.check(document)
    assert second_checker.decides(document)
    if problem.answer in (INFEASIBLE, UNBOUNDED):
        assert proof.kind == problem.answer
        return
    assert proof.lower is not None
    assert proof.upper is not None
    sign = 1 if "minimised" in document["about"] else -1
    value = sign * float(problem.answer)
    slack = 4e-16 * abs(value)  # the answer is a double
    assert float(proof.lower + proof.model.constant) <= value + slack
    assert float(proof.upper + proof.model.constant) >= value - slack


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, mode) for name in ENTRIES for mode in TRIALS[name].intercepts],
)
def test_every_convex_entry_has_a_file(tmp_path: Path, name: str, mode: str) -> None:
    gap = 1e-8 if name == "conic_sdp_budget" else 0.0  # an optimum of 0
    path = tmp_path / "proof.json"
    _, document = written(built(name, mode), path, method="direct", absolute_gap=gap)
    proof, expected = checker.check(document), optimum(name, mode)
    assert proof.kind == "optimum"
    assert proof.lower is not None
    assert proof.upper is not None
    sign = 1 if "minimised" in document["about"] else -1
    slack = 2e-7 * max(1.0, abs(expected))  # of the other solve
    assert float(proof.lower + proof.model.constant) <= sign * expected + slack
    assert float(proof.upper + proof.model.constant) >= sign * expected - slack
    if mode == TRIALS[name].intercepts[0]:
        assert second_checker.decides(document)


@pytest.mark.parametrize("solver", [s for s in SOLVERS if SOLVERS[s].installed])
def test_a_file_comes_from_any_solver(tmp_path: Path, solver: str) -> None:
    """Where one has no multipliers, those that the certificate took elsewhere are there."""
    if "QP" not in {str(c) for c in SOLVERS[solver].classes}:
        pytest.skip("it takes no QP")
    try:
        written(built("c_svc", "none"), tmp_path / "proof.json", solver=solver)
    except LicenceError as error:
        pytest.skip(str(error).partition(";")[0])


def test_ill_scaled_numbers_close_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=20) > 0, 1, -1)
    for scale in (2.0**-20, 2.0**20):
        model = c_svc(TrainingData(scale * X, y), C=1 / scale**2)
        result, _ = written(model, tmp_path / f"{scale}.json")
        assert result.certificate.verdict is Verdict.CERTIFIED


def test_names_are_for_people(tmp_path: Path) -> None:
    model = tiny_models.lp()
    _, document = written(model, tmp_path / "proof.json")
    assert document["model"]["variables"] == ["x", "y"]
    assert [row["name"] for row in document["model"]["rows"]] == ["sum", "other"]


# --- what is not written -------------------------------------------------------------------------


def test_a_document_that_does_not_check_is_never_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that claims a little too much is stopped by the checker."""
    file = tmp_path / "proof.json"
    honest = write.rounded_end

    def dishonest(model: checker.Model, value: Fraction, way: int) -> Fraction:
        return honest(model, value, way) + (1 if way > 0 else Fraction(1, 10**5))

    monkeypatch.setattr(write, "rounded_end", dishonest)
    result = solve(tiny_models.lp(), proof=file)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "no proof file was written: less than `lower` is proven" in result.message
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_not_convex_has_none(tmp_path: Path) -> None:
    model = tiny_models.model(x=(-1, 1), y=(-1, 1))
    model.goal = pyo.Objective(expr=model.x * model.y)
    result = solve(model, proof=tmp_path / "proof.json")
    assert "no proof file was written: proof files are for convex models" in result.message
    assert not (tmp_path / "proof.json").exists()


def test_an_integer_optimum_above_its_relaxation_has_none_without_a_tree(tmp_path: Path) -> None:
    model = tiny_models.lp()
    model.x.domain = pyo.Integers
    model.half = pyo.Constraint(expr=2 * model.x >= 3)
    result = solve(model, proof=tmp_path / "proof.json", prove=False)
    assert result.objective == pytest.approx(2)
    assert "no proof file was written: the gap is not closed" in result.message


def test_an_integer_optimum_at_its_relaxation_has_one(tmp_path: Path) -> None:
    model = tiny_models.lp()
    model.x.domain = pyo.Integers
    _, document = written(model, tmp_path / "proof.json")
    assert document["model"]["integer"] == [0]


def test_a_function_beyond_degree_two_has_none(tmp_path: Path) -> None:
    model = tiny_models.model(x=(0, 2))
    model.goal = pyo.Objective(expr=pyo.sin(model.x))
    if not SOLVERS["scip"].installed:
        pytest.skip("no solver for it is installed")
    result = solve(model, proof=tmp_path / "proof.json")
    assert "no proof file was written" in result.message


def test_the_word_of_a_solver_is_no_proof_of_infeasibility(tmp_path: Path) -> None:
    """Of a disc and a line that meet, and of a disc and a line apart, without multipliers."""
    for name, empty in (("socp_disc_and_line_apart", True), ("socp_disc", False)):
        problem = next(p for p in PROBLEMS if p.name == name)
        form = standard_form(problem.build())
        kind = classify(form)
        document = infeasible_document(form, kind, multipliers_by_name({}, form, kind))
        if empty:  # the limits of the disc say it
            assert write_document(document, tmp_path / "proof.json").kind == "infeasible"
        else:
            with pytest.raises(NotProvenError):
                write_document(document, tmp_path / "other.json")


@pytest.mark.parametrize("name", ["nowhere/proof.json", "proof.txt", "proof", "folder.json"])
def test_a_bad_path_is_refused_before_any_solver_starts(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder.json").mkdir()
    started = itertools.count()
    monkeypatch.setattr("tightmargin.solvers.dispatch.run_attempts", lambda *_, **__: next(started))
    with pytest.raises(ValueError, match=name.split("/")[0]):
        solve(tiny_models.lp(), proof=tmp_path / name)
    assert next(started) == 0
