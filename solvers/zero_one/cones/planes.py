"""The best hyperplane along one direction, and the multipliers that prove a hyperplane's norm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.cones.cell_bounds import factors
from tightmargin.solvers.proofs.cones.conflict import Caps, Conflict
from tightmargin.solvers.proofs.cones.problem import TINY, ConeProblem

TOUCHING = 1e-6  # of the margin, and of the size of a side row
PAIRS = 4_000_000  # of thresholds of a band, and of points and multiples
TRIED = 100  # multiples, cheapest first, that kept points and counts may not allow

Plane = tuple[Array, float]


def plane_along(problem: ConeProblem, r: Array, half: Array) -> Plane | None:
    """The cheapest hyperplane of a direction of the cube, with the scale of the data.

    Side rows are met by some direction of the box around it, since its own may miss an equation.
    None where no multiple meets the kept points and the counts.
    """
    U = problem.points @ r
    m = square = float((r * r) @ problem.squares)
    if problem.free_norm:  # of two directions that give up as many, the one of less norm
        m /= 2 * problem.largest_norm
    low, high = (float(e[0]) for e in factors(problem, r[None], half[None], np.array([square])))
    if low > high or low == np.inf:
        return None
    t, b = (_band if problem.band else _ray)(problem, U, m, low, high)
    if not 0 < t < np.inf:
        return None
    v = t * r / problem.units
    w = v[: len(problem.centre)]
    if len(v) > len(w):
        b = float(v[-1])
    return w, b - float(problem.centre @ w)


def _ray(problem: ConeProblem, U: Array, m: float, low: float, high: float) -> tuple[float, float]:
    if problem.ramp:
        return _ramp(problem, U, m, low, high), 0.0
    t = np.maximum(np.r_[low, 1 / U[U > 0]], low)
    t = np.unique(t[(t > 0) & (t <= high)])
    order = np.argsort(U)
    lost = np.r_[0.0, np.cumsum(problem.prices[order])]
    costs = m * t * t + lost[np.searchsorted(U[order], (1 - TOUCHING**2) / t)]
    for best in t[np.argsort(costs, kind="stable")[:TRIED]].tolist():
        if _allowed(problem, best * U < 1 - TOUCHING**2):
            return best, 0.0
    return 0.0, 0.0


def _ramp(problem: ConeProblem, U: Array, m: float, low: float, high: float) -> float:
    """The best of the ends, and of where a point leaves its slope or a parabola turns."""
    t = 1 / np.abs(U[U != 0])
    t = t[np.isfinite(t)]
    few = max(1, PAIRS // max(1, len(U)))
    t = np.sort(t)[np.linspace(0, len(t) - 1, min(few, len(t))).astype(int)] if len(t) else t
    if m > 0:
        slopes = np.abs(U[None, :]) * t[:, None] < 1
        pull = (slopes * (problem.prices * U)).sum(axis=1)
        t = np.r_[t, pull[pull > 0] / (2 * m)]
    t = np.clip(np.r_[t, low, high if np.isfinite(high) else low], low, high)
    loss = np.clip(1 - t[:, None] * U[None, :], 0.0, 2.0) @ problem.prices
    return float(t[(m * t * t + loss).argmin()])


def _band(problem: ConeProblem, U: Array, m: float, low: float, high: float) -> tuple[float, float]:
    cut = problem.positives
    if not 0 < cut < len(U) or cut * (len(U) - cut) > PAIRS:
        return 0.0, 0.0
    sides, lost, counts = [], [], []
    for part in (slice(0, cut), slice(cut, None)):
        order = np.argsort(U[part], kind="stable")
        ends, prices, kept = U[part][order], problem.prices[part][order], problem.kept[part][order]
        sides.append(ends)
        above = np.cumsum(kept) - kept > 0  # a point that has to be kept would be given up
        lost.append(np.where(above, np.inf, np.cumsum(prices) - prices))
        counts.append(np.arange(len(ends)))
    width = sides[0][:, None] + sides[1][None, :]
    t = np.maximum(2 / np.where(width > 0, width, np.nan), low)
    values = m * t * t + lost[0][:, None] + lost[1][None, :]
    most = min((most for _, most in problem.counts), default=len(U))
    few = counts[0][:, None] + counts[1][None, :] <= most
    values = np.where((width > 0) & (t <= high) & few, values, np.inf)
    i, j = np.unravel_index(int(np.argmin(values)), values.shape)
    if not np.isfinite(values[i, j]):
        return 0.0, 0.0
    best = float(t[i, j])
    return best, best * float(sides[1][j] - sides[0][i]) / 2


def _allowed(problem: ConeProblem, given_up: NDArray[np.bool_]) -> bool:
    if (given_up & problem.kept).any():
        return False
    return all(int(given_up[points].sum()) <= most for points, most in problem.counts)


def conflict_of(
    problem: ConeProblem, w: Array, b: float, *, rows_alone: bool = False
) -> Conflict | None:
    """Multipliers of the points and side rows that a hyperplane touches.

    None where they are none, or say nothing of its norm.
    """
    given = problem.given
    y = _labels(problem)
    near = np.abs(y * (given.X @ w + b) - 1) <= TOUCHING
    touching = np.flatnonzero(near & (not rows_alone))
    active = _active(problem, w, b)
    signs = np.r_[y[touching], -np.ones(len(active))]
    columns = np.vstack([given.X[touching], given.weights[active]])
    of_b = np.r_[np.ones(len(touching)), given.of_b[active]]
    system, goal = _stationarity(problem, signs[:, None] * columns, signs * of_b, w, b)
    if not system.shape[1]:
        return None
    norms = np.linalg.norm(system, axis=0)
    norms[norms == 0] = 1.0
    size = float(np.linalg.norm(goal)) or 1.0
    alpha = nnls(system / norms, goal / size)[0] / norms * size
    of_points, of_rows = alpha[: len(touching)], np.zeros(len(problem.sides))
    of_rows[active] = alpha[len(touching) :]
    used = of_points > 0
    said = used.any() or of_rows.any()
    return Conflict(touching[used], of_points[used], of_rows) if said else None


def caps_of(problem: ConeProblem, w: Array, b: float) -> Caps | None:
    """Multipliers of the machine that a hyperplane of the ramp loss is the optimum of."""
    given = problem.given
    y = _labels(problem)
    u = y * (given.X @ w + b)
    capped = u < -1
    touching = np.flatnonzero(np.abs(u - 1) <= TOUCHING)
    active = _active(problem, w, b)
    alpha = np.where((u < 1) & ~capped, problem.prices, 0.0)
    alpha[touching] = 0.0
    of_rows = np.zeros(len(problem.sides))
    lines = np.vstack([y[:, None] * given.X, -given.weights])
    system, goal = _stationarity(problem, lines, np.r_[y, -given.of_b], w, b)
    n, free = len(y), np.r_[touching, len(y) + active]
    if len(free):
        rest = goal - system[:, :n] @ alpha
        unit = float(np.linalg.norm(rest)) or 1.0
        norms = np.linalg.norm(system[:, free], axis=0)
        scale = np.r_[problem.prices[touching] / unit, 1 / np.maximum(norms[len(touching) :], TINY)]
        ends = np.r_[np.ones(len(touching)), np.full(len(active), np.inf)]
        found = lsq_linear(system[:, free] * scale, rest / unit, (0.0, ends), "bvls", tol=1e-14)
        inside = np.clip(found.x, 0.0, ends)
        alpha[touching] = inside[: len(touching)] * problem.prices[touching]
        of_rows[active] = (inside * scale * unit)[len(touching) :]
    used = np.flatnonzero(alpha > 0)
    return Caps(used, alpha[used], of_rows, np.flatnonzero(capped))


def _active(problem: ConeProblem, w: Array, b: float) -> NDArray[np.intp]:
    """Side rows that a hyperplane touches."""
    given = problem.given
    reached = given.weights @ w + given.of_b * b
    scale = np.abs(given.weights) @ np.abs(w) + np.abs(given.of_b * b) + np.abs(problem.sides)
    return np.flatnonzero(np.abs(reached - problem.sides) <= TOUCHING * scale)


def _labels(problem: ConeProblem) -> Array:
    return np.where(np.arange(len(problem.prices)) < problem.positives, 1.0, -1.0)


def _stationarity(
    problem: ConeProblem, lines: Array, pull: Array, w: Array, b: float
) -> tuple[Array, Array]:
    """System and right side of  v = sum of multipliers times lines, with b's part as it is."""
    if problem.given.penalised:
        return np.vstack([lines.T, pull[None]]), np.r_[w, b]
    if problem.free_intercept:
        reach = float(np.abs(lines).max(initial=1e-300))
        return np.vstack([lines.T, reach * pull[None]]), np.r_[w, 0.0]
    return lines.T, w
