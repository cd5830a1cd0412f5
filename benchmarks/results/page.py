"""Text of the page of a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.results.outcomes import (
    UNSTATED,
    Judged,
    Outcome,
    failing,
    fails,
    judged,
)
from benchmarks.results.record import Record
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.experiments.reproduce.framework.comparison import (
    Cell,
    Row,
    Table,
    is_number,
    ours_text,
)
from tightmargin.solvers.kernel.verdict import Verdict

LONG = 40  # rows; a longer table is folded
KIND_WORDS = {
    "solver": "the paper's solver stopped elsewhere",
    "sample": "other random points, splits or labels",
    "definition": "the paper leaves open what is counted",
    "unknown": "not known why",
    "impossible": "cannot be right",
    "incomparable": "cannot be compared",
}


# --- the page of one reproduction -----------------------------------------------------------------


def page(record: Record, picture: str = "") -> str:
    """What was run, its tables beside the print, why numbers differ, what was checked.

    Parameters
    ----------
    record : Record
    picture : str
        Name of its file beside the page; "" without one.
    """
    report = record.report
    numbers = list(judged(record))
    parts = [f"# {words_of(report.title)}", _opening(record, numbers)]
    for table in report.tables:
        parts += [f"## {words_of(_upper(table.title))}", _shown(table)]
    if picture:
        parts.append(f"![{report.title}]({picture})")
    parts += _differences(numbers)
    if report.judged:
        listed = [f"- {claim.outcome}: {words_of(claim.text)}" for claim in report.judged]
        parts += ["## What was checked", "\n".join(listed)]
    if record.finished and fails(record):
        parts.append(f"Not everything holds or is proven: {words_of(why(record))}.")
    if report.notes:
        parts += ["## Notes", "\n".join(f"- {words_of(note)}" for note in report.notes)]
    parts += ["## How it was run", _run(record)]
    return "\n\n".join(parts) + "\n"


def _opening(record: Record, numbers: Sequence[Judged]) -> str:
    if not record.finished:
        return (
            f"**Not finished: {words_of(record.report.unfinished)}.** What stands here is of these "
            "alone; nothing of it is judged, and the paper's numbers are beside it for orientation."
        )
    if not numbers:
        return "The paper prints no numbers here; what it says in words is checked below."
    counts = Counter(number.outcome for number in numbers)
    return (
        f"Printed numbers: {len(numbers)}, of which {listed(counts)}. [](index.md) has all "
        "reproductions."
    )


def listed(counts: Counter[Outcome]) -> str:
    """How many numbers came out how, as a sentence goes on."""
    plural = {
        Outcome.AGREES: "agree", Outcome.NEAR: "are within the stated distance",
        Outcome.DIFFERS: "differ",
    }  # fmt: skip
    singular = {Outcome.NEAR: "is within the stated distance"}
    words = [
        f"{counts[one]} {(singular if counts[one] == 1 else plural).get(one, str(one))}"
        for one in Outcome
        if counts[one]
    ]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def why(record: Record) -> str:
    """Why statements of a record do not hold."""
    return failing().get(record.name, UNSTATED.text)


def _run(record: Record) -> str:
    kept = f", {record.runs} runs that are kept one by one" if record.runs else ""
    versions = ", ".join(f"{name} {number}" for name, number in record.versions.items())
    return (
        f"On {record.date}, {seconds_text(record.seconds)} s on one thread of {record.processor} "
        f"that had other work to do{kept}. With {versions}.\n\n"
        f"```\ntightmargin reproduce {record.name}\n```"
    )


def _shown(table: Table) -> str:
    legend = ""
    if any(True for _ in table.pairs()):
        legend = "A number alone is the paper's and ours; of two the first is the paper's.\n\n"
    text = legend + _markdown(table)
    if len(table.rows) <= LONG:
        return text
    return f"<details><summary>{len(table.rows)} rows</summary>\n\n{text}\n\n</details>"


def _markdown(table: Table) -> str:
    proven = any(row.verdict is not None for row in table.rows)
    heads = [key.name for key in table.keys] + [column.name for column in table.columns]
    heads += ["gap"] * proven
    sides = [_side(table, number) for number in range(len(table.keys))]
    sides += ["---:"] * (len(heads) - len(sides))
    lines = [line(map(words_of, heads)), line(sides)]
    for row in table.rows:
        cells = [words_of(word) for word in row.words]
        cells += [
            _cell(row.cells.get(column.name), column.form, table.printed(column.name))
            for column in table.columns
        ]
        lines.append(line([*cells, *[_proof(row)] * proven]))
    return "\n".join(lines)


def _side(table: Table, number: int) -> str:
    return "---:" if all(is_number(row.words[number]) for row in table.rows) else ":---"


def _cell(cell: Cell | None, form: str, beside: bool) -> str:
    if cell is None:
        return ""
    text = ours_text(cell, form)
    if not beside or not cell.printed:
        return text
    return text if cell.equal else f"{cell.printed} **{text}**"


def _proof(row: Row) -> str:
    if row.verdict is None:
        return ""
    if row.verdict is not Verdict.CERTIFIED:
        return words_of(str(row.verdict))
    return "proven" if row.relative_gap is None else f"{row.relative_gap:.0e}"


def _differences(numbers: Sequence[Judged]) -> list[str]:
    """Numbers by their reason, in the order of the reasons."""
    different = [number for number in numbers if number.reason is not None]
    if not different:
        return []
    reasons = dict.fromkeys(number.reason for number in different if number.reason)
    parts = []
    for reason in reasons:
        group = [number for number in different if number.reason is reason]
        listed = "\n".join(_difference(number) for number in group)
        many = f"{len(group)} number" + "s" * (len(group) > 1)
        text = f"**{_upper(KIND_WORDS[reason.kind])}**, {many}: {words_of(reason.text)}."
        if reason.kind == "incomparable" or len(group) > LONG:
            parts.append(text)
        else:
            parts.append(f"{text}\n\n<details><summary>{many}</summary>\n\n{listed}\n\n</details>")
    return ["## Why numbers differ", *parts]


def _difference(number: Judged) -> str:
    cell = number.cell
    at = number.table.place(number.row, number.column)
    near = ""
    if cell.allowed:
        near = f"; within {cell.allowed:.2g}" + ("" if cell.agrees else " it is not")
    return f"- {words_of(at)}: paper {cell.printed}, ours {ours_text(cell)}{near}"


# --- words ----------------------------------------------------------------------------------------


def line(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def words_of(text: str) -> str:
    """Plain words as Markdown: nothing in them is markup."""
    return "".join(rf"\{sign}" if sign in r"\`*_[]<>|$#~" else sign for sign in text)
