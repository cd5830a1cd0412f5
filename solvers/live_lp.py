"""One live linear program for outer loops: cuts and changes, and a warm basis between solves.

    live = LiveLP(model)
    while True:
        found = live.resolve()
        g, side = separate(found["w"])
        live.add_cut({"w": g}, upper=side)

The program runs in HiGHS as it is, or as its explicit dual (model/dual.py), where a cut
is a column: the caller sees the same rows, columns and numbers either way.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from threading import current_thread, main_thread
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
from tightmargin.solvers.engines.choice import choose
from tightmargin.solvers.engines.highs import STATUS, quiet_highs
from tightmargin.solvers.engines.registry import INFINITE, refuse_huge_bounds, set_highs_options
from tightmargin.solvers.engines.running import Limits, checked_limits
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
    """A linear program inside HiGHS, with its basis.

    Parameters
    ----------
    limits : Limits
        Seed, log and options; the time limit holds for each run. Simplex uses one thread.

    Raises
    ------
    ValueError
        An option HiGHS does not have.
    """

    def __init__(self, limits: Limits) -> None:

        self._lp = quiet_highs()
        self._stop = self._warm = self._listening = False
        self._info: Any = None
        settings: dict[str, Any] = {"output_flag": limits.log}
        if limits.seed is not None:
            settings["random_seed"] = int(limits.seed)
        set_highs_options(self._lp, settings | dict(limits.options))

    @property
    def version(self) -> str:
        """Version of HiGHS."""
        return str(self._lp.version())

    def load(
        self, A: sp.csc_matrix, cost: Array, bounds: tuple[Array, Array], sides: tuple[Array, Array]
    ) -> None:
        """Pass a whole program: rows A with their sides, columns with costs and bounds."""
        m, n = A.shape
        starts, rows = A.indptr.astype(np.int32), A.indices.astype(np.int32)
        self._lp.passModel(
            n, m, A.nnz, 1, 1, 0.0, cost, *bounds, *sides, starts, rows, A.data,
            np.zeros(n, dtype=np.int32),
        )  # fmt: skip
        found = self._lp.getLp()
        kept = found.a_matrix_
        for sent, got, what in (
            (cost, found.col_cost_, "costs"),
            (bounds[0], found.col_lower_, "lower bounds"),
            (bounds[1], found.col_upper_, "upper bounds"),
            (sides[0], found.row_lower_, "lower sides"),
            (sides[1], found.row_upper_, "upper sides"),
            (starts, kept.start_, "coefficients"),
            (rows, kept.index_, "coefficients"),
            (A.data, kept.value_, "coefficients"),
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
        with self._interruptible():
            said = self._run(end)
            if said.name == "kUnknown":
                # A warm start sometimes ends so, where a cold one decides.
                self._lp.clearSolver()
                self._warm = False
                said = self._run(end)
            before = self._lp.getOptionValue("presolve")[1]
            if said.name in _WITHOUT_OPTIMUM and before != "off":
                # Presolve may not know which, and calls some unbounded programs infeasible.
                self._lp.setOptionValue("presolve", "off")
                said = self._run(end)
                self._lp.setOptionValue("presolve", before)
        status, message = STATUS.get(said.name, Status.ERROR), self._lp.modelStatusToString(said)
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
        self._info = None
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

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Have Ctrl-C raise the flag that the simplex code asks for, while the block runs."""
        self._stop = False
        previous = signal.getsignal(signal.SIGINT)
        if current_thread() is not main_thread() or previous in (None, signal.SIG_IGN):
            yield
            return

        def ask(number: int, frame: Any) -> None:
            self._stop = True

        signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)

    def _told(self) -> Any:
        """What HiGHS says of the last run, asked once."""
        if self._info is None:
            self._info = self._lp.getInfo()
        return self._info

    @property
    def iterations(self) -> int:
        """Simplex iterations of the last run."""
        return int(self._told().simplex_iteration_count)

    def feasible(self) -> tuple[bool, bool]:
        """Whether the last run ended with a feasible point, and with feasible multipliers."""
        info = self._told()
        return info.primal_solution_status == _VALID, info.dual_solution_status == _VALID

    def solution(self) -> tuple[Array, Array]:
        """Values of the columns and multipliers of the rows."""
        found = self._lp.getSolution()
        return np.array(found.col_value), np.array(found.row_dual)


