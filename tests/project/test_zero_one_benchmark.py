"""The long benchmark: what is kept is not repeated, and its tables say what the runs said."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import claim, zero_one
from benchmarks.zero_one import LIMIT, STORE, Published, Run, kept, page, percent, quote, quoted
from tightmargin.experiments.data.specs import load
from tightmargin.solvers.zero_one.enumeration.enumeration import zero_one_enumeration

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
KEYS = [(f"n200d2ATj{j}", 10) for j in range(3)]
RUNS = {
    key: Run(*key, LIMIT, 100.0, 100.0 - 10 * j, 5.0 + j, 70, "time_limit" if j else "proven")
    for j, key in enumerate(KEYS)
}
TABLE = {key: Published(100.0, 0.5, 0.3, 70.0) for key in KEYS}
LINES = [claim.Line("conflict search", 40.0, 30.0, 1.5, "proven")]


def test_runs_are_kept_by_their_limit(tmp_path: Path) -> None:
    store = tmp_path / "runs.jsonl"
    assert kept(store, LIMIT) == {}
    other = Run(*KEYS[0], 1.0, 3.0, 2.0, 1.0, 7, "time_limit")
    store.write_text("".join(json.dumps(asdict(run)) + "\n" for run in (*RUNS.values(), other)))
    assert kept(store, LIMIT) == RUNS
    assert kept(store, 1.0) == {KEYS[0]: other}


def test_only_what_is_missing_is_solved_and_every_run_is_kept_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    store, asked = tmp_path / "runs.jsonl", []
    first = Run("n60d2ATj0", 1, 5.0, 17.028716, 17.028716, 1.0, 7, "proven")
    store.write_text(json.dumps(asdict(first)) + "\n")

    def two(folder: Path, wanted: list[tuple[str, int]], limit: float, jobs: int):  # type: ignore[no-untyped-def]
        asked.extend(wanted)
        yield Run(*wanted[0], limit, 1.0, 1.0, 1.0, 7, "proven")
        assert len(store.read_text().splitlines()) == 2, "the first one is kept already"
        raise KeyboardInterrupt

    monkeypatch.setattr(zero_one, "STORE", store)
    monkeypatch.setattr(zero_one, "measured", two)
    with pytest.raises(KeyboardInterrupt):
        zero_one.main(["--limit", "5"])
    assert ("n60d2ATj0", 1) not in asked
    assert len(asked) == len(zero_one.SMALL) + len(zero_one.LARGE) - 1
    assert len(kept(store, 5.0)) == 2


def test_a_run_is_the_published_optimum(data_folder: Path) -> None:
    folder = data_folder / "hard_margin_loss"
    run = zero_one.solved(folder, "n60d2ATj1", 1, 60.0)
    known = zero_one.published(folder)["n60d2ATj1", 1]
    assert run.objective == pytest.approx(known.upper, rel=1e-6)
    exact = zero_one_enumeration(load(str(folder / "n60d2ATj1")), penalty=2.0, intercept="free")
    assert run.lower_bound * 2 <= exact.objective
    assert run.gap <= 2e-6


def test_the_page_shows_every_run_and_the_mean() -> None:
    text = page(RUNS, TABLE, LIMIT, LINES)
    assert (
        "| n200d2ATj1 | 10 | 100.000000 | 100.000000 | 90.000000 | 10.0 | 30.0 | 50.0 | 6 |" in text
    )
    assert "| **mean, n = 200, d = 2** | 10 |  |  |  | **10.0** | **30.0** | **50.0** | 6 |" in text
    assert "| conflict search | 40.000000 | 30.000000 | 25.0 | 1.5 | proven |" in text
    assert "| 200 | 2 | 10 | 50.0 % | 30.0 % | 10.0 % | 1 of 3, 5 to 5 s |" in quoted(RUNS, TABLE)


def test_a_closed_gap_is_0_and_an_open_one_is_not() -> None:
    assert [percent(gap) for gap in (0.0, 1e-6, 1e-3, 0.25)] == ["0", "0", "0.1", "25.0"]


def test_the_guide_quotes_the_runs_that_are_kept(data_folder: Path) -> None:
    runs = kept(STORE, LIMIT)
    assert set(runs) == {*zero_one.SMALL, *zero_one.LARGE}
    table = zero_one.published(data_folder / "hard_margin_loss")
    text = GUIDE.read_text(encoding="utf-8")
    assert quote(text, quoted(runs, table)) == text
    written = zero_one.PAGE.read_text(encoding="utf-8")
    body = page(runs, table, LIMIT, claim.kept_or_measured()).rpartition("\n\n")[0]
    assert written.startswith(body), "all but the machine"


def test_kept_bounds_never_exceed_what_others_found(data_folder: Path) -> None:
    table = zero_one.published(data_folder / "hard_margin_loss")
    for key, run in kept(STORE, LIMIT).items():
        assert run.lower_bound <= table[key].upper * (1 + 1e-7)
        assert run.objective >= table[key].benders_lower * (1 - 1e-7)
