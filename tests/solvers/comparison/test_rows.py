"""What people give compare, and what is left of a table when a row fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.solvers import NOT_SOLVED
from tests.inside.solvers import compare as comparing
from tests.references.reference_solutions import points
from tightmargin.solvers import SolveResult, Status, Verdict

DATA = points("overlapping", 4, n=8)
WORDS = {"penalty": 0.6, "big_m": 500.0}
EXACT = tm.solve(tm.zero_one_big_m(DATA, **WORDS))


def bounds(table: Any) -> list[float | None]:
    return [row.bound for row in table.rows]


# --- what is taken -------------------------------------------------------------------------------

ONE = {
    "name": "conic_sdp",
    "builder": tm.conic_sdp,
    "pair": ("conic_sdp", {"penalty": 0.6}),
    "pair with a builder": (tm.conic_sdp, {"penalty": 0.6}),
    "model": tm.conic_sdp(DATA, penalty=0.6),
    "list": ["conic_sdp"],
    "generator": (name for name in ["conic_sdp"]),
    "labels": {"mine": "conic_sdp"},
    "labels of a model": {"mine": tm.conic_sdp(DATA, penalty=0.6)},
}


@pytest.mark.parametrize("given", ONE)
def test_one_row_in_every_spelling(given: str) -> None:
    expected = tm.solve(tm.conic_sdp(DATA, penalty=0.6)).bound
    table = tm.compare(DATA, ONE[given], exact=EXACT, parameters=WORDS)
    assert bounds(table) == [pytest.approx(expected, rel=1e-6)]
    assert (table.rows[0].label == "mine") == ("labels" in given)


def test_a_builder_is_taken_by_several_solvers_too() -> None:
    table = tm.compare(
        DATA, {"mine": tm.c_svc}, parameters={"C": 1.0}, solvers=("highs", "clarabel")
    )
    assert [row.model.label for row in table.rows] == ["mine", "mine"]


def unknown(data: Any) -> None:
    """A function that builds nothing that the catalogue knows."""


@pytest.mark.parametrize(
    ("words", "error", "holds"),
    [
        ({"relaxations": unknown}, ValueError, "unknown is no builder of the catalogue"),
        ({"relaxations": 3}, TypeError, "relaxations: a builder.*got int"),
        ({"relaxations": ["conic_sdp", None]}, TypeError, "relaxations: a builder.*got NoneType"),
        ({"relaxations": {1: "conic_sdp"}}, TypeError, "a label is a string, got 1"),
        ({"relaxations": pyo.AbstractModel()}, TypeError, "for `relaxations`, got an abstract"),
        ({"exact": 3.5}, TypeError, "exact: a builder.*got float"),
        ({"parameters": ["C"]}, TypeError, "parameters must map names to values, got list"),
        ({"edit": "few"}, TypeError, "edit must be a function of a model, got str"),
        ({"time_limt": 3}, TypeError, "no argument 'time_limt'; did you mean time_limit"),
        ({"time_limit": -3}, ValueError, "time_limit must be positive"),
        ({"solver": "hihgs"}, ValueError, "did you mean highs"),
        ({"data": "points.csv"}, ValueError, "reads .*TrainingData.*, not str$"),
        ({"relaxations": ["conic_sdp", "rsvm"]}, ValueError, "rsvm is not known to bound"),
        ({"relaxations": ["conic_sdp", ("conic_sdp", {"penalty": 0.7})]}, ValueError,
         "it would bound another problem"),
        ({"relaxations": ["conic_sdp", ("conic_sdp", {"penalty": -1.0})]}, ValueError,
         "penalty must be a positive"),
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


# --- what is left of it --------------------------------------------------------------------------


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


def test_a_solver_that_refuses_a_row_is_such_a_failure() -> None:
    table = tm.compare(DATA, ROWS[:2], exact=EXACT, parameters=WORDS, solver="highs")
    assert table.rows[0].bound is not None
    assert "ProblemClassError: highs cannot take" in table.rows[1].remark


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


# --- what may enter a gap, and what is flagged ----------------------------------------------------

SETTINGS = {"penalty": 1.0, "big_m": "derived"}
CLUSTERED = outlier_data("clustered", n=30, d=2, sigma=0.3, seed=4)


@pytest.fixture(scope="module")
def table() -> Any:
    rows = [
        ("zero_one_relaxed", {"big_m": 1000.0}),
        "zero_one_relaxed",
        "zero_one_hinge",
        ("zero_one_hinge", {"big_m": 1.0}),
        ("conic_fixed", {"strengthening": "scaled"}),
        "conic_sdp",
        "conic_sdp_dual",
    ]
    return tm.compare(CLUSTERED, rows, parameters=SETTINGS)


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
    of_dual = tm.compare(CLUSTERED, ["c_svc_dual"], parameters={"C": 1.0})
    assert of_dual.exact.formulation == "c_svc"
    foreign = pyo.ConcreteModel()
    with pytest.raises(ValueError, match="exact: no row is of the catalogue"):
        tm.compare(CLUSTERED, [foreign])


def test_a_row_at_another_price_is_refused(table: Any) -> None:
    with pytest.raises(ValueError, match=r"penalty=2.0 and zero_one_big_m penalty=1.0"):
        tm.compare(CLUSTERED, [("conic_sdp", {"penalty": 2.0})], exact=table.exact)
    row = ("conic_sdp", {"penalty": 1.0, "intercept": "none"})
    with pytest.raises(ValueError, match=r"intercept=none and zero_one_big_m intercept=penalised"):
        tm.compare(CLUSTERED, [row], exact=table.exact)


def test_rows_by_name_need_data() -> None:
    with pytest.raises(ValueError, match="compare needs data"):
        tm.compare(None, ["conic_sdp"], exact=EXACT, parameters=SETTINGS)
