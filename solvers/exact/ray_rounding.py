"""From a direction in floating point to whole numbers that may be a ray, in rational arithmetic.

A direction is rounded, its slacks are made as long as their rows need, and it is moved onto the
rows that it touches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact.recession_cone import ZERO, Recession
from tightmargin.solvers.exact_arithmetic import dyadic, scaled, solve_exactly
from tightmargin.solvers.standard_form.standard_form import StandardForm

UNKNOWN_LIMIT = 150
# Denominators of rounded directions: coarse ones first, because they meet equations of whole
# numbers that the exact number does not.
GRIDS = (1, 2**4, 2**12, 2**24)


def exact_candidates(
    form: StandardForm, cone: Recession, d: Array, grids: Sequence[int] = GRIDS
) -> Iterator[list[int]]:
    """Whole numbers in the direction of d: rounded, as it is, and moved onto the rows it touches.

    None of them is proven to be a ray: that is for exact_rays to say.
    """
    as_it_is = [Fraction(number) for number in d.tolist()]
    d = d / np.abs(d).max()
    for grid in grids:
        rounded = [Fraction(round(number * grid), grid) for number in d.tolist()]
        yield _whole(cone, _with_slacks(form, cone, rounded))
    yield _whole(cone, as_it_is)
    moved = _onto_rows(form, cone, d)
    if moved is not None:
        yield _whole(cone, _with_slacks(form, cone, moved))


def _whole(cone: Recession, d: list[Fraction]) -> list[int]:
    """Over the columns of the model, as whole numbers."""
    return whole([Fraction(u) * number for u, number in zip(cone.unit.tolist(), d, strict=True)])


def whole(direction: list[Fraction]) -> list[int]:
    """The shortest direction of whole numbers."""
    common = math.lcm(*(number.denominator for number in direction))
    numbers = [int(number * common) for number in direction]
    divisor = reduce(math.gcd, numbers, 0)
    return [number // divisor for number in numbers] if divisor else numbers


def _slacks(form: StandardForm, cone: Recession) -> dict[int, int]:
    """Slack column by its row: one that occurs there alone, and may move to lift the row."""
    columns = cone.R.tocsc()
    alone = np.diff(columns.indptr) == 1
    for row in form.quadratic:
        alone[row.body.index] = False
    for psd_row in form.psd:
        alone[psd_row.F.nonzero()[1]] = False
    alone[form.objective.Q.nonzero()[0]] = False
    found: dict[int, int] = {}
    for j in np.flatnonzero(alone).tolist():
        i, a = int(columns.indices[columns.indptr[j]]), float(columns.data[columns.indptr[j]])
        one_sided = np.isfinite(cone.low[i]) != np.isfinite(cone.high[i])
        sign = 1 if (a > 0) == bool(np.isfinite(cone.low[i])) else -1
        if one_sided and not np.isfinite((cone.upper if sign > 0 else cone.lower)[j]):
            found.setdefault(i, j)
    return found


def _with_slacks(form: StandardForm, cone: Recession, d: list[Fraction]) -> list[Fraction]:
    """The same direction with slacks as long as their rows need."""
    found = list(d)
    R = cone.R
    for i, j in _slacks(form, cone).items():
        span = slice(R.indptr[i], R.indptr[i + 1])
        entries = list(zip(R.indices[span].tolist(), R.data[span].tolist(), strict=True))
        value = sum((Fraction(a) * d[column] for column, a in entries), Fraction(0))
        short = value < 0 if np.isfinite(cone.low[i]) else value > 0
        if short:
            found[j] -= value / Fraction(dict(entries)[j])
    return found


def _onto_rows(form: StandardForm, cone: Recession, d: Array) -> list[Fraction] | None:
    """Solve the rows that d touches in fractions, for as many columns as they determine."""
    slacks = _slacks(form, cone)
    value, terms = cone.R @ d, abs(cone.R) @ np.abs(d)
    touched = np.abs(value) <= ZERO * np.where(terms > 0, terms, 1.0)
    touched[list(slacks)] = False
    rows = np.flatnonzero(touched & (terms > 0))
    moving = np.flatnonzero(d)
    if not len(rows):
        return [Fraction(number) for number in d.tolist()]
    if min(len(rows), len(moving)) > UNKNOWN_LIMIT:
        return None
    block = cone.R[rows][:, moving].toarray()
    size = np.abs(block).max(axis=1, keepdims=True)
    # Columns at the end of the unit box stay there: they are the nonbasic ones of a vertex.
    room = np.minimum(np.abs(d[moving]), 1 - np.abs(d[moving])) + 1e-9
    _, r, pivots = qr(block / size * room, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-11 * diagonal.max(initial=0.0)).sum())
    basic = np.sort(pivots[:rank])
    _, _, places = qr((block / size)[:, basic].T, mode="economic", pivoting=True)
    kept = rows[np.sort(places[:rank])]
    found = [Fraction(number) for number in np.round(d * 2**40).tolist()]
    found = [number / 2**40 for number in found]
    lines = dyadic(cone.R[kept][:, moving[basic]].toarray().ravel())
    matrix = [lines.integers[k * rank : (k + 1) * rank] for k in range(rank)]
    unit = scaled(1, -lines.exponent)
    chosen = set(moving[basic].tolist())
    right = [-_sum_without(cone.R, i, chosen, found) * unit for i in kept.tolist()]
    solution = solve_exactly(matrix, right)
    if solution is None:
        return None
    for j, number in zip(moving[basic].tolist(), solution, strict=True):
        found[j] = number
    return found


def _sum_without(R: sp.csr_matrix, i: int, left_out: set[int], d: list[Fraction]) -> Fraction:
    span = slice(R.indptr[i], R.indptr[i + 1])
    entries = zip(R.indices[span].tolist(), R.data[span].tolist(), strict=True)
    return sum((Fraction(a) * d[j] for j, a in entries if j not in left_out), Fraction(0))
