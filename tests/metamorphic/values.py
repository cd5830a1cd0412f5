"""Objectives of a hyperplane, straight from the papers and free of our code: witnesses only.

Each function takes the points, the hyperparameters, the intercept's mode and (w, b), and returns
the least objective of the family at that hyperplane.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations import TrainingData

Array = NDArray[np.float64]
Parameters = Mapping[str, Any]


def scores(data: TrainingData, w: Array, b: float) -> Array:
    """Numbers y_i (<w, x_i> + b)."""
    return data.y * (data.X @ w + b)


def norm2(w: Array, b: float, mode: str) -> float:
    """||w||^2, plus b^2 when the intercept is penalised."""
    return float(w @ w) + (b * b if mode == "penalised" else 0.0)


def weights(data: TrainingData, p: Parameters) -> Array:
    """c_i: 1 / n or 1 / (2 n_class)."""
    if p["class_balance"] == "uniform":
        return np.full(data.n, 1 / data.n)
    return np.where(data.y > 0, 0.5 / data.n_pos, 0.5 / data.n_neg)


def risk(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    """The least -nu rho + sum c_i xi_i over rho and xi, and over a free b: lowest scores first."""
    nu = p["nu"] if "nu" in p else 1 - p["beta"]
    c = weights(data, p)
    u = scores(data, w, 0.0 if mode == "free" else b)
    if mode != "free":
        return -_lowest(u, c, nu)
    return -sum(_lowest(u[data.y == side], c[data.y == side], nu / 2) for side in (-1.0, 1.0))


def _lowest(u: Array, caps: Array, mass: float) -> float:
    """The least sum of shares times scores with shares in [0, caps] that sum to `mass`."""
    order = np.argsort(u)
    shares = np.clip(mass - np.r_[0.0, np.cumsum(caps[order])[:-1]], 0.0, caps[order])
    return float(shares @ u[order])


def _size(p: Parameters) -> tuple[float, bool]:
    """Length of a normalised w, and whether the objective counts n times."""
    cruz = p.get("scale") == "perez_cruz"
    return (np.sqrt(2.0) if cruz else 1.0), cruz


def sphere(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    """The objective is positively homogeneous: (w, b) is drawn onto the sphere."""
    radius, cruz = _size(p)
    scale = radius / np.sqrt(norm2(w, b, mode))
    return scale * risk(data, p, mode, w, b) * (data.n if cruz else 1)


def least_risk(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    return sphere(data, p, mode, w, b) / (1 - p["beta"])


def polar(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    _, cruz = _size(p)
    level = risk(data, p, mode, w, b) * (data.n if cruz else 1)
    return -norm2(w, b, mode) / level**2
