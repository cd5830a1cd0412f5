"""Kernel principal components: any kernel as ordinary points, for every formulation.

Perez-Cruz et al. 2003, section 5.2. With K0 the kernel matrix of the training points, centred in
feature space, and K0 = sum_k mu_k v_k v_k', point i has the components sqrt(mu_k) v_ik: their inner
products are K0, so that a linear machine on them is the kernel machine. A free intercept takes up
the centring; a penalised or absent one is measured from the mean of the training points.

How many components are kept is a choice of the model, not of the arithmetic, and has no default:
with all of them and a kernel of full rank the classes are separable and the extended nu-SVC is
convex for every nu, while its solutions below nu_bar lean on the components of least variance.

The rank is decided here and not by scikit-learn's KernelPCA, which takes eigenvalues below 1e-12 of
the largest for 0 unasked, and the roundings of a flat kernel for components: 15 of them for an rbf
kernel of width 1e-9 on 24 points that has 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array, finite_points, keep_read_only, plain_numbers
from tightmargin.formulations.data.kernels import centred_rows, cross_gram, gram_data
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import (
    GramData,
    TrainingData,
    reads_dense_points,
    with_points,
)
from tightmargin.printing import Printed

TOLERANCE = 1e-10  # of the largest eigenvalue: below it a component is taken for rounding
EQUAL = 1e-8  # eigenvalues this near to each other, relatively, have no directions of their own

_SAVED = ("eigenvalues", "means", "basis", "rank", "variance", "largest_dropped")


@dataclass(frozen=True, eq=False, repr=False)
class KernelPca(Printed):
    """Components of a kernel, fitted on training points.

    Attributes
    ----------
    points : TrainingData or GramData
        What it was fitted on.
    options : mapping
        Arguments of `gram_data`; empty for a kernel matrix.
    eigenvalues : array (r,)
        Of the centred kernel matrix, largest first: those of the components that are kept.
    basis : array (n, r)
        v_k / sqrt(mu_k); centred kernel rows times it are components.
    means : array (n,)
        Means of the columns of the kernel matrix.
    rank : int
        Number of eigenvalues above the tolerance, r of which are kept.
    variance : float
        Sum of all eigenvalues.
    largest_dropped : float
        The largest eigenvalue that is not kept, rounding included; 0 when none is left.
    """

    points: TrainingData | GramData
    options: Mapping[str, Any]
    eigenvalues: Array
    basis: Array
    means: Array
    rank: int
    variance: float
    largest_dropped: float

    def __post_init__(self) -> None:
        n = self.points.n
        for name in ("eigenvalues", "basis", "means"):
            array = np.array(getattr(self, name), dtype=np.float64)
            r = len(np.atleast_1d(array)) if name == "eigenvalues" else len(self.eigenvalues)
            shape = {"eigenvalues": (r,), "basis": (n, r), "means": (n,)}[name]
            if array.shape != shape or not array.size or not np.isfinite(array).all():
                raise ValueError(
                    f"{name} of a kernel PCA must hold finite numbers of shape {shape}"
                )
            keep_read_only(self, **{name: array})

    @property
    def r(self) -> int:
        """Number of components."""
        return len(self.eigenvalues)

    @property
    def share_kept(self) -> float:
        """Share of the variance in feature space that the components hold."""
        return min(float(self.eigenvalues.sum()) / self.variance, 1.0)

    @property
    def summary(self) -> str:
        """What was kept and dropped, in one sentence."""
        return (
            f"kernel PCA: {self.r} of {self.rank} components kept, {self.share_kept:.6g} of the "
            f"variance; largest eigenvalue dropped {self.largest_dropped:.3g} "
            f"(largest kept {self.eigenvalues[0]:.3g})"
        )

    @cached_property
    def data(self) -> TrainingData:
        """The training points in their components (n, r), with the same labels and spec."""
        points = self.points
        components = self.apply(points.gram if isinstance(points, GramData) else points.X)
        return with_points(points, components)

    def apply(self, X: ArrayLike) -> Array:
        """Components of points.

        Parameters
        ----------
        X : array (m, d)
            Training or new points; where a kernel matrix was fitted, their kernel rows (m, n)
            against the training points.

        Returns
        -------
        array (m, r)

        Raises
        ------
        ValueError
            Wrong shape, a bad cell, or a point that the kernel refuses.
        """
        if isinstance(self.points, GramData):
            rows = finite_points("X", X, self.points.n)
        else:
            rows = cross_gram(self.points, X, **self.options)
        return centred_rows(rows, self.means) @ self.basis

    def expansion(self, w: ArrayLike, b: float = 0.0) -> tuple[Array, float]:
        """Write a hyperplane of the components in terms of the kernel.

        Parameters
        ----------
        w : array (r,)
            Weights of the components.
        b : float
            Intercept.

        Returns
        -------
        array (n,), float
            a and a0 with <w, components of x> + b = sum_j a_j k(x, x_j) + a0 for every x, where k
            is the kernel as it was given, not centred; the a_j sum to 0.

        Raises
        ------
        ValueError
            w of another length.
        """
        weight = np.asarray(w, dtype=np.float64)
        if weight.shape != (self.r,):
            raise ValueError(f"w must have shape ({self.r},), got {weight.shape}")
        a = self.basis @ weight
        constant = b - float(a @ self.means) + float(self.means.mean() * a.sum())
        return a - a.mean(), constant

    def turned(self, basis: ArrayLike) -> KernelPca:
        """The same components in the directions that another fit has chosen.

        An eigenvector may have either sign, and those of equal eigenvalues, an arbitrary basis of
        their space, are turned towards those of `basis` and nowhere else.

        Parameters
        ----------
        basis : array (n, r)
            Of a KernelPca of the same points, perhaps fitted on another machine.

        Raises
        ------
        ValueError
            Another shape, or a number that is none.
        """
        other = np.asarray(basis, dtype=np.float64)
        if other.shape != self.basis.shape or not np.isfinite(other).all():
            raise ValueError(f"basis of a kernel PCA must hold {self.basis.shape} finite numbers")
        found, start = self.basis.copy(), 0
        if np.array_equal(found, other):
            return self
        rounding = 10 * len(found) * np.finfo(float).eps * float(self.eigenvalues[0])
        for end in range(1, self.r + 1):
            if end < self.r:
                last, following = self.eigenvalues[end - 1 : end + 1]
                if last - following <= EQUAL * last + rounding:
                    continue
            own = slice(start, end)
            left, _, right = np.linalg.svd(self.basis[:, own].T @ other[:, own])
            found[:, own] = self.basis[:, own] @ (left @ right)
            start = end
        return replace(self, basis=found)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists, to be saved beside a result; the points are not among them."""
        return plain_numbers(self, _SAVED)


