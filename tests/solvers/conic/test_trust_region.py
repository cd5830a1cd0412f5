"""Newton's method in a trust region on functions whose minimum is known."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.inside.solvers import newton, quasi_newton

Array = np.ndarray


def rosenbrock(x: Array) -> tuple[float, Array]:
    a, b = x
    slope = [-400 * a * (b - a * a) - 2 * (1 - a), 200 * (b - a * a)]
    return float(100 * (b - a * a) ** 2 + (1 - a) ** 2), np.array(slope)


def rosenbrock_hessian(x: Array) -> Array:
    a, b = x
    return np.array([[1200 * a * a - 400 * b + 2, -400 * a], [-400 * a, 200.0]])


def bowl(x: Array) -> tuple[float, Array]:
    """Least value -1 wherever the norm is 1; a saddle at 0, as turning x changes nothing."""
    square = float((x * x).sum())
    return square * square - 2 * square, 4 * (square - 1) * x


def bowl_hessian(x: Array) -> Array:
    flat = x.ravel()
    return 4 * (flat @ flat - 1) * np.eye(flat.size) + 8 * np.outer(flat, flat)


def test_the_valley_of_rosenbrock_ends_at_one() -> None:
    found = newton(rosenbrock, rosenbrock_hessian, np.array([-1.2, 1.0]))
    assert found.settled
    assert found.point == pytest.approx([1.0, 1.0], abs=1e-9)
    assert found.value == pytest.approx(rosenbrock(found.point)[0], abs=1e-20)


def test_negative_curvature_and_a_flat_direction_do_not_stop_it() -> None:
    found = newton(bowl, bowl_hessian, np.full((2, 3), 0.05))
    assert found.settled
    assert np.linalg.norm(found.point) == pytest.approx(1.0, abs=1e-7)
    assert found.value == pytest.approx(-1.0, abs=1e-14)


def test_lbfgs_finds_the_same() -> None:
    found = quasi_newton(bowl, np.full((2, 3), 0.05))
    assert found.value == pytest.approx(-1.0, abs=1e-12)
    assert found.point.shape == (2, 3)


@pytest.mark.parametrize("late", [True, False])
def test_a_deadline_that_is_past_leaves_the_start(late: bool) -> None:
    deadline = time.perf_counter() + (-1.0 if late else 1e6)
    start = np.array([-1.2, 1.0])
    found = newton(rosenbrock, rosenbrock_hessian, start, deadline)
    assert found.settled is not late
    assert np.array_equal(found.point, start) is late
    other = quasi_newton(rosenbrock, start, deadline)
    assert (other.value > 1e-6) is late
