"""A tree of boxes that covers all points, each leaf closed by one inequality.

The proof has a cutoff U (without the constant of the objective), rounds of derived limits and rows
(derived.py) that hold wherever f(x) <= U, and a tree: a branch on an integer column splits a box
into x_j <= k and x_j >= k + 1, and a leaf names multipliers. With v the least bound over the
leaves, every feasible point has f(x) >= min(U, v): where f(x) <= U, x lies in one of the leaves.
Nothing needs to attain U. A leaf without points counts for nothing; where U is infinite and all of
them have none, there is no feasible point at all.

Where the objective is a sum of whole multiples of one number over integer columns, so is each of
its values, and a bound is rounded up to the next of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.number_words import count_text, number_text
from tightmargin.printing import Printed
from tightmargin.solvers.exact import rounded_down
from tightmargin.solvers.kernel.bound import (
    INEXACT,
    LEAST,
    NORMAL,
    NOTHING,
    exact_columns,
    in_dual_cone,
    least_terms,
    within_room,
)
from tightmargin.solvers.kernel.limits import Reach, Subject, excess_of
from tightmargin.solvers.kernel.statement import SEAL, Infeasible, LowerBound
from tightmargin.solvers.model.conic import Block, ConicForm, without_own_bounds
from tightmargin.solvers.model.convexity import Reading

# --- What holds at every point that matters to a tree: rows, limits, curvature, and its matrices


Matrix = Any  # sparse or dense

DENSE = 250_000  # entries of a matrix that is small


@dataclass(frozen=True, eq=False)
class Rows:
    """What holds at every point that matters: rows, limits, and the curvature of the objective.

    Attributes
    ----------
    conic : ConicForm
        Without rows for bounds of single columns; derived rows at the end, as nonneg rows.
    low, high : arrays (n,)
        Limits of the columns, whole numbers where a column is integer.
    curvature : array (n,)
        c of the module's docstring.
    readings : tuple of Reading
        Of the second-order cones, in order.
    integer : array (n,) of bool
        The only columns in which boxes differ.
    """

    conic: ConicForm
    low: Array
    high: Array
    curvature: Array
    readings: tuple[Reading, ...]
    integer: NDArray[np.bool_]

    @cached_property
    def whole(self) -> Index:
        """Numbers of the integer columns."""
        return np.flatnonzero(self.integer)

    @cached_property
    def continuous(self) -> Index:
        """Numbers of the others."""
        return np.flatnonzero(~self.integer)

    @cached_property
    def has_slacks(self) -> bool:
        """Whether a column with one limit has one entry, whose multiplier has a sign to keep."""
        ends = np.isfinite(self.low) != np.isfinite(self.high)
        return bool((ends & (np.diff(self.conic.A.indptr) == 1)).any())

    @property
    def reach(self) -> Reach:
        """The limits."""
        return Reach(self.low, self.high, math.inf)

    @cached_property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """P, A', and their absolute values; small ones dense, which is quicker there."""
        P, A = self.conic.P.tocsr(), self.conic.A.T.tocsr()
        if A.shape[0] * (A.shape[0] + A.shape[1]) <= DENSE:
            P, A = P.toarray(), A.toarray()
        return P, A, abs(P), abs(A)

    @cached_property
    def bounded(self) -> bool:
        """Whether every continuous column has limits, and no curvature is negative."""
        ends = np.isfinite(self.low) & np.isfinite(self.high)
        return bool(ends[self.continuous].all() and (self.curvature >= 0).all())

    @cached_property
    def lines(self) -> sp.csr_matrix:
        """A of the form, row by row."""
        return self.conic.A.tocsr()

    @cached_property
    def longest(self) -> int:
        """Entries of the longest column of P."""
        return int(np.diff(self.conic.P.indptr).max(initial=0))

    @cached_property
    def counts(self) -> Array:
        """How many entries of P and A' each column has."""
        return np.asarray(np.diff(self.conic.P.indptr) + np.diff(self.conic.A.indptr))


