"""A lower bound on a convex model from any numbers whatever, with every rounding counted.

For z in the dual cone, any x^, and c with Q - diag(c) semidefinite
(solvers/canonical_form/curvature.py), weak duality with what is left of stationarity kept gives at
every feasible x

    f(x) >= -1/2 x^'P x^ - b'z + sum_j [ r_j x_j + c_j (x_j - x^_j)^2 ],    r = P x^ + q + A'z,

and each term of the sum is at least its minimum over the limits of its variable: those of its
bounds, and those that follow for points of objective at most U (safe_bound.py), so that min(beta,
U) is a bound for all points. A variable that bends (c_j > 0) needs no limit. With S the dual slack
of a semidefinite program this is the bound b'y + min(0, lambda_min(S)) trace(X) of Jansson, Chaykin
& Keil (Rigorous error bounds for the optimal value in semidefinite programming, SIAM Journal on
Numerical Analysis 46, 2007); it holds at any accuracy, that of a first-order method too.

r is known up to gamma_k sum |terms| (Higham, Accuracy and Stability of Numerical Algorithms, sec.
3.1). Where that much on a variable without a limit would cost everything, r_j is computed in
rational numbers, and made 0 exactly by moving as many multipliers that have room: what is left of
stationarity there is never called rounding. Not counted is underflow: the numbers of a model and of
its multipliers are taken to have products above 1e-290.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.cone_recognition import Reading
from tightmargin.solvers.canonical_form.conic_form import (
    ConicForm,
    triangle_scale,
    unpack,
    without_own_bounds,
)
from tightmargin.solvers.canonical_form.curvature import proven_at_least
from tightmargin.solvers.certificates.exact_columns import (
    ExactColumns,
    exact_columns,
    with_room,
    within_room,
)
from tightmargin.solvers.certificates.safe_bound import Reach, excess_of

METHOD = "weak duality, every rounding counted"
# Entries of cones are right to a few units in their last place, and so is sqrt(2).
INEXACT = 16
# How far multipliers go towards the middle of the stationary ones, where they lack room.
SHARES = (1e-10, 1e-8, 1e-6)
COSTLY = 1e-9  # of the objective, in one column


def proven_bound(
    conic: ConicForm,
    x: Array,
    z: Array,
    *,
    reach: Reach,
    curvature: Array,
    readings: tuple[Reading, ...] = (),
) -> float | None:
    """The bound of the module's docstring without the constant of the objective; None without one.

    Parameters
    ----------
    conic : ConicForm
        The model; its offset is left out.
    x, z : arrays
        Any point and any multipliers.
    reach : Reach
        Limits of the variables, in the units of `conic`.
    curvature : array (n,)
        c of the module's docstring.
    readings : tuple of Reading
        Of the quadratic rows, in the order of the second-order cones.
    """
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        return None
    if reach.empty:
        return reach.cutoff
    conic, z = without_own_bounds(conic, z)  # the limits stand for them
    inside = in_dual_cone(conic, z)
    if inside is None:
        return None
    z = within_room(conic, inside, reach)
    with np.errstate(over="ignore", invalid="ignore"):
        found = None
        for multipliers in _alternatives(conic, x, z, reach, curvature):
            found = _evaluated(conic, x, multipliers, reach, curvature, readings)
            if found is not None:
                break
    if found is None or not math.isfinite(found):
        return None
    return min(found, reach.cutoff)


def _alternatives(
    conic: ConicForm, x: Array, z: Array, reach: Reach, curvature: Array
) -> Iterator[Array]:
    """The multipliers, then others near by that may leave nothing on a variable without a limit."""
    yield z
    endless = ~(np.isfinite(reach.low) & np.isfinite(reach.high)) & (curvature <= 0)
    idle = endless & (conic.q == 0) & (np.diff(conic.P.indptr) == 0)
    rows = np.unique(conic.A[:, np.flatnonzero(idle)].indices)
    rows = rows[rows < len(conic.equal)]
    if z[rows].any():
        # Variables that cost nothing and are free, as in v = F'alpha: their rows prove nothing.
        without = z.copy()
        without[rows] = 0.0
        yield without
    residual = conic.P @ x + conic.q + conic.A.T @ z
    for share in SHARES:
        moved = with_room(conic, residual, z, np.flatnonzero(endless), reach, share)
        if moved is None:
            return
        yield within_room(conic, moved, reach)


def _evaluated(
    conic: ConicForm,
    x: Array,
    z: Array,
    reach: Reach,
    curvature: Array,
    readings: tuple[Reading, ...],
) -> float | None:
    residual = conic.P @ x + conic.q + conic.A.T @ z
    size = np.abs(conic.q) + abs(conic.P) @ np.abs(x) + abs(conic.A).T @ np.abs(z)
    count = np.diff(conic.P.indptr) + np.diff(conic.A.indptr)
    radius = (count + INEXACT) * 2 * UNIT * size
    if not np.isfinite(radius).all():
        return None
    least = least_terms(residual - radius, residual + radius, x, reach, curvature)
    fixed = _constant(conic, x, z) - _excess(conic, z, readings, reach)
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
        exact = exact_columns(conic, x, z, np.flatnonzero(chosen), far, readings)
        if exact is not None:
            constant, terms = _with_exact(exact, residual, radius, reach, curvature)
            found = max(found, _down([constant, fixed, *terms.tolist()]))
            break
    return found if math.isfinite(found) else None


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
        straight = straight + np.where(curvature < 0, curvature * far**2 * (1 + 8 * UNIT), 0.0)
        # r x^ - r^2 / (4 c) is concave in r, so that its least is at one of the ends.
        bends = np.where(curvature > 0, curvature, 1.0)
        bowls = []
        for r in (low, high):
            linear, square = r * x, r * r / (4 * bends)
            bowls.append(linear - square - 8 * UNIT * (np.abs(linear) + square))
        bowl = np.where(curvature > 0, np.minimum(*bowls), -np.inf)
    straight = np.where(np.isnan(straight), -np.inf, straight)
    return np.maximum(straight, np.where(np.isnan(bowl), -np.inf, bowl))


def _times(a: Array, b: Array) -> Array:
    """Products in which 0 times infinity is 0."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


