"""Gap studies: the order of bounds, what is refused, what is flagged, and every way out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.inside.experiments import (
    EXACT,
    LADDER,
    RELAXATIONS,
    GapStudy,
    Instance,
    Rung,
    compare,
    is_weaker,
    seconds_text,
    to_frame,
)
from tests.inside.experiments import study as gap_study
from tests.inside.experiments import table_percent as percent
from tests.inside.experiments import table_to_json as to_json
from tests.inside.experiments import table_to_latex as to_latex
from tests.inside.solvers import GapTableBound as Bound
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv
from tightmargin.formulations import zero_one_big_m
from tightmargin.solvers import Verdict, solve

SPEC = "synthetic:clustered,n=24,d=2,sigma=0.5,seed=0"
SMALL = Instance("small", "Twenty-four points", SPEC, {"penalty": 1.0})
RUNGS = [rung.name for rung in LADDER]


def last(studies: Iterator[GapStudy]) -> GapStudy:
    *_, finished = studies
    return finished


@pytest.fixture(scope="module")
def study() -> GapStudy:
    return last(gap_study.run(SMALL))


def row(study: GapStudy, label: str) -> Bound:
    (found,) = [r for r in study.comparison.rows if r.label == label]
    return found


# --- the ladder ----------------------------------------------------------------------------------


def test_gaps_are_those_of_independent_models(study: GapStudy) -> None:
    """The bounds again in another modelling layer, the optimum by SCIP and by enumeration."""
    data = study.prepared.data
    upper = float(study.comparison.upper or 0)
    sdp = reference_solutions.theorem_2(data, "penalised", penalty=1.0).value
    loose = reference_solutions.relaxation(data, "penalised", 1.0, np.full(data.n, 1000.0)).value
    assert row(study, "SDP").bound == pytest.approx(sdp, rel=2e-6)
    assert row(study, "big-M, M = 1000").bound == pytest.approx(loose, rel=2e-6)
    gap = study.comparison.relative_gap(row(study, "SDP"))
    assert gap == pytest.approx((upper - sdp) / upper, abs=1e-6)
    exact = study.comparison.exact
    assert exact is not None
    assert exact.solver == "tightmargin"
    assert exact.certificate.bound_method.startswith("cones of directions in")
    assert exact.certificate.verdict is Verdict.CERTIFIED
    by_scip = solve(zero_one_big_m(data, penalty=1.0, big_m="derived"), "scip")
    assert by_scip.certificate.bound_method.startswith("enumeration of")
    assert by_scip.objective == pytest.approx(upper, rel=1e-6)


# --- an impossible order is seen -----------------------------------------------------------------


def test_only_relaxations_of_one_problem_are_ordered(study: GapStudy) -> None:
    sdp, equal = row(study, "SDP"), row(study, "conic, gamma equal")
    assert not is_weaker(row(study, "big-M, derived M"), sdp), "no theorem says so"
    other = replace(sdp, parameters={**sdp.parameters, "penalty": 2.0})
    assert not is_weaker(equal, other)
    edited = replace(sdp.result.certificate, level="model")
    assert not is_weaker(equal, replace(sdp, result=replace(sdp.result, certificate=edited)))


def test_a_bound_above_the_optimum_is_1_and_red(
    monkeypatch: pytest.MonkeyPatch, study: GapStudy
) -> None:
    upper = study.comparison.upper
    assert upper is not None
    rows = [
        replace(r, bound=upper * 1.01) if r.label == "SDP" else r for r in study.comparison.rows
    ]
    wrong = replace(study, comparison=replace(study.comparison, rows=tuple(rows)))
    monkeypatch.setattr(compare, "run", lambda *args, **limits: iter([wrong]))
    answer = run("compare", "--ladder", "--data", SPEC, "--set", "penalty=1")
    assert answer.code == 1
    assert re.search(r"WRONG: SDP: bound .* exceeds the best point", answer.stdout)
    assert "exceeds the best point" in answer.stderr
    document = run("compare", "--ladder", "--data", SPEC, "--set", "penalty=1", "--json")
    assert document.code == 1
    assert document.json["studies"][0]["violations"]


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "train.csv", reference_solutions.points("overlapping", 2, n=10))


@pytest.mark.parametrize("exact", ["zero_one_disjunctive", "zero_one_big_m:big_m=derived"])
def test_another_exact_problem_and_a_looser_intercept(exact: str, train: Path) -> None:
    """A free b is worth at least as much as a priced one; the exact problem may have settings."""
    words = ["--data", train, "--exact", exact, "--set", "penalty=1.3", "big_m=derived"]
    answer = run("compare", "zero_one_relaxed:intercept=free", *words, "--json")
    assert answer.code == 0, answer.stderr
    (found,) = answer.json["studies"]
    assert found["exact"]["formulation"] == exact.partition(":")[0]
    optimum = reference_solutions.zero_one_optimum(
        reference_solutions.points("overlapping", 2, n=10), "penalised", 1.3
    )
    assert found["upper"] == pytest.approx(optimum, rel=1e-7)
    assert found["rows"][0]["certified_bound"] <= found["upper"]


def test_a_limit_on_the_exact_problem_is_4() -> None:
    data = "synthetic:clustered,n=150,d=6,sigma=0.5"
    words = ["--data", data, "--set", "penalty=1", "big_m=derived", "--time-limit", "3"]
    answer = run("compare", "zero_one_relaxed", *words, "--json")
    assert answer.code == 4
    (found,) = answer.json["studies"]
    assert found["exact"]["status"] == "feasible"
    assert found["rows"][0]["relative_gap"] is not None, "to the best point known"


@pytest.mark.parametrize("swallowed", [False, True])
def test_interrupted_keeps_the_rows_that_are_finished(
    swallowed: bool, train: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SCIP catches Ctrl-C itself; its words are all there is to see of it."""
    original, calls = gap_study.compare, []

    def pressed(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:  # the exact problem and two rows are done
            raise KeyboardInterrupt
        found = original(*arguments, **options)
        if swallowed:
            exact = replace(found.exact, message="interrupted, feasible")
            return replace(found, exact=exact)
        return found

    monkeypatch.setattr(gap_study, "compare", pressed)
    words = ["--ladder", "--data", train, "--set", "penalty=1.3", "--csv", tmp_path / "gaps.csv"]
    answer = run("compare", *words, "--json")
    assert answer.code == 130
    (found,) = answer.json["studies"]
    kept = 0 if swallowed else 2
    assert [r["label"] for r in found["rows"]] == RUNGS[:kept]
    if not swallowed:
        assert "2 rows are finished" in answer.stderr
        assert len((tmp_path / "gaps.csv").read_text().splitlines()) == 1 + 2 + 1


# --- tables --------------------------------------------------------------------------------------


def test_latex_has_the_shape_of_a_table(study: GapStudy) -> None:
    odd = Instance("50%_off & more", "odd", SPEC, SMALL.settings)
    text = to_latex([study, replace(study, instance=odd)])
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert text.count(rule) == 1
    declared = re.search(r"\\begin\{tabular\}\{([lrc]+)\}", text)
    assert declared is not None
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(lines) == 1 + 2 * (len(RELAXATIONS) + 1)
    for line in lines:
        assert len(re.findall(r"(?<!\\)&", line)) == len(declared[1]) - 1
        assert not re.search(r"(?<!\\)[%_#$]", line), "special characters are escaped"
    assert r"50\%\_off \& more" in text
    gap = percent(study.comparison.relative_gap(row(study, "SDP")))
    assert re.search(rf"SDP & .* & {re.escape(gap)} & ", text)


def test_rows_of_csv_json_and_page(study: GapStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, sdp = to_frame([study]), row(study, "SDP")
    assert list(frame) == [
        "instance", "formulation", "entry", "value", "certified bound", "claimed bound",
        "absolute gap", "relative gap", "claimed gap", "solver", "status", "seconds", "certificate",
    ]  # fmt: skip
    assert list(frame["entry"]) == [rung.formulation for rung in (*RELAXATIONS, EXACT)]
    assert frame["certified bound"][list(frame["formulation"]).index("SDP")] == sdp.bound, (
        "full precision"
    )
    document = to_json(study)
    assert document["data"]["sha256"] == study.prepared.raw.sha256
    for found in document["rows"]:
        assert "values" not in found
        assert set(found) >= {"label", "formulation", "value", "certified_bound", "relative_gap"}
    monkeypatch.setattr(compare, "run", lambda *args, **limits: iter([study]))
    text = run("compare", "--ladder", "--data", SPEC, "--set", "penalty=1").stdout
    assert "0-1 optimum (exact)" in text
    (line,) = [line for line in text.splitlines() if line.startswith("SDP  ")]
    assert percent(study.comparison.relative_gap(sdp)) in line.split()
    assert line.split()[-1] == "CERTIFIED"


def test_numbers_and_names_of_a_table() -> None:
    for number, text in ((None, ""), (float("nan"), ""), (0.0, "0.0"), (0.9957, "99.6")):
        assert percent(number) == text
    for number, text in ((0.00261, "0.003"), (0.5, "0.50"), (9.876, "9.88"), (61.42, "61.4")):
        assert seconds_text(number) == text
    assert Rung("conic_sdp").name == "conic_sdp"
    assert Rung("zero_one_relaxed", {"big_m": 2}).name == "zero_one_relaxed:big_m=2"
    assert EXACT.name == "0-1 optimum"
