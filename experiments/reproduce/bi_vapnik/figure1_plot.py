"""The picture of Figure 1: two panels, one curve for each size of training set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tightmargin.experiments.reproduce.bi_vapnik.published import ADVISED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tightmargin.experiments.reproduce.bi_vapnik.figure1 import Curve

SIZE = (9.0, 4.2)  # inches
DPI = 200


class Look(NamedTuple):
    """How a curve is drawn: Okabe and Ito's colours, and lines and marks that differ in print."""

    colour: str
    line: str | tuple[int, tuple[int, ...]]
    mark: str


LOOKS = (
    Look("#000000", "-", "o"), Look("#D55E00", "--", "s"), Look("#0072B2", "-.", "^"),
    Look("#009E73", (0, (5, 1, 1, 1, 1, 1)), "D"), Look("#CC79A7", ":", "v"),
)  # fmt: skip


def risk_figure(curves: Sequence[Curve]) -> Figure:
    """Training risk on the left; test risk on the right with its least value and the advised H."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DPI)
    figure.set_layout_engine("constrained")
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
