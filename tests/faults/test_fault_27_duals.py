"""Row 27: multipliers are d objective / d right-hand side with every solver, or absent with a why.

The slopes here are differences of re-solved optima, so no convention is taken on trust.
"""

from __future__ import annotations

from collections.abc import Callable

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.references.reference_solutions import points
from tightmargin.formulations import psd
from tightmargin.solvers import SolveResult, Verdict

STEP = 1e-2


def lp(sense: int) -> pyo.ConcreteModel:
    """Every kind of row at work: >=, <=, an equation and a range."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4))
    m.p = pyo.Param(range(4), initialize=[3.0, 2.0, 1.0, 4.0], mutable=True)
    m.low = pyo.Constraint(expr=m.x[0] + m.x[1] >= m.p[0])
    m.high = pyo.Constraint(expr=m.x[1] - m.x[0] <= m.p[1])
    m.equal = pyo.Constraint(expr=m.x[2] + 0.5 * m.x[0] == m.p[2])
    m.range = pyo.Constraint(expr=pyo.inequality(-9.0, m.x[3] - m.x[2], m.p[3]))
    cost = 3 * m.x[0] + 2 * m.x[1] + m.x[2] - 0.25 * m.x[3]
    m.objective = pyo.Objective(
        expr=sense * cost, sense=pyo.minimize if sense == 1 else pyo.maximize
    )
    return m


def qp(sense: int) -> pyo.ConcreteModel:
    m = lp(1)
    m.objective.deactivate()
    squares = sum(m.x[k] ** 2 for k in m.x)
    cost = squares + 3 * m.x[0] + 2 * m.x[1] - 20 * m.x[3]
    m.goal = pyo.Objective(expr=sense * cost, sense=pyo.minimize if sense == 1 else pyo.maximize)
    return m


def socp(sense: int) -> pyo.ConcreteModel:
    """As lp, inside a ball that is met: |x|^2 <= 30 with a cost that pulls outwards."""
    m = lp(1)
    m.objective.deactivate()
    m.ball = pyo.Constraint(expr=sum(m.x[k] ** 2 for k in m.x) <= 30)
    m.goal = pyo.Objective(
        expr=sense * (m.x[0] + 4 * m.x[1] - 2 * m.x[3]),
        sense=pyo.minimize if sense == 1 else pyo.maximize,
    )
    return m


def sdp(sense: int) -> pyo.ConcreteModel:
    """min t with [[t, 1], [1, s]] semidefinite and s <= p: t = 1 / p."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, None))
    m.p = pyo.Param(range(1), initialize=[2.0], mutable=True)
    psd(m, "matrix", [[m.x[0]], [1.0, m.x[1]]])
    m.high = pyo.Constraint(expr=m.x[1] <= m.p[0])
    m.objective = pyo.Objective(
        expr=sense * m.x[0], sense=pyo.minimize if sense == 1 else pyo.maximize
    )
    return m


MODELS: dict[str, tuple[Callable[[int], pyo.ConcreteModel], tuple[str, ...]]] = {
    "LP": (lp, ("low", "high", "equal", "range")),
    "QP": (qp, ("low", "high", "equal", "range")),
    "SOCP": (socp, ("low", "high", "equal", "range")),
    "SDP": (sdp, ("high",)),
}
GIVES = [
    (kind, name)
    for kind in MODELS
    for name in ("highs", "clarabel", "gurobi", "scs", "piqp")
    if kind in SOLVERS[name].classes and (kind, name) != ("SOCP", "gurobi")
]


def slope(kind: str, k: int, sense: int) -> float:
    """Difference of the optima at two right-hand sides, over their distance."""
    values = []
    for sign in (1, -1):
        model = MODELS[kind][0](sense)
        model.p[k].set_value(pyo.value(model.p[k]) + sign * STEP)
        result = tm.solve(model, "clarabel")
        assert result.objective is not None
        values.append(result.objective)
    return (values[0] - values[1]) / (2 * STEP)


@pytest.mark.parametrize("sense", [1, -1], ids=["minimise", "maximise"])
@pytest.mark.parametrize(("kind", "solver"), GIVES)
def test_row_27_multipliers_are_slopes_of_the_optimum(kind: str, solver: str, sense: int) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    build, names = MODELS[kind]
    result = tm.solve(build(sense), solver)
    assert result.certificate.verdict is Verdict.CERTIFIED
    active = 0
    for k, name in enumerate(names):
        expected = slope(kind, k, sense)
        assert float(result.duals[name]) == pytest.approx(expected, rel=2e-3, abs=2e-3), name
        active += abs(expected) > 0.01
    assert active >= len(names) - 1, "rows at work, or the signs show nothing"


def why(result: SolveResult) -> str:
    assert dict(result.duals) == {}
    reason: str = result.certificate.facts["no_duals"]
    assert reason.startswith("no multipliers: ")
    return reason


@pytest.mark.parametrize("kind", ["LP", "QP", "SOCP"])
def test_row_27_scip_gives_none_and_the_result_says_who_does(kind: str) -> None:
    reason = why(tm.solve(MODELS[kind][0](1), "scip"))
    assert f"scip returns none for {kind} models; clarabel does" in reason
    assert tm.solve(MODELS[kind][0](1), "clarabel").duals


def test_row_27_gurobi_gives_none_with_cones() -> None:
    if not SOLVERS["gurobi"].installed:
        pytest.skip("gurobi is not installed")
    assert "gurobi returns none for SOCP models" in why(tm.solve(socp(1), "gurobi"))


def test_row_27_there_are_none_with_integers_or_without_convexity() -> None:
    data = points("overlapping", 0, n=6)
    whole = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m="derived"), method="direct")
    assert "integers" in why(whole)
    curved = tm.solve(tm.extended_nu_svc(data, nu=0.2), method="direct")
    assert "not convex" in why(curved)
    model = tm.zero_one_bilinear(data, penalty=1.0)
    assert "a search over kept points" in why(tm.solve(model, method="conflict-search"))
    assert "a search over directions" in why(tm.solve(model, method="cone-search"))


def test_row_27_a_result_with_multipliers_has_no_such_remark() -> None:
    result = tm.solve(lp(1))
    assert result.duals
    assert "no_duals" not in result.certificate.facts
