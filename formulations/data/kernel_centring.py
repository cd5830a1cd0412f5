"""Bi and Vapnik's transformation (2) in feature space: a kernel matrix centred and normalised.

Fitted on the matrix of the training points and applied, with the same numbers, to the kernel rows
of new ones. scikit-learn's KernelCenterer gives k0 to rounding, but no length of a new point, and a
point without a direction passes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import (
    Array,
    finite_points,
    refuse_non_finite,
)
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import GramData, with_gram
from tightmargin.printing import Printed

ROUNDING = 100 * np.finfo(float).eps  # of the kernel values that a squared distance is made of
MISFIT = 1e-6  # of |phi(x)| |phi(x_j)|: an inner product beyond it comes from other points


def centred_rows(rows: Array, means: Array) -> Array:
    """Inner products of the centred features, k0 of `GramNormaliser`.

    Parameters
    ----------
    rows : array (m, n)
        k(x, x_j) of points x.
    means : array (n,)
        mean_p k(x_p, x_j) for each training point j.
    """
    return rows - rows.mean(axis=1, keepdims=True) - means + means.mean()


@dataclass(frozen=True, eq=False, repr=False)
class GramNormaliser(Printed):
    """Centre, then normalise, in the feature space of a kernel k (Bi & Vapnik 2003, section 3).

    With means over the training points only, new points x, x' included,

        k0(x, x') = k(x, x') - mean_q k(x, x_q) - mean_p k(x_p, x') + mean_pq k(x_p, x_q)
        k1(x, x') = k0(x, x') / sqrt(k0(x, x) k0(x', x'))

    The paper says it of training points alone. Both lie on the unit sphere: k1(x, x) = 1.

    Attributes
    ----------
    means : array (n,)
        mean_p k(x_p, x_j) for each training point j.
    lengths : array (n,)
        sqrt(k0(x_j, x_j)), the distance of training point j to the mean.
    magnitude : float
        Mean |k(x_p, x_q)|: what k0 is a difference of.
    shift : float
        What was added to the diagonal of the training matrix, and so to k(x, x) of a new point.
    """

    means: Array
    lengths: Array
    magnitude: float
    shift: float = 0.0

    def __post_init__(self) -> None:
        for name in ("means", "lengths"):
            refuse_non_finite(f"{name} of a centred kernel", getattr(self, name))
            getattr(self, name).setflags(write=False)

    @property
    def n(self) -> int:
        """Number of training points."""
        return len(self.means)

    def training(self, gram: Array) -> Array:
        """k1 between the training points, symmetric, with ones on the diagonal.

        Parameters
        ----------
        gram : array (n, n)
            The matrix the normaliser was fitted on.
        """
        on_sphere = centred_rows(gram, self.means) / np.outer(self.lengths, self.lengths)
        np.fill_diagonal(on_sphere, 1.0)
        return (on_sphere + on_sphere.T) / 2

    def apply_cross(self, rows: ArrayLike, own: ArrayLike, points: str = "X") -> Array:
        """k1 between new points and the training points.

        Parameters
        ----------
        rows : array (m, n)
            k(x, x_j) of new points x.
        own : array (m,)
            k(x, x), without the shift.
        points : str
            Name of the new points in messages.

        Returns
        -------
        array (m, n)

        Raises
        ------
        ValueError
            Wrong shapes or non-finite cells; a point that is the mean of the training points, or
            whose k(x, x) is too small for its row; it is named.
        """
        values = finite_points(points, rows, self.n)
        own = finite_points(f"k(x, x) of {points}", np.reshape(own, (-1, 1)), 1)[:, 0] + self.shift
        if len(own) != len(values):
            raise ValueError(f"{points} has {len(values)} rows and k(x, x) {len(own)}")
        size = np.abs(own) + np.abs(values).mean(axis=1) + self.magnitude
        squared = own - 2 * values.mean(axis=1) + self.means.mean()
        lengths, centred = _lengths(points, squared, size), centred_rows(values, self.means)
        unfit = np.flatnonzero((np.abs(centred) > self._reach(lengths, size)).any(axis=1))
        if unfit.size:
            raise ValueError(_too_small(points, int(unfit[0]), unfit.size))
        return centred / np.outer(lengths, self.lengths)

    def _reach(self, lengths: Array, size: Array) -> Array:
        """What |k0| is at most by Cauchy-Schwarz, with room for rounding of either distance."""
        trained = self.lengths**2
        own = np.abs(trained + 2 * self.means - self.means.mean())
        room = ROUNDING * (own + np.abs(self.means) + self.magnitude)
        bound = np.outer(np.sqrt(lengths**2 + ROUNDING * size), np.sqrt(trained + room))
        return bound * (1 + MISFIT) + ROUNDING * size[:, None]


def fit_gram_normaliser(gram: Array, points: str = "gram", shift: float = 0.0) -> GramNormaliser:
    """Fit on the kernel matrix of the training points.

    Parameters
    ----------
    gram : array (n, n)
        Symmetric; a constant added to it, or to a kernel, changes nothing.
    points : str
        Name of the training points in messages.
    shift : float
        What was added to its diagonal.

    Raises
    ------
    ValueError
        A point that is the mean of the training points in feature space; it is named.
    """
    means, own, magnitude = gram.mean(axis=0), np.diag(gram), float(np.abs(gram).mean())
    size = np.abs(own) + np.abs(gram).mean(axis=0) + magnitude
    lengths = _lengths(points, own - 2 * means + means.mean(), size)
    return GramNormaliser(means, lengths, magnitude, shift)


def centred_gram(data: GramData) -> tuple[GramData, GramNormaliser]:
    """Centre and normalise a kernel matrix, its shift included.

    The centred matrix has rank n - 1 at most; `GramData.factor` leaves out what is rounding.

    Raises
    ------
    ValueError
        See `fit_gram_normaliser`.
    """
    refuse_weights("normalise=centred in feature space", data)
    fitted = fit_gram_normaliser(data.gram, shift=float(data.shift))
    return with_gram(data, fitted.training(data.gram)), fitted


def _lengths(points: str, squared: Array, size: Array) -> Array:
    """Distances to the mean in feature space, refused where rounding is all there is."""
    negative = np.flatnonzero(squared < -ROUNDING * size)
    if negative.size:
        raise ValueError(_too_small(points, int(negative[0]), negative.size))
    on_mean = np.flatnonzero(squared <= ROUNDING * size)
    if on_mean.size:
        raise ValueError(
            f"row {on_mean[0]} of {points} is the mean of the training points in feature space and "
            f"has no direction ({on_mean.size} such rows): remove it, or choose another normalise"
        )
    return np.sqrt(squared)


def _too_small(points: str, row: int, count: int) -> str:
    return (
        f"k(x, x) of row {row} of {points} is too small for its kernel values ({count} such rows): "
        "no kernel has them all"
    )
