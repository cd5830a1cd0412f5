"""Newton's method in a ball around the point where the second-order model is trusted.

Conn, Gould & Toint 2000, chapter 7: with the eigenvalues e of the Hessian and the gradient q in
its basis, the step -q / (e + shift) has the length of the radius for one shift that is large
enough to make the model convex.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array

Function = Callable[[Array], tuple[float, Array]]
Hessian = Callable[[Array], Array]

STILL = 1e-20  # of the value: a model that promises less has ended
ROUNDING = 1e-14  # of the value: a rise that is no rise
FLAT = 1e-12  # of the largest eigenvalue: what stands for 0
STEPS = 200
SHRINKS = 30
HALVINGS = 60


@dataclass(frozen=True, eq=False)
class DescentResult:
    """Where a descent ended.

    Attributes
    ----------
    point : array
    value : float
    steps : int
    settled : bool
        Whether no further step promised anything, rather than a limit ending it.
    """

    point: Array
    value: float
    steps: int
    settled: bool


def newton(
    function: Function, hessian: Hessian, start: Array, deadline: float | None = None
) -> DescentResult:
    """Minimise a smooth function of a small array.

    Parameters
    ----------
    function : callable
        Point -> (value, gradient of the same shape).
    hessian : callable
        Point -> (size, size).
    deadline : float, optional
        Of time.perf_counter().
    """
    point = start
    value, gradient = function(point)
    radius = max(1.0, float(np.linalg.norm(point)))
    for step in range(STEPS):
        if deadline is not None and time.perf_counter() > deadline:
            return DescentResult(point, value, step, False)
        e, basis = np.linalg.eigh(hessian(point))
        q = basis.T @ gradient.ravel()
        for _ in range(SHRINKS):
            move = _model_step(e, q, radius)
            promised = -float(q @ move + 0.5 * (e * move) @ move)
            if promised <= STILL * abs(value):
                return DescentResult(point, value, step, True)
            length = float(np.linalg.norm(move))
            tried = point + (basis @ move).reshape(point.shape)
            new_value, new_gradient = function(tried)
            share = (value - new_value) / promised
            if share > 1e-3 or abs(value - new_value) <= ROUNDING * abs(value):
                break
            radius = length / 4
        else:
            return DescentResult(point, value, step, True)
        if new_value > value:  # by rounding only: the gradient decides
            if np.linalg.norm(new_gradient) >= np.linalg.norm(gradient):
                return DescentResult(point, value, step, True)
        elif share > 0.75:
            radius = max(radius, 2 * length)
        elif share < 0.25:
            radius = length / 2
        point, value, gradient = tried, new_value, new_gradient
    return DescentResult(point, value, STEPS, False)


def _model_step(e: Array, q: Array, radius: float) -> Array:
    """Minimiser of q'p + p'diag(e)p / 2 with ||p|| <= radius, in the basis of the eigenvectors."""
    floor = FLAT * max(float(np.abs(e).max()), 1e-300)

    def step(shift: float) -> Array:
        return -q / np.maximum(e + shift, floor)

    low = max(0.0, floor - float(e[0])) if e[0] < -floor else 0.0
    move = step(low)
    if np.linalg.norm(move) <= radius:
        return move
    high = low + float(np.linalg.norm(q)) / radius + floor
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if np.linalg.norm(step(middle)) > radius:
            low = middle
        else:
            high = middle
        if high - low <= 1e-3 * high:
            break
    return step(high)


def quasi_newton(function: Function, start: Array, deadline: float | None = None) -> DescentResult:
    """The same by L-BFGS, for arrays too large for a Hessian."""
    from scipy.optimize import minimize

    def flat(x: Array) -> tuple[float, Array]:
        value, gradient = function(x.reshape(start.shape))
        return value, gradient.ravel()

    def watch(intermediate_result: Any) -> None:
        if deadline is not None and time.perf_counter() > deadline:
            raise StopIteration

    scale = float(np.abs(function(start)[1]).max())
    limits = {"maxiter": 5000, "maxfun": 10_000, "maxcor": 30, "ftol": 1e-15}
    answer = minimize(
        flat, start.ravel(), jac=True, method="L-BFGS-B", callback=watch,
        options=limits | {"gtol": 1e-10 * max(scale, 1e-300)},
    )  # fmt: skip
    return DescentResult(
        answer.x.reshape(start.shape), float(answer.fun), int(answer.nit), bool(answer.success)
    )
