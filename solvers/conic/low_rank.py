"""The SDP of Cepeda, Gomez & Han 2024 with its matrix as a product: W = w~ w~' + R R'.

With the columns of R (k, r) in the rows of F = [w~'; R'] (1 + r, k), points s_i = y_i x~_i,
v_i = 1 - <w~, s_i>, h_i = ||R' s_i||^2 and T_i = v_i^2 + h_i, the SDP (21) without its z is

    min over F   ||F||^2 + penalty sum over v_i > 0 of v_i^2 / T_i,          z_i = v_i^2 / T_i.

It is not convex in F, but it is convex in (w~, W), with the slope

    Q = I - sum_i gamma_i s_i s_i',     gamma_i = penalty v_i^2 / T_i^2

in W: a stationary F with Q semidefinite is a global optimum, and an eigenvector of Q with a
negative eigenvalue is a row that lowers the value when it is added to F.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import OUTWARD, ROUNDOFF, UNDERFLOW, growth
from tightmargin.formulations.common.rounded_sums import most_hinge, most_squares
from tightmargin.formulations.conic.closed_form_bound import StrengtheningBound, strengthening_bound
from tightmargin.formulations.data.arrays import Array

TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Scores:
    """What the loss is made of, for the points with v > 0 only.

    Attributes
    ----------
    inside : array (n,) of bool
        Which points these are.
    signed : array (m, k)
    v, h, T : array (m,)
    lifted : array (m, r)
        R' s_i.
    """

    inside: NDArray[np.bool_]
    signed: Array
    v: Array
    h: Array
    T: Array
    lifted: Array


@dataclass(frozen=True, eq=False)
class LowRank:
    """The function of F, and what follows from an F.

    Attributes
    ----------
    signed : array (n, k)
        y_i times the point with its constant entry.
    """

    signed: Array

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.signed)

    @property
    def k(self) -> int:
        """Length of w~."""
        return self.signed.shape[1]

    def scores(self, F: Array) -> Scores:
        """v, h and T of the points with v > 0."""
        products = self.signed @ F.T
        v = 1 - products[:, 0]
        inside = v > 0
        v, lifted = v[inside], products[inside, 1:]
        h = (lifted * lifted).sum(axis=1)
        return Scores(inside, self.signed[inside], v, h, np.maximum(v * v + h, TINY), lifted)

    def z(self, F: Array) -> Array:
        """Least z (n,) of the matrix that F stands for."""
        found, z = self.scores(F), np.zeros(self.n)
        z[found.inside] = found.v**2 / found.T
        return z

    def spent(self, F: Array) -> float:
        """Sum of z."""
        found = self.scores(F)
        return float((found.v**2 / found.T).sum())

    def most_z(self, F: Array) -> Array:
        """Numbers (n,) that the z of this F do not exceed, every rounding counted.

        z = v^2 / (v^2 + h) rises with v and falls with h.
        """
        products, sizes = self.signed @ F.T, np.abs(self.signed) @ np.abs(F).T
        off = OUTWARD * (growth(self.k + 4) * sizes + (self.k + 2) * UNDERFLOW)
        v = most_hinge(products[:, 0], off[:, 0])
        lifted = np.maximum(0.0, np.abs(products[:, 1:]) - OUTWARD * off[:, 1:])
        h = (lifted * lifted).sum(axis=1) * (1 - OUTWARD * growth(len(F) + 4))
        square = np.where(v > 0, v * v + UNDERFLOW, 0.0)
        ratio = square / np.maximum(square + h, TINY) * (1 + 8 * ROUNDOFF)
        return np.where(v > 0, np.minimum(1.0, ratio), 0.0)

    def most_spent(self, F: Array) -> float:
        """A number that the sum of z does not exceed."""
        terms = self.most_z(F).tolist()
        total = math.fsum(terms)
        return total if math.fsum([*terms, -total]) == 0 else math.nextafter(total, math.inf)

    def most_value(self, F: Array, penalty: float) -> float:
        """A number that the objective does not exceed."""
        price = penalty * self.most_spent(F) * (1 + 4 * ROUNDOFF)
        total = most_squares(F) + price
        return math.nextafter(total, math.inf) if total else 0.0

    def value_and_gradient(self, F: Array, penalty: float) -> tuple[float, Array]:
        """Objective and its gradient, of the shape of F."""
        found = self.scores(F)
        spent = float((found.v**2 / found.T).sum())
        value = float((F * F).sum()) + penalty * spent
        return value, 2 * F + penalty * self._spent_slope(found)

    @staticmethod
    def _spent_slope(found: Scores) -> Array:
        v, h, T = found.v, found.h, found.T
        slopes = np.column_stack([-2 * v * h / T**2, (-2 * v * v / T**2)[:, None] * found.lifted])
        return slopes.T @ found.signed

    def hessian(self, F: Array, penalty: float) -> Array:
        """Second derivatives (F.size, F.size), rows of F one after the other.

        Of v^2 / (v^2 + h) with h = ||g||^2: 2 h (h - 3 v^2) / T^3 in v, 4 v (v^2 - h) g / T^3
        mixed, and 8 v^2 g g' / T^3 - 2 v^2 / T^2 in g; v falls where the product <w~, s> rises.
        """
        found = self.scores(F)
        v, h, T, g, signed = found.v, found.h, found.T, found.lifted, found.signed
        c, k = F.shape
        whole = np.zeros((c, k, c, k))

        def block(a: int, b: int, weights: Array) -> None:
            part = penalty * (signed.T @ (weights[:, None] * signed))
            whole[a, :, b, :] = part
            whole[b, :, a, :] = part

        block(0, 0, 2 * h * (h - 3 * v * v) / T**3)
        for a in range(1, c):
            block(a, 0, -4 * v * (v * v - h) * g[:, a - 1] / T**3)
            for b in range(1, a + 1):
                own = -2 * v * v / T**2 if a == b else 0.0
                block(a, b, own + 8 * v * v * g[:, a - 1] * g[:, b - 1] / T**3)
        matrix = whole.reshape(c * k, c * k)
        matrix[np.diag_indices(c * k)] += 2.0
        return matrix

    def multipliers(self, F: Array, penalty: float) -> tuple[Array, Array]:
        """gamma and alpha (n,): penalty v^2 / T^2 and penalty v / T where v > 0."""
        found, ratio = self.scores(F), np.zeros(self.n)
        ratio[found.inside] = found.v / found.T
        return penalty * ratio**2, penalty * ratio

    def slope(self, F: Array, penalty: float) -> Array:
        """Q (k, k), the gradient in W."""
        gamma, _ = self.multipliers(F, penalty)
        return np.eye(self.k) - self.signed.T @ (gamma[:, None] * self.signed)

    def proof(self, F: Array, penalty: float) -> StrengtheningBound | None:
        """Lower bound on the SDP at this penalty that F implies: valid whatever F is."""
        return self.bound(*self.multipliers(F, penalty), penalty)

    def bound(self, gamma: Array, alpha: Array, penalty: float) -> StrengtheningBound | None:
        """Lower bound on the SDP at this penalty from any multipliers."""
        return strengthening_bound(self.signed, np.ones(self.n), gamma, alpha, penalty=penalty)


def compressed(F: Array, least: float) -> Array:
    """F with R turned to its principal axes, those shorter than least ||F|| left out."""
    _, lengths, axes = np.linalg.svd(F[1:], full_matrices=False)
    kept = lengths > least * float(np.linalg.norm(F))
    return np.vstack([F[:1], lengths[kept, None] * axes[kept]])


def from_lifted(weight: Array, W: Array) -> Array:
    """F of the nearest W >= w~ w~': what is not semidefinite in the difference is left out."""
    lengths, axes = np.linalg.eigh(W - np.outer(weight, weight))
    kept = lengths > 0
    rows = np.sqrt(lengths[kept])[:, None] * axes[:, kept].T
    return np.vstack([weight[None], rows[::-1]])


