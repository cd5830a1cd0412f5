"""What a certificate computes: residuals against closed forms, verdicts on injected claims."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.experiments.saved_results.test_saved_results import SETTINGS, data_of
from tests.inside.experiments import parse_settings
from tests.inside.formulations import origin_now
from tests.inside.solvers import (
    BOUND_DUALS,
    FACTS,
    SEAL,
    Case,
    Certified,
    Limits,
    LowerBound,
    Multipliers,
    Subject,
    certify,
    certify_point,
    point_with,
    relaxation_bound,
    standard_form,
)
from tests.inside.solvers import ModelBoundBound as Bound
from tests.references import brute_force, reference_solutions
from tests.support.command_line import ROOT
from tightmargin.formulations import CATALOGUE, psd
from tightmargin.solvers import Certificate, Claim, SolveResult, Status, Verdict


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


# --- the conditions of optimality, in closed form -------------------------------------------------


def parabola() -> pyo.ConcreteModel:
    """Min x^2 with the row x >= 1: x = 1, multiplier 2, f'' = 2."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.row = pyo.Constraint(expr=m.x >= 1)
    m.objective = pyo.Objective(expr=m.x**2)
    return m


def test_conditions_at_the_optimum_are_met() -> None:
    found = told(case_of(parabola()), [1.0], [2.0]).certificate
    assert found.verdict is Verdict.CERTIFIED
    assert found.primal_residual == 0.0
    assert found.dual_residual == found.complementarity == 0.0
    assert found.facts["objective_curvature"] == pytest.approx(2.0)
    assert found.facts["stationarity"] == found.facts["dual_cone_violation"] == 0.0


@pytest.mark.parametrize(
    ("x", "y", "stationarity", "outside", "complementarity"),
    [
        (1.0, 1.0, 1 / 3, 0.0, 0.0),  # 2 x - y = 1, of the terms 2 and 1
        (1.0, -2.0, 1.0, 1.0, 0.0),  # dropped for its sign: 2 is left of 2
        (2.0, 2.0, 2 / 6, 0.0, 2 / 4),  # s z = 1 * 2 beside an objective of 4
        (2.0, 4.0, 0.0, 0.0, 4 / 4),
    ],
)
def test_conditions_that_fail_are_measured(
    x: float, y: float, stationarity: float, outside: float, complementarity: float
) -> None:
    found = told(case_of(parabola()), [x], [y]).certificate
    assert found.facts["stationarity"] == pytest.approx(stationarity)
    assert found.facts["dual_cone_violation"] == pytest.approx(outside)
    assert found.complementarity == pytest.approx(complementarity)
    assert found.dual_residual == pytest.approx(max(stationarity, outside))


def test_the_units_of_a_row_do_not_change_the_residuals() -> None:
    """A wrong-signed multiplier counts by what it does to the columns, whatever its row's units."""
    found = []
    for unit in (1.0, 1e6):
        m = parabola()
        m.row.set_value(unit * m.x >= unit)
        m.other = pyo.Constraint(expr=m.x <= 10)
        found.append(told(case_of(m), [2.0], [-0.5 / unit, -1.0]).certificate.facts)
    for word, expected in (("stationarity", 1.0), ("dual_cone_violation", 0.5)):
        for facts in found:
            assert facts[word] == pytest.approx(expected)


def test_curvatures_are_those_of_the_matrices_the_model_was_written_from() -> None:
    rng = np.random.default_rng(0)
    half, other = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    P, Q = half @ half.T, other @ other.T
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3))
    m.t = pyo.Var(within=pyo.NonNegativeReals)
    m.s = pyo.Var(within=pyo.NonNegativeReals)
    square = sum(Q[i, j].item() * m.x[i] * m.x[j] for i in range(3) for j in range(3))
    m.ball = pyo.Constraint(expr=square <= 1)
    m.cone = pyo.Constraint(expr=m.x[0] ** 2 <= m.s * m.t)
    m.objective = pyo.Objective(
        expr=0.5 * sum(P[i, j].item() * m.x[i] * m.x[j] for i in range(3) for j in range(3))
        + m.s + m.t
    )  # fmt: skip
    facts = tm.solve(m, "clarabel").certificate.facts
    assert facts["objective_curvature"] == pytest.approx(np.linalg.eigvalsh(P)[0], rel=1e-9)
    assert facts["row_curvature"] == pytest.approx(2 * np.linalg.eigvalsh(Q)[0], rel=1e-9)
    assert facts["cone_rows"] == 1


