"""What happens to points before a model sees them: scaling, the unit sphere, kernels.

Everything fitted here is fitted on training points and applied, with the same numbers, to new
ones: to points by `Normaliser`, to kernel rows by `cross_gram`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from formulations.data import DENSE_LIMIT_BYTES, Array, GramData, TrainingData

NORMALISERS = ("none", "zscore", "unit", "centred")
KERNELS = ("linear", "rbf", "poly")
_KERNEL_PARAMETERS = {"linear": (), "rbf": ("width",), "poly": ("degree", "coef0")}


def _known(word: str, argument: str, allowed: tuple[str, ...]) -> str:
    if word in allowed:
        return word
    close = get_close_matches(str(word), allowed, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"{argument} {word!r} is not known: {hint}choose one of {', '.join(allowed)}")


def _points(name: str, values: ArrayLike, d: int | None = None) -> Array:
    """`values` as finite float64 rows, with `d` columns when that is given."""
    if sp.issparse(values):
        raise ValueError(f"{name} is sparse: pass a dense array")
    try:
        points = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers: {error}") from None
    if points.ndim != 2 or 0 in points.shape or (d is not None and points.shape[1] != d):
        wanted = "d" if d is None else str(d)
        raise ValueError(f"{name} must have shape (m, {wanted}) with m >= 1, got {points.shape}")
    bad = np.argwhere(~np.isfinite(points))
    if bad.size:
        row, column = bad[0]
        raise ValueError(f"{name} holds {points[row, column]} in row {row}, column {column}")
    return points


def _on_sphere(points: Array, smallest: Array | float, complaint: str) -> Array:
    """Rows divided by their norms; a row with no entry above `smallest` is refused."""
    largest = np.abs(points).max(axis=1)
    directionless = np.flatnonzero(largest <= smallest)
    if directionless.size:
        raise ValueError(
            f"row {directionless[0]} of X {complaint} and has no direction "
            f"({directionless.size} such rows): remove it, or choose normalise none or zscore"
        )
    scaled = points / largest[:, None]
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Normaliser:
    """A map of points fitted on training data.

    Attributes
    ----------
    kind : str
        `none`, `zscore` (x - mean) / sd, `unit` x / ||x||, `centred` (x - mean) / ||x - mean||.
    d : int
        Number of features.
    shift : array (d,) or None
        Mean of the training points, for `zscore` and `centred`.
    scale : array (d,) or None
        Standard deviation (ddof = 0) of the training points, for `zscore`.
    constant_columns : tuple of int
        Columns without spread in the training points. `zscore` gives them scale 1, so that they
        are 0 on the training points but not on new ones: drop them if that matters.
    """

    kind: str
    d: int
    shift: Array | None = None
    scale: Array | None = None
    constant_columns: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, expected in (
            ("shift", self.kind in ("zscore", "centred")),
            ("scale", self.kind == "zscore"),
        ):
            values = getattr(self, name)
            if (values is not None) != expected:
                raise ValueError(
                    f"a {self.kind} normaliser {'needs' if expected else 'has no'} {name}"
                )
            if values is None:
                continue
            array = np.array(values, dtype=np.float64)
            if array.shape != (self.d,) or not np.isfinite(array).all():
                raise ValueError(f"{name} must hold {self.d} finite numbers, one for each column")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.scale is not None and not (self.scale > 0).all():
            raise ValueError("scale must hold positive numbers")

    def apply(self, X: ArrayLike) -> Array:
        """Map points.

        Parameters
        ----------
        X : array (m, d)
            Training or new points.

        Returns
        -------
        array (m, d)
            A new array.

        Raises
        ------
        ValueError
            Wrong shape or non-finite cell; for `unit` a zero row, for `centred` a row that is the
            training mean (to rounding): neither has a direction. The row is named.
        """
        points = _points("X", X, self.d)
        if self.kind == "none":
            return points.copy()
        if self.kind == "unit":
            return _on_sphere(points, 0.0, "is zero")
        assert self.shift is not None
        moved = points - self.shift
        if self.scale is not None:
            return moved / self.scale
        # The mean itself is rounded: what is left of a point on it is noise, not a direction.
        size = np.maximum(np.abs(points).max(axis=1), np.abs(self.shift).max())
        return _on_sphere(
            moved, 32 * np.finfo(float).eps * size, "is the mean of the training points"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists, to be saved beside a result."""
        return {
            "kind": self.kind,
            "d": self.d,
            "shift": None if self.shift is None else self.shift.tolist(),
            "scale": None if self.scale is None else self.scale.tolist(),
            "constant_columns": list(self.constant_columns),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Normaliser:
        """Read back what `to_json` wrote; numbers survive bit for bit.

        Raises
        ------
        ValueError
            Naming the missing key, or the entry that does not fit the others.
        """
        missing = [
            key for key in ("kind", "d", "shift", "scale", "constant_columns") if key not in saved
        ]
        if missing:
            raise ValueError(f"the saved normaliser lacks {', '.join(missing)}")
        return cls(
            _known(saved["kind"], "normalise", NORMALISERS),
            int(saved["d"]),
            saved["shift"],
            saved["scale"],
            tuple(int(column) for column in saved["constant_columns"]),
        )


def fit_normaliser(kind: str, X: ArrayLike) -> Normaliser:
    """Fit a normaliser on training points.

    Parameters
    ----------
    kind : str
        One of `NORMALISERS`.
    X : array (n, d)
        Training points.

    Raises
    ------
    ValueError
        Unknown kind, wrong shape, a non-finite cell, or a column whose spread overflows.
    """
    _known(kind, "normalise", NORMALISERS)
    points = _points("X", X)
    low, high = points.min(axis=0), points.max(axis=0)
    constant = low == high
    columns = tuple(np.flatnonzero(constant).tolist())
    if kind in ("none", "unit"):
        return Normaliser(kind, points.shape[1], constant_columns=columns)
    with np.errstate(over="ignore", invalid="ignore"):
        # The computed mean of equal numbers may be one unit off: the number itself is exact.
        shift = np.where(constant, low, points.mean(axis=0))
        moved = points - shift
        largest = np.where(constant, 1.0, np.abs(moved).max(axis=0))
        spread = largest * np.sqrt(np.mean((moved / largest) ** 2, axis=0))
    scale = np.where(constant, 1.0, spread)
    bad = np.flatnonzero(~(np.isfinite(shift) & np.isfinite(scale) & (scale > 0)))
    if bad.size:
        raise ValueError(f"column {bad[0]} of X spreads beyond double precision: rescale it")
    return Normaliser(
        kind, points.shape[1], shift, scale if kind == "zscore" else None, constant_columns=columns
    )


def normalise(data: TrainingData, kind: str) -> tuple[TrainingData, Normaliser]:
    """Fit a normaliser on the points of `data` and apply it to them.

    Parameters
    ----------
    data : TrainingData
        Points and labels. The constant column of the intercept is never part of them.
    kind : str
        One of `NORMALISERS`.

    Returns
    -------
    TrainingData, Normaliser
        The mapped points, with the same labels and spec; the map, to be applied to new points.

    Raises
    ------
    TypeError
        For a kernel matrix: `gram_data` normalises those.
    ValueError
        See `fit_normaliser` and `Normaliser.apply`.
    """
    if not isinstance(data, TrainingData):
        raise TypeError(
            f"normalise takes TrainingData, got {type(data).__name__}: "
            "for a kernel matrix write gram_data(data, kernel=..., normalise=...)"
        )
    fitted = fit_normaliser(kind, data.X)
    return TrainingData(fitted.apply(data.X), data.y, spec=data.spec), fitted


def _check_kernel(kind: str, width: float | None, degree: int | None, coef0: float | None) -> None:
    if kind == "precomputed":
        raise ValueError("kernel precomputed: pass your matrix as GramData(gram, y) instead")
    _known(kind, "kernel", KERNELS)
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

    Returns
    -------
    array (m, n)

    Raises
    ------
    ValueError
        Naming the unknown kernel, the missing, unwanted or non-finite parameter, the bad cell, or
        the bytes needed when they exceed 2 GiB.
    """
    return _kernel(kind, A, B, width, degree, coef0, less_one=False)


def _kernel(
    kind: str,
    A: ArrayLike,
    B: ArrayLike,
    width: float | None,
    degree: int | None,
    coef0: float | None,
    *,
    less_one: bool,
) -> Array:
    """Kernel values; with `less_one`, rbf values minus 1, exact for small widths."""
    _check_kernel(kind, width, degree, coef0)
    left = _points("A", A)
    right = _points("B", B, left.shape[1])
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
    """k(x, x) for the rows of A, in the convention `less_one` of `_kernel`."""
    if kind == "rbf":
        return np.zeros(len(A))
    with np.errstate(over="ignore"):
        values = np.einsum("ij,ij->i", A, A)
        if kind == "poly":
            values = (values + np.float64(coef0)) ** int(degree or 1)
    return _refuse_overflow(kind, values)


def _lengths(points: str, squared: Array, size: Array) -> Array:
    """Distances to the mean in feature space, refused where rounding is all there is."""
    on_mean = np.flatnonzero(squared <= 100 * np.finfo(float).eps * size)
    if on_mean.size:
        raise ValueError(
            f"row {on_mean[0]} of {points} is the mean of the training points in feature space and "
            f"has no direction ({on_mean.size} such rows): remove it, or choose another normalise"
        )
    return np.sqrt(squared)


def _centred_in_feature_space(kernel: str, kind: str) -> bool:
    """Whether centring needs the Gram matrix: for a linear kernel the points are more exact."""
    return _known(kind, "normalise", NORMALISERS) == "centred" and kernel != "linear"


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

    `zscore` and `unit` act on the points, before the kernel. `centred` acts in feature space, as
    Bi and Vapnik do: with k the kernel and means over the training points,

        k0(x, x') = k(x, x') - mean_q k(x, x_q) - mean_p k(x_p, x') + mean_pq k(x_p, x_q)
        k1(x, x') = k0(x, x') / sqrt(k0(x, x) k0(x', x'))

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
    """
    if not isinstance(data, TrainingData):
        raise TypeError(f"gram_data takes TrainingData, got {type(data).__name__}")
    _check_kernel(kernel, width, degree, coef0)
    if not _centred_in_feature_space(kernel, normalise):
        points = fit_normaliser(normalise, data.X).apply(data.X)
        gram = kernel_matrix(kernel, points, points, width=width, degree=degree, coef0=coef0)
        return GramData(gram, data.y, spec=data.spec)
    gram = _kernel(kernel, data.X, data.X, width, degree, coef0, less_one=True)
    means = gram.mean(axis=0)
    centred = gram - means[:, None] - means[None, :] + means.mean()
    size = np.abs(np.diag(gram)) + np.abs(means)
    lengths = _lengths("data.X", np.diag(centred).copy(), size)
    on_sphere = centred / np.outer(lengths, lengths)
    np.fill_diagonal(on_sphere, 1.0)
    return GramData((on_sphere + on_sphere.T) / 2, data.y, spec=data.spec)


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
    points = _points("X", X, data.d)
    _check_kernel(kernel, width, degree, coef0)
    if not _centred_in_feature_space(kernel, normalise):
        fitted = fit_normaliser(normalise, data.X)
        return kernel_matrix(
            kernel, fitted.apply(points), fitted.apply(data.X),
            width=width, degree=degree, coef0=coef0,
        )  # fmt: skip
    gram = _kernel(kernel, data.X, data.X, width, degree, coef0, less_one=True)
    rows = _kernel(kernel, points, data.X, width, degree, coef0, less_one=True)
    means, row_means = gram.mean(axis=0), rows.mean(axis=1)
    own = _kernel_diagonal(kernel, points, degree, coef0)
    new = _lengths(
        "X",
        own - 2 * row_means + means.mean(),
        np.abs(own) + np.abs(row_means) + np.abs(means.mean()),
    )
    trained = _lengths(
        "data.X",
        np.diag(gram) - 2 * means + means.mean(),
        np.abs(np.diag(gram)) + np.abs(means),
    )
    centred = rows - row_means[:, None] - means[None, :] + means.mean()
    return centred / np.outer(new, trained)
