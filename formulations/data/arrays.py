"""Arrays from whatever the user has, checked to the last cell before anything is built."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Index = NDArray[np.signedinteger]
Mask = NDArray[np.bool_]

DENSE_LIMIT_BYTES = 2**31


def dense_bytes(values: Any) -> int:
    """What the float64 array of this shape needs."""
    return 8 * math.prod(values.shape)


def real_array(name: str, values: Any) -> Array:
    """Copy `values` to a float64 array; say which argument is not numeric."""
    if sp.issparse(values):
        needed = dense_bytes(values)
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


def refuse_non_finite(name: str, values: Array) -> None:
    with np.errstate(all="ignore"):
        if np.isfinite(values.sum()):  # no NaN and no infinity adds up to a number
            return
    bad = np.argwhere(~np.isfinite(values))
    if not bad.size:
        return
    place = ", ".join(f"{word} {k}" for word, k in zip(("row", "column"), bad[0], strict=False))
    raise ValueError(f"{name} holds {values[tuple(bad[0])]} in {place} ({len(bad)} such cells)")


def finite_points(name: str, values: ArrayLike, d: int | None = None) -> Array:
    """`values` copied to dense finite float64 rows, with `d` columns when that is given."""
    points = real_array(name, values)
    if points.ndim != 2 or 0 in points.shape or (d is not None and points.shape[1] != d):
        wanted = "d" if d is None else str(d)
        raise ValueError(f"{name} must have shape (m, {wanted}) with m >= 1, got {points.shape}")
    refuse_non_finite(name, points)
    return points


def keep_read_only(owner: object, **arrays: NDArray[Any]) -> None:
    """Make arrays attributes of a frozen dataclass that nobody can write to."""
    for name, array in arrays.items():
        array.setflags(write=False)
        object.__setattr__(owner, name, array)


def digest(*arrays: Any) -> str:
    """Of arrays, or of canonical csr arrays, for whose digest no zero is written out."""
    h = hashlib.sha256()
    for a in arrays:
        h.update(repr(a.shape).encode())
        if sp.issparse(a):
            h.update(b"csr")
            for at in (a.indptr, a.indices):
                h.update(np.ascontiguousarray(at, dtype="<i8").data)
            a = a.data
        h.update(np.ascontiguousarray(a, dtype="<f8").data)
    return h.hexdigest()


def plain_numbers(fitted: object, names: Sequence[str]) -> dict[str, Any]:
    """These attributes by name, arrays and tuples as lists."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.tolist()
        return list(value) if isinstance(value, tuple) else value

    return {name: plain(getattr(fitted, name)) for name in names}


def saved_numbers(what: str, saved: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """These entries of what `plain_numbers` wrote.

    what: what was saved, for the complaint.
    Raises ValueError: naming the missing keys.
    """
    missing = [name for name in names if name not in saved]
    if missing:
        raise ValueError(f"the saved {what} lacks {', '.join(missing)}")
    return {name: saved[name] for name in names}
