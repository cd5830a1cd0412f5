"""A lower bound on a convex model from any numbers whatever, with every rounding counted.

For z in the dual cone, any x^, and c with Q - diag(c) semidefinite
(solvers/model/convexity.py), weak duality with what is left of stationarity kept gives at
every feasible x

    f(x) >= -1/2 x^'P x^ - b'z + sum_j [ r_j x_j + c_j (x_j - x^_j)^2 ],    r = P x^ + q + A'z,

and each term of the sum is at least its minimum over the limits of its variable: those of its
bounds, and those that follow for points of objective at most U (kernel/limits.py), so that
min(beta, U) is a bound for all points. A variable that bends (c_j > 0) needs no limit. With S the
dual slack of a semidefinite program this is the bound b'y + min(0, lambda_min(S)) trace(X) of
Jansson, Chaykin & Keil (Rigorous error bounds for the optimal value in semidefinite programming,
SIAM Journal on Numerical Analysis 46, 2007); it holds at any accuracy, that of a first-order method
too.

r is known up to gamma_k sum |terms| (Higham, Accuracy and Stability of Numerical Algorithms, sec.
3.1). Where that much on a variable without a limit would cost everything, r_j is computed exactly
or nearly so, and made 0 exactly by moving as many multipliers that have room:
what is left of stationarity there is never called rounding. A product that underflows is off by up
to 2^-1075, and is charged with that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import OUTWARD
from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.exact import rounded_down, rounded_up
from tightmargin.solvers.kernel.limits import Reach, Subject, excess_of
from tightmargin.solvers.kernel.statement import SEAL, Infeasible, LowerBound, relaxed
from tightmargin.solvers.kernel.sums import Residuals, exact_residuals, near_residuals
from tightmargin.solvers.kernel.systems import ENCLOSED_LIMIT, Step, step_of
from tightmargin.solvers.model.conic import ConicForm, triangle_scale, unpack, without_own_bounds
from tightmargin.solvers.model.convexity import Reading, proven_at_least
from tightmargin.solvers.model.scaling import Factors, scaled_conic

# --- Multipliers that are proven to lie in the dual cone -----------------------------------------


def in_dual_cone(conic: ConicForm, z: Array) -> Array | None:
    """Multipliers that are proven to lie in the dual cone, near those given; None if none are."""
    z = z.copy()
    widths: dict[int, list[int]] = {}
    for block in conic.blocks:
        match block.kind:
            case "nonneg":
                z[block.rows] = np.maximum(z[block.rows], 0.0)
            case "soc":
                widths.setdefault(block.size, []).append(block.start)
            case "psd":
                found = _definite(z[block.rows])
                if found is None:
                    return None
                z[block.rows] = found
    for width, starts in widths.items():
        places = np.array(starts)[:, None] + np.arange(width)
        parts = z[places]
        top = np.abs(parts[:, 1:]).max(axis=1, initial=0.0)
        unit = np.where(top > 0, top, 1.0)  # no square over- or underflows
        norm = unit * np.sqrt(((parts[:, 1:] / unit[:, None]) ** 2).sum(axis=1))
        z[places[:, 0]] = np.maximum(parts[:, 0], norm * (1 + (width + 8) * 2 * UNIT))
    return z


def _definite(part: Array) -> Array | None:
    """Entries of a matrix that is proven semidefinite, a little more on the diagonal if need be.

    It is looked at with its diagonal near 1: a matrix of 1, 1e8 and 1e16 would drown in its
    rounding, and more of the same everywhere costs what the largest unknowns are worth.
    """
    Z = unpack(part)
    k = len(Z)
    if not Z.any():
        return part
    own = np.diag(Z)
    largest = float(own.max())
    if not largest > 0:
        return None
    exponents = np.frexp(np.maximum(own, largest * 1e-100))[1]
    factors = np.ldexp(1.0, -(exponents // 2))  # of two: nothing is rounded
    try:
        balanced = float(np.linalg.eigvalsh(Z * np.outer(factors, factors))[0])
        smallest = float(np.linalg.eigvalsh(Z)[0])
    except LinAlgError:
        return None
    rounding = (k + 4) * k * UNIT
    for more in (0.0, 8.0, 64.0):
        if balanced >= -more * rounding:
            found = _lifted(part, Z, own + 4 * more * rounding / factors**2, factors)
            if found is not None:
                return found
    size = float(np.abs(Z).max())
    for more in (0.0, 8.0, 64.0):
        shift = more * rounding * size + max(0.0, -smallest) * (1 + 1e-6 * bool(more))
        found = _lifted(part, Z, own + shift, factors)
        if found is not None:
            return found
    return None


def _lifted(part: Array, Z: Array, diagonal: Array, factors: Array) -> Array | None:
    """The entries with another diagonal; None where these are not proven semidefinite."""
    Z = Z.copy()
    np.fill_diagonal(Z, diagonal)
    if not proven_at_least(Z * np.outer(factors, factors), 0.0):
        return None
    lifted = part.copy()
    lifted[triangle_scale(len(Z)) == 1.0] = diagonal
    return lifted


# --- Stationarity in rational numbers of the few columns on which no rounding may be left --------
# On a variable without a limit any residual costs everything. The residual of such a column is
# computed exactly; where it does not vanish (or has the wrong sign beside the one limit there is),
# as many multipliers of linear rows as there are such columns, all of them with room on both
# sides, are moved by numbers that solve the equations exactly: rational ones, or where there are
# more equations than whole numbers solve quickly, numbers that are known to within a proven
# radius.


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


METHOD = "weak duality, every rounding counted"
CROSSED = "limits that rows and cones imply cross, every rounding counted"
# Entries of cones are right to a few units in their last place, and so is sqrt(2).
INEXACT = 16
COSTLY = 1e-9  # of the objective, in one column
LEAST = 2.0**-1074  # the smallest number above 0: twice what an underflow loses
NORMAL = 2.0**-1000  # products above it, and a few additions later still, lose nothing
NOTHING = 1e-150  # smaller multipliers and coordinates are taken as 0: any numbers will do


def proven_bound(
    subject: Subject,
    x: Array,
    z: Array,
    cutoff: float | None,
    *,
    tangent: bool = False,
    factors: Factors | None = None,
) -> LowerBound | None:
    """The bound of the module's docstring; None where these numbers prove none.

    Parameters
    ----------
    subject : Subject
        A model that is convex once integrality is dropped.
    x : array (n,)
        Any point.
    z : array (m,)
        Any multipliers of the rows of `subject.conic`.
    cutoff : float or None
        U of the module's docstring, without the constant of the objective: what is returned is
        min(beta, U). None to use no limits but the bounds of the variables.
    tangent : bool
        Whether the objective is replaced by its tangent at 0, which a convex one is never below, so
        that a bound of 0 is no rounding away from it. Without a cutoff cones then limit nothing:
        what is left of stationarity has to be 0 exactly.
    factors : Factors, optional
        With them x and z are of the scaled form: cones whose two ends are of very different size
        lose one of them in a sum and a difference.
    """
    kind = subject.classification
    if not kind.relaxes_to_convex or x.shape != (subject.form.n,):
        return None
    if z.shape != subject.conic.b.shape or not (np.isfinite(x).all() and np.isfinite(z).all()):
        return None
    reach = subject.bounds if tangent and cutoff is None else subject.reach(cutoff)
    if reach.empty:
        return _stated(subject, reach.cutoff)
    conic, bend = subject.conic, kind.curvature
    assert bend is not None
    if tangent:
        if (bend < 0).any():
            return None
        conic = replace(conic, P=sp.csc_matrix(conic.P.shape))
        x, bend = np.zeros_like(x), np.zeros_like(x)
    readings, size = kind.readings, 1.0
    if factors is not None:
        if not (factors.are_powers and all(_is_whole(reading) for reading in readings)):
            return None
        conic, size = scaled_conic(conic, factors).conic, factors.objective
        reach, bend = _in_units(reach, factors), bend * factors.columns**2 / size
        readings = ()
    ready = prepared(conic, z, reach)
    if ready is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        at = np.where(np.abs(x) < NOTHING, 0.0, x)
        found = _evaluated(*ready, at, reach, bend, readings, exactly=tangent)
    return None if found is None else _stated(subject, size * min(found, reach.cutoff))


def proven_empty(subject: Subject, z: Array) -> Infeasible | None:
    """No feasible point, from multipliers: an objective of 0 would be above 0 everywhere.

    Parameters
    ----------
    z : array (m,)
        Any multipliers of the rows of `subject.conic`.
    """
    kind, n = subject.classification, subject.form.n
    if not kind.relaxes_to_convex or z.shape != subject.conic.b.shape or not np.isfinite(z).all():
        return None
    conic = replace(subject.conic, P=sp.csc_matrix((n, n)), q=np.zeros(n))
    reach, words = subject.reach(math.inf), METHOD + relaxed(subject.form)
    if reach.empty:
        return Infeasible(subject=subject.form, words=CROSSED, seal=SEAL, z=np.zeros_like(z))
    ready = prepared(conic, z, reach)
    if ready is None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        zeros = np.zeros(n)
        found = _evaluated(*ready, zeros, reach, zeros, kind.readings, exactly=True)
    if found is None or not found > 0:
        return None
    return Infeasible(subject=subject.form, words=words, seal=SEAL, z=z)


def _stated(subject: Subject, varying: float) -> LowerBound | None:
    if not math.isfinite(varying):
        return None
    words = METHOD + relaxed(subject.form)
    return LowerBound(subject=subject.form, words=words, seal=SEAL, varying=varying)


def _is_whole(reading: Reading) -> bool:
    """Whether f and g of a cone (f + g, f - g, h) come back from its first two rows exactly.

    Only then may they be scaled apart: what a sum has lost is nothing beside the sum, and may be
    all that there is of f. A cone that misses its row has no scaled form either.
    """
    cone = reading.cone
    if cone is None:
        return True
    if cone.excess is not None:
        return False
    if cone.factors is None:
        return True
    F, ends = cone.factors
    half = np.array([[0.5, 0.5], [0.5, -0.5]])
    return bool((half @ cone.A[:2] == F).all() and (half @ cone.b[:2] == ends).all())


def _in_units(reach: Reach, factors: Factors) -> Reach:
    """Limits of scaled variables; one that underflows goes to the next number outwards."""
    c = factors.columns
    with np.errstate(over="ignore", under="ignore"):
        low, high = reach.low / c, reach.high / c
    lost_low, lost_high = np.abs(low) < NORMAL, np.abs(high) < NORMAL
    low = np.where(lost_low & (reach.low != 0), np.minimum(low, -NORMAL), low)
    high = np.where(lost_high & (reach.high != 0), np.maximum(high, NORMAL), high)
    return Reach(low, high, reach.cutoff / factors.objective)


def prepared(conic: ConicForm, z: Array, reach: Reach) -> tuple[ConicForm, Array] | None:
    """The form without rows for bounds, which limits stand for, and multipliers in the dual cone.

    None where multipliers of a semidefinite row are not proven to be near a semidefinite matrix.
    """
    conic, z = without_own_bounds(conic, z)
    z = np.where(np.abs(z) < NOTHING, 0.0, z)
    inside = in_dual_cone(conic, z)
    return None if inside is None else (conic, within_room(conic, inside, reach))


def _evaluated(
    conic: ConicForm,
    z: Array,
    x: Array,
    reach: Reach,
    curvature: Array,
    readings: tuple[Reading, ...],
    *,
    exactly: bool,
) -> float | None:
    residual = conic.P @ x + conic.q + conic.A.T @ z
    size = np.abs(conic.q) + abs(conic.P) @ np.abs(x) + conic.sizes.T @ np.abs(z)
    count = np.diff(conic.P.indptr) + np.diff(conic.A.indptr)
    lost = LEAST if _may_underflow(conic, x, z) else 0.0
    radius = (count + INEXACT) * (2 * UNIT * size + lost)
    alone = _rounded_once(conic)
    radius[alone] = 2 * UNIT * np.abs(residual[alone]) + lost
    if not np.isfinite(radius).all():
        return None
    least = least_terms(residual - radius, residual + radius, x, reach, curvature)
    fixed = _constant(conic, x, z, lost) - _excess(conic, z, readings, reach)
    plain = _down([fixed, *least.tolist()])
    endless = ~np.isfinite(least)
    if (endless & (curvature < 0)).any():
        return None
    # Rounding on a variable that may be far away costs as much as on one without a limit.
    drowned = np.abs(residual) <= 4 * radius
    price = COSTLY * max(abs(fixed), abs(reach.cutoff))
    costly = endless | ((least < -price) & drowned & (curvature >= 0))
    found = plain
    for chosen in (costly, endless) if (costly & ~endless).any() else (endless,):
        if not chosen.any():
            break
        far = _without_far_limits(reach, chosen)
        which = np.flatnonzero(chosen)
        exact = exact_columns(conic, x, z, which, far, readings, exactly=exactly)
        if exact is not None:
            constant, terms = _with_exact(exact, residual, radius, reach, curvature)
            found = max(found, _down([constant, fixed, *terms.tolist()]))
            break
    return found if math.isfinite(found) else None


def _rounded_once(conic: ConicForm) -> Array:
    """Columns of a linear cost and one entry that is a power of two: r_j = q_j + a z is one sum.

    A sum of two floats has the sign of the true one, and is 0 only where that is: of slacks, whose
    multipliers are at their cap exactly, nothing is left over. Entries of cones are not the model's
    own to the last place.
    """
    straight = (np.diff(conic.A.indptr) == 1) & (np.diff(conic.P.indptr) == 0)
    columns = np.flatnonzero(straight)
    first = conic.A.indptr[columns]
    linear = conic.A.indices[first] < sum(map(len, (conic.equal, conic.low, conic.high)))
    return columns[linear & (np.abs(np.frexp(conic.A.data[first])[0]) == 0.5)]


def _without_far_limits(reach: Reach, costly: NDArray[np.bool_]) -> Reach:
    """Limits without the farther one of each costly column, at which nothing may be charged."""
    farther_above = costly & (np.abs(reach.high) >= np.abs(reach.low))
    farther_below = costly & ~farther_above
    return Reach(
        np.where(farther_below, -np.inf, reach.low),
        np.where(farther_above, np.inf, reach.high),
        reach.cutoff,
    )


def least_terms(low: Array, high: Array, x: Array, reach: Reach, curvature: Array) -> Array:
    """Least of r x_j + c_j (x_j - x^_j)^2 over the limits and all r from `low` to `high`."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        corners = [_times(r, end) for r in (low, high) for end in (reach.low, reach.high)]
        straight = np.minimum.reduce(corners)
        straight = straight - 4 * UNIT * np.abs(straight)
        far = np.maximum(np.abs(reach.low - x), np.abs(reach.high - x)) + 4 * UNIT * np.abs(x)
        bent = (curvature * far) * far * (1 + 8 * UNIT) - LEAST * (1 + far)
        straight = straight + np.where(curvature < 0, bent, 0.0)
        # r x^ - r^2 / (4 c) is concave in r, so that its least is at one of the ends.
        bends = np.where(curvature > 0, curvature, 1.0)
        bowls = []
        for r in (low, high):
            linear, square = _times(r, x), (r * r + LEAST * (r != 0)) / (4 * bends)
            square = square + LEAST * (r != 0)
            bowls.append(linear - square - 8 * UNIT * (np.abs(linear) + square))
        known = (curvature > 0) & np.isfinite(4 * bends)
        bowl = np.where(known, np.minimum(*bowls), -np.inf)
    straight = np.where(np.isnan(straight), -np.inf, straight)
    return np.maximum(straight, np.where(np.isnan(bowl), -np.inf, bowl))


