"""Stationarity in rational numbers of the few columns on which no rounding may be left.

On a variable without a limit any residual costs everything. The residual of such a column is
computed exactly; where it does not vanish (or has the wrong sign beside the one limit there is), as
many multipliers of linear rows as there are such columns, all of them with room on both sides, are
moved by rational numbers that solve the equations exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.cone_recognition import Reading
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.exact_arithmetic import (
    dot_integers,
    dyadic,
    rounded_down,
    scaled,
    solve_exactly,
)
from tightmargin.solvers.proofs.exact_sums.exact_products import exact_products
from tightmargin.solvers.proofs.implied_limits import Reach

Index = NDArray[np.intp]

FEW = 20  # multipliers with room for each equation
FREE_LIMIT = 24  # equations of that many unknowns take a tenth of a second in whole numbers
# As many entries are computed exactly within a few tenths of a second.
ENTRY_LIMIT = 5_000_000
# Moves of another size lose more than their last places.
TINY, HUGE = Fraction(2) ** -900, Fraction(2) ** 900
# Of the largest multiplier: with less room there is none for what rounding leaves over.
SMALLEST_ROOM = 1e-13


@dataclass(frozen=True, eq=False)
class ExactColumns:
    """What exact arithmetic adds to a bound.

    Attributes
    ----------
    columns : array
        Columns whose terms are exact.
    least : array
        Least of r_j x_j in each of them, rounded down.
    point : array (n,)
        x^, some entries moved, to the nearest floats.
    residual, radius : arrays (n,)
        What the moves add to P x + q + A'z, and how far that may be off.
    constant : float
        What they add to -1/2 x'P x - b'z, rounded down.
    """

    columns: Index
    least: Array
    point: Array
    residual: Array
    radius: Array
    constant: float


def exact_columns(
    conic: ConicForm,
    x: Array,
    z: Array,
    columns: Index,
    reach: Reach,
    readings: tuple[Reading, ...] = (),
) -> ExactColumns | None:
    """Terms of the given columns in rational numbers; None where they cannot be made finite."""
    starts = conic.A.indptr
    if (starts[columns + 1] - starts[columns]).sum() > ENTRY_LIMIT:
        return None
    if not _is_exact(conic, z, columns, readings):
        return None
    residuals = _residuals(conic, x, z, columns)
    endless = [j for j, r in residuals.items() if _least(r, j, reach) is None]
    step: dict[int, Fraction] = {}
    if endless:
        wrong = np.array(endless, dtype=np.intp)
        found = _moved(conic, z, wrong, residuals, reach)
        if found is None:
            return None
        step = found
    movers = _movers(conic, step)
    _apply(movers, step, residuals)
    least = [_least(r, j, reach) for j, r in residuals.items()]
    if any(value is None for value in least):
        return None
    floats = _floats(step)
    if floats is None:
        return None
    part = movers.T
    rounding = (len(step) + 16) * 4 * UNIT
    return ExactColumns(
        np.array(list(residuals), dtype=np.intp),
        np.array(least, dtype=np.float64),
        _point(x, len(conic.b), step),
        part @ floats,
        rounding * (abs(part) @ np.abs(floats)),
        rounded_down(_change(conic, movers, x, step)),
    )


def _floats(step: dict[int, Fraction]) -> Array | None:
    """The moves to the nearest floats; None where one is too small or too large to be near."""
    if any(delta and not TINY <= abs(delta) <= HUGE for delta in step.values()):
        return None
    return np.array([float(delta) for delta in step.values()])


def _apply(
    movers: sp.csr_matrix, step: dict[int, Fraction], residuals: dict[int, Fraction]
) -> None:
    """Add what the moves change to the residuals of the open columns."""
    for k, delta in enumerate(step.values()):
        for j, a in _entries(movers, k):
            if j in residuals:
                residuals[j] += Fraction(a) * delta


def _point(x: Array, height: int, step: dict[int, Fraction]) -> Array:
    """x^ with the moves of its own, to the nearest floats."""
    point = x.copy()
    for i, delta in step.items():
        if i >= height:
            point[i - height] = float(Fraction(float(x[i - height])) + delta)
    return point


def _change(
    conic: ConicForm, movers: sp.csr_matrix, x: Array, step: dict[int, Fraction]
) -> Fraction:
    """-b'dz - dx'P x - 1/2 dx'P dx."""
    height, total = len(conic.b), Fraction(0)
    for k, (i, delta) in enumerate(step.items()):
        if i < height:
            total -= Fraction(float(conic.b[i])) * delta
            continue
        for j, p in _entries(movers, k):
            there = Fraction(float(x[j])) + step.get(height + j, Fraction(0)) / 2
            total -= delta * Fraction(p) * there
    return total


