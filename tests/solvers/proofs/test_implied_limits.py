"""The safe bound: limits of variables that are proven, and a bound at any accuracy."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import (
    Limits,
    Subject,
    clarabel,
    classify,
    conic_form,
    conic_multipliers,
    into_cone,
    limits_of_variables,
    standard_form,
)
from tests.support.bounds import plain_bound
from tests.support.covering import FULL, covering
from tests.support.documented_models import form_of


def limits_by_name(model: pyo.ConcreteModel, known: float) -> dict[str, float]:
    form = standard_form(model)
    found = limits_of_variables(form, classify(form), known - form.objective.constant).size()
    return {form.columns.name(k): float(found[k]) for k in range(form.n)}


def test_limits_pass_through_rows_and_cones() -> None:
    """X <= 4 by the objective, y = 2 x - 1, |z| <= y: limits 4, 7 and 7."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=pyo.NonNegativeReals)
    m.y = pyo.Var(within=pyo.NonNegativeReals)
    m.z = pyo.Var()
    m.row = pyo.Constraint(expr=m.y - 2 * m.x == -1)
    m.cone = pyo.Constraint(expr=m.z**2 <= m.y**2)
    m.objective = pyo.Objective(expr=m.x)
    found = limits_by_name(m, 4.0)
    assert found == pytest.approx({"x": 4.0, "y": 7.0, "z": 7.0}, rel=1e-9)
    free = pyo.ConcreteModel()
    free.x, free.y = pyo.Var(), pyo.Var(bounds=(0, 1))
    free.objective = pyo.Objective(expr=free.x + free.y)
    assert limits_by_name(free, 5.0) == {"x": np.inf, "y": 1.0}


@pytest.mark.parametrize("seed", range(20 if FULL else 4))
def test_rows_of_squares_limit_their_columns_whatever_the_objective(seed: int) -> None:
    """An ellipsoid with its axes along the columns: centre and half-widths in closed form."""
    dice = np.random.default_rng(seed)
    c, centre = 10.0 ** dice.uniform(-3, 3, size=3), dice.normal(size=3)
    size, sign = 10.0 ** dice.uniform(-6, 3), 1 if seed % 2 else -1
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3))
    m.y = pyo.Var(bounds=(0.25, None))
    body = sum(c[j] * m.x[j] ** 2 - 2 * c[j] * centre[j] * m.x[j] for j in range(3)) + m.y
    end = size - float(c @ centre**2) + 0.25
    m.row = pyo.Constraint(expr=sign * body <= sign * end if sign == 1 else sign * body >= -end)
    m.objective = pyo.Objective(expr=m.x[0])
    form = standard_form(m)
    found = limits_of_variables(form, classify(form), np.inf)
    half = np.sqrt(size / c)
    x, (y,) = (form.columns.of(m.find_component(name))[0] for name in "xy")
    slack = 1e-6 * half + 1e-4 * np.sqrt((np.abs(centre) + c @ centre**2) / c)
    assert (found.low[x] <= centre - half * (1 - 1e-7)).all()
    assert (found.high[x] >= centre + half * (1 - 1e-7)).all()
    assert (found.low[x] >= centre - half - slack).all()
    assert (found.high[x] <= centre + half + slack).all()
    assert size + 0.25 <= found.high[y] * (1 + 1e-9)
    # The same without the objective, as bounds ask for it first.
    own = Subject(form).reach(None)
    assert np.isfinite(own.low[x]).all()
    assert (own.low <= found.low).all()


LIMITED = (
    "c_svc", "c_svc_dual", "conic_sdp", "conic_sdp_budget", "conic_sdp_dual", "conic_sdp_literal",
    "hard_margin_svc", "max_margin_svc", "rsvm", "rsvm_dual", "rsvm_dual_perspective",
    "soft_margin_svc", "soft_margin_svc_dual", "weighted_svc", "zero_one_hinge",
)  # fmt: skip


NOISE = (0.0, 1e-6, 1e-3)
NOISY = [(name, NOISE[k % 3]) for k, name in enumerate(LIMITED)]


@pytest.mark.parametrize(("name", "noise"), covering(LIMITED, NOISE) if FULL else NOISY)
def test_any_multipliers_give_a_bound_and_the_error_is_in_proportion(
    name: str, noise: float
) -> None:
    """As from a first-order method: multipliers off by 1e-3 of the largest one."""
    form, rng = form_of(name), np.random.default_rng(0)
    kind = classify(form)
    conic, claim = conic_form(form, kind), clarabel.run(form, kind, Limits())
    assert claim.x is not None
    assert claim.duals is not None
    z = conic_multipliers(conic, claim.duals)
    z = into_cone(conic, z + noise * np.abs(z).max() * rng.standard_normal(len(z)))
    value = form.objective.at(claim.x)
    known = form.objective.varying(claim.x) + 1e-6
    bound = plain_bound(form, claim.x, z, known)
    assert bound <= value + 1e-7 * max(1.0, abs(value))
    assert value - bound <= (1e4 * noise + 1e-4) * max(1.0, abs(value))
