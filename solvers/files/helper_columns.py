"""Columns that a writer adds to a model: the constant 1, the one above an objective, slacks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from tightmargin.solvers.backends.mosek_model import EPIGRAPH
from tightmargin.solvers.files.program import ONE, Matrix, Program, Row, Sum


def without_helper_columns(program: Program, *, conic: bool = True) -> Program:
    """The program without the columns that a writer adds, where there are any.

    Parameters
    ----------
    conic : bool
        Whether the format asks for a column above a quadratic objective; others hold the objective.

    A column that is fixed at 1 and is unnamed among named ones (MOSEK's), or named as Pyomo names
    it, is the constant 1. A free column named `objective_epigraph` stands in the objective and in
    one quadratic row that bounds it: the bound takes its place. An unnamed one among named ones
    that stands in one equation alone is a slack: the equation becomes a row with two sides.
    """
    gone = {j for j in range(len(program.names)) if _is_put_away(program, j, conic)}
    return _without(program, gone) if gone else program


def _is_put_away(program: Program, column: int, conic: bool) -> bool:
    name, named = program.names[column], any(program.names)
    fixed = program.lower[column] == program.upper[column] == 1.0 and not program.integer[column]
    if fixed and (name == ONE or (name in ("", "1.0") and named)):
        _replace_by_one(program, column)
        return True
    if conic and name.startswith(EPIGRAPH):
        return _put_below(program, column)
    return not name and named and _put_between(program, column)


def _sums(program: Program) -> Iterable[Sum]:
    yield program.objective
    yield from (row.body for row in program.rows)
    yield from (sign.body for _, sign in program.signs)
    yield from (entry for matrix in program.matrices for entry in matrix.entries)


def _replace_by_one(program: Program, column: int) -> None:
    for each in _sums(program):
        each.constant += each.linear.pop(column, 0.0)
        for i, j in [pair for pair in each.products if column in pair]:
            number = each.products.pop((i, j))
            if i == j:
                each.constant += number
            else:
                each.add(j if i == column else i, number)
    rows, program.rows = program.rows, []
    for row in (*rows, *(sign for _, sign in program.signs)):
        low, high = (_less(side, row.body.constant) for side in (row.lower, row.upper))
        if low is not None and high is not None:  # else the constant stays where it is
            row.lower, row.upper, row.body.constant = low, high, 0.0
    for row in rows:
        program.add_row(row)


def _less(side: float, constant: float) -> float | None:
    """The side without a constant, where that is a double."""
    found = side - constant
    if not math.isfinite(found):
        return found
    return found if Fraction(found) == Fraction(side) - Fraction(constant) else None


def _put_below(program: Program, column: int) -> bool:
    """Whether a column that bounds a convex function could be replaced by it."""
    at = [row for row in program.rows if column in row.body.columns()]
    price = program.objective.linear.get(column, 0.0) * (-1 if program.maximise else 1)
    signs = [sign for row, sign in program.signs if column in sign.body.linear and row not in at]
    inside = bool(signs) or any(
        column in entry.linear for matrix in program.matrices for entry in matrix.entries
    )
    held = math.isfinite(program.lower[column]) or math.isfinite(program.upper[column])
    if len(at) != 1 or price <= 0 or inside or held or program.integer[column]:
        return False
    (row,) = at
    share = row.body.linear.get(column, 0.0)
    quadratic = any(column in pair for pair in row.body.products)
    if quadratic or share >= 0 or row.lower > -math.inf or row.upper == math.inf:
        return False
    # body - share t <= upper with a negative share: t >= (body - upper) / -share
    factor = program.objective.linear.pop(column) / -share
    for pair, number in row.body.products.items():
        program.objective.add_product(*pair, factor * number)
    for j, number in row.body.linear.items():
        if j != column:
            program.objective.add(j, factor * number)
    program.objective.constant += factor * (row.body.constant - row.upper)
    program.rows = [other for other in program.rows if other is not row]
    # The column is in the first entry a of its cone, and a^2 - b^2 = (a - b)(a + b) has it without
    # a square: a - b is a positive number, and the row itself keeps a + b, so a, from below 0.
    program.signs = [pair for pair in program.signs if pair[0] is not row]
    return True


def _put_between(program: Program, column: int) -> bool:
    """Whether a slack of an equation could be replaced by sides of it."""
    at = [row for row in program.rows if column in row.body.columns()]
    elsewhere = sum(column in each.columns() for each in _sums(program)) - len(at)
    if elsewhere or len(at) != 1 or program.integer[column]:
        return False
    (row,) = at
    if row.lower != row.upper or any(column in pair for pair in row.body.products):
        return False
    share = row.body.linear[column]
    ends = [float(share * end) for end in (program.lower[column], program.upper[column])]
    low, high = _less(row.lower, max(ends)), _less(row.upper, min(ends))
    exact = all(
        math.isinf(end) or Fraction(share) * Fraction(float(end)) == Fraction(moved)
        for end, moved in zip((program.lower[column], program.upper[column]), ends, strict=True)
    )
    if low is None or high is None or not exact:
        return False
    del row.body.linear[column]
    row.lower, row.upper = low, high
    program.rows = [other for other in program.rows if other is not row]
    program.add_row(row)
    return True


def _without(program: Program, gone: set[int]) -> Program:
    kept = [j for j in range(len(program.names)) if j not in gone]
    place = {j: k for k, j in enumerate(kept)}
    return Program(
        [program.names[j] for j in kept],
        program.lower[kept],
        program.upper[kept],
        program.integer[kept],
        _moved(program.objective, place),
        program.maximise,
        [_row_moved(row, place) for row in program.rows],
        [Matrix(m.name, [_moved(entry, place) for entry in m.entries]) for m in program.matrices],
        [(row, _row_moved(sign, place)) for row, sign in program.signs],
        program.lifted,
        program.has_bounds,
    )


def _row_moved(row: Row, place: Mapping[int, int]) -> Row:
    return replace(row, body=_moved(row.body, place))


def _moved(each: Sum, place: Mapping[int, int]) -> Sum:
    return Sum(
        {(place[i], place[j]): v for (i, j), v in each.products.items()},
        {place[j]: v for j, v in each.linear.items()},
        each.constant,
    )
