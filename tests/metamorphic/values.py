"""Objectives of a hyperplane, straight from the papers and free of our code: witnesses only.

Each function takes the points, the hyperparameters, the intercept's mode and (w, b), and returns
the least objective of the family at that hyperplane. A point mapped back from changed data must
reach the optimum of the data as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations import TrainingData

Array = NDArray[np.float64]
Parameters = Mapping[str, Any]

ON_MARGIN = 1e-7  # a point mapped to other data keeps its margin up to rounding


def scores(data: TrainingData, w: Array, b: float) -> Array:
    """Numbers y_i (<w, x_i> + b)."""
    return data.y * (data.X @ w + b)


def norm2(w: Array, b: float, mode: str) -> float:
    """||w||^2, plus b^2 when the intercept is penalised."""
    return float(w @ w) + (b * b if mode == "penalised" else 0.0)


def hinge(u: Array) -> Array:
    return np.maximum(0.0, 1 - u)


def hard_margin(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    return norm2(w, b, mode) / (2 * float(scores(data, w, b).min()) ** 2)


def max_margin(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    return -float(scores(data, w, b).min()) / np.sqrt(norm2(w, b, mode))


def c_machine(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    negative, positive = p["class_weight"] or (1.0, 1.0)
    costs = p["C"] * np.where(data.y > 0, positive, negative)
    return norm2(w, b, mode) / 2 + float(costs @ hinge(scores(data, w, b)))


def rigorous(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    """The loss alone; infinite outside the ball."""
    outside = norm2(w, b, mode) > (p.get("norm_bound", np.inf) * (1 + ON_MARGIN)) ** 2
    return np.inf if outside else float(hinge(scores(data, w, b)).sum())


def ridge_machine(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    pi = p.get("pi")
    share = np.ones(data.n) if pi is None else np.where(data.y > 0, 1 - pi, pi)
    loss = float((share * hinge(scores(data, w, b))).mean())
    return p["ridge"] * norm2(w, b, mode) + loss


def squared_hinge_machine(
    data: TrainingData, p: Parameters, mode: str, w: Array, b: float
) -> float:
    return p["price"] * norm2(w, b, mode) + float((hinge(scores(data, w, b)) ** 2).mean())


def deviance_machine(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    return p["price"] * norm2(w, b, mode) + float(np.logaddexp(0, -scores(data, w, b)).mean())


def power_machine(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    losses = hinge(scores(data, w, b)) ** p["exponent"]
    return norm2(w, b, mode) + p["penalty"] * float(losses.sum())


def matrix_machine(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    """Of predictors with one row: the nuclear norm of w is its length."""
    loss = float(hinge(scores(data, w, b)).sum())
    return loss + p["ridge"] / 2 * norm2(w, b, mode) + p.get("tau", 0.0) * float(np.sqrt(w @ w))


def weights(data: TrainingData, p: Parameters) -> Array:
    """c_i: 1 / n or 1 / (2 n_class)."""
    if p["class_balance"] == "uniform":
        return np.full(data.n, 1 / data.n)
    return np.where(data.y > 0, 0.5 / data.n_pos, 0.5 / data.n_neg)


def nu_machine(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    """The best rho >= 0 is 0 or a score: the objective is piecewise linear in it."""
    u, c = scores(data, w, b), weights(data, p)
    levels = np.maximum(0.0, np.append(u, 0.0))
    risks = [-p["nu"] * rho + float(c @ np.maximum(0.0, rho - u)) for rho in levels]
    return norm2(w, b, mode) / 2 + min(risks)


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


def robust(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    """The sum of the errors between the worst share mu and the worst share nu, drawn into the ball.

    That is the difference of two tails; each is the least of a piecewise linear function.
    """
    errors = -scores(data, w, b) / max(1.0, np.sqrt(norm2(w, b, mode)))

    def tail(share: float) -> float:
        return min(share * a + np.maximum(errors - a, 0).mean() for a in errors)

    return tail(p["nu"]) - tail(float(Fraction(p["mu"])))


def least_risk(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    return sphere(data, p, mode, w, b) / (1 - p["beta"])


def polar(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    _, cruz = _size(p)
    level = risk(data, p, mode, w, b) * (data.n if cruz else 1)
    return -norm2(w, b, mode) / level**2


def linearised(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    """(w, b) drawn onto <w_ref, w> = 1."""
    radius, cruz = _size(p)
    share = float(p["w_ref"] @ (np.append(w, b) if mode == "penalised" else w))
    return radius**2 / share * risk(data, p, mode, w, b) * (data.n if cruz else 1)


def zero_one(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    violated = int((scores(data, w, b) < 1 - ON_MARGIN).sum())
    return norm2(w, b, mode) + p["penalty"] * violated


def relaxed(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    z = hinge(scores(data, w, b)) / p["big_m"]
    return norm2(w, b, mode) + p["penalty"] * float(z.sum())


def ramp(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    loss = np.minimum(hinge(scores(data, w, b)), 2.0)
    return norm2(w, b, mode) / 2 + p["C"] * float(loss.sum())


def ramp_relaxed(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    """2 C / M a unit of violation; a given M is above 2 and above every violation."""
    loss = (2 / p["big_m"]) * hinge(scores(data, w, b))
    return norm2(w, b, mode) / 2 + p["C"] * float(loss.sum())


def conic(data: TrainingData, p: Parameters, mode: str, w: Array, b: float) -> float:
    """Proposition 1 of Cepeda et al.: 2 sqrt(penalty gamma) v - gamma v^2, flat from its top on."""
    v, gamma = hinge(scores(data, w, b)), p["strengthening"]
    rising = np.minimum(v, np.sqrt(p["penalty"] / gamma))
    loss = 2 * np.sqrt(p["penalty"] * gamma) * rising - gamma * rising**2
    return norm2(w, b, mode) + float(loss.sum())
