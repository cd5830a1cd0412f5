"""Gap studies and the ladder of bounds: the order of rungs, what they share, and every way out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.inside.cuts import TightenTightened as Tightened
from tests.inside.experiments import (
    EXACT,
    LADDER,
    LADDER_INSTANCES,
    GapEffort,
    GapStudy,
    Instance,
    Rung,
    _stated,
    compare,
    is_weaker,
    ladder,
    order_violations,
    seconds_text,
    to_frame,
    to_markdown,
    whole_ladder,
)
from tests.inside.experiments import study as gap_study
from tests.inside.experiments import table_percent as percent
from tests.inside.experiments import table_to_json as to_json
from tests.inside.experiments import table_to_latex as to_latex
from tests.inside.formulations import SlackBounds, closed_slack_bounds
from tests.inside.solvers import GapTableBound as Bound
from tests.inside.solvers import StopReason
from tests.references import reference_solutions
from tests.references.ramp_l1 import ramp_l1_optimum, ramp_l1_relaxation
from tests.support.command_line import run, write_csv
from tightmargin.formulations import TrainingData

SPEC = "synthetic:clustered,n=12,d=2,sigma=0.5,seed=2"
FEW = "synthetic:clustered,n=8,d=2,sigma=0.5,seed=2"
SMALL = Instance("small", "Twelve points", SPEC, {"penalty": 1.5})
LITTLE = replace(SMALL, spec=FEW)
NAMES = [rung.name for rung in LADDER]


def last(studies: Iterator[GapStudy]) -> GapStudy:
    *_, finished = studies
    return finished


@pytest.fixture(scope="module")
def study() -> GapStudy:
    return last(gap_study.run(SMALL, LADDER))


def row(study: GapStudy, label: str) -> Bound:
    (found,) = [r for r in study.comparison.rows if r.label == label]
    return found


def bound(study: GapStudy, label: str) -> float:
    found = row(study, label).bound
    assert found is not None, (label, row(study, label).remark)
    return found


# --- the order -----------------------------------------------------------------------------------


def test_several_solvers_climb_the_ladder_of_the_exact_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without what needs a step, and the exact problem once, with an M of its own."""
    cheap = [rung for rung in LADDER if rung.formulation == "zero_one_relaxed"]
    monkeypatch.setattr(compare, "whole_ladder", lambda *_: tuple(cheap))
    words = ["--solver", "highs,clarabel", "--data", FEW, "--set", "penalty=1"]
    answer = run("compare", "--ladder", *words, "--exact", "zero_one_big_m", "--json")
    entries = [line["entry"] for line in answer.json["rows"]]
    known = [rung.name for rung in cheap if not rung.need]
    assert list(dict.fromkeys(entries)) == [*known, "0-1 optimum"]


def test_the_ramp_loss_with_the_l1_norm_has_a_ladder_of_its_own(tmp_path: Path) -> None:
    """Larger M is weaker, and all stay below the optimum of SciPy's MILP."""
    rng = np.random.default_rng(3)
    data = TrainingData(rng.normal(size=(10, 2)), np.where(np.arange(10) % 2 == 0, 1.0, -1.0))
    spec = write_csv(tmp_path / "points.csv", data)
    words = ["--exact", "ramp_l1_big_m", "--set", "C=0.5", "intercept=free", "--json"]
    answer = run("compare", "--ladder", "--data", spec, *words)
    assert answer.code == 0, answer.stderr
    (found,) = answer.json["studies"]
    far, near = (line["bound"] for line in found["rows"])
    optimum = ramp_l1_optimum(data, "free", 0.5)
    assert far < near <= optimum * (1 + 1e-6)
    assert far == pytest.approx(ramp_l1_relaxation(data, "free", 0.5, 1000.0), rel=1e-5)
    assert found["exact"]["objective"] == pytest.approx(optimum, rel=1e-5)