def rounded_rows(conic: ConicForm, readings: tuple[Reading, ...]) -> NDArray[np.bool_]:
    """Which rows of the form may not say the model to the last place: those of most cones.

    Parameters
    ----------
    readings : tuple of Reading
        Of the quadratic rows, in the order of the second-order cones; without them no cone counts
        as exact.
    """
    rounded = np.zeros(len(conic.b), dtype=bool)
    cones = iter(readings)
    for block in conic.blocks:
        if block.kind == "psd":
            rounded[block.rows] = True
        if block.kind == "soc":
            reading = next(cones, None)
            cone = None if reading is None else reading.cone
            rounded[block.rows] = cone is None or not cone.exact
    return rounded


def _is_exact(conic: ConicForm, z: Array, columns: Index, readings: tuple[Reading, ...]) -> bool:
    """Whether only rows whose numbers are the model's own act on some columns."""
    rows = conic.A[:, columns].indices
    return not (rounded_rows(conic, readings) & (z != 0))[rows].any()


def _movers(conic: ConicForm, step: dict[int, Fraction]) -> sp.csr_matrix:
    """Row of A, or of P behind them, that each step moves along."""
    height = len(conic.b)
    numbers = np.array(list(step), dtype=np.intp)
    if not len(numbers):
        return sp.csr_matrix((0, len(conic.q)))
    own = numbers < height
    found = sp.vstack([conic.A[numbers[own]], conic.P[numbers[~own] - height]], format="csr")
    place = np.argsort(np.argsort(~own, kind="stable"), kind="stable")
    return found[place]


def _residuals(conic: ConicForm, x: Array, z: Array, columns: Index) -> dict[int, Fraction]:
    """P x + q + A'z in some columns."""
    total = [Fraction(number) for number in conic.q[columns].tolist()]
    for matrix, vector in ((conic.P, x), (conic.A, z)):
        lines = matrix[:, columns].T.tocsr()
        found = exact_products(lines, vector)
        for k in range(len(total)):
            if found is not None:
                total[k] += scaled(found[0][k], found[1])
                continue
            span = slice(lines.indptr[k], lines.indptr[k + 1])
            a, v = dyadic(lines.data[span]), dyadic(vector[lines.indices[span]])
            product = dot_integers(a.integers, v.integers)
            total[k] += scaled(product, a.exponent + v.exponent)
    return dict(zip(columns.tolist(), total, strict=True))


def _least(r: Fraction, j: int, reach: Reach) -> float | None:
    """Least of r x_j over its limits, rounded down; None where it has none."""
    if r == 0:
        return 0.0
    end = float(reach.low[j] if r > 0 else reach.high[j])
    return rounded_down(r * Fraction(end)) if math.isfinite(end) else None


def _moved(
    conic: ConicForm,
    z: Array,
    wrong: Index,
    residuals: dict[int, Fraction],
    reach: Reach,
) -> dict[int, Fraction] | None:
    """Steps of multipliers with room, and of x^, after which the wrong columns have no residual.

    Numbers from len(b) on stand for entries of x^, which may be anything. Where no multiplier has
    room on both sides, as when one point alone is feasible, all of them are tried alike.
    """
    if len(wrong) > FREE_LIMIT:
        return None
    low, high = multiplier_room(conic, reach)
    linear = sum(map(len, (conic.equal, conic.low, conic.high)))
    room = np.minimum(z - low, high - z)[:linear]
    scale = max(float(np.abs(z[:linear]).max(initial=0.0)), 1e-300)
    bends = len(z) + np.flatnonzero(np.diff(conic.P[:, wrong].tocsr().indptr))
    block = sp.vstack([conic.A[:, wrong], conic.P[:, wrong]], format="csr")
    for least, weight in (
        (SMALLEST_ROOM * scale, np.minimum(room, scale)),
        (-1.0, np.ones(linear)),
    ):
        inside = np.flatnonzero((room > least) & (high > low)[:linear])
        # Those with most room are enough, as a rule, and a factorisation of all takes far longer.
        most = inside[np.argsort(-weight[inside], kind="stable")[: FEW * len(wrong)]]
        for chosen in (most, inside) if len(most) < len(inside) else (inside,):
            weights = np.concatenate([weight[chosen], np.zeros(len(bends))])
            numbers = np.concatenate([chosen, bends])
            step = _solved(block[numbers].toarray(), weights, numbers, wrong, residuals)
            if step is not None and _stays(step, z, low, high):
                return step
    return None


