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
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tightmargin.formulations.common.margin_levels import hinge_intercept
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData

# --- A problem of the rigorous SVM with its points around 0 and inside the unit ball -------------
# The free intercept makes a shift of all points harmless, and a change of unit divides H: with z_i
# = (x_i - mean) / reach,
#     E(w, b) on x with ||w|| <= H   =   E(reach w, b + <w, mean>) on z with ||.|| <= H reach
# Multipliers on the scale [0, 1] are the same on both, so that only they and w have to go back.


GRAM = 4000  # points up to which all inner products are kept


@dataclass(frozen=True, eq=False)
class Scaled:
    """Centred points in the unit ball.

    factor (n, d): z.
    y (n,).
    centre (d,): the mean that was taken off.
    reach: largest ||x_i - mean||; 0 where all points lie in one place (then z = 0).
    kernel (n, n): kernel matrix that came with the data, neither shifted nor divided.
    """

    factor: Array
    y: Array
    centre: Array
    reach: float
    kernel: Array | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return self.factor.shape[0]

    @property
    def rank(self) -> int:
        """Most independent directions the centred points can have."""
        return min(self.factor.shape[1], self.n - 1)

    @cached_property
    def gram(self) -> Array:
        """Inner products of all pairs; made once, and only where something asks for them."""
        return self.factor @ self.factor.T

    def products(self, chosen: NDArray[np.intp]) -> Array:
        """Inner products of some points with each other."""
        if self.factor.shape[1] < self.n / 2 or self.n > GRAM:
            rows = self.factor[chosen]
            return rows @ rows.T
        return self.gram.take(chosen, axis=0).take(chosen, axis=1)

    @property
    def smaller(self) -> int:
        """Number of points in the smaller class: half the largest loss, and half of sum alpha."""
        positive = int((self.y > 0).sum())
        return min(positive, self.n - positive)

    def bound(self, norm_bound: float) -> float:
        """H on this scale."""
        return norm_bound * self.reach

    def hyperplane(self, w: Array, b: float) -> tuple[Array, float]:
        """(w, b) of this scale in the coordinates of the data."""
        original = w / self.reach
        return original, b - float(original @ self.centre)


def scaled(data: TrainingData | GramData) -> Scaled:
    """Shift and shrink the points of a problem."""
    centre = data.factor.mean(axis=0)
    moved = data.factor - centre
    reach = float(np.sqrt(np.einsum("ij,ij->i", moved, moved).max(initial=0.0)))
    kernel = data.gram if isinstance(data, GramData) else None
    return Scaled(moved / reach if reach > 0 else moved, data.y, centre, reach, kernel)


def even_multipliers(y: Array) -> Array:
    """Multipliers (n,) that are 1 in the smaller class and equal in the larger one.

    They are feasible, their sum is the largest there is, and their direction joins the class
    means; the start of every method, as alpha = 0 is a false stationary point of the dual.
    """
    positive = y > 0
    counts = np.where(positive, positive.sum(), (~positive).sum())
    return np.asarray(counts.min() / counts, dtype=np.float64)


Labels = NDArray[np.int8]

ZERO, FREE, CAPPED = 0, 1, 2
ROUNDS = 60
PATIENCE = 6  # rounds without a new least number of changes
ROOTLESS = 8  # rounds on partitions where no gamma gives ||w|| = H
STRIDE = 16.0  # factor by which gamma may change in a round
BOX = 1e-11  # what a multiplier may leave the box by, and
MARGIN = 1e-10  # a margin miss 1 by, relative to 1 + H: rounding of the linear system
PIVOT = 1e-4  # of the largest pivot: a smaller one is near singular
LARGEST_CANCELLING = 1e8  # of the right-hand sides: entries of a solution that cancel
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

    alpha (n,).
    w (d,): on the scale of the problem.
    labels (n,).
    rounds: linear systems that were solved.
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
        if largest <= LARGEST_CANCELLING * max(1.0, float(np.abs(right).max())):
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

    norm_bound: H on the scale of the problem.
    labels (n,): partition of a neighbouring problem, or a guess.
    gamma: of that problem.
    deadline: of time.perf_counter().
    Returns: none where the method does not end: cycles, more free points than the points have
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


# --- Partitions for segment Newton from fits of the C-SVM by libsvm, with a bracket on C ---------
# C-SVM with C = 1 / gamma has the hyperplane of the rigorous SVM with H = ||w_C||, and ||w_C||
# rises with C (Bi & Vapnik 2003, Proposition 2). A loose fit is enough: its partition is followed
# to the exact one. libsvm always has a limit on its iterations, as at large C it may need hours.


