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
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import (
    Dyadic,
    dot_integers,
    dyadic,
    rounded_down,
    scaled,
    solve_exactly,
)
from tightmargin.solvers.proofs.exact_sums.exact_products import exact_products
from tightmargin.solvers.proofs.statement import SEAL, LowerBound, relaxed
from tightmargin.solvers.standard_form.standard_form import StandardForm

METHOD = "exact rational dual bound"
NONZERO_LIMIT = 4_000_000
FREE_LIMIT = 150
FEW = 20  # multipliers with room for each equation of a free column


@dataclass
class _Multipliers:
    """Exact multipliers: floats, and rational corrections of a few of them.

    Attributes
    ----------
    floats : array
    integers : Dyadic
        The same numbers, exactly.
    correction : dict
        By row.
    """

    floats: Array
    integers: Dyadic
    correction: dict[int, Fraction] = field(default_factory=dict)

    def at(self, row: int) -> Fraction:
        """Multiplier of a row."""
        return self.integers.fraction(row) + self.correction.get(row, 0)


def exact_lp_bound(form: StandardForm, y: Array) -> LowerBound | None:
    """Lower bound on a linear program; None when the multipliers cannot be repaired.

    Parameters
    ----------
    y : array
        Multipliers of the linear rows, d objective / d right-hand side, approximate.
    """
    found = exact_lp_value(form, y)
    if found is None:
        return None
    words = METHOD + relaxed(form)
    return LowerBound(subject=form, words=words, seal=SEAL, varying=rounded_down(found))


def exact_lp_value(form: StandardForm, y: Array) -> Fraction | None:
    """The bound itself, the constant of the objective left out."""
    if form.columnwise.nnz > NONZERO_LIMIT or form.objective.Q.nnz or form.quadratic or form.psd:
        return None
    if y.shape != (len(form.rows),):
        return None
    low, high = _limits(form)
    y = np.clip(y, low, high)
    if not np.isfinite(y).all():
        return None
    exact = _Multipliers(y, dyadic(y))
    free = np.flatnonzero(~np.isfinite(form.lower) & ~np.isfinite(form.upper))
    if len(free) > FREE_LIMIT:
        return None
    program = _Program(form)
    reduced = program.reduced_costs(exact)
    if len(free) and not _repair(program, exact, reduced, low, high, free):
        return None
    return _value(program, exact, reduced)


