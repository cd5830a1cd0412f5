"""Lower bounds on the conic relaxations in closed form, and the budget of appendix C.

For gamma_i >= 0, 0 <= alpha_i <= sqrt(penalty gamma_i) and violations v_i = 1 - y_i <w~, x~_i>,

    penalty z_i  >=  2 alpha_i v_i - gamma_i v_i^2        wherever z_i = 1 if v_i > 0, z_i >= 0,

(the penalty of a weighted point is that of its weight)
so the least value of f(w~) = w~'D w~ + sum 2 alpha_i v_i - gamma_i v_i^2 bounds the 0-1 optimum,
and the SDP (21) as well: it is a point of its dual (conic_sdp_dual). f is convex where
Q = D - sum gamma_i x~_i x~_i' is positive definite, and then, for any w~ and r half the gradient of
f there,

    min f  =  f(w~) - r'Q^-1 r  >=  f(w~) - ||r||^2 / (least eigenvalue of Q).

D = I. With a free intercept D = diag(1, ..., 1, beta) for any beta > 0, at the price B^2 beta,
where B bounds |b|. Every number is taken with its rounding, counted from the terms it is made of;
so the bound is one in any units, and the hypotheses are checked before it is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from tightmargin.formulations.common.rounding import OUTWARD, ROUNDOFF, growth, least_eigenvalue
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.parameters import fraction

# --- Budgets on violations, the kappa of Cepeda, Gomez & Han 2024, appendix C --------------------

LARGEST = 0.5


def budget_grid(count: int = 100) -> Array:
    """Budgets that are tried in cross-validation: count equal steps that end at 0.5.

    The paper takes [0, 0.5]. Here 0 is left out: it is the hard-margin problem, infeasible where
    the classes overlap, and the optimum grows like 1 / budget on the way there.

    Returns: 0.5 k / count for k = 1, ..., count.
    Raises ValueError: count is no whole number of at least 1.
    """
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ValueError(f"count must be a whole number of at least 1, got {count!r}")
    return LARGEST * np.arange(1, count + 1) / int(count)


def budget_share(budget: float) -> float:
    """Return a budget in (0, 1] as a float.

    Raises ValueError: anything else; for 0 with the name of the problem that it is.
    """
    if not isinstance(budget, str | bytes | bool) and np.isscalar(budget) and budget == 0:
        raise ValueError(
            "budget must lie in (0, 1], got 0: no violation at all is the hard-margin problem, "
            "infeasible where the classes overlap; take hard_margin_svc, or a small budget"
        )
    return fraction("budget", budget)


# --- Lower bounds on the conic relaxations in closed form: proofs that need no solver ------------

CLOSED_FORM = "closed form of the strengthening dual"
NO_PRICE, ANY_PRICE = 1e-100, 1e100
SECTIONS = 40  # of an interval, each by a third: the penalty to seven digits
# Beyond these, products of three numbers may over- or underflow unnoticed.
LARGEST_POINT, LARGEST_MULTIPLIER = 1e75, 1e150
LOST = 1e-80  # more than all that underflows

# Relative shrinkage of gamma that is tried until Q is safely positive definite.
SHRINKAGES = (0.0, *np.geomspace(1e-13, 1e-3, 21))
PATIENCE = 3


@dataclass(frozen=True, eq=False)
class StrengtheningBound:
    """A feasible point of the dual and its value.

    value: the lower bound, rounding taken off.
    gamma, alpha (n,).
    beta: price of the intercept coordinate: 1 when penalised, free to choose when not.
    """

    value: float
    gamma: Array
    alpha: Array
    beta: float

    def hypotheses(self, penalty: float | Array) -> dict[str, bool]:
        """What the value rests on, looked at once more."""
        inside = self.alpha * self.alpha <= penalty * self.gamma
        return {
            "the penalty is positive": bool(np.all(np.asarray(penalty) > 0)),
            "gamma >= 0 and alpha >= 0": bool((self.gamma >= 0).all() and (self.alpha >= 0).all()),
            "alpha_i^2 <= penalty gamma_i": bool(inside.all()),
            "the price of the intercept is positive": self.beta > 0,
            "diag(1, beta) - sum gamma x x' has a positive least eigenvalue, with rounding": True,
        }


def strengthening_bound(
    points: Array,
    y: Array,
    gamma: Array,
    alpha: Array,
    *,
    penalty: float | Array,
    bound_on_b: float | None = None,
) -> StrengtheningBound | None:
    """Best value over multiples below 1 of (gamma, alpha); None where nothing is proven.

    points (n, k): points with their constant entry (last).
    y (n,): 1 and -1.
    gamma, alpha (n,): alpha is cut off at sqrt(penalty gamma). Numbers below 0, infinite ones and
        arrays of other shapes prove nothing.
    penalty (n,): that of each point, where their weights differ.
    bound_on_b: B when the intercept is free.
    """
    gamma, alpha = np.asarray(gamma, dtype=float), np.asarray(alpha, dtype=float)
    if not _admissible(points, y, gamma, alpha, penalty, bound_on_b):
        return None
    # A hair less than the root, so that its rounding leaves alpha^2 <= penalty gamma.
    product = penalty * gamma
    root = np.where(product > 1e-280, np.sqrt(product) * (1 - 4 * ROUNDOFF), 0.0)
    alpha = np.minimum(alpha, root)
    priced = points if bound_on_b is None else points[:, :-1]
    # A multiple of a point of the dual by a number from 0 to 1 is a point of the dual: its cones
    # hold (0, 0), and D itself is positive definite.
    most = 1 / max(_largest_eigenvalue(priced, gamma), 1.0)
    best: StrengtheningBound | None = None
    falls = 0
    for step in SHRINKAGES:
        keep = most * (1 - step)
        found = _bound_at(points, y, gamma * keep, alpha * keep, bound_on_b)
        if found is None:
            continue
        if best is None or found.value > best.value:
            best, falls = found, 0
        else:
            falls += 1
        if falls == PATIENCE:  # the value is concave in the multiple, but for its rounding
            break
    return best


def _admissible(
    points: Array,
    y: Array,
    gamma: Array,
    alpha: Array,
    penalty: float | Array,
    bound_on_b: float | None,
) -> bool:
    """Whether the numbers are ones that the bound can be taken at."""
    n = len(points)
    if points.ndim != 2 or any(part.shape != (n,) for part in (y, gamma, alpha)):
        return False
    if np.shape(penalty) not in ((), (n,)):
        return False
    limit = 0.0 if bound_on_b is None else bound_on_b
    return bool(
        np.all(np.abs(y) == 1)
        and np.all(np.abs(points) <= LARGEST_POINT)
        and all(np.all((part >= 0) & (part <= LARGEST_MULTIPLIER)) for part in (gamma, alpha))
        and np.all((np.asarray(penalty) > 0) & (np.asarray(penalty) <= LARGEST_MULTIPLIER))
        and 0 <= limit <= LARGEST_POINT
        and (bound_on_b is None or (points.shape[1] > 0 and np.all(points[:, -1] == 1)))
    )


def _largest_eigenvalue(points: Array, gamma: Array) -> float:
    if not points.size:
        return 0.0
    return float(np.linalg.eigvalsh(points.T @ (gamma[:, None] * points))[-1])


def _bound_at(
    points: Array, y: Array, gamma: Array, alpha: Array, bound_on_b: float | None
) -> StrengtheningBound | None:
    signed, D = y[:, None] * points, np.ones(points.shape[1])
    beta, price = 1.0, 0.0
    if bound_on_b is not None:
        beta = _best_beta(points, y, gamma, alpha, bound_on_b)
        # The right beta may be far from the 1 of the features: the intercept is measured in a
        # power of two near its root, which rounds nothing.
        unit = math.ldexp(1.0, round(math.log2(beta) / 2))
        signed[:, -1] /= unit
        D[-1] = beta / unit**2
        price = bound_on_b**2 * beta
    with np.errstate(over="ignore", invalid="ignore"):
        value = _least_value(signed, D, gamma, alpha, price)
    return None if value is None else StrengtheningBound(value, gamma, alpha, beta)


def _least_value(signed: Array, D: Array, gamma: Array, alpha: Array, price: float) -> float | None:
    """f(w~) - ||r||^2 / (least eigenvalue of Q) - price, rounded down."""
    n, k = signed.shape
    part = signed.T @ (gamma[:, None] * signed)
    Q = np.diag(D) - np.tril(part) - np.tril(part, -1).T
    # Entry by entry the sum of |gamma s s'| times growth(n + 2), a semidefinite matrix: its norm
    # is at most its trace.
    size = float(gamma @ (signed * signed).sum(axis=1))
    smallest = least_eigenvalue(Q, OUTWARD * (growth(n + 4) * size + 4 * ROUNDOFF * (2 + size)))
    if smallest is None:
        return None
    factor = cho_factor(Q)
    w = cho_solve(factor, signed.T @ (alpha - gamma))
    w = w - cho_solve(factor, D * w - signed.T @ (alpha - gamma * (1 - signed @ w)))
    v = 1 - signed @ w
    # Errors of v, of the multipliers at v and of the residual, each from its terms.
    of_v = growth(k + 4) * (1 + np.abs(signed) @ np.abs(w)) + LOST
    held = alpha - gamma * v
    of_held = gamma * of_v + 4 * ROUNDOFF * (alpha + gamma * np.abs(v))
    rest = D * w - signed.T @ held
    absolute = np.abs(signed).T
    of_rest = growth(n + 6) * (np.abs(D * w) + absolute @ np.abs(held)) + absolute @ of_held + LOST
    terms = np.concatenate([D * w * w, 2 * alpha * v, -gamma * v * v, [-price]])
    lost = (
        float((2 * (np.abs(held) + of_held) * of_v + gamma * of_v**2).sum())
        + 8 * ROUNDOFF * float(np.abs(terms).sum())
        + float(((np.abs(rest) + of_rest) ** 2).sum()) / smallest
        + (n + k) * LOST
    )
    if not (np.isfinite(terms).all() and math.isfinite(lost)):
        return None
    return math.nextafter(math.fsum([*terms.tolist(), -OUTWARD * lost]), -math.inf)


def _best_beta(points: Array, y: Array, gamma: Array, alpha: Array, bound_on_b: float) -> float:
    """Price beta > 0 that maximises -B^2 beta - c'Q(beta)^-1 c.

    Eliminating the features leaves -B^2 beta - k^2 / (beta + s0), best at beta + s0 = |k| / B.
    """
    gram, c = points.T @ (gamma[:, None] * points), points.T @ ((gamma - alpha) * y)
    features, cross = np.eye(len(gram) - 1) - gram[:-1, :-1], -gram[:-1, -1]
    if len(features) and not np.linalg.eigvalsh(features)[0] > 1e-14:
        return 1.0  # no price on b makes Q definite: the caller will find it is not
    solved = np.linalg.solve(features, np.column_stack([cross, c[:-1]]))
    s0 = -float(gram[-1, -1] + cross @ solved[:, 0])
    k = float(c[-1] - cross @ solved[:, 1])
    # s0 <= 0, and 0 only where gamma = 0; any price above 0 gives a bound.
    wanted = max(abs(k) / max(bound_on_b, NO_PRICE), 1e-9 * abs(s0)) - s0
    return min(max(NO_PRICE, wanted), ANY_PRICE) if math.isfinite(wanted) else 1.0


def budget_bound(
    points: Array,
    y: Array,
    ratio: Array,
    spend: float,
    bound_on_b: float | None = None,
    weights: ArrayLike = 1.0,
) -> tuple[float, float] | None:
    """Lower bound of the budget form and the penalty that proves it.

    For every penalty the SDP value minus penalty * spend is a lower bound; with gamma and alpha
    proportional to the penalty it is concave in it and is maximised numerically.

    ratio (n,): v_i / T_i at the solution (0 where v_i <= 0).
    spend: budget * n, n being the sum of the weights.
    weights (n,): what the points weigh.
    """
    if not (
        np.shape(ratio) == (len(points),)
        and np.all(np.isfinite(ratio) & (ratio >= 0))
        and math.isfinite(spend)
        and spend > 0
    ):
        return None

    weights = np.broadcast_to(np.asarray(weights, dtype=float), len(points))

    def loss(log_penalty: float) -> float:
        penalty = float(np.exp(log_penalty))
        price = penalty * weights
        found = strengthening_bound(
            points, y, price * ratio**2, price * ratio, penalty=price, bound_on_b=bound_on_b
        )
        return np.inf if found is None else -budget_value(found.value, penalty, spend)

    largest = _largest_eigenvalue(points, weights * ratio**2)
    if not 0 < largest < np.inf:
        return None
    top = float(np.log(1 / largest)) if bound_on_b is None else float(np.log(1e6 / largest))
    grid = np.linspace(top - 30, top, 61)
    values = [loss(t) for t in grid]
    k = int(np.argmin(values))
    if not np.isfinite(values[k]):
        return None
    low, high = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
    for _ in range(SECTIONS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if loss(left) <= loss(right) else (left, high)
    best_at = min((low, high, float(grid[k])), key=loss)
    return -loss(best_at), float(np.exp(best_at))


def priced_hypotheses(penalty: float, ratio: Array, spend: float) -> dict[str, bool]:
    """What the bound of the budget form rests on: that of a penalty, and the budget's price."""
    return {
        "the penalty is positive": penalty > 0,
        "v_i / T_i >= 0": bool((np.asarray(ratio) >= 0).all()),
        "the budget is positive": spend > 0,
        "the hypotheses of the strengthening bound at this penalty": math.isfinite(penalty),
    }


def budget_value(bound: float, penalty: float, spend: float) -> float:
    """bound - penalty spend, rounded down: what a bound at a penalty says of a budget."""
    price = penalty * spend
    return bound - price - 4 * ROUNDOFF * (abs(bound) + 2 * abs(price))
