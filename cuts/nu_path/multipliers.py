"""Multipliers of the margin rows at a solution of the extended nu-SVC, from its w alone.

At a local optimum w of norm 1 the point of U that is exposed by w and parallel to it exists, and
the multipliers m with -sum_i m_i y_i x_i = h(w) w are those of the margin rows (Perez-Cruz et al.
2003, (32), where alpha = n m and lambda = -n h(w) / sqrt(2)). Sorting gives one exposed point; the
parallel one shares the mass of the ties otherwise, which a small linear program over the ties
finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.polytope import Ties, ties_at
from tightmargin.formulations.nu.reduced_hull import ReducedHulls, support_value

# A corner ties to 1e-12 of the scores, a solution of an interior point method to 1e-5.
TIES = (1e-11, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
STATIONARY = 1e-9  # of the longest point


@dataclass(frozen=True, eq=False)
class Stationarity:
    """Multipliers at a weight.

    multipliers (n,): m_i in [0, c_i], each group of points with its mass.
    residual: max |sum_i m_i y_i x_i + h(w) w| over the longest point: 0 at a stationary w, up to
        how well w is known.
    """

    multipliers: Array
    residual: float

    @property
    def support(self) -> NDArray[np.bool_]:
        """Which points are support vectors (n,)."""
        return self.multipliers > 0


def recover_multipliers(hulls: ReducedHulls, w: ArrayLike) -> Stationarity:
    """Multipliers whose point of U is as nearly parallel to w (k,) as the ties at w allow.

    Points count as tied within the least tolerance that makes w stationary, or within the one
    that comes nearest.
    """
    weight = np.asarray(w, dtype=np.float64) / np.linalg.norm(w)
    size = float(np.linalg.norm(hulls.signed, axis=1).max())
    best: Stationarity | None = None
    for tolerance in TIES:
        found = _from_ties(hulls, weight, ties_at(hulls, weight, tolerance=tolerance), size)
        if best is None or found.residual < best.residual:
            best = found
        if best.residual <= STATIONARY:
            break
    assert best is not None
    return best


def _from_ties(hulls: ReducedHulls, w: Array, ties: tuple[Ties, ...], size: float) -> Stationarity:
    """The least largest residual over the multipliers of the ties."""
    multipliers = np.zeros(len(hulls.caps))
    for group in ties:
        multipliers[group.tail] = hulls.caps[group.tail]
    tied = np.concatenate([group.tied for group in ties])
    aim = -support_value(hulls, w) * w - multipliers @ hulls.signed
    if len(tied):
        rows, k = hulls.signed[tied].T / size, hulls.k
        within = -np.ones((k, 1))
        masses = np.array([np.isin(tied, group.tied).astype(float) for group in ties])
        # The largest multiplier is 1 in the units of the program: masses may be tiny.
        unit = float(hulls.caps[tied].max())
        answer = linprog(
            np.r_[np.zeros(len(tied)), 1.0],
            A_ub=np.vstack([np.hstack([rows, within]), np.hstack([-rows, within])]),
            b_ub=np.r_[aim, -aim] / (size * unit),
            A_eq=np.hstack([masses, np.zeros((len(ties), 1))]),
            b_eq=np.array([group.left for group in ties]) / unit,
            bounds=[*((0.0, cap / unit) for cap in hulls.caps[tied]), (0.0, None)],
            method="highs",
        )
        if answer.status != 0:
            raise RuntimeError(f"the linear program for the multipliers ended: {answer.message}")
        multipliers[tied] = np.clip(answer.x[:-1] * unit, 0.0, hulls.caps[tied])
    residual = float(np.abs(aim - multipliers[tied] @ hulls.signed[tied]).max()) / size
    return Stationarity(multipliers, residual)
