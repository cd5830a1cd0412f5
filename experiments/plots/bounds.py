"""Bound and best point of searches against time or the number of cuts, with the gap between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.cuts.bound_tightening.result import Tightened
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.cuts.search.result import SearchResult
from tightmargin.experiments.plots.style import (
    COLUMN,
    LARGE,
    LOOKS,
    PAGE,
    axis_limits,
    folded,
    new_figure,
    plain_logarithm,
    shared_legend,
    tidy,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.searches import GlobalSearch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGAINST = {"seconds": "seconds", "cuts": "cuts"}
WIDE = 100.0  # latest over earliest time from which on the axis of time is logarithmic
MARKED = 12  # marks on a line, about
SHADE = 0.16


def draw_bounds(
    axes: Any, traces: Sequence[BoundTrace], *, against: str = "seconds", title: str = ""
) -> None:
    """Draw lower bound (thick) and best objective (thin) of every run as steps.

    A run that proves its bounds has the gap shaded. Of a run whose bound is a solver's claim the
    gap is hatched instead, the bound says so in the legend, and what our own proof reached stands
    at the end as a filled triangle.

    Parameters
    ----------
    axes : matplotlib Axes
    traces : sequence of BoundTrace
        Of one problem, see `tm.plots.bound_trace`.
    against : "seconds" or "cuts"
        The axis of time is logarithmic where the runs span more than a factor of 100.
    title : str

    Raises
    ------
    ValueError
        No traces, more than there are looks, another word, a run that counts no cuts.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> run = tm.search.branch_and_cut(data, nu=0.1)
    >>> axes = tm.plots.new_figure(width=3.5, height=3.0).subplots()
    >>> tm.plots.draw_bounds(axes, [tm.plots.bound_trace(run)], title="one run")
    """
    if not 1 <= len(traces) <= len(LOOKS):
        raise ValueError(f"draw 1 to {len(LOOKS)} traces in one picture, got {len(traces)}")
    if against not in AGAINST:
        raise ValueError(f"against must be one of {', '.join(AGAINST)}, got {against!r}")
    places = [_places(trace, against) for trace in traces]
    logarithmic, positive = False, np.concatenate(places)
    positive = positive[positive > 0]
    if against == "seconds" and positive.size and positive.max() > WIDE * positive.min():
        logarithmic = True
        places = [np.maximum(place, positive.min()) for place in places]
    for number, (trace, place) in enumerate(zip(traces, places, strict=True)):
        _draw_run(axes, number, trace, place)
    known = np.concatenate([np.append(t.lower, t.upper) for t in traces])
    axes.set_ylim(axis_limits(known))
    if logarithmic:
        plain_logarithm(axes.xaxis)
    else:
        axes.set_xlim(left=min(0.0, float(np.concatenate(places).min())))
    axes.set_xlabel(AGAINST[against])
    axes.set_ylabel("objective")
    tidy(axes)
    if title:
        axes.set_title(title, fontsize=LARGE, parse_math=False)


def bound_figure(
    traces: Sequence[BoundTrace], *, against: str = "seconds", title: str = ""
) -> Figure:
    """One panel as draw_bounds draws it, with its legend below.

    Parameters
    ----------
    traces : sequence of BoundTrace
        Of one problem.
    against : "seconds" or "cuts"
        What bound and objective are drawn over.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> run = tm.search.branch_and_cut(data, nu=0.1)
    >>> figure = tm.plots.bound_figure([tm.plots.bound_trace(run)])
    >>> len(figure.axes)
    1
    """
    figure = new_figure(PAGE, COLUMN + 0.22 * len(traces))
    draw_bounds(figure.subplots(), traces, against=against, title=folded(title, PAGE, LARGE))
    shared_legend(figure, columns=2)
    return figure


def save_bounds(
    traces: Sequence[BoundTrace],
    path: str | Path,
    *,
    against: str = "seconds",
    title: str = "",
) -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    traces : sequence of BoundTrace
        Of one problem.
    path : str or path
        Of the file: its suffix is one of SUFFIXES.
    against : "seconds" or "cuts"
        What bound and objective are drawn over.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> run = tm.search.branch_and_cut(data, nu=0.1)
    >>> tm.plots.save_bounds([tm.plots.bound_trace(run)], "bounds.svg")
    """
    bound_figure(traces, against=against, title=title).savefig(path)


def _places(trace: BoundTrace, against: str) -> Array:
    if against == "seconds":
        return trace.seconds
    if trace.cuts is None:
        raise ValueError(f"{trace.name} counts no cuts: draw it against seconds")
    return trace.cuts