# --- Newton's method in a ball around the point where the second-order model is trusted ----------
# Conn, Gould & Toint 2000, chapter 7: with the eigenvalues e of the Hessian and the gradient q in
# its basis, the step -q / (e + shift) has the length of the radius for one shift that is large
# enough to make the model convex.


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


# --- Minimum over all ranks of the low-rank form of the conic SDP: descend, and add a row if
#     needed
# The staircase of Boumal, Voroninski & Bandeira 2016: where the slope Q in W has a negative
# eigenvalue at a stationary F, its eigenvector becomes a further row; otherwise F is the optimum.


NEGATIVE = -1e-9  # an eigenvalue of Q, whose other part is I
LARGE = 1000  # numbers in F beyond which L-BFGS goes first
LEFT = 1e-5  # of ||F||: a slope that a descent has not finished with
SHORT = 1e-8  # of ||F||: a row that is none
LENGTHS = np.geomspace(1e-4, 1.0, 9)  # of the new row, against the size of F


def low_rank_minimum(
    problem: LowRank, penalty: float, start: Array | None = None, deadline: float | None = None
) -> Array:
    """F (1 + r, k) of least value at a penalty, from another F or from 0.

    Where points lie on their margin with nothing in W to spare, z jumps: a descent that meets this
    may stay there with a slope left, and is begun again from 0.

    The rank follows from the data. Nothing is proven here: see LowRank.proof.
    """
    nothing = np.zeros((1, problem.k))
    F = _staircase(problem, penalty, nothing if start is None else start, deadline)
    if start is None:
        return F
    value, slope = problem.value_and_gradient(F, penalty)
    if np.linalg.norm(slope) <= LEFT * np.linalg.norm(F):
        return F
    again = _staircase(problem, penalty, nothing, deadline)
    return again if problem.value_and_gradient(again, penalty)[0] < value else F


