"""Partitions for segment Newton from fits of the C-SVM by libsvm, with a bracket on C.

C-SVM with C = 1 / gamma has the hyperplane of the rigorous SVM with H = ||w_C||, and ||w_C|| rises
with C (Bi & Vapnik 2003, Proposition 2). A loose fit is enough: its partition is followed to the
exact one. libsvm always has a limit on its iterations, as at large C it may need hours.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.rigorous_svm.path.scaled_problem import GRAM, Scaled, even_multipliers
from tightmargin.solvers.rigorous_svm.path.segment_newton import (
    CAPPED,
    FREE,
    ZERO,
    Followed,
    Labels,
    follow,
)

FITS = 30
ITERATIONS = 200_000  # of libsvm, in a fit
BAND = 1e-6  # of the cap: a multiplier of libsvm this near an end of the box is there
LOOSE, TIGHT = 1e-3, 1e-9  # tolerances of the first fit and of the last
LARGEST = 1e9  # C, for points in the unit ball
STEEPEST, LEAST_STEP = 16.0, 1.5  # factors on C while nothing is known above it
FLAT = 1e-6  # H sqrt(S) over sum alpha: alpha as good as solves (10), and H is out of reach
SETTLED = 1e-4  # relative: ||w_C|| has not risen by this much
PLATEAU = 64.0  # factor on C without a rise after which H is taken to be out of reach


@dataclass(frozen=True, eq=False)
class Fits:
    """What the fits came to.

    Attributes
    ----------
    found : Followed or None
        The optimum, where a partition led to it.
    alpha : array (n,)
        Of the last fit, on the scale [0, 1].
    count : int
    settled : bool
        ||w_C|| stays below H however large C: H seems to be at or above the limit.
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

    Parameters
    ----------
    norm_bound : float
        H on the scale of the problem.
    gamma : float, optional
        Where to begin; without it at the C that suits an H so small that sum alpha is at its most.
    deadline : float, optional
        Of time.perf_counter().
    patient : bool
        Go on when ||w_C|| has settled below H: then it is known to rise.
    most : int
        Fits.
    """
    even = even_multipliers(problem.y)
    length = float(np.linalg.norm(problem.factor.T @ (problem.y * even)))
    C = min(1 / (gamma or max(length / norm_bound, 1 / LARGEST)), LARGEST)
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
        over = norm_bound * length <= FLAT * float(alpha.sum()) or C >= LARGEST
        if norm < norm_bound and (over or (grew[0] * PLATEAU <= C and not patient)):
            return Fits(None, alpha, count, settled=True)
        below, above = (C, above) if norm < norm_bound else (below, C)
        if above <= below * (1 + 1e-9):
            break
        step = _next_C(C, 0.0 if still else norm / norm_bound, below, above)
        C = min(step, LARGEST)
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
