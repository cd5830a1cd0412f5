"""A live program given to HiGHS as its explicit dual: a cut becomes a column, and x row duals.

Rows and columns of the program keep a place for each column and row of the dual:

    row i       a multiplier at its lower side (or of the equation), one at its upper side
    column j    a row, one multiplier for each bound that is not zero; slack columns have neither

and each change is written to those. A slack column that a cut, a changed coefficient or other
bounds make an ordinary one has no place to be written to: the change is then reported as not made,
and the dual is built anew.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.dualization.dual_form import dual_form
from tightmargin.solvers.dualization.when import HIGHS_OPTIONS
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.persistent.highs_handle import Handle
from tightmargin.solvers.persistent.primal import LpSolution, PrimalSide, settled
from tightmargin.solvers.persistent.program import Program

INF = math.inf


class DualSide:
    """The dual of a program inside HiGHS; each change returns whether it could be made in place."""

    def __init__(self, program: Program, limits: Limits) -> None:
        self.program, self.limits = program, limits
        form = program.form()
        dual = dual_form(form)
        assert dual is not None
        options = HIGHS_OPTIONS | dict(limits.options)
        self.handle = Handle(
            Limits(limits.time_limit, limits.threads, limits.seed, limits.log, options)
        )
        given = dual.form
        bounds, sides = (given.lower, given.upper), (given.row_lower, given.row_upper)
        self.handle.load(given.columnwise, given.objective.a, bounds, sides)
        self.slacks = dual.slacks
        self._slack_row = np.full(form.n, -1, dtype=np.int64)
        for columns in (dual.slacks.raising, dual.slacks.lowering):
            here = np.flatnonzero(columns >= 0)
            self._slack_row[columns[here]] = here
        place = dual.layout
        ends = np.cumsum([0, *map(len, (place.low, place.high, place.bends, place.lower))])
        self._low = _places(program.m, place.low, ends[0])
        self._high = _places(program.m, place.high, ends[1])
        self._at_lower = _places(program.n, place.lower, ends[3])
        self._at_upper = _places(program.n, place.upper, ends[4])
        self._row_of = _places(program.n, place.kept, 0)
        self._slack_rows: sp.csr_matrix | None = None

    # --- changes -------------------------------------------------------------------------------

    def add_row(self, index: Index, numbers: Array, lower: float, upper: float, name: str) -> bool:
        """Append a row: one column of the dual, two between sides."""
        if (self._row_of[index] < 0).any():
            return False
        place = [-1, -1]
        for k, (cost, bounds) in enumerate(_sides(lower, upper, -INF, INF)):
            if cost is not None:
                at = self._row_of[index]
                place[k] = self.handle.add_column(at, numbers, cost, bounds, name)
        self._low, self._high = np.append(self._low, place[0]), np.append(self._high, place[1])
        return True

    def add_column(
        self, index: Index, numbers: Array, cost: float, bounds: tuple[float, float], name: str
    ) -> bool:
        """Append a column: a row of the dual and the multipliers of its bounds."""
        at = np.concatenate([self._low[index], self._high[index]])
        twice = np.concatenate([numbers, numbers])
        sides = _condition(cost, *bounds)
        row = self.handle.add_row(at[at >= 0], twice[at >= 0], *sides, name)
        self._row_of = np.append(self._row_of, row)
        self._at_lower, self._at_upper = (
            np.append(self._at_lower, -1),
            np.append(self._at_upper, -1),
        )
        self._slack_row = np.append(self._slack_row, -1)
        self._slack_rows = None
        self._write_bounds(len(self._row_of) - 1, *bounds, name)
        return True

    def set_column(self, j: int, cost: float, lower: float, upper: float, name: str) -> bool:
        """Change cost and bounds of a column: sides of its row, costs of its multipliers."""
        i = int(self._slack_row[j])
        if i < 0:
            self.handle.set_row(int(self._row_of[j]), *_condition(cost, lower, upper), name)
            self._write_bounds(j, lower, upper, name)
            return True
        if (lower, upper) != (self.program.lower[j], self.program.upper[j]):
            return False
        for columns, sizes, limits in (
            (self.slacks.raising, self.slacks.raising_size, self.slacks.high),
            (self.slacks.lowering, self.slacks.lowering_size, self.slacks.low),
        ):
            if columns[i] == j:
                limits[i] = cost / sizes[i]
        return self.set_row(i, self.program.row_lower[i], self.program.row_upper[i], name)

    def set_row(self, i: int, lower: float, upper: float, name: str) -> bool:
        """Change the sides of a row: costs and bounds of its multipliers."""
        for places, (cost, bounds) in zip(
            (self._low, self._high), _sides(lower, upper, *self._interval(i)), strict=True
        ):
            if places[i] >= 0:
                self.handle.set_column(int(places[i]), cost or 0.0, *bounds, name)
            elif cost is not None:
                index, numbers = self.program.row(i)
                kept = self._row_of[index] >= 0
                at = self._row_of[index[kept]]
                places[i] = self.handle.add_column(at, numbers[kept], cost, bounds, name)
        return True

    def set_entry(self, i: int, j: int, number: float, name: str) -> bool:
        """Change one coefficient, where the row has its multipliers."""
        if self._slack_row[j] >= 0:
            return False
        for places in (self._low, self._high):
            if places[i] >= 0:
                self.handle.set_entry(int(self._row_of[j]), int(places[i]), number, name)
        self._slack_rows = None
        return True

    def _interval(self, i: int) -> tuple[float, float]:
        """What slack columns leave to a row's multiplier."""
        if i >= len(self.slacks.low):
            return -INF, INF
        low = self.slacks.low[i] if self.slacks.lowering[i] >= 0 else -INF
        high = self.slacks.high[i] if self.slacks.raising[i] >= 0 else INF
        return float(low), float(high)

    def _write_bounds(self, j: int, lower: float, upper: float, name: str) -> None:
        """Write the multipliers of a column's bounds, where they are not zero."""
        fixed = lower == upper
        at_lower = math.isfinite(lower) and lower != 0
        at_upper = math.isfinite(upper) and upper != 0 and not fixed
        for places, needed, cost, bounds in (
            (self._at_lower, at_lower, -lower, (-INF if fixed else 0.0, INF)),
            (self._at_upper, at_upper, -upper, (-INF, 0.0)),
        ):
            if places[j] >= 0:
                sent = (cost, *bounds) if needed else (0.0, 0.0, 0.0)
                self.handle.set_column(int(places[j]), *sent, name)
            elif needed:
                row = self._row_of[j : j + 1]
                places[j] = self.handle.add_column(row, np.ones(1), cost, bounds, name)

    # --- solving -------------------------------------------------------------------------------

    def solve(self, time_limit: float | None) -> LpSolution:
        """Run; where the dual has no feasible point, ask the program itself what that means."""
        status, message = self.handle.run(time_limit)
        iterations = self.handle.iterations
        message = f"dual form: {message}"
        if status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED):
            return self._asked_directly(message, time_limit)
        if status is Status.UNBOUNDED:
            return LpSolution(Status.INFEASIBLE, message, iterations)
        feasible, stationary = self.handle.feasible()
        # A point of the program is multipliers of the dual, and the other way round.
        answer = LpSolution(status, message, iterations)
        return settled(answer, self._recovered(), stationary, feasible)

    def _asked_directly(self, message: str, time_limit: float | None) -> LpSolution:
        """Infeasible or unbounded: the program itself says which, if it can."""
        answer = PrimalSide(self.program, self.limits).solve(time_limit)
        if answer.status in (Status.LIMIT_NO_SOLUTION, Status.ERROR):
            return LpSolution(Status.INFEASIBLE_OR_UNBOUNDED, message, answer.iterations)
        return replace(answer, message=f"primal form: {answer.message}")

    def _recovered(self) -> tuple[Array, Array]:
        z, duals = self.handle.solution()
        padded = np.append(z, 0.0)  # where a place is -1
        y = padded[self._low] + padded[self._high]
        x = np.append(-duals, 0.0)[self._row_of]
        program, count = self.program, len(self.slacks.low)
        if self._slack_rows is None:
            self._slack_rows = program.form().A[:count]
        low, high = program.row_lower[:count], program.row_upper[:count]
        return self.slacks.complete(self._slack_rows, low, high, x), y


