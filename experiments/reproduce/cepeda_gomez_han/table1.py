"""Table 1 and Figure 2: errors of the hinge and the conic machine on data with outliers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

from tightmargin.experiments.plots.style import (
    GREY,
    LARGE,
    LOOKS,
    NORMAL,
    PAGE,
    SMALL,
    new_figure,
    shared_legend,
    tidy,
)
from tightmargin.experiments.reproduce.cepeda_gomez_han.published import (
    BAYES,
    DIMENSIONS,
    GRID,
    KINDS,
    METHODS,
    PAPER,
    REPLICATIONS,
    SIGMAS,
    SIZES,
    TEST_POINTS,
    table1,
)
from tightmargin.experiments.reproduce.cepeda_gomez_han.replications import (
    Found,
    Spread,
    cells,
    columns,
    outlier_run,
    rates,
    row_of,
    spread,
    where,
)
from tightmargin.experiments.reproduce.cepeda_gomez_han.samples import PRINTED
from tightmargin.experiments.reproduce.cepeda_gomez_han.table1_claims import claims, notes
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "cepeda-gomez-han-table1"
BOLD = ("clustered", "0.2")
JUDGED = ("none", "spread")  # means, within a printed standard deviation
SHARES = (5, 6)  # percent of clustered outliers that are tried besides the printed 10
QUICK_GRID = 20
KEYS = (Column("sigma", r"$\sigma$"), Column("method", "method"))
COLUMNS = tuple(column for kind in KINDS for column in columns(kind, kind))
SHARE_KEYS = (Column("outliers, %", r"outliers, \%"), Column("method", "method"))
SHARE_COLUMNS = tuple(column for n in SIZES for column in columns(f"n={n}", f"$n={n}$")) + columns(
    "all n", "all $n$"
)
RUN_KEYS = tuple(
    Column(name, name) for name in ("kind", "outliers, %", "sigma", "n", "p", "seed", "method")
)
RUN_COLUMNS = (
    Column("test", "test"), Column("exact", "exact"), Column("middle", "middle"),
    Column("last", "last"), Column("parameter", "parameter"), Column("away", "away"),
)  # fmt: skip

Task = tuple[str, int, int, float, int, int, int]
WIDTH = 0.34  # of the distance of two groups, between the methods
JITTER = 0.12
HIGH = 58.0  # percent; the axis reaches further only where a run does
HEIGHT = 2.3  # inches a row


def tasks_of(quick: bool) -> list[Task]:
    """The cell in bold first, then other shares of outliers in it, then the rest by replication."""
    sizes = [(SIZES[0], DIMENSIONS[0])] if quick else list(product(SIZES, DIMENSIONS))
    count = QUICK_GRID if quick else GRID
    shares = (PRINTED, SHARES[0]) if quick else (PRINTED, *SHARES)
    kind, sigma = BOLD
    seeds = range(REPLICATIONS)
    found: list[Task] = [
        (kind, n, d, float(sigma), seed, count, percent)
        for percent in shares
        for seed in seeds
        for n, d in sizes
    ]
    if not quick:
        found += [
            (kind, n, d, float(sigma), seed, count, PRINTED)
            for seed in seeds
            for kind, sigma in product(KINDS, SIGMAS)
            if (kind, sigma) != BOLD
            for n, d in sizes
        ]
    return found


@reproduction(
    NAME,
    f"synthetic data with outliers, hinge against conic, {REPLICATIONS} replications",
    source=f"{PAPER}, Table 1 and Figure 2",
    quick=f"clustered outliers, sigma 0.2, n = {SIZES[0]}, p = {DIMENSIONS[0]}, "
    f"{QUICK_GRID} hyperparameters",
)
def run(effort: Effort) -> Report:
    """Means over all sizes beside the print, and what makes the hinge break down."""
    tasks = tasks_of(effort.quick)
    done = run_tasks(outlier_run, tasks, effort)
    runs = list(done.results)
    printed = where(runs, percent=PRINTED)
    bold = where(runs, kind=BOLD[0], sigma=float(BOLD[1]))
    tables = (_means(printed, effort.quick), _shares(bold, effort.quick), _runs(runs))
    return Report(
        NAME, f"{PAPER}, Table 1 and Figure 2", tables, tuple(claims(runs)), tuple(notes(runs)),
        figure=breakdown_figure(bold),
        unfinished=done.unfinished(len(tasks), "runs"),
    )  # fmt: skip


def bayes(sigma: float) -> Spread:
    """Error of the ideal hyperplane, percent, and its deviation on samples of the paper's size.

    Phi(-1 / (2 sigma)), as the centroids are one unit apart; sqrt(p (1 - p) / 100000).
    """
    rate = float(ndtr(-0.5 / sigma))
    return Spread(100 * rate, 100 * sqrt(rate * (1 - rate) / TEST_POINTS), 0)


def _means(runs: list[Found], quick: bool) -> Table:
    rows = []
    for sigma in SIGMAS:
        part = where(runs, sigma=float(sigma))
        if part:
            rows += [_mean_row(part, sigma, method, quick) for method in METHODS]
            ideal: dict[str, Cell] = {}
            for kind in KINDS:
                pair = table1(sigma, BAYES, kind)
                found = bayes(float(sigma))
                ideal |= {
                    kind: Cell(found.mean, pair[0]),
                    f"{kind} sd": Cell(found.deviation, pair[1]),
                }
            rows.append(Row((sigma, BAYES), ideal))
    how = f"percent of errors, mean and standard deviation over {_sizes(runs)}"
    return Table(NAME, how, KEYS, COLUMNS, tuple(rows))


def _sizes(runs: Sequence[Found]) -> str:
    sizes = sorted({(run["n"], run["d"]) for run in runs})
    seeds = len({run["seed"] for run in runs})
    return f"{len(sizes)} sizes (n, p) and up to {seeds} replications"


def _mean_row(runs: list[Found], sigma: str, method: str, quick: bool) -> Row:
    found: dict[str, Cell] = {}
    for kind in KINDS:
        part = where(runs, kind=kind)
        if part:
            # A mean over a part of the sizes is not the paper's, and is shown without it.
            pair = ("", "") if quick else table1(sigma, method, kind)
            allowed = float(pair[1]) if kind in JUDGED and not quick else None
            found |= cells(kind, spread(rates(part, method)), pair, allowed)
    return row_of((sigma, method), found, runs, method)


def _shares(runs: list[Found], quick: bool) -> Table:
    rows = []
    for percent in sorted({run["percent"] for run in runs}):
        part = where(runs, percent=percent)
        for method in METHODS:
            found: dict[str, Cell] = {}
            for n in SIZES:
                if of_size := where(part, n=n):
                    found |= cells(f"n={n}", spread(rates(of_size, method)))
            pair = ("", "") if quick else table1(BOLD[1], method, BOLD[0])
            found |= cells("all n", spread(rates(part, method)), pair)
            rows.append(row_of((percent, method), found, part, method))
    how = "the cell in bold, clustered and sigma 0.2, by share of outliers and n"
    return Table(f"{NAME}-shares", how, SHARE_KEYS, SHARE_COLUMNS, tuple(rows))


def _runs(runs: Iterable[Found]) -> Table:
    rows = []
    for run, method in product(runs, METHODS):
        found = run[method]
        key = tuple(run[name] for name in ("kind", "percent", "sigma", "n", "d", "seed"))
        values = {
            "test": found["test"]["first"], "exact": found["exact"],
            "middle": found["test"]["middle"], "last": found["test"]["last"],
            "parameter": found["chosen"]["first"], "away": float(run["away"]),
        }  # fmt: skip
        line = {name: Cell(value) for name, value in values.items()}
        rows.append(row_of((*key, method), line, [run], method))
    return Table(f"{NAME}-runs", "every run", RUN_KEYS, RUN_COLUMNS, tuple(rows), shown=False)


# --- Figure 2 -------------------------------------------------------------------------------------


def breakdown_figure(runs: Sequence[Found]) -> Figure:
    """One row for every share of outliers, one panel for every n: a mark a run, a bar the mean.

    runs: of `replications.outlier_run`, with clustered outliers; at least one.
    """
    shares = sorted({run["percent"] for run in runs}, reverse=True)
    sizes = sorted({run["n"] for run in runs})
    figure = new_figure(PAGE, 0.8 + HEIGHT * len(shares))
    top = 4 + max(HIGH, *(rate for method in METHODS for rate in rates(runs, method)))
    panels = figure.subplots(len(shares), len(sizes), sharey=True, squeeze=False)
    for line, percent in zip(panels, shares, strict=True):
        for axes, n in zip(line, sizes, strict=True):
            part = where(runs, percent=percent, n=n)
            _panel(axes, part)
            axes.set_ylim(-2, top)
            axes.set_title(f"n = {n}", fontsize=LARGE)
            tidy(axes)
        line[0].set_ylabel(f"{percent} % outliers:\ntest errors, %", fontsize=NORMAL)
    for axes in panels[-1]:
        axes.set_xlabel("features p", fontsize=NORMAL)
    shared_legend(figure, columns=4)
    return figure


def _panel(axes: Any, runs: Sequence[Found]) -> None:
    dimensions = sorted({run["d"] for run in runs})
    rng = np.random.default_rng(0)  # moves marks aside, so that equal ones are seen
    for number, (method, look) in enumerate(zip(METHODS, LOOKS, strict=False)):
        for place, d in enumerate(dimensions):
            found = rates(where(runs, d=d), method)
            middle = place + (number - 0.5) * WIDTH
            aside = rng.uniform(-JITTER, JITTER, len(found))
            axes.plot(
                middle + aside, found, look.mark, ms=3, mew=0.7, color=look.colour,
                mfc="none", ls="none", zorder=6, label=method if place == 0 else None,
            )  # fmt: skip
            ends = [middle - WIDTH / 2, middle + WIDTH / 2]
            level = [float(np.mean(found))] * 2
            axes.plot(
                ends, level, color=look.colour, lw=2, ls=("-", (0, (2, 1)))[number], zorder=5,
                label=f"{method}, mean" if place == 0 else None,
            )  # fmt: skip
    axes.axhline(50, color=GREY, lw=0.6, ls=(0, (1, 2)), zorder=0)
    axes.set_xticks(range(len(dimensions)), [str(d) for d in dimensions])
    axes.set_xlim(-0.6, len(dimensions) - 0.4)
    axes.tick_params(labelsize=SMALL)
