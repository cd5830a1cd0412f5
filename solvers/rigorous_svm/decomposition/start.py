"""Where the decomposition scheme starts: anywhere but in a corner of its objective.

At alpha = 0, H sqrt(S) - e'alpha has no gradient, and no pair of variables improves on it once H is
of some size, whatever the data. Our own start has the largest sum of multipliers there is, 2 n_min:
1 on the smaller class and, on the larger one, either n_min / n_max on all of it or 1 on the n_min
points that lower S most to first order. Its S is 0 only where it is optimal. For a small H no other
sum is optimal either.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.common.multipliers import balanced_alpha
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.rigorous_svm.decomposition.iterate import Iterate


def checked_start(start: ArrayLike, data: TrainingData | GramData) -> Array:
    """Multipliers (n,) in [0, 1], scaled to y'alpha = 0.

    Raises
    ------
    ValueError
        Naming `start` and what is wrong with it.
    """
    try:
        alpha = np.array(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"start must be an array ({data.n},), got {start!r}") from None
    if alpha.shape != (data.n,):
        raise ValueError(f"start must be an array ({data.n},), got shape {alpha.shape}")
    outside = np.flatnonzero(~((alpha >= 0) & (alpha <= 1)))
    if outside.size:
        raise ValueError(
            f"start must lie in [0, 1], got {alpha[outside[0]]} at position {outside[0]}"
        )
    return balanced_alpha(alpha, data.y, np.ones(data.n), "free")


def even_start(data: TrainingData | GramData) -> Array:
    """The largest sum of multipliers, spread evenly over each class."""
    least = min(data.n_pos, data.n_neg)
    return np.where(data.y > 0, least / data.n_pos, least / data.n_neg)


def lower_vertex(y: Array, f: Array) -> Array:
    """The multipliers in {0, 1} of largest sum and least y_i f_i, which is dS/dalpha_i / 2."""
    least = int(min((y > 0).sum(), (y < 0).sum()))
    alpha = np.zeros(len(y))
    for sign in (-1.0, 1.0):
        members = np.flatnonzero(y == sign)
        alpha[members[np.argsort(sign * f[members], kind="stable")[:least]]] = 1.0
    return alpha


def go_to_start(iterate: Iterate, given: Array | None) -> None:
    """Place an iterate that stands at `even_start` where W is lowest, and not in a corner.

    A given start without S, or no better than our own, is left.
    """
    for alpha in (lower_vertex(iterate.pairs.y, iterate.pairs.f), given):
        if alpha is not None:
            ours, bound = iterate.pairs.alpha, iterate.bound()
            iterate.place(alpha)
            if iterate.cornered or iterate.bound() <= bound:
                iterate.place(ours)
