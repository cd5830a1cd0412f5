"""The long benchmark: its runs are the published optima, and its pages show what is kept."""

from __future__ import annotations

from pathlib import Path

from benchmarks import claim, zero_one
from benchmarks.zero_one import PAGE, STORE, kept, missing
from benchmarks.zero_one_page import WAYS, page, quote, summary

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


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
