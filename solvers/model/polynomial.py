"""Polynomials of degree two as lists of terms that add up exactly.

A number is a float where one holds it exactly and a Fraction otherwise, and a product that no
double holds enters a list as two, its double and what that lacks (Dekker, Numerische Mathematik 18,
1971). `merge` adds up without rounding; what the double nearest to a sum lacks is kept beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.printing import Printed
from tightmargin.solvers.exact import rounded_down, rounded_up

Number = float | Fraction
Key = tuple[int, ...]  # () of the constant, (j,) of x_j, (i, j) with i <= j of x_i x_j

SMALLEST = 2.0**-1022  # of doubles with all their digits
LARGEST_WHOLE = 2**53  # up to which every integer is a double
SPLITTER = 2.0**27 + 1
SAFE = (2.0**-480, 2.0**480)  # factors whose product and its error are doubles
PARTS = 8  # doubles that a number is tried to be the sum of


class Polynomial:
    """One expression as it is read; `read` merges duplicates."""

    __slots__ = ("arrays", "coefficient", "constants", "exact", "fractions", "index", "products")

    def __init__(self) -> None:
        self.constants: list[float] = []  # their exact sum is the constant
        self.index: list[int] = []  # of linear terms
        self.coefficient: list[float] = []
        self.products: list[tuple[int, int, float]] = []
        self.arrays: list[tuple[Index, Array]] = []  # linear terms that came as arrays
        self.fractions: list[tuple[Key, Fraction]] = []  # terms that few doubles do not add up to
        self.exact: dict[Key, Fraction] = {}  # once merged: the lists have the nearest doubles

    def is_plain(self) -> bool:
        """Whether it is linear in finite doubles, each column once."""
        if self.products or self.arrays or self.fractions or len(self.constants) > 1:
            return False
        apart = len(set(self.index)) == len(self.index)
        return apart and math.isfinite(sum(self.coefficient, *self.constants))

    @property
    def constant(self) -> float:
        """The constant term, to the nearest double."""
        return math.fsum(self.constants)

    def numbers(self) -> dict[Key, Fraction]:
        """All coefficients other than 0, once merged."""
        index, a = self.linear()
        doubles: dict[Key, float] = {(): self.constant}
        doubles |= {(j,): v for j, v in zip(index.tolist(), a.tolist(), strict=True)}
        doubles |= {(i, j): v for i, j, v in self.products}
        return {key: Fraction(v) for key, v in doubles.items() if v} | self.exact

    @staticmethod
    def of(doubles: Mapping[Key, float]) -> Polynomial:
        """The polynomial with these coefficients."""
        polynomial = Polynomial()
        for key, value in doubles.items():
            if value:
                polynomial.add(key, value)
        return polynomial

    def add(self, key: Key, value: Number) -> None:
        """Add a term."""
        if value.__class__ is not Fraction:
            self._add_float(key, value)  # type: ignore[arg-type]
            return
        for _ in range(PARTS):
            part = float(value)
            if not part or abs(part) < SMALLEST * 2.0**53:
                break
            self._add_float(key, part)
            value -= Fraction(part)
            if not value:
                return
        self.fractions.append((key, Fraction(value)))

    def _add_float(self, key: Key, value: float) -> None:
        if not key:
            if value:
                self.constants.append(value)
        elif len(key) == 1:
            self.index.append(key[0])
            self.coefficient.append(value)
        else:
            self.products.append((key[0], key[1], value))

    def linear(self) -> tuple[Index, Array]:
        """All linear terms as arrays."""
        columns = np.array(self.index, dtype=np.int64)
        numbers = np.array(self.coefficient, dtype=np.float64)
        if not self.arrays:
            return columns, numbers
        return (
            np.concatenate([columns, *(at for at, _ in self.arrays)]),
            np.concatenate([numbers, *(a for _, a in self.arrays)]),
        )


def merge(polynomial: Polynomial) -> None:
    """Add duplicates up without rounding: 1e16 x - x - 1e16 x is -x."""
    index, numbers = polynomial.linear()
    beside: dict[Key, list[Fraction]] = {}
    for key, value in polynomial.fractions:
        beside.setdefault(key, []).append(value)
    polynomial.fractions = []
    if len(polynomial.constants) > 1 or () in beside:
        total = _sums([((), polynomial.constants)], beside, polynomial.exact)
        polynomial.constants = [total.get((), 0.0)]
    if len(np.unique(index)) < len(index) or any(len(key) == 1 for key in beside):
        parts: dict[Key, list[float]] = {}
        for k, a in zip(index.tolist(), numbers.tolist(), strict=True):
            parts.setdefault((k,), []).append(a)
        total = _sums(parts.items(), beside, polynomial.exact)
        polynomial.index, polynomial.arrays = [k for (k,) in total], []
        polynomial.coefficient = list(total.values())
    if polynomial.products or any(len(key) == 2 for key in beside):
        parts = {}
        for i, j, a in polynomial.products:
            parts.setdefault((i, j) if i <= j else (j, i), []).append(a)
        total = _sums(parts.items(), beside, polynomial.exact)
        polynomial.products = [(*key, a) for key, a in total.items() if a]  # type: ignore[misc]


def _sums(
    parts: Iterable[tuple[Key, list[float]]],
    beside: dict[Key, list[Fraction]],
    exact: dict[Key, Fraction],
) -> dict[Key, float]:
    """Sums of the numbers of each key, to the nearest double, and the others in `exact`."""
    sums = {}
    for key, several in parts:
        total = several[0] if len(several) == 1 else math.fsum(several)
        more = beside.get(key)
        if more or (len(several) > 1 and math.fsum([*several, -total]) != 0):
            whole = sum(map(Fraction, several), sum(more or (), Fraction(0)))
            total = float(whole)
            if Fraction(total) != whole:
                if abs(total) < SMALLEST:
                    raise ArithmeticError("a sum of numbers that is too small for a double")
                exact[key] = whole
        sums[key] = total
    return sums


def known(value: Any) -> Number:
    """A number that Python or numpy holds, exactly: integers above 2^53 too."""
    if value.__class__ is float:
        return value
    number = float(value)
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE and int(number) != value:
        return Fraction(value)
    return number


def product_error(a: float, b: float, product: float) -> float | None:
    """What a product of two doubles lacks; None where that may be no double."""
    low, high = SAFE
    if not (low < abs(a) < high and low < abs(b) < high):
        return None
    t = SPLITTER * a
    a_high = t - (t - a)
    t = SPLITTER * b
    b_high = t - (t - b)
    a_low, b_low = a - a_high, b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def times(a: Number, b: Number) -> Number:
    """A product; an ArithmeticError where it is too small for a double."""
    if a.__class__ is float and b.__class__ is float:
        product: float = a * b
        if abs(a) == 1.0 or abs(b) == 1.0 or not (a and b):
            return product
        if product_error(a, b, product) == 0.0:
            return product
        if not math.isfinite(product):
            return product
    return _exactly(Fraction(a) * Fraction(b), "product")


def plus(a: Number, b: Number) -> Number:
    """A sum."""
    if a.__class__ is float and b.__class__ is float:
        total: float = a + b
        if not math.isfinite(total):
            return total
        part: float = total - a
        if (a - (total - part)) + (b - part) == 0.0:
            return total
    return _exactly(Fraction(a) + Fraction(b), "sum")


def quotient(factor: Number, divisor: Number) -> Number:
    """A quotient; an ArithmeticError where it is too small for a double."""
    if not math.isfinite(divisor):
        raise ArithmeticError(f"a division by {divisor}")
    if not math.isfinite(factor):
        return float(factor) / float(divisor)
    return _exactly(Fraction(factor) / Fraction(divisor), "quotient")


def exact_or_float(value: Fraction) -> Number:
    """A rational number as a float where one equals it."""
    nearest = float(value)
    return nearest if Fraction(nearest) == value else value


def _exactly(value: Fraction, what: str) -> Number:
    """A number as a float where one equals it."""
    number = exact_or_float(value)
    if number.__class__ is Fraction and abs(number) < SMALLEST:
        raise ArithmeticError(f"a {what} of numbers that is too small for a double")
    return number


def products(numbers: Array, factor: Array | float) -> tuple[Array, Array | None]:
    """Products to the nearest doubles, and what they lack; None where some of that is no double."""
    rounded = numbers * factor
    if (np.abs(np.frexp(factor)[0]) == 0.5).all() and _no_smaller(rounded, numbers):
        return rounded, np.zeros_like(rounded)
    sizes = np.abs(numbers), np.abs(np.broadcast_to(factor, rounded.shape))
    low, high = SAFE
    if any(((size > 0) & ((size <= low) | (size >= high))).any() for size in sizes):
        return rounded, None
    t = SPLITTER * numbers
    a_high = t - (t - numbers)
    u = SPLITTER * factor
    b_high = u - (u - factor)
    a_low, b_low = numbers - a_high, factor - b_high
    return rounded, a_low * b_low - (
        ((rounded - a_high * b_high) - a_low * b_high) - a_high * b_low
    )


def _no_smaller(found: Array, numbers: Array) -> bool:
    """Whether no product lost digits by being small, nor was too large."""
    size = np.abs(found)
    return not (((size < SMALLEST) & (numbers != 0)) | ~np.isfinite(size)).any()


# --- Quadratic functions of the columns of a model, as arrays ------------------------------------


Sides = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True, eq=False, repr=False)
class Quadratic(Printed):
    """x'Qx + a'x + constant, with Q symmetric and both over all columns.

    `lost` is what numbers of the model exceed the doubles here by, at least 0 together at every
    point; `rest` the same of the constant.
    """

    Q: sp.csr_matrix
    a: Array
    constant: float
    lost: Mapping[Key, Fraction] = field(default_factory=dict)
    rest: Fraction = Fraction(0)

    @property
    def exact_constant(self) -> Any:
        """The constant that proofs leave out: the double, or with what it lacks a Fraction."""
        return self.constant if not self.rest else Fraction(self.constant) + self.rest

    def coefficient(self, key: Key) -> Fraction:
        """The exact coefficient of 1, x_j or x_i x_j."""
        lost = self.lost.get(key, Fraction(0))
        match key:
            case ():
                return Fraction(self.constant) + self.rest + lost
            case (j,):
                return Fraction(float(self.a[j])) + lost
        return (1 if key[0] == key[1] else 2) * Fraction(float(self.Q[key])) + lost

    def at(self, x: Array) -> float:
        """Value at a point."""
        return self.varying(x) + self.constant

    def varying(self, x: Array) -> float:
        """Value at a point without the constant, beside which small numbers are lost."""
        return float(x @ (self.Q @ x)) + float(self.a @ x)


@dataclass(frozen=True, eq=False, repr=False)
class LocalQuadratic(Printed):
    """x'Qx + a'x + constant over few columns: rows are many and short."""

    index: Index  # columns that occur, ascending
    i: Index  # entries of Q in local positions, both halves, no duplicates
    j: Index
    v: Array
    a: Array
    constant: float

    def at(self, x: Array) -> float:
        """Value at a point of all columns."""
        y = x[self.index]
        return float(self.v @ (y[self.i] * y[self.j])) + float(self.a @ y) + self.constant

    def magnitude(self, x: Array) -> float:
        """Sum of the absolute terms at a point, the constant left out."""
        y = np.abs(x[self.index])
        return float(np.abs(self.v) @ (y[self.i] * y[self.j])) + float(np.abs(self.a) @ y)

    def over(self, n: int) -> Quadratic:
        """The same function over all columns."""
        a = np.zeros(n)
        a[self.index] = self.a
        there = (self.index[self.i], self.index[self.j])
        return Quadratic(sp.csr_matrix((self.v, there), shape=(n, n)), a, self.constant)

    def shifted(self, sign: float, side: float) -> LocalQuadratic:
        """sign * (body - side)."""
        return LocalQuadratic(
            self.index, self.i, self.j, sign * self.v, sign * self.a, sign * (self.constant - side)
        )


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticRow(Printed):
    """lower <= body <= upper with a quadratic body, which every point of the model's row meets."""

    body: LocalQuadratic
    lower: float
    upper: float
    data: Any
    lost: Mapping[Key, Fraction] = field(default_factory=dict)  # as of a Quadratic
    sides: Sides = (None, None)  # of the model, where no double is one
    inside: LocalQuadratic | None = None  # a body rounded the other way, where anything is lost

    @property
    def is_rounded(self) -> bool:
        """Whether the row of the model is another one."""
        return bool(self.lost) or self.sides != (None, None)


