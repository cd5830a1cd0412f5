"""The pictures of Figures 1 to 4: boundaries with their margins, support vectors ringed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tightmargin.experiments.data.gaussian_classes import clusters
from tightmargin.experiments.plots.decision_boundary import NEGATIVE, POSITIVE, RING, draw_boundary
from tightmargin.experiments.plots.style import BLACK, GREEN, PAGE, SMALL, new_figure
from tightmargin.experiments.reproduce.perez_cruz.samples import (
    FAR,
    KERNELS,
    NEAR,
    PANELS,
    PLACE,
    POINTS,
    WIDTH,
    circles_and_disks,
    two_clouds,
)
from tightmargin.experiments.reproduce.perez_cruz.section6_error import bayes_score
from tightmargin.experiments.reproduce.perez_cruz.solved import Plain
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.kernels import kernel_matrix
from tightmargin.formulations.data.training_data import TrainingData

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Score = Callable[[Array], Array]


class Panel(NamedTuple):
    """One machine on its points; `mark` is where a second boundary is 0, for comparison."""

    data: TrainingData
    score: Score
    rho: float
    vectors: Sequence[int]
    title: str
    mark: Score | None = None


def boundary_figure(panels: Sequence[Panel], columns: int, height: float) -> Figure:
    """Draw panels in rows of so many columns, each row of so many inches."""
    rows = -(-len(panels) // columns)
    figure = new_figure(PAGE, rows * height + 0.5)
    for axes, panel in zip(figure.subplots(rows, columns, squeeze=False).flat, panels, strict=True):
        ringed = np.zeros(panel.data.n, dtype=bool)
        ringed[list(panel.vectors)] = True
        draw_boundary(
            axes, panel.data.X, panel.data.y, panel.score, margin=panel.rho, support=ringed
        )
        axes.set_title(panel.title, fontsize=SMALL)
        axes.set_xlabel("")
        axes.set_ylabel("")
        if panel.mark is not None:
            _dotted(axes, panel.mark)
    _legend(figure, any(panel.mark is not None for panel in panels))
    return figure


def _dotted(axes: Any, mark: Score) -> None:
    xs, ys = (np.linspace(low, high, 200) for low, high in (axes.get_xlim(), axes.get_ylim()))
    places = np.column_stack([part.ravel() for part in np.meshgrid(xs, ys)])
    values = mark(places).reshape(len(ys), len(xs))
    axes.contour(xs, ys, values, levels=[0.0], colors=GREEN, linewidths=1.6, linestyles=":")


def _legend(figure: Figure, dotted: bool) -> None:
    """One legend for all panels; the margins of each are at its own rho."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=BLACK, lw=1.6, label="boundary")]
    for mark, dashes, sign in ((POSITIVE, "--", "+"), (NEGATIVE, "-.", "-")):
        handles.append(
            Line2D([], [], color=mark.colour, ls=dashes, lw=1.2, label=f"score = {sign}rho")
        )
    for mark, sign in ((POSITIVE, "+1"), (NEGATIVE, "-1")):
        handles.append(
            Line2D([], [], color=mark.colour, marker=mark.shape, ls="", label=f"class {sign}")
        )
    handles.append(
        Line2D([], [], mfc="none", mec=BLACK, ms=RING, marker="o", ls="", label="support vector")
    )
    if dotted:
        handles.append(Line2D([], [], color=GREEN, ls=":", lw=1.6, label="Bayes rule"))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4, fontsize=SMALL, frameon=False
    )


def linear(row: Plain) -> Score:
    """Decision values of a hyperplane of the plane."""
    w, b = np.array(row["w"]), float(row["b"])
    return lambda X: np.asarray(X @ w + b)


def kernel(points: Array, options: dict[str, Any], a: Sequence[float], b: float) -> Score:
    """Decision values sum_j a_j k(x, x_j) + b, with `options` as kernel_matrix has them."""
    kind, rest = options["kernel"], {k: v for k, v in options.items() if k != "kernel"}
    weights = np.array(a)
    return lambda X: np.asarray(kernel_matrix(kind, X, points, **rest) @ weights + b)


def figure1(sample: Sequence[Plain]) -> Figure:
    """Eight nu on the first sample."""
    data = circles_and_disks(0)
    options = {"kernel": "rbf", "width": WIDTH}
    panels = [
        Panel(
            data, kernel(data.X, options, one["a"], one["b"]), one["rho"], one["vectors"],
            f"nu = {one['nu']:g}",
        )
        for one in sample
    ]  # fmt: skip
    return boundary_figure(panels, 4, 1.75)


def figure2(sample: Plain) -> Figure:
    """The three panels of one sample."""
    separable, other = sample["seeds"]
    data = {"a": two_clouds(separable, FAR)} | dict.fromkeys("bc", two_clouds(other, NEAR))
    panels = [
        Panel(
            data[panel], linear(row), row["rho"], row["vectors"],
            f"({panel}) {PANELS[panel]}\nrho = {row['rho']:.2f}, {len(row['vectors'])} SVs",
        )
        for panel in PANELS for row in [sample[panel]]
    ]  # fmt: skip
    return boundary_figure(panels, 3, 2.7)


def figure3_panels(sample: Plain) -> Figure:
    """The four nu on one sample."""
    data = clusters(sample["seed"], POINTS)
    panels = [
        Panel(
            data, linear(row), row["rho"], row["vectors"],
            f"({letter}) nu = {row['nu']:g}\nrho = {row['rho']:.2f}, lambda = {row['lambda']:.2f}",
        )
        for letter, row in zip("abcd", sample["rows"], strict=True)
    ]  # fmt: skip
    return boundary_figure(panels, 2, 3.4)


def figure4(sample: Plain) -> Figure:
    """Both kernels on one sample, with the Bayes rule."""
    data = clusters(sample["seed"], POINTS)
    words = {"poly": "polynomial kernel", "rbf": "Gaussian kernel"}
    panels = [
        Panel(
            data, kernel(data.X, KERNELS[name][0], one["a"], one["a0"]), one["rho"],
            one["vectors"], f"({letter}) {words[name]}, error {one['errors'][PLACE]:.3f}\n"
            f"rho = {one['rho']:.3g}, lambda = {one['lambda']:.3g}", bayes_score,
        )
        for letter, name in zip("ab", KERNELS, strict=True) for one in [sample[name]]
    ]  # fmt: skip
    return boundary_figure(panels, 2, 3.4)
