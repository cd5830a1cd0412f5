"""The reach table of the extended nu-SVC at toy size: what it counts, and that it owns up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import branch_and_cut as shared
from benchmarks import extended_nu, literal_stops
from benchmarks.branch_and_cut import CUT, SCIP, Case, by_scip, clouds
from benchmarks.extended_nu import Reach, against_scip, cuts_alone, hulls, local, middle, text
from benchmarks.measuring import ROOT
from tightmargin.cuts import hull_search

SMALL = Case(30, 3, 4.0)


def with_runs(
    monkeypatch: pytest.MonkeyPatch, ours: tuple[float, float], theirs: tuple[float, float]
) -> None:
    """Have both routes take the seconds and leave the gaps that are given."""
    runs = {CUT: ours, SCIP: theirs}
    monkeypatch.setattr(extended_nu, "measured", lambda *_: runs)


def test_both_routes_solve_the_same_problem() -> None:
    data = clouds(30, 3)
    nu = middle(data)
    assert extended_nu.by_branch_and_cut(data, nu, "uniform", 20.0) == 0.0
    assert extended_nu.by_hull(data, nu, "uniform", 20.0) == 0.0
    assert by_scip(data, nu, "uniform", 20.0) <= extended_nu.TOLERANCE
    scip = shared.solve(shared.extended_nu_svc(data, nu=nu), "scip")
    assert hull_search(data, nu=nu).objective == pytest.approx(scip.objective, rel=1e-6)


def test_a_search_that_is_stopped_leaves_a_gap() -> None:
    data = clouds(400, 6)
    assert extended_nu.by_branch_and_cut(data, middle(data), "uniform", 0.05) > 1e-3
    line = cuts_alone("concavity", 60, 4, 0.05)
    assert not line.met
    assert "left after 0.05 s" in line.reached
    assert line.cells()[-1] == "**missed**"


def test_cuts_alone_are_counted() -> None:
    line = cuts_alone("literal", 20, 2, 20.0)
    assert line.met
    assert line.cells()[-1] == "yes"
    assert " cuts" in line.reached
    assert " LPs" in line.reached


@pytest.mark.parametrize(
    ("ours", "theirs", "met"),
    [
        ((1.0, 0.0), (4.5, 0.0), True),
        ((1.0, 0.0), (3.5, 0.0), False),
        ((1.0, 0.0), (60.0, 0.2), True),
        ((60.0, 0.1), (300.0, 0.0), False),
    ],
)
def test_a_ratio_counts_only_with_a_proof(
    monkeypatch: pytest.MonkeyPatch,
    ours: tuple[float, float],
    theirs: tuple[float, float],
    met: bool,
) -> None:
    with_runs(monkeypatch, ours, theirs)
    line = against_scip(SMALL)
    assert line.met is met
    assert ("more than" in line.reached) == (theirs[1] > 0 and ours[1] == 0)


def test_a_solver_that_ends_early_with_a_gap_is_quoted_with_its_own_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_runs(monkeypatch, (0.5, 0.0), (2.5, 4e-6))
    line = against_scip(SMALL)
    assert line.against == "SCIP: gap 4.0e-06 left after 2.5 s"
    assert line.reached == "0.5 s (5 x)"


@pytest.mark.parametrize(
    ("ours", "theirs", "met"),
    [
        ((29.0, 0.0), (60.0, 0.3), True),
        ((31.0, 0.0), (60.0, 0.3), False),
        ((5.0, 0.0), (11.0, 0.0), True),
        ((5.0, 0.0), (9.0, 0.0), False),
        ((60.0, 0.1), (60.0, 0.3), False),
    ],
)
def test_with_many_points_scip_must_keep_a_gap_at_twice_our_time(
    monkeypatch: pytest.MonkeyPatch,
    ours: tuple[float, float],
    theirs: tuple[float, float],
    met: bool,
) -> None:
    with_runs(monkeypatch, ours, theirs)
    line = against_scip(Case(2000, 4, 2.0))
    assert line.met is met
    assert "twice our time" in line.asked


def test_a_hull_that_grows_too_fast_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([0.1, 1.5])
    monkeypatch.setattr(
        extended_nu, "measured", lambda *_: {shared.HULL: (next(seconds), 0.0)}
    )  # fmt: skip
    first, second, growth = hulls(((100, 2), (1000, 2)))
    assert first.met
    assert second.met
    assert not growth.met
    assert growth.reached == "15 x the time"


def test_linear_programs_of_both_updates_are_counted() -> None:
    line = local(40, 2, 5)
    data = clouds(40, 2)
    counts = {
        update: extended_nu.extended_nu_local(
            data, nu=middle(data), update=update, starts=5
        ).iterations
        for update in ("algorithm_7", "damped")
    }
    assert line.reached.startswith(f"{counts['algorithm_7']} LPs")
    assert line.against == f"damped: {counts['damped']} LPs"
    assert line.met == (counts["damped"] >= 20 * counts["algorithm_7"])


def test_a_worse_value_of_fewer_programs_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:
        def __init__(self, iterations: int, objective: float) -> None:
            self.iterations, self.objective = iterations, objective

    answers = {"algorithm_7": Found(10, 1.01), "damped": Found(1000, 1.0)}
    monkeypatch.setattr(extended_nu, "extended_nu_local", lambda *_, update, **__: answers[update])
    line = local(20, 2)
    assert not line.met
    assert "best value 1.0e-02 higher" in line.reached


def test_the_file_holds_every_line_and_the_machine() -> None:
    lines = [
        Reach("hull", "clouds", "1 s", "", "a proof", True),
        Reach("cuts", "clouds", "2 s", "", "a proof", False),
    ]
    written = text(lines, 7.0)
    assert "| hull | clouds | 1 s |  | a proof | yes |" in written
    assert "| cuts | clouds | 2 s |  | a proof | **missed** |" in written
    assert "stopped at 7 s" in written
    assert "pyscipopt" in written


def test_the_middle_is_half_of_nu_bar() -> None:
    data = clouds(30, 2)
    nu = middle(data)
    with pytest.raises(ValueError, match="nu_bar"):
        hull_search(data, nu=nu * 2.01)
    assert np.isfinite(hull_search(data, nu=nu * 1.99).objective)


# --- the two stops of Algorithm 10 ----------------------------------------------------------------


def test_the_stops_of_a_toy_group_are_a_row() -> None:
    found = literal_stops.pair(14, 2, 0.5, 1)
    assert found.agree()
    made = literal_stops.row(14, 2, 0.5, [found])
    assert len(made) == len(literal_stops.HEAD)
    assert made[-1] == "1 of 1"
    stop = found.literal.no_face_left
    assert stop is not None
    assert made[2] == f"{stop.round}, {stop.lp_solves}"
    worse = replace(found.literal.best, objective=found.literal.objective * 1.001)
    lied = literal_stops.Pair(replace(found.literal, best=worse), found.concavity)
    assert not lied.agree()
    assert literal_stops.row(14, 2, 0.5, [lied])[-1] == "0 of 1"


def test_the_stops_that_are_written_are_of_fifty_instances_that_agree() -> None:
    written = (ROOT / "benchmarks" / "LITERAL_STOPS.md").read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in written.splitlines() if line[:3] == "| 2"
             or line[:3] == "| 6"]  # fmt: skip
    assert sum(int(line[1]) for line in lines) == 50
    for line in lines:
        assert line[-1] == f"{line[1]} of {line[1]}"
        first, last = (int(line[at].split(",")[0].split(".")[0]) for at in (2, 3))
        assert first <= last
