"""What a cover by boxes of directions proves: every cell is bounded anew, from its box alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.printing import Printed
from tightmargin.solvers.exact import rounded_down
from tightmargin.solvers.kernel.signed_points import SideRows

# --- A loss over cones of directions: signed points, prices and side rows in the units of a cube
# Every v = (w, b) other than 0 is t r with t > 0 and r on the boundary of the cube [-1, 1]^k,
# whose coordinates are those of v in units of powers of two. With a_i = y_i (x_i, 1), or y_i x_i
# where there is no price on b or no b, a hyperplane keeps point i where
#     t <a_i, r> >= 1                                       (RAY: b is none, or a coordinate of r)
#     t <a_i, r> + y_i b >= 1 for some b common to all      (BAND: b is free, and no coordinate)
# and costs t^2 sum_j squares_j r_j^2 and the prices of the points that it does not keep, or the
# ramp loss of all. A free b that side rows speak of is a coordinate whose square costs nothing.


EPS = float(np.finfo(np.float64).eps)
LARGEST = 1e300  # objectives from here on are not told apart
UP, DOWN = 1 + 8 * EPS, 1 - 8 * EPS
READ = 1e-14  # relative, of sides that a reader may have rounded in moving fixed columns there
UNREADABLE = 0.25  # of a margin that rounding may have moved further, nothing is asked
FARTHEST = 200  # largest exponent of a unit: squares of units and of products stay doubles
TINY = 2.0**-300  # stands for coordinates whose products could be lost


@dataclass(frozen=True, eq=False)
class Given:
    """The data of a problem as they are: points in its order, side rows, what margins may miss."""

    X: Array
    weights: Array
    of_b: Array
    doubt: Array
    penalised: bool
    square: float


@dataclass(frozen=True, eq=False)
class ConeProblem:
    """What the module's docstring describes; `cone_problem` makes it of points.

    points (n, k): a_i in the units of the cube, positive points first.
    blur (n,): what <a_i, c> + <|a_i|, h>, summed in any order for a box of centre c and half widths
        h, may be off from the largest <a_i, r> of the exact points, and what `doubt` makes of it.
    prices (n,).
    positives: points of the positive class.
    ramp: the loss is prices_i min(2, max(0, 1 - u_i)) in the place of prices_i [u_i < 1].
    squares (k,): prices of the squares of r's coordinates.
    rows, row_blur, sides (m, k) (m,) (m,): side rows t <rows_j, r> <= sides_j; no blur is forgotten
        in the sides.
    kept (n,): points that have to be kept; they pay nothing.
    counts: at most so many of some points are not kept; in a band all of them only.
    free_norm: the square costs nothing: what is minimised are the prices alone.
    largest_norm: the most that the square may be.
    order (n,): which points of the data these are.
    units (k,): what the cube's coordinates were multiplied by: a hyperplane is r / units.
    centre (d,): what was subtracted from the points.
    free_intercept: in a band, or lifted.
    constant: what every objective costs besides, rounded down: points that are paid for, pairs of
        the ramp loss.
    """

    points: Array
    blur: Array
    prices: Array
    positives: int
    band: bool
    ramp: bool
    squares: Array
    rows: Array
    row_blur: Array
    sides: Array
    kept: NDArray[np.bool_]
    counts: tuple[tuple[Index, int], ...]
    free_norm: bool
    largest_norm: float
    order: Index
    units: Array
    centre: Array
    given: Given
    free_intercept: bool
    constant: float

    @property
    def k(self) -> int:
        """Dimensions of the cube."""
        return self.points.shape[1]

    @cached_property
    def sizes(self) -> Array:
        """|a_i| by coordinate (n, k)."""
        return np.abs(self.points)

    @cached_property
    def price(self) -> float | None:
        """That of every point, where they have the same and none is kept by decree."""
        same = len(self.prices) > 0 and (self.prices == self.prices[0]).all()
        return float(self.prices[0]) if same and not self.kept.any() else None

    @cached_property
    def at_zero(self) -> float:
        """Least objective of v = 0, any b with it in a band; infinite where it is not allowed."""
        if (self.sides < 0).any():
            return np.inf
        n, first = len(self.prices), np.arange(len(self.prices)) < self.positives
        if self.ramp:
            return float(self.prices.sum()) * (1 - EPS * (n + 2))
        given_up = [first, ~first] if self.band else [np.ones(n, dtype=bool)]
        allowed = [
            float(self.prices[part].sum())
            for part in given_up
            if not (part & self.kept).any()
            and all(int(part[points].sum()) <= most for points, most in self.counts)
        ]
        return min(allowed, default=np.inf) * (1 - EPS * (n + 2))


def cone_problem(
    X: Array,
    y: Array,
    prices: Array,
    *,
    intercept: str,
    ramp: bool = False,
    square: float = 1.0,
    sides: SideRows | None = None,
    free_norm: bool = False,
    largest_norm: float = np.inf,
) -> ConeProblem:
    """The problem over cones of directions for points (n, d) and labels.

    Points that `sides` says are paid for are left out, with what they cost. So are points of
    different classes in one place from a ramp loss: l(u) + l(-u) = 2 for every u.

    Fixed columns move the right side of a margin row by terms that its reader may have rounded, so
    that the row is t <a_i, r> >= 1 - e_i with e_i <= READ moved_i. Points with e_i above 1/4 are
    left out, which lowers all objectives. For the others t |a_i|_1 >= 1 - e_i > 1/2 where t r keeps
    the point, and 2 e_i |a_i|_1 more in every <a_i, r> is enough. In a band two points together
    have t (|a_i|_1 + |a_j|_1) >= 2 - e_i - e_j > 1, where one alone may be next to 0: with the
    largest e in the place of both, their sum is enough. The ramp loss is off by at most e_i.

    prices (n,): of a violation, or of a unit of the ramp loss.
    square: 1 or 1/2: what the objective multiplies the square of the norm by.
    Raises ValueError: coordinates beyond 2^200 or all within 2^-200, and a ramp loss beside
        decisions.
    """
    n, d = X.shape
    sides = SideRows.nothing(n, d) if sides is None else sides
    if ramp and (sides.kept.any() or sides.paid.any() or len(sides.counts)):
        raise ValueError("the cells of the ramp loss take rows of w and b, and no decisions")
    open_counts = any(not points.all() for points, _ in sides.counts)
    lifted = intercept == "free" and (ramp or bool((sides.of_b != 0).any()) or open_counts)
    band = intercept == "free" and not lifted
    column = intercept == "penalised" or lifted
    centre = _centre(X, intercept)
    full = np.column_stack([X - centre, np.ones((n, 1))]) if column else X - centre
    units = _units(full)
    if column and lifted:
        units[-1] = 1.0
    weights = sides.weights - sides.of_b[:, None] * centre
    rows = np.column_stack([weights, sides.of_b]) if column else weights
    asked = prices
    prices, paired = _without_pairs(X, y, prices) if ramp else (prices, 0.0)
    doubt = READ * sides.moved
    there = ~sides.paid & (prices > 0) & (doubt <= UNREADABLE)  # pairs have no price left
    order = np.r_[np.flatnonzero((y > 0) & there), np.flatnonzero((y < 0) & there)]
    constant = (float(prices[sides.paid].sum()) + paired) * (1 - EPS * (n + 4))
    if ramp and doubt.any():
        constant -= float(asked @ np.minimum(doubt, 2.0)) * (1 + EPS * (n + 4))
    doubt = doubt[order]
    points = _flushed((y[:, None] * full / units)[order])
    k = points.shape[1]
    size = np.abs(points).sum(axis=1)
    blur = (k + 10) * EPS * size + k * TINY
    if not ramp:
        blur += 2 * (doubt.max(initial=0.0) if band else doubt) * size
    sizes = np.abs(sides.weights) + np.abs(sides.of_b)[:, None] * np.abs(centre)
    sizes = np.column_stack([sizes, np.abs(sides.of_b)]) if column else sizes
    rows, sizes = rows / units, sizes / units
    squares = np.full(k, square) / units**2
    if lifted:
        squares[-1] = 0.0
    place = np.full(n, -1)
    place[order] = np.arange(len(order))
    # A price that is no longer a number leaves its point out, and no count speaks of it then.
    counts = tuple(
        (place[chosen & (place >= 0)], most - int((chosen & sides.paid).sum()))
        for chosen, most in sides.counts
    )
    kept = sides.kept[order]
    given = Given(X[order], sides.weights, sides.of_b, doubt, intercept == "penalised", square)
    return ConeProblem(
        points, blur, np.where(kept, 0.0, prices[order]), int((y[order] > 0).sum()), band, ramp,
        squares, rows, (k + 10) * EPS * sizes.sum(axis=1) + k * TINY,
        sides.most + READ * np.abs(sides.most), kept, counts, free_norm, largest_norm, order, units,
        centre, given, intercept == "free", constant,
    )  # fmt: skip


def _without_pairs(X: Array, y: Array, prices: Array) -> tuple[Array, float]:
    """Prices without those of pairs of both classes in one place, and what the pairs cost."""
    _, place = np.unique(X, axis=0, return_inverse=True)
    place = place.ravel()
    both = np.intersect1d(place[y > 0], place[y < 0])
    prices, cost = prices.copy(), 0.0
    for spot in both.tolist():
        here = place == spot
        first, second = (np.flatnonzero(here & (y == label)).tolist() for label in (1.0, -1.0))
        while first and second:
            i, j = first[-1], second[-1]
            common = min(prices[i], prices[j])
            cost += 2 * common
            for k, side in ((i, first), (j, second)):
                prices[k] = (prices[k] - common) * (1 - EPS)
                if prices[k] == 0:
                    side.pop()
    return prices, cost


def fits_a_cube(X: Array, intercept: str) -> bool:
    """Whether the columns of X, centred where the intercept is free, have sizes that are taken."""
    return bool((np.abs(_exponents(X - _centre(X, intercept))) <= FARTHEST).all())


def _centre(X: Array, intercept: str) -> Array:
    free = intercept == "free" and len(X)
    return np.asarray(np.median(X, axis=0)) if free else np.zeros(X.shape[1])


def _exponents(full: Array) -> Array:
    """Of powers of two near the size of each coordinate."""
    size = np.abs(full).max(axis=0, initial=0.0)
    exponent = np.zeros(full.shape[1])
    exponent[size > 0] = np.round(np.log2(size[size > 0]))
    exponent[size == 0] = exponent.max(initial=0.0)
    return exponent


def _units(full: Array) -> Array:
    """Powers of two near the size of each coordinate."""
    exponent = _exponents(full)
    if (np.abs(exponent) > FARTHEST).any():
        raise ValueError(
            f"X has columns of sizes beyond 2^{FARTHEST} or within 2^-{FARTHEST}: rescale them"
        )
    return np.asarray(2.0**exponent)


def _flushed(points: Array) -> Array:
    """Without coordinates whose products could be lost; their blur covers them."""
    return np.where(np.abs(points) < TINY, 0.0, points)


# --- What multipliers prove of all hyperplanes that keep some points, or cap some ----------------
# CONFLICT  With alpha >= 0 of points and lambda >= 0 of side rows <g_j, v> <= s_j, v keeps all the
# points and meets the rows only if  A = sum alpha_i - sum lambda_j s_j <= <s, v>  for the vector s
# = sum alpha_i a_i - sum lambda_j g_j, so that ||v||^2 >= A^2 / ||s||^2 where A > 0.
# CAPS  With 0 <= alpha_i <= prices_i, and 0 for points of a set S, weak duality says of the ramp
# loss where S alone is capped that
#     1/2 ||v||^2 + sum over i not in S of prices_i max(0, 1 - u_i) + 2 sum over S of prices_i
#         >= sum alpha_i - sum lambda_j s_j - 1/2 ||s||^2 + 2 sum over S of prices_i.
# Where b is free, what pulls it one way is first scaled down until both ways are pulled alike. All
# of it is done in rational numbers, of which doubles are some.


@dataclass(frozen=True, eq=False, repr=False)
class Conflict(Printed):
    """Points by their number in a problem, their multipliers, and those of its side rows; any."""

    points: Index
    alpha: Array
    of_rows: Array

    def _title(self) -> str:
        return f"Conflict: {count_text(len(self.points), 'point')}"


@dataclass(frozen=True, eq=False, repr=False)
class Caps(Printed):
    """Points by number, their multipliers, those of side rows, and the points capped; any."""

    points: Index
    alpha: Array
    of_rows: Array
    capped: Index

    def _title(self) -> str:
        return f"Caps: {count_text(len(self.capped), 'capped point')}"


@dataclass(frozen=True, eq=False)
class ProvenConflict:
    """The points, the square that keeping all of them costs, and the least price of one of them."""

    points: Index
    square: float
    price: float

    def beside(self, costs: Array, lost: Array) -> Array:
        """Costs where none of the points is given up yet: the square, or one point more."""
        return np.minimum(costs + self.price, np.maximum(costs, lost + self.square))


@dataclass(frozen=True, eq=False)
class ProvenCaps:
    """The capped points (n,) of bool, and what every hyperplane costs if it caps these alone."""

    capped: NDArray[np.bool_]
    value: float


def proven(
    problem: ConeProblem, known: Sequence[Conflict | Caps]
) -> tuple[ProvenConflict | ProvenCaps, ...]:
    """What multipliers say of a problem, without those that say nothing.

    Raises ValueError: a point that is not there or twice there, a negative number, or one too many
        or too few.
    """
    found: list[ProvenConflict | ProvenCaps] = []
    for part in known:
        _check(problem, part)
        if isinstance(part, Conflict) and not (problem.free_norm or problem.ramp):
            alpha, rows = _balanced(problem, part)
            square = rounded_down(_square(problem, part, alpha, rows))
            points = part.points[[a > 0 for a in alpha]]
            price = float(problem.prices[points].min(initial=np.inf)) * (1 - EPS)
            found += [ProvenConflict(points, square, price)] if square > 0 else []
        if isinstance(part, Caps) and problem.ramp:
            capped = np.zeros(len(problem.prices), dtype=bool)
            capped[part.capped] = True
            found.append(ProvenCaps(capped, rounded_down(_machine(problem, part, capped))))
    return tuple(found)


def _check(problem: ConeProblem, part: Conflict | Caps) -> None:
    """Refuse what is no set of points with multipliers."""
    n, lists = len(problem.prices), [part.points]
    numbers = [part.alpha, part.of_rows]
    fits = part.of_rows.shape == problem.sides.shape
    if isinstance(part, Caps):
        lists.append(part.capped)
        # A cap pays the price whole: alpha is 0 there.
        fits = fits and len(np.intersect1d(part.points, part.capped)) == 0
    for points in lists:
        inside = points.min(initial=0) >= 0 and points.max(initial=-1) < n
        fits = fits and inside and len(np.unique(points)) == len(points)
    fits = fits and part.points.shape == part.alpha.shape
    if not (fits and all(bool((np.isfinite(a) & (a >= 0)).all()) for a in numbers)):
        raise ValueError("it names other points, or other multipliers, than there can be")


def _balanced(problem: ConeProblem, part: Conflict | Caps) -> tuple[list[Fraction], list[Fraction]]:
    """Multipliers of points and rows; what pulls b up or down is scaled down where b is free."""
    alpha = [Fraction(value) for value in part.alpha.tolist()]
    rows = [Fraction(value) for value in part.of_rows.tolist()]
    if not problem.free_intercept:
        return alpha, rows
    pull = [a if i < problem.positives else -a
            for a, i in zip(alpha, part.points.tolist(), strict=True)]  # fmt: skip
    pull += [-v * Fraction(b) for v, b in zip(rows, problem.given.of_b.tolist(), strict=True)]
    up = sum((p for p in pull if p > 0), Fraction(0))
    down = -sum((p for p in pull if p < 0), Fraction(0))
    share = {True: min(up, down) / up if up else Fraction(0),
             False: min(up, down) / down if down else Fraction(0)}  # fmt: skip
    scaled = [a * share[p > 0] if p else a for a, p in zip([*alpha, *rows], pull, strict=True)]
    return scaled[: len(alpha)], scaled[len(alpha) :]


def _length2(
    problem: ConeProblem, part: Conflict | Caps, alpha: list[Fraction], rows: list[Fraction]
) -> Fraction:
    """||sum alpha_i a_i - sum lambda_j g_j||^2."""
    given = problem.given
    lines = [
        (a if i < problem.positives else -a, given.X[i].tolist(), 1.0)
        for a, i in zip(alpha, part.points.tolist(), strict=True)
    ]
    lines += [
        (-v, given.weights[j].tolist(), float(given.of_b[j])) for j, v in enumerate(rows) if v
    ]
    found = Fraction(0)
    for j in range(given.X.shape[1]):
        found += sum((a * Fraction(x[j]) for a, x, _ in lines), Fraction(0)) ** 2
    if given.penalised:
        found += sum((a * Fraction(b) for a, _, b in lines), Fraction(0)) ** 2
    return found


def _beside(problem: ConeProblem, rows: list[Fraction]) -> Fraction:
    """sum lambda_j s_j."""
    sides = problem.sides.tolist()
    return sum((v * Fraction(s) for v, s in zip(rows, sides, strict=True)), Fraction(0))


def _square(
    problem: ConeProblem, part: Conflict, alpha: list[Fraction], rows: list[Fraction]
) -> Fraction:
    """The problem's price of the least norm that keeps the points."""
    given = problem.given
    right = [1 - Fraction(doubt) for doubt in given.doubt[part.points].tolist()]
    total = sum((a * s for a, s in zip(alpha, right, strict=True)), Fraction(0))
    total -= _beside(problem, rows)
    length2 = _length2(problem, part, alpha, rows)
    if total <= 0 or not length2:
        return Fraction(0)
    return Fraction(given.square) * total**2 / length2


