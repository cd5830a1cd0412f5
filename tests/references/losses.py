"""Losses and regularisers in cvxpy's own words, for tests only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import cvxpy as cp
import numpy as np

from tests.references.reference_solutions import _Hyperplane, _minimum
from tightmargin.formulations import TrainingData

LOSSES: dict[str, Callable[[Any, float], Any]] = {
    "hinge": lambda u, bend: cp.pos(1 - u),
    "squared_hinge": lambda u, bend: cp.square(cp.pos(1 - u)),
    "squared": lambda u, bend: cp.square(1 - u),
    "huberised": lambda u, bend: cp.huber(cp.pos(1 - u), bend) / (2 * bend),
    "deviance": lambda u, bend: cp.logistic(-u),
}

# Older versions write a power by second-order cones, of the fraction that it is.
EXACTLY = {"approx": False} if "approx" in signature(cp.power.__init__).parameters else {}


def regularised(
    data: TrainingData,
    mode: str,
    loss: str,
    price: float,
    regulariser: str = "ridge",
    *,
    bend: float = 1.0,
    groups: Sequence[Any] = (),
) -> float:
    """price R(w) + the mean loss of the signed scores, weights of points counted."""
    h = _Hyperplane(data, mode)
    s = np.ones(data.n) if data.weights is None else data.weights
    b = h.b if mode == "penalised" else 0.0
    parts = [[j for j, g in enumerate(groups) if g == label] for label in dict.fromkeys(groups)]
    size = {
        "ridge": lambda: h.norm,
        "l1": lambda: cp.norm1(h.w) + cp.abs(b),
        "group": lambda: sum(len(p) ** 0.5 * cp.norm(h.w[p]) for p in parts) + cp.abs(b),
    }[regulariser]()
    return _minimum(price * size + (s / s.sum()) @ LOSSES[loss](h.u, bend))


def hinge_power(data: TrainingData, mode: str, penalty: float, exponent: float) -> float:
    """norm + penalty sum_i s_i max(0, 1 - u_i)^exponent, by cvxpy's power cones."""
    h = _Hyperplane(data, mode)
    s = np.ones(data.n) if data.weights is None else data.weights
    powers = cp.power(cp.pos(1 - h.u), exponent, **EXACTLY)
    return _minimum(h.norm + penalty * s @ powers)
