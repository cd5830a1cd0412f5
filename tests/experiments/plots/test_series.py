"""Losses, performance profiles and times: what is drawn is what was measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.inside.experiments import (
    COLUMN,
    LOOKS,
    PAGE,
    draw_losses,
    draw_profile,
    draw_timings,
    look,
    new_figure,
    performance_profile,
    plots,
    timing,
)
from tests.inside.experiments import losses as loss_plot
from tests.support.figure_checks import faults_of


def drawn(draw: Any, *given: Any, **words: Any) -> Any:
    axes = new_figure(COLUMN, 3.0).subplots()
    draw(axes, *given, **words)
    return axes


def series(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.lines}


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
def test_a_loss_is_what_its_formula_says(name: str) -> None:
    loss, expected = BY_HAND[name]
    assert np.asarray(loss(U)) == pytest.approx(np.array(expected))


def test_a_line_is_its_loss_over_the_whole_range() -> None:
    axes = drawn(draw_losses, {"hinge": loss_plot.hinge()}, over=(-1.0, 2.0))
    places, values = series(axes)["hinge"].get_data()
    assert (places[0], places[-1]) == (-1.0, 2.0)
    assert values == pytest.approx(np.maximum(0, 1 - places))
    assert axes.get_xlim() == (-1.0, 2.0)


def test_a_jump_is_a_gap_with_a_hollow_and_a_filled_end() -> None:
    axes = drawn(draw_losses, {"0-1": loss_plot.zero_one()}, jumps={"0-1": 1.0})
    places, values = series(axes)["0-1"].get_data()
    (gap,) = np.flatnonzero(np.isnan(values))
    assert places[gap - 1] == pytest.approx(1.0)
    assert (values[gap - 1], values[gap + 1]) == (1.0, 0.0)
    assert (np.diff(np.delete(places, gap)) >= 0).all()
    ends = [line for line in axes.lines if len(line.get_xdata()) == 1]
    faces = {float(line.get_ydata()[0]): line.get_markerfacecolor() for line in ends}
    assert faces == {1.0: "white", 0.0: LOOKS[0].colour}


BAD_LOSSES: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({"losses": {}}, "draw 1 to"),
    "range": ({"over": (1.0, 1.0)}, "over must be a range"),
    "jump": ({"jumps": {"ramp": 1.0}}, "jumps names ramp"),
    "outside": ({"jumps": {"hinge": 5.0}}, "jumps names hinge at 5.0"),
    "infinite": ({"losses": {"log": lambda u: np.log(u * 0)}}, "log must return 801 finite"),
}


@pytest.mark.parametrize("case", BAD_LOSSES)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_losses_are_refused_by_name(case: str) -> None:
    given, words = BAD_LOSSES[case]
    given = {"losses": {"hinge": loss_plot.hinge()}, **given}
    with pytest.raises(ValueError, match=words):
        drawn(draw_losses, given.pop("losses"), **given)


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


def test_who_solves_nothing_is_drawn_at_0() -> None:
    axes = drawn(draw_profile, performance_profile({"a": [1.0, 2.0], "b": [None, None]}))
    assert set(series(axes)["b"].get_ydata()) == {0.0}


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({}, "at least one solver"),
        ({"a": []}, "as many problems"),
        ({"a": [1.0], "b": [1.0, 2.0]}, r"as many problems for each solver, got \[1, 2\]"),
        ({"a": [0.0]}, "costs of a must be above 0"),
    ],
)
def test_bad_costs_are_refused_by_name(costs: dict[str, list[float]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        performance_profile(costs)


# --- times ----------------------------------------------------------------------------------------


def test_a_timing_counts_unfinished_runs_as_the_limit() -> None:
    found = timing([1.0, 3.0, None], limit=10.0)
    assert (found.median, found.least, found.most) == (3.0, 1.0, 10.0)
    assert (found.runs, found.unfinished, found.censored) == (3, 1, False)
    late = timing([1.0, 10.5, None], limit=10.0)
    assert (late.median, late.unfinished, late.censored) == (10.0, 2, True)
    assert timing([2.0, 4.0]).median == 3.0


@pytest.mark.parametrize(
    ("seconds", "limit", "words"),
    [
        ([], None, "at least one run"),
        ([0.0], None, "above 0"),
        ([None], None, "limit must say how long"),
    ],
)
def test_bad_times_are_refused_by_name(
    seconds: list[float | None], limit: float | None, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        timing(seconds, limit)


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
    axes = drawn(draw_timings, TIMES, limit=10.0)
    faces = {
        float(line.get_ydata()[0]): line.get_markerfacecolor()
        for line in axes.lines
        if len(line.get_xdata()) == 1
    }
    assert faces[10.0] == "white"
    assert faces[2.0] == LOOKS[1].colour
    assert list(series(axes)["limit, 10 s"].get_ydata()) == [10.0, 10.0]
    assert axes.get_yscale() == "log"


def test_a_method_has_one_line_in_the_legend() -> None:
    axes = drawn(draw_timings, TIMES, limit=10.0)
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert words == ["QP", "scip", "limit, 10 s"]
    with pytest.raises(ValueError, match="at least one group"):
        drawn(draw_timings, {"QP": {}})
    with pytest.raises(ValueError, match="1 to 7 methods"):
        drawn(draw_timings, {})


# --- all of them ----------------------------------------------------------------------------------


def picture() -> Figure:
    figure = new_figure(PAGE, 3.2)
    left, middle, right = figure.subplots(1, 3)
    losses = {name: loss for name, (loss, _) in BY_HAND.items()}
    draw_losses(left, losses, jumps={"0-1": 1.0}, title="losses")
    draw_profile(middle, performance_profile(COSTS), title="four problems")
    draw_timings(right, TIMES, limit=10.0, group="points", title="times")
    return figure


def test_the_pictures_are_readable() -> None:
    assert faults_of(picture()) == []


def test_more_series_than_looks_still_differ() -> None:
    found = [look(number) for number in range(2 * len(LOOKS))]
    assert len(set(found)) == len(found)


def test_the_front_door_has_every_drawing_function() -> None:
    assert all(hasattr(plots, name) for name in plots.__all__)
    for name in plots.__all__:
        if name.startswith(("draw_", "save_")) or name.endswith("_figure"):
            assert name in (plots.__doc__ or ""), name
