"""Training data: the only thing every builder reads, checked once and read-only ever after."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
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
    try:
        if np.iscomplexobj(values):
            raise TypeError("complex numbers")
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold real numbers: {error}") from None


def _refuse_non_finite(name: str, values: Array) -> None:
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):  # no NaN and no infinity adds up to a number
            return
    bad = np.argwhere(~np.isfinite(values))
    if not bad.size:
        return
    place = ", ".join(f"{word} {k}" for word, k in zip(("row", "column"), bad[0], strict=False))
    raise ValueError(f"{name} holds {values[tuple(bad[0])]} in {place} ({len(bad)} such cells)")


def _labels(y: ArrayLike, n: int) -> Array:
    """Labels as -1.0 and +1.0, both present."""
    found = np.asarray(y)
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

    Raises
    ------
    ValueError
        Not square, not symmetric, not finite, or not positive semidefinite; the last names the
        smallest eigenvalue and the two ways out.
    """

    gram: Array
    y: Array
    spec: str = ""

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
        noise = len(gram) * np.finfo(float).eps * max(abs(eigenvalues[-1]), abs(eigenvalues[0]))
        if eigenvalues[0] < -100 * noise:
            raise ValueError(
                f"gram is not positive semidefinite: smallest eigenvalue {eigenvalues[0]:.6g}; "
                "choose another kernel, or add a multiple of the identity and say so"
            )
        keep = eigenvalues > 100 * noise
        factor = np.ascontiguousarray(vectors[:, keep] * np.sqrt(eigenvalues[keep]))
        for array in (gram, labels, factor):
            array.setflags(write=False)
        object.__setattr__(self, "gram", gram)
        object.__setattr__(self, "y", labels)
        object.__setattr__(self, "_factor", factor)

    @property
    def factor(self) -> Array:
        """Rows F (n, rank) with gram = F F' to rounding; zero eigenvalues are left out."""
        return self.__dict__["_factor"]

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
