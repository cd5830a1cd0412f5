"""Losses, profiles, times and boundaries: what is drawn is what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.inside.experiments import (
    COLUMN,
    LOOKS,
    draw_boundary,
    draw_losses,
    draw_timings,
    new_figure,
    performance_profile,
    times_of,
    timing,
)
from tests.inside.experiments import losses as loss_plot
from tests.inside.solvers import Agreement, Model, SolverRun
from tests.support.command_line import run
from tests.support.figure_checks import lines_of, series
from tightmargin.solvers import Certificate, SolveResult, Status, Verdict


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


def test_only_proven_finished_and_agreeing_solves_count() -> None:
    """Of four answers on each model one was stopped, one is not certified, one disagrees."""
    certified = Certificate(Verdict.CERTIFIED, gap=0.0)
    weak = Certificate(Verdict.NOT_CERTIFIED, "no bound")
    models = [Model(name, "QP", 1) for name in ("first", "second")]

    def answer(model: Model, solver: str, seconds: float, **given: Any) -> SolverRun:
        words: dict[str, Any] = {
            "status": Status.OPTIMAL, "objective": 2.0, "bound": 2.0, "values": {}, "duals": {},
            "certificate": certified, "solver": solver, "seconds": seconds, **given,
        }  # fmt: skip
        return SolverRun(model, solver, "1", SolveResult(**words))

    rows = (
        answer(models[0], "clarabel", 1.0), answer(models[1], "clarabel", 2.0),
        answer(models[0], "scip", 9.0, status=Status.FEASIBLE),
        answer(models[1], "scip", 3.0),
        answer(models[0], "highs", 0.5, certificate=weak), answer(models[1], "highs", 0.1,
                                                                 objective=7.0),
        SolverRun(models[0], "piqp", "1", None),
    )  # fmt: skip
    assert times_of(Agreement(rows)) == {
        "clarabel": [1.0, 2.0], "scip": [None, 3.0], "highs": [None, None], "piqp": [None, None],
    }  # fmt: skip


def test_compare_draws_the_profile_of_its_solvers(tmp_path: Path) -> None:
    file = tmp_path / "profile.svg"
    words = ["c_svc", "c_svc_dual", "--set", "C=1", "--solver", "clarabel,piqp"]
    data = "synthetic:clustered,n=20,d=2,sigma=0.5,seed=0"
    answer = run("compare", *words, "--data", data, "--profile", str(file))
    assert answer.code == 0
    content = file.read_text()
    assert content.startswith("<?xml")
    assert "clarabel" in content
    assert "piqp" in content


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


# --- boundaries -----------------------------------------------------------------------------------

POINTS = np.array([[1.0, 0.0], [2.0, 1.0], [0.5, -1.0], [-1.0, 0.5], [-2.0, 1.0], [0.0, 2.0]])
LABELS = np.array([1, 1, 1, -1, -1, -1])


def panel(points: Any, margin: float) -> Any:
    return drawn(draw_boundary, points, LABELS, lambda x: x @ [2.0, -1.0] + 0.5, margin=margin)


def test_a_level_that_the_picture_does_not_reach_is_left_out() -> None:
    axes = panel(POINTS, 100.0)
    assert set(lines_of(axes)) == {0.0}
    assert "score = 100" not in series(axes)
    assert set(lines_of(panel(POINTS, 0.0))) == {0.0}
    assert axes.get_aspect() == 1, "features that spread alike get one scale"
    assert panel(POINTS * [1.0, 100.0], 1.0).get_aspect() == "auto"
