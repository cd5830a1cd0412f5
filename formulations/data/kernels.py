"""Kernel matrices of training points, and of new points against them.

What is fitted, means and lengths in feature space included, comes from the training points alone:
`gram_data` makes the data of a model, `cross_gram` the rows to predict with.

linear and poly are scikit-learn's to the last bit. rbf is not: its ||x||^2 - 2 <x, x'> + ||x'||^2
loses the distance of points far from the origin, 3e-8 of the kernel at 1e4 spreads and all of it at
1e8, where differences of the points themselves keep it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tightmargin.formulations.data.arrays import DENSE_LIMIT_BYTES, Array, finite_points
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.kernel_centring import fit_gram_normaliser
from tightmargin.formulations.data.normalisation import (
    NORMALISERS,
    fit_normaliser,
    known_word,
)
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import GramData, TrainingData, with_gram

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
