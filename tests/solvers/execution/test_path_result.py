"""What all paths say the same way: certified, interrupted and their tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tightmargin as tm
from tests.inside.solvers import PathResult, StopReason
from tests.references.reference_solutions import points

COLUMNS = ["nu", "objective", "upper", "bound", "gap", "verdict", "stop", "seconds"]


def test_a_path_says_what_is_certified_and_what_was_interrupted() -> None:
    found = tm.paths.extended_nu_path(points("overlapping", 3, n=14), [0.2, 0.4])
    assert isinstance(found, PathResult)
    frame = found.to_frame()
    assert list(frame.columns[:8]) == COLUMNS
    assert frame["nu"].tolist() == pytest.approx([0.4, 0.2])
    for row in frame.to_dict("records"):
        assert row["objective"] == pytest.approx(row["bound"], rel=2e-6)
        assert row["gap"] == max(0.0, row["objective"] - row["bound"])
        assert (row["verdict"], row["seconds"] > 0) == ("CERTIFIED", True)
    assert (found.certified, found.interrupted) == (True, False)
    cut = replace(found, not_reached=(0.5,))
    assert (cut.certified, cut.interrupted) == (False, True)
    one, other = found.rows
    unproven = replace(found, rows=(one, replace(other, below=None, claim_closes=True)))
    assert (unproven.certified, unproven.interrupted) == (False, False)
    assert unproven.to_frame()["verdict"].tolist() == ["CERTIFIED", "SOLVER_BOUND"]
    stopped = replace(found, rows=(one, replace(other, stop=str(StopReason.INTERRUPTED))))
    assert stopped.interrupted
