"""The d.c. algorithm of the extended robust SVM, from many starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.nu.extended_robust import (
    extended_robust_step,
    given_up,
    offset_limit,
    robust_risk,
)
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.printing import Printed
from tightmargin.solvers.dispatch import solve

STEPS = 100
LESS = 1e-9  # of the size of the risk: a step that gains no more is the last one


@dataclass(frozen=True, eq=False, repr=False)
class RobustLocalOptimum(Printed):
    """The best end of the d.c. algorithm.

    Attributes
    ----------
    w, b : array (d,), float
        In the unit ball.
    risk : float
        nu CVaR - mu CVaR there, an upper bound on the optimum.
    outliers : array of int
        Points that are given up.
    ends : array
        Risks at the ends of all starts, in order.
    """

    w: Array
    b: float
    risk: float
    outliers: NDArray[np.intp]
    ends: Array


@unweighted
def robust_dca(
    data: TrainingData,
    *,
    nu: float,
    mu: float,
    intercept: str = "penalised",
    starts: int = 20,
    seed: int = 0,
) -> RobustLocalOptimum:
    """Run the d.c. algorithm from the machine that keeps all points, and from random outliers.

    A step gives up the mu n points with the worst errors and solves the convex problem that is
    left; the risk falls until the points stay the same. Where it ends is a local optimum, w = 0
    with a risk of 0 among them, and how far from the best is what extended_robust_svc proves.

    Parameters
    ----------
    data : TrainingData
        Without weights.
    nu, mu, intercept
        As for extended_robust_svc.
    starts : int
        At least 1: the first keeps all points, the others give up random ones.
    seed : int
        Of these.

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
    rng = np.random.default_rng(seed)
    best, ends = (np.inf, np.zeros(data.d), 0.0, np.zeros(data.n)), []
    for start in range(starts):
        q = np.zeros(data.n)
        if start:
            q[rng.choice(data.n, size=count, replace=False)] = 1 / data.n
        found = _descent(data, q, nu, mu, intercept)
        ends.append(found[0])
        best = min(best, found, key=lambda end: end[0])
    risk, w, b, q = best
    return RobustLocalOptimum(w, b, risk, np.flatnonzero(q), np.array(ends))


def _descent(
    data: TrainingData, q: Array, nu: float, mu: float, intercept: str
) -> tuple[float, Array, float, Array]:
    """Steps from given outliers until the risk falls no more."""
    model = extended_robust_step(data, q, nu=nu, intercept=intercept)
    risk, w, b = 0.0, np.zeros(data.d), 0.0
    for _ in range(STEPS):
        result = solve(model)
        if result.objective is None:
            break
        values = result.values
        at, offset = np.asarray(values["w"]), float(values["b"]) if "b" in values else 0.0
        found, q = robust_risk(data, at, offset, nu=nu, mu=mu)
        if found >= risk - LESS * max(abs(found), LESS):
            break
        risk, w, b = found, at, offset
        model = extended_robust_step(data, q, nu=nu, intercept=intercept)
    return risk, w, b, robust_risk(data, w, b, nu=nu, mu=mu)[1]
