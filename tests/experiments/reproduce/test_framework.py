"""The reproduce command: comparing with the print, files, exit codes, refusals, Ctrl-C."""

from __future__ import annotations

import csv
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from operator import floordiv
from pathlib import Path
from typing import Any

import pytest

from tests.inside.experiments import (
    Cell,
    Column,
    Measured,
    Rates,
    Report,
    Row,
    Run,
    Table,
    as_run,
    chosen,
    everything,
    interval,
    opened,
    ours_text,
    reaches,
    reproduction,
    run_tasks,
    save,
    show,
    within,
    working,
)
from tests.inside.experiments import RegistryEffort as Effort
from tests.inside.experiments import bi_vapnik_table2 as table2
from tests.inside.experiments import report_to_json as to_json
from tests.inside.experiments import reproduce as reproducing
from tests.support.command_line import Answer, run
from tightmargin.solvers import Verdict

NAME = "bi-vapnik-table2"
PRINT = table2.table2


# --- numbers beside the print --------------------------------------------------------------------


@pytest.mark.parametrize(("printed", "equal", "different"), [
    ("16.0", (15.95, 16.0, 16.0499, 16.05), (15.9499, 16.0501, 16.12)),  # half way rounds to either
    ("184", (183.5, 184.4), (183.0, 185.0)),
    ("0", (0.0, 0.5), (0.51, -0.6)),
    ("0.200", (0.2004,), (0.20073,)),
    ("1.0e+5", (1.04e5, 9.6e4), (1.1e5, 9.4e4)),
    ("2.1e-1", (0.207,), (0.2, 0.22)),
])  # fmt: skip
def test_equal_means_that_ours_rounds_to_the_print(
    printed: str, equal: tuple[float, ...], different: tuple[float, ...]
) -> None:
    assert all(Cell(ours, printed).equal for ours in equal)
    assert not any(Cell(ours, printed).equal for ours in different)


def test_what_is_allowed_beyond_rounding() -> None:
    assert Cell(16.12, "16.0", 0.15).agrees
    assert not Cell(16.16, "16.0", 0.15).agrees
    assert not Cell(11.6, "11.5").agrees
    assert Cell(99.0, "11.5", None).agrees, "shown and not judged"
    assert Cell(99.0).agrees, "no print"
    # 60 to 140 % of all that rounds to 5.5: 5.45 to 5.55.
    assert 5.5 + within(0.4, "5.5") == pytest.approx(1.4 * 5.55)
    assert Cell(7.76, "5.5", within(0.4, "5.5")).agrees
    assert not Cell(7.78, "5.5", within(0.4, "5.5")).agrees
    for text, low, high in ((".025", 0.0245, 0.0255), ("1.0e+5", 95e3, 105e3)):
        assert interval(text) == pytest.approx((low, high))
    for numbers, wide in (([3.0, 0.1], 1), ([0.24], 1), ([0.26, 0.3], 0), ([0.1, 0.14], 0)):
        assert reaches(numbers, "0.2") == bool(wide)


@pytest.mark.parametrize(("ours", "printed", "text"), [
    (16.0499, "16.0", "16.0"), (16.12, "16.0", "16.120"), (101.0, "100", "101"),
    (5.189499, "5.190", "5.1894990"),  # two more digits, 5.18950, would seem to round to 5.190
    (0.0207, "2.1e-2", "2.1e-2"), (831.4, "6.4e-1", "8.31e+2"),
])  # fmt: skip
def test_ours_is_written_so_that_a_difference_is_seen(ours: float, printed: str, text: str) -> None:
    assert ours_text(Cell(ours, printed)) == text


NU = 0.7451669595782073  # rounded to six digits a nu next to nu_max would lie above it
MIXED = Table(
    "mixed", "words and numbers", (Column("data", "data"), Column("nu", r"$\nu$")),
    (Column("R", "$R$"), Column("C", "$C$")),
    (
        Row(("50 % & a_b", NU), {"R": Cell(1.0, "1.0")}),
        Row(("[bold] ν", "200"), {"R": Cell(1.0, "1.0"), "C": Cell(math.inf)}, 1e-9,
            Verdict.CERTIFIED),
        Row(("sonar", 3), {"R": Cell(1.0, "1.0")}, 0.5, Verdict.NOT_CERTIFIED),
    ),
)  # fmt: skip


