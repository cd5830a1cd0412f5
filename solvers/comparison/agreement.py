"""One table for many solvers, and whether they agree on every model.

The reference of a model is the value with the smallest proven gap; where no value is proven, the
best of those whose bound is a solver's claim. A solver agrees when its value is as near to the
reference as its own tolerance, stated in solvers/backends/registry.py, and what the reference
leaves open admit. One that was stopped by the clock may be worse than the reference, never better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tightmargin.number_words import count_text
from tightmargin.printing import Page
from tightmargin.solvers.comparison.solver_runs import SolverRun
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.printing.tables import Framed, latex_of, table_page
from tightmargin.solvers.proofs.verdict import Verdict

COLUMNS = (
    "entry", "class", "solver", "version", "status", "objective", "proven bound", "difference",
    "tolerance", "agrees", "seconds", "certificate",
)  # fmt: skip

_NO_OPTIMUM = {Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED}


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Framed):
    """Answers of several solvers to several models."""

    rows: tuple[SolverRun, ...]
    _columns = COLUMNS

    def reference(self, row: SolverRun) -> SolverRun | None:
        """The answer that a row is measured by; None when no value is proven or claimed."""
        known = [r for r in self._answered(row) if r.objective is not None]
        proven = [r for r in known if _verdict(r).closed]
        if proven:
            return min(proven, key=_open_gap)
        claimed = [r for r in known if _verdict(r) is Verdict.SOLVER_BOUND]
        return min(claimed, key=lambda r: r.model.sense * (r.objective or 0.0), default=None)

    def difference(self, row: SolverRun) -> float | None:
        """Objective minus that of the reference, relative to max(1, |reference|)."""
        reference = self.reference(row)
        if reference is None or reference.objective is None or row.objective is None:
            return None
        return (row.objective - reference.objective) / max(1.0, abs(reference.objective))

    def agrees(self, row: SolverRun) -> bool | None:
        """Whether a row is as near to the reference as it claims; None when nothing can be said.

        Nothing can be said of a refusal, of the only answer, of models without a reference, and of
        a point found before the clock ran out.
        """
        if row.failed:
            return False
        others = [r for r in self._answered(row) if r is not row]
        if row.result is None or not others:
            return None
        reference, difference = self.reference(row), self.difference(row)
        if reference is None:
            return self._same_verdict_without_optimum(row)
        if difference is None:
            return None if row.stopped else False
        allowed = row.tolerance + _left_open(reference)
        if row.stopped and row.model.sense * difference > allowed:
            return None
        return abs(difference) <= allowed

    def disagreements(self) -> list[str]:
        """A sentence for every row that does not agree."""
        return [self._disagreement(row) for row in self.rows if self.agrees(row) is False]

    def unproven(self) -> list[str]:
        """A sentence for every model of which no solver gave a value that stands."""
        return [
            f"{rows[0].model.label}: no solver gave a value that is proven or claimed optimal"
            for rows in self.models()
            if self.reference(rows[0]) is None and not self._without_optimum(rows[0])
        ]

    def models(self) -> list[list[SolverRun]]:
        """Rows of each model."""
        found: dict[int, list[SolverRun]] = {}
        for row in self.rows:
            found.setdefault(id(row.model), []).append(row)
        return list(found.values())

    def _page(self) -> Page:
        wrong = len(self.disagreements())
        told = count_text(wrong, "disagreement") if wrong else "no disagreement"
        title = f"Agreement: {count_text(len(self.models()), 'model')}, {told}"
        columns = ("entry", "solver", "status", "objective", "agrees", "seconds")
        return table_page(title, self._records(), columns, more=".rows, .to_frame(), .to_latex()")

    def _records(self) -> list[dict[str, Any]]:
        """One row for every model and solver, in the order of `COLUMNS`."""
        return [self.record(row) for row in self.rows]

    def to_latex(self, columns: Sequence[str] | None = None) -> str:
        """LaTeX table (booktabs).

        Parameters
        ----------
        columns : sequence of str, optional
            Of `to_frame`, in the order wanted; all of them otherwise.

        Raises
        ------
        ValueError
            A column that is none.
        """
        frame = self.to_frame()
        formats = {"difference": "{:.1e}", "tolerance": "{:.0e}", "seconds": "{:.3f}"}
        for column, form in formats.items():
            frame[column] = ["" if x != x or x is None else form.format(x) for x in frame[column]]
        frame["certificate"] = [str(text).partition(" (")[0] for text in frame["certificate"]]
        return latex_of(frame, columns, "%.9g")

    def record(self, row: SolverRun) -> dict[str, Any]:
        """One row as plain values, by column."""
        result = row.result
        cells = (
            row.model.label,
            row.model.problem_class,
            row.solver,
            row.version,
            row.status,
            row.objective,
            None if result is None else result.bound,
            self.difference(row),
            row.tolerance,
            {True: "yes", False: "NO", None: "-"}[self.agrees(row)],
            None if result is None else result.seconds,
            row.certificate,
        )
        return dict(zip(COLUMNS, cells, strict=True))

    def _answered(self, row: SolverRun) -> list[SolverRun]:
        return [r for r in self.rows if r.model is row.model and r.result is not None]

    def _without_optimum(self, row: SolverRun) -> bool:
        """Whether every answer to the row's model is that it has no optimum."""
        said = {r.result.status for r in self._answered(row) if r.result is not None}
        return bool(said) and said <= _NO_OPTIMUM

    def _same_verdict_without_optimum(self, row: SolverRun) -> bool | None:
        """Whether all say the same of a model without optimum, "infeasible or unbounded" aside."""
        if not self._without_optimum(row):
            return None
        said = {r.result.status for r in self._answered(row) if r.result is not None}
        return len(said - {Status.INFEASIBLE_OR_UNBOUNDED}) <= 1

    def _disagreement(self, row: SolverRun) -> str:
        reference = self.reference(row)
        if row.failed:
            return f"{row.model.label}: {row.solver} {row.refusal}: {row.sentence}"
        if reference is None:
            return f"{row.model.label}: {row.solver} says {row.status}, and others do not"
        best = f"{reference.solver} has {reference.objective:.9g}"
        if row.objective is None:
            return (
                f"{row.model.label}: {row.solver} says {row.status} ({row.certificate}), and {best}"
            )
        return (
            f"{row.model.label}: {row.solver} ends at {row.objective:.9g} and {best}, which is "
            f"{abs(self.difference(row) or 0.0):.1e} away; its tolerance is {row.tolerance:.0e}"
        )


def _verdict(row: SolverRun) -> Verdict:
    assert row.result is not None
    return row.result.certificate.verdict


def _open_gap(row: SolverRun) -> float:
    """Proven gap, relative to max(1, |objective|)."""
    assert row.result is not None
    gap = row.result.certificate.gap
    return float("inf") if gap is None else abs(gap)


def _left_open(reference: SolverRun) -> float:
    """How far the reference itself may be off."""
    if _verdict(reference).closed:
        return _open_gap(reference)
    return reference.tolerance
