"""Row 27: multipliers are d objective / d right-hand side with every solver, or absent with a why.

The slopes here are differences of re-solved optima, so no convention is taken on trust.
"""

from __future__ import annotations

from collections.abc import Callable

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.support.covering import FULL
from tightmargin.formulations import psd
from tightmargin.solvers import Verdict

STEP = 1e-2


def program(kind: str, sense: int) -> pyo.ConcreteModel:
    """Every kind of row at work: >=, <=, an equation and a range.

    A quadratic objective, or a ball that is met with a cost that pulls outwards.
    """
    m = pyo.ConcreteModel()
    x = m.x = pyo.Var(range(4))
    m.p = pyo.Param(range(4), initialize=[3.0, 2.0, 1.0, 4.0], mutable=True)
    m.low = pyo.Constraint(expr=x[0] + x[1] >= m.p[0])
    m.high = pyo.Constraint(expr=x[1] - x[0] <= m.p[1])
    m.equal = pyo.Constraint(expr=x[2] + 0.5 * x[0] == m.p[2])
    m.range = pyo.Constraint(expr=pyo.inequality(-9.0, x[3] - x[2], m.p[3]))
    squares = sum(x[k] ** 2 for k in x)
    cost = {
        "LP": 3 * x[0] + 2 * x[1] + x[2] - 0.25 * x[3],
        "QP": squares + 3 * x[0] + 2 * x[1] - 20 * x[3],
        "SOCP": x[0] + 4 * x[1] - 2 * x[3],
    }[kind]
    if kind == "SOCP":
        m.ball = pyo.Constraint(expr=squares <= 30)
    m.goal = pyo.Objective(expr=sense * cost, sense=pyo.minimize if sense == 1 else pyo.maximize)
    return m


def matrix(kind: str, sense: int) -> pyo.ConcreteModel:
    """min t with [[t, 1], [1, s]] semidefinite and s <= p: t = 1 / p."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, None))
    m.p = pyo.Param(range(1), initialize=[2.0], mutable=True)
    psd(m, "matrix", [[m.x[0]], [1.0, m.x[1]]])
    m.high = pyo.Constraint(expr=m.x[1] <= m.p[0])
    m.goal = pyo.Objective(expr=sense * m.x[0], sense=pyo.minimize if sense == 1 else pyo.maximize)
    return m


Model = Callable[[str, int], pyo.ConcreteModel]
ROWS = ("low", "high", "equal", "range")
MODELS: dict[str, tuple[Model, tuple[str, ...]]] = dict.fromkeys(
    ("LP", "QP", "SOCP"), (program, ROWS)
) | {"SDP": (matrix, ("high",))}
GIVES = {
    kind: [
        name
        for name in ("highs", "clarabel", "gurobi", "scs", "piqp")
        if kind in SOLVERS[name].classes
        and SOLVERS[name].installed
        and (kind, name) != ("SOCP", "gurobi")
    ]
    for kind in MODELS
}


def slope(kind: str, k: int, sense: int) -> float:
    """Difference of the optima at two right-hand sides, over their distance."""
    values = []
    for sign in (1, -1):
        model = MODELS[kind][0](kind, sense)
        model.p[k].set_value(pyo.value(model.p[k]) + sign * STEP)
        result = tm.solve(model, "clarabel")
        assert result.objective is not None
        values.append(result.objective)
    return (values[0] - values[1]) / (2 * STEP)


@pytest.mark.parametrize("sense", [1, -1], ids=["minimise", "maximise"])
@pytest.mark.parametrize("kind", MODELS)
def test_row_27_multipliers_are_slopes_of_the_optimum(kind: str, sense: int) -> None:
    """Every solver that gives some, by turns for the least and the largest value."""
    build, names = MODELS[kind]
    slopes = [slope(kind, k, sense) for k in range(len(names))]
    assert sum(abs(each) > 0.01 for each in slopes) >= len(names) - 1, "signs of idle rows are none"
    for k, solver in enumerate(GIVES[kind]):
        if FULL or (sense == 1) == (k % 2 == 0):
            result = tm.solve(build(kind, sense), solver)
            assert result.certificate.verdict is Verdict.CERTIFIED
            found = [float(result.duals[name]) for name in names]
            assert found == pytest.approx(slopes, rel=2e-3, abs=2e-3), solver


@pytest.mark.parametrize(("solver", "kind"), [("scip", "LP"), ("gurobi", "SOCP")])
def test_row_27_who_gives_none_is_named_with_who_does(solver: str, kind: str) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    result = tm.solve(MODELS[kind][0](kind, 1), solver)
    assert dict(result.duals) == {}
    reason = result.certificate.facts["no_duals"]
    assert reason.startswith("no multipliers: ")
    assert f"{solver} returns none for {kind} models; clarabel does" in reason
    other = tm.solve(MODELS[kind][0](kind, 1), "clarabel")
    assert other.duals
    assert "no_duals" not in other.certificate.facts
