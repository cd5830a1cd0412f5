"""The long benchmark: what is kept is not repeated, and its tables say what the runs said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks import claim, zero_one
from benchmarks.zero_one import PAGE, STORE, kept, missing
from benchmarks.zero_one_page import (
    CELLS,
    PRICES,
    WAYS,
    Cell,
    Published,
    Run,
    lines,
    page,
    percent,
    quote,
    rows,
    summary,
)
from tests.inside.experiments import load
from tests.inside.solvers import zero_one_enumeration
from tightmargin.formulations import TrainingData

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"
TEN = Cell(60, 10, published=True)
RUNS = {
    (*key, "numpy"): Run(
        *key, "numpy", 200.0, 100.0, 100.0 - 10 * (j > 2), 5.0 + j, 70,
        "time_limit" if j > 2 else "proven",
    )
    for j, key in enumerate(TEN.keys)
}  # fmt: skip
TABLE = {key: Published(100.0, 99.99 if j == 1 else 70.0) for j, key in enumerate(TEN.keys)}
LINES = [claim.Line("conflict search", 40.0, 30.0, 1.5, "proven")]


def stored(path: Path, runs: Sequence[Run]) -> Path:
    path.write_text("".join(json.dumps(asdict(run)) + "\n" for run in runs), encoding="utf-8")
    return path


def test_a_cell_names_its_instances_with_c_in_turn_or_with_all() -> None:
    assert TEN.keys == [(f"n60d10ATj{j}", 10**j) for j in range(5)]
    large = Cell(500, 2, published=False, all_prices=True)
    assert len(large.keys) == 25
    assert large.keys[6] == ("clustered-n500d2-1", PRICES[1])


def test_a_run_is_kept_where_it_is_proven_or_its_limit_is_enough(tmp_path: Path) -> None:
    assert kept(tmp_path / "none.jsonl", 1.0) == {}
    store = stored(tmp_path / "runs.jsonl", list(RUNS.values()))
    assert kept(store, 200.0) == RUNS
    proven = {key: run for key, run in RUNS.items() if run.stop == "proven"}
    assert kept(store, 600.0) == proven
    assert len(missing(RUNS, ["numpy"])) == len(missing({}, ["numpy"])) - 5
    assert len(missing({}, WAYS)) == 2 * sum(len(cell.keys) for cell in CELLS)


def test_only_what_is_missing_is_solved_and_every_run_is_kept_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    store = stored(tmp_path / "runs.jsonl", list(RUNS.values()))
    asked: list[tuple[str, int, str]] = []

    def two(
        folder: Path, wanted: list[tuple[str, int, str]], limit: float, jobs: int
    ) -> Iterator[Run]:
        asked.extend(wanted)
        yield Run(*wanted[0], limit, 1.0, 1.0, 1.0, 7, "proven")
        assert len(store.read_text().splitlines()) == 6, "the first one is kept already"
        raise KeyboardInterrupt

    (tmp_path / "docs").mkdir()
    shutil.copy(GUIDE, tmp_path / "docs" / "guide.md")
    monkeypatch.setattr(zero_one, "STORE", store)
    monkeypatch.setattr(zero_one, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(zero_one, "ROOT", tmp_path)
    monkeypatch.setattr(zero_one, "measured", two)
    with pytest.raises(KeyboardInterrupt):
        zero_one.main(["--limit", "100", "--ways", "numpy"])
    assert not {*RUNS} & {*asked}
    assert {way for *_, way in asked} == {"numpy"}
    assert len(kept(store, 100.0)) == 6
    assert "n60d10ATj3" in (tmp_path / "page.md").read_text(encoding="utf-8"), "it is open"


@pytest.mark.parametrize("way", WAYS)
def test_a_run_is_the_published_optimum(data_folder: Path, way: str) -> None:
    folder = data_folder / "hard_margin_loss"
    run = zero_one.solved(folder, "n60d2ATj1", 1, way, 60.0)
    known = zero_one.published(folder)["n60d2ATj1", 1]
    assert run.objective == pytest.approx(known.upper, rel=1e-6)
    data = load(str(folder / "n60d2ATj1"))
    assert isinstance(data, TrainingData)
    exact = zero_one_enumeration(data, penalty=2.0, intercept="free")
    assert run.lower_bound * 2 <= exact.objective
    assert run.gap <= 2e-6


def test_the_page_has_a_line_for_every_cell_and_for_every_open_run() -> None:
    (line,) = lines(RUNS, TABLE)
    assert line == (
        "10", "60", "in turn", "3 of 5", "4.0 %", "limit 200", "", "", "", "1 of 5", "24.0 %"
    )  # fmt: skip
    assert [row[0] for row in rows(RUNS, TABLE)] == ["n60d10ATj3", "n60d10ATj4"]
    better = {key: replace(run, objective=99.0) for key, run in RUNS.items()}
    assert len(rows(better, TABLE)) == 5
    text = page(RUNS, TABLE, LINES)
    open_run = (
        "| n60d10ATj3 | 1000 | numpy | 100.000000 | 90.000000 | 10.0 | 100.000000 | 30.0 | 8 |"
    )
    assert open_run in text
    assert "| conflict search | 40.000000 | 30.000000 | 25.0 | 1.5 | proven |" in text
    assert " | ".join(line) in summary(RUNS, TABLE)


def test_a_closed_gap_is_0_and_an_open_one_is_not() -> None:
    assert [percent(gap) for gap in (0.0, 1e-6, 1e-3, 0.25)] == ["0", "0", "0.1", "25.0"]


def test_the_page_and_the_guide_show_the_runs_that_are_kept(data_folder: Path) -> None:
    runs, table = kept(STORE, 0.0), zero_one.published(data_folder / "hard_margin_loss")
    assert not missing(runs, WAYS)
    text = GUIDE.read_text(encoding="utf-8")
    assert quote(text, summary(runs, table)) == text
    body = page(runs, table, claim.kept_or_measured()).rpartition("\n\n")[0]
    assert PAGE.read_text(encoding="utf-8").startswith(body), "all but the machine"


def test_kept_bounds_never_exceed_what_others_found(data_folder: Path) -> None:
    runs, table = kept(STORE, 0.0), zero_one.published(data_folder / "hard_margin_loss")
    for (instance, C, way), run in runs.items():
        assert run.lower_bound <= runs[instance, C, "numpy"].objective * (1 + 1e-9), way
        if (instance, C) in table:
            known = table[instance, C]
            assert run.lower_bound <= known.upper * (1 + 1e-7)
            assert run.objective >= known.lower * (1 - 1e-7)
