"""Every entry of the catalogue on random small data, beside an optimum from elsewhere.

Data are multiples of 1/4, so that ties, duplicates and points of both labels are common and all
numbers are exact. The optimum is computed for these data (by enumeration in rational numbers, by
cvxpy, by every direction of the plane), and the product is asked about the same data times
s = 2^k with the hyperparameters transformed along: the optimum is then s^p times that one, with
the p written beside each entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

import tightmargin as tm
from tests.references import losses, reference_solutions
from tests.references.extended_nu import by_all_outliers
from tests.references.losses import LOSSES
from tests.references.reduced_hulls import level_by_lp

WITNESS_ERROR = 1e-7  # of cvxpy at its tolerances, relative to max(1, |value|)
BOUND_ON_B = 12.0


class NoWitnessError(AssertionError):
    """The witness knows nothing about these data: the case is drawn again."""


# What the witnesses raise where they know no optimum.
NO_WITNESS = (AssertionError, cp.error.SolverError)


@dataclass(frozen=True)
class Question:
    """Hyperparameters at scale 1, how each scales, and the optimum.

    Attributes
    ----------
    powers : dict
        Power of s by which a hyperparameter is multiplied; those left out stay.
    power : int
        Power of s of the optimum.
    upper : bool
        The value is an upper end only: of a relaxation, the optimum that it bounds.
    """

    parameters: dict[str, Any]
    value: Callable[[], float | Fraction]
    powers: dict[str, int]
    power: int
    error: float = WITNESS_ERROR
    upper: bool = False


Draw = Callable[[np.random.Generator, Any, str], Question]


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


# --- hinge machines and margins -------------------------------------------------------------------


def c_svc(rng: np.random.Generator, data: Any, mode: str) -> Question:
    C = one_of(rng, 0.125, 1.0, 8.0, 1024.0)
    return Question(
        {"C": C}, lambda: reference_solutions.hinge(data, mode, 0.5, C).value, {"C": -2}, -2
    )


def soft(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge = one_of(rng, 2.0**-8, 0.125, 1.0)
    value = lambda: reference_solutions.hinge(data, mode, ridge, uniform(data)).value  # noqa: E731
    return Question({"ridge": ridge}, value, {"ridge": 2}, 0)


def weighted(rng: np.random.Generator, data: Any, mode: str) -> Question:
    ridge, pi = one_of(rng, 2.0**-6, 0.125), one_of(rng, 0.25, 0.5, 0.875)
    costs = np.where(data.y > 0, 1 - pi, pi) / data.n
    value = lambda: reference_solutions.hinge(data, mode, ridge, costs).value  # noqa: E731
    return Question({"ridge": ridge, "pi": pi}, value, {"ridge": 2}, 0)


def regularised(rng: np.random.Generator, data: Any, mode: str) -> Question:
    price, loss = (
        one_of(rng, 2.0**-6, 0.125, 1.0),
        str(rng.choice(sorted(set(LOSSES) - {"deviance"}))),
    )
    value = lambda: losses.regularised(data, mode, loss, price)  # noqa: E731
    return Question({"price": price, "loss": loss}, value, {"price": 2}, 0)


def deviance(rng: np.random.Generator, data: Any, mode: str) -> Question:
    price = one_of(rng, 2.0**-6, 0.125, 1.0)
    value = lambda: losses.regularised(data, mode, "deviance", price)  # noqa: E731
    return Question({"price": price}, value, {"price": 2}, 0)


def hinge_power(rng: np.random.Generator, data: Any, mode: str) -> Question:
    penalty, exponent = one_of(rng, 0.125, 1.0, 8.0), one_of(rng, 1.0, 1.25, 1.5, 2.0, 3.5)
    value = lambda: losses.hinge_power(data, mode, penalty, exponent)  # noqa: E731
    return Question({"penalty": penalty, "exponent": exponent}, value, {"penalty": -2}, -2)


def hard(rng: np.random.Generator, data: Any, mode: str) -> Question:
    return Question({}, lambda: reference_solutions.hard_margin(data, mode).value, {}, -2)


def margin(rng: np.random.Generator, data: Any, mode: str) -> Question:
    return Question({}, lambda: reference_solutions.max_margin(data, mode).value, {}, 1)


# --- nu machines ----------------------------------------------------------------------------------


def _nu_max(data: Any, mode: str) -> float:
    return 1.0 if mode != "free" else 2 * min((data.y > 0).mean(), (data.y < 0).mean())


def nu_svc(rng: np.random.Generator, data: Any, mode: str) -> Question:
    nu = _nu_max(data, mode) * one_of(rng, 0.25, 0.5, 0.75, 0.9375)
    value = lambda: reference_solutions.nu_machine(data, mode, nu, uniform(data)).value  # noqa: E731
    return Question({"nu": nu}, value, {}, 2)


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
    return reference_solutions.nu_risk_on_circle(data, mode, nu, costs).value


def extended(rng: np.random.Generator, data: Any, mode: str) -> Question:
    nu = _nu_max(data, mode) * one_of(rng, 0.25, 0.5, 0.75, 0.9375)
    return Question({"nu": nu}, lambda: on_circle(data, mode, nu), {}, 1)


def polar(rng: np.random.Generator, data: Any, mode: str) -> Question:
    nu = _nu_max(data, mode) * one_of(rng, 0.25, 0.5)

    def value() -> float:
        found = on_circle(data, mode, nu)
        if found < 1e-3:
            raise NoWitnessError
        return -(found**-2)

    return Question({"nu": nu}, value, {}, -2, error=1e-6)


def cvar(rng: np.random.Generator, data: Any, mode: str) -> Question:
    beta = 1 - _nu_max(data, mode) * one_of(rng, 0.25, 0.5, 0.75)
    return Question({"beta": beta}, lambda: on_circle(data, mode, 1 - beta) / (1 - beta), {}, 1)


def ball(rng: np.random.Generator, data: Any, mode: str) -> Question:
    nu = _nu_max(data, mode) * one_of(rng, 0.25, 0.5, 0.75, 0.9375)
    value = lambda: reference_solutions.nu_risk_in_ball(data, mode, nu, uniform(data))  # noqa: E731
    return Question({"nu": nu}, value, {}, 1)


def linearised(rng: np.random.Generator, data: Any, mode: str) -> Question:
    nu = _nu_max(data, mode) * one_of(rng, 0.25, 0.5, 0.75)
    w_ref = rng.integers(1, 5, size=data.d + (mode == "penalised")) / 4

    def value() -> float:
        return reference_solutions.nu_risk_linearised(data, mode, nu, uniform(data), w_ref).value

    return Question({"nu": nu, "w_ref": w_ref}, value, {}, 1)


def robust(rng: np.random.Generator, data: Any, mode: str) -> Question:
    count = int(rng.integers(0, min(3, data.n)))
    nu = one_of(rng, 0.5, 0.75, 0.9375, 1.0)
    shares = 2 * min(data.n_pos, data.n_neg) / data.n
    if count >= nu * data.n or (mode == "free" and nu + count / data.n >= shares):
        raise NoWitnessError
    value = lambda: by_all_outliers(data, nu, count, mode)  # noqa: E731
    return Question({"nu": nu, "mu": f"{count}/{data.n}"}, value, {}, 1)


# --- rigorous machines ----------------------------------------------------------------------------


def rigorous(rng: np.random.Generator, data: Any, mode: str) -> Question:
    H = one_of(rng, 0.125, 0.5, 2.0, 16.0)
    value = lambda: reference_solutions.least_loss(data, mode, H).value  # noqa: E731
    return Question({"norm_bound": H}, value, {"norm_bound": -1}, 0)


def least_loss(rng: np.random.Generator, data: Any, mode: str) -> Question:
    def value() -> float:
        columns = [data.y[:, None] * data.X]
        columns += [] if mode == "none" else [data.y[:, None]]
        A = np.hstack([*columns, np.eye(data.n)])
        k = A.shape[1] - data.n
        cost = np.r_[np.zeros(k), np.ones(data.n)]
        bounds = [(None, None)] * k + [(0, None)] * data.n
        found = linprog(cost, A_ub=-A, b_ub=-np.ones(data.n), bounds=bounds)
        return float(np.round(found.fun, 12))  # 0 where the points are separable

    return Question({}, value, {}, 0, error=1e-8)


def hull(rng: np.random.Generator, data: Any, mode: str) -> Question:
    fewer = min((data.y > 0).sum(), (data.y < 0).sum())
    cap = one_of(rng, 1.0, 2.0) / (fewer if mode == "free" else data.n / 2)
    gram = data.X @ data.X.T
    value = lambda: reference_solutions.hull_distance(gram, data.y, min(cap, 1.0), mode)  # noqa: E731
    return Question({"hull_bound": min(cap, 1.0)}, value, {}, 2)
