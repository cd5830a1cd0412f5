"""Decision boundaries: where the lines are, who is ringed, and that grey print tells classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tests.inside.experiments import (
    COLUMN,
    NEGATIVE,
    PAGE,
    POSITIVE,
    draw_boundary,
    draw_regions,
    new_figure,
    shared_legend,
)
from tests.support.figure_checks import faults_of, lines_of, series

Array = NDArray[np.float64]

W, B = np.array([2.0, -1.0]), 0.5
POINTS = np.array([[1.0, 0.0], [2.0, 1.0], [0.5, -1.0], [-1.0, 0.5], [-2.0, 1.0], [0.0, 2.0]])
LABELS = np.array([1, 1, 1, -1, -1, -1])


def score(places: Array) -> Array:
    return places @ W + B


def circle(places: Array) -> Array:
    """Not linear: positive within radius 1.2."""
    return 1.44 - (places**2).sum(axis=1)


def panel(**given: Any) -> Any:
    axes = new_figure(COLUMN, 3.2).subplots()
    words: dict[str, Any] = {"points": POINTS, "labels": LABELS, "score": score, **given}
    draw_boundary(axes, words.pop("points"), words.pop("labels"), words.pop("score"), **words)
    return axes


@pytest.mark.parametrize("margin", [1.0, 0.25, -0.6])
def test_the_lines_are_where_the_score_is_minus_margin_zero_and_margin(margin: float) -> None:
    lines = lines_of(panel(margin=margin))
    assert set(lines) == {0.0, margin, -margin}
    for level, places in lines.items():
        assert len(places) > 10
        assert score(places) == pytest.approx(np.full(len(places), level), abs=1e-9)
    found = series(panel(margin=margin))
    assert found[f"score = {margin:g}"].get_color() == POSITIVE.colour
    assert found[f"score = {-margin:g}"].get_color() == NEGATIVE.colour
    for level, places in lines_of(panel(score=circle, margin=margin / 2)).items():
        radius = np.linalg.norm(places, axis=1)
        assert radius == pytest.approx(np.full(len(places), np.sqrt(1.44 - level)), abs=1e-2)


def test_a_level_that_the_picture_does_not_reach_is_left_out() -> None:
    axes = panel(margin=100.0)
    assert set(lines_of(axes)) == {0.0}
    assert "score = 100" not in series(axes)
    assert set(lines_of(panel(margin=0.0))) == {0.0}
    assert axes.get_aspect() == 1, "features that spread alike get one scale"
    assert panel(points=POINTS * [1.0, 100.0]).get_aspect() == "auto"


def test_points_stand_with_their_class_and_support_vectors_are_ringed() -> None:
    support = np.array([True, False, False, True, True, False])
    found = series(panel(support=support))
    assert found["class +1"].get_xydata() == pytest.approx(POINTS[:3])
    assert found["class -1"].get_xydata() == pytest.approx(POINTS[3:])
    assert found["support vector"].get_xydata() == pytest.approx(POINTS[support])
    assert found["support vector"].get_markerfacecolor() == "none"
    assert "support vector" not in series(panel())


def test_the_shades_meet_at_the_line() -> None:
    (filled,) = [drawn for drawn in panel().collections if drawn.filled]
    negative, positive = filled.get_paths()
    inside = negative.contains_points(POINTS)
    assert inside.tolist() == (score(POINTS) < 0).tolist()
    shades = [to_hex(colour).upper() for colour in filled.get_facecolor()]
    assert shades == [NEGATIVE.shade, POSITIVE.shade]
    assert positive.contains_points(POINTS).tolist() == (score(POINTS) > 0).tolist()


def nearest(places: Array) -> Array:
    """The class whose centre is nearest."""
    centres = np.array([[2.0, 0.0], [-1.0, 2.0], [-1.0, -2.0]])
    distance = np.linalg.norm(places[:, None, :] - centres, axis=2)
    return np.asarray(distance.argmin(axis=1), dtype=float)


def regions(**given: Any) -> Any:
    axes = new_figure(COLUMN, 3.2).subplots()
    points = np.random.default_rng(0).normal(0, 2, (60, 2))
    words: dict[str, Any] = {"points": points, "labels": nearest(points), **given}
    draw_regions(axes, words.pop("points"), words.pop("labels"), nearest, **words)
    return axes


def test_borders_lie_between_two_classes() -> None:
    """On a border the two least distances to the centres differ by no more than the grid.

    Each of the three pairs of classes has one.
    """
    axes = regions()
    centres = np.array([[2.0, 0.0], [-1.0, 2.0], [-1.0, -2.0]])
    lines = [drawn for drawn in axes.collections if not drawn.filled]
    places = np.vstack([path.vertices for drawn in lines for path in drawn.get_paths()])
    distance = np.linalg.norm(places[:, None, :] - centres, axis=2)
    pairs = {tuple(sorted(row)) for row in np.argsort(distance, axis=1)[:, :2].tolist()}
    assert pairs == {(0, 1), (0, 2), (1, 2)}
    distance = np.sort(distance, axis=1)
    assert (distance[:, 1] - distance[:, 0]).max() < 0.15
    found = series(regions(names=("a", "b", "c"), support=np.ones(60, dtype=bool)))
    assert {"a", "b", "c"} < set(found)
    assert len(found["support vector"].get_xydata()) == 60


def picture() -> Figure:
    figure = new_figure(PAGE, 3.6)
    left, middle, right = figure.subplots(1, 3)
    draw_boundary(left, POINTS, LABELS, score, support=LABELS > 0, title="linear")
    draw_boundary(middle, POINTS, LABELS, circle, margin=0.5, title="not linear")
    points = np.random.default_rng(0).normal(0, 2, (60, 2))
    draw_regions(right, points, nearest(points), nearest, title="three classes")
    shared_legend(figure, 4)
    return figure


def test_a_figure_of_several_panels_is_readable_and_explains_everything_once() -> None:
    figure = picture()
    assert faults_of(figure) == []
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words.count("score = 0") == 1
    assert {"class +1", "class -1", "class 2", "support vector", "score = 0.5"} <= set(words)
