"""What happens to points before a model sees them: scaling and the unit sphere.

Everything fitted here is fitted on training points and applied, with the same numbers, to new
ones; kernels.py does the same for kernel matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import (
    Array,
    finite_points,
    keep_read_only,
    plain_numbers,
    saved_numbers,
)
from tightmargin.formulations.data.sparse_points import (
    Points,
    columns_range,
    divided_rows,
    is_sparse,
    kept_points,
    squared_lengths,
)
from tightmargin.formulations.data.training_data import TrainingData, with_points

_SAVED = ("kind", "d", "shift", "scale", "constant_columns", "largest")
NORMALISERS = ("none", "zscore", "unit", "centred", "zscore_unit")
KEEP_ZEROS = ("none", "unit")  # and so sparse points sparse
ROUNDING = 32 * np.finfo(float).eps  # of the numbers a mean is made of: what is left on it


def known_word(word: str, argument: str, allowed: tuple[str, ...]) -> str:
    if word in allowed:
        return word
    close = get_close_matches(str(word), allowed, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"{argument} {word!r} is not known: {hint}choose one of {', '.join(allowed)}")


def _on_sphere(points: Points, smallest: Array | float, complaint: str) -> Points:
    """Rows divided by their norms; a row with no entry above `smallest` is refused.

    Of sparse points `smallest` is 0.
    """
    sparse = is_sparse(points)
    beyond = np.diff(points.indptr) > 0 if sparse else (np.abs(points) > smallest).any(axis=1)
    directionless = np.flatnonzero(~beyond)
    if directionless.size:
        raise ValueError(
            f"row {directionless[0]} of X {complaint} and has no direction "
            f"({directionless.size} such rows): remove it, or choose normalise none or zscore"
        )
    if sparse:
        scaled = divided_rows(points, abs(points).max(axis=1).toarray())
        return divided_rows(scaled, np.sqrt(squared_lengths(scaled)))
    scaled = points / np.abs(points).max(axis=1, keepdims=True)
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Normaliser:
    """A map of points fitted on training data.

    Attributes
    ----------
    kind : str
        `none`, `zscore` z = (x - mean) / sd, `unit` x / ||x||, `centred`
        (x - mean) / ||x - mean||, and `zscore_unit` z / ||z|| without the constant columns, which
        is what Bi & Vapnik 2003 do in section 6.
    d : int
        Number of features, before any is dropped.
    shift : array (d,) or None
        Mean of the training points, for all kinds but `none` and `unit`.
    scale : array (d,) or None
        Standard deviation (ddof = 0) of the training points, for `zscore` and `zscore_unit`.
    constant_columns : tuple of int
        Columns without spread in the training points. `zscore` gives them scale 1, so that they
        are 0 on the training points but not on new ones; `zscore_unit` drops them, whatever new
        points hold there.
    largest : float or None
        Largest |cell| of the training points, for `centred`: a mean is known to its rounding.
        Results saved before it was kept lack it.
    """

    kind: str
    d: int
    shift: Array | None = None
    scale: Array | None = None
    constant_columns: tuple[int, ...] = ()
    largest: float | None = None

    def __post_init__(self) -> None:
        for name, expected in (
            ("shift", self.kind not in ("none", "unit")),
            ("scale", self.kind in ("zscore", "zscore_unit")),
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
            keep_read_only(self, **{name: array})
        if self.scale is not None and not (self.scale > 0).all():
            raise ValueError("scale must hold positive numbers")
        if self.largest is not None and not 0 <= self.largest < np.inf:
            raise ValueError(f"largest must be a finite number, got {self.largest}")
        if not set(self.constant_columns) <= set(range(self.d)):
            raise ValueError(f"constant_columns must lie in 0 to {self.d - 1}")
        if self.kind == "zscore_unit" and not self.kept.size:
            raise ValueError("every column of X is constant: normalise zscore_unit drops them all")

    @property
    def kept(self) -> NDArray[np.intp]:
        """Columns of X that a mapped point is made of."""
        if self.kind != "zscore_unit":
            return np.arange(self.d)
        return np.setdiff1d(np.arange(self.d), self.constant_columns)

    def apply(self, X: ArrayLike) -> Points:
        """Map points.

        Parameters
        ----------
        X : array or sparse matrix (m, d)
            Training or new points.

        Returns
        -------
        array (m, len(kept))
            A new array; a csr_array of sparse points where zeros stay zeros, for none and unit.

        Raises
        ------
        ValueError
            Wrong shape or non-finite cell; for `unit` a zero row, for `centred` and `zscore_unit`
            a row that is the training mean (to rounding, in the columns kept): neither has a
            direction. The row is named.
        """
        if self.kind in KEEP_ZEROS:
            points = kept_points("X", X, self.d)
            return points if self.kind == "none" else _on_sphere(points, 0.0, "is zero")
        points = finite_points("X", X, self.d)
        assert self.shift is not None
        points, shift = points[:, self.kept], self.shift[self.kept]
        scale = 1.0 if self.scale is None else self.scale[self.kept]
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (points - shift) / scale
        away = np.flatnonzero(~np.isfinite(scaled).all(axis=1))
        if away.size:
            raise ValueError(f"row {away[0]} of X lies beyond double precision: rescale it")
        if self.kind == "zscore":
            return scaled
        # The mean itself is rounded: what is left of a point on it is noise, not a direction.
        if self.kind == "zscore_unit":
            noise = ROUNDING * np.maximum(np.abs(points), np.maximum(np.abs(shift), scale)) / scale
            return _on_sphere(scaled, noise, "is the training mean in every column that varies")
        size = np.maximum(np.abs(points).max(axis=1, keepdims=True), np.abs(shift).max())
        size = np.maximum(size, self.largest or 0.0)
        return _on_sphere(scaled, ROUNDING * size, "is the mean of the training points")

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and lists, to be saved beside a result."""
        return plain_numbers(self, _SAVED)

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Normaliser:
        """Read back what `to_json` wrote; numbers survive bit for bit.

        Raises
        ------
        ValueError
            Naming the missing key, or the entry that does not fit the others.
        """
        found = saved_numbers("normaliser", {"largest": None} | dict(saved), _SAVED)
        known_word(found["kind"], "normalise", NORMALISERS)
        columns = tuple(int(column) for column in found["constant_columns"])
        return cls(**found | {"d": int(found["d"]), "constant_columns": columns})


