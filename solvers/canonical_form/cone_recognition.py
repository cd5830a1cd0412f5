"""Which quadratic rows are convex, and as which second-order cone.

A row g(x) = x'Qx + a'x + c <= 0 is one of

    convex     Q is semidefinite
    cone       one product k f_1 f_2 of two affine factors that the bounds keep nonnegative exceeds
               a sum of squares (rotated cone), or one square does (norm cone)
    reverse    -Q is semidefinite: the feasible side is outside a convex set
    nonconvex  anything else

and the first two are {x : (A x + b) in a second-order cone}. Signs are decided exactly: a factor
that a bound keeps above -1e-12 is not kept nonnegative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.curvature import block_curvature
from tightmargin.solvers.canonical_form.squares import Excess, Squares, complete_squares
from tightmargin.solvers.standard_form.standard_form import (
    LocalQuadratic,
    QuadraticRow,
    StandardForm,
)


class Shape(StrEnum):
    """Kind of a quadratic row."""

    CONVEX = "convex"
    REVERSE = "reverse convex"
    NONCONVEX = "nonconvex"


@dataclass(frozen=True, eq=False)
class Cone:
    """(A x + b) lies in the second-order cone: its first entry is at least the norm of the rest.

    Attributes
    ----------
    A : array (m, k)
        Over the columns `index` (k,).
    b : array (m,)
        A and b are right to a few units in the last place of their entries.
    excess : Excess or None
        By how much the squared norm of the rest may exceed the square of the first entry all the
        same, where A does not say the row to the last place.
    slope : float
        Raising the first entry by t >= 0 makes room for at least slope * t of excess; 0 where only
        t^2 is sure.
    factors : (array (2, k), array (2,)) or None
        Of a cone (f + g, f - g, h): f and g themselves, which say h^2 <= 4 f g in any units, where
        the sum and the difference of numbers of different size have lost the smaller one.
    exact : bool
        Whether A and b say the row without any rounding, as where all squares have coefficient 1.
    """

    A: Array
    b: Array
    index: Index
    excess: Excess | None = None
    slope: float = 0.0
    factors: tuple[Array, Array] | None = None
    exact: bool = False

    def at(self, index: Index) -> Cone:
        """The same cone over other columns; `replace` takes twice the time for a thousand."""
        return Cone(self.A, self.b, index, self.excess, self.slope, self.factors, self.exact)


@dataclass(frozen=True, eq=False)
class Reading:
    """What a row is; `cone` is present when it is convex, `reason` when it is not."""

    shape: Shape
    cone: Cone | None = None
    reason: str = ""


def read_rows(form: StandardForm) -> tuple[Reading, ...]:
    """Classify the quadratic rows of a model.

    Rows that differ in nothing but their columns, a thousand cones of one family, are decided
    once: the answer depends on the numbers and on the bounds of the columns alone.
    """
    known: dict[tuple[object, ...], Reading] = {}
    found = []
    for row in form.quadratic:
        body = row.body
        key = (
            row.lower, row.upper, body.constant, body.i.tobytes(), body.j.tobytes(),
            body.v.tobytes(), body.a.tobytes(),
            form.lower[body.index].tobytes(), form.upper[body.index].tobytes(),
        )  # fmt: skip
        reading = known.get(key)
        if reading is None:
            reading = read_row(row, form)
            if reading.cone is not None:
                known[key] = reading
        elif reading.cone is not None:
            reading = Reading(reading.shape, reading.cone.at(body.index))
        found.append(reading)
    return tuple(found)


def read_row(row: QuadraticRow, form: StandardForm) -> Reading:
    """Classify one quadratic row of a model."""
    low, high = np.isfinite(row.lower), np.isfinite(row.upper)
    if low and high:
        return Reading(Shape.NONCONVEX, reason=f"{row.data.name} has two sides")
    g = row.body.shifted(1.0, row.upper) if high else row.body.shifted(-1.0, row.lower)
    product = _product_cone(g, form)
    if product is not None:
        return Reading(Shape.CONVEX, product)
    support = np.unique(g.i)
    q = _dense(g, support)
    squares = complete_squares(q, np.zeros(len(q)))
    if squares is not None:
        return Reading(Shape.CONVEX, _convex_cone(g, support, squares))
    norm = _norm_cone(g, support, q, form)
    if norm is not None:
        return Reading(Shape.CONVEX, norm)
    if block_curvature(-q)[0] is not None:
        return Reading(Shape.REVERSE, reason=f"{row.data.name} is a reverse convex row")
    return Reading(
        Shape.NONCONVEX,
        reason=f"{row.data.name} is not convex (or a cone whose factors lack bounds >= 0)",
    )


def _dense(g: LocalQuadratic, support: Index) -> Array:
    """Q over some of its local positions."""
    at = np.full(len(g.index), -1)
    at[support] = np.arange(len(support))
    inside = (at[g.i] >= 0) & (at[g.j] >= 0)
    q = np.zeros((len(support), len(support)))
    q[at[g.i[inside]], at[g.j[inside]]] = g.v[inside]
    return q


def _convex_cone(g: LocalQuadratic, support: Index, found: Squares) -> Cone:
    """||Lx||^2 <= t with t = -(a'x + c); a plain norm bound when t is a positive constant."""
    root = found.root
    squares = np.zeros((len(root), len(g.index)))
    squares[:, support] = root
    if not g.a.any() and g.constant < 0:
        radius = math.sqrt(-g.constant)
        top = np.zeros((1, len(g.index)))
        sides = np.r_[radius, np.zeros(len(root))]
        exact = found.exact and _is_root(radius, -g.constant)
        return Cone(
            np.vstack([top, squares]), sides, g.index, found.excess, 2 * radius, exact=exact
        )
    t = -g.a[None, :]
    return Cone(
        np.vstack([t, t, 2 * squares]),
        np.r_[1 - g.constant, -1 - g.constant, np.zeros(len(root))],
        g.index,
        _doubled(found.excess),
        2.0,  # t may be raised in both entries: (t + e + 1)^2 - (t + e - 1)^2 = 4 (t + e)
        (np.vstack([t, np.zeros_like(t)]), np.array([-g.constant, 1.0])),
        found.exact and (1 - g.constant) + g.constant == 1 and (-1 - g.constant) + g.constant == -1,
    )


def _is_root(root: float, number: float) -> bool:
    """Whether a square root did not round."""
    return Fraction(root) ** 2 == Fraction(number)


def _doubled(excess: Excess | None, constant: float = 0.0) -> Excess | None:
    """Of 2 (L x + e) in the place of L x + e, with a constant more before that."""
    if excess is None:
        return None if constant == 0.0 else Excess(constant=4 * constant)
    return Excess(4 * excess.squares, 4 * excess.linear, 4 * (excess.constant + constant))


def _product_cone(g: LocalQuadratic, form: StandardForm) -> Cone | None:
    """Squares of the other variables at most -k f_1 f_2, both factors nonnegative."""
    counts = np.bincount(g.i, minlength=len(g.index))
    lone = (g.i < g.j) & (counts[g.i] == 1) & (counts[g.j] == 1)
    if np.count_nonzero(lone) != 1:
        return None
    at = int(np.flatnonzero(lone)[0])
    s, t, k = int(g.i[at]), int(g.j[at]), 2 * float(g.v[at])
    others = np.array([p for p in np.flatnonzero(counts) if p not in (s, t)], dtype=np.int64)
    linear = g.a.copy()
    linear[[s, t]] = 0.0
    linear[others] = 0.0
    if linear.any():
        return None
    found = complete_squares(_dense(g, others), g.a[others])
    if found is None:
        return None
    root, shift = found.root, found.shift
    # k s t + a_s s + a_t t + c' = k (s + a_t / k)(t + a_s / k) + (c' - a_s a_t / k); what is left
    # over is one more square when it is positive, and no cone when it is negative.
    terms = [
        Fraction(g.constant), -found.rest,
        -Fraction(float(g.a[s])) * Fraction(float(g.a[t])) / Fraction(k),
    ]  # fmt: skip
    rest, constant = sum(terms), 0.0
    if rest > 0:
        root = np.vstack([root, np.zeros((1, root.shape[1]))])
        shift = np.append(shift, math.sqrt(rest))
    elif rest < 0:
        # What the rounding of a square's own terms, as Pyomo multiplies it out, leaves over.
        constant = math.nextafter(float(-rest), math.inf)
        if constant > 8 * UNIT * float(sum(map(abs, terms))):
            return None
    ends = _factor_signs((int(g.index[s]), int(g.index[t])), (g.a[t], g.a[s]), k, form)
    if ends is None:
        return None
    signs, shifts = ends, (float(g.a[t]) / k, float(g.a[s]) / k)
    scale = math.sqrt(abs(k))
    A = np.zeros((2 + len(root), len(g.index)))
    A[0, [s, t]] = scale * signs[0], scale * signs[1]
    A[1, [s, t]] = scale * signs[0], -scale * signs[1]
    A[2:, others] = 2 * root
    first, second = (scale * sign * d for sign, d in zip(signs, shifts, strict=True))
    sides = np.r_[first + second, first - second, 2 * shift]
    factors = np.zeros((2, len(g.index)))
    factors[0, s], factors[1, t] = scale * signs[0], scale * signs[1]
    apart = (factors, np.array([first, second]))
    exact = found.exact and rest == 0 and _is_root(scale, abs(k)) and first == second == 0.0
    return Cone(A, sides, g.index, _doubled(found.excess, constant), factors=apart, exact=exact)


def _factor_signs(
    columns: tuple[int, int], linear: tuple[float, float], k: float, form: StandardForm
) -> tuple[float, float] | None:
    """Signs that make both factors x + a / k of -k f_1 f_2 >= 0 nonnegative within the bounds."""

    def at(bound: float, a: float) -> float | Fraction:
        return bound if math.isinf(bound) else Fraction(bound) + Fraction(float(a)) / Fraction(k)

    pairs = list(zip(columns, linear, strict=True))
    up = [at(float(form.lower[column]), a) >= 0 for column, a in pairs]
    down = [at(float(form.upper[column]), a) <= 0 for column, a in pairs]
    if k < 0:
        if all(up):
            return 1.0, 1.0
        return (-1.0, -1.0) if all(down) else None
    if up[0] and down[1]:
        return 1.0, -1.0
    return (-1.0, 1.0) if down[0] and up[1] else None


def _norm_cone(g: LocalQuadratic, support: Index, q: Array, form: StandardForm) -> Cone | None:
    """||Lx|| <= sqrt(k) t for one variable t that the bounds keep on one side of zero."""
    negative = np.flatnonzero(np.diag(q) < 0)
    if len(negative) != 1 or g.a.any() or g.constant != 0:
        return None
    j = int(negative[0])
    others = np.array([p for p in range(len(support)) if p != j], dtype=np.int64)
    if np.count_nonzero(q[j]) != 1 or len(others) == 0:
        return None
    found = complete_squares(q[np.ix_(others, others)], np.zeros(len(others)))
    if found is None:
        return None
    column = int(g.index[support[j]])
    if form.lower[column] >= 0:
        sign = 1.0
    elif form.upper[column] <= 0:
        sign = -1.0
    else:
        return None
    root = found.root
    A = np.zeros((1 + len(root), len(g.index)))
    A[0, support[j]] = sign * np.sqrt(-q[j, j])
    A[1:, support[others]] = root
    exact = found.exact and _is_root(math.sqrt(-q[j, j]), float(-q[j, j]))
    return Cone(A, np.zeros(len(A)), g.index, found.excess, exact=exact)
