"""The hull engine: nearest facets found otherwise, proofs that fail when they must, limits."""

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
from tests.inside.formulations import reduced_hulls, support_value
from tests.inside.solvers import NuRange, StopReason
from tests.references.reference_solutions import INTERCEPTS
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.cuts import branch_and_cut, hull_search
from tightmargin.formulations import TrainingData, extended_nu_svc_ball
from tightmargin.solvers import nu_range, solve

# --- the optimum ---------------------------------------------------------------------------------


def test_no_direction_of_a_fine_grid_is_better_by_more_than_its_spacing() -> None:
    """h changes by at most the largest norm in U for each unit of w."""
    data = cloud(5, 40, 3)
    nu = below_nu_bar(data, 0.4)
    found = hull_search(data, nu=nu)
    hulls = reduced_hulls(data, nu=nu)
    steps = 60
    side = np.linspace(-1, 1, steps + 1)
    faces = []
    for j, sign in itertools.product(range(3), (-1.0, 1.0)):
        grid = np.array(np.meshgrid(side, side)).reshape(2, -1).T
        faces.append(np.insert(grid, j, sign, axis=1))
    grid = np.vstack(faces)
    unit = grid / np.linalg.norm(grid, axis=1, keepdims=True)
    least = min(support_value(hulls, w) for w in unit)
    longest = max(support_value(hulls, w) for w in unit) * 1.01
    # Half a diagonal of a cell of the cube; the projection on the sphere shrinks distances.
    spacing = np.sqrt(2) / steps
    assert least >= found.objective * (1 - 1e-12)
    assert found.bound >= least - longest * spacing
    assert found.objective <= least


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


# --- laws ----------------------------------------------------------------------------------------


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
    data = cloud(7, 100, 4)
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
    data = cloud(7, 100, 4)
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
    data = cloud(7, 100, 4)
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


@pytest.mark.parametrize(("seed", "scales"), [(143, 4), (306, 3), (577, 2)])
def test_features_of_very_different_size_are_proven_or_time_is_up(seed: int, scales: int) -> None:
    """Whatever Qhull makes of them; the second opinion is that of branch and cut.

    In four dimensions of sizes from 1e-4 to 1e4 the two may leave a gap of 1e-4 for a long time.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, scales)) * 10.0 ** rng.integers(-4, 5, scales)
    y = np.where(np.arange(24) % 3 == 0, 1.0, -1.0)
    data = TrainingData(X, y)
    for intercept in INTERCEPTS:
        nu = 0.3 * nu_range(data, intercept=intercept).nu_bar
        limits = {"absolute": 0.0, "time_limit": 2.0 if scales == 4 else 60.0}
        found = hull_search(data, nu=nu, intercept=intercept, **limits)
        other = branch_and_cut(data, nu=nu, intercept=intercept, **limits)
        assert found.proven or (scales == 4 and found.stop is StopReason.TIME_LIMIT)
        assert found.bound >= (1 - 1e-3) * found.objective
        assert found.bound <= other.objective
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


def test_the_cube_holds_the_unit_ball() -> None:
    simplices, normals = surface_of(CUBE)
    assert enclosed_radius(CUBE, simplices, normals) == pytest.approx(1.0, abs=1e-12)
    assert enclosed_radius(CUBE, simplices, normals) <= 1.0
    # Nobody's normals are needed, and wrong ones do no harm.
    wrong = np.roll(normals, 1, axis=1)
    assert enclosed_radius(CUBE, simplices, wrong) == pytest.approx(1.0, abs=1e-12)
    towards_corners = CUBE[simplices[:, 0]]
    assert enclosed_radius(CUBE, simplices, towards_corners) == pytest.approx(1.0, abs=1e-12)
    missing = np.full_like(normals, np.nan)
    assert enclosed_radius(CUBE, simplices, missing) == pytest.approx(1.0, abs=1e-12)


def test_a_body_beside_0_or_with_a_hole_encloses_nothing() -> None:
    simplices, normals = surface_of(CUBE)
    assert enclosed_radius(CUBE + np.array([2.0, 0.0, 0.0]), simplices, normals) is None
    for k in range(len(simplices)):
        kept = np.delete(simplices, k, axis=0)
        assert enclosed_radius(CUBE, kept, np.delete(normals, k, axis=0)) is None
    twice = np.vstack([simplices, simplices])
    assert enclosed_radius(CUBE, twice, np.vstack([normals, normals])) is None


def test_two_ends_enclose_0_only_between_them() -> None:
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
    small, large = cloud(7, 2_000, 3), cloud(7, 20_000, 3)
    evaluations = [
        hull_search(data, nu=below_nu_bar(data, 0.5)).evaluations for data in (small, large)
    ]
    assert max(evaluations) < 300
    assert evaluations[1] < 2 * evaluations[0]
