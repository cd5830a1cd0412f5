"""Stationarity in rational numbers of the few columns on which no rounding may be left.

On a variable without a limit any residual costs everything. The residual of such a column is
computed exactly; where it does not vanish (or has the wrong sign beside the one limit there is), as
many multipliers of linear rows as there are such columns, all of them with room on both sides, are
moved by numbers that solve the equations exactly: rational ones, or where there are more equations
than whole numbers solve quickly, numbers that are known to within a proven radius.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import OUTWARD
from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.cone_recognition import Reading
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.proofs.exact_sums.residuals import (
    Residuals,
    exact_residuals,
    near_residuals,
)
from tightmargin.solvers.proofs.exact_sums.steps import ENCLOSED_LIMIT, Step, step_of
from tightmargin.solvers.proofs.implied_limits import Reach

# Multipliers with room for each equation, as far as a factorisation of so many entries allows, and
# in any case; all of them are tried after those only within CELLS of entries.
FEW, FEWEST, CELLS = 20, 3, 5_000_000
FEW_ENTRIES = 5_000
# As many entries are computed exactly within a few tenths of a second.
ENTRY_LIMIT = 5_000_000
ZERO = Fraction(0)
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
    *,
    exactly: bool = True,
) -> ExactColumns | None:
    """Terms of the given columns once they are made finite; None where they cannot be.

    Parameters
    ----------
    exactly : bool
        Whether no rounding counts, not even one in the last place of what the moves are, as for a
        bound of 0. Otherwise residuals are summed in twice the precision and the moves enclosed,
        which takes a third of the time.
    """
    starts = conic.A.indptr
    if (starts[columns + 1] - starts[columns]).sum() > ENTRY_LIMIT:
        return None
    if not _is_exact(conic, z, columns, readings):
        return None
    # A few products are the faster in whole numbers.
    exactly = exactly or (starts[columns + 1] - starts[columns]).sum() <= FEW_ENTRIES
    residuals = None if exactly else near_residuals(conic, x, z, columns)
    if residuals is None:
        exactly, residuals = True, exact_residuals(conic, x, z, columns)
    endless = [j for j, ends in residuals.items() if _least_between(*ends, j, reach) is None]
    step = Step({}, np.zeros(0))
    if endless:
        wrong = np.array(endless, dtype=np.intp)
        found = _moved(conic, z, wrong, residuals, reach, exactly=exactly)
        if found is None and not exactly:
            return exact_columns(conic, x, z, columns, reach, readings)
        if found is None:
            return None
        step = found
    movers = _movers(conic, step.moves)
    ends = _moved_residuals(movers, step, residuals, endless)
    least = [_least_between(*ends[j], j, reach) for j in residuals]
    if any(value is None for value in least):
        return None
    floats = step.floats()
    if floats is None:
        return None
    part = movers.T
    rounding = (len(floats) + 16) * 4 * UNIT
    return ExactColumns(
        np.array(list(residuals), dtype=np.intp),
        np.array(least, dtype=np.float64),
        _point(x, len(conic.b), step.moves),
        part @ floats,
        abs(part) @ (rounding * np.abs(floats) + OUTWARD * step.radius),
        rounded_down(_change(conic, movers, x, step)),
    )


def _moved_residuals(
    movers: sp.csr_matrix, step: Step, residuals: Residuals, solved: list[int]
) -> Residuals:
    """The residuals once the moves are made; those that they solve for are 0."""
    ends = residuals | dict.fromkeys(solved, (ZERO, ZERO))
    others = np.array(list(residuals.keys() - set(solved)), dtype=np.intp)
    moved = movers[:, others].tocoo()
    deltas, radius = list(step.moves.values()), list(map(Fraction, step.radius.tolist()))
    entries = (part.tolist() for part in (moved.row, others[moved.col], moved.data))
    for k, j, a in zip(*entries, strict=True):
        factor = Fraction(a)
        low, high = ends[j]
        middle, far = factor * deltas[k], abs(factor) * radius[k]
        ends[j] = low + middle - far, high + middle + far
    return ends


def _point(x: Array, height: int, step: dict[int, Fraction]) -> Array:
    """x^ with the moves of its own, to the nearest floats."""
    point = x.copy()
    for i, delta in step.items():
        if i >= height:
            point[i - height] = float(Fraction(float(x[i - height])) + delta)
    return point


def _change(conic: ConicForm, movers: sp.csr_matrix, x: Array, step: Step) -> Fraction:
    """-b'dz - dx'P x - 1/2 dx'P dx, or less."""
    height, total = len(conic.b), Fraction(0)
    for k, (i, delta) in enumerate(step.moves.items()):
        if i < height:
            side, radius = Fraction(float(conic.b[i])), Fraction(float(step.radius[k]))
            total -= side * delta + abs(side) * radius
            continue
        for j, p in _entries(movers, k):
            there = Fraction(float(x[j])) + step.moves.get(height + j, Fraction(0)) / 2
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
    if not any(block.kind in ("soc", "psd") for block in conic.blocks):
        return True
    rows = conic.A[:, columns].indices
    return not (rounded_rows(conic, readings) & (z != 0))[rows].any()


