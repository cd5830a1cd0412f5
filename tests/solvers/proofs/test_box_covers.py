"""What the kernel lets pass of a cover by boxes: whatever its numbers, no bound above the truth.

Concave objectives, reverse convex rows, and rows and spheres that bend the other way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import tightmargin as tm
from tests.inside.cuts import BoxSearch, closed_root, read_concave
from tests.inside.cuts import root_box_root_box as root_box
from tests.inside.solvers import (
    BoxCover,
    BoxMultipliers,
    Directions,
    LinearLimit,
    LowerBound,
    SquareLimit,
    StandardForm,
    cover_bound,
    proven_limits,
    squares_of,
    standard_form,
)
from tests.references.concave_truth import least_concave, least_lrcp, vertices
from tests.support.concave_models import concave_model, lrcp_model, random_polytope, semidefinite
from tests.support.covering import FULL, covering
from tightmargin.solvers import Verdict

Array = NDArray[np.float64]
Searched = tuple[StandardForm, BoxCover]


def searched(model: pyo.ConcreteModel, *, closed: bool = False) -> Searched:
    """A model and the finished cover of a search."""
    form = standard_form(model)
    program = read_concave(form)
    root = closed_root(program, seed=0) if closed else root_box(program)
    start = root.known if closed else None
    found = BoxSearch(program, root, start=start).run(node_limit=2000)
    return form, found.cover.cover(program.directions, root, len(form.rows))


def polytope_case(seed: int, kind: str, n: int = 3) -> tuple[pyo.ConcreteModel, float]:
    """Beside vertices that are enumerated."""
    rng = np.random.default_rng(seed)
    if kind == "concave":
        polytope, Q = random_polytope(rng, n, 9), semidefinite(rng, n, n)
        c = rng.normal(size=n)
        truth = least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x))
        return concave_model(polytope, Q, c), truth
    polytope, c = random_polytope(rng, n, 8), rng.normal(size=n)
    Q, line = semidefinite(rng, n, n), rng.normal(size=n)
    side = 0.7 * max(float(x @ Q @ x + line @ x) for x in vertices(*polytope.rows))
    truth = least_lrcp(*polytope.rows, c, Q, line, side)
    return lrcp_model(polytope, c, Q, line, side), truth


def circle_case(seed: int, kind: str) -> tuple[pyo.ConcreteModel, float]:
    """A disc or circle cut by a random row, and its optimum by looking at every angle."""
    rng = np.random.default_rng(seed)
    c, a, side = rng.normal(size=2), rng.normal(size=2), float(rng.uniform(-0.3, 0.5))
    radius = float(2.0 ** rng.integers(-8, 9)) if kind != "disc" else 1.0
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2))
    square, line = m.x[0] ** 2 + m.x[1] ** 2, c[0] * m.x[0] + c[1] * m.x[1]
    m.row = pyo.Constraint(expr=a[0] * m.x[0] + a[1] * m.x[1] <= side * radius)
    # Where the row meets the circle, besides the angles that it leaves.
    middle, along = a * side / (a @ a), np.array([-a[1], a[0]]) / np.linalg.norm(a)
    half = math.sqrt(max(1 - float(middle @ middle), 0.0))
    angles = np.linspace(0.0, 2 * np.pi, 200_001)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.vstack([circle[circle @ a <= side], middle + np.outer([-half, half], along)])
    bent = int(kind == "disc")
    m.norm = pyo.Constraint(expr=square <= 1 if bent else square == radius**2)
    m.goal = pyo.Objective(expr=line - bent * (2 * square + m.x[0] ** 2))
    return m, radius * float((points @ c - bent * (2 + points[:, 0] ** 2)).min())


@cache
def case(kind: str, seed: int) -> tuple[StandardForm, BoxCover, float]:
    round_one = kind not in ("concave", "reverse")
    model, truth = circle_case(seed, kind) if round_one else polytope_case(seed, kind)
    return *searched(model, closed=round_one), truth


CASES = [("concave", 1), ("reverse", 3), ("scaled circle", 0), ("disc", 2)]
CASES += [(kind, seed + 1) for kind, seed in CASES] if FULL else []
ROOM = 1e-8  # what the truth itself is known to, relative


def is_true(found: object, truth: float) -> bool:
    """Whether a statement about a model that has a point may be made."""
    most = truth + ROOM * abs(truth)
    return found is None or (isinstance(found, LowerBound) and found.varying <= most)


def changed(cover: BoxCover, **parts: Any) -> BoxCover:
    return replace(cover, multipliers=replace(cover.multipliers, **parts))


def lies(cover: BoxCover, size: float, rng: np.random.Generator) -> Iterator[BoxCover]:
    """Multipliers; directions that are no eigenvectors, only ways to write a model; boxes."""
    given, rows = cover.multipliers, cover.multipliers.rows.copy()
    sides = given.sides + size * rng.normal(size=given.sides.shape)
    slopes = given.slopes + size * rng.normal(size=given.slopes.shape)
    rows.data = rows.data * (1 + size * rng.normal(size=len(rows.data)))
    for parts in ({"sides": sides}, {"slopes": slopes}, {"rows": rows}, {"rows": -rows}):
        yield changed(cover, **parts)
    yield changed(cover, rows=sp.csr_matrix(rows), sides=np.abs(sides), slopes=slopes)
    known = cover.directions
    vectors = known.vectors + size * rng.normal(size=known.vectors.shape)
    weights = known.weights + size * rng.normal(size=known.weights.shape)
    for parts in (
        {"vectors": vectors}, {"weights": np.abs(weights)}, {"weights": np.zeros_like(weights)},
        {"vectors": vectors, "weights": weights},
    ):  # fmt: skip
        yield replace(cover, directions=replace(known, **parts))
    axis = rng.integers(0, known.vectors.shape[0], size=len(cover.axis))
    yield replace(cover, at=cover.at + size * rng.normal(size=len(cover.at)))
    yield replace(cover, axis=np.where(cover.axis < 0, -1, axis))
    yield replace(cover, choice=rng.integers(0, len(given.mu), size=len(cover.choice)))


@pytest.mark.parametrize(("kind", "seed"), CASES)
def test_numbers_that_lie_prove_less_and_nothing_false(kind: str, seed: int) -> None:
    form, cover, truth = case(kind, seed)
    honest, rng = cover_bound(form, cover), np.random.default_rng(7)
    assert is_true(honest, truth)
    assert honest.varying >= truth - 3e-6 * abs(truth)
    found = [
        cover_bound(form, forged)
        for size in (1e-15, 1e-9, 1e-4, 1.0, 1e6)
        for _ in range(8 if FULL else 2)
        for forged in lies(cover, size, rng)
    ]
    assert all(is_true(one, truth) for one in found)
    kept = [one.varying for one in found if isinstance(one, LowerBound)]
    assert len(kept) > 20
    assert len(kept) < len(found) or min(kept) < honest.varying
    # Limits and cutoffs are proven, and not believed.
    linear = [limit for limit in cover.limits if isinstance(limit, LinearLimit)]
    limits = [[replace(limit, sign=-limit.sign) for limit in linear], []]
    for factor in (0.0, -1.0, 0.5, 2.0, 1e9, np.nan):
        limits.append([replace(limit, y=factor * limit.y) for limit in linear])
    for some in limits:
        assert is_true(cover_bound(form, replace(cover, limits=tuple(some))), truth)
    for cutoff in (truth - 1.0, truth, truth + 1.0, -math.inf, math.nan):
        other = cover_bound(form, replace(cover, cutoff=float(cutoff)))
        assert is_true(other, truth)
        assert other is None or kind not in ("concave", "disc"), "that is for linear objectives"


@pytest.mark.parametrize("kind", ["concave", "reverse"])
def test_a_box_left_out_or_numbers_of_another_kind_prove_nothing(kind: str) -> None:
    form, cover, truth = case(kind, CASES[kind == "reverse"][1])
    given = cover.multipliers
    for leaf in np.flatnonzero(cover.axis < 0)[:5].tolist():
        choice = cover.choice.copy()
        choice[leaf] = -1
        assert cover_bound(form, replace(cover, choice=choice)) is None
    first = np.flatnonzero(cover.axis >= 0)[0]
    for child in (cover.below[first], 0):  # one child twice and the other never, or the root again
        above = cover.above.copy()
        above[first] = child
        assert cover_bound(form, replace(cover, above=above)) is None
    # Without a price on the objective the same multipliers would say that there is no point.
    for mu in (0.0, 0.5, 2.0, -1.0, np.nan, np.inf):
        assert cover_bound(form, changed(cover, mu=np.full(len(given.mu), mu))) is None
    for part in ("slopes", "mu"):
        single = getattr(given, part).astype(np.float32)
        assert cover_bound(form, changed(cover, **{part: single})) is None
    for number in (np.nan, np.inf, -np.inf, 1e300):
        assert cover_bound(form, changed(cover, slopes=given.slopes + number)) is None
        found = cover_bound(form, replace(cover, at=np.full(len(cover.at), number)))
        assert is_true(found, truth)
    assert is_true(cover_bound(form, changed(cover, slopes=given.slopes * 1e-320)), truth)
    wide = sp.csr_matrix((given.rows.shape[0], len(form.rows) + 1))
    assert cover_bound(form, changed(cover, rows=wide)) is None
    for column in (len(form.rows), 10**6, -1):  # rows that are not there
        rows = given.rows.copy()
        rows.indices[0] = column
        assert cover_bound(form, changed(cover, rows=rows)) is None


def test_a_little_convexity_is_counted() -> None:
    """min -x^2 + e y^2 - y over [0, 1]^2, taken for -x^2 - y: the e y^2 is charged."""
    for e in (1e-15, 1e-6, 1e-2):
        model = pyo.ConcreteModel()
        model.x, model.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
        model.goal = pyo.Objective(expr=-(model.x**2) - model.y)
        _, cover = searched(model)
        for sign in (1.0, -1.0):
            model.goal.set_value(-(model.x**2) + sign * e * model.y**2 - model.y)
            found, truth = cover_bound(standard_form(model), cover), -2 + sign * e
            assert truth - 3 * e - 1e-6 <= found.varying <= truth


def test_multipliers_that_lie_over_columns_without_limits() -> None:
    """min t - x^2 with t >= 0.3 x and t >= -x - 0.1 for x in [-1, 2]: -3.4 at x = 2."""
    model = pyo.ConcreteModel()
    model.x, model.t = pyo.Var(bounds=(-1, 2)), pyo.Var()
    model.steep = pyo.Constraint(expr=model.t >= 0.3 * model.x)
    model.flat = pyo.Constraint(expr=model.t >= -model.x - 0.1)
    model.goal = pyo.Objective(expr=model.t - model.x**2)
    form, cover = searched(model)
    honest = cover_bound(form, cover)
    assert -3.4 * (1 + 1e-6) <= honest.varying <= -3.4 * (1 - 1e-15)
    rng, given = np.random.default_rng(2), cover.multipliers
    for size in (1e-14, 1e-9, 1e-3, 1.0) * (20 if FULL else 3):
        rows = given.rows.copy()
        rows.data = rows.data + size * rng.normal(size=len(rows.data))
        slopes = given.slopes + size * rng.normal(size=given.slopes.shape)
        for parts in ({"rows": rows}, {"slopes": slopes}, {"mu": 1 - given.mu}):
            found = cover_bound(form, changed(cover, **parts))
            assert found is None or found.varying <= -3.4 * (1 - 1e-15)


def test_squares_are_refused_where_numbers_would_be_lost() -> None:
    form, cover, _ = case(*CASES[0])
    given = cover.directions
    for factor in (1e-200, 1e200, np.nan):
        assert squares_of(form, replace(given, vectors=given.vectors * factor)) is None
    for kind in (np.float32, complex):
        assert squares_of(form, replace(given, weights=given.weights.astype(kind))) is None
    assert squares_of(form, Directions(given.vectors, given.weights, ((0, 1),))) is None
    other, reverse, _ = case(*CASES[1])
    rows = reverse.directions.rows
    for wrong in (((5, 1),), ((rows[0][0], -rows[0][1]),), ((rows[0][0], 2),)):
        assert squares_of(other, replace(reverse.directions, rows=wrong)) is None
    # x^2 taken for nothing, |x| <= 2^-600: it leaves up to 2^-1200, which no double is.
    nothing = squares_of(form, Directions(np.zeros((form.n, 0)), np.zeros((1, 0))))
    assert (nothing.excess_within(np.full(form.n, 2.0**-600)) > 0).all()
    assert (nothing.excess_within(np.zeros(form.n)) == 0).all()


UNITS = covering(["objective", "variables"], [-400, -300, -60, -20, 0, 20, 60, 300, 400])


@pytest.mark.parametrize(("what", "power"), UNITS)
def test_units_never_make_a_false_verdict(what: str, power: int) -> None:
    """Exact powers of two, so that the truth is known: at any of them it is right or unproven."""
    unit, price = (2.0**power, 1.0) if what == "variables" else (1.0, 2.0**power)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(-unit, 2 * unit))
    model.row = pyo.Constraint(expr=model.x[0] + 2 * model.x[1] <= 4 * unit)
    squares = -(model.x[0] ** 2) - model.x[1] ** 2 + unit * model.x[0]
    model.goal = pyo.Objective(expr=price * squares)
    truth = -6.0 * price * unit**2
    try:
        result = tm.solve(model, method="branch-and-cut")
    except ValueError:  # numbers that the reader refuses
        assert abs(power) > 20
        return
    certificate = result.certificate
    if certificate.verdict is Verdict.CERTIFIED:
        assert result.objective == pytest.approx(truth, rel=2e-6)
    assert certificate.bound is None or certificate.bound <= truth * (1 - 1e-12)
    assert abs(power) > 20 or certificate.verdict is Verdict.CERTIFIED, certificate.reason


def test_an_entry_that_is_there_twice_is_one_number() -> None:
    """Terms of 2^55 that cancel: their products with 0.1 cancel to something else."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.row = pyo.Constraint(expr=(0, 0.1 * model.x, 0.1))
    model.goal = pyo.Objective(expr=-(model.x**2))
    form, cover = searched(model)
    none = np.array([-1])
    one = replace(cover, axis=none, at=np.zeros(1), below=none, above=none, choice=none + 1)
    rng, apart = np.random.default_rng(0), 0
    for _ in range(30):
        large = 2.0 ** rng.integers(53, 62) * (1 + rng.random())
        second, third = rng.normal(size=2) * large * 2.0**-52
        numbers = np.array([large, second, -large, third])
        rows = sp.csr_matrix((numbers, np.zeros(4, dtype=int), [0, 4]), shape=(1, 1))
        slope = -float((rows @ form.A).toarray()[0, 0])
        apart += abs(slope) > 1
        multipliers = BoxMultipliers(np.ones(1), rows, np.zeros((1, 0)), np.array([[slope]]))
        assert is_true(cover_bound(form, replace(one, multipliers=multipliers)), -1.0)
    assert apart > 8


