"""The strengthening gamma: how it is chosen, the loss it puts on a point, and the hull it gives.

Cepeda, Gomez & Han 2024, Theorem 1 and Proposition 1: the losses are functions of the violation
v = 1 - u. The hull of one point's own problem under any quadratic norm is (6) and Theorem 1: with
the misclassification of one point (x, y) alone,

    W_Q = {(w, z, t) : t >= w'Qw, z in {0, 1}, z = 1 or y <x, w> >= 1, z = 0 or y <x, w> <= 1},

the hull is what the largest gamma with Q - gamma x x' semidefinite gives, gamma = 1 / (x' Q^-1 x).
The theorem asks for a semidefinite Q; its inverse, and with it the proof, needs a definite one.
"""

from __future__ import annotations

import math

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.common.hyperplane import add_hyperplane, augmented, augmented_weight
from tightmargin.formulations.data.arrays import Array, real_array
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.cones import lower_pairs
from tightmargin.formulations.parameters import LARGEST, add_parameter, one_of, positive

# --- Choices of the strengthening gamma for conic_fixed, all with I - sum gamma_i x~_i x~_i' >= 0

# A hair below the limit, so that rounding leaves the quadratic term convex.
SAFETY = 1 - 1e-9


def strengthening_values(points: Array, choice: ArrayLike | str, weights: ArrayLike = 1.0) -> Array:
    """gamma (n,) from numbers or from a rule.

    Parameters
    ----------
    points : array (n, k)
        Points with their constant entry.
    choice : array (n,) or str
        "equal"         one value for all, the largest that keeps the term convex
        "inverse_norm"  gamma_i = 1 / (n ||x~_i||^2), convex without an eigenvalue
        "scaled"        inverse_norm times the largest factor that keeps the term convex
    weights : array (n,)
        What the points weigh: by a rule each has the sum over its copies, n being that of weights.

    Raises
    ------
    ValueError
        Unknown word, negative or non-finite numbers, or numbers with a non-convex term.
    """
    n = len(points)
    if isinstance(choice, str):
        return _by_rule(points, choice, np.broadcast_to(np.asarray(weights, dtype=float), n))
    gamma = np.asarray(choice, dtype=float)
    if gamma.shape != (n,):
        raise ValueError(
            f"strengthening must be equal, inverse_norm, scaled or an array ({n},), got shape "
            f"{gamma.shape}"
        )
    bad = np.flatnonzero(~(np.isfinite(gamma) & (gamma >= 0)))
    if bad.size:
        raise ValueError(
            f"strengthening must be finite and not negative, got {gamma[bad[0]]} at position "
            f"{bad[0]}"
        )
    smallest = 1 - _largest_eigenvalue(points, gamma)
    if smallest < -1e-12:
        raise ValueError(
            f"strengthening is too large: I - sum gamma_i x_i x_i' has eigenvalue {smallest:.3g}; "
            f"divide it by {1 - smallest:.6g} or more"
        )
    return gamma


def _by_rule(points: Array, choice: str, weights: Array) -> Array:
    norms = (points**2).sum(axis=1)
    inverse = np.where(norms > 0, weights / np.maximum(norms, 1e-300), 0.0) / weights.sum()
    match choice:
        case "equal":
            gamma = np.where(norms > 0, weights, 0.0)
        case "inverse_norm":
            return inverse * SAFETY
        case "scaled":
            gamma = inverse
        case _:
            raise ValueError(
                f"strengthening must be equal, inverse_norm, scaled or numbers, got {choice!r}"
            )
    if not gamma.any():
        return gamma  # every point is 0 and has no intercept: nothing to strengthen
    return gamma * SAFETY / _largest_eigenvalue(points, gamma)


def _largest_eigenvalue(points: Array, gamma: Array) -> float:
    return float(np.linalg.eigvalsh(points.T @ (gamma[:, None] * points))[-1])


# --- The loss that a conic relaxation with a given strengthening puts on a point -----------------


