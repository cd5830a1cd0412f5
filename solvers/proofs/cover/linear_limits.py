"""Limits of columns and directions that rows and bounds imply, with every rounding counted.

A linear limit is a bound on a linear program. Floating-point multipliers leave something of
stationarity on every column, which a free column may not have: where a bound with all roundings
taken off is none for that reason, it is made in exact arithmetic. Columns with one limit that are
left with next to nothing are then taken as free too, which loses that limit and is never wrong, and
exact_lp.py makes what is left of free columns 0.

A convex row  sum_j |p_j| z_j^2 <= const + b'x + x'E x  limits each z_j by what its right side can
be. Limits are proven one after the other, each with those before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.proofs.cover.leaf_bounds import BoxMultipliers, leaf_bounds
from tightmargin.solvers.proofs.cover.more_rows import with_rows
from tightmargin.solvers.proofs.cover.squares import Squares, usable
from tightmargin.solvers.proofs.exact_lp import exact_lp_value
from tightmargin.solvers.standard_form.columns import Columns
from tightmargin.solvers.standard_form.names import Labels, Listed
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

NEARLY_NOTHING = 1e-9  # of the terms that make up a reduced cost
ROUNDED = 2.0**-50  # more than a rounding, and than its share of sums


@dataclass(frozen=True, eq=False)
class LinearLimit:
    """That sign times a column, or a direction, is at least what the multipliers prove.

    Attributes
    ----------
    of_direction : bool
        Whether `number` is one of directions, and not of columns.
    number, sign : int
        The sign is 1 or -1.
    rows, y : arrays (p,)
        Which linear rows have a multiplier, and how much.
    price : float
        Of the row that keeps a linear objective at a cutoff or below it: 0 or a power of 2, so that
        costs times it are exact.
    """

    of_direction: bool
    number: int
    sign: int
    rows: NDArray[np.int64]
    y: Array
    price: float = 0.0


@dataclass(frozen=True)
class SquareLimit:
    """That the directions of a convex row are limited by it; the row's number among the squares."""

    row: int


Limit = LinearLimit | SquareLimit
Ends = tuple[Array, Array]


def proven_limits(
    form: StandardForm, squares: Squares, claimed: tuple[Limit, ...], cutoff: float = math.inf
) -> tuple[Ends, Ends]:
    """Limits of the columns (n,), and of the directions (r,), as far as they are proven.

    Parameters
    ----------
    cutoff : float
        The limits are those of points with a linear objective, its constant left out, of at most
        that. Without one prices prove nothing.
    """
    V = squares.vectors
    n, r = V.shape
    columns = form.lower.copy(), form.upper.copy()
    directions = np.full(r, -np.inf), np.full(r, np.inf)
    program = linear(form)
    goal = form.objective.a
    for limit in claimed:
        if isinstance(limit, SquareLimit):
            _squared(squares, limit.row, columns, directions)
            _onto_columns(V, columns, directions)
            continue
        size = r if limit.of_direction else n
        number, sign = limit.number, limit.sign
        if not (type(number) is type(sign) is int and 0 <= number < size and sign in (-1, 1)):
            continue
        along = V[:, number] if limit.of_direction else np.eye(1, n, number).ravel()
        now = replace(program, lower=columns[0].copy(), upper=columns[1].copy())
        least = linear_least(now, sign * along, limit, goal, cutoff)
        ends = directions if limit.of_direction else columns
        if sign == 1:
            ends[0][number] = max(ends[0][number], least)
        else:
            ends[1][number] = min(ends[1][number], -least)
    return columns, directions


def linear(form: StandardForm) -> StandardForm:
    """The linear rows of a model alone."""
    n = form.n
    nothing = Quadratic(sp.csr_matrix((n, n)), np.zeros(n), 0.0)
    return replace(
        form, objective=nothing, sense=1, integer=np.zeros(n, dtype=bool), quadratic=(), psd=(),
        nonlinear=(),
    )  # fmt: skip


def _squared(squares: Squares, row: int, columns: Ends, directions: Ends) -> None:
    """Move limits of directions and columns in to what a convex row says."""
    if not (type(row) is int and 0 <= row < len(squares.constants)):
        return
    found = _ball_of(squares, 1 + row) or _within_columns(squares, 1 + row, columns)
    if found is None:
        return
    most, radius, inside = found
    if most < 0:
        return  # no point at all, which is for others to prove
    weights = squares.weights[1 + row]
    for j in np.flatnonzero(weights).tolist():
        reach = _root_up(most / Fraction(-float(weights[j])))
        directions[0][j] = max(directions[0][j], -reach)
        directions[1][j] = min(directions[1][j], reach)
    for i, unit in inside.items():
        columns[0][i] = max(columns[0][i], -radius * unit)
        columns[1][i] = min(columns[1][i], radius * unit)


