"""Every entry of the catalogue on random small data, beside an optimum from elsewhere.

Data are multiples of 1/4, so that ties, duplicates and points of both labels are common and all
numbers are exact. The optimum is computed for these data (by enumeration in rational numbers, by
cvxpy, by every direction of the plane), and the product is asked about the same data times
s = 2^k with the hyperparameters transformed along: the optimum is then s^p times that one, with
the p written beside each entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

import tightmargin as tm
from tests.references import losses, matrix, multiclass
from tests.references import ramp_l1 as l1
from tests.references import reference_solutions as ref
from tests.references.extended_nu import by_all_outliers
from tests.references.reduced_hulls import level_by_lp
from tests.soundness import exact

WITNESS_ERROR = 1e-7  # of cvxpy at its tolerances, relative to max(1, |value|)
BOUND_ON_B = 12.0
ALL, PRICED = ("free", "penalised", "none"), ("penalised", "none")

T = TypeVar("T")
Words = dict[str, Any]
Draw = Callable[[np.random.Generator, Any, str], Words]


class NoWitnessError(AssertionError):
    """The witness knows nothing about these data: the case is drawn again."""


# What the witnesses raise where they know no optimum.
NO_WITNESS = (AssertionError, cp.error.SolverError)


def again(draw: Callable[[], T], *errors: type[Exception]) -> T:
    """The first draw whose witness knows an optimum, and that none of the errors ends."""
    while True:
        try:
            return draw()
        except (*NO_WITNESS, *errors):
            continue


@dataclass(frozen=True)
class Question:
    """Hyperparameters at scale 1, how each scales, and the optimum."""

    parameters: Words
    value: Callable[[], float | Fraction]
    powers: dict[str, int]  # of s by which hyperparameters are multiplied; those left out stay
    power: int  # of s of the optimum
    error: float
    upper: bool  # the value is an upper end only: of a relaxation, the optimum that it bounds


@dataclass(frozen=True)
class Trial:
    """How an entry is tried."""

    words: Draw  # hyperparameters
    witness: Callable[..., float | Fraction]  # (data, mode, **words): the optimum at scale 1
    powers: dict[str, int] = field(default_factory=dict)
    power: int = 0
    sign: int = 1  # -1 of a dual: minus the optimum
    data: str = "any"  # or separable, matrices (2 x 2), classes, class_matrices
    most: int = 12  # points: enumeration takes few
    features: int = 3
    modes: tuple[str, ...] = ALL
    paper: bool = False  # the paper's optimum unless numbers M are stated: then it is the model's
    upper: bool = False
    error: float = WITNESS_ERROR
    error_of_free: float | None = None
    # Of a relaxation: sometimes it is held against the 0-1 optimum, with a derived M.
    instead: Trial | None = None

    def draw(self, rng: np.random.Generator, data: Any, mode: str) -> Question:
        """One question about the data."""
        if self.instead is not None and rng.random() < 0.3:
            return self.instead.draw(rng, data, mode)
        words = self.words(rng, data, mode)
        value = lambda: self.witness(data, mode, **words)  # noqa: E731
        error = self.error_of_free if mode == "free" and self.error_of_free else self.error
        return Question(words, value, self.powers, self.power, error, self.upper)


def points(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Points on a grid with both labels, often with duplicates or a constant feature."""
    X = rng.integers(-8, 9, size=(n, d)) / 4
    y = np.where(rng.random(n) < rng.choice([0.3, 0.5]), 1.0, -1.0)
    if rng.random() < 0.5:  # nearly separable
        y = np.where(X @ rng.integers(-3, 4, size=d) + rng.integers(-1, 2) / 4 > 0, 1.0, -1.0)
        y[rng.integers(n)] *= -1 if rng.random() < 0.5 else 1
    odd = rng.random()
    if odd < 0.15:
        X[0] = X[-1]
    elif odd < 0.3:
        X[0], y[0] = X[-1], -y[-1]
    elif odd < 0.4:
        X[:, 0] = X[0, 0]
    if abs(y.sum()) == n:
        y[rng.integers(n)] *= -1
    return X, y


