"""Columns of a linear program on one scale, and what HiGHS would drop of them left out.

A neighbour of the program is good enough to find a point and multipliers, as long as both are then
judged by the program itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.standard_form.coefficients import TINY
from tightmargin.solvers.standard_form.standard_form import StandardForm

ORDINARY = 2.0**-20, 2.0**20  # largest entries of columns that are left as they are


def powers_of_two(largest: Array) -> Array:
    """Numbers 2^k that bring these into [1/2, 1); 1 for 0."""
    power = np.where(largest > 0, -np.frexp(largest)[1], 0)
    return np.ldexp(1.0, np.clip(power, -1000, 1000))


def even_columns(form: StandardForm) -> tuple[StandardForm, Array]:
    """The same linear program with the free columns that cost nothing on one scale.

    With x_j = s_j x'_j, s_j a power of two, the rows A x become (A S) x' in exact arithmetic, so
    that both programs have the same activities of the rows, the same multipliers and optimum.

    Returns
    -------
    form : StandardForm
        The program in x'; the given one where no coefficient is tiny and all those columns have an
        ordinary scale, or where a product A_ij s_j is not exact.
    scale : array (n,)
        s.
    """
    A = form.columnwise
    size, owner = np.abs(A.data), np.repeat(np.arange(form.n), np.diff(A.indptr))
    largest = np.zeros(form.n)
    np.maximum.at(largest, owner, size)
    free = ~np.isfinite(form.lower) & ~np.isfinite(form.upper) & (form.objective.a == 0)
    low, high = ORDINARY
    odd = free & (largest > 0) & ((largest < low) | (largest > high))
    scale = powers_of_two(np.where(free, largest, 0.0))
    scaled = A.copy()
    scaled.data = A.data * scale[owner]
    exact = np.array_equal(scaled.data / scale[owner], A.data)
    if not exact or not (odd.any() or (size <= TINY).any()):
        return form, np.ones(form.n)
    return replace(form, matrix=scaled), scale


def without_tiny(form: StandardForm) -> StandardForm:
    """A neighbour of the program: coefficients that HiGHS would drop are 0."""
    A = form.columnwise
    tiny = np.abs(A.data) <= TINY
    if not tiny.any():
        return form
    kept = A.copy()
    kept.data[tiny] = 0.0
    kept.eliminate_zeros()
    return replace(form, matrix=kept)
