"""Limits of directions and columns that rows imply, from linear programs and proven exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.concave.node_program import pass_rows
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.proofs import Limit, LinearLimit, SquareLimit, proven_limits, squares_of
from tightmargin.cuts.simplex import new_highs
from tightmargin.formulations.data.arrays import Array

ENOUGH = 1 + 1e-12
NO_PRICE = 1e-12
MOST_COLUMNS = 200  # columns without limits for which linear programs are solved


@dataclass(frozen=True, eq=False)
class RootBox:
    """Where the directions and columns can be, by rows and bounds, and where an objective is low.

    limits, tuple of LinearLimit and SquareLimit.
    columns, directions (n,) (r,): what the kernel makes of them.
    cutoff: points of a larger objective are not covered; infinity where all are.
    known (n,): a point of that objective.
    empty: whether HiGHS says that there is no point.
    falls: whether HiGHS says that the linear part of the objective has no least value.
    endless: whether HiGHS says of a direction that it has no limit.
    """

    limits: tuple[Limit, ...]
    columns: tuple[Array, Array]
    directions: tuple[Array, Array]
    cutoff: float = math.inf
    known: Array | None = None
    empty: bool = False
    falls: bool = False
    endless: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether all directions are, and the linear part of the objective from below."""
        return not self.falls and bool(
            np.isfinite(self.directions[0]).all() and np.isfinite(self.directions[1]).all()
        )

    @property
    def is_closed(self) -> bool:
        """Whether it is bounded with all columns, so that its boxes are quickly proven."""
        return self.is_bounded and bool(np.isfinite(np.concatenate(self.columns)).all())


def root_box(
    program: ConcaveProgram, cutoff: float = math.inf, known: Array | None = None
) -> RootBox:
    """Solve for all directions, and for columns that lack a limit where they are few.

    cutoff: of a linear objective without its constant.
    known (n,): a point of that objective.
    """
    form, V = program.form, program.directions.vectors
    n, r = V.shape
    squares = squares_of(form, program.directions)
    limits: list[Limit] = [SquareLimit(k) for k in np.flatnonzero(program.convex).tolist()]
    nothing = np.full(r, -np.inf), np.full(r, np.inf)
    if squares is None:  # numbers that the kernel does not multiply
        return RootBox((), (form.lower, form.upper), nothing, cutoff, known)
    bounds, _ = proven_limits(form, squares, tuple(limits))
    lp = new_highs()
    pass_rows(lp, form.columnwise, np.zeros(n), bounds, (form.row_lower, form.row_upper))
    places, goal, m = np.arange(n, dtype=np.int32), program.linear[0], len(form.rows)
    if math.isfinite(cutoff):
        lp.addRow(-np.inf, cutoff, n, places, goal)
    lp.run()
    if lp.getModelStatus().name == "kInfeasible":
        return RootBox((), bounds, nothing, cutoff, known, empty=True)
    asked = [(True, j, sign) for j in range(r) for sign in (1, -1)]
    occurs = (np.diff(form.columnwise.indptr) > 0) | V.any(axis=1)
    occurs |= program.linear.any(axis=0)
    of_cutoff = _priced_by_cutoff(program, bounds) if math.isfinite(cutoff) else {}
    occurs[list(of_cutoff)] = False
    open_low = np.flatnonzero(~np.isfinite(bounds[0]) & occurs)
    open_high = np.flatnonzero(~np.isfinite(bounds[1]) & occurs)
    if len(np.union1d(open_low, open_high)) <= MOST_COLUMNS:
        asked += [(False, j, 1) for j in open_low.tolist()]
        asked += [(False, j, -1) for j in open_high.tolist()]
    endless = False
    lp.changeColsCost(n, places, goal)
    lp.run()
    falls = lp.getModelStatus().name in ("kUnbounded", "kUnboundedOrInfeasible")
    for of_direction, number, sign in asked:
        along = V[:, number] if of_direction else np.eye(1, n, number).ravel()
        lp.changeColsCost(n, places, sign * along)
        lp.run()
        status, price = lp.getModelStatus().name, 0.0
        endless |= of_direction and status in ("kUnbounded", "kUnboundedOrInfeasible")
        if math.isfinite(cutoff) and status == "kOptimal":
            price = _power(-float(lp.getSolution().row_dual[m]))
        if price:
            # With a little more than the price it takes, so that all products are exact.
            lp.changeRowBounds(m, -np.inf, np.inf)
            lp.changeColsCost(n, places, sign * along + price * goal)
            lp.run()
            status = lp.getModelStatus().name
            lp.changeRowBounds(m, -np.inf, cutoff)
        y = np.array(lp.getSolution().row_dual)[:m]
        if status != "kOptimal":
            y, price = np.zeros(m), 0.0  # then the bounds of the variables are what is left
        rows = np.flatnonzero(y)
        if of_direction or len(rows) or price:
            limits.append(LinearLimit(of_direction, number, sign, rows, y[rows], price))
    limits += of_cutoff.values()
    found = tuple(limits)
    columns, directions = proven_limits(form, squares, found, cutoff)
    return RootBox(found, columns, directions, cutoff, known, falls=falls, endless=endless)


def _power(price: float) -> float:
    """The power of 2 at a price or next above it; 0 for none."""
    if not price > NO_PRICE:
        return 0.0
    fraction, exponent = math.frexp(price)
    return math.ldexp(1.0, exponent - (fraction == 0.5))


def _priced_by_cutoff(program: ConcaveProgram, bounds: tuple[Array, Array]) -> dict[int, Limit]:
    """Limits of columns that only make a linear objective larger: by its cutoff alone.

    Such a column has one limit, and what it costs beyond that is at most what the others leave of
    the cutoff.
    """
    goal, no_rows = program.linear[0], np.zeros(0, dtype=np.int64)
    upper = np.isfinite(bounds[0]) & ~np.isfinite(bounds[1]) & (goal > 0)
    lower = np.isfinite(bounds[1]) & ~np.isfinite(bounds[0]) & (goal < 0)
    found: dict[int, Limit] = {}
    for sign, which in ((-1, upper), (1, lower)):
        for j in np.flatnonzero(which).tolist():
            # Enough, so that what is left has the sign of the limit it has.
            price = _power(float(ENOUGH / abs(goal[j])))
            found[j] = LinearLimit(False, j, sign, no_rows, np.zeros(0), price)
    return found
