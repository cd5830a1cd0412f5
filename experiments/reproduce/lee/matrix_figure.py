"""The picture of the matrices: bounds and values of every sample, and B as it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.plots.style import NORMAL, PALE, SMALL, look, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (11.0, 3.9)  # inches
SAMPLES = 3  # of each shape and rank that are drawn
SERIES = (("any rank", "full"), ("SDP", "projection"), ("optimum", "exact"),
          ("by turns", "alternating"))  # fmt: skip
SHOWN = (("true", "made the labels"), ("full", "any rank"), ("nuclear", "nuclear norm"),
         ("exact", "proven optimum"))  # fmt: skip


def matrices_figure(fits: Sequence[Mapping[str, Any]]) -> Figure:
    """Values relative to the optimum on the left; on the right one B by each machine.

    Of every shape and rank the first samples are drawn.
    """
    drawn = [one for one in fits if one["task"][-1] < SAMPLES]
    figure = new_figure(*SIZE)
    panels = figure.subplots(1, 1 + len(SHOWN), width_ratios=(2.6, 1, 1, 1, 1))
    _values(panels[0], drawn)
    for axes, (name, words) in zip(panels[1:], SHOWN, strict=True):
        angle = fits[0]["angles"].get(name)
        more = "" if angle is None else f"\n{angle:.0f} degrees off"
        draw_matrix(axes, fits[0]["machines"][name], f"{words}{more}")
    return figure


def draw_matrix(axes: Any, matrix: Any, title: str) -> None:
    """Entries of a matrix, divided by its norm, as shades and in numbers."""
    from matplotlib.colors import LinearSegmentedColormap

    B = np.asarray(matrix, dtype=float)
    B = B / np.linalg.norm(B)
    # Blue below 0 and orange above: both grow darker, and the numbers have the sign.
    shades = LinearSegmentedColormap.from_list("signed", ["#0072B2", "#FFFFFF", "#E69F00"])
    axes.imshow(B, cmap=shades, vmin=-1, vmax=1)
    for (row, column), number in np.ndenumerate(B):
        axes.text(
            column, row, f"{number:+.2f}", ha="center", va="center", fontsize=SMALL - 1
        )  # fmt: skip
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(title, fontsize=NORMAL)


def _values(axes: Any, fits: Sequence[Mapping[str, Any]]) -> None:
    names = []
    for place, one in enumerate(fits):
        _, rows, columns, rank, _, seed = one["task"]
        names.append(f"{rows}x{columns}, rank {rank}, sample {seed}")
        axes.axhline(place, color=PALE, lw=0.6, zorder=0)
    for number, (label, key) in enumerate(SERIES):
        seen = look(number)
        values = [_value(one, key) / one["exact"] for one in fits]
        axes.plot(
            values, range(len(fits)), seen.mark, color=seen.colour, ms=5, ls="", label=label,
            mfc="none" if key == "alternating" else seen.colour,
        )  # fmt: skip
    axes.set_yticks(range(len(fits)), names)
    axes.set_ylim(len(fits) - 0.5, -0.5)
    axes.set_xlabel("value over the proven optimum")
    tidy(axes, SMALL)
    axes.legend(
        frameon=False, fontsize=SMALL, ncols=4, loc="lower center", bbox_to_anchor=(0.4, 1.0),
        handletextpad=0.2, columnspacing=1.0,
    )  # fmt: skip


def _value(one: Mapping[str, Any], key: str) -> float:
    found = one[key]
    return float(found["value"] if isinstance(found, Mapping) else found)
