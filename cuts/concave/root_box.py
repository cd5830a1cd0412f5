"""Limits of directions and columns over the polytope, from linear programs and proven exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.concave.node_program import pass_rows
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.simplex import new_highs
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.cover.linear_limits import LinearLimit, proven_limits

MOST_COLUMNS = 200  # columns without limits for which linear programs are solved


@dataclass(frozen=True, eq=False)
class RootBox:
    """Where the directions and columns can be, by linear rows and bounds alone.

    Attributes
    ----------
    limits : tuple of LinearLimit
    columns, directions : pairs of arrays (n,), (r,)
        What the kernel makes of them.
    empty : bool
        Whether HiGHS says that there is no point.
    falls : bool
        Whether HiGHS says that the linear part of the objective has no least value.
    endless : bool
        Whether HiGHS says of a direction that it has no limit.
    """

    limits: tuple[LinearLimit, ...]
    columns: tuple[Array, Array]
    directions: tuple[Array, Array]
    empty: bool = False
    falls: bool = False
    endless: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether all directions are, and the linear part of the objective from below."""
        return not self.falls and bool(
            np.isfinite(self.directions[0]).all() and np.isfinite(self.directions[1]).all()
        )


def root_box(program: ConcaveProgram) -> RootBox:
    """Solve for all directions, and for columns that lack a limit where they are few."""
    form, V = program.form, program.directions.vectors
    n, r = V.shape
    lp = new_highs()
    bounds, sides = (form.lower, form.upper), (form.row_lower, form.row_upper)
    pass_rows(lp, form.columnwise, np.zeros(n), bounds, sides)
    lp.run()
    if lp.getModelStatus().name == "kInfeasible":
        return RootBox((), bounds, (np.full(r, -np.inf), np.full(r, np.inf)), empty=True)
    asked = [(True, j, sign) for j in range(r) for sign in (1, -1)]
    occurs = (np.diff(form.columnwise.indptr) > 0) | V.any(axis=1)
    open_low = np.flatnonzero(~np.isfinite(form.lower) & occurs)
    open_high = np.flatnonzero(~np.isfinite(form.upper) & occurs)
    if len(np.union1d(open_low, open_high)) <= MOST_COLUMNS:
        asked += [(False, j, 1) for j in open_low.tolist()]
        asked += [(False, j, -1) for j in open_high.tolist()]
    limits, places, endless = [], np.arange(n, dtype=np.int32), False
    lp.changeColsCost(n, places, program.linear[0])
    lp.run()
    falls = lp.getModelStatus().name in ("kUnbounded", "kUnboundedOrInfeasible")
    for of_direction, number, sign in asked:
        along = V[:, number] if of_direction else np.eye(1, n, number).ravel()
        lp.changeColsCost(n, places, sign * along)
        lp.run()
        status = lp.getModelStatus().name
        endless |= of_direction and status in ("kUnbounded", "kUnboundedOrInfeasible")
        y = np.array(lp.getSolution().row_dual)
        if status != "kOptimal":
            y = np.zeros(len(form.rows))  # then the bounds of the variables are what is left
        rows = np.flatnonzero(y)
        limits.append(LinearLimit(of_direction, number, sign, rows, y[rows]))
    found = tuple(limits)
    return RootBox(found, *proven_limits(form, V, found), falls=falls, endless=endless)
