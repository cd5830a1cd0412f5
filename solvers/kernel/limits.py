"""Proven limits of the variables at every point that matters, from rows, cones and the objective.

A lower bound on f need not hold above a value U that is known, because min(beta, U) is what is
kept; so only the points with f <= U matter. Their limits follow from the bounds of the variables,
from an objective whose terms are bounded below, from linear rows, and from the minors of the cones:
|M_ij| <= sqrt(M_ii M_jj), and no entry of a second-order cone exceeds the first. Every step goes
outwards by more than what it may have rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.rounding import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.model.conic import ConicForm, conic_form
from tightmargin.solvers.model.convexity import Classification, Cone, classify
from tightmargin.solvers.model.reader import StandardForm

# --- Steps that narrow intervals of columns, each outward by more than what it may have rounded --


BLOCK = 2**15  # entries of rows that are worked on together: they stay in the processor's cache
OUTWARD = 1e-12
LEAST = 1e-90  # of the size of a number of a model, and of a limit that is not 0


@dataclass
class Limits:
    """Intervals of the columns, narrowed step by step."""

    low: Array
    high: Array

    def rows(self, A: sp.csr_matrix) -> tuple[Array, Array]:
        """Least and largest value of A x, outwards; infinite where a column without a limit is."""
        up, down = A.maximum(0), A.minimum(0)
        low, pad = _product(up, self.low, down, self.high)
        high, room = _product(up, self.high, down, self.low)
        return low - pad, high + room

    def narrow(self, columns: NDArray[Any], low: Array, high: Array) -> None:
        """Intersect, a little outwards."""
        with np.errstate(invalid="ignore"):
            low, high = low - OUTWARD * np.abs(low), high + OUTWARD * np.abs(high)
        # So that no later product of three underflows.
        low = np.where((np.abs(low) < LEAST) & (low != 0), -LEAST, low)
        high = np.where((np.abs(high) < LEAST) & (high != 0), LEAST, high)
        np.maximum.at(self.low, columns, np.where(np.isfinite(low), low, -np.inf))
        np.minimum.at(self.high, columns, np.where(np.isfinite(high), high, np.inf))


def _product(A: sp.csr_matrix, x: Array, B: sp.csr_matrix, y: Array) -> tuple[Array, Array]:
    """A x + B y, where infinite entries count only in columns that occur, and its rounding."""
    total, size, endless = np.zeros(A.shape[0]), np.zeros(A.shape[0]), np.zeros(A.shape[0])
    for M, v in ((A, x), (B, y)):
        finite = np.where(np.isfinite(v), v, 0.0)
        total += M @ finite
        size += abs(M) @ np.abs(finite)
        endless += M @ np.where(np.isfinite(v), 0.0, np.sign(v))
    count = np.diff(A.indptr) + np.diff(B.indptr)
    total = np.where(endless != 0, np.copysign(np.inf, endless), total)
    return total, (count + 8) * 4 * UNIT * size


def by_rows(A: sp.csr_matrix, lower: Array, upper: Array, limits: Limits) -> None:
    """a_j x_j <= side - the least of the other terms, and the other way round."""
    ends = np.searchsorted(A.indptr, np.arange(BLOCK, A.nnz, BLOCK))
    cuts = np.unique(np.r_[0, ends, A.shape[0]])
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        _by_few_rows(A, first, last, (lower, upper), limits)


def _by_few_rows(
    A: sp.csr_matrix, first: int, last: int, sides: tuple[Array, Array], limits: Limits
) -> None:
    """The same of rows that follow one another."""
    lower, upper = (side[first:last] for side in sides)
    part = slice(A.indptr[first], A.indptr[last])
    counts = np.diff(A.indptr[first : last + 1])
    i = np.repeat(np.arange(last - first), counts)
    j, a, count = A.indices[part], A.data[part], counts[i]
    with np.errstate(invalid="ignore", over="ignore"):
        least = np.where(a > 0, a * limits.low[j], a * limits.high[j])
        most = np.where(a > 0, a * limits.high[j], a * limits.low[j])
        low_rest, low_pad = _others(least, i, last - first, -np.inf)
        high_rest, high_pad = _others(most, i, last - first, np.inf)
        rounding = (count + 8) * 4 * UNIT
        above, below = upper[i] - low_rest, lower[i] - high_rest
        above = above + rounding * (low_pad + np.abs(upper[i]))
        below = below - rounding * (high_pad + np.abs(lower[i]))
        limits.narrow(
            j, np.where(a > 0, below / a, above / a), np.where(a > 0, above / a, below / a)
        )


def _others(terms: Array, rows: NDArray[Any], height: int, endless: float) -> tuple[Array, Array]:
    """Sum of the other terms of each term's row, and of their sizes; `endless` when one is."""
    open_terms = ~np.isfinite(terms)
    finite = np.where(open_terms, 0.0, terms)
    sums = np.bincount(rows, finite, height)
    sizes = np.bincount(rows, np.abs(finite), height)
    if not open_terms.any():
        return sums[rows] - finite, sizes[rows]
    several = np.bincount(rows[open_terms], minlength=height)[rows] > open_terms
    return np.where(several, endless, sums[rows] - finite), sizes[rows]


