"""Full-size results of the papers: records, pages that follow from them, counts, runs in parts."""

from __future__ import annotations

import json
import math
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from benchmarks.results import __main__ as command
from benchmarks.results import outcomes
from benchmarks.results.outcomes import (
    Outcome,
    Reason,
    absent,
    counted,
    fails,
    judged,
    reasons,
    repeated,
)
from benchmarks.results.page import page
from benchmarks.results.record import FOLDER, Record, kept, read, short, trimmed, write
from benchmarks.results.summary import index
from tests.inside.experiments import (
    Cell,
    Column,
    PaperClaim,
    Report,
    Reproduction,
    Row,
    Table,
    everything,
    new_figure,
    ours_text,
    printed,
    run_tasks,
)
from tests.inside.experiments import PapersEffort as Effort
from tightmargin.solvers import Verdict

NAMES = [one.name for one in everything()]
RECORDS = kept()
# Where published.toml has the numbers of a reproduction that prints tables of them.
PRINTS = {
    "bi-vapnik-table2": ("bi_vapnik", "table2"),
    "bi-vapnik-table3-adult": ("bi_vapnik", "table3.adult"),
    "bi-vapnik-table3-wdbc": ("bi_vapnik", "table3.wdbc"),
    "cepeda-gomez-han-table1": ("cepeda_gomez_han", "table1"),
    "cepeda-gomez-han-table2": ("cepeda_gomez_han", "table2"),
    "cepeda-gomez-han-table3": ("cepeda_gomez_han", "table3"),
    "cepeda-gomez-han-table4": ("cepeda_gomez_han", "table4"),
    "perez-cruz-figure3": ("perez_cruz", "figure3"),
    "perez-cruz-table1": ("perez_cruz", "table1"),
    "perez-cruz-table3": ("perez_cruz", "table3 figure5"),
}


# --- what is kept --------------------------------------------------------------------------------


def test_every_reproduction_has_a_record_or_a_reason() -> None:
    assert set(RECORDS) | set(absent()) == set(NAMES)
    assert not set(RECORDS) & set(absent())
    assert sum(record.finished for record in RECORDS.values()) >= 10


def test_pages_follow_from_records() -> None:
    pages = {"index.md": index(RECORDS, NAMES)}
    pages |= {f"{name}.md": command.text_of(record) for name, record in RECORDS.items()}
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    assert found == pages, "make results ARGS=--pages"


def test_no_file_of_the_folder_is_without_a_record_and_all_are_small() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {"index", *RECORDS}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2e6


@pytest.mark.parametrize("name", sorted(set(PRINTS) & set(RECORDS)))
def test_a_finished_record_has_every_number_of_the_print_once(name: str) -> None:
    record = RECORDS[name]
    if not record.finished:
        assert list(judged(record)) == []
        return
    paper, places = PRINTS[name]
    parts = [reduce(getitem, place.split("."), printed(paper)) for place in places.split()]
    texts = [text for part in parts for text in leaves(part)]
    words = [word for text in texts for word in text.split("/") if word != "-"]
    assert Counter(one.cell.printed for one in judged(record)) == Counter(words)


def leaves(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
        return
    for branch in tree.values():
        yield from leaves(branch)


def rounds(ours: float, print_: str) -> bool:
    """Whether a number is the print to half of its last digit, in decimal arithmetic."""
    half = Decimal(5).scaleb(Decimal(print_).as_tuple().exponent - 1)  # type: ignore[operator]
    return abs(Decimal(ours) - Decimal(print_)) <= half * (1 + Decimal("1e-8"))


@cache
def summary_rows() -> dict[str, list[str]]:
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^\]]+\]\(([\w-]+)\.md\) \|(.*)\|$", text, flags=re.MULTILINE)
    found: dict[str, list[str]] = {}
    for name, cells in rows:
        found.setdefault(name, [cell.strip() for cell in cells.split("|")])
    return found


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_the_summary_counts_what_the_file_of_a_record_says(name: str) -> None:
    plain = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    cells = summary_rows()[name]
    if plain["unfinished"]:
        assert cells[0] == f"not finished: {plain['unfinished']}"
        return
    pairs = [
        cell for table in plain["tables"] if table["name"] != "cepeda-gomez-han-table1-shares"
        for row in table["rows"] for cell in row["cells"].values() if isinstance(cell, list)
    ]  # fmt: skip
    if name == "takeda-sugiyama-figure2":  # its text prints one number, and two rows have it
        assert [print_ for _, print_, *_ in pairs] == ["1", "1"]
        del pairs[1:]
    numbers = [int(text or 0) for text in cells[:6]]
    assert numbers[0] == len(pairs) == sum(numbers[1:])
    equal = sum(rounds(ours, print_) for ours, print_, *_ in pairs)
    assert numbers[1] <= equal <= numbers[1] + numbers[5], "agree, or stand beside no like"
    claims = plain["claims"]
    held = f"{sum(claim['holds'] for claim in claims)} of {len(claims)}"
    assert cells[6] == (held if claims else "")


