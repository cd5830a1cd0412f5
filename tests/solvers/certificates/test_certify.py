"""What a certificate computes: residuals against closed forms, verdicts on injected claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from sklearn.svm import NuSVC

import tightmargin as tm
from tests.inside.formulations import origin_now
from tests.inside.solvers import (
    SEAL,
    Case,
    Certified,
    Limits,
    LowerBound,
    Multipliers,
    Subject,
    certify,
    certify_point,
    classify,
    conic_methods,
    feasible_point,
    point_with,
    primal_residual,
    standard_form,
)
from tests.inside.solvers import ModelBoundBound as Bound
from tests.references import brute_force, reference_solutions
from tests.support.lying_solver import DATA, SUBJECTS
from tightmargin.formulations import psd
from tightmargin.solvers import Claim, Status, Verdict


def case_of(model: pyo.ConcreteModel) -> Case:
    form = standard_form(model)
    origin = origin_now(model) if hasattr(model, "origin") else None
    return Case(model, Subject(form), origin)


def told(case: Case, x: Any, rows: Any, cones: Mapping[int, Any] | None = None) -> Certified:
    """The certificate of a claimed optimum with these multipliers of the linear rows."""
    form = case.form
    cones = {key: np.asarray(value, dtype=float) for key, value in (cones or {}).items()}
    duals = Multipliers(np.array(rows, dtype=float), np.zeros(form.n), cones)
    return certify(case, Claim(Status.OPTIMAL, np.array(x, dtype=float), duals))


def parabola() -> pyo.ConcreteModel:
    """Min x^2 with the row x >= 1: x = 1, multiplier 2, f'' = 2."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.row = pyo.Constraint(expr=m.x >= 1)
    m.objective = pyo.Objective(expr=m.x**2)
    return m


@pytest.mark.parametrize(
    ("x", "y", "stationarity", "outside", "complementarity"),
    [
        (1.0, 1.0, 1 / 3, 0.0, 0.0),  # 2 x - y = 1, of the terms 2 and 1
        (1.0, -2.0, 1.0, 1.0, 0.0),  # dropped for its sign: 2 is left of 2
        (2.0, 2.0, 2 / 6, 0.0, 2 / 4),  # s z = 1 * 2 beside an objective of 4
        (2.0, 4.0, 0.0, 0.0, 4 / 4),
        (1.0, 2.0, 0.0, 0.0, 0.0),  # the optimum
    ],
)
def test_conditions_that_fail_are_measured(
    x: float, y: float, stationarity: float, outside: float, complementarity: float
) -> None:
    found = told(case_of(parabola()), [x], [y]).certificate
    assert found.facts["stationarity"] == pytest.approx(stationarity)
    assert found.facts["dual_cone_violation"] == pytest.approx(outside)
    assert found.complementarity == pytest.approx(complementarity)
    assert found.facts["objective_curvature"] == pytest.approx(2.0)
    assert found.primal_residual == 0.0
    assert (found.verdict is Verdict.CERTIFIED) == (x == 1.0)
    assert found.dual_residual == pytest.approx(max(stationarity, outside))


def test_eigenvalues_of_matrices_and_of_their_multipliers() -> None:
    """Min 2 a - 2 b over [[a, b], [b, a]] and a <= 9: the eigenvalues are a + b and a - b."""
    m = pyo.ConcreteModel()
    m.a, m.b = pyo.Var(bounds=(None, 9)), pyo.Var()
    psd(m, "matrix", [[m.a], [m.b, m.a]])
    m.objective = pyo.Objective(expr=2 * m.a - 2 * m.b)
    case = case_of(m)
    key = id(case.form.psd[0].data)
    x = at(case, a=3.0, b=1.0)
    found = told(case, x, [], {key: [[1.0, -1.0], [-1.0, 1.0]]}).certificate
    assert found.facts["matrix_eigenvalue"] == pytest.approx(2.0)
    assert found.facts["dual_matrix_eigenvalue"] == pytest.approx(0.0, abs=1e-12)
    assert found.bound == pytest.approx(0.0, abs=1e-9)
    assert found.verdict is Verdict.NOT_CERTIFIED, "4 at this point, and 0 is proven"
    wrong = told(case, x, [], {key: [[1.0, -2.0], [-2.0, 1.0]]}).certificate
    assert wrong.facts["dual_matrix_eigenvalue"] == pytest.approx(-1.0)
    assert wrong.facts["dual_cone_violation"] == pytest.approx(1 / np.sqrt(10))


