"""Margin errors of a hyperplane, their value at risk, and the mean of those beyond it.

Takeda & Sugiyama 2008, section 3.2. With f_i = -y_i (<w, x_i> + b) / ||w|| the margin errors of m
points and beta = 1 - nu,

    VaR   alpha = the least a with  |{i : f_i <= a}| / m >= beta
    CVaR  phi = alpha + sum_i [f_i - alpha]_+ / (nu m) >= alpha
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import fraction

ROUNDING = 1e-12


def margin_errors(data: TrainingData, w: ArrayLike, b: float) -> Array:
    """Signed distances f (n,) of the points to the wrong side of the hyperplane.

    Raises
    ------
    ValueError
        w of the wrong shape, or (w, b) that is not finite or has no direction.
    """
    weight, intercept = unit_hyperplane(data, w, b)
    return -data.y * (data.X @ weight + intercept)


def value_at_risk(errors: ArrayLike, nu: float) -> float:
    """Least a with at least the share 1 - nu of the errors at or below it.

    Parameters
    ----------
    errors : array (m,)
    nu : float
        In (0, 1]. At 1 every number has this property; the least error is returned, where the
        limit from below leads.
    """
    ordered = np.sort(np.asarray(errors, dtype=np.float64))
    below = (1 - _share(nu)) * len(ordered)
    return float(ordered[max(math.ceil(below * (1 - ROUNDING)), 1) - 1])


def conditional_value_at_risk(errors: ArrayLike, nu: float) -> float:
    """Mean of the worst share nu of the errors; a share of the last one counts as a share.

    Parameters
    ----------
    errors : array (m,)
    nu : float
        In (0, 1].
    """
    level, values = value_at_risk(errors, nu), np.asarray(errors, dtype=np.float64)
    return level + float(np.maximum(values - level, 0.0).sum()) / (_share(nu) * len(values))


def unit_hyperplane(data: TrainingData, w: ArrayLike, b: float) -> tuple[Array, float]:
    """The same hyperplane with ||w|| = 1: w / ||w|| (d,) and b / ||w||.

    Raises
    ------
    ValueError
        w of the wrong shape, or (w, b) that is not finite or has no direction.
    """
    weight = np.asarray(w, dtype=np.float64)
    if weight.shape != (data.d,):
        raise ValueError(f"w must have shape ({data.d},), got {weight.shape}")
    length = float(np.linalg.norm(weight))
    if not (math.isfinite(length) and length > 0 and math.isfinite(b)):
        raise ValueError("w and b must be finite, and w not 0")
    return weight / length, float(b) / length


def _share(nu: float) -> float:
    return fraction("nu", nu)