def _within_columns(
    squares: Squares, part: int, columns: Ends
) -> tuple[Fraction, float, dict[int, float]] | None:
    """What the squares of a convex row come to at most, from limits of columns."""
    weights, line = squares.weights[part], squares.linear[part]
    used = np.flatnonzero(line)
    ends = np.where(line[used] > 0, columns[1][used], columns[0][used])
    size = np.maximum(np.abs(columns[0]), np.abs(columns[1]))
    excess = float(squares.excess_within(size)[part])
    if not ((weights <= 0).all() and np.isfinite(ends).all() and math.isfinite(excess)):
        return None
    most = sum((Fraction(c) for c in squares.constants[part - 1]), Fraction(excess))
    for a, x in zip(line[used].tolist(), ends.tolist(), strict=True):
        most += Fraction(a) * Fraction(x)
    return most, math.inf, {}


def _ball_of(squares: Squares, part: int) -> tuple[Fraction, float, dict[int, float]] | None:
    """The same of a row that is a ball or an ellipsoid, its radius, and the columns in it.

    With the directions V of the row square and VV' = I + F, |F| <= phi < 1, ||z||^2 is at least
    (1 - phi) ||x||^2; with |x'Ex| <= e ||x||^2 that is at most a share theta of the squares. So
    (1 - theta) p (1 - phi) ||x||^2 <= const + ||b|| ||x|| for the least weight p. Columns in other
    units are multiplied by powers of two first.
    """
    weights, line = squares.weights[part], squares.linear[part]
    own = np.flatnonzero(weights)
    V = squares.vectors[:, own]
    inside = np.flatnonzero(V.any(axis=1))
    if (weights > 0).any() or len(own) != len(inside) or not len(own):
        return None
    if np.delete(line, inside).any():
        return None
    of_support = np.isin(squares.support, inside)
    E = squares.excess[part]
    if E[~of_support].any() or E[:, ~of_support].any():
        return None
    units = 2.0 ** -np.round(np.log2(np.linalg.norm(V[inside], axis=1)))
    V, line = units[:, None] * V[inside], units * line[inside]
    E = units[:, None] * E[np.ix_(of_support, of_support)] * units
    off = np.abs(V @ V.T - np.eye(len(inside))) + ROUNDED * len(inside) * (np.abs(V) @ np.abs(V).T)
    phi, rest = _row_sums(off), _row_sums(np.maximum(E, E.T))
    least = Fraction(float(-weights[own].max()))
    if phi >= Fraction(1, 2) or 2 * rest >= least * (1 - phi):
        return None
    share = rest / (least * (1 - phi))
    bend = (1 - share) * least * (1 - phi)
    constant = sum((Fraction(c) for c in squares.constants[part - 1]), Fraction(0))
    slope = _root_up(sum((Fraction(a) ** 2 for a in line.tolist()), Fraction(0)))
    if constant < 0 and not slope:
        return constant, 0.0, {}
    root = _root_up(max(Fraction(slope) ** 2 + 4 * bend * constant, Fraction(0)))
    radius = (Fraction(slope) + Fraction(root)) / (2 * bend)
    most = (constant + Fraction(slope) * radius) / (1 - share)
    return most, rounded_up(radius), dict(zip(inside.tolist(), units.tolist(), strict=True))


def _row_sums(sizes: Array) -> Fraction:
    """The largest sum of a row, rounded up."""
    return Fraction(float(sizes.sum(axis=1).max())) * (1 + Fraction(ROUNDED) * sizes.shape[1])


def _root_up(number: Fraction) -> float:
    return math.nextafter(math.sqrt(rounded_up(number)), math.inf) if number else 0.0


