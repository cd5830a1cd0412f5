"""Every search below nu_bar beside optima found otherwise, and beside the other searches.

tests/soundness/cut_searches.py asks 300 instances; each search's own files hold what only it does.
"""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.inside.cuts import CuttingPlaneResult
from tests.inside.formulations import loss_weights
from tests.inside.solvers import StopReason
from tests.references.extended_nu import (
    assert_values_are_the_objective,
    least_on_circle,
    nearest_facet,
)
from tests.references.polytope_corners import gauss
from tests.references.reference_solutions import INTERCEPTS, points
from tests.soundness.cut_searches import WAYS, Instance, faults, instance
from tests.support.covering import FULL, covering
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.cuts import branch_and_cut, cutting_plane, hull_search, verify_cut
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range

TOLERANCE = 1e-6  # the default of each search
FAST = {"branch_and_cut": branch_and_cut, "hull_search": hull_search}


def hold(found: Any, optimum: float) -> None:
    """Proven beside an optimum known otherwise; both ends only ever improve, around it."""
    assert found.proven, found.message
    assert found.stop is StopReason.PROVEN
    best = found.best.objective
    boxes = getattr(found, "engine", "") == "branch_and_cut"
    assert best == pytest.approx(optimum, rel=TOLERANCE if boxes else 1e-8)
    assert best >= optimum * (1 - 1e-9)
    assert found.bound <= optimum * (1 + 1e-9)
    assert best - found.bound <= 1.001 * TOLERANCE * best
    lower, upper = ([getattr(state, end) for state in found.trace] for end in ("lower", "upper"))
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert lower[-1] == found.bound
    assert upper[-1] == pytest.approx(best, rel=1e-8)
    assert max(lower) <= optimum * (1 + 1e-9)
    assert min(upper) >= optimum * (1 - 1e-9)
    if not isinstance(found, CuttingPlaneResult):
        steps = [state.steps for state in found.trace]
        assert steps == sorted(steps)
        assert steps[-1] == found.steps
        return
    assert "exact rational bound" in found.proof
    assert len(found.trace) >= len(found.cuts)
    solves = [state.lp_solves for state in found.trace]
    assert solves == sorted(solves)
    assert solves[-1] == found.lp_solves
    # No cut gives away more than the tolerance says.
    given_away = max((cut.origin.gamma for cut in found.cuts), default=0.0) * best
    assert given_away <= (1 + found.tolerance) * (1 + 1e-12)


# --- the optimum ---------------------------------------------------------------------------------


on_circle = functools.cache(least_on_circle)
GRID = TrainingData(np.random.default_rng(3).integers(-2, 3, (16, 2)), np.repeat([1.0, -1.0], 8))
PLANE = points("overlapping", 1, n=10)


def weights_of(data: TrainingData, balance: str) -> Any:
    if balance != "given":
        return balance
    weights = np.random.default_rng(0).uniform(0.2, 1.0, data.n)
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("way", "d", "mode", "balance", "kind"),
    covering(
        WAYS, (1, 2, 3), INTERCEPTS, ("uniform", "balanced", "given"),
        ("overlapping", "unbalanced"),
        allowed=lambda way, d, mode, *_: way in FAST or d + (mode == "penalised") < 4,
    ),
)  # fmt: skip
def test_it_is_the_nearest_of_all_facets(
    way: str, d: int, mode: str, balance: str, kind: str
) -> None:
    data = points(kind, 5, n=9, d=d)
    weights = weights_of(data, balance)
    caps = loss_weights(data, weights)
    nu = below_nu_bar(data, 0.6, class_balance=weights, intercept=mode)
    found = WAYS[way](data, nu=nu, class_balance=weights, intercept=mode)
    hold(found, nearest_facet(data, mode, nu, caps))
    assert_values_are_the_objective(found, data, mode, nu, caps)
    assert set(found.best.values) == {"w", "rho", "xi"} | ({"b"} if mode != "none" else set())
    if mode != "none":  # the point meets the rows, and its loss is the objective
        w, b, rho, xi = (found.best.values[name] for name in ("w", "b", "rho", "xi"))
        assert (data.y * (data.X @ w + b) - rho + xi >= -1e-12).all()
        assert -nu * rho + caps @ xi == pytest.approx(found.best.objective, abs=1e-12)
    for cut in found.cuts if isinstance(found, CuttingPlaneResult) else ():
        verify_cut(cut, found.problem, found.cuts)


# Each of the first ended "numerical" once: next to nu_bar, with equal points, at nu_max.
LOST = (0, 13, 16, 20, 33, 36, 44, 60, 85)
OTHERS = (1, 5, 6, 18, 25, 34)


def drawn(number: int) -> Instance:
    found = instance(1, number)
    assert found is not None
    return found


@pytest.mark.parametrize("number", LOST + (OTHERS if FULL else OTHERS[:2]))
def test_every_search_proves_the_same_optimum(number: int) -> None:
    wrong, ends = faults(drawn(number))
    assert wrong == []
    assert all(end.endswith("proven") for end in ends), ends


def test_the_lift_is_left_where_a_class_gives_all_its_weight() -> None:
    """At nu_max the level of that class may rise at no cost: Q has no end there, and P has."""
    own = drawn(36)
    words = {"nu": own.nu, "intercept": own.intercept}
    found = cutting_plane(own.data, space="lifted", **words)
    assert found.space == "projected"
    assert found.best.objective == pytest.approx(branch_and_cut(own.data, **words).objective)


# --- laws ----------------------------------------------------------------------------------------