def _machine(problem: ConeProblem, part: Caps, capped: NDArray[np.bool_]) -> Fraction:
    """The right side of CAPS."""
    prices = [Fraction(value) for value in problem.prices[part.points].tolist()]
    capped_at = [Fraction(value) for value in part.alpha.tolist()]
    alpha = [min(a, price) for a, price in zip(capped_at, prices, strict=True)]
    least = np.array([float(a) for a in alpha])  # doubles, as both were
    alpha, rows = _balanced(problem, Caps(part.points, least, part.of_rows, part.capped))
    paid = sum((Fraction(value) for value in problem.prices[capped].tolist()), Fraction(0))
    # With `square` in the place of 1/2, the best multiple of alpha would be another one.
    share = Fraction(1) / (4 * Fraction(problem.given.square))
    curved = share * _length2(problem, part, alpha, rows)
    return sum(alpha, Fraction(0)) - _beside(problem, rows) - curved + 2 * paid


# --- Lower bounds on the ramp loss in cells; the notation is that of the cells below -------------
# The loss of point i is at least l(t U_i), l(u) = min(2, max(0, 1 - u)), so that the cost is at
# least the least over t >= 0 of  m t^2 + sum prices_i l(t U_i).  Between two of the 1 / |U_i| the
# sum is linear in t: l is 1 - u for |u| <= 1, 0 above and 2 below, and points with |U_i| < 1 / t
# are on their slope. Each piece is a convex parabola on an interval, less what side rows leave of
# t.
# Around an optimum the objective is smooth, and boxes alone would have to be as small as the
# square root of the gap. What is known of one set of caps S (below: `value` bounds the cost
# where S and nothing else is capped) then says more. With L_i the least <a_i, r> of the box, the
# loss differs from that of these caps by at most
#     prices_i max(0, -1 - t L_i)  for i not in S,      prices_i (2 - l(t U_i))  for i in S,
# so that the cost is at least `value` less their sum, taken over the t at which the first bound is
# below the ceiling.