def test_keys_are_words_or_numbers_with_every_digit_in_every_file_and_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a row with nothing to certify is no complaint."""
    report = Report("mixed", "Table of\nwords", (MIXED,), notes=("two\nlines",))
    assert MIXED.complaints() == ["data sonar, nu 3: NOT_CERTIFIED, relative gap 0.5"]
    first, second, third = to_json(report, (), 1.0)["tables"][0]["rows"]
    assert (first["data"], first["nu"]) == ("50 % & a_b", NU)
    assert (first["relative_gap"], first["verdict"]) == (None, None)
    assert (second["nu"], second["verdict"], third["nu"]) == (200, "CERTIFIED", 3)
    table, latex = map(Path, save(report, tmp_path))
    with table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["data"] for row in rows] == ["50 % & a_b", "[bold] ν", "sonar"]
    assert [float(row["nu"]) for row in rows] == [NU, 200, 3]
    text = latex.read_text(encoding="utf-8")
    assert text.startswith("% Table of words\n% two lines\n")
    assert r"50 \% \& a\_b & " in text
    assert r"[bold] $\nu$ & 200 & 1.0 & 1.0 & inf \\" in text
    show(reproducing.report_page(report, (), 1.0))
    lines = capsys.readouterr().out.splitlines()
    for start, end in (("50 % & a_b", "-"), ("[bold] ν", "1e-09"), ("sonar", "NOT_CERTIFIED")):
        (line,) = [line for line in lines if line.startswith(start)]
        assert line.split()[-1] == end


# --- the command, with numbers that nobody had to compute ----------------------------------------


def as_printed(ratio: str) -> Measured:
    """A row of the left half of Table 2 as the paper has it."""
    number = {name: float(text) for name, text in PRINT(200)[ratio].items()}
    rates = (Rates(number["R_trn"], 0.0, 0.0), Rates(number["R_tst"], 0.0, 0.0))
    H = math.sqrt(200 * float(ratio))
    return Measured(
        float(ratio), H, round(number["N_SV"]), *rates, number["C"], number["D"] / 100,
        number["nu"], 10.0, 10.0, 0.0, Verdict.CERTIFIED, "segments",
    )  # fmt: skip


ROWS = tuple(as_printed(ratio) for ratio in PRINT(200))
Reproduce = Callable[..., Answer]


@pytest.fixture
def reproduce(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Reproduce:
    """Run the quick Table 2 into tmp_path, with given rows for its solutions."""

    def command(
        *words: str, rows: tuple[Measured, ...] = ROWS, not_reached: bool = False
    ) -> Answer:
        monkeypatch.setattr(table2, "sound_digits", lambda: Path(__file__))
        monkeypatch.setattr(table2, "half", lambda size: Run(rows, not_reached).plain)
        return run("reproduce", NAME, "--quick", "--out", tmp_path / "a" / "b", *words)

    return command


def test_a_wrong_number_an_unproven_row_and_many_small_differences_are_1_and_named(
    reproduce: Reproduce,
) -> None:
    wrong = replace(ROWS[4], support_vectors=121)
    answer = reproduce(rows=(*ROWS[:4], wrong, *ROWS[5:]))
    said = "l 200, H^2/l 0.2, N_SV: paper 119, ours 121"
    assert (answer.code, answer.stderr) == (1, f"{NAME}: {said}, and 1 is allowed\n")
    assert f"differs: {said}" in answer.stdout
    open_row = replace(ROWS[0], relative_gap=1e-3, verdict=Verdict.NOT_CERTIFIED)
    answer = reproduce("--fresh", rows=(open_row, *ROWS[1:]))
    assert answer.code == 1
    assert answer.stderr == f"{NAME}: l 200, H^2/l 0.03: NOT_CERTIFIED, relative gap 0.001\n"
    near = tuple(replace(row, support_vectors=row.support_vectors + 1) for row in ROWS)
    answer = reproduce("--fresh", rows=near)
    assert answer.code == 1
    assert "does not hold: 60 of 72 numbers" in answer.stderr
    assert "DOES NOT HOLD: 60 of 72 numbers" in answer.stdout


def test_ctrl_c_keeps_the_rows_that_are_there_and_judges_nothing(
    reproduce: Reproduce, tmp_path: Path
) -> None:
    answer = reproduce("--json", rows=ROWS[:5], not_reached=True)
    assert answer.code == 130
    store = tmp_path / "a" / "b" / f"{NAME}.sqlite"
    assert answer.stderr.splitlines() == [
        f"0 of 1 tasks are kept in {store}; the same command runs the others",
        f"{NAME}: interrupted; kept 5 of 12 rows",
    ]
    (report,) = answer.json["reports"]
    assert (report["unfinished"], report["complaints"]) == ("5 of 12 rows", [])
    assert report["claims"] == []
    assert "UNFINISHED: 5 of 12 rows" in (tmp_path / "a" / "b" / f"{NAME}.tex").read_text()
    assert len((tmp_path / "a" / "b" / f"{NAME}.csv").read_text().splitlines()) == 6


def test_ctrl_c_in_the_second_table_keeps_the_first(
    reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(effort: Effort) -> Report:
        raise KeyboardInterrupt

    reproduce()
    first, *_ = chosen(NAME)
    monkeypatch.setattr(
        reproducing, "chosen", lambda name: [first, replace(first, name="b", run=interrupted)]
    )
    answer = run("reproduce", NAME, "--quick", "--out", tmp_path, "--json")
    assert answer.code == 130
    assert answer.stderr == "b: interrupted before its first result\n"
    assert [report["name"] for report in answer.json["reports"]] == [NAME]
    monkeypatch.setattr(reproducing, "chosen", lambda name: [replace(first, run=interrupted)])
    answer = run("reproduce", NAME, "--out", tmp_path)
    assert (answer.code, answer.complaint) == (130, "tightmargin: interrupted")


# --- what is stored ------------------------------------------------------------------------------


def test_the_same_command_reads_what_is_stored_and_fresh_runs_it_again(
    reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[int] = []

    def counted(plain: dict[str, Any]) -> Run:
        ran.append(1)
        return as_run(plain)

    monkeypatch.setattr(table2, "as_run", counted)
    first = reproduce("--json").json["reports"][0]["tables"]
    again = reproduce("--json")
    assert again.stderr == "1 of 1 tasks were finished before\n"
    assert again.json["reports"][0]["tables"] == first
    assert reproduce("--fresh").stderr == ""
    assert reproduce(rows=ROWS[:3]).stderr.splitlines()[0] == (
        "1 finished tasks were made by other code and are run again"
    )
    assert len(ran) == 4
    store = tmp_path / "a" / "b" / f"{NAME}.sqlite"
    with opened(store):
        assert f"{store}: another run is using this file" in reproduce().complaint


def test_after_a_failed_task_the_next_table_is_made(
    reproduce: Reproduce, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(effort: Effort) -> Report:
        run_tasks(floordiv, [(1, 0), (4, 2)], effort)
        raise AssertionError("not without all results")

    good, *_ = chosen(NAME)
    both = [replace(good, name="a-first", run=failing), good]
    monkeypatch.setattr(reproducing, "chosen", lambda name: both)
    answer = reproduce("--json")
    assert answer.code == 1
    assert [report["name"] for report in answer.json["reports"]] == [NAME]
    said, last = answer.stderr.splitlines()
    assert said.startswith("floordiv(1, 0) failed: ZeroDivisionError:")
    assert last.startswith("a-first: 1 of 2 tasks failed; the other 1 are kept in ")


def test_without_a_terminal_progress_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("tightmargin.experiments.console.streams.time.monotonic", lambda: now[0])
    with working("work", every=30.0) as progress:
        for seconds in (1.0, 29.0, 31.0, 40.0, 62.0):
            now[0] = seconds
            progress(f"{seconds:g} s")
    assert capsys.readouterr().err == "31 s\n62 s\n"


# --- what there is, and what is refused ----------------------------------------------------------


def test_without_a_name_it_lists_what_there_is() -> None:
    answer = run("reproduce")
    assert (answer.code, answer.stderr) == (0, "")
    listed = run("reproduce", "--json").json["reproductions"]
    assert [one["name"] for one in listed] == [one.name for one in everything()]
    assert all(one["name"] in answer.stdout for one in listed)
    assert [one.name for one in chosen("bi-vapnik")] == [
        "bi-vapnik-figure1", "bi-vapnik-table2", "bi-vapnik-table3-adult", "bi-vapnik-table3-wdbc",
    ]  # fmt: skip
    assert len(chosen("bi-vapnik-table3")) == 2
    assert [one.name for one in chosen(NAME)] == [NAME]
    with pytest.raises(ValueError, match="bi-vapnik-table2 is registered twice"):
        reproduction(NAME, "", source="", quick="")(table2.run)


# --- tasks ---------------------------------------------------------------------------------------


def test_results_are_in_the_order_of_the_tasks_and_every_process_has_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The slowest task is the first."""

    def work(number: int, seconds: float) -> Any:
        time.sleep(seconds)
        return [number, os.getenv("OMP_NUM_THREADS")]

    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    said: list[str] = []
    tasks = [(0, 0.1), (1, 0.0), (2, 0.0)]
    for jobs in (1, 2):
        said.clear()
        done = run_tasks(work, tasks, Effort(jobs=jobs, progress=said.append))
        assert done.results == ([0, "1"], [1, "1"], [2, "1"])
        assert not done.interrupted
        assert said[2].startswith("2 of 3 runs done, about ")


def test_ctrl_c_keeps_the_results_before_it() -> None:
    def work(number: int) -> int:
        if number == 2:
            raise KeyboardInterrupt
        return number

    kept = run_tasks(work, [(0,), (1,), (2,), (3,)], Effort())
    assert (kept.results, kept.interrupted) == ((0, 1), True)
    with pytest.raises(KeyboardInterrupt):
        run_tasks(work, [(2,), (3,)], Effort())
    kept = run_tasks(work, [(0,), (1,), (3,)], Effort(), stopped=lambda result: result == 1)
    assert (kept.results, kept.interrupted) == ((0, 1), True), "nothing after what was cut short"