def _movers(conic: ConicForm, moves: dict[int, Fraction]) -> sp.csr_matrix:
    """Row of A, or of P behind them, that each step moves along."""
    height = len(conic.b)
    numbers = np.array(list(moves), dtype=np.intp)
    if not len(numbers):
        return sp.csr_matrix((0, len(conic.q)))
    own = numbers < height
    if own.all():
        return conic.A[numbers].tocsr()
    found = sp.vstack([conic.A[numbers[own]], conic.P[numbers[~own] - height]], format="csr")
    place = np.argsort(np.argsort(~own, kind="stable"), kind="stable")
    return found[place]


def _least_between(low: Fraction, high: Fraction, j: int, reach: Reach) -> float | None:
    """The lesser one for the two ends of r, between which no r has less."""
    ends = _least(low, j, reach), _least(high, j, reach)
    return None if ends[0] is None or ends[1] is None else min(ends[0], ends[1])


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
    residuals: Residuals,
    reach: Reach,
    *,
    exactly: bool,
) -> Step | None:
    """Steps of multipliers with room, and of x^, after which the wrong columns have no residual.

    Numbers from len(b) on stand for entries of x^, which may be anything. Where no multiplier has
    room on both sides, as when one point alone is feasible, all of them are tried alike.
    """
    if len(wrong) > ENCLOSED_LIMIT:
        return None
    low, high = multiplier_room(conic, reach)
    linear = sum(map(len, (conic.equal, conic.low, conic.high)))
    room = np.minimum(z - low, high - z)[:linear]
    scale = max(float(np.abs(z[:linear]).max(initial=0.0)), 1e-300)
    ends = [residuals[j] for j in wrong.tolist()]
    right = [-(low_end + high_end) / 2 for low_end, high_end in ends]
    spread = None
    if not exactly:
        spread = np.array([rounded_up((high_end - low_end) / 2) for low_end, high_end in ends])
    block, bent = conic.A[:, wrong].tocsr(), conic.P[:, wrong]
    bends = len(z) + np.unique(bent.indices)
    if len(bends):
        block = sp.vstack([block, bent], format="csr")
    for least, weight in (
        (SMALLEST_ROOM * scale, np.minimum(room, scale)),
        (-1.0, np.ones(linear)),
    ):
        inside = np.flatnonzero((room > least) & (high > low)[:linear])
        # Those with most room are enough, as a rule, and a factorisation of all takes far longer.
        count = max(FEWEST * len(wrong), min(FEW * len(wrong), CELLS // len(wrong)))
        most = inside[np.argsort(-weight[inside], kind="stable")[:count]]
        more = len(most) < len(inside) and len(inside) * len(wrong) <= FEW * CELLS
        for chosen in (most, inside) if more else (most,):
            weights = np.concatenate([weight[chosen], np.zeros(len(bends))])
            numbers = np.concatenate([chosen, bends])
            step = step_of(block[numbers].toarray(), weights, numbers, right, spread)
            if step is not None and _stays(step, z, low, high):
                return step
    return None


def _stays(step: Step, z: Array, low: Array, high: Array) -> bool:
    """Whether multipliers stay where they must."""
    rows = np.array(list(step.moves), dtype=np.intp)
    floats = step.floats()
    if floats is not None and (rows < len(z)).all():
        there = z[rows] + floats
        far = step.radius + 8 * UNIT * (np.abs(z[rows]) + np.abs(floats))
        if ((there - far > low[rows]) & (there + far < high[rows])).all():
            return True
    near = zip(step.moves.items(), map(Fraction, step.radius.tolist()), strict=True)
    return all(
        _at_least(Fraction(float(z[i])) + delta - radius, float(low[i]))
        and _at_least(-Fraction(float(z[i])) - delta - radius, -float(high[i]))
        for (i, delta), radius in near
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
