"""A picture of the catalogue: what is a problem, and what relaxes, restates or dualises what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    GREY,
    LARGE,
    SMALL,
    VERMILLION,
    folded,
    new_figure,
    shared_legend,
)
from tightmargin.formulations.catalogue import CATALOGUE, Entry, ProblemClass

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW = 0.24  # inches
COLUMNS = 2
INDENT = 0.09  # of a child, a share of a column
ROOM = 0.16  # inches around a picture
CONVEX = (
    ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP, ProblemClass.EXP,
)  # fmt: skip
# How a formulation comes from another one, and the line between them.
RELATIONS = {
    "relaxes": ("relaxation", BLUE, "-"),
    "restates": ("restatement", GREY, ":"),
    "dual_of": ("dual", GREEN, "--"),
}


class Place(NamedTuple):
    """Where an entry stands: its row, its depth, the row of what it comes from, and how."""

    entry: Entry
    row: int
    depth: int
    above: int | None
    relation: str


def catalogue_figure(
    catalogue: Mapping[str, Entry] = CATALOGUE,
    title: str = "",
    *,
    links: Mapping[str, str] | None = None,
    columns: int = COLUMNS,
) -> Figure:
    """Every formulation in a box below the problem that it relaxes, restates or is the dual of.

    Parameters
    ----------
    catalogue : mapping
        Entries by name; what an entry comes from and is not among them is not drawn.
    title : str
        Above the picture.
    links : mapping, optional
        Address by name: boxes of a picture that is saved as SVG or PDF lead there.
    columns : int
        Columns of the picture, each as wide as a column of a two-column page.

    Raises
    ------
    ValueError
        An empty catalogue, or no column.

    Examples
    --------
    >>> import tightmargin as tm
    >>> margins = {name: tm.catalogue[name] for name in ("hard_margin_svc", "max_margin_svc")}
    >>> tm.plots.catalogue_figure(margins, columns=1).savefig("margins.svg")
    """
    if columns < 1:
        raise ValueError(f"columns must be at least 1, got {columns}")
    trees = _trees(catalogue)
    if not trees:
        raise ValueError("there is no formulation to draw")
    filled = _columns(trees, columns)
    rows = max(sum(map(len, column)) for column in filled)
    width = COLUMN * columns
    height = ROW * rows + 4 * ROOM + (0.4 if title else 0.0) + (0.2 if columns == 1 else 0.0)
    figure = new_figure(width, height)
    panels = figure.subplots(1, len(filled), squeeze=False)[0]
    for axes, column in zip(panels, filled, strict=True):
        first = 0
        for tree in column:
            for place in tree:
                _draw(axes, place, first, (links or {}).get(place.entry.name))
            first += len(tree)
        axes.set_xlim(0, 1)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.axis("off")
    for word, colour, line in RELATIONS.values():
        panels[0].plot([], [], color=colour, ls=line, label=word)
    panels[0].plot([], [], "s", color=BLUE, ms=4, label="convex")
    panels[0].plot([], [], "s", color=VERMILLION, ms=4, label="not convex")
    shared_legend(figure, columns=3 if columns == 1 else len(RELATIONS) + 2)
    if title:
        figure.suptitle(folded(title, width, LARGE), fontsize=LARGE, parse_math=False)
    return figure


def _trees(catalogue: Mapping[str, Entry]) -> list[list[Place]]:
    """Entries with all that comes from them, in the order of the catalogue."""
    below: dict[str, list[tuple[Entry, str]]] = {}
    roots = []
    for entry in catalogue.values():
        word = next((w for w in RELATIONS if getattr(entry, w) in catalogue), None)
        if word is None:
            roots.append(entry)
        else:
            below.setdefault(getattr(entry, word), []).append((entry, word))

    def grown(tree: list[Place], place: Place) -> list[Place]:
        tree.append(place)
        for child, word in below.get(place.entry.name, []):
            grown(tree, Place(child, len(tree), place.depth + 1, place.row, word))
        return tree

    return [grown([], Place(root, 0, 0, None, "")) for root in roots]


def _columns(trees: list[list[Place]], count: int) -> list[list[list[Place]]]:
    """Trees side by side, the first columns filled first."""
    most = -(-sum(map(len, trees)) // count)
    columns: list[list[list[Place]]] = [[]]
    for tree in trees:
        if columns[-1] and sum(map(len, columns[-1])) + len(tree) > most + 1:
            columns.append([])
        columns[-1].append(tree)
    return columns


def _draw(axes: Any, place: Place, first: int, link: str | None) -> None:
    entry, depth = place.entry, place.depth
    row, left = first + place.row, INDENT * depth
    if place.above is not None:
        _, colour, line = RELATIONS[place.relation]
        stem = left - 0.7 * INDENT
        axes.plot([stem, stem], [first + place.above + 0.4, row], color=GREY, lw=0.8)
        axes.plot([stem, left - 0.01], [row, row], color=colour, ls=line, lw=1.6)
    colour = BLUE if entry.problem_class in CONVEX else VERMILLION
    box = {"boxstyle": "round,pad=0.25", "facecolor": "none", "edgecolor": colour, "lw": 0.8}
    name = axes.text(
        left + 0.01, row, entry.name, va="center", fontsize=SMALL, color=BLACK, bbox=box, url=link
    )
    name.get_bbox_patch().set_url(link)
    axes.annotate(
        str(entry.problem_class), xy=(1, 0.5), xycoords=name, xytext=(7, 0),
        textcoords="offset points", va="center", fontsize=SMALL, color=colour,
    )  # fmt: skip