def test_eigenvalues_of_matrices_and_of_their_multipliers() -> None:
    """Min 2 a - 2 b over [[a, b], [b, a]] and a <= 9: the eigenvalues are a + b and a - b."""
    m = pyo.ConcreteModel()
    m.a, m.b = pyo.Var(bounds=(None, 9)), pyo.Var()
    psd(m, "matrix", [[m.a], [m.b, m.a]])
    m.objective = pyo.Objective(expr=2 * m.a - 2 * m.b)
    case = case_of(m)
    key = id(case.form.psd[0].data)
    order = [case.form.columns.name(k) for k in range(2)]
    x = [{"a": 3.0, "b": 1.0}[name] for name in order]
    found = told(case, x, [], {key: [[1.0, -1.0], [-1.0, 1.0]]}).certificate
    assert found.facts["matrix_eigenvalue"] == pytest.approx(2.0)
    assert found.facts["dual_matrix_eigenvalue"] == pytest.approx(0.0, abs=1e-12)
    assert found.facts["stationarity"] == pytest.approx(0.0, abs=1e-12)
    assert found.bound == pytest.approx(0.0, abs=1e-9)
    assert found.verdict is Verdict.NOT_CERTIFIED, "4 at this point, and 0 is proven"
    wrong = told(case, x, [], {key: [[1.0, -2.0], [-2.0, 1.0]]}).certificate
    assert wrong.facts["dual_matrix_eigenvalue"] == pytest.approx(-1.0)
    assert wrong.facts["dual_cone_violation"] == pytest.approx(1 / np.sqrt(10))


def test_the_smallest_eigenvalue_is_that_of_all_blocks() -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var(bounds=(None, 9))
    psd(m, "one", [[m.x]])
    psd(m, "two", [[m.y]])
    m.objective = pyo.Objective(expr=2 * m.x - m.y)
    case = case_of(m)
    one, two = (id(row.data) for row in case.form.psd)
    facts = told(case, at(case, x=3.0, y=5.0), [], {one: [[2.0]], two: [[-1.0]]}).certificate.facts
    assert facts["matrix_eigenvalue"] == 3.0
    assert facts["dual_matrix_eigenvalue"] == -1.0


# --- the list of facts ----------------------------------------------------------------------------


def solved(name: str, **more: Any) -> SolveResult:
    settings = dict(parse_settings(SETTINGS[name].split()))
    return tm.solve(CATALOGUE[name].build(data_of(name), **settings), **more)


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_every_fact_of_every_entry_is_documented(name: str) -> None:
    facts = solved(name).certificate.facts
    assert set(facts) <= set(FACTS)
    assert "unit" in facts


def test_every_documented_fact_is_written_somewhere() -> None:
    folders = ("solvers", "formulations", "cuts")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    text = "".join(path.read_text() for path in files if path.name != "solvers/fact_names.py")
    assert [name for name in FACTS if not re.search(rf'"{name}"', text)] == []


# --- mixed-integer points -------------------------------------------------------------------------


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
    lazy = certify(case, Claim(Status.FEASIBLE, at(case, x=1.0, z=1.0)))
    assert lazy.objective == pytest.approx(-2.75, abs=1e-7)
    assert lazy.certificate.facts["solver_objective"] == pytest.approx(-2.0)
    assert lazy.certificate.facts["fixed_objective"] == pytest.approx(-2.75, abs=1e-7)
    assert lazy.certificate.facts["fixed_verdict"] == "CERTIFIED"


def test_an_honest_incumbent_equals_its_fixed_optimum() -> None:
    case = case_of(knapsack())
    best = certify(case, Claim(Status.FEASIBLE, at(case, x=1.0, z=0.0), bound=-4.0))
    assert best.objective == pytest.approx(1.0)
    assert best.certificate.facts["fixed_objective"] == pytest.approx(1.0, abs=1e-7)
    assert "solver_objective" not in best.certificate.facts
    assert best.certificate.verdict is Verdict.SOLVER_BOUND, "another z is better"