def test_the_first_sentence_adds_up_the_table() -> None:
    rows = [cells for cells in summary_rows().values() if not cells[0].startswith("not")]
    total = sum(int(cells[0] or 0) for cells in rows)
    agreeing = sum(int(cells[1] or 0) for cells in rows)
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert f"{len(rows)} of {len(NAMES)} are finished" in text
    assert f"Of the {total} numbers that the papers print in them {agreeing} agree" in text


def test_every_number_that_differs_has_a_stated_reason_and_every_reason_a_number() -> None:
    for name, record in RECORDS.items():
        used = {id(one.reason) for one in judged(record)}
        assert id(outcomes.UNSTATED) not in used, name
        if record.finished:
            idle = [one.text for one in reasons(name) if id(one) not in used]
            assert idle == [], name
    assert set(outcomes._file()) - {"repeated", "once", "absent", "failing"} <= set(NAMES)


def test_what_does_not_hold_has_a_stated_reason() -> None:
    found = {name for name, record in RECORDS.items() if record.finished and fails(record)}
    assert found == outcomes.failing().keys() & RECORDS.keys()
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert all(RECORDS[name].source in text.partition("What does not hold")[2] for name in found)


def test_tables_that_are_left_out_print_what_another_has() -> None:
    for record in RECORDS.values():
        tables = {repeated(table): set[str]() for table in record.report.tables}
        for table in record.report.tables:
            tables[repeated(table)] |= {cell.printed for _, _, cell in table.pairs()}
        assert tables.get(True, set()) <= tables.get(False, set())


# --- one record ----------------------------------------------------------------------------------

KEYS = (Column("l", ""), Column("H", ""))
TABLE = Table(
    "t", "some | words", KEYS, (Column("R", ""), Column("C", "", ".3f")),
    (
        Row(("a_b", 0.25), {"R": Cell(16.05, "16.0", 0.15), "C": Cell(math.inf)}),
        Row(("c", "200"), {"R": Cell(5.189499, "5.190", None), "C": Cell(1 / 3)}, 1.234e-9,
            Verdict.CERTIFIED),
        Row(("d", "200"), {"R": Cell(16.12, "16.0", 0.15)}, 0.5, Verdict.NOT_CERTIFIED),
        Row(("e", "200"), {"R": Cell(7.0, "16.0", 0.15)}),
        Row(("f", "200"), {"R": Cell(16.0, "16.0")}),
        Row(("g", "200"), {"R": Cell(99.0, "16.0")}),
    ),
)  # fmt: skip
REPORT = Report(
    "some-table", "Some, Table 1", (TABLE, replace(TABLE, name="hidden", shown=False)),
    (PaperClaim("a < b", True), PaperClaim("b < a", False)), ("two * words",),
)  # fmt: skip
RECORD = Record(
    trimmed(REPORT), "Some, Table 1", "2026-01-01", 1.5, 3, "a machine", {"python": "3"}
)
REASONS = (
    Reason(("f, *", "g, 200: R"), "incomparable", "other points"),
    Reason(("e, 200: R",), "impossible", "it is negative"),
    Reason(("*: R",), "sample", "random"),
)


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write(RECORD, tmp_path)
    again = read(tmp_path / "some-table.json")
    assert again == replace(RECORD, report=again.report)
    assert [table.name for table in again.report.tables] == ["t"], "what is not shown is left out"
    mine, theirs = RECORD.report.tables[0], again.report.tables[0]
    assert mine.rows == theirs.rows
    assert page(again) == page(RECORD)
    assert kept(tmp_path).keys() == {"some-table"}


def test_short_numbers_are_written_and_judged_as_long_ones() -> None:
    for row, less in zip(TABLE.rows, RECORD.report.tables[0].rows, strict=True):
        for name, cell in row.cells.items():
            one = less.cells[name]
            assert (one.equal, one.agrees) == (cell.equal, cell.agrees)
            assert ours_text(one, ".3f") == ours_text(cell, ".3f")
    assert short(Cell(1 / 3), ".3f").ours == 0.333333
    assert short(Cell(5.18949928716582, "5.190"), ".4g").ours == 5.1894993


def test_files_that_are_no_records_are_refused(tmp_path: Path) -> None:
    write(RECORD, tmp_path)
    good = (tmp_path / "some-table.json").read_text()
    for name, text in {
        "some-table": good.replace("results/1", "results/2"),
        "other": good, "list": "[]", "none": "{", "half": '{"schema": "tightmargin-results/1"}',
    }.items():  # fmt: skip
        (tmp_path / f"{name}.json").write_text(text)
        with pytest.raises(ValueError, match=name):
            read(tmp_path / f"{name}.json")


