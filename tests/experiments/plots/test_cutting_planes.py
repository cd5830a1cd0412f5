"""The picture of a two-dimensional run: its geometry against brute force, its marks and words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Circle

from tests.inside.cuts import CuttingPlaneResult, polar_problem
from tests.inside.experiments import (
    CUT_STYLES,
    PlaneRun,
    clipped,
    clusters,
    corners_of,
    cutting_planes,
    plane_run,
    save_cuts,
    style_of,
    toy_run,
)
from tests.inside.experiments import cutting_planes_cut_figure as cut_figure
from tests.inside.formulations import Array, loss_weights, support_value
from tests.references.polytope_corners import corners, gauss
from tests.support.covering import FULL
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


@pytest.mark.parametrize("seed", range(4 if FULL else 2))
def test_the_polygon_has_the_corners_of_brute_force(seed: int) -> None:
    data = gauss(seed, 14, 2)
    nu = nu_range(data).nu_bar * (0.3 + 0.15 * seed)
    found = corners_of(polar_problem(data, nu=nu).hulls)
    every = corners(data, nu, loss_weights(data, "uniform"))
    every = every[np.argsort(np.arctan2(every[:, 1], every[:, 0]))]
    np.testing.assert_allclose(found, every, atol=1e-8 * np.abs(every).max())
    # Without an intercept the boundary is where the objective is one.
    nu = nu_range(data, intercept="none").nu_bar / 2
    hulls = polar_problem(data, nu=nu, intercept="none").hulls
    found = corners_of(hulls)
    for first, second in zip(found, np.roll(found, -1, axis=0), strict=True):
        for share in (0.0, 0.3, 0.7):
            assert support_value(hulls, first + share * (second - first)) == pytest.approx(1)
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    for row, side, left in (([1, 0], 0.25, 0.25), ([1, 0], 2.0, 1.0), ([1, 1], 1.0, 0.5)):
        assert area(clipped(square, np.array(row, dtype=float), side)) == pytest.approx(left)
    assert len(clipped(square, np.array([1.0, 0.0]), 0.0)) == 0


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


def test_the_picture_shows_every_cut_with_its_round_the_circle_and_the_optimum(
    result: CuttingPlaneResult, run: PlaneRun
) -> None:
    figure = cut_figure(result, "Ten points")
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    assert {text.get_text() for text in axes.texts} == {"1", "2", "3", "4", "5", "6", "7"}
    (circle,) = [patch for patch in axes.patches if isinstance(patch, Circle)]
    assert circle.radius == run.gamma
    (star,) = [line for line in axes.lines if line.get_marker() == "*"]
    np.testing.assert_array_equal(star.get_xydata()[0], run.best)
    assert figure.get_suptitle() == "Ten points"
    assert {style_of(cut) for cut in result.cuts} == set(CUT_STYLES)
    words = legend_words(result)
    for look in CUT_STYLES:
        assert " ".join(look.words.split()) in words
    assert any("proven optimal" in word for word in words)
    # The construction of the first cut ends on the circle.
    (ends,) = [line.get_xydata() for line in axes.lines if line.get_marker() == "s"]
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), run.gamma, rtol=1e-5)
    row = result.cuts[0].coefficients["w"]
    np.testing.assert_allclose(ends @ row, result.cuts[0].rhs, rtol=1e-6)


def test_a_picture_is_saved_and_the_command_asks_for_two_names(
    tmp_path: Path, result: CuttingPlaneResult
) -> None:
    vector = tmp_path / "cuts.svg"
    save_cuts(result, vector)
    assert "<svg" in vector.read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="usage"):
        cutting_planes.main([])


@pytest.mark.full("a path of CVaR and a run of cuts for two pictures of the guide")
def test_the_command_writes_both_pictures(tmp_path: Path) -> None:
    files = tmp_path / "cuts.png", tmp_path / "cvar.png"
    cutting_planes.main([str(file) for file in files])
    for file in files:
        assert file.read_bytes().startswith(b"\x89PNG")