@functools.cache
def plain(way: str, d: int = 2) -> tuple[TrainingData, float, Any]:
    data = gauss(7, 24, 2) if d == 2 else cloud(1, 30, 3)
    nu = below_nu_bar(data, 0.5)
    return data, nu, WAYS[way](data, nu=nu)


@pytest.mark.parametrize(
    ("way", "factor"),
    [
        *itertools.product(FAST, (1e-8, 0.3, 1e7)),
        *zip(("projected", "lifted", "literal"), (1e-8, 1e-3, 1e8), strict=True),
    ],
)
def test_scaled_points_scale_both_ends(way: str, factor: float) -> None:
    data, nu, one = plain(way, 3 if way in FAST else 2)
    scaled = WAYS[way](TrainingData(factor * data.X, data.y), nu=nu)
    hold(scaled, factor * hull_search(data, nu=nu).objective)
    assert scaled.bound == pytest.approx(factor * one.bound, rel=1e-6)
    if way in ("projected", "literal"):
        for cut, other in zip(one.cuts, scaled.cuts, strict=True):
            assert other.coefficients["w"] == pytest.approx(cut.coefficients["w"], abs=1e-6)
            assert other.rhs * factor == pytest.approx(cut.rhs, rel=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_shifted_and_repeated_points_change_nothing(way: str) -> None:
    """Repeated points are tied at every vertex: more of them than general position has."""
    data, nu, one = plain(way, 3 if way in FAST else 2)
    shift = np.resize([1e4, -3e4, 2e4], data.d)
    shifted = WAYS[way](TrainingData(data.X + shift, data.y), nu=nu)
    hold(shifted, shifted.best.objective)
    assert shifted.best.objective == pytest.approx(one.best.objective, rel=2e-6)
    if way not in FAST:
        data = gauss(4, 12, 2)
        nu = below_nu_bar(data, 0.5)
        one = hull_search(data, nu=nu)
    twice = TrainingData(np.vstack([data.X, data.X]), np.concatenate([data.y, data.y]))
    hold(WAYS[way](twice, nu=nu), one.objective)


@pytest.mark.parametrize("way", ["projected", "lifted", "literal"])
def test_points_on_a_grid_have_their_optimum(way: str) -> None:
    """Whole numbers: equal points, points on lines, masses that end between two scores."""
    for nu in (4 / 16, below_nu_bar(GRID, 0.6)):
        hold(WAYS[way](GRID, nu=nu), on_circle(GRID, "free", nu))


@pytest.mark.parametrize("way", WAYS)
def test_an_optimum_of_0_below_nu_bar_is_proven(way: str) -> None:
    """Equal points of both labels on a line between the classes: 0 is on the boundary of U."""
    X = [[0, 0], [0, 1], [0, 2], [1, 0], [0, 0], [0, 1], [0, 2], [-1, 1]]
    data = TrainingData(np.array(X, dtype=float), [1, 1, 1, 1, -1, -1, -1, -1])
    nu = below_nu_bar(data, 0.5)
    assert nu > 0.1
    found = WAYS[way](data, nu=nu)
    assert found.proven
    assert abs(found.best.objective) <= 1e-12
    assert abs(found.bound) <= 1e-10
    assert np.abs(found.best.values["w"]) == pytest.approx([1.0, 0.0], abs=1e-6)
    if isinstance(found, CuttingPlaneResult):
        assert found.best.objective == found.bound == found.gap == 0.0
    elif way == "branch_and_cut":
        assert found.relative_gap is None


@pytest.mark.parametrize("excess", [0.0, 4e-13, 9e-13])
@pytest.mark.parametrize("way", FAST)
def test_a_mass_that_is_nearly_a_multiple_of_the_caps_is_given_whole(
    way: str, excess: float
) -> None:
    """Beside h in fractions, on a line and in the plane: the sort leaves 1e-12 of a mass out."""
    for seed, d in itertools.product(range(6), (1, 2)):
        rng, y = np.random.default_rng(seed), np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
        data = TrainingData(rng.normal(size=(12, d)) + y[:, None], y)
        shares = [nu for nu in (2 / 12, 4 / 12, 6 / 12, 8 / 12) if nu_range(data).side(nu) < 0]
        if shares:
            assert bound_in_fractions(way, data, shares[-1] * (1 + excess)) > 0


@pytest.mark.parametrize("way", FAST)
def test_a_coordinate_next_to_the_mean_counts(way: str) -> None:
    """Far from 0, where what is left of it is as small as a rounding of the points."""
    looked_at = 0
    for seed, d in itertools.product(range(6), (1, 2)):
        rng, y = np.random.default_rng(seed), np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
        X = 1e6 + rng.normal(size=(12, d)) + 0.3 * y[:, None]
        for i in (0, 1):  # both take part at every direction
            X[i] = np.delete(X, i, axis=0).mean(axis=0) + (-1) ** i * 4e-9
        data = TrainingData(X, y)
        nu = below_nu_bar(data, 0.9)
        if nu > 0:  # not separable
            looked_at += bound_in_fractions(way, data, nu) > 0
    assert looked_at > 6


def bound_in_fractions(way: str, data: TrainingData, nu: float) -> float:
    """The bound of a search, which h at its own weight, in fractions, is not below."""
    found = FAST[way](data, nu=nu, absolute=0.0, tolerance=1e-9)
    w = [Fraction(x) for x in found.best.weight.tolist()]
    squared = sum((x * x for x in w), Fraction(0))
    assert squared * Fraction(found.bound) ** 2 <= risk_in_fractions(data, nu, w) ** 2
    return float(found.bound)


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
