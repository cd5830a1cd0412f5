"""Choices of the strengthening gamma for conic_fixed, all with I - sum gamma_i x~_i x~_i' >= 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array

# A hair below the limit, so that rounding leaves the quadratic term convex.
SAFETY = 1 - 1e-9


def strengthening_values(points: Array, choice: ArrayLike | str, weights: ArrayLike = 1.0) -> Array:
    """gamma (n,) from numbers or from a rule.

    Parameters
    ----------
    points : array (n, k)
        Points with their constant entry.
    choice : array (n,) or str
        "equal"         one value for all, the largest that keeps the term convex
        "inverse_norm"  gamma_i = 1 / (n ||x~_i||^2), convex without an eigenvalue
        "scaled"        inverse_norm times the largest factor that keeps the term convex
    weights : array (n,)
        What the points weigh: by a rule each has the sum over its copies, n being that of weights.

    Raises
    ------
    ValueError
        Unknown word, negative or non-finite numbers, or numbers with a non-convex term.
    """
    n = len(points)
    if isinstance(choice, str):
        return _by_rule(points, choice, np.broadcast_to(np.asarray(weights, dtype=float), n))
    gamma = np.asarray(choice, dtype=float)
    if gamma.shape != (n,):
        raise ValueError(
            f"strengthening must be equal, inverse_norm, scaled or an array ({n},), got shape "
            f"{gamma.shape}"
        )
    bad = np.flatnonzero(~(np.isfinite(gamma) & (gamma >= 0)))
    if bad.size:
        raise ValueError(
            f"strengthening must be finite and not negative, got {gamma[bad[0]]} at position "
            f"{bad[0]}"
        )
    smallest = 1 - _largest_eigenvalue(points, gamma)
    if smallest < -1e-12:
        raise ValueError(
            f"strengthening is too large: I - sum gamma_i x_i x_i' has eigenvalue {smallest:.3g}; "
            f"divide it by {1 - smallest:.6g} or more"
        )
    return gamma


def _by_rule(points: Array, choice: str, weights: Array) -> Array:
    norms = (points**2).sum(axis=1)
    inverse = np.where(norms > 0, weights / np.maximum(norms, 1e-300), 0.0) / weights.sum()
    match choice:
        case "equal":
            gamma = np.where(norms > 0, weights, 0.0)
        case "inverse_norm":
            return inverse * SAFETY
        case "scaled":
            gamma = inverse
        case _:
            raise ValueError(
                f"strengthening must be equal, inverse_norm, scaled or numbers, got {choice!r}"
            )
    if not gamma.any():
        return gamma  # every point is 0 and has no intercept: nothing to strengthen
    return gamma * SAFETY / _largest_eigenvalue(points, gamma)


def _largest_eigenvalue(points: Array, gamma: Array) -> float:
    return float(np.linalg.eigvalsh(points.T @ (gamma[:, None] * points))[-1])
