"""Class probabilities against the truth of a generator, as tasks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from tightmargin.experiments.data.gaussian_classes import (
    gaussian_class_data,
    gaussian_class_probabilities,
)
from tightmargin.experiments.data.preparation import in_two
from tightmargin.experiments.reproduce.lee.statements.statements import Finding, finding
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.solvers.probability.binary import SignReading, class_probabilities
from tightmargin.solvers.probability.multiclass import (
    EXACT,
    border_weights,
    direct_probabilities,
    probabilities_at,
    rainbow_cells,
    simplex_grid,
)

CHECKS, TWO, THREE = "checks", "two", "three"
LIMIT, IDEAL, SHOWN = "limit", "ideal", "shown"
STEPS = (10, 20, 40, 80)  # of the grid of two classes: each of its values is among the last ones
SIGMA, DIMENSION = 1.2, 2
NEW = 2000  # points at which estimates are compared with the truth
NEW_IDEAL = 300
SMALL = 1e-9
SIGN_STEPS = 20  # of the grid of pi
NEAR = 0.01  # of a probability
PIS = np.arange(4, 17) / 20  # nearer to 0 and 1 the best linear f may be a constant


def ridge_of(n: int) -> float:
    """lambda = 1 / (2 n), the soft margin with C = 1: it falls as the theorem asks for."""
    return 1 / (2 * n)


def work(what: str, *words: Any) -> dict[str, Any]:
    """One task, by its first word."""
    if what == CHECKS:
        found = [*sign_findings(), *limit_findings(SIGMA), *border_findings()]
        return {"task": [what], "findings": found}
    runs: dict[str, Callable[..., dict[str, Any]]] = {
        TWO: _two, LIMIT: _limit, THREE: _three, IDEAL: _ideal, SHOWN: _shown,
    }  # fmt: skip
    return {"task": [what, *words], **runs[what](*words)}


def sample(n: int, classes: int, seed: int) -> MulticlassData:
    """n points of gaussian classes."""
    return gaussian_class_data(n=n, d=DIMENSION, classes=classes, sigma=SIGMA, seed=seed)


def new_points(classes: int, seed: int, m: int = NEW) -> tuple[Array, Array]:
    """Fresh points (m, d) of the same classes and their probabilities (m, K)."""
    fresh = gaussian_class_data(n=m, d=DIMENSION, classes=classes, sigma=SIGMA, seed=seed, sample=1)
    return fresh.X, gaussian_class_probabilities(fresh.X, classes=classes, sigma=SIGMA)


def _two(n: int, seed: int) -> dict[str, Any]:
    """Both classes, weighted machines of the finest grid; coarser grids are among its values."""
    fitted = class_probabilities(in_two(sample(n, 2, seed)), ridge=ridge_of(n), grid=STEPS[-1] - 1)
    X, truth = new_points(2, seed)
    return {
        "errors": errors_by_grid(fitted.decision_values(X), truth[:, 0]),
        "verdict": str(fitted.verdict),
        "gap": float(max(row.gap / row.objective for row in fitted.rows)),
    }  # fmt: skip


def _limit() -> dict[str, Any]:
    """The same by the linear machines of the whole distribution, for no ridge."""
    X, truth = new_points(2, 0)
    pis = np.arange(1, STEPS[-1]) / STEPS[-1]
    slopes, intercepts = linear_limit(pis, SIGMA)
    values = X[:, :1] * slopes + intercepts
    return {"errors": errors_by_grid(values, truth[:, 0])}


def errors_by_grid(values: Array, truth: Array) -> dict[str, dict[str, float]]:
    """Errors of the estimates by N, from decision values (m, 79) on the finest grid."""
    finest, found = STEPS[-1], {}
    for N in STEPS:
        kept = [j for j in range(finest - 1) if (j + 1) * N % finest == 0]
        read = SignReading((np.array(kept) + 1) / finest, values[:, kept])
        away = np.abs(read.probabilities - truth)
        found[str(N)] = {
            "mean": float(away.mean()), "largest": float(away.max()),
            "turned": float(1 - read.monotone.mean()),
        }  # fmt: skip
    return found


def _three(machine: str, n: int, N: int, seed: int) -> dict[str, Any]:
    """Three classes by the direct scheme."""
    fitted = direct_probabilities(sample(n, 3, seed), ridge=ridge_of(n), grid=N, machine=machine)
    X, truth = new_points(3, seed)
    read = fitted.reading(X)
    away = np.abs(read.probabilities - truth)
    return {
        "mean": float(away.mean()), "largest": float(away.max()),
        "turned": float((read.cells > 1).mean()), "converged": fitted.converged,
        "odd": bool((read.cells % 2 == 1).all()),
        "gap": float(fitted.gaps.max()) if machine == EXACT and fitted.gaps is not None else None,
    }  # fmt: skip


def _ideal(N: int) -> dict[str, Any]:
    """The same from the labels argmax_k pi_k p_k, of which the machines are estimates."""
    p = new_points(3, 0, NEW_IDEAL)[1]
    grid = simplex_grid(3, N)
    rainbow = rainbow_cells(grid, ideal_labels(grid.weights, p))
    found = probabilities_at(border_weights(grid, rainbow))
    away = np.abs(found - p)
    return {
        "mean": float(away.mean()), "largest": float(away.max()),
        "cells": int(rainbow.sum(axis=1).max()), "odd": bool((rainbow.sum(axis=1) % 2 == 1).all()),
    }  # fmt: skip


def _shown(n: int, N: int, seed: int) -> dict[str, Any]:
    """Machines for the picture, with the point whose probabilities are nearest to one another."""
    fitted = direct_probabilities(sample(n, 3, seed), ridge=ridge_of(n), grid=N)
    X, truth = new_points(3, seed, 200)
    chosen = int(np.abs(truth - np.array([0.5, 0.3, 0.2])).sum(axis=1).argmin())
    return {
        "B": fitted.B.tolist(), "b": fitted.b.tolist(), "x": X[chosen].tolist(),
        "truth": truth[chosen].tolist(), "truncation": fitted.truncation,
        "complete": fitted.complete, "converged": fitted.converged,
    }  # fmt: skip


# --- sections 3.1 and 4.1 of the review put to the test -------------------------------------------


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
    pis = np.arange(1, SIGN_STEPS) / SIGN_STEPS
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
        finding("half step", stated=0.5 / SIGN_STEPS, ours=away,
                holds=away <= 0.5 / SIGN_STEPS + SMALL),
    ]  # fmt: skip


def expected_hinge(mean: float, spread: float) -> float:
    """E [1 - u]_+ for u ~ N(mean, spread^2): m Phi(m / spread) + spread phi(m / spread), m = 1 - u.

    Raises ValueError: a spread that is not positive.
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
