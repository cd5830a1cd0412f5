"""The d.c. algorithm of the extended robust SVM, from many starts."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import (
    GramData,
    TrainingData,
    reads_dense_points,
    with_points,
)
from tightmargin.formulations.nu.extended_robust import (
    Share,
    extended_robust_step,
    given_up,
    offset_limit,
    robust_risk,
)
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.printing import Printed
from tightmargin.solvers.engines.running import checked_limits
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.solve import solve

STEPS = 100
LESS = 1e-9  # of the size of the risk: a step that gains no more is the last one


@dataclass(frozen=True, eq=False, repr=False)
class RobustLocalOptimum(Printed):
    """The best end of the d.c. algorithm.

    w, b (d,): in the unit ball.
    risk: nu CVaR - mu CVaR there, an upper bound on the optimum.
    outliers: points that are given up.
    ends: risks at the ends of the starts that were begun, in order.
    interrupted: whether Ctrl-C ended it.
    """

    w: Array
    b: float
    risk: float
    outliers: NDArray[np.intp]
    ends: Array
    interrupted: bool = False


@unweighted
@reads_dense_points
def robust_dca(
    data: TrainingData | GramData,
    *,
    nu: float,
    mu: Share,
    intercept: str = "penalised",
    starts: int = 20,
    seed: int = 0,
    time_limit: float | None = None,
) -> RobustLocalOptimum:
    """Run the d.c. algorithm from the machine that keeps all points, and from random outliers.

    A step gives up the mu n points with the worst errors and solves the convex problem that is
    left; the risk falls until the points stay the same. Where it ends is a local optimum, w = 0
    with a risk of 0 among them, and how far from the best is what extended_robust_svc proves.

    Parameters
    ----------
    data : TrainingData or GramData
        Without weights; of a kernel matrix its factor has the points.
    nu, mu, intercept
        As for extended_robust_svc.
    starts : int
        At least 1: the first keeps all points, the others give up random ones.
    seed : int
        Of these.
    time_limit : float, optional
        Seconds, after which no step is begun; what was found is returned, as after Ctrl-C.

    Raises
    ------
    ValueError
        Bad shares, no start, weighted points; a risk without end along a free intercept.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[2.0], [1.0], [-1.0], [-3.0]], [1, 1, -1, 1])
    >>> found = tm.search.robust_dca(data, nu=0.5, mu=0.25, intercept="none", starts=3)
    >>> round(found.risk, 6), found.outliers.tolist()
    (-0.25, [3])
    """
    one_of("intercept", intercept, INTERCEPTS)
    count = given_up(data, nu, mu)
    if intercept == "free":
        offset_limit(data, nu, mu)  # which raises where the risk has no end
    if isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1:
        raise ValueError(f"starts must be a whole number of at least 1, got {starts!r}")
    limits = checked_limits(time_limit=time_limit, seed=seed)
    end = math.inf if limits.time_limit is None else time.perf_counter() + limits.time_limit
    descent = _Descent(data, nu, mu, intercept, end)
    rng, interrupted = np.random.default_rng(limits.seed), False
    try:
        for start in range(starts):
            q = np.zeros(data.n)
            if start:
                q[rng.choice(data.n, size=count, replace=False)] = 1 / data.n
            descent.run(q)
            if time.perf_counter() >= end:
                break
    except KeyboardInterrupt:
        interrupted = True
    risk, w, b = descent.best
    outliers = np.flatnonzero(robust_risk(data, w, b, nu=nu, mu=mu)[1])
    return RobustLocalOptimum(w, b, risk, outliers, np.array(descent.ends), interrupted)


class _Descent:
    """Steps from given outliers, and the best machine of all, w = 0 to begin with.

    The steps are solved for points divided by a power of 2, so that the largest of their numbers is
    near 1 in whatever unit the data are; a penalised intercept is a column of them.
    """

    def __init__(
        self, data: TrainingData | GramData, nu: float, mu: Share, intercept: str, end: float
    ) -> None:
        points = np.asarray(augmented(data, "none" if intercept == "free" else intercept))
        self.exponent = int(math.frexp(float(np.abs(points).max(initial=0.0)))[1])
        self.scaled = with_points(data, np.ldexp(points, -self.exponent))
        self.data, self.nu, self.mu, self.intercept, self.end = data, nu, mu, intercept, end
        self.best: tuple[float, Array, float] = (0.0, np.zeros(data.d), 0.0)
        self.ends: list[float] = []

    def run(self, q: Array) -> None:
        """Steps until the risk falls no more."""
        self.ends.append(0.0)
        least = math.ldexp(LESS, self.exponent)
        for _ in range(STEPS):
            machine = self._step(q)
            if machine is None:
                return
            risk, q = robust_risk(self.data, *machine, nu=self.nu, mu=self.mu)
            if risk >= self.ends[-1] - LESS * max(abs(risk), least):
                return
            self.ends[-1] = risk
            if risk < self.best[0]:
                self.best = risk, *machine
            if time.perf_counter() >= self.end:
                return

    def _step(self, q: Array) -> tuple[Array, float] | None:
        """w and b of the convex problem; None where it has no optimum that is known."""
        mode = "free" if self.intercept == "free" else "none"
        result = solve(extended_robust_step(self.scaled, q, nu=self.nu, intercept=mode), live=False)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if result.objective is None:
            return None
        w = np.asarray(result.values["w"])
        if self.intercept == "free":
            return w, math.ldexp(float(result.values["b"]), self.exponent)
        return (w[:-1], float(w[-1])) if self.intercept == "penalised" else (w, 0.0)