# --- One inequality that carries every step of a branch and bound, with every rounding counted ---
# Let f be a convex objective, Q - diag(c) semidefinite for its Q, g any direction, mu >= 0, z in
# the dual cone of rows A x + s = b, and x^ any point. Then at every x that meets the rows
#     g'x + mu f(x) >= - mu/2 x^'P x^ - b'z + sum_j [ r_j x_j + mu c_j (x_j - x^_j)^2 ],
#     r = g + mu (P x^ + q) + A'z,
# and in a box each term of the sum is at least its minimum there. What does not depend on the box
# is computed once; then a box costs a handful of operations on vectors. With f(x) <= U,
#     g = 0, mu > 0     a lower bound on f in the box,
#     g = 0, mu = 0     a proof, where it is above 0, that the box has no point (Farkas),
#     g = a row         g'x >= the minimum - mu U: a row that every point of the box meets.
# Columns without a limit on one side need r_j = 0 or of the right sign exactly (kernel/bound.py).
# Constants of the objective are left out.


_LEAST_FACTOR = 2.0**-300  # of a scaling by powers of two that is called exact


@dataclass(frozen=True, eq=False)
class SparseMultipliers:
    """Any numbers; what they prove is for the minorant to say.

    Attributes
    ----------
    mu : float
        Of the objective, at least 0.
    rows, z : arrays (p,)
        Which rows have one, and how much. Rows keep their numbers when others join them.
    columns, x : arrays (k,)
        Where the objective is linearised; 0 in all other columns.
    """

    mu: float
    rows: Index
    z: Array
    columns: Index
    x: Array


@dataclass(frozen=True, eq=False)
class Minorant:
    """The right side of the inequality for one choice of g, mu, z and x^.

    Attributes
    ----------
    constant : float
        What does not depend on the box, rounded down: the terms of all columns but the integer
        ones too, at their limits.
    whole : array (k,)
        The integer columns.
    low, high : arrays (k,)
        Ends of intervals that hold their r.
    curvature, point : arrays (k,)
        mu c, rounded down, and x^, of the same columns.
    """

    constant: float
    whole: Index
    low: Array
    high: Array
    curvature: Array
    point: Array

    def least(self, low: Array, high: Array) -> float:
        """The minimum over a box inside the limits, rounded down; -inf where it is not finite."""
        below, above = low[self.whole], high[self.whole]
        if self._is_plain(below, above):
            # Whole numbers are 0 or at least 1: no product underflows.
            terms = np.minimum(
                np.minimum(self.low * below, self.high * below),
                np.minimum(self.low * above, self.high * above),
            )
            terms = terms - 2 * UNIT * np.abs(terms)
        else:
            reach = Reach(below, above, math.inf)
            terms = least_terms(self.low, self.high, self.point, reach, self.curvature)
        try:
            total = math.fsum([self.constant, *terms.tolist()])
        except OverflowError:
            return -math.inf
        if not math.isfinite(total):
            return -math.inf
        return math.nextafter(total, -math.inf) if total else 0.0

    @cached_property
    def _straight(self) -> bool:
        return not self.curvature.any()

    def _is_plain(self, below: Array, above: Array) -> bool:
        return self._straight and bool(np.isfinite(below).all() and np.isfinite(above).all())


def minorant(
    rows: Rows,
    multipliers: SparseMultipliers,
    along: Array | None = None,
    box: tuple[Array, Array] | None = None,
) -> Minorant | None:
    """The inequality for any multipliers; None where these numbers prove nothing.

    Parameters
    ----------
    multipliers : SparseMultipliers
    along : array (n,), optional
        g, 0 without it.
    box : pair of arrays (n,), optional
        What it is meant for, the limits of the rows by default. In a column that has no limit there
        r_j is made 0 exactly; in another box the minorant may be worth nothing, and is never wrong.
    """
    mu, conic = multipliers.mu, rows.conic
    if not isinstance(mu, float):  # of another kind, sums would round to that
        return None
    z = _spread(multipliers.rows, multipliers.z, len(conic.b))
    x = _spread(multipliers.columns, multipliers.x, len(rows.low))
    if z is None or x is None or not (mu >= 0 and math.isfinite(mu)):
        return None
    if mu == 0:
        x = np.zeros_like(x)
    inside = in_dual_cone(conic, z)
    if inside is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        cost, inexact = _cost(conic, mu, along)
        if rows.has_slacks:
            inside = within_room(replace(conic, q=cost), inside, rows.reach)
        try:
            return _computed(rows, mu, cost, inexact, inside, x, box or (rows.low, rows.high))
        except OverflowError:  # of a sum: such numbers prove nothing
            return None


