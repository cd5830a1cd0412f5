"""Every entry through every solver that can take it, against an optimum found without our code."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.inside.solvers import (
    ORDER,
    SOLVERS,
    classify,
    gurobi_is_restricted,
    is_disjunctive,
    standard_form,
    transformed,
    without_quotients,
)
from tests.references import losses, matrix, multiclass, reference_solutions
from tests.references.disjunctive_hull import disjunctive_hull
from tests.references.extended_nu import by_all_outliers
from tests.references.level_one_lift import derived_lift
from tests.references.ramp_l1 import ramp_l1_optimum, ramp_l1_relaxation
from tests.references.rank_one import rank_one_sdp
from tests.references.reference_solutions import INTERCEPTS, points
from tests.references.strengthened_sdp import closed_limits, known_objective, strengthened
from tightmargin.formulations import CATALOGUE, Entry, GramData, ProblemClass, TrainingData
from tightmargin.solvers import (
    LicenceError,
    ProblemClassError,
    SizeLimitError,
    SolverNotInstalledError,
    Status,
    Verdict,
    solve,
)

# Relative to max(1, |optimum|). Interior point methods stop at 1e-8. SCIP accepts rows violated by
# 1e-6, and the square root in a cone makes that 1e-5 in the objective.
TOLERANCE = {
    "highs": 1e-7, "clarabel": 2e-7, "gurobi": 1e-6, "scip": 1e-5, "piqp": 1e-6, "scs": 1e-5,
    "mosek": 1e-6,
}  # fmt: skip
SCIP_ON_CONES = 1e-4
CONVEX = {ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP}

C, RIDGE, PI, NU, PENALTY, BUDGET, BOUND_ON_B = 0.7, 0.05, 0.3, 0.6, 1.3, 0.25, 12.0
H = 0.5  # below the norms of the w that solve rsvm_relaxed
TAU = 0.4
LOW_NU = 0.3  # below nu_bar = 0.41 of the points, where the extended nu-SVC is not convex
UNPRICED = ("free", "none")

SEPARABLE = points("separable", 1, n=10)
OVERLAPPING = points("overlapping", 1, n=10)
FEW = points("overlapping", 2, n=7)
MATRICES = matrix.matrix_points(1, n=10, shape=(2, 2))
MATRIX_CLASSES = multiclass.class_points(2, n=7, d=4)
CLASSES = multiclass.class_points(2, n=7)  # a point is given up at the optimum in each mode

Oracle = Callable[[Any, str], float]


@dataclass(frozen=True)
class Trial:
    """Data, hyperparameters, and the optimum from elsewhere, by mode of the intercept."""

    optimum: Oracle
    parameters: dict[str, Any] = field(default_factory=dict)
    data: Any = OVERLAPPING
    intercepts: tuple[str, ...] = INTERCEPTS


def hinge(norm_cost: float, cost: Callable[[TrainingData], Any]) -> Oracle:
    return lambda data, mode: reference_solutions.hinge(data, mode, norm_cost, cost(data)).value


def uniform(data: Any) -> np.ndarray:
    return np.full(data.n, 1 / data.n)


def pi_weights(data: TrainingData) -> np.ndarray:
    return np.where(data.y > 0, 1 - PI, PI) / data.n


def zero_one(data: TrainingData, mode: str) -> float:
    return reference_solutions.zero_one_optimum(data, mode, PENALTY)


def equal_strengthening(data: TrainingData, mode: str) -> np.ndarray:
    """One gamma for all points, nine tenths of the largest that keeps the norm convex."""
    columns = data.X if mode == "none" else np.hstack([data.X, np.ones((data.n, 1))])
    return np.full(data.n, 0.9 / np.linalg.eigvalsh(columns.T @ columns)[-1])


def rigorous_dual(data: TrainingData, mode: str) -> float:
    return -reference_solutions.capacity_dual(data.X @ data.X.T, data.y, H, mode)


def sdp(data: TrainingData, mode: str) -> float:
    bound = BOUND_ON_B if mode == "free" else None
    return reference_solutions.theorem_2(data, mode, penalty=PENALTY, bound_on_b=bound).value


def pairs_sdp(data: TrainingData, mode: str) -> float:
    return rank_one_sdp(data, mode, PENALTY)


def strengthened_sdp(data: TrainingData, mode: str) -> float:
    known = known_objective(data, mode, PENALTY)
    limits = closed_limits(data, mode, PENALTY, known, pairs=True)
    return strengthened(data, mode, PENALTY, limits)


def on_circle(times: float) -> Oracle:
    """Optimum of the extended nu-SVC below nu_bar, by every direction of the plane."""
    return lambda data, mode: (
        times * reference_solutions.nu_risk_on_circle(data, mode, LOW_NU, uniform(data)).value
    )


def reference(data: TrainingData, mode: str) -> np.ndarray:
    """Some w_ref, with an entry for the intercept where it is penalised."""
    return np.array([0.9, 0.3, -0.2] if mode == "penalised" else [0.9, 0.3])


def linearised(data: TrainingData, mode: str) -> float:
    w_ref = reference(data, mode)
    return reference_solutions.nu_risk_linearised(data, mode, LOW_NU, uniform(data), w_ref).value


BIG_M = np.linspace(12.0, 25.0, OVERLAPPING.n)
CLASS_BIG_M = np.linspace(30.0, 45.0, CLASSES.n)
HULL_BOUND = 2 / (NU * OVERLAPPING.n)
MIXED = {"penalty": PENALTY}

TRIALS = {
    "hard_margin_svc": Trial(
        lambda d, m: reference_solutions.hard_margin(d, m).value, data=SEPARABLE
    ),
    "hard_margin_svc_dual": Trial(
        lambda d, m: -reference_solutions.hard_margin(d, m).value, data=SEPARABLE
    ),
    "max_margin_svc": Trial(
        lambda d, m: reference_solutions.max_margin(d, m).value, data=SEPARABLE
    ),
    "c_svc": Trial(hinge(0.5, lambda d: C), {"C": C}),
    "c_svc_dual": Trial(
        lambda d, m: -reference_solutions.c_dual(d.X @ d.X.T, d.y, np.full(d.n, C), m), {"C": C}
    ),
    "soft_margin_svc": Trial(hinge(RIDGE, uniform), {"ridge": RIDGE}),
    "soft_margin_svc_dual": Trial(lambda d, m: -hinge(RIDGE, uniform)(d, m), {"ridge": RIDGE}),
    "kernel_soft_margin_svc": Trial(
        lambda d, m: reference_solutions.kernel_hinge(d.X @ d.X.T, d.y, RIDGE, 1 / d.n, m),
        {"ridge": RIDGE},
    ),
    "weighted_svc": Trial(hinge(RIDGE, pi_weights), {"ridge": RIDGE, "pi": PI}),
    "regularised_svc": Trial(
        lambda d, m: losses.regularised(d, m, "squared_hinge", RIDGE),
        {"loss": "squared_hinge", "price": RIDGE},
    ),
    "deviance_svc": Trial(
        lambda d, m: losses.regularised(d, m, "deviance", RIDGE),
        {"price": RIDGE},
        FEW,
        ("none",),  # SCIP needs long for others, which test_regularised.py has
    ),
    "hinge_power_svc": Trial(
        lambda d, m: losses.hinge_power(d, m, PENALTY, 1.5), {"penalty": PENALTY, "exponent": 1.5}
    ),
    "nu_svc": Trial(
        lambda d, m: reference_solutions.nu_machine(d, m, NU, uniform(d)).value, {"nu": NU}
    ),
    "nu_svc_dual": Trial(
        lambda d, m: -reference_solutions.nu_dual(d.X @ d.X.T, d.y, uniform(d), NU, m), {"nu": NU}
    ),
    "extended_nu_svc": Trial(on_circle(1.0), {"nu": LOW_NU}, intercepts=UNPRICED),
    "extended_nu_svc_reverse": Trial(on_circle(1.0), {"nu": LOW_NU}, intercepts=UNPRICED),
    "extended_nu_svc_polar": Trial(
        lambda d, m: -(on_circle(1.0)(d, m) ** -2), {"nu": LOW_NU}, intercepts=UNPRICED
    ),
    "extended_nu_svc_ball": Trial(
        lambda d, m: reference_solutions.nu_risk_in_ball(d, m, NU, uniform(d)), {"nu": NU}
    ),
    "extended_nu_svc_dual": Trial(
        lambda d, m: -reference_solutions.nu_risk_in_ball(d, m, NU, uniform(d)), {"nu": NU}
    ),
    "extended_nu_svc_linearised": Trial(linearised, {"nu": LOW_NU, "w_ref": reference}),
    "extended_nu_svc_linearised_dual": Trial(
        lambda d, m: -linearised(d, m), {"nu": LOW_NU, "w_ref": reference}
    ),
    "min_cvar": Trial(on_circle(1 / LOW_NU), {"beta": 1 - LOW_NU}, intercepts=UNPRICED),
    "extended_robust_svc": Trial(
        lambda d, m: by_all_outliers(d, 0.7, 1, m), {"nu": 0.7, "mu": 1 / 7}, FEW
    ),
    "rsvm": Trial(lambda d, m: reference_solutions.least_loss(d, m, H).value, {"norm_bound": H}),
    "rsvm_relaxed": Trial(lambda d, m: reference_solutions.least_loss(d, m).value),
    "rsvm_kernel_relaxed": Trial(
        lambda d, m: reference_solutions.kernel_least_loss(d.X @ d.X.T, d.y, m)
    ),
    "rsvm_dual": Trial(rigorous_dual, {"norm_bound": H}),
    "rsvm_dual_perspective": Trial(rigorous_dual, {"norm_bound": H}),
    "reduced_hull_svc": Trial(
        lambda d, m: reference_solutions.hull_distance(d.X @ d.X.T, d.y, HULL_BOUND, m),
        {"hull_bound": HULL_BOUND},
    ),
    "zero_one_big_m": Trial(zero_one, MIXED | {"big_m": "derived"}, FEW),
    "zero_one_bilinear": Trial(zero_one, MIXED, FEW),
    "zero_one_kernel": Trial(zero_one, MIXED, FEW),
    "zero_one_disjunctive": Trial(zero_one, MIXED, FEW),
    "zero_one_relaxed": Trial(
        lambda d, m: reference_solutions.relaxation(d, m, PENALTY, BIG_M).value,
        MIXED | {"big_m": BIG_M},
    ),
    "zero_one_hinge": Trial(hinge(1.0, lambda d: PENALTY / BIG_M), MIXED | {"big_m": BIG_M}),
    "ramp_big_m": Trial(
        lambda d, m: reference_solutions.ramp_optimum(d, m, C), {"C": C, "big_m": "derived"}, FEW
    ),
    "ramp_relaxed": Trial(
        lambda d, m: reference_solutions.ramp_relaxation(d, m, C, 2 * BIG_M),
        {"C": C, "big_m": 2 * BIG_M},
    ),
    "ramp_l1_big_m": Trial(
        lambda d, m: ramp_l1_optimum(d, m, C), {"C": C, "big_m": "derived"}, FEW
    ),
    "ramp_l1_relaxed": Trial(
        lambda d, m: ramp_l1_relaxation(d, m, C, 25.0), {"C": C, "big_m": 25.0}
    ),
    "zero_one_disjunctive_relaxed": Trial(lambda d, m: disjunctive_hull(d, m, PENALTY), MIXED, FEW),
    "conic_fixed": Trial(
        lambda d, m: reference_solutions.fixed_strengthening(
            d, m, PENALTY, equal_strengthening(d, m)
        ),
        MIXED | {"strengthening": equal_strengthening},
        intercepts=("penalised", "none"),
    ),
    "conic_sdp": Trial(sdp, MIXED),
    "conic_sdp_literal": Trial(sdp, MIXED),
    # A bound on b far from the weights costs the witness its last digits: test_rank_one.py has it.
    "conic_sdp_rank_one": Trial(pairs_sdp, MIXED, FEW, ("penalised", "none")),
    "conic_sdp_eliminated": Trial(sdp, MIXED),
    "conic_sdp_strengthened": Trial(strengthened_sdp, MIXED | {"conflicts": "pairs"}),
    "conic_sdp_lift": Trial(
        lambda d, m: derived_lift(d, m, PENALTY), MIXED | {"partners": "none"}, FEW
    ),
    "conic_sdp_dual": Trial(lambda d, m: -sdp(d, m), MIXED),
    "conic_sdp_budget": Trial(
        lambda d, m: (
            reference_solutions.theorem_2(d, m, budget=BUDGET, bound_on_b=BOUND_ON_B).value
        ),
        {"budget": BUDGET},
    ),
    "matrix_svc_full": Trial(
        hinge(RIDGE / 2, lambda d: 1.0), {"ridge": RIDGE, "shape": "2x2"}, MATRICES
    ),
    "matrix_svc_bilinear": Trial(
        lambda d, m: matrix.rank_one_on_circle(d, 2, m, RIDGE),
        {"ridge": RIDGE, "shape": "2x2", "rank": 1},
        MATRICES,
    ),
    "matrix_svc_projection": Trial(
        lambda d, m: matrix.projection(d, (2, 2), m, RIDGE, 1),
        {"ridge": RIDGE, "shape": "2x2", "rank": 1},
        MATRICES,
    ),
    "matrix_svc_nuclear": Trial(
        lambda d, m: matrix.nuclear(d, (2, 2), m, RIDGE, TAU),
        {"ridge": RIDGE, "shape": "2x2", "tau": TAU},
        MATRICES,
    ),
    "multiclass_hinge": Trial(
        lambda d, m: multiclass.hinge_of_classes(d, m, RIDGE, uniform(d)).problem.value,
        {"ridge": RIDGE},
        CLASSES,
    ),
    "multiclass_matrix_projection": Trial(
        lambda d, m: multiclass.matrix_machine(d, m, RIDGE, (2, 2), rank=1),
        {"ridge": RIDGE, "shape": "2x2", "rank": 1},
        MATRIX_CLASSES,
    ),
    "multiclass_matrix_nuclear": Trial(
        lambda d, m: multiclass.matrix_machine(d, m, RIDGE, (2, 2), tau=TAU),
        {"ridge": RIDGE, "shape": "2x2", "tau": TAU},
        MATRIX_CLASSES,
    ),
    "multiclass_truncated": Trial(
        lambda d, m: multiclass.truncated_by_sets(d, m, RIDGE, 1.5)[0],
        {"ridge": RIDGE, "truncation": -0.5, "big_m": "derived"},
        CLASSES,
    ),
    "multiclass_truncated_relaxed": Trial(
        lambda d, m: multiclass.relaxation_of_classes(d, m, RIDGE, 1.5, CLASS_BIG_M),
        {"ridge": RIDGE, "truncation": -0.5, "big_m": CLASS_BIG_M},
        CLASSES,
    ),
}


@functools.cache
def optimum(name: str, mode: str) -> float:
    return TRIALS[name].optimum(TRIALS[name].data, mode)


def built(name: str, mode: str) -> Any:
    trial, entry = TRIALS[name], CATALOGUE[name]
    parameters = {
        word: value(trial.data, mode) if callable(value) else value
        for word, value in trial.parameters.items()
    }
    if mode == "free" and "intercept_bound" in entry.parameters:
        parameters["intercept_bound"] = BOUND_ON_B
    return entry.build(trial.data, intercept=mode, **parameters)


def cases() -> list[Any]:
    return [
        pytest.param(name, solver, mode, id=f"{name}-{solver}-{mode}")
        for name, trial in TRIALS.items()
        for solver, info in SOLVERS.items()
        if name in CATALOGUE and CATALOGUE[name].problem_class in info.classes
        for mode in trial.intercepts
    ]


def test_every_entry_is_tried() -> None:
    assert set(TRIALS) == set(CATALOGUE)


@pytest.mark.parametrize(("name", "solver", "mode"), cases())
def test_optimum_is_that_of_the_witness(name: str, solver: str, mode: str) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    try:
        # Some optima are 0, and the comparison below allows more than this.
        result = solve(built(name, mode), solver, absolute_gap=1e-8)
    except (SizeLimitError, LicenceError) as error:
        pytest.skip(str(error).partition(";")[0])
    problem_class = CATALOGUE[name].problem_class
    on_cones = solver == "scip" and problem_class is ProblemClass.SOCP
    tolerance = SCIP_ON_CONES if on_cones else TOLERANCE[solver]
    expected = optimum(name, mode)
    slack = tolerance * max(1.0, abs(expected))
    assert result.objective == pytest.approx(expected, abs=slack), result.certificate
    assert result.certificate.level == "paper"
    assert result.certificate.unproven == ""
    assert result.bound is not None
    assert result.bound <= expected + TOLERANCE["clarabel"] * max(1.0, abs(expected))
    if problem_class in CONVEX and not on_cones:
        assert result.status is Status.OPTIMAL
        assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    else:
        verdicts = {Verdict.CERTIFIED, Verdict.SOLVER_BOUND}
        assert result.certificate.verdict in verdicts or on_cones, result.certificate


@pytest.mark.parametrize("name", sorted(TRIALS))
def test_catalogue_claims_the_class_the_classifier_finds(name: str) -> None:
    for mode in TRIALS[name].intercepts:
        model = built(name, mode)
        if is_disjunctive(model):
            model = transformed(model, "bigm")
        form = standard_form(without_quotients(model))
        assert classify(form).problem_class is CATALOGUE[name].problem_class


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
def test_a_solver_without_licence_takes_every_entry(entry: Entry) -> None:
    free = {name for name, info in SOLVERS.items() if "free" in info.licence}
    assert not free & {"gurobi", "mosek"}
    assert free & set(ORDER[entry.problem_class])
    mode = TRIALS[entry.name].intercepts[0]
    assert solve(built(entry.name, mode), method="direct").solver in free


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
def test_solvers_that_cannot_take_a_class_are_refused_with_those_that_can(entry: Entry) -> None:
    model = built(entry.name, TRIALS[entry.name].intercepts[0])
    for solver, info in SOLVERS.items():
        if entry.problem_class in info.classes | info.by_name:
            continue
        with pytest.raises(ProblemClassError) as refusal:
            solve(model, solver)
        sentence = str(refusal.value)
        assert sentence.startswith(f"{solver} cannot take {entry.problem_class} models")
        able = [
            name
            for name in ORDER[entry.problem_class]
            if SOLVERS[name].installed and name != "mosek"
        ]
        assert all(name in sentence for name in able)


def test_preferences_name_only_solvers_that_take_the_class() -> None:
    assert set(ORDER) == set(ProblemClass)
    for problem_class, names in ORDER.items():
        takers = {name for name, info in SOLVERS.items() if problem_class in info.classes}
        assert set(names) == takers


def test_absent_solver_is_named_with_its_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tightmargin.solvers.backends.registry.importlib.util.find_spec", lambda name: None
    )
    with pytest.raises(SolverNotInstalledError, match="pip install pyscipopt"):
        solve(built("c_svc", "free"), "scip")
    with pytest.raises(SolverNotInstalledError, match="no installed solver takes QP models"):
        solve(built("c_svc", "free"))


def test_models_above_a_licence_are_refused_with_what_would_work() -> None:
    if not SOLVERS["gurobi"].installed:
        pytest.skip("gurobi is not installed")
    if not gurobi_is_restricted():
        pytest.skip("gurobi has a full licence here")
    large = points("overlapping", 0, n=200)
    model = CATALOGUE["c_svc"].build(large, C=1.0)
    with pytest.raises(SizeLimitError, match=r"203 variables.*try clarabel, piqp"):
        solve(model, "gurobi")
    assert solve(model).certificate.verdict is Verdict.CERTIFIED


LONG_LOG = """
from tightmargin.formulations.zero_one.big_m_models import zero_one_big_m
from tightmargin.solvers.dispatch import solve
from tests.references.reference_solutions import points
import pyomo.environ as pyo

