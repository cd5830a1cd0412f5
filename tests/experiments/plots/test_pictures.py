"""Every result with a method `plot` has a picture, which shows what it holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import tightmargin as tm
from tests.inside.experiments import (
    RELAXATIONS,
    GapStudy,
    Instance,
    Rung,
    gap_figure,
)
from tests.inside.experiments import study as gap_study
from tests.support.figure_checks import faults_of, texts_of
from tests.support.printed_examples import PENALTY, examples, points
from tests.support.public_classes import public_classes
from tightmargin.printing import Drawn

DRAWN = sorted((kind for kind in public_classes() if issubclass(kind, Drawn)), key=repr)


def words_of(figure: Figure) -> str:
    """All that is written in a picture."""
    return " ".join(text.get_text() for text, _ in texts_of(figure))


NEED_DATA = {"SolveResult", "Fitted"}


@pytest.mark.parametrize("kind", DRAWN, ids=lambda kind: kind.__name__)
def test_it_draws(kind: type) -> None:
    words = {"data": points()} if kind.__name__ in NEED_DATA else {}
    figure = examples()[kind].plot(title="what it is", **words)
    assert isinstance(figure, Figure)
    assert figure.axes
    assert any(axes.has_data() for axes in figure.axes)
    assert "what it is" in words_of(figure)
    assert faults_of(figure) == []


def test_a_gap_table_shows_each_row_with_its_gap() -> None:
    words = {"penalty": PENALTY, "intercept": "penalised", "big_m": 10.0}
    table = tm.compare(points(10), ["zero_one_relaxed", "conic_sdp"], exact="zero_one_big_m",
                       parameters=words)  # fmt: skip
    said = words_of(table.plot())
    for row in table.rows:
        gap = table.relative_gap(row)
        assert row.label in said
        assert gap is not None
        assert f"{100 * gap:.1f} %" in said
    assert "relative gap to the optimum" in said
    said = words_of(replace(table, upper=None).plot())
    assert "no gap" in said
    assert "no point known" in said
    with pytest.raises(ValueError, match="no finished row"):
        replace(table, rows=()).plot()


def test_the_catalogue_shows_every_formulation_once_below_what_it_comes_from() -> None:
    figure = tm.catalogue.plot()
    at = {text.get_text(): box for text, box in texts_of(figure)}
    words = [text.get_text() for text, _ in texts_of(figure)]
    for entry in tm.catalogue.values():
        assert words.count(entry.name) == 1
        above = entry.relaxes or entry.restates or entry.dual_of
        if above:
            assert at[entry.name].y1 < at[above].y1
            assert at[entry.name].x0 > at[above].x0
    frame = tm.catalogue.to_frame()
    assert list(frame.index) == list(tm.catalogue)
    assert frame.loc["conic_sdp", "relaxes"] == "zero_one_big_m"
    assert frame.loc["c_svc_dual", "dual_of"] == "c_svc"


def test_links_of_the_catalogue_stand_in_the_file_and_nothing_else_is_drawn(tmp_path: Path) -> None:
    some = {name: tm.catalogue[name] for name in ("c_svc", "c_svc_dual", "conic_sdp")}
    figure = tm.plots.catalogue_figure(some, columns=1, links={"c_svc": "there.html#c"})
    assert {text.get_text() for text, _ in texts_of(figure)} >= set(some)
    figure.savefig(tmp_path / "some.svg")
    assert "there.html#c" in (tmp_path / "some.svg").read_text()


SPEC = "synthetic:clustered,n=16,d=2,sigma=0.5,seed=0"
LOOSE = Rung("zero_one_hinge", {"big_m": 1}, "hinge loss, M = 1")


@pytest.fixture(scope="module")
def study() -> GapStudy:
    instance = Instance("small", "Sixteen points", SPEC, {"penalty": 1.0})
    *_, finished = gap_study.run(instance, [*RELAXATIONS, LOOSE])
    return finished


def test_more_than_two_studies_stand_side_by_side_with_the_same_rows(study: GapStudy) -> None:
    """A row that one study left out keeps its place there, and says so."""
    label = study.comparison.rows[2].label
    rest = tuple(row for row in study.comparison.rows if row.label != label)
    other = replace(study, comparison=replace(study.comparison, rows=rest))
    figure = gap_figure([other, study, study])
    FigureCanvasAgg(figure).draw()
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