def test_an_indicator_that_is_only_nearly_zero_buys_nothing() -> None:
    """x <= 1e6 z and x >= 1: z = 1e-6 passes for 0 with solvers, and then there is no point."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(1, 5))
    m.z = pyo.Var(within=pyo.Binary)
    m.row = pyo.Constraint(expr=m.x <= 1e6 * m.z)
    m.objective = pyo.Objective(expr=m.z)
    case = case_of(m)
    found = certify(case, Claim(Status.OPTIMAL, at(case, x=1.0, z=1e-6), bound=1e-6))
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert found.certificate.reason == "with its integers fixed the model has no point"
    assert found.objective is None


@pytest.mark.usefixtures("no_search_of_ours")
@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("seed", range(2))
def test_the_sdp_bound_beside_the_solver_is_one(seed: int, intercept: str) -> None:
    """Below the optimum by brute force; above the big-M relaxation where b has a price."""
    data, penalty = reference_solutions.points("overlapping", seed, n=8), 2.0
    truth = brute_force.zero_one_optima(data, [penalty], intercept)[0]
    words = {"penalty": penalty, "big_m": "derived", "intercept": intercept}
    case = case_of(tm.zero_one_big_m(data, **words))
    assert case.origin is not None
    lemma, facts = relaxation_bound.relaxation_bound(case.origin, Limits())
    assert lemma is not None
    value = lemma.value
    assert 0 < value <= truth + 1e-9
    assert all(lemma.hypotheses.values())
    again = relaxation_bound.bound_of_strengthening(
        case.origin, facts[relaxation_bound.STRENGTHENING]
    )
    assert again is not None
    assert again.value == pytest.approx(value, rel=1e-12), "proven again from gamma alone"
    relaxed = tm.solve(tm.zero_one_relaxed(data, **words)).bound
    assert relaxed is not None
    nothing_kept = point_with(case.model, case.form, np.zeros(case.form.n), {"z": np.ones(8)})
    found = certify(case, Claim(Status.FEASIBLE, nothing_kept)).certificate
    assert found.bound == pytest.approx(max(value, relaxed), rel=1e-6)
    if intercept != "free":
        assert found.bound_method == lemma.words
        assert found.bound == value > 1.5 * relaxed
        assert found.facts[relaxation_bound.STRENGTHENING] == facts[relaxation_bound.STRENGTHENING]


def test_any_strengthening_gives_a_bound_and_no_false_one() -> None:
    """A forged gamma proves less, or nothing; brute force is the witness."""
    data, rng = reference_solutions.points("overlapping", 1, n=8), np.random.default_rng(0)
    truth = brute_force.zero_one_optima(data, [2.0], "penalised")[0]
    origin = tm.zero_one_big_m(data, penalty=2.0, big_m="derived").origin
    for scale in (1e-3, 1.0, 1e3):
        for _ in range(5):
            bound = relaxation_bound.bound_of_strengthening(origin, scale * rng.random(8))
            assert bound is None or bound.value <= truth + 1e-9
    assert relaxation_bound.bound_of_strengthening(origin, np.full(7, 0.1)) is None
    assert relaxation_bound.bound_of_strengthening(origin, np.full(8, -0.1)) is None


@pytest.mark.usefixtures("no_search_of_ours")
def test_borrowed_multipliers_travel_with_the_result() -> None:
    """SCIP gives none; those of the bound are in the facts, so that certify can use them."""
    result = solved("ramp_big_m", solver="scip")
    kept = result.certificate.facts[BOUND_DUALS]
    assert len(kept["margin"]) == data_of("ramp_big_m").n
    assert result.duals == {}
    data = reference_solutions.points("overlapping", 5, n=12)
    u = np.array(kept["margin"])
    assert u.min() >= -1e-6, "of rows with a lower side"
    relaxed = reference_solutions.hinge(data, "free", 0.5, 0.0)
    assert relaxed.value <= result.bound <= result.objective


# --- claims without a point -----------------------------------------------------------------------


def impossible(sense: Any) -> pyo.ConcreteModel:
    """x + y >= 3 within the unit box, for either sense: violated by 1 at least."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(["x", "y"], bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x["x"] + m.x["y"] >= 3)
    m.objective = pyo.Objective(expr=m.x["x"], sense=sense)
    return m


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_an_infeasible_model_comes_with_its_farkas_multipliers(sense: Any) -> None:
    result = tm.solve(impossible(sense))
    assert result.status is Status.INFEASIBLE
    assert result.certificate.verdict is Verdict.CERTIFIED
    y = float(result.duals["row"])
    assert 0 < y <= 1
    assert 3 * y - max(0.0, y) * 2 > 0.9 * y, "y (3 - max of x + y over the box) is positive"
    assert result.values == {}


@pytest.mark.parametrize(("sense", "sign"), [(pyo.minimize, -1.0), (pyo.maximize, 1.0)])
def test_an_unbounded_model_comes_with_a_point_and_a_ray(sense: Any, sign: float) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(["x", "y"], bounds=(1, None))
    m.fixed = pyo.Var(initialize=4.0)
    m.fixed.fix()
    m.row = pyo.Constraint(expr=m.x["x"] - m.x["y"] == m.fixed)
    m.objective = pyo.Objective(expr=sign * m.x["x"] + m.fixed, sense=sense)
    result = tm.solve(m)
    assert result.status is Status.UNBOUNDED
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective is None
    assert result.absolute_gap is None
    x, ray = result.values["x"], result.ray["x"]
    assert x[0] - x[1] == 4.0
    assert x.min() >= 1
    assert ray[0] == ray[1] > 0
    assert float(result.ray["fixed"]) == 0.0