def lost_at(lost: Mapping[Key, Fraction], at: Callable[[int], Fraction]) -> Fraction:
    """What the numbers of a model add at a point to those of the doubles."""
    return sum((value * math.prod(map(at, key)) for key, value in lost.items()), Fraction(0))


def doubles_below(
    read: Polynomial, sign: int, low: Array, high: Array, *, squares: bool = False
) -> tuple[Polynomial, dict[Key, Fraction], list[int]]:
    """A polynomial in doubles nowhere above (sign 1) or below (-1) another, on bounds low and high.

    A linear coefficient is rounded by the sign of its variable; of x_i x_j the nearest double is
    wrong by no more than d, and d |x_i x_j| <= d / 2 (x_i^2 + x_j^2), which the squares give up.
    With `squares` the constant gives up the error of a coefficient at a bound of its variable, and
    with a square both: d |x| <= d (t x^2 + 1 / (4 t)).

    Returns: what the former exceeds it by.
    Returns: columns of linear terms whose sign is not known.
    """
    down, up = (rounded_down, rounded_up) if sign > 0 else (rounded_up, rounded_down)
    numbers = read.numbers()
    doubles, taken = dict.fromkeys(numbers, 0.0), dict[int, Fraction]()
    stuck: list[int] = []
    beside = Fraction(0)
    for key, value in numbers.items():
        doubles[key] = float(value)
        if key not in read.exact:
            continue
        signs = [1 if low[j] >= 0 else -1 if high[j] <= 0 else 0 for j in key]
        if len(key) == 1 and not signs[0]:
            j, square = key[0], abs(numbers.get((key[0], key[0]), Fraction(0)))
            end = next((end for end in (low[j], high[j]) if math.isfinite(end)), None)
            if not squares or (end is None and not square):
                stuck.append(j)
            elif end is not None:
                doubles[key] = down(value) if end == low[j] else up(value)
                beside += abs((value - Fraction(doubles[key])) * Fraction(float(end)))
            else:
                off, t = abs(value - Fraction(doubles[key])), square / abs(value)
                taken[j] = taken.get(j, Fraction(0)) + off * t
                beside += off / (4 * t)
            continue
        if (
            len(key) == 2
            and key[0] != key[1]
            and not (all(signs) and any((j, j) not in numbers for j in key))
        ):
            for j in key:
                taken[j] = taken.get(j, Fraction(0)) + abs(value - Fraction(doubles[key])) / 2
        else:
            doubles[key] = down(value) if math.prod(signs) >= 0 else up(value)
    for j, short in taken.items():
        doubles[(j, j)] = down(numbers.get((j, j), Fraction(0)) - sign * short)
    if beside:  # else the constant is exact with what it lost
        doubles[()] = down(numbers.get((), Fraction(0)) - sign * beside)
    lost = {key: numbers.get(key, Fraction(0)) - Fraction(a) for key, a in doubles.items()}
    return Polynomial.of(doubles), {key: value for key, value in lost.items() if value}, stuck