def hull_loss(v: ArrayLike, z: ArrayLike, gamma: ArrayLike) -> Array:
    """What Theorem 1 adds to w'Qw: gamma v_+^2 / z + gamma v_-^2 / (1 - z) - gamma v^2.

    v (n,): 1 - y_i <w, x_i>.
    z (n,): in [0, 1]; at the ends the quotients are limits: 0 where their numerator is 0, and
        infinite otherwise. Hence z = 0 forces v <= 0, z = 1 forces v >= 0, and v = 0 leaves z free.
    gamma (n,): at least 0; 1 / (x' Q^-1 x) describes the convex hull of the point's own problem.
    """
    v, z, gamma = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (v, z, gamma)))
    over, under = np.maximum(v, 0.0) ** 2, np.maximum(-v, 0.0) ** 2
    return gamma * (_quotient(over, z) + _quotient(under, 1 - z)) - gamma * v**2


def _quotient(square: Array, share: Array) -> Array:
    """square / share, its limit where the share is 0."""
    limit = np.where(square > 0, np.inf, 0.0)
    return np.where(share > 0, square / np.where(share > 0, share, 1.0), limit)


def conic_loss(v: ArrayLike, gamma: ArrayLike, penalty: ArrayLike) -> Array:
    """Loss of Proposition 1: the least penalty z + hull_loss(v, z, gamma) over 0 <= z <= 1.

    0 for v <= 0, then 2 sqrt(penalty gamma) v - gamma v^2 up to v = sqrt(penalty / gamma), then
    the constant penalty. The paper's statement is right; the proof prints -v^2 for the last term,
    without its gamma.

    v, gamma (n,).
    penalty (n,): that of each point, where their weights differ.
    """
    v, gamma = np.broadcast_arrays(np.asarray(v, float), np.asarray(gamma, float))
    rising = np.clip(v, 0.0, np.sqrt(penalty) / np.sqrt(np.maximum(gamma, 1e-300)))
    return 2 * np.sqrt(penalty * gamma) * rising - gamma * rising**2


def least_indicator(v: ArrayLike, gamma: ArrayLike, penalty: ArrayLike) -> Array:
    """The z that attains `conic_loss`: min(1, v sqrt(gamma / penalty)) for v > 0, and 0."""
    v, gamma = np.broadcast_arrays(np.asarray(v, float), np.asarray(gamma, float))
    return np.minimum(np.maximum(v, 0.0) * np.sqrt(gamma / penalty), 1.0)


# --- The convex hull of one point's own problem under any quadratic norm -------------------------

PRICED = ("penalised", "none")
SMALLEST = 1 / LARGEST


def checked_quadratic(quadratic: ArrayLike | None, k: int) -> Array:
    """A symmetric positive definite matrix (k, k); the identity when left out.

    Raises ValueError: another shape, numbers that are not finite, no symmetry, or no definiteness.
    """
    if quadratic is None:
        return np.eye(k)
    Q = real_array("quadratic", quadratic)
    if Q.shape != (k, k) or not np.isfinite(Q).all():
        raise ValueError(f"quadratic must be {k} x {k} finite numbers, got shape {Q.shape}")
    if (Q != Q.T).any():
        raise ValueError("quadratic must be symmetric")
    smallest = float(np.linalg.eigvalsh(Q)[0])
    if not smallest > 1e-10 * float(np.abs(Q).max()):
        raise ValueError(f"quadratic must be positive definite: an eigenvalue is {smallest:.3g}")
    if not SMALLEST <= float(np.abs(Q).max()) <= LARGEST:
        raise ValueError(
            f"quadratic has entries from {SMALLEST:g} to {LARGEST:g} in size, got up to "
            f"{np.abs(Q).max():.3g}: give it and the penalty in another unit"
        )
    return Q


