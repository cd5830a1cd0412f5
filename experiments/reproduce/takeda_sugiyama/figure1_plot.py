"""The picture of Figure 1: histograms of margin errors, the tail marked, with VaR and CVaR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    GREY,
    NORMAL,
    PAGE,
    PALE,
    VERMILLION,
    new_figure,
    shared_legend,
    tidy,
)
from tightmargin.experiments.reproduce.takeda_sugiyama.machines import SOURCES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 36
ROW = 2.7  # inches
TAIL = "#9CC5E0"


def distribution_figure(found: Sequence[Mapping[str, Any]]) -> Figure:
    """One panel for each distribution, two in a row.

    Bars are split at the VaR, so that the tail is the hatched part; VaR, CVaR and 0 are lines of
    three kinds.
    """
    rows = max(1, (len(found) + 1) // 2)
    figure = new_figure(PAGE, ROW * rows + 0.5)
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    for axes, one in zip(panels, found, strict=False):
        _panel(axes, one)
    if found:
        shared_legend(figure, columns=5)
    return figure


def _panel(axes: Any, one: Mapping[str, Any]) -> None:
    errors, level = np.array(one["errors"]), one["VaR"]
    width = float(np.ptp(errors)) / BINS
    before, after = np.ceil([(level - errors.min()) / width, (errors.max() - level) / width])
    edges = level + width * np.arange(-before, after + 1)
    tail = errors >= level
    axes.hist(errors[~tail], edges, color=PALE, ec=GREY, lw=0.5, label="other points")
    axes.hist(
        errors[tail], edges, color=TAIL, ec=BLUE, lw=0.5, hatch="////", label="VaR and beyond"
    )
    axes.axvline(0.0, color=GREY, lw=1.0, ls=":", label="0: the hyperplane")
    axes.axvline(level, color=BLACK, lw=1.4, ls="--", label="VaR")
    axes.axvline(one["tail mean"], color=VERMILLION, lw=1.8, label="CVaR")
    side = "above" if one["side"] > 0 else "below"
    axes.set_title(
        f"{SOURCES[one['data']].words}, nu = {one['nu']:g}, {side} nu_bar\n"
        f"VaR {level:.3f}, CVaR {one['tail mean']:.3f}",
        fontsize=NORMAL,
    )
    axes.set_xlabel("margin error")
    axes.set_ylabel("points")
    tidy(axes)
