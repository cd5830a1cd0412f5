"""Exactly feasible points near those of a solver; optima of 0 that are attained exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    FeasiblePoint,
    Limits,
    StandardForm,
    clarabel,
    classify,
    costless_point,
    exact_point,
    near_point,
    standard_form,
)
from tests.support.semidefinite_models import least_eigenvalue, max_cut
from tightmargin.solvers import Verdict


def repaired(form: StandardForm, x: Any) -> FeasiblePoint | None:
    return exact_point(form, classify(form), np.array(x, dtype=float), Limits(threads=1))


def test_rows_that_together_imply_an_equation_are_solved_as_one() -> None:
    """No point is inside both rows, and 0.7 / 0.3 is no double."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.t = pyo.Var(), pyo.Var(), pyo.Var(bounds=(0, None))
    m.above = pyo.Constraint(expr=0.1 * m.x + 0.3 * m.y >= 0.7)
    m.below = pyo.Constraint(expr=0.1 * m.x + 0.3 * m.y <= 0.7)
    m.cone = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.t)
    m.goal = pyo.Objective(expr=m.t)
    result = tm.solve(m, "clarabel")
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    assert result.objective == pytest.approx(4.9, rel=1e-6)  # 0.7^2 / (0.1^2 + 0.3^2)


def test_equations_are_solved_in_rational_numbers() -> None:
    """3 x + 3 y = 2 and x = y has the solution 1/3, and z = 1 - x: a contradiction has none."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = (pyo.Var(bounds=(0, 1)) for _ in range(3))
    m.rows = pyo.ConstraintList()
    m.rows.add(3 * m.x + 3 * m.y == 2)
    m.rows.add(m.x - m.y == 0)
    m.rows.add(m.x + m.z == 1)
    m.goal = pyo.Objective(expr=m.x)
    found = repaired(standard_form(m), [1 / 3 + 1e-9, 1 / 3 - 1e-9, 2 / 3])
    assert found.x == pytest.approx([1 / 3, 1 / 3, 2 / 3], rel=1e-15)
    assert found.varying >= 1 / 3
    assert found.varying == pytest.approx(1 / 3, rel=1e-11)
    assert repaired(standard_form(m), [np.nan, 0.0, 0.0]) is None
    m.rows.add(m.x == 1 / 3)
    assert repaired(standard_form(m), [1 / 3, 1 / 3, 2 / 3]) is None


def test_a_price_that_one_product_alone_holds_up_falls_to_its_row() -> None:
    """t >= p^2 / (T + 1) = 1 with p = 2 and T = 3, from t = 1.5."""
    m = pyo.ConcreteModel()
    m.p, m.T, m.t = pyo.Var(), pyo.Var(bounds=(0, 3)), pyo.Var(bounds=(0, None))
    m.cone = pyo.Constraint(expr=m.p**2 - m.t * m.T - m.t <= 0)
    m.two = pyo.Constraint(expr=m.p == 2)
    m.goal = pyo.Objective(expr=m.t)
    found = repaired(standard_form(m), [2.0, 3.0, 1.5])
    assert 1 <= found.varying <= 1 + 1e-12


def test_integers_are_rounded_and_the_rest_is_repaired() -> None:
    """w x >= 1 - 5 z and sum z = 1: the equation has no column to be solved for, and needs none."""
    m = pyo.ConcreteModel()
    m.w, m.z = pyo.Var(bounds=(None, 1)), pyo.Var(range(3), domain=pyo.Binary)
    points = (1.0, 2.0, -1.0)
    m.row = pyo.Constraint(range(3), rule=lambda m, i: points[i] * m.w + 5 * m.z[i] >= 1)
    m.total = pyo.Constraint(expr=sum(m.z.values()) == 1)
    m.goal = pyo.Objective(expr=m.w**2 + sum(m.z.values()))
    form = standard_form(m)
    for w in (1 - 1e-8, 1 + 1e-9):
        found = repaired(form, [w, 1e-9, 1e-9, 1 - 1e-9])
        assert found.exact
        assert found.x.tolist() == pytest.approx([1.0, 0.0, 0.0, 1.0], abs=1e-7)
        assert found.x[1:].tolist() == [0.0, 0.0, 1.0]
        assert 2.0 <= found.varying <= 2.0 + 1e-7
    assert repaired(form, [1.0, 0.0, 0.0, 0.0]) is None


def test_a_column_that_the_objective_squares_stays() -> None:
    m = pyo.ConcreteModel()
    m.p, m.t = pyo.Var(bounds=(0, 2)), pyo.Var(bounds=(0, 1))
    m.square = pyo.Constraint(expr=m.p**2 <= m.t)
    m.room = pyo.Constraint(expr=m.p + m.t >= -5)
    m.goal = pyo.Objective(expr=-(m.p**2))
    assert repaired(standard_form(m), [0.75, 1.0]).varying <= -0.5625


def test_no_point_is_made_up_where_there_is_none() -> None:
    """Seven coordinates of at most 1/7 rounded down never sum to 1: near, and nothing more."""
    assert 7 * Fraction(1 / 7) < 1
    m = pyo.ConcreteModel()
    m.a = pyo.Var(range(7), bounds=(0, 1 / 7))
    m.total = pyo.Constraint(expr=sum(m.a.values()) == 1)
    m.goal = pyo.Objective(expr=m.a[0])
    form = standard_form(m)
    x = np.full(7, 1 / 7)
    assert repaired(form, x) is None
    near = near_point(form, x)
    assert 0 < near.eps <= 1e-15
    assert near.worst == "row total"


# --- into semidefinite cones, without a solve ----------------------------------------------------


@pytest.fixture
def no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **words: Any) -> Any:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr(clarabel, "run_conic", refuse)


@pytest.mark.usefixtures("no_solver")
@pytest.mark.parametrize(("n", "off"), [(4, 1e-10), (6, 0.0)])
def test_with_a_trace_of_one_the_way_leads_to_the_middle(n: int, off: float) -> None:
    """More on the diagonal alone would miss the trace."""
    half = np.random.default_rng(n).normal(size=(n, n))
    C = half + half.T
    values, vectors = np.linalg.eigh(C)
    X = np.outer(vectors[:, 0], vectors[:, 0]) - off * np.eye(n)
    point = repaired(standard_form(least_eigenvalue(C)), X[np.tril_indices(n)])
    assert point.exact
    assert point.varying >= values[0] - 1e-12 * abs(values[0])
    assert point.varying <= values[0] + max(1e-8, 100 * n * off) * abs(values[0])


@pytest.mark.usefixtures("no_solver")
@pytest.mark.parametrize("off", [0.0, 1e-10])
def test_a_free_diagonal_takes_what_the_least_eigenvalue_lacks(off: float) -> None:
    n = 5
    form = standard_form(max_cut(n, 0))
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = form.psd[0].g
    laplacian = -(matrix + np.tril(matrix, -1).T)
    # Diag(y) with all y at the largest eigenvalue is on the border, a hair outside here.
    top = float(np.linalg.eigvalsh(laplacian)[-1])
    point = repaired(form, np.full(n, top - off * top))
    assert n * top * (1 - 1e-12) <= point.varying <= n * top * (1 + 1e-9 + 10 * off)


# --- optima of 0 ---------------------------------------------------------------------------------


def separable(seed: int) -> tm.TrainingData:
    """Points in thirds, so that no margin is a double, on both sides of a plane by 1/3 or more."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, size=(30, 3)) / 3
    X = X[np.abs(X[:, 0]) > 0.3]
    return tm.TrainingData(X, np.where(X[:, 0] > 0, 1, -1))