WIDER = 1e-9  # relative, of intervals of t that roots of parabolas end


@dataclass(frozen=True, eq=False)
class _Pieces:
    """m t^2 + slope t + constant on [start, stop], pieces (B, n + 1)."""

    m: Array
    slope: Array
    constant: Array
    start: Array
    stop: Array

    def least(self) -> Array:
        """The least value (B,)."""
        turn = np.where(self.slope < 0, self.stop, self.start)
        turn = np.where(self.m > 0, -self.slope / (2 * self.m), turn)
        t = np.maximum(np.minimum(turn, self.stop), self.start)
        endless = np.where(self.slope < 0, -np.inf, 0.0)
        linear = np.where(np.isfinite(t), self.slope * t, endless)
        beyond = np.where(self.m > 0, np.inf, 0.0)
        square = np.where(np.isfinite(t), self.m * t * t, beyond)
        there = (self.start < np.inf) & (self.start <= self.stop)
        value = np.where(there, square + linear + self.constant, np.inf)
        return np.asarray(value.min(axis=1))

    def below(self, ceiling: float) -> tuple[Array, Array]:
        """An interval (B,), (B,) that holds all t with a value below a ceiling."""
        over = self.constant - ceiling
        size = self.slope * self.slope + 4 * self.m * np.abs(over)
        root = np.sqrt(np.maximum(self.slope * self.slope - 4 * self.m * over, 0.0) + WIDER * size)
        # A line has no roots to look for: all of its interval counts, wherever it ends.
        square = np.where(self.m > 0, self.m * self.stop * self.stop, 0.0)
        flat = square <= WIDER * np.abs(over)
        low = np.where(flat, 0.0, (-self.slope - root) / (2 * self.m))
        high = np.where(flat, np.inf, (-self.slope + root) / (2 * self.m))
        low = np.maximum(low * np.where(low > 0, 1 - WIDER, 1 + WIDER), self.start)
        high = np.minimum(high * (1 + WIDER), self.stop)
        above = (self.m == 0) & (self.slope == 0) & (over > 0)
        there = (low <= high) & ~above
        return np.where(there, low, np.inf).min(axis=1), np.where(there, high, 0.0).max(axis=1)


