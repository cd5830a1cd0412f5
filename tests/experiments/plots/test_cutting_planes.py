"""The picture of a two-dimensional run: its geometry against brute force, its marks and words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.inside.cuts import CuttingPlaneResult
from tests.inside.experiments import (
    PlaneRun,
    clusters,
    cutting_planes,
    plane_run,
    toy_run,
)
from tests.inside.experiments import cutting_planes_cut_figure as cut_figure
from tests.inside.formulations import Array
from tightmargin.cuts import cutting_plane
from tightmargin.solvers import nu_range


def area(polygon: Array) -> float:
    """Area of a convex polygon (m, 2) whose corners are in counterclockwise order."""
    x, y = polygon.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


@pytest.fixture(scope="module")
def result() -> CuttingPlaneResult:
    return toy_run()


@pytest.fixture(scope="module")
def run(result: CuttingPlaneResult) -> PlaneRun:
    return plane_run(result)


def test_pieces_are_the_polygon_again_and_nothing_is_left_after_a_proof(
    result: CuttingPlaneResult, run: PlaneRun
) -> None:
    assert result.proven
    assert len(run.left) == 0
    assert sum(area(piece.polygon) for piece in run.pieces) == pytest.approx(area(run.corners))
    assert sum(len(piece.corners) for piece in run.pieces) == len(run.corners)
    assert all(area(piece.polygon) > 0 for piece in run.pieces)


def test_what_a_run_leaves_is_shown_and_named() -> None:
    """After one round it is unfinished; after two a box proves that the rest is no better."""
    data = clusters(6, 12)
    nu = nu_range(data).nu_bar / 2
    for rounds, words in ((1, "left to search"), (2, "left: nothing there is better")):
        stopped = cutting_plane(data, nu=nu, strategy="literal", round_limit=rounds)
        run = plane_run(stopped)
        assert stopped.proven == (rounds == 2)
        removed = sum(area(piece.polygon) for piece in run.pieces)
        assert 0 < area(run.left) == pytest.approx(area(run.corners) - removed)
        assert rounds == 1 or np.linalg.norm(run.left, axis=1).max() <= run.gamma
        assert words in legend_words(stopped)
        assert any("proven" in word for word in legend_words(stopped)) == stopped.proven


def legend_words(result: CuttingPlaneResult) -> list[str]:
    (axes,) = cut_figure(result).axes
    return [" ".join(text.get_text().split()) for text in axes.get_legend().get_texts()]


@pytest.mark.full("a path of CVaR and a run of cuts for two pictures of the guide")
def test_the_command_writes_both_pictures(tmp_path: Path) -> None:
    files = tmp_path / "cuts.png", tmp_path / "cvar.png"
    cutting_planes.main([str(file) for file in files])
    for file in files:
        assert file.read_bytes().startswith(b"\x89PNG")
