"""The picture of the walks: one panel for each data set, by the printed rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tightmargin.experiments.plots.sgd import draw_sgd
from tightmargin.experiments.plots.style import NORMAL, ORANGE, new_figure, shared_legend
from tightmargin.experiments.reproduce.lee.sgd_runs import Walks, ridge_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (9.0, 4.0)  # inches


def walks_figure(all_walks: Sequence[Walks]) -> Figure:
    """Gaps over steps by the printed rule, with the mean of the other rule beside it."""
    printed = [one for one in all_walks if one.rule == "printed"]
    others = {one.data: one for one in all_walks if one.rule != "printed"}
    figure = new_figure(*SIZE)
    panels = figure.subplots(1, len(printed), sharey=True, squeeze=False)[0]
    for axes, one in zip(panels, printed, strict=True):
        draw_sgd(axes, one.steps, one.gaps, one.proven_gaps, one.rates)
        if one.data in others:
            other = others[one.data]
            axes.plot(
                other.steps, other.gaps.mean(axis=0), color=ORANGE, ls="-.", lw=1.6,
                label="mean, rule of the text",
            )  # fmt: skip
        axes.set_title(ridge_text(one), loc="left", fontsize=NORMAL)
        axes.set_ylabel("")
    panels[0].set_ylabel("objective of the averaged iterate\nless the proven optimum")
    shared_legend(figure, columns=5)
    return figure