def test_every_rung_is_certified_and_below_the_optimum(study: GapStudy) -> None:
    """The optimum by brute force over the points that are kept, in another modelling layer."""
    optimum = reference_solutions.zero_one_optimum(study.prepared.raw, "penalised", 1.5)
    assert study.comparison.upper == pytest.approx(optimum, rel=1e-7)
    assert [r.label for r in study.comparison.rows] == NAMES
    for name in NAMES:
        assert bound(study, name) <= optimum * (1 + 1e-6)
    assert study.complaints == []
    assert study.left_out == ()


CHAINS = [
    ["big-M, M = 1000", "big-M, derived M", "SDP, secant and norm"],
    ["conic, gamma by norm", "conic, gamma scaled", "SDP"],
    ["conic, gamma equal", "SDP", "SDP, secant and norm", "+ pair conflicts",
     "+ larger conflicts", "+ linear RLT"],
    ["conic, gamma scaled", "SDP, secant and norm"],
    ["+ larger conflicts", "SDP, tightened bounds"],
    ["big-M, M = 1000", "big-M, tightened M", "SDP, tightened bounds"],
]  # fmt: skip


# Not compared: two fixed strengthenings, of which only the words say that one is the other,
# stretched; and an M from a cutoff without the room that the other bounds have.
LOOSE = [("conic, gamma by norm", "conic, gamma scaled"), CHAINS[0][1:]]
COMPARED = {p for chain in CHAINS for p in pairwise(chain) if list(p) not in map(list, LOOSE)}


def test_a_bound_above_a_stronger_rung_is_flagged(study: GapStudy) -> None:
    data = study.prepared.data
    assert isinstance(data, TrainingData)
    for weak, strong in COMPARED:
        value = row(study, strong).value
        assert value is not None
        wrong = [
            replace(r, bound=value * 1.001) if r.label == weak else r for r in study.comparison.rows
        ]
        lines = order_violations(wrong, data)
        assert any(x.startswith(f"{weak}: bound") and x.endswith(strong) for x in lines), lines


def test_wider_bounds_are_weaker_and_narrower_ones_are_not(study: GapStudy) -> None:
    one = row(study, "+ pair conflicts")
    other = replace(one, label="other")
    data: Any = study.prepared.data
    own = closed_slack_bounds(data, penalty=1.5, intercept="penalised")
    own = replace(own, conflicts=((0, 1), (2, 3, 4)))
    low, high = own.intercept
    for word, change in (
        ("upper", own.upper + 1), ("lower", own.lower - 1), ("norm2", own.norm2 + 1),
        ("intercept", (low - 1, high)), ("intercept", (low, high + 1)), ("conflicts", ((0, 1, 5),)),
    ):  # fmt: skip
        stated = {"other": replace(own, **{word: change})}
        assert is_weaker(other, one, lambda r, known=stated: known.get(r.label, own)), word
        assert not is_weaker(one, other, lambda r, known=stated: known.get(r.label, own)), word


def test_products_are_stronger_and_other_problems_never_ordered(study: GapStudy) -> None:
    data = study.prepared.data
    assert isinstance(data, TrainingData)
    products, conflicts = row(study, "+ linear RLT"), row(study, "+ larger conflicts")

    def stated(r: Bound) -> SlackBounds | None:
        return _stated(r, data)

    assert is_weaker(conflicts, products, stated)
    assert not is_weaker(products, conflicts, stated)
    dearer = replace(conflicts, parameters={**conflicts.parameters, "penalty": 9.0})
    own = stated(conflicts)
    assert is_weaker(conflicts, products, lambda r: own)
    assert not is_weaker(dearer, products, lambda r: own)
    assert not is_weaker(conflicts, products), "bounds that nobody knows are not compared"
    sdp, equal, derived = (row(study, n) for n in ("SDP", "conic, gamma equal", NAMES[1]))
    assert is_weaker(equal, sdp)
    assert not is_weaker(derived, sdp), "no theorem says so"
    hinge = replace(derived, entry="zero_one_hinge")
    assert not is_weaker(row(study, "big-M, M = 1000"), hinge), "nor here"
    edited = replace(sdp.result.certificate, level="model")
    assert not is_weaker(equal, replace(sdp, result=replace(sdp.result, certificate=edited)))


