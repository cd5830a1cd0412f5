"""Times of several methods on groups of problems: medians and ranges on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.experiments.plots.style import (
    GREY,
    LARGE,
    LOOKS,
    SMALL,
    Look,
    explain,
    plain_logarithm,
    tidy,
)
from tightmargin.printing import Printed

SPREAD = 0.6  # of the distance of two groups: how wide its methods stand
ABOVE = 2.5  # times the limit: where the axis ends


@dataclass(frozen=True, repr=False)
class Timing(Printed):
    """Times of one method on one group, those that met the limit counted as the limit.

    Attributes
    ----------
    median, least, most : float
        Seconds. The median is a lower bound when `censored`.
    runs, unfinished : int
        How many there were, and how many of them met the limit.
    censored : bool
        Whether the median run met the limit.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.plots.timing([1.0, 2.0, 4.0]).most
    4.0
    """

    median: float
    least: float
    most: float
    runs: int
    unfinished: int
    censored: bool


def timing(seconds: Sequence[float | None], limit: float | None = None) -> Timing:
    """Median and range of the times of runs; None, nan, inf and times from the limit on unfinished.

    Parameters
    ----------
    seconds : sequence of float or None
        Of one method on one group.
    limit : float, optional
        Seconds that every run was given.

    Raises
    ------
    ValueError
        No run, a time of 0 or below, an unfinished run without a limit to count it as.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.plots.timing([1.0, 2.0, None], limit=10.0).median
    2.0
    """
    if not len(seconds):
        raise ValueError("seconds must hold at least one run")
    given = np.array([np.inf if s is None else float(s) for s in seconds])
    given[np.isnan(given)] = np.inf
    if (given <= 0).any():
        raise ValueError("seconds must be above 0")
    unfinished = ~np.isfinite(given) if limit is None else given >= limit
    if limit is None and unfinished.any():
        raise ValueError("limit must say how long the runs that did not finish were given")
    counted = given if limit is None else np.minimum(given, limit)
    median = float(np.median(counted))
    return Timing(
        median, float(counted.min()), float(counted.max()), len(given), int(unfinished.sum()),
        limit is not None and median >= limit,
    )  # fmt: skip


def draw_timings(
    axes: Any,
    seconds: Mapping[str, Mapping[str, Sequence[float | None]]],
    *,
    limit: float | None = None,
    group: str = "",
    title: str = "",
) -> None:
    """Draw for each group and method the median time as a mark and the range as a line.

    Where runs met the limit, their number stands above it; a median that is the limit is hollow.

    Parameters
    ----------
    axes : matplotlib Axes
        Drawn upon.
    seconds : mapping of method to mapping of group to a sequence of seconds
        A method may leave out a group. None where a run did not finish.
    limit : float, optional
        Seconds that every run was given; drawn as a line.
    group : str
        What the groups are, for the axis.
    title : str
        Above the axes.

    Raises
    ------
    ValueError
        No method, more than there are looks, no group; see also timing.

    Examples
    --------
    >>> import tightmargin as tm
    >>> axes = tm.plots.new_figure(width=3.5, height=3.0).subplots()
    >>> tm.plots.draw_timings(axes, {"one": {"small": [1.0, 2.0]}, "other": {"small": [3.0]}})
    """
    if not 1 <= len(seconds) <= len(LOOKS):
        raise ValueError(f"draw 1 to {len(LOOKS)} methods in one picture, got {len(seconds)}")
    groups = list(dict.fromkeys(name for rows in seconds.values() for name in rows))
    if not groups:
        raise ValueError("seconds must hold at least one group")
    step = SPREAD / len(seconds)
    for number, (method, rows) in enumerate(seconds.items()):
        look = LOOKS[number]
        offset = (number - (len(seconds) - 1) / 2) * step
        label: str | None = method
        for place, name in enumerate(groups):
            if name not in rows:
                continue
            found = timing(rows[name], limit)
            _draw_timing(axes, place + offset, found, look, label)
            label = None
    if limit is not None:
        axes.axhline(limit, color=GREY, lw=1.0, ls="--", label=f"limit, {limit:g} s", zorder=0)
    axes.set_yscale("log")
    if limit is not None:
        axes.set_ylim(top=limit * ABOVE)
    plain_logarithm(axes.yaxis)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlabel(group)
    axes.set_ylabel("seconds, median and range")
    tidy(axes)
    explain(axes)
    if title:
        axes.set_title(title, fontsize=LARGE, parse_math=False)


def _draw_timing(axes: Any, place: float, found: Timing, look: Look, label: str | None) -> None:
    axes.vlines(place, found.least, found.most, color=look.colour, lw=1.4)
    axes.plot(
        place, found.median, look.mark, ms=6, color=look.colour, ls="", label=label,
        mfc="white" if found.censored else look.colour, mew=1.3,
    )  # fmt: skip
    if found.unfinished:
        axes.annotate(
            f"{found.unfinished}/{found.runs}", (place, found.most), textcoords="offset points",
            xytext=(0, 5), ha="center", va="bottom", fontsize=SMALL, color=look.colour,
        )  # fmt: skip