def _agree(owner: str, sent: tuple[float, ...], kept: Any) -> None:
    if tuple(kept) != sent:
        raise NumberError(f"{owner}: highs keeps {tuple(kept)} where {sent} was sent")


def _agree_entries(owner: str, index: Index, numbers: Array, count: int, kept: Any) -> None:
    """Compare entries; HiGHS gives one too many for a row or column without any."""
    sent = dict(zip(index.tolist(), numbers.tolist(), strict=True))
    found = dict(zip(kept[1][:count].tolist(), kept[2][:count].tolist(), strict=True))
    if found != sent:
        lost = next(j for j in {**sent, **found} if found.get(j) != sent.get(j))
        raise NumberError(
            f"{owner}: highs keeps {found.get(lost, 0.0)} where coefficient {sent.get(lost, 0.0)} "
            "was sent"
        )


# --- The rows and columns of a live program as they stand, apart from any solver -----------------


class Program:
    """A linear program read from a model, with what was added and changed since.

    Rows and columns keep their numbers for good: those of the model first, then added ones.

    Attributes
    ----------
    base : StandardForm
        The model as it was read.
    cost, lower, upper : arrays
        Of the columns.
    row_lower, row_upper : arrays
        Of the rows.
    scale : list
        Factor by which each added row was multiplied, a power of two.
    """

    def __init__(self, base: StandardForm) -> None:
        self.base = base
        self.cost = base.objective.a.copy()
        self.lower, self.upper = base.lower.copy(), base.upper.copy()
        self.row_lower, self.row_upper = base.row_lower.copy(), base.row_upper.copy()
        self._exact = base.exact  # of what was not changed since
        self.scale: list[float] = []
        self.row_names: list[str] = []
        self.column_names: list[str] = []
        self._rows: list[tuple[Index, Array]] = []
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
        self, index: Index, numbers: Array, sides: tuple[float, float], scale: float, name: str
    ) -> None:
        """Append a row."""
        self._rows.append((index, numbers))
        self.row_lower = np.append(self.row_lower, sides[0])
        self.row_upper = np.append(self.row_upper, sides[1])
        self.scale.append(scale)
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

    def set_column(self, j: int, cost: float, lower: float, upper: float) -> None:
        """Change cost and bounds of a column."""
        if (lower, upper) != (self.lower[j], self.upper[j]):
            self._exact = self._exact.without(column=j)
        self.cost[j], self.lower[j], self.upper[j] = cost, lower, upper
        self._form = None

    def set_row(self, i: int, lower: float, upper: float) -> None:
        """Change the sides of a row."""
        self._exact = self._exact.without(row=i)
        self.row_lower[i], self.row_upper[i] = lower, upper
        self._form = None

    def set_entry(self, i: int, j: int, number: float) -> None:
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
        return 1.0 if i < first else self.scale[i - first]

    def factors(self) -> Array:
        """The same of all rows."""
        return np.concatenate([np.ones(len(self.base.row_lower)), self.scale])

    def row(self, i: int) -> tuple[Index, Array]:
        """Columns and coefficients of a row as it stands."""
        A = self.form().A
        span = slice(A.indptr[i], A.indptr[i + 1])
        return A.indices[span].astype(np.int64), A.data[span]

    def form(self) -> StandardForm:
        """Everything as a standard form."""
        if self._form is None:
            base = self.base
            goal = base.objective
            self._form = replace(
                base,
                columns=self._column_labels(),
                lower=self.lower.copy(),
                upper=self.upper.copy(),
                integer=np.zeros(self.n, dtype=bool),
                objective=Quadratic(
                    sp.csr_matrix((self.n, self.n)), self.cost.copy(), goal.constant
                ),
                matrix=self._matrix(),
                row_lower=self.row_lower.copy(),
                row_upper=self.row_upper.copy(),
                rows=self._row_labels(),
                exact=self._exact,
            )
        return self._form

    def _matrix(self) -> sp.csc_matrix:
        old = self.base.columnwise.tocoo()
        m0, n0 = old.shape
        i = [old.row, *(np.full(len(at), m0 + k) for k, (at, _) in enumerate(self._rows))]
        j = [old.col, *(at for at, _ in self._rows)]
        v = [old.data, *(numbers for _, numbers in self._rows)]
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

    def _column_labels(self) -> Columns:
        if not self.column_names:
            return self.base.columns
        old, new = np.arange(self.base.n), np.arange(len(self.column_names))
        labels = Labels(("", self.base.columns, old), ("", Listed(self.column_names), new))
        return cast(Columns, labels)

    def _row_labels(self) -> Rows:
        if not self.row_names:
            return self.base.rows
        old, new = np.arange(len(self.base.rows)), np.arange(len(self.row_names))
        labels = Labels(("", self.base.rows, old), ("", Listed(self.row_names), new))
        return cast(Rows, labels)