# --- gaps that are flags --------------------------------------------------------------------------


def result_with(gap: float | None, objective: float, bound: float, scale: float = 1.0) -> Any:
    certificate = Certificate(Verdict.NOT_CERTIFIED, gap=gap, bound=bound, facts={"unit": scale})
    return SolveResult(Status.INACCURATE, objective, bound, {}, {}, certificate, "none")


def test_a_bound_beyond_the_objective_is_a_reason_and_no_gap() -> None:
    case = case_of(parabola())
    model, form = case.model, case.form
    wrong = replace(form, objective=replace(form.objective, constant=-0.5))
    found = told(Case(model, Subject(wrong)), [1.0], [2.0])
    assert found.certificate.gap == pytest.approx(0.0, abs=1e-9)
    low = certify(case, Claim(Status.OPTIMAL, np.array([0.9999995]), None))
    assert low.certificate.verdict is Verdict.CERTIFIED
    assert low.objective == pytest.approx(1, rel=1e-14), "0.9999995 is below the row: 1 is not"
    assert low.objective >= 1
    assert low.certificate.gap == pytest.approx(0.0, abs=1e-9)


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
    assert result_with(found.certificate.gap, 1.0, 1.5).absolute_gap is None
    assert result_with(found.certificate.gap, 1.0, 1.5).to_json()["relative_gap"] is None


def test_gaps_of_a_result_are_never_negative() -> None:
    assert result_with(0.5, 2.0, 1.0).absolute_gap == 1.0
    assert result_with(0.5, 1.0, 2.0).absolute_gap == 1.0, "a maximisation"
    assert result_with(0.0, 1.0, 1.0 + 1e-9).absolute_gap == 0.0
    assert result_with(None, 1.0, 2.0).absolute_gap is None


def test_maximising_has_the_gap_of_minimising() -> None:
    m = parabola()
    m.objective.deactivate()
    m.other = pyo.Objective(expr=-(m.x**2), sense=pyo.maximize)
    case = case_of(m)
    found = certify(case, Claim(Status.OPTIMAL, np.array([2.0])))
    assert found.certificate.gap == pytest.approx(3 / 4)


# --- the nu-property ------------------------------------------------------------------------------

NU_ENTRIES = {
    "nu_svc": {}, "nu_svc_dual": {}, "extended_nu_svc_ball": {},
    "extended_nu_svc_dual": {},
    "extended_nu_svc_linearised": {"w_ref": [1.0, 0.5]},
    "extended_nu_svc_linearised_dual": {"w_ref": [1.0, 0.5]},
}  # fmt: skip


@pytest.mark.parametrize("balance", ["uniform", "balanced", "own"])
@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("entry", NU_ENTRIES)
def test_the_nu_property_holds_where_it_must(entry: str, intercept: str, balance: str) -> None:
    data = reference_solutions.points("overlapping", 3, n=21)
    own = np.linspace(1, 2, data.n)
    weights: Any = own / own.sum() if balance == "own" else balance
    ends = tm.theory.nu_range(data, class_balance=weights, intercept=intercept)
    nu = ends.nu_min * 0.6 if "linearised" in entry else (ends.nu_min + 3 * ends.nu_max) / 4
    words = NU_ENTRIES[entry] | {"nu": nu, "class_balance": weights, "intercept": intercept}
    if intercept == "penalised" and "w_ref" in words:
        words["w_ref"] = [1.0, 0.5, 0.2]
    result = tm.solve(CATALOGUE[entry].build(data, **words))
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate.reason
    facts = result.certificate.facts
    assert facts["nu_property"] == "holds"
    assert facts["margin_error_share"] <= nu + 1e-9
    assert facts["support_vector_share"] >= nu - 1e-9
    assert facts["margin_errors"] <= facts["support_vectors"]