@reads_dense_points
def fit_kernel_pca(
    data: TrainingData | GramData,
    *,
    keep: float | str,
    kernel: str | None = None,
    normalise: str = "none",
    width: float | None = None,
    degree: int | None = None,
    coef0: float | None = None,
    tolerance: float = TOLERANCE,
) -> KernelPca:
    """Fit kernel principal components.

    Parameters
    ----------
    data : TrainingData or GramData
        Points, or a kernel matrix; a matrix with a negative eigenvalue is none, and GramData
        refuses it with that eigenvalue.
    keep : "full", int or float
        All components above the tolerance, so many of them, or the fewest that hold this share
        (0 < keep < 1) of the variance. Equal eigenvalues have no
        directions of their own and stay together.
    kernel, normalise, width, degree, coef0
        See `gram_data`; a kernel matrix takes none of them.
    tolerance : float
        Eigenvalues up to this share of the largest one are taken for 0. Where rounding of the
        kernel matrix is larger, that counts instead.

    Raises
    ------
    TypeError
        Neither points nor a kernel matrix.
    ValueError
        See `gram_data`; a bad `keep` or `tolerance`, more components than there are, a number of
        them that would separate equal eigenvalues, or points that coincide in feature space.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.data.fit_kernel_pca(data, keep=3, kernel="rbf", width=1.0).apply(data.X).shape
    (12, 3)
    """
    if not (isinstance(tolerance, int | float) and 0 <= tolerance < 1):
        raise ValueError(f"tolerance must be a number in [0, 1), got {tolerance!r}")
    given = {"kernel": kernel, "width": width, "degree": degree, "coef0": coef0}
    options: dict[str, Any] = {word: value for word, value in given.items() if value is not None}
    if normalise != "none":
        options["normalise"] = normalise
    refuse_weights("kernel PCA", data)
    if isinstance(data, GramData):
        if options:
            raise ValueError(f"a kernel matrix takes no {next(iter(options))}: leave it out")
        gram = data.gram
    elif not isinstance(data, TrainingData):
        raise TypeError(f"fit_kernel_pca takes TrainingData or GramData, got {type(data).__name__}")
    elif kernel is None:
        raise ValueError("fit_kernel_pca needs kernel for points: linear, rbf or poly")
    else:
        gram = gram_data(data, **options).gram
    means = gram.mean(axis=0)
    centred = centred_rows(gram, means)
    values, vectors = np.linalg.eigh((centred + centred.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = 10 * len(gram) * np.finfo(float).eps * float(np.abs(gram).max())
    rank = int((values > max(tolerance * values[0], rounding)).sum())
    if rank == 0:
        raise ValueError("all points coincide in feature space: the kernel has no components")
    r = _component_count(keep, values, rank, rounding)
    basis = vectors[:, :r] / np.sqrt(values[:r])
    # A vector of an eigenvalue other than 0 is orthogonal to the ones; rounding is taken off.
    basis -= basis.mean(axis=0)
    basis *= np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(r)])
    dropped = float(values[r]) if r < len(values) else 0.0
    return KernelPca(
        data, options, values[:r], basis, means, rank, float(np.trace(centred)), max(dropped, 0.0)
    )


def _component_count(keep: float | str, values: Array, rank: int, rounding: float) -> int:
    """How many components `keep` asks for.

    keep: all components of the rank, so many of them, or the fewest that hold this share (0 < keep
        < 1) of the variance.
    values (n,): eigenvalues of the centred kernel matrix, largest first.
    rank: how many of them are not taken for 0.
    rounding: what rounding may have added to an eigenvalue.
    Raises ValueError: another `keep`, more components than there are, or a number that separates
        equal eigenvalues.
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