def _spread(places: Index, numbers: Array, size: int) -> Array | None:
    """A vector of few entries; None where it is none. Any numbers will do, so tiny ones are 0."""
    whole = np.issubdtype(places.dtype, np.integer)
    if not (whole and numbers.dtype == np.float64 and places.shape == numbers.shape):
        return None
    if not np.isfinite(numbers).all():
        return None
    if len(places) and not 0 <= places.min() <= places.max() < size:
        return None
    vector = np.zeros(size)
    vector[places] = np.where(np.abs(numbers) < NOTHING, 0.0, numbers)
    return vector


def _cost(conic: ConicForm, mu: float, along: Array | None) -> tuple[Array, Mask]:
    """g + mu q, and where that may be rounded or mu P may be.

    A power of two scales without rounding, unless it underflows; a sum with 0 is exact.
    """
    if mu == 1 and along is None:
        return conic.q, np.zeros(len(conic.q), dtype=bool)
    bent = np.diff(conic.P.indptr) > 0
    cost = mu * conic.q
    if mu in (0.0, 1.0):
        inexact = np.zeros(len(cost), dtype=bool)
    elif math.frexp(mu)[0] == 0.5 and _LEAST_FACTOR <= mu <= 1 / _LEAST_FACTOR:
        inexact = (conic.q != 0) & (np.abs(cost) < NORMAL)
        inexact |= bent & (np.abs(conic.P.data).min(initial=1.0) < NORMAL / _LEAST_FACTOR)
    else:
        inexact = (conic.q != 0) | bent
    if along is not None:
        inexact |= (cost != 0) & (along != 0)
        cost = cost + along
    return cost, inexact


def _computed(
    rows: Rows,
    mu: float,
    cost: Array,
    inexact: Mask,
    z: Array,
    x: Array,
    box: tuple[Array, Array],
) -> Minorant | None:
    conic = rows.conic
    P, A, sizes_of_P, sizes_of_A = rows.matrices
    bent = mu * (P @ x)
    bent_sizes = mu * (sizes_of_P @ np.abs(x))
    residual = bent + cost + A @ z
    size = np.abs(cost) + bent_sizes + sizes_of_A @ np.abs(z)
    if inexact.any():
        # |g + mu q| may be less than what it was rounded from: |mu q| counts twice over.
        size = size + np.where(inexact, mu * np.abs(conic.q) * 2, 0.0)
    radius = (rows.counts + INEXACT + 4) * (2 * UNIT * size + LEAST * (1 + mu))
    radius[(rows.counts == 0) & ~inexact] = 0.0
    square = 0.5 * float(x @ bent), 0.5 * float(np.abs(x) @ bent_sizes)
    constant = _constant(rows, mu, x, z, *square) - _excess(rows, z)
    if not (np.isfinite(radius).all() and math.isfinite(constant)):
        return None
    low, high, point = residual - radius, residual + radius, x
    curvature = _scaled_down(rows.curvature, mu)
    endless = ~inexact & _is_endless(box, low, high, curvature)
    if endless.any():
        weighted = replace(conic, P=(mu * conic.P).tocsc(), q=cost)
        which, exact = np.flatnonzero(endless), None
        if np.isfinite(weighted.P.data).all():
            exact = exact_columns(weighted, x, z, which, rows.reach, rows.readings)
        if exact is not None:
            residual, radius = residual + exact.residual, radius + exact.radius
            radius = radius + 4 * UNIT * np.abs(residual) * (exact.radius > 0)
            low, high, point = residual - radius, residual + radius, exact.point
            # Their terms are at least so much within all limits, and in every box inside of these.
            low[exact.columns] = high[exact.columns] = 0.0
            curvature = curvature.copy()
            curvature[exact.columns] = 0.0
            constant = math.fsum([constant, exact.constant, *exact.least.tolist()])
            constant = math.nextafter(constant, -math.inf) if constant else 0.0
    rest = rows.continuous
    ends = rows.low[rest], rows.high[rest]
    parts = low[rest], high[rest], point[rest], *ends, curvature[rest]
    terms = _bounded_terms(*parts) if rows.bounded else _terms(*parts)
    constant = math.fsum([constant, *terms.tolist()])
    if not math.isfinite(constant):
        return None
    constant = math.nextafter(constant, -math.inf) if constant else 0.0
    whole = rows.whole
    return Minorant(constant, whole, low[whole], high[whole], curvature[whole], point[whole])


