"""What a model says, as statements that can be told apart up to a positive factor.

    sum of coefficients times columns and products of two columns >= side

An equation is two of them and a bound one, each divided by its largest coefficient.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tightmargin.solvers.standard_form.columns import row_name
from tightmargin.solvers.standard_form.quadratic import QuadraticRow
from tightmargin.solvers.standard_form.standard_form import PsdRow, StandardForm

Key = tuple[int, ...]  # entry of a matrix (-1 in a row), then none, one or two columns


@dataclass(frozen=True, eq=False)
class Statement:
    """coefficients on keys, at least `side`; of a semidefinite matrix its entries and order."""

    name: str
    numbers: Mapping[Key, float]
    side: float

    def scaled(self, side: float | None = None) -> Statement:
        """Divided by the largest coefficient, the side as well unless one is given."""
        size = max(map(abs, self.numbers.values()), default=0.0) or 1.0
        numbers = {key: number / size for key, number in self.numbers.items() if number}
        return Statement(self.name, numbers, self.side / size if side is None else side)


@dataclass(frozen=True, eq=False)
class Said:
    """Statements of a model over common columns, by kind."""

    rows: list[Statement]
    matrices: list[Statement]


def goal_of(form: StandardForm, place: Mapping[int, int] | Sequence[int]) -> dict[Key, float]:
    """The objective of the minimisation, with its constant."""
    Q, a = form.objective.Q.tocoo(), form.objective.a
    products = zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True)
    linear = [(j, float(a[j])) for j in a.nonzero()[0].tolist()]
    return _collected(place, products, linear) | {(-1,): form.objective.constant}


def line_of(
    form: StandardForm, r: int, place: Mapping[int, int] | Sequence[int]
) -> dict[Key, float]:
    """The body of a linear row."""
    inside = slice(form.A.indptr[r], form.A.indptr[r + 1])
    columns, numbers = form.A.indices[inside].tolist(), form.A.data[inside].tolist()
    return _collected(place, (), zip(columns, numbers, strict=True))


def body_of(row: QuadraticRow, place: Mapping[int, int] | Sequence[int]) -> dict[Key, float]:
    """The body of a quadratic row, without its constant."""
    at = row.body.index.tolist()
    entries = zip(row.body.i.tolist(), row.body.j.tolist(), row.body.v.tolist(), strict=True)
    products = [(at[i], at[j], v) for i, j, v in entries]
    return _collected(place, products, zip(at, row.body.a.tolist(), strict=True))


def _collected(
    place: Mapping[int, int] | Sequence[int],
    products: Iterable[tuple[int, int, float]],
    linear: Iterable[tuple[int, float]],
) -> dict[Key, float]:
    found: dict[Key, float] = {}
    for i, j, number in products:
        key = (-1, *sorted((place[i], place[j])))
        found[key] = found.get(key, 0.0) + number
    for j, number in linear:
        found[-1, place[j]] = number
    return found


def said_by(form: StandardForm, place: Mapping[int, int]) -> Said:
    """Rows, bounds and matrices over common columns, what no point can tell apart once."""
    statements: list[Statement] = []
    for j, k in place.items():
        name = f"a bound of {form.columns.name(j)}"
        statements += _both_sides(name, {(-1, k): 1.0}, float(form.lower[j]), float(form.upper[j]))
    names = [row_name(component, key) for component, key in form.rows.locations()]
    for r, name in enumerate(names):
        body = line_of(form, r, place)
        low, high = float(form.row_lower[r]), float(form.row_upper[r])
        statements += _both_sides(name, body, low, high)
    for row in form.quadratic:
        body = body_of(row, place)
        low, high = row.lower - row.body.constant, row.upper - row.body.constant
        statements += _both_sides(row.data.name, body, low, high)
    matrices = [_matrix(row, place) for row in form.psd]
    statements += [_as_row(each) for each in matrices if each.side == 1]
    return Said(_strongest(statements), [each for each in matrices if each.side != 1])


def _as_row(matrix: Statement) -> Statement:
    """A matrix of order 1 is a number that is not negative."""
    numbers: dict[Key, float] = {
        (-1, key[1]): number for key, number in matrix.numbers.items() if len(key) > 1
    }
    return Statement(matrix.name, numbers, -matrix.numbers.get((0,), 0.0)).scaled()


def _both_sides(
    name: str, body: Mapping[Key, float], low: float, high: float
) -> Iterator[Statement]:
    if low > -np.inf:
        yield Statement(name, body, low).scaled()
    if high < np.inf:
        yield Statement(name, {key: -number for key, number in body.items()}, -high).scaled()


def _strongest(statements: list[Statement]) -> list[Statement]:
    """Of statements with the same coefficients that with the largest side; no true 0 >= s."""
    found: dict[frozenset[tuple[Key, float]], Statement] = {}
    for each in statements:
        key = frozenset(each.numbers.items())
        if (key or each.side > 0) and (key not in found or each.side > found[key].side):
            found[key] = each
    return list(found.values())


def _matrix(row: PsdRow, place: Mapping[int, int]) -> Statement:
    F = row.F.tocoo()
    numbers: dict[Key, float] = {
        (entry, place[j]): number
        for entry, j, number in zip(F.row.tolist(), F.col.tolist(), F.data.tolist(), strict=True)
    }
    numbers |= {(entry,): float(row.g[entry]) for entry in row.g.nonzero()[0].tolist()}
    return Statement(row.data.name, numbers, 0.0).scaled(float(row.order))


def distance(one: Mapping[Key, float], other: Mapping[Key, float]) -> float:
    """Largest difference of two coefficients."""
    keys = {*one, *other}
    return max((abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in keys), default=0.0)


def matched(
    first: list[Statement], second: list[Statement], tolerance: float
) -> tuple[list[tuple[bool, Statement]], float]:
    """Statements of one side alone, and the largest distance within the pairs.

    Statements that are near each other are near in their value at any one point: candidates are
    looked up by that.
    """
    weights: dict[Key, float] = {}
    draw = np.random.default_rng(0)
    for each in (*first, *second):
        for key in each.numbers:
            if key not in weights:
                weights[key] = float(draw.uniform(1.0, 2.0))

    def value(each: Statement) -> float:
        return sum(weights[key] * number for key, number in each.numbers.items()) - each.side

    order = sorted(range(len(second)), key=lambda k: value(second[k]))
    values = [value(second[k]) for k in order]
    free = [True] * len(second)
    alone: list[tuple[bool, Statement]] = []
    largest = 0.0
    for each in first:
        at = value(each)
        reach = 2 * tolerance * (2 * len(each.numbers) + 2 + abs(each.side)) + 1e-12 * abs(at)
        near = range(bisect_left(values, at - reach), bisect_right(values, at + reach))
        apart = [(_apart(each, second[order[k]]), order[k]) for k in near if free[order[k]]]
        off, k = min(apart, default=(np.inf, -1))
        if off <= tolerance:
            free[k] = False
            largest = max(largest, off)
        else:
            alone.append((True, each))
    alone += [(False, each) for each, still in zip(second, free, strict=True) if still]
    return alone, largest


def _apart(one: Statement, other: Statement) -> float:
    side = abs(one.side - other.side) / max(1.0, abs(one.side))
    return max(distance(one.numbers, other.numbers), side)