def mixed(seed: int, unit: float = 1 / 7) -> tm.TrainingData:
    """Classes whose hulls share points, in sevenths or another unit."""
    X = np.random.default_rng(seed).integers(-9, 10, size=(24, 2)) * unit
    return tm.TrainingData(X, [-1, 1] * 12)


NU = {"nu": 0.3}
ZEROS: dict[str, tuple[str, tm.TrainingData, dict[str, Any]]] = {
    "least loss, free": ("rsvm_relaxed", separable(0), {"intercept": "free"}),
    "least loss, no intercept": ("rsvm_relaxed", separable(2), {"intercept": "none"}),
    "least loss of a kernel": ("rsvm_kernel_relaxed", separable(3), {"intercept": "free"}),
    "distance of hulls": ("nu_svc_dual", mixed(0), NU),
    "distance, penalised": ("nu_svc_dual", mixed(1), NU | {"intercept": "penalised"}),
    # t and lambda have prices, and the norm of v is at most their product.
    "a norm that a cone prices": ("extended_nu_svc_dual", mixed(2), NU | {"scale": "takeda"}),
    **{
        f"a bound, units 2^{k}": ("nu_svc", mixed(3, 2.0**k), {"nu": 0.5, "intercept": "none"})
        for k in (-22, 18)
    },
}


@pytest.mark.parametrize("name", ZEROS)
def test_optima_of_zero_are_exactly_zero(name: str) -> None:
    entry, data, words = ZEROS[name]
    result = tm.solve(tm.build(entry, data, **words))
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.interval == (0, 0)


def test_hulls_that_nearly_touch_are_not_said_to() -> None:
    apart = 2.0**-30
    X = [[0.0, 0.0], [1.0, 1.0], [apart, -apart], [1.0, -1.0]]
    data = tm.TrainingData(X, [1, 1, -1, -1])
    for build in (tm.nu_svc_dual, tm.extended_nu_svc_dual):
        model = build(data, nu=0.5)
        form = standard_form(model)
        assert costless_point(form, np.full(form.n, 0.25)) is None
        result = tm.solve(model)
        assert not (result.certificate.verdict is Verdict.CERTIFIED and result.objective == 0)


def test_a_price_on_what_cannot_be_zero_has_no_costless_point() -> None:
    model = tm.rsvm_relaxed(separable(1))
    model.xi[0].setlb(0.5)
    form = standard_form(model)
    assert costless_point(form, np.ones(form.n)) is None
    assert tm.solve(model).objective == pytest.approx(0.5)
