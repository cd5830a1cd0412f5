"""Bounds against time and cuts: what every search leaves, and what of it stands in the picture."""

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
    LOOKS,
    BoundTrace,
    bound_trace,
    clusters,
    draw_bounds,
    new_figure,
    save_bounds,
)
from tests.inside.solvers import Decomposition, StopReason, TracePoint
from tests.support.figure_checks import series
from tightmargin.cuts import branch_and_cut, cutting_plane, hull_search
from tightmargin.solvers import conflict_search, nu_range

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


def test_what_a_solver_says_is_a_claim_beside_what_we_prove() -> None:
    model = tm.zero_one_big_m(clusters(1, 16), penalty=1.0, big_m="derived")
    result = tm.solve(model, "scip", threads=1)
    trace = bound_trace(result)
    assert (trace.name, trace.proven) == ("scip", False)
    assert trace.proven_bound == result.bound
    assert result.objective is not None
    assert trace.lower[-1] == pytest.approx(result.objective, rel=1e-4)
    assert (np.diff(trace.seconds) >= 0).all()


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


def test_bound_and_best_point_are_steps_with_the_gap_between_them(tmp_path: Path) -> None:
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
    with pytest.raises(ValueError, match=f"1 to {len(LOOKS)} traces"):
        axes_of(*[by_hand()] * (len(LOOKS) + 1))
    save_bounds([by_hand()], tmp_path / "bounds.svg", against="cuts")
    assert (tmp_path / "bounds.svg").read_bytes().startswith(b"<?xml")


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


def test_a_wide_range_of_times_is_logarithmic_and_keeps_what_began_at_0() -> None:
    late = by_hand(name="late", seconds=np.array([0.0, 10.0, 400.0]))
    axes = axes_of(by_hand(), late)
    assert axes.get_xscale() == "log"
    assert series(axes)["late: best point"].get_xdata().tolist() == [0.5, 10.0, 400.0]
    near = axes_of(by_hand())
    assert near.get_xscale() == "linear"
    assert near.get_xlim()[0] == 0.0