class _Program:
    """Coefficients and costs of a linear program as exact integers."""

    def __init__(self, form: StandardForm) -> None:
        self.form, self.columns = form, form.columnwise
        self.cost = dyadic(form.objective.a)

    @cached_property
    def A(self) -> Dyadic:  # noqa: N802  (the letter of every LP text)
        """Coefficients, column by column."""
        return dyadic(self.columns.data)

    def reduced_costs(self, y: _Multipliers) -> tuple[list[int], int]:
        """c - A'y without the corrections, as integers and their exponent."""
        products, exponent = exact_products(self.columns.T, y.floats) or self._products(y)
        lowest = min(exponent, self.cost.exponent)
        raise_products, raise_cost = exponent - lowest, self.cost.exponent - lowest
        pairs = zip(self.cost.integers, products, strict=True)
        return [(c << raise_cost) - (a << raise_products) for c, a in pairs], lowest

    def _products(self, y: _Multipliers) -> tuple[list[int], int]:
        """A'y of numbers whose sizes are far apart."""
        a, multipliers, starts = self.A.integers, y.integers.integers, self.columns.indptr.tolist()
        rows = self.columns.indices.tolist()
        found = []
        for start, end in pairwise(starts):
            if end - start == 1:
                product = a[start] * multipliers[rows[start]]
            elif end > start:
                of_rows = itemgetter(*rows[start:end])(multipliers)
                product = dot_integers(a[start:end], of_rows)
            else:
                product = 0
            found.append(product)
        return found, self.A.exponent + y.integers.exponent

    def corrections(self, y: _Multipliers) -> dict[int, Fraction]:
        """What the corrections of the multipliers add to A'y, by column."""
        if not y.correction:
            return {}
        rows = np.zeros(self.columns.shape[0], dtype=bool)
        rows[list(y.correction)] = True
        entries = np.flatnonzero(rows[self.columns.indices])
        owner = np.searchsorted(self.columns.indptr, entries, side="right") - 1
        common = math.lcm(*(delta.denominator for delta in y.correction.values()))
        whole = {i: d.numerator * (common // d.denominator) for i, d in y.correction.items()}
        found: dict[int, int] = {}
        A, moved = dyadic(self.columns.data[entries]), self.columns.indices[entries].tolist()
        for a, i, j in zip(A.integers, moved, owner.tolist(), strict=True):
            found[j] = found.get(j, 0) + a * whole[i]
        unit = scaled(1, A.exponent) / common
        return {j: number * unit for j, number in found.items()}

    def block(
        self, rows: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> tuple[list[list[int]], int]:
        """Dense part of A', columns as lines, as integers and their exponent."""
        part = self.columns[:, columns].toarray()[rows].T
        exact = dyadic(part.ravel())
        width = len(rows)
        lines = [exact.integers[k * width : (k + 1) * width] for k in range(len(columns))]
        return lines, exact.exponent


def _limits(form: StandardForm) -> tuple[Array, Array]:
    """Interval of each multiplier from its row's sides and the columns that hold only that row."""
    low = np.where(np.isfinite(form.row_upper), -math.inf, 0.0)
    high = np.where(np.isfinite(form.row_lower), math.inf, 0.0)
    columns = form.columnwise
    single = np.flatnonzero(np.diff(columns.indptr) == 1)
    rows, a = columns.indices[columns.indptr[single]], columns.data[columns.indptr[single]]
    ratio = form.objective.a[single] / a
    below, above = np.isfinite(form.lower[single]), np.isfinite(form.upper[single])
    # A quotient rounds, except by a power of 2; step inside so that the exact cost keeps its sign.
    rounds = (np.frexp(np.abs(a))[0] != 0.5) & (ratio != 0)
    # r_j = c_j - a y >= 0 without an upper bound, <= 0 without a lower one.
    at_most = (below & ~above & (a > 0)) | (above & ~below & (a < 0))
    at_least = (below & ~above & (a < 0)) | (above & ~below & (a > 0))
    under = np.where(rounds, np.nextafter(ratio, -math.inf), ratio)
    over = np.where(rounds, np.nextafter(ratio, math.inf), ratio)
    np.minimum.at(high, rows[at_most], under[at_most])
    np.maximum.at(low, rows[at_least], over[at_least])
    return low, high


def _repair(
    program: _Program, y: _Multipliers, reduced_costs: tuple[list[int], int],
    low: Array, high: Array, free: NDArray[np.intp],
) -> bool:  # fmt: skip
    """Make the reduced costs of free columns exactly zero by moving interior multipliers."""
    reduced, exponent = reduced_costs
    rest = [scaled(reduced[j], exponent) for j in free.tolist()]
    if not any(rest):
        return True
    room = np.minimum(y.floats - low, high - y.floats)
    scale = max(float(np.abs(y.floats).max(initial=0.0)), 1e-300)
    inside = np.flatnonzero(room > 1e-9 * scale)
    if len(inside) == 0:
        return False
    weight = np.minimum(room[inside], scale)
    A = program.form.A
    # Those with most room are enough, as a rule, and a factorisation of all takes as long as more.
    most = np.argsort(-weight, kind="stable")[: FEW * len(free)]
    chosen = inside[most[_independent(A[inside[most]][:, free].toarray(), weight[most])]]
    if len(chosen) < len(free):
        chosen = inside[_independent(A[inside][:, free].toarray(), weight)]
    lines, power = program.block(chosen, free)
    step = solve_exactly(lines, rest)
    if step is None:
        return False
    unit = scaled(1, -power)
    y.correction = {i: delta * unit for i, delta in zip(chosen.tolist(), step, strict=True)}
    return all(_within(y.at(i), low[i], high[i]) for i in y.correction)


def _independent(block: Array, weight: Array) -> NDArray[np.intp]:
    """Independent rows, of large weight."""
    block = block / np.maximum(np.abs(block).max(axis=0, initial=0.0), 1e-300)  # columns' units
    _, r, pivots = qr((block * weight[:, None]).T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-11 * diagonal.max(initial=0.0)).sum())
    found: NDArray[np.intp] = pivots[:rank]
    return found


def _within(number: Fraction, low: float, high: float) -> bool:
    above = not math.isfinite(low) or number >= Fraction(float(low))
    return above and (not math.isfinite(high) or number <= Fraction(float(high)))


def _value(
    program: _Program, y: _Multipliers, reduced_costs: tuple[list[int], int]
) -> Fraction | None:
    form = program.form
    numbers, exponent = y.integers.integers, y.integers.exponent
    moved = {i: y.at(i) for i in y.correction}
    rows = _side_products(moved, numbers, exponent, form.row_lower, form.row_upper)
    reduced, exponent = reduced_costs
    changes = program.corrections(y)
    moved = {j: scaled(reduced[j], exponent) - change for j, change in changes.items()}
    columns = _side_products(moved, reduced, exponent, form.lower, form.upper)
    if rows is None or columns is None:
        return None
    return rows + columns


def _side_products(
    moved: dict[int, Fraction],
    integers: list[int],
    exponent: int,
    lower: Array,
    upper: Array,
) -> Fraction | None:
    """Sum of v lower for v > 0 and v upper for v < 0; None when that side is infinite.

    v is the moved number where there is one, else the integer times 2**exponent.
    """
    signs = np.array([(v > 0) - (v < 0) for v in integers], dtype=np.int64)
    for k, number in moved.items():
        signs[k] = (number > 0) - (number < 0)
    sides = np.where(signs > 0, lower, np.where(signs < 0, upper, 0.0))
    if not np.isfinite(sides).all():
        return None
    total = Fraction(0)
    for k, number in moved.items():
        total += number * Fraction(float(sides[k]))
        sides[k] = 0.0
    used = np.flatnonzero(sides)
    exact = dyadic(sides[used])
    product = dot_integers((integers[k] for k in used.tolist()), exact.integers)
    return total + scaled(product, exponent + exact.exponent)
