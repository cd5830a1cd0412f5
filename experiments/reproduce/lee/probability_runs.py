"""Class probabilities against the truth of a generator, as tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tightmargin.experiments.data.gaussian_classes import (
    gaussian_class_data,
    gaussian_class_probabilities,
)
from tightmargin.experiments.data.preparation import in_two
from tightmargin.experiments.reproduce.lee.statements.probabilities import (
    border_findings,
    ideal_labels,
    limit_findings,
    linear_limit,
    sign_findings,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.solvers.probability.binary import class_probabilities
from tightmargin.solvers.probability.multiclass import EXACT, direct_probabilities
from tightmargin.solvers.probability.sign_rule import SignReading
from tightmargin.solvers.probability.simplex_grid import (
    border_weights,
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
        "certified": fitted.certified,
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
