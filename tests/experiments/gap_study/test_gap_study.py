"""Gap studies: the order of bounds, what is refused, what is flagged, and every way out."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.inside.experiments import (
    EXACT,
    INSTANCES,
    LADDER,
    RELAXATIONS,
    GapStudy,
    Instance,
    Rung,
    compare,
    gap_page,
    is_weaker,
    load,
    order_violations,
    prepare,
    seconds_text,
    tables,
    to_frame,
)
from tests.inside.experiments import study as gap_study
from tests.inside.experiments import table_percent as percent
from tests.inside.experiments import table_to_json as to_json
from tests.inside.experiments import table_to_latex as to_latex
from tests.inside.solvers import GapTableBound as Bound
from tests.inside.solvers import zero_one_enumeration
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv
from tightmargin.formulations import CATALOGUE, TrainingData, zero_one_big_m
from tightmargin.solvers import Status, Verdict, solve

SPEC = "synthetic:clustered,n=24,d=2,sigma=0.5,seed=0"
SMALL = Instance("small", "Twenty-four points", SPEC, {"penalty": 1.0})
LABELS = [rung.name for rung in RELAXATIONS]
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


def test_every_rung_bounds_the_exact_problem_by_the_catalogue() -> None:
    for rung in (*RELAXATIONS, *LADDER):
        entry = CATALOGUE[rung.formulation]
        bounded = entry.relaxes or CATALOGUE[str(entry.dual_of)].relaxes
        assert bounded == EXACT.formulation
    assert len(set(LABELS)) == len(RELAXATIONS)
    assert len(set(RUNGS)) == len(LADDER)


def test_the_relaxations_are_in_order(study: GapStudy) -> None:
    """M = 1000 <= hinge <= big-M; each fixed strengthening <= SDP; everything <= optimum."""
    bounds = {label: row(study, label).bound for label in LABELS}
    assert None not in bounds.values()
    low, hinge, big_m, norm, equal, scaled, dual, sdp = (float(b or 0) for b in bounds.values())
    slack = 1e-6 * float(study.comparison.upper or 0)
    assert low <= hinge + slack
    assert hinge <= big_m + slack
    assert norm <= scaled + slack, "scaled is inverse_norm stretched"
    for fixed in (norm, equal, scaled):
        assert fixed <= sdp + slack
    assert dual == pytest.approx(sdp, rel=1e-5)
    assert sdp <= float(study.comparison.upper or 0) + slack
    assert study.complaints == []


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


def test_a_study_grows_by_one_row_at_a_time() -> None:
    told: list[str] = []
    grown = list(gap_study.run(SMALL, RELAXATIONS[:2], progress=told.append))
    assert [len(s.comparison.rows) for s in grown] == [0, 1, 2]
    assert [len(s.rungs) for s in grown] == [0, 1, 2]
    assert [text.partition(": ")[2] for text in told] == [
        EXACT.name, f"{LABELS[0]} (1 of 2)", f"{LABELS[1]} (2 of 2)",
    ]  # fmt: skip


def enumerated(instance: Instance) -> float:
    """The optimum again, without the conflict search."""
    words = {word: number for word, number in instance.settings.items() if word != "penalty"}
    data = prepare(load(instance.spec), words).data
    assert isinstance(data, TrainingData)
    penalty = float(instance.settings["penalty"])
    return zero_one_enumeration(data, penalty=penalty, intercept="penalised").objective


@pytest.mark.full("both instances of make gaps at their size; small studies hold the rest")
def test_the_main_study(tmp_path: Path) -> None:
    """What `make gaps` prints, on both instances: proven, ordered, and as telling as expected."""
    out = tmp_path / "gaps"
    files = ["--csv", f"{out}.csv", "--latex", f"{out}.tex", "--plot", f"{out}.png"]
    answer = run("compare", *files, "--json")
    assert answer.code == 0, answer.stderr
    studies = answer.json["studies"]
    assert [s["instance"] for s in studies] == [i.name for i in INSTANCES]
    for found, instance in zip(studies, INSTANCES, strict=True):
        assert found["violations"] == []
        assert found["upper"] == pytest.approx(enumerated(instance), rel=1e-6)
        assert found["exact"]["certificate"]["verdict"] == "CERTIFIED"
        assert found["exact"]["solver"]["name"] == "tightmargin"
        gaps = {r["label"]: r["relative_gap"] for r in found["rows"]}
        assert list(gaps) == LABELS
        assert gaps["big-M, M = 1000"] > 0.99
        assert 0.6 < gaps["big-M, derived M"] < 0.8
        assert gaps["SDP"] < min(gap for label, gap in gaps.items() if "SDP" not in label)
        assert {r["certificate"]["verdict"] for r in found["rows"]} == {"CERTIFIED"}
    for suffix in ("csv", "tex", "png"):
        assert Path(f"{out}.{suffix}").stat().st_size > 0


# --- an impossible order is seen -----------------------------------------------------------------


def test_a_bound_above_a_stronger_relaxation_is_flagged(study: GapStudy) -> None:
    rows = list(study.comparison.rows)
    assert order_violations(rows) == []
    for weak, strong in (
        ("conic, gamma equal", "SDP"),
        ("conic, gamma by norm", "SDP"),
        ("conic, gamma scaled", "SDP"),
        ("big-M, M = 1000", "big-M, derived M"),
        ("hinge loss, derived M", "big-M, derived M"),
    ):
        assert is_weaker(row(study, weak), row(study, strong))
        assert not is_weaker(row(study, strong), row(study, weak))
        k, value = LABELS.index(weak), row(study, strong).value
        assert value is not None
        wrong = [*rows[:k], replace(rows[k], bound=value * 1.001), *rows[k + 1 :]]
        lines = order_violations(wrong)
        assert any(x.startswith(f"{weak}: bound") and x.endswith(strong) for x in lines), lines


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


def test_rows_of_ones_own(train: Path) -> None:
    """One entry twice; the usual hinge loss is listed and is no bound."""
    rows = ["conic_sdp", "zero_one_relaxed:big_m=1000", "zero_one_hinge:big_m=1"]
    words = ["--data", train, "--set", "penalty=1.3", "big_m=derived"]
    answer = run("compare", *rows, *words, "--json")
    assert answer.code == 0, answer.stderr
    assert answer.json["command"] == "compare"
    (found,) = answer.json["studies"]
    assert [r["label"] for r in found["rows"]] == rows
    assert [r["formulation"] for r in found["rows"]] == [r.partition(":")[0] for r in rows]
    data = reference_solutions.points("overlapping", 2, n=10)
    optimum = reference_solutions.zero_one_optimum(data, "penalised", 1.3)
    assert found["upper"] == pytest.approx(optimum, rel=1e-7)
    sdp, loose, hinge = found["rows"]
    expected = reference_solutions.theorem_2(data, "penalised", penalty=1.3).value
    assert sdp["certified_bound"] == pytest.approx(expected, rel=2e-6)
    assert sdp["relative_gap"] == pytest.approx(1 - expected / optimum, abs=1e-5)
    assert loose["parameters"] == {"big_m": 1000}
    assert hinge["value"] == pytest.approx(
        reference_solutions.hinge(data, "penalised", 1.0, 1.3).value
    )
    assert hinge["certified_bound"] is hinge["relative_gap"] is None
    assert hinge["remark"].startswith("no bound: M[")


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


def test_a_row_without_certificate_is_1(train: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An inaccurate solve enters no gap, and a script learns of it."""
    original = gap_study.compare

    def inaccurate(*arguments: Any, **options: Any) -> Any:
        found = original(*arguments, **options)
        rows = [
            replace(
                r, bound=None, verdict=Verdict.NOT_CERTIFIED, status=Status.INACCURATE,
                remark="NOT_CERTIFIED: the proven gap is 3e-5",
            )
            for r in found.rows
        ]  # fmt: skip
        return replace(found, rows=tuple(rows))

    monkeypatch.setattr(gap_study, "compare", inaccurate)
    words = ["--data", train, "--set", "penalty=1.3", "big_m=derived"]
    answer = run("compare", "conic_sdp", *words)
    assert answer.code == 1
    assert "the proven gap is 3e-5" in answer.stderr
    (line,) = [line for line in answer.stdout.splitlines() if line.startswith("conic_sdp")]
    for word in ("no bound", "inaccurate", "NOT_CERTIFIED"):
        assert word in line


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


