"""What searches and paths of the families have in common: their results, and proofs as files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.data.multiclass_data import BuilderData
from tightmargin.formulations.data.training_data import GramData
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text, with_bound
from tightmargin.printing import Drawn, Page, Printed, field_names, value_text
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.engines.running import Limits, StopReason
from tightmargin.solvers.findings import result_of_finding
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import CLOSED, FeasiblePoint, LowerBound
from tightmargin.solvers.kernel.verdict import Judgement, Verdict, judged, weakest
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.registry import Finding, Values, build
from tightmargin.solvers.result import SolveResult, refuse_bad_path, search_page
from tightmargin.solvers.result_proof import with_proof
from tightmargin.solvers.solve import as_written, solve
from tightmargin.solvers.tables import Framed, fits_in_a_cell, table_page

# --- What a search or a row of a path is about, and the file of its proof ------------------------


@dataclass(frozen=True, eq=False, repr=False)
class CatalogueModel(Printed):
    """A model of the catalogue, by what it is built from.

    entry: its name.
    data: of the search; of a kernel matrix the entry may take the points behind it.
    parameters: hyperparameters.
    """

    entry: str
    data: BuilderData
    parameters: Mapping[str, Any]

    def model(self) -> pyo.ConcreteModel:
        """Build it."""
        data = self.data
        if isinstance(data, GramData) and not isinstance(data, CATALOGUE[self.entry].takes):
            data = data.points
        return build(self.entry, data, **self.parameters)


class WithProofFile:
    """Base of what is proven of a model of the catalogue."""

    __slots__ = ()

    @property
    def about(self) -> CatalogueModel | None:
        """That model; None beside rows of one's own, and of what was read from a file."""
        return None

    def save_proof(self, path: str | Path) -> Path:
        """Write the proof as a file that anybody can check (docs/proof_files.md).

        It speaks of the model of the catalogue that this is about, which is built for it.

        Parameters
        ----------
        path : str or path
            Ends in .json or .json.gz.

        Raises
        ------
        ValueError
            A path that cannot be written to, no model of the catalogue, or nothing that is proven
            in exact arithmetic. No file is written then.
        """
        refuse_bad_path(path)
        if self.about is None:
            raise ValueError(
                f"this {type(self).__name__} is of no model of the catalogue: it was read from a "
                "file, or has rows of its own. Solve the model by tm.solve, and save that proof"
            )
        return self._result(self.about).save_proof(path)

    def _result(self, about: CatalogueModel) -> SolveResult:
        """The same of the model: solved again, which a row of a path costs little."""
        return solve(about.model(), live=False)


# --- Results of searches -------------------------------------------------------------------------


TRACED = 400  # steps of the bound that a trace shows at most


def open_share(objective: float, bound: float) -> float:
    """What of an objective is not proven, as a share of its size; infinite without a point."""
    if not np.isfinite(objective):
        return np.inf
    if objective <= bound:
        return 0.0
    return (objective - bound) / abs(objective) if objective else np.inf


@dataclass(frozen=True, repr=False)
class TracePoint(Printed):
    """Bound and incumbent after some seconds and nodes."""

    seconds: float
    nodes: int
    bound: float
    objective: float


Progress = Callable[[TracePoint], None]


class Trace:
    """Where a search stood whenever its bound or its incumbent moved; somebody may be told."""

    def __init__(self, progress: Progress = lambda point: None) -> None:
        self.points: list[TracePoint] = []
        self.progress = progress

    def note(
        self, seconds: float, nodes: int, bound: float, objective: float, *, last: bool = False
    ) -> None:
        """Add a point; `last`: in any case."""
        now = TracePoint(seconds, nodes, bound, objective)
        if self.points and not last:
            before = self.points[-1]
            moved = now.bound - before.bound > abs(now.objective) / TRACED
            if not moved and now.objective == before.objective:
                return
        self.points.append(now)
        self.progress(now)