def _staircase(problem: LowRank, penalty: float, F: Array, deadline: float | None) -> Array:
    for _ in range(problem.k + 1):
        F = compressed(_descend(problem, penalty, F, deadline).point, SHORT)
        if deadline is not None and time.perf_counter() > deadline:
            break
        eigenvalues, vectors = np.linalg.eigh(problem.slope(F, penalty))
        if eigenvalues[0] >= NEGATIVE:
            break
        longer = _with_row(problem, penalty, F, vectors[:, 0])
        if longer is None:
            break
        F = longer
    return F


def refined(problem: LowRank, penalty: float, F: Array, deadline: float | None = None) -> Array:
    """F after Newton's method, whatever its size."""
    return compressed(_newton(problem, penalty, F, deadline).point, SHORT)


def _descend(problem: LowRank, penalty: float, F: Array, deadline: float | None) -> DescentResult:
    if F.size <= LARGE:
        return _newton(problem, penalty, F, deadline)
    return quasi_newton(lambda G: problem.value_and_gradient(G, penalty), F, deadline)


def _newton(problem: LowRank, penalty: float, F: Array, deadline: float | None) -> DescentResult:
    return newton(
        lambda G: problem.value_and_gradient(G, penalty),
        lambda G: problem.hessian(G, penalty),
        F,
        deadline,
    )


def _with_row(problem: LowRank, penalty: float, F: Array, direction: Array) -> Array | None:
    """F with a multiple of a row added, None where no multiple lowers the value."""
    value = problem.value_and_gradient(F, penalty)[0]
    longest = np.sqrt(value)  # ||F||^2 is below the value at any optimum
    tried = [np.vstack([F, length * longest * direction]) for length in LENGTHS]
    values = [problem.value_and_gradient(G, penalty)[0] for G in tried]
    best = int(np.argmin(values))
    return tried[best] if values[best] < value else None
