"""The hull engine: nearest facets found otherwise, proofs that fail when they must, limits."""

from __future__ import annotations

import itertools
import signal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, QhullError

from tests.inside.cuts import Surface, enclosed_radius
from tests.inside.cuts import hull_search as searching
from tests.inside.formulations import loss_weights, reduced_hulls, support_value
from tests.inside.solvers import NuRange, StopReason
from tests.references.extended_nu import (
    assert_values_are_the_objective,
    least_on_circle,
    nearest_facet,
    optimum_by_scip,
)
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.cuts import branch_and_cut, hull_search
from tightmargin.formulations import TrainingData, extended_nu_svc_ball
from tightmargin.solvers import nu_range, solve

# --- the optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["free", "none"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_optimum_in_the_plane_is_the_best_of_all_directions(mode: str, share: float) -> None:
    data = points("overlapping", 1, n=10)
    nu = below_nu_bar(data, share, intercept=mode)
    expected = least_on_circle(data, mode, nu)
    found = hull_search(data, nu=nu, intercept=mode)
    assert found.proven
    assert found.objective == pytest.approx(expected, rel=1e-9)
    assert found.bound <= expected * (1 + 1e-12)
    assert found.bound == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("balance", ["uniform", "balanced"])
@pytest.mark.parametrize("mode", INTERCEPTS)
@pytest.mark.parametrize("kind", ["overlapping", "unbalanced"])
def test_optimum_is_the_nearest_of_all_facets(d: int, balance: str, mode: str, kind: str) -> None:
    data = points(kind, 4, n=9, d=d)
    nu = below_nu_bar(data, 0.6, class_balance=balance, intercept=mode)
    caps = loss_weights(data, balance)
    expected = nearest_facet(data, mode, nu, caps)
    found = hull_search(data, nu=nu, class_balance=balance, intercept=mode)
    assert found.proven
    assert found.objective == pytest.approx(expected, rel=1e-8)
    assert found.bound <= found.objective
    assert_values_are_the_objective(found, data, mode, nu, caps)


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


def test_scip_finds_the_same_optimum() -> None:
    data = cloud(3, 40, 3)
    nu = below_nu_bar(data, 0.5)
    found = hull_search(data, nu=nu)
    at = optimum_by_scip(data, nu)
    assert found.objective == pytest.approx(at, rel=1e-5)
    assert found.objective <= at * (1 + 1e-9)
    assert found.bound <= at


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(6, 60),
    d=st.integers(1, 4),
    share=st.floats(0.02, 0.98),
    rounded=st.booleans(),
)
def test_bound_is_proven_and_no_direction_beats_it(
    seed: int, n: int, d: int, share: float, rounded: bool
) -> None:
    """Rounded data have many equal points and ties."""
    data = cloud(seed, n, d, rounded=rounded)
    if data is None or nu_range(data).nu_bar < 1e-3:
        return
    nu = below_nu_bar(data, share)
    found = hull_search(data, nu=nu)
    assert found.proven, found.message
    hulls = reduced_hulls(data, nu=nu)
    directions = np.random.default_rng(seed).standard_normal((50, d))
    for w in directions:
        assert support_value(hulls, w / np.linalg.norm(w)) >= found.bound
    assert -1e-15 <= found.absolute_gap <= max(1e-6 * found.objective, 1e-10)


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


@pytest.mark.parametrize("factor", [1e-8, 0.3, 1e7])
def test_objective_scales_with_the_points(factor: float) -> None:
    data = cloud(1, 30, 3)
    nu = below_nu_bar(data, 0.5)
    found = hull_search(data, nu=nu)
    other = hull_search(TrainingData(factor * data.X, data.y), nu=nu)
    assert other.proven
    assert other.objective == pytest.approx(factor * found.objective, rel=1e-9)
    assert other.bound == pytest.approx(factor * found.bound, rel=1e-9)


def test_shifted_and_repeated_points_change_nothing() -> None:
    data = cloud(1, 30, 3)
    nu = below_nu_bar(data, 0.5)
    found = hull_search(data, nu=nu)
    shifted = hull_search(TrainingData(data.X + np.array([1e4, -3e4, 2e4]), data.y), nu=nu)
    assert shifted.proven
    assert shifted.objective == pytest.approx(found.objective, rel=1e-7)
    twice = TrainingData(np.vstack([data.X, data.X]), np.concatenate([data.y, data.y]))
    repeated = hull_search(twice, nu=nu)
    assert repeated.proven
    assert repeated.objective == pytest.approx(found.objective, rel=1e-10)


@pytest.mark.parametrize("share", [0.99, 0.9999, 1 - 1e-6])
def test_next_to_nu_bar_the_optimum_is_small_and_its_bound_positive(share: float) -> None:
    data = cloud(6, 40, 2)
    nu = below_nu_bar(data, share)
    found = hull_search(data, nu=nu)
    assert found.proven
    expected = nearest_by_circle(data, nu)
    assert found.objective == pytest.approx(expected, rel=1e-5)
    assert 0 < found.bound <= found.objective


