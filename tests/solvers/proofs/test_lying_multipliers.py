"""Whatever multipliers, points and cutoffs are handed over, no bound is above the optimum.

The optima are known by hand. Scales reach down to where products underflow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pyomo.environ as pyo
import pytest
from numpy.typing import NDArray

from tests.inside.solvers import (
    Limits,
    Subject,
    clarabel,
    conic_multipliers,
    exact_lp_bound,
    proven_bound,
    standard_form,
)
from tests.support.covering import FULL, covering
from tightmargin.formulations import psd

Array = NDArray[np.float64]


def linear(u: float) -> tuple[pyo.ConcreteModel, float]:
    """min x + y, x + 2 y >= 2 u, x, y >= 0, and a free z = x - y: u at (0, u)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    m.z = pyo.Var()
    m.row = pyo.Constraint(expr=m.x + 2 * m.y >= 2 * u)
    m.same = pyo.Constraint(expr=m.z == m.x - m.y)
    m.cost = pyo.Objective(expr=m.x + m.y)
    return m, u


def quadratic(u: float) -> tuple[pyo.ConcreteModel, float]:
    """min x^2 + y^2 - 2 u x, x + y >= 3 u: u^2 (2 - 1) at (2 u, u)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.row = pyo.Constraint(expr=m.x + m.y >= 3 * u)
    m.cost = pyo.Objective(expr=m.x**2 + m.y**2 - 2 * u * m.x)
    return m, u * u


def conic(u: float) -> tuple[pyo.ConcreteModel, float]:
    """The distance of (3 u, 4 u) from the quadrant x, y <= 0 is 5 u."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(None, 0)), pyo.Var(bounds=(None, 0))
    m.p, m.q, m.t = pyo.Var(), pyo.Var(), pyo.Var(bounds=(0, None))
    m.first = pyo.Constraint(expr=m.p == m.x - 3 * u)
    m.second = pyo.Constraint(expr=m.q == m.y - 4 * u)
    m.cone = pyo.Constraint(expr=m.p**2 + m.q**2 <= m.t**2)
    m.cost = pyo.Objective(expr=m.t)
    return m, 5 * u


def matrix(u: float) -> tuple[pyo.ConcreteModel, float]:
    """A matrix [[a, c], [c, b]] with c >= u has a trace of 2 u or more."""
    m = pyo.ConcreteModel()
    m.a, m.b, m.c = pyo.Var(), pyo.Var(), pyo.Var()
    psd(m, "matrix", [[m.a], [m.c, m.b]])
    m.row = pyo.Constraint(expr=m.c >= u)
    m.cost = pyo.Objective(expr=m.a + m.b)
    return m, 2 * u


MODELS = {"LP": linear, "QP": quadratic, "SOCP": conic, "SDP": matrix}
SCALES = {"tiny": 2.0**-520, "small": 2.0**-40, "one": 1.0, "large": 2.0**40}


def lies(z: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Multipliers that are true, nearly true, of other units, no numbers, or of nobody."""
    yield z
    for factor in (0.0, -1.0, 1 - 1e-9, 1 + 1e-9, 2.0**-30, 2.0**30, 1e200, 1e-200):
        yield factor * z
    for noise in (1e-16, 1e-12, 1e-6, 1e-1, 10.0):
        yield z * (1 + noise * rng.normal(size=len(z)))
        yield z + noise * rng.normal(size=len(z))
    for wrong in (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324):
        other = z.copy()
        other[rng.integers(len(z))] = wrong
        yield other
    yield rng.permutation(z)
    yield rng.normal(size=len(z)) * 10.0 ** rng.integers(-300, 300, size=len(z))
    yield rng.normal(size=len(z) + 1)


def points(x: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Points that are optimal, beside it, far away, or none."""
    yield x
    yield np.zeros_like(x)
    yield x * (1 + 1e-3 * rng.normal(size=len(x)))
    yield rng.normal(size=len(x)) * 10.0 ** rng.integers(-200, 150, size=len(x))
    yield np.full_like(x, np.nan)
    yield np.full_like(x, 1e308)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize(("name", "scale"), covering(MODELS, SCALES))
def test_no_multipliers_prove_too_much(name: str, scale: str) -> None:
    build: Callable[[float], tuple[pyo.ConcreteModel, float]] = MODELS[name]
    model, optimum = build(SCALES[scale])
    subject = Subject(standard_form(model))
    near = Subject(standard_form(build(1.0)[0]))
    claim = clarabel.run(near.form, near.classification, Limits())
    assert claim.x is not None
    assert claim.duals is not None
    x = SCALES[scale] * claim.x
    z = conic_multipliers(near.conic, claim.duals) * (SCALES[scale] if name == "QP" else 1.0)
    rng = np.random.default_rng(7)
    proven = []
    tried = itertools.product(lies(z, rng), points(x, rng), (None, 2 * optimum, -optimum))
    for k, (multipliers, point, cutoff) in enumerate(tried):
        if FULL or k < 18 or k % 5 == 0:  # the true multipliers everywhere
            found = proven_bound(subject, point, multipliers, cutoff)
            if found is not None:
                proven.append(found.varying)
                assert found.varying <= optimum
    if scale != "tiny":  # where products underflow it may be that nothing is proven
        assert len(proven) > 30
        assert max(proven) >= optimum * (1 - 1e-6), "the true ones prove it"


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("scale", SCALES)
def test_no_multipliers_prove_too_much_in_rational_arithmetic(scale: str) -> None:
    model, optimum = linear(SCALES[scale])
    form = standard_form(model)
    rng = np.random.default_rng(8)
    names = [form.rows.name(k) for k in range(len(form.rows))]
    true = np.array([0.5 if name == "row" else 0.0 for name in names])
    found = [exact_lp_bound(form, y) for y in lies(true, rng)]
    proven = [bound.varying for bound in found if bound is not None]
    assert max(proven) == optimum
    assert len(proven) > 15
