"""Sentences of a paper that can be put to the test, what our runs say of them, and their table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyomo.environ as pyo

from tightmargin.experiments.reproduce.framework import runs
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.solvers.result import SolveResult

HOLDS, MISPRINT = "holds", "misprint"
COUNTEREXAMPLE, NOT_CHECKABLE = "counterexample", "not checkable"
FAILS = "FAILS"  # neither the print nor its correction: no entry of a list asks for it
SAME = 2e-6  # relative: values whose proven gaps are at most 1e-6 each
CLOSELY = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}

Finding = dict[str, Any]  # plain values, so that a store can keep it

KEYS = (
    Column("about", "about"), Column("place", "place"), Column("statement", "statement"),
    Column("finding", "finding"),  # csv and JSON have a verdict of the certificate beside it
)  # fmt: skip
COLUMNS = (
    Column("as stated", "as stated", ".6g"), Column("ours", "ours", ".6g"),
    Column("corrected", "corrected", ".6g"),
)  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """A sentence, formula or condition of the paper.

    key: by which its finding is found; empty for slips of the pen, and for what no run can show.
    place, text: where it stands, and what it says, in plain words.
    verdict: what our runs, or a look at the page, have to say of it.
    about: a word for the group of statements that it belongs to.
    """

    key: str
    place: str
    text: str
    verdict: str
    about: str = ""

    @property
    def shown(self) -> bool:
        """Whether there are numbers."""
        return bool(self.key)


def optimum(model: pyo.ConcreteModel) -> tuple[SolveResult, float]:
    """A model solved far beyond what its certificate asks for, and its objective."""
    return runs.optimum(model, "clarabel", options=CLOSELY)


def finding(
    key: str,
    *,
    stated: float,
    ours: float,
    holds: bool,
    corrected: float | None = None,
    corrected_holds: bool | None = None,
    counterexample: bool = False,
    results: Sequence[SolveResult] = (),
) -> Finding:
    """What a run says of one statement.

    stated, ours, corrected: the number that the statement is about, as printed, as measured, as
        corrected.
    holds, corrected_holds: whether measured and printed, or corrected, agree in the way that the
        statement says.
    counterexample: whether the run is a proof that it is false, without anything that could be
        corrected.
    results: what the numbers rest on; empty for closed forms.
    """
    return {
        "key": key, "stated": float(stated), "ours": float(ours), "holds": bool(holds),
        "corrected": None if corrected is None else float(corrected),
        "corrected_holds": None if corrected_holds is None else bool(corrected_holds),
        "counterexample": bool(counterexample),
        "gaps": [result.relative_gap for result in results],
        "proofs": [str(result.certificate.verdict) for result in results],
    }  # fmt: skip


def verdict_of(found: Mapping[str, Any]) -> str:
    """What the numbers of a finding say."""
    if found["holds"]:
        return HOLDS
    if found["corrected_holds"]:
        return MISPRINT
    return COUNTEREXAMPLE if found["counterexample"] else FAILS


def same(one: float, other: float) -> bool:
    """Whether two numbers are equal but for what their proofs leave open."""
    return abs(one - other) <= SAME * max(1.0, abs(one), abs(other))


def statement_table(
    name: str, title: str, statements: Sequence[Statement], found: Iterable[Finding]
) -> Table:
    """The statements in the order of the paper, with the verdict that the numbers give."""
    by_key = {one["key"]: one for one in found}
    rows = tuple(
        _row(one, by_key.get(one.key)) for one in statements if one.key in by_key or not one.shown
    )
    return Table(name, title, KEYS, COLUMNS, rows)


def _row(one: Statement, found: Finding | None) -> Row:
    if found is None:
        return Row((one.about, one.place, one.text, one.verdict), {})
    cells = {"as stated": Cell(found["stated"]), "ours": Cell(found["ours"])}
    if found["corrected"] is not None:
        cells["corrected"] = Cell(found["corrected"])
    key = (one.about, one.place, one.text, verdict_of(found))
    if not found["proofs"]:
        return Row(key, cells)
    return Row.of_runs(key, cells, found["gaps"], found["proofs"])


def statement_claim(statements: Sequence[Statement], found: Iterable[Finding]) -> PaperClaim:
    """How many hold, and whether every verdict is the one that the list has."""
    by_key = {one["key"]: verdict_of(one) for one in found}
    wrong = [
        f"{one.key} is {by_key.get(one.key, 'missing')}, not {one.verdict}"
        for one in statements
        if one.shown and by_key.get(one.key) != one.verdict
    ]
    count = {
        word: sum(one.verdict == word for one in statements)
        for word in (HOLDS, MISPRINT, COUNTEREXAMPLE, NOT_CHECKABLE)
    }
    text = (
        f"of {len(statements)} statements {count[HOLDS]} hold, {count[MISPRINT]} are misprints, "
        f"{count[COUNTEREXAMPLE]} have a counterexample and {count[NOT_CHECKABLE]} cannot be "
        "checked by a run"
    )
    return PaperClaim(text + (f"; BUT {'; '.join(wrong)}" if wrong else ""), not wrong)


def with_statements(
    report: Report,
    title: str,
    statements: Sequence[Statement],
    results: Iterable[Mapping[str, Any]],
    more: Sequence[Finding] = (),
) -> Report:
    """A report with the table of statements and the claim about them.

    title: of the table.
    results: of tasks; some have findings.
    more: what all results together say.
    """
    found = [one for result in results for one in result.get("findings", ())] + list(more)
    table = statement_table(f"{report.name}-statements", title, statements, found)
    return replace(
        report,
        tables=(*report.tables, table),
        claims=(*report.claims, statement_claim(statements, found)),
    )