def _times(a: Array, b: Array) -> Array:
    """Products in which 0 times infinity is 0, downwards where they underflow."""
    product = np.where((a == 0) | (b == 0), 0.0, a * b)
    lost = (np.abs(product) < NORMAL) & (a != 0) & (b != 0)
    return np.where(lost, product - LEAST, product)


def _may_underflow(conic: ConicForm, x: Array, z: Array) -> bool:
    """Whether a product of the bound may be too small to be a float to its last place."""
    point, prices = _smallest(x), _smallest(z)
    products = (
        _smallest(conic.A.data) * prices,
        _smallest(conic.b) * prices,
        _smallest(conic.P.data) * min(point, 1.0) * point,
    )
    return min(products) < NORMAL


def _smallest(numbers: Array) -> float:
    """Least size of the numbers that are not 0; infinity without any."""
    sizes = np.abs(numbers)
    return float(sizes.min(where=sizes > 0, initial=np.inf))


def _with_exact(
    exact: ExactColumns, residual: Array, radius: Array, reach: Reach, curvature: Array
) -> tuple[float, Array]:
    """The terms once some multipliers were moved, and what that adds to the constant."""
    residual = residual + exact.residual
    radius = radius + exact.radius + 4 * UNIT * np.abs(residual) * (exact.radius > 0)
    least = least_terms(residual - radius, residual + radius, exact.point, reach, curvature)
    least[exact.columns] = exact.least
    return exact.constant, least


