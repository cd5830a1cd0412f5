"""The hull engine: proofs that fail when they must, limits, bodies that enclose 0.

Its optima beside those found otherwise: tests/cuts/test_searches.py.
"""

from __future__ import annotations

import itertools
import signal
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull, QhullError

from tests.inside.cuts import Surface, enclosed_radius
from tests.inside.cuts import hull_search as searching
from tests.inside.solvers import StopReason
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.cuts import branch_and_cut, hull_search

# --- the optimum ---------------------------------------------------------------------------------


def test_nearly_flat_facets_of_rounded_points_are_proven() -> None:
    """Qhull stops at these unless wide merges are allowed, and then has to be checked."""
    for seed, n in [(20, 12), (35, 12), (72, 14)]:
        data = cloud(seed, n, 4, distance=2.0, rounded=True)
        assert data is not None
        found = hull_search(data, nu=below_nu_bar(data, 0.5))
        assert found.proven, found.message
        other = branch_and_cut(data, nu=below_nu_bar(data, 0.5))
        # One of the optima is 0, a sum of terms that cancel: n roundings of the largest of them.
        rounding = n * np.finfo(float).eps * np.abs(data.X).max()
        assert other.bound <= found.objective + rounding
        assert found.objective <= other.objective * (1 + 1e-9) + rounding


# --- refusals and limits -------------------------------------------------------------------------


def test_time_limit_and_interruption_keep_point_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    data = cloud(7, 60, 4)
    nu = below_nu_bar(data, 0.5)
    optimum = hull_search(data, nu=nu).objective
    late = hull_search(data, nu=nu, time_limit=1e-9)
    assert late.stop is StopReason.TIME_LIMIT
    assert late.bound <= optimum <= late.objective

    outside = searching.HullSearch._outside

    def pressed(self: Any) -> Any:
        if self.steps == 4:
            signal.raise_signal(signal.SIGINT)
            assert self.asked_to_stop.wait(60), "the main thread hears it, and asks"
        return outside(self)

    monkeypatch.setattr(searching.HullSearch, "_outside", pressed)
    stopped = hull_search(data, nu=nu)
    assert stopped.stop is StopReason.INTERRUPTED
    assert stopped.steps == 4
    assert stopped.bound <= optimum <= stopped.objective


def test_a_failure_of_qhull_is_named_and_boxes_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    data = cloud(7, 60, 4)
    nu = below_nu_bar(data, 0.5)
    optimum = hull_search(data, nu=nu).objective

    class Failing(ConvexHull):
        def add_points(self, new: Any) -> None:
            if len(self.points) > 40:
                raise QhullError("QH6271 topology error\nand more")
            super().add_points(new)

    monkeypatch.setattr(searching, "ConvexHull", Failing)
    found = hull_search(data, nu=nu)
    assert found.proven
    assert found.engine == "branch_and_cut"
    assert found.message.startswith("Qhull gave up: QH6271 topology error; branch and cut went on")
    assert found.bound <= optimum
    assert found.objective == pytest.approx(optimum, rel=1e-9)
    late = hull_search(data, nu=nu, time_limit=1e-3)
    assert late.stop is StopReason.TIME_LIMIT
    # Without the solver of branch and cut a bound is left that the failure did not touch.
    monkeypatch.setattr(searching, "has_highspy", lambda: False)
    alone = hull_search(data, nu=nu)
    assert alone.stop is StopReason.NUMERICAL
    assert alone.message == "Qhull gave up: QH6271 topology error"
    assert alone.bound <= optimum <= alone.objective


def test_facets_that_do_not_close_up_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = cloud(1, 30, 3)
    nu = below_nu_bar(data, 0.5)

    take = searching.HullSearch._take

    def torn(self: Any, hull: Any) -> None:
        take(self, hull)
        found = self.surface
        self.surface = Surface(
            found.points, found.simplices[1:], found.normals[1:], found.offsets[1:]
        )

    monkeypatch.setattr(searching.HullSearch, "_take", torn)
    monkeypatch.setattr(searching, "has_highspy", lambda: False)
    found = hull_search(data, nu=nu)
    assert found.stop is StopReason.NUMERICAL
    assert -1e-12 <= found.bound <= 0.0
    assert "could not be shown to enclose 0" in found.message


# --- the proof -----------------------------------------------------------------------------------

CUBE = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))


def surface_of(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    hull = ConvexHull(points)
    return hull.simplices.astype(np.int64), hull.equations[:, :-1]


def test_the_cube_holds_the_unit_ball_and_pieces_of_it_nothing() -> None:
    """Nobody's normals are needed, and wrong ones do no harm."""
    simplices, normals = surface_of(CUBE)
    towards_corners, missing = CUBE[simplices[:, 0]], np.full_like(normals, np.nan)
    for other in (normals, np.roll(normals, 1, axis=1), towards_corners, missing):
        radius = enclosed_radius(CUBE, simplices, other)
        assert radius == pytest.approx(1.0, abs=1e-12)
        assert radius <= 1.0
    assert enclosed_radius(CUBE + np.array([2.0, 0.0, 0.0]), simplices, normals) is None
    for k in range(len(simplices)):
        kept = np.delete(simplices, k, axis=0)
        assert enclosed_radius(CUBE, kept, np.delete(normals, k, axis=0)) is None
    twice = np.vstack([simplices, simplices])
    assert enclosed_radius(CUBE, twice, np.vstack([normals, normals])) is None
    ends, simplices = np.array([[-2.0], [3.0]]), np.array([[0], [1]])
    normals = np.array([[-1.0], [1.0]])
    assert enclosed_radius(ends, simplices, normals) == pytest.approx(2.0, abs=1e-12)
    assert enclosed_radius(ends + 4, simplices, normals) is None