def _terms(low: Array, high: Array, x: Array, below: Array, above: Array, c: Array) -> Array:
    """Least of r x_j + c_j (x_j - x^_j)^2 over the limits and all r from `low` to `high`."""
    with np.errstate(divide="ignore"):
        return least_terms(low, high, x, Reach(below, above, math.inf), c)


def _bounded_terms(
    low: Array, high: Array, x: Array, below: Array, above: Array, c: Array
) -> Array:
    """The same, where all limits are finite and no c is negative."""
    straight = np.minimum(
        np.minimum(low * below, high * below), np.minimum(low * above, high * above)
    )
    straight = straight - 2 * UNIT * np.abs(straight) - LEAST * ((low != 0) | (high != 0))
    bent = np.flatnonzero(c > 0)
    if not len(bent):
        return straight
    # r x^ - r^2 / (4 c) is concave in r, so that its least is at one of the ends.
    at, bends, bowls = x[bent], 4 * c[bent], []
    for r in (low[bent], high[bent]):
        linear, square = r * at, (r * r + LEAST) / bends + LEAST
        bowls.append(linear - square - 8 * UNIT * (np.abs(linear) + square) - LEAST)
    bowl = np.minimum(*bowls)
    known = np.isfinite(bowl) & np.isfinite(bends)
    straight[bent] = np.fmax(straight[bent], np.where(known, bowl, -np.inf))
    return straight


def _is_endless(box: tuple[Array, Array], low: Array, high: Array, curvature: Array) -> Mask:
    """Columns whose term has no least value in a box."""
    falls = ((high > 0) & ~np.isfinite(box[0])) | ((low < 0) & ~np.isfinite(box[1]))
    # What bends the wrong way has no least value without limits, whatever r_j is.
    return falls & (curvature == 0)


def _scaled_down(curvature: Array, mu: float) -> Array:
    """mu c, rounded down; a product that may have lost its last places counts as none."""
    if mu == 1:
        return curvature
    scaled = mu * curvature
    scaled = scaled - 2 * UNIT * np.abs(scaled)
    lost = (np.abs(scaled) < LEAST * 2**60) & (curvature > 0)
    scaled = np.where(lost, 0.0, scaled)
    return np.where((np.abs(scaled) < LEAST * 2**60) & (curvature < 0), -LEAST * 2**60, scaled)


def _constant(
    rows: Rows, mu: float, x: Array, z: Array, square: float, size_of_square: float
) -> float:
    """-mu/2 x'P x - b'z, rounded down; the first of the two with its size as computed."""
    conic = rows.conic
    sides = conic.b * z
    lost = float(((np.abs(sides) < NORMAL) & (conic.b != 0) & (z != 0)).sum())
    size = 2 * float(np.abs(sides).sum())
    if size_of_square or (mu and conic.P.nnz and x.any()):
        size += (rows.longest + len(x)) * size_of_square
        lost += (conic.P.nnz + len(x)) * (1 + mu) * (1 + float(np.abs(x).max()))
    for block in conic.blocks_of("soc"):
        # The two first sides are a sum and a difference of two rounded numbers.
        first = slice(block.start, block.start + 2)
        size += 4 * float(np.abs(conic.b[first]).sum()) * float(np.abs(z[first]).sum())
    total = -math.fsum([square, *sides.tolist()])
    rounding = INEXACT * UNIT * size + 4 * lost * LEAST
    return math.nextafter(total - rounding, -math.inf) if rounding else total


def _excess(rows: Rows, z: Array) -> float:
    """Multipliers times what cones that miss their rows by a rounding may be wrong by."""
    total = 0.0
    for block, reading in zip(rows.conic.blocks_of("soc"), rows.readings, strict=True):
        if reading.cone is not None and reading.cone.excess is not None and z[block.start] > 0:
            total += float(z[block.start]) * excess_of(reading.cone, rows.reach)
    return total * (1 + INEXACT * UNIT)


# --- Limits and rows that every point of objective at most U meets, each proven by the ones before
# A step is a use of the inequality above with a direction g:
#     limit     g = +-e_j: a limit of one column, rounded to a whole number where it is integer
#     row       g = -a: a row a'x <= b
#     switch    a row a'x + c s <= b with a binary s, proven end by end: at one value of s by a
#               row that is there already, at the other by the inequality in that half of the box.
#               So the large M of a row that s switches off becomes as small as the cutoff allows
# The steps of one round rest on what was there before the round, so that their order does not
# matter.


