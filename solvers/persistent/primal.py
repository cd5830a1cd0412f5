"""A live program given to HiGHS as it is: a cut becomes a row."""

from __future__ import annotations

from dataclasses import dataclass

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.persistent.highs_handle import Handle
from tightmargin.solvers.persistent.program import Program
from tightmargin.solvers.standard_form.coefficients import without_rounding


@dataclass(frozen=True, eq=False)
class LpSolution:
    """Solution of a linear program as a run leaves it, on its rows and columns."""

    status: Status
    message: str
    iterations: int
    x: Array | None = None
    y: Array | None = None


class PrimalSide:
    """Rows are rows and columns are columns.

    Each change returns whether it could be made in place, which here it always can.
    """

    def __init__(self, program: Program, limits: Limits) -> None:
        self.handle = Handle(limits)
        form = program.form()
        bounds, sides = (form.lower, form.upper), (form.row_lower, form.row_upper)
        self.handle.load(without_rounding(form.columnwise), form.objective.a, bounds, sides)

    def add_row(self, index: Index, numbers: Array, lower: float, upper: float, name: str) -> bool:
        """Append a row."""
        self.handle.add_row(index, numbers, lower, upper, name)
        return True

    def add_column(
        self, index: Index, numbers: Array, cost: float, bounds: tuple[float, float], name: str
    ) -> bool:
        """Append a column."""
        self.handle.add_column(index, numbers, cost, bounds, name)
        return True

    def set_column(self, j: int, cost: float, lower: float, upper: float, name: str) -> bool:
        """Change cost and bounds of a column."""
        self.handle.set_column(j, cost, lower, upper, name)
        return True

    def set_row(self, i: int, lower: float, upper: float, name: str) -> bool:
        """Change the sides of a row."""
        self.handle.set_row(i, lower, upper, name)
        return True

    def set_entry(self, i: int, j: int, number: float, name: str) -> bool:
        """Change one coefficient."""
        self.handle.set_entry(i, j, number, name)
        return True

    def solve(self, time_limit: float | None) -> LpSolution:
        """Run, and report a point only if HiGHS calls it feasible."""
        status, message = self.handle.run(time_limit)
        answer = LpSolution(status, message, self.handle.iterations)
        feasible, stationary = self.handle.feasible()
        return settled(answer, self.handle.solution(), feasible, stationary)


def settled(
    answer: LpSolution, solution: tuple[Array, Array], feasible: bool, stationary: bool
) -> LpSolution:
    """An answer with its point, when there is one; "optimal" only with multipliers that agree."""
    status = answer.status
    with_point = (Status.OPTIMAL, Status.FEASIBLE, Status.INACCURATE, Status.INTERRUPTED)
    if status in with_point and feasible:
        if status is Status.OPTIMAL and not stationary:
            status = Status.INACCURATE
        return LpSolution(status, answer.message, answer.iterations, *solution)
    if status in (Status.OPTIMAL, Status.FEASIBLE, Status.INACCURATE):
        status = Status.LIMIT_NO_SOLUTION
    return LpSolution(status, answer.message, answer.iterations)
