"""Edited members of the extended nu family: every direction of the plane, and SCIP."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn
from scipy.optimize import linprog

import tightmargin as tm
from tests.inside.cuts import polar_problem
from tests.inside.formulations import support_value
from tests.inside.solvers import norm_held, standard_form
from tests.references.polytope_corners import gauss
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict, nu_range

Edit = Callable[[pyo.ConcreteModel], None]
DATA = gauss(3, 20, 2)
ANGLES = np.linspace(0, 2 * np.pi, 601)


def of_row(build: Callable[[pyo.ConcreteModel], Any]) -> Edit:
    def edit(model: pyo.ConcreteModel) -> None:
        model.more = pyo.Constraint(expr=build(model))

    return edit


def fixed(name: str, value: float) -> Edit:
    def edit(model: pyo.ConcreteModel) -> None:
        model.find_component(name).fix(value)

    return edit


EDITS: dict[str, Edit] = {
    "w above": of_row(lambda m: m.w[0] <= 0.5),
    "w off": of_row(lambda m: m.w[0] <= -0.25),
    "a sector": of_row(lambda m: m.w[0] + 2 * m.w[1] <= -1.3),
    "two rows": of_row(lambda m: (0.1, m.w[0] - m.w[1], 0.4)),
    "rho": of_row(lambda m: m.rho <= -0.05),
    "xi": of_row(lambda m: sum(m.xi[i] for i in m.xi) <= 5.0),
    "one xi": of_row(lambda m: m.xi[3] + 0.1 * m.w[0] <= 0.02),
    "rho and xi": of_row(lambda m: 2 * m.rho + m.xi[1] - m.xi[2] + m.w[1] <= 0.3),
    "w fixed": fixed("w[0]", 0.6),
    "rho fixed": fixed("rho", 0.1),
}
OF_B: dict[str, Edit] = {
    "b": of_row(lambda m: m.b + 0.5 * m.w[1] >= 0.1),
    "b fixed": fixed("b", 0.25),
    "b and rho": of_row(lambda m: m.b - m.rho + m.xi[0] <= -0.2),
}
MODES = ("free", "penalised", "none")


def nu_of(mode: str, share: float = 0.5, data: TrainingData = DATA) -> float:
    return share * nu_range(data, intercept=mode).nu_bar


def edited(name: str, mode: str, data: TrainingData = DATA, **words: Any) -> pyo.ConcreteModel:
    model = tm.extended_nu_svc(data, nu=nu_of(mode, data=data), intercept=mode, **words)
    (EDITS | OF_B)[name](model)
    return model


def least(model: pyo.ConcreteModel, w: np.ndarray) -> float:
    """The optimum over (b, rho, xi) at a given w, by a linear program written out here."""
    origin = model.origin
    data, n, d = origin.data, origin.data.n, origin.data.d
    free = origin.parameters["intercept"] == "free"
    place = {"b": 0, "rho": 1} | {f"xi[{i}]": 2 + i for i in range(n)}
    margins = np.column_stack([-data.y, np.ones(n), -np.eye(n)])
    rows, sides = list(margins), list(data.y * (data.X @ w))
    for row in model.component_data_objects(pyo.Constraint):
        if row.parent_component().name not in ("more",):
            continue
        repn = generate_standard_repn(row.body, compute_values=False)
        own, constant = np.zeros(n + 2), float(pyo.value(repn.constant))
        for number, variable in zip(repn.linear_coefs, repn.linear_vars, strict=True):
            if variable.parent_component().name == "w":
                constant += float(number) * w[variable.index()]
            else:
                own[place[variable.name]] += float(number)
        for sign, end in ((1, row.upper), (-1, row.lower)):
            if end is not None:
                rows.append(sign * own)
                sides.append(sign * (float(pyo.value(end)) - constant))
    ends: list[Any] = [(None, None) if free else (0.0, 0.0), (None, None), *[(0.0, None)] * n]
    for variable in model.component_data_objects(pyo.Var):
        if variable.fixed and variable.name in place:
            ends[place[variable.name]] = (variable.value, variable.value)
    costs = np.r_[0.0, -origin.parameters["nu"], np.full(n, 1 / n)]
    assert len(w) == d
    found = linprog(costs, A_ub=np.array(rows), b_ub=np.array(sides), bounds=ends, method="highs")
    return float(found.fun) if found.status == 0 else math.inf


def scanned(model: pyo.ConcreteModel, directions: np.ndarray) -> float:
    """Least value over directions, most of which the unedited h rules out without a program."""
    origin = model.origin
    problem = polar_problem(
        origin.data, nu=origin.parameters["nu"], intercept=origin.parameters["intercept"]
    )
    values = np.array([support_value(problem.hulls, w) for w in directions])
    best = math.inf
    for k in np.argsort(values):
        if values[k] >= best:
            break
        best = min(best, least(model, directions[k]))
    return best


# --- the optimum ----------------------------------------------------------------------------------

# Each edit with one mode, and with all of them where there is time; every direction of the plane
# says what the optimum is, and SCIP where (w, b) has three numbers.
CASES = [
    (mode, name)
    for k, name in enumerate((*EDITS, *OF_B))
    for mode in MODES
    if FULL or mode == MODES[k % (2 if name in OF_B else 3)] or name == "w off"
    if mode != "none" or name not in OF_B
]


@pytest.mark.parametrize(("mode", "name"), CASES)
def test_the_optimum_is_that_of_every_direction(mode: str, name: str) -> None:
    model = edited(name, mode)
    result = tm.solve(model)
    assert result.certificate.facts["engine"] == "branch-and-cut"
    assert result.certificate.verdict.closed
    if mode == "free" and name not in OF_B and name != "rho fixed":  # a point inside the rows
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert result.certificate.primal_residual == 0.0
        assert "every leaf by weak duality" in result.certificate.bound_method
    if mode == "penalised":
        best = tm.solve(edited(name, mode), "scip").objective
        assert result.objective == pytest.approx(best, rel=5e-6, abs=1e-8)
        return
    circle = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    if name == "w fixed":
        circle = np.array([[0.6, 0.8], [0.6, -0.8]])
    else:  # the best direction, to which the grid adds its neighbours
        circle = np.vstack([circle, result.values["w"] / np.linalg.norm(result.values["w"])])
    best = scanned(model, circle)
    assert result.certificate.bound <= best * (1 + 1e-9)
    assert result.objective == pytest.approx(best, rel=2e-6)


def test_units_and_rows_that_all_keep_change_nothing() -> None:
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
    model = tm.extended_nu_svc(DATA, nu=nu_of("free"))
    expected = tm.solve(model).objective
    model.more = pyo.Constraint(expr=model.w[0] + model.w[1] <= 10.0)
    result = tm.solve(model, method="branch-and-cut")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(expected, rel=1e-6)


def test_rows_that_leave_nothing_are_not_proven_to_have_an_optimum() -> None:
    model = tm.extended_nu_svc(DATA, nu=nu_of("free"))
    model.more = pyo.Constraint(expr=model.w[0] >= 1.5)
    result = tm.solve(model, method="branch-and-cut")
    assert result.objective is None
    assert result.status.value in ("infeasible", "infeasible_or_unbounded")


# --- the other members ----------------------------------------------------------------------------

# On both sides of nu_bar. A high rho asks for slacks of all points: each share is then its cap, and
# none has room. A row may be curved itself.
MEMBERS: list[tuple[str, float, Edit]] = [
    ("extended_nu_svc", 1.2, EDITS["w off"]),
    ("extended_nu_svc", 1.2, EDITS["rho and xi"]),
    ("extended_nu_svc", 0.5, of_row(lambda m: m.rho >= 30.0)),
    ("extended_nu_svc", 0.5, of_row(lambda m: m.w[0] ** 2 + 2 * m.rho**2 <= 0.2)),
    ("extended_nu_svc_reverse", 0.5, EDITS["two rows"]),
    ("extended_nu_svc_reverse", 1.2, EDITS["w off"]),
    ("extended_nu_svc_polar", 0.5, EDITS["w off"]),
    ("min_cvar", 0.5, EDITS["a sector"]),
    ("min_cvar", 1.2, of_row(lambda m: m.value_at_risk + m.xi[1] - m.w[1] >= 0.3)),
]


@pytest.mark.parametrize(
    ("mode", "member", "share", "edit"),
    [
        (mode, *row)
        for k, row in enumerate(MEMBERS)
        for mode in MODES
        if FULL or mode == MODES[k % 3]
    ],
)
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


# --- exact points ---------------------------------------------------------------------------------


def test_the_norm_row_is_met_by_rational_numbers() -> None:
    form = standard_form(edited("w above", "free"))
    row, x = form.quadratic[0], np.zeros(form.n)
    assert norm_held(form, x) is None
    for direction in ([0.3, 0.7], [-1.0, 1e-3]):
        x[row.body.index] = direction
        found = norm_held(form, x)
        assert found is not None
        assert sum(number**2 for number in found.values()) == Fraction(1)
        near = np.array([float(found[j]) for j in row.body.index.tolist()])
        assert near == pytest.approx(np.array(direction) / np.linalg.norm(direction), abs=1e-12)


@pytest.mark.parametrize("power", [-200, -31, 60, 200])
def test_units_of_a_norm_row_do_not_matter(power: int) -> None:
    """The least of x + 2y on the circle of radius 1 is -sqrt(5)."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(-2, 3))
    norm = model.x[0] ** 2 + model.x[1] ** 2
    model.row = pyo.Constraint(expr=2.0**power * norm == 2.0**power)
    model.goal = pyo.Objective(expr=model.x[0] + 2 * model.x[1])
    result = tm.solve(model, method="branch-and-cut", time_limit=20)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(-(5**0.5), rel=2e-6)
