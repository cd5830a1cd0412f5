"""What a cut may remove, and rays of a cone, against all corners and all sets of rows."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.cuts import (
    CuttingPlaneResult,
    FaceProgram,
    Kind,
    PolarProblem,
    Relaxation,
    exposed_points,
    extreme_rays,
    face_through,
    facial,
    polar_problem,
    steps_to_norm,
)
from tests.inside.formulations import ties_at
from tests.references.polytope_corners import corners, gauss
from tests.support.covering import FULL
from tightmargin.cuts import Cut, cutting_plane, facial_cut
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range

ROUNDING = 1e-9
INSTANCES = [(7, 24, 2, 0.5), (5, 20, 2, 0.9), (6, 16, 3, 0.4), (8, 18, 3, 0.6)]


@functools.cache
def instance(seed: int, n: int, d: int, share: float) -> tuple[TrainingData, float, np.ndarray]:
    data = gauss(seed, n, d)
    nu = share * nu_range(data).nu_bar
    return data, nu, corners(data, nu, np.full(n, 1 / n))


@functools.cache
def loop(seed: int, n: int, d: int, share: float, way: str) -> CuttingPlaneResult:
    data, nu, every = instance(seed, n, d, share)
    options = {"lifted": {"space": "lifted"}, "literal": {"strategy": "literal"}}.get(way, {})
    return cutting_plane(data, nu=nu, starts=1, debug_solution=every, **options)


def removed(cut: Cut, problem: PolarProblem, weights: np.ndarray) -> np.ndarray:
    """Which weights a cut removes, with the b, rho and xi that are best for them."""
    points = [problem.point(w) for w in weights]
    return np.array([cut.violation(p) > ROUNDING * cut.size_at(p) for p in points], dtype=bool)


@pytest.mark.parametrize(
    ("case", "way"),
    [
        (case, way)
        for k, case in enumerate(INSTANCES)
        for j, way in enumerate(("projected", "lifted", "literal"))
        if FULL or way == "literal" or (k + j) % 2 == 0
    ],
)
def test_no_cut_of_a_loop_removes_a_corner_longer_than_its_gamma(
    case: tuple[int, int, int, float], way: str
) -> None:
    """At vertices that earlier cuts made as well; and the longest corner is what comes out."""
    _, _, every = instance(*case)
    found = loop(*case, way)
    assert found.proven, found.message
    assert found.best.objective == pytest.approx(1 / np.linalg.norm(every, axis=1).max(), rel=1e-9)
    assert len(found.cuts) < 5 or any(cut.origin.parents for cut in found.cuts)
    length = np.linalg.norm(every, axis=1)
    gone = {cut.number: removed(cut, found.problem, every) for cut in found.cuts}
    for cut in found.cuts:
        own = gone[cut.number]
        assert not own[length > cut.origin.gamma * (1 + ROUNDING)].any()
        if cut.kind is Kind.FACIAL:  # nor one that the cuts before it have left
            left = ~np.any([gone[number] for number in cut.origin.parents], axis=0)
            assert left.any()
            assert not own[left].any()


@pytest.mark.parametrize("depth", [-1e-9, 5e-7, np.inf, 2e-6])
def test_a_facial_cut_is_refused_where_its_depth_is_below_1e_6_or_unknown(
    depth: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, nu, every = instance(8, 18, 3, 0.6)
    problem = polar_problem(data, nu=nu)
    program = FaceProgram(Relaxation(problem, 1.0, "primal", rebuilds=False))
    face = face_through(problem, problem.onto_boundary(np.array([0.3, -0.8, 0.5])))
    assert not face.corner
    monkeypatch.setattr(facial, "facial_depth", lambda *_: depth)
    cut = facial_cut(program, face, (), 1.0)
    assert (cut is None) == (depth != 2e-6)
    corner = face_through(problem, every[0])
    assert corner.corner
    assert facial_cut(program, corner, (), 1.0) is None


def rays_by_trying(rows: np.ndarray) -> np.ndarray:
    """Every set of k - 1 independent rows makes a line; those of its two rays that are inside."""
    k, found = rows.shape[1], []
    for chosen in itertools.combinations(range(len(rows)), k - 1):
        _, size, right = np.linalg.svd(rows[list(chosen)])
        if k == 1 or size[-1] > 1e-10:
            found += [r for r in (right[-1], -right[-1]) if (rows @ r <= 1e-9).all()]
    distinct = np.unique(np.round(found, 7), axis=0, return_index=True)[1]
    return np.array(found)[distinct]


@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), more=st.integers(0, 5), whole=st.booleans())
@settings(max_examples=150 if FULL else 60)
def test_the_rays_of_a_cone_are_those_of_every_set_of_rows(
    seed: int, k: int, more: int, whole: bool
) -> None:
    rng = np.random.default_rng(seed)
    inside = rng.standard_normal(k)
    rows = rng.integers(-2, 3, (k + more, k)) if whole else rng.standard_normal((k + more, k))
    rows = rows.astype(float)
    rows = rows[np.abs(rows @ inside) > 1e-3]
    rows = -rows * np.sign(rows @ inside)[:, None]  # the cone has interior points
    found = extreme_rays(rows) if len(rows) else None
    if np.linalg.matrix_rank(rows, tol=1e-9) < k:
        assert found is None, "a cone with a line in it has no rays to name"
        return
    assert found is not None
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(found)))
    assert (rows @ found.T <= 1e-7).all()
    expected = rays_by_trying(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    nearest = (expected @ found.T).max(axis=1)
    assert nearest.min() > 1 - 1e-9, "a ray is missing: cuts of this cone would be wrong"
    assert len(found) >= len(expected)
    if not whole:  # rows in general position: no ray is named that is not extreme
        assert len(found) == len(expected)


def test_a_step_ends_on_the_sphere() -> None:
    rng = np.random.default_rng(0)
    for share in (1e-9, 0.1, 10.0):
        vertex, rays = rng.standard_normal(3), rng.standard_normal((6, 3))
        gamma = float(np.linalg.norm(vertex)) * (1 + share)
        steps = steps_to_norm(vertex, rays, gamma)
        assert (steps > 0).all()
        ends = np.linalg.norm(vertex + steps[:, None] * rays, axis=1)
        assert ends == pytest.approx(np.full(6, gamma), rel=1e-12)
        assert steps_to_norm(vertex, np.zeros((1, 3)), gamma)[0] == np.inf


def test_points_of_a_face_are_points_of_the_set_even_when_they_are_a_sample() -> None:
    """Twelve copies of a point are more ties than are listed; h of each point's face is h."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((6, 2)), np.tile([[2.0, 0.5]], (12, 1))])
    y = np.r_[1.0, 1.0, 1.0, -np.ones(15)]
    data = TrainingData(X, y)
    problem = polar_problem(data, nu=0.5 * nu_range(data).nu_bar)
    w = problem.onto_boundary(np.array([1.0, 0.2]))
    points = exposed_points(problem.hulls, w, ties_at(problem.hulls, w))
    assert len(points) >= 1
    directions = rng.standard_normal((200, 2))
    level = np.array([problem.value(v) * np.linalg.norm(v) for v in directions])
    assert (directions @ points.T <= level[:, None] + 1e-12).all()
    assert points @ w == pytest.approx(np.ones(len(points)), abs=1e-5)
