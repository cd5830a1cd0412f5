"""A two-dimensional run of the outer loop, as Takeda & Sugiyama's Figure 3: what each cut removes.

python -m tightmargin.experiments.plots.cutting_planes CUTS.png [CVAR.png]     the pictures of
docs/guide.md
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tightmargin.cuts.cut.cut import Cut, Kind
from tightmargin.cuts.nu_path.cvar_profile import CvarProfile, cvar_profile
from tightmargin.cuts.nu_path.nu_path import extended_nu_path
from tightmargin.cuts.outer_loop.cutting_plane import cutting_plane
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.experiments.data.gaussian_classes import clusters
from tightmargin.experiments.plots.paths import save_profile
from tightmargin.experiments.plots.plane_polygons import (
    Piece,
    PlaneRun,
    distance_to_boundary,
    plane_run,
)
from tightmargin.experiments.plots.style import BLUE, LARGE, YELLOW, folded, new_figure
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.nu.nu_range import nu_range

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SIZE = (9.0, 5.2)  # inches
OUTSIDE = 0.18  # of gamma: how far outside P the numbers of the cuts are
APART = 0.16  # of gamma: between two numbers at least
TURNS = 500  # of neighbouring numbers apart
MARGIN = 1.25  # of gamma: how far the picture reaches
PATH = (0.95, 0.8, 0.69, 0.51, 0.45, 0.4, 0.33, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03)

LEFT, INSIDE, CIRCLE = "#FFFFFF", "#F4F4F4", "#555555"
BEST = YELLOW


class CutStyle(NamedTuple):
    """How the cuts of a kind are drawn; Okabe and Ito's colours, and hatches that differ."""

    words: str
    colour: str
    pale: str
    hatch: str


CORNER = CutStyle("removed by a concavity cut\nat a corner", BLUE, "#C6DDEC", "")
VERTEX = CutStyle(
    "removed by a concavity cut\nat a vertex that cuts have made", "#B87A00", "#F7E3B5", "..."
)
FACIAL = CutStyle("face removed by a facial cut", "#A3366F", "#EBCBDC", "////")


def style_of(cut: Cut) -> CutStyle:
    """How a cut is drawn."""
    if cut.kind is Kind.FACIAL:
        return FACIAL
    return VERTEX if cut.origin.parents else CORNER


def cut_figure(result: CuttingPlaneResult, title: str = "") -> Figure:
    """Draw P with its corners, what each cut removes, the circle of radius gamma and the optimum.

    Parameters
    ----------
    result : CuttingPlaneResult
        Of points with two features.
    title : str
        Above the picture.

    Raises
    ------
    ValueError
        A run that is not in the plane; see plane_run.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> result = tm.search.cutting_plane(data, nu=0.1)
    >>> figure = tm.plots.cut_figure(result)
    """
    run = plane_run(result)
    figure = new_figure(*SIZE)
    axes = figure.subplots()
    axes.set_aspect("equal")
    axes.fill(*run.corners.T, color=INSIDE, zorder=0)
    for piece in run.pieces:
        _draw_piece(axes, piece)
    if len(run.left):
        axes.fill(*run.left.T, fc=LEFT, ec="black", lw=0.8, ls=":", zorder=1)
    _draw_polytope(axes, run)
    shown = _draw_construction(axes, run)
    _number(axes, run)
    reach = MARGIN * run.gamma
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_xlabel("w[0]")
    axes.set_ylabel("w[1]")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    _explain(axes, result, run, shown)
    if title:
        figure.suptitle(folded(title, SIZE[0], LARGE), fontsize=LARGE, parse_math=False)
    return figure


