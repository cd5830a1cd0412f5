"""Published instances of the 0-1 loss by the conflict search; ZERO_ONE.md and the guide's table.

python -m benchmarks.zero_one [--limit SECONDS] [--jobs N] [--again]

Every finished run is kept in ZERO_ONE.jsonl at once and not repeated. The instances of Brooks with
the bounds of Santana, Serrano, Schiffer & Vidal (arXiv 2207.07690) are found through the variable
TIGHTMARGIN_DATA. Their model is 1/2 ||w||^2 + C #violations with a free intercept.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

from joblib import Parallel, delayed

from benchmarks import claim
from benchmarks.measuring import ROOT
from benchmarks.report import machine
from tightmargin.experiments.data.specs import data_folder, load
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.zero_one.conflict_search.search import conflict_search

LIMIT = 600.0  # processor seconds, as many as the published runs had
SMALL = tuple((f"n60d{d}ATj{j}", C) for d in (2, 5, 10) for j in range(5) for C in (1, 10, 100))
CELLS = ((100, 5, 1), (100, 10, 10), (200, 2, 10), (200, 5, 10))
LARGE = tuple((f"n{n}d{d}ATj{j}", C) for n, d, C in CELLS for j in range(3))
STORE = ROOT / "benchmarks" / "ZERO_ONE.jsonl"
PAGE = ROOT / "benchmarks" / "ZERO_ONE.md"
SAME = 1e-4  # relative, of two objectives


@dataclass(frozen=True)
class Run:
    """One instance solved once; objective and bound in the normalisation of the literature."""

    instance: str
    C: int
    limit: float
    objective: float
    lower_bound: float
    seconds: float
    nodes: int
    stop: str

    @property
    def gap(self) -> float:
        """(objective - bound) / objective."""
        return (self.objective - self.lower_bound) / self.objective


@dataclass(frozen=True)
class Published:
    """Bounds of one instance: plain branch and bound, and combinatorial Benders cuts."""

    upper: float
    baseline_gap: float
    benders_gap: float
    benders_lower: float


def solved(folder: Path, instance: str, C: int, limit: float) -> Run:
    """Solve one instance within a limit of processor seconds."""
    data = load(str(folder / instance))
    found = conflict_search(
        data, penalty=2.0 * C, intercept="free", time_limit=limit, clock=time.process_time
    )
    return Run(
        instance, C, limit, found.objective / 2, found.bound / 2, found.seconds, found.nodes,
        str(found.stop),
    )  # fmt: skip


def published(folder: Path) -> dict[tuple[str, int], Published]:
    """The table of the literature by instance and C; a gap is relative to its own upper bound."""
    found = {}
    with (folder / "published_bounds.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            number = {word: float(row[word]) for word in row if word.endswith(("upper", "lower"))}
            gaps = [
                1 - number[f"{method}_lower"] / number[f"{method}_upper"]
                for method in ("baseline", "benders")
            ]
            upper = min(number["baseline_upper"], number["benders_upper"])
            found[row["instance"], int(float(row["C"]))] = Published(
                upper, *gaps, benders_lower=number["benders_lower"]
            )
    return found


def kept(store: Path, limit: float) -> dict[tuple[str, int], Run]:
    """Runs of an earlier call with the same limit."""
    if not store.exists():
        return {}
    runs = [Run(**json.loads(line)) for line in store.read_text(encoding="utf-8").splitlines()]
    return {(run.instance, run.C): run for run in runs if run.limit == limit}


def measured(
    folder: Path, wanted: Sequence[tuple[str, int]], limit: float, jobs: int
) -> Iterator[Run]:
    """Runs as they finish."""
    work = (delayed(solved)(folder, instance, C, limit) for instance, C in wanted)
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(work)


def percent(gap: float) -> str:
    """Relative gap in percent; closed ones, to a few 1e-6, as 0."""
    return f"{100 * gap:.1f}" if gap > 1e-5 else "0"


def small_lines(
    runs: Mapping[tuple[str, int], Run], table: Mapping[tuple[str, int], Published]
) -> list[tuple[str, ...]]:
    """One line for each d and C of the instances with 60 points."""
    lines = []
    for d in (2, 5, 10):
        for C in (1, 10, 100):
            keys = [(f"n60d{d}ATj{j}", C) for j in range(5)]
            own = [runs[key] for key in keys if key in runs]
            same = sum(
                abs(runs[key].objective - table[key].upper) <= SAME * table[key].upper
                and runs[key].gap <= SAME
                for key in keys
                if key in runs
            )
            if own:
                seconds = [run.seconds for run in own]
                lines.append((
                    str(d), str(C), f"{same} of {len(keys)}", f"{mean(seconds):.1f}",
                    f"{max(seconds):.1f}",
                ))  # fmt: skip
    return lines


def large_lines(
    runs: Mapping[tuple[str, int], Run], table: Mapping[tuple[str, int], Published]
) -> list[tuple[str, ...]]:
    """One line for each large instance, and one for the mean of each cell."""
    lines: list[tuple[str, ...]] = []
    for n, d, C in CELLS:
        keys = [(f"n{n}d{d}ATj{j}", C) for j in range(3)]
        done = [key for key in keys if key in runs]
        for key in done:
            run, known = runs[key], table[key]
            lines.append((
                run.instance, str(C), f"{run.objective:.6f}", f"{known.upper:.6f}",
                f"{run.lower_bound:.6f}", percent(run.gap), percent(known.benders_gap),
                percent(known.baseline_gap), f"{run.seconds:.0f}",
            ))  # fmt: skip
        if done:
            gaps = (
                mean(runs[key].gap for key in done),
                mean(table[key].benders_gap for key in done),
                mean(table[key].baseline_gap for key in done),
            )
            seconds = mean(runs[key].seconds for key in done)
            lines.append((
                f"**mean, n = {n}, d = {d}**", str(C), "", "", "",
                *(f"**{percent(gap)}**" for gap in gaps), f"{seconds:.0f}",
            ))  # fmt: skip
    return lines


def page(
    runs: Mapping[tuple[str, int], Run],
    table: Mapping[tuple[str, int], Published],
    limit: float,
    claimed: Sequence[claim.Line],
) -> str:
    """Text of ZERO_ONE.md."""
    ways = [("way", "objective", "bound", "gap %", "s", "whose bound"), ("---",) * 6]
    ways += [
        (line.way, f"{line.objective:.6f}", f"{line.bound:.6f}", percent(line.gap),
         f"{line.seconds:.1f}", line.word)
        for line in claimed
    ]  # fmt: skip
    small = [("d", "C", "proven and as published", "mean s", "longest s"), ("---",) * 5]
    large = [
        ("instance", "C", "ours", "published", "our bound", "gap %", "Benders %",
         "plain branch and bound %", "s"),
        ("---",) * 9,
    ]  # fmt: skip
    return "\n\n".join([
        "# The 0-1 loss on the instances of the literature",
        "Written by `python -m benchmarks.zero_one`. The instances are those of Brooks, type A; "
        "the published columns are from\nSantana, Serrano, Schiffer & Vidal (arXiv 2207.07690): "
        "CPLEX 12.10, 600 s, one thread, for 1/2 ||w||^2 + C #violations\nwith a free intercept. "
        f"Ours is the conflict search, without any solver, stopped at {limit:g} processor "
        "seconds on one thread;\nits bounds are proven by our own arithmetic. Another machine, so "
        "the gaps count, not the seconds.",
        f"## 60 points: optima proven, and equal to the published ones to {SAME:g}",
        _table([*small, *small_lines(runs, table)]),
        "## Larger instances, most of them open in the literature",
        _table([*large, *large_lines(runs, table)]),
        "## An instance of the paper that is unsolved there after ten minutes",
        f"Cepeda, Gomez & Han 2024: `{claim.SPEC}`, penalty 1. Plain SCIP gets the seconds that\n"
        "bound tightening and SCIP took together.",
        _table(ways),
        machine(),
    ]) + "\n"  # fmt: skip


BEGIN, END = "<!-- zero-one: begin -->", "<!-- zero-one: end -->"


def quoted(runs: Mapping[tuple[str, int], Run], table: Mapping[tuple[str, int], Published]) -> str:
    """The table of the guide: mean gap of every cell."""
    rows = [
        ("n", "d", "C", "plain branch and bound", "combinatorial Benders cuts", "conflict search",
         "proven optimal"),
        ("---",) * 7,
    ]  # fmt: skip
    for n, d, C in CELLS:
        keys = [(f"n{n}d{d}ATj{j}", C) for j in range(3)]
        if all(key in runs for key in keys):
            gaps = (
                mean(table[key].baseline_gap for key in keys),
                mean(table[key].benders_gap for key in keys),
                mean(runs[key].gap for key in keys),
            )
            closed = [runs[key].seconds for key in keys if runs[key].stop == StopReason.PROVEN]
            told = f"{len(closed)} of 3"
            if closed:
                told += f", {min(closed):.0f} to {max(closed):.0f} s"
            rows.append((str(n), str(d), str(C), *(f"{percent(gap)} %" for gap in gaps), told))
    return _table(rows)


def quote(text: str, table: str) -> str:
    """Text of the guide with its table replaced."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main(words: Sequence[str] | None = None) -> None:
    """Solve what is not kept yet and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds a run")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--again", action="store_true", help="forget what is kept")
    asked = parser.parse_args(words)
    source = data_folder()
    folder = None if source is None else source / "hard_margin_loss"
    if folder is None or not folder.is_dir():
        parser.error("set TIGHTMARGIN_DATA to a folder with hard_margin_loss in it")
    if asked.again:
        for file in (STORE, claim.STORE):
            file.unlink(missing_ok=True)
    runs = kept(STORE, asked.limit)
    wanted = [key for key in (*SMALL, *LARGE) if key not in runs]
    for run in measured(folder, wanted, asked.limit, asked.jobs):
        runs[run.instance, run.C] = run
        with STORE.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(run)) + "\n")
        sys.stderr.write(
            f"{run.instance} C = {run.C}: {run.objective:.6f}, gap {percent(run.gap)} %, "
            f"{run.seconds:.1f} s, {run.stop}\n"
        )
    written = page(runs, published(folder), asked.limit, claim.kept_or_measured())
    PAGE.write_text(written, encoding="utf-8")
    guide = ROOT / "docs" / "guide.md"
    text = quote(guide.read_text(encoding="utf-8"), quoted(runs, published(folder)))
    guide.write_text(text, encoding="utf-8")
    sys.stdout.write(written)


if __name__ == "__main__":
    main()
