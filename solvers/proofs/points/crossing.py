"""A feasible point between two others, where a quadratic equation has no rational solution nearby.

||x||^2 = 2 beside x_1 = x_2 / 3 has two solutions and no rational one. Two points that meet every
other row, on the two sides of the equation, have one between them: on the segment the left side is
continuous, and linear rows, semidefinite rows and quadratic ones that do not bend outwards along it
hold on all of it because they hold at its ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import rounded_up
from tightmargin.solvers.proofs.excess import (
    Point,
    bound_excess,
    is_whole,
    linear_excess,
    point_of,
    quadratic_excess,
    semidefinite_excess,
)
from tightmargin.solvers.proofs.statement import SEAL, FeasiblePoint
from tightmargin.solvers.standard_form.polynomial import Key
from tightmargin.solvers.standard_form.quadratic import LocalQuadratic, lost_at
from tightmargin.solvers.standard_form.standard_form import QuadraticRow, StandardForm

Coordinates = tuple[Array, Mapping[int, Fraction]]


def held_row(form: StandardForm) -> int | None:
    """The number of the one quadratic equation of a form; None without one, or with several."""
    held = [k for k, row in enumerate(form.quadratic) if row.lower == row.upper]
    return held[0] if len(held) == 1 else None


def crossing_point(
    form: StandardForm, one: Coordinates, other: Coordinates
) -> FeasiblePoint | None:
    """The statement that there is a feasible point between two points; None where that is open.

    Parameters
    ----------
    one, other : (array (n,), mapping)
        As `proven_point` takes them.
    """
    held = None if form.nonlinear else held_row(form)
    ends = [point_of(*each) for each in (one, other)]
    if held is None or ends[0] is None or ends[1] is None:
        return None
    p, q = ends[0], ends[1]
    along = {j: q.fraction(j) - p.fraction(j) for j in range(form.n)}
    whole = np.flatnonzero(form.integer).tolist()
    if any(along[j] for j in whole) or not _others_hold(form, held, (p, q), along):
        return None
    row = form.quadratic[held]
    if row.is_rounded:
        return None
    sides = sorted(_value(row.body, at) - Fraction(row.lower) for at in (p, q))
    if not sides[0] <= 0 <= sides[1]:
        return None
    # Of a quadratic function the largest value on a segment exceeds those at the ends by no more
    # than a quarter of how it bends.
    bend = -_bend_of_objective(form, along)
    value = max(_objective(form, at) for at in (p, q)) + max(bend, Fraction(0)) / 4
    words = f"two points between which row {row.data.name} changes sides, all others held"
    return FeasiblePoint(
        subject=form, words=words, seal=SEAL, varying=rounded_up(value) + 0.0, x=p.x, between=True
    )


def _others_hold(
    form: StandardForm, held: int, ends: tuple[Point, Point], along: Mapping[int, Fraction]
) -> bool:
    """Whether every row but one holds at both ends, and so on all of the segment."""
    others = tuple(row for k, row in enumerate(form.quadratic) if k != held)
    for at in ends:
        if not is_whole(form, at) or bound_excess(form, at).any():
            return False
        if linear_excess(form, at, stop=True).any() or quadratic_excess(others, at).any():
            return False
        if any(semidefinite_excess(row, at, stop=True) > 0 for row in form.psd):
            return False
    return all(_stays(row, along) for row in others)


def _stays(row: QuadraticRow, along: Mapping[int, Fraction]) -> bool:
    bend = _bend(row.body, along) + _lost_bend(row.lost, along)
    return (bend >= 0 or row.upper == np.inf) and (bend <= 0 or row.lower == -np.inf)


def _bend(body: LocalQuadratic, along: Mapping[int, Fraction]) -> Fraction:
    index = body.index.tolist()
    return sum(
        (
            Fraction(v) * along[index[i]] * along[index[j]]
            for i, j, v in zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
        ),
        Fraction(0),
    )


def _value(body: LocalQuadratic, at: Point) -> Fraction:
    index = body.index.tolist()
    coordinates = {j: at.fraction(j) for j in index}
    lines = zip(body.a.tolist(), index, strict=True)
    linear = sum((Fraction(a) * coordinates[j] for a, j in lines), Fraction(body.constant))
    return linear + _bend(body, coordinates)


def _objective(form: StandardForm, at: Point) -> Fraction:
    coordinates = {j: at.fraction(j) for j in range(form.n)}
    lines = zip(form.objective.a.tolist(), coordinates.values(), strict=True)
    linear = sum((Fraction(a) * x for a, x in lines if a), Fraction(0))
    lost = {key: value for key, value in form.objective.lost.items() if len(key) < 2}
    return linear + _bend_of_objective(form, coordinates) + lost_at(lost, coordinates.__getitem__)


def _bend_of_objective(form: StandardForm, along: Mapping[int, Fraction]) -> Fraction:
    Q = form.objective.Q.tocoo()
    places = zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True)
    bend = sum((Fraction(v) * along[i] * along[j] for i, j, v in places), Fraction(0))
    return bend + _lost_bend(form.objective.lost, along)


def _lost_bend(lost: Mapping[Key, Fraction], along: Mapping[int, Fraction]) -> Fraction:
    squares: dict[Key, Fraction] = {key: value for key, value in lost.items() if len(key) == 2}
    return lost_at(squares, along.__getitem__)
