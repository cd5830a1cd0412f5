"""Text of the page that adds all records up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from benchmarks.results.outcomes import MEANINGS, Outcome, absent, counted, fails, judged, place
from benchmarks.results.page import KIND_WORDS, line, listed, why, words_of
from benchmarks.results.record import Record
from tightmargin.experiments.gap_study.table import seconds_text

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
        f"papers print in them {listed(total)}. {sum(claims)} of {len(claims)} statements that "
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
    lines = [line(heads), line([":---", *["---:"] * (len(heads) - 2), ":---"])]
    for record in records:
        link = f"[{words_of(record.source)}]({record.name}.md)"
        end = [seconds_text(record.seconds), record.date]
        if record.finished:
            counts = counted(record)
            numbers = [str(counts.total()), *(str(counts[one]) for one in Outcome)]
            claims = [claim.holds for claim in record.report.judged]
            middle = [*(n if n != "0" else "" for n in numbers), _share(claims)]
        else:
            middle = [f"not finished: {record.report.unfinished}", *[""] * (len(heads) - 4)]
        lines.append(line([link, *middle, *end]))
    return "\n".join(lines)


def _share(claims: Sequence[bool]) -> str:
    return f"{sum(claims)} of {len(claims)}" if claims else ""


def _unfinished(records: Sequence[Record], names: Sequence[str]) -> str:
    """Which are stopped, which have no record, and why."""
    have = {record.name for record in records}
    lines = [
        f"- `{record.name}`: {words_of(record.report.unfinished)} are in"
        for record in records
        if not record.finished
    ]
    reasons = absent()
    lines += [
        f"- `{name}`: {reasons.get(name, 'not run yet')}" for name in names if name not in have
    ]
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
        line(["numbers within the stated distance or different", ""]),
        line([":---", "---:"]),
    ]
    lines += [line([KIND_WORDS[kind], str(number)]) for kind, number in found.most_common()]
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
    lines = [line(["", "statements", *words]), line([":---", *["---:"] * (len(words) + 1)])]
    for record, counts in tables.values():
        numbers = [counts.total(), *(counts[word] for word in words)]
        lines.append(line([f"[{words_of(record.source)}]({record.name}.md)", *map(str, numbers)]))
    return ["## Statements one by one", "\n".join(lines)]


def _impossible(records: Iterable[Record]) -> list[str]:
    """The printed numbers that cannot be right, with what shows it."""
    lines = []
    for record in records:
        found = [one for one in judged(record) if one.outcome is Outcome.IMPOSSIBLE]
        for reason, group in groupby(found, key=lambda one: one.reason):
            assert reason is not None
            places = "; ".join(f"{place(one.row, one.column)} {one.cell.printed}" for one in group)
            lines.append(
                f"- {words_of(record.source)}, {words_of(places)}: {words_of(reason.text)}"
            )
    return ["## Printed numbers that cannot be right", "\n".join(lines)] if lines else []


def _failures(records: Iterable[Record]) -> list[str]:
    """What our own runs leave open."""
    lines = [f"- {words_of(one.source)}: {words_of(why(one))}" for one in records if fails(one)]
    return ["## What does not hold here, or is not proven", "\n".join(lines)] if lines else []


def _contents(records: Iterable[Record]) -> str:
    names = "\n".join(record.name for record in records)
    return f":::{{toctree}}\n:hidden:\n\n{names}\n:::"
