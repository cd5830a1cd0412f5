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
import scipy.sparse as sp
from numpy.typing import ArrayLike

from formulations.data import Array, TrainingData

NORMALISERS = ("none", "zscore", "unit", "centred")


def known_word(word: str, argument: str, allowed: tuple[str, ...]) -> str:
    if word in allowed:
        return word
    close = get_close_matches(str(word), allowed, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"{argument} {word!r} is not known: {hint}choose one of {', '.join(allowed)}")


def finite_points(name: str, values: ArrayLike, d: int | None = None) -> Array:
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
        points = finite_points("X", X, self.d)
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
            known_word(saved["kind"], "normalise", NORMALISERS),
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
    known_word(kind, "normalise", NORMALISERS)
    points = finite_points("X", X)
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