# --- Quadratic functions negated, subtracted, moved to the columns of another model --------------


def linear(a: Array) -> Quadratic:
    """The function a'x."""
    return Quadratic(sp.csr_matrix((len(a), len(a))), a, 0.0)


def column(n: int, j: int) -> Quadratic:
    """The function x_j."""
    return linear(np.eye(1, n, j).ravel())


def negative(goal: Quadratic) -> Quadratic:
    """The function with the other sign."""
    return Quadratic(-goal.Q, -goal.a, -goal.constant)


def minus(new: Quadratic, old: Quadratic) -> Quadratic | None:
    """The difference of two functions; None where a coefficient of it is no double."""
    Q, a = (new.Q - old.Q).tocsr(), new.a - old.a
    keys: set[Key] = {(), *new.lost, *old.lost}
    keys |= {(j,) for j in np.flatnonzero(_is_rounded(new.a, old.a)).tolist()}
    if Q.nnz:
        i, j = Q.nonzero()
        rounded = _is_rounded(*(np.asarray(part.Q[i, j]).ravel() for part in (new, old)))
        pairs = zip(i[rounded].tolist(), j[rounded].tolist(), strict=True)
        keys |= {(i, j) for i, j in pairs if i <= j}
    exact = {key: new.coefficient(key) - old.coefficient(key) for key in keys}
    if any(value != Fraction(float(value)) for value in exact.values()):
        return None
    products = {key: float(value) for key, value in exact.items() if len(key) == 2}
    if products:
        Q = Q.tolil()
        for (i, j), whole in products.items():
            Q[i, j] = Q[j, i] = whole if i == j else whole / 2
        Q = Q.tocsr()
        Q.eliminate_zeros()
    for key, value in exact.items():
        if len(key) == 1:
            a[key] = float(value)
    return Quadratic(Q, a, float(exact[()]))


def _is_rounded(a: Array, b: Array) -> NDArray[np.bool_]:
    """Where the double nearest to a - b is not a - b (Knuth's two-sum)."""
    found = a - b
    less = found - a
    return ((a - (found - less)) - (b + less)) != 0


def moved(goal: Quadratic, place: Index, n: int) -> Quadratic | None:
    """A function over other columns; None where one of its variables is not among them."""
    Q = goal.Q.tocoo()
    columns = np.flatnonzero(goal.a)
    lost = [j for key in goal.lost for j in key]
    if any((place[used] < 0).any() for used in (columns, Q.row, Q.col, np.array(lost, dtype=int))):
        return None
    a = np.zeros(n)
    a[place[columns]] = goal.a[columns]
    there = sp.csr_matrix((Q.data, (place[Q.row], place[Q.col])), shape=(n, n))
    keys = {key: tuple(sorted(int(place[j]) for j in key)) for key in goal.lost}
    return replace(goal, Q=there, a=a, lost={keys[key]: v for key, v in goal.lost.items()})