def checked_point(point: int, n: int) -> int:
    """The number of a point, or a ValueError naming the argument."""
    whole = isinstance(point, int | np.integer) and not isinstance(point, bool)
    if not (whole and 0 <= point < n):
        raise ValueError(f"point must be a whole number from 0 to {n - 1}, got {point!r}")
    return int(point)


def hull_strengthening(x: Array, Q: Array) -> float:
    """The gamma of Theorem 1, a hair below it, so that rounding leaves the term convex.

    Raises ValueError: the point is 0: no weight moves it, and there is no largest gamma.
    """
    with np.errstate(over="ignore"):
        size = float(x @ np.linalg.solve(Q, x))
    if not math.isfinite(size):
        raise ValueError("x' Q^-1 x is beyond doubles: give the point or quadratic in another unit")
    if not size > 0:
        raise ValueError("point is 0 and has no intercept: its score is 0 whatever w is")
    return SAFETY / size


def conic_hull(
    data: TrainingData,
    *,
    penalty: float,
    quadratic: ArrayLike | None = None,
    point: int = 0,
    intercept: str = "penalised",
) -> pyo.ConcreteModel:
    """Convex hull of the 0-1 problem of one point, under any quadratic norm.

        min   w~'(Q - gamma x~ x~') w~ + gamma (2 u - 1) + penalty z + gamma (s + r)
        s.t.  split      p - q + u = 1,     p, q >= 0            u = y <x~, w~>
              inside     p^2 <= s z,        0 <= z <= 1
              outside    q^2 <= r (1 - z),  s, r >= 0            gamma = 1 / (x~' Q^-1 x~)

    x~ is the point with its constant entry, w~ = (w, b). The objective without penalty z is the t
    of the theorem, so that any linear cost on w~ and z that is added keeps the optimum that z in
    {0, 1} has. By itself it is min(penalty, gamma). conic_fixed takes all points, with Q the
    identity. Weights of points are refused: one point is looked at.

    Parameters
    ----------
    data : TrainingData
    penalty : float
        Price of z, positive.
    quadratic : array (k, k), optional
        Q, symmetric and positive definite, over w~; the identity when left out.
    point : int
        The number of the point.
    intercept : "penalised" or "none"

    Raises
    ------
    ValueError
        A Q that is not symmetric and definite, a point that is not there or is 0; a free intercept,
        for which Q is not definite.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> Q = [[2.0, 0.0], [0.0, 1.0]]
    >>> model = tm.conic_hull(data, penalty=0.2, quadratic=Q, intercept="none")
    >>> round(tm.solve(model).objective, 6)
    0.2
    """
    if not isinstance(data, TrainingData | GramData):
        raise TypeError(f"data must be TrainingData, got {type(data).__name__}")
    one_of("intercept", intercept, PRICED)
    refuse_weights("conic_hull", data)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    i, points = checked_point(point, data.n), np.asarray(augmented(data, intercept))
    Q = checked_quadratic(quadratic, points.shape[1])
    gamma = hull_strengthening(points[i], Q)
    m.z = pyo.Var(bounds=(0, 1))
    m.p, m.q, m.s, m.r = (pyo.Var(within=pyo.NonNegativeReals) for _ in range(4))
    weight, x = augmented_weight(m), float(data.y[i]) * points[i]
    u = pyo.quicksum(a * entry for a, entry in zip(x.tolist(), weight, strict=True))
    m.split = pyo.Constraint(expr=m.p - m.q + u == 1)
    m.inside = pyo.Constraint(expr=m.p**2 <= m.s * m.z)
    m.outside = pyo.Constraint(expr=m.q**2 <= m.r * (1 - m.z))
    hessian = Q - gamma * np.outer(x, x)
    quadratic_term = pyo.quicksum(
        hessian[j, k].item() * (1 if j == k else 2) * weight[j] * weight[k]
        for j, k in lower_pairs(len(weight))
    )
    m.objective = pyo.Objective(
        expr=quadratic_term + gamma * (2 * u - 1) + m.penalty * m.z + gamma * (m.s + m.r)
    )
    return m
