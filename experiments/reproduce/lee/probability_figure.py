"""The picture of the probabilities: errors over the grid for both schemes, and one simplex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.plots.simplex import draw_simplex
from tightmargin.experiments.plots.style import NORMAL, SMALL, look, new_figure, tidy
from tightmargin.experiments.reproduce.framework.comparison import Row
from tightmargin.solvers.probability.multiclass import EXACT
from tightmargin.solvers.probability.multiclass_result import DirectProbabilities
from tightmargin.solvers.probability.simplex_grid import simplex_grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (11.0, 4.3)  # inches


def errors_figure(rows: Sequence[Row], shown: Mapping[str, Any] | None) -> Figure:
    """Two panels of errors, and the labelled simplex of one point where it was computed."""
    figure = new_figure(*SIZE)
    widths = (1, 1, 1.15)
    two, three, simplex = figure.subplots(1, 3, width_ratios=widths)
    _errors(two, [row for row in rows if row.words[0] == "two classes"], "two classes")
    _errors(
        three, [row for row in rows if row.words[0] == "direct" and row.words[1] != EXACT],
        "three classes, direct scheme",
    )  # fmt: skip
    low, high = zip(*(axes.get_ylim() for axes in (two, three)), strict=True)
    for axes in (two, three):
        axes.set_ylim(min(low), max(high))
    if shown is None:
        simplex.axis("off")
    else:
        draw_simplex(simplex, fitted_again(shown), shown["x"], shown["truth"], size=SMALL)
    return figure


def fitted_again(shown: Mapping[str, Any]) -> DirectProbabilities:
    """The machines of the picture, from the plain values of their task."""
    _, _, N, _ = shown["task"]
    return DirectProbabilities(
        np.array(shown["B"]), np.array(shown["b"]), simplex_grid(3, N), 0.0, "truncated",
        shown["truncation"], "free", ("0", "1", "2"), 0.0, shown["complete"], shown["converged"],
    )  # fmt: skip


def _errors(axes: Any, rows: Sequence[Row], title: str) -> None:
    """Mean errors over N, one line for each machine and n."""
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row.words[1], row.words[2]), []).append(row)
    for number, ((machine, n), mine) in enumerate(lines.items()):
        seen = look(number)
        name = machine if n == "-" else f"{machine}, n = {n}"
        axes.plot(
            [int(row.words[3]) for row in mine], [row.cells["mean error"].ours for row in mine],
            color=seen.colour, ls=seen.line, marker=seen.mark, ms=4, lw=1.3, label=name,
        )  # fmt: skip
    steps = sorted({int(row.words[3]) for row in rows})
    if steps:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(steps, [str(N) for N in steps], minor=False)
        axes.set_xticks([], minor=True)
        axes.legend(frameon=False, fontsize=SMALL - 1, loc="lower left")
    axes.set_xlabel("steps N of the grid")
    axes.set_ylabel("mean of |p-hat - p|")
    axes.set_title(title, fontsize=NORMAL, loc="left")
    tidy(axes, SMALL)
