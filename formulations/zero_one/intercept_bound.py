"""Bounds on a free intercept that keep an optimum, derived or stated.

A lifted model with a free intercept needs one, or its relaxation is worth nothing.
"""

from __future__ import annotations

import math

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import add_parameter, positive
from tightmargin.formulations.zero_one.big_m import OUTWARD, best_known
from tightmargin.formulations.zero_one.loss import trivial_points


def derive_intercept_bound(
    data: TrainingData, *, penalty: float, upper_bound: float | None = None
) -> float:
    """B such that some optimum of the 0-1 problem with a free intercept has |b| <= B.

    B = max(1, sqrt(UB) max_i ||x_i|| - 1). If a class has no kept point, w = 0 with b = +-1 is an
    optimum (see `big_m.derive_big_m`). Otherwise let i and k be kept points labelled +1 and -1:
    b >= 1 - <w, x_i> >= 1 - ||w|| max ||x|| and b <= -1 - <w, x_k> <= ||w|| max ||x|| - 1, where
    ||w||^2 <= UB.
    """
    cost = positive("penalty", penalty)
    trivial = trivial_points(data, penalty=cost, intercept="free")[0].objective
    return intercept_bound_below(data, best_known(trivial, upper_bound))


def intercept_bound_below(data: TrainingData, known: float) -> float:
    """B of `derive_intercept_bound` for a stated objective that some point is known to reach."""
    farthest = float(np.linalg.norm(data.factor, axis=1).max())
    return max(1.0, math.sqrt(known) * farthest * OUTWARD - 1.0) * OUTWARD


def intercept_bound_value(
    data: TrainingData | GramData,
    penalty: float | None,
    intercept: str,
    bound: float | str | None,
) -> float | None:
    """Number B with |b| <= B at some optimum; None when the intercept is not free.

    Raises
    ------
    ValueError
        Free intercept without a bound, a bound where none belongs, or "derived" without a
        penalty to derive it from.
    """
    if intercept != "free":
        if bound is not None:
            raise ValueError(f"intercept_bound belongs to intercept=free, not {intercept}")
        return None
    if bound is None:
        raise ValueError(
            "a free intercept needs intercept_bound, a number or 'derived': W_bb costs nothing, "
            "so without a bound on |b| every T_i grows at no price and the SDP value is 0"
        )
    if isinstance(bound, str):
        if bound != "derived" or penalty is None:
            allowed = "a number" if penalty is None else "a number or 'derived'"
            raise ValueError(f"intercept_bound must be {allowed} here, got {bound!r}")
        return derive_intercept_bound(data.points, penalty=penalty)
    return positive("intercept_bound", bound)


def add_intercept_bound(
    m: pyo.ConcreteModel,
    data: TrainingData | GramData,
    intercept: str,
    bound: float | str | None,
) -> None:
    """Row  intercept_row: W_bb <= intercept_bound^2  when the intercept is free."""
    penalty = pyo.value(m.penalty) if m.find_component("penalty") is not None else None
    value = intercept_bound_value(data, penalty, intercept, bound)
    if value is not None:
        add_parameter(m, "intercept_bound", value)
        m.intercept_row = pyo.Constraint(expr=m.W[data.d, data.d] <= m.intercept_bound**2)
