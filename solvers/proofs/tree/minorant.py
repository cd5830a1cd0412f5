"""One inequality that carries every step of a branch and bound, with every rounding counted.

Let f be a convex objective, Q - diag(c) semidefinite for its Q, g any direction, mu >= 0, z in the
dual cone of rows A x + s = b, and x^ any point. Then at every x that meets the rows

    g'x + mu f(x) >= - mu/2 x^'P x^ - b'z + sum_j [ r_j x_j + mu c_j (x_j - x^_j)^2 ],
    r = g + mu (P x^ + q) + A'z,

and in a box each term of the sum is at least its minimum there. What does not depend on the box is
computed once; then a box costs a handful of operations on vectors. With f(x) <= U,

    g = 0, mu > 0     a lower bound on f in the box,
    g = 0, mu = 0     a proof, where it is above 0, that the box has no point (Farkas),
    g = a row         g'x >= the minimum - mu U: a row that every point of the box meets.

Columns without a limit on one side need r_j = 0 or of the right sign exactly (exact_columns.py).
Constants of the objective are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.proofs.dual_cone import in_dual_cone
from tightmargin.solvers.proofs.exact_columns import exact_columns, within_room
from tightmargin.solvers.proofs.implied_limits import Reach, excess_of
from tightmargin.solvers.proofs.tree.rows import Rows
from tightmargin.solvers.proofs.weak_duality import (
    INEXACT,
    LEAST,
    NORMAL,
    NOTHING,
    least_terms,
)

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
