"""Rows of a table of gaps: what is taken, and what is marked, left out or flagged.

A result is injected into the comparison: what a solver that stopped early, or lies, would leave.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import gaps
from tests.inside.solvers import NOT_SOLVED
from tests.inside.solvers import compare as comparing
from tests.references.brute_force import zero_one_optima
from tests.references.reference_solutions import points
from tests.support.command_line import Answer, run
from tightmargin.solvers import SolveResult, Status, Verdict

DATA = points("overlapping", 4, n=8)
WORDS = {"penalty": 0.6, "big_m": 500.0}
EXACT = tm.solve(tm.zero_one_big_m(DATA, **WORDS))


ONE = {
    "name": "conic_sdp",
    "builder": tm.conic_sdp,
    "pair with a builder": (tm.conic_sdp, {"penalty": 0.6}),
    "model": tm.conic_sdp(DATA, penalty=0.6),
    "generator": (name for name in ["conic_sdp"]),
    "labels": {"mine": "conic_sdp"},
    "labels of a model": {"mine": tm.conic_sdp(DATA, penalty=0.6)},
}


@pytest.mark.parametrize("given", ONE)
def test_one_row_in_every_spelling(given: str) -> None:
    expected = tm.solve(tm.conic_sdp(DATA, penalty=0.6)).bound
    table = tm.compare(DATA, ONE[given], exact=EXACT, parameters=WORDS)
    assert [row.bound for row in table.rows] == [pytest.approx(expected, rel=1e-6)]
    assert (table.rows[0].label == "mine") == ("labels" in given)


def unknown(data: Any) -> None:
    """A function that builds nothing that the catalogue knows."""


@pytest.mark.parametrize(
    ("words", "error", "holds"),
    [
        ({"relaxations": unknown}, ValueError, "unknown is no builder of the catalogue"),
        ({"relaxations": ["conic_sdp", None]}, TypeError, "relaxations: a builder.*got NoneType"),
        ({"relaxations": {1: "conic_sdp"}}, TypeError, "a label is a string, got 1"),
        ({"relaxations": pyo.AbstractModel()}, TypeError, "for `relaxations`, got an abstract"),
        ({"parameters": ["C"]}, TypeError, "parameters must map names to values, got list"),
        ({"edit": "few"}, TypeError, "edit must be a function of a model, got str"),
        ({"time_limt": 3}, TypeError, "no argument 'time_limt'; did you mean time_limit"),
        ({"data": "points.csv"}, ValueError, "reads .*TrainingData.*, not str$"),
        ({"relaxations": ["conic_sdp", "rsvm"]}, ValueError, "rsvm is not known to bound"),
        ({"relaxations": ["conic_sdp", ("conic_sdp", {"penalty": 0.7})]}, ValueError,
         "it would bound another problem"),
        ({"relaxations": ["conic_sdp", ("conic_sdp", {"penlty": 1.0})]}, ValueError,
         "no hyperparameter 'penlty'.*did you mean penalty"),
        ({"relaxations": ["conic_sdp", tm.conic_sdp(points("overlapping", 5, n=8), penalty=0.6)]},
         ValueError, "has other data"),
    ],
)  # fmt: skip
def test_what_is_no_row_is_refused_before_the_first_solve(
    words: dict[str, Any], error: type[Exception], holds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: Any, **__: Any) -> SolveResult:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr(comparing, "solve", nothing)
    asked: dict[str, Any] = {"data": DATA, "relaxations": "conic_sdp", "parameters": WORDS, **words}
    with pytest.raises(error, match=holds):
        tm.compare(**asked)


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], None]:
    """Solves of one formulation end as is said: in an error, or in a changed result."""

    def of(name: str, end: Any) -> None:
        honest = comparing.solve

        def answer(model: Any, *words: Any, **limits: Any) -> SolveResult:
            if model.origin.entry != name:
                return honest(model, *words, **limits)
            if isinstance(end, BaseException):
                raise end
            return end(honest(model, *words, **limits))

        monkeypatch.setattr(comparing, "solve", answer)

    return of


ROWS = ["zero_one_relaxed", "conic_sdp", "conic_sdp_dual"]


def test_a_row_that_fails_says_why_and_the_others_stay(spoilt: Any) -> None:
    spoilt("conic_sdp", MemoryError("out of\nmemory"))
    table = tm.compare(DATA, ROWS, parameters=WORDS)
    before, failed, after = table.rows
    assert failed.status is Status.ERROR
    assert failed.remark == "failed: MemoryError: out of memory"
    assert failed.verdict is Verdict.NOT_CERTIFIED
    assert (failed.bound, table.relative_gap(failed)) == (None, None)
    assert before.bound < after.bound <= table.upper
    assert "failed: MemoryError" in repr(table)
    assert table.to_frame()["certificate"][1] == failed.remark
    assert "failed: MemoryError" in table.to_latex()
    assert table.plot().axes


@pytest.mark.parametrize("stop", ["raised", "said"])
def test_ctrl_c_keeps_the_finished_rows(stop: str, spoilt: Any) -> None:
    def said(result: SolveResult) -> SolveResult:
        return replace(result, status=Status.INTERRUPTED, message="interrupted")

    spoilt("conic_sdp", KeyboardInterrupt() if stop == "raised" else said)
    spoilt("conic_sdp_dual", AssertionError("solved after Ctrl-C"))
    table = tm.compare(DATA, ROWS, parameters=WORDS)
    assert table.rows[0].bound is not None
    assert [row.status for row in table.rows[1:]] == [Status.INTERRUPTED] * 2
    assert table.rows[2].remark == NOT_SOLVED
    if stop == "raised":
        assert table.rows[1].remark == NOT_SOLVED
    else:
        assert table.rows[1].value is not None


@pytest.fixture(scope="module")
def table() -> Any:
    return tm.compare(DATA, ["zero_one_hinge", "conic_sdp_dual"], parameters=WORDS)


def test_frame_and_latex_hold_every_row(table: Any) -> None:
    frame = table.to_frame()
    assert list(frame.columns) == [
        "formulation", "value", "certified bound", "claimed bound", "absolute gap", "relative gap",
        "claimed gap", "solver", "status", "seconds", "certificate",
    ]  # fmt: skip
    assert len(frame) == len(table.rows) + 1
    latex = table.to_latex()
    assert latex.count(r"\\") == len(frame) + 1
    assert r"zero\_one\_big\_m (exact)" in latex
    two = table.to_latex(columns=["relative gap", "formulation"]).splitlines()
    assert two[2] == r"relative gap (\%) & formulation \\"
    assert two[-3].endswith(r"& zero\_one\_big\_m (exact) \\")
    with pytest.raises(ValueError, match=r"columns must be one of .* got 'gap'"):
        table.to_latex(columns=["gap"])


def test_the_exact_problem_is_what_the_first_row_relaxes(table: Any) -> None:
    assert table.exact.formulation == "zero_one_big_m"
    of_dual = tm.compare(DATA, ["c_svc_dual"], parameters={"C": 1.0})
    assert of_dual.exact.formulation == "c_svc"
    foreign = pyo.ConcreteModel()
    with pytest.raises(ValueError, match="exact: no row is of the catalogue"):
        tm.compare(DATA, [foreign])


def test_a_row_at_another_price_is_refused(table: Any) -> None:
    with pytest.raises(ValueError, match=r"penalty=2.0 and zero_one_big_m penalty=0.6"):
        tm.compare(DATA, [("conic_sdp", {"penalty": 2.0})], exact=table.exact)
    row = ("conic_sdp", {"penalty": 0.6, "intercept": "none"})
    with pytest.raises(ValueError, match=r"intercept=none and zero_one_big_m intercept=penalised"):
        tm.compare(DATA, [row], exact=table.exact)


def test_rows_by_name_need_data() -> None:
    with pytest.raises(ValueError, match="compare needs data"):
        tm.compare(None, ["conic_sdp"], exact=EXACT, parameters=WORDS)


SPEC = "synthetic:clustered,n=16,d=2,sigma=0.5,seed=0"
WHY = "the proven gap is 3.00e-02, 1.00e-02 of the objective's size"


def stopped_early(result: SolveResult) -> SolveResult:
    refused = {"verdict": Verdict.NOT_CERTIFIED, "reason": WHY, "gap": 1e-2}
    certificate = replace(result.certificate, **refused)
    return replace(result, status=Status.INACCURATE, certificate=certificate)


def printed(*words: str | Path) -> Answer:
    rows = ("conic_sdp", "zero_one_hinge:big_m=derived", "zero_one_hinge:big_m=1")
    return run("compare", *rows, "--data", SPEC, "--set", "penalty=1", "big_m=derived", *words)


def line(text: str, name: str) -> str:
    (found,) = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    return found


def test_page_json_csv_and_latex_mark_it(spoilt: Any, tmp_path: Path) -> None:
    """And show its gap only when they are asked to."""
    spoilt("conic_sdp", stopped_early)
    files = {suffix: tmp_path / f"table.{suffix}" for suffix in ("csv", "tex")}
    for asked in (False, True):
        words = ["--include-uncertified"] if asked else []
        answer = printed("--json", *words, "--csv", files["csv"], "--latex", files["tex"])
        assert answer.code == 1, "a table with such a row is no success"
        assert f"conic_sdp: NOT_CERTIFIED: {WHY}" in answer.stderr
        row, _, loose = answer.json["studies"][0]["rows"]
        assert row["certificate"]["verdict"] == "NOT_CERTIFIED"
        assert row["certificate"]["reason"] == WHY
        assert (row["included"], row["certified_bound"]) == (asked, None)
        assert loose["included"] is False, "an unproven M is no bound, whoever asks"
        assert loose["relative_gap"] is None
        assert (row["relative_gap"] is None) is (row["absolute_gap"] is None) is (not asked)
        record = next(csv.DictReader(io.StringIO(files["csv"].read_text())))
        assert record["certificate"] == f"NOT_CERTIFIED: {WHY}"
        assert bool(record["relative gap"]) is asked
        latex = line(files["tex"].read_text().replace(f"{SPEC} & ", ""), "conic\\_sdp")
        assert latex.rstrip("\\ ").split("&")[-1].strip().startswith("NOT\\_CERTIFIED")
    page = line(printed("--include-uncertified").stdout, "conic_sdp")
    assert f"NOT_CERTIFIED: {WHY}" in page
    assert f"{100 * row['relative_gap']:.1f}" in page.split()


def test_the_table_for_python_marks_it(spoilt: Any) -> None:
    def without_bound(result: SolveResult) -> SolveResult:
        result = stopped_early(result)
        return replace(result, bound=None, certificate=replace(result.certificate, bound=None))

    spoilt("conic_sdp", without_bound)
    left_out = tm.compare(DATA, ["conic_sdp"], parameters=WORDS, exact=EXACT)
    (row,) = left_out.rows
    assert left_out.absolute_gap(row) is left_out.relative_gap(row) is None
    assert left_out.to_frame()["certificate"][0] == f"NOT_CERTIFIED: {WHY}"
    asked = tm.compare(DATA, ["conic_sdp"], parameters=WORDS, exact=EXACT, include_uncertified=True)
    (row,) = asked.rows
    assert asked.bound_of(row) == row.value == row.claimed, "no bound is proven: its value"
    assert row.bound is None
    assert asked.absolute_gap(row) == pytest.approx(asked.upper - row.value)


def test_the_picture_hatches_it(spoilt: Any, tmp_path: Any, monkeypatch: Any) -> None:
    drawn, honest = list[Any](), gaps.gap_figure
    monkeypatch.setattr(gaps, "gap_figure", lambda x: drawn.append(honest(x)) or drawn[-1])
    spoilt("conic_sdp", stopped_early)
    printed("--plot", tmp_path / "left_out.svg")
    printed("--plot", tmp_path / "included.svg", "--include-uncertified")
    for figure, words in zip(drawn, ("no bound", "%, not certified"), strict=True):
        (axes,) = figure.axes
        texts = {round(t.get_position()[1]): t.get_text() for t in axes.texts[:-1]}
        assert texts[0].endswith(words)
        (bar,) = [b for b in axes.patches if b.get_hatch() and abs(b.get_y() + 0.31) < 1e-9]
        shown = 100.0 if words == "no bound" else float(texts[0].split(" %")[0])
        assert bar.get_width() == pytest.approx(shown, abs=0.05)


def test_an_inaccurate_exact_value_is_the_upper_end_of_no_gap(spoilt: Any) -> None:
    spoilt("zero_one_big_m", stopped_early)
    answer = printed("--json")
    assert answer.code == 1
    (study,) = answer.json["studies"]
    assert study["upper"] is None
    assert all(row["relative_gap"] is None for row in study["rows"])
    (study,) = printed("--json", "--include-uncertified").json["studies"]
    assert study["upper"] is not None
    assert study["rows"][1]["relative_gap"] > 0


def test_a_bound_above_the_incumbent_is_flagged_and_no_number(spoilt: Any) -> None:
    def too_good(result: SolveResult) -> SolveResult:
        return replace(result, bound=1e3, certificate=replace(result.certificate, bound=1e3))

    spoilt("conic_sdp", too_good)
    wrong = "conic_sdp: bound 1000 exceeds the best point"
    answer = printed("--json", "--include-uncertified")
    assert answer.code == 1
    (study,) = answer.json["studies"]
    row = study["rows"][0]
    assert row["relative_gap"] is row["absolute_gap"] is None
    assert any(v.startswith(wrong) for v in study["violations"])
    assert wrong in answer.stderr
    assert f"WRONG: {wrong}" in printed("--include-uncertified").stdout


def empty(data: tm.TrainingData, *, penalty: float) -> pyo.ConcreteModel:
    model = tm.zero_one_relaxed(data, penalty=penalty, big_m=60.0)
    model.far = pyo.Constraint(expr=model.w[0] >= model.w[1] + 2)
    model.near = pyo.Constraint(expr=model.w[0] <= model.w[1] - 2)
    return model


def too_dear(data: tm.TrainingData, *, penalty: float) -> pyo.ConcreteModel:
    model = tm.zero_one_relaxed(data, penalty=penalty, big_m=60.0)
    model.objective.expr = model.objective.expr + 10
    return model


@pytest.mark.usefixtures("catalogue_as_it_was")
def test_an_empty_or_dearer_model_is_no_relaxation() -> None:
    for build in (empty, too_dear):
        tm.formulation("QP", "here", relaxes="zero_one_big_m")(build)
    far = pyo.ConcreteModel()
    far.x = pyo.Var(bounds=(0, 1))
    far.row = pyo.Constraint(expr=far.x >= 2)
    far.cost = pyo.Objective(expr=far.x)
    rows = {"good": "zero_one_relaxed", "empty": "empty", "dear": "too_dear", "foreign": far}
    table = tm.compare(DATA, rows, exact=EXACT, parameters=WORDS)
    (optimum,) = zero_one_optima(DATA, [0.6], "penalised")
    marks = dict(zip(table.to_frame()["formulation"], table.to_frame()["certificate"], strict=True))
    assert marks["good"] == "CERTIFIED"
    for label in ("empty", "foreign"):
        assert marks[label].startswith("no relaxation (it is proven to have no point")
    assert marks["dear"].startswith("no relaxation (bound 1")
    assert [line.partition(":")[0] for line in table.violations()] == ["empty", "dear", "foreign"]
    for row in table.rows:
        refuted = row.status is Status.INFEASIBLE or (row.value or 0.0) > optimum
        assert bool(table.why_no_relaxation(row)) == refuted
        assert (table.absolute_gap(row) is None) == refuted
    _, none, dear, _ = table.rows
    # An unproven best point may be the wrong one, and a solver's word refutes nothing.
    doubtful = replace(table.exact.certificate, verdict=Verdict.SOLVER_BOUND)
    unsure = replace(table, exact=replace(table.exact, certificate=doubtful))
    assert "if that is one" not in str(marks)
    assert "if that is one" in unsure.why_no_relaxation(dear)
    without = replace(table, upper=None)
    assert not any(without.why_no_relaxation(row) for row in without.rows)
    assert table.why_no_relaxation(replace(none, is_empty=False)) == ""


def test_rows_with_another_edit_are_about_another_problem() -> None:
    table = tm.compare(DATA, [empty(DATA, penalty=0.6)], exact=EXACT, parameters=WORDS)
    assert not table.rows[0].is_empty
    assert table.violations() == []
