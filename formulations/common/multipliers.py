"""Multipliers of margin rows: the weight that they expand to, and how they are repaired."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, Values
from tightmargin.formulations.common.hyperplane import (
    norm_of,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import scaled_rows
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import (
    dot,
    equal_rows,
    shared,
    squares,
)


def dual_weight(origin: Origin, values: Values) -> Array:
    """Weight vector w = sum_i alpha_i y_i x_i in the coordinates of the factor."""
    return origin.data.factor.T @ (origin.data.y * values["alpha"])


def balanced_alpha(alpha: Array, y: Array, caps: Array, intercept: str) -> Array:
    """Nearest-by-scaling multipliers that satisfy the box and, if b is free, y'alpha = 0.

    Shrinking the heavier class keeps the box, so the result is feasible to rounding.
    """
    alpha = np.clip(alpha, 0.0, caps)
    if intercept != "free":
        return alpha
    mass = {sign: float(alpha[y == sign].sum()) for sign in (-1.0, 1.0)}
    target = min(mass.values())
    scale = {sign: target / total if total > 0 else 1.0 for sign, total in mass.items()}
    return alpha * np.where(y > 0, scale[1.0], scale[-1.0])


def dual_norm(origin: Origin, alpha: Array) -> tuple[Array, float, float]:
    """w, the homogeneous intercept y'alpha, and the squared norm the dual objective halves."""
    w = dual_weight(origin, {"alpha": alpha})
    b = float(origin.data.y @ alpha)
    return w, b, norm_of(w, b, origin.parameters["intercept"])


def add_dual_weight(
    m: pyo.ConcreteModel, data: TrainingData | GramData, intercept: str
) -> pyo.Expression:
    """Variables v = F'(y o alpha) with their rows; returns ||v||^2 (plus v_b^2 if penalised)."""
    m.J = pyo.RangeSet(0, data.d - 1)
    m.v = pyo.Var(m.J)
    m.weight = equal_rows(
        m.J, [(shared(scaled_rows(data.y, data.factor).T), m.alpha), (-1.0, m.v)], 0.0
    )
    if intercept == "free":
        m.balance = pyo.Constraint(expr=dot(data.y, m.alpha) == 0)
    if intercept == "penalised":
        m.v_b = pyo.Var()
        m.weight_b = pyo.Constraint(expr=dot(data.y, m.alpha) == m.v_b)
        return squares(m.v) + m.v_b**2
    return squares(m.v)


def with_total(alpha: Array, caps: Array, total: float) -> Array:
    """Change alpha in [0, caps] in proportion so that it sums to `total` (at most sum of caps)."""
    have = float(alpha.sum())
    if have >= total:
        return alpha * (total / have) if have > 0 else alpha
    room = caps - alpha
    return alpha + room * min(1.0, (total - have) / max(float(room.sum()), 1e-300))
