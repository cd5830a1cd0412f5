"""The compare command with several solvers: every formulation with each of them, in one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.cli import options
from tightmargin.experiments.cli.settings import refuse_unknown, split_preprocessing
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.console.tables import BAD, GOOD, WARN, fits, plain_table, show
from tightmargin.experiments.data.loading import about
from tightmargin.experiments.data.preparation import PREPROCESSING
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.gap_study.comparing import (
    ALL,
    COLUMNS,
    Agreement,
    SolverRun,
    labelled_models,
    solver_runs,
    solvers_named,
)
from tightmargin.experiments.gap_study.rungs import Rung
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.experiments.paths.family import Settings
from tightmargin.experiments.plots.performance_profile import save_solver_profile
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.result import was_interrupted

NARROW = ("solver", "objective", "difference", "agrees", "seconds", "certificate")
WIDE = 150  # characters that all columns need
_RIGHT = ("objective", "proven bound", "difference", "tolerance", "seconds")


def asks_for_several(solver: str) -> bool:
    """Whether --solver names several: all, or a list with commas."""
    return solver == ALL or "," in solver


@dataclass(frozen=True)
class Question:
    """What is to be solved: formulations on data, the settings common to them, and solvers."""

    rungs: Sequence[Rung]
    spec: str
    settings: Settings
    label: str | None
    positive: str | None
    choice: options.SolverChoice


def compare_solvers(
    question: Question,
    csv: Path | None,
    latex: Path | None,
    json: bool,
    profile: Path | None = None,
) -> int:
    """Solve every formulation with every solver, print the table and judge it."""
    solvers_named(question.choice.solver)
    refuse_strange(question.rungs)
    refuse_unknown(question.settings, dict.fromkeys(rung.formulation for rung in question.rungs))
    preprocessing, common = split_preprocessing(question.settings)
    with working("loading data", log=question.choice.log) as say:
        names = dict.fromkeys(rung.formulation for rung in question.rungs)
        prepared = options.prepared_data(
            names, question.spec, question.label, question.positive, preprocessing
        )
        specs = [(rung.formulation, rung.parameters) for rung in question.rungs]
        labels = {k: rung.name for k, rung in enumerate(question.rungs)}
        limit = question.choice.time_limit
        models = labelled_models(prepared.data, specs, common, labels, time_limit=limit)
        found, interrupted = _collect(models, question.choice, say)
    agreement = Agreement(tuple(found))
    if csv is not None:
        agreement.to_frame().to_csv(csv, index=False)
    if latex is not None:
        latex.write_text(agreement.to_latex(), encoding="utf-8")
    if profile is not None:
        count = len(agreement.models())
        title = f"{question.spec}, {count} formulation{'s' * (count > 1)}"
        save_solver_profile(agreement, profile, title)
    if json:
        emit("compare", document(question, prepared, agreement))
    else:
        words = ", ".join(f"{word} = {value}" for word, value in question.settings.items())
        title = f"{question.spec}{words and f' ({words})'}"
        show(agreement_page(title, agreement))
    if interrupted:
        complain(f"interrupted: {len(found)} rows are finished")
        return 130
    return judge(agreement)


def refuse_strange(rungs: Iterable[Rung]) -> None:
    """Refuse settings of a row that its formulation does not have, or that are about the data."""
    for rung in rungs:
        refuse_unknown(rung.parameters, [rung.formulation])
        data_words = [word for word in rung.parameters if word in PREPROCESSING]
        if data_words:
            raise ValueError(
                f"{rung.name}: all rows read the same data; give {data_words[0]} with --set"
            )


def _collect(
    models: Sequence[Any], choice: options.SolverChoice, say: Any
) -> tuple[list[SolverRun], bool]:
    """Answers as far as they are finished, and whether the user stopped them."""
    found: list[SolverRun] = []
    try:
        for answer in solver_runs(models, choice.solver, progress=say, **choice.limits):
            found.append(answer)
            if answer.result is not None and was_interrupted(answer.result):
                return found, True
    except KeyboardInterrupt:
        return found, True
    return found, False


def document(question: Question, prepared: Prepared, agreement: Agreement) -> dict[str, Any]:
    """The table as plain values: the columns as they are, with underscores."""
    keys = [name.replace(" ", "_") for name in COLUMNS]
    rungs = {rung.name: rung for rung in question.rungs}
    rows = [
        dict(zip(keys, agreement.record(row).values(), strict=True))
        | {
            "agrees": agreement.agrees(row),
            "formulation": rungs[row.model.label].formulation,
            "parameters": dict(rungs[row.model.label].parameters),
            "refusal": row.sentence or None,
        }
        for row in agreement.rows
    ]
    return {
        "data": about(prepared.raw),
        "settings": dict(question.settings),
        "rows": rows,
        "disagreements": [*agreement.disagreements(), *agreement.unproven()],
    }


def judge(agreement: Agreement) -> int:
    """Exit code: 1 when solvers disagree or nothing is proven, 3 without optimum, 4 at a limit."""
    complaints = [*agreement.disagreements(), *agreement.unproven()]
    for line in complaints:
        complain(line)
    if complaints:
        return 1
    if any(agreement.reference(row) is None for row in agreement.rows):
        return 3
    return 4 if any(row.stopped for row in agreement.rows) else 0


# --- the page -------------------------------------------------------------------------------------


def agreement_page(title: str, agreement: Agreement) -> Group:
    """One row a model and solver, then what does not agree; a table a model on narrow screens."""
    note = "difference from the best proven value of the entry, and tolerance of the solver, are "
    footer = [Text(f"{note}relative to max(1, |value|)", style="dim")]
    footer += [Text(f"NO: {line}", style=BAD) for line in agreement.disagreements()]
    footer += [Text(line, style=BAD) for line in agreement.unproven()]
    body = _one_table(agreement) if fits(WIDE) else _a_table_each(agreement)
    return Group(Text(title, style="bold"), *body, *footer)


def _one_table(agreement: Agreement) -> list[RenderableType]:
    table = plain_table(*COLUMNS, right=_RIGHT)
    for rows in agreement.models():
        for row in rows:
            cells = _cells(agreement, row)
            table.add_row(*(cells[name] for name in COLUMNS))
        table.add_section()
    return [table]


def _a_table_each(agreement: Agreement) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for rows in agreement.models():
        table = plain_table(*NARROW, right=_RIGHT)
        for row in rows:
            cells = _cells(agreement, row)
            table.add_row(*(cells[name] for name in NARROW))
        parts += [Text(f"{rows[0].model.label} ({rows[0].model.problem_class})"), table, Text()]
    return parts


def _cells(agreement: Agreement, row: SolverRun) -> Mapping[str, RenderableType]:
    record: dict[str, Any] = agreement.record(row)
    style = {"yes": GOOD, "NO": BAD, "-": ""}[record["agrees"]]
    if row.result is None:
        style_of_certificate = BAD if row.failed else WARN
    else:
        verdict = row.result.certificate.verdict
        styles = {Verdict.CERTIFIED: GOOD, Verdict.WITHIN_TOLERANCE: WARN}
        style_of_certificate = styles.get(verdict, "")
    return {
        **{name: str(record[name]) for name in ("entry", "class", "solver", "version", "status")},
        "objective": _number(record["objective"], ".9g"),
        "proven bound": _number(record["proven bound"], ".9g"),
        "difference": _number(record["difference"], ".1e"),
        "tolerance": _number(record["tolerance"], ".0e"),
        "agrees": Text(record["agrees"], style=style),
        "seconds": "-" if record["seconds"] is None else seconds_text(record["seconds"]),
        "certificate": Text(record["certificate"], style=style_of_certificate),
    }


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
