"""The picture of concavity cuts over a polygon: sides disappear until nothing is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.plots.cutting_planes import BEST, CIRCLE, CORNER, VERTEX, CutStyle
from tightmargin.experiments.plots.plane_polygons import clipped
from tightmargin.experiments.plots.polygon_pictures.cuts import PolygonCut, PolygonCuts
from tightmargin.experiments.plots.style import LARGE, folded, new_figure, tidy
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (9.0, 5.2)  # inches
ROOM = 0.25  # of the width of the polygon, around it
GRID = 240  # points along an axis, for level curves
CURVES, CURVE = 5, "#C4C4C4"  # of the objective inside the polygon


def draw_polygon(axes: Any, run: PolygonCuts, after: int | None = None) -> None:
    """Draw a polygon after some of its cuts on axes.

    What the cuts removed is coloured, the sides that are left are thick and black, the dashed
    curve is where the objective has the level, and the last cut shows how it is made: it goes
    through the ends of two steps along the edges of its vertex.

    Parameters
    ----------
    axes : matplotlib Axes
        Changed in place.
    run : PolygonCuts
        Of `polygon_cuts`.
    after : int, optional
        Cuts that are shown; all of them by default.

    Raises
    ------
    ValueError
        More cuts than there are.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(range(2), bounds=(-1, 2))
    >>> model.goal = pyo.Objective(expr=-model.x[0] ** 2 - model.x[1] ** 2)
    >>> axes = tm.plots.new_figure(width=3.5, height=3.0).subplots()
    >>> tm.plots.draw_polygon(axes, tm.plots.polygon_cuts(model), after=1)
    """
    shown = len(run.cuts) if after is None else after
    if not 0 <= shown <= len(run.cuts):
        raise ValueError(f"after={after}: there are {count_text(len(run.cuts), 'cut')}")
    corners, rest = run.rests[0], run.rests[shown]
    axes.set_aspect("equal", adjustable="box")
    view = _limits(axes, corners)
    axes.fill(*corners.T, fc="white", ec=CIRCLE, lw=0.8, zorder=0)
    _curves(axes, run, view)
    for cut, before in zip(run.cuts[:shown], run.rests, strict=False):
        _removed(axes, cut, before)
    if len(rest):
        axes.fill(*rest.T, fc="none", ec="black", lw=0.8, ls=":", zorder=4)
    for segment in run.segments(shown):
        axes.plot(*segment.T, color="black", lw=2.4, solid_capstyle="round", zorder=5)
    if shown:
        _construction(axes, run.cuts[shown - 1])
    axes.plot(*corners.T, "o", ms=4, color="black", zorder=6)
    axes.plot(*run.best, "*", ms=14, mfc=BEST, mec="black", zorder=9)
    axes.set_xlabel(run.names[0])
    axes.set_ylabel(run.names[1])
    tidy(axes)


def polygon_figure(run: PolygonCuts, title: str = "") -> Figure:
    """Draw a polygon after all of its cuts, with a legend.

    Parameters
    ----------
    run : PolygonCuts
        Of `polygon_cuts`.
    title : str
        Above the picture.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(range(2), bounds=(-1, 2))
    >>> model.goal = pyo.Objective(expr=-model.x[0] ** 2 - model.x[1] ** 2)
    >>> figure = tm.plots.polygon_figure(tm.plots.polygon_cuts(model))
    """
    figure = new_figure(*SIZE)
    axes = figure.subplots()
    draw_polygon(axes, run)
    _explain(axes, run)
    if title:
        figure.suptitle(folded(title, SIZE[0], LARGE), fontsize=LARGE, parse_math=False)
    return figure


def save_polygon(run: PolygonCuts, path: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    run : PolygonCuts
        Of `polygon_cuts`.
    path : str or path
        Of the file: its suffix is one of SUFFIXES.
    title : str
        Above the picture.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(range(2), bounds=(-1, 2))
    >>> model.goal = pyo.Objective(expr=-model.x[0] ** 2 - model.x[1] ** 2)
    >>> tm.plots.save_polygon(tm.plots.polygon_cuts(model), "polygon.svg")
    """
    polygon_figure(run, title).savefig(path)


def _style(cut: PolygonCut) -> CutStyle:
    return CORNER if cut.at_corner else VERTEX


def _limits(axes: Any, corners: Array) -> tuple[Array, Array]:
    low, high = corners.min(axis=0), corners.max(axis=0)
    room = ROOM * float((high - low).max())
    axes.set_xlim(low[0] - room, high[0] + room)
    axes.set_ylim(low[1] - room, high[1] + room)
    return low - room, high + room


def _curves(axes: Any, run: PolygonCuts, view: tuple[Array, Array]) -> None:
    """Curves of the objective inside the polygon, and the level everywhere."""
    from matplotlib.patches import Polygon

    low, high = view
    x, y = np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID)
    points = np.stack(np.meshgrid(x, y), axis=-1)
    values = run.values(points.reshape(-1, 2)).reshape(GRID, GRID)
    inside = Polygon(run.rests[0], transform=axes.transData)
    among = np.linspace(run.level, float(values.max()), CURVES + 2)[1:-1]
    curves = axes.contour(x, y, values, among, colors=CURVE, linewidths=0.7, linestyles="-")
    curves.set_clip_path(inside)
    curves.set_zorder(1)
    level = axes.contour(
        x, y, values, [run.level], colors=CIRCLE, linewidths=1.0, linestyles="dashed"
    )
    level.set_zorder(3)


def _removed(axes: Any, cut: PolygonCut, before: Array) -> None:
    piece, look = clipped(before, cut.normal, cut.side), _style(cut)
    if len(piece):
        axes.fill(*piece.T, fc=look.pale, ec=look.colour, lw=0.7, hatch=look.hatch, zorder=2)


def _construction(axes: Any, cut: PolygonCut) -> None:
    colour = _style(cut).colour
    path = np.array([cut.ends[0], cut.vertex, cut.ends[1]])
    axes.plot(*path.T, color=CIRCLE, lw=0.9, ls=":", zorder=7)
    axes.plot(*cut.ends.T, "-", color=colour, lw=1.6, zorder=7)
    axes.plot(*cut.ends.T, "s", ms=4, color=colour, zorder=8)
    axes.plot(*cut.vertex, "o", ms=8, mfc="none", mec=colour, mew=1.6, zorder=8)


def _explain(axes: Any, run: PolygonCuts) -> None:
    """The legend, beside the picture."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    best = f"best point, objective {float(run.values(run.best[None])[0]):.5g}"
    handles: list[Any] = [
        Line2D([], [], marker="o", ms=4, lw=0.8, color="black", label="the polygon, its corners"),
        Line2D([], [], marker="*", ms=13, ls="", mfc=BEST, mec="black",
               label=best + (",\nproven optimal" if run.proven else "")),
        Line2D([], [], ls="--", lw=1.0, color=CIRCLE,
               label="the level: where the objective\nis that of the best point"),
    ]  # fmt: skip
    if len(run.rests[-1]):
        handles.append(Line2D([], [], lw=2.4, color="black", label="what is left of the sides"))
    for look in (CORNER, VERTEX):
        if any(_style(cut) is look for cut in run.cuts):
            handles.append(Patch(fc=look.pale, ec=look.colour, hatch=look.hatch, label=look.words))
    axes.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=9,
        labelspacing=0.9, handleheight=1.3, alignment="left",
        title=count_text(len(run.cuts), "cut"),
    )  # fmt: skip
