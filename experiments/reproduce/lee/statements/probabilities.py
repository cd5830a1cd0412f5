"""Sections 3.1 and 4.1 of the review put to the test: signs, the grid of pi, border weights.

And what linear weighted machines tend to: the linear f of least expected weighted hinge loss.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from tightmargin.experiments.reproduce.lee.statements.statements import Finding, finding
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.probability.sign_rule import SignReading
from tightmargin.solvers.probability.simplex_grid import probabilities_at

SMALL = 1e-9
STEPS = 20  # of the grid of pi
NEAR = 0.01  # of a probability
PIS = np.arange(4, 17) / 20  # nearer to 0 and 1 the best linear f may be a constant


def _risks(weight_above: float, weight_below: float) -> tuple[Array, Array]:
    """Many f and weight_above [1 - f]_+ + weight_below [1 + f]_+ there.

    The risk is linear between -1 and 1 and grows beyond, so that a grid with both has the least.
    """
    f = np.linspace(-3, 3, 601)
    return f, weight_above * np.maximum(0, 1 - f) + weight_below * np.maximum(0, 1 + f)


def best_score(weight_above: float, weight_below: float) -> float:
    """The f of least risk."""
    f, risk = _risks(weight_above, weight_below)
    return float(f[risk.argmin()])


def least_loss(pi: float, p: float = 0.5) -> float:
    """Least expected loss of (10) over f where the chance of label +1 is p."""
    return float(_risks((1 - pi) * p, pi * (1 - p))[1].min())


def sign_findings() -> list[Finding]:
    """(9), (10), the ends of the grid, the criterion and half a step."""
    chances = np.linspace(0.005, 0.995, 100)  # none is a value of pi
    halves = sum(np.sign(best_score(p, 1 - p)) != np.sign(p - 0.5) for p in chances)
    pis = np.arange(1, STEPS) / STEPS
    signs = np.array(
        [[np.sign(best_score((1 - pi) * p, pi * (1 - p))) for pi in pis] for p in chances]
    )
    wrong = int((signs != np.sign(chances[:, None] - pis)).sum())
    reading = SignReading(pis, signs)
    away = float(np.abs(reading.probabilities - chances).max())
    table = reading.signs
    printed = (table[:, :-1] <= table[:, 1:]).sum(axis=1)
    meant = ((table[:, :-1] > 0) & (table[:, 1:] < 0)).sum(axis=1)
    free, inside = least_loss(0.0), least_loss(float(pis[0]))
    return [
        finding("sign", stated=0, ours=halves, holds=halves == 0),
        finding("weighted sign", stated=0, ours=wrong, holds=wrong == 0),
        finding("ends", stated=inside, ours=free, holds=free > 0, corrected=inside,
                corrected_holds=inside > 0),
        finding("criterion", stated=1, ours=float(printed.mean()), holds=bool((printed == 1).all()),
                corrected=float(meant.mean()), corrected_holds=bool((meant == 1).all())),
        finding("half step", stated=0.5 / STEPS, ours=away, holds=away <= 0.5 / STEPS + SMALL),
    ]  # fmt: skip


def expected_hinge(mean: float, spread: float) -> float:
    """E [1 - u]_+ for u ~ N(mean, spread^2): m Phi(m / spread) + spread phi(m / spread), m = 1 - u.

    Raises
    ------
    ValueError
        A spread that is not positive.
    """
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
    slopes, intercepts = linear_limit(PIS, sigma)
    zero = -intercepts / slopes
    away = float(np.abs(expit(2 * zero / sigma**2) - PIS).max())
    return [finding("linear", stated=0, ours=away, holds=away < NEAR, counterexample=away > NEAR)]


def border_findings() -> list[Finding]:
    """Theorems 4.1 and 4.2 at random p of three classes."""
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(3), size=200)
    missing, away = 0, 0.0
    for p in chances:
        # pi_1 p_1 = pi_2 p_2 = pi_3 p_3 and sum pi = 1: three equations for three weights.
        rows = np.array([[p[0], -p[1], 0.0], [p[0], 0.0, -p[2]], [1.0, 1.0, 1.0]])
        missing = max(missing, 3 - int(np.linalg.matrix_rank(rows, tol=1e-12)))
        border = np.linalg.solve(rows, [0.0, 0.0, 1.0])
        away = max(away, float(np.abs(probabilities_at(border[None, :])[0] - p).max()))
    return [
        finding("border", stated=0, ours=missing, holds=missing == 0),
        finding("recover", stated=0, ours=away, holds=away < SMALL),
    ]


def ideal_labels(weights: Array, p: Array) -> NDArray[np.int64]:
    """argmax_k pi_k p_k of every weight (W, K) for every p (m, K), with the barred classes out."""
    scores = np.where(weights > 0, weights * p[:, None, :], -np.inf)
    found: NDArray[np.int64] = scores.argmax(axis=2)
    return found
