"""Text of the pages: one for every record, and one that adds them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from benchmarks.results.outcomes import (
    MEANINGS,
    UNSTATED,
    Judged,
    Outcome,
    absent,
    counted,
    failing,
    fails,
    judged,
    place,
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
from tightmargin.solvers.proofs.verdict import Verdict

LONG = 40  # rows; a longer table is folded
KIND_WORDS = {
    "solver": "the paper's solver stopped elsewhere",
    "sample": "other random points, splits or labels",
    "definition": "the paper leaves open what is counted",
    "unknown": "not known why",
    "impossible": "cannot be right",
    "incomparable": "cannot be compared",
}

HOW = """\
## Running them again

`make results` runs whatever has no finished record yet, the long ones last, and writes these pages; `make results
ARGS="lee --minutes 30"` runs the four of one paper and stops after half an hour, as Ctrl-C does. `tightmargin reproduce NAME`
makes the same run and prints it, with tables in csv and LaTeX.

Finished runs are kept one by one in `out/results`, and the same command goes on from there. A kept run counts only for the code, the
data and the versions of solvers that made it. So a run of hours is left in a worktree whose files stay as they are:

```
git worktree add --detach ../results-run && cd ../results-run
make results ARGS="cepeda-gomez-han-table1 --minutes 60"      # as often as it takes
cp docs/results/cepeda-gomez-han-table1.* ../tightmargin/docs/results/
cd ../tightmargin && make results ARGS=--pages                # writes the pages, and runs nothing
```

