"""solve(): choice and refusal of solvers, limits, messages, starts, disjunctive models."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.solvers import backends_registry as registry
from tests.inside.solvers import zero_one_enumeration
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import (
    NumberError,
    ProblemClassError,
    SizeLimitError,
    SolverNotInstalledError,
    Status,
    Verdict,
)


@pytest.fixture(scope="module")
def points():
    return outlier_data("clustered", n=16, d=2, sigma=0.4, seed=1)


def hard_instance(n=150):
    """Labels without relation to the points: no solver proves this in seconds."""
    rng = np.random.default_rng(0)
    return tm.TrainingData(rng.standard_normal((n, 5)), rng.choice([-1, 1], n))


def test_a_solver_that_cannot_take_the_class_is_refused_with_those_that_can(points):
    with pytest.raises(ProblemClassError, match=r"highs cannot take SDP .*clarabel"):
        tm.solve(tm.conic_sdp(points, penalty=1.0), "highs")
    with pytest.raises(ProblemClassError, match=r"clarabel cannot take MIQP .*scip"):
        tm.solve(tm.zero_one_big_m(points, penalty=1.0, big_m="derived"), "clarabel")


def test_an_unknown_solver_is_named(points):
    with pytest.raises(ValueError, match=r"unknown solver 'cplexx'; choose auto, highs"):
        tm.solve(tm.c_svc(points, C=1.0), "cplexx")


def test_a_missing_solver_is_refused_with_the_ones_installed(points, monkeypatch):
    monkeypatch.setattr(
        registry.importlib.util, "find_spec", lambda name: None if name == "pyscipopt" else name
    )
    with pytest.raises(SolverNotInstalledError, match=r"pip install pyscipopt.*gurobi"):
        tm.solve(tm.zero_one_big_m(points, penalty=1.0, big_m="derived"), "scip")


def test_a_model_beyond_a_restricted_licence_is_refused_before_the_solve(monkeypatch):
    pytest.importorskip("gurobipy", reason="gurobi is an extra")
    monkeypatch.setattr(registry, "gurobi_is_restricted", lambda: True)
    data = outlier_data("none", n=250, d=2, sigma=0.4, seed=0)
    with pytest.raises(
        SizeLimitError, match=r"gurobi: the model has 253 variables.* 200 .*try clarabel, piqp"
    ):
        tm.solve(tm.c_svc(data, C=1.0), "gurobi")


def test_a_dropped_coefficient_is_refused_by_name_and_kept_by_clarabel():
    data = tm.TrainingData([[1e-10], [-2e-10], [3e-10]], [1, -1, 1])
    with pytest.raises(
        NumberError, match=r"highs would silently drop .* w\[0\] in row margin\[0\]"
    ):
        tm.solve(tm.c_svc(data, C=1.0), "highs")
    chosen = tm.solve(tm.c_svc(data, C=1.0))
    assert chosen.solver == "clarabel"


@pytest.mark.parametrize(
    ("solver", "misspelt", "meant"),
    [
        ("clarabel", "max_itr", "max_iter"),
        ("highs", "time_limt", "time_limit"),
        ("scip", "limit/time", "limits/time"),
    ],
)
def test_a_misspelt_option_names_the_right_one(points, solver, misspelt, meant):
    model = (
        tm.zero_one_big_m(points, penalty=1.0, big_m="derived")
        if solver == "scip"
        else tm.c_svc(points, C=1.0)
    )
    with pytest.raises(ValueError, match=f"{solver} has no option '{misspelt}'.*{meant}"):
        tm.solve(model, solver, options={misspelt: 1})


def test_time_limit_must_be_positive(points):
    with pytest.raises(ValueError, match="time_limit must be positive"):
        tm.solve(tm.c_svc(points, C=1.0), time_limit=0)


def test_a_time_limit_keeps_incumbent_claim_and_our_own_bound():
    data = hard_instance()
    result = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m="derived"), "scip", time_limit=2)
    assert result.status is Status.FEASIBLE
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    u = data.y * (data.X @ result.values["w"] + result.values["b"])
    norm = float(result.values["w"] @ result.values["w"] + result.values["b"] ** 2)
    assert result.objective == pytest.approx(norm + np.sum(u < 1), abs=1e-9)
    assert 0 < result.certificate.solver_bound <= result.objective
    # Ours is that of the SDP relaxation, which SCIP does not reach in this time.
    assert result.certificate.solver_bound < result.bound <= result.objective


def test_an_interior_point_run_cut_short_is_inaccurate_not_optimal(points):
    result = tm.solve(tm.c_svc(points, C=1.0), "clarabel", options={"max_iter": 3})
    assert result.status is Status.INACCURATE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "gap" in result.certificate.reason


def test_infeasible_and_unbounded_models_are_said_so(points):
    overlapping = tm.TrainingData([[0.0], [1.0], [2.0]], [1, -1, 1])
    assert tm.solve(tm.hard_margin_svc(overlapping)).status is Status.INFEASIBLE
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, None))
    m.o = pyo.Objective(expr=-m.x)
    result = tm.solve(m)
    assert result.status is Status.UNBOUNDED
    assert result.objective is None


def test_both_ends_of_the_range_of_nu_are_reported_before_the_solve():
    data = tm.TrainingData([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    found = tm.theory.nu_range(data)
    low = tm.solve(tm.nu_svc(data, nu=found.nu_min / 2))
    assert f"nu_min = {found.nu_min:.6g}" in low.message
    assert "extended nu-SVC" in low.message
    assert low.objective == pytest.approx(0, abs=1e-7)
    unbalanced = tm.TrainingData([[0.0], [1.0], [2.0], [3.0]], [-1, 1, 1, 1])
    with pytest.raises(ValueError, match=r"nu must lie in \(0, 0.5\].*unbounded"):
        tm.nu_svc(unbalanced, nu=0.6)
    model = tm.nu_svc(unbalanced, nu=0.5)
    model.nu = 0.75
    with pytest.raises(ValueError, match=r"nu must lie in \(0, 0.5\]"):
        tm.solve(model)


@pytest.mark.parametrize("transformation", ["bigm", "hull", "mbigm"])
def test_a_disjunctive_model_has_the_enumerated_optimum(transformation):
    data = outlier_data("clustered", n=12, d=2, sigma=0.3, seed=2)
    truth = zero_one_enumeration(data, penalty=0.7, intercept="penalised").objective
    model = tm.zero_one_disjunctive(data, penalty=0.7, transformation=transformation)
    result = tm.solve(model)
    assert result.objective == pytest.approx(truth, rel=1e-6)
    assert result.problem_class == ProblemClass.MIQP
    assert model.w[0].value == pytest.approx(float(result.values["w"][0]))


@pytest.mark.parametrize("intercept", ["penalised", "free", "none"])
def test_products_and_big_m_agree_with_enumeration(intercept):
    data = outlier_data("spread", n=12, d=2, sigma=0.4, seed=5)
    truth = zero_one_enumeration(data, penalty=1.5, intercept=intercept).objective
    for model in (
        tm.zero_one_bilinear(data, penalty=1.5, intercept=intercept),
        tm.zero_one_bilinear(data, penalty=1.5, intercept=intercept, both_sides=True),
        tm.zero_one_big_m(data, penalty=1.5, intercept=intercept, big_m="derived"),
    ):
        result = tm.solve(model, method="direct")
        assert result.objective == pytest.approx(truth, rel=1e-6)
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert "enumeration" in result.certificate.bound_method


@pytest.mark.usefixtures("no_search_of_ours")
def test_without_enumeration_the_bound_stays_the_solvers_word():
    data = outlier_data("spread", n=12, d=2, sigma=0.4, seed=5)
    result = tm.solve(tm.zero_one_big_m(data, penalty=1.5, big_m="derived"), method="direct")
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    assert result.bound < result.objective
    assert "relaxation" in result.certificate.bound_method


def test_a_warm_start_reaches_the_solver_and_a_wrong_name_is_refused():
    data = outlier_data("clustered", n=16, d=2, sigma=0.4, seed=1)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived")
    best = tm.solve(model)
    again = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m="derived"), warm_start=best.values)
    assert again.objective == pytest.approx(best.objective, rel=1e-7)
    with pytest.raises(ValueError, match="no variable 'v'"):
        tm.solve(model, warm_start={"v": 1.0})
    with pytest.raises(ValueError, match="no variable 'alpah'; did you mean alpha"):
        tm.solve(tm.c_svc_dual(data, C=1.0), warm_start={"alpah": 1.0})
    with pytest.raises(ValueError, match="z has 16 elements, got 3"):
        tm.solve(model, warm_start={"z": [0, 1, 0]})


def test_a_derived_model_starts_from_its_incumbent():
    data = outlier_data("clustered", n=200, d=6, sigma=0.5, seed=3)
    model = tm.build("zero_one_big_m", data, penalty=1.0, big_m="derived")
    kept = np.array([v.value for v in model.z.values()]) == 0
    w, b = np.array([v.value for v in model.w.values()]), model.b.value
    assert (data.y * (data.X @ w + b) >= 1)[kept].all()
    known = w @ w + b * b + np.sum(~kept)
    stopped = tm.solve(model, "scip", time_limit=2)
    assert stopped.objective <= known * (1 + 1e-9)
    assert stopped.version.startswith("10.")


def test_seed_threads_and_options_are_recorded(points):
    result = tm.solve(
        tm.c_svc(points, C=1.0), seed=3, threads=1, time_limit=60, options={"max_iter": 99}
    )
    assert (result.seed, result.threads, result.time_limit) == (3, 1, 60)
    assert result.options == {"max_iter": 99}
    assert result.data["sha256"] == points.sha256


def test_maximisation_keeps_its_sign():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 1))
    m.c = pyo.Constraint(expr=m.x[0] + m.x[1] <= 1.5)
    m.o = pyo.Objective(expr=2 * m.x[0] + m.x[1], sense=pyo.maximize)
    for solver in ("highs", "clarabel", "scip"):
        result = tm.solve(m, solver)
        assert result.objective == pytest.approx(2.5, abs=1e-6)
        assert result.bound == pytest.approx(2.5, abs=1e-6)
        assert result.certificate.verdict is Verdict.CERTIFIED
    assert tm.solve(m, "highs").duals["c"] == pytest.approx(1.0)


def test_a_clean_interpreter_solves_through_the_documented_names():
    data = tm.TrainingData([[0.0], [2.0]], [-1, 1])
    assert tm.solve(tm.hard_margin_svc(data)).objective == pytest.approx(0.5, abs=1e-7)


@pytest.mark.parametrize("place", ["objective", "term", "side", "product", "power"])
def test_a_param_without_a_value_is_named(place: str) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.p = pyo.Param(mutable=True)
    m.goal = pyo.Objective(expr=m.p * m.x if place == "objective" else m.x)
    relation = {
        "objective": m.x >= 0,
        "term": m.x + m.p >= 1,
        "side": m.x >= m.p,
        "product": m.p * m.x**2 <= 1,
        "power": m.x**m.p <= 1,
    }[place]
    m.row = pyo.Constraint(expr=relation)
    with pytest.raises(NumberError, match=r"^Param p has no value: set it before solving$"):
        tm.solve(m)
    m.p = 0.5
    if place != "power":
        assert tm.solve(m).objective is not None


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [(3, "got int"), (None, "got NoneType"), (pyo.AbstractModel(), "got an abstract model")],
)
def test_only_a_concrete_model_is_solved(thing: object, sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        tm.solve(thing)


def test_a_result_is_not_saved_beside_nothing(tmp_path) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.goal = pyo.Objective(expr=m.x)
    path = tmp_path / "absent" / "result.json"
    with pytest.raises(FileNotFoundError, match=r"result\.json: there is no folder .*absent"):
        tm.solve(m).save(path)


@pytest.mark.parametrize(
    ("solver", "word"),
    [("highs", "MIP start solution is feasible"), ("scip", "found by completesol heuristic")],
)
def test_a_mixed_integer_solver_starts_from_a_result(solver, word, capfd):
    """By the solver's own log."""
    dice = np.random.default_rng(2)
    value, weight = dice.integers(5, 60, size=60), dice.integers(5, 60, size=60)

    def knapsack():
        m = pyo.ConcreteModel()
        m.take = pyo.Var(range(60), within=pyo.Binary)
        rows = [(weight, 400), (weight[::-1], 390), (np.roll(weight, 7), 410)]
        m.row = pyo.ConstraintList()
        for w, most in rows:
            m.row.add(sum(int(w[j]) * m.take[j] for j in range(60)) <= most)
        m.goal = pyo.Objective(
            expr=sum(int(value[j]) * m.take[j] for j in range(60)), sense=pyo.maximize
        )
        return m

    best = tm.solve(knapsack(), solver, prove=False, log=True)
    assert word not in capfd.readouterr().out
    again = tm.solve(knapsack(), solver, warm_start=best, prove=False, log=True)
    assert word in capfd.readouterr().out
    assert "no effect" not in again.message
    assert again.objective == pytest.approx(best.objective)


def test_a_start_that_nobody_looks_at_is_said_to_have_no_effect():
    data = outlier_data("clustered", n=12, d=2, sigma=0.4, seed=1)
    best = tm.solve(tm.c_svc(data, C=1.0))
    again = tm.solve(tm.c_svc(data, C=2.0), warm_start=best)
    assert "the warm start had no effect: solvers take one of integer variables" in again.message
    assert "warm start" not in best.message
    # w and b are variables of the other model too, xi is not.
    other = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m=20.0), "scip", warm_start=best)
    assert "no effect" not in other.message
    with pytest.raises(ValueError, match="has no variable of the result's"):
        tm.solve(tm.c_svc_dual(data, C=1.0), warm_start=best)