# --- A live program given to HiGHS as it is: a cut becomes a row ---------------------------------


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


# --- What our own computation confirms of a live program's last solve, for the rows as they stand


def certificate(
    model: pyo.ConcreteModel, form: StandardForm, answer: LpSolution, limits: Limits
) -> Certificate:
    """Certificate of an answer with a point; its bound is in the model's own sense."""
    duals = None
    if answer.y is not None:
        duals = Multipliers(answer.y, form.objective.a - form.A.T @ answer.y, {})
    claim = Claim(answer.status, answer.x, duals, message=answer.message)
    found = certify(Case(model, Subject(form), None, limits), claim).certificate
    return replace(
        found,
        bound=None if found.bound is None else form.sense * found.bound,
        upper=None if found.upper is None else form.sense * found.upper,
    )


def proven_bound(
    model: pyo.ConcreteModel, form: StandardForm, answer: LpSolution, limits: Limits
) -> float | None:
    """Bound from the multipliers alone: rational where that succeeds, else in double precision."""
    exact = None if answer.y is None else exact_lp_bound(Subject(form), answer.y)
    if exact is None:
        return certificate(model, form, answer, limits).bound
    return form.sense * exact.value(form.objective.exact_constant)


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


# --- From names of variables and Pyomo constraints to columns and numbers of a live program ------


SMALLEST_RATIO = 1e-9
INFINITE_SIDE = 1e20
SMALLEST_NUMBER = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class ScaledRow(Printed):
    """A row as it is sent: lower <= numbers x[index] <= upper, multiplied by `scale`."""

    index: Index
    numbers: Array
    lower: float
    upper: float
    scale: float


class Directory(Readable):
    """Columns of a live program by the names of its variables."""

    def __init__(self, model: pyo.ConcreteModel, program: Program) -> None:
        self._model, self._program = model, program
        self._known: dict[str, tuple[Any, Index, Array]] = {}

    def _title(self) -> str:
        return f"Directory of {self._model.name}: {self._program.n} columns"

    def find(self, variable: Any) -> tuple[Any, Index, Array]:
        """Component, columns (-1 where fixed) and values there, of a variable or its name.

        Raises
        ------
        ValueError
            When there is no such variable; the message lists those there are.
        """
        name = variable if isinstance(variable, str) else str(variable.name)
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._search(name)
        return found

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
            columns, held = self._columns_of(component)
            if ((columns >= 0) | np.isfinite(held)).all():
                return component, columns, held
        names = [part.component.name for part in program.base.columns.parts]
        raise ValueError(
            f"the live program has no variable {name!r}; it has "
            f"{', '.join([*names, *program.column_names])}"
        )

    def _columns_of(self, variable: Any) -> tuple[Index, Array]:
        """Columns, -1 where there is none, and then values of fixed elements."""
        columns = self._program.base.columns
        if variable.parent_component() is variable:
            return columns.of(variable)
        at = columns.column(variable)
        value = float(variable.value) if at < 0 and variable.fixed else math.nan
        return np.array([at]), np.array([value])

    def numbers(self, variable: Any, given: ArrayLike, owner: str) -> tuple[Index, Array, Array]:
        """Columns, numbers given for them, and values where fixed, one for each element."""
        component, columns, held = self.find(variable)
        numbers = flat(component, given) if component is not None else np.atleast_1d(given)
        numbers = np.asarray(numbers, dtype=np.float64)
        if len(numbers) != len(columns):
            raise ValueError(
                f"{owner}: {variable} has {len(columns)} elements, got {len(numbers)} numbers"
            )
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            raise NumberError(
                f"{owner}: coefficient of {self._element(component, variable, int(bad[0]))} "
                f"is {numbers[bad[0]]}"
            )
        return columns, numbers, held

    def _element(self, component: Any, variable: Any, k: int) -> str:
        if component is None or not component.is_indexed():
            return str(variable)
        return str(component[list(component.keys())[k]].name)

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
        found = read(body, self._program.base.columns, owner)
        if found is None or found.products:
            raise ValueError(f"{owner} is not linear: a live program takes linear rows only")
        columns, numbers = found.linear()
        if (columns < 0).any():
            raise ValueError(
                f"{owner} has a variable that was not in the model when the live program was "
                "made: use add_column for it, or make the live program anew"
            )
        index, inverse = np.unique(columns, return_inverse=True)
        merged = np.zeros(len(index))
        np.add.at(merged, inverse, numbers)
        low, high = sides_in_doubles(found, low, high, owner)
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
        ends = [
            _scaled_side(
                side(given, empty, f"{owner}: {word} side") - constant, exponent, largest,
                f"{owner}: highs would read the {word} side",
            )
            for given, empty, word in ((low, -math.inf, "lower"), (high, math.inf, "upper"))
        ]  # fmt: skip
        scale = math.ldexp(1.0, exponent)
        return ScaledRow(index, np.ldexp(numbers, exponent), ends[0], ends[1], scale)


