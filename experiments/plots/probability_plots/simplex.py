"""The labelled grid of class weights for one point, and the cell where all three classes meet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    NORMAL,
    PALE,
    SMALL,
    VERMILLION,
    YELLOW,
    literal,
    new_figure,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.probability.multiclass import DirectProbabilities, rainbow_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SIZE = (6.0, 5.6)  # inches
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
NAMES = ((-0.03, -0.05), (1.03, -0.05), (0.5, np.sqrt(3) / 2 + 0.035))
MARKERS = ("o", "s", "^")
LARGEST_MARK = 7.0  # points

COLOURS = (BLUE, VERMILLION, GREEN)
EDGES, CELL, CROSS = PALE, YELLOW, BLACK


def simplex_figure(
    fitted: DirectProbabilities, x: ArrayLike, truth: Sequence[float] | None = None
) -> Figure:
    """Triangle of the weights with the label of every grid weight at x.

    Parameters
    ----------
    fitted : DirectProbabilities
        Of three classes, from `tm.paths.direct_probabilities`.
    x : array (d,)
        One point, in the coordinates of the training points.
    truth : sequence of 3 numbers, optional
        Its class probabilities, if they are known: where the classes truly meet is marked too.

    Raises
    ------
    ValueError
        Another number of classes than three; a truth that is no three positive numbers.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.gaussian_class_data(n=18, d=2, classes=3, sigma=0.5, seed=0)
    >>> fitted = tm.paths.direct_probabilities(data, ridge=0.1, grid=4, machine="hinge")
    >>> figure = tm.plots.simplex_figure(fitted, data.X[0])
    """
    figure = new_figure(*SIZE)
    draw_simplex(figure.subplots(), fitted, x, truth)
    return figure


def draw_simplex(
    axes: Any,
    fitted: DirectProbabilities,
    x: ArrayLike,
    truth: Sequence[float] | None = None,
    *,
    size: float = NORMAL,
) -> None:
    """Draw the triangle of `simplex_figure` upon axes, in letters of that size."""
    grid = fitted.grid
    if grid.n_classes != 3:
        raise ValueError(f"the simplex of {grid.n_classes} classes is no triangle")
    point = np.asarray(x, dtype=float)[None, :]
    labels = fitted.grid_labels(point)
    reading, rainbow = fitted.reading(point), rainbow_cells(grid, labels)[0]
    places = grid.weights @ CORNERS
    axes.triplot(places[:, 0], places[:, 1], grid.cells, color=EDGES, lw=0.7, zorder=1)
    for cell in grid.cells[rainbow]:
        axes.fill(*places[cell].T, color=CELL, ec=CROSS, lw=1.0, zorder=2)
    mark = min(LARGEST_MARK, 90.0 / grid.steps)
    for k, name in enumerate(fitted.classes):
        mine = labels[0] == k
        axes.plot(
            *places[mine].T,
            MARKERS[k],
            color=COLOURS[k],
            ms=mark,
            label=literal(name),
            ls="",
            zorder=3,
        )
        left, up = NAMES[k]
        axes.text(
            left, up, f"weight 1 on {name}", ha=("left", "right", "center")[k], va="center",
            fontsize=size, parse_math=False,
        )  # fmt: skip
    axes.plot(
        *(reading.border @ CORNERS).T, "x", color=CROSS, ms=9, mew=2, zorder=4, label="border"
    )
    if truth is not None:
        where = _border_of(truth)[None, :] @ CORNERS
        axes.plot(*where.T, "o", mfc="none", color=CROSS, ms=10, zorder=4, label="true border")
    axes.set_aspect("equal")
    axes.axis("off")
    axes.legend(
        title="label", frameon=False, loc="upper left", fontsize=max(SMALL, size - 1),
        title_fontsize=size,
    )  # fmt: skip
    title = _title(reading.probabilities[0], int(reading.cells[0]), truth)
    axes.set_title(title, fontsize=size + 1, pad=12)


def _border_of(truth: Sequence[float]) -> Array:
    p = np.asarray(truth, dtype=float)
    if p.shape != (3,) or not (np.isfinite(p).all() and (p > 0).all()):
        raise ValueError(f"truth must be three positive numbers, got {truth!r}")
    found: Array = (1 / p) / (1 / p).sum()
    return found


def _title(p: Array, cells: int, truth: Sequence[float] | None) -> str:
    text = "p = " + ", ".join(f"{number:.3f}" for number in p)
    if truth is not None:
        text += "   (true " + ", ".join(f"{number:.3f}" for number in truth) + ")"
    return text + (f"\nmean over {cells} complete cells" if cells > 1 else "")


def save_simplex(
    fitted: DirectProbabilities,
    x: ArrayLike,
    file: str | Path,
    truth: Sequence[float] | None = None,
) -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    fitted : DirectProbabilities
        Of three classes, from `tm.paths.direct_probabilities`.
    x : array (d,)
        One point, in the coordinates of the training points.
    file : str or path
        Of the picture: its suffix is one of SUFFIXES.
    truth : sequence of 3 numbers, optional
        Its class probabilities, if they are known.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.gaussian_class_data(n=18, d=2, classes=3, sigma=0.5, seed=0)
    >>> fitted = tm.paths.direct_probabilities(data, ridge=0.1, grid=4, machine="hinge")
    >>> tm.plots.save_simplex(fitted, data.X[0], "simplex.svg")
    """
    simplex_figure(fitted, x, truth).savefig(file)