def ramp_bounds(
    problem: ConeProblem,
    boxes: tuple[Array, Array],
    U: Array,
    m: Array,
    factors: tuple[Array, Array],
    ceiling: float,
    known: Sequence[ProvenCaps],
) -> Array:
    """Lower bounds (B,) for boxes with largest products U (B, n) and least squares m (B,).

    Infinite where the factors t that side rows leave are none; `factors` are their ends (B,).
    """
    none = (factors[0] > factors[1]) | (factors[0] == np.inf)
    pieces = _pieces(problem, U, m, factors)
    n, total = U.shape[1], float(problem.prices.sum())
    # |slope| t is at most the sum of the prices, so that sums are off by no more than this.
    off = EPS * (4 * n + 64) * total
    found = np.maximum(pieces.least() * DOWN - off, 0.0)
    found = np.minimum(found, min(ceiling, LARGEST))
    found[none] = np.inf
    weak = np.flatnonzero(found < ceiling)
    if not (len(known) and len(weak) and ceiling < LARGEST):
        return found
    # The first bound may be off by so much where it decides which t are left.
    some = _pieces(problem, U[weak], m[weak], (factors[0][weak], factors[1][weak]))
    low, high = some.below(ceiling * (1 + 32 * EPS) + 2 * off)
    centre, half = (part[weak] for part in boxes)
    L = centre @ problem.points.T - half @ problem.sizes.T - problem.blur
    for caps in known:
        # No factor t may be the largest: the product with 0 is 0 all the same.
        uncapped = np.where(L < 0, np.maximum(-1 - high[:, None] * L, 0.0), 0.0)
        t = np.where(U[weak] < 0, low[:, None], high[:, None])
        missed = np.clip(1 + np.where(U[weak] == 0, 0.0, t * U[weak]), 0.0, 2.0)
        lost = np.where(caps.capped, missed, uncapped) @ problem.prices
        value = caps.value - lost * (1 + 8 * EPS * (n + 8)) - off
        value = np.where(np.isfinite(value), value, 0.0)
        found[weak] = np.maximum(found[weak], np.minimum(value, ceiling))
    return found


