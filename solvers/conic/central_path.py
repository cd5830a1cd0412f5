"""The SDP relaxation of the 0-1 loss and its dual, both to many digits, by a barrier of our own.

In alpha, with gamma_i = alpha_i^2 / penalty_i, the penalty times the weight of the point, the dual
is the largest value of a concave function

    g = min over w~ of  w~'D w~ + sum_i 2 alpha_i v_i - gamma_i v_i^2  - B^2 beta

of n or n + 1 numbers (D = diag(1, ..., 1, beta), see closed_form_bound.py). Newton's method
follows the largest tau g + log det Q + sum log alpha_i + log beta, Q = D - sum gamma_i x~_i x~_i',
as tau grows, from where the tangent of the path in 1 / tau leads; that takes half the steps of a
start at the last point. At each of them W = w~ w~' + Q^-1 / tau is strictly inside the primal, and
the two values are (k + n + 1) / tau apart. A conic solver ends with five digits where the bound on
the intercept is far from the weights; here the intercept is counted in that bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.execution.live_line import live_line

FASTER = 4.0  # growth of tau
CLOSE = 2e-8  # gap at which the path ends, of the value
STEPS, ROUNDS = 60, 60
STILL, NEAR = 1e-10, 1e-2  # Newton decrements, squared
ROUGH = 1.0  # the same before the last points: nothing is read off there
ROUNDING = 1e-12
REFINEMENTS, LAST = 4, 3
ARMIJO, SHORTEST = 1e-4, 1e-12
INSIDE = 0.9  # of the way to where a number is 0


@dataclass(frozen=True, eq=False)
class CentralPoint:
    """A pair of points, one of each problem.

    Attributes
    ----------
    alpha, gamma : arrays (n,)
    weight : array (k,)
        w~.
    W : array (k, k)
    price : float
        beta of a bound on a free intercept; 0 without one.
    """

    alpha: Array
    gamma: Array
    weight: Array
    W: Array
    price: float = 0.0


@dataclass(frozen=True, eq=False)
class _State:
    """The barrier at a point, with what its derivatives are made of."""

    theta: Array
    value: float  # of g
    barrier: float
    inverse: Array  # of Q
    weight: Array
    v: Array


@dataclass(frozen=True, eq=False)
class _Newton:
    """A Hessian, factored once its diagonal is 1: that differs by many powers of ten."""

    factor: tuple[Array, bool]
    scale: Array

    def solved(self, right: Array) -> Array:
        """The Hessian's inverse times a vector."""
        return np.asarray(self.scale * cho_solve(self.factor, right * self.scale))


def central_point(
    points: Array, y: Array, penalty: ArrayLike, bound_on_b: float | None = None
) -> CentralPoint | None:
    """Nearly optimal points of both problems; None where the numbers do not allow for one.

    Parameters
    ----------
    points : array (n, k)
        With their constant entry last, if there is one.
    penalty : number or array (n,)
        That of each point.
    bound_on_b : float, optional
        B when the intercept is free.
    """
    n, k = points.shape
    size = float(np.linalg.norm(points if bound_on_b is None else points[:, :-1], axis=1).max())
    if not (size > 0 and n and (bound_on_b is None or bound_on_b > 0)):
        return None
    units = np.full(k, 1 / size)
    if bound_on_b is not None:
        units[-1] = bound_on_b
    signed = y[:, None] * points * units
    prices = np.broadcast_to(np.asarray(penalty, dtype=float), n)
    cost = prices * size**2
    path = _Path(signed, cost, free=bound_on_b is not None)
    with np.errstate(all="ignore"):
        ends = path.followed()
        lifts = [each for state, tau in ends for each in path.lifts(state, tau)]
    if not lifts:
        return None
    # Rounding decides between them: what Q is at these numbers, and what it is in more digits.
    weight, W = min(lifts, key=path.objective)
    alpha = ends[-1][0].theta[:n] / size**2
    price = float(ends[-1][0].theta[-1] / (size * units[-1]) ** 2) if path.free else 0.0
    W = units[:, None] * W * units
    return CentralPoint(alpha, alpha**2 / prices, units * weight, W, price)


