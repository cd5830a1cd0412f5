"""The picture of Theorems 3 to 5: test errors with their limits over nu, and the bounds."""

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
    VERMILLION,
    new_figure,
    shared_legend,
    tidy,
)
from tightmargin.experiments.reproduce.takeda_sugiyama.risk_samples import SAMPLED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW = 2.8  # inches
STEP = 0.003  # between splits at one nu
FEW = 3  # splits whose limits have room for caps
EDGE = 0.04  # beyond 0 and 1, where bounds that exclude nothing are put

Numbers = Mapping[str, Any]


def bounds_figure(found: Sequence[Numbers]) -> Figure:
    """A panel for each data set, all of its splits in it."""
    names = [name for name in SAMPLED if any(one["data"] == name for one in found)]
    columns = min(max(1, len(names)), 3) if len(names) != 4 else 2
    rows = max(1, -(-len(names) // columns))
    figure = new_figure(PAGE, ROW * rows + 0.7)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, name in zip(panels, names, strict=False):
        own = [one for one in found if one["data"] == name]
        _panel(axes, own)
        axes.set_title(f"{SAMPLED[name].words}, m = {own[0]['m']}", fontsize=NORMAL)
    if names:
        shared_legend(figure, columns=3)
    return figure


def _panel(axes: Any, own: Sequence[Numbers]) -> None:
    nu = np.array([one["nu"] for one in own])
    beside = STEP * np.array([one["split"] for one in own])
    error = np.array([one["test error"] for one in own])
    low, high = (np.array([one[word] for one in own]) for word in ("low", "high"))
    few = len(set(beside)) <= FEW
    axes.errorbar(
        nu + beside - beside.mean(), error, [error - low, high - error], fmt="o",
        ms=3 if few else 1.8, lw=0.9 if few else 0.5, color=BLACK,
        capsize=2 if few else 0, label="test error, 95 % limits",
    )  # fmt: skip
    for word, mark, face in (("upper", "v", "upper bound"), ("lower", "^", "lower bound")):
        side = np.array([one["side"] == word for one in own])
        if not side.any():
            continue
        colour = VERMILLION if word == "upper" else BLUE
        free = np.array([one["without c"] for one in own])
        order = np.argsort(nu[side])
        axes.plot(
            nu[side][order], free[side][order], color=colour, lw=1.2,
            ls="--" if word == "upper" else ":", label=f"{face}, c to 0",
        )  # fmt: skip
        _at_one(axes, [one for one in own if one["side"] == word], mark, colour, face)
    for edge in (0.0, 1.0):
        axes.axhline(edge, color=GREY, lw=0.7)
    axes.set_ylim(-2 * EDGE, 1 + 2 * EDGE)
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("nu")
    axes.set_ylabel("risk")
    tidy(axes)


def _at_one(axes: Any, own: Sequence[Numbers], mark: str, colour: str, words: str) -> None:
    """Bounds with c = 1: filled where they exclude something, else hollow beyond the edge."""
    telling = [one for one in own if not one["vacuous"]]
    if telling:
        axes.plot(
            [one["nu"] for one in telling], [one["bound"] for one in telling], mark, ms=6,
            color=colour, ls="none", label=f"{words}, c = 1",
        )  # fmt: skip
    nothing = [one for one in own if one["vacuous"]]
    if nothing:
        place = 1 + EDGE if nothing[0]["side"] == "upper" else -EDGE
        axes.plot(
            [one["nu"] for one in nothing], [place] * len(nothing), mark, ms=5, mfc="none",
            mec=colour, ls="none", label=f"{words}, c = 1, excludes nothing",
        )  # fmt: skip
