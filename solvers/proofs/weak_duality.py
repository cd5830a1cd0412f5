"""A lower bound on a convex model from any numbers whatever, with every rounding counted.

For z in the dual cone, any x^, and c with Q - diag(c) semidefinite
(solvers/canonical_form/curvature.py), weak duality with what is left of stationarity kept gives at
every feasible x

    f(x) >= -1/2 x^'P x^ - b'z + sum_j [ r_j x_j + c_j (x_j - x^_j)^2 ],    r = P x^ + q + A'z,

and each term of the sum is at least its minimum over the limits of its variable: those of its
bounds, and those that follow for points of objective at most U (implied_limits.py), so that
min(beta, U) is a bound for all points. A variable that bends (c_j > 0) needs no limit. With S the
dual slack of a semidefinite program this is the bound b'y + min(0, lambda_min(S)) trace(X) of
Jansson, Chaykin & Keil (Rigorous error bounds for the optimal value in semidefinite programming,
SIAM Journal on Numerical Analysis 46, 2007); it holds at any accuracy, that of a first-order method
too.

r is known up to gamma_k sum |terms| (Higham, Accuracy and Stability of Numerical Algorithms, sec.
3.1). Where that much on a variable without a limit would cost everything, r_j is computed exactly
or nearly so, and made 0 exactly by moving as many multipliers that have room (exact_columns.py):
what is left of stationarity there is never called rounding. A product that underflows is off by up
to 2^-1075, and is charged with that.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.cone_recognition import Reading
from tightmargin.solvers.canonical_form.conic_form import (
    ConicForm,
    without_own_bounds,
)
from tightmargin.solvers.canonical_form.scaled_conic import Factors, scaled_conic
from tightmargin.solvers.proofs.dual_cone import in_dual_cone
from tightmargin.solvers.proofs.exact_columns import ExactColumns, exact_columns, within_room
from tightmargin.solvers.proofs.implied_limits import Reach, excess_of
from tightmargin.solvers.proofs.statement import SEAL, Infeasible, LowerBound, relaxed
from tightmargin.solvers.proofs.subject import Subject

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
