"""Intercept b and margin level rho of the nu-SVC from multipliers, in the two ways there are.

Perez-Cruz et al. 2003, (21)-(22), average: where 0 < alpha_i < c_i the margin row is an equation
without slack, y_i (<w, x_i> + b) = rho, for as many points of one class as of the other. Sorting
asks instead for the best (b, rho) of the w that the multipliers expand to, whatever they are
(`intercept_recovery.nu_margin`): the smallest scores of each class that hold the mass nu / 2 end at
rho - b and rho + b.

At a solution with such points in both classes the two are equal. They differ

    without such points in a class   all its multipliers are 0 or c_i, a whole interval is best,
                                     and the paper takes its lower end, sorting the middle
    off a solution                   the scores of the points are not equal: the average is a
                                     guess, and what sorting returns is still best for its w
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.common.intercept_recovery import flat_piece, nu_margin
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.nu.weights import loss_weights
from tightmargin.printing import Printed

AT_AN_END = 1e-6  # of c_i: a multiplier nearer to 0 or c_i is there


@dataclass(frozen=True, eq=False, repr=False)
class NuLevels(Printed):
    """b and rho of multipliers; see `nu_levels`.

    averaged_b, averaged_rho: (21)-(22) of Perez-Cruz et al.
    sorted_b, sorted_rho: best for w, the middle where an interval is.
    averaged_of: points of each class in the average, s in the paper; 0 where a class has no
        multiplier strictly inside its box and one point stands for it.
    spread: largest distance of a score in the average from the mean of its class: 0 at a solution.
    b_interval, rho_interval (float, float): all b, and all rho, that are part of a best pair.
    """

    averaged_b: float
    averaged_rho: float
    sorted_b: float
    sorted_rho: float
    averaged_of: int
    spread: float
    b_interval: tuple[float, float]
    rho_interval: tuple[float, float]


def nu_levels(
    data: TrainingData | GramData, alpha: ArrayLike, *, class_balance: ArrayLike | str = "uniform"
) -> NuLevels:
    """B and rho that belong to multipliers of nu_svc_dual, averaged and sorted.

    Parameters
    ----------
    data : TrainingData or GramData
    alpha : array (n,)
        At least 0 and at most c_i, for a free intercept: both classes have the sum nu / 2.
    class_balance : "uniform", "balanced" or array (n,)
        As the model has it, which makes c_i.

    Raises
    ------
    ValueError
        Multipliers of another length, outside of their box by more than 1e-6 of it, or with other
        sums in the two classes.
    TypeError
        Other data, such as a pair (X, y).

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.solve(tm.nu_svc_dual(data, nu=0.3))
    >>> levels = tm.theory.nu_levels(data, found.values["alpha"])
    >>> abs(levels.averaged_b - levels.sorted_b) < 1e-5
    True
    """
    if not isinstance(data, TrainingData | GramData):
        raise TypeError(f"data must be TrainingData or GramData, got {type(data).__name__}")
    caps = loss_weights(data, class_balance)
    alpha = _checked(data, alpha, caps)
    nu = float(alpha.sum())
    scores = data.factor @ (data.factor.T @ (data.y * alpha))
    positive, negative = data.y > 0, data.y < 0
    b, rho = nu_margin(scores, data.y, caps, nu)
    above = flat_piece(scores[positive], caps[positive], nu / 2)  # rho - b
    below = flat_piece(-scores[negative], caps[negative], nu / 2)  # rho + b
    chosen, count = _averaged(scores, data.y, alpha, caps)
    means = [float(scores[each].mean()) for each in chosen]
    return NuLevels(
        averaged_b=-sum(means) / 2,
        averaged_rho=(means[0] - means[1]) / 2,
        sorted_b=b,
        sorted_rho=rho,
        averaged_of=count,
        spread=max(
            float(np.abs(scores[each] - mean).max())
            for each, mean in zip(chosen, means, strict=True)
        ),
        b_interval=((below[0] - above[1]) / 2, (below[1] - above[0]) / 2),
        rho_interval=((below[0] + above[0]) / 2, (below[1] + above[1]) / 2),
    )


def _checked(data: TrainingData | GramData, alpha: ArrayLike, caps: Array) -> Array:
    found = np.asarray(alpha, dtype=np.float64)
    if found.shape != (data.n,) or not np.isfinite(found).all():
        raise ValueError(f"alpha must be {data.n} finite numbers, got {found.shape} of them")
    outside = np.maximum(-found, found - caps) > AT_AN_END * caps
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise ValueError(f"alpha[{i}] = {found[i]:.6g} is outside of [0, {caps[i]:.6g}]")
    sums = [float(found[data.y == sign].sum()) for sign in (1.0, -1.0)]
    if min(sums) <= 0 or abs(sums[0] - sums[1]) > 1e-6 * max(sums):
        raise ValueError(
            f"alpha sums to {sums[0]:.6g} in the positive class and {sums[1]:.6g} in the negative "
            "one: they must be equal and positive"
        )
    return found


def _averaged(
    scores: Array, y: Array, alpha: Array, caps: Array
) -> tuple[tuple[Index, Index], int]:
    """Points of the average in either class, and how many they are (0: one that stands in)."""
    inside = np.minimum(alpha, caps - alpha) / caps
    strict = [np.flatnonzero((y == sign) & (inside > AT_AN_END)) for sign in (1.0, -1.0)]
    count = min(len(each) for each in strict)
    if count:
        # Those deepest inside of their boxes: their rows are equations most surely.
        best = [each[np.argsort(-inside[each], kind="stable")[:count]] for each in strict]
        return (best[0], best[1]), count
    found = []
    for sign, each in zip((1.0, -1.0), strict, strict=True):
        held = each if len(each) else np.flatnonzero((y == sign) & (alpha > AT_AN_END * caps))
        found.append(held[[int(np.argmax(sign * scores[held]))]])
    return (found[0], found[1]), 0
