"""How far the 0-1 loss is proven in a limit of processor time; ZERO_ONE.md and the guide's table.

python -m benchmarks.zero_one [--limit SECONDS] [--jobs N] [--ways numpy numba] [--only NAME]

Every finished run is kept in ZERO_ONE.jsonl at once and not repeated, unless it was stopped by a
lower limit. Instances of Brooks, with the bounds of Santana, Serrano, Schiffer & Vidal (arXiv
2207.07690), are found through the variable TIGHTMARGIN_DATA; those of 500 points and more are
drawn. The model is 1/2 ||w||^2 + C #violations with a free intercept.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path

from joblib import Parallel, delayed

from benchmarks import claim
from benchmarks.measuring import ROOT
from benchmarks.zero_one_page import (
    CELLS,
    WAYS,
    Key,
    Published,
    Run,
    Runs,
    page,
    percent,
    quote,
    summary,
)
from tightmargin.experiments.data.outlier_generators import outlier_data
from tightmargin.experiments.data.specs import data_folder, load
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.zero_one.cones import cone_search
from tightmargin.solvers.zero_one.conflicts import conflict_search

LIMIT = 600.0  # processor seconds, as many as the published runs had
DIRECTIONS = 5  # features up to which directions are halved
STORE = ROOT / "benchmarks" / "ZERO_ONE.jsonl"
PAGE = ROOT / "benchmarks" / "ZERO_ONE.md"


def points(folder: Path, instance: str) -> TrainingData:
    """A published instance, or one of the generator of Cepeda, Gomez & Han (2024)."""
    if not instance.startswith("clustered"):
        found = load(str(folder / instance))
        assert isinstance(found, TrainingData)
        return found
    kind, size, seed = instance.split("-")
    n, _, d = size[1:].partition("d")
    return outlier_data(kind, n=int(n), d=int(d), sigma=0.5, seed=int(seed))


def solved(folder: Path, instance: str, C: int, way: str, limit: float) -> Run:
    """Solve one instance within a limit of processor seconds, heuristic and compiling included."""
    data = points(folder, instance)
    search = cone_search if data.d <= DIRECTIONS else conflict_search
    found = search(
        data, penalty=2.0 * C, intercept="free", time_limit=limit, clock=time.process_time,
        compiled=None if way == "numba" else False,
    )  # fmt: skip
    nodes = found.cells if hasattr(found, "cells") else found.nodes
    return Run(
        instance, C, way, limit, found.objective / 2, max(found.bound, 0.0) / 2, found.seconds,
        nodes, str(found.stop),
    )  # fmt: skip


def published(folder: Path) -> dict[Key, Published]:
    """The table of the literature by instance and C."""
    found = {}
    with (folder / "published_bounds.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            upper = min(float(row["baseline_upper"]), float(row["benders_upper"]))
            lower = max(float(row["baseline_lower"]), float(row["benders_lower"]))
            found[row["instance"], int(float(row["C"]))] = Published(upper, lower)
    return found


def kept(store: Path, limit: float) -> dict[tuple[str, int, str], Run]:
    """Runs of earlier calls that need no other: proven, or with at least that limit."""
    if not store.exists():
        return {}
    runs = [Run(**json.loads(line)) for line in store.read_text(encoding="utf-8").splitlines()]
    return {run.key: run for run in runs if run.proven or run.limit >= limit}


def missing(runs: Runs, ways: Sequence[str], only: str = "*") -> list[tuple[str, int, str]]:
    """What is still to be run of the instances of such a name, small ones first."""
    wanted = [(*key, way) for cell in CELLS for way in ways for key in cell.keys]
    return [key for key in wanted if key not in runs and fnmatch(key[0], only)]


def measured(
    folder: Path, wanted: Sequence[tuple[str, int, str]], limit: float, jobs: int
) -> Iterator[Run]:
    """Runs as they finish."""
    work = (delayed(solved)(folder, *key, limit) for key in wanted)
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(work)


def main(words: Sequence[str] | None = None) -> None:
    """Solve what is not kept yet and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds a run")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument(
        "--ways", nargs="*", choices=WAYS, default=WAYS, help="none writes the page alone"
    )
    parser.add_argument("--only", default="*", help="instances: a name, or a pattern of names")
    parser.add_argument("--again", action="store_true", help="forget what is kept")
    asked = parser.parse_args(words)
    source = data_folder()
    folder = None if source is None else source / "hard_margin_loss"
    if folder is None or not folder.is_dir():
        parser.error("set TIGHTMARGIN_DATA to a folder with hard_margin_loss in it")
    if asked.again:
        for file in (STORE, claim.STORE):
            file.unlink(missing_ok=True)
    try:
        wanted = missing(kept(STORE, asked.limit), asked.ways, asked.only)
        for run in measured(folder, wanted, asked.limit, asked.jobs):
            with STORE.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(run)) + "\n")
            sys.stderr.write(
                f"{run.instance} C = {run.C}, {run.way}: {run.objective:.6f}, gap "
                f"{percent(run.gap)} %, {run.seconds:.1f} s, {run.stop}\n"
            )
    finally:  # what was kept before Ctrl-C is shown
        runs, table = kept(STORE, 0.0), published(folder)
        PAGE.write_text(page(runs, table, claim.kept_or_measured()), encoding="utf-8")
        guide = ROOT / "docs" / "guide.md"
        text = quote(guide.read_text(encoding="utf-8"), summary(runs, table))
        guide.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
