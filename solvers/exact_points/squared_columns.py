"""Columns whose squares a row bounds, moved towards 0 as far as their one linear row lets them.

A solver leaves p = 1e-6 in p >= 1 - u, p^2 <= s z where both ends of the second row are as small
and p = 0 would do: raising z to p^2 / s costs what the point is worth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.standard_form.standard_form import StandardForm

Flags = NDArray[np.bool_]


def with_squares_lowered(form: StandardForm, x: Array) -> Array:
    """The point with such columns nearer to 0."""
    if not form.quadratic:
        return x
    squared = _squared(form) & ~form.integer & (np.diff(form.columnwise.indptr) == 1)
    entries = form.A.tocoo()
    kept = squared[entries.col]
    row, column, a = entries.row[kept], entries.col[kept], entries.data[kept]
    count = np.bincount(row, minlength=form.A.shape[0])
    x = x.copy()
    alone = count[row] == 1
    _alone(form, x, row[alone], column[alone], a[alone])
    same = (form.row_lower == form.row_upper) & (count == 2)
    order = np.argsort(row[same[row]], kind="stable")
    pairs, numbers = (part[same[row]][order].reshape(-1, 2) for part in (column, a))
    _together(form, x, pairs, numbers)
    return x


def _squared(form: StandardForm) -> Flags:
    """Columns that enter quadratic rows with an upper side as squares alone, and nothing else."""
    found, spoilt = np.zeros(form.n, dtype=bool), form.objective.a != 0
    spoilt |= np.diff(form.objective.Q.indptr) > 0
    for row in form.quadratic:
        body = row.body
        square = np.zeros(len(body.index), dtype=bool)
        square[body.i[(body.i == body.j) & (body.v > 0)]] = True
        other = body.a != 0
        other[body.i[(body.i != body.j) | (body.v < 0)]] = True
        if np.isfinite(row.lower):
            other[:] = True
        found[body.index[square]] = True
        spoilt[body.index[other]] = True
    for psd_row in form.psd:
        spoilt[psd_row.F.indices] = True
    return found & ~spoilt


def _alone(form: StandardForm, x: Array, row: Array, column: Array, a: Array) -> None:
    """Each as far as its row has room, and holds by more than its rounding."""
    A = form.A
    value = (A @ x)[row]
    rounding = ((np.diff(A.indptr) + 8) * ROUNDOFF * (form.sizes @ np.abs(x)))[row]
    with np.errstate(invalid="ignore"):
        falls = (a > 0) == (x[column] > 0)
        room = np.where(falls, value - form.row_lower[row], form.row_upper[row] - value)
    far = np.minimum(np.maximum(room - 2 * rounding, 0.0) / np.abs(a), np.abs(x[column]))
    _shrink(form, x, column, far)


def _together(form: StandardForm, x: Array, pairs: Array, a: Array) -> None:
    """Two in one equation, the sum of whose terms stays as it is."""
    if not len(pairs):
        return
    terms = a * x[pairs]
    both = terms[:, 0] * terms[:, 1] < 0
    less = np.where(both, np.abs(terms).min(axis=1), 0.0)
    for k in (0, 1):
        _shrink(form, x, pairs[:, k], less / np.abs(a[:, k]))


def _shrink(form: StandardForm, x: Array, column: Array, far: Array) -> None:
    nearer = np.sign(x[column]) * np.maximum(np.abs(x[column]) - far, 0.0)
    x[column] = np.clip(nearer, form.lower[column], form.upper[column])
