"""What linear weighted machines tend to: the linear f of least expected weighted hinge loss."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tightmargin.experiments.reproduce.lee.statements.statements import Finding, finding

Array = NDArray[np.float64]

NEAR = 0.01  # of a probability
PIS = np.arange(4, 17) / 20  # nearer to 0 and 1 the best linear f may be a constant


def expected_hinge(mean: float, spread: float) -> float:
    """E [1 - u]_+ for u ~ N(mean, spread^2): m Phi(m / spread) + spread phi(m / spread), m = 1 - u.

    Raises
    ------
    ValueError
        A spread that is not positive.
    """
    from scipy.special import ndtr

    if not spread > 0:
        raise ValueError(f"spread must be positive, got {spread!r}")
    m = 1 - mean
    density = math.exp(-((m / spread) ** 2) / 2) / math.sqrt(2 * math.pi)
    return float(m * ndtr(m / spread)) + spread * density


def linear_limit(pis: Array, sigma: float) -> tuple[Array, Array]:
    """Slopes and intercepts (k,) of the linear f of least risk at every pi.

    Two classes of equal weight, N(+-e_1, sigma^2 I). By symmetry f(x) = a x_1 + b, and the risk

        ((1 - pi) E [1 - f]_+ given +1  +  pi E [1 + f]_+ given -1) / 2

    is convex in (a, b).
    """
    from scipy.optimize import minimize

    found, start = [], np.array([1.0, 0.0])
    for pi in pis.tolist():

        def risk(f: Array, pi: float = pi) -> float:
            a, b = float(f[0]), float(f[1])
            spread = max(abs(a), 1e-9) * sigma
            return (1 - pi) * expected_hinge(a + b, spread) + pi * expected_hinge(a - b, spread)

        words = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 2000}
        start = minimize(risk, start, method="Nelder-Mead", options=words).x
        found.append(start)
    return np.array(found)[:, 0], np.array(found)[:, 1]


def limit_findings(sigma: float) -> list[Finding]:
    """|p - pi| at the place where the best linear f is 0; p = 1 / (1 + exp(-2 x_1 / sigma^2))."""
    from scipy.special import expit

    slopes, intercepts = linear_limit(PIS, sigma)
    zero = -intercepts / slopes
    away = float(np.abs(expit(2 * zero / sigma**2) - PIS).max())
    return [finding("linear", stated=0, ours=away, holds=away < NEAR, counterexample=away > NEAR)]