def _pieces(problem: ConeProblem, U: Array, m: Array, factors: tuple[Array, Array]) -> _Pieces:
    order = np.argsort(np.abs(U), axis=1)
    U, prices = np.take_along_axis(U, order, axis=1), problem.prices[order]
    zero = np.zeros((len(U), 1))
    before = np.hstack([zero, np.cumsum(prices, axis=1)])
    capped = np.where(U < 0, 2 * prices, 0.0)
    behind = np.hstack([np.cumsum(capped[:, ::-1], axis=1)[:, ::-1], zero])
    slope = -np.hstack([zero, np.cumsum(prices * U, axis=1)])
    # Of piece j the j smallest |U| are on their slope.
    ends = np.where(U != 0, 1 / np.abs(U), np.inf)
    start, stop = np.hstack([ends, zero]), np.hstack([np.full_like(zero, np.inf), ends])
    low, high = (end[:, None] for end in factors)
    start, stop = np.maximum(start, low), np.minimum(stop, high)
    return _Pieces(m[:, None], slope, before + behind, start, stop)


# --- Lower bounds on all objectives in cells, each a box of directions and all their multiples ---
# Let r lie in a box with centre c and half widths h. No <a_i, r> exceeds
#     U_i = <a_i, c> + <|a_i|, h>,      and      sum_j squares_j r_j^2 >= m.
# Side rows t <g, r> <= s leave an interval [t_low, t_high] of factors t, by the least <g, r> of
# the box. A hyperplane that keeps point i has t U_i >= 1; in a band, where one b serves both
# classes, two points of different classes that are kept have t (U_i + U_j) >= 2. What is left is
# one-dimensional:
# RAY   Points are kept from the largest U down. The cost is at least the least, over numbers of
#       kept points, of m max(t, t_low)^2 + prices of the others, with t = 1 / U of the last one
#       kept and t <= t_high; nobody kept costs m t_low^2 + all prices.
# BAND  Each class is kept from its largest U down. With the a smallest U of one class and the b
#       smallest of the other one given up, t = 2 / (U_a + U_b); a class that is given up whole
#       costs m t_low^2 and its prices.
# The ramp loss has bounds of its own, above. All U are rounded up by `blur`, and m, costs and lower
# ends of t downwards.
# A conflict is a set D of points that no hyperplane keeps whole at a square below N.
# Where no point of D is among those that thresholds give up, a hyperplane keeps D whole, and its
# square is at least N, or it gives up one more point. Of side rows alone D is empty, and every
# square is at least N. That closes cells around an optimum where it is smooth in some direction,
# and boxes alone would have to be as small as the gap.


