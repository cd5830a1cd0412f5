"""An exact lower bound for a linear program, in rational arithmetic.

For multipliers y of rows  low <= A x <= high  (y_i > 0 only with a finite low_i, y_i < 0 only with
a finite high_i) and reduced costs r = c - A'y, every feasible x has

    c'x >= sum_i (y_i low_i or y_i high_i) + sum_j (r_j lower_j or r_j upper_j),

a number that floating-point data and y determine exactly. A free column needs r_j = 0 exactly,
which floating-point multipliers never give; so they are clipped to what the one-entry columns
(slacks) allow, and the equations of the free columns are solved in fractions for multipliers
strictly inside their limits.

After Neumaier & Shcherbina, Safe bounds in linear and mixed-integer programming (Mathematical
Programming 99, 2004), with the repair of free columns added.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from solvers.standard_form import StandardForm

Array = NDArray[np.float64]

METHOD = "exact rational dual bound"
NONZERO_LIMIT = 2_000_000
FREE_LIMIT = 150


def exact_lp_bound(form: StandardForm, y: Array) -> float | None:
    """Lower bound on a linear program, rounded down; None when the multipliers cannot be repaired.

    Parameters
    ----------
    y : array
        Multipliers of the linear rows, d objective / d right-hand side, approximate.
    """
    if form.A.nnz > NONZERO_LIMIT or form.objective.Q.nnz or form.quadratic or form.psd:
        return None
    low, high = _limits(form)
    y = np.clip(y, low, high)
    exact = [Fraction(v) for v in y.tolist()]
    free = np.flatnonzero(~np.isfinite(form.lower) & ~np.isfinite(form.upper))
    if len(free) > FREE_LIMIT:
        return None
    if len(free) and not _repair(form, exact, low, high, free):
        return None
    return _bound(form, exact)


def _limits(form: StandardForm) -> tuple[Array, Array]:
    """Interval of each multiplier from its row's sides and the columns that hold only that row."""
    low = np.where(np.isfinite(form.row_upper), -math.inf, 0.0)
    high = np.where(np.isfinite(form.row_lower), math.inf, 0.0)
    columns = form.A.tocsc()
    counts = np.diff(columns.indptr)
    for j in np.flatnonzero(counts == 1):
        row, a = columns.indices[columns.indptr[j]], columns.data[columns.indptr[j]]
        ratio = form.objective.a[j] / a
        # r_j = c_j - a y >= 0 without an upper bound, <= 0 without a lower one.
        if not np.isfinite(form.upper[j]) and np.isfinite(form.lower[j]):
            low[row], high[row] = (
                (low[row], min(high[row], ratio)) if a > 0 else (max(low[row], ratio), high[row])
            )
        if not np.isfinite(form.lower[j]) and np.isfinite(form.upper[j]):
            low[row], high[row] = (
                (max(low[row], ratio), high[row]) if a > 0 else (low[row], min(high[row], ratio))
            )
    # A quotient rounds; step inside so that the exact reduced cost keeps its sign.
    return (
        np.where(np.isfinite(low) & (low != 0), np.nextafter(low, math.inf), low),
        np.where(np.isfinite(high) & (high != 0), np.nextafter(high, -math.inf), high),
    )


def _repair(
    form: StandardForm, y: list[Fraction], low: Array, high: Array, free: NDArray[np.intp]
) -> bool:
    """Make the reduced costs of free columns exactly zero by moving interior multipliers."""
    numbers = np.array([float(v) for v in y])
    room = np.minimum(numbers - low, high - numbers)
    scale = max(float(np.abs(numbers).max(initial=0.0)), 1e-300)
    inside = np.flatnonzero(room > 1e-9 * scale)
    columns = form.A.tocsc()
    block = columns[:, free].tocsr()[inside].toarray()
    if len(inside) == 0:
        return False
    weight = np.minimum(room[inside], scale)
    _, r, pivots = qr((block * weight[:, None]).T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-11 * diagonal.max(initial=0.0)).sum())
    chosen = inside[pivots[:rank]]
    rest = [
        Fraction(form.objective.a[j].item()) - _column_product(columns, int(j), y) for j in free
    ]
    equations = columns[:, free].tocsr()[chosen].toarray().T.tolist()
    matrix = [[Fraction(v) for v in line] for line in equations]
    step = _solve_exactly(matrix, rest)
    if step is None:
        return False
    for i, delta in zip(chosen.tolist(), step, strict=True):
        y[i] += delta
        below = math.isfinite(low[i]) and y[i] < Fraction(low[i].item())
        above = math.isfinite(high[i]) and y[i] > Fraction(high[i].item())
        if below or above:
            return False
    return True


def _column_product(columns, j: int, y: list[Fraction]) -> Fraction:  # type: ignore[no-untyped-def]
    span = slice(columns.indptr[j], columns.indptr[j + 1])
    pairs = zip(columns.indices[span].tolist(), columns.data[span].tolist(), strict=True)
    return sum((Fraction(a) * y[i] for i, a in pairs if y[i]), Fraction(0))


def _solve_exactly(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Solution of a system with at least as many equations as unknowns; None if inconsistent."""
    rows = [[*line, b] for line, b in zip(matrix, right, strict=True)]
    unknowns = len(matrix[0]) if matrix else 0
    for k in range(unknowns):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        lead = rows[k]
        for i, line in enumerate(rows):
            if i != k and line[k]:
                factor = line[k] / lead[k]
                rows[i] = [a - factor * b for a, b in zip(line, lead, strict=True)]
    if any(line[-1] for line in rows[unknowns:]):
        return None
    return [rows[k][-1] / rows[k][k] for k in range(unknowns)]


def _bound(form: StandardForm, y: list[Fraction]) -> float | None:
    total = Fraction(form.objective.constant)
    for i, v in enumerate(y):
        if v:
            side = form.row_lower[i] if v > 0 else form.row_upper[i]
            if not math.isfinite(side):
                return None
            total += v * Fraction(side.item())
    columns = form.A.tocsc()
    for j in range(form.n):
        r = Fraction(form.objective.a[j].item()) - _column_product(columns, j, y)
        if r:
            side = form.lower[j] if r > 0 else form.upper[j]
            if not math.isfinite(side):
                return None
            total += r * Fraction(side.item())
    value = float(total)
    return value if Fraction(value) <= total else math.nextafter(value, -math.inf)
