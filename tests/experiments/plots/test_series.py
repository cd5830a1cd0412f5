"""Losses, profiles, times, boundaries and bounds: what is drawn is what was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

import tightmargin as tm
from tests.inside.cuts import ResultTightened as Tightened
from tests.inside.cuts import TighteningRound
from tests.inside.experiments import (
    COLUMN,
    LOOKS,
    BoundTrace,
    bound_trace,
    clusters,
    draw_boundary,
    draw_bounds,
    draw_losses,
    draw_timings,
    new_figure,
    performance_profile,
    profile_figure,
    times_of,
    timing,
)
from tests.inside.experiments import losses as loss_plot
from tests.inside.solvers import Agreement, Decomposition, Model, SolverRun, StopReason, TracePoint
from tests.references.reference_solutions import points
from tests.support.command_line import run
from tests.support.figure_checks import lines_of, series
from tightmargin.cuts import (
    branch_and_cut,
    cutting_plane,
    cvar_profile,
    extended_nu_path,
    hull_search,
)
from tightmargin.solvers import Certificate, SolveResult, Status, Verdict, conflict_search, nu_range


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


def test_a_timing_counts_unfinished_runs_as_the_limit() -> None:
    found = timing([1.0, 3.0, None], limit=10.0)
    assert (found.median, found.least, found.most) == (3.0, 1.0, 10.0)
    assert (found.runs, found.unfinished, found.censored) == (3, 1, False)
    late = timing([1.0, 10.5, None], limit=10.0)
    assert (late.median, late.unfinished, late.censored) == (10.0, 2, True)
    assert timing([2.0, 4.0]).median == 3.0


def test_marks_are_medians_and_lines_are_ranges() -> None:
    times: dict[str, dict[str, list[float | None]]] = {
        "QP": {"20": [0.1, 0.2, 0.4], "60": [0.5, 0.6, 0.9]},
        "scip": {"20": [1.0, 2.0, 5.0], "60": [9.0, None, None], "100": [None]},
    }
    axes = drawn(draw_timings, times, limit=10.0, title="times")
    assert axes.get_title() == "times"
    marks = [line for line in axes.lines if len(line.get_xdata()) == 1]
    medians = {round(float(x), 6): float(y) for m in marks for x, y in m.get_xydata()}
    assert medians == {-0.15: 0.2, 0.85: 0.6, 0.15: 2.0, 1.15: 10.0, 2.15: 10.0}
    hollow = [m.get_markerfacecolor() == "white" for m in marks]
    assert hollow == [float(m.get_ydata()[0]) == 10.0 for m in marks], "a median at the limit"
    paths = [path.vertices for lines in axes.collections for path in lines.get_paths()]
    ranges = {round(float(line[0, 0]), 6): line[:, 1].tolist() for line in paths}
    assert (ranges[1.15], ranges[-0.15]) == ([9.0, 10.0], [0.1, 0.4])
    assert [text.get_text() for text in axes.texts] == ["2/3", "1/1"]


def test_a_profile_of_cvar_shows_its_points_and_marks() -> None:
    path = extended_nu_path(points("overlapping", 4, n=20), [0.95, 0.35, 0.1])
    profile = cvar_profile(path, 40)
    (axes,) = profile_figure(profile, "Twenty points").axes
    curve, solved = axes.lines[:2]
    np.testing.assert_array_equal(curve.get_xydata(), np.c_[profile.nu, profile.upper])
    np.testing.assert_array_equal(solved.get_xydata(), np.c_[profile.solved, profile.solved_upper])
    mark = next(line for line in axes.lines if line.get_linestyle() == "--")
    assert list(mark.get_xdata()) == [profile.nu_bar] * 2
    (zone,) = axes.patches
    assert zone.get_x() + zone.get_width() == pytest.approx(profile.constant_until) == 0.1


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


DATA = clusters(3, 30)
NU = nu_range(DATA).nu_bar * 0.6
SEARCHES: dict[str, Any] = {
    "cutting planes": cutting_plane, "branch and cut": branch_and_cut, "hull": hull_search,
}  # fmt: skip


def by_hand(**given: Any) -> BoundTrace:
    words: dict[str, Any] = {
        "name": "run",
        "seconds": np.array([0.5, 1.0, 3.0]),
        "lower": np.array([np.nan, 1.0, 2.0]),
        "upper": np.array([4.0, 4.0, 2.5]),
        "cuts": np.array([0.0, 2.0, 5.0]),
    }
    return BoundTrace(**{**words, **given})


def axes_of(*traces: BoundTrace, **given: Any) -> Any:
    axes = new_figure().subplots()
    draw_bounds(axes, traces, **given)
    return axes


# --- reading traces -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_of_the_extended_nu_svc_ends_at_its_proven_optimum(name: str) -> None:
    found = SEARCHES[name](DATA, nu=NU)
    trace = bound_trace(found)
    assert trace.name == name
    assert trace.proven
    assert (np.diff(trace.seconds) >= 0).all()
    assert (np.diff(trace.lower) >= 0).all()
    assert (np.diff(trace.upper) <= 0).all()
    assert (trace.lower <= trace.upper * (1 + 1e-9)).all()
    assert trace.lower[-1] == found.bound
    # The search adds up h in units of its own, the result in those of the data.
    assert trace.upper[-1] == pytest.approx(found.best.objective, rel=1e-12)
    assert trace.upper[-1] - trace.lower[-1] <= 1e-6 * trace.upper[-1]
    if name == "cutting planes":
        assert trace.cuts is not None
        assert trace.cuts[[0, -1]].tolist() == [0, len(found.cuts)]
        assert set(np.diff(trace.cuts)) <= {0, 1}
    else:
        assert trace.cuts is None


def test_a_result_without_a_trace_and_anything_else_is_refused_by_name() -> None:
    result = tm.solve(tm.c_svc(DATA, C=1.0), "clarabel")
    with pytest.raises(ValueError, match="c_svc by clarabel holds no trace"):
        bound_trace(result)
    with pytest.raises(TypeError, match="Decomposition has no trace of bounds over time"):
        bound_trace(object.__new__(Decomposition))
    with pytest.raises(TypeError, match="these have: CuttingPlaneResult, SearchResult"):
        bound_trace({"trace": []})


def test_numbers_that_are_not_there_yet_are_missing_not_infinite() -> None:
    found = conflict_search(clusters(1, 16), penalty=1.0, intercept="free", gap=1e-6)
    whole = bound_trace(found, "ours")
    assert (whole.name, whole.proven) == ("ours", True)
    assert (whole.lower[-1], whole.upper[-1]) == (found.bound, found.objective)
    first = TracePoint(0.0, 0, -np.inf, np.inf)
    trace = bound_trace(replace(found, trace=(first, *found.trace)))
    assert np.isnan([trace.lower[0], trace.upper[0]]).all()
    assert np.isfinite([trace.lower[1:], trace.upper[1:]]).all()


def test_bound_tightening_ends_at_the_bound_of_its_last_set() -> None:
    rounds = tuple(
        TighteningRound("qp", 4, 0, 1.0, 1.0, 0, 0, 0, bound, seconds)
        for seconds, bound in ((0.5, 1.0), (1.5, 2.0))
    )
    bounds: Any = None
    found = Tightened(bounds, 2.75, 0, (np.zeros(2), 0.0), 4.0, rounds, StopReason.FINISHED, 2.0)
    trace = bound_trace(found)
    assert trace.seconds.tolist() == [0.5, 1.5, 2.0]
    assert trace.lower.tolist() == [1.0, 2.0, 2.75]
    assert trace.upper.tolist() == [4.0, 4.0, 4.0]


# --- drawing them ---------------------------------------------------------------------------------


def test_bound_and_best_point_are_steps_with_the_gap_between_them() -> None:
    axes = axes_of(by_hand())
    found = series(axes)
    lower, upper = found["run: lower bound, proven"], found["run: best point"]
    assert lower.get_xdata().tolist() == [0.5, 1.0, 3.0]
    assert lower.get_ydata()[1:].tolist() == [1.0, 2.0]
    assert np.isnan(lower.get_ydata()[0])
    assert upper.get_ydata().tolist() == [4.0, 4.0, 2.5]
    assert {lower.get_drawstyle(), upper.get_drawstyle()} == {"steps-post"}
    (gap,) = axes.collections
    corners = gap.get_paths()[0].vertices
    assert corners.min(axis=0).tolist() == [1.0, 1.0], "no bound before 1 s"
    assert corners.max(axis=0).tolist() == [3.0, 4.0]
    assert gap.get_hatch() is None
    axes = axes_of(by_hand(), against="cuts")
    assert series(axes)["run: best point"].get_xdata().tolist() == [0.0, 2.0, 5.0]
    assert axes.get_xlabel() == "cuts"
    for words, said in (
        ({"against": "nodes"}, "against must be one of seconds, cuts, got 'nodes'"),
        ({"against": "cuts"}, "run counts no cuts"),
    ):
        with pytest.raises(ValueError, match=said):
            axes_of(by_hand(cuts=None), **words)


def test_a_claim_is_hatched_hollow_and_named_and_our_own_proof_stands_at_its_end() -> None:
    axes = axes_of(by_hand(proven=False, proven_bound=1.5))
    found = series(axes)
    claimed = found["run: lower bound, the solver's claim"]
    assert claimed.get_markerfacecolor() == "white"
    (gap,) = axes.collections
    assert gap.get_hatch() == "////"
    ours = found["run: proven by us in the end"]
    assert ours.get_xydata().tolist() == [[3.0, 1.5]]
    assert to_hex(ours.get_markerfacecolor()).upper() == LOOKS[0].colour
