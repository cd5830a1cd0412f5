"""What multipliers prove of all hyperplanes that keep some points, or cap some.

CONFLICT  With alpha >= 0 of points and lambda >= 0 of side rows <g_j, v> <= s_j, v keeps all the
points and meets the rows only if  A = sum alpha_i - sum lambda_j s_j <= <s, v>  for the vector
s = sum alpha_i a_i - sum lambda_j g_j, so that ||v||^2 >= A^2 / ||s||^2 where A > 0.

CAPS  With 0 <= alpha_i <= prices_i, and 0 for points of a set S, weak duality says of the ramp loss
where S alone is capped that

    1/2 ||v||^2 + sum over i not in S of prices_i max(0, 1 - u_i) + 2 sum over S of prices_i
        >= sum alpha_i - sum lambda_j s_j - 1/2 ||s||^2 + 2 sum over S of prices_i.

Where b is free, what pulls it one way is first scaled down until both ways are pulled alike.
All of it is done in rational numbers, of which doubles are some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.number_words import count_text
from tightmargin.printing import Printed
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proofs.cones.problem import EPS, ConeProblem


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

    Raises
    ------
    ValueError
        A point that is not there or twice there, a negative number, or one too many or too few.
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
