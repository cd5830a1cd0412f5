"""Losses, performance profiles and times: what is drawn is what was measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.inside.experiments import (
    COLUMN,
    LOOKS,
    draw_losses,
    draw_profile,
    draw_timings,
    look,
    new_figure,
    performance_profile,
    timing,
)
from tests.inside.experiments import losses as loss_plot
from tests.support.figure_checks import series


def drawn(draw: Any, *given: Any, **words: Any) -> Any:
    axes = new_figure(COLUMN, 3.0).subplots()
    draw(axes, *given, **words)
    return axes


# --- losses ---------------------------------------------------------------------------------------

U = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 1.5])
BY_HAND = {
    # Proposition 1 at gamma = 1/4, penalty 1: v - v^2/4 up to v = 2, then 1.
    "conic": (loss_plot.conic(0.25), [1.0, 1.0, 0.75, 0.4375, 0.0, 0.0]),
    "hinge": (loss_plot.hinge(), [3.0, 2.0, 1.0, 0.5, 0.0, 0.0]),
    "half": (loss_plot.hinge(0.5), [1.5, 1.0, 0.5, 0.25, 0.0, 0.0]),
    "ramp": (loss_plot.truncated_hinge(-1.0), [2.0, 2.0, 1.0, 0.5, 0.0, 0.0]),
    "0-1": (loss_plot.zero_one(3.0), [3.0, 3.0, 3.0, 3.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_loss_is_what_its_formula_says_and_its_line_the_loss(name: str) -> None:
    loss, expected = BY_HAND[name]
    assert np.asarray(loss(U)) == pytest.approx(np.array(expected))
    axes = drawn(draw_losses, {name: loss}, over=(-1.0, 2.0))
    places, values = series(axes)[name].get_data()
    assert (places[0], places[-1]) == (-1.0, 2.0) == axes.get_xlim()
    assert values == pytest.approx(np.asarray(loss(places)))


# --- performance profiles -------------------------------------------------------------------------

# Four problems; the last one nobody solves. Ratios a: 1, 2, -; b: 3, 1, -; c: -, 4, 1.
COSTS = {
    "a": [1.0, 4.0, None, None],
    "b": [3.0, 2.0, np.inf, np.nan],
    "c": [None, 8.0, 5.0, np.inf],
}


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("a", {1.0: 0.25, 1.9: 0.25, 2.0: 0.5, 1e9: 0.5}),
        ("b", {1.0: 0.25, 2.9: 0.25, 3.0: 0.5, 1e9: 0.5}),
        ("c", {1.0: 0.25, 3.9: 0.25, 4.0: 0.5, 1e9: 0.5}),
    ],
)
def test_a_profile_counts_what_is_solved_within_a_factor(
    name: str, shares: dict[float, float]
) -> None:
    """By hand; what nobody solved stays in the number of problems."""
    profile = performance_profile(COSTS)[name]
    assert {tau: profile.at(tau) for tau in shares} == shares
    assert profile.problems == 4


def test_the_drawn_steps_are_the_profile() -> None:
    profiles = performance_profile(COSTS)
    axes = drawn(draw_profile, profiles)
    for name, line in series(axes).items():
        taus, shares = line.get_data()
        assert line.get_drawstyle() == "steps-post"
        assert taus[0] == 1.0
        assert shares.tolist() == [profiles[name].at(tau) for tau in taus]
    assert axes.get_xlim()[1] > 4.0
    axes = drawn(draw_profile, performance_profile({"a": [1.0, 2.0], "b": [None, None]}))
    assert set(series(axes)["b"].get_ydata()) == {0.0}


# --- times ----------------------------------------------------------------------------------------


def test_a_timing_counts_unfinished_runs_as_the_limit() -> None:
    found = timing([1.0, 3.0, None], limit=10.0)
    assert (found.median, found.least, found.most) == (3.0, 1.0, 10.0)
    assert (found.runs, found.unfinished, found.censored) == (3, 1, False)
    late = timing([1.0, 10.5, None], limit=10.0)
    assert (late.median, late.unfinished, late.censored) == (10.0, 2, True)
    assert timing([2.0, 4.0]).median == 3.0


TIMES: dict[str, dict[str, list[float | None]]] = {
    "QP": {"20": [0.1, 0.2, 0.4], "60": [0.5, 0.6, 0.9]},
    "scip": {"20": [1.0, 2.0, 5.0], "60": [9.0, None, None], "100": [None]},
}


def test_marks_are_medians_and_lines_are_ranges() -> None:
    axes = drawn(draw_timings, TIMES, limit=10.0)
    medians = {
        round(float(x), 6): float(y)
        for line in axes.lines
        for x, y in [line.get_xydata()[0]]
        if len(line.get_xdata()) == 1
    }
    assert medians == {-0.15: 0.2, 0.85: 0.6, 0.15: 2.0, 1.15: 10.0, 2.15: 10.0}
    ranges = {
        round(float(path.vertices[0, 0]), 6): path.vertices[:, 1].tolist()
        for lines in axes.collections
        for path in lines.get_paths()
    }
    assert ranges[1.15] == [9.0, 10.0]
    assert ranges[-0.15] == [0.1, 0.4]
    assert [text.get_text() for text in axes.texts] == ["2/3", "1/1"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["20", "60", "100"]


def test_a_median_that_is_the_limit_is_hollow_and_the_limit_is_a_line() -> None:
    axes = drawn(draw_timings, TIMES, limit=10.0, group="points", title="times")
    assert (axes.get_xlabel(), axes.get_title()) == ("points", "times")
    faces = {
        float(line.get_ydata()[0]): line.get_markerfacecolor()
        for line in axes.lines
        if len(line.get_xdata()) == 1
    }
    assert faces[10.0] == "white"
    assert faces[2.0] == LOOKS[1].colour
    assert list(series(axes)["limit, 10 s"].get_ydata()) == [10.0, 10.0]
    assert axes.get_yscale() == "log"
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert words == ["QP", "scip", "limit, 10 s"]


# --- all of them ----------------------------------------------------------------------------------


def test_more_series_than_looks_still_differ() -> None:
    found = [look(number) for number in range(2 * len(LOOKS))]
    assert len(set(found)) == len(found)
