"""How every picture of the project looks: palette, sizes, and figures without global state."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

# Okabe and Ito's palette: colour-blind readers tell its colours apart.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, PALE = "#767676", "#E4E4E4"

SUFFIXES = (".png", ".pdf", ".svg")
COLUMN, PAGE = 3.5, 7.0  # inches: one column of a two-column page, and the whole width
DPI = 200
POINTS_AN_INCH, LETTER = 72, 0.62  # of the size of a letter: its mean width, and some room
SHORT = 200.0  # last over first number of a logarithmic axis, below which 2 and 5 get ticks
SMALL, NORMAL, LARGE = 8, 9, 10  # points, at the width for which a figure is made


class Look(NamedTuple):
    """How one of several series is drawn; line, mark and colour all differ, for print in grey.

    Attributes
    ----------
    colour : str
    line : str or (offset, dashes)
    mark : str
        As matplotlib names them.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.plots.Look("#000000", "--", "o").mark
    'o'
    """

    colour: str
    line: str | tuple[int, tuple[int, ...]]
    mark: str


LOOKS = (
    Look(BLUE, "-", "o"), Look(VERMILLION, "--", "s"), Look(BLACK, ":", "^"),
    Look(GREEN, "-.", "D"), Look(PURPLE, (0, (5, 1, 1, 1, 1, 1)), "v"),
    Look(ORANGE, (0, (8, 3)), "P"), Look(SKY, (0, (1, 3)), "X"),
)  # fmt: skip


def look(number: int) -> Look:
    """Look of the series with that number; after the last one colours meet other lines."""
    size = len(LOOKS)
    turn = number // size
    return LOOKS[number % size]._replace(
        line=LOOKS[(number + turn) % size].line, mark=LOOKS[(number + turn) % size].mark
    )


def new_figure(width: float = PAGE, height: float = 4.2) -> Figure:
    """Empty figure of that many inches, laid out so that no text is cut off; no pyplot state.

    Parameters
    ----------
    width, height : float
        Inches.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.plots.new_figure(width=3.5, height=2.0).get_size_inches().tolist()
    [3.5, 2.0]
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI)
    figure.set_layout_engine("constrained")
    return figure


class _TitleWrapper(textwrap.TextWrapper):
    """Breaks lines after commas and slashes too: names of data sets have no blanks."""

    wordsep_simple_re = re.compile(r"(\s+|(?<=[,/]))")


def folded(title: str, width: float, size: float) -> str:
    """A title in lines that fit a figure of so many inches, in letters of so many points."""
    columns = int(POINTS_AN_INCH * width / (LETTER * size))
    wrapper = _TitleWrapper(columns, break_on_hyphens=False)
    return "\n".join(wrapper.fill(line) for line in title.splitlines())


def literal(name: str) -> str:
    """A name for a legend as it is spelt: no mathematics, and not left out for its underscore."""
    shown = name.replace("$", r"\$")
    return f"class {shown}" if shown.startswith("_") else shown


def tidy(axes: Any, size: float = NORMAL) -> None:
    """Take away the frame above and on the right, and set the letters of both axes.

    Parameters
    ----------
    axes : matplotlib Axes
        Changed in place.
    size : float
        Of the letters, in points.

    Examples
    --------
    >>> import tightmargin as tm
    >>> axes = tm.plots.new_figure(width=3.5, height=3.0).subplots()
    >>> tm.plots.tidy(axes)
    >>> axes.spines["top"].get_visible()
    False
    """
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=max(SMALL, size - 1))
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_fontsize(size)


def explain(axes: Any, size: float = SMALL, loc: str = "best") -> None:
    """A legend inside the axes, on white so that no line runs through its words."""
    axes.legend(
        fontsize=size, loc=loc, facecolor="white", edgecolor="none", framealpha=0.85, fancybox=False
    )


def plain_logarithm(axis: Any) -> None:
    """Make an axis logarithmic with ticks that read 0.1, 1, 10, and 2 and 5 where it is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    name = axis.axis_name
    getattr(axis.axes, f"set_{name}scale")("log")
    low, high = sorted(getattr(axis.axes, f"get_{name}lim")())
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < SHORT * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def shared_legend(figure: Figure, columns: int = 3, size: float = SMALL) -> Legend:
    """One legend below all panels of a figure; what several panels show stands in it once.

    Parameters
    ----------
    figure : Figure
        With labelled artists.
    columns : int
        Of the legend.
    size : float
        Of its letters, in points.

    Raises
    ------
    ValueError
        Nothing in the figure has a label.

    Examples
    --------
    >>> import tightmargin as tm
    >>> figure = tm.plots.new_figure()
    >>> for axes in figure.subplots(1, 2):
    ...     lines = axes.plot([0, 1], label="the same")
    >>> len(tm.plots.shared_legend(figure).get_texts())
    1
    """
    named: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if not named:
        raise ValueError("nothing in this figure has a label")
    return figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=columns, fontsize=size,
        frameon=False,
    )  # fmt: skip


def axis_limits(values: Iterable[float], room: float = 0.05) -> tuple[float, float]:
    """Least and largest of the values with some room, also when they are all the same."""
    finite = [float(v) for v in values if isfinite(v)]
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    spread = (high - low) or abs(high) or 1.0
    return low - room * spread, high + room * spread
