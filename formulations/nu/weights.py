"""Weights of losses by class balance, and the range of nu that they leave."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import (
    fraction,
    one_of,
    per_point,
)

CLASS_BALANCES = ("uniform", "balanced")


def loss_weights(data: TrainingData | GramData, class_balance: ArrayLike | str) -> Array:
    """Weights c_i (n,), sum 1.

    class_balance (n,): 1 / n, or the share of all weights where the points are weighted; or 1 / (2
        n_class), so that both classes weigh the same, likewise shared out; or positive weights with
        sum 1 of the user's own, which leave nothing to say for weights of the data. Takeda &
        Sugiyama print 1 / n_class for the second; then nu_max would be 2, not 1.
    Raises ValueError: an unknown word, or weights that are not positive or do not sum to 1, or
        beside weights of the data.
    """
    if not isinstance(class_balance, str):
        return _given_weights(data, class_balance)
    one_of("class_balance", class_balance, CLASS_BALANCES)
    if class_balance == "uniform":
        return data.multiplicity / data.total_weight
    negative, positive = data.masses
    return data.multiplicity * np.where(data.y > 0, 0.5 / positive, 0.5 / negative)


def slack_prices(data: TrainingData | GramData, class_balance: ArrayLike | str) -> Array:
    """The weights c_i of slacks that may all be positive: rounded up where need be.

    1 / n is no double as a rule, and where n of them are below 1, nu = nu_max = 1 is beyond them:
    rho and all slacks would rise for ever. The user's own weights stay as they are.
    """
    found = loss_weights(data, class_balance)
    if not isinstance(class_balance, str):
        return found
    least = nu_max(data, class_balance) / 2
    everybody = np.ones(data.n, dtype=bool)
    for group, share in ((data.y > 0, least), (data.y < 0, least), (everybody, 1.0)):
        while math.fsum(found[group]) <= share and _exact_sum(found[group]) < share:
            found[group] = np.nextafter(found[group], np.inf)
    return found


def _exact_sum(numbers: Array) -> Fraction:
    values, counts = np.unique(numbers, return_counts=True)
    pairs = zip(values.tolist(), counts.tolist(), strict=True)
    return sum((Fraction(value) * count for value, count in pairs), Fraction(0))


def _given_weights(data: TrainingData | GramData, given: ArrayLike) -> Array:
    if np.ndim(given) != 1:
        raise ValueError(
            f"class_balance must be {', '.join(CLASS_BALANCES)} or {data.n} weights; got {given!r}"
        )
    if data.weights is not None:
        raise ValueError(
            "class_balance: the points are weighted already; put both into one: class_balance = "
            "c * data.weights, divided by its sum, on data without weights"
        )
    weights = per_point("class_balance", given, data.n)
    total = float(weights.sum())
    if abs(total - 1) > 1e-9:
        raise ValueError(
            f"class_balance: the weights sum to {total:.9g}, not 1; divide them by their sum"
        )
    return weights


def nu_max(
    data: TrainingData | GramData, class_balance: ArrayLike | str, intercept: str = "free"
) -> float:
    """Largest nu with a solution: twice the smaller class weight when the intercept is free."""
    if intercept != "free":
        return 1.0
    if isinstance(class_balance, str) and class_balance == "uniform":
        return 2 * min(data.masses) / data.total_weight
    weights = loss_weights(data, class_balance)
    return 2 * min(float(weights[data.y > 0].sum()), float(weights[data.y < 0].sum()))


def checked_nu(
    data: TrainingData | GramData, nu: float, class_balance: ArrayLike | str, intercept: str
) -> float:
    """Return nu when it lies in (0, nu_max], or raise ValueError with the reason."""
    largest = "2 min(n_pos, n_neg) / n"
    own = not isinstance(class_balance, str) or class_balance != "uniform"
    if own or data.weights is not None:
        largest = "twice the smaller class weight"
    if intercept != "free":
        largest = "1, the sum of the weights"
    why = (
        f"nu_max = {largest} with {data.n_pos} positive and {data.n_neg} negative "
        "points; above it the primal is unbounded and the dual infeasible"
    )
    return fraction("nu", nu, upper=nu_max(data, class_balance, intercept), why=why)
