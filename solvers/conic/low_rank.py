"""The SDP of Cepeda, Gomez & Han 2024 with its matrix as a product: W = w~ w~' + R R'.

With the columns of R (k, r) in the rows of F = [w~'; R'] (1 + r, k), points s_i = y_i x~_i,
v_i = 1 - <w~, s_i>, h_i = ||R' s_i||^2 and T_i = v_i^2 + h_i, the SDP (21) without its z is

    min over F   ||F||^2 + penalty sum over v_i > 0 of v_i^2 / T_i,          z_i = v_i^2 / T_i.

The penalty is a number, or an array (n,) of that of each point. The function is not convex in F,
but it is convex in (w~, W), with the slope

    Q = I - sum_i gamma_i s_i s_i',     gamma_i = penalty v_i^2 / T_i^2

in W: a stationary F with Q semidefinite is a global optimum, and an eigenvector of Q with a
negative eigenvalue is a row that lowers the value when it is added to F.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import minimize, nnls

from tightmargin.formulations.common.rounding import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    growth,
    most_hinge,
    most_squares,
    score_errors,
)
from tightmargin.formulations.conic.closed_form_bound import StrengtheningBound, strengthening_bound
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.kernel.statement import CLOSED, closes

Penalty: TypeAlias = float | Array
TINY = 1e-300
SEPARATED = 1e-12  # of the squared size of the points: a margin that is none


@dataclass(frozen=True, eq=False)
class LowRank:
    """The function of F, and what follows from an F."""

    signed: Array  # (n, k): y_i times the point with its constant entry

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.signed)

    @property
    def k(self) -> int:
        """Length of w~."""
        return self.signed.shape[1]

    def scores(self, F: Array) -> tuple[Array, Array, Array, Array]:
        """v (0 where it is negative), h and T (n,), and R' s_i (n, r)."""
        products = self.signed @ F.T
        v, g = np.maximum(1 - products[:, 0], 0.0), products[:, 1:]
        h = (g * g).sum(axis=1)
        return v, h, np.where(v > 0, np.maximum(v * v + h, TINY), 1.0), g

    def z(self, F: Array) -> Array:
        """Least z (n,) of the matrix that F stands for."""
        v, _, T, _ = self.scores(F)
        return v**2 / T

    def spent(self, F: Array) -> float:
        """Sum of z."""
        return float(self.z(F).sum())

    def most_z(self, F: Array) -> Array:
        """Numbers (n,) that the z of this F do not exceed, every rounding counted.

        z = v^2 / (v^2 + h) rises with v and falls with h.
        """
        products = self.signed @ F.T
        off = np.column_stack([score_errors(self.signed, row, 0.0) for row in F])
        v = most_hinge(products[:, 0], off[:, 0])
        lifted = np.maximum(0.0, np.abs(products[:, 1:]) - OUTWARD * off[:, 1:])
        h = (lifted * lifted).sum(axis=1) * (1 - OUTWARD * growth(len(F) + 4))
        square = np.where(v > 0, v * v + UNDERFLOW, 0.0)
        ratio = square / np.maximum(square + h, TINY) * (1 + 8 * ROUNDOFF)
        return np.where(v > 0, np.minimum(1.0, ratio), 0.0)

    def most_spent(self, F: Array) -> float:
        """A number that the sum of z does not exceed."""
        return _most_sum(self.most_z(F))

    def most_value(self, F: Array, penalty: Penalty) -> float:
        """A number that the objective does not exceed."""
        price = _most_sum(penalty * self.most_z(F) * (1 + 2 * ROUNDOFF)) * (1 + 2 * ROUNDOFF)
        total = most_squares(F) + price
        return math.nextafter(total, math.inf) if total else 0.0

    def value(self, F: Array, penalty: Penalty) -> float:
        """Objective."""
        return self.value_and_gradient(F, penalty)[0]

    def value_and_gradient(self, F: Array, penalty: Penalty) -> tuple[float, Array]:
        """Objective and its gradient, of the shape of F."""
        v, h, T, g = self.scores(F)
        slopes = np.column_stack([-2 * v * h / T**2, (-2 * v * v / T**2)[:, None] * g])
        value = float((F * F).sum()) + float((penalty * (v * v / T)).sum())
        return value, 2 * F + (penalty * slopes.T) @ self.signed

    def hessian(self, F: Array, penalty: Penalty) -> Array:
        """Second derivatives (F.size, F.size), rows of F one after the other.

        Of v^2 / (v^2 + h) with h = ||g||^2: 2 h (h - 3 v^2) / T^3 in v, 4 v (v^2 - h) g / T^3
        mixed, and 8 v^2 g g' / T^3 - 2 v^2 / T^2 in g; v falls where the product <w~, s> rises.
        """
        v, h, T, g = self.scores(F)
        inside = v > 0
        price = np.broadcast_to(penalty, self.n)[inside]
        v, h, T, g, signed = v[inside], h[inside], T[inside], g[inside], self.signed[inside]
        c, k = F.shape
        whole = np.empty((c, k, c, k))
        for a in range(c):
            for b in range(a + 1):
                if a == 0:
                    rate = 2 * h * (h - 3 * v * v) / T**3
                elif b == 0:
                    rate = -4 * v * (v * v - h) * g[:, a - 1] / T**3
                else:
                    rate = 8 * v * v * g[:, a - 1] * g[:, b - 1] / T**3
                    rate -= (a == b) * 2 * v * v / T**2
                part = signed.T @ ((price * rate)[:, None] * signed)
                whole[a, :, b, :] = whole[b, :, a, :] = part
        matrix = whole.reshape(c * k, c * k)
        matrix[np.diag_indices(c * k)] += 2.0
        return matrix

    def multipliers(self, F: Array, penalty: Penalty) -> tuple[Array, Array]:
        """gamma and alpha (n,): penalty v^2 / T^2 and penalty v / T where v > 0."""
        v, _, T, _ = self.scores(F)
        return penalty * (v / T) ** 2, penalty * (v / T)

    def slope(self, F: Array, penalty: Penalty) -> Array:
        """Q (k, k), the gradient in W."""
        gamma, _ = self.multipliers(F, penalty)
        return np.eye(self.k) - self.signed.T @ (gamma[:, None] * self.signed)

    def proof(self, F: Array, penalty: Penalty) -> StrengtheningBound | None:
        """Lower bound on the SDP at this penalty that F implies: valid whatever F is."""
        return self.bound(*self.multipliers(F, penalty), penalty)

    def bound(self, gamma: Array, alpha: Array, penalty: Penalty) -> StrengtheningBound | None:
        """Lower bound on the SDP at this penalty from any multipliers."""
        return strengthening_bound(self.signed, np.ones(self.n), gamma, alpha, penalty=penalty)

    @cached_property
    def hard_margin(self) -> tuple[Array, Array] | None:
        """F (1, k) of the machine of least norm that keeps every point, and its multipliers (n,).

        None where there is none. The least ||S'beta||^2 + r^2 (sum beta - 1)^2 over beta >= 0 has,
        with p = S'beta, <p, s_i> >= r^2 (1 - sum beta), with equality where beta_i > 0.
        """
        size = float(np.sqrt((self.signed**2).sum(axis=1).max()))
        if size == 0:
            return None
        rows = np.vstack([self.signed.T, np.full(self.n, size)])
        try:
            beta, _ = nnls(rows, np.append(np.zeros(self.k), size), maxiter=10 * self.n)
        except RuntimeError:  # its iterations are over: then there is no proof from here
            return None
        margin = size**2 * (1 - float(beta.sum()))
        if margin <= SEPARATED * size**2:
            return None
        weight = self.signed.T @ (beta / margin)
        least = float((self.signed @ weight).min())
        return None if least <= 0 else (weight[None] / min(least, 1.0), beta / margin)


