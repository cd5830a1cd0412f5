"""The picture of the classes: regions of both machines, and the risk that a truncation changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.plots.decision_boundary import draw_regions
from tightmargin.experiments.plots.style import BLACK, NORMAL, SMALL, look, new_figure, tidy
from tightmargin.experiments.reproduce.lee.multiclass_runs import sample
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.multiclass.fisher_consistency import population_risk

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SIZE = (11.0, 4.2)  # inches
WEIGHTS = (0.40, 0.32, 0.28)  # the first class is the most likely, and below one half
TRUNCATIONS = ((-np.inf, "no truncation"), (-1.0, "s = -1"), (-0.5, "s = -1/2"), (0.0, "s = 0"))


def regions_figure(one: Mapping[str, Any]) -> Figure:
    """Hinge and truncated hinge on the same points, and risks over the lead of one class."""
    _, n, strays, seed = one["task"]
    data = sample(n, strays, seed)
    figure = new_figure(*SIZE)
    panels = figure.subplots(1, 3)
    titles = ("hinge", "truncated, proven")
    for axes, (B, b), title, errors in zip(
        panels[:2], one["machines"], titles, one["errors"][:2], strict=True
    ):
        draw_regions(
            axes, data.X, data.y, _label(np.array(B), np.array(b)),
            title=f"{title}: {errors:.1f} % errors",
        )  # fmt: skip
    given_up = np.array(one["given_up"])
    panels[1].plot(
        *data.X[given_up].T, "o", ls="", ms=10, mfc="none", mec=BLACK, mew=0.9,
        label="given up: loss is the cap",
    )  # fmt: skip
    figure.legend(
        *panels[1].get_legend_handles_labels(), loc="outside lower left", ncols=4, fontsize=SMALL,
        frameon=False,
    )  # fmt: skip
    _risks(panels[2])
    return figure


def _label(B: Array, b: Array) -> Any:
    return lambda places: (places @ B.T + b).argmax(axis=1)


def _risks(axes: Any) -> None:
    """Risk of the scores (u, 0, 0): consistent losses are least at a lead of the first class."""
    u = np.linspace(0, 3, 301)
    scores = np.column_stack([u, 0 * u, 0 * u])
    for number, (s, name) in enumerate(TRUNCATIONS):
        seen, risk = look(number), population_risk("hinge", s, WEIGHTS, scores)
        axes.plot(u, risk, color=seen.colour, ls=seen.line, lw=1.4, label=name)
        best = int(risk.argmin())
        axes.plot(
            u[best], risk[best], seen.mark, color=seen.colour, ms=12 - 3 * number, mfc="none",
            mew=1.4,
        )  # fmt: skip
    words = ", ".join(f"{weight:.2f}" for weight in WEIGHTS)
    axes.set_title(f"risk at one x with p = {words}", fontsize=NORMAL + 1)
    axes.set_xlabel("lead u of the first class; marks: least risk")
    axes.set_ylabel("expected loss")
    axes.set_ylim(0.5, 1.6)
    axes.legend(frameon=False, fontsize=SMALL)
    tidy(axes, SMALL + 1)