def _scaled_side(number: float, exponent: int, largest: float, words: str) -> float:
    if not math.isfinite(number):
        return number
    if abs(number) / largest >= INFINITE_SIDE / 2:
        raise NumberError(
            f"{words} {number:g}, which is {abs(number) / largest:.3g} times the largest "
            "coefficient, as infinite"
        )
    return math.ldexp(number, exponent)


# --- What one solve of a live program found ------------------------------------------------------


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


# --- Numbers of the rows of a live program, by name or Pyomo constraint --------------------------


class RowNumbers:
    """Rows of the model by the names of its constraints, and added ones by theirs."""

    def __init__(self, model: pyo.ConcreteModel, program: Program) -> None:
        self._model, self._program = model, program
        self._added: dict[str, int] = {}

    @cached_property
    def _read(self) -> dict[tuple[int, Any], int]:
        """Rows of the model as it was read, by component and index: no name is made."""
        places = self._program.base.rows.locations()
        return {(id(component), index): i for i, (component, index) in enumerate(places)}

    def take(self, row: Any, name: str | None) -> str:
        """Name for a row about to be added.

        Raises
        ------
        ValueError
            When there is such a row already.
        """
        constraint = not isinstance(row, dict) and hasattr(row, "parent_component")
        if name is None:
            name = str(row.name) if constraint else f"cut {len(self._added)}"
        elif self._model.find_component(name) is not None:
            raise ValueError(f"the model has a component {name}: give the cut another name")
        known = constraint and (id(row.parent_component()), row.index()) in self._read
        if name in self._added or known:
            raise ValueError(f"there is a row {name} already: give the cut another name")
        return name

    def add(self, name: str) -> int:
        """Remember the last row under its name."""
        self._added[name] = self._program.m - 1
        return self._program.m - 1

    def find(self, row: Any) -> int:
        """Number of a row.

        Raises
        ------
        ValueError
            When there is none.
        """
        count = self._program.m
        if isinstance(row, int | np.integer):
            if not 0 <= row < count:
                raise ValueError(f"there is no row {row}: the rows are 0 to {count - 1}")
            return int(row)
        name = row if isinstance(row, str) else str(row.name)
        found = self._added.get(name)
        if found is None:
            data = self._model.find_component(name) if isinstance(row, str) else row
            if data is not None and data.ctype is pyo.Constraint:
                found = self._read.get((id(data.parent_component()), data.index()))
        if found is None:
            raise ValueError(f"the live program has no row {name!r}")
        return found


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
        found = classify(base)
        if found.problem_class is not ProblemClass.LP:
            raise ProblemClassError(
                f"a live program must be an LP and this model is of class {found.problem_class}: "
                "use solve()"
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
        reason = worthwhile(base) if form == "auto" else ""
        self.form_used = form if form != "auto" else ("dual" if reason else "primal")
        self.reason = reason
        self._program = Program(base)
        self._directory = Directory(model, self._program)
        self._rows = RowNumbers(model, self._program)
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
        name = self._rows.take(cut, name)
        if isinstance(cut, Mapping):
            row = self._directory.cut(cut, lower, upper, name)
        elif lower is not None or upper is not None:
            raise ValueError(f"{name}: a constraint has its own sides; leave out lower and upper")
        else:
            row = self._directory.constraint(cut)
        program, sides = self._program, (row.lower, row.upper)
        self._change(
            lambda inside: inside.add_row(row.index, row.numbers, *sides, name),
            lambda: program.add_row(row.index, row.numbers, sides, row.scale, name),
        )
        return self._rows.add(name)

    def remove_cut(self, row: Any) -> None:
        """Open both sides of a row, added or of the model; it keeps its number."""
        self.change_sides(row)

    def change_sides(self, row: Any, lower: Any = None, upper: Any = None) -> None:
        """Give a row other sides; None is no side."""
        i = self._rows.find(row)
        owner = f"side of row {self._program.row_name(i)}"
        sides = interval(lower, upper, owner, self._program.factor(i))
        self._change(
            lambda inside: inside.set_row(i, *sides, owner),
            lambda: self._program.set_row(i, *sides),
        )

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
        index = np.array([self._rows.find(row) for row in rows], dtype=np.int64)
        if len(np.unique(index)) < len(index):
            raise ValueError(f"column {name}: a row is given twice")
        numbers = np.array([
            coefficient(number, program.factor(int(i)), f"column {name}")
            for i, number in zip(index, rows.values(), strict=True)
        ])  # fmt: skip
        index, numbers = index[numbers != 0], numbers[numbers != 0]
        price = program.base.sense * within(finite(cost, f"cost of {name}"), f"cost of {name}")
        bounds = interval(lower, upper, f"bound of {name}")
        self._change(
            lambda inside: inside.add_column(index, numbers, price, bounds, name),
            lambda: program.add_column(index, numbers, price, bounds, name),
        )
        return program.n - 1

    def change_coefficient(self, row: Any, variable: Any, number: float) -> None:
        """Give a variable (one element) another coefficient in a row."""
        i = self._rows.find(row)
        owner = f"row {self._program.row_name(i)}"
        columns, _, _ = self._directory.numbers(variable, number, owner)
        (j,) = _all_free(columns, variable)
        value = coefficient(number, self._program.factor(i), owner)
        self._change(
            lambda inside: inside.set_entry(i, j, value, owner),
            lambda: self._program.set_entry(i, j, value),
        )

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
        owner = program.column_name(j)
        self._change(
            lambda inside: inside.set_column(j, *sent, owner),
            lambda: program.set_column(j, *sent),
        )

    def _change(self, send: Callable[[Any], bool], keep: Callable[[], None]) -> None:
        """Write a change to the solver and, once it stands there, to the program.

        A change that is refused or interrupted leaves the program as it was, and a solver that may
        hold half of it is given up: the next solve starts another from the program.
        """
        inside, self._inside = self._inside, None
        in_place = inside is None or send(inside)
        keep()
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
        sense = self._program.base.sense
        return LiveResult(
            status=answer.status,
            objective=None if answer.x is None else sense * self._value(answer.x),
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

    def _value(self, x: Array) -> float:
        return float(self._program.cost @ x) + self._program.base.objective.constant

    def load_values(self) -> None:
        """Give the model's variables the values of the last resolve."""
        x, base = self._solved().x, self._program.base
        assert x is not None
        load_values(base, x[: base.n])

    def certificate(self) -> Certificate:
        """What our own computation confirms of the last resolve, for the rows as they stand."""
        answer = self._solved()
        return certificate(self.model, self._program.form(), answer, self._limits)

    def proven_bound(self) -> float | None:
        """A bound on the optimum of the rows as they stand, proven from the last multipliers.

        In rational arithmetic where their repair succeeds, in double precision otherwise; from
        below, or from above when the model maximises. None when neither can be had.
        """
        answer = self._solved()
        return proven_bound(self.model, self._program.form(), answer, self._limits)

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
