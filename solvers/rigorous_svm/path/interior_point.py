"""An interior-point method for the rigorous SVM whose linear systems have one row per feature.

For many points in few dimensions: an iteration costs n d^2. The optimality conditions of (3)-(5)
on points H z_i, where ||v|| <= 1, are followed with products equal to mu -> 0:

    g v = sum_i a_i y_i H z_i     y'a = 0     a + s = 1
    xi - r = 1 - y_i (<v, H z_i> + b)         t = (1 - ||v||^2) / 2
    a r = mu     s xi = mu     g t = mu                        (all of them but v and b positive)

Newton steps by Mehrotra's predictor and corrector (SIAM J. Optimization 2, 1992). The point is an
approximation; its partition into zero, free and at-cap multipliers is what it is for.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.rigorous_svm.path.scaled_problem import Scaled, even_multipliers

STEPS = 80
TO_BOUNDARY = 0.995
CLOSED = 1e-12  # of sum alpha: complementarity at which the point is as good as it gets


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """An iterate; alpha and loss multipliers on the scale [0, 1], w on that of the points.

    Attributes
    ----------
    v : array (d,)
        w / H.
    b : float
    alpha, excess : array (n,)
        a, and r: how far a margin is above 1.
    spare, xi : array (n,)
        s = 1 - a, and the loss.
    multiplier, slack : float
        g, which is gamma H^2, and t.
    steps : int
    """

    v: Array
    b: float
    alpha: Array
    excess: Array
    spare: Array
    xi: Array
    multiplier: float
    slack: float
    steps: int = 0

    @property
    def complementarity(self) -> float:
        """Sum of the products that are 0 at the optimum."""
        products = self.alpha @ self.excess + self.spare @ self.xi
        return float(products) + self.multiplier * self.slack

    @property
    def labels(self) -> NDArray[np.int8]:
        """Guess (n,) at the partition: 0 where a multiplier is 0, 1 free, 2 at its cap."""
        capped = np.where(self.spare < self.xi, 2, 1)
        return np.where(self.alpha < self.excess, 0, capped).astype(np.int8)


def interior_point(
    problem: Scaled, norm_bound: float, deadline: float | None = None
) -> InteriorPoint:
    """Solve a scaled problem approximately.

    Parameters
    ----------
    norm_bound : float
        H on the scale of the problem.
    deadline : float, optional
        Of time.perf_counter(); the last iterate is returned.
    """
    points = norm_bound * problem.factor
    at = _start(points, problem.y)
    best, least = at, np.inf
    for step in range(STEPS):
        error = _residual(points, problem.y, at)
        mass = max(1.0, float(at.alpha.sum()))
        merit = at.complementarity / mass + error
        if merit < least:
            best, least = at, merit
        if merit <= CLOSED or step - best.steps > 5:
            break
        if deadline is not None and time.perf_counter() > deadline:
            break
        try:
            at = replace(_next(points, problem.y, at), steps=step + 1)
        except (np.linalg.LinAlgError, ValueError):  # the system has lost its last digit
            break
    return best


def _start(points: Array, y: Array) -> InteriorPoint:
    alpha = 0.5 * even_multipliers(y)
    direction = points.T @ (y * alpha)
    length = max(float(np.linalg.norm(direction)), 1e-8 * float(alpha.sum()))
    v = 0.5 * direction / length
    u = y * (points @ v)
    xi = np.maximum(1 - u, 0.0) + 1
    return InteriorPoint(v, 0.0, alpha, xi - 1 + u, 1 - alpha, xi, 2 * length, 0.375)


def _residual(points: Array, y: Array, at: InteriorPoint) -> float:
    """Largest violation of the equations, relative to the size of what they sum."""
    direction = points.T @ (y * at.alpha)
    reach = max(1.0, float(np.abs(points).max()))
    mass = max(1.0, float(at.alpha.sum()))
    dual = np.abs(at.multiplier * at.v - direction).max(initial=0.0) / (mass * reach)
    balance = abs(float(y @ at.alpha)) / mass
    primal = 1 - y * (points @ at.v + at.b) - at.xi + at.excess
    norm = abs((1 - float(at.v @ at.v)) / 2 - at.slack)
    return max(float(dual), balance, float(np.abs(primal).max()) / reach, norm)


def _next(points: Array, y: Array, at: InteriorPoint) -> InteriorPoint:
    n, d = points.shape
    weight = 1 / (at.xi / at.spare + at.excess / at.alpha)
    g, t, v = at.multiplier, at.slack, at.v
    columns = np.hstack([points, np.ones((n, 1))])
    columns *= np.sqrt(weight)[:, None]
    system = columns.T @ columns
    system[:d, :d] += (g / t) * np.outer(v, v)
    system[np.arange(d), np.arange(d)] += g
    factor = scipy.linalg.cho_factor(system, lower=True, check_finite=True)
    dual = g * v - points.T @ (y * at.alpha)
    balance = float(y @ at.alpha)
    primal = 1 - y * (points @ v + at.b) - at.xi + at.excess
    norm = (1 - float(v @ v)) / 2 - t

    def direction(first: Array, second: Array, third: float, bend: float) -> tuple[Array, ...]:
        """Newton direction for products that are to change by first, second and third."""
        left = norm - bend
        q = primal - second / at.spare + first / at.alpha
        pulled = y * weight * q
        right = np.append(
            points.T @ pulled - dual - v * ((third - g * left) / t), pulled.sum() + balance
        )
        solved = scipy.linalg.cho_solve(factor, right)
        dv, db = solved[:d], float(solved[d])
        da = weight * (q - y * (points @ dv + db))
        dr = (first - at.excess * da) / at.alpha
        dxi = (second + at.xi * da) / at.spare
        dt = left - float(v @ dv)
        dg = (third - g * dt) / t
        return dv, np.array(db), da, dr, dxi, np.array(dg), np.array(dt)

    products = 2 * n + 1
    mu = at.complementarity / products
    predicted = direction(-at.alpha * at.excess, -at.spare * at.xi, -g * t, 0.0)
    dv, _, da, dr, dxi, dg, dt = predicted
    ahead = _moved(at, predicted, _room(at, predicted))
    mu_to = mu * (ahead.complementarity / at.complementarity) ** 3
    corrected = direction(
        mu_to - at.alpha * at.excess - da * dr,
        mu_to - at.spare * at.xi + da * dxi,
        float(mu_to - g * t - dg * dt),
        float(dv @ dv) / 2,
    )
    return _moved(at, corrected, min(1.0, TO_BOUNDARY * _room(at, corrected)))


def _room(at: InteriorPoint, step: tuple[Array, ...]) -> float:
    """Largest multiple, up to 1 / TO_BOUNDARY, of a step that keeps what is positive so."""
    _, _, da, dr, dxi, dg, dt = step
    now = np.concatenate(
        [at.alpha, at.excess, at.spare, at.xi, np.array([at.multiplier, at.slack])]
    )
    change = np.concatenate([da, dr, -da, dxi, dg[None], dt[None]])
    falling = change < 0
    return float((now[falling] / -change[falling]).min(initial=1 / TO_BOUNDARY))


def _moved(at: InteriorPoint, step: tuple[Array, ...], length: float) -> InteriorPoint:
    dv, db, da, dr, dxi, dg, dt = step
    return InteriorPoint(
        v=at.v + length * dv,
        b=at.b + length * float(db),
        alpha=at.alpha + length * da,
        excess=at.excess + length * dr,
        spare=at.spare - length * da,
        xi=at.xi + length * dxi,
        multiplier=at.multiplier + length * float(dg),
        slack=at.slack + length * float(dt),
    )