def nearest_by_circle(data: TrainingData, nu: float) -> float:
    """Least h over 20,000 directions, then over 20,000 between the neighbours of the best."""
    hulls = reduced_hulls(data, nu=nu)
    low, high = 0.0, 2 * np.pi
    best = np.inf
    for _ in range(3):
        angles = np.linspace(low, high, 4000)
        values = [support_value(hulls, np.array([np.cos(a), np.sin(a)])) for a in angles]
        k = int(np.argmin(values))
        best = min(best, values[k])
        low, high = angles[max(k - 1, 0)], angles[min(k + 1, len(angles) - 1)]
    return float(best)


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


def test_above_nu_bar_the_convex_program_is_named() -> None:
    data = cloud(1, 30, 2)
    for share in (1.0, 1.1):
        with pytest.raises(ValueError, match="take extended_nu_svc_ball, which is convex"):
            hull_search(data, nu=below_nu_bar(data, share))
    separable = points("separable", 0)
    with pytest.raises(ValueError, match="the classes are separable"):
        hull_search(separable, nu=0.3)


def test_bad_arguments_are_refused() -> None:
    data = cloud(1, 30, 2)
    nu = below_nu_bar(data, 0.5)
    wide = cloud(1, 60, 8)
    with pytest.raises(ValueError, match="take branch_and_cut"):
        hull_search(wide, nu=below_nu_bar(wide, 0.5))
    with pytest.raises(ValueError, match="tolerance must lie"):
        hull_search(data, nu=nu, tolerance=0.0)
    with pytest.raises(ValueError, match="round_limit"):
        hull_search(data, nu=nu, round_limit=0)
    with pytest.raises(ValueError, match="start must hold 2 finite numbers"):
        hull_search(data, nu=nu, start=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="has no direction"):
        hull_search(data, nu=nu, start=[0.0, 0.0])
    doubled = TrainingData(np.column_stack([data.X, data.X[:, 0]]), data.y)
    with pytest.raises(ValueError, match="affinely dependent"):
        hull_search(doubled, nu=nu)


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


@pytest.mark.parametrize("excess", [0.0, 4e-13, 9e-13])
@pytest.mark.parametrize("search", [hull_search, branch_and_cut])
def test_a_mass_that_is_nearly_a_multiple_of_the_caps_is_given_whole(
    search: Any, excess: float
) -> None:
    """Beside h in fractions, on a line and in the plane: the sort leaves 1e-12 of a mass out."""
    for seed, d in itertools.product(range(6), (1, 2)):
        rng, y = np.random.default_rng(seed), np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
        data = TrainingData(rng.normal(size=(12, d)) + y[:, None], y)
        shares = [nu for nu in (2 / 12, 4 / 12, 6 / 12, 8 / 12) if nu_range(data).side(nu) < 0]
        if not shares:
            continue
        nu = shares[-1] * (1 + excess)
        found = search(data, nu=nu, absolute=0.0, tolerance=1e-9)
        w = [Fraction(x) for x in found.best.weight.tolist()]
        least = sum((x * x for x in w), Fraction(0)) * Fraction(found.bound) ** 2
        h = risk_in_fractions(data, nu, w)
        assert h > 0
        assert least <= h * h


@pytest.mark.parametrize("search", [hull_search, branch_and_cut])
def test_a_coordinate_next_to_the_mean_counts(search: Any) -> None:
    """Far from 0, where what is left of it is as small as a rounding of the points."""
    looked_at = 0
    for seed, d in itertools.product(range(6), (1, 2)):
        rng, y = np.random.default_rng(seed), np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
        X = 1e6 + rng.normal(size=(12, d)) + 0.3 * y[:, None]
        for i in (0, 1):  # both take part at every direction
            X[i] = np.delete(X, i, axis=0).mean(axis=0) + (-1) ** i * 4e-9
        data = TrainingData(X, y)
        nu = below_nu_bar(data, 0.9)
        if nu <= 0:  # separable
            continue
        found = search(data, nu=nu, absolute=0.0, tolerance=1e-9)
        w = [Fraction(x) for x in found.best.weight.tolist()]
        squared = sum((x * x for x in w), Fraction(0))
        assert squared * Fraction(found.bound) ** 2 <= risk_in_fractions(data, nu, w) ** 2
        looked_at += found.bound > 0
    assert looked_at > 6


def risk_in_fractions(data: TrainingData, nu: float, w: list[Fraction]) -> Fraction:
    """h(w) of uniform caps and a free intercept: each class gives nu / 2 of its lowest scores."""
    total = Fraction(0)
    cap = Fraction(float(loss_weights(data, "uniform")[0]))
    for sign in (1, -1):
        rows = data.X[data.y == sign].tolist()
        scores = sorted(
            sign * sum((a * Fraction(x) for a, x in zip(w, row, strict=True)), Fraction(0))
            for row in rows
        )
        left = Fraction(nu) / 2
        for score in scores:
            share = min(left, cap)
            total, left = total - share * score, left - share
    return total
