"""Figure 2: every run with clustered outliers, by number of points and of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

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
from tightmargin.experiments.reproduce.cepeda_gomez_han.published import METHODS
from tightmargin.experiments.reproduce.cepeda_gomez_han.replications import Found
from tightmargin.experiments.reproduce.cepeda_gomez_han.summary import rates, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 0.34  # of the distance of two groups, between the methods
JITTER = 0.12
HIGH = 58.0  # percent; the axis reaches further only where a run does
HEIGHT = 2.3  # inches a row


def breakdown_figure(runs: Sequence[Found]) -> Figure:
    """One row for every share of outliers, one panel for every n: a mark a run, a bar the mean.

    Parameters
    ----------
    runs : sequence of dict
        Of `replications.outlier_run`, with clustered outliers; at least one.
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
