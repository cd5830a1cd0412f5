"""Segment Newton: the rigorous SVM on a partition of its multipliers, and from one to the next.

Call alpha_i in [0, 1] zero, free, or at its cap. On a partition the C-SVM with C = 1 / gamma is
linear algebra: free points lie on the margin, so that with K = F F'

    K_FF (y o v)_F + b 1 = (1, -<K_FU, y_U>)      sum_F y_i v_i = (0, -sum_U y_i)

gives alpha = v1 + gamma v0, F'(y o alpha) = p1 + gamma p0, b = b0 + b1 / gamma, and ||w|| = H is
the quadratic equation ||p1 + gamma p0||^2 = gamma^2 H^2. At its root the points whose multiplier
left the box, or whose margin is on the wrong side of 1, change their label (a primal-dual active
set method; Hintermueller, Ito & Kunisch, SIAM J. Optimization 13, 2003). Where nothing changes the
optimality conditions hold to rounding. It need not end so: then there is no answer, and never a
wrong one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tightmargin.formulations.common.intercept_recovery import hinge_intercept
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.rigorous_svm.path.scaled_problem import Scaled

Labels = NDArray[np.int8]

ZERO, FREE, CAPPED = 0, 1, 2
ROUNDS = 60
PATIENCE = 6  # rounds without a new least number of changes
ROOTLESS = 8  # rounds on partitions where no gamma gives ||w|| = H
STRIDE = 16.0  # factor by which gamma may change in a round
BOX = 1e-11  # what a multiplier may leave the box by, and
MARGIN = 1e-10  # a margin miss 1 by, relative to 1 + H: rounding of the linear system
PIVOT = 1e-4  # of the largest pivot: a smaller one is near singular
LARGEST = 1e8  # of the right-hand sides: entries of a solution that cancel
RESIDUAL = 1e-13  # of the size of what a row of the system adds up
VANISHED = 1e-9  # of H^2: ||p1||^2 / gamma^2 below which the root belongs to H above the limit


@dataclass(frozen=True, eq=False)
class Segment:
    """alpha = v1 + gamma v0, its direction p1 + gamma p0, and b = b0 + b1 / gamma.

    b0 and b1 are None without a free point.
    """

    v0: Array
    v1: Array
    p0: Array
    p1: Array
    b0: float | None
    b1: float | None

    def gamma(self, norm_bound: float) -> float | None:
        """The gamma > 0 at which ||w|| = H while it falls in gamma; None if there is none.

        With u = 1 / gamma: ||p0||^2 - H^2 + 2 <p0, p1> u + ||p1||^2 u^2 = 0, at its larger root.
        """
        square, cross = float(self.p1 @ self.p1), float(self.p0 @ self.p1)
        rest = float(self.p0 @ self.p0) - norm_bound**2
        inside = cross * cross - square * rest
        if square <= 0 or inside < 0:
            return None
        root = math.sqrt(inside)
        # The larger root, without a difference of nearly equal numbers.
        u = (root - cross) / square if cross <= 0 else -rest / (root + cross)
        if u <= 0 or square * u * u <= VANISHED * norm_bound**2:
            return None
        return 1 / u


@dataclass(frozen=True, eq=False)
class Followed:
    """Where a partition was followed to: an optimum, as far as the linear algebra can tell.

    Attributes
    ----------
    alpha : array (n,)
    w : array (d,)
        On the scale of the problem.
    b : float
    gamma : float
    labels : array (n,)
    rounds : int
        Linear systems that were solved.
    """

    alpha: Array
    w: Array
    b: float
    gamma: float
    labels: Labels
    rounds: int


def segment(problem: Scaled, labels: Labels) -> Segment:
    """Solve the linear system of a partition; by least squares where it is singular."""
    factor, y = problem.factor, problem.y
    free, capped = np.flatnonzero(labels == FREE), np.flatnonzero(labels == CAPPED)
    pull = factor[capped].T @ y[capped]
    v0, v1 = np.zeros(problem.n), np.zeros(problem.n)
    v1[capped] = 1.0
    if not len(free):
        return Segment(v0, v1, np.zeros_like(pull), pull, None, None)
    rows, k = factor[free], len(free)
    right = np.zeros((k + 1, 2))
    right[:k, 0] = y[free]
    right[:k, 1] = -(rows @ pull)
    right[k, 1] = -y[capped].sum()
    solution = _solved(problem.products(free), right, problem.rank)
    signed = solution[:k]
    v0[free], v1[free] = (signed * y[free, None]).T
    p0, p1 = rows.T @ signed[:, 0], rows.T @ signed[:, 1] + pull
    return Segment(v0, v1, p0, p1, float(solution[k, 0]), float(solution[k, 1]))


def _solved(products: Array, right: Array, rank: int) -> Array:
    """Solution of [products 1; 1' 0] x = right, by least squares where that is singular.

    In d dimensions d + 1 points in general position have singular products, and the system is not.
    """
    k = len(products)
    found = _by_elimination(products, right) if k <= rank else None
    if found is not None:
        return found
    system = np.ones((k + 1, k + 1))
    system[:k, :k], system[k, k] = products, 0.0
    if k <= rank + 1:
        try:
            exact = np.asarray(np.linalg.solve(system, right))
        except np.linalg.LinAlgError:
            exact = np.full_like(right, np.inf)
        largest = float(np.abs(exact).max())
        if largest <= LARGEST * max(1.0, float(np.abs(right).max())):
            size = np.abs(right).max() + np.abs(system).max() * largest
            if np.abs(system @ exact - right).max() <= RESIDUAL * k * size:
                return exact
    return np.asarray(np.linalg.lstsq(system, right, rcond=1e-12)[0])


def _by_elimination(products: Array, right: Array) -> Array | None:
    """The same by a Cholesky factor of the products, where they are far from singular."""
    k = len(products)
    try:
        factor, lower = scipy.linalg.cho_factor(products, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diagonal(factor)
    if pivots.min() <= PIVOT * pivots.max():
        return None
    columns = np.column_stack([right[:k], np.ones(k)])
    parts = scipy.linalg.cho_solve((factor, lower), columns, check_finite=False)
    b = (parts[:, :2].sum(axis=0) - right[k]) / parts[:, 2].sum()
    return np.vstack([parts[:, :2] - parts[:, 2:] * b, b])


def follow(
    problem: Scaled,
    norm_bound: float,
    labels: Labels,
    gamma: float,
    deadline: float | None = None,
) -> Followed | None:
    """Go from a partition to the one of the optimum at ||w|| = H.

    Parameters
    ----------
    norm_bound : float
        H on the scale of the problem.
    labels : array (n,)
        Partition of a neighbouring problem, or a guess.
    gamma : float
        Of that problem.
    deadline : float, optional
        Of time.perf_counter().

    Returns
    -------
    Followed or None
        None where the method does not end: cycles, more free points than the points have
        dimensions, gamma that falls to 0.
    """
    factor, y = problem.factor, problem.y
    least, waited, rootless = problem.n + 1, 0, 0
    for rounds in range(1, ROUNDS + 1):
        if deadline is not None and time.perf_counter() > deadline:
            return None
        part = segment(problem, labels)
        root = part.gamma(norm_bound)
        gamma, at_root = _next_gamma(part, root, gamma, norm_bound)
        alpha = part.v1 + gamma * part.v0
        w = (part.p1 + gamma * part.p0) / gamma
        scores = factor @ w
        if part.b0 is None or part.b1 is None:
            b = hinge_intercept(scores, y, np.ones(problem.n))
        else:
            b = part.b0 + part.b1 / gamma
        margins = y * (scores + b)
        changed = _relabelled(labels, alpha, margins, MARGIN * (1 + norm_bound))
        unbalanced = part.b0 is None and abs(float(y @ part.v1)) > 0.5
        if unbalanced:
            changed = _with_ends_free(changed, scores, y)
        changes = int((changed != labels).sum())
        if changes == 0 and at_root and not unbalanced:
            return Followed(np.clip(alpha, 0, 1), w, b, gamma, labels, rounds)
        least, waited = (changes, 0) if changes < least else (least, waited + 1)
        rootless += root is None
        too_many = int((changed == FREE).sum()) > problem.rank + 1
        if waited >= PATIENCE or rootless > ROOTLESS or too_many:
            return None
        labels = changed
    return None


def _next_gamma(
    part: Segment, root: float | None, gamma: float, norm_bound: float
) -> tuple[float, bool]:
    """The root, or a step towards where it should be, and whether it is the root."""
    if root is None:
        length = float(np.linalg.norm(part.p1 + gamma * part.p0)) / gamma
        return (gamma * 2, False) if length > norm_bound else (gamma / 2, False)
    near = min(max(root, gamma / STRIDE), gamma * STRIDE)
    return near, near == root


def _relabelled(labels: Labels, alpha: Array, margins: Array, slack: float) -> Labels:
    changed = labels.copy()
    free = labels == FREE
    changed[free & (alpha < -BOX)] = ZERO
    changed[free & (alpha > 1 + BOX)] = CAPPED
    changed[(labels == ZERO) & (margins < 1 - slack)] = FREE
    changed[(labels == CAPPED) & (margins > 1 + slack)] = FREE
    return changed


def _with_ends_free(labels: Labels, scores: Array, y: Array) -> Labels:
    """Free the points at both ends of the interval of intercepts: y'alpha = 0 needs one."""
    positive = int((y > 0).sum())
    ends = np.argpartition(y - scores, (positive - 1, positive))[positive - 1 : positive + 1]
    changed = labels.copy()
    changed[ends] = FREE
    return changed