@dataclass(frozen=True, eq=False)
class DerivedLimit:
    """x_j >= value for sign = 1, x_j <= value for sign = -1."""

    column: int
    sign: int
    value: float
    multipliers: SparseMultipliers


@dataclass(frozen=True, eq=False)
class DerivedRow:
    """a'x <= side."""

    a: Array
    side: float
    multipliers: SparseMultipliers


@dataclass(frozen=True, eq=False)
class SwitchedRow:
    """a'x <= side, of which row `old` is the same but for the coefficient of a binary column.

    Attributes
    ----------
    at : int
        0 or 1: the value of the binary for which the multipliers prove it; for the other one the
        old row does.
    """

    a: Array
    side: float
    old: int
    column: int
    at: int
    multipliers: SparseMultipliers


Step = DerivedLimit | DerivedRow | SwitchedRow


def first_rows(subject: Subject, cutoff: float) -> Rows | None:
    """Rows of a model whose relaxation is convex, and limits at points of objective <= `cutoff`.

    None for any other model.
    """
    kind, form = subject.classification, subject.form
    if not kind.relaxes_to_convex or kind.curvature is None:
        return None
    conic, _ = without_own_bounds(subject.conic, np.zeros(len(subject.conic.b)))
    reach = subject.reach(cutoff)
    low = np.where(form.integer, np.ceil(reach.low), reach.low)
    high = np.where(form.integer, np.floor(reach.high), reach.high)
    return Rows(conic, low, high, kind.curvature, kind.readings, form.integer)


def binary(subject: Subject, rows: Rows) -> NDArray[np.bool_]:
    """Which columns are 0 or 1 at every point that matters."""
    return subject.form.integer & (rows.low >= 0) & (rows.high <= 1)


def holds(subject: Subject, rows: Rows, step: Step, cutoff: float) -> bool:
    """Whether a step is proven for every point of objective at most `cutoff`."""
    if not (isinstance(cutoff, float) and _is_plain(step, len(rows.low))):
        return False
    match step:
        case DerivedLimit():
            return _limit_holds(subject, rows, step, cutoff)
        case DerivedRow():
            top = most(rows, step.a, step.multipliers, cutoff, rows.low, rows.high)
            return math.isfinite(step.side) and top <= step.side
        case SwitchedRow():
            return _switch_holds(subject, rows, step, cutoff)


def _is_plain(step: Step, n: int) -> bool:
    """Whether the numbers of a step are doubles and its places whole numbers.

    Arithmetic with narrower numbers rounds to those, and with whole ones may wrap around.
    """
    match step:
        case DerivedLimit(column=column, sign=sign, value=value):
            return type(column) is type(sign) is int and isinstance(value, float)
        case SwitchedRow(old=old, column=column, at=at):
            if not type(old) is type(column) is type(at) is int:
                return False
    known = step.a.shape == (n,) and step.a.dtype == np.float64 and np.isfinite(step.a).all()
    return bool(known) and isinstance(step.side, float)


def _limit_holds(subject: Subject, rows: Rows, step: DerivedLimit, cutoff: float) -> bool:
    if step.sign not in (-1, 1) or not 0 <= step.column < len(rows.low):
        return False
    along = np.zeros(len(rows.low))
    along[step.column] = -step.sign
    # sign x_j is at least this, and a whole number is at least the next one.
    least = -most(rows, along, step.multipliers, cutoff, rows.low, rows.high)
    if subject.form.integer[step.column] and math.isfinite(least):
        least = float(math.ceil(least))
    return step.sign * step.value <= least


def _switch_holds(subject: Subject, rows: Rows, step: SwitchedRow, cutoff: float) -> bool:
    j, conic = step.column, rows.conic
    if not (0 <= j < len(rows.low) and binary(subject, rows)[j] and step.at in (0, 1)):
        return False
    if not (0 <= step.old < len(conic.b) and _is_inequality(conic, step.old)):
        return False
    if step.a.shape != rows.low.shape or not np.isfinite(step.a).all():
        return False
    old = rows.lines[step.old].toarray().ravel()
    other = 1 - step.at
    same = old == step.a
    same[j] = True
    if not same.all() or not math.isfinite(step.side):
        return False
    left = Fraction(float(conic.b[step.old])) - Fraction(float(old[j])) * other
    if Fraction(step.side) - Fraction(float(step.a[j])) * other < left:
        return False
    low, high = rows.low.copy(), rows.high.copy()
    low[j] = high[j] = step.at
    bare = step.a.copy()
    bare[j] = 0.0
    top = most(rows, bare, step.multipliers, cutoff, low, high)
    room = Fraction(step.side) - Fraction(float(step.a[j])) * step.at
    return math.isfinite(top) and Fraction(top) <= room


