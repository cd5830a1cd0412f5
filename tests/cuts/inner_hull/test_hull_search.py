"""The hull engine: proofs that fail when they must, limits, bodies that enclose 0.

Its optima beside those found otherwise: tests/cuts/test_searches.py.
"""

from __future__ import annotations

import itertools
import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, QhullError

from tests.inside.cuts import Surface, enclosed_radius
from tests.inside.cuts import hull_search as searching
from tests.inside.formulations import support_value
from tests.inside.solvers import NuRange, StopReason
from tests.references.reference_solutions import INTERCEPTS
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.cuts import branch_and_cut, hull_search
from tightmargin.formulations import TrainingData, extended_nu_svc_ball
from tightmargin.solvers import solve

# --- the optimum ---------------------------------------------------------------------------------


def test_every_facet_lies_inside_the_reduced_hulls() -> None:
    data = cloud(2, 80, 4)
    nu = below_nu_bar(data, 0.5)
    seen: list[Any] = []
    prove = searching.HullSearch._prove

    def kept(self: Any) -> None:
        seen.append((self.surface, self.hulls))
        prove(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching.HullSearch, "_prove", kept)
        assert hull_search(data, nu=nu).proven
    ((surface, hulls),) = seen
    assert len(surface.simplices) > 100
    reach = np.array([support_value(hulls, normal) for normal in surface.normals])
    assert (reach >= surface.offsets - 1e-13).all()
    assert reach.min() == pytest.approx(surface.offsets.min(), rel=1e-10)


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


def test_where_u_just_misses_0_the_bound_is_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    """nu_bar is known to 1e-8: beyond it by less the optimum is below 0, and so is the bound."""
    data = cloud(6, 40, 3)
    nu = below_nu_bar(data, 1 + 1e-3)
    monkeypatch.setattr(NuRange, "place_extended", lambda self, entry, nu: "")
    found = hull_search(data, nu=nu)
    convex = solve(extended_nu_svc_ball(data, nu=nu))
    assert convex.objective < -1e-5
    assert found.bound == pytest.approx(convex.objective, rel=1e-3)
    assert found.bound <= convex.objective + 1e-9
    assert found.objective >= convex.objective - 1e-9


# --- refusals and limits -------------------------------------------------------------------------


def test_bounds_hold_at_every_round() -> None:
    data = cloud(7, 60, 4)
    nu = below_nu_bar(data, 0.5)
    whole = hull_search(data, nu=nu)
    assert whole.steps > 5
    bounds = []
    for rounds in range(1, whole.steps):
        found = hull_search(data, nu=nu, round_limit=rounds)
        if found.proven:
            # The last rounds may find points beyond a facet by roundings only, on some processors.
            assert rounds >= 5
            assert found.objective == pytest.approx(whole.objective, rel=1e-9)
            break
        assert found.stop is StopReason.ROUND_LIMIT
        assert found.message == f"limit of {rounds} rounds"
        assert found.steps == rounds
        assert not found.proven
        assert found.bound <= whole.objective <= found.objective
        bounds.append(found.bound)
    assert all(b >= a - 1e-9 * abs(a) for a, b in itertools.pairwise(bounds))
    assert bounds[0] < bounds[-1]
    assert bounds[-1] > 0.9 * whole.objective


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


@pytest.mark.parametrize(("seed", "d"), [(306, 3), (577, 2)])
def test_features_of_very_different_size_are_proven(seed: int, d: int) -> None:
    """Whatever Qhull makes of them; the second opinion is that of branch and cut."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, d)) * 10.0 ** rng.integers(-4, 5, d)
    data = TrainingData(X, np.where(np.arange(24) % 3 == 0, 1.0, -1.0))
    for intercept in INTERCEPTS:
        nu = below_nu_bar(data, 0.3, intercept=intercept)
        found = hull_search(data, nu=nu, intercept=intercept, absolute=0.0)
        other = branch_and_cut(data, nu=nu, intercept=intercept, absolute=0.0)
        assert found.proven
        assert (1 - 1e-3) * found.objective <= found.bound <= other.objective
        assert other.bound <= found.objective


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


@given(seed=st.integers(0, 10_000), k=st.integers(2, 5), m=st.integers(7, 40))
def test_radius_is_below_the_reach_in_every_direction(seed: int, k: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    body = rng.standard_normal((m, k)) + 0.3 * rng.standard_normal(k)
    simplices, normals = surface_of(body)
    radius = enclosed_radius(body, simplices, normals)
    directions = rng.standard_normal((200, k))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reach = (directions @ body.T).max(axis=1).min()
    inside = -ConvexHull(body).equations[:, -1].max()
    if inside > 1e-6:
        assert radius == pytest.approx(inside, rel=1e-9)
        assert radius <= reach
    else:
        assert radius is None or radius <= max(inside, 0) + 1e-9


# --- speed ---------------------------------------------------------------------------------------


def test_cost_is_a_few_hundred_sorts_whatever_the_number_of_points() -> None:
    """Ten times the points, about as many evaluations: the cost grows as the points do."""
    small, large = cloud(7, 500, 3), cloud(7, 5_000, 3)
    evaluations = [
        hull_search(data, nu=below_nu_bar(data, 0.5)).evaluations for data in (small, large)
    ]
    assert max(evaluations) < 300
    assert evaluations[1] < 2 * evaluations[0]
