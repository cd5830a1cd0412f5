"""What the kernel lets pass of a cover by boxes: whatever its numbers, no bound above the truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import tightmargin as tm
from tests.inside.cuts import BoxSearch, read_concave
from tests.inside.cuts import root_box_root_box as root_box
from tests.inside.solvers import (
    BoxCover,
    BoxMultipliers,
    Directions,
    Infeasible,
    LowerBound,
    StandardForm,
    cover_bound,
    squares_of,
    standard_form,
)
from tests.references.concave_truth import least_concave, least_lrcp, vertices
from tests.support.concave_models import (
    concave_model,
    lrcp_model,
    random_polytope,
    semidefinite,
)
from tightmargin.solvers import Verdict

Array = NDArray[np.float64]


def searched(model: pyo.ConcreteModel) -> tuple[StandardForm, BoxCover]:
    """A model and the finished cover of a search."""
    form = standard_form(model)
    program = read_concave(form)
    root = root_box(program)
    found = BoxSearch(program, root).run(node_limit=2000)
    return form, found.cover.cover(program.directions, root, len(form.rows))


def concave_case(seed: int, n: int = 3) -> tuple[StandardForm, BoxCover, float]:
    rng = np.random.default_rng(seed)
    polytope, Q = random_polytope(rng, n, 9), semidefinite(rng, n, n)
    c = rng.normal(size=n)
    truth = least_concave(*polytope.rows, lambda x: float(c @ x - x @ Q @ x))
    return *searched(concave_model(polytope, Q, c)), truth


def lrcp_case(seed: int, n: int = 3) -> tuple[StandardForm, BoxCover, float]:
    rng = np.random.default_rng(seed)
    polytope, c = random_polytope(rng, n, 8), rng.normal(size=n)
    Q, line = semidefinite(rng, n, n), rng.normal(size=n)
    side = 0.7 * max(float(x @ Q @ x + line @ x) for x in vertices(*polytope.rows))
    truth = least_lrcp(*polytope.rows, c, Q, line, side)
    return *searched(lrcp_model(polytope, c, Q, line, side)), truth


CASES = [concave_case(1), concave_case(2), lrcp_case(3), lrcp_case(4)]
DOUBLE = 1e-9  # what the truth itself is known to, relative


def is_true(found: object, truth: float) -> bool:
    """Whether a statement about a model that has a point may be made."""
    if isinstance(found, Infeasible):
        return False
    return found is None or (
        isinstance(found, LowerBound) and found.varying <= truth + DOUBLE * abs(truth)
    )


@pytest.mark.parametrize("case", CASES)
def test_a_finished_cover_proves_the_optimum(case: tuple[StandardForm, BoxCover, float]) -> None:
    form, cover, truth = case
    found = cover_bound(form, cover)
    assert isinstance(found, LowerBound)
    assert is_true(found, truth)
    assert found.varying >= truth - 1e-6 * abs(truth)


def changed(cover: BoxCover, part: str, numbers: Any) -> BoxCover:
    return replace(cover, multipliers=replace(cover.multipliers, **{part: numbers}))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1e-12, 1e-4, 1.0, 1e6])
def test_multipliers_that_lie_prove_less_and_nothing_false(
    case: tuple[StandardForm, BoxCover, float], size: float
) -> None:
    form, cover, truth = case
    rng = np.random.default_rng(7)
    given = cover.multipliers
    honest = cover_bound(form, cover)
    assert isinstance(honest, LowerBound)
    seen = []
    for _ in range(8):
        for part in ("sides", "slopes"):
            numbers = getattr(given, part)
            noisy = changed(cover, part, numbers + size * rng.normal(size=numbers.shape))
            seen.append(cover_bound(form, noisy))
        rows = given.rows.copy()
        rows.data = rows.data * (1 + size * rng.normal(size=len(rows.data)))
        seen.append(cover_bound(form, changed(cover, "rows", rows)))
        seen.append(cover_bound(form, changed(cover, "rows", -rows)))
    assert all(is_true(found, truth) for found in seen)
    assert any(f is None or (isinstance(f, LowerBound) and f.varying < honest.varying)
               for f in seen)  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_leaf_left_out_proves_nothing(case: tuple[StandardForm, BoxCover, float]) -> None:
    form, cover, _ = case
    leaves = np.flatnonzero(cover.axis < 0)
    branches = np.flatnonzero(cover.axis >= 0)
    for leaf in leaves[:10].tolist():
        choice = cover.choice.copy()
        choice[leaf] = -1
        assert cover_bound(form, replace(cover, choice=choice)) is None
    if len(branches):
        # One child twice, and the other never: the boxes are no cover any more.
        above = cover.above.copy()
        above[branches[0]] = cover.below[branches[0]]
        assert cover_bound(form, replace(cover, above=above)) is None
        above[branches[0]] = 0
        assert cover_bound(form, replace(cover, above=above)) is None


@pytest.mark.parametrize("case", CASES)
def test_a_branch_that_is_moved_moves_the_boxes_too(
    case: tuple[StandardForm, BoxCover, float],
) -> None:
    form, cover, truth = case
    rng = np.random.default_rng(1)
    for _ in range(12):
        at = cover.at + rng.normal(size=len(cover.at)) * 10.0 ** rng.integers(-6, 2)
        axis = np.where(cover.axis < 0, -1, rng.integers(0, 3, size=len(cover.axis)))
        assert is_true(cover_bound(form, replace(cover, at=at)), truth)
        assert is_true(cover_bound(form, replace(cover, axis=axis)), truth)
        choice = rng.permutation(len(cover.multipliers.mu))[
            rng.integers(0, len(cover.multipliers.mu), size=len(cover.choice))
        ]
        assert is_true(cover_bound(form, replace(cover, choice=choice)), truth)


@pytest.mark.parametrize("case", CASES)
def test_limits_of_the_root_are_proven_and_not_believed(
    case: tuple[StandardForm, BoxCover, float],
) -> None:
    form, cover, truth = case
    for factor in (0.0, -1.0, 0.5, 2.0, 1e9, np.nan):
        limits = tuple(replace(limit, y=factor * limit.y) for limit in cover.limits)
        assert is_true(cover_bound(form, replace(cover, limits=limits)), truth)
    assert is_true(cover_bound(form, replace(cover, limits=())), truth)
    turned = tuple(replace(limit, sign=-limit.sign) for limit in cover.limits)
    assert is_true(cover_bound(form, replace(cover, limits=turned)), truth)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1e-15, 1e-9, 1e-3, 1.0])
def test_directions_that_are_no_eigenvectors_cost_a_bound_and_no_truth(
    case: tuple[StandardForm, BoxCover, float], size: float
) -> None:
    form, cover, truth = case
    rng = np.random.default_rng(3)
    given = cover.directions
    for _ in range(10):
        vectors = given.vectors + size * rng.normal(size=given.vectors.shape)
        weights = np.abs(given.weights * (1 + size * rng.normal(size=given.weights.shape)))
        for directions in (
            replace(given, vectors=vectors), replace(given, weights=weights),
            replace(given, weights=np.zeros_like(weights)),
        ):  # fmt: skip
            found = cover_bound(form, replace(cover, directions=directions))
            assert is_true(found, truth)


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_another_kind_prove_nothing(
    case: tuple[StandardForm, BoxCover, float],
) -> None:
    form, cover, truth = case
    given = cover.multipliers
    for mu in (0.5, 2.0, -1.0, np.nan, np.inf):
        assert cover_bound(form, changed(cover, "mu", np.full(len(given.mu), mu))) is None
    for part in ("slopes", "mu"):
        single = getattr(given, part).astype(np.float32)
        assert cover_bound(form, changed(cover, part, single)) is None
    for number in (np.nan, np.inf, -np.inf, 1e300):
        assert cover_bound(form, changed(cover, "slopes", given.slopes + number)) is None
        found = cover_bound(form, replace(cover, at=np.full(len(cover.at), number)))
        assert is_true(found, truth)
    # Without a price on the objective the same multipliers would say that there is no point.
    nothing = cover_bound(form, changed(cover, "mu", np.zeros(len(given.mu))))
    assert nothing is None
    tiny = changed(cover, "slopes", given.slopes * 1e-320)
    assert is_true(cover_bound(form, tiny), truth)


def test_a_little_convexity_is_counted() -> None:
    """min -x^2 + e y^2 - y over [0, 1]^2, taken for -x^2 - y: the e y^2 is charged."""
    for e in (1e-15, 1e-6, 1e-2):
        model = pyo.ConcreteModel()
        model.x, model.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
        model.goal = pyo.Objective(expr=-(model.x**2) - model.y)
        _, cover = searched(model)
        model.goal.deactivate()
        for sign in (1.0, -1.0):
            other = pyo.Objective(expr=-(model.x**2) + sign * e * model.y**2 - model.y)
            model.add_component(f"goal{sign:g}", other)
            found = cover_bound(standard_form(model), cover)
            other.deactivate()
            truth = -2 + sign * e
            assert isinstance(found, LowerBound)
            assert found.varying <= truth
            assert found.varying >= truth - 3 * e - 1e-6


@pytest.mark.parametrize("size", [1e-14, 1e-9, 1e-3, 1.0])
def test_multipliers_that_lie_over_columns_without_limits(size: float) -> None:
    """min t - x^2 with t >= 0.3 x and t >= -x - 0.1 for x in [-1, 2]: -3.4 at x = 2."""
    model = pyo.ConcreteModel()
    model.x, model.t = pyo.Var(bounds=(-1, 2)), pyo.Var()
    model.steep = pyo.Constraint(expr=model.t >= 0.3 * model.x)
    model.flat = pyo.Constraint(expr=model.t >= -model.x - 0.1)
    model.goal = pyo.Objective(expr=model.t - model.x**2)
    form, cover = searched(model)
    honest = cover_bound(form, cover)
    assert isinstance(honest, LowerBound)
    assert -3.4 * (1 + 1e-6) <= honest.varying <= -3.4 * (1 - 1e-15)
    rng, given = np.random.default_rng(2), cover.multipliers
    for _ in range(20):
        rows = given.rows.copy()
        rows.data = rows.data + size * rng.normal(size=len(rows.data))
        slopes = given.slopes + size * rng.normal(size=given.slopes.shape)
        for other in (changed(cover, "rows", rows), changed(cover, "slopes", slopes),
                      changed(cover, "mu", 1 - given.mu)):  # fmt: skip
            assert is_true(cover_bound(form, other), -3.4)


def test_squares_are_refused_where_numbers_would_be_lost() -> None:
    form, cover, _ = CASES[0]
    given = cover.directions
    for factor in (1e-200, 1e200, np.nan):
        assert squares_of(form, replace(given, vectors=given.vectors * factor)) is None
    assert squares_of(form, Directions(given.vectors, given.weights, ((0, 1),))) is None
    other, reverse, _ = CASES[2]
    rows = reverse.directions.rows
    for wrong in (((5, 1),), ((rows[0][0], -rows[0][1]),), ((rows[0][0], 2),)):
        assert squares_of(other, replace(reverse.directions, rows=wrong)) is None


def test_what_squares_leave_is_not_lost_in_tiny_boxes() -> None:
    """x^2 taken for nothing, |x| <= 2^-600: it leaves up to 2^-1200, which no double is."""
    form, _, _ = CASES[0]
    nothing = Directions(np.zeros((form.n, 0)), np.zeros((1, 0)))
    squares = squares_of(form, nothing)
    assert squares is not None
    assert (squares.excess_within(np.full(form.n, 2.0**-600)) > 0).all()
    assert (squares.excess_within(np.zeros(form.n)) == 0).all()


def test_the_sparse_multipliers_of_the_wrong_shape_prove_nothing() -> None:
    form, cover, _ = CASES[0]
    rows = sp.csr_matrix((cover.multipliers.rows.shape[0], len(form.rows) + 1))
    assert cover_bound(form, changed(cover, "rows", rows)) is None


@pytest.mark.parametrize("power", [-400, -300, -60, -20, 0, 20, 60, 300, 400])
@pytest.mark.parametrize("what", ["objective", "variables"])
def test_units_never_make_a_false_verdict(what: str, power: int) -> None:
    """Exact powers of two, so that the truth is known: at any of them it is right or unproven."""
    factor = 2.0**power
    model = pyo.ConcreteModel()
    inside = what == "variables"
    unit = factor if inside else 1.0
    model.x = pyo.Var(range(2), bounds=(-unit, 2 * unit))
    model.row = pyo.Constraint(expr=model.x[0] + 2 * model.x[1] <= 4 * unit)
    price = 1.0 if inside else factor
    squares = -(model.x[0] ** 2) - model.x[1] ** 2 + unit * model.x[0]
    model.goal = pyo.Objective(expr=price * squares)
    truth = -6.0 * price * unit**2
    try:
        result = tm.solve(model, method="branch-and-cut")
    except ValueError:  # numbers that the reader refuses
        return
    certificate = result.certificate
    if certificate.verdict is Verdict.CERTIFIED:
        assert result.objective == pytest.approx(truth, rel=2e-6)
    if certificate.bound is not None:
        assert certificate.bound <= truth * (1 - 1e-12)
    if abs(power) <= 20:
        assert certificate.verdict is Verdict.CERTIFIED, certificate.reason


def test_an_entry_that_is_there_twice_is_one_number() -> None:
    """Terms of 2^55 that cancel: their products with 0.1 cancel to something else."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.row = pyo.Constraint(expr=(0, 0.1 * model.x, 0.1))
    model.goal = pyo.Objective(expr=-(model.x**2))
    form, cover = searched(model)
    one = replace(
        cover, axis=np.array([-1]), at=np.zeros(1), below=np.array([-1]), above=np.array([-1]),
        choice=np.array([0]),
    )  # fmt: skip
    rng, apart = np.random.default_rng(0), 0
    for _ in range(400):
        large = 2.0 ** rng.integers(53, 62) * (1 + rng.random())
        second, third = rng.normal(size=2) * large * 2.0**-52
        numbers = np.array([large, second, -large, third])
        rows = sp.csr_matrix((numbers, np.zeros(4, dtype=int), [0, 4]), shape=(1, 1))
        slope = -float((rows @ form.A).toarray()[0, 0])
        apart += abs(slope) > 1
        multipliers = BoxMultipliers(np.ones(1), rows, np.zeros((1, 0)), np.array([[slope]]))
        assert is_true(cover_bound(form, replace(one, multipliers=multipliers)), -1.0)
    assert apart > 100


def test_multipliers_of_rows_that_are_not_there_prove_nothing() -> None:
    form, cover, _ = CASES[0]
    for column in (len(form.rows), 10**6, -1):
        rows = cover.multipliers.rows.copy()
        rows.indices[0] = column
        assert cover_bound(form, changed(cover, "rows", rows)) is None
