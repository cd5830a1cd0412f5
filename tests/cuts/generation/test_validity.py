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