def test_what_the_steps_find_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    original = ladder.tighten
    asked: list[dict[str, Any]] = []

    def watched(data: TrainingData, **settings: Any) -> Tightened:
        asked.append(settings)
        return original(data, **settings)

    monkeypatch.setattr(ladder, "tighten", watched)
    rungs = [r for r in LADDER if "tightened" in r.name]
    found = last(gap_study.run(LITTLE, rungs, effort=GapEffort(tighten_time=7.5)))
    assert len(asked) == 1, "two rungs, one run"
    assert asked[0]["time_limit"] == 7.5
    assert (asked[0]["penalty"], asked[0]["intercept"]) == (1.5, "penalised")
    big_m, first = found.comparison.rows
    stated = first.parameters["slack_bounds"]
    assert big_m.parameters["slack_bounds"] is stated
    undecided = ~stated.kept
    assert np.asarray(big_m.parameters["big_m"])[undecided] == pytest.approx(
        stated.upper[undecided]
    )


# --- what is left out ----------------------------------------------------------------------------


def test_what_is_left_out_is_said_everywhere_and_the_option_that_went_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In the study, in the table, in the JSON and on standard error; the exit code stays 0."""
    fixed, cheap = LADDER[NAMES.index("conic, gamma equal")], LADDER[0]
    rungs = tuple(
        r for r in whole_ladder({"intercept": "free"}) if r.name in (fixed.name, cheap.name)
    )
    monkeypatch.setattr(compare, "whole_ladder", lambda settings, exact: rungs)
    train = write_csv(tmp_path / "train.csv", reference_solutions.points("overlapping", 2, n=10))
    words = ["--ladder", "--data", train, "--set", "penalty=1", "intercept=free"]
    answer = run("compare", *words, "--json")
    assert answer.code == 0
    (found,) = answer.json["studies"]
    (line,) = found["left_out"]
    assert line.startswith(f"{fixed.name}: left out, a fixed strengthening proves nothing")
    assert [r["label"] for r in found["rows"]] == [cheap.name]
    assert line in " ".join(answer.stderr.split())
    assert line in run("compare", *words).stdout
    refused = run("compare", *words, "--lift-points", "9")
    assert refused.code != 0
    assert "--lift-points is gone" in refused.stderr


def test_a_free_intercept_takes_the_rungs_that_prove_something() -> None:
    rungs = whole_ladder({"intercept": "free"})
    assert [rung.name for rung in rungs] == NAMES
    instance = replace(SMALL, spec=FEW, settings={"penalty": 1.0, "intercept": "free"})
    cheap = [r for r in rungs if r.formulation in ("conic_fixed", "conic_sdp")]
    cheap += [r for r in rungs if r.name in ("+ pair conflicts", "SDP, tightened bounds")]
    found = last(gap_study.run(instance, cheap))
    optimum = reference_solutions.zero_one_optimum(found.prepared.raw, "free", 1.0)
    assert found.comparison.upper == pytest.approx(optimum, rel=1e-7)
    assert len(found.left_out) == 3
    assert all("proves nothing without a price on b" in line for line in found.left_out)
    bounds = [bound(found, r.name) for r in cheap if r.formulation != "conic_fixed"]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= optimum * (1 + 1e-6)
    assert found.complaints == []


def test_an_interrupt_inside_a_step_keeps_the_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tightening returns what it has after Ctrl-C; the study must not go on as if it were done."""
    original = ladder.tighten

    def interrupted(*arguments: Any, **settings: Any) -> Tightened:
        return replace(original(*arguments, **settings), stop=StopReason.INTERRUPTED)

    monkeypatch.setattr(ladder, "tighten", interrupted)
    tightened = LADDER[NAMES.index("SDP, tightened bounds")]
    monkeypatch.setattr(compare, "whole_ladder", lambda *_: (LADDER[0], tightened, LADDER[1]))
    train = write_csv(tmp_path / "train.csv", reference_solutions.points("overlapping", 2, n=10))
    answer = run("compare", "--ladder", "--data", train, "--set", "penalty=1", "--json")
    assert answer.code == 130
    (found,) = answer.json["studies"]
    assert [r["label"] for r in found["rows"]] == [LADDER[0].name]


