"""Weights that a caller hands to a search, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.formulations.data.arrays import Array


def given_weights(problem: PolarProblem, given: ArrayLike | None, word: str) -> list[Array]:
    """Weights (k,) or (m, k) of a caller one by one; none for None.

    Parameters
    ----------
    word : str
        The argument's name, for messages.

    Raises
    ------
    ValueError
        Another number of columns, a number that is not finite, a weight of 0.
    """
    if given is None:
        return []
    points = np.atleast_2d(np.asarray(given, dtype=np.float64))
    if points.ndim != 2 or points.shape[1] != problem.hulls.k or not np.isfinite(points).all():
        raise ValueError(f"{word} must hold {problem.hulls.k} finite numbers each")
    if not points.any(axis=1).all():
        raise ValueError(f"{word}: a weight of 0 has no direction")
    return list(points)


def given_directions(problem: PolarProblem, given: ArrayLike | None, word: str) -> list[Array]:
    """The same, scaled to norm 1."""
    return [point / np.linalg.norm(point) for point in given_weights(problem, given, word)]