def separated(rng: np.random.Generator, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same points, moved apart along a direction that is normal to a plane through 0."""
    w = rng.integers(-3, 4, size=X.shape[1]).astype(float)
    w[0] += 4.0
    y = np.where(X @ w > 0, 1.0, -1.0)
    if abs(y.sum()) == len(y):
        X, y = X.copy(), y.copy()
        X[0], y[0] = -X[0], -y[0]
    return X + np.outer(y, w) / 4, y


def uniform(data: Any) -> np.ndarray:
    return np.full(data.n, 1 / data.n)


def one_of(rng: np.random.Generator, *values: float) -> float:
    return float(rng.choice(values))


def some(fixed: Words | None = None, **choices: tuple[float, ...]) -> Draw:
    """One number of each list, and what is fixed."""
    return lambda rng, data, mode: {
        **{name: one_of(rng, *values) for name, values in choices.items()},
        **(fixed or {}),
    }


def with_m(name: str, *numbers: float) -> Draw:
    """A price, and the same M of every point."""
    return lambda rng, data, mode: {
        name: one_of(rng, 0.25, 1.0, 4.0), "big_m": np.full(data.n, one_of(rng, *numbers)),
    }  # fmt: skip


def beside(draw: Draw, more: Draw) -> Draw:
    return lambda rng, data, mode: draw(rng, data, mode) | more(rng, data, mode)


def nu_max(data: Any, mode: str) -> float:
    return 1.0 if mode != "free" else 2 * min((data.y > 0).mean(), (data.y < 0).mean())


def some_nu(*shares: float) -> Draw:
    return lambda rng, data, mode: {"nu": nu_max(data, mode) * one_of(rng, *shares)}


def some_loss(rng: np.random.Generator, data: Any, mode: str) -> Words:
    price = one_of(rng, 2.0**-6, 0.125, 1.0)
    return {"price": price, "loss": str(rng.choice(sorted(set(losses.LOSSES) - {"deviance"})))}


def some_beta(rng: np.random.Generator, data: Any, mode: str) -> Words:
    return {"beta": 1 - nu_max(data, mode) * one_of(rng, 0.25, 0.5, 0.75)}


def some_reference(rng: np.random.Generator, data: Any, mode: str) -> Words:
    nu = nu_max(data, mode) * one_of(rng, 0.25, 0.5, 0.75)
    return {"nu": nu, "w_ref": rng.integers(1, 5, size=data.d + (mode == "penalised")) / 4}


def some_outliers(rng: np.random.Generator, data: Any, mode: str) -> Words:
    count = int(rng.integers(0, min(3, data.n)))
    nu = one_of(rng, 0.5, 0.75, 0.9375, 1.0)
    shares = 2 * min(data.n_pos, data.n_neg) / data.n
    if count >= nu * data.n or (mode == "free" and nu + count / data.n >= shares):
        raise NoWitnessError
    return {"nu": nu, "mu": f"{count}/{data.n}"}


def some_cap(rng: np.random.Generator, data: Any, mode: str) -> Words:
    fewer = min((data.y > 0).sum(), (data.y < 0).sum())
    cap = one_of(rng, 1.0, 2.0) / (fewer if mode == "free" else data.n / 2)
    return {"hull_bound": min(cap, 1.0)}


def bounded(draw: Draw) -> Draw:
    """With a bound on a free intercept."""
    free = {"intercept_bound": BOUND_ON_B}
    return lambda rng, data, mode: draw(rng, data, mode) | (free if mode == "free" else {})


def some_strengthening(rng: np.random.Generator, data: Any, mode: str) -> Words:
    penalty = one_of(rng, 0.125, 1.0, 8.0)
    columns = data.X if mode == "none" else np.column_stack([data.X, np.ones(data.n)])
    gamma = rng.integers(0, 5, size=data.n) / 4
    top = np.linalg.eigvalsh(columns.T @ (gamma[:, None] * columns))[-1]
    gamma = gamma if top == 0 else gamma * 2.0 ** np.floor(np.log2(0.99 / top))
    return {"penalty": penalty, "strengthening": gamma}


def some_partners(rng: np.random.Generator, data: Any, mode: str) -> Words:
    words: Words = {"partners": 1 + int(rng.integers(3)), "groups": [(0, data.n - 1)]}
    return words | ({"intercept_bound": "derived"} if mode == "free" else {})


def some_word(name: str, *words: str) -> Draw:
    return lambda rng, data, mode: {name: str(rng.choice(words))}


def weighted(data: Any, mode: str, ridge: float, pi: float) -> float:
    costs = np.where(data.y > 0, 1 - pi, pi) / data.n
    return ref.hinge(data, mode, ridge, costs).value


def on_circle(data: Any, mode: str, nu: float) -> float:
    """The extended nu-SVC by every direction, where its directions are one or two."""
    costs = uniform(data)
    if mode == "penalised":
        if data.d != 1:
            raise NoWitnessError
        data, mode = tm.TrainingData(np.column_stack([data.X, np.ones(data.n)]), data.y), "none"
    if data.d == 1:
        return min(level_by_lp(data, mode, nu, costs, np.array([sign])) for sign in (1.0, -1.0))
    if data.d != 2 or data.n < 3:
        raise NoWitnessError
    return ref.nu_risk_on_circle(data, mode, nu, costs).value


def polar(data: Any, mode: str, nu: float) -> float:
    found = on_circle(data, mode, nu)
    if found < 1e-3:
        raise NoWitnessError
    return -(found**-2)


def least_loss(data: Any, mode: str) -> float:
    columns = [data.y[:, None] * data.X]
    columns += [] if mode == "none" else [data.y[:, None]]
    A = np.hstack([*columns, np.eye(data.n)])
    k = A.shape[1] - data.n
    cost = np.r_[np.zeros(k), np.ones(data.n)]
    bounds = [(None, None)] * k + [(0, None)] * data.n
    found = linprog(cost, A_ub=-A, b_ub=-np.ones(data.n), bounds=bounds)
    return float(np.round(found.fun, 12))  # 0 where the points are separable


def zero_one(data: Any, mode: str, penalty: float, **_: Any) -> Fraction:
    return exact.zero_one(data.X, data.y, mode, penalty)


def sdp(data: Any, mode: str, intercept_bound: float | None = None, **price: float) -> float:
    return ref.theorem_2(data, mode, **price, bound_on_b=intercept_bound).value


SQUARE, RIDGE, PRICE = {"C": -2}, {"ridge": 2}, {"penalty": -2}
FEW: dict[str, Any] = {"features": 2, "most": 9}
HARD: dict[str, Any] = {"data": "separable"}
OF_MATRICES: dict[str, Any] = {"data": "matrices", "error": 1e-6}
OF_CLASSES: dict[str, Any] = {"data": "classes", "most": 8}
SHAPE = {"shape": "2x2"}

c_svc = Trial(
    some(C=(0.125, 1.0, 8.0, 1024.0)), lambda d, m, C: ref.hinge(d, m, 0.5, C).value, SQUARE, -2
)
soft = Trial(
    some(ridge=(2.0**-8, 0.125, 1.0)),
    lambda d, m, ridge: ref.hinge(d, m, ridge, uniform(d)).value,
    RIDGE,
)
hard = Trial(some(), lambda d, m: ref.hard_margin(d, m).value, power=-2, **HARD)
nu_svc = Trial(
    some_nu(0.25, 0.5, 0.75, 0.9375),
    lambda d, m, nu: ref.nu_machine(d, m, nu, uniform(d)).value,
    power=2,
)
extended = Trial(some_nu(0.25, 0.5, 0.75, 0.9375), on_circle, power=1, **FEW)
ball = Trial(
    some_nu(0.25, 0.5, 0.75, 0.9375),
    lambda d, m, nu: ref.nu_risk_in_ball(d, m, nu, uniform(d)),
    power=1,
)
linearised = Trial(
    some_reference,
    lambda d, m, nu, w_ref: ref.nu_risk_linearised(d, m, nu, uniform(d), w_ref).value,
    power=1,
)
rigorous = Trial(
    some(norm_bound=(0.125, 0.5, 2.0, 16.0)),
    lambda d, m, norm_bound: ref.least_loss(d, m, norm_bound).value,
    {"norm_bound": -1},
)
lost = Trial(some(), least_loss, error=1e-8)
big_m = Trial(
    some({"big_m": "derived"}, penalty=(0.0625, 0.5, 2.0, 64.0)),
    zero_one,
    PRICE,
    -2,
    paper=True,
    error=0.0,
    **FEW,
)
without_m = replace(big_m, words=some(penalty=(0.0625, 0.5, 2.0, 64.0)), most=6)
below = replace(without_m, upper=True)  # nobody knows its own optimum: what it bounds is known
# A bound far from the weights costs a conic solver, which the witness is, two digits.
conic = Trial(
    bounded(some(penalty=(0.125, 1.0, 8.0))), sdp, PRICE, -2, error=1e-6, error_of_free=1e-5
)


def dual(trial: Trial) -> Trial:
    return replace(trial, sign=-1)


def wider(trial: Trial, draw: Draw, **changed: Any) -> Trial:
    return replace(trial, words=beside(trial.words, draw), **changed)


GROUPS: dict[str, dict[str, Trial]] = {
    "hinge": {
        "c_svc": c_svc, "c_svc_dual": dual(c_svc),
        "soft_margin_svc": soft, "soft_margin_svc_dual": dual(soft),
        "kernel_soft_margin_svc": soft,
        "weighted_svc": Trial(some(ridge=(2.0**-6, 0.125), pi=(0.25, 0.5, 0.875)), weighted, RIDGE),
    },
    "losses": {
        "regularised_svc": Trial(
            some_loss, lambda d, m, price, loss: losses.regularised(d, m, loss, price),
            {"price": 2}),
        "deviance_svc": Trial(
            some(price=(2.0**-6, 0.125, 1.0)),
            lambda d, m, price: losses.regularised(d, m, "deviance", price), {"price": 2}),
        "hinge_power_svc": Trial(
            some(penalty=(0.125, 1.0, 8.0), exponent=(1.0, 1.25, 1.5, 2.0, 3.5)),
            losses.hinge_power, PRICE, -2),
    },
    "margin": {
        "hard_margin_svc": hard, "hard_margin_svc_dual": dual(hard),
        "max_margin_svc": Trial(some(), lambda d, m: ref.max_margin(d, m).value, power=1, **HARD),
    },
    "nu": {
        "nu_svc": nu_svc, "nu_svc_dual": dual(nu_svc),
        "reduced_hull_svc": Trial(
            some_cap, lambda d, m, hull_bound: ref.hull_distance(d.X @ d.X.T, d.y, hull_bound, m),
            power=2),
    },
    "extended_nu": {
        "extended_nu_svc": extended, "extended_nu_svc_reverse": extended,
        "extended_nu_svc_polar": replace(
            extended, words=some_nu(0.25, 0.5), witness=polar, power=-2, error=1e-6),
        "min_cvar": Trial(some_beta, lambda d, m, beta: on_circle(d, m, 1 - beta) / (1 - beta),
                          power=1, **FEW),
        "extended_robust_svc": Trial(
            some_outliers,
            lambda d, m, nu, mu: by_all_outliers(d, nu, int(mu.split("/")[0]), m),
            power=1, most=7, features=2, paper=True),
    },
    "linearised": {
        "extended_nu_svc_ball": ball, "extended_nu_svc_dual": dual(ball),
        "extended_nu_svc_linearised": linearised,
        "extended_nu_svc_linearised_dual": dual(linearised),
    },
    "rigorous": {
        "rsvm": rigorous, "rsvm_dual": dual(rigorous), "rsvm_dual_perspective": dual(rigorous),
        "rsvm_relaxed": lost, "rsvm_kernel_relaxed": lost,
    },
    "zero_one": {
        "zero_one_big_m": big_m, "zero_one_bilinear": without_m, "zero_one_kernel": without_m,
        "zero_one_disjunctive": replace(without_m, most=8),
        "zero_one_relaxed": Trial(
            with_m("penalty", 2.0, 10.0, 50.0),
            lambda d, m, penalty, big_m: ref.relaxation(d, m, penalty, big_m).value, PRICE, -2,
            paper=True, instead=replace(big_m, upper=True), **FEW),
        "zero_one_hinge": Trial(
            with_m("penalty", 2.0, 10.0, 50.0),
            lambda d, m, penalty, big_m: ref.hinge(d, m, 1.0, penalty / big_m).value, PRICE, -2,
            paper=True, instead=replace(big_m, upper=True), **FEW),
        "zero_one_disjunctive_relaxed": wider(
            below, some_word("norm", "disjuncts", "objective"), most=8),
    },
    "ramp": {
        "ramp_big_m": Trial(
            some({"big_m": "derived"}, C=(0.25, 1.0, 4.0)),
            lambda d, m, C, big_m: ref.ramp_optimum(d, m, C), SQUARE, -2,
            most=5, features=2, paper=True),
        "ramp_relaxed": Trial(
            with_m("C", 4.0, 20.0),
            lambda d, m, C, big_m: ref.ramp_relaxation(d, m, C, big_m[0]), SQUARE, -2, paper=True),
        "ramp_l1_big_m": Trial(
            some({"big_m": "derived"}, C=(0.25, 1.0, 4.0)),
            lambda d, m, C, big_m: l1.ramp_l1_optimum(d, m, C), {"C": -1}, -1,
            most=5, features=2, paper=True),
        "ramp_l1_relaxed": Trial(
            with_m("C", 4.0, 20.0),
            lambda d, m, C, big_m: l1.ramp_l1_relaxation(d, m, C, big_m[0]), {"C": -1}, -1,
            paper=True),
    },
    "conic": {
        "conic_sdp": conic, "conic_sdp_literal": conic, "conic_sdp_eliminated": conic,
        "conic_sdp_dual": dual(conic),
        "conic_sdp_budget": replace(
            conic, words=bounded(some(budget=(0.125, 0.25, 0.5))), powers={}),
        "conic_fixed": Trial(
            some_strengthening,
            lambda d, m, penalty, strengthening: ref.fixed_strengthening(
                d, m, penalty, strengthening),
            PRICE | {"strengthening": -2}, -2, modes=PRICED, error=1e-6),
        "conic_sdp_strengthened": wider(
            below, some_word("conflicts", "none", "pairs"), most=8),
        "conic_sdp_rank_one": wider(below, some_partners, most=7),
    },
    "matrix": {
        "matrix_svc_full": Trial(
            some(SHAPE, ridge=(0.125, 1.0)),
            lambda d, m, ridge, shape: ref.hinge(d, m, ridge / 2, 1.0).value, RIDGE,
            data="matrices"),
        "matrix_svc_bilinear": Trial(
            some(SHAPE | {"rank": 1}, ridge=(0.125, 1.0)),
            lambda d, m, ridge, **_: matrix.rank_one_on_circle(d, 2, m, ridge), RIDGE,
            most=7, **OF_MATRICES),
        "matrix_svc_projection": Trial(
            some(SHAPE | {"rank": 1}, ridge=(0.125, 1.0)),
            lambda d, m, ridge, **_: matrix.projection(d, (2, 2), m, ridge, 1), RIDGE,
            **OF_MATRICES),
        "matrix_svc_nuclear": Trial(
            some(SHAPE, ridge=(0.125, 1.0), tau=(0.25, 1.0)),
            lambda d, m, ridge, tau, shape: matrix.nuclear(d, (2, 2), m, ridge, tau),
            {"ridge": 2, "tau": 1}, **OF_MATRICES),
    },
    "classes": {
        "multiclass_hinge": Trial(
            some(ridge=(0.0625, 0.25)),
            lambda d, m, ridge: float(multiclass.hinge_of_classes(d, m, ridge).problem.value),
            RIDGE, **OF_CLASSES),
        "multiclass_truncated": Trial(
            some({"big_m": "derived"}, ridge=(0.0625, 0.25), truncation=(-1.0, -0.5)),
            lambda d, m, ridge, truncation, big_m: multiclass.truncated_by_sets(
                d, m, ridge, 1 - truncation)[0],
            RIDGE, data="classes", most=5),
        "multiclass_truncated_relaxed": Trial(
            lambda rng, data, mode: {"ridge": one_of(rng, 0.0625, 0.25), "truncation": -0.5,
                                     "big_m": np.full(data.n, 50.0)},
            lambda d, m, ridge, truncation, big_m: multiclass.relaxation_of_classes(
                d, m, ridge, 1 - truncation, big_m),
            RIDGE, **OF_CLASSES),
        "multiclass_matrix_projection": Trial(
            some(SHAPE | {"rank": 1}, ridge=(0.0625, 0.5)),
            lambda d, m, ridge, **_: multiclass.matrix_machine(d, m, ridge, (2, 2), rank=1),
            RIDGE, data="class_matrices", most=8),
        "multiclass_matrix_nuclear": Trial(
            some(SHAPE, ridge=(0.0625, 0.5), tau=(0.125, 0.5)),
            lambda d, m, ridge, tau, shape: multiclass.matrix_machine(
                d, m, ridge, (2, 2), tau=tau),
            {"ridge": 2, "tau": 1}, data="class_matrices", most=8),
    },
}  # fmt: skip
TRIALS = {name: trial for group in GROUPS.values() for name, trial in group.items()}
