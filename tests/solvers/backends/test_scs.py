"""SCS: optima of witnesses, order and sign of multipliers, tiny numbers, limits, Pyomo."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.contrib.solver.common.factory import SolverFactory

import tightmargin as tm
from tests.inside.solvers import ORDER, SOLVERS
from tests.inside.solvers import scs as back_end
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tightmargin.formulations import psd
from tightmargin.solvers import Status, Verdict

scs = pytest.importorskip("scs", reason="scs is an extra")

DATA = points("overlapping", 1, n=10)
SEPARABLE = points("separable", 1, n=10)
C, NU, PENALTY, BUDGET, BOUND = 0.7, 0.6, 1.3, 0.25, 12.0
GAMMA = np.full(DATA.n, 0.005)
GRAM = DATA.X @ DATA.X.T

Problem = tuple[Callable[[], pyo.ConcreteModel], Callable[[], float]]
PROBLEMS: dict[str, Problem] = {
    "c_svc": (
        lambda: tm.c_svc(DATA, C=C),
        lambda: reference_solutions.hinge(DATA, "free", 0.5, C).value,
    ),
    "c_svc_dual": (
        lambda: tm.c_svc_dual(DATA, C=C),
        lambda: -reference_solutions.c_dual(GRAM, DATA.y, np.full(DATA.n, C), "free"),
    ),
    "nu_svc": (
        lambda: tm.nu_svc(DATA, nu=NU),
        lambda: reference_solutions.nu_machine(DATA, "free", NU, np.full(DATA.n, 1 / DATA.n)).value,
    ),
    "max_margin_svc": (
        lambda: tm.max_margin_svc(SEPARABLE),
        lambda: reference_solutions.max_margin(SEPARABLE, "free").value,
    ),
    "conic_fixed": (
        lambda: tm.conic_fixed(DATA, penalty=PENALTY, strengthening=GAMMA),
        lambda: reference_solutions.fixed_strengthening(DATA, "penalised", PENALTY, GAMMA),
    ),
    "conic_sdp": (
        lambda: tm.conic_sdp(DATA, penalty=PENALTY, intercept="free", intercept_bound=BOUND),
        lambda: (
            reference_solutions.theorem_2(DATA, "free", penalty=PENALTY, bound_on_b=BOUND).value
        ),
    ),
    "conic_sdp_literal": (
        lambda: tm.conic_sdp_literal(DATA, penalty=PENALTY, intercept="none"),
        lambda: reference_solutions.theorem_2(DATA, "none", penalty=PENALTY).value,
    ),
    "conic_sdp_dual": (
        lambda: tm.conic_sdp_dual(DATA, penalty=PENALTY),
        lambda: -reference_solutions.theorem_2(DATA, "penalised", penalty=PENALTY).value,
    ),
    "conic_sdp_budget": (
        lambda: tm.conic_sdp_budget(DATA, budget=BUDGET),
        lambda: reference_solutions.theorem_2(DATA, "penalised", budget=BUDGET).value,
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum_is_that_of_the_witness(name: str) -> None:
    build, optimum = PROBLEMS[name]
    result = tm.solve(build(), "scs")
    assert result.objective == pytest.approx(optimum(), abs=1e-6 * max(1.0, abs(optimum())))
    assert result.status is Status.OPTIMAL
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    assert result.certificate.dual_residual < 1e-6
    assert result.certificate.solver_bound == pytest.approx(result.objective, abs=1e-5)


# --- order and sign ------------------------------------------------------------------------------

SYMMETRIC = np.array([[2, -1, 3, 0.5], [-1, 4, 1, -2], [3, 1, -3, 0.25], [0.5, -2, 0.25, 1]])


def smallest_eigenvalue() -> pyo.ConcreteModel:
    """min <S, X> over trace 1 and X semidefinite: no two entries of S may trade places."""
    m = pyo.ConcreteModel()
    m.L = pyo.Set(initialize=[(i, j) for i in range(4) for j in range(i + 1)], dimen=2)
    m.X = pyo.Var(m.L)
    psd(m, "cone", [[m.X[i, j] for j in range(i + 1)] for i in range(4)])
    m.trace = pyo.Constraint(expr=sum(m.X[i, i] for i in range(4)) == 1)
    m.objective = pyo.Objective(
        expr=sum((1 if i == j else 2) * float(SYMMETRIC[i, j]) * m.X[i, j] for i, j in m.L)
    )
    return m


def test_a_semidefinite_block_keeps_the_place_of_every_entry() -> None:
    values, vectors = np.linalg.eigh(SYMMETRIC)
    result = tm.solve(smallest_eigenvalue(), "scs")
    assert result.objective == pytest.approx(values[0], abs=1e-7)
    assert result.values["X"] == pytest.approx(np.outer(vectors[:, 0], vectors[:, 0]), abs=1e-6)
    assert result.duals["cone"] == pytest.approx(SYMMETRIC - values[0] * np.eye(4), abs=1e-5)
    assert result.duals["trace"] == pytest.approx(values[0], abs=1e-6)


def test_multipliers_are_derivatives_by_the_right_hand_side() -> None:
    """min (x - 3)^2 + y, x <= 1, y >= 2, x + y <= 9, z = x + 5, 0 <= z: 4 + 2."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(), pyo.Var(within=pyo.NonNegativeReals)
    m.top = pyo.Constraint(expr=10 * m.x <= 10)
    m.floor = pyo.Constraint(expr=0.01 * m.y >= 0.02)
    m.slack = pyo.Constraint(expr=(None, m.x + m.y, 9))
    m.tie = pyo.Constraint(expr=m.z - m.x == 5)
    m.objective = pyo.Objective(expr=(m.x - 3) ** 2 + m.y + 0.5 * m.z)
    result = tm.solve(m, "scs")
    assert result.objective == pytest.approx(4 + 2 + 3, abs=1e-7)
    # d/dx = -4 + 1/2 through z, over 10; d/dy = 1 over 0.01; z moves with the side of the tie.
    expected = {"top": -0.35, "floor": 100.0, "slack": 0.0, "tie": 0.5}
    for name, number in expected.items():
        assert float(result.duals[name]) == pytest.approx(number, abs=1e-5), name