def _most_sum(terms: Array) -> float:
    """A number that the sum does not exceed."""
    numbers = terms.tolist()
    total = math.fsum(numbers)
    return total if math.fsum([*numbers, -total]) == 0 else math.nextafter(total, math.inf)


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


def newton(
    function: Function, hessian: Hessian, start: Array, deadline: float | None = None
) -> Array:
    """A local minimum of a smooth function of a small array, by its gradient and Hessian."""
    point = start
    value, gradient = function(point)
    radius = max(1.0, float(np.linalg.norm(point)))
    for _ in range(STEPS):
        if is_late(deadline):
            break
        e, basis = np.linalg.eigh(hessian(point))
        q = basis.T @ gradient.ravel()
        for _ in range(SHRINKS):
            move = _model_step(e, q, radius)
            promised = -float(q @ move + 0.5 * (e * move) @ move)
            if promised <= STILL * abs(value):
                return point
            length = float(np.linalg.norm(move))
            tried = point + (basis @ move).reshape(point.shape)
            new_value, new_gradient = function(tried)
            share = (value - new_value) / promised
            if share > 1e-3 or abs(value - new_value) <= ROUNDING * abs(value):
                break
            radius = length / 4
        else:
            return point
        if new_value > value:  # by rounding only: the gradient decides
            if np.linalg.norm(new_gradient) >= np.linalg.norm(gradient):
                return point
        elif share > 0.75:
            radius = max(radius, 2 * length)
        elif share < 0.25:
            radius = length / 2
        point, value, gradient = tried, new_value, new_gradient
    return point


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