def test_the_counts_are_those_of_the_points() -> None:
    """From the hyperplane of the result, counted without our code; and of libsvm's machine."""
    from sklearn.svm import NuSVC

    data = reference_solutions.points("overlapping", 3, n=30)
    result = tm.solve(tm.nu_svc(data, nu=0.9))
    facts, w = result.certificate.facts, result.values["w"]
    u = data.y * (data.X @ w + float(result.values["b"]))
    rho = float(result.values["rho"])
    assert facts["errors"] == int((u <= 0).sum())
    assert facts["margin_errors"] == int((u < rho * (1 - 1e-4)).sum())
    assert facts["support_vectors"] == int((u <= rho * (1 + 1e-4)).sum())
    machine = NuSVC(kernel="linear", nu=0.9, tol=1e-10).fit(data.X, data.y)
    assert facts["support_vectors"] == len(machine.support_)
    assert facts["errors"] == int((machine.predict(data.X) != data.y).sum())
    dual = tm.solve(tm.nu_svc_dual(data, nu=0.9)).certificate.facts
    assert (dual["support_vectors"], dual["errors"]) == (len(machine.support_), facts["errors"])


@pytest.mark.parametrize(("factor", "words"), [(0.2, "fails"), (5.0, "fails"), (1.0, "holds")])
def test_a_wrong_level_fails_the_nu_property(factor: float, words: str) -> None:
    data = reference_solutions.points("overlapping", 3, n=30)
    model = tm.nu_svc(data, nu=0.9)
    best = tm.solve(model)
    case = case_of(model)
    values = dict(best.values) | {"rho": factor * best.values["rho"]}
    x = point_with(model, case.form, np.zeros(case.form.n), values)
    check = case.paper_check(x)
    assert check is not None
    assert check.objective >= best.objective - 1e-12
    assert check.facts["nu_property"] == words


def test_below_nu_min_the_property_is_not_asked() -> None:
    data = reference_solutions.points("overlapping", 5, n=12)
    result = tm.solve(tm.nu_svc(data, nu=0.5), "clarabel")
    assert tm.theory.nu_range(data).nu_min > 0.6
    assert result.objective == 0.0
    assert not result.values["w"].any(), "nothing is better than w = 0, which is then the point"
    assert result.certificate.facts["nu_property"].startswith("not asked")


def test_the_dual_counts_support_vectors_like_libsvm() -> None:
    from sklearn.svm import SVC

    data = reference_solutions.points("overlapping", 2, n=30)
    machine = SVC(kernel="linear", C=0.7, tol=1e-10).fit(data.X, data.y)
    errors = int((machine.predict(data.X) != data.y).sum())
    for model in (tm.c_svc(data, C=0.7), tm.c_svc_dual(data, C=0.7)):
        facts = tm.solve(model).certificate.facts
        assert facts["support_vectors"] == len(machine.support_)
        assert facts["errors"] == errors


def test_a_hard_margin_leans_on_few_points() -> None:
    data = reference_solutions.points("separable", 3, n=20)
    for model in (tm.hard_margin_svc(data), tm.max_margin_svc(data)):
        facts = tm.solve(model).certificate.facts
        assert facts["errors"] == 0
        assert 2 <= facts["support_vectors"] <= data.d + 1


def test_a_form_without_clarabel_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.inside.solvers import model_bound

    class Absent:
        installed = False

    monkeypatch.setitem(model_bound.SOLVERS, "clarabel", Absent())
    x = np.array([1.0, 1.0])
    found = certify(case_of(knapsack()), Claim(Status.FEASIBLE, x, bound=-4.0))
    assert found.certificate.bound is None
    assert found.certificate.verdict is Verdict.SOLVER_BOUND


def test_a_point_without_any_bound_is_no_solvers_bound() -> None:
    case = case_of(knapsack())
    found = certify(case, Claim(Status.FEASIBLE, at(case, x=1.0, z=0.0)))
    assert found.status is Status.FEASIBLE
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "without a bound" in found.certificate.reason


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
    stopped = certify(case, Claim(Status.FEASIBLE, at(case, x=-5.0, y=-6.0)))
    assert stopped.status is Status.FEASIBLE, "whoever was stopped claims nothing"
    m.low = pyo.Constraint(expr=m.y >= 8)
    m.high = pyo.Constraint(expr=m.x <= 7)
    case = case_of(m)
    found = certify(case, Claim(Status.OPTIMAL, at(case, x=7.0, y=7.5)))
    assert found.status is Status.INFEASIBLE
    assert found.certificate.verdict is Verdict.CERTIFIED


# --- a point that is better than any feasible one ------------------------------------------------


@pytest.mark.parametrize("off", [2.0**-30, 2.0**-22])
def test_a_point_outside_a_cone_closes_no_gap_that_other_rows_leave_open(off: float) -> None:
    """min y + t on the cone is 0; at y = -1 - off it is -off, and these multipliers prove -off."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.t = pyo.Var(), pyo.Var(), pyo.Var(bounds=(0, None))
    m.low = pyo.Constraint(expr=m.y >= -5)
    m.cone = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.t**2)
    m.cost = pyo.Objective(expr=m.y + m.t)
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