def _is_inequality(conic: ConicForm, row: int) -> bool:
    return any(b.kind == "nonneg" and b.start <= row < b.start + b.size for b in conic.blocks)


def most(
    rows: Rows, a: Array, multipliers: SparseMultipliers, cutoff: float, low: Array, high: Array
) -> float:
    """The most that a'x can be in a box at points of objective at most `cutoff`, rounded up.

    Infinity where the multipliers prove nothing.
    """
    if a.shape != rows.low.shape or not np.isfinite(a).all():
        return math.inf
    found = minorant(rows, multipliers, -a)
    mu = multipliers.mu
    if found is None or not (math.isfinite(cutoff) or mu == 0):
        return math.inf
    least = found.least(low, high)
    if not math.isfinite(least):
        return math.inf
    price = mu * cutoff if mu else 0.0
    total = price - least
    slack = 4 * UNIT * (abs(price) + abs(least)) + 2.0**-1070
    return math.nextafter(total + slack, math.inf) if mu else -least


def joined(rows: Rows, steps: Sequence[Step]) -> Rows:
    """The rows and limits with those of steps that hold."""
    low, high = rows.low.copy(), rows.high.copy()
    lines: list[Array] = []
    sides: list[float] = []
    for step in steps:
        match step:
            case DerivedLimit(column=j, sign=1, value=value):
                low[j] = max(low[j], value)
            case DerivedLimit(column=j, value=value):
                high[j] = min(high[j], value)
            case DerivedRow() | SwitchedRow():
                lines.append(step.a)
                sides.append(step.side)
    return replace(rows, conic=_longer(rows.conic, lines, sides), low=low, high=high)


def _longer(conic: ConicForm, lines: Sequence[Array], sides: Sequence[float]) -> ConicForm:
    if not lines:
        return conic
    block = Block("nonneg", len(conic.b), len(lines))
    added = sp.csc_matrix(np.array(lines))
    return replace(
        conic,
        A=sp.vstack([conic.A, added], format="csc"),
        b=np.concatenate([conic.b, sides]),
        blocks=(*conic.blocks, block),
    )


METHOD = "branch and bound, every leaf by weak duality"
REMEMBERED = 256  # neighbouring leaves share their multipliers
LARGEST = 2.0**53  # beyond it at and at + 1 are not neighbours
LONGEST = 2**40  # multiples that are told apart


@dataclass(frozen=True)
class Branch:
    """Children for x_j <= at and for x_j >= at + 1, by their numbers."""

    column: int
    at: float
    below: int
    above: int


@dataclass(frozen=True)
class Leaf:
    """Closed by the multipliers of this number, as far as they close it; open where it is -1."""

    certificate: int


@dataclass(frozen=True, eq=False, repr=False)
class TreeProof(Printed):
    """What the module's docstring describes.

    Attributes
    ----------
    cutoff : float
        U; infinity without one.
    rounds : tuple of tuples of steps
    certificates : tuple of SparseMultipliers
    nodes : tuple
        The first one is the root.
    """

    cutoff: float
    rounds: tuple[tuple[Step, ...], ...]
    certificates: tuple[SparseMultipliers, ...]
    nodes: tuple[Branch | Leaf, ...]

    def _title(self) -> str:
        return f"TreeProof: {count_text(len(self.nodes), 'node')} below {number_text(self.cutoff)}"


