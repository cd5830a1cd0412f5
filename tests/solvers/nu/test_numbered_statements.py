"""Takeda & Sugiyama's Theorem 8 and Lemmas 9 and 12, against lists of all corners."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

import tightmargin as tm
from tests.inside.experiments import deviation
from tests.references.reduced_hulls import all_vertices, level_by_lp
from tests.references.reference_solutions import points
from tightmargin.formulations import TrainingData


def planar(seed: int) -> tuple[TrainingData, float, np.ndarray]:
    """Points, a nu below nu_bar, and the facets of U as rows <normal, u> <= distance."""
    data = points("overlapping", seed, n=10)
    nu = 0.6 * tm.theory.nu_range(data).nu_bar
    corners = all_vertices(data, "free", nu, np.full(data.n, 1 / data.n))
    rows = np.unique(ConvexHull(corners).equations.round(12), axis=0)
    return data, nu, np.column_stack([rows[:, :-1], -rows[:, -1]])


def step(data: TrainingData, nu: float, w_ref: np.ndarray) -> np.ndarray:
    """The w of a corner that solves (9), by scipy's simplex."""
    n, d = data.n, data.d
    rows = np.column_stack([-data.y[:, None] * data.X, -data.y, np.ones(n), -np.eye(n)])
    found = linprog(
        np.r_[np.zeros(d + 1), -nu, np.full(n, 1 / n)],
        A_ub=rows, b_ub=np.zeros(n),
        A_eq=[np.r_[w_ref, np.zeros(n + 2)]], b_eq=[1.0],
        bounds=[(None, None)] * (d + 2) + [(0, None)] * n, method="highs-ds",
    )  # fmt: skip
    assert found.status == 0
    return found.x[:d]


@pytest.mark.parametrize("seed", range(2))
def test_theorem_8_ends_after_no_more_steps_than_corners_in_a_local_minimum(seed: int) -> None:
    """Each step is another corner (the normal of another facet of U), and lower than the last.

    The ends are facets that hold the foot of their own perpendicular, which are the local minima of
    the distance to the boundary; and every such facet is an end.
    """
    data, nu, facets = planar(seed)
    costs = np.full(data.n, 1 / data.n)
    ends = set()
    for angle in np.linspace(0, 2 * np.pi, 6, endpoint=False):
        w, seen = np.array([np.cos(angle), np.sin(angle)]), []
        for _ in range(len(facets) + 1):
            other = step(data, nu, w)
            length = float(np.linalg.norm(other))
            if length <= 1 + 1e-9:
                break
            w = other / length
            at = int(np.argmin(np.linalg.norm(facets[:, :2] - w, axis=1)))
            assert facets[at, :2] == pytest.approx(w, abs=1e-7)
            assert level_by_lp(data, "free", nu, costs, w) == pytest.approx(facets[at, 2], abs=1e-8)
            seen.append(at)
        else:
            pytest.fail("more steps than corners")
        assert len(set(seen)) == len(seen)
        assert (np.diff(facets[seen, 2]) < 0).all()
        ends.add(int(np.argmin(np.linalg.norm(facets[:, :2] - w, axis=1))))
    feet = facets[:, 2:] * facets[:, :2]
    inside = (feet @ facets[:, :2].T <= facets[:, 2] + 1e-12).all(axis=1)
    local = set(np.flatnonzero(inside).tolist())
    assert ends <= local
    for k in local:
        assert step(data, nu, facets[k, :2]) == pytest.approx(facets[k, :2], abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_lemma_9_below_nu_bar_nothing_outside_the_ball_is_lower_than_on_the_sphere(
    seed: int,
) -> None:
    """The least over ||w|| >= 1 is the nearest facet of U, listed, and so is that on the sphere."""
    data, nu, facets = planar(seed)
    nearest = facets[:, 2].min()
    assert nearest > 0
    for build in (tm.extended_nu_svc, tm.extended_nu_svc_reverse):
        assert tm.solve(build(data, nu=nu)).objective == pytest.approx(nearest, rel=1e-6)
    costs = np.full(data.n, 1 / data.n)
    draw = np.random.default_rng(seed)
    for _ in range(20):
        w = draw.normal(size=2)
        w *= draw.uniform(1.0, 3.0) / np.linalg.norm(w)
        longer = level_by_lp(data, "free", nu, costs, w)
        assert longer > nearest * np.linalg.norm(w) - 1e-9  # hence above it unless ||w|| = 1


def lemma_12(level: float, radius: float, m: int, c: float, delta: float) -> float:
    """The deviation as it is printed."""
    inner = 4 * c**2 * radius**2 / level**2 * math.log2(2 * m) - 1 + math.log(2 / delta)
    return math.sqrt(2 / m * inner)


@pytest.mark.parametrize("share", [-1.0, -0.3, 0.0, 0.6, 1.0])
def test_lemma_12_gives_the_deviation_of_theorem_3(share: float) -> None:
    """(w, b) / sqrt(1 + b^2) on (x, 1): never more than G, and as much where |b| = R."""
    m, R, level, c, delta = 50, 1.7, 0.2, 0.4, 0.05
    b = share * R
    homogeneous = lemma_12(level / math.sqrt(1 + b**2), math.sqrt(R**2 + 1), m, c, delta)
    through = deviation(-level, m=m, radius=R, c=c, delta=delta)
    assert homogeneous <= through * (1 + 1e-12)
    assert (homogeneous == pytest.approx(through, rel=1e-12)) == (abs(share) == 1.0)
