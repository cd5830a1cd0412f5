"""A proven bound at nu_bar, which is known only up to two numbers that enclose it."""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData


def measured_points(data: TrainingData, intercept: str) -> Array:
    """The points (n, k) that h is measured by: centred with a free intercept, else as w meets them.

    A penalised intercept has a column of ones.
    """
    points = augmented(data, intercept if intercept == "penalised" else "none")
    return points - points.mean(axis=0) if intercept == "free" else points


def radius_of(points: Array) -> float:
    """Length of the longest of the points (n, k)."""
    return float(np.linalg.norm(points, axis=1).max())


def bound_past_nu_bar(nu: float, least: float, radius: float) -> float:
    """Lower bound of h on the unit sphere at a nu near nu_bar.

    h is at least 0 up to a proven lower bound `least` of nu_bar, and falls no faster beyond it than
    by rho, which is at most the radius of the points.
    """
    return -max(nu - least, 0.0) * radius
