"""The picture of Figure 1: two panels, one curve for each size of training set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    PURPLE,
    VERMILLION,
    Look,
    new_figure,
)
from tightmargin.experiments.reproduce.bi_vapnik.measured import Curve
from tightmargin.experiments.reproduce.bi_vapnik.published import ADVISED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (9.0, 4.2)  # inches
LOOKS = (
    Look(BLACK, "-", "o"), Look(VERMILLION, "--", "s"), Look(BLUE, "-.", "^"),
    Look(GREEN, (0, (5, 1, 1, 1, 1, 1)), "D"), Look(PURPLE, ":", "v"),
)  # fmt: skip


def risk_figure(curves: Sequence[Curve]) -> Figure:
    """Training risk on the left; test risk on the right with its least value and the advised H."""
    figure = new_figure(*SIZE)
    left, right = figure.subplots(1, 2)
    for number, (one, look) in enumerate(zip(curves, LOOKS, strict=False)):
        ratios = [row.ratio for row in one.rows]
        tested = [row.test.errors for row in one.rows]
        style: dict[str, Any] = {
            "color": look.colour, "ls": look.line, "marker": look.mark, "ms": 4, "lw": 1.3,
            "markevery": (number, 8), "label": f"$\\ell$ = {one.size}",
        }  # fmt: skip
        left.plot(ratios, [row.train.errors for row in one.rows], **style)
        right.plot(ratios, tested, **style)
        best = min(range(len(tested)), key=tested.__getitem__)
        right.plot(
            ratios[best], tested[best], "o", ms=11, mfc="none", mec=look.colour, mew=1.2, ls="none"
        )
    right.axvspan(*ADVISED, color="#EEEEEE", zorder=0, lw=0)
    left.set_title("training risk", fontsize=11)
    right.set_title("test risk", fontsize=11)
    right.text(
        0.98, 0.98, "ring: the least\ngrey: the range the paper advises",
        transform=right.transAxes, ha="right", va="top", fontsize=9,
    )  # fmt: skip
    for axes in (left, right):
        axes.set_xlabel(r"$H^2 / \ell$")
        axes.set_ylabel("errors, %")
        axes.set_xlim(0, 1.02)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    left.set_ylim(bottom=-0.2)
    left.legend(frameon=False)
    return figure