FITS = 30
ITERATIONS = 200_000  # of libsvm, in a fit
BAND = 1e-6  # of the cap: a multiplier of libsvm this near an end of the box is there
LOOSE, TIGHT = 1e-3, 1e-9  # tolerances of the first fit and of the last
LARGEST_PENALTY = 1e9  # C, for points in the unit ball
STEEPEST, LEAST_STEP = 16.0, 1.5  # factors on C while nothing is known above it
FLAT = 1e-6  # H sqrt(S) over sum alpha: alpha as good as solves (10), and H is out of reach
SETTLED = 1e-4  # relative: ||w_C|| has not risen by this much
PLATEAU = 64.0  # factor on C without a rise after which H is taken to be out of reach


@dataclass(frozen=True, eq=False)
class Fits:
    """What the fits came to.

    found: the optimum, where a partition led to it.
    alpha (n,): of the last fit, on the scale [0, 1].
    settled: ||w_C|| stays below H however large C: H seems to be at or above the limit.
    """

    found: Followed | None
    alpha: Array
    count: int
    settled: bool = False


def by_fits(
    problem: Scaled,
    norm_bound: float,
    gamma: float | None = None,
    deadline: float | None = None,
    patient: bool = False,
    most: int = FITS,
) -> Fits:
    """Fit at C = 1 / gamma, follow the partition to ||w|| = H, and move C while that fails.

    norm_bound: H on the scale of the problem.
    gamma: where to begin; without it at the C that suits an H so small that sum alpha is at its
        most.
    deadline: of time.perf_counter().
    patient: go on when ||w_C|| has settled below H: then it is known to rise.
    most: fits.
    """
    even = even_multipliers(problem.y)
    length = float(np.linalg.norm(problem.factor.T @ (problem.y * even)))
    C = min(1 / (gamma or max(length / norm_bound, 1 / LARGEST_PENALTY)), LARGEST_PENALTY)
    below, above, tolerance, alpha, count = 0.0, np.inf, LOOSE, even, 0
    grew = (C, 0.0)  # where ||w_C|| last rose, and to what
    for count in range(1, most + 1):
        if deadline is not None and time.perf_counter() > deadline:
            return Fits(None, alpha, count - 1)
        alpha = _fit(problem, C, tolerance)
        found = follow(problem, norm_bound, labels_of(alpha, BAND), 1 / C, deadline)
        if found is not None:
            return Fits(found, alpha, count)
        length = float(np.linalg.norm(problem.factor.T @ (problem.y * alpha)))
        norm = C * length
        still = norm <= grew[1] * (1 + SETTLED)
        grew = grew if still else (C, norm)
        over = norm_bound * length <= FLAT * float(alpha.sum()) or C >= LARGEST_PENALTY
        if norm < norm_bound and (over or (grew[0] * PLATEAU <= C and not patient)):
            return Fits(None, alpha, count, settled=True)
        below, above = (C, above) if norm < norm_bound else (below, C)
        if above <= below * (1 + 1e-9):
            break
        step = _next_C(C, 0.0 if still else norm / norm_bound, below, above)
        C = min(step, LARGEST_PENALTY)
        tolerance = max(tolerance / 2, TIGHT)
    return Fits(None, alpha, count)


def labels_of(alpha: Array, band: float) -> Labels:
    """Partition of multipliers on the scale [0, 1]."""
    inner = np.where(alpha >= 1 - band, CAPPED, FREE)
    return np.where(alpha <= band, ZERO, inner).astype(np.int8)


def _next_C(C: float, ratio: float, below: float, above: float) -> float:  # noqa: N802
    """Within the bracket, or towards its open end by the ratio of ||w_C|| to H."""
    if above < np.inf and below > 0:
        return float(np.sqrt(below * above))
    if below == 0:
        return C / min(max(ratio, LEAST_STEP), STEEPEST)
    return C * (min(max(ratio**-2, LEAST_STEP), STEEPEST) if ratio > 0 else STEEPEST)


def _fit(problem: Scaled, C: float, tolerance: float) -> Array:
    """Multipliers (n,) of the C-SVM, divided by C."""
    from sklearn.svm import SVC

    points, unit = problem.factor, 1.0
    if problem.kernel is not None:  # libsvm does not mind where 0 is
        points, unit = problem.kernel, problem.reach**2
    elif problem.n <= GRAM:
        points = problem.gram
    kernel = "linear" if points is problem.factor else "precomputed"
    machine = SVC(C=C / unit, kernel=kernel, tol=tolerance, cache_size=500, max_iter=ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of max_iter: the partition is judged by what it leads to
        machine.fit(points, problem.y)
    alpha = np.zeros(problem.n)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0]) * (unit / C)
    return alpha