def quasi_newton(function: Function, start: Array, deadline: float | None = None) -> Array:
    """The same by L-BFGS, for arrays too large for a Hessian."""

    def flat(x: Array) -> tuple[float, Array]:
        value, gradient = function(x.reshape(start.shape))
        return value, gradient.ravel()

    def watch(intermediate_result: Any) -> None:
        if is_late(deadline):
            raise StopIteration

    scale = float(np.abs(function(start)[1]).max())
    limits = {"maxiter": 5000, "maxfun": 10_000, "maxcor": 30, "ftol": 1e-15}
    answer: Any = minimize(
        flat, start.ravel(), jac=True, method="L-BFGS-B", callback=watch,
        options=limits | {"gtol": 1e-10 * max(scale, 1e-300)},
    )  # fmt: skip
    return np.asarray(answer.x).reshape(start.shape)


# --- Minimum over all ranks: descend, and add rows where they lower the value -------------------
# The staircase of Boumal, Voroninski & Bandeira 2016: where the slope Q in W has negative
# eigenvalues at a stationary F, eigenvectors become further rows; otherwise F is the optimum.


NEGATIVE = -1e-9  # an eigenvalue of Q, whose other part is I
ROWS = 3  # at a time: a descent with a row too few takes longer than one with rows too many
LARGE = 1000  # numbers in F beyond which L-BFGS goes first
LEFT = 1e-5  # of ||F||: a slope that a descent has not finished with
SHORT = 1e-8  # of ||F||: a row that is none
LENGTHS = np.geomspace(1e-4, 1.0, 9)  # of the new row, against the size of F


def low_rank_minimum(
    problem: LowRank, penalty: Penalty, start: Array | None = None, deadline: float | None = None
) -> Array:
    """F (1 + r, k) of least value at a penalty, from another F or from 0.

    Where points lie on their margin with nothing in W to spare, z jumps: a descent that meets this
    may stay there with a slope left, and is begun again from 0.
    """
    nothing = np.zeros((1, problem.k))
    F = _staircase(problem, penalty, nothing if start is None else start, deadline)
    if start is None:
        return F
    value, slope = problem.value_and_gradient(F, penalty)
    if np.linalg.norm(slope) <= LEFT * np.linalg.norm(F):
        return F
    again = _staircase(problem, penalty, nothing, deadline)
    return again if problem.value(again, penalty) < value else F


def _staircase(problem: LowRank, penalty: Penalty, F: Array, deadline: float | None) -> Array:
    for _ in range(problem.k + 1):
        F = compressed(_descend(problem, penalty, F, deadline), SHORT)
        eigenvalues, vectors = np.linalg.eigh(problem.slope(F, penalty))
        added = vectors[:, :ROWS][:, eigenvalues[:ROWS] < NEGATIVE].T
        if not len(added) or is_late(deadline):
            break
        value = problem.value(F, penalty)
        lengths = LENGTHS * np.sqrt(value)  # ||F||^2 is below the value at any optimum
        longer = [np.vstack([F, length * added]) for length in lengths]
        values = [problem.value(G, penalty) for G in longer]
        if min(values) >= value:
            break
        F = longer[int(np.argmin(values))]
    return F


def refined(problem: LowRank, penalty: Penalty, F: Array, deadline: float | None = None) -> Array:
    """F after Newton's method, whatever its size."""
    return compressed(_descend(problem, penalty, F, deadline, large=F.size), SHORT)


def _descend(
    problem: LowRank, penalty: Penalty, F: Array, deadline: float | None, large: int | None = None
) -> Array:
    def function(G: Array) -> tuple[float, Array]:
        return problem.value_and_gradient(G, penalty)

    if F.size > (LARGE if large is None else large):
        return quasi_newton(function, F, deadline)
    return newton(function, lambda G: problem.hessian(G, penalty), F, deadline)


# --- An optimum with its proof -------------------------------------------------------------------
# A hard-margin machine w~ = sum_i alpha_i s_i, alpha >= 0, has <w~, s_i> >= 1 everywhere, with
# equality where alpha_i > 0. With gamma_i = alpha_i^2 / penalty the dual function of the SDP is
#     ||w~||^2 + 2 sum alpha_i (1 - u_i) - sum gamma_i (1 - u_i)^2,     alpha_i (1 - u_i) = 0,
# stationary at w~, so that the bound is ||w~||^2 itself as soon as I - sum gamma_i s_i s_i' is
# positive definite: it is the optimum at a large penalty, where v_i / T_i is 0 / 0 for every point.


