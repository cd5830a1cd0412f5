"""A picture of the catalogue: what is a problem, and what relaxes, restates or dualises what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LARGE,
    NORMAL,
    PAGE,
    SMALL,
    VERMILLION,
    folded,
    new_figure,
    shared_legend,
)
from tightmargin.formulations.catalogue import CATALOGUE, Entry, ProblemClass

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW = 0.2  # inches
COLUMNS = 2
INDENT = 0.06  # of a child, a share of a column
CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)
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


def catalogue_figure(catalogue: Mapping[str, Entry] = CATALOGUE, title: str = "") -> Figure:
    """Every formulation below the problem that it relaxes, restates or is the dual of.

    Raises
    ------
    ValueError
        An empty catalogue.
    """
    trees = _trees(catalogue)
    if not trees:
        raise ValueError("there is no formulation to draw")
    columns = _columns(trees)
    rows = max(sum(map(len, column)) for column in columns)
    figure = new_figure(PAGE, ROW * rows + (1.0 if title else 0.6))
    panels = figure.subplots(1, len(columns), squeeze=False)[0]
    for axes, column in zip(panels, columns, strict=True):
        first = 0
        for tree in column:
            for place in tree:
                _draw(axes, place, first)
            first += len(tree)
        axes.set_xlim(0, 1)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.axis("off")
    for word, colour, line in RELATIONS.values():
        panels[0].plot([], [], color=colour, ls=line, label=word)
    panels[0].plot([], [], "s", color=BLUE, ms=4, label="convex")
    panels[0].plot([], [], "s", color=VERMILLION, ms=4, label="not convex")
    shared_legend(figure, columns=len(RELATIONS) + 2)
    if title:
        figure.suptitle(folded(title, PAGE, LARGE), fontsize=LARGE, parse_math=False)
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


def _columns(trees: list[list[Place]]) -> list[list[list[Place]]]:
    """Trees side by side, the first columns filled first."""
    most = -(-sum(map(len, trees)) // COLUMNS)
    columns: list[list[list[Place]]] = [[]]
    for tree in trees:
        if columns[-1] and sum(map(len, columns[-1])) + len(tree) > most + 1:
            columns.append([])
        columns[-1].append(tree)
    return columns


def _draw(axes: Any, place: Place, first: int) -> None:
    entry, depth = place.entry, place.depth
    row, left = first + place.row, INDENT * depth
    if place.above is not None:
        _, colour, line = RELATIONS[place.relation]
        stem = left - INDENT / 2
        axes.plot(
            [stem, stem, left - 0.01], [first + place.above + 0.4, row, row],
            color=colour, ls=line, lw=1.2,
        )  # fmt: skip
    convex = entry.problem_class in CONVEX
    name = axes.text(left, row, entry.name, va="center", fontsize=NORMAL, color=BLACK)
    axes.annotate(
        str(entry.problem_class), xy=(1, 0.5), xycoords=name, xytext=(6, 0),
        textcoords="offset points", va="center", fontsize=SMALL,
        color=BLUE if convex else VERMILLION,
    )  # fmt: skip