def save_cuts(result: CuttingPlaneResult, path: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    result : CuttingPlaneResult
        Of points with two features.
    path : str or path
        Of the file: its suffix is one of SUFFIXES.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> result = tm.search.cutting_plane(data, nu=0.1)
    >>> tm.plots.save_cuts(result, "cuts.svg")
    """
    cut_figure(result, title).savefig(path)


def _draw_piece(axes: Any, piece: Piece) -> None:
    look = style_of(piece.cut)
    if len(piece.polygon):
        axes.fill(
            *piece.polygon.T, fc=look.pale, ec=look.colour, lw=0.8, hatch=look.hatch, zorder=2
        )


def _draw_construction(axes: Any, run: PlaneRun) -> int | None:
    """Show for the first concavity cut how far its edges reach; its number, if there is one."""
    for piece in run.pieces:
        origin = piece.cut.origin
        if piece.cut.kind is Kind.CONCAVITY and len(origin.rays) == 2:
            ends = origin.vertex + origin.rays * origin.theta[:, None]
            path = np.array([ends[0], origin.vertex, ends[1], ends[0]])
            axes.plot(*path.T, color=CIRCLE, lw=0.9, ls=":", zorder=3)
            axes.plot(*ends.T, "s", ms=4, color=CIRCLE, zorder=7)
            return piece.cut.round + 1
    return None


def _draw_polytope(axes: Any, run: PlaneRun) -> None:
    from matplotlib.patches import Circle

    closed = np.vstack([run.corners, run.corners[:1]])
    axes.plot(*closed.T, color="black", lw=1.4, zorder=4)
    for piece in run.pieces:
        if piece.cut.kind is Kind.FACIAL:
            for segment in piece.on_boundary:
                axes.plot(*segment.T, color=FACIAL.colour, lw=4, zorder=5)
    axes.plot(*run.corners.T, "o", ms=4, color="black", zorder=6)
    axes.add_patch(Circle((0, 0), run.gamma, fill=False, ls="--", lw=1.0, ec=CIRCLE, zorder=3))
    axes.plot(0, 0, "+", ms=8, color="black", zorder=6)
    axes.plot(*run.best, "*", ms=15, mfc=BEST, mec="black", zorder=10)


def _number(axes: Any, run: PlaneRun) -> None:
    """Numbers of the cuts outside P, each with a line to the vertex that the cut removes."""
    for piece, place in zip(run.pieces, number_places(run), strict=True):
        colour, aim = style_of(piece.cut).colour, piece.cut.origin.vertex
        axes.annotate(
            str(piece.cut.round + 1), aim, place, color="white", fontsize=9, weight="bold",
            ha="center", va="center", zorder=9,
            bbox={"boxstyle": "circle,pad=0.25", "fc": colour, "ec": "none"},
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 1.0, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        axes.plot(*aim, "o", ms=7, mfc="none", mec=colour, mew=1.6, zorder=7)


def number_places(run: PlaneRun) -> Array:
    """Places (m, 2) just outside P, one for each cut, far enough from one another.

    Seen from 0 each is where its vertex is; neighbours that are too near are turned apart.
    """
    vertices = np.array([piece.cut.origin.vertex for piece in run.pieces]).reshape(-1, 2)
    order = np.argsort(np.arctan2(vertices[:, 1], vertices[:, 0]))
    angles = np.arctan2(vertices[order, 1], vertices[order, 0])
    for _ in range(TURNS):
        radii = distance_to_boundary(run.corners, angles) + OUTSIDE * run.gamma
        needed = APART * run.gamma / np.minimum(radii, np.roll(radii, -1))
        lack = np.maximum(needed - (np.roll(angles, -1) - angles) % (2 * np.pi), 0.0)
        if len(angles) < 2 or lack.max() <= 0:
            break
        angles = angles + (np.roll(lack, 1) - lack) / 2
    radii = distance_to_boundary(run.corners, angles) + OUTSIDE * run.gamma
    places = np.empty_like(vertices)
    places[order] = np.column_stack([np.cos(angles), np.sin(angles)]) * radii[:, None]
    return places


def _explain(axes: Any, result: CuttingPlaneResult, run: PlaneRun, shown: int | None) -> None:
    """The legend, beside the picture."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    best = f"best weight, objective {result.best.objective:.4g}"
    handles: list[Any] = [
        Line2D([], [], marker="o", ms=4, lw=1.4, color="black",
               label="P = {w : h(w) <= 1} and its corners"),
        Line2D([], [], marker="*", ms=13, ls="", mfc=BEST, mec="black",
               label=best + (",\nproven optimal" if result.proven else "")),
        Line2D([], [], ls="--", lw=1.0, color=CIRCLE,
               label="circle through it: no weight\ninside is better"),
    ]  # fmt: skip
    if shown is not None:
        handles.append(
            Line2D([], [], ls=":", lw=0.9, marker="s", ms=4, color=CIRCLE,
                   label=f"cut {shown}: through the points where the\nedges of its corner "
                   "reach the circle")
        )  # fmt: skip
    for look in (CORNER, VERTEX):
        if any(style_of(piece.cut) is look for piece in run.pieces):
            handles.append(Patch(fc=look.pale, ec=look.colour, hatch=look.hatch, label=look.words))
    if any(style_of(piece.cut) is FACIAL for piece in run.pieces):
        # The strip that goes with a face is too thin to be seen.
        handles.append(Line2D([], [], lw=4, color=FACIAL.colour, label=FACIAL.words))
    if len(run.left):
        words = "left: nothing there is better" if result.proven else "left to search"
        handles.append(Patch(fc=LEFT, ec="black", ls=":", label=words))
    axes.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=9,
        labelspacing=0.9, handleheight=1.3, title="numbers: the rounds of the cuts",
        alignment="left",
    )  # fmt: skip


def toy_run() -> CuttingPlaneResult:
    """A run with every kind of cut, few enough to be told apart."""
    data = clusters(27, 10)
    return cutting_plane(data, nu=nu_range(data).nu_bar / 2, strategy="literal")


def toy_profile() -> CvarProfile:
    """The CVaR profile of 60 points, from certified values."""
    return cvar_profile(extended_nu_path(clusters(0, 60), PATH))


def main(words: list[str]) -> None:
    """Write the pictures that are named."""
    if not 1 <= len(words) <= 2:
        raise SystemExit(
            "usage: python -m tightmargin.experiments.plots.cutting_planes CUTS.png [CVAR.png]"
        )
    save_cuts(
        toy_run(), words[0], "Two features, ten points: a global optimum proven by seven cuts"
    )
    if len(words) == 2:
        save_profile(toy_profile(), words[1], "Two features, 60 points")


if __name__ == "__main__":
    main(sys.argv[1:])