LOW_RANK, HARD_MARGIN = "low-rank", "hard margin"
LEFT_OPEN = 1e-3  # of the tolerance: what rounding may leave of it
LONGER = (1e-14, 1e-13, 1e-12, 1e-11)  # of w: what keeps points beyond their margin


def closed(value: float, lower: float, tolerance: float = CLOSED) -> bool:
    """Whether value and bound need no more work."""
    return closes(value, lower) and value - lower <= tolerance * abs(value)


def proven_minimum(
    problem: LowRank,
    penalty: Penalty,
    start: Array | None = None,
    deadline: float | None = None,
    tolerance: float = CLOSED,
) -> tuple[Array, StrengtheningBound | None, str]:
    """F at a penalty, the bound that proves it, and LOW_RANK or HARD_MARGIN."""

    def is_open() -> bool:
        return proof is None or not closed(problem.value(F, penalty), proof.value, tolerance)

    F = low_rank_minimum(problem, penalty, start, deadline)
    proof, method = problem.proof(F, penalty), LOW_RANK
    if is_open() and F.size > LARGE:
        F = refined(problem, penalty, F, deadline)
        proof = larger_bound(proof, problem.proof(F, penalty))
    if is_open() and problem.hard_margin is not None:
        machine, alpha = problem.hard_margin
        known, proof = proof, larger_bound(proof, problem.bound(alpha**2 / penalty, alpha, penalty))
        method = LOW_RANK if proof is known else HARD_MARGIN
        if problem.value(machine, penalty) < problem.value(F, penalty):
            F, method = machine, HARD_MARGIN
    return F, proof, method


def larger_bound(
    first: StrengtheningBound | None, second: StrengtheningBound | None
) -> StrengtheningBound | None:
    """The larger of two bounds, the first one of two that are equal."""
    if first is None or second is None:
        return first or second
    return second if second.value > first.value else first


def off_the_margin(problem: LowRank, penalty: Penalty, F: Array, tolerance: float) -> Array:
    """F; where points lie on their margin to rounding, with a w that keeps them beyond it.

    There z is 0 / 0, and may be anything up to 1: a w a rounding longer, or a little of the
    identity in W, proves it to be 0, or as good as 0.
    """
    value = problem.value(F, penalty)
    if problem.most_value(F, penalty) - value <= LEFT_OPEN * tolerance * value:
        return F
    little = math.sqrt(LEFT_OPEN * tolerance / problem.k) * float(np.linalg.norm(F))
    candidates = [np.vstack([(1 + t) * F[:1], F[1:]]) for t in (0.0, *LONGER)]
    candidates.append(np.vstack([F, little * np.eye(problem.k)]))
    return min(candidates, key=lambda other: problem.most_value(other, penalty))


# --- The price at which an amount that falls with it is the wanted one, by the secant in logarithms


TRIALS = 60
LEAP = 20.0  # largest factor between two prices
USUAL_SLOPE = -0.6  # of the logarithms, before there are two trials


class Trial(NamedTuple):
    """The optimum at one price."""

    price: float  # a penalty, or the multiplier of W_bb <= B^2
    F: Array  # (1 + r, k)
    amount: float  # sum of z, or W_bb


def at_amount(
    trial: Callable[[float, Array | None], Trial],
    amount: float,
    first: float | None,
    is_near: Callable[[Trial], bool],
    known: Sequence[Trial] = (),
) -> Trial:
    """The trial nearest to an amount above 0.

    `trial` takes a price and the F to start from; without a first price the known trials say where
    to begin; `is_near` also ends the search where there is no time for another trial.
    """
    seen = list(known)
    low = max((t.price for t in seen if t.amount > amount), default=0.0)
    high = min((t.price for t in seen if t.amount <= amount), default=np.inf)
    price = _secant(seen, amount) if first is None else first
    nearest: Trial | None = None
    for _ in range(TRIALS):
        start = min(seen, key=lambda t: abs(np.log(t.price / price))).F if seen else None
        here = trial(price, start)
        seen.append(here)
        if nearest is None or abs(here.amount - amount) < abs(nearest.amount - amount):
            nearest = here
        low, high = (max(low, price), high) if here.amount > amount else (low, min(high, price))
        if is_near(here) or high <= low * (1 + 1e-15):
            break
        price = _secant(seen, amount)
        if not low < price < high:
            ends_known = low > 0 and np.isfinite(high)
            price = float(np.sqrt(low * high)) if ends_known else low * LEAP or high / LEAP
    assert nearest is not None
    return nearest


