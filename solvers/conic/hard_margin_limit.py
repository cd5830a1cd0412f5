"""Where a large penalty keeps every point: the hard-margin machine is the SDP's own optimum.

Let w~ = sum_i alpha_i s_i (s_i = y_i x~_i, alpha >= 0) have <w~, s_i> >= 1 everywhere, with
equality where alpha_i > 0. With gamma_i = alpha_i^2 / penalty the dual function of the SDP is

    ||w~||^2 + 2 sum alpha_i (1 - u_i) - sum gamma_i (1 - u_i)^2,     alpha_i (1 - u_i) = 0,

stationary at w~, so that the bound is ||w~||^2 itself as soon as I - sum gamma_i s_i s_i' is
positive definite. v_i / T_i is 0 / 0 for every point there, and implies no multiplier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.conic.low_rank import LowRank

SEPARATED = 1e-12  # of the squared size of the points: a margin that is none


@dataclass(frozen=True, eq=False)
class HardMargin:
    """The hard-margin machine and its multipliers.

    Attributes
    ----------
    F : array (1, k)
        w~ with <w~, s_i> >= 1 for every i.
    alpha : array (n,)
    """

    F: Array
    alpha: Array


def hard_margin_limit(problem: LowRank) -> HardMargin | None:
    """The machine of least norm that keeps every point; None where there is none.

    The least ||S'beta||^2 + r^2 (sum beta - 1)^2 over beta >= 0 has, with p = S'beta,
    <p, s_i> >= r^2 (1 - sum beta), with equality where beta_i > 0.
    """
    signed = problem.signed
    size = float(np.sqrt((signed**2).sum(axis=1).max()))
    if size == 0:
        return None
    rows = np.vstack([signed.T, np.full(problem.n, size)])
    try:
        beta, _ = nnls(rows, np.append(np.zeros(problem.k), size), maxiter=10 * problem.n)
    except RuntimeError:  # no end in sight: then there is no proof from here
        return None
    margin = size**2 * (1 - float(beta.sum()))
    if margin <= SEPARATED * size**2:
        return None
    weight = signed.T @ (beta / margin)
    least = float((signed @ weight).min())
    return None if least <= 0 else HardMargin(weight[None] / min(least, 1.0), beta / margin)