def test_the_table_for_people(study: GapStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow screen keeps bound, gap and certificate."""
    monkeypatch.setattr(compare, "run", lambda *args, **limits: iter([study]))
    text = run("compare", "--ladder", "--data", SPEC, "--set", "penalty=1").stdout
    for label in LABELS:
        (line,) = [x for x in text.splitlines() if re.match(rf"{re.escape(label)}  ", x)]
        gap = study.comparison.relative_gap(row(study, label))
        assert re.search(rf" {re.escape(percent(gap))} ", line)
        assert line.rstrip().endswith("CERTIFIED")
    assert "0-1 optimum (exact)" in text
    assert re.search(r"optimum proven by cones of directions in [\d,]+ cells", text)
    assert "penalty = 1.0" in text
    for width in (80, 120):
        written = io.StringIO()
        screen = Console(file=written, width=width, markup=False)
        monkeypatch.setattr(tables, "_console", lambda screen=screen: screen)
        tables.show(gap_page(study))
        tables.show("margin[0] [red]")
        lines = written.getvalue().splitlines()
        assert lines[-1].rstrip() == "margin[0] [red]", "brackets are no markup"
        assert max(len(line.rstrip()) for line in lines) <= width
        head = next(line for line in lines if line.startswith("relaxation")).split()
        assert ("value" in head) == ("status" in head) == (width == 120)
        (line,) = [x for x in lines if x.startswith("SDP  ")]
        assert line.split()[-1] == "CERTIFIED"
        assert percent(study.comparison.relative_gap(row(study, "SDP"))) in line.split()


def test_csv_keeps_instance_label_and_entry(study: GapStudy, tmp_path: Path) -> None:
    to_frame([study, study]).to_csv(tmp_path / "gaps.csv", index=False)
    with (tmp_path / "gaps.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == [
        "instance", "formulation", "entry", "value", "certified bound", "claimed bound",
        "absolute gap", "relative gap", "claimed gap", "solver", "status", "seconds", "certificate",
    ]  # fmt: skip
    assert len(rows) == 2 * (len(RELAXATIONS) + 1)
    assert [r["entry"] for r in rows[: len(RELAXATIONS)]] == [
        rung.formulation for rung in RELAXATIONS
    ]
    assert rows[len(RELAXATIONS)]["entry"] == EXACT.formulation
    sdp = row(study, "SDP")
    assert float(rows[LABELS.index("SDP")]["certified bound"]) == sdp.bound, "full precision"


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


def test_json_of_a_study_has_no_arrays_of_points(study: GapStudy) -> None:
    document = to_json(study)
    assert document["data"]["sha256"] == study.prepared.raw.sha256
    assert document["rows"][2]["parameters"] == {"big_m": "derived"}
    for found in document["rows"]:
        assert "values" not in found
        assert set(found) >= {"label", "formulation", "value", "certified_bound", "relative_gap"}


def test_numbers_and_names_of_a_table() -> None:
    for number, text in ((None, ""), (float("nan"), ""), (0.0, "0.0"), (0.9957, "99.6")):
        assert percent(number) == text
    for number, text in ((0.00261, "0.003"), (0.5, "0.50"), (9.876, "9.88"), (61.42, "61.4")):
        assert seconds_text(number) == text
    assert Rung("conic_sdp").name == "conic_sdp"
    assert Rung("zero_one_relaxed", {"big_m": 2}).name == "zero_one_relaxed:big_m=2"
    assert EXACT.name == "0-1 optimum"
