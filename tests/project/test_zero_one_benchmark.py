"""The long benchmark: its runs are the published optima, and its pages show what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import claim, zero_one
from benchmarks.zero_one import PAGE, STORE, kept, missing
from benchmarks.zero_one_page import WAYS, page, quote, summary
from tests.inside.experiments import load
from tests.inside.solvers import zero_one_enumeration
from tightmargin.formulations import TrainingData

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


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