def knapsack() -> pyo.ConcreteModel:
    """Min (x - 2)^2 - 3 z with x <= 1 + z / 2: z = 1, x = 3/2 gives -11/4; x = 1 only -2."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 5))
    m.z = pyo.Var(within=pyo.Binary)
    m.row = pyo.Constraint(expr=m.x <= 1 + 0.5 * m.z)
    m.objective = pyo.Objective(expr=(m.x - 2) ** 2 - 3 * m.z)
    return m


def at(case: Case, **values: float) -> Any:
    return np.array([values[case.form.columns.name(k)] for k in range(case.form.n)])


def test_the_better_continuous_part_is_kept_and_said() -> None:
    case = case_of(knapsack())
    best = certify(case, Claim(Status.FEASIBLE, at(case, x=1.0, z=0.0), bound=-4.0))
    assert best.objective == pytest.approx(1.0)
    assert best.certificate.facts["fixed_objective"] == pytest.approx(1.0, abs=1e-7)
    assert "solver_objective" not in best.certificate.facts
    assert best.certificate.verdict is Verdict.SOLVER_BOUND, "another z is better"
    plain = certify(case, Claim(Status.FEASIBLE, at(case, x=1.0, z=0.0)))
    assert plain.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "without a bound" in plain.certificate.reason
    lazy = certify(case, Claim(Status.FEASIBLE, at(case, x=1.0, z=1.0)))
    assert lazy.objective == pytest.approx(-2.75, abs=1e-7)
    assert lazy.certificate.facts["solver_objective"] == pytest.approx(-2.0)
    assert lazy.certificate.facts["fixed_objective"] == pytest.approx(-2.75, abs=1e-7)
    assert lazy.certificate.facts["fixed_verdict"] == "CERTIFIED"


def test_any_strengthening_gives_a_bound_and_no_false_one() -> None:
    """The one that was found, told again, and forged ones; brute force is the witness."""
    data, rng = reference_solutions.points("overlapping", 1, n=8), np.random.default_rng(0)
    truth = brute_force.zero_one_optima(data, [2.0], "penalised")[0]
    origin = tm.zero_one_big_m(data, penalty=2.0, big_m="derived", intercept="penalised").origin
    found, facts = conic_methods.relaxation_bound(origin, Limits())
    assert 0 < found.value <= truth + 1e-9
    assert all(found.hypotheses.values())
    gamma = facts[conic_methods.STRENGTHENING]
    again = conic_methods.bound_of_strengthening(origin, gamma)
    assert again.value == pytest.approx(found.value, rel=1e-12)
    for scale in (1e-3, 1.0, 1e3):
        for _ in range(5):
            bound = conic_methods.bound_of_strengthening(origin, scale * rng.random(8))
            assert bound is None or bound.value <= truth + 1e-9
    assert conic_methods.bound_of_strengthening(origin, np.full(7, 0.1)) is None
    assert conic_methods.bound_of_strengthening(origin, np.full(8, -0.1)) is None


def test_an_exceeded_bound_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multipliers cannot prove it, so a bound that is too large is put in their place."""
    case = case_of(parabola())
    wrong = LowerBound(subject=case.form, words="a wrong proof", seal=SEAL, varying=1.5)
    monkeypatch.setattr(certify_point, "model_bound", lambda *_: Bound(wrong))
    found = certify(case, Claim(Status.OPTIMAL, np.array([1.0])))
    assert found.certificate.reason.startswith("the exact point at 1.0000000")
    assert found.certificate.reason.endswith("contradicts the bound 1.5: a proof is wrong")
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert found.certificate.gap is None
    assert found.status is Status.INACCURATE


def test_the_counts_are_those_of_another_machine() -> None:
    data = reference_solutions.points("overlapping", 3, n=30)
    machine = NuSVC(kernel="linear", nu=0.9, tol=1e-10).fit(data.X, data.y)
    errors = int((machine.predict(data.X) != data.y).sum())
    for build in (tm.nu_svc, tm.nu_svc_dual):
        facts = tm.solve(build(data, nu=0.9)).certificate.facts
        assert (facts["support_vectors"], facts["errors"]) == (len(machine.support_), errors)
        assert facts["margin_error_share"] <= 0.9 + 1e-9
        assert facts["support_vector_share"] >= 0.9 - 1e-9
        assert facts["nu_property"] == "holds"
    few = reference_solutions.points("overlapping", 5, n=12)
    assert tm.theory.nu_range(few).nu_min > 0.6
    result = tm.solve(tm.nu_svc(few, nu=0.5), "clarabel")
    assert not result.values["w"].any(), "nothing is better than w = 0, which is then the point"
    assert result.certificate.facts["nu_property"].startswith("not asked")