def test_convex_rows_and_cutoffs_limit_columns() -> None:
    """min x + y, x, y >= 0, x + y >= 1, 4 x^2 + y^2 <= 9, x^2 + y^2 >= 1/4."""
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    model.row = pyo.Constraint(expr=model.x + model.y >= 1)
    model.oval = pyo.Constraint(expr=4 * model.x**2 + model.y**2 <= 9)
    model.far = pyo.Constraint(expr=model.x**2 + model.y**2 >= 0.25)
    model.goal = pyo.Objective(expr=model.x + model.y)
    form = standard_form(model)
    squares = squares_of(form, read_concave(form).directions)
    number = int(np.flatnonzero((squares.weights[1:] < 0).any(axis=1))[0])
    columns, directions = proven_limits(form, squares, (SquareLimit(number),))
    assert columns[1] == pytest.approx([1.5, 3.0], rel=1e-14)
    assert (columns[1] >= [1.5, 3.0]).all()
    assert directions[0] == pytest.approx([-1.5, -3.0], rel=1e-14)
    for wrong in (1 - number, 7, -1, True):
        same, _ = proven_limits(form, squares, (SquareLimit(wrong),))
        assert not np.isfinite(same[1]).any()
    limit = LinearLimit(False, 0, -1, np.zeros(0, dtype=np.int64), np.zeros(0), 1.0)
    columns, _ = proven_limits(form, squares, (limit,), 2.5)
    assert columns[1][0] == pytest.approx(2.5)
    assert columns[1][0] >= 2.5
    doubled, _ = proven_limits(form, squares, (replace(limit, price=2.0),), 2.5)
    assert doubled[1][0] >= 2.5
    # Without a cutoff, or with a price that is no power of 2, a price proves nothing.
    for price, cutoff in ((1.0, math.inf), (3.0, 2.5), (-1.0, 2.5), (math.nan, 2.5), (0.5, 2.5)):
        columns, _ = proven_limits(form, squares, (replace(limit, price=price),), cutoff)
        assert columns[1][0] == math.inf, (price, cutoff)