model = zero_one_big_m(points("overlapping", 4, n=8), penalty=0.3, big_m=2000.0)
model.budget = pyo.Constraint(expr=sum(model.z.values()) <= 1)
print(solve(model, "scip", time_limit=5, log={log}).status)
"""


@pytest.mark.slow("REASON")
@pytest.mark.parametrize("log", [False, True])
def test_a_long_log_of_scip_does_not_stop_it(log: bool) -> None:
    """Pyomo reads the log in a thread, and SCIP, holding the interpreter, waits for the reader.

    In a process of its own, because nothing else can end a run that hangs there.
    """
    ended = subprocess.run(
        [sys.executable, "-c", LONG_LOG.format(log=log)],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split()[-1] in ("optimal", "feasible", "limit_no_solution")


# --- odd data ------------------------------------------------------------------------------------

TINY = TrainingData([[0.5], [-1.0]], [1, -1])
OPPOSED = TrainingData([[1, 2], [1, 2], [1, 2], [0, -1], [0, -1]], [1, -1, 1, -1, -1])
CONSTANT = TrainingData([[1, 7, 0], [2, 7, 0], [-1, 7, 0], [0.5, 7, 0]], [1, 1, -1, -1])
WIDE = TrainingData(np.random.default_rng(5).standard_normal((4, 9)), [1, -1, 1, -1])
LARGE = TrainingData(OVERLAPPING.X * 100, OVERLAPPING.y)
SMALL = TrainingData(OVERLAPPING.X * 1e-3, OVERLAPPING.y)
ODD = {
    "two points": TINY, "repeated with both labels": OPPOSED, "constant columns": CONSTANT,
    "fewer points than features": WIDE, "large numbers": LARGE, "small numbers": SMALL,
}  # fmt: skip


@pytest.mark.parametrize("mode", INTERCEPTS)
@pytest.mark.parametrize("data", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize(
    "name", ["c_svc", "c_svc_dual", "kernel_soft_margin_svc", "zero_one_relaxed", "conic_sdp"]
)
def test_odd_data_reach_the_optimum_of_the_witness(
    name: str, data: TrainingData, mode: str
) -> None:
    match name:
        case "zero_one_relaxed":
            parameters: dict[str, Any] = {"penalty": PENALTY, "big_m": 50.0}
            expected = reference_solutions.relaxation(
                data, mode, PENALTY, np.full(data.n, 50.0)
            ).value
        case "conic_sdp":
            parameters = {"penalty": PENALTY}
            if mode == "free":
                parameters["intercept_bound"] = BOUND_ON_B
            expected = sdp(data, mode)
        case "kernel_soft_margin_svc":
            parameters = {"ridge": RIDGE}
            expected = reference_solutions.hinge(data, mode, RIDGE, uniform(data)).value
        case _:
            parameters = {"C": C}
            expected = reference_solutions.hinge(data, mode, 0.5, C).value
    if name == "c_svc_dual":
        expected = -expected
    # The optimum of some is 1e-2, and 1e-6 is what the comparison below allows.
    model = CATALOGUE[name].build(data, intercept=mode, **parameters)
    result = solve(model, absolute_gap=1e-6)
    if name == "conic_sdp" and data is LARGE and result.status is Status.INACCURATE:
        # Clarabel stalls on this form at such scales; what matters is that the result says so.
        assert result.certificate.verdict is Verdict.NOT_CERTIFIED
        assert result.bound is None or result.bound <= expected + 1e-7
        return
    assert result.objective == pytest.approx(expected, abs=1e-6 * max(1.0, abs(expected)))
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate


@pytest.mark.parametrize("solver", ["highs", "clarabel", "scip", "gurobi"])
@pytest.mark.parametrize("mode", INTERCEPTS)
def test_hard_margin_on_overlapping_points_is_infeasible(solver: str, mode: str) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    assert not reference_solutions.is_separable(OVERLAPPING, mode)
    result = solve(CATALOGUE["hard_margin_svc"].build(OVERLAPPING, intercept=mode), solver)
    assert result.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)
    assert result.objective is None
    assert result.bound is None


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_a_gram_matrix_and_its_points_are_the_same_data(mode: str) -> None:
    """The eigenvector factor of X X' turns the points, which no machine notices."""
    gram = GramData(OVERLAPPING.X @ OVERLAPPING.X.T, OVERLAPPING.y)
    assert gram.d == 2
    for name in (
        "c_svc_dual", "nu_svc_dual", "kernel_soft_margin_svc", "soft_margin_svc_dual", "rsvm_dual",
        "rsvm_dual_perspective", "rsvm_kernel_relaxed", "reduced_hull_svc", "extended_nu_svc_dual",
    ):  # fmt: skip
        result = solve(CATALOGUE[name].build(gram, intercept=mode, **TRIALS[name].parameters))
        assert result.objective == pytest.approx(optimum(name, mode), abs=2e-7)
