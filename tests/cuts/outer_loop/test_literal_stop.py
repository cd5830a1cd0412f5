"""Algorithm 10's own stop, no face of P being left, against all corners and many directions."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.inside.cuts import (
    CuttingPlaneResult,
    Kind,
    PolarProblem,
    face_through,
    polar_problem,
    scaled_cut,
    tight_on,
    weight_on_a_face,
)
from tests.inside.formulations import support_value
from tests.references.polytope_corners import corners, gauss
from tightmargin.cuts import Cut, cutting_plane
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range

CASES = [(7, 24, 2, 0.5), (7, 30, 2, 0.3), (1, 20, 2, 0.1), (3, 22, 3, 0.3), (2, 20, 3, 0.3)]


@functools.cache
def case(seed: int, n: int, d: int, share: float) -> tuple[TrainingData, float]:
    data = gauss(seed, n, d)
    return data, share * nu_range(data).nu_bar


@functools.cache
def literal(*words: float) -> CuttingPlaneResult:
    data, nu = case(*words)
    return cutting_plane(data, nu=nu, strategy="literal")


def keeps(cuts: list[Cut], problem: PolarProblem, weight: np.ndarray) -> bool:
    values = problem.split(weight)
    return all(cut.violation(values) <= -1e-9 * cut.size_at(values) for cut in cuts)


@pytest.mark.parametrize("words", CASES)
def test_at_the_stop_no_corner_and_no_boundary_point_keeps_the_cuts(
    words: tuple[int, int, int, float],
) -> None:
    data, nu = case(*words)
    found = literal(*words)
    stop = found.no_face_left
    assert found.proven
    assert stop is not None
    assert stop.round <= len(found.cuts)
    assert stop.lp_solves <= found.lp_solves
    cuts, problem = list(found.cuts[: stop.round]), found.problem
    for corner in corners(data, nu, np.full(data.n, 1 / data.n)):
        assert not keeps(cuts, problem, corner)
    directions = np.random.default_rng(0).standard_normal((3000, data.d))
    assert not any(keeps(cuts, problem, problem.onto_boundary(w)) for w in directions)


@pytest.mark.parametrize("words", CASES)
def test_the_two_stops_have_the_same_optimum(words: tuple[int, int, int, float]) -> None:
    data, nu = case(*words)
    found, other = literal(*words), cutting_plane(data, nu=nu)
    assert found.best.objective == pytest.approx(other.best.objective, rel=1e-9)
    longest = np.linalg.norm(corners(data, nu, np.full(data.n, 1 / data.n)), axis=1).max()
    assert found.best.objective == pytest.approx(1 / longest, rel=1e-9)
    assert other.no_face_left is None
    assert other.faces == ()


@pytest.mark.parametrize("words", [(3, 22, 3, 0.3), (2, 20, 3, 0.3)])
def test_a_face_has_the_dimension_of_its_corners(words: tuple[int, int, int, float]) -> None:
    """All corners of P on which its rows are tight, listed by brute force."""
    data, nu = case(*words)
    found = literal(*words)
    every = corners(data, nu, np.full(data.n, 1 / data.n))
    on = [set(tight_on(face_through(found.problem, corner))) for corner in every]
    proper = 0
    for face in found.faces:
        if face.kind == "inside":
            assert (face.dimension, face.rows) == (data.d, ())
            continue
        own = every[[set(face.rows) <= rows for rows in on]]
        assert len(own) > 0
        assert np.linalg.matrix_rank(own - own[0], tol=1e-6) == face.dimension
        assert face.kind == ("corner" if face.dimension == 0 else "proper face")
        proper += face.kind == "proper face"
    assert proper > 0
    facial = [face.round for face in found.faces if face.cut == "facial"]
    assert facial == [cut.number for cut in found.cuts if cut.kind is Kind.FACIAL]
    assert found.to_json()["faces"][0]["rows"]


def square(problem: PolarProblem, half: float, sides: int = 4) -> list[Cut]:
    origin = literal(*CASES[0]).cuts[0].origin
    rows = [np.array(row) for row in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0])]
    return [
        scaled_cut(Kind.CONCAVITY, {"w": row}, half, origin).numbered(i, i)
        for i, row in enumerate(rows[:sides])
    ]


def test_a_polytope_of_cuts_inside_of_p_leaves_no_face() -> None:
    problem = literal(*CASES[0]).problem
    every = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    reach = max(support_value(problem.hulls, corner) for corner in every)
    inside, unit = np.zeros(2), 1 / reach
    assert weight_on_a_face(problem, square(problem, 0.999 / reach), inside, unit) is None
    for half, sides in ((1.001 / reach, 4), (0.5 / reach, 3), (0.5 / reach, 2), (0.5 / reach, 1)):
        cuts = square(problem, half, sides)
        left = weight_on_a_face(problem, cuts, inside, unit)
        assert left is not None
        assert support_value(problem.hulls, left) == pytest.approx(1.0, abs=1e-9)
        values = problem.split(left)
        assert all(cut.violation(values) <= 1e-9 * cut.size_at(values) for cut in cuts)
    assert weight_on_a_face(problem, [], inside, unit) is not None


def test_equal_points_are_tied_without_making_a_corner() -> None:
    data, _ = case(*CASES[0])
    twice = TrainingData(np.vstack([data.X, data.X]), np.r_[data.y, data.y])
    problem = polar_problem(twice, nu=0.21)
    edge = face_through(problem, problem.onto_boundary([0.3, 0.9]))
    assert edge.dimension == 1
    corner = cutting_plane(twice, nu=0.21).cuts[0].origin.vertex
    assert face_through(problem, corner).dimension == 0
