"""Training data: the only thing every builder reads, checked once and read-only ever after."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

DENSE_LIMIT_BYTES = 2**31


def _real_array(name: str, values: Any) -> Array:
    """Copy `values` to a float64 array; say which argument is not numeric."""
    if sp.issparse(values):
        needed = 8 * int(np.prod(values.shape))
        if needed > DENSE_LIMIT_BYTES:
            raise ValueError(
                f"{name} is sparse and needs {needed:,} bytes when dense "
                f"(limit {DENSE_LIMIT_BYTES:,}): select columns or rows first"
            )
        values = values.toarray()
    types = getattr(values, "dtypes", None)  # of the columns of a data frame
    kinds = [getattr(t, "kind", "") for t in (getattr(values, "dtype", None), *_listed(types))]
    if {"m", "M"} & set(kinds):  # numpy would count them from 1970
        raise ValueError(f"{name} must hold real numbers: dates or times")
    try:
        if np.iscomplexobj(values):
            raise TypeError("complex numbers")
        if isinstance(values, np.ma.MaskedArray):
            # A plain copy would bring back the numbers behind the mask.
            values = np.ma.filled(values.astype(np.float64), np.nan)
        with np.errstate(over="ignore"):  # a long double may not fit; the infinity is refused next
            return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold real numbers: {_bad_cell(values) or error}") from None


def _listed(values: Any) -> list[Any]:
    return [] if values is None else list(np.atleast_1d(np.asarray(values, dtype=object)))


def _bad_cell(values: Any) -> str:
    """Place of the first cell of a table that is no number; an empty string for no table."""
    try:
        cells = np.array(values, dtype=object)
    except ValueError:  # ragged
        return ""
    if cells.ndim not in (1, 2):
        return ""
    for place, cell in np.ndenumerate(cells):
        try:
            float(cell)
        except (TypeError, ValueError, OverflowError):
            where = ", ".join(
                f"{word} {k}" for word, k in zip(("row", "column"), place, strict=False)
            )
            text = repr(cell)
            return f"{text if len(text) < 40 else text[:36] + ' ...'} in {where}"
    return ""


def _refuse_non_finite(name: str, values: Array) -> None:
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):  # no NaN and no infinity adds up to a number
            return
    bad = np.argwhere(~np.isfinite(values))
    if not bad.size:
        return
    place = ", ".join(f"{word} {k}" for word, k in zip(("row", "column"), bad[0], strict=False))
    raise ValueError(f"{name} holds {values[tuple(bad[0])]} in {place} ({len(bad)} such cells)")


def _is_number(label: Any) -> bool:
    return isinstance(label, Real) and not isinstance(label, bool | np.bool_)


def _labels(y: ArrayLike, n: int) -> Array:
    """Labels as -1.0 and +1.0, both present."""
    masked = np.flatnonzero(np.ma.getmaskarray(y)) if np.ma.isMaskedArray(y) else np.empty(0)
    if masked.size:
        raise ValueError(f"y is masked in row {masked[0]} ({masked.size} such rows)")
    found = np.asarray(y)
    if found.dtype.kind == "O" and all(_is_number(label) for label in found.flat):
        found = found.astype(np.float64)  # what pandas calls object, integers say
    if found.shape != (n,):
        raise ValueError(f"y must have shape ({n},) to match the points, got {found.shape}")
    if found.dtype.kind not in "fiub" or found.dtype.kind == "b":
        raise ValueError(
            f"labels must be numbers -1 and +1, got {sorted(set(found.tolist()), key=str)[:4]}; "
            "write np.where(y == positive_label, 1, -1), or use --positive on the command line"
        )
    labels = found.astype(np.float64)
    _refuse_non_finite("y", labels)
    distinct = set(np.unique(labels).tolist())
    if not distinct <= {-1.0, 1.0}:
        raise ValueError(
            f"labels must be -1 and +1, got {sorted(distinct)[:4]}; "
            "write np.where(y == positive_label, 1, -1), or use --positive on the command line"
        )
    if len(distinct) < 2:
        only = ", ".join(f"{v:+.0f}" for v in distinct) or "none"
        raise ValueError(f"both labels -1 and +1 must occur, got only: {only}")
    return labels


def _digest(*arrays: Array) -> str:
    h = hashlib.sha256()
    for a in arrays:
        h.update(repr(a.shape).encode())
        h.update(np.ascontiguousarray(a, dtype="<f8").tobytes())
    return h.hexdigest()


@dataclass(frozen=True, eq=False)
class TrainingData:
    """n labelled points.

    Parameters
    ----------
    X : array (n, d)
        Points, converted to float64. Sparse matrices are made dense up to 2 GiB.
    y : array (n,)
        Labels, -1 or +1, both present.
    spec : str
        Where the data came from, kept for the record of a result.

    Raises
    ------
    ValueError
        Naming the argument, and the row and column of the first bad cell.
    """

    X: Array
    y: Array
    spec: str = ""

    def __post_init__(self) -> None:
        points = _real_array("X", self.X)
        if points.ndim != 2 or 0 in points.shape:
            raise ValueError(f"X must have shape (n, d) with n, d >= 1, got {points.shape}")
        _refuse_non_finite("X", points)
        labels = _labels(self.y, points.shape[0])
        points.setflags(write=False)
        labels.setflags(write=False)
        object.__setattr__(self, "X", points)
        object.__setattr__(self, "y", labels)

    @property
    def n(self) -> int:
        """Number of points."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def n_pos(self) -> int:
        """Number of points labelled +1."""
        return int((self.y > 0).sum())

    @property
    def n_neg(self) -> int:
        """Number of points labelled -1."""
        return int((self.y < 0).sum())

    @property
    def factor(self) -> Array:
        """Rows whose inner products are the (linear) kernel: the points themselves."""
        return self.X

    @cached_property
    def sha256(self) -> str:
        """Digest of X and y, independent of memory layout."""
        return _digest(self.X, self.y)


