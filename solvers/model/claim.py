"""What a solver or a search says, to be checked by certify."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.printing import Printed
from tightmargin.solvers.model.conic import Multipliers

if TYPE_CHECKING:
    from tightmargin.solvers.kernel.statement import FeasiblePoint, LowerBound

# --- How bound and incumbent of a search came together over time, in few rows --------------------


MOST_ROWS = 200

Row = tuple[float, float | None, float | None]  # seconds, bound, incumbent


class Progress:
    """Rows of (seconds, bound, incumbent), a new one where either improves.

    When there are more than MOST_ROWS, every second one goes: what is left still ends in the last.

    nodes: how many a tree has by now; whoever counts them writes it here.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._rows: list[Row] = []
        self.nodes = 0

    def add(self, bound: float | None, incumbent: float | None) -> None:
        """Note the present state; numbers that are not finite count as none."""
        now = (_known(bound), _known(incumbent))
        if self._rows and self._rows[-1][1:] == now:
            return
        self._rows.append((time.perf_counter() - self._began, *now))
        if len(self._rows) > MOST_ROWS:
            self._rows = self._rows[1::2]

    def state(self, sense: int) -> tuple[float | None, float | None, str]:
        """Bound and incumbent of the last row, in the sense of a model, and nodes."""
        return *self.last(sense), f"{self.nodes} nodes" if self.nodes else ""

    def last(self, sense: int = 1) -> tuple[float | None, float | None]:
        """Bound and incumbent of the last row, in the sense of a model."""
        if not self._rows:
            return None, None
        _, bound, incumbent = in_sense(self._rows[-1:], sense)[0]
        return bound, incumbent

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows so far."""
        return tuple(self._rows)


def times(factor: float, rows: Sequence[Row]) -> tuple[Row, ...]:
    """Rows with bound and incumbent multiplied by a number."""
    return tuple(
        (
            seconds,
            None if bound is None else factor * bound,
            None if incumbent is None else factor * incumbent,
        )
        for seconds, bound, incumbent in rows
    )


def in_sense(rows: Sequence[Row], sense: int) -> list[list[float | None]]:
    """Rows in the model's own sense: a maximisation gets its sign back."""
    return [list(row) for row in times(sense, rows)]


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and abs(value) < 1e20 else None


class Status(StrEnum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INACCURATE = "inaccurate"
    LIMIT_NO_SOLUTION = "limit_no_solution"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible_or_unbounded"
    INTERRUPTED = "interrupted"
    ERROR = "error"


@dataclass(frozen=True, eq=False, repr=False)
class Claim(Printed):
    """What a solver says.

    Attributes
    ----------
    status : Status
    x : array or None
        Point in the order of the standard form's columns.
    duals : Multipliers or None
    bound : float or None
        The solver's own bound on the minimisation, its word only.
    message : str
        The solver's own words for its status.
    log : str
        What it printed, when that was asked for.
    objective : float or None
        What it says the objective of the minimisation is at its point; None when it does not say.
    contradictions : tuple of str
        What of all this disagrees with the rest, see certify/certify.py.
    trace : tuple of (seconds, bound, incumbent)
        How the search went, of the minimisation; see model/claim.py.
    lemma : Lemma or None
        A bound on the minimisation that a search of ours proved, and does not merely claim.
    searched : bool
        Whether it comes from a method of ours that knows the problem, and not from a solver.
    proof : LowerBound or None
        What the kernel proved already of the model.
    point : FeasiblePoint or None
        One that the kernel proved to be feasible already.
    farkas : Multipliers or None
        Of rows and cones, by which it says that there is no feasible point.
    """

    status: Status
    x: Array | None = None
    duals: Multipliers | None = None
    bound: float | None = None
    message: str = ""
    log: str = ""
    version: str = ""
    objective: float | None = None
    contradictions: tuple[str, ...] = ()
    trace: tuple[Row, ...] = ()
    lemma: Lemma | None = None
    searched: bool = False
    proof: LowerBound | None = None
    point: FeasiblePoint | None = None
    farkas: Multipliers | None = None
