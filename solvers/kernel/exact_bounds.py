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
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Any, cast

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact import (
    Dyadic,
    dot_integers,
    dyadic,
    rounded_down,
    scaled,
    shortened_down,
    solve_exactly,
)
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import SEAL, Infeasible, LowerBound, relaxed
from tightmargin.solvers.kernel.sums import exact_products
from tightmargin.solvers.model.columns import Columns, Labels
from tightmargin.solvers.model.polynomial import Quadratic
from tightmargin.solvers.model.reader import StandardForm

LP_METHOD = "exact rational dual bound"
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
    words = LP_METHOD + relaxed(form)
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


# --- An exact lower bound for a convex quadratic program, in rational arithmetic -----------------
# For any point x^, multipliers y of rows  low <= A x <= high  (y_i > 0 only with a finite low_i,
# y_i < 0 only with a finite high_i) and c with Q - diag(c) semidefinite, every feasible x has
#     x'Q x + a'x >= -x^'Q x^ + sum_i y_i side_i + sum_j least of r_j x_j + c_j (x_j - x^_j)^2,
# r = 2 Q x^ + a - A'y, each least taken over the limits of x_j. It is the inequality of
# kernel/bound.py without a rounding: beside a large constant, which squares leave behind,
# roundings of its size are more than the optimum.


QP_METHOD = "weak duality in rational arithmetic"
ENTRY_LIMIT = 200_000  # so many products take a second
Numbers = Mapping[int, Fraction]


def exact_qp_bound(subject: Subject, x: Numbers, y: Numbers) -> LowerBound | None:
    """The bound of the module's docstring; None where these numbers prove none.

    Parameters
    ----------
    x, y : mappings
        Rational numbers by column, and by row of the linear rows; 0 where there is none.
    """
    form, kind = subject.form, subject.classification
    if form.nonlinear or form.quadratic or form.psd or not kind.relaxes_to_convex:
        return None
    if form.A.nnz + form.objective.Q.nnz > ENTRY_LIMIT or kind.curvature is None:
        return None
    rest = {j: Fraction(a) for j, a in enumerate(form.objective.a.tolist())}
    total = Fraction(0)
    for j, twice in _products(form.P.tocsr(), x).items():
        rest[j] += twice
        total -= x.get(j, Fraction(0)) * twice / 2
    for i, price in y.items():
        side = _end(form.row_lower[i] if price > 0 else form.row_upper[i])
        if price and side is None:
            return None
        total += price * (side or 0)
    for j, of_rows in _products(form.A.T.tocsr(), y).items():
        rest[j] -= of_rows
    limits = zip(form.lower.tolist(), form.upper.tolist(), kind.curvature.tolist(), strict=True)
    for j, (low, high, bend) in enumerate(limits):
        least = _least(rest[j], Fraction(bend), x.get(j, Fraction(0)), _end(low), _end(high))
        if least is None:
            return None
        total += least
    number = shortened_down(total)
    words = QP_METHOD + relaxed(form)
    varying = rounded_down(number)
    if not math.isfinite(varying):
        return None
    return LowerBound(subject=form, words=words, seal=SEAL, varying=varying, number=number)


def _products(matrix: sp.csr_matrix, x: Numbers) -> dict[int, Fraction]:
    """A matrix times a vector, by line; lines without an entry are left out."""
    starts, columns, entries = matrix.indptr, matrix.indices.tolist(), matrix.data.tolist()
    found = {}
    for line, (start, end) in enumerate(pairwise(starts.tolist())):
        terms = (Fraction(entries[k]) * x[columns[k]] for k in range(start, end) if columns[k] in x)
        if end > start:
            found[line] = sum(terms, Fraction(0))
    return found


def _end(value: float) -> Fraction | None:
    return Fraction(value) if math.isfinite(value) else None


def _least(
    r: Fraction, bend: Fraction, at: Fraction, low: Fraction | None, high: Fraction | None
) -> Fraction | None:
    """Least of r x + bend (x - at)^2 between two limits; None where it falls without end."""
    if bend > 0:
        x = at - r / (2 * bend)
        x = x if low is None else max(x, low)
        x = x if high is None else min(x, high)
        return r * x + bend * (x - at) ** 2
    if bend < 0:
        if low is None or high is None:
            return None
        return min(r * x + bend * (x - at) ** 2 for x in (low, high))
    end = low if r > 0 else high
    return Fraction(0) if not r else None if end is None else r * end