def _constant(conic: ConicForm, x: Array, z: Array, lost: float) -> float:
    """-1/2 x'P x - b'z, downwards; `lost` is what a product may lose to underflow."""
    P = conic.P.tocoo()
    squares = 0.5 * P.data * x[P.row] * x[P.col]
    sides = conic.b * z
    size = math.fsum(np.abs(squares).tolist()) + math.fsum(np.abs(sides).tolist())
    for block in conic.blocks_of("soc"):
        # The two first sides are a sum and a difference of two rounded numbers.
        first = slice(block.start, block.start + 2)
        size += 4 * float(np.abs(conic.b[first]).sum()) * float(np.abs(z[first]).sum())
    total = math.fsum([*(-squares).tolist(), *(-sides).tolist()])
    count = len(sides) + len(squares) * (1 + float(np.abs(x).max(initial=0.0)))
    return total - INEXACT * UNIT * size - 2 * count * lost


def _excess(conic: ConicForm, z: Array, readings: tuple[Reading, ...], reach: Reach) -> float:
    """Multipliers times what cones that miss their rows by a rounding may be wrong by."""
    if all(r.cone is None or r.cone.excess is None for r in readings):
        return 0.0
    total = 0.0
    for block, reading in zip(conic.blocks_of("soc"), readings, strict=True):
        assert reading.cone is not None
        weight = float(z[block.start])
        if weight > 0 and reading.cone.excess is not None:
            total += weight * excess_of(reading.cone, reach)
    return total * (1 + INEXACT * UNIT)


def _down(terms: list[float]) -> float:
    """Sum of floats, rounded down: math.fsum rounds once, and is 0 only where the sum is."""
    total = math.fsum(terms)
    return math.nextafter(total, -math.inf) if math.isfinite(total) and total else total
