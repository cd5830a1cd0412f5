"""The picture of Figure 5: errors over nu; beside it rho and lambda of Table 3 with the print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tightmargin.experiments.plots.style import (
    BLACK,
    GREY,
    PAGE,
    SMALL,
    look,
    new_figure,
    shared_legend,
    tidy,
)
from tightmargin.experiments.reproduce.framework.comparison import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure5(table: Table, errors: Table, nu_bar: float) -> Figure:
    """Training and test error on the left, rho and lambda on the right, nu_bar in all."""
    figure = new_figure(PAGE, 3.6)
    panels: dict[str, Any] = figure.subplot_mosaic(
        [["errors", "rho"], ["errors", "lambda"]], width_ratios=[1.3, 1]
    )
    nus = [float(row.words[0]) for row in errors.rows]
    for number, name, words in ((0, "train", "training error"), (1, "test", "test error")):
        shape = look(number)
        panels["errors"].plot(
            nus, [row.cells[name].ours for row in errors.rows], color=shape.colour, ls=shape.line,
            marker=shape.mark, ms=4, lw=1.3, label=words,
        )  # fmt: skip
    for name in ("rho", "lambda"):
        cells = [(float(row.words[0]), row.cells[name]) for row in table.rows]
        panels[name].plot(
            [nu for nu, _ in cells], [cell.ours for _, cell in cells], "-", color=GREY, lw=1.3,
            label="ours, mean of proven optima",
        )  # fmt: skip
        panels[name].plot(
            [nu for nu, _ in cells], [float(cell.printed) for _, cell in cells], "x",
            color=BLACK, ms=5, mew=1.2, label="Table 3 of the paper",
        )  # fmt: skip
        panels[name].axhline(0.0, color=BLACK, lw=0.6)
        panels[name].set_ylabel(name)
    printed = [(float(row.words[0]), row.cells["test"]) for row in errors.rows]
    printed = [(nu, cell) for nu, cell in printed if cell.printed]
    panels["errors"].plot(
        [nu for nu, _ in printed], [float(cell.printed) for _, cell in printed], "*", ms=9,
        color=BLACK, label="test error in the text",
    )  # fmt: skip
    panels["errors"].set_ylabel("share of errors, mean of the folds")
    for axes in panels.values():
        axes.axvline(nu_bar, color=BLACK, ls="-.", lw=1.0, label="nu_bar: nu-SVC right of it")
        axes.set_xlabel("nu")
        tidy(axes, SMALL + 1)
    panels["rho"].set_xlabel("")
    shared_legend(figure)
    return figure