def test_without_data_the_ladder_takes_its_documented_instances(
    monkeypatch: pytest.MonkeyPatch, study: GapStudy
) -> None:
    asked: list[Any] = []

    def watched(instance: Instance, rungs: Any, **settings: Any) -> Iterator[GapStudy]:
        asked.append((instance, tuple(rungs), settings["effort"]))
        return iter([replace(study, instance=instance)])

    monkeypatch.setattr(compare, "run", watched)
    assert run("compare", "--ladder", "--tighten-time", "5").code == 0
    assert [instance for instance, *_ in asked] == list(LADDER_INSTANCES)
    assert all(rungs == LADDER for _, rungs, _ in asked)
    assert {effort.tighten_time for *_, effort in asked} == {5.0}
    assert len({instance.name for instance in LADDER_INSTANCES}) == 3


def test_the_markdown_table_has_every_rung_and_study(study: GapStudy) -> None:
    """What a study left out is a dash, what proves nothing says so, and the optimum comes last."""
    unproven = [
        replace(r, bound=None) if r.label == "SDP" else r for r in study.comparison.rows
    ]  # fmt: skip
    other = replace(
        study,
        instance=replace(SMALL, name="other"),
        rungs=tuple(r for r in study.rungs if r.name != NAMES[-1]),
        comparison=replace(
            study.comparison, rows=tuple(r for r in unproven if r.label != NAMES[-1])
        ),
    )
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in to_markdown([study, other]).splitlines()
    ]
    assert {len(cells) for cells in lines} == {5}
    head, _, *body = lines
    assert head[1:] == ["small: proven bound", "gap", "other: proven bound", "gap"]
    assert [cells[0] for cells in body] == [*NAMES, "0-1 optimum (exact)"]
    sdp, missing = body[NAMES.index("SDP")], body[len(NAMES) - 1]
    gap = study.comparison.relative_gap(row(study, "SDP"))
    assert sdp[1:] == [f"{bound(study, 'SDP'):.4f}", f"{percent(gap)} %", "no bound", "-"]
    assert missing[3:] == ["-", "-"]
    assert body[-1][1] == f"{study.comparison.upper:.4f}"


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
    assert [r["label"] for r in found["rows"]] == NAMES[:kept]
    if not swallowed:
        assert "2 rows are finished" in answer.stderr
        assert len((tmp_path / "gaps.csv").read_text().splitlines()) == 1 + 2 + 1


# --- tables --------------------------------------------------------------------------------------


def test_latex_has_the_shape_of_a_table(study: GapStudy) -> None:
    odd = Instance("50%_off & more", "odd", SPEC, SMALL.settings)
    text = to_latex([study, replace(study, instance=odd)])
    declared = re.search(r"\\begin\{tabular\}\{([lrc]+)\}", text)
    assert declared is not None
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(lines) == 1 + 2 * (len(LADDER) + 1)
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
    assert list(frame["entry"]) == [rung.formulation for rung in (*LADDER, EXACT)]
    assert frame["certified bound"][list(frame["formulation"]).index("SDP")] == sdp.bound, (
        "full precision"
    )
    document = to_json(study)
    assert document["data"]["sha256"] == study.prepared.raw.sha256
    assert not any("values" in found for found in document["rows"])
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
