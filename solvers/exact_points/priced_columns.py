"""Columns that cost and that one quadratic row alone keeps up, as t in p^2 <= t T, moved down.

A point of a solver that stopped early has t above p^2 / T, and the objective would be said to be
what t costs. Raised columns are found elsewhere (one_sided_columns.py); these fall until their row
holds by little more than its rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.standard_form.quadratic import QuadraticRow
from tightmargin.solvers.standard_form.standard_form import StandardForm

MANY = 2_000  # rows that are looked at one by one
ROOM = 16  # roundings that the row is left


def with_priced_lowered(form: StandardForm, x: Array) -> Array:
    """The point with such columns as low as their rows let them be."""
    if not 0 < len(form.quadratic) <= MANY:
        return x
    priced = _priced(form)
    if not priced.any():
        return x
    x = x.copy()
    for row in form.quadratic:
        held = np.flatnonzero(priced[row.body.index])
        if len(held) == 1:
            _lower(form, x, row, int(held[0]))
    return x


def _priced(form: StandardForm) -> NDArray[np.bool_]:
    """Columns with a linear price that occur in one quadratic row and nowhere else."""
    found = (form.objective.a > 0) & ~form.integer & (np.diff(form.columnwise.indptr) == 0)
    found &= np.diff(form.objective.Q.tocsc().indptr) == 0
    for row in form.psd:
        found[row.F.indices] = False
    occurs = np.bincount(
        np.concatenate([row.body.index for row in form.quadratic]), minlength=form.n
    )
    return np.asarray(found & (occurs == 1))


def _lower(form: StandardForm, x: Array, row: QuadraticRow, t: int) -> None:
    """Column t of a row `rest + slope t <= upper`, with a slope below 0, to where that holds."""
    body = row.body
    here = (body.i == t) | (body.j == t)
    if (here & (body.i == body.j)).any() or not np.isfinite(row.upper) or np.isfinite(row.lower):
        return
    y = x[body.index]
    y[t] = 0.0
    others = np.where(body.i == t, body.j, body.i)
    slope = float(body.a[t]) + float(body.v[here] @ y[others[here]])
    if not slope < 0:
        return
    terms = np.concatenate([body.v * y[body.i] * y[body.j], body.a * y])
    rest = float(terms.sum()) + body.constant - row.upper
    size = float(np.abs(terms).sum()) + abs(body.constant) + abs(row.upper)
    with np.errstate(over="ignore"):
        least = (rest + ROOM * len(terms) * ROUNDOFF * size) / -slope
        least += ROOM * ROUNDOFF * abs(least)
    column = int(body.index[t])
    if np.isfinite(least):
        x[column] = min(x[column], max(least, float(form.lower[column])))
