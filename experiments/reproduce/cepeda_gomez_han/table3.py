"""Table 3: five public data sets with flipped labels."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from tightmargin.experiments.data.public_data import files_of
from tightmargin.experiments.reproduce.cepeda_gomez_han.published import (
    AVERAGE,
    FEATURES,
    GRID,
    METHODS,
    NOISES,
    PAPER,
    POINTS,
    REPLICATIONS,
    table3,
    table3_seconds,
)
from tightmargin.experiments.reproduce.cepeda_gomez_han.replications import (
    Found,
    Spread,
    cells,
    columns,
    machines,
    rates,
    real_run,
    row_of,
    seconds,
    spread,
    tie_note,
    where,
)
from tightmargin.experiments.reproduce.cepeda_gomez_han.samples import SPECS, whole
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks
from tightmargin.experiments.validation.result import TIES

NAME = "cepeda-gomez-han-table3"
QUICK_DATA, QUICK_NOISES, QUICK_SPLITS, QUICK_GRID = "immunotherapy", ("0.0", "0.2"), 6, 20
KEYS = (Column("data", "data"), Column("method", "method"))
COLUMNS = (
    *(column for tau in NOISES for column in columns(f"tau={tau}", rf"$\tau={tau}$")),
    *columns("s", "seconds"),
)


def tasks_of(quick: bool) -> list[tuple[str, float, int, int]]:
    """By split, so that what Ctrl-C leaves has all data sets."""
    if quick:
        return [
            (QUICK_DATA, float(tau), seed, QUICK_GRID)
            for seed in range(QUICK_SPLITS)
            for tau in QUICK_NOISES
        ]
    return [
        (data, float(tau), seed, GRID)
        for seed in range(REPLICATIONS)
        for data in POINTS
        for tau in NOISES
    ]


@reproduction(
    NAME,
    f"five public data sets with flipped labels, {REPLICATIONS} splits",
    source=f"{PAPER}, Table 3",
    quick=f"{QUICK_DATA}, tau 0 and 0.2, {QUICK_SPLITS} splits, {QUICK_GRID} hyperparameters",
)
def run(effort: Effort) -> Report:
    """Means over splits beside the print."""
    for data in (QUICK_DATA,) if effort.quick else POINTS:
        whole(data)
    tasks = tasks_of(effort.quick)
    reads = files_of(SPECS[data] for data, *_ in tasks)
    done = run_tasks(real_run, tasks, effort, reads=reads)
    runs = list(done.results)
    rows = []
    for data in POINTS:
        part = where(runs, data=data)
        rows += [_row(part, data, method, effort.quick) for method in METHODS] if part else []
    if len({run["data"] for run in runs}) == len(POINTS):
        rows += [_average(runs, method) for method in METHODS]
    splits = len({run["seed"] for run in runs})
    how = f"percent of errors on the test points, mean and standard deviation of {splits} splits"
    return Report(
        NAME, f"{PAPER}, Table 3", (Table(NAME, how, KEYS, COLUMNS, tuple(rows)),),
        claims=tuple(claims(runs)), notes=tuple(_notes(runs)),
        unfinished=done.unfinished(len(tasks), "runs"),
    )  # fmt: skip


def _row(runs: Sequence[Found], data: str, method: str, quick: bool) -> Row:
    found: dict[str, Cell] = {}
    for tau in NOISES:
        if part := where(runs, tau=float(tau)):
            printed = table3(data, method, tau)
            found |= cells(f"tau={tau}", spread(rates(part, method)), printed, float(printed[1]))
    # A part of the grid takes a part of the time, and is shown without the print.
    printed = ("", "") if quick else table3_seconds(data, method)
    found |= cells("s", spread(seconds(runs, method)), printed)
    return row_of((data, method), found, runs, method)


def _average(runs: Sequence[Found], method: str) -> Row:
    """Means of the data sets' means and deviations, as the paper's last rows."""
    found: dict[str, Cell] = {}
    for tau in NOISES:
        overall = _overall(runs, method, tau)
        if overall is not None:
            found |= cells(f"tau={tau}", overall, table3(AVERAGE, method, tau))
    return row_of((AVERAGE, method), found, runs, method)


def _overall(runs: Sequence[Found], method: str, tau: str) -> Spread | None:
    """Means over the data sets; None where one is missing."""
    parts = [where(runs, tau=float(tau), data=data) for data in POINTS]
    if not all(parts):
        return None
    each = [spread(rates(part, method)) for part in parts]
    return Spread(mean(s.mean for s in each), mean(s.deviation for s in each), 0)


def _orderings(runs: Sequence[Found]) -> str:
    """What section 5.2 says of the last rows, and at which tau our runs bear it out."""
    smaller, steadier = [], []
    for tau in NOISES:
        hinge, conic = (_overall(runs, method, tau) for method in METHODS)
        if hinge is not None and conic is not None:
            smaller += [tau] * (conic.mean < hinge.mean)
            steadier += [tau] * (conic.deviation < hinge.deviation)
    return (
        "the paper finds the hinge better on average at tau 0 and the conic machine from 0.2 on, "
        "and smaller deviations with the conic machine at every tau; here its average is the "
        f"smaller one at tau {', '.join(smaller) or '(none)'}, and its average deviation at tau "
        f"{', '.join(steadier) or '(none)'}"
    )


def claims(runs: Sequence[Found]) -> list[PaperClaim]:
    """What section 5.2 says of the rows, where there are all data sets and noises."""
    found: list[PaperClaim] = []
    for tau in ("0.2", "0.3"):
        hinge, conic = (_overall(runs, method, tau) for method in METHODS)
        if hinge is not None and conic is not None:
            found.append(
                PaperClaim(
                    f"tau {tau}: the average over the data sets of the conic machine is no more "
                    f"than a point above that of the hinge, {conic.mean:.1f} against "
                    f"{hinge.mean:.1f}",
                    conic.mean <= hinge.mean + 1,
                )
            )
    return found


def _notes(runs: Sequence[Found]) -> list[str]:
    found = [
        "means are judged, each within the printed standard deviation; all else is shown. The "
        "paper's splits are not known, and features are taken as they are in the files",
        tie_note(runs, METHODS, TIES),
        f"seconds on {machines(runs)}, with proving and counting",
    ]
    data = {run["data"] for run in runs}
    if data == set(POINTS):
        found.append(_orderings(runs))
        found.append(
            "the last rows are means of the rows above. The printed deviation of the conic machine "
            "at tau 0, 4.2, is not that of the printed rows, which is 4.4"
        )
    if "breast" in data:
        found.append(
            "breast is an inferred data set: the complete rows without recurrence of the Ljubljana "
            "data, with the response irradiat, have the printed 196 points and 36 columns, and the "
            "share of its smaller class is 16.3 %, where both rows of the print are"
        )
    if "immunotherapy" in data:
        found.append(
            f"immunotherapy has 7 features in its file and {FEATURES['immunotherapy']} in the "
            "print; which one was left out is not known, and all are used"
        )
    return found
