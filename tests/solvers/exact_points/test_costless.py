"""Optima of 0 are attained exactly: separable data, hulls that intersect, what only seems so."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import costless_point, standard_form
from tightmargin.solvers import Verdict


def separable(seed: int, n: int = 30, d: int = 3) -> tm.TrainingData:
    """Points in thirds, so that no margin is a double, on both sides of a plane by 1/3 or more."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, size=(n, d)) / 3
    X = X[np.abs(X[:, 0]) > 0.3]
    return tm.TrainingData(X, np.where(X[:, 0] > 0, 1, -1))


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("seed", range(4))
def test_the_least_loss_of_separable_data_is_exactly_zero(seed: int, intercept: str) -> None:
    data = separable(seed)
    for build in (tm.rsvm_relaxed, tm.rsvm_kernel_relaxed):
        result = tm.solve(build(data, intercept=intercept))
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert result.objective == 0
        assert result.interval == (0, 0)


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
def test_the_hyperplane_separates_in_rational_numbers(solver: str) -> None:
    data = separable(7)
    result = tm.solve(tm.rsvm_relaxed(data), solver)
    w = [Fraction(float(each)) for each in result.values["w"]]
    b = Fraction(float(result.values["b"]))
    for x, label in zip(data.X, data.y, strict=True):
        score = sum((a * Fraction(float(v)) for a, v in zip(w, x, strict=True)), b)
        assert int(label) * score >= 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_hulls_that_share_a_point_are_at_distance_zero(seed: int, intercept: str) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, size=(24, 2)) / 7
    y = np.where(np.arange(24) % 2 > 0, 1, -1)
    result = tm.solve(tm.nu_svc_dual(tm.TrainingData(X, y), nu=0.3, intercept=intercept))
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", ["takeda", "perez_cruz"])
def test_a_norm_that_only_a_cone_prices_is_exactly_zero_too(seed: int, scale: str) -> None:
    """At and below nu_bar, where the dual of the extended machine says nothing: t and lambda have
    prices, and the norm of v is at most their product."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, size=(24, 2)) / 7
    data = tm.TrainingData(X, np.where(np.arange(24) % 2 > 0, 1, -1))
    result = tm.solve(tm.extended_nu_svc_dual(data, nu=0.3, scale=scale))
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.interval == (0, 0)


def test_a_cone_that_has_room_besides_holds_nothing_at_zero() -> None:
    """v^2 <= t + s with a price on t alone: v may be 1 where s is 1, as its row wants it."""
    m = pyo.ConcreteModel()
    m.v, m.t, m.s = pyo.Var(), pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, 2))
    m.cone = pyo.Constraint(expr=m.v**2 <= m.t + m.s)
    m.row = pyo.Constraint(expr=3 * m.v == 3)
    m.objective = pyo.Objective(expr=m.t)
    result = tm.solve(m)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == 0


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


def test_data_that_are_not_separable_have_no_costless_point() -> None:
    data = tm.TrainingData([[0.0], [1.0], [1.0]], [1, 1, -1])
    form = standard_form(tm.rsvm_relaxed(data))
    assert costless_point(form, np.zeros(form.n)) is None


def test_a_price_on_what_cannot_be_zero_has_no_costless_point() -> None:
    model = tm.rsvm_relaxed(separable(1))
    model.xi[0].setlb(0.5)
    form = standard_form(model)
    assert costless_point(form, np.ones(form.n)) is None
    assert tm.solve(model).objective == pytest.approx(0.5)


@pytest.mark.parametrize("exponent", [-20, 0, 20])
def test_a_bound_of_zero_is_proven_in_any_units(exponent: int) -> None:
    X = np.random.default_rng(3).integers(-8, 9, size=(26, 3)) / 4 * 2.0**exponent
    data = tm.TrainingData(X, np.where(np.arange(26) % 2 > 0, 1, -1))
    result = tm.solve(tm.nu_svc(data, nu=0.5, intercept="none"))
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.interval == (0, 0)