A run that was stopped leaves a record too, of what is in. Its page says so, and none of its numbers is judged or counted above."""  # noqa: E501


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
    parts = [f"# {_words(report.title)}", _opening(record, numbers)]
    for table in report.tables:
        parts += [f"## {_words(_upper(table.title))}", _shown(table)]
    if picture:
        parts.append(f"![{report.title}]({picture})")
    parts += _differences(numbers)
    if report.judged:
        listed = [f"- {claim.outcome}: {_words(claim.text)}" for claim in report.judged]
        parts += ["## What was checked", "\n".join(listed)]
    if record.finished and fails(record):
        parts.append(f"Not everything holds or is proven: {_words(_why(record))}.")
    if report.notes:
        parts += ["## Notes", "\n".join(f"- {_words(note)}" for note in report.notes)]
    parts += ["## How it was run", _run(record)]
    return "\n\n".join(parts) + "\n"


def _opening(record: Record, numbers: Sequence[Judged]) -> str:
    if not record.finished:
        return (
            f"**Not finished: {_words(record.report.unfinished)}.** What stands here is of these "
            "alone; nothing of it is judged, and the paper's numbers are beside it for orientation."
        )
    if not numbers:
        return "The paper prints no numbers here; what it says in words is checked below."
    counts = Counter(number.outcome for number in numbers)
    return (
        f"Printed numbers: {len(numbers)}, of which {_listed(counts)}. [](index.md) has all "
        "reproductions."
    )


def _listed(counts: Counter[Outcome]) -> str:
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


def _why(record: Record) -> str:
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
    lines = [_line(map(_words, heads)), _line(sides)]
    for row in table.rows:
        cells = [_words(word) for word in row.words]
        cells += [
            _cell(row.cells.get(column.name), column.form, table.printed(column.name))
            for column in table.columns
        ]
        lines.append(_line([*cells, *[_proof(row)] * proven]))
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
        return _words(str(row.verdict))
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
        text = f"**{_upper(KIND_WORDS[reason.kind])}**, {many}: {_words(reason.text)}."
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
    return f"- {_words(at)}: paper {cell.printed}, ours {ours_text(cell)}{near}"


# --- the page of all ------------------------------------------------------------------------------


def index(records: Mapping[str, Record], names: Sequence[str]) -> str:
    """The summary.

    Parameters
    ----------
    records : mapping
        By name.
    names : sequence of str
        Of all reproductions.
    """
    done = [records[name] for name in names if name in records]
    finished = [record for record in done if record.finished]
    total = sum((counted(record) for record in finished), Counter[Outcome]())
    claims = [claim.holds for record in finished for claim in record.report.judged]
    opening = (
        "Every table and figure of the five papers that can be run again, at full size: "
        f"{len(finished)} of {len(names)} are finished. Of the {total.total()} numbers that the "
        f"papers print in them {_listed(total)}. {sum(claims)} of {len(claims)} statements that "
        "were checked besides hold."
    )
    parts = [
        "# Results", opening, _table(done), _unfinished(done, names), _meanings(total),
        *_causes(finished), *_statements(finished), *_impossible(finished),
        *_failures(finished), HOW, _contents(done),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(records: Iterable[Record]) -> str:
    heads = ["", "numbers", *map(str, Outcome), "statements that hold", "s", "run on"]
    lines = [_line(heads), _line([":---", *["---:"] * (len(heads) - 2), ":---"])]
    for record in records:
        link = f"[{_words(record.source)}]({record.name}.md)"
        end = [seconds_text(record.seconds), record.date]
        if record.finished:
            counts = counted(record)
            numbers = [str(counts.total()), *(str(counts[one]) for one in Outcome)]
            claims = [claim.holds for claim in record.report.judged]
            middle = [*(n if n != "0" else "" for n in numbers), _share(claims)]
        else:
            middle = [f"not finished: {record.report.unfinished}", *[""] * (len(heads) - 4)]
        lines.append(_line([link, *middle, *end]))
    return "\n".join(lines)


def _share(claims: Sequence[bool]) -> str:
    return f"{sum(claims)} of {len(claims)}" if claims else ""


def _unfinished(records: Sequence[Record], names: Sequence[str]) -> str:
    """Which are stopped, which have no record, and why."""
    have = {record.name for record in records}
    lines = [
        f"- `{record.name}`: {_words(record.report.unfinished)} are in"
        for record in records
        if not record.finished
    ]
    why = absent()
    lines += [f"- `{name}`: {why.get(name, 'not run yet')}" for name in names if name not in have]
    return "Not finished, and counted nowhere:\n\n" + "\n".join(lines) if lines else ""


def _meanings(total: Counter[Outcome]) -> str:
    lines = [f"- *{one}*: {MEANINGS[one]}" for one in Outcome if total[one]]
    return "\n".join(lines)


def _causes(records: Iterable[Record]) -> list[str]:
    """Why numbers differ, by kind of reason."""
    found = Counter(
        one.reason.kind
        for record in records
        for one in judged(record)
        if one.reason is not None and one.outcome in (Outcome.NEAR, Outcome.DIFFERS)
    )
    lines = [
        _line(["numbers within the stated distance or different", ""]),
        _line([":---", "---:"]),
    ]
    lines += [_line([KIND_WORDS[kind], str(number)]) for kind, number in found.most_common()]
    return ["## Why numbers differ", "\n".join(lines)] if found else []


def _statements(records: Iterable[Record]) -> list[str]:
    """What became of the statements that reproductions list one by one."""
    tables = {
        record.name: (record, Counter(row.words[-1] for row in table.rows))
        for record in records
        for table in record.report.tables
        if table.name.endswith("-statements")
    }
    words = sorted({word for _, counts in tables.values() for word in counts})
    if not tables:
        return []
    lines = [_line(["", "statements", *words]), _line([":---", *["---:"] * (len(words) + 1)])]
    for record, counts in tables.values():
        numbers = [counts.total(), *(counts[word] for word in words)]
        lines.append(_line([f"[{_words(record.source)}]({record.name}.md)", *map(str, numbers)]))
    return ["## Statements one by one", "\n".join(lines)]


def _impossible(records: Iterable[Record]) -> list[str]:
    """The printed numbers that cannot be right, with what shows it."""
    lines = []
    for record in records:
        found = [one for one in judged(record) if one.outcome is Outcome.IMPOSSIBLE]
        for reason, group in groupby(found, key=lambda one: one.reason):
            assert reason is not None
            places = "; ".join(f"{place(one.row, one.column)} {one.cell.printed}" for one in group)
            lines.append(f"- {_words(record.source)}, {_words(places)}: {_words(reason.text)}")
    return ["## Printed numbers that cannot be right", "\n".join(lines)] if lines else []


def _failures(records: Iterable[Record]) -> list[str]:
    """What our own runs leave open."""
    lines = [f"- {_words(one.source)}: {_words(_why(one))}" for one in records if fails(one)]
    return ["## What does not hold here, or is not proven", "\n".join(lines)] if lines else []


def _contents(records: Iterable[Record]) -> str:
    names = "\n".join(record.name for record in records)
    return f":::{{toctree}}\n:hidden:\n\n{names}\n:::"


# --- words ----------------------------------------------------------------------------------------


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _words(text: str) -> str:
    """Plain words as Markdown: nothing in them is markup."""
    return "".join(rf"\{sign}" if sign in r"\`*_[]<>|$#~" else sign for sign in text)