def _solved(
    block: Array, weights: Array, numbers: Index, wrong: Index, residuals: dict[int, Fraction]
) -> dict[int, Fraction] | None:
    """Steps of the movers with the largest weights that solve the equations; None without any.

    A weight of 0 stands for one like the largest.
    """
    if not len(block):
        return None
    weighted = block * np.where(weights > 0, weights, 1.0)[:, None]
    straight, bent = (
        np.abs(weighted[part]).max(initial=0.0) for part in (weights > 0, weights == 0)
    )
    if bent > 0:
        weighted[weights == 0] *= (straight or 1.0) / bent
    _, r, pivots = qr(weighted.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-11 * diagonal.max(initial=0.0)).sum())
    if not rank:
        return None
    chosen = pivots[:rank]
    exact = dyadic(block[chosen].T.ravel())
    lines = [exact.integers[k * rank : (k + 1) * rank] for k in range(len(wrong))]
    found = solve_exactly(lines, [-residuals[int(j)] for j in wrong.tolist()])
    if found is None:
        return None
    unit = scaled(1, -exact.exponent)
    return {int(numbers[k]): delta * unit for k, delta in zip(chosen, found, strict=True)}


def _stays(step: dict[int, Fraction], z: Array, low: Array, high: Array) -> bool:
    """Whether multipliers stay where they must."""
    return all(
        _at_least(Fraction(float(z[i])) + delta, float(low[i]))
        and _at_least(-Fraction(float(z[i])) - delta, -float(high[i]))
        for i, delta in step.items()
        if i < len(z)
    )


def _at_least(number: Fraction, bound: float) -> bool:
    return not math.isfinite(bound) or number >= Fraction(bound)


def within_room(conic: ConicForm, z: Array, reach: Reach) -> Array:
    """Multipliers moved, where need be, to where no column with one entry has the wrong sign."""
    low, high = multiplier_room(conic, reach)
    fits = low <= high
    return np.where(fits, np.clip(z, np.where(fits, low, z), np.where(fits, high, z)), z)


def multiplier_room(conic: ConicForm, reach: Reach) -> tuple[Array, Array]:
    """Intervals of the multipliers: of their cone, and of the columns that hold only one row.

    A slack with a cost q_j, one entry a and one limit asks for q_j + a z_i of one sign.
    """
    equal = len(conic.equal)
    linear = equal + len(conic.low) + len(conic.high)
    low, high = np.full(len(conic.b), -np.inf), np.full(len(conic.b), np.inf)
    low[equal:linear] = 0.0
    below, above = np.isfinite(reach.low), np.isfinite(reach.high)
    straight = np.diff(conic.P.indptr) == 0
    single = np.flatnonzero((np.diff(conic.A.indptr) == 1) & straight & (below != above))
    rows, a = conic.A.indices[conic.A.indptr[single]], conic.A.data[conic.A.indptr[single]]
    own = rows < linear
    single, rows, a = single[own], rows[own], a[own]
    end = -conic.q[single] / a
    at_least = (a > 0) == below[single]
    # A quotient rounds, unless a is a power of two; step inside so that the sum keeps its sign.
    rounds = np.abs(np.frexp(a)[0]) != 0.5
    inside = np.nextafter(end, np.where(at_least, np.inf, -np.inf))
    end = np.where(rounds, inside, end)
    np.maximum.at(low, rows[at_least], end[at_least])
    np.minimum.at(high, rows[~at_least], end[~at_least])
    return low, high


def _entries(matrix: sp.csr_matrix, i: int) -> list[tuple[int, float]]:
    span = slice(matrix.indptr[i], matrix.indptr[i + 1])
    return list(zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True))