def _onto_columns(vectors: Array, columns: Ends, directions: Ends) -> None:
    """Move limits of columns in to those of directions that are multiples of one column."""
    for j in np.flatnonzero((vectors != 0).sum(axis=0) == 1).tolist():
        i = int(np.flatnonzero(vectors[:, j])[0])
        low, high = float(directions[0][j]), float(directions[1][j])
        v = float(vectors[i, j])
        if abs(v) != 1:
            parts = [end / v for end in (low, high)]
            low, high = math.nextafter(min(parts), -math.inf), math.nextafter(max(parts), math.inf)
        elif v < 0:
            low, high = -high, -low
        columns[0][i] = max(columns[0][i], low)
        columns[1][i] = min(columns[1][i], high)


def linear_least(
    program: StandardForm, along: Array, limit: LinearLimit, goal: Array, cutoff: float
) -> float:
    """The least that along'x can be, rounded down; -inf where the multipliers prove nothing.

    That is the least of (along + price goal)'x, less price times the cutoff.

    Parameters
    ----------
    program : StandardForm
        Linear.
    goal : array (n,)
        Of the cutoff.
    """
    y, price = np.zeros(len(program.rows)), limit.price
    whole = np.issubdtype(limit.rows.dtype, np.integer) and limit.rows.shape == limit.y.shape
    if not whole or not np.isfinite(limit.y).all():
        return -math.inf
    if len(limit.rows) and not 0 <= limit.rows.min() <= limit.rows.max() < len(y):
        return -math.inf
    y[limit.rows] = limit.y
    if not (isinstance(price, float) and (price == 0 or _is_price(price, goal, cutoff))):
        return -math.inf
    found: Fraction | float | None = _rounded_least(program, along + price * goal, y)
    if found == -math.inf:
        found = _exact_limit(program, along, price * goal, y)
    if found is None:
        return -math.inf
    return rounded_down(Fraction(found) - (Fraction(price) * Fraction(cutoff) if price else 0))


def _is_price(price: float, goal: Array, cutoff: float) -> bool:
    power = math.isfinite(price) and price > 0 and math.frexp(price)[0] == 0.5
    return power and math.isfinite(cutoff) and usable(goal) and usable(price * goal)


def _rounded_least(program: StandardForm, cost: Array, y: Array) -> float:
    """The least of cost'x in double precision, all roundings taken off, that of the cost too."""
    n, nothing = program.n, np.zeros((1, 0))
    squares = Squares(
        np.zeros((n, 0)), nothing, cost[None], (), np.zeros(0, dtype=np.int64), np.zeros((1, 0, 0))
    )
    one = BoxMultipliers(np.ones(1), sp.csr_matrix(y), nothing, nothing)
    if not usable(cost):
        return -math.inf
    return float(leaf_bounds(program, squares, one, program.lower, program.upper).constant[0])


def _exact_limit(program: StandardForm, along: Array, priced: Array, y: Array) -> Fraction | None:
    """The least of along'x + priced'x in fractions.

    The sum of the two costs would be rounded: along'x is a column of its own where both are there.
    """
    n = program.n
    if not priced.any():
        goal = Quadratic(sp.csr_matrix((n, n)), along, 0.0)
        return exact_least(replace(program, objective=goal), y)
    columns = Labels(("", program.columns, np.arange(n)), ("", Listed(["along"]), np.arange(1)))
    row = np.append(along, -1.0)
    wider = replace(
        program,
        columns=cast(Columns, columns),
        lower=np.append(program.lower, -np.inf),
        upper=np.append(program.upper, np.inf),
        integer=np.zeros(n + 1, dtype=bool),
        objective=Quadratic(sp.csr_matrix((n + 1, n + 1)), np.append(priced, 1.0), 0.0),
        matrix=sp.hstack([program.A, sp.csr_matrix((len(y), 1))], format="csr"),
    )
    return exact_least(with_rows(wider, row[None], [0.0], [0.0], "along"), np.append(y, -1.0))


def exact_least(program: StandardForm, y: Array) -> Fraction | None:
    """The least value of a linear program that multipliers prove; None where they prove nothing."""
    cost, A = program.objective.a, program.A
    nothing = np.abs(cost - A.T @ y) <= NEARLY_NOTHING * (np.abs(cost) + abs(A).T @ np.abs(y))
    one_sided = nothing & (np.isfinite(program.lower) != np.isfinite(program.upper))
    looser = replace(
        program,
        lower=np.where(one_sided, -np.inf, program.lower),
        upper=np.where(one_sided, np.inf, program.upper),
    )
    for tried in (looser, program) if one_sided.any() else (program,):
        found = exact_lp_value(tried, y)
        if found is not None:
            return found
    return None
