"""0-1 and ramp problems by trying every choice of the binaries, one convex QP each (tests only).

Shares nothing with the active sets of solvers/algorithms: rows go to Clarabel, or to scipy's nnls.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tests.references.reference_solutions import least_beside, zero_one_optimum
from tests.references.strengthened_sdp import rows_of
from tightmargin.formulations import TrainingData

Array = NDArray[np.float64]

INFEASIBLE = ("PrimalInfeasible", "AlmostPrimalInfeasible")


def signed_rows(data: TrainingData, intercept: str) -> tuple[Array, Array]:
    """Rows r_i with u_i = <r_i, v>, and the price of each squared entry of v."""
    rows = rows_of(data, intercept)
    price = np.ones(rows.shape[1])
    if intercept == "free":
        price[-1] = 0.0
    return rows, price


def least(price: Array, cost: Array, rows: Array, right: Array) -> float:
    """Least sum price v^2 + <cost, v> with rows @ v >= right; inf if there is no such v."""
    size = max(float(np.abs(rows).max(initial=0.0)), 1e-300)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.diag(2 * price)), cost * size, sp.csc_matrix(-rows / size), -right,
        [clarabel.NonnegativeConeT(len(right))], settings,
    )  # fmt: skip
    solution = solver.solve()
    status = str(solution.status)
    if status in INFEASIBLE:
        return np.inf
    assert status in ("Solved", "AlmostSolved"), status
    return float(solution.obj_val) / size**2


def zero_one_optima(data: TrainingData, penalties: Sequence[float], intercept: str) -> list[float]:
    """Optimum for each penalty."""
    return [zero_one_optimum(data, intercept, penalty) for penalty in penalties]


def zero_one_beside(
    data: TrainingData,
    penalty: float,
    intercept: str,
    sides: tuple[Array, Array, Array],
    allowed: Callable[[Array], bool] = lambda z: True,
) -> float:
    """Optimum with low <= G v <= high besides, over every z that is allowed; inf if none is.

    v = (w, b), or w where there is no intercept.
    """
    rows, price = signed_rows(data, intercept)
    G, low, high = sides
    equal = low == high
    over, under = ~equal & (low > -np.inf), ~equal & (high < np.inf)
    system = np.vstack([rows, G[over], -G[under]])
    right = np.r_[np.ones(data.n), low[over], -high[under]]
    best = np.inf
    for choice in itertools.product((0.0, 1.0), repeat=data.n):
        z = np.array(choice)
        if penalty * z.sum() >= best or not allowed(z):
            continue
        asked = np.r_[z == 0, np.ones(len(right) - data.n, dtype=bool)]
        norm2 = least_beside(price, system[asked], right[asked], G[equal], high[equal])
        best = min(best, norm2 + penalty * z.sum())
    return best


def big_m_optimum(data: TrainingData, penalty: float, intercept: str, big_m: Array) -> float:
    """Optimum of norm2 + penalty sum z, u_i >= 1 - M_i z_i, over z in {0, 1}^n."""
    rows, price = signed_rows(data, intercept)
    best = np.inf
    for choice in itertools.product((0.0, 1.0), repeat=data.n):
        z = np.array(choice)
        if penalty * z.sum() < best:
            norm2 = least_beside(price, rows, 1 - big_m * z)
            best = min(best, norm2 + penalty * z.sum())
    return best


def ramp_optimum(data: TrainingData, C: float, intercept: str, big_m: Array | None) -> float:
    """Brooks' model over z in {0, 1}^n; big_m None drops the rows with z_i = 1 altogether."""
    rows, price = signed_rows(data, intercept)
    k, n = rows.shape[1], data.n
    prices, costs = np.r_[price / 2, np.zeros(n)], np.r_[np.zeros(k), np.full(n, C)]
    eye = np.eye(n)
    best = np.inf
    for choice in itertools.product((0.0, 1.0), repeat=n):
        z = np.array(choice)
        if 2 * C * z.sum() >= best:
            continue
        asked = np.flatnonzero(z == 0) if big_m is None else np.arange(n)
        right = 1 - (0.0 if big_m is None else big_m * z)
        system = np.vstack([
            np.hstack([rows, eye])[asked],
            np.hstack([np.zeros((n, k)), eye]),
            np.hstack([np.zeros((n, k)), -eye]),
        ])  # fmt: skip
        limits = np.r_[np.broadcast_to(right, n)[asked], np.zeros(n), np.full(n, -2.0)]
        best = min(best, least(prices, costs, system, limits) + 2 * C * z.sum())
    return best