def cell_bounds(
    problem: ConeProblem,
    centre: Array,
    half: Array,
    ceiling: float = LARGEST,
    known: Sequence[ProvenConflict | ProvenCaps] = (),
    cheapest: Cheapest | None = None,
) -> Array:
    """Lower bounds (B,) for boxes of the cube; infinite where a cell has no point.

    centre, half (B, k): exact, with |centre| + half at most 1.
    ceiling: bounds above it are of no interest; it takes their place.
    known: for cells that are not bounded by the ceiling without them.
    cheapest: what does the same as `cheapest_levels`, in its place.
    """
    by_levels = cheapest or cheapest_levels
    U = centre @ problem.points.T + half @ problem.sizes.T + problem.blur
    least = np.maximum(np.abs(centre) - half, 0.0)
    m = (least * least) @ problem.squares * (DOWN - EPS * problem.k)
    low, high = factors(problem, centre, half, m)
    low = np.maximum(low, _counted(problem, U))
    if problem.free_norm:
        m = np.zeros_like(m)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if problem.ramp:
            caps = [found for found in known if isinstance(found, ProvenCaps)]
            return ramp_bounds(problem, (centre, half), U, m, (low, high), ceiling, caps)
        found = Cells(problem, U, m, low, high, ceiling, by_levels).bounds(None)
        for conflict in known:
            weak = np.flatnonzero(found < ceiling)
            if len(weak) and isinstance(conflict, ProvenConflict):
                parts = U[weak], m[weak], low[weak], high[weak]
                some = Cells(problem, *parts, ceiling, by_levels)
                found[weak] = np.maximum(found[weak], some.bounds(conflict))
    return found


@dataclass(frozen=True, eq=False)
class Cells:
    """U (B, n), m and the interval of t (B,) of some cells."""

    problem: ConeProblem
    U: Array
    m: Array
    low: Array
    high: Array
    ceiling: float
    by_levels: Cheapest

    def bounds(self, conflict: ProvenConflict | None) -> Array:
        """Their bounds (B,)."""
        found = self.band(conflict) if self.problem.band else self.ray(conflict)
        rounded = DOWN - 2 * EPS * len(self.problem.prices)
        found = np.minimum(found * rounded, min(self.ceiling, LARGEST))
        return np.where((self.low <= self.high) & (self.low < np.inf), found, np.inf)

    def costs(self, width: Array, reach: float, lost: Array) -> Array:
        """m t^2 + lost with t >= reach / width; infinite where no t is left, also for m = 0."""
        t = np.where(width > 0, reach * DOWN / width, np.inf)
        t = np.where(t <= self.high[:, None], np.maximum(t, self.low[:, None]), np.inf)
        return np.where(np.isfinite(t), self.m[:, None] * t * t + lost, np.inf)

    def nothing_kept(self, conflict: ProvenConflict | None) -> Array:
        """The square where no point asks for anything."""
        square = self.m * self.low * self.low
        by_rows = conflict is not None and not len(conflict.points)
        return np.maximum(square, conflict.square) if by_rows and conflict is not None else square

    def ray(self, conflict: ProvenConflict | None) -> Array:
        """One threshold."""
        problem, U, n = self.problem, self.U, self.U.shape[1]
        total = float(problem.prices.sum())
        nobody = self.nothing_kept(conflict) + total
        if not n:
            return nobody
        if problem.price is None:
            ordered, lost = _sorted_with(U, problem.prices)
        else:
            ordered = np.sort(U, axis=1)
            lost = np.asarray(problem.price * np.arange(n), dtype=np.float64)[None, :]
        found = self.costs(ordered, 1.0, lost)
        if conflict is not None:
            nearest = _least(U[:, conflict.points])
            found = np.where(ordered <= nearest, conflict.beside(found, lost), found)
        return np.minimum(nobody, found.min(axis=1))

    def band(self, conflict: ProvenConflict | None) -> Array:
        """Two thresholds."""
        problem, cut = self.problem, self.problem.positives
        most = min((most for _, most in problem.counts), default=self.U.shape[1])
        found, sides = np.full(len(self.U), np.inf), []
        for part in (slice(0, cut), slice(cut, None)):
            U, must, prices = self.U[:, part], problem.kept[part], problem.prices[part]
            if not must.any() and len(prices) <= most:
                whole = self.nothing_kept(conflict) + float(prices.sum())
                found = np.minimum(found, whole)
            sides.append(np.minimum(U, U[:, must].min(axis=1, keepdims=True)) if must.any() else U)
        if not 0 < cut < self.U.shape[1] or most < 0:
            return found
        # What is given up must cost less than the ceiling, or than a class that is given up whole.
        rest = min(self.ceiling, LARGEST, float(found.max()))
        nearest = [np.full((len(self.U), 1), -np.inf)] * 2
        if conflict is not None:
            classes = (
                conflict.points[conflict.points < cut],
                conflict.points[conflict.points >= cut],
            )
            nearest = [_least(self.U[:, part]) for part in classes]
        solve = self.pairs if problem.price is None else self.levels
        return np.minimum(found, solve(sides, nearest, rest, most, conflict))

    def levels(
        self,
        sides: list[Array],
        nearest: list[Array],
        rest: float,
        most: int,
        conflict: ProvenConflict | None,
    ) -> Array:
        """Points of one price: the widest band for every number of them."""
        price = self.problem.price
        assert price is not None
        levels = most if price == 0 else int(min(rest / price + 1, most))
        first, second = (_smallest(side, levels) for side in sides)
        return self.by_levels(self, (first, second), (nearest[0], nearest[1]), levels, conflict)

    def pairs(
        self,
        sides: list[Array],
        nearest: list[Array],
        rest: float,
        most: int,
        conflict: ProvenConflict | None,
    ) -> Array:
        """Points of any prices: every pair of thresholds."""
        cut, prices = self.problem.positives, self.problem.prices
        first, lost_first = _sorted_with(sides[0], prices[:cut])
        second, lost_second = _sorted_with(sides[1], prices[cut:])
        found = np.full(len(first), np.inf)
        for a in range(min(first.shape[1], most + 1)):
            if lost_first[:, a].min() >= rest:
                break
            end = min(second.shape[1], most + 1 - a)
            lost = lost_first[:, a : a + 1] + lost_second[:, :end]
            value = self.costs(first[:, a : a + 1] + second[:, :end], 2.0, lost)
            if conflict is not None:
                inside = (first[:, a : a + 1] <= nearest[0]) & (second[:, :end] <= nearest[1])
                value = np.where(inside, conflict.beside(value, lost), value)
            found = np.minimum(found, value.min(axis=1))
        return found