def test_a_maximisation_keeps_its_sign() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 1))
    m.c = pyo.Constraint(expr=m.x[0] + m.x[1] <= 1.5)
    m.o = pyo.Objective(expr=2 * m.x[0] + m.x[1] + 7, sense=pyo.maximize)
    result = tm.solve(m, "scs")
    assert result.objective == pytest.approx(9.5, abs=1e-7)
    assert result.bound == pytest.approx(9.5, abs=1e-6)
    assert float(result.duals["c"]) == pytest.approx(1.0, abs=1e-6)


def test_a_model_without_rows_is_solved() -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.o = pyo.Objective(expr=(m.x - 1) ** 2 + (m.x - 2 * m.y) ** 2 + 3)
    result = tm.solve(m, "scs")
    assert result.objective == pytest.approx(3.0, abs=1e-8)
    assert result.values["y"] == pytest.approx(0.5, abs=1e-5)


def test_a_model_of_fixed_variables_never_gets_there() -> None:
    m = scaled_lp(1.0, 1.0)
    for v in m.component_data_objects(pyo.Var):
        v.fix(0.0)
    result = tm.solve(m, "scs")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.solver == "tightmargin"
    assert result.objective == result.bound == 0.0


# --- scaling -------------------------------------------------------------------------------------


def scaled_lp(row: float, goal: float) -> pyo.ConcreteModel:
    """The row reads x + y <= 3/2, and the objective is worth -5/2, both times a number."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 1))
    m.c = pyo.Constraint(expr=row * m.x[0] + row * m.x[1] <= 1.5 * row)
    m.o = pyo.Objective(expr=-goal * m.x[0] - 2 * goal * m.x[1])
    return m


@pytest.mark.parametrize("goal", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("row", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_rows_and_objectives_of_any_size_are_kept(row: float, goal: float) -> None:
    result = tm.solve(scaled_lp(row, goal), "scs")
    assert result.objective == pytest.approx(-2.5 * goal, rel=1e-7)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert float(result.duals["c"]) == pytest.approx(-goal / row, rel=1e-5)


def test_without_the_scaling_the_row_is_lost_and_the_certificate_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(back_end, "_row_scale", lambda conic: np.ones(len(conic.b)))
    result = tm.solve(scaled_lp(1e-12, 1.0), "scs")
    assert result.status is Status.INACCURATE
    assert result.objective is None
    assert "row c" in result.certificate.reason


def test_cones_of_small_numbers_are_kept() -> None:
    """max x + y over a disc of radius 1e-4 and a semidefinite row in units of 1e-6."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.t = pyo.Var(), pyo.Var(), pyo.Var(bounds=(None, 1))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 1e-8)
    psd(m, "cone", [[1e-6 * m.t], [1e-6, 4e-6 * m.t]])
    m.o = pyo.Objective(expr=1e4 * (m.x + m.y) - m.t, sense=pyo.maximize)
    result = tm.solve(m, "scs")
    assert result.objective == pytest.approx(np.sqrt(2) - 0.5, abs=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate


# --- ends of a run -------------------------------------------------------------------------------


def test_infeasible_and_unbounded_models_are_told_apart() -> None:
    m = scaled_lp(1.0, 1.0)
    m.far = pyo.Constraint(expr=m.x[0] >= 2)
    assert tm.solve(m, "scs").status is Status.INFEASIBLE
    m.far.deactivate()
    m.x.setlb(None)
    m.o.expr = m.x[0]
    result = tm.solve(m, "scs")
    assert result.status is Status.UNBOUNDED
    assert result.objective is None


def test_a_run_cut_short_is_not_called_optimal() -> None:
    model = tm.conic_sdp(DATA, penalty=PENALTY)
    for limits in ({"options": {"max_iters": 5}}, {"time_limit": 1e-9}):
        result = tm.solve(model, "scs", **limits)
        assert result.status in (Status.INACCURATE, Status.LIMIT_NO_SOLUTION), limits
        assert result.certificate.verdict is Verdict.NOT_CERTIFIED


def test_a_guess_at_a_limit_is_no_proof_of_infeasibility() -> None:
    m = scaled_lp(1.0, 1.0)
    m.far = pyo.Constraint(expr=m.x[0] >= 2)
    result = tm.solve(m, "scs", options={"max_iters": 50})
    assert result.message.startswith("infeasible (inaccurate")
    assert result.status is Status.LIMIT_NO_SOLUTION


@pytest.mark.parametrize("name", back_end.OPTIONS)
def test_every_option_we_let_through_is_known_to_scs(name: str) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)) as error:
        scs.SCS(
            {"A": back_end.sp.csc_matrix([[1.0]]), "b": np.ones(1), "c": np.ones(1)},
            {"l": 1},
            **{name: object()},
        )
    assert "invalid keyword" not in str(error.value)


