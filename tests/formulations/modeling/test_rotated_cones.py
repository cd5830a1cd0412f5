"""Rotated cones kept as arrays are the quadratic rows of the model."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.formulations import ArrayVar, RotatedCones, complement, dot
from tests.inside.formulations import affine_rows_total as total
from tests.inside.solvers import StandardForm, standard_form
from tightmargin.solvers import solve

N = 5
FEW = [0, 2, 3]
NEED = np.array([0.3, 0.5, 0.8, 1.1, 0.2])


def model(arrays: bool) -> pyo.ConcreteModel:
    """min sum s + 2 r - 0.4 z  with p >= need, p^2 <= s z, p^2 <= r (1 - z) for a few of them."""
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, N - 1)
    m.A = pyo.Set(initialize=FEW)
    m.p = ArrayVar(m.I, lower=NEED)
    m.s, m.r = ArrayVar(m.I, lower=0.0), ArrayVar(m.A, lower=0.0)
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    if arrays:
        m.inside = RotatedCones(m.I, m.p, m.s, m.z)
        m.outside = RotatedCones(m.A, m.p, m.r, complement(m.z))
    else:
        m.inside = pyo.Constraint(m.I, rule=lambda m, i: m.p[i] ** 2 <= m.s[i] * m.z[i])
        m.outside = pyo.Constraint(m.A, rule=lambda m, i: m.p[i] ** 2 <= m.r[i] * (1 - m.z[i]))
    m.objective = pyo.Objective(expr=total(dot(1.0, m.s), dot(2.0, m.r), dot(-0.4, m.z)))
    return m


STEPS: dict[str, Callable[[pyo.ConcreteModel], Any]] = {
    "nothing": lambda m: None,
    "look": lambda m: [str(row.expr) for row in m.inside.values()],
    "deactivate": lambda m: m.inside[2].deactivate(),
    "deactivate all": lambda m: m.outside.deactivate(),
    "delete": lambda m: m.outside.__delitem__(3),
    "replace": lambda m: m.inside[1].set_value(2 * m.p[1] ** 2 <= m.s[1] * m.z[1]),
    "fix z": lambda m: m.z[2].fix(0.4),
    "fix p": lambda m: m.p[0].fix(0.9),
    "fix s": lambda m: m.s[3].fix(2.5),
    "bound": lambda m: m.s[4].setub(0.3),
}


def rows(form: StandardForm) -> dict[str, tuple[dict[Any, float], float]]:
    """Coefficients by names of columns, and the constant, of every quadratic or linear row."""
    found = {}
    for row in form.quadratic:
        body, names = row.body, [form.columns.name(k) for k in row.body.index.tolist()]
        terms: dict[Any, float] = {}
        for i, j, v in zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True):
            pair = tuple(sorted((names[i], names[j])))
            terms[pair] = terms.get(pair, 0.0) + v
        terms |= {name: a for name, a in zip(names, body.a.tolist(), strict=True) if a}
        found[row.data.name] = (terms, body.constant - row.upper)
    for k in range(len(form.rows)):
        low = form.A[[k]].tocoo()
        terms = {form.columns.name(j): a for j, a in zip(low.col, low.data, strict=True)}
        found[form.rows.name(k)] = (terms, -form.row_upper[k])
    return found


def assert_same_rows(ours: pyo.ConcreteModel, plain: pyo.ConcreteModel) -> None:
    mine, theirs = rows(standard_form(ours)), rows(standard_form(plain))
    assert set(mine) == set(theirs)
    for name, (terms, constant) in theirs.items():
        assert mine[name][0] == pytest.approx(terms), name
        assert mine[name][1] == pytest.approx(constant), name


@pytest.mark.parametrize(
    ("step", "copied"), [(s, ("", "clone", "pickle")[k % 3]) for k, s in enumerate(STEPS)]
)
def test_every_edit_leaves_the_same_rows_and_the_same_optimum(step: str, copied: str) -> None:
    ours, plain = model(arrays=True), model(arrays=False)
    if copied:
        ours = ours.clone() if copied == "clone" else pickle.loads(pickle.dumps(ours))
    for m in (ours, plain):
        STEPS[step](m)
    assert_same_rows(ours, plain)
    one, other = solve(ours, "clarabel"), solve(plain, "clarabel")
    assert one.objective == pytest.approx(other.objective, abs=1e-7)
    assert one.certificate.verdict == other.certificate.verdict == "CERTIFIED"


def test_stock_scip_and_gurobi_see_the_same_rows() -> None:
    expected = solve(model(arrays=True), "clarabel").objective
    for name in ("scip_direct", "gurobi_direct_minlp"):
        m = model(arrays=True)
        quiet = {"options": {"display/verblevel": 0}} if name == "scip_direct" else {}
        pyo.SolverFactory(name).solve(m, **quiet)
        assert pyo.value(m.objective) == pytest.approx(expected, abs=2e-5)


def test_multipliers_come_back_by_name_as_for_ordinary_rows() -> None:
    one, other = (solve(model(arrays), "clarabel").duals for arrays in (True, False))
    for name in ("inside", "outside"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-5)