def test_a_wrong_level_fails_the_nu_property() -> None:
    data = reference_solutions.points("overlapping", 3, n=30)
    model = tm.nu_svc(data, nu=0.9)
    best = tm.solve(model)
    case = case_of(model)
    for factor, words in ((0.2, "fails"), (5.0, "fails"), (1.0, "holds")):
        values = dict(best.values) | {"rho": factor * best.values["rho"]}
        x = point_with(model, case.form, np.zeros(case.form.n), values)
        check = case.paper_check(x)
        assert check.objective >= best.objective - 1e-12
        assert check.facts["nu_property"] == words


def test_an_optimum_claimed_where_there_is_none_is_taken_back() -> None:
    """A program that falls for ever, and then one without a point."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var(bounds=(None, 9))
    m.row = pyo.Constraint(expr=m.y <= m.x)
    m.objective = pyo.Objective(expr=m.x)
    case = case_of(m)
    for status in (Status.OPTIMAL, Status.INACCURATE):
        found = certify(case, Claim(status, at(case, x=-5.0, y=-6.0)))
        assert found.status is Status.UNBOUNDED
        assert found.certificate.verdict is Verdict.CERTIFIED
    m.low = pyo.Constraint(expr=m.y >= 8)
    m.high = pyo.Constraint(expr=m.x <= 7)
    case = case_of(m)
    found = certify(case, Claim(Status.OPTIMAL, at(case, x=7.0, y=7.5)))
    assert found.status is Status.INFEASIBLE


def test_a_point_outside_a_cone_closes_no_gap_that_other_rows_leave_open() -> None:
    """min y + t on the cone is 0; at y = -1 - off it is -off, and these multipliers prove -off."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.t = pyo.Var(), pyo.Var(), pyo.Var(bounds=(0, None))
    m.low = pyo.Constraint(expr=m.y >= -5)
    m.cone = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.t**2)
    m.cost = pyo.Objective(expr=m.y + m.t)
    off = 2.0**-22
    price = off / 5
    cone = {id(m.cone): np.array([1.0, 0.0, 1.0 - price])}
    duals = Multipliers(np.array([price]), np.zeros(3), cone)
    case = case_of(m)
    found = certify(case, Claim(Status.OPTIMAL, np.array([0.0, -1.0 - off, 1.0]), duals))
    assert found.certificate.bound == pytest.approx(-off, rel=1e-6)
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert found.status is Status.INACCURATE
    inside = certify(case, Claim(Status.OPTIMAL, np.array([0.0, -1.0, 1.0]), duals))
    assert inside.objective == 0.0


def point_of(model: pyo.ConcreteModel) -> np.ndarray | None:
    form = standard_form(model)
    found = feasible_point(form, classify(form), Limits(threads=1))
    if found is None:
        return None
    x, residual = found
    assert residual == primal_residual(form, x)[0] <= 1e-9
    return x


@pytest.mark.parametrize("subject", list(SUBJECTS))
def test_every_feasible_model_has_a_point(subject: str) -> None:
    """Whole numbers where they are asked for: the residual counts integrality."""
    assert point_of(SUBJECTS[subject].build()) is not None


@pytest.mark.parametrize("kind", ["rows", "cone", "integers", "sphere"])
def test_an_infeasible_model_has_none(kind: str) -> None:
    """Rows that contradict, a disc beside a line, 2 x = 1 in whole numbers, a sphere in a box."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-2, 2))
    square = m.x[0] ** 2 + m.x[1] ** 2
    m.objective = pyo.Objective(expr=m.x[1])
    if kind == "rows":
        m = tm.hard_margin_svc(DATA)
    elif kind == "cone":
        m.disc, m.line = pyo.Constraint(expr=square <= 1), pyo.Constraint(expr=m.x[0] >= 1.5)
    elif kind == "sphere":
        m.sphere = pyo.Constraint(expr=square == 9)
    else:
        m.x.domain = pyo.Integers
        m.row = pyo.Constraint(expr=2 * m.x[0] == 1)
    assert point_of(m) is None
