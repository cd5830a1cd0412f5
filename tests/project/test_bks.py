"""The table of best known values: exact objectives, kept rows, submissions, resumption."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.bks import __main__ as table
from benchmarks.bks import counting, rows, rungs
from benchmarks.bks.instances import INSTANCES, named
from benchmarks.bks.page import disagreements, known, page, percent
from benchmarks.bks.planes import objective_of
from benchmarks.bks.rows import CLOSED, STORE, Row, is_done, keep, kept, relative_gap
from benchmarks.bks.submissions import FOLDER, check_folder, parsed, recomputed, submitted
from tests.inside.formulations import zero_one_objective
from tests.inside.solvers import zero_one_enumeration
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = (ROOT / "docs/benchmarks/bks.md").read_text(encoding="utf-8")
EXAMPLE = re.findall(r"```json\n(.*?)```", INSTRUCTIONS, re.DOTALL)[0]
ROW = Row(
    "n60d2ATj0", 1.0, 10.0, 9.0, "NOT_CERTIFIED", "conflicts", 20.1, 20.0, [1.0, 2.0], 0.5, None,
    [10.0, 10.0], "2026-01-01", {"tightmargin": "0"},
)  # fmt: skip


def points(seed: int) -> TrainingData:
    """Fourteen points on a grid, with ties and repetitions."""
    rng = np.random.default_rng(seed)
    y = np.array([1.0, -1.0] * 7)
    return TrainingData(rng.integers(-2, 3, size=(14, 2)) + 0.5 * y[:, None], y)


# --- what a hyperplane is worth ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_no_hyperplane_is_worth_less_than_the_enumerated_optimum(seed: int) -> None:
    data, C = points(seed), 0.5
    best = zero_one_enumeration(data, penalty=2 * C, intercept="free")
    assert 2 * objective_of(data, best.w, best.b, C) == pytest.approx(best.objective, rel=1e-7)
    rng = np.random.default_rng(seed)
    for plane in rng.normal(size=(30, 3)):
        w, b = plane[:2].tolist(), float(plane[2])
        value = 2 * objective_of(data, w, b, C)
        assert best.objective * (1 - 1e-7) <= value
        stretched = zero_one_objective(data, plane[:2], b, penalty=2 * C, intercept="free")
        assert value <= stretched * (1 + 1e-12), "a multiple of it, and the best"


def test_a_margin_missed_by_rounding_is_stretched_and_one_missed_by_more_is_paid_for() -> None:
    data = TrainingData([[1.0], [-1.0]], [1, -1])
    assert objective_of(data, [1 - 1e-12], 0.0, C=10) == 0.5
    assert objective_of(data, [1 - 1e-6], 0.0, C=10) == 20.0
    with pytest.raises(ValueError, match="w has 2 numbers"):
        objective_of(data, [1.0, 1.0], 0.0, C=10)


# --- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["cones-then-conflicts", "conflict-search"])
def test_a_row_is_the_enumerated_optimum_and_its_proof_file_is_checked(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "PROOFS", tmp_path)
    monkeypatch.setattr(rows, "METHOD", method)
    instance = INSTANCES["clustered-n60d2"]
    row = rows.solved(instance, 0.5, 20.0, proof_below=20.0)
    exact = zero_one_enumeration(instance.data(), penalty=1.0, intercept="free")
    assert row.objective == pytest.approx(exact.objective / 2, rel=1e-6)
    assert row.bound <= exact.objective / 2 * (1 + 1e-12)
    assert row.gap <= CLOSED
    assert row.method == ("conflicts" if method == "conflict-search" else "cones")
    assert row.proof is not None
    assert rows.file_of(row.instance, 0.5).parent == tmp_path
    assert row.proof[0] <= exact.objective / 2 * (1 + 1e-12)
    assert relative_gap(row.proof[1], row.proof[0]) <= 1.001e-6


def test_kept_rows_are_worth_what_they_say_and_contradict_nobody() -> None:
    done, looked = kept(STORE), 0
    assert len({row.key for row in done}) >= 75, "all published instances of two features"
    for k, row in enumerate(done):
        instance = INSTANCES[row.instance]
        assert row.C in instance.prices
        assert 0 <= row.bound <= row.objective
        if row.verdict == Verdict.CERTIFIED:
            assert row.gap <= 1.001 * CLOSED
        if row.proof is not None:
            assert row.proof[0] <= row.objective
            assert relative_gap(row.proof[1], row.proof[0]) <= 1.001 * CLOSED
        if instance.missing or (instance.published and k % 8):
            continue
        looked += 1
        value = objective_of(instance.data(), row.w, row.b, row.C)
        assert value == pytest.approx(row.objective, rel=1e-9)
    assert looked
    assert disagreements(known(done)) == []


def test_the_kept_bounds_of_rungs_are_below_the_best_known_values() -> None:
    best = known(kept(STORE))
    done = [row for row in rungs.kept() if row.bound is not None]
    assert done
    for row in done:
        assert row.bound is not None
        assert row.bound <= best[row.key].objective * (1 + 1e-9)


def test_kept_counts_are_below_their_errors() -> None:
    for row in counting.kept():
        assert 0 <= row.bound <= row.errors <= row.n


# --- the page ------------------------------------------------------------------------------------


def test_the_page_says_what_is_kept() -> None:
    text = page(kept(STORE), submitted(), rungs.kept(), counting.kept())
    assert table.PAGE.read_text(encoding="utf-8") == text


def test_the_best_of_several_runs_and_submissions_is_shown() -> None:
    better = replace(ROW, objective=9.5, bound=8.0)
    tighter = replace(ROW, bound=9.2, limit=60.0)
    found = known([ROW, better, tighter])[ROW.key]
    assert (found.objective, found.bound, found.run) == (9.5, 9.2, tighter)
    given = replace(parsed(EXAMPLE, "it"), instance=ROW.instance, C=1.0, objective=9.4, by="Ann")
    assert (known([ROW, better], [given])[ROW.key].owner) == "Ann"
    assert known([ROW], [replace(given, objective=11.0)])[ROW.key].owner == ""
    text = page([ROW, better, tighter], [given], [], [])
    line = "| n60d2ATj0 | 1 | **9.400000** (Ann) | 9.200000 | 2.1 | 10.000000 | 10.000000 |"
    assert line in text
    assert "Not run yet: 24 of 25 rows." in text


def test_bounds_above_what_somebody_reached_are_told() -> None:
    assert disagreements(known([ROW])) == []
    assert len(disagreements(known([replace(ROW, bound=10.5)]))) == 2
    assert len(disagreements(known([replace(ROW, objective=9.5)]))) == 1


def test_only_a_closed_gap_is_0() -> None:
    assert [percent(gap) for gap in (0.0, 1e-6, 2e-6, 1e-3, 0.25)] == [
        "0", "0", "0.0002", "0.1", "25.0",
    ]  # fmt: skip


# --- resumption ----------------------------------------------------------------------------------


def test_rows_are_kept_at_once_and_only_what_is_missing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, asked = tmp_path / "values.jsonl", []
    keep(store, replace(ROW, instance="clustered-n60d2", C=0.5, limit=5.0))

    def fake(instance: Any, C: float, limit: float, proof_below: float) -> Row:
        if len(asked) == 1:
            assert len(kept(store)) == 2, "the first one is kept already"
            raise KeyboardInterrupt
        asked.append((instance.name, C))
        return replace(ROW, instance=instance.name, C=C, limit=limit)

    monkeypatch.setattr(table, "STORE", store)
    monkeypatch.setattr(table, "PAGE", tmp_path / "BKS.md")
    monkeypatch.setattr(table, "solved", fake)
    with pytest.raises(KeyboardInterrupt):
        table.main(["clustered-*", "--limit", "5"])
    assert asked == [("clustered-n60d2", 5)]
    assert "clustered-n60d2" in (tmp_path / "BKS.md").read_text(), "and shown"


def test_a_longer_limit_runs_a_row_again_unless_it_is_proven() -> None:
    assert is_done([ROW], ROW.key, 20.0)
    assert not is_done([ROW], ROW.key, 60.0)
    assert not is_done([ROW], ("n60d2ATj1", 1.0), 20.0)
    assert is_done([replace(ROW, bound=10.0)], ROW.key, 60.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["n60d2ATj9"], "no instance of SVM-BKS is named 'n60d2ATj9'"),
        (["n60d2ATj0", "3"], "C = 3 is not in the table"),
        (["n60d2ATj0", "--limit", "0"], "--limit is a positive number"),
    ],
)
def test_bad_words_are_refused_before_anything_runs(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        table.main(words)
    assert said in capsys.readouterr().err


def test_every_instance_can_be_named_and_made_where_it_is_at_hand() -> None:
    assert len(INSTANCES) == 60
    assert [one.name for one in named("n200d10ATj?")] == [f"n200d10ATj{j}" for j in range(5)]
    data = INSTANCES["wdbc-3"].data()
    assert (data.n, data.d) == (569, 3)
    assert np.allclose(data.X.std(axis=0), 1)


# --- submissions ---------------------------------------------------------------------------------


def test_the_example_of_the_instructions_is_accepted() -> None:
    assert recomputed(parsed(EXAMPLE, "the example"), "the example") > 0


def test_submitted_values_are_what_they_say() -> None:
    missing = check_folder(FOLDER)
    if missing:
        pytest.skip(f"not recomputed: {'; '.join(missing)}")


def test_one_bad_file_in_the_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(EXAMPLE, encoding="utf-8")
    assert check_folder(tmp_path) == []
    bad = json.dumps(json.loads(EXAMPLE) | {"objective": 13.0})
    (tmp_path / "low.json").write_text(bad, encoding="utf-8")
    with pytest.raises(ValueError, match=r"^low\.json: the objective is 13\.15697"):
        check_folder(tmp_path)


def test_points_that_are_not_at_hand_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIGHTMARGIN_DATA", "")
    entry = json.loads(EXAMPLE) | {"instance": "n60d2ATj0", "C": 1}
    (tmp_path / "far.json").write_text(json.dumps(entry), encoding="utf-8")
    (said,) = check_folder(tmp_path)
    assert "far.json: n60d2ATj0 needs hard_margin_loss/n60d2ATj0" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "svm-bks/2"}, "schema is not"),
        ({"instance": "clustered-n60d3"}, "clustered-n60d2"),
        ({"C": 3}, "C of clustered-n60d2 is one of 0.5, 5"),
        ({"C": True}, "C is not a finite number"),
        ({"w": [1.0, float("nan")]}, "w is not a list of finite numbers"),
        ({"b": "0"}, "b is not a finite number"),
        ({"by": " "}, "by is not a text"),
        ({"date": "yesterday"}, "date is not"),
        ({"licence": "none"}, "unknown fields: licence"),
        ({"w": [1.0]}, "w has 1 numbers"),
        ({"objective": 13.0}, "not 13.0 as is stated"),
        ({"w": [0.0, 0.0]}, "as is stated"),
    ],
)
def test_bad_submissions_are_refused_by_name(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        recomputed(parsed(json.dumps(json.loads(EXAMPLE) | change), "x.json"), "x.json")
    assert str(caught.value).startswith("x.json: ")


def test_a_field_that_is_missing_is_named() -> None:
    entry = asdict(parsed(EXAMPLE, "it"))
    del entry["by"]
    with pytest.raises(ValueError, match=r"x\.json: missing fields: by"):
        parsed(json.dumps(entry), "x.json")
    for text in ("{", "[]"):
        with pytest.raises(ValueError, match=r"^x\.json: "):
            parsed(text, "x.json")
