"""Every convex optimum that is certified can be written, and the file says what is true."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

from tests.cases import CASES, CONVEX
from tests.cases import known as optimum
from tests.inside.solvers import (
    NotProvenError,
    checker,
    classify,
    infeasible_document,
    multipliers_by_name,
    standard_form,
    write,
    write_document,
)
from tests.solvers.proof_files import second_checker
from tests.solvers.proof_files.tiny_trees import integers_apart
from tests.solvers.proof_files.written_files import (
    BY_NAME,
    CONVEX_PROBLEMS,
    convex_file,
    holds,
    known,
    solved,
)
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import Verdict, solve

ENTRIES = [name for name in CASES if CATALOGUE[name].problem_class in CONVEX]
# One intercept of each entry, all of them in turn, and with FULL all of each.
IN_TURN = [
    (name, mode)
    for k, name in enumerate(ENTRIES)
    for modes in (CASES[name].intercepts,)
    for mode in (modes if FULL else [modes[k % len(modes)]])
]


# Their matrices keep the second checker busy for seconds; it has those of conic_sdp.
LARGE = () if FULL else (
    "conic_sdp_rank_one", "conic_sdp_lift", "conic_sdp_strengthened", "conic_sdp_literal",
    "zero_one_disjunctive_relaxed",
)  # fmt: skip


@pytest.mark.parametrize("name", CONVEX_PROBLEMS)
def test_files_of_problems_with_known_answers(name: str) -> None:
    proof, document = convex_file(name)
    least, off = known(name)
    assert holds(proof, least, off, off)
    assert proof.kind == (least if isinstance(least, str) else "optimum")
    if name == "lp_maximised":
        assert document["model"]["variables"] == ["x", "y"]
        assert [row["name"] for row in document["model"]["rows"]] == ["total", "slack"]


@pytest.mark.parametrize(("name", "mode"), IN_TURN)
def test_every_convex_entry_has_a_file(tmp_path: Path, name: str, mode: str) -> None:
    gap = 1e-8 if name == "conic_sdp_budget" else 0.0  # an optimum of 0
    path = tmp_path / "proof.json"
    solved(CASES[name].build(mode), path, method="direct", absolute_gap=gap)
    document = checker.read(str(path))
    proof = checker.check(document)
    assert name in LARGE or second_checker.decides(document)
    assert proof.kind == "optimum"
    expected = optimum(name, mode) * (1 if "minimised" in document["about"] else -1)
    slack = 2e-7 * max(1.0, abs(expected))  # of the other solve
    assert holds(proof, expected, slack, slack)


# --- what is not written -------------------------------------------------------------------------


def not_convex() -> Any:
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(-1, 1)), pyo.Var(bounds=(-1, 1))
    model.goal = pyo.Objective(expr=model.x * model.y)
    return model


def of_no_degree() -> Any:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 2))
    model.goal = pyo.Objective(expr=pyo.sin(model.x))
    return model


@pytest.mark.parametrize(
    ("build", "words", "why"),
    [
        (not_convex, {}, "proof files are for convex models"),
        (integers_apart, {"prove": False}, "the gap is not closed"),
        (of_no_degree, {}, ""),
    ],
)
def test_what_has_no_file_is_said(
    build: Callable[[], Any], words: dict[str, Any], why: str, tmp_path: Path
) -> None:
    result = solve(build(), proof=tmp_path / "proof.json", **words)
    assert result.objective is not None
    assert f"no proof file was written: {why}" in result.message
    assert not (tmp_path / "proof.json").exists()


def test_a_document_that_does_not_check_is_never_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that claims a little too much is stopped by the checker."""
    honest = write.rounded_end

    def dishonest(model: checker.Model, value: Fraction, way: int) -> Fraction:
        return honest(model, value, way) + (1 if way > 0 else Fraction(1, 10**5))

    monkeypatch.setattr(write, "rounded_end", dishonest)
    result = solve(BY_NAME["lp_maximised"].build(), proof=tmp_path / "proof.json")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "no proof file was written: less than `lower` is proven" in result.message
    assert list(tmp_path.iterdir()) == []


def test_the_word_of_a_solver_is_no_proof_of_infeasibility(tmp_path: Path) -> None:
    """Of a disc and a line that meet, and of a disc and a line apart, without multipliers."""
    for name, empty in (("socp_disc_and_line_apart", True), ("socp_disc", False)):
        form = standard_form(BY_NAME[name].build())
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
        solve(BY_NAME["lp_maximised"].build(), proof=tmp_path / name)
    assert next(started) == 0
