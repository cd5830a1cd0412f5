"""The long benchmark: what is kept is not repeated, and its tables say what the runs said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks import claim, zero_one
from benchmarks.zero_one import PAGE, STORE, kept, missing
from benchmarks.zero_one_page import (
    CELLS,
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


def test_a_run_is_kept_where_it_is_proven_or_its_limit_is_enough(tmp_path: Path) -> None:
    assert kept(tmp_path / "none.jsonl", 1.0) == {}
    store = stored(tmp_path / "runs.jsonl", list(RUNS.values()))
    assert kept(store, 200.0) == RUNS
    proven = {key: run for key, run in RUNS.items() if run.stop == "proven"}
    assert kept(store, 600.0) == proven
    assert len(missing(RUNS, ["numpy"])) == len(missing({}, ["numpy"])) - 5
    assert len(missing({}, WAYS)) == 2 * sum(len(cell.keys) for cell in CELLS)


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
    assert line[:5] == ("10", "60", "in turn", "3 of 5", "4.0 %")
    assert [row[0] for row in rows(RUNS, TABLE)] == ["n60d10ATj3", "n60d10ATj4"]
    better = {key: replace(run, objective=99.0) for key, run in RUNS.items()}
    assert len(rows(better, TABLE)) == 5
    text = page(RUNS, TABLE, LINES)
    assert "| n60d10ATj3 | 1000 | numpy | 100.000000 | 90.000000 | 10.0 |" in text
    assert "| conflict search | 40.000000 | 30.000000 | 25.0 | 1.5 | proven |" in text
    assert " | ".join(line) in summary(RUNS, TABLE)
    assert [percent(gap) for gap in (0.0, 1e-6, 1e-3, 0.25)] == ["0", "0", "0.1", "25.0"]


def test_kept_runs_contradict_nobody_and_the_page_and_the_guide_show_them(
    data_folder: Path,
) -> None:
    runs, table = kept(STORE, 0.0), zero_one.published(data_folder / "hard_margin_loss")
    assert not missing(runs, WAYS)
    text = GUIDE.read_text(encoding="utf-8")
    assert quote(text, summary(runs, table)) == text
    body = page(runs, table, claim.kept_or_measured()).rpartition("\n\n")[0]
    assert PAGE.read_text(encoding="utf-8").startswith(body), "all but the machine"
    for (instance, C, way), run in runs.items():
        assert run.lower_bound <= runs[instance, C, "numpy"].objective * (1 + 1e-9), way
        if (instance, C) in table:
            known = table[instance, C]
            assert run.lower_bound <= known.upper * (1 + 1e-7)
            assert run.objective >= known.lower * (1 - 1e-7)
