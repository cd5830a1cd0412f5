"""What a cut may remove, against all corners of small instances found by brute force."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.inside.cuts import (
    CuttingPlaneResult,
    FaceProgram,
    Kind,
    PolarProblem,
    Relaxation,
    face_through,
    facial,
    polar_problem,
)
from tests.references.polytope_corners import corners, gauss, levels
from tests.support.covering import FULL
from tightmargin.cuts import Cut, concavity_cut, cutting_plane, facial_cut
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


@pytest.mark.parametrize("case", INSTANCES)
def test_a_cut_at_any_corner_keeps_all_that_is_longer_than_gamma(
    case: tuple[int, int, int, float],
) -> None:
    """Corners, and points of the surface between them; and it removes its own corner."""
    data, nu, every = instance(*case)
    problem, rng = polar_problem(data, nu=nu), np.random.default_rng(1)
    directions = rng.standard_normal((300, data.d))
    surface = directions / levels(data, nu, np.full(data.n, 1 / data.n), directions)[:, None]
    points = np.vstack([every, surface])
    length = np.linalg.norm(points, axis=1)
    kept = cut_away = 0
    for corner in every[:: max(1, len(every) // 40)]:
        own = float(np.linalg.norm(corner))
        for gamma in own * (1 + np.array([1e-6, 0.05, 0.5])):
            cut = concavity_cut(problem, corner, float(gamma))
            assert cut is not None
            gone = points @ cut.coefficients["w"] > cut.rhs * (1 + ROUNDING * np.sign(cut.rhs))
            assert not gone[length > gamma].any()
            kept += int((length > gamma).sum())
            cut_away += int(gone.sum())
            assert cut.violation({"w": corner}) > 0
    assert kept > 1000
    assert cut_away > 20


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
    for cut in found.cuts:
        gone = removed(cut, found.problem, every)
        assert not gone[length > cut.origin.gamma * (1 + ROUNDING)].any()


def test_no_facial_cut_removes_a_corner_that_its_cuts_have_left() -> None:
    facial = kept = 0
    for case in INSTANCES:
        _, _, every = instance(*case)
        found = loop(*case, "literal")
        gone = {cut.number: removed(cut, found.problem, every) for cut in found.cuts}
        for cut in found.cuts:
            if cut.kind is Kind.FACIAL:
                left = ~np.any([gone[number] for number in cut.origin.parents], axis=0)
                assert not gone[cut.number][left].any()
                facial, kept = facial + 1, kept + int(left.sum())
    assert facial > 5
    assert kept > 50


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
