"""What paths over a hyperparameter have in common: proven rows, what Ctrl-C left out, a table."""

from __future__ import annotations

import math
from typing import Any, Generic, Protocol, TypeVar

from tightmargin.number_words import count_text, with_bound
from tightmargin.printing import Page, Printed, field_names, value_text
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.kernel.statement import CLOSED, FeasiblePoint, LowerBound
from tightmargin.solvers.kernel.verdict import Judgement, Verdict, judged, weakest
from tightmargin.solvers.tables import Framed, fits_in_a_cell, table_page

PROOFS = ("attained", "below")
WORDS = ("objective", "upper", "bound", "gap", "verdict", "stop", "seconds")


class Row(Protocol):
    """What every row of a path says, beside its hyperparameter and the machine."""

    @property
    def objective(self) -> float:
        """At the point, recomputed."""

    @property
    def upper(self) -> float:
        """The same rounded up: proven to be reached."""

    @property
    def bound(self) -> float:
        """Proven; -inf where there is none."""

    @property
    def gap(self) -> float:
        """Objective - bound, at least 0."""

    @property
    def verdict(self) -> Verdict:
        """What the proofs of the row amount to."""

    @property
    def stop(self) -> str:
        """What there is to say about the end."""

    @property
    def seconds(self) -> float:
        """Of wall clock."""


RowT = TypeVar("RowT", bound=Row)


class Proven(Printed):
    """What follows from the proofs that a row holds, and from nothing else.

    objective: at the point, as computed.
    attained: that there is a point of an objective of at most so much.
    below: that there is none of less.
    """

    objective: float
    attained: FeasiblePoint | None
    below: LowerBound | None

    def _page(self) -> Page:
        skipped = ("objective", "tolerance", "seconds", *PROOFS)
        told = ((name, getattr(self, name)) for name in field_names(self) if name not in skipped)
        small = [(name, value_text(part)) for name, part in told if fits_in_a_cell(part)]
        facts = [("objective", with_bound(self.objective, self.bound)), ("verdict", self.verdict)]
        return Page(self._title(), [*facts, *((word, text) for word, text in small if text)])

    @property
    def allowed(self) -> float:
        """Share of the objective that a gap may be of."""
        return CLOSED

    @property
    def upper(self) -> float:
        """The objective rounded up: proven to be reached; infinite where nothing is."""
        return math.inf if self.attained is None else self.attained.varying

    @property
    def bound(self) -> float:
        """Proven; -inf where there is none."""
        return -math.inf if self.below is None else self.below.varying

    @property
    def gap(self) -> float:
        """objective - bound, at least 0."""
        return max(0.0, self.objective - self.bound)

    @property
    def judgement(self) -> Judgement:
        """What the proofs amount to."""
        return judged(self.attained, self.below, tolerance=self.allowed)

    @property
    def verdict(self) -> Verdict:
        """That of the proofs."""
        return self.judgement.verdict


class PathResult(Framed, Generic[RowT]):
    """Base of the results of paths, which are dataclasses with these fields among theirs.

    parameter: the hyperparameter that is followed, an attribute of every row.
    rows: at least one.
    not_reached: values of the hyperparameter that Ctrl-C came before; empty else.
    """

    parameter: str
    rows: tuple[RowT, ...]
    not_reached: tuple[float, ...]

    @property
    def certified(self) -> bool:
        """Whether every asked value is there and proven."""
        return not self.not_reached and self.verdict is Verdict.CERTIFIED

    @property
    def verdict(self) -> Verdict:
        """That of the weakest row."""
        return weakest(row.verdict for row in self.rows)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C came, between two rows or in the search of one."""
        stopped = any(row.stop == StopReason.INTERRUPTED for row in self.rows)
        return bool(self.not_reached) or stopped

    def _title(self) -> str:
        rows = count_text(len(self.rows), "row")
        left = f", {len(self.not_reached)} not reached" if self.not_reached else ""
        return f"{type(self).__name__}: {rows} over {self.parameter}, {self.verdict}{left}"

    def _page(self) -> Page:
        columns = (self.parameter, "objective", "gap", "verdict", "seconds")
        return table_page(self._title(), self._records(), columns, more=".rows, .to_frame()")

    def _records(self) -> list[dict[str, Any]]:
        """One line a row: the hyperparameter, WORDS, and the other numbers and words."""
        return [self._line(row) for row in self.rows]

    def _line(self, row: RowT) -> dict[str, Any]:
        first = {name: getattr(row, name) for name in (self.parameter, *WORDS)}
        own = {name: part for name, part in fields_of(row).items() if fits_in_a_cell(part)}
        return first | {"verdict": str(row.verdict)} | {k: own[k] for k in own if k not in first}


def fields_of(row: Row) -> dict[str, Any]:
    """The fields of a row by name, but for its proofs, which no file can hold."""
    return {name: part for name, part in vars(row).items() if name not in PROOFS}


def row_numbers(row: Row) -> dict[str, Any]:
    """The fields of a row as they are written to files, with what follows from its proofs."""
    found = {"upper": row.upper, "bound": row.bound, "gap": row.gap, "verdict": str(row.verdict)}
    return fields_of(row) | found
