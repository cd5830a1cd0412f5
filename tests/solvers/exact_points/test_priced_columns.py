"""What costs and is kept up by one quadratic row alone ends where that row is met."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import Limits, classify, exact_point, standard_form, with_priced_lowered


def quotients(seed: int) -> tuple[pyo.ConcreteModel, np.ndarray]:
    """min sum c t_i with p_i^2 <= t_i T_i; p and T given, t far above p^2 / T."""
    dice = np.random.default_rng(seed)
    n = 5
    p, T = dice.normal(size=n), 10.0 ** dice.uniform(-6, 6, size=n)
    m = pyo.ConcreteModel()
    m.p = pyo.Var(range(n), initialize=dict(enumerate(p)))
    m.T = pyo.Var(range(n), bounds=(0, None), initialize=dict(enumerate(T)))
    m.t = pyo.Var(range(n), bounds=(0, None), initialize=dict(enumerate(3 * p**2 / T + 1)))
    m.held = pyo.Constraint(range(n), rule=lambda m, i: m.p[i] == p[i])
    m.top = pyo.Constraint(range(n), rule=lambda m, i: m.T[i] <= T[i])
    m.cone = pyo.Constraint(range(n), rule=lambda m, i: m.p[i] ** 2 <= m.t[i] * m.T[i])
    m.goal = pyo.Objective(expr=sum(2.0 * m.t[i] for i in range(n)))
    return m, 2 * p**2 / T


@pytest.mark.parametrize("seed", range(2))
def test_it_falls_to_its_quotient_and_the_point_is_exact(seed: int) -> None:
    model, costs = quotients(seed)
    form = standard_form(model)
    lowered = with_priced_lowered(form, form.point())
    found = exact_point(form, classify(form), form.point(), Limits())
    assert found.exact
    assert found.varying == pytest.approx(costs.sum(), rel=1e-9)
    assert form.objective.varying(lowered) == pytest.approx(costs.sum(), rel=1e-9)
    t, p, T = (lowered[form.columns.of(model.find_component(name))[0]] for name in "tpT")
    for k in range(len(t)):
        assert Fraction(p[k]) ** 2 <= Fraction(t[k]) * Fraction(T[k])
