"""Edited members of the extended nu family, beside SCIP."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.references.polytope_corners import gauss
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict, nu_range

Edit = Callable[[pyo.ConcreteModel], None]
DATA = gauss(3, 20, 2)


def of_row(build: Callable[[pyo.ConcreteModel], Any]) -> Edit:
    def edit(model: pyo.ConcreteModel) -> None:
        model.more = pyo.Constraint(expr=build(model))

    return edit


def fixed(name: str, value: float) -> Edit:
    def edit(model: pyo.ConcreteModel) -> None:
        model.find_component(name).fix(value)

    return edit


EDITS: dict[str, Edit] = {
    "w off": of_row(lambda m: m.w[0] <= -0.25),
    "a sector": of_row(lambda m: m.w[0] + 2 * m.w[1] <= -1.3),
    "two rows": of_row(lambda m: (0.1, m.w[0] - m.w[1], 0.4)),
    "rho": of_row(lambda m: m.rho <= -0.05),
    "xi": of_row(lambda m: sum(m.xi[i] for i in m.xi) <= 5.0),
    "rho and xi": of_row(lambda m: 2 * m.rho + m.xi[1] - m.xi[2] + m.w[1] <= 0.3),
    "rho fixed": fixed("rho", 0.1),
}
OF_B: dict[str, Edit] = {
    "b": of_row(lambda m: m.b + 0.5 * m.w[1] >= 0.1),
    "b fixed": fixed("b", 0.25),
    "b and rho": of_row(lambda m: m.b - m.rho + m.xi[0] <= -0.2),
}
MODES = ("free", "penalised", "none")


def nu_of(mode: str, share: float = 0.5) -> float:
    return share * nu_range(DATA, intercept=mode).nu_bar


def edited(name: str, mode: str) -> pyo.ConcreteModel:
    model = tm.extended_nu_svc(DATA, nu=nu_of(mode), intercept=mode)
    (EDITS | OF_B)[name](model)
    return model


# --- the optimum ----------------------------------------------------------------------------------

# Each edit with one mode, and with all of them where there is time.
CASES = [
    (mode, name)
    for k, name in enumerate((*EDITS, *OF_B))
    for mode in MODES
    if FULL or mode == MODES[k % (2 if name in OF_B else 3)] or name == "w off"
    if mode != "none" or name not in OF_B
]


@pytest.mark.parametrize(("mode", "name"), CASES)
def test_the_optimum_is_that_of_scip(mode: str, name: str) -> None:
    model = edited(name, mode)
    result = tm.solve(model)
    assert result.certificate.facts["engine"] == "branch-and-cut"
    assert result.certificate.verdict.closed
    if mode == "free" and name not in OF_B and name != "rho fixed":  # a point inside the rows
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert result.certificate.primal_residual == 0.0
        assert "every leaf by weak duality" in result.certificate.bound_method
    best = tm.solve(edited(name, mode), "scip").objective
    assert result.certificate.bound <= best * (1 + 1e-6) + 1e-8
    assert result.objective == pytest.approx(best, rel=5e-6, abs=1e-8)


def test_units_and_places_change_nothing() -> None:
    """The points in other units and elsewhere, and the scale of Perez-Cruz et al."""
    plain = tm.solve(edited("w off", "free")).objective
    for scale, shift in ((1e4, 0.0), (1e-4, 0.0), (1.0, 1e3)):
        data = TrainingData(DATA.X * scale + shift, DATA.y)
        model = tm.extended_nu_svc(data, nu=nu_of("free"))
        EDITS["w off"](model)
        result = tm.solve(model)
        assert result.certificate.verdict.closed
        assert result.objective == pytest.approx(plain * scale, rel=2e-6)
    model = tm.extended_nu_svc(DATA, nu=nu_of("free"), scale="perez_cruz")
    model.more = pyo.Constraint(expr=model.w[0] <= -0.25 * math.sqrt(2))
    scaled = tm.solve(model)
    assert scaled.certificate.verdict.closed
    assert scaled.objective == pytest.approx(DATA.n * math.sqrt(2) * plain, rel=2e-6)


def test_rows_that_leave_nothing_are_not_proven_to_have_an_optimum() -> None:
    model = tm.extended_nu_svc(DATA, nu=nu_of("free"))
    model.more = pyo.Constraint(expr=model.w[0] >= 1.5)
    result = tm.solve(model, method="branch-and-cut")
    assert result.objective is None
    assert result.status.value in ("infeasible", "infeasible_or_unbounded")


# --- the other members ----------------------------------------------------------------------------

# On both sides of nu_bar. A high rho asks for slacks of all points: each share is then its cap, and
# none has room. A row may be curved itself.
MEMBERS: list[tuple[str, str, float, Edit]] = [
    ("penalised", "extended_nu_svc", 1.2, EDITS["rho and xi"]),
    ("none", "extended_nu_svc", 0.5, of_row(lambda m: m.rho >= 30.0)),
    ("free", "extended_nu_svc", 0.5, of_row(lambda m: m.w[0] ** 2 + 2 * m.rho**2 <= 0.2)),
    ("penalised", "extended_nu_svc_reverse", 0.5, EDITS["two rows"]),
    ("none", "extended_nu_svc_polar", 0.5, EDITS["w off"]),
    ("free", "min_cvar", 1.2, of_row(lambda m: m.value_at_risk + m.xi[1] - m.w[1] >= 0.3)),
]


@pytest.mark.parametrize(("mode", "member", "share", "edit"), MEMBERS)
def test_every_member_keeps_its_proof(mode: str, member: str, share: float, edit: Edit) -> None:
    nu = nu_of(mode, share)
    word = {"beta": 1 - nu} if member == "min_cvar" else {"nu": nu}
    model = getattr(tm, member)(DATA, intercept=mode, **word)
    edit(model)
    own = tm.solve(model)
    assert own.certificate.verdict is Verdict.CERTIFIED
    assert own.certificate.facts["engine"] == "branch-and-cut"
    other = tm.solve(model, "scip", time_limit=20.0, prove=False)
    assert own.objective == pytest.approx(other.objective, rel=5e-6, abs=1e-8)