def by_terms(columns: NDArray[Any], curved: Array, a: Array, most: float, limits: Limits) -> None:
    """Each term c x^2 + a x is what a sum of at most `most` leaves beside the least of the others.

    columns (k,): of the terms; none twice.
    curved, a (k,): c and a.
    """
    low, high = limits.low[columns], limits.high[columns]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        least = np.where(a > 0, a * low, np.where(a < 0, a * high, 0.0))
        # Where rounding may have bent the form the wrong way, that is the least.
        size = np.where(curved < 0, np.maximum(np.abs(low), np.abs(high)), 0.0)
        least = least + np.where(curved < 0, curved * size**2, 0.0)
        bend = np.where(curved > 0, curved, 1.0)
        best = np.clip(-a / (2 * bend), low, high)
        least = np.where(curved > 0, (curved * best + a) * best, least)
        # (c x + a) x at its minimum rounds by far less than this share of a^2 / c.
        sizes = np.where(curved > 0, curved * best**2 + np.abs(a * best), np.abs(least))
    finite = np.where(np.isfinite(least), least, 0.0)
    endless = ~np.isfinite(least)
    if endless.sum() > 1:
        return
    pad = (len(a) + 8) * 4 * UNIT * (float(sizes[~endless].sum()) + abs(most))
    room = most - (float(finite.sum()) - finite) + pad
    if endless.any():
        room = np.where(endless, room, np.inf)
    used = np.flatnonzero((a != 0) | (curved > 0))
    room, a, curved = room[used], a[used], curved[used]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        square, rest = a * a, 4 * bend[used] * room
        square = square + rest + 8 * UNIT * (square + np.abs(rest))
        root = np.sqrt(np.maximum(square, 0.0)) * (1 + 8 * UNIT)
        reach = (np.abs(a) + root) * (8 * UNIT)
        straight = room / a
        top = np.where(
            curved > 0, (-a + root + reach) / (2 * bend[used]),
            np.where((a > 0) & (curved == 0), straight, np.inf),
        )  # fmt: skip
        bottom = np.where(
            curved > 0, (-a - root - reach) / (2 * bend[used]),
            np.where((a < 0) & (curved == 0), straight, -np.inf),
        )  # fmt: skip
        limits.narrow(columns[used], bottom, top)


ROUNDS = 6
NARROWER = 0.5  # of a width: narrowing that costs a round
FEW = 100  # quadratic rows that are looked at one by one


