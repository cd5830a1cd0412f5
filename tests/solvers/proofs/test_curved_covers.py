"""Covers of models with convex quadratic rows, norms that are held, and cutoffs: never too high."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from tests.inside.cuts import BoxSearch, closed_root, read_concave
from tests.inside.solvers import (
    BoxCover,
    LinearLimit,
    LowerBound,
    SquareLimit,
    Squares,
    StandardForm,
    cover_bound,
    proven_limits,
    squares_of,
    standard_form,
)

Array = NDArray[np.float64]
ANGLES = np.linspace(0.0, 2 * np.pi, 200_001)


def circle_model(seed: int, kind: str) -> tuple[pyo.ConcreteModel, float]:
    """A model in the plane of a random row, and its optimum by looking at every angle."""
    rng = np.random.default_rng(seed)
    c, a, side = rng.normal(size=2), rng.normal(size=2), float(rng.uniform(-0.3, 0.5))
    radius = float(2.0 ** rng.integers(-8, 9)) if kind == "scaled" else 1.0
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2))
    square = model.x[0] ** 2 + model.x[1] ** 2
    model.row = pyo.Constraint(expr=a[0] * model.x[0] + a[1] * model.x[1] <= side * radius)
    # Where the row meets the circle, besides the angles that it leaves.
    middle, along = a * side / (a @ a), np.array([-a[1], a[0]]) / np.linalg.norm(a)
    half = math.sqrt(max(1 - float(middle @ middle), 0.0))
    chord = middle + np.outer(np.linspace(-half, half, 20001), along)
    circle = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    circle = np.vstack([circle[circle @ a <= side], chord[[0, -1]]])
    if kind == "concave":
        model.norm = pyo.Constraint(expr=square <= 1)
        model.goal = pyo.Objective(
            expr=c[0] * model.x[0] + c[1] * model.x[1] - 2 * square - model.x[0] ** 2
        )
        points = np.vstack([circle, chord])
        values = points @ c - 2 * (points**2).sum(axis=1) - points[:, 0] ** 2
        return model, float(values.min())
    model.norm = pyo.Constraint(expr=square == radius**2)
    model.goal = pyo.Objective(expr=c[0] * model.x[0] + c[1] * model.x[1])
    return model, radius * float((circle @ c).min())


def searched(model: pyo.ConcreteModel) -> tuple[StandardForm, BoxCover]:
    form = standard_form(model)
    program = read_concave(form)
    root = closed_root(program, seed=0)
    found = BoxSearch(program, root, start=root.known).run(node_limit=2000)
    return form, found.cover.cover(program.directions, root, len(form.rows))


def is_true(found: object, truth: float) -> bool:
    room = 1e-8 * abs(truth)
    return found is None or (isinstance(found, LowerBound) and found.varying <= truth + room)


CASES = [(kind, seed) for kind in ("equal", "scaled", "concave") for seed in range(4)]


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_a_finished_cover_proves_the_optimum(kind: str, seed: int) -> None:
    model, truth = circle_model(seed, kind)
    form, cover = searched(model)
    found = cover_bound(form, cover)
    assert isinstance(found, LowerBound)
    assert truth - 3e-6 * abs(truth) <= found.varying <= truth + 1e-8 * abs(truth)


@pytest.mark.parametrize(("kind", "seed"), CASES[::2])
def test_multipliers_that_lie_prove_nothing_false(kind: str, seed: int) -> None:
    model, truth = circle_model(seed, kind)
    form, cover = searched(model)
    given, rng = cover.multipliers, np.random.default_rng(seed)
    proven = 0
    for size in (1e-9, 1e-3, 1.0, 1e5):
        for _ in range(10):
            rows = given.rows.copy()
            rows.data = rows.data * (1 + size * rng.normal(size=len(rows.data)))
            changed = replace(
                given, rows=sp.csr_matrix(rows),
                sides=np.abs(given.sides + size * rng.normal(size=given.sides.shape)),
                slopes=given.slopes + size * rng.normal(size=given.slopes.shape),
            )  # fmt: skip
            found = cover_bound(form, replace(cover, multipliers=changed))
            assert is_true(found, truth)
            proven += found is not None
    for cutoff in (truth - 1.0, truth, truth + 1.0, -math.inf, math.nan):
        found = cover_bound(form, replace(cover, cutoff=float(cutoff)))
        assert is_true(found, truth)
    assert proven > 10


def test_weights_of_either_sign_are_only_a_way_to_write_a_model() -> None:
    """Directions and weights at random: what they miss of the matrices is paid for."""
    model, truth = circle_model(1, "equal")
    form, cover = searched(model)
    rng = np.random.default_rng(3)
    for _ in range(20):
        size = 10.0 ** rng.integers(-12, 2)
        given = cover.directions
        directions = replace(
            given, vectors=given.vectors + size * rng.normal(size=given.vectors.shape),
            weights=given.weights + size * rng.normal(size=given.weights.shape),
        )  # fmt: skip
        found = cover_bound(form, replace(cover, directions=directions))
        assert is_true(found, truth)


def test_a_cutoff_needs_a_linear_objective() -> None:
    model, _ = circle_model(2, "concave")
    form, cover = searched(model)
    assert isinstance(cover_bound(form, cover), LowerBound)
    assert cover_bound(form, replace(cover, cutoff=0.0)) is None


# --- limits ---------------------------------------------------------------------------------------


def two_columns() -> tuple[StandardForm, Squares]:
    """min x + y, x, y >= 0, x + y >= 1, 4 x^2 + y^2 <= 9, x^2 + y^2 >= 1/4."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    model.row = pyo.Constraint(expr=model.x + model.y >= 1)
    model.oval = pyo.Constraint(expr=4 * model.x**2 + model.y**2 <= 9)
    model.far = pyo.Constraint(expr=model.x**2 + model.y**2 >= 0.25)
    model.goal = pyo.Objective(expr=model.x + model.y)
    form = standard_form(model)
    squares = squares_of(form, read_concave(form).directions)
    assert squares is not None
    return form, squares


def test_a_convex_row_limits_its_directions_and_their_columns() -> None:
    form, squares = two_columns()
    number = int(np.flatnonzero((squares.weights[1:] < 0).any(axis=1))[0])
    columns, directions = proven_limits(form, squares, (SquareLimit(number),))
    assert columns[1] == pytest.approx([1.5, 3.0], rel=1e-14)
    assert (columns[1] >= [1.5, 3.0]).all()
    assert directions[0] == pytest.approx([-1.5, -3.0], rel=1e-14)
    for wrong in (1 - number, 7, -1, True):
        same, _ = proven_limits(form, squares, (SquareLimit(wrong),))
        assert not np.isfinite(same[1]).any()


def test_a_cutoff_limits_what_costs() -> None:
    form, squares = two_columns()
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
    limit = LinearLimit(False, 0, -1, *nothing, 1.0)
    columns, _ = proven_limits(form, squares, (limit,), 2.5)
    assert columns[1][0] == pytest.approx(2.5)
    assert columns[1][0] >= 2.5
    doubled, _ = proven_limits(form, squares, (replace(limit, price=2.0),), 2.5)
    assert doubled[1][0] >= 2.5
    # Without a cutoff, or with a price that is no power of 2, a price proves nothing.
    for price, cutoff in ((1.0, math.inf), (3.0, 2.5), (-1.0, 2.5), (math.nan, 2.5), (0.5, 2.5)):
        columns, _ = proven_limits(form, squares, (replace(limit, price=price),), cutoff)
        assert columns[1][0] == math.inf, (price, cutoff)
