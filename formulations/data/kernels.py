"""Kernel matrices of training points and of new ones, centred and normalised in feature space.

What is fitted, means and lengths in feature space included, comes from the training points alone:
`gram_data` makes the data of a model, `cross_gram` the rows to predict with.

linear and poly are scikit-learn's to the last bit. rbf is not: its ||x||^2 - 2 <x, x'> + ||x'||^2
loses the distance of points far from the origin, 3e-8 of the kernel at 1e4 spreads and all of it at
1e8, where differences of the points themselves keep it.

Centring is Bi and Vapnik's transformation (2) in feature space, fitted on the matrix of training
points and applied, with the same numbers, to the kernel rows of new ones. scikit-learn's
KernelCenterer gives k0 to rounding, but no length of a new point, and a point without a direction
passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tightmargin.formulations.data.arrays import (
    DENSE_LIMIT_BYTES,
    Array,
    finite_points,
    refuse_non_finite,
)
from tightmargin.formulations.data.normalisation import NORMALISERS, fit_normaliser, known_word
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import (
    GramData,
    TrainingData,
    reads_dense_points,
    with_gram,
)
from tightmargin.printing import Printed

# --- Bi and Vapnik's transformation (2) in feature space: a kernel matrix centred and normalised

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


# --- Kernel matrices of training points, and of new points against them --------------------------

KERNELS = ("linear", "rbf", "poly")
_KERNEL_PARAMETERS = {"linear": (), "rbf": ("width",), "poly": ("degree", "coef0")}


def _check_kernel(kind: str, width: float | None, degree: int | None, coef0: float | None) -> None:
    if kind == "precomputed":
        raise ValueError("kernel precomputed: pass your matrix as GramData(gram, y) instead")
    known_word(kind, "kernel", KERNELS)
    for name, value in (("width", width), ("degree", degree), ("coef0", coef0)):
        if name not in _KERNEL_PARAMETERS[kind]:
            if value is not None:
                raise ValueError(f"kernel {kind} takes no {name}")
        elif value is None:
            raise ValueError(f"kernel {kind} needs {name}")
        elif not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, got {value}")
    if width is not None and width <= 0:
        raise ValueError(f"width must be positive, got {width}")
    if degree is not None and (degree < 1 or degree != int(degree)):
        raise ValueError(f"degree must be a whole number of at least 1, got {degree}")
    if coef0 is not None and coef0 < 0:
        raise ValueError(f"coef0 must not be negative, got {coef0}: poly would be no kernel")


def _refuse_overflow(kind: str, values: Array) -> Array:
    if not np.isfinite(values).all():
        raise ValueError(f"kernel {kind} overflows: scale the points, say with normalise zscore")
    return values


def kernel_matrix(
    kind: str,
    A: ArrayLike,
    B: ArrayLike,
    *,
    width: float | None = None,
    degree: int | None = None,
    coef0: float | None = None,
    less_one: bool = False,
) -> Array:
    """Kernel values between the rows of A and the rows of B.

        linear  <x, x'>
        rbf     exp(-width ||x - x'||^2)
        poly    (<x, x'> + coef0)^degree

    Parameters
    ----------
    kind : str
        One of `KERNELS`.
    A, B : array (m, d), array (n, d)
        Points.
    width, degree, coef0
        Parameters of the kernels above. There are no defaults, and a parameter the kernel does
        not have is refused.
    less_one : bool
        Take 1 off the values of rbf and keep the digits of small widths. Centring, which does not
        see a constant, starts from these.

    Returns
    -------
    array (m, n)

    Raises
    ------
    ValueError
        Naming the unknown kernel, the missing, unwanted or non-finite parameter, the bad cell, or
        the bytes needed when they exceed 2 GiB.
    """
    _check_kernel(kind, width, degree, coef0)
    left = finite_points("A", A)
    right = finite_points("B", B, left.shape[1])
    needed = 8 * len(left) * len(right)
    if needed > DENSE_LIMIT_BYTES:
        raise ValueError(
            f"a kernel matrix of {len(left)} x {len(right)} needs {needed:,} bytes "
            f"(limit {DENSE_LIMIT_BYTES:,}): use fewer points, or a linear model without kernel"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "rbf":
            exponent = -np.float64(width) * cdist(left, right, "sqeuclidean")
            return np.expm1(exponent) if less_one else np.exp(exponent)
        values = left @ right.T
        if kind == "poly":
            values = (values + np.float64(coef0)) ** int(degree or 1)
    return _refuse_overflow(kind, values)


def _kernel_diagonal(kind: str, A: Array, degree: int | None, coef0: float | None) -> Array:
    """k(x, x) for the rows of A, in the convention `less_one` of `kernel_matrix`."""
    if kind == "rbf":
        return np.zeros(len(A))
    with np.errstate(over="ignore"):
        values = np.einsum("ij,ij->i", A, A)
        if kind == "poly":
            values = (values + np.float64(coef0)) ** int(degree or 1)
    return _refuse_overflow(kind, values)


def _centred_in_feature_space(kernel: str, kind: str) -> bool:
    """Whether centring needs the Gram matrix: for a linear kernel the points are more exact."""
    return known_word(kind, "normalise", NORMALISERS) == "centred" and kernel != "linear"


@reads_dense_points
def gram_data(
    data: TrainingData,
    *,
    kernel: str,
    normalise: str = "none",
    width: float | None = None,
    degree: int | None = None,
    coef0: float | None = None,
) -> GramData:
    """Kernel matrix of the training points.

    `zscore`, `unit` and `zscore_unit` act on the points, before the kernel. `centred` acts in
    feature space, as Bi and Vapnik do: see `GramNormaliser`. For a linear kernel that is the same
    as acting on the points, which is more exact and done instead.

    Parameters
    ----------
    data : TrainingData
        Points and labels.
    kernel : str
        One of `KERNELS`.
    normalise : str
        One of `NORMALISERS`.
    width, degree, coef0
        Parameters of the kernel, see `kernel_matrix`.

    Raises
    ------
    TypeError
        For anything but `TrainingData`.
    ValueError
        See `kernel_matrix` and `Normaliser.apply`; for `centred` also a point that is the mean of
        the training points in feature space.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.data.gram_data(data, kernel="rbf", width=1.0).gram.shape
    (12, 12)
    """
    if not isinstance(data, TrainingData):
        raise TypeError(f"gram_data takes TrainingData, got {type(data).__name__}")
    _check_kernel(kernel, width, degree, coef0)
    words: Any = {"width": width, "degree": degree, "coef0": coef0}
    if not _centred_in_feature_space(kernel, normalise):
        points = fit_normaliser(normalise, data.X, data.weights).apply(data.X)
        gram = kernel_matrix(kernel, points, points, **words)
        return with_gram(data, gram)
    refuse_weights("normalise=centred in feature space", data)
    gram = kernel_matrix(kernel, data.X, data.X, **words, less_one=True)
    fitted = fit_gram_normaliser(gram, "data.X")
    return with_gram(data, fitted.training(gram))


def cross_gram(
    data: TrainingData,
    X: ArrayLike,
    *,
    kernel: str,
    normalise: str = "none",
    width: float | None = None,
    degree: int | None = None,
    coef0: float | None = None,
) -> Array:
    """Kernel rows of new points against the training points, normalised as in `gram_data`.

    All means are over the training points; a new point is divided by its own distance to the
    training mean in feature space, so that new and training points lie on one sphere.

    Parameters
    ----------
    data : TrainingData
        The training points, before normalising.
    X : array (m, d)
        New points, before normalising.
    kernel, normalise, width, degree, coef0
        As given to `gram_data`.

    Returns
    -------
    array (m, n)
        Row i holds the kernel values of new point i with every training point.

    Raises
    ------
    ValueError
        See `gram_data`; rows named are rows of X.
    """
    points = finite_points("X", X, data.d)
    _check_kernel(kernel, width, degree, coef0)
    words: Any = {"width": width, "degree": degree, "coef0": coef0}
    if not _centred_in_feature_space(kernel, normalise):
        fitted = fit_normaliser(normalise, data.X, data.weights)
        return kernel_matrix(kernel, fitted.apply(points), fitted.apply(data.X), **words)
    gram = kernel_matrix(kernel, data.X, data.X, **words, less_one=True)
    rows = kernel_matrix(kernel, points, data.X, **words, less_one=True)
    own = _kernel_diagonal(kernel, points, degree, coef0)
    return fit_gram_normaliser(gram, "data.X").apply_cross(rows, own)
