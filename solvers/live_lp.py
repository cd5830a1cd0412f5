"""One live linear program for outer loops: cuts and changes, and a warm basis between solves.

    live = LiveLP(model)
    while True:
        solution = live.resolve()
        g, side = separate(solution["w"])
        live.add_cut({"w": g}, upper=side)

The program runs in HiGHS as it is, or as its explicit dual (model/dual.py), where a cut
is a column: the caller sees the same rows, columns and numbers either way.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed, Readable
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.certify import certify
from tightmargin.solvers.engines.highs import STATUS, pass_arrays, quiet_highs
from tightmargin.solvers.engines.registry import INFINITE, choose, refuse_huge_bounds
from tightmargin.solvers.engines.running import Limits, checked_limits, on_ctrl_c
from tightmargin.solvers.errors import NumberError, ProblemClassError
from tightmargin.solvers.kernel.exact_bounds import exact_lp_bound
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.columns import Columns, Labels, Listed, Rows, side
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.dual import HIGHS_OPTIONS, dual_form, survives, worthwhile
from tightmargin.solvers.model.expressions import read
from tightmargin.solvers.model.names import flat, load_values, shaped
from tightmargin.solvers.model.polynomial import Quadratic
from tightmargin.solvers.model.reader import StandardForm, sides_in_doubles, standard_form
from tightmargin.solvers.model.residuals import without_rounding
from tightmargin.solvers.result import Certificate

# --- One HiGHS that is kept between solves, and read back after everything written to it ---------
# HiGHS drops a coefficient of 1e-9 or less with a warning at most, takes NaN without one, and
# reads a side of 1e20 as infinite. So each row, column and changed number is fetched again and
# compared with what was sent, bit for bit; a difference is an error and the handle is of no use
# after it.


SPRINT = 1_000  # iterations in which a warm run is left alone
ITERATIONS = "simplex_iteration_limit"
_WITHOUT_OPTIMUM = ("kInfeasible", "kUnbounded", "kUnboundedOrInfeasible")
_VALID = 2  # HiGHS' word for a solution that keeps its feasibility tolerance


class Handle:
    """A linear program inside HiGHS, with its basis; each method reads back what it wrote."""

    def __init__(self, limits: Limits) -> None:
        self._lp = quiet_highs(limits)
        self._stop = self._warm = self._listening = False

    def load(
        self, A: sp.csc_matrix, cost: Array, bounds: tuple[Array, Array], sides: tuple[Array, Array]
    ) -> None:
        """Pass a whole program: rows A with their sides, columns with costs and bounds."""
        pass_arrays(self._lp, A, cost, bounds, sides)
        lp = self._lp.getLp()
        matrix = lp.a_matrix_
        for sent, got, what in (
            (cost, lp.col_cost_, "costs"),
            (bounds[0], lp.col_lower_, "lower bounds"),
            (bounds[1], lp.col_upper_, "upper bounds"),
            (sides[0], lp.row_lower_, "lower sides"),
            (sides[1], lp.row_upper_, "upper sides"),
            (A.indptr, matrix.start_, "coefficients"),
            (A.indices, matrix.index_, "coefficients"),
            (A.data, matrix.value_, "coefficients"),
        ):
            if not np.array_equal(sent, got):
                raise NumberError(
                    f"highs did not keep the {what} of the model; solver=clarabel or scaled data "
                    "would"
                )

    def add_row(self, index: Index, numbers: Array, lower: float, upper: float, owner: str) -> int:
        """Append a row and return its number."""
        lp, place = self._lp, self._lp.getNumRow()
        lp.addRow(lower, upper, len(index), index.astype(np.int32), numbers)
        if lp.getNumRow() != place + 1:
            raise NumberError(f"{owner}: highs did not take it")
        _, *sides, count = lp.getRow(place)
        _agree(owner, (lower, upper), sides)
        _agree_entries(owner, index, numbers, count, lp.getRowEntries(place))
        return int(place)

    def add_column(
        self, index: Index, numbers: Array, cost: float, bounds: tuple[float, float], owner: str
    ) -> int:
        """Append a column and return its number."""
        lp, place = self._lp, self._lp.getNumCol()
        lp.addCol(cost, *bounds, len(index), index.astype(np.int32), numbers)
        if lp.getNumCol() != place + 1:
            raise NumberError(f"{owner}: highs did not take it")
        _, *kept, count = lp.getCol(place)
        _agree(owner, (cost, *bounds), kept)
        _agree_entries(owner, index, numbers, count, lp.getColEntries(place))
        return int(place)

    def set_column(self, j: int, cost: float, lower: float, upper: float, owner: str) -> None:
        """Change cost and bounds of a column."""
        self._lp.changeColCost(j, cost)
        self._lp.changeColBounds(j, lower, upper)
        _agree(owner, (cost, lower, upper), self._lp.getCol(j)[1:4])

    def set_row(self, i: int, lower: float, upper: float, owner: str) -> None:
        """Change the sides of a row."""
        self._lp.changeRowBounds(i, lower, upper)
        _agree(owner, (lower, upper), self._lp.getRow(i)[1:3])

    def set_entry(self, i: int, j: int, number: float, owner: str) -> None:
        """Change one coefficient."""
        self._lp.changeCoeff(i, j, number)
        _, rows, numbers = self._lp.getColEntries(j)
        _agree(owner, (number,), (float(numbers[rows == i].sum()),))

    def run(self, time_limit: float | None) -> tuple[Status, str]:
        """Solve from the present basis; Ctrl-C ends it early and leaves the basis in use."""
        # HiGHS counts the seconds of all runs of a handle together.
        end = np.inf if time_limit is None else self._lp.getRunTime() + time_limit
        self._stop = False
        with on_ctrl_c(self._ask_to_stop):
            outcome = self._run(end)
            if outcome.name == "kUnknown":
                # A warm start sometimes ends so, where a cold one decides.
                self._lp.clearSolver()
                self._warm = False
                outcome = self._run(end)
            before = self._lp.getOptionValue("presolve")[1]
            if outcome.name in _WITHOUT_OPTIMUM and before != "off":
                # Presolve may not know which, and calls some unbounded programs infeasible.
                self._lp.setOptionValue("presolve", "off")
                outcome = self._run(end)
                self._lp.setOptionValue("presolve", before)
        status = STATUS.get(outcome.name, Status.ERROR)
        message = self._lp.modelStatusToString(outcome)
        if self._stop:
            self._warm = False  # the next run must take the flag back
        if self._stop and status is not Status.INTERRUPTED:
            # Pressed too late for this run, but not for the loop around it.
            return Status.INTERRUPTED, f"interrupted, {message}"
        return status, str(message)

    def _run(self, end: float) -> Any:
        """One run; a warm one begins deaf to Ctrl-C, which costs a tenth of a short solve."""
        lp = self._lp
        most = lp.getOptionValue(ITERATIONS)[1]
        first = min(most, SPRINT) if self._warm else most
        self._listen(not self._warm)
        lp.setOptionValue("time_limit", end)
        lp.setOptionValue(ITERATIONS, first)
        lp.run()
        if lp.getModelStatus().name == "kIterationLimit" and first < most and not self._stop:
            self._listen(True)
            lp.setOptionValue(ITERATIONS, most)
            lp.run()
        lp.setOptionValue(ITERATIONS, most)
        self._warm = True
        return lp.getModelStatus()

    def _listen(self, wanted: bool) -> None:
        """Have the simplex code ask for Ctrl-C at each of its steps, or not."""
        if wanted is not self._listening:
            event, self._listening = self._lp.cbSimplexInterrupt, wanted
            (event.subscribe if wanted else event.unsubscribe)(self._heard)

    def _heard(self, event: Any) -> None:
        # The flag is sticky inside HiGHS: it must be taken back as well as set.
        event.interrupt(self._stop)

    def _ask_to_stop(self) -> None:
        self._stop = True

    def outcome(self) -> tuple[int, bool, bool]:
        """Iterations of the last run, and whether its point and its multipliers are feasible."""
        info = self._lp.getInfo()
        valid = (info.primal_solution_status, info.dual_solution_status)
        return info.simplex_iteration_count, valid[0] == _VALID, valid[1] == _VALID

    def solution(self) -> tuple[Array, Array]:
        """Values of the columns and multipliers of the rows."""
        solution = self._lp.getSolution()
        return np.array(solution.col_value), np.array(solution.row_dual)


def _agree(owner: str, sent: tuple[float, ...], kept: Any) -> None:
    if tuple(kept) != sent:
        raise NumberError(f"{owner}: highs keeps {tuple(kept)} where {sent} was sent")


def _agree_entries(owner: str, index: Index, numbers: Array, count: int, kept: Any) -> None:
    """Compare entries; HiGHS gives one too many for a row or column without any."""
    sent = dict(zip(index.tolist(), numbers.tolist(), strict=True))
    read_back = dict(zip(kept[1][:count].tolist(), kept[2][:count].tolist(), strict=True))
    if read_back != sent:
        lost = next(j for j in {**sent, **read_back} if read_back.get(j) != sent.get(j))
        raise NumberError(
            f"{owner}: highs keeps {read_back.get(lost, 0.0)} where coefficient "
            f"{sent.get(lost, 0.0)} was sent"
        )


# --- The rows and columns of a live program as they stand, apart from any solver -----------------


@dataclass(frozen=True, eq=False, repr=False)
class ScaledRow(Printed):
    """A row as it is sent: lower <= numbers x[index] <= upper, multiplied by `scale`."""

    index: Index
    numbers: Array
    lower: float
    upper: float
    scale: float


class Program:
    """A linear program read from a model (`base`), with what was added and changed since.

    Rows and columns keep their numbers for good: those of the model first, then added ones.
    """

    def __init__(self, base: StandardForm) -> None:
        self.base = base
        self.cost = base.objective.a.copy()
        self.lower, self.upper = base.lower.copy(), base.upper.copy()
        self.row_lower, self.row_upper = base.row_lower.copy(), base.row_upper.copy()
        self._exact = base.exact  # of what was not changed since
        self.row_names: list[str] = []
        self.column_names: list[str] = []
        self._rows: list[ScaledRow] = []
        self._columns: list[tuple[Index, Array]] = []
        self._changed: dict[tuple[int, int], float] = {}
        self._form: StandardForm | None = None

    @property
    def n(self) -> int:
        """Number of columns."""
        return len(self.cost)

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    def add_row(
        self, index: Index, numbers: Array, lower: float, upper: float, name: str, scale: float
    ) -> None:
        """Append a row."""
        self._rows.append(ScaledRow(index, numbers, lower, upper, scale))
        self.row_lower = np.append(self.row_lower, lower)
        self.row_upper = np.append(self.row_upper, upper)
        self.row_names.append(name)
        self._form = None

    def add_column(
        self, index: Index, numbers: Array, cost: float, bounds: tuple[float, float], name: str
    ) -> None:
        """Append a column."""
        self._columns.append((index, numbers))
        self.cost = np.append(self.cost, cost)
        self.lower = np.append(self.lower, bounds[0])
        self.upper = np.append(self.upper, bounds[1])
        self.column_names.append(name)
        self._form = None

    def set_column(self, j: int, cost: float, lower: float, upper: float, owner: str) -> None:
        """Change cost and bounds of a column."""
        if (lower, upper) != (self.lower[j], self.upper[j]):
            self._exact = self._exact.without(column=j)
        self.cost[j], self.lower[j], self.upper[j] = cost, lower, upper
        self._form = None

    def set_row(self, i: int, lower: float, upper: float, owner: str) -> None:
        """Change the sides of a row."""
        self._exact = self._exact.without(row=i)
        self.row_lower[i], self.row_upper[i] = lower, upper
        self._form = None

    def set_entry(self, i: int, j: int, number: float, owner: str) -> None:
        """Change one coefficient."""
        self._changed[i, j] = number
        self._form = None

    def row_name(self, i: int) -> str:
        """Name of a row."""
        first = len(self.base.row_lower)
        return self.base.rows.name(i) if i < first else self.row_names[i - first]

    def column_name(self, j: int) -> str:
        """Name of a column."""
        first = self.base.n
        return self.base.columns.name(j) if j < first else self.column_names[j - first]

    def factor(self, i: int) -> float:
        """Factor by which row i was multiplied when it was taken."""
        first = len(self.base.row_lower)
        return 1.0 if i < first else self._rows[i - first].scale

    def factors(self) -> Array:
        """The same of all rows."""
        scales = [row.scale for row in self._rows]
        return np.concatenate([np.ones(len(self.base.row_lower)), scales])

    def row(self, i: int) -> tuple[Index, Array]:
        """Columns and coefficients of a row as it stands."""
        A = self.form().A
        span = slice(A.indptr[i], A.indptr[i + 1])
        return A.indices[span].astype(np.int64), A.data[span]

    def form(self) -> StandardForm:
        """Everything as a standard form."""
        if self._form is None:
            none = sp.csr_matrix((self.n, self.n))
            self._form = replace(
                self.base,
                columns=cast(Columns, _with_names(self.base.columns, self.column_names)),
                lower=self.lower.copy(),
                upper=self.upper.copy(),
                integer=np.zeros(self.n, dtype=bool),
                objective=Quadratic(none, self.cost.copy(), self.base.objective.constant),
                matrix=self._matrix(),
                row_lower=self.row_lower.copy(),
                row_upper=self.row_upper.copy(),
                rows=cast(Rows, _with_names(self.base.rows, self.row_names)),
                exact=self._exact,
            )
        return self._form

    def _matrix(self) -> sp.csc_matrix:
        old = self.base.columnwise.tocoo()
        m0, n0 = old.shape
        i = [old.row, *(np.full(len(row.index), m0 + k) for k, row in enumerate(self._rows))]
        j = [old.col, *(row.index for row in self._rows)]
        v = [old.data, *(row.numbers for row in self._rows)]
        i += [at for at, _ in self._columns]
        j += [np.full(len(at), n0 + k) for k, (at, _) in enumerate(self._columns)]
        v += [numbers for _, numbers in self._columns]
        rows, columns, numbers = (np.concatenate(part) for part in (i, j, v))
        if self._changed:
            places = np.array(list(self._changed), dtype=np.int64)
            flat = rows.astype(np.int64) * self.n + columns
            kept = ~np.isin(flat, places[:, 0] * self.n + places[:, 1])
            rows = np.concatenate([rows[kept], places[:, 0]])
            columns = np.concatenate([columns[kept], places[:, 1]])
            numbers = np.concatenate([numbers[kept], list(self._changed.values())])
        matrix = sp.csc_matrix((numbers, (rows, columns)), shape=(self.m, self.n))
        matrix.eliminate_zeros()
        return matrix


def _with_names(base: Columns | Rows, names: list[str]) -> Any:
    """Columns or rows of the model, and added ones behind them."""
    if not names:
        return base
    return Labels(("", base, np.arange(len(base))), ("", Listed(names), np.arange(len(names))))


# --- A live program given to HiGHS as it is: a cut becomes a row ---------------------------------


@dataclass(frozen=True, eq=False)
class LpSolution:
    """Solution of a linear program as a run leaves it, on its rows and columns."""

    status: Status
    message: str
    iterations: int
    x: Array | None = None
    y: Array | None = None


class PrimalSide(Handle):
    """Rows are rows and columns are columns: every change is made in place."""

    def __init__(self, program: Program, limits: Limits) -> None:
        super().__init__(limits)
        form = program.form()
        bounds, sides = (form.lower, form.upper), (form.row_lower, form.row_upper)
        self.load(without_rounding(form.columnwise), form.objective.a, bounds, sides)

    def solve(self, time_limit: float | None) -> LpSolution:
        """Run, and report a point only if HiGHS calls it feasible."""
        status, message = self.run(time_limit)
        iterations, feasible, stationary = self.outcome()
        answer = LpSolution(status, message, iterations)
        return settled(answer, self.solution(), feasible, stationary)


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


# --- Numbers a live program takes: finite, and none that HiGHS would read as another -------------


def finite(number: Any, owner: str) -> float:
    """A number that is neither NaN nor infinite."""
    value = float(number)
    if not math.isfinite(value):
        raise NumberError(f"{owner} is {value}")
    return value


def within(number: float, owner: str) -> float:
    """A side, bound or cost that HiGHS does not read as infinite unless it is."""
    if math.isfinite(number) and abs(number) >= INFINITE:
        raise NumberError(f"{owner}: highs would read {number:g} as infinite")
    return number


def interval(lower: Any, upper: Any, owner: str, factor: float = 1.0) -> tuple[float, float]:
    """Two sides or bounds times a factor, None being none."""
    low = factor * side(lower, -math.inf, f"lower {owner}")
    high = factor * side(upper, math.inf, f"upper {owner}")
    return within(low, f"lower {owner}"), within(high, f"upper {owner}")


def coefficient(number: Any, factor: float, owner: str) -> float:
    """A coefficient times a factor, refused where HiGHS would drop or reject it."""
    value = factor * finite(number, f"{owner}: a coefficient")
    if value and not 1e-9 < abs(value) < 1e15:
        raise NumberError(
            f"{owner}: highs keeps coefficients between 1e-9 and 1e15, not {value:.3g}"
        )
    return value


# --- A live program given to HiGHS as its explicit dual: a cut becomes a column, and x row duals
# Rows and columns of the program keep a place for each column and row of the dual:
#     row i       a multiplier at its lower side (or of the equation), one at its upper side
#     column j    a row, one multiplier for each bound that is not zero; slack columns have neither
# and each change is written to those. A slack column that a cut, a changed coefficient or other
# bounds make an ordinary one has no place to be written to: the change is then reported as not
# made, and the dual is built anew.


INF = math.inf


class DualSide:
    """The dual of a program inside HiGHS; each change returns whether it could be made in place."""

    def __init__(self, program: Program, limits: Limits) -> None:
        self.program, self.limits = program, limits
        form = program.form()
        dual = dual_form(form)
        assert dual is not None
        self.handle = Handle(replace(limits, options=HIGHS_OPTIONS | dict(limits.options)))
        stated = dual.form
        bounds, sides = (stated.lower, stated.upper), (stated.row_lower, stated.row_upper)
        self.handle.load(stated.columnwise, stated.objective.a, bounds, sides)
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
        self._at_lower, self._at_upper, self._slack_row = (
            np.append(places, -1) for places in (self._at_lower, self._at_upper, self._slack_row)
        )
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
        """Run; where the dual is infeasible, the program itself is infeasible or unbounded."""
        status, message = self.handle.run(time_limit)
        iterations, feasible, stationary = self.handle.outcome()
        message = f"dual form: {message}"
        if status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED):
            answer = PrimalSide(self.program, self.limits).solve(time_limit)
            if answer.status in (Status.LIMIT_NO_SOLUTION, Status.ERROR):
                return LpSolution(Status.INFEASIBLE_OR_UNBOUNDED, message, answer.iterations)
            return replace(answer, message=f"primal form: {answer.message}")
        if status is Status.UNBOUNDED:
            return LpSolution(Status.INFEASIBLE, message, iterations)
        # A point of the program is multipliers of the dual, and the other way round.
        answer = LpSolution(status, message, iterations)
        return settled(answer, self._recovered(), stationary, feasible)

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
    """Cost (None without the side) and bounds of the multipliers at both sides of a row.

    Slack columns leave [low, high]: an interval without 0 where the sides allow 0 alone makes
    bounds that no multiplier meets.
    """
    has_low, has_high = math.isfinite(lower), math.isfinite(upper)
    if has_low and lower == upper:
        return [(-lower, (low, high)), (None, (0.0, 0.0))]
    none = (None, (0.0, 0.0) if has_low or has_high else (max(low, 0.0), min(high, 0.0)))
    at_lower = (-lower, (max(low, 0.0), max(high, 0.0) if has_high else high))
    at_upper = (-upper, (min(low, 0.0) if has_low else low, min(high, 0.0)))
    return [at_lower if has_low else none, at_upper if has_high else none]


# --- From names of variables and Pyomo constraints to columns and numbers of a live program ------


SMALLEST_RATIO = 1e-9
SMALLEST_NUMBER = 1e-300


class Directory(Readable):
    """Columns of a live program by the names of its variables, and rows by those of constraints."""

    def __init__(self, model: pyo.ConcreteModel, program: Program) -> None:
        self._model, self._program = model, program
        self._known: dict[str, tuple[Any, Index, Array]] = {}
        self._added: dict[str, int] = {}

    def _title(self) -> str:
        return f"Directory of {self._model.name}: {self._program.n} columns"

    def find(self, variable: Any) -> tuple[Any, Index, Array]:
        """Component, columns (-1 where fixed) and values there, of a variable or its name."""
        name = variable if isinstance(variable, str) else str(variable.name)
        if name not in self._known:
            self._known[name] = self._search(name)
        return self._known[name]

    @cached_property
    def _model_rows(self) -> dict[tuple[int, Any], int]:
        """Rows of the model as it was read, by component and index: no name is made."""
        places = self._program.base.rows.locations()
        return {(id(component), index): i for i, (component, index) in enumerate(places)}

    def new_row_name(self, row: Any, name: str | None) -> str:
        """Name for a row about to be added; ValueError where there is such a row already."""
        constraint = not isinstance(row, dict) and hasattr(row, "parent_component")
        if name is None:
            name = str(row.name) if constraint else f"cut {len(self._added)}"
        elif self._model.find_component(name) is not None:
            raise ValueError(f"the model has a component {name}: give the cut another name")
        known = constraint and (id(row.parent_component()), row.index()) in self._model_rows
        if name in self._added or known:
            raise ValueError(f"there is a row {name} already: give the cut another name")
        return name

    def name_last_row(self, name: str) -> int:
        """Remember the last row under its name, and return its number."""
        self._added[name] = self._program.m - 1
        return self._added[name]

    def row(self, row: Any) -> int:
        """Number of a row, by number, name or constraint; ValueError where there is none."""
        count = self._program.m
        if isinstance(row, int | np.integer):
            if not 0 <= row < count:
                raise ValueError(f"there is no row {row}: the rows are 0 to {count - 1}")
            return int(row)
        name = row if isinstance(row, str) else str(row.name)
        number = self._added.get(name)
        if number is None:
            data = self._model.find_component(name) if isinstance(row, str) else row
            if data is not None and data.ctype is pyo.Constraint:
                number = self._model_rows.get((id(data.parent_component()), data.index()))
        if number is None:
            raise ValueError(f"the live program has no row {name!r}")
        return number

    def row_factors(self, m: int) -> Array:
        """What turns multipliers of the first m rows into duals in the user's scale and sense."""
        return self._program.base.sense * self._program.factors()[:m]

    def _search(self, name: str) -> tuple[Any, Index, Array]:
        program = self._program
        if name in program.column_names:
            at = program.base.n + program.column_names.index(name)
            return None, np.array([at]), np.array([math.nan])
        component = self._model.find_component(name)
        if component is not None and component.ctype is pyo.Var:
            if component.parent_component() is component:
                columns, held = program.base.columns.of(component)
            else:
                at = program.base.columns.column(component)
                fixed = at < 0 and component.fixed
                held = np.array([float(component.value) if fixed else math.nan])
                columns = np.array([at])
            if ((columns >= 0) | np.isfinite(held)).all():
                return component, columns, held
        names = [part.component.name for part in program.base.columns.parts]
        raise ValueError(
            f"the live program has no variable {name!r}; it has "
            f"{', '.join([*names, *program.column_names])}"
        )

    def numbers(self, variable: Any, given: ArrayLike, owner: str) -> tuple[Index, Array, Array]:
        """Columns, numbers given for them, and values where fixed, one for each element."""
        component, columns, held = self.find(variable)
        numbers = flat(component, given) if component is not None else np.atleast_1d(given)
        numbers = np.asarray(numbers, dtype=np.float64)
        if len(numbers) != len(columns):
            raise ValueError(
                f"{owner}: {variable} has {len(columns)} elements, got {len(numbers)} numbers"
            )
        for k in np.flatnonzero(~np.isfinite(numbers)).tolist():
            indexed = component is not None and component.is_indexed()
            name = component[list(component.keys())[k]].name if indexed else variable
            raise NumberError(f"{owner}: coefficient of {name} is {numbers[k]}")
        return columns, numbers, held

    def cut(
        self, coefficients: Mapping[Any, ArrayLike], lower: Any, upper: Any, owner: str
    ) -> ScaledRow:
        """A row from arrays by variable name; fixed variables move to the sides."""
        columns, numbers, constant = [], [], 0.0
        for variable, given in coefficients.items():
            at, part, held = self.numbers(variable, given, owner)
            free = at >= 0
            if not free.all():
                constant += float(part[~free] @ held[~free])
            columns.append(at[free])
            numbers.append(part[free])
        index = np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)
        if len(columns) > 1 and len(np.unique(index)) < len(index):
            values, counts = np.unique(index, return_counts=True)
            twice = self._program.column_name(int(values[counts > 1][0]))
            raise ValueError(f"{owner}: {twice} is given twice")
        merged = np.concatenate(numbers) if numbers else np.zeros(0)
        return self._scaled(index, merged, (lower, upper, constant), owner)

    def constraint(self, data: Any) -> ScaledRow:
        """A row from a Pyomo constraint on variables of the model as it was read."""
        owner = f"row {data.name}"
        low, body, high = data.to_bounded_expression()
        polynomial = read(body, self._program.base.columns, owner)
        if polynomial is None or polynomial.products:
            raise ValueError(f"{owner} is not linear: a live program takes linear rows only")
        columns, numbers = polynomial.linear()
        if (columns < 0).any():
            raise ValueError(
                f"{owner} has a variable that was not in the model when the live program was "
                "made: use add_column for it, or make the live program anew"
            )
        index, inverse = np.unique(columns, return_inverse=True)
        merged = np.zeros(len(index))
        np.add.at(merged, inverse, numbers)
        low, high = sides_in_doubles(polynomial, low, high, owner)
        return self._scaled(index, merged, (low, high, 0.0), owner)

    def _scaled(
        self, index: Index, numbers: Array, sides: tuple[Any, Any, float], owner: str
    ) -> ScaledRow:
        """The row times the power of two that brings its largest coefficient into [1, 2).

        A power of two changes no digit: the row sent is exactly the row given.
        """
        kept = numbers != 0
        index, numbers = index[kept], numbers[kept]
        if not len(numbers):
            raise NumberError(f"{owner}: no coefficient differs from zero")
        sizes = np.abs(numbers)
        largest = float(sizes.max())
        small = np.flatnonzero(sizes <= SMALLEST_RATIO * largest)
        if small.size:
            k = int(small[0])
            name = self._program.column_name(int(index[k]))
            raise NumberError(
                f"{owner}: the coefficient {numbers[k]:.3g} of {name} is "
                f"{sizes[k] / largest:.3g} of the largest, and highs would drop it without a "
                f"word (it keeps what is above {SMALLEST_RATIO:g}): leave it out or rescale the "
                "variables"
            )
        if largest < SMALLEST_NUMBER:
            raise NumberError(f"{owner}: the largest coefficient is {largest:.3g}: rescale the row")
        exponent = 1 - math.frexp(largest)[1]
        low, high, constant = sides
        scaled: list[float] = []
        for value, empty, which in ((low, -math.inf, "lower"), (high, math.inf, "upper")):
            number = side(value, empty, f"{owner}: {which} side") - constant
            ratio = abs(number) / largest
            if math.isfinite(number) and ratio >= INFINITE / 2:
                raise NumberError(
                    f"{owner}: highs would read the {which} side {number:g}, which is {ratio:.3g} "
                    "times the largest coefficient, as infinite"
                )
            scaled.append(math.ldexp(number, exponent))
        scale = math.ldexp(1.0, exponent)
        return ScaledRow(index, np.ldexp(numbers, exponent), scaled[0], scaled[1], scale)