class Searched(WithProofFile):
    """Base of what a search has found: its finding is judged on the model, nothing searched again.

    seconds: of the search.
    """

    __slots__ = ()
    seconds: float

    def _result(self, about: CatalogueModel) -> SolveResult:
        model = about.model()
        written = as_written(model)
        case = Case(written.model, Subject(written.form), written.origin, Limits())
        finding = next(_FINDINGS[kind] for kind in type(self).__mro__ if kind in _FINDINGS)
        result = result_of_finding(finding(model.origin, self), (), model, case)
        return with_proof(None, case, replace(result, seconds=self.seconds))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GlobalSearch(Searched, Framed, Drawn):
    """What every global search returns; the others add where the best point is.

    Attributes
    ----------
    objective : float
        Of the best point; infinite where none was found.
    bound : float
        Proven: no point has a smaller objective.
    stop : StopReason
    seconds : float
    trace : tuple of TracePoint
        Bound and objective over time, some hundred at most; the last is the end.
    about : CatalogueModel or None
        The model of the catalogue that it is about.
    """

    objective: float
    bound: float
    stop: StopReason
    seconds: float
    trace: tuple[Any, ...]
    about: CatalogueModel | None = field(default=None, repr=False)
    _parts: ClassVar[str] = ".w, .b, .trace, .to_frame()"

    @property
    def gap(self) -> float:
        """(objective - bound) / |objective|; infinite without a point."""
        return open_share(self.objective, self.bound)

    @property
    def proven(self) -> bool:
        """Whether the gap is closed."""
        return self.stop is StopReason.PROVEN

    def _title(self) -> str:
        return type(self).__name__

    def _effort(self) -> str:
        return f"{self.seconds:.2g} s"

    def _page(self) -> Page:
        return search_page(
            self._title(),
            self.objective,
            self.bound,
            ended=str(self.stop),
            effort=self._effort(),
            parts=self._parts,
        )


_FINDINGS: dict[type, Callable[[Origin, Any], Finding]] = {}


def register_finding(kind: type, finding: Callable[[Origin, Any], Finding]) -> None:
    """Say what a result of a search is to a model of the catalogue."""
    _FINDINGS[kind] = finding


def status_of(stop: StopReason) -> Status:
    """What the end of a search says of its best point."""
    words = {StopReason.PROVEN: Status.OPTIMAL, StopReason.INTERRUPTED: Status.INTERRUPTED}
    return words.get(stop, Status.FEASIBLE)


def finding_of(
    found: GlobalSearch,
    values: Values,
    engine: str,
    bound: Lemma | None,
    *,
    over: str,
    effort: str,
    share: bool = False,
    no_point: str = "",
    **counts: Any,
) -> Finding:
    """A search as dispatch takes it.

    over: what it branches on, which has none of the model's rows.
    effort: how much it did, for the sentence on a gap that is open.
    share: whether that sentence gives the gap as a share of the objective.
    counts: the same in numbers, for the certificate's facts.
    """
    message = ""
    if not found.proven and np.isfinite(found.objective):
        gap = f"{100 * found.gap:.2f} %" if share else f"{found.objective - found.bound:.3g}"
        message = f"{found.stop.replace('_', ' ')}: the gap is {gap} after {effort}"
    facts = {
        "no_duals": f"no multipliers: a search over {over} has none of the model's rows",
        "stop": str(found.stop),
        **counts,
        "trace": [[p.seconds, p.bound, p.objective] for p in found.trace],
    }
    return Finding(
        values, status_of(found.stop), engine, bound=bound, facts=facts, message=message,
        no_point=no_point,
    )  # fmt: skip


# --- Rows of paths -------------------------------------------------------------------------------


PROOFS = ("attained", "below", "about")  # what no file holds
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


class Proven(WithProofFile, Printed):
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
    """The fields of a row by name, but for its proofs and its data, which no file can hold."""
    return {name: part for name, part in vars(row).items() if name not in PROOFS}


def row_numbers(row: Row) -> dict[str, Any]:
    """The fields of a row as they are written to files, with what follows from its proofs."""
    found = {"upper": row.upper, "bound": row.bound, "gap": row.gap, "verdict": str(row.verdict)}
    return fields_of(row) | found
