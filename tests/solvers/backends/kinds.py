"""One model of each kind with an optimum from elsewhere, for the translations of the solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.references import reference_solutions as truth
from tests.references.rank_one import rank_one_sdp
from tests.references.reference_solutions import points

DATA = points("overlapping", 1, n=10)
SEPARABLE = points("separable", 1, n=10)
GAMMA = np.full(DATA.n, 0.005)
C, NU, PENALTY, BUDGET, BOUND, H = 0.7, 0.6, 1.3, 0.25, 12.0, 0.5
BIG_M = np.linspace(12.0, 25.0, DATA.n)
GRAM = DATA.X @ DATA.X.T
GROUPS = [(0, 9), (2, 5, 7)]


def small_lp() -> pyo.ConcreteModel:
    """A vertex by hand: x = 4 and y = 4/3, worth 12 + 8/3 + 1 = 47/3."""
    m = pyo.ConcreteModel(name="small_lp")
    m.x, m.y = pyo.Var(bounds=(0, 4)), pyo.Var(within=pyo.NonNegativeReals)
    m.s = pyo.Var(bounds=(None, 9))
    m.total = pyo.Constraint(expr=(1, m.x + 3 * m.y, 8))
    m.sum = pyo.Constraint(expr=m.s == m.x + m.y)
    m.cap = pyo.Constraint(expr=2 * m.x + m.y <= 10)
    m.none = pyo.Param(initialize=np.inf, mutable=True)
    m.free = pyo.Constraint(expr=m.x - m.y <= m.none)
    m.objective = pyo.Objective(expr=3 * m.x + 2 * m.y + 1, sense=pyo.maximize)
    return m


def concave_qp() -> pyo.ConcreteModel:
    """4 x - x^2 + 2 y has its top at x = 2, y = 1: 6."""
    m = pyo.ConcreteModel(name="concave_qp")
    m.x, m.y = pyo.Var(), pyo.Var(bounds=(None, 1))
    m.objective = pyo.Objective(expr=4 * m.x - m.x**2 + 2 * m.y, sense=pyo.maximize)
    return m


def norm_ball() -> pyo.ConcreteModel:
    """A point of the cone t >= ||(x, y)|| nearest to (3, 4) along t: at t = 5."""
    m = pyo.ConcreteModel(name="norm_ball")
    m.x = pyo.Var([1, 2])
    m.t = pyo.Var(within=pyo.NonNegativeReals)
    m.cone = pyo.Constraint(expr=m.x[1] ** 2 + m.x[2] ** 2 <= m.t**2)
    m.reach = pyo.Constraint(expr=3 * m.x[1] + 4 * m.x[2] >= 25)
    m.objective = pyo.Objective(expr=m.t)
    return m


Problem = tuple[str, Callable[[], pyo.ConcreteModel], Callable[[], float]]
PROBLEMS: dict[str, Problem] = {
    "small_lp": ("LP", small_lp, lambda: 47 / 3),
    "concave_qp": ("QP", concave_qp, lambda: 6.0),
    "norm_ball": ("SOCP", norm_ball, lambda: 5.0),
    "c_svc": (
        "QP", lambda: tm.c_svc(DATA, C=C), lambda: truth.hinge(DATA, "free", 0.5, C).value,
    ),
    "c_svc_dual": (
        "QP", lambda: tm.c_svc_dual(DATA, C=C, intercept="none"),
        lambda: -truth.c_dual(GRAM, DATA.y, np.full(DATA.n, C), "none"),
    ),
    "nu_svc": (
        "QP", lambda: tm.nu_svc(DATA, nu=NU),
        lambda: truth.nu_machine(DATA, "free", NU, np.full(DATA.n, 1 / DATA.n)).value,
    ),
    "zero_one_relaxed": (
        "QP", lambda: tm.zero_one_relaxed(DATA, penalty=PENALTY, big_m=BIG_M),
        lambda: truth.relaxation(DATA, "penalised", PENALTY, BIG_M).value,
    ),
    "max_margin_svc": (
        "SOCP", lambda: tm.max_margin_svc(SEPARABLE),
        lambda: truth.max_margin(SEPARABLE, "free").value,
    ),
    "rsvm_dual_perspective": (
        "SOCP", lambda: tm.rsvm_dual_perspective(DATA, norm_bound=H),
        lambda: -truth.capacity_dual(GRAM, DATA.y, H, "free"),
    ),
    "conic_fixed": (
        "SOCP", lambda: tm.conic_fixed(DATA, penalty=PENALTY, strengthening=GAMMA),
        lambda: truth.fixed_strengthening(DATA, "penalised", PENALTY, GAMMA),
    ),
    "conic_sdp": (
        "SDP",
        lambda: tm.conic_sdp(DATA, penalty=PENALTY, intercept="free", intercept_bound=BOUND),
        lambda: truth.theorem_2(DATA, "free", penalty=PENALTY, bound_on_b=BOUND).value,
    ),
    "conic_sdp_literal": (
        "SDP", lambda: tm.conic_sdp_literal(DATA, penalty=PENALTY, intercept="none"),
        lambda: truth.theorem_2(DATA, "none", penalty=PENALTY).value,
    ),
    "conic_sdp_rank_one": (
        "SDP",
        lambda: tm.conic_sdp_rank_one(DATA, penalty=PENALTY, partners="none", groups=GROUPS),
        lambda: rank_one_sdp(DATA, "penalised", PENALTY, GROUPS),
    ),
    "conic_sdp_dual": (
        "SDP", lambda: tm.conic_sdp_dual(DATA, penalty=PENALTY),
        lambda: -truth.theorem_2(DATA, "penalised", penalty=PENALTY).value,
    ),
    "conic_sdp_budget": (
        "SDP", lambda: tm.conic_sdp_budget(DATA, budget=BUDGET),
        lambda: truth.theorem_2(DATA, "penalised", budget=BUDGET).value,
    ),
}  # fmt: skip


def installed(solver: str) -> None:
    """Skip the test without a solver."""
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")


def near(expected: float, tolerance: float = 1e-6) -> Any:
    """Equal relative to the size of the expected number, absolutely below 1."""
    return pytest.approx(expected, abs=tolerance * max(1.0, abs(expected)))