# --- The result of one solve of a live program ---------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class LiveResult(Printed):
    """How one resolve ended.

    Attributes
    ----------
    status : Status
        OPTIMAL is the solver's word; see LiveLP.certificate.
    objective : float or None
        At x, in the model's own sense; None without a point.
    x : array (n,) or None
        Columns of the model in the order of its standard form, then added ones; by the name of a
        variable: result["w"].
    multipliers : array (m,) or None
        Of the rows as the solver has them; see row_duals.
    iterations : int
        Simplex iterations of this run.
    seconds : float
    message : str
        The solver's words.
    """

    status: Status
    objective: float | None
    x: Array | None
    multipliers: Array | None
    iterations: int
    seconds: float
    message: str
    directory: Directory

    @cached_property
    def row_duals(self) -> Array | None:
        """d objective / d right-hand side of the rows: of the model first, then added ones."""
        if self.multipliers is None:
            return None
        return self.multipliers * self.directory.row_factors(len(self.multipliers))

    def __getitem__(self, name: str) -> Array:
        """Values of a variable, in the shape of its index."""
        component, columns, held = self.directory.find(name)
        if self.x is None:
            raise ValueError(f"there is no value of {name}: the solve ended with {self.status}")
        if columns.max() >= len(self.x):
            raise ValueError(f"there is no value of {name}: it was added after this solve")
        numbers = np.where(columns >= 0, self.x[columns], held)
        return np.asarray(numbers[0]) if component is None else shaped(component, numbers)


