"""Pictures of gap tables: what the bars say, and that a person can read it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tests.inside.experiments import (
    RELAXATIONS,
    GapStudy,
    Instance,
    Rung,
    gap_figure,
)
from tests.inside.experiments import study as gap_study

SPEC = "synthetic:clustered,n=16,d=2,sigma=0.5,seed=0"
LOOSE = Rung("zero_one_hinge", {"big_m": 1}, "hinge loss, M = 1")


@pytest.fixture(scope="module")
def study() -> GapStudy:
    instance = Instance("small", "Sixteen points", SPEC, {"penalty": 1.0})
    *_, finished = gap_study.run(instance, [*RELAXATIONS, LOOSE])
    return finished


def drawn(figure: Figure) -> Figure:
    FigureCanvasAgg(figure).draw()
    return figure


def test_each_rung_has_its_gap_in_words_and_none_is_no_bound(study: GapStudy) -> None:
    (axes,) = gap_figure([study]).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == [r.name for r in study.rungs]
    texts = {round(t.get_position()[1]): t.get_text() for t in axes.texts[:-1]}
    for position, row in enumerate(study.comparison.rows[: len(RELAXATIONS)]):
        assert texts[position] == f"{100 * study.comparison.relative_gap(row):.1f} %"
    (bar,) = [bar for bar in axes.patches if bar.get_hatch()]  # of the row without a bound
    assert bar.get_y() + bar.get_height() / 2 == pytest.approx(len(RELAXATIONS))
    assert bar.get_width() == 100
    assert [t.get_text() for t in axes.texts if "bound" in t.get_text()] == ["no bound"]


def test_more_than_two_studies_stand_side_by_side_with_the_same_rows(study: GapStudy) -> None:
    """A row that one study left out keeps its place there, and says so."""
    label = study.comparison.rows[2].label
    rest = tuple(row for row in study.comparison.rows if row.label != label)
    other = replace(study, comparison=replace(study.comparison, rows=rest))
    figure = drawn(gap_figure([other, study, study]))
    first, second, third = figure.axes
    labels = [row.label for row in study.comparison.rows]
    assert [text.get_text() for text in first.get_yticklabels()] == labels
    assert first.get_ylim() == second.get_ylim() == third.get_ylim()
    (left_out,) = [text for text in first.texts if text.get_text() == "left out"]
    assert left_out.get_position()[1] == 2
    assert not [text for text in second.texts if text.get_text() == "left out"]
    for axes, shown in ((first, other), (second, study)):
        for row in shown.comparison.rows:
            gap = shown.comparison.relative_gap(row)
            if gap is None:
                continue
            place = labels.index(row.label)
            bars = [
                bar for bar in axes.patches
                if abs(bar.get_y() + bar.get_height() / 2 - place) < 1e-9
            ]  # fmt: skip
            assert min(bar.get_width() for bar in bars) == pytest.approx(100 * gap)
    low, high = first.get_ylim()
    assert low > high, "the first row is on top"
