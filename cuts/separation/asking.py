"""Asking separators at a point, whoever solves the model: read, check, verify, write down."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyomo.environ as pyo

from tightmargin.cuts.cut.cut import Cut, InvalidCutError
from tightmargin.cuts.separation.errors import HaltError
from tightmargin.cuts.separation.found_rows import FoundRow, read_row, with_rows
from tightmargin.cuts.separation.point import Point
from tightmargin.cuts.separators.given_cuts import GivenCuts
from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.engines.running import Limits, StopReason
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.model.reader import StandardForm

Separator = Callable[[Any], Sequence[Any]]


def needs_vertices(separator: Any) -> bool:
    """Whether a separator cuts vertices off, and has nothing to say of other points."""
    return bool(getattr(separator, "needs_vertices", False))


@dataclass(frozen=True, repr=False)
class SeparationStep(Printed):
    """What one row did.

    Attributes
    ----------
    round : int
        Rows of one answer have the same; from 1 on.
    node : int or None
        Number of the node, where the engine has nodes.
    separator, row : str
        Who found it, and what it is called.
    violation : float
        By how much the point missed it, its largest coefficient scaled to between 1 and 2.
    before, after : float or None
        The engine's bound when the row was found, and when it next had one; its word, but for the
        engines "live" and "branch-and-bound".
    seconds : float
        Since the start.
    """

    round: int
    node: int | None
    separator: str
    row: str
    violation: float
    before: float | None
    after: float | None
    seconds: float


class Asking:
    """The separators of one run, the rows they found, and the first thing that went wrong.

    Parameters
    ----------
    separators : mapping of str to function
    debug : array (n,) or None
        A point that every row has to keep.
    tolerance : float
        A row that is missed by less, relative to its terms, separates nothing.
    row_limit : int
        Rows beyond which the run ends.
    """

    def __init__(
        self,
        model: pyo.ConcreteModel,
        form: StandardForm,
        separators: Mapping[str, Separator],
        debug: Array | None,
        tolerance: float,
        row_limit: int,
    ) -> None:
        self.model, self.base, self.separators = model, form, dict(separators)
        self.debug, self.tolerance, self.row_limit = debug, tolerance, row_limit
        self.rows: list[FoundRow] = []
        self.steps: list[SeparationStep] = []
        self.error: Exception | None = None  # for the end of the run
        self.failed = ""  # the separator that raised it, where it was one
        self.stop: StopReason | None = None  # why nobody is asked any more
        self.words = ""
        self.asked, self.rounds = 0, 0
        self._form, self._cuts = form, GivenCuts(model)
        self._began = time.perf_counter()

    @property
    def form(self) -> StandardForm:
        """The model with all rows so far."""
        if len(self._form.row_lower) != len(self.base.row_lower) + len(self.rows):
            self._form = with_rows(self.base, self.rows)
        return self._form

    def case(self, limits: Limits) -> Case:
        """The same as a subject of proofs."""
        return Case(self.model, Subject(self.form), None, replace(limits, options={}))

    def at(
        self, x: Array, bound: float | None, node: int | None = None, *, again: bool = False
    ) -> list[FoundRow]:
        """Rows that a point (n,) misses, of the first separator that has any.

        Parameters
        ----------
        bound : float or None
            The engine's, of the minimisation; also what became of it since the last rows.
        again : bool
            Whether points may come that miss rows which were found already, as from heuristics
            that run beside a callback: these rows are returned then.

        Raises
        ------
        HaltError
            A separator failed, a row is refused, there are too many, or the engine does not keep
            one that it has: see `stop`, `words` and `error`.
        """
        if self.stop is not None:
            raise HaltError
        self.settle(bound)
        known = [row for row in self.rows if self.misses(row, x)]
        if known and again:
            return known
        if known:
            row = known[0]
            words = f"the engine has row {row.name}, and misses it by {row.excess(x):.2e}"
            raise self._halted(StopReason.NUMERICAL, words)
        self.asked += 1
        for name, separator in self.separators.items():
            missed = self._missed(name, self._answer(name, separator, x), x)
            if missed:
                self._note(missed, x, bound, node)
                return missed
        return []

    def misses(self, row: FoundRow, x: Array) -> bool:
        """Whether a point misses a row by more than the tolerance."""
        return row.excess(x) > self.tolerance * row.size_at(x)

    def settle(self, bound: float | None) -> None:
        """Write the bound behind the rows that were found since the last one."""
        known = self._known(bound)
        for k in range(len(self.steps) - 1, -1, -1):
            if self.steps[k].after is not None or known is None:
                return
            self.steps[k] = replace(self.steps[k], after=known)

    def halt(self, error: Exception, separator: str = "") -> HaltError:
        """Keep an error for the end of the run."""
        self.error, self.failed = error, separator
        return self._halted(StopReason.NUMERICAL, f"{type(error).__name__}: {error}")

    def halt_reason(self) -> StopReason:
        """Why nobody is asked any more, once a HaltError has said so."""
        assert self.stop is not None
        return self.stop

    def _halted(self, stop: StopReason, words: str) -> HaltError:
        self.stop, self.words = stop, words
        return HaltError()

    def _answer(self, name: str, separator: Separator, x: Array) -> list[Any]:
        try:
            given = separator(Point(self.model, self.base, x))
        except Exception as error:
            raise self.halt(error, name) from error
        if isinstance(given, list | tuple):
            return list(given)
        told = TypeError(
            f"separator {name} returned {type(given).__name__}: it must return a list of rows, "
            "an empty one where nothing is separated"
        )
        raise self.halt(told)

    def _missed(self, name: str, given: list[Any], x: Array) -> list[FoundRow]:
        """The rows among those given that the point misses, checked."""
        missed: list[FoundRow] = []
        for thing in given:
            if isinstance(thing, Cut):
                self._cuts.add(thing)
        for thing in given:
            try:
                number = len(self.rows) + len(missed)
                known = self._cuts.row(thing) if isinstance(thing, Cut) else thing
                row = read_row(known, self.model, self.base, name, number)
                if not self.misses(row, x):
                    continue
                self._check(row)
            except (TypeError, ValueError, InvalidCutError) as error:
                raise self.halt(error) from error
            missed.append(row)
        return missed

    def _check(self, row: FoundRow) -> None:
        if row.verify is not None:
            row.verify()
        if self.debug is None:
            return
        if self.misses(row, self.debug):
            excess = row.excess(self.debug) / row.scale
            raise InvalidCutError(
                f"row {row.name} of separator {row.separator} cuts off the debug point by "
                f"{excess:.6g}: {row.relation}"
            )

    def _note(
        self, missed: list[FoundRow], x: Array, bound: float | None, node: int | None
    ) -> None:
        self.rounds += 1
        seconds = time.perf_counter() - self._began
        for row in missed:
            self.rows.append(row)
            self.steps.append(
                SeparationStep(
                    self.rounds, node, row.separator, row.name, row.excess(x), self._known(bound),
                    None, seconds,
                )
            )  # fmt: skip
        if len(self.rows) >= self.row_limit:
            self._halted(StopReason.ROUND_LIMIT, f"{len(self.rows)} rows were found, the limit")

    def _known(self, bound: float | None) -> float | None:
        """A bound in the sense of the model; None for one that is no number."""
        if bound is None or not math.isfinite(bound) or abs(bound) >= 1e20:
            return None
        return self.base.sense * bound