def test_outcomes_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.reason for one in judged(RECORD)].count(outcomes.UNSTATED) == 4
    monkeypatch.setattr(outcomes, "reasons", lambda name: REASONS)
    assert [one.outcome for one in judged(RECORD)] == [
        Outcome.AGREES, Outcome.DIFFERS, Outcome.NEAR, Outcome.IMPOSSIBLE, Outcome.INCOMPARABLE,
        Outcome.INCOMPARABLE,
    ]  # fmt: skip
    text = page(RECORD)
    assert "1 agrees, 1 is within the stated distance, 1 differs, 1 cannot be right and" in text
    assert "- l e, H 200, R: paper 16.0, ours 7.0; within 0.15 it is not" in text
    assert "- DOES NOT HOLD: b \\< a" in text
    assert "NOT\\_CERTIFIED" in text
    assert "1 of 2" in index({"some-table": RECORD}, ["some-table", "other"])


def test_nothing_of_an_unfinished_record_is_judged_or_counted() -> None:
    half = replace(RECORD, report=replace(RECORD.report, unfinished="2 of 6 runs"))
    assert counted(half).total() == 0
    text = page(half)
    assert "**Not finished: 2 of 6 runs.**" in text
    assert "## Why numbers differ" not in text
    assert "## What was checked" not in text
    summary = index({"some-table": half}, ["some-table", "other"])
    assert "0 of 2 are finished" in summary
    assert "- `some-table`: 2 of 6 runs are in" in summary
    assert "- `other`: not run yet" in summary


# --- runs ----------------------------------------------------------------------------------------


def doubled(folder: str, number: int) -> int:
    """Twice a number; Ctrl-C comes at 2, the first time."""
    path = Path(folder) / f"{number}"
    if number == 2 and not path.exists():
        path.write_text("")
        signal.raise_signal(signal.SIGINT)
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    return 2 * number


def reproduction(folder: Path) -> Reproduction:
    def run(effort: Effort) -> Report:
        done = run_tasks(doubled, [(str(folder), number) for number in range(4)], effort)
        rows = tuple(Row((f"{n}",), {"v": Cell(float(v))}) for n, v in enumerate(done.results))
        table = Table("doubles", "doubles", (Column("n", ""),), (Column("v", ""),), rows)
        return Report(
            "doubles", "Doubles", (table,), figure=new_figure(),
            unfinished=done.unfinished(4, "runs"),
        )  # fmt: skip

    return Reproduction("doubles", "doubles", "Nobody, Table 1", "", run)


def test_a_run_that_was_stopped_leaves_a_record_and_goes_on(tmp_path: Path) -> None:
    marks, folder = tmp_path / "marks", tmp_path / "pages"
    marks.mkdir()
    one = reproduction(marks)
    assert command.run(one, Effort(), tmp_path, folder) == 130
    half = kept(folder)["doubles"]
    assert half.report.unfinished == "2 of 4 runs"
    assert half.runs == 2
    assert command.run(one, Effort(), tmp_path, folder) == 0
    assert [(marks / f"{n}").read_text() for n in range(4)] == ["x"] * 4, "each is finished once"
    whole = kept(folder)["doubles"]
    assert whole.finished
    assert whole.runs == 4
    assert [row.cells["v"].ours for row in whole.report.tables[0].rows] == [0, 2, 4, 6]
    command.write_pages(folder)
    assert "![Doubles](doubles.png)" in (folder / "doubles.md").read_text()
    assert (folder / "doubles.png").stat().st_size < 20_000
    (marks / "2").unlink()
    (tmp_path / "doubles.sqlite").unlink()
    text = (folder / "doubles.json").read_text()
    assert command.run(one, Effort(), tmp_path, folder) == 130
    assert (folder / "doubles.json").read_text() == text, "a half does not replace the whole"


def test_a_clock_stops_what_runs_and_leaves_no_trace() -> None:
    running = signal.getitimer(signal.ITIMER_REAL)[0] > 0  # the clock of the test itself
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    with pytest.raises(KeyboardInterrupt), command.stopped_after(0.001):
        time.sleep(60)
    with command.stopped_after(None), command.stopped_after(60):
        pass
    assert (signal.getitimer(signal.ITIMER_REAL)[0] > 0) == running
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)) == before


def test_what_has_no_finished_record_is_run_and_the_long_ones_last(tmp_path: Path) -> None:
    names = [one.name for one in command.wanted([], tmp_path)]
    assert sorted(names) == NAMES
    assert tuple(names[-4:]) == command.LONG
    record = replace(RECORD, report=replace(RECORD.report, name="lee-sgd"))
    write(record, tmp_path)
    assert "lee-sgd" not in [one.name for one in command.wanted([], tmp_path)]
    assert [one.name for one in command.wanted(["lee-sgd", "lee"], tmp_path)] == [
        "lee-matrix", "lee-multiclass", "lee-probabilities", "lee-sgd",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody"], "'nobody' is not known"),
        (["--minutes", "0"], "--minutes is a positive number"),
        (["--jobs", "0"], "--jobs is 1 or more"),
        (["lee", "--pages"], "--pages runs nothing"),
    ],
)
def test_bad_words_are_refused_before_anything_runs(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(words)
    assert said in capsys.readouterr().err