def fit_normaliser(kind: str, X: ArrayLike, weights: Array | None = None) -> Normaliser:
    """Fit a normaliser on training points.

    Parameters
    ----------
    kind : str
        One of `NORMALISERS`.
    X : array (n, d)
        Training points.
    weights : array (n,), optional
        What each counts in means and spreads, above 0.

    Raises
    ------
    ValueError
        Unknown kind, wrong shape, a non-finite cell, a column whose spread overflows, or, for
        `zscore_unit`, no column that varies.
    """
    known_word(kind, "normalise", NORMALISERS)
    points = kept_points("X", X) if kind in KEEP_ZEROS else finite_points("X", X)
    low, high = columns_range(points)
    constant = low == high
    columns = tuple(np.flatnonzero(constant).tolist())
    if kind in ("none", "unit"):
        return Normaliser(kind, points.shape[1], constant_columns=columns)
    with np.errstate(over="ignore", invalid="ignore"):
        # The computed mean of equal numbers may be one unit off: the number itself is exact.
        shift = np.where(constant, low, _mean(points, weights))
        moved = points - shift
        largest = np.where(constant, 1.0, np.abs(moved).max(axis=0))
        spread = largest * np.sqrt(_mean((moved / largest) ** 2, weights))
    scale = np.where(constant, 1.0, spread)
    bad = np.flatnonzero(~(np.isfinite(shift) & np.isfinite(scale) & (scale > 0)))
    if bad.size:
        raise ValueError(f"column {bad[0]} of X spreads beyond double precision: rescale it")
    d = points.shape[1]
    if kind == "centred":
        return Normaliser(kind, d, shift, None, columns, float(np.abs(points).max()))
    return Normaliser(kind, d, shift, scale, columns)


def _mean(rows: Array, weights: Array | None) -> Array:
    return rows.mean(axis=0) if weights is None else weights / weights.sum() @ rows


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
    if known_word(kind, "normalise", NORMALISERS) not in KEEP_ZEROS:
        data = data.dense_for(f"normalise={kind}", "take unit, which keeps zeros, or none")
    fitted = fit_normaliser(kind, data.X, data.weights)
    return with_points(data, fitted.apply(data.X), data.feature_names), fitted
