"""How many kernel principal components to keep: all, a number of them, or a share of the variance.

Equal eigenvalues have no directions of their own: their components are kept or dropped together.
"""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np

from tightmargin.formulations.data.training_data import Array

EQUAL = 1e-8  # eigenvalues this near to each other, relatively, have no directions of their own


def component_count(keep: float | str, values: Array, rank: int, rounding: float) -> int:
    """How many components `keep` asks for.

    Parameters
    ----------
    keep : "full", int or float
        All components of the rank, so many of them, or the fewest that hold this share
        (0 < keep < 1) of the variance.
    values : array (n,)
        Eigenvalues of the centred kernel matrix, largest first.
    rank : int
        How many of them are not taken for 0.
    rounding : float
        What rounding may have added to an eigenvalue.

    Raises
    ------
    ValueError
        Another `keep`, more components than there are, or a number that separates equal
        eigenvalues.
    """
    if keep == "full":
        return rank
    if isinstance(keep, bool) or not isinstance(keep, Real) or not math.isfinite(keep):
        raise ValueError(f"keep must be full, a number of components or a share, got {keep!r}")
    if isinstance(keep, Integral):
        if not 1 <= keep <= rank:
            raise ValueError(
                f"keep = {keep} components: the kernel has {rank} above the tolerance, at least 1 "
                "must be kept"
            )
        block = _blocks(values, rank, rounding, int(keep))
        if keep not in block:
            raise ValueError(
                f"keep = {keep} separates equal eigenvalues ({values[keep - 1]:.6g}), whose "
                f"directions are arbitrary: keep {' or '.join(str(k) for k in block if k)}"
            )
        return int(keep)
    if not 0 < keep < 1:
        raise ValueError(
            f"keep = {keep!r} is neither a share of the variance between 0 and 1 nor a whole "
            "number of components"
        )
    shares = np.cumsum(values[:rank]) / float(values.sum())
    if shares[-1] < keep:
        raise ValueError(
            f"keep = {keep!r} of the variance: the {rank} components above the tolerance hold "
            f"{shares[-1]:.6g}; lower the tolerance, or keep full"
        )
    return _blocks(values, rank, rounding, int(np.searchsorted(shares, keep)) + 1)[-1]


def _blocks(values: Array, rank: int, rounding: float, k: int) -> tuple[int, ...]:
    """The numbers of components around k, below and above, that keep equal eigenvalues together."""

    def splits(j: int) -> bool:
        near = EQUAL * values[j - 1] + rounding
        return bool(0 < j < rank and values[j - 1] - values[j] <= near)

    low = high = k
    while splits(low):
        low -= 1
    while splits(high):
        high += 1
    return (low,) if low == high else (low, high)