def _secant(seen: Sequence[Trial], amount: float) -> float:
    """Where the line through the two nearest trials meets the amount, in logarithms."""
    near = sorted(seen, key=lambda t: abs(np.log(max(t.amount, TINY) / amount)))[:2]
    slope = USUAL_SLOPE
    if len(near) == 2:
        run = np.log(near[1].price / near[0].price)
        rise = np.log(max(near[1].amount, TINY) / max(near[0].amount, TINY))
        slope = rise / run if run * rise < 0 else USUAL_SLOPE
    # In logarithms as well: a slope near 0 leads further than a float reaches.
    step = np.log(amount / max(near[0].amount, TINY)) / slope
    return near[0].price * float(np.exp(np.clip(step, -np.log(LEAP), np.log(LEAP))))


# --- One SDP, its intercept penalised, absent or free within a bound -----------------------------
# With W_bb <= B^2 in place of its price, beta is the multiplier of that row: the optimum is the one
# with the price beta on W_bb, at the beta where W_bb = B^2. In units of 1 / sqrt(beta) for the
# constant entry the price is 1.


ON_THE_BOUND = 1e-10  # of the value: what W_bb off its bound may cost
INSIDE_BOUND = 1e-12  # share of B that rounding may take the intercept beyond it


@dataclass(frozen=True, eq=False)
class ConicOptimum:
    """Nearly optimal points of the SDP and of its dual."""

    F: Array  # (1 + r, k): rows w~ and R'
    gamma: Array  # (n,)
    alpha: Array  # (n,)
    beta: float  # price of W_bb where the intercept is free, 0 where it is not
    value: float  # objective of the SDP at F
    method: str  # LOW_RANK or HARD_MARGIN

    @property
    def W(self) -> Array:  # noqa: N802
        """The lifted matrix (k, k)."""
        return self.F.T @ self.F


def conic_optimum(
    points: Array,
    y: Array,
    prices: Penalty,
    bound_on_b: float | None = None,
    deadline: float | None = None,
) -> ConicOptimum | None:
    """The SDP by its low-rank form; None where it has no points, no entries, or B = 0.

    The points have their constant entry last, if there is one; `bound_on_b` is B where the
    intercept is free.
    """
    if not points.size or bound_on_b == 0:
        return None
    signed, units = y[:, None] * points, np.ones(points.shape[1])
    start, beta = None, 0.0
    if bound_on_b is not None:
        found = _at_bound(signed, prices, bound_on_b, deadline)
        start, beta = found.F, found.price
        units[-1] = 1 / math.sqrt(beta)
        start = start / units
    problem = LowRank(signed * units)
    F, proof, method = proven_minimum(problem, prices, start, deadline)
    F = off_the_margin(problem, prices, F, CLOSED)
    gamma, alpha = problem.multipliers(F, prices) if proof is None else (proof.gamma, proof.alpha)
    if bound_on_b is None:
        return ConicOptimum(F, gamma, alpha, beta, problem.value(F, prices), method)
    F = F * units
    size = float(np.linalg.norm(F[:, -1]))
    F[:, -1] *= (1 - INSIDE_BOUND) * bound_on_b / size if size > 0 else 0.0
    value = float((F[:, :-1] ** 2).sum() + (prices * LowRank(signed).z(F)).sum())
    return ConicOptimum(F, gamma, alpha, beta, value, method)


def _at_bound(signed: Array, prices: Penalty, bound_on_b: float, deadline: float | None) -> Trial:
    """The optimum at the price of W_bb at which it is B^2."""
    most = bound_on_b**2

    def trial(beta: float, start: Array | None) -> Trial:
        units = np.append(np.ones(signed.shape[1] - 1), 1 / math.sqrt(beta))
        start = None if start is None else start / units
        F = low_rank_minimum(LowRank(signed * units), prices, start, deadline) * units
        return Trial(beta, F, float((F[:, -1] ** 2).sum()))

    def is_near(found: Trial) -> bool:
        off = found.price * abs(found.amount - most)
        value = float((found.F[:, :-1] ** 2).sum()) + found.price * most
        return off <= ON_THE_BOUND * value or is_late(deadline)

    # B^2 beta is at most the value, and that at most the sum of the prices.
    largest = float(np.broadcast_to(prices, len(signed)).sum()) / most
    return at_amount(trial, most, largest, is_near)


def is_late(deadline: float | None) -> bool:
    """Whether a deadline of time.perf_counter() is over."""
    return deadline is not None and time.perf_counter() > deadline