def _with_exact(
    exact: ExactColumns, residual: Array, radius: Array, reach: Reach, curvature: Array
) -> tuple[float, Array]:
    """The terms once some multipliers were moved, and what that adds to the constant."""
    residual = residual + exact.residual
    radius = radius + exact.radius + 4 * UNIT * np.abs(residual) * (exact.radius > 0)
    least = least_terms(residual - radius, residual + radius, exact.point, reach, curvature)
    least[exact.columns] = exact.least
    return exact.constant, least


def _constant(conic: ConicForm, x: Array, z: Array) -> float:
    """-1/2 x'P x - b'z, downwards."""
    P = conic.P.tocoo()
    squares = 0.5 * P.data * x[P.row] * x[P.col]
    sides = conic.b * z
    size = math.fsum(np.abs(squares).tolist()) + math.fsum(np.abs(sides).tolist())
    for block in conic.blocks_of("soc"):
        # The two first sides are a sum and a difference of two rounded numbers.
        first = slice(block.start, block.start + 2)
        size += 4 * float(np.abs(conic.b[first]).sum()) * float(np.abs(z[first]).sum())
    total = math.fsum([*(-squares).tolist(), *(-sides).tolist()])
    return total - INEXACT * UNIT * size


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
    """Entries of a matrix that is proven semidefinite, a little more on the diagonal if need be."""
    Z = unpack(part)
    k = len(Z)
    if not Z.any():
        return part
    try:
        smallest = float(np.linalg.eigvalsh(Z)[0])
    except LinAlgError:
        return None
    size = float(np.abs(Z).max())
    diagonal = triangle_scale(k) == 1.0
    for more in (0.0, 8.0, 64.0):
        shift = more * (k + 4) * k * UNIT * size + max(0.0, -smallest) * (1 + 1e-6 * bool(more))
        if proven_at_least(Z + shift * np.eye(k), 0.0):
            lifted = part.copy()
            lifted[diagonal] += shift
            return lifted
    return None
