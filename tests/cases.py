"""One table of the catalogue for all suites: small data, hyperparameters, and an optimum from
elsewhere.

A new formulation is one line here, and every suite over the catalogue has it. What a suite needs
beyond that it states itself, as an exception to this table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.references import losses, matrix, multiclass
from tests.references import reference_solutions as witness
from tests.references import strengthened_sdp as lifted
from tests.references.disjunctive_hull import disjunctive_hull
from tests.references.extended_nu import by_all_outliers
from tests.references.ramp_l1 import ramp_l1_optimum, ramp_l1_relaxation
from tests.references.rank_one import rank_one_sdp
from tests.references.reference_solutions import INTERCEPTS, points
from tightmargin.formulations import CATALOGUE, Entry, MulticlassData, ProblemClass, TrainingData

CONVEX = {ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP}
PRICED, UNPRICED = ("penalised", "none"), ("free", "none")

C, RIDGE, PI, PENALTY, BUDGET, BOUND_ON_B = 0.7, 0.05, 0.45, 1.3, 0.25, 6.5
HIGH_NU = 0.9  # above nu_bar
LOW_NU, LOW_NU_OF_MANY = 0.3, 0.35  # below nu_bar, where the extended nu-SVC is not convex
H = 0.75  # below the norms of the w that solve rsvm_relaxed
TAU, TRUNCATION = 0.4, -0.5

OVERLAPPING = points("overlapping", 4, n=8)
FEW = points("overlapping", 4, n=6)
MANY = points("overlapping", 6, n=14)
SEPARABLE = points("separable", 4, n=8)
# Each feature separates by itself: without a row of the other one the dual is still bounded.
TWICE_SEPARABLE = TrainingData(SEPARABLE.X + 4 * SEPARABLE.y[:, None], SEPARABLE.y)
CLASSES = multiclass.class_points(2, n=7)  # a point is given up at the optimum in each mode
MATRICES = matrix.matrix_points(1, n=10, shape=(2, 2))
MATRIX_CLASSES = multiclass.class_points(2, n=7, d=4)
BIG_M = np.linspace(25.0, 35.0, OVERLAPPING.n)
CLASS_BIG_M = np.linspace(30.0, 45.0, CLASSES.n)

Oracle = Callable[[Any, str], float]


@dataclass(frozen=True, eq=False)
class Case:
    """One entry of the catalogue.

    Attributes
    ----------
    optimum : callable(data, mode) -> float
        Found without our code, at the values of `words`.
    source : str
        How it is found.
    words : dict
        Hyperparameters; a function of the data and the mode of the intercept where it depends.
    intercepts : tuple of str
        Modes in which the optimum is known.
    variable, tilt : str, float
        Of edits: what is moved, and a cost on it small enough for an optimum to be left.
    rows, step : str, int
        Of edits: rows of which every `step`-th may go.
    param : (str, float) or None
        Of edits: a Param, and a value for it that changes the optimum.
    """

    name: str
    source: str
    optimum: Oracle
    words: dict[str, Any] = field(default_factory=dict)
    data: Any = OVERLAPPING
    intercepts: tuple[str, ...] = INTERCEPTS
    variable: str = "w"
    rows: str = "margin"
    param: tuple[str, float] | None = None
    tilt: float = 0.1
    step: int = 2

    @property
    def entry(self) -> Entry:
        return CATALOGUE[self.name]

    @property
    def mode(self) -> str:
        """What the intercept is when nothing is said."""
        return str(self.entry.parameters["intercept"].default)

    @property
    def is_convex(self) -> bool:
        return self.entry.problem_class in CONVEX | {ProblemClass.EXP}

    def words_of(self, mode: str | None = None, **changed: Any) -> dict[str, Any]:
        """Hyperparameters in a mode of the intercept, some of them changed."""
        mode = mode or self.mode
        words = {
            word: value(self.data, mode) if callable(value) else value
            for word, value in self.words.items()
        }
        if mode == "free" and "intercept_bound" in self.entry.parameters:
            words["intercept_bound"] = BOUND_ON_B
        return words | {"intercept": mode} | changed

    def build(self, mode: str | None = None, data: Any = None, **changed: Any) -> Any:
        """The model, of other data and with other hyperparameters if they are given."""
        data = self.data if data is None else data
        model: pyo.ConcreteModel = self.entry.build(data, **self.words_of(mode, **changed))
        return model

    def spelled(self, mode: str | None = None, **changed: Any) -> str:
        """The hyperparameters for the command line: "ridge=0.05 pi=0.3"."""
        words = self.words_of(mode, **changed)
        if mode is None:
            words.pop("intercept")
        return " ".join(f"{word}={_spelt(value)}" for word, value in words.items())


def _spelt(value: Any) -> str:
    if isinstance(value, np.ndarray | list | tuple):
        return ",".join(repr(float(each)) for each in value)
    return str(value)


@functools.cache
def known(name: str, mode: str | None = None) -> float:
    """The optimum of a case from elsewhere."""
    case = CASES[name]
    return case.optimum(case.data, mode or case.mode)


# --- witnesses -----------------------------------------------------------------------------------


def uniform(data: Any) -> np.ndarray:
    return np.full(data.n, 1 / data.n)


def minus(oracle: Oracle) -> Oracle:
    """Of a dual, which is minimised."""
    return lambda data, mode: -oracle(data, mode)


def gram(data: TrainingData) -> np.ndarray:
    return data.X @ data.X.T


def hinge(norm_cost: float, cost: Callable[[TrainingData], Any]) -> Oracle:
    return lambda data, mode: witness.hinge(data, mode, norm_cost, cost(data)).value


def hard_margin(data: TrainingData, mode: str) -> float:
    return witness.hard_margin(data, mode).value


def pi_weights(data: TrainingData) -> np.ndarray:
    return np.where(data.y > 0, 1 - PI, PI) / data.n


def zero_one(data: TrainingData, mode: str) -> float:
    return witness.zero_one_optimum(data, mode, PENALTY)


def scaled_strengthening(data: TrainingData, mode: str) -> np.ndarray:
    """gamma_i proportional to 1 / ||(x_i, 1)||^2 with largest eigenvalue 1."""
    columns = data.X if mode == "none" else np.hstack([data.X, np.ones((data.n, 1))])
    gamma = 1 / (columns**2).sum(axis=1)
    largest = np.linalg.eigvalsh(columns.T @ (gamma[:, None] * columns))[-1]
    return np.asarray(gamma / largest * (1 - 1e-9))


def conic_fixed(data: TrainingData, mode: str) -> float:
    return witness.fixed_strengthening(data, mode, PENALTY, scaled_strengthening(data, mode))


def rigorous_dual(data: TrainingData, mode: str) -> float:
    return -witness.capacity_dual(gram(data), data.y, H, mode)


def _bound(mode: str) -> float | None:
    return BOUND_ON_B if mode == "free" else None


def sdp(data: TrainingData, mode: str) -> float:
    return witness.theorem_2(data, mode, penalty=PENALTY, bound_on_b=_bound(mode)).value


def sdp_budget(data: TrainingData, mode: str) -> float:
    return witness.theorem_2(data, mode, budget=BUDGET, bound_on_b=_bound(mode)).value


def strengthened_sdp(data: TrainingData, mode: str) -> float:
    found = lifted.known_objective(data, mode, PENALTY)
    return lifted.strengthened(
        data, mode, PENALTY, lifted.closed_limits(data, mode, PENALTY, found, pairs=True)
    )


def on_circle(nu: float, times: float = 1.0) -> Oracle:
    """Optimum of the extended nu-SVC, by every direction of the plane."""
    return lambda data, mode: times * witness.nu_risk_on_circle(data, mode, nu, uniform(data)).value


def in_ball(nu: float) -> Oracle:
    return lambda data, mode: witness.nu_risk_in_ball(data, mode, nu, uniform(data))


def reference(data: TrainingData, mode: str) -> np.ndarray:
    """Some w_ref, with an entry for the intercept where it is penalised."""
    return np.array([1.0, 0.4, -0.2] if mode == "penalised" else [1.0, 0.4])


def linearised(data: TrainingData, mode: str) -> float:
    w_ref = reference(data, mode)
    return witness.nu_risk_linearised(data, mode, LOW_NU, uniform(data), w_ref).value


def of_classes(data: MulticlassData, mode: str) -> float:
    return multiclass.hinge_of_classes(data, mode, RIDGE, uniform(data)).problem.value


# How the optima are found.
CVXPY = "the paper's problem once more, in cvxpy"
OF_DUAL = "the dual once more, in cvxpy"
OF_PRIMAL = "minus the optimum of the primal in cvxpy: strong duality"
AS_HINGE = "the hinge loss it equals, in cvxpy"
SETS = "every set of points that are given up, in cvxpy"
CIRCLE = "every direction of the plane"

# --- the table -----------------------------------------------------------------------------------

_CASES = [
    Case("hard_margin_svc", CVXPY, hard_margin, data=SEPARABLE),
    Case("hard_margin_svc_dual", OF_PRIMAL, minus(hard_margin), data=TWICE_SEPARABLE,
         variable="alpha", rows="weight"),
    Case("max_margin_svc", CVXPY, lambda d, m: witness.max_margin(d, m).value, data=SEPARABLE),
    Case("c_svc", CVXPY, hinge(0.5, lambda d: C), {"C": C}, param=("C", 0.2)),
    Case("c_svc_dual", OF_DUAL,
         lambda d, m: -witness.c_dual(gram(d), d.y, np.full(d.n, C), m),
         {"C": C}, variable="alpha", rows="weight", param=("C", 0.2)),
    Case("soft_margin_svc", CVXPY, hinge(RIDGE, uniform), {"ridge": RIDGE}, param=("ridge", 0.3)),
    Case("soft_margin_svc_dual", OF_PRIMAL, minus(hinge(RIDGE, uniform)), {"ridge": RIDGE},
         variable="alpha", rows="weight", param=("ridge", 0.3)),
    Case("kernel_soft_margin_svc", "the problem in multipliers of the kernel, in cvxpy",
         lambda d, m: witness.kernel_hinge(gram(d), d.y, RIDGE, 1 / d.n, m),
         {"ridge": RIDGE}, variable="v", param=("ridge", 0.3)),
    Case("weighted_svc", CVXPY, hinge(RIDGE, pi_weights), {"ridge": RIDGE, "pi": PI},
         param=("pi", 0.4)),
    Case("regularised_svc", CVXPY, lambda d, m: losses.regularised(d, m, "squared_hinge", RIDGE),
         {"loss": "squared_hinge", "price": RIDGE}, param=("price", 0.3)),
    Case("deviance_svc", CVXPY, lambda d, m: losses.regularised(d, m, "deviance", RIDGE),
         {"price": RIDGE}, rows="score", param=("price", 0.3)),
    Case("hinge_power_svc", CVXPY, lambda d, m: losses.hinge_power(d, m, PENALTY, 1.5),
         {"penalty": PENALTY, "exponent": 1.5}, param=("penalty", 0.2)),
    Case("nu_svc", CVXPY, lambda d, m: witness.nu_machine(d, m, 0.82, uniform(d)).value,
         {"nu": 0.82}, MANY, param=("nu", 0.84), tilt=0.01, step=14),
    Case("nu_svc_dual", OF_PRIMAL,
         lambda d, m: -witness.nu_machine(d, m, HIGH_NU, uniform(d)).value, {"nu": HIGH_NU},
         variable="alpha", rows="weight", param=("nu", 0.95)),
    Case("extended_nu_svc", CIRCLE, on_circle(LOW_NU), {"nu": LOW_NU}, intercepts=UNPRICED,
         param=("nu", 0.55), step=8),
    Case("extended_nu_svc_reverse", CIRCLE, on_circle(LOW_NU_OF_MANY), {"nu": LOW_NU_OF_MANY},
         MANY, UNPRICED, param=("nu", 0.45), tilt=0.01, step=14),
    Case("extended_nu_svc_polar", CIRCLE, lambda d, m: -(on_circle(LOW_NU_OF_MANY)(d, m) ** -2),
         {"nu": LOW_NU_OF_MANY}, MANY, UNPRICED, param=("nu", 0.45), step=14),
    Case("extended_nu_svc_ball", CVXPY, in_ball(0.82), {"nu": 0.82}, MANY, param=("nu", 0.84),
         step=14),
    Case("extended_nu_svc_dual", OF_PRIMAL, minus(in_ball(HIGH_NU)), {"nu": HIGH_NU},
         variable="alpha", rows="weight", param=("nu", 0.95)),
    Case("extended_nu_svc_linearised", CVXPY, linearised, {"nu": LOW_NU, "w_ref": reference},
         param=("nu", 0.55), tilt=0.01, step=8),
    Case("extended_nu_svc_linearised_dual", OF_PRIMAL, minus(linearised),
         {"nu": LOW_NU, "w_ref": reference}, variable="alpha", rows="line", param=("nu", 0.55)),
    Case("min_cvar", CIRCLE, on_circle(LOW_NU, 1 / LOW_NU), {"beta": 1 - LOW_NU},
         intercepts=UNPRICED, rows="tail", param=("beta", 0.45)),
    Case("extended_robust_svc", SETS, lambda d, m: by_all_outliers(d, 0.8, 1, m),
         {"nu": 0.8, "mu": 1 / 6}, FEW, tilt=0.01),
    Case("rsvm", CVXPY, lambda d, m: witness.least_loss(d, m, H).value, {"norm_bound": H},
         param=("norm_bound", 0.4), tilt=0.01),
    Case("rsvm_relaxed", CVXPY, lambda d, m: witness.least_loss(d, m).value, tilt=0.01, step=8),
    Case("rsvm_kernel_relaxed", "the problem in multipliers of the kernel, in cvxpy",
         lambda d, m: witness.kernel_hinge(gram(d), d.y, 0.0, 1.0, m),
         variable="v", tilt=0.01, step=8),
    Case("rsvm_dual", OF_DUAL, rigorous_dual, {"norm_bound": H}, variable="alpha", rows="weight",
         param=("norm_bound", 0.4)),
    Case("rsvm_dual_perspective", OF_DUAL, rigorous_dual, {"norm_bound": H}, variable="alpha",
         rows="weight", param=("norm_bound", 0.4)),
    Case("reduced_hull_svc", "the distance of the hulls, in cvxpy",
         lambda d, m: witness.hull_distance(gram(d), d.y, 0.28, m),
         {"hull_bound": 0.28}, variable="alpha", rows="weight", param=("hull_bound", 0.26)),
    Case("zero_one_big_m", SETS, zero_one, {"penalty": PENALTY, "big_m": "derived"}, FEW,
         param=("penalty", 0.4)),
    Case("zero_one_bilinear", SETS, zero_one, {"penalty": PENALTY}, FEW, rows="kept",
         param=("penalty", 0.4)),
    Case("zero_one_kernel", SETS, zero_one, {"penalty": PENALTY}, FEW, rows="kept",
         param=("penalty", 0.4)),
    Case("zero_one_disjunctive", SETS, zero_one, {"penalty": PENALTY}, FEW, rows="keep",
         param=("penalty", 0.4)),
    Case("zero_one_relaxed", CVXPY, lambda d, m: witness.relaxation(d, m, PENALTY, BIG_M).value,
         {"penalty": PENALTY, "big_m": BIG_M}, param=("penalty", 4.0)),
    Case("zero_one_hinge", AS_HINGE, hinge(1.0, lambda d: PENALTY / BIG_M),
         {"penalty": PENALTY, "big_m": BIG_M}, param=("penalty", 4.0)),
    Case("ramp_big_m", SETS, lambda d, m: witness.ramp_optimum(d, m, C),
         {"C": C, "big_m": "derived"}, FEW, param=("C", 0.2)),
    Case("ramp_relaxed", CVXPY, lambda d, m: witness.ramp_relaxation(d, m, C, BIG_M),
         {"C": C, "big_m": BIG_M}, param=("C", 4.0)),
    Case("ramp_l1_big_m", SETS, lambda d, m: ramp_l1_optimum(d, m, C),
         {"C": C, "big_m": "derived"}, FEW, param=("C", 0.2)),
    Case("ramp_l1_relaxed", CVXPY, lambda d, m: ramp_l1_relaxation(d, m, 4.0, 6.0),
         {"C": 4.0, "big_m": 6.0}, param=("C", 2.0)),
    Case("zero_one_disjunctive_relaxed", "the hull of the disjuncts, in cvxpy",
         lambda d, m: disjunctive_hull(d, m, PENALTY), {"penalty": PENALTY}, rows="given_up"),
    Case("conic_fixed", CVXPY, conic_fixed,
         {"penalty": PENALTY, "strengthening": scaled_strengthening},
         intercepts=PRICED, rows="split", param=("penalty", 3.0)),
    Case("conic_sdp", CVXPY, sdp, {"penalty": PENALTY}, rows="hinge", param=("penalty", 3.0)),
    Case("conic_sdp_literal", CVXPY, sdp, {"penalty": PENALTY}, rows="split",
         param=("penalty", 3.0)),
    # A bound on b far from the weights costs the witness its last digits: test_rank_one.py has it.
    Case("conic_sdp_rank_one", "all products of pairs, in cvxpy",
         lambda d, m: rank_one_sdp(d, m, PENALTY), {"penalty": PENALTY}, FEW, PRICED,
         rows="split", param=("penalty", 3.0)),
    Case("conic_sdp_eliminated", CVXPY, sdp, {"penalty": PENALTY}, rows="hinge",
         param=("penalty", 3.0)),
    Case("conic_sdp_strengthened", CVXPY, strengthened_sdp,
         {"penalty": PENALTY, "conflicts": "pairs"}, rows="split"),
    Case("conic_sdp_dual", OF_PRIMAL, minus(sdp), {"penalty": PENALTY}, variable="alpha",
         rows="strength", param=("penalty", 3.0)),
    Case("conic_sdp_budget", CVXPY, sdp_budget, {"budget": BUDGET}, rows="hinge",
         param=("budget", 0.3)),
    Case("matrix_svc_full", AS_HINGE, hinge(RIDGE / 2, lambda d: 1.0),
         {"ridge": RIDGE, "shape": "2x2"}, MATRICES, param=("ridge", 0.6)),
    Case("matrix_svc_bilinear", "every direction of the factor of one side, in cvxpy",
         lambda d, m: matrix.rank_one_on_circle(d, 2, m, RIDGE),
         {"ridge": RIDGE, "shape": "2x2", "rank": 1}, MATRICES, param=("ridge", 0.6)),
    Case("matrix_svc_projection", CVXPY, lambda d, m: matrix.projection(d, (2, 2), m, RIDGE, 1),
         {"ridge": RIDGE, "shape": "2x2", "rank": 1}, MATRICES, param=("ridge", 0.6)),
    Case("matrix_svc_nuclear", CVXPY, lambda d, m: matrix.nuclear(d, (2, 2), m, RIDGE, TAU),
         {"ridge": RIDGE, "shape": "2x2", "tau": TAU}, MATRICES, param=("tau", 0.9)),
    Case("multiclass_hinge", CVXPY, of_classes, {"ridge": RIDGE}, CLASSES, variable="B",
         param=("ridge", 0.3)),
    Case("multiclass_matrix_projection", CVXPY,
         lambda d, m: multiclass.matrix_machine(d, m, RIDGE, (2, 2), rank=1),
         {"ridge": RIDGE, "shape": "2x2", "rank": 1}, MATRIX_CLASSES, variable="B",
         param=("ridge", 0.3)),
    Case("multiclass_matrix_nuclear", CVXPY,
         lambda d, m: multiclass.matrix_machine(d, m, RIDGE, (2, 2), tau=0.1),
         {"ridge": RIDGE, "shape": "2x2", "tau": 0.1}, MATRIX_CLASSES, variable="B",
         param=("tau", 0.3)),
    Case("multiclass_truncated", SETS,
         lambda d, m: multiclass.truncated_by_sets(d, m, RIDGE, 1 - TRUNCATION)[0],
         {"ridge": RIDGE, "truncation": TRUNCATION, "big_m": "derived"}, CLASSES, variable="B",
         param=("ridge", 0.1)),
    Case("multiclass_truncated_relaxed", CVXPY,
         lambda d, m: multiclass.relaxation_of_classes(
             d, m, RIDGE, 1 - TRUNCATION, CLASS_BIG_M),
         {"ridge": RIDGE, "truncation": TRUNCATION, "big_m": CLASS_BIG_M}, CLASSES, variable="B",
         param=("ridge", 0.3)),
]  # fmt: skip
CASES: dict[str, Case] = {case.name: case for case in _CASES}


def each(names: Iterable[str] = tuple(CASES)) -> pytest.MarkDecorator:
    """Parametrise `case` over some entries."""
    chosen = [CASES[name] for name in names]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


OF_CLASSES = [name for name, case in CASES.items() if MulticlassData in case.entry.takes]

# --- words that are valid whatever the data ------------------------------------------------------

# For suites that bring their own data. Words that choose may be tried as numbers too.
NUMBERS: dict[str, float] = {
    "C": 0.7, "ridge": 0.1, "pi": 0.3, "nu": 0.5, "penalty": 1.3, "budget": 0.5, "beta": 0.5,
    "big_m": 50.0, "intercept_bound": 9.0, "norm_bound": 0.8, "hull_bound": 0.6,
    "price": 0.1, "bend": 0.5, "exponent": 1.5, "rank": 1, "tau": 0.4, "truncation": -0.4,
    "mu": 0.0,
}  # fmt: skip
WORDS: dict[str, Any] = {
    "intercept": "free", "scale": "takeda", "transformation": "bigm", "both_sides": False,
    "class_balance": "uniform", "strengthening": "scaled", "w_ref": "mean_difference",
    "slack_bounds": "derived", "conflicts": "none", "products": "none", "partners": "none",
    "shape": "1x2", "loss": "squared_hinge", "regulariser": "ridge",
    "sides": "violated", "norm": "disjuncts",
}  # fmt: skip


def modes(name: str) -> tuple[str, ...]:
    """Ways to treat the intercept that an entry knows."""
    return PRICED if name == "conic_fixed" else INTERCEPTS


def valid(name: str, intercept: str) -> dict[str, Any]:
    """Every hyperparameter of an entry, with a value that its builder takes."""
    accepted = CATALOGUE[name].parameters
    chosen = {word: value for word, value in (NUMBERS | WORDS).items() if word in accepted}
    if intercept != "free":
        chosen.pop("intercept_bound", None)
    return chosen | {"intercept": intercept}
