"""What a file of a solver says, as arrays and sums, before a Pyomo model is made of it.

    minimise or maximise   a quadratic function
    s.t.                   lower <= quadratic function <= upper
                           affine entries in a second-order, rotated or semidefinite cone
                           lower <= x <= upper,  x_j integer for some j

A cone of the first two kinds becomes the quadratic row it stands for, and rows that say where its
first entries are not negative, unless the bounds say so already:

    a >= ||b||                      b'b - a^2 <= 0 and a >= 0
    2 f g >= ||h||^2, f, g >= 0     h'h - 2 f g <= 0, f >= 0 and g >= 0

Where that row would not be seen to be a cone, as with squares of a sum on both sides, the entries
get columns of their own first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import number_in

ONE = "ONE_VAR_CONSTANT"  # Pyomo's column for the constant of an objective
UNBOUNDED = 1e20  # from here on a bound of an LP or MPS file is none
INFINITE = 1e30  # from here on a side of a row is none, and a bound in any file
ROUNDING = 8 * np.finfo(np.float64).eps  # of a sum that cancels

Pair = tuple[int, int]


@dataclass
class Sum:
    """A quadratic function: products of columns i <= j, columns, and a constant."""

    products: dict[Pair, float] = field(default_factory=dict)
    linear: dict[int, float] = field(default_factory=dict)
    constant: float = 0.0

    def add(self, column: int, number: float) -> None:
        """Add a multiple of a column."""
        self.linear[column] = self.linear.get(column, 0.0) + number

    def add_product(self, i: int, j: int, number: float) -> None:
        """Add a multiple of a product."""
        pair = (min(i, j), max(i, j))
        self.products[pair] = self.products.get(pair, 0.0) + number

    def columns(self) -> set[int]:
        """Columns that occur."""
        return set(self.linear) | {j for pair in self.products for j in pair}


@dataclass
class Row:
    """lower <= body <= upper."""

    name: str
    body: Sum
    lower: float = -math.inf
    upper: float = math.inf
    is_cone: bool = False


@dataclass(frozen=True)
class Matrix:
    """Affine entries of a row-wise lower triangle; the matrix is semidefinite."""

    name: str
    entries: Sequence[Sum]


@dataclass
class Program:
    """See the module's docstring.

    names: of the columns, "" for one without.
    signs (Row, Row): the quadratic row of a cone and the row that its first entry is not negative,
        until `state_signs` decides which of these are needed.
    lifted: names of cones whose entries get columns of their own.
    has_bounds: whether the format states bounds: where it does not, rows of one column are bounds.
    """

    names: list[str]
    lower: Array
    upper: Array
    integer: NDArray[np.bool_]
    objective: Sum = field(default_factory=Sum)
    maximise: bool = False
    rows: list[Row] = field(default_factory=list)
    matrices: list[Matrix] = field(default_factory=list)
    signs: list[tuple[Row, Row]] = field(default_factory=list)
    lifted: frozenset[str] = frozenset()
    has_bounds: bool = False

    @classmethod
    def free(cls, names: Iterable[str], lifted: frozenset[str] = frozenset()) -> Program:
        """Columns without bounds, and nothing else."""
        names = list(names)
        n = len(names)
        unbounded = np.full(n, math.inf)
        return cls(names, -unbounded, unbounded, np.zeros(n, dtype=bool), lifted=lifted)

    def add_row(self, row: Row) -> None:
        """Add a row; one without columns goes where it is true, and a bound becomes one.

        Pyomo has no row whose sides leave nothing between them: such a one becomes two. A side
        of 1e30 or more is none.
        """
        row.lower = far_is_infinite(row.lower, INFINITE)
        row.upper = far_is_infinite(row.upper, INFINITE)
        if row.upper < row.lower < math.inf and row.upper > -math.inf:
            above = Sum(dict(row.body.products), dict(row.body.linear), row.body.constant)
            self.add_row(Row(row.name, above, lower=row.lower))
            self.add_row(Row(f"{row.name}_upper", row.body, upper=row.upper))
            return
        body = row.body
        body.linear = {j: number for j, number in body.linear.items() if number}
        if not body.columns():
            if not row.lower <= body.constant <= row.upper:
                self.rows.append(row)
        elif self.has_bounds or not self._is_bound(row):
            self.rows.append(row)

    def _is_bound(self, row: Row) -> bool:
        """Whether a row could be stated as bounds without a rounding, and then it was."""
        body = row.body
        if body.products or len(body.linear) != 1 or body.constant:
            return False
        ((column, number),) = body.linear.items()
        sides = [side for side in (row.lower, row.upper) if math.isfinite(side)]
        if any(Fraction(side) / Fraction(number) != Fraction(side / number) for side in sides):
            return False
        low, high = row.lower / number, row.upper / number
        self.lower[column] = max(self.lower[column], min(low, high))
        self.upper[column] = min(self.upper[column], max(low, high))
        return True

    def add_second_order(self, name: str, entries: Sequence[Sum]) -> None:
        """a >= ||b|| for entries (a, b); a alone is a number that is not negative."""
        if len(entries) == 1:
            self.add_row(Row(name, Sum({}, dict(entries[0].linear)), lower=-entries[0].constant))
            return
        if name in self.lifted and len(entries) == 2:
            a, b = entries
            for sign in (1.0, -1.0):
                body = Sum({}, dict(a.linear))
                for j, number in b.linear.items():
                    body.add(j, sign * number)
                self.add_row(Row(name, body, lower=-a.constant - sign * b.constant))
            return
        # Where a - b or a + b is a positive constant the row says that a is not negative, as of a
        # convex quadratic row that was written as a cone.
        implied = any(_is_apart(entries[0], entry) for entry in entries[1:])
        entries = self._with_columns(name, entries)
        row = self._add_quadratic(name, [(-1.0, entries[0], entries[0])], entries[1:])
        if not implied:
            self._add_sign(row, f"{name}_sign", entries[0])

    def add_rotated(self, name: str, entries: Sequence[Sum]) -> None:
        """2 f g >= ||h||^2 and f, g >= 0 for entries (f, g, h)."""
        if len(entries) < 2:
            raise ValueError(f"the rotated cone {name} needs two entries or more")
        entries = self._with_columns(name, entries)
        f, g = entries[:2]
        row = self._add_quadratic(name, [(-2.0, f, g)], entries[2:])
        # Where one of them is a positive constant the row says that the other is not negative.
        if not _is_positive(g):
            self._add_sign(row, f"{name}_first_sign", f)
        if not _is_positive(f):
            self._add_sign(row, f"{name}_second_sign", g)

    def _add_quadratic(
        self, name: str, products: list[tuple[float, Sum, Sum]], squares: Sequence[Sum]
    ) -> Row:
        parts = [*products, *((1.0, entry, entry) for entry in squares)]
        body = expanded(parts)
        row = Row(name, Sum(body.products, body.linear), upper=-body.constant, is_cone=True)
        self.add_row(row)
        return row

    def _with_columns(self, name: str, entries: Sequence[Sum]) -> Sequence[Sum]:
        """The entries, or columns that are equal to them."""
        if name not in self.lifted:
            return entries
        columns = []
        for k, entry in enumerate(entries):
            j = len(self.names)
            self.names.append(f"{name}_entry[{k}]")
            self.lower = np.append(self.lower, -math.inf)
            self.upper = np.append(self.upper, math.inf)
            self.integer = np.append(self.integer, False)
            body = Sum({}, {**entry.linear, j: -1.0})
            self.add_row(Row(f"{name}_equals[{k}]", body, -entry.constant, -entry.constant))
            columns.append(Sum({}, {j: 1.0}))
        return columns

    def _add_sign(self, row: Row, name: str, entry: Sum) -> None:
        body = Sum({}, {j: number for j, number in entry.linear.items() if number})
        self.signs.append((row, Row(name, body, lower=-entry.constant)))

    def refuse_odd_numbers(self) -> None:
        """Raise a ValueError for what no model can state: it would be passed over.

        A column that is not there, a number that is not finite, and an infinite side on which
        nothing is left.
        """
        places = set(range(len(self.names)))
        sums = [("the objective", self.objective)]
        sums += [(f"row {row.name}", row.body) for row in (*self.rows, *(s for _, s in self.signs))]
        sums += [(m.name, entry) for m in self.matrices for entry in m.entries]
        for owner, each in sums:
            if not each.columns() <= places:
                raise ValueError(f"{owner} has a column outside of the {len(self.names)} there are")
            numbers = (*each.products.values(), *each.linear.values(), each.constant)
            odd = next((number for number in numbers if not math.isfinite(number)), None)
            if odd is not None:
                raise ValueError(f"{owner} has {odd} for a number")
        ends = [(f"row {row.name}", row.lower, row.upper) for row in self.rows]
        ends += zip(
            (f"column {name or j}" for j, name in enumerate(self.names)),
            self.lower.tolist(), self.upper.tolist(), strict=True,
        )  # fmt: skip
        for owner, low, high in ends:
            if not (low < math.inf and high > -math.inf):
                raise ValueError(
                    f"{owner} is between {low} and {high} (bounds from {UNBOUNDED:g} on are "
                    f"infinite in lp and mps files, sides of rows from {INFINITE:g} on in all)"
                )

    def state_signs(self) -> None:
        """Turn the signs of cones into rows, where bounds leave them open."""
        for _, sign in self.signs:
            if not self._holds(sign) and not self._is_bound(sign):
                self.add_row(sign)
        self.signs = []

    def _holds(self, sign: Row) -> bool:
        """Whether the bounds alone keep an affine function at its lower side or above."""
        total = sign.body.constant - sign.lower
        for column, number in sign.body.linear.items():
            end = (self.lower if number > 0 else self.upper)[column]
            total += number * end if number else 0.0
        return bool(total >= 0)


def _is_positive(entry: Sum) -> bool:
    return not entry.linear and entry.constant > 0


def _is_apart(a: Sum, b: Sum) -> bool:
    """Whether a - b or a + b is a positive constant."""
    for sign in (1.0, -1.0):
        same = {j: sign * number for j, number in b.linear.items() if number}
        if {j: number for j, number in a.linear.items() if number} == same:
            return a.constant - sign * b.constant > 0
    return False


def expanded(parts: Iterable[tuple[float, Sum, Sum]]) -> Sum:
    """Sum of factor times products of affine functions; what cancels up to rounding is dropped."""
    body, sizes = Sum(), Sum()
    for factor, p, q in parts:
        for target, size in ((body, False), (sizes, True)):
            _add_product_of(target, factor, p, q, size)
    return Sum(
        {k: v for k, v in body.products.items() if abs(v) > ROUNDING * sizes.products[k]},
        {k: v for k, v in body.linear.items() if abs(v) > ROUNDING * sizes.linear[k]},
        body.constant if abs(body.constant) > ROUNDING * sizes.constant else 0.0,
    )


def _add_product_of(target: Sum, factor: float, p: Sum, q: Sum, size: bool) -> None:
    def number(*factors: float) -> float:
        found = math.prod(factors)
        return abs(found) if size else found

    for i, a in p.linear.items():
        for j, b in q.linear.items():
            target.add_product(i, j, number(factor, a, b))
        if q.constant:
            target.add(i, number(factor, a, q.constant))
    if p.constant:
        for j, b in q.linear.items():
            target.add(j, number(factor, p.constant, b))
        target.constant += number(factor, p.constant, q.constant)


def far_is_infinite(number: float, limit: float = UNBOUNDED) -> float:
    """A bound or side of a file, infinite where solvers take it for that."""
    return math.copysign(math.inf, number) if abs(number) >= limit else number


# --- numbers of files -----------------------------------------------------------------------------


def read_number(word: str, where: str) -> float:
    """The double that is nearest to a decimal number of a file.

    Raises ValueError: no number, or one so small that it would be lost.
    """
    found = number_in(word)
    if found is None:
        raise ValueError(f"{where} has {word!r} where a number belongs")
    if not found and re.search("[1-9]", word.lower().partition("e")[0]):
        raise ValueError(f"{where} has {word}, which is 0 in doubles: scale it, or leave it out")
    return found


def read_integer(word: str, where: str) -> int:
    """An integer of a file."""
    if not re.fullmatch(r"[+-]?[0-9]+", word):
        raise ValueError(f"{where} has {word!r} where an integer belongs")
    return int(word)


def read_sum(words: Sequence[str], where: str) -> float:
    """The double that is nearest to a sum of decimal numbers of a file: one rounding in all."""
    numbers = [read_number(word, where) for word in words]
    if len(words) == 1 or not all(map(math.isfinite, numbers)):
        return float(sum(numbers))
    total = sum(Fraction(Decimal(word)) for word in words)
    try:
        return float(total)
    except OverflowError:
        raise ValueError(f"{where} has numbers whose sum is beyond all doubles") from None


def negated(word: str) -> str:
    """The same number with the other sign."""
    return word[1:] if word.startswith("-") else f"-{word.removeprefix('+')}"