class _Path:
    """The barrier of one problem in numbers near 1; its theta is alpha, and beta at the end."""

    def __init__(self, signed: Array, cost: Array, *, free: bool) -> None:
        self.signed, self.cost, self.free = signed, cost, free
        self.n, self.k = signed.shape
        last = np.zeros((1, self.k))
        last[0, -1] = 1.0
        self.rows = np.vstack([signed, last]) if free else signed

    def followed(self) -> list[tuple[_State, float]]:
        """The last points of the path with their tau; none where it has no start."""
        largest = max(1.0, float((self.signed**2).sum(axis=1).max()))
        start = np.minimum(self.cost, np.sqrt(self.cost / (4 * self.n * largest)))
        theta = np.append(start, 1.0 + largest) if self.free else start
        tau = self.n / float(self.cost.sum())  # no value is above the sum of the costs
        state = self.at(theta, tau)
        found: list[tuple[_State, float]] = []
        if state is None:
            return found
        with live_line("central path") as line:
            for _ in range(ROUNDS):
                last = self.gap(tau, state) <= CLOSE * FASTER**LAST
                centred = self.centred(state, tau, STILL if last else ROUGH)
                if centred is None:
                    break
                state, newton = centred
                found.append((state, tau))
                if self.gap(tau, state) <= CLOSE:
                    break
                tau *= FASTER
                state = self.predicted(state, newton, tau)
                if line.is_due:
                    line.show(more=f"{len(found)} centres")
        return found[-LAST:]

    def gap(self, tau: float, state: _State) -> float:
        """Between the two values of a point of the path, of one of them."""
        return (len(self.rows) + self.k) / (tau * abs(state.value)) if state.value else np.inf

    def at(self, theta: Array, tau: float) -> _State | None:
        """The barrier; None outside its domain."""
        if not (theta > 0).all():
            return None
        alpha = theta[: self.n]
        gamma = alpha**2 / self.cost
        Q = -(self.signed.T @ (gamma[:, None] * self.signed))
        Q[np.diag_indices(self.k)] += self.diagonal(theta)
        try:
            L = np.linalg.cholesky(Q)
        except LinAlgError:
            return None
        inverse = np.linalg.inv(L)
        inverse = inverse.T @ inverse
        c = self.signed.T @ (alpha - gamma)
        weight = inverse @ c
        held = alpha - gamma * (1 - self.signed @ weight)
        weight = weight - inverse @ (self.diagonal(theta) * weight - self.signed.T @ held)
        v = 1 - self.signed @ weight
        value = float((2 * alpha - gamma).sum() - c @ weight) - (theta[-1] if self.free else 0.0)
        barrier = -2 * float(np.log(np.diag(L)).sum()) - float(np.log(theta).sum())
        return _State(theta, value, barrier - tau * value, inverse, weight, v)

    def lifts(self, state: _State, tau: float) -> list[tuple[Array, Array]]:
        """w~ and W of a point of the path, as computed and with a few digits more."""
        found = []
        for weight, inverse in ((state.weight, state.inverse), self.refined(state)):
            W = np.outer(weight, weight) + inverse / tau
            ratio = np.ones(self.k)
            if self.free:
                # Onto the bound: beyond it by a rounding it would be no point.
                ratio[-1] = np.sqrt((1 - ROUNDING) / W[-1, -1])
            found.append((ratio * weight, ratio[:, None] * W * ratio))
        return [lift for lift in found if np.isfinite(lift[1]).all()]

    def objective(self, lift: tuple[Array, Array]) -> float:
        """Of the primal."""
        weight, W = lift
        v = 1 - self.signed @ weight
        T = np.einsum("ij,jk,ik->i", self.signed, W, self.signed) + 2 * v - 1
        counted = np.diag(W)[: self.k - self.free].sum()
        inside = v > 0
        if not (T[inside] > 0).all():
            return np.inf
        return float(counted + (self.cost[inside] * v[inside] ** 2 / T[inside]).sum())

    def refined(self, state: _State) -> tuple[Array, Array]:
        """Weight and inverse of Q, which is nearly singular at the end."""
        wide = np.longdouble
        signed, alpha = self.signed.astype(wide), state.theta[: self.n].astype(wide)
        gamma = alpha**2 / self.cost.astype(wide)
        Q = np.diag(self.diagonal(state.theta)) - signed.T @ (gamma[:, None] * signed)
        inverse = state.inverse.astype(wide)
        for _ in range(REFINEMENTS):
            inverse = inverse @ (2 * np.eye(self.k) - Q @ inverse)
        weight = inverse @ (signed.T @ (alpha - gamma))
        return weight.astype(np.float64), (inverse + inverse.T).astype(np.float64) / 2

    def diagonal(self, theta: Array) -> Array:
        """D: the price of a free intercept last."""
        D = np.ones(self.k)
        if self.free:
            D[-1] = theta[-1]
        return D

    def predicted(self, state: _State, newton: _Newton, tau: float) -> _State:
        """Where the tangent of the path leads from a point of it to a larger tau, if inside.

        In 1 / tau: what is 0 at the end falls like that.
        """
        last = tau / FASTER
        step = newton.solved(last * self.slope(state)) * (1 - last / tau)
        falls = step < 0
        length = min(1.0, INSIDE * float((-state.theta[falls] / step[falls]).min(initial=np.inf)))
        return self.at(state.theta + length * step, tau) or state

    def centred(self, state: _State, tau: float, still: float) -> tuple[_State, _Newton] | None:
        """Newton's method for one tau, and its last equations; None where it gets nowhere."""
        found, last = self.at(state.theta, tau), np.inf
        for _ in range(STEPS):
            if found is None:
                return None
            gradient, hessian = self.derivatives(found, tau)
            scale = 1 / np.sqrt(np.diag(hessian))
            try:
                factor = cho_factor(hessian * scale[:, None] * scale)
            except (LinAlgError, ValueError):
                return None
            newton = _Newton(factor, scale)
            step = -newton.solved(gradient)
            decrement = -float(gradient @ step)
            if decrement <= still or (decrement <= NEAR and decrement > last / 2):
                return found, newton
            last = decrement
            length = 1.0
            while length > SHORTEST:
                tried = self.at(found.theta + length * step, tau)
                # Where Newton's method converges by itself, a barrier of 1e9 is too coarse a judge.
                wanted = found.barrier - ARMIJO * length * decrement
                if tried is not None and (decrement <= NEAR or tried.barrier <= wanted):
                    break
                length /= 2
            else:
                return None
            found = tried
        return None if found is None else (found, newton)

    def slope(self, state: _State) -> Array:
        """Gradient of g."""
        v = state.v
        of_g = 2 * v - 2 * state.theta[: self.n] / self.cost * v**2
        return np.append(of_g, state.weight[-1] ** 2 - 1) if self.free else of_g

    def derivatives(self, state: _State, tau: float) -> tuple[Array, Array]:
        """Gradient and Hessian of the barrier."""
        n, theta, v = self.n, state.theta, state.v
        alpha = theta[:n]
        first, second = 2 * alpha / self.cost, 2 / self.cost  # of gamma in alpha
        products = self.rows @ state.inverse @ self.rows.T
        h = np.diag(products)[:n]
        of_Q = -first
        mixed = -(2 - 2 * first * v)
        bend = second * (tau * v**2 + h)
        if self.free:
            of_Q = np.append(of_Q, 1.0)
            mixed = np.append(mixed, 2 * state.weight[-1])
            bend = np.append(bend, 0.0)
        gradient = -tau * self.slope(state) - of_Q * np.diag(products) - 1 / theta
        hessian = np.outer(tau / 2 * mixed, mixed)
        hessian += products * np.outer(of_Q, of_Q)
        hessian *= products
        hessian[np.diag_indices(len(theta))] += bend + 1 / theta**2
        return gradient, hessian
