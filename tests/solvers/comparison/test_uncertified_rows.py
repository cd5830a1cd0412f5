"""Rows that are not certified: marked everywhere, in no gap unless asked for, flags and no numbers.

A result is injected into the comparison: what a solver that stopped early would have left.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import tightmargin as tm
from tests.inside.experiments import GapStudy, gaps
from tests.inside.solvers import compare as comparing
from tests.support.command_line import Answer, run
from tightmargin.solvers import SolveResult, Status, Verdict

SPEC = "synthetic:clustered,n=16,d=2,sigma=0.5,seed=0"
ROWS = ("conic_sdp", "zero_one_hinge:big_m=derived", "zero_one_hinge:big_m=1")
WHY = "the proven gap is 3.00e-02, 1.00e-02 of the objective's size"

Change = Callable[[SolveResult], SolveResult]
Inject = Callable[[str, Change], None]


@pytest.fixture
def inject(monkeypatch: pytest.MonkeyPatch) -> Inject:
    """Change the result of one formulation on its way into the table."""

    def of(formulation: str, change: Change) -> None:
        honest = comparing.solve

        def answer(model: Any, *rest: Any, **more: Any) -> SolveResult:
            result = honest(model, *rest, **more)
            return change(result) if result.formulation == formulation else result

        monkeypatch.setattr(comparing, "solve", answer)

    return of


def stopped_early(result: SolveResult) -> SolveResult:
    refused = {"verdict": Verdict.NOT_CERTIFIED, "reason": WHY, "gap": 1e-2}
    certificate = replace(result.certificate, **refused)
    return replace(result, status=Status.INACCURATE, certificate=certificate)


def without_bound(result: SolveResult) -> SolveResult:
    result = stopped_early(result)
    return replace(result, bound=None, certificate=replace(result.certificate, bound=None))


def table(*words: str | Path) -> Answer:
    return run("compare", *ROWS, "--data", SPEC, "--set", "penalty=1", "big_m=derived", *words)


def line(text: str, name: str) -> str:
    (found,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return found


# --- every way out --------------------------------------------------------------------------------


def test_the_page_marks_it_and_shows_a_gap_only_when_asked(inject: Inject) -> None:
    plain = table("--json").json["studies"][0]["rows"][0]
    inject("conic_sdp", stopped_early)
    for asked in (False, True):
        answer = table(*(["--include-uncertified"] if asked else []))
        assert answer.code == 1, "a table with such a row is no success"
        row = line(answer.stdout, "conic_sdp")
        assert f"NOT_CERTIFIED: {WHY}" in row
        assert "inaccurate" in row
        assert f"conic_sdp: NOT_CERTIFIED: {WHY}" in answer.stderr
        assert ("no bound" in row) is ("?" not in answer.stdout) is (not asked)
        assert (f"{plain['certified_bound']:#.6g} ?" in row) is asked
        assert (f"{100 * plain['relative_gap']:.1f}" in row.split()) is asked


def test_json_csv_and_latex_mark_it(inject: Inject, tmp_path: Path) -> None:
    inject("conic_sdp", stopped_early)
    files = {suffix: tmp_path / f"table.{suffix}" for suffix in ("csv", "tex")}
    for asked in (False, True):
        words = ["--include-uncertified"] if asked else []
        answer = table("--json", *words, "--csv", files["csv"], "--latex", files["tex"])
        row, _, loose = answer.json["studies"][0]["rows"]
        assert row["certificate"]["verdict"] == "NOT_CERTIFIED"
        assert row["certificate"]["reason"] == WHY
        assert (row["status"], row["included"], row["certified_bound"]) == (
            "inaccurate",
            asked,
            None,
        )
        assert loose["included"] is False, "an unproven M is no bound, whoever asks"
        assert loose["relative_gap"] is None
        assert (row["relative_gap"] is None) is (row["absolute_gap"] is None) is (not asked)
        record = next(csv.DictReader(io.StringIO(files["csv"].read_text())))
        assert record["certificate"] == f"NOT_CERTIFIED: {WHY}"
        assert record["certified bound"] == ""
        assert bool(record["relative gap"]) is asked
        latex = line(files["tex"].read_text().replace(f"{SPEC} & ", ""), "conic\\_sdp")
        cells = [cell.strip() for cell in latex.rstrip("\\ ").split("&")]
        assert cells[-1].startswith("NOT\\_CERTIFIED")
        assert bool(cells[4]) is asked


def test_the_table_for_python_marks_it(inject: Inject) -> None:
    data = tm.TrainingData([[0.0], [1.0], [0.4], [0.6]], [-1, 1, 1, -1])
    inject("conic_sdp", without_bound)
    common = {"penalty": 1.0, "big_m": "derived"}
    left_out = tm.compare(data, ["conic_sdp"], parameters=common)
    (row,) = left_out.rows
    assert left_out.absolute_gap(row) is left_out.relative_gap(row) is None
    assert left_out.to_frame()["certificate"][0] == f"NOT_CERTIFIED: {WHY}"
    asked = tm.compare(data, ["conic_sdp"], parameters=common, include_uncertified=True)
    (row,) = asked.rows
    assert asked.bound_of(row) == row.value == row.claimed, "no bound is proven: its value"
    assert row.bound is None
    assert asked.absolute_gap(row) == pytest.approx(asked.upper - row.value)


def test_the_picture_hatches_it(inject: Inject, tmp_path: Any, monkeypatch: Any) -> None:
    drawn, honest = list[Figure](), gaps.gap_figure

    def kept(studies: list[GapStudy]) -> Figure:
        drawn.append(honest(studies))
        return drawn[-1]

    monkeypatch.setattr(gaps, "gap_figure", kept)
    inject("conic_sdp", stopped_early)
    table("--plot", tmp_path / "left_out.svg")
    table("--plot", tmp_path / "included.svg", "--include-uncertified")
    for figure, words in zip(drawn, ("no bound", "%, not certified"), strict=True):
        (axes,) = figure.axes
        texts = {round(t.get_position()[1]): t.get_text() for t in axes.texts[:-1]}
        assert texts[0].endswith(words)
        (bar,) = [b for b in axes.patches if b.get_hatch() and abs(b.get_y() + 0.31) < 1e-9]
        shown = 100.0 if words == "no bound" else float(texts[0].split(" %")[0])
        assert bar.get_width() == pytest.approx(shown, abs=0.05)


def test_an_inaccurate_exact_value_is_the_upper_end_of_no_gap(inject: Inject) -> None:
    inject("zero_one_big_m", stopped_early)
    answer = table("--json")
    assert answer.code == 1
    (study,) = answer.json["studies"]
    assert study["upper"] is None
    assert all(row["relative_gap"] is None for row in study["rows"])
    assert line(table().stdout, "zero_one_big_m").split().count("-") == 2
    (study,) = table("--json", "--include-uncertified").json["studies"]
    assert study["upper"] is not None
    assert study["rows"][1]["relative_gap"] > 0


# --- negative gaps --------------------------------------------------------------------------------


def test_a_bound_above_the_incumbent_is_flagged_and_no_number(inject: Inject) -> None:
    def too_good(result: SolveResult) -> SolveResult:
        return replace(result, bound=1e3, certificate=replace(result.certificate, bound=1e3))

    inject("conic_sdp", too_good)
    wrong = "conic_sdp: bound 1000 exceeds the best point"
    answer = table("--json", "--include-uncertified")
    assert answer.code == 1
    (study,) = answer.json["studies"]
    row = study["rows"][0]
    assert row["relative_gap"] is row["absolute_gap"] is None
    assert any(v.startswith(wrong) for v in study["violations"])
    assert wrong in answer.stderr
    page = table("--include-uncertified").stdout
    assert f"WRONG: {wrong}" in page
    assert line(page, "conic_sdp").split().count("-") == 2, "neither gap is a number"