FORMS = ("auto", "primal", "dual")


class LiveLP(Readable):
    """A linear program that stays in HiGHS between changes.

    Rows are named by number, added ones being numbered on, or by the name of the constraint or
    cut; variables by name or Pyomo object. What is written to HiGHS is read back and compared.
    Changes made to the Pyomo model itself are not seen: make them here, where they leave the model
    alone, or add a constraint to the model and hand it to `add_cut`. Ctrl-C ends a solve early,
    with status INTERRUPTED, and the next one goes on from its basis.

    Parameters
    ----------
    model : ConcreteModel
        A linear program.
    form : "auto", "primal" or "dual"
        What HiGHS is given; "auto" goes by size, and `form_used` says which it was and why.
    time_limit : float, optional
        Seconds for each resolve.
    seed : int, optional
        Of the solver.
    options : mapping, optional
        HiGHS' own option names.
    log : bool
        Show the solver's log.

    Raises
    ------
    ProblemClassError
        The model is no LP.
    NumberError
        A number HiGHS would lose.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> live = tm.LiveLP(tm.extended_nu_svc_linearised(data, nu=0.1, w_ref=[1.0, 0.0]))
    >>> w = live.resolve()["w"]
    >>> number = live.add_cut({"w": [1.0, 0.0]}, upper=w[0])
    >>> bool(live.resolve()["w"][0] <= w[0] + 1e-9)
    True
    """

    def __init__(
        self,
        model: pyo.ConcreteModel,
        *,
        form: str = "auto",
        time_limit: float | None = None,
        seed: int | None = None,
        options: Mapping[str, Any] | None = None,
        log: bool = False,
    ) -> None:
        if form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
        self._limits: Limits = checked_limits(time_limit, None, seed, log, options)
        self.model = model
        base = standard_form(model)
        for row in base.exact.scales:  # changes of a row come in its own doubles
            raise NumberError(
                f"row {base.rows.name(row)} has a coefficient that no double is, and the rows of a "
                "live program change in doubles: write one number there"
            )
        kind = classify(base).problem_class
        if kind is not ProblemClass.LP:
            raise ProblemClassError(
                f"a live program must be an LP and this model is of class {kind}: use solve()"
            )
        if base.n == 0:
            raise ValueError("the model has no variable that is not fixed: nothing to solve")
        choose("highs", ProblemClass.LP, base)
        refuse_huge_bounds("highs", base)
        if form == "dual" and not survives(base):
            raise NumberError(
                "the dual form would lose sides, bounds or coefficients outside [1e-9, 1e15]: "
                "use form='primal' or scale the data"
            )
        self.reason = worthwhile(base) if form == "auto" else ""
        self.form_used = form if form != "auto" else ("dual" if self.reason else "primal")
        self._program = Program(base)
        self._directory = Directory(model, self._program)
        self._inside: PrimalSide | DualSide | None = None
        self._last: LpSolution | None = None

    def _page(self) -> Page:
        program = self._program
        size = f"{count_text(program.m, 'row')}, {count_text(program.n, 'column')}"
        facts = [
            ("model", str(self.model.name)),
            ("form", f"the {self.form_used}" + (f": {self.reason}" if self.reason else "")),
            ("solved", "not yet" if self._last is None else str(self._last.status)),
            ("next", ".resolve(), .add_cut(), .certificate()"),
        ]
        return Page(f"LiveLP: {size}", facts)

    # --- changes -------------------------------------------------------------------------------

    def add_cut(
        self, cut: Mapping[Any, ArrayLike] | Any, *, lower: Any = None, upper: Any = None,
        name: str | None = None,
    ) -> int:  # fmt: skip
        """Add the row lower <= sum of coefficients times variables <= upper; returns its number.

        Parameters
        ----------
        cut : mapping or Pyomo constraint
            Arrays or numbers by variable, {"w": g, "b": 1.0}; or a linear constraint that was just
            added to the model, which has its own sides and name.
        lower, upper : float, optional
            Sides; equal ones make an equation.
        name : str, optional
            "cut k" by default, k counting the added rows; a constraint has its own.

        Raises
        ------
        NumberError
            NaN, infinity, or coefficients below 1e-9 of the largest, which HiGHS would drop.
        ValueError
            A variable that is unknown, given twice, or of another length; a name that is taken.
        """
        name = self._directory.new_row_name(cut, name)
        if isinstance(cut, Mapping):
            row = self._directory.cut(cut, lower, upper, name)
        elif lower is not None or upper is not None:
            raise ValueError(f"{name}: a constraint has its own sides; leave out lower and upper")
        else:
            row = self._directory.constraint(cut)
        numbers = row.index, row.numbers, row.lower, row.upper
        self._change("add_row", *numbers, name, scale=row.scale)
        return self._directory.name_last_row(name)

    def remove_cut(self, row: Any) -> None:
        """Open both sides of a row, added or of the model; it keeps its number."""
        self.change_sides(row)

    def change_sides(self, row: Any, lower: Any = None, upper: Any = None) -> None:
        """Give a row other sides; None is no side."""
        i = self._directory.row(row)
        owner = f"side of row {self._program.row_name(i)}"
        sides = interval(lower, upper, owner, self._program.factor(i))
        self._change("set_row", i, *sides, owner)

    def add_column(
        self,
        name: str,
        rows: Mapping[Any, float],
        *,
        cost: float = 0.0,
        lower: float | None = 0.0,
        upper: float | None = None,
    ) -> int:
        """Add a variable with its coefficients by row; returns its column."""
        program = self._program
        taken = [*program.column_names, *program.base.columns.names()]
        if name in taken or self.model.find_component(name) is not None:
            raise ValueError(f"there is a variable {name} already: give the column another name")
        index = np.array([self._directory.row(row) for row in rows], dtype=np.int64)
        if len(np.unique(index)) < len(index):
            raise ValueError(f"column {name}: a row is given twice")
        numbers = np.array(
            [
                coefficient(number, program.factor(int(i)), f"column {name}")
                for i, number in zip(index, rows.values(), strict=True)
            ]
        )
        index, numbers = index[numbers != 0], numbers[numbers != 0]
        price = program.base.sense * within(finite(cost, f"cost of {name}"), f"cost of {name}")
        bounds = interval(lower, upper, f"bound of {name}")
        self._change("add_column", index, numbers, price, bounds, name)
        return program.n - 1

    def change_coefficient(self, row: Any, variable: Any, number: float) -> None:
        """Give a variable (one element) another coefficient in a row."""
        i = self._directory.row(row)
        owner = f"row {self._program.row_name(i)}"
        columns, _, _ = self._directory.numbers(variable, number, owner)
        (j,) = _all_free(columns, variable)
        value = coefficient(number, self._program.factor(i), owner)
        self._change("set_entry", i, j, value, owner)

    def change_cost(self, variable: Any, cost: ArrayLike) -> None:
        """Give a variable other costs in the objective, one for each element."""
        owner, sense = f"cost of {variable}", self._program.base.sense
        columns, costs, _ = self._directory.numbers(variable, cost, owner)
        prices = [sense * within(number, owner) for number in costs.tolist()]
        for j, price in zip(_all_free(columns, variable), prices, strict=True):
            self._write_column(j, cost=price)

    def change_bounds(
        self, variable: Any, lower: float | None = None, upper: float | None = None
    ) -> None:
        """Give all elements of a variable other bounds; None is no bound."""
        _, columns, _ = self._directory.find(variable)
        bounds = interval(lower, upper, f"bound of {variable}")
        for j in _all_free(columns, variable):
            self._write_column(j, lower=bounds[0], upper=bounds[1])

    def _write_column(self, j: int, **changed: float) -> None:
        program = self._program
        now = {"cost": program.cost[j], "lower": program.lower[j], "upper": program.upper[j]}
        sent = [float(number) for number in (now | changed).values()]
        self._change("set_column", j, *sent, program.column_name(j))

    def _change(self, method: str, *arguments: Any, **kept: Any) -> None:
        """Call a method of the solver (False: not in place) and of the program, in this order.

        After one that is refused or interrupted the program is as before, and the next solve starts
        another solver from it: this one may hold half of the change.
        """
        inside, self._inside = self._inside, None
        in_place = inside is None or getattr(inside, method)(*arguments) is not False
        getattr(self._program, method)(*arguments, **kept)
        self._last = None
        self._inside = inside if in_place else None

    # --- solving -------------------------------------------------------------------------------

    def resolve(self, time_limit: float | None = None) -> LiveResult:
        """Solve the program as it stands, from the last basis.

        Parameters
        ----------
        time_limit : float, optional
            Seconds, in place of the one given at the start.
        """
        limit = self._limits.time_limit
        if time_limit is not None:
            limit = checked_limits(time_limit).time_limit
        started = time.perf_counter()
        inside, self._inside = self._inside or self._started(), None
        answer = inside.solve(limit)
        self._inside, self._last = inside, answer
        objective, goal = None, self._program.base.objective
        if answer.x is not None:
            value = float(self._program.cost @ answer.x) + goal.constant
            objective = self._program.base.sense * value
        return LiveResult(
            status=answer.status,
            objective=objective,
            x=answer.x,
            multipliers=answer.y,
            iterations=answer.iterations,
            seconds=time.perf_counter() - started,
            message=answer.message,
            directory=self._directory,
        )

    def _started(self) -> PrimalSide | DualSide:
        if self.form_used == "dual" and not survives(self._program.form()):
            self.form_used, self.reason = "primal", "numbers were added that the dual would lose"
        kind = DualSide if self.form_used == "dual" else PrimalSide
        return kind(self._program, self._limits)

    def load_values(self) -> None:
        """Give the model's variables the values of the last resolve."""
        x, base = self._solved().x, self._program.base
        assert x is not None
        load_values(base, x[: base.n])

    def certificate(self) -> Certificate:
        """What our own computation confirms of the last resolve, for the rows as they stand."""
        answer, form = self._solved(), self._program.form()
        assert answer.y is not None
        duals = Multipliers(answer.y, form.objective.a - form.A.T @ answer.y, {})
        claim = Claim(answer.status, answer.x, duals, message=answer.message)
        case = Case(self.model, Subject(form), None, self._limits)
        certificate = certify(case, claim).certificate
        return replace(
            certificate,
            bound=None if certificate.bound is None else form.sense * certificate.bound,
            upper=None if certificate.upper is None else form.sense * certificate.upper,
        )

    def proven_bound(self) -> float | None:
        """A bound on the optimum of the rows as they stand, proven from the last multipliers.

        In rational arithmetic where their repair succeeds, in double precision otherwise; from
        below, or from above when the model maximises. None when neither can be had.
        """
        answer, form = self._solved(), self._program.form()
        assert answer.y is not None
        exact = exact_lp_bound(Subject(form), answer.y)
        if exact is None:
            return self.certificate().bound
        return form.sense * exact.value(form.objective.exact_constant)

    def _solved(self) -> LpSolution:
        if self._last is None:
            raise ValueError("the program was changed since it was solved: call resolve() first")
        if self._last.x is None:
            raise ValueError(f"the last resolve found no point: {self._last.message}")
        return self._last


def _all_free(columns: NDArray[np.int64], variable: Any) -> list[int]:
    if (columns < 0).any():
        raise ValueError(f"{variable} is fixed, and so no column of the live program")
    return columns.tolist()
