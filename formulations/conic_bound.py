"""Lower bounds on the conic relaxations in closed form: proofs that need no solver.

For gamma_i >= 0 and 0 <= alpha_i <= sqrt(penalty gamma_i) with Q = D - sum gamma_i x~_i x~_i'
positive definite,

    2 sum alpha_i - sum gamma_i - c' Q^-1 c,      c = sum (gamma_i - alpha_i) y_i x~_i,

bounds the SDP (21), hence the 0-1 optimum, from below: it is the value of a feasible point of its
dual (conic_dual.py). With a free intercept D = diag(1, ..., 1, beta) for any beta >= 0, at the
price B^2 beta, where B bounds |b|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)
NO_PRICE = 1e-100
SECTIONS = 40  # of an interval, each by a third: the penalty to seven digits

# Relative shrinkage of gamma that is tried until Q is safely positive definite.
SHRINKAGES = (0.0, *np.geomspace(1e-13, 1e-3, 21))


@dataclass(frozen=True, eq=False)
class StrengtheningBound:
    """A feasible point of the dual and its value.

    Attributes
    ----------
    value : float
        The lower bound, minus a margin for rounding.
    gamma, alpha : array (n,)
    beta : float
        Price of the intercept coordinate: 1 when penalised, free to choose when not.
    """

    value: float
    gamma: Array
    alpha: Array
    beta: float


def strengthening_bound(
    points: Array, y: Array, gamma: Array, alpha: Array, bound_on_b: float | None = None
) -> StrengtheningBound | None:
    """Best value over slight shrinkages of (gamma, alpha); None when no shrinkage is enough.

    Parameters
    ----------
    points : array (n, k)
        Points with their constant entry (last).
    gamma, alpha : array (n,)
        With alpha_i^2 <= penalty gamma_i.
    bound_on_b : float, optional
        B when the intercept is free.
    """
    best: StrengtheningBound | None = None
    priced = points if bound_on_b is None else points[:, :-1]
    over = max(0.0, 1 - 1 / max(_largest_eigenvalue(priced, gamma), 1e-300))
    for step in SHRINKAGES:
        # (1 - s) times a point of the dual is a point of the dual: (0, 0) lies inside it, so a
        # point that is infeasible by s needs no more, whatever Q and c are.
        keep = 1 - over - step
        found = _bound_at(points, y, gamma * keep, alpha * keep, bound_on_b)
        if found is not None and (best is None or found.value > best.value):
            best = found
    return best


def _largest_eigenvalue(points: Array, gamma: Array) -> float:
    return float(np.linalg.eigvalsh(points.T @ (gamma[:, None] * points))[-1])


def _bound_at(
    points: Array, y: Array, gamma: Array, alpha: Array, bound_on_b: float | None
) -> StrengtheningBound | None:
    beta = 1.0
    if bound_on_b is not None:
        beta = _best_beta(points, y, gamma, alpha, bound_on_b)
        # c'Q^-1 c is the same with the constant entry divided by sqrt(beta), and D = I then: the
        # right beta may be far from the 1 of the features.
        points = np.column_stack([points[:, :-1], points[:, -1] / np.sqrt(beta)])
    q = np.eye(points.shape[1]) - points.T @ (gamma[:, None] * points)
    c = points.T @ ((gamma - alpha) * y)
    smallest = float(np.linalg.eigvalsh(q)[0])
    # Rounding in forming Q is below n eps ||sum gamma x x'||, itself below 2.
    blur = 2 * len(points) * EPS
    if smallest <= 4 * blur:
        return None
    solution = cho_solve(cho_factor(q), c)
    rest = c - q @ solution
    quadratic = float(c @ solution)
    terms = [2 * float(alpha.sum()), -float(gamma.sum()), -quadratic]
    if bound_on_b is not None:
        terms.append(-(bound_on_b**2) * beta)
    # c'Q^-1 c moves by x'Ex for an error E of Q, by 2 x'e for an error e of c, and exceeds the
    # value at a solution x with residual r by at most r'r over the smallest eigenvalue.
    blur_of_c = len(points) * EPS * (np.abs(gamma - alpha) @ np.abs(points))
    rounding = (
        1e-14 * sum(map(abs, terms))
        + 2 * blur * float(solution @ solution)
        + 2 * float(np.abs(solution) @ (blur_of_c + np.abs(rest)))
        + float(rest @ rest) / smallest
    )
    return StrengtheningBound(sum(terms) - rounding, gamma, alpha, beta)


def _best_beta(points: Array, y: Array, gamma: Array, alpha: Array, bound_on_b: float) -> float:
    """Price beta > 0 that maximises -B^2 beta - c'Q(beta)^-1 c.

    Eliminating the features leaves -B^2 beta - k^2 / (beta + s0), best at beta + s0 = |k| / B.
    """
    gram, c = points.T @ (gamma[:, None] * points), points.T @ ((gamma - alpha) * y)
    features, cross = np.eye(len(gram) - 1) - gram[:-1, :-1], -gram[:-1, -1]
    if len(features) and np.linalg.eigvalsh(features)[0] <= 1e-14:
        return 1.0  # no price on b makes Q definite: the caller will find it is not
    solved = np.linalg.solve(features, np.column_stack([cross, c[:-1]]))
    s0 = -float(gram[-1, -1] + cross @ solved[:, 0])
    k = float(c[-1] - cross @ solved[:, 1])
    wanted = max(abs(k) / bound_on_b, 1e-9 * abs(s0))
    return max(NO_PRICE, wanted - s0)  # s0 <= 0, and 0 only where gamma = 0


def budget_bound(
    points: Array,
    y: Array,
    ratio: Array,
    spend: float,
    bound_on_b: float | None = None,
) -> tuple[float, float] | None:
    """Lower bound of the budget form and the penalty that proves it.

    For every penalty the SDP value minus penalty * spend is a lower bound; with gamma and alpha
    proportional to the penalty it is concave in it and is maximised numerically.

    Parameters
    ----------
    ratio : array (n,)
        v_i / T_i at the solution (0 where v_i <= 0).
    spend : float
        budget * n.
    """

    def loss(log_penalty: float) -> float:
        penalty = float(np.exp(log_penalty))
        found = strengthening_bound(points, y, penalty * ratio**2, penalty * ratio, bound_on_b)
        return np.inf if found is None else penalty * spend - found.value

    largest = float(np.linalg.eigvalsh(points.T @ ((ratio**2)[:, None] * points))[-1])
    if largest <= 0:
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