def _checked_shift(shift: float | str, smallest: float, noise: float) -> float:
    """Number to add to the diagonal; that of "smallest" is 0 where rounding is all there is."""
    if isinstance(shift, str):
        if shift != "smallest":
            raise ValueError(f"shift must be a number or smallest, got {shift!r}")
        return -smallest if smallest < -100 * noise else 0.0
    if isinstance(shift, bool | np.bool_) or not isinstance(shift, Real):
        raise ValueError(f"shift must be a number or smallest, got {shift!r}")
    number = float(shift)
    if not 0 <= number < np.inf:
        raise ValueError(f"shift must be a finite number of at least 0, got {shift!r}")
    return number


@dataclass(frozen=True, eq=False)
class GramData:
    """A positive semidefinite kernel matrix with labels.

    Parameters
    ----------
    gram : array (n, n)
        Inner products of the points in feature space.
    y : array (n,)
        Labels, -1 or +1, both present.
    spec : str
        Where the data came from.
    shift : number or "smallest"
        Added to the diagonal, 0 by default: the kernel of another problem, on purpose. "smallest"
        takes the least number that makes the matrix semidefinite, minus its smallest eigenvalue.

    Attributes
    ----------
    smallest_eigenvalue : float
        Of the matrix as given, before the shift.

    Raises
    ------
    ValueError
        Not square, not symmetric, not finite, or not positive semidefinite; the last names the
        smallest eigenvalue and the ways out.
    """

    gram: Array
    y: Array
    spec: str = ""
    shift: float | str = 0.0

    def __post_init__(self) -> None:
        gram = _real_array("gram", self.gram)
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or gram.size == 0:
            raise ValueError(f"gram must be square, got shape {gram.shape}")
        _refuse_non_finite("gram", gram)
        scale = float(np.abs(gram).max())
        if np.abs(gram - gram.T).max() > 1e-10 * max(scale, 1e-300):
            raise ValueError("gram must be symmetric")
        gram = (gram + gram.T) / 2
        labels = _labels(self.y, gram.shape[0])
        eigenvalues, vectors = np.linalg.eigh(gram)
        smallest = float(eigenvalues[0])
        noise = len(gram) * np.finfo(float).eps * max(abs(eigenvalues[-1]), abs(smallest))
        shift = _checked_shift(self.shift, smallest, noise)
        if smallest + shift < -100 * noise:
            small = f", and shift={shift:.6g} is too small" if shift else ""
            raise ValueError(
                f"gram is not positive semidefinite: smallest eigenvalue {smallest:.6g}{small}; "
                f"choose another kernel, or shift=smallest, which adds {-smallest:.6g} to the "
                "diagonal and is recorded"
            )
        gram = gram + shift * np.eye(len(gram))
        eigenvalues = eigenvalues + shift
        keep = eigenvalues > 100 * noise
        factor = np.ascontiguousarray(vectors[:, keep] * np.sqrt(eigenvalues[keep]))
        for array in (gram, labels, factor):
            array.setflags(write=False)
        object.__setattr__(self, "gram", gram)
        object.__setattr__(self, "y", labels)
        object.__setattr__(self, "_factor", factor)
        object.__setattr__(self, "shift", shift)
        object.__setattr__(self, "_smallest", smallest)

    @property
    def factor(self) -> Array:
        """Rows F (n, rank) with gram = F F' to rounding; zero eigenvalues are left out."""
        return self.__dict__["_factor"]

    @property
    def smallest_eigenvalue(self) -> float:
        """Smallest eigenvalue of the matrix as given, before the shift."""
        return self.__dict__["_smallest"]

    @property
    def n(self) -> int:
        """Number of points."""
        return self.gram.shape[0]

    @property
    def d(self) -> int:
        """Rank of the kernel matrix: the dimension of the factor."""
        return self.factor.shape[1]

    @property
    def n_pos(self) -> int:
        """Number of points labelled +1."""
        return int((self.y > 0).sum())

    @property
    def n_neg(self) -> int:
        """Number of points labelled -1."""
        return int((self.y < 0).sum())

    @cached_property
    def sha256(self) -> str:
        """Digest of the kernel matrix and y."""
        return _digest(self.gram, self.y)
