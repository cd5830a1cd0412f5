"""What all paths say the same way: certified, interrupted and their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import tightmargin as tm
from tests.inside.solvers import PathResult, StopReason
from tests.references.reference_solutions import points

DATA = points("overlapping", 3, n=14)
WORDS = ["objective", "upper", "bound", "gap", "verdict", "stop", "seconds"]
# What makes a path, and its values in the order of the rows. The optima of the rows:
# tests/experiments/paths.
PATHS: dict[str, tuple[Callable[[], Any], list[float]]] = {
    "penalty": (lambda: tm.paths.conic_path(DATA, penalties=[6.0, 0.3]), [0.3, 6.0]),
    "budget": (lambda: tm.paths.conic_path(DATA, budgets=[0.1, 0.4]), [0.4, 0.1]),
    "norm_bound": (lambda: tm.paths.rsvm_path(DATA, [0.7, 0.3]), [0.3, 0.7]),
    "nu": (lambda: tm.paths.extended_nu_path(DATA, [0.2, 0.4]), [0.4, 0.2]),
    "pi": (lambda: tm.paths.class_probabilities(DATA, ridge=0.05, grid=[0.3, 0.6]), [0.3, 0.6]),
}


@pytest.mark.parametrize("parameter", PATHS)
def test_all_paths_say_the_same_way_what_is_certified(parameter: str) -> None:
    make, values = PATHS[parameter]
    found = make()
    assert isinstance(found, PathResult)
    frame = found.to_frame()
    assert list(frame.columns[:8]) == [parameter, *WORDS]
    assert frame[parameter].tolist() == pytest.approx(values)
    for row in frame.to_dict("records"):
        assert row["objective"] == pytest.approx(row["bound"], rel=2e-6)
        assert row["gap"] == max(0.0, row["objective"] - row["bound"])
        assert (row["verdict"], row["seconds"] > 0) == ("CERTIFIED", True)
    assert (found.certified, found.interrupted) == (True, False)
    cut = replace(found, not_reached=(0.5,))
    assert (cut.certified, cut.interrupted) == (False, True)


def test_a_row_without_proof_or_that_ctrl_c_ended_counts() -> None:
    found = tm.paths.extended_nu_path(DATA, [0.2, 0.4])
    one, other = found.rows
    unproven = replace(found, rows=(one, replace(other, below=None, claim_closes=True)))
    assert (unproven.certified, unproven.interrupted) == (False, False)
    assert unproven.to_frame()["verdict"].tolist() == ["CERTIFIED", "SOLVER_BOUND"]
    stopped = replace(found, rows=(one, replace(other, stop=str(StopReason.INTERRUPTED))))
    assert stopped.interrupted