def tree_bound(subject: Subject, proof: TreeProof) -> LowerBound | Infeasible | None:
    """What a tree proves; None where it proves nothing.

    Parameters
    ----------
    subject : Subject
        A model that is convex once integrality is dropped.
    """
    rows = first_rows(subject, proof.cutoff)
    if rows is None or not isinstance(proof.cutoff, float) or math.isnan(proof.cutoff):
        return None
    for steps in proof.rounds:
        if not all(holds(subject, rows, step, proof.cutoff) for step in steps):
            return None
        rows = joined(rows, steps)
    step = lattice(subject)
    value = math.inf
    for found, low, high in _leaves(subject, rows, proof):
        value = min(value, _closed(found, low, high, step))
        if value == -math.inf:
            return None
    value = min(value, proof.cutoff)
    leaves = sum(isinstance(node, Leaf) for node in proof.nodes)
    words = f"{METHOD}, {leaves} {'leaf' if leaves == 1 else 'leaves'}"
    if value == math.inf:
        return Infeasible(subject=subject.form, words=words, seal=SEAL)
    if not math.isfinite(value):
        return None
    return LowerBound(subject=subject.form, words=words, seal=SEAL, varying=value)


def _closed(
    found: tuple[Minorant, float] | None, low: Array, high: Array, step: Fraction | None
) -> float:
    """Bound of a leaf; infinity where it has no point."""
    if (low > high).any():
        return math.inf
    if found is None:
        return -math.inf
    return leaf_value(*found, low, high, step)


def leaf_value(found: Minorant, mu: float, low: Array, high: Array, step: Fraction | None) -> float:
    """Lower bound on f in a box; infinity where the box has no point.

    Parameters
    ----------
    mu : float
        Of the multipliers, 0 or 1: others prove nothing that these do not.
    step : Fraction or None
        What every value of f is a multiple of.
    """
    least = found.least(low, high)
    if mu == 0:
        return math.inf if least > 0 else -math.inf
    if mu != 1:
        return -math.inf
    return on_lattice(least, step)


def on_lattice(value: float, step: Fraction | None) -> float:
    """A bound rounded up to the next value that the objective can have."""
    if step is None or not math.isfinite(value):
        return value
    number = math.ceil(Fraction(value) / step)
    return max(value, rounded_down(number * step)) if abs(number) < LONGEST else value


@lru_cache(maxsize=16)
def lattice(subject: Subject) -> Fraction | None:
    """What every value of the objective is a whole multiple of; None where nothing is known."""
    goal, form = subject.form.objective, subject.form
    priced = np.flatnonzero(goal.a)
    if goal.Q.nnz or not len(priced) or not form.integer[priced].all():
        return None
    prices = [Fraction(float(a)) for a in np.unique(np.abs(goal.a[priced]))]
    step = prices[0]
    for price in prices[1:]:
        step = Fraction(
            math.gcd(step.numerator * price.denominator, price.numerator * step.denominator),
            step.denominator * price.denominator,
        )
    # Multiples of 1e-17 of the prices tell nothing apart.
    return step if prices[-1] / step < LONGEST else None


def _leaves(
    subject: Subject, rows: Rows, proof: TreeProof
) -> Iterator[tuple[tuple[Minorant, float] | None, Array, Array]]:
    """Minorant and box of every leaf; None in the place of one that has none.

    Raises nothing: a tree that is none has a leaf without a minorant.
    """
    integer, count = subject.form.integer, len(proof.nodes)

    remembered: dict[tuple[int, bytes], tuple[Minorant, float] | None] = {}

    def known(number: int, low: Array, high: Array) -> tuple[Minorant, float] | None:
        if not 0 <= number < len(proof.certificates):
            return None
        key = number, np.isfinite(np.concatenate([low, high])).tobytes()
        if key not in remembered:
            if len(remembered) >= REMEMBERED:
                remembered.clear()
            multipliers = proof.certificates[number]
            found = minorant(rows, multipliers, box=(low, high))
            remembered[key] = None if found is None else (found, multipliers.mu)
        return remembered[key]

    seen = np.zeros(count, dtype=bool)
    stack = [(0, rows.low, rows.high)]
    while stack:
        number, low, high = stack.pop()
        if not 0 <= number < count or seen[number]:
            yield None, rows.low, rows.high
            return
        seen[number] = True
        node = proof.nodes[number]
        if isinstance(node, Leaf):
            yield known(node.certificate, low, high), low, high
            continue
        j, at = node.column, node.at
        plain = type(j) is int and isinstance(at, float) and abs(at) < LARGEST
        if not (plain and 0 <= j < len(low) and integer[j] and at == math.floor(at)):
            yield None, rows.low, rows.high
            return
        below, above = high.copy(), low.copy()
        below[j], above[j] = min(below[j], at), max(above[j], at + 1)
        stack += [(node.below, low, below), (node.above, above, high)]
