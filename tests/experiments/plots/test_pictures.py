"""Every result with a method `plot` has a picture, which shows what it holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from matplotlib.figure import Figure

import tightmargin as tm
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


def test_a_solve_without_data_shows_its_trace() -> None:
    searched = tm.solve(tm.zero_one_big_m(points(10), penalty=PENALTY, big_m=10.0), "scip")
    assert searched.plot().axes


def test_a_hyperplane_of_an_edited_model_is_drawn_where_it_is() -> None:
    data = points()
    model = tm.c_svc(data, C=1.0)
    model.held = pyo.Constraint(expr=model.w[1] == 0)
    result = tm.solve(model)
    axes = result.plot(data=data).axes[0]
    assert np.allclose(result.values["w"][1], 0, atol=1e-9)
    assert axes.has_data()


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