@dataclass(frozen=True, eq=False)
class Reach:
    """Limits of the variables at every feasible point of objective at most `cutoff`.

    low, high (n,): infinite where none is known. Limits that cross say that there is no such point.
    cutoff: without the constant of the objective.
    """

    low: Array
    high: Array
    cutoff: float

    @property
    def empty(self) -> bool:
        """Whether no feasible point has an objective of at most the cutoff."""
        return bool((self.low > self.high).any())

    def size(self) -> Array:
        """X (n,) with |x_j| <= X_j."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def limits_of_variables(form: StandardForm, classification: Classification, cutoff: float) -> Reach:
    """Limits at every feasible x of objective at most `cutoff`, the constant left out.

    form, classification: a model that is convex once integrality is dropped.
    cutoff: infinite for all feasible x.
    """
    limits = Limits(form.lower.copy(), form.upper.copy())
    if not _is_ordinary(form, cutoff):
        return Reach(limits.low, limits.high, cutoff)
    cones = _cones(classification, form.n)
    for _ in range(ROUNDS):
        before = limits.low.copy(), limits.high.copy()
        _by_matrices(form, limits)
        if cutoff < np.inf:
            _by_objective(form, classification, limits, cutoff)
        _by_squares(form, limits)
        if cones is not None:  # before the rows, which are dearer and need limits to start from
            _by_cones(cones, limits)
        by_rows(form.A, form.row_lower, form.row_upper, limits)
        if not _narrowed(*before, limits):
            break
    return Reach(limits.low, limits.high, cutoff)


def limits_of_cones(form: StandardForm, classification: Classification) -> Reach:
    """Limits at every feasible x: bounds, and those that second-order cones imply by themselves."""
    limits = Limits(form.lower.copy(), form.upper.copy())
    if form.quadratic and _is_ordinary(form, 0.0):
        _by_squares(form, limits)
        cones = _cones(classification, form.n)
        if cones is not None:
            _by_cones(cones, limits)
    return Reach(limits.low, limits.high, np.inf)


def _narrowed(low: Array, high: Array, limits: Limits) -> bool:
    """Whether a round found a limit where there was none, or one that is worth another round."""
    found = np.isinf(low) & np.isfinite(limits.low) | np.isinf(high) & np.isfinite(limits.high)
    if found.any():
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        return bool((limits.high - limits.low < NARROWER * (high - low)).any())


def _is_ordinary(form: StandardForm, cutoff: float) -> bool:
    """Whether no product of three numbers of a model can under- or overflow unnoticed."""
    numbers = [
        form.matrix.data, form.row_lower, form.row_upper, form.lower, form.upper,
        form.objective.Q.data, form.objective.a, np.array([cutoff]),
        *(part for row in form.psd for part in (row.F.data, row.g)),
    ]  # fmt: skip
    for row in form.quadratic:
        ends = np.array([row.lower, row.upper, row.body.constant])
        numbers += [row.body.v, row.body.a, ends]
    sizes = np.abs(np.concatenate(numbers))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return bool(((sizes >= LEAST) & (sizes <= 1 / LEAST)).all())


def _by_objective(
    form: StandardForm, classification: Classification, limits: Limits, cutoff: float
) -> None:
    """What the cutoff leaves of the objective."""
    curved = classification.curvature
    assert curved is not None
    by_terms(np.arange(form.n), curved, form.objective.a, cutoff, limits)


def _by_squares(form: StandardForm, limits: Limits) -> None:
    """Rows of squares and linear terms, where there are few of them."""
    if len(form.quadratic) > FEW:
        return
    for row in form.quadratic:
        body = row.body
        if (body.i != body.j).any():
            continue
        squares = np.zeros(len(body.index))
        squares[body.i] = body.v
        for sign, end in ((1.0, row.upper), (-1.0, -row.lower)):
            if np.isfinite(end) and (sign * squares >= 0).all():
                # One difference of two numbers of the model: nothing is lost beside the padding.
                side = end - sign * body.constant
                side += 4 * UNIT * (abs(end) + abs(body.constant))
                by_terms(body.index, sign * squares, sign * body.a, side, limits)


def _by_matrices(form: StandardForm, limits: Limits) -> None:
    """Diagonal entries are at least 0, and M_ij^2 <= M_ii M_jj."""
    for psd in form.psd:
        i, j = np.tril_indices(psd.order)
        F, diagonal = psd.F.tocsr(), np.flatnonzero(i == j)
        by_rows(F[diagonal], -psd.g[diagonal], np.full(len(diagonal), np.inf), limits)
        most = limits.rows(F)[1]
        top = np.maximum(most + psd.g + 4 * UNIT * np.abs(psd.g), 0.0)[diagonal]
        with np.errstate(invalid="ignore"):
            size = np.sqrt(top[i] * top[j]) * (1 + OUTWARD)
        size = np.where(np.isnan(size), np.inf, size)
        slack = 4 * UNIT * np.abs(psd.g)
        by_rows(F, -size - psd.g - slack, size - psd.g + slack, limits)


@dataclass(frozen=True, eq=False)
class _Cones:
    """All second-order cones whose entries are right to a few last places, one below the other.

    product, ends (2 p, n): f and g of the cones that are h^2 <= 4 f g, in turn.
    top, sides (q, n): first rows of the others.
    rest, offsets: h of the former, then what is below the first row of the latter.
    owner: number of the cone that each of these rows belongs to, products first.
    """

    product: sp.csr_matrix
    ends: Array
    top: sp.csr_matrix
    sides: Array
    rest: sp.csr_matrix
    offsets: Array
    owner: NDArray[np.int64]


def _cones(classification: Classification, n: int) -> _Cones | None:
    """The cones of a model; None without any."""
    found = [r.cone for r in classification.readings if r.cone is not None]
    cones = [cone for cone in found if cone.excess is None]
    if not cones:
        return None
    products = [cone for cone in cones if cone.factors is not None]
    others = [cone for cone in cones if cone.factors is None]
    pairs = [(cone.factors, cone.index) for cone in products if cone.factors is not None]
    parts = [(cone.A[2:], cone.b[2:], cone.index) for cone in products]
    parts += [(cone.A[1:], cone.b[1:], cone.index) for cone in others]
    return _Cones(
        _spread([(F, index) for (F, _), index in pairs], n),
        np.concatenate([np.zeros(0), *(ends for (_, ends), _ in pairs)]),
        _spread([(cone.A[:1], cone.index) for cone in others], n),
        np.array([cone.b[0] for cone in others], dtype=np.float64),
        _spread([(A, index) for A, _, index in parts], n),
        np.concatenate([np.zeros(0), *(b for _, b, _ in parts)]),
        np.repeat(np.arange(len(parts)), [len(b) for _, b, _ in parts]),
    )


def _spread(blocks: list[tuple[Array, NDArray[np.int64]]], n: int) -> sp.csr_matrix:
    """Small matrices over few columns, one below the other, over all columns."""
    height, rows, columns, numbers = 0, [], [], []
    places: dict[int, tuple[Any, ...]] = {}
    for A, index in blocks:
        if id(A) not in places:  # cones of one family share theirs
            i, j = A.nonzero()
            places[id(A)] = i, j, A[i, j]
        i, j, a = places[id(A)]
        rows.append(height + i)
        columns.append(index[j])
        numbers.append(a)
        height += len(A)
    empty = np.zeros(0, dtype=np.int64)
    where = np.concatenate([empty, *rows]), np.concatenate([empty, *columns])
    return sp.csr_matrix((np.concatenate([np.zeros(0), *numbers]), where), shape=(height, n))


def _by_cones(cones: _Cones, limits: Limits) -> None:
    """No entry exceeds the first, and h^2 <= 4 f g; entries are right to a few last places."""
    low = -cones.ends - OUTWARD * np.abs(cones.ends)
    by_rows(cones.product, low, np.full(len(low), np.inf), limits)
    factors = np.maximum(_most(limits, cones.product, cones.ends), 0.0)
    f, g = np.sqrt(factors[0::2]), np.sqrt(factors[1::2])
    with np.errstate(invalid="ignore"):
        products = np.where((f == 0) | (g == 0), 0.0, 2 * f * g)
    tops = np.maximum(_most(limits, cones.top, cones.sides), 0.0)
    size = np.concatenate([products, tops])[cones.owner]
    room = size * (1 + OUTWARD) + OUTWARD * np.abs(cones.offsets)
    by_rows(cones.rest, -room - cones.offsets, room - cones.offsets, limits)


def _most(limits: Limits, A: sp.csr_matrix, b: Array) -> Array:
    """The most that A x + b can be, outwards."""
    return limits.rows(A)[1] + b + OUTWARD * np.abs(b)


def excess_of(cone: Cone, reach: Reach) -> float:
    """What raising the first entry of a cone must make up for at the points that matter."""
    found = cone.excess
    if found is None:
        return 0.0
    size = reach.size()[cone.index]
    with np.errstate(invalid="ignore", over="ignore"):
        total = found.constant
        if found.squares:
            total += found.squares * float(size @ size)
        if found.linear:
            total += found.linear * float(size.sum())
        if (found.squares or found.linear) and size.any():
            # Squares and products that underflow lose so much each.
            total += (len(size) + 2) * (found.squares + found.linear + 2) * 2.0**-1073
    total *= 1 + OUTWARD
    if total == 0.0:
        return 0.0
    steps = [np.sqrt(total)] if cone.slope == 0 else [np.sqrt(total), total / cone.slope]
    return float(min(steps)) * (1 + OUTWARD)


# --- A model as the kernel reads it: nobody else says what its class, its cones or its limits are


@dataclass(frozen=True, eq=False)
class Subject:
    """What proofs of a model speak of.

    form: its arrays; each double is the exact number that it is.
    """

    form: StandardForm

    @cached_property
    def classification(self) -> Classification:
        """Its class, its quadratic rows as cones, and the proven curvature of its objective."""
        return classify(self.form)

    @cached_property
    def conic(self) -> ConicForm:
        """Conic form of the model, or of its continuous relaxation."""
        return conic_form(self.form, self.classification)

    def reach(self, cutoff: float | None) -> Reach:
        """Limits of the variables at feasible points of objective <= `cutoff`, constant left out.

        None stands for any objective, and for what bounds and single cones say: it costs little.
        """
        if cutoff is None:
            return self._own_reach
        return _reach(self, cutoff)

    @property
    def bounds(self) -> Reach:
        """The bounds of the variables and nothing else."""
        return Reach(self.form.lower, self.form.upper, math.inf)

    @cached_property
    def _own_reach(self) -> Reach:
        return limits_of_cones(self.form, self.classification)


@lru_cache(maxsize=4)
def _reach(subject: Subject, cutoff: float) -> Reach:
    return limits_of_variables(subject.form, subject.classification, cutoff)