def cheapest_levels(
    cells: Cells,
    ends: tuple[Array, Array],
    nearest: tuple[Array, Array],
    levels: int,
    conflict: ProvenConflict | None,
) -> Array:
    """Least cost (B,) over numbers of points of one price.

    ends (B, any): the smallest U of either class, upwards.
    nearest (B, 1): the smallest U of the conflict's points of either class.
    levels: the largest number of points that are given up.
    """
    price = cells.problem.price
    assert price is not None
    first, second = ends
    count = min(levels, first.shape[1] + second.shape[1] - 2) + 1
    lost: Array = price * np.arange(count)[None, :]
    if conflict is None:
        return np.asarray(cells.costs(widest(first, second, levels), 2.0, lost).min(axis=1))
    inside = first <= nearest[0], second <= nearest[1]
    within = [np.where(i, U, -np.inf) for i, U in zip(inside, ends, strict=True)]
    beyond = [np.where(i, -np.inf, U) for i, U in zip(inside, ends, strict=True)]
    apart = np.maximum(widest(beyond[0], second, levels), widest(first, beyond[1], levels))
    whole = cells.costs(widest(within[0], within[1], levels), 2.0, lost)
    others = cells.costs(apart, 2.0, lost)
    return np.minimum(others, conflict.beside(whole, lost)).min(axis=1)


Cheapest: TypeAlias = Callable[
    [Cells, tuple[Array, Array], tuple[Array, Array], int, ProvenConflict | None], Array
]


def factors(problem: ConeProblem, centre: Array, half: Array, m: Array) -> tuple[Array, Array]:
    """The interval of t that the side rows and the largest norm leave, rounded outwards."""
    low, high = np.zeros(len(m)), np.full(len(m), np.inf)
    if np.isfinite(problem.largest_norm):
        with np.errstate(divide="ignore"):
            high = np.sqrt(problem.largest_norm / m) * UP
    if not len(problem.sides):
        return low, high
    least = centre @ problem.rows.T - half @ np.abs(problem.rows).T - problem.row_blur
    s = problem.sides
    with np.errstate(divide="ignore", invalid="ignore"):
        t = s / least
    above = np.where((s < 0) & (least < 0), t * DOWN, 0.0)
    above = np.where((s < 0) & (least >= 0), np.inf, above)
    # Beside s = 0 a row with a positive least side has no t at all, and one without any t.
    below = np.where((s > 0) & (least > 0), t * UP, np.inf)
    below = np.where((s == 0) & (least > 0), -1.0, below)
    return np.maximum(low, above.max(axis=1)), np.minimum(high, below.min(axis=1))


def _counted(problem: ConeProblem, U: Array) -> Array:
    """Least t at which kept points and counts can be met."""
    low = np.zeros(len(U))
    parts = [(np.flatnonzero(problem.kept), 0), *problem.counts]
    for points, most in () if problem.band else parts:
        if most < 0:
            return np.full(len(U), np.inf)
        if len(points) > most:
            first = np.partition(U[:, points], most, axis=1)[:, most]
            with np.errstate(divide="ignore"):
                low = np.maximum(low, np.where(first > 0, DOWN / first, np.inf))
    return low


def _least(U: Array) -> Array:
    """The smallest of each line (B, 1); infinite where there is none."""
    return np.asarray(U.min(axis=1, keepdims=True, initial=np.inf))


def _smallest(U: Array, levels: int) -> Array:
    """The levels + 1 smallest entries of each line, upwards."""
    if levels + 1 < U.shape[1]:
        U = np.partition(U, levels, axis=1)[:, : levels + 1]
    return np.sort(U, axis=1)


def widest(first: Array, second: Array, levels: int) -> Array:
    """Largest first_a + second_b with a + b = k, for every k up to `levels` that has any.

    One rounded sum for each pair, and comparisons: in any order the doubles are the same.
    """
    count = min(levels, first.shape[1] + second.shape[1] - 2) + 1
    # Cells along the rows of memory: twice as quick as numbers of points.
    across, along = np.ascontiguousarray(first.T), np.ascontiguousarray(second.T)
    found, room = np.full((count, len(first)), -np.inf), np.empty((count, len(first)))
    for a in range(min(len(across), count)):
        part = along[: count - a]
        place = found[a : a + len(part)]
        np.maximum(place, np.add(part, across[a], out=room[: len(part)]), out=place)
    return np.ascontiguousarray(found.T)


