"""The graph of the catalogue: SVG in the page itself, whose boxes lead to the formulas."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

from docs.generate.entries import anchor
from tightmargin.experiments.plots.catalogue import catalogue_figure
from tightmargin.experiments.plots.style import BLUE, GREEN, GREY, VERMILLION
from tightmargin.formulations import CATALOGUE, Entry
from tightmargin.formulations.formulas.formula import formulas

# Colours that site.css sets for light and for dark pages.
_VARIABLES = {BLUE: "--graph-blue", GREEN: "--graph-green", GREY: "--graph-grey",
              VERMILLION: "--graph-red"}  # fmt: skip
SALT = "tightmargin"  # names of parts repeat from one build to the next


def graph(root: str = "") -> str:
    """All formulations, or a problem with all that comes from it; in two widths where that helps.

    Raises
    ------
    KeyError
        There is no such problem.
    """
    entries = CATALOGUE if not root else _below(CATALOGUE[root])
    shown = [_figure(entries, columns=1, kind="narrow" if not root else "")]
    if not root:
        shown.insert(0, _figure(entries, columns=2, kind="wide"))
    return "```{raw} html\n" + "\n".join(shown) + "\n```"


def _below(root: Entry) -> dict[str, Entry]:
    found = {root.name: root}
    for entry in CATALOGUE.values():
        if {entry.relaxes, entry.restates, entry.dual_of} & set(found):
            found[entry.name] = entry
    return found


def _figure(entries: Mapping[str, Entry], columns: int, kind: str) -> str:
    pages = formulas()
    links = {name: f"papers/{pages[name].paper}.html#{anchor(name)}" for name in entries}
    drawn = catalogue_figure(entries, links=links, columns=columns)
    label = "What relaxes, restates or is the dual of what; each box leads to its formula."
    return (
        f'<figure class="graph {kind}" aria-label="{label}">\n{_inline(svg_of(drawn))}\n</figure>'
    )


def svg_of(figure: object) -> str:
    """The figure as SVG with its words as text."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": SALT}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})  # type: ignore[attr-defined]
    return file.getvalue()


def _inline(svg: str) -> str:
    """SVG as part of a page: links stay in its window, colours are those of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<style .*?</style>", "", svg, flags=re.DOTALL)  # would hold for the page
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # two pictures on a page have the same ones
    svg = svg.replace("xlink:href", "href").replace(' target="_blank"', "")
    svg = re.sub(r"font-family: [^;]*;", "", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour.lower(), f"var({variable})")
    return "\n".join(line for line in svg.splitlines() if line.strip())