def _draw_run(axes: Any, number: int, trace: BoundTrace, place: Array) -> None:
    look = LOOKS[number]
    every = max(1, len(place) // MARKED)
    style: dict[str, Any] = {"color": look.colour, "ls": look.line, "drawstyle": "steps-post"}
    word = "lower bound, proven" if trace.proven else "lower bound, the solver's claim"
    axes.plot(
        place, trace.lower, marker=look.mark, ms=4, markevery=every, lw=1.8,
        mfc=look.colour if trace.proven else "white", label=f"{trace.name}: {word}", **style,
    )  # fmt: skip
    axes.plot(place, trace.upper, lw=0.9, label=f"{trace.name}: best point", **style)
    gap: dict[str, Any] = {"fc": look.colour, "alpha": SHADE, "lw": 0}
    if not trace.proven:
        gap = {"fc": "none", "ec": look.colour, "hatch": "////", "lw": 0, "alpha": 0.5}
    axes.fill_between(place, trace.lower, trace.upper, step="post", zorder=0, **gap)
    if trace.proven_bound is not None:
        axes.plot(
            place[-1], trace.proven_bound, ">", ms=8, color=look.colour, mec="black", clip_on=False,
            label=f"{trace.name}: proven by us in the end", zorder=5,
        )  # fmt: skip


# --- what every search leaves behind --------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class BoundTrace(Printed):
    """States of one run, in the order of time.

    Attributes
    ----------
    name : str
        For the legend.
    seconds : array (k,)
        Since the start.
    lower, upper : array (k,)
        Lower bound and objective of the best point so far; nan where there was none.
    cuts : array (k,) or None
        How many cuts there were; None where the run counts none.
    proven : bool
        Whether `lower` is our own proof; else it is what a solver says.
    proven_bound : float or None
        What our own proof reached in the end, of a run whose `lower` is a claim.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> run = tm.search.branch_and_cut(data, nu=0.1)
    >>> trace = tm.plots.bound_trace(run)
    >>> len(trace.lower) == len(trace.seconds), trace.proven
    (True, True)
    """

    name: str
    seconds: Array
    lower: Array
    upper: Array
    cuts: Array | None = None
    proven: bool = True
    proven_bound: float | None = None


def bound_trace(source: Any, name: str = "") -> BoundTrace:
    """Rows of (time, lower bound, best objective, cuts) of a finished or stopped run.

    Parameters
    ----------
    source : CuttingPlaneResult, SearchResult, GlobalSearch, Tightened or SolveResult
        Of the last its trace in the certificate's facts: our searches write one, and so do SCIP
        and the tangent method.
    name : str
        For the legend; by default what ran.

    Raises
    ------
    ValueError
        A result without a trace.
    TypeError
        Anything else; what a run of it does note, if it notes something.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> run = tm.search.branch_and_cut(data, nu=0.1)
    >>> tm.plots.bound_trace(run, "branch and cut").name
    'branch and cut'
    """
    for kind, read in READERS.items():
        if isinstance(source, kind):
            found = read(source)
            return replace(found, name=name) if name else found
    known = ", ".join(kind.__name__ for kind in READERS)
    raise TypeError(
        f"{type(source).__name__} has no trace of bounds over time; these have: {known}"
    )


def _cutting_planes(source: CuttingPlaneResult) -> BoundTrace:
    rows = source.trace
    cuts = np.array([row.concavity + row.facial for row in rows], dtype=float)
    found = _stacked("cutting planes", ((r.seconds, r.lower, r.upper) for r in rows), source)
    last = _stacked("", [(source.seconds, source.bound, source.best.objective)], source)
    return _joined(found, last, np.append(cuts, len(source.cuts)))


def _search(source: SearchResult) -> BoundTrace:
    rows = ((row.seconds, row.lower, row.upper) for row in source.trace)
    return _stacked(source.engine.replace("_", " "), rows, source)


def _global(source: GlobalSearch) -> BoundTrace:
    name = re.sub(r"(?<!^)(?=[A-Z])", " ", type(source).__name__).lower()
    rows = ((row.seconds, row.bound, row.objective) for row in source.trace)
    return _stacked(name, rows, source)


def _tightened(source: Tightened) -> BoundTrace:
    """A round's bound comes from the set at its start; the last is of the set at the end."""
    rows = [(row.seconds, row.bound, source.objective) for row in source.trace]
    rows.append((source.seconds, source.bound, source.objective))
    return _stacked("bound tightening", rows, source)


def _solved(source: SolveResult) -> BoundTrace:
    facts = source.certificate.facts
    name = source.formulation or "this model"
    if not facts.get("trace"):
        raise ValueError(f"the result of {name} by {source.solver} holds no trace of its bound")
    ours = "engine" in facts
    engine = str(facts["engine"]) if ours else source.solver
    found = _stacked(engine.replace("_", " ").replace("-", " "), facts["trace"], source)
    return replace(found, proven=ours, proven_bound=None if ours else source.bound)


READERS: dict[type, Callable[[Any], BoundTrace]] = {
    CuttingPlaneResult: _cutting_planes,
    SearchResult: _search,
    GlobalSearch: _global,
    Tightened: _tightened,
    SolveResult: _solved,
}


def _stacked(name: str, rows: Iterable[Sequence[float | None]], source: Any) -> BoundTrace:
    table = np.array(list(rows), dtype=float).reshape(-1, 3)
    if not len(table):
        raise ValueError(f"{type(source).__name__} ended before it noted a bound")
    table[:, 1:][~np.isfinite(table[:, 1:])] = np.nan
    return BoundTrace(name, *table.T)


def _joined(first: BoundTrace, last: BoundTrace, cuts: Array) -> BoundTrace:
    seconds, lower, upper = (
        np.concatenate([getattr(first, part), getattr(last, part)])
        for part in ("seconds", "lower", "upper")
    )
    return BoundTrace(first.name, seconds, lower, upper, cuts)