def _sorted_with(U: Array, prices: Array) -> tuple[Array, Array]:
    """U upwards, and the prices of what comes before each."""
    order = np.argsort(U, axis=1)
    # A sum less its last price would be off by what that price hides, which may be much dearer.
    lost = np.hstack([np.zeros((len(U), 1)), np.cumsum(prices[order[:, :-1]], axis=1)])
    return np.take_along_axis(U, order, axis=1), lost


# --- Boxes that cover the boundary of a cube: its faces, halved as a line of bits says -----------
# The 2 k faces come in the order of their coordinates, the lower one first. A bit says of each
# box, level by level, whether it is halved (1) or a leaf (0); a box is halved at the middle of its
# longest edge, the first of them where there are several, and its lower half comes first. So the
# leaves cover all faces by the way they are made, and there is nothing to check but that the bits
# are enough and none is left.


SHORTEST = 2.0**-40  # edges are whole multiples of it, so that all ends and centres are exact
Bits = NDArray[np.bool_]


def faces(k: int) -> tuple[Array, Array]:
    """Centres and half widths (2 k, k) of the faces of [-1, 1]^k."""
    which = np.repeat(np.arange(k), 2)
    centre, half = np.zeros((2 * k, k)), np.ones((2 * k, k))
    centre[np.arange(2 * k), which] = np.tile([-1.0, 1.0], k)
    half[np.arange(2 * k), which] = 0.0
    return centre, half


def halves(centre: Array, half: Array) -> tuple[Array, Array]:
    """Both halves (2 B, k) of each box, one behind the other."""
    each, edge = np.arange(len(half)), half.argmax(axis=1)
    short = half.copy()
    short[each, edge] /= 2
    below, above = centre.copy(), centre.copy()
    below[each, edge] -= short[each, edge]
    above[each, edge] += short[each, edge]
    return _interleaved(below, above), np.repeat(short, 2, axis=0)


def leaves(k: int, bits: Bits) -> Iterator[tuple[Array, Array]]:
    """Centres and half widths of the leaves, level by level.

    Raises ValueError: the bits are too few or too many, or halve a box that has no edge to be
        halved.
    """
    centre, half = faces(k)
    start = 0
    while len(centre):
        split = bits[start : start + len(centre)]
        if len(split) < len(centre):
            raise ValueError("the boxes do not cover every direction: bits are missing")
        start += len(split)
        if (half[split].max(axis=1, initial=0.0) <= SHORTEST).any():
            raise ValueError("a box is halved that has no edge to be halved")
        yield centre[~split], half[~split]
        centre, half = halves(centre[split], half[split])
    if start != len(bits):
        raise ValueError("bits are left behind the last box")


def bits_of(k: int, first_half: Index) -> Bits:
    """The bits of a tree: nodes 0 to 2 k - 1 are the faces.

    first_half (N,): number of the lower half of a node, the upper one's is the next; -1 for a leaf.
    """
    level, found = np.arange(2 * k), []
    while len(level):
        lower = first_half[level]
        found.append(lower >= 0)
        lower = lower[lower >= 0]
        level = _interleaved(lower, lower + 1)
    return np.concatenate(found)


def _interleaved(first: NDArray, second: NDArray) -> NDArray:
    return np.stack([first, second], axis=1).reshape(2 * len(first), *first.shape[1:])


TOGETHER = 200_000  # products of points and cells at a time
WORDS = "cones of directions"
COVERED = "the halved boxes are all faces of the cube, and every cell was bounded anew"


@dataclass(frozen=True, eq=False, repr=False)
class ConeCover(Printed):
    """Faces of the cube, halved as bits say; any bits, which are checked.

    bits, array of bool.
    known: for cells that boxes do not close.
    """

    bits: Bits
    known: tuple[Conflict | Caps, ...] = ()

    @property
    def cells(self) -> int:
        """Leaves."""
        return int((~self.bits).sum())

    def _title(self) -> str:
        return f"ConeCover: {count_text(self.cells, 'cell')}"


def cover_value(problem: ConeProblem, cover: ConeCover, ceiling: float = LARGEST) -> float:
    """A number that no objective is below, v = 0 included; infinite where there is no point.

    ceiling: above it nothing is asked: the value is at most that.
    Raises ValueError: the bits are no cover, or what is said to be known is none.
    """
    known = proven(problem, cover.known)
    value = min(problem.at_zero, ceiling) if np.isfinite(problem.at_zero) else np.inf
    for centre, half in leaves(problem.k, cover.bits):
        together = max(1, TOGETHER // max(1, len(problem.prices)))
        for start in range(0, len(centre), together):
            part = slice(start, start + together)
            found = cell_bounds(problem, centre[part], half[part], ceiling, known)
            value = min(value, float(found.min()))
    return value


def cover_lemma(problem: ConeProblem, cover: ConeCover, ceiling: float) -> Lemma | None:
    """The bound of a cover as a lemma, the problem's constant included; None where it has none."""
    try:
        value = cover_value(problem, cover, ceiling)
    except ValueError:
        return None
    words = f"{WORDS} in {count_text(cover.cells, 'cell')}"
    if not np.isfinite(value):
        return None
    total = rounded_down(Fraction(value) + Fraction(problem.constant))
    return Lemma(total, words, {COVERED: True})
