"""Run the papers' tables and figures at full size, keep a record of each, and write the pages.

python -m benchmarks.results                    every one without a finished record, long ones last
python -m benchmarks.results lee                the four of one paper
python -m benchmarks.results cepeda-gomez-han-table1 --minutes 60
python -m benchmarks.results --pages            the pages again, from the records

Every finished run is kept at once in out/results, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import io
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.results.page import page
from benchmarks.results.record import FOLDER, Record, kept, trimmed, write
from benchmarks.results.summary import index
from tightmargin.experiments.reproduce.cepeda_gomez_han.replications import machine
from tightmargin.experiments.reproduce.papers import Effort, Reproduction, chosen, everything
from tightmargin.experiments.studies.code_digest import versions
from tightmargin.experiments.studies.result_store import stored_frame
from tightmargin.experiments.studies.runner import StudyError
from tightmargin.solvers.result import VERSION

LONG = tuple(f"cepeda-gomez-han-table{number}" for number in (2, 3, 4, 1))  # the last take hours
STORES = Path("out") / "results"
DPI, COLOURS = 110, 256  # of a picture on a page


def main(words: Sequence[str] | None = None) -> int:
    """Run what was asked, and write the pages; 1 where a run failed, 130 where one was stopped."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", nargs="*", help="a reproduction, or a paper for all of its")
    parser.add_argument("--minutes", type=float, help="after which all is stopped as by Ctrl-C")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--pages", action="store_true", help="write the pages, and run nothing")
    parser.add_argument("--stores", type=Path, default=STORES, help="folder of finished runs")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder of records and pages")
    asked = parser.parse_args(words)
    if asked.minutes is not None and not asked.minutes > 0:
        parser.error("--minutes is a positive number")
    if asked.pages and (asked.name or asked.minutes is not None):
        parser.error("--pages runs nothing, and takes neither a NAME nor --minutes")
    if asked.jobs < 1:
        parser.error("--jobs is 1 or more")
    try:
        work = [] if asked.pages else wanted(asked.name, asked.into)
    except ValueError as error:
        parser.error(str(error))
    code = 0
    try:
        with stopped_after(asked.minutes):
            for one in work:
                code = max(code, run(one, Effort(jobs=asked.jobs), asked.stores, asked.into))
                if code == 130:
                    break
    except KeyboardInterrupt:
        _say("stopped before the first result; the same command goes on")
        code = 130
    write_pages(asked.into)
    return code


def wanted(names: Sequence[str], folder: Path = FOLDER) -> list[Reproduction]:
    """Those of some names, or all without a finished record; what takes long comes last.

    Raises
    ------
    ValueError
        A name that is not known.
    """
    if names:
        found = {one.name: one for name in names for one in chosen(name)}
    else:
        done = {record.name for record in kept(folder).values() if record.finished}
        found = {one.name: one for one in everything() if one.name not in done}
    return sorted(found.values(), key=lambda one: (*_length(one.name), one.name))


def _length(name: str) -> tuple[int]:
    return (LONG.index(name) + 1 if name in LONG else 0,)


def run(one: Reproduction, effort: Effort, stores: Path, folder: Path) -> int:
    """Run one at full size as far as it gets, and write its record; the code to leave with.

    What is unfinished does not replace a finished record.

    Raises
    ------
    KeyboardInterrupt
        It came before the first result.
    """
    store = stores / f"{one.name}.sqlite"
    began = time.perf_counter()
    _say(f"{one.name} begins")
    how = Effort(jobs=effort.jobs, report=_say, study=one.name, store=store)
    try:
        report = one.run(how)
    except StudyError as error:
        _say(f"{one.name}: {error}")
        return 1
    seconds, runs = spent(store, time.perf_counter() - began)
    numbers = dict(pair.rsplit(" ", 1) for pair in versions() if not pair.endswith(" not here"))
    record = Record(
        trimmed(report), one.source, date.today().isoformat(), round(seconds, 1), runs, machine(),
        {"tightmargin": VERSION, **numbers},
    )  # fmt: skip
    before = kept(folder).get(one.name)
    if not record.finished and before is not None and before.finished:
        _say(f"{one.name}: its finished record stays")
        return 130
    folder.mkdir(parents=True, exist_ok=True)
    write(record, folder)
    if report.figure is not None:
        draw(report.figure, folder / f"{one.name}.png")
    for line in report.complaints:
        _say(f"{one.name}: {line}")
    _say(f"{one.name}: {report.unfinished or 'finished'}, {seconds:.0f} s")
    return 0 if record.finished else 130


def spent(store: Path, wall: float) -> tuple[float, int]:
    """Seconds of all runs of the code that ran last, and their number; the clock's without any."""
    if not store.is_file():
        return wall, 0
    frame = stored_frame(store)
    if frame.empty:
        return wall, 0
    last = frame[(frame["code"] == frame["code"].iloc[-1])]
    return float(last["seconds"].sum()), len(last)


def draw(figure: Any, path: Path) -> None:
    """Write a picture of few colours, far apart, which takes a third of the bytes."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    few = Image.open(drawn).convert("RGB")
    how = {"method": Image.Quantize.MAXCOVERAGE, "dither": Image.Dither.NONE}
    few.quantize(COLOURS, **how).save(path, optimize=True)


def write_pages(folder: Path = FOLDER) -> None:
    """Write the page of every record, and the summary."""
    records = kept(folder)
    for record in records.values():
        (folder / f"{record.name}.md").write_text(text_of(record, folder), encoding="utf-8")
    names = [one.name for one in everything()]
    (folder / "index.md").write_text(index(records, names), encoding="utf-8")


def text_of(record: Record, folder: Path = FOLDER) -> str:
    """The page of a record, with its picture where there is one."""
    picture = f"{record.name}.png"
    return page(record, picture if (folder / picture).is_file() else "")


@contextmanager
def stopped_after(minutes: float | None) -> Iterator[None]:
    """Ctrl-C after some minutes, unless the block has ended; never for None.

    A job in the background is born with Ctrl-C ignored; this one is not.
    """
    if minutes is None:
        yield
        return
    pressed = signal.signal(signal.SIGINT, signal.default_int_handler)
    alarm = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    clock = signal.setitimer(signal.ITIMER_REAL, 60 * minutes)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *clock)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, pressed)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
