"""One HiGHS that is kept between solves, and read back after everything written to it.

HiGHS drops a coefficient of 1e-9 or less with a warning at most, takes NaN without one, and reads
a side of 1e20 as infinite. So each row, column and changed number is fetched again and compared
with what was sent, bit for bit; a difference is an error and the handle is of no use after it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.backends.highs import STATUS
from tightmargin.solvers.backends.options import set_highs_options
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.execution.quiet_highs import quiet_highs

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