def _places(count: int, owners: Index, start: int) -> Index:
    """Number of each owner's place, from `start` on, and -1 for those without one."""
    places = np.full(count, -1, dtype=np.int64)
    places[owners] = start + np.arange(len(owners))
    return places


def _condition(cost: float, lower: float, upper: float) -> tuple[float, float]:
    """Sides of the dual's row of a column."""
    return -INF if lower == 0 else cost, INF if upper == 0 else cost


def _sides(
    lower: float, upper: float, low: float, high: float
) -> list[tuple[float | None, tuple[float, float]]]:
    """Cost and bounds of the multipliers at the lower and at the upper side of a row.

    The cost is None where there is no such side; [low, high] is what slack columns leave. An
    interval without zero makes bounds that no multiplier meets, as it must where zero is all that
    the sides allow.
    """
    has_low, has_high = math.isfinite(lower), math.isfinite(upper)
    if has_low and lower == upper:
        return [(-lower, (low, high)), (None, (0.0, 0.0))]
    none = (None, (0.0, 0.0) if has_low or has_high else (max(low, 0.0), min(high, 0.0)))
    at_lower = (-lower, (max(low, 0.0), max(high, 0.0) if has_high else high))
    at_upper = (-upper, (min(low, 0.0) if has_low else low, min(high, 0.0)))
    return [at_lower if has_low else none, at_upper if has_high else none]