def test_a_misspelt_option_names_the_right_one() -> None:
    with pytest.raises(ValueError, match="scs has no option 'max_iter'; did you mean max_iters"):
        tm.solve(scaled_lp(1.0, 1.0), "scs", options={"max_iter": 3})


def test_log_is_shown_only_when_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    tm.solve(scaled_lp(1.0, 1.0), "scs")
    assert capfd.readouterr().out == ""
    tm.solve(scaled_lp(1.0, 1.0), "scs", log=True)
    assert "Splitting Conic Solver" in capfd.readouterr().out


# --- in the register and in Pyomo ----------------------------------------------------------------


def test_auto_prefers_clarabel() -> None:
    for problem_class in SOLVERS["scs"].classes:
        names = ORDER[problem_class]
        assert names.index("clarabel") < names.index("scs")


def test_pyomo_knows_scs() -> None:
    values = np.linalg.eigvalsh(SYMMETRIC)
    model = smallest_eigenvalue()
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    results = pyo.SolverFactory("scs").solve(model)
    assert results.solver.termination_condition == pyo.TerminationCondition.optimal
    assert pyo.value(model.objective) == pytest.approx(values[0], abs=1e-6)
    assert model.dual[model.trace] == pytest.approx(values[0], abs=1e-5)
    solver = SolverFactory("scs")
    assert solver.available()
    assert solver.version() == tuple(int(part) for part in scs.__version__.split("."))
    assert solver.solve(model).incumbent_objective == pytest.approx(values[0], abs=1e-6)