# --- Proofs that linear rows and bounds have no common point, from multipliers that anybody found
# With slacks s, t >= 0 every model has a point of
#     row_lower <= A x + s - t <= row_upper,   lower <= x <= upper,
# and the least of sum (s + t) is 0 when the rows can hold. So a positive lower bound on it, in
# exact rational arithmetic, proves that they cannot; its multipliers are a Farkas vector. A
# violation no larger than what rounding may have put into the sides proves nothing. Integrality,
# quadratic and semidefinite rows only take points away, so that the proof holds with them too.


FARKAS = "exact rational Farkas bound: rows and bounds are violated by {:.3g} or more at any point"
CROSSED = "the {} cross"
# Of the largest side: a fixed variable was moved to the sides in double precision.
ROUNDING = 1e-9


def proven_infeasible(form: StandardForm, multipliers: Array) -> Infeasible | None:
    """Check a Farkas vector over the linear rows; None when it is none."""
    crossed = _crossed(form)
    if crossed:
        return _stated(form, CROSSED.format(crossed), np.zeros(len(form.rows)))
    if not np.isfinite(multipliers).all() or not multipliers.any():
        return None
    bound = exact_lp_bound(elastic_form(form), multipliers)
    if bound is None or bound.varying <= ROUNDING * _largest_side(form):
        return None
    return _stated(form, FARKAS.format(bound.varying), multipliers)


def _crossed(form: StandardForm) -> str:
    """The first column, or row of any kind, whose lower end is above its upper one; or nothing."""
    for low, high, what, names in (
        (form.lower, form.upper, "bounds of", form.columns),
        (form.row_lower, form.row_upper, "sides of row", form.rows),
    ):
        found = np.flatnonzero(_lies_above(low, high))
        if found.size:
            return f"{what} {names.name(int(found[0]))}"
    ends = [(row.lower, row.upper, row.data) for row in form.quadratic]
    ends += [
        (row.lb, row.ub, row)
        for row in form.nonlinear
        if row.ctype is pyo.Constraint and row.has_lb() and row.has_ub()
    ]
    curved = (row for low, high, row in ends if _lies_above(low, high))
    return next((f"sides of row {row.name}" for row in curved), "")


def _lies_above(low: Any, high: Any) -> Any:
    """Whether lower ends lie above upper ones by more than rounding may have put there."""
    size = np.maximum(1.0, np.minimum(np.abs(low), np.abs(high)))
    return low > high + ROUNDING * size


def of_size_1(multipliers: Array) -> Array:
    """A Farkas vector times the power of 2 that makes its largest number 1 at most, and above 1/2.

    Whatever its size it proves the same, but a violation costs 1, and no multiplier may exceed it.
    """
    size = float(np.abs(multipliers).max(initial=0.0))
    return np.ldexp(multipliers, -math.frexp(size)[1]) if math.isfinite(size) else multipliers


def _stated(form: StandardForm, words: str, multipliers: Array) -> Infeasible:
    return Infeasible(subject=form, words=words, seal=SEAL, multipliers=multipliers)


def _largest_side(form: StandardForm) -> float:
    sides = np.abs(np.concatenate([form.row_lower, form.row_upper]))
    return float(sides[np.isfinite(sides)].max(initial=1.0))


def elastic_form(form: StandardForm) -> StandardForm:
    """The linear program that looks for the least violation of the rows."""
    m, n = len(form.rows), form.n
    up = np.flatnonzero(np.isfinite(form.row_lower))
    down = np.flatnonzero(np.isfinite(form.row_upper))
    size = len(up) + len(down)
    identity = sp.identity(m, format="csc")
    names = Labels(
        ("", form.columns, np.arange(n)), ("shortfall of ", form.rows, up),
        ("excess of ", form.rows, down),
    )  # fmt: skip
    return replace(
        form,
        columns=cast(Columns, names),
        lower=np.concatenate([form.lower, np.zeros(size)]),
        upper=np.concatenate([form.upper, np.full(size, np.inf)]),
        integer=np.zeros(n + size, dtype=bool),
        objective=Quadratic(
            sp.csr_matrix((n + size, n + size)), np.concatenate([np.zeros(n), np.ones(size)]), 0.0
        ),
        sense=1,
        matrix=sp.hstack([form.columnwise, identity[:, up], -identity[:, down]], format="csc"),
        quadratic=(),
        psd=(),
        nonlinear=(),
    )
