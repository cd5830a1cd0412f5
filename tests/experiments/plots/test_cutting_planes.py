"""Pictures of cuts in the plane: their geometry against brute force, their marks and words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy.spatial import ConvexHull

import tightmargin as tm
from tests.inside.cuts import CuttingPlaneResult
from tests.inside.experiments import (
    PolygonCuts,
    clusters,
    plane_run,
)
from tests.inside.experiments import cutting_planes_cut_figure as cut_figure
from tests.inside.formulations import Array
from tests.references.concave_truth import least_concave, vertices
from tests.support.concave_models import concave_model, random_polytope, semidefinite
from tests.support.covering import FULL
from tests.support.figure_checks import faults_of
from tightmargin.cuts import cutting_plane
from tightmargin.solvers import nu_range


def area(polygon: Array) -> float:
    """Area of a convex polygon (m, 2) whose corners are in counterclockwise order."""
    x, y = polygon.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


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
        (axes,) = cut_figure(stopped).axes
        closed = np.vstack([run.corners, run.corners[:1]]).tolist()
        assert closed in [line.get_xydata().tolist() for line in axes.lines], "all sides of P"


def legend_words(result: CuttingPlaneResult) -> list[str]:
    (axes,) = cut_figure(result).axes
    return [" ".join(text.get_text().split()) for text in axes.get_legend().get_texts()]


def square() -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(-1, 2))
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2) - model.x[1] ** 2)
    return model


def hull_area(polygon: Array) -> float:
    return float(ConvexHull(polygon).volume) if len(polygon) else 0.0


def random_run(seed: int) -> tuple[PolygonCuts, Array, float]:
    """A run, the corners by brute force, and the least value at them."""
    rng = np.random.default_rng([31, seed])
    polytope = random_polytope(rng, 2, 8)
    Q, c = semidefinite(rng, 2, 2), rng.normal(size=2)
    truth = least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x))
    run = tm.plots.polygon_cuts(concave_model(polytope, Q, c))
    return run, np.array(list(vertices(*polytope.rows))), truth


@pytest.mark.parametrize("seed", range(6 if FULL else 3))
def test_corners_optimum_and_what_each_cut_removes_are_those_of_brute_force(seed: int) -> None:
    run, every, truth = random_run(seed)
    assert hull_area(run.rests[0]) == pytest.approx(hull_area(every))
    distance = np.linalg.norm(run.rests[0][:, None] - every, axis=2)
    assert distance.min(axis=0).max() < 1e-7
    assert distance.min(axis=1).max() < 1e-7
    assert float(run.values(run.best[None])[0]) == pytest.approx(truth)
    assert run.proven
    assert len(run.rests[-1]) == 0
    assert run.level == pytest.approx(truth, rel=1e-5)
    points = np.random.default_rng(seed).uniform(-3, 3, (4000, 2))
    points = points[(points @ run.rows.T >= run.sides).all(axis=1)]
    size = 1e-6 * (1 + abs(run.level))
    for cut in run.cuts:
        assert cut.normal @ cut.vertex < cut.side
        np.testing.assert_allclose(cut.ends @ cut.normal, cut.side, rtol=1e-6, atol=1e-9)
        removed = points @ cut.normal < cut.side
        assert (run.values(points[removed]) >= run.level - size).all(), "not below the level"
        points = points[~removed]
    assert len(points) == 0, "each point is removed by some cut"
    sides = run.segments(0)
    around = run.rests[0] - np.roll(run.rests[0], 1, axis=0)
    length = np.linalg.norm(sides[:, 1] - sides[:, 0], axis=1).sum()
    assert length == pytest.approx(np.linalg.norm(around, axis=1).sum())
    assert len(run.segments(len(run.cuts))) == 0


def test_a_run_that_is_stopped_shows_what_is_left() -> None:
    run = tm.plots.polygon_cuts(square(), cut_limit=1)
    assert not run.proven
    assert 0 < hull_area(run.rests[1]) < hull_area(run.rests[0]) == pytest.approx(9.0)
    (axes,) = tm.plots.polygon_figure(run).axes
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "what is left of the sides" in words
    assert not any("proven" in word for word in words)
    for after in (-1, len(run.cuts) + 1):
        with pytest.raises(ValueError, match="after="):
            tm.plots.draw_polygon(tm.plots.new_figure().subplots(), run, after)
    with pytest.raises(ValueError, match="cut_limit"):
        tm.plots.polygon_cuts(square(), cut_limit=0)


def test_the_picture_is_readable_and_can_be_saved(tmp_path: Path) -> None:
    run, _, _ = random_run(1)
    figure = tm.plots.polygon_figure(run, "A polygon of eight random rows")
    FigureCanvasAgg(figure).draw()
    assert faults_of(figure) == []
    (axes,) = figure.axes
    (star,) = [line for line in axes.lines if line.get_marker() == "*"]
    np.testing.assert_array_equal(star.get_xydata()[0], run.best)
    words = " ".join(text.get_text() for text in axes.get_legend().get_texts())
    assert "proven optimal" in words
    tm.plots.save_polygon(run, tmp_path / "polygon.png")
    assert (tmp_path / "polygon.png").read_bytes().startswith(b"\x89PNG")
