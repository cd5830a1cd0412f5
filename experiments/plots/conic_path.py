"""The conic estimator over its penalty or budget: value between its bounds, and the sum of z."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    DPI,
    LARGE,
    VERMILLION,
    plain_logarithm,
    tidy,
)
from tightmargin.solvers.conic.path_result import ConicPath

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (7.0, 5.6)  # inches

CURVE, BOUND, ERRORS = BLUE, BLACK, VERMILLION


def conic_path_figure(path: ConicPath, title: str = "") -> Figure:
    """Two panels over the parameter: value and proven bound; sum z / n and the share of errors.

    Raises
    ------
    ValueError
        Nothing to draw.
    """
    from matplotlib.figure import Figure

    if not path.rows:
        raise ValueError("there is no finished row to draw")
    given = [getattr(row, path.parameter) for row in path.rows]
    mark = {"marker": "o", "ms": 3} if len(given) <= 40 else {}

    def alone(shape: str, size: float) -> dict[str, Any]:
        """One value makes no line: it needs a mark."""
        return {"marker": shape, "ms": size, "mew": 1.5} if len(given) == 1 else {}

    figure = Figure(figsize=SIZE, dpi=DPI)
    figure.set_layout_engine("constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(given, [row.value for row in path.rows], color=CURVE, lw=3, label="value", **mark)
    upper.plot(
        given, [max(row.lower_bound, 0.0) for row in path.rows],
        color=BOUND, ls=(0, (4, 4)), lw=1.2, label="proven lower bound", **alone("_", 14),
    )  # fmt: skip
    value = "trace W" if path.parameter == "budget" else "trace W + penalty sum z"
    upper.set_ylabel(value)
    lower.plot(given, [row.spent for row in path.rows], color=CURVE, label="sum z / n", **mark)
    lower.plot(
        given, [row.errors / path.data.n for row in path.rows],
        color=ERRORS, ls=":", label="training errors / n", **alone("x", 6),
    )  # fmt: skip
    lower.set_ylabel("share of the points")
    lower.set_xlabel(path.parameter)
    lower.set_ylim(bottom=0.0)
    if path.parameter == "penalty":
        plain_logarithm(lower.xaxis)
    if len(given) == 1:
        upper.set_ylim(0.0, 1.1 * path.rows[0].value or 1.0)
    elif min(row.value for row in path.rows) > 0:
        plain_logarithm(upper.yaxis)
    for axes in (upper, lower):
        axes.legend(frameon=False)
        tidy(axes, LARGE)
    if title:
        upper.set_title(title, parse_math=False)
    return figure


def save_conic_path(path: ConicPath, file: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how."""
    conic_path_figure(path, title).savefig(file)
