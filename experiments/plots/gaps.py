"""Pictures of gap tables: one panel for each study, one bar for each relaxation."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightmargin.experiments.gap_study.gap_table import Bound, Comparison
from tightmargin.experiments.gap_study.study import GapStudy
from tightmargin.experiments.gap_study.table import common_labels
from tightmargin.experiments.plots.style import BLUE, DPI, folded
from tightmargin.solvers.kernel.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 8.0  # inches; 100 dots an inch make 800 pixels
ROW, HEAD, FOOT = 0.36, 0.95, 0.55  # inches for a bar, a title and the axis below the last panel
NAMES = 2.0  # inches that the names of the rows take on the left
SMALL = 9  # points, the least that is readable at the width of a page
STACKED = 2  # as many panels stand below each other; more of them stand side by side
TITLE = 22  # characters of a line of a title of panels side by side

# The lightness differs too, for print in grey.
GAP, CLOSED, MISSING = BLUE, "#DCE6EE", "#8C8C8C"


def gap_figure(studies: Sequence[GapStudy]) -> Figure:
    """Horizontal bars: how much of the optimum each relaxation leaves unexplained.

    A bar is as long as the relative gap, with its percentage; a row without a certified bound is
    hatched over the full width and says so, or over its gap where uncertified rows are included.

    Parameters
    ----------
    studies : sequence of GapStudy
        A panel for each.

    Raises
    ------
    ValueError
        Nothing to draw.

    Examples
    --------
    >>> import tightmargin as tm
    >>> from tightmargin.experiments.gap_study.study import RELAXATIONS, Instance, run
    >>> spec = "synthetic:clustered,n=10,d=2,sigma=0.5,seed=0"
    >>> instance = Instance("small", "Ten points", spec, {"penalty": 1.0})
    >>> *_, study = run(instance, RELAXATIONS[-2:])
    >>> figure = tm.plots.gap_figure([study])
    """
    from matplotlib.figure import Figure

    studies = [study for study in studies if study.comparison.rows]
    if not studies:
        raise ValueError("there is no finished row to draw")
    figure = Figure(dpi=DPI)
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.12)
    known = (
        "optimum" if all(_is_proven(study.comparison) for study in studies) else "best point known"
    )
    below = f"relative gap to the {known}, % (shorter is better)"
    if len(studies) > STACKED:
        _draw_side_by_side(figure, studies)
        figure.supxlabel(below, fontsize=10)
        return figure
    counts = [len(study.comparison.rows) for study in studies]
    heights = [HEAD + ROW * count for count in counts]
    figure.set_size_inches(WIDTH, sum(heights) + FOOT)
    panels = figure.subplots(len(studies), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axes, study in zip(panels, studies, strict=True):
        _draw_bars(axes, study.comparison, [row.label for row in study.comparison.rows])
        axes.set_title(
            folded(study.instance.title, WIDTH - NAMES, 11), loc="left", fontsize=11,
            fontweight="bold", pad=20, parse_math=False,
        )  # fmt: skip
        _write_above(axes, ", ".join(filter(None, _facts(study))), 10)
    panels[-1].set_xlabel(below)
    return figure


def comparison_figure(comparison: Comparison, title: str = "") -> Figure:
    """The same bars for one gap table.

    Parameters
    ----------
    comparison : Comparison
        What `tm.compare` returned.
    title : str
        Above the picture.

    Raises
    ------
    ValueError
        Nothing to draw.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> words = {"penalty": 1.0, "big_m": "derived"}
    >>> table = tm.compare(data, ["zero_one_relaxed", "conic_sdp"], parameters=words)
    >>> figure = tm.plots.comparison_figure(table, "two relaxations")
    """
    from matplotlib.figure import Figure

    rows = comparison.rows
    if not rows:
        raise ValueError("there is no finished row to draw")
    figure = Figure(dpi=DPI, figsize=(WIDTH, HEAD + ROW * len(rows) + FOOT))
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.12)
    axes = figure.subplots()
    _draw_bars(axes, comparison, [row.label for row in rows])
    if title:
        words = folded(title, WIDTH - NAMES, 11)
        axes.set_title(words, loc="left", fontsize=11, fontweight="bold", pad=20, parse_math=False)
    proven = _is_proven(comparison)
    _write_above(axes, _known(comparison, comparison.exact_label), 10)
    known = "optimum" if proven else "best point known"
    axes.set_xlabel(f"relative gap to the {known}, % (shorter is better)")
    return figure


def _draw_side_by_side(figure: Figure, studies: Sequence[GapStudy]) -> None:
    """One column for each study with the same rows in all; what a study left out says so."""
    labels = common_labels(studies)
    titles = [_wrapped(study.instance.title, TITLE) for study in studies]
    words = ["\n".join(_wrapped(t, TITLE + 4) for t in _facts(study)) for study in studies]
    lines = max(text.count("\n") for text in (*titles, *words)) + 1
    figure.set_size_inches(WIDTH, HEAD + 0.3 * lines + ROW * len(labels) + FOOT)
    panels = figure.subplots(1, len(studies), sharey=True, squeeze=False)[0]
    for axes, study, title, text in zip(panels, studies, titles, words, strict=True):
        _draw_bars(axes, study.comparison, labels, SMALL)
        pad = 10 + 12 * (max(word.count("\n") for word in words) + 1)
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold", pad=pad, parse_math=False)
        _write_above(axes, text, SMALL)


def save_figure(studies: Sequence[GapStudy], path: str | Path) -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    studies : sequence of GapStudy
        A panel for each.
    path : str or path
        Of the file: its suffix is one of SUFFIXES.

    Examples
    --------
    >>> import tightmargin as tm
    >>> from tightmargin.experiments.gap_study.study import RELAXATIONS, Instance, run
    >>> spec = "synthetic:clustered,n=10,d=2,sigma=0.5,seed=0"
    >>> instance = Instance("small", "Ten points", spec, {"penalty": 1.0})
    >>> *_, study = run(instance, RELAXATIONS[-2:])
    >>> tm.plots.save_figure([study], "gaps.svg")
    """
    gap_figure(studies).savefig(path)


def _wrapped(text: str, width: int) -> str:
    """Lines of so many characters; 0-1 and sigma = 0.5 stay whole."""
    return textwrap.fill(text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"), width,
                         break_on_hyphens=False)  # fmt: skip


def _draw_bars(axes: Any, comparison: Comparison, labels: Sequence[str], size: float = 10) -> None:
    """Bars of a table at the places of their labels, from the top."""
    rows = {row.label: row for row in comparison.rows}
    for position, label in enumerate(labels):
        if label in rows:
            _draw_bar(axes, comparison, position, rows[label], size)
        else:
            axes.text(1, position, "left out", va="center", fontsize=9, color=MISSING)
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(axis="y", length=0, labelsize=size)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(0, 110)
    axes.set_xticks(range(0, 101, 20 if size > SMALL else 50))
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_bounds(0, 100)


def _draw_bar(axes: Any, comparison: Comparison, position: int, row: Bound, size: float) -> None:
    gap = comparison.relative_gap(row)
    if gap is None:
        axes.barh(position, 100, color="white", edgecolor=MISSING, hatch="///", height=0.62)
        axes.text(
            50, position, "no gap" if row.certified else "no bound",
            ha="center", va="center", fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
        )  # fmt: skip
        return
    axes.barh(position, 100, color=CLOSED, height=0.62)
    if row.certified:
        axes.barh(position, 100 * gap, color=GAP, height=0.62)
    else:
        axes.barh(position, 100 * gap, color="white", edgecolor=GAP, hatch="///", height=0.62)
    mark = "" if row.certified else ", not certified"
    axes.text(101, position, f"{100 * gap:.1f} %{mark}", va="center", fontsize=size)


def _write_above(axes: Any, text: str, size: int) -> None:
    axes.text(0, 1, text, transform=axes.transAxes, fontsize=size, va="bottom", clip_on=False)


def _is_proven(comparison: Comparison) -> bool:
    return comparison.exact is not None and comparison.exact.certificate.verdict.closed


def _known(comparison: Comparison, exact: str) -> str:
    """What is known of the optimum."""
    upper, result = comparison.upper, comparison.exact
    if upper is None:
        return "no point known"
    name = exact if _is_proven(comparison) else f"best point known of {exact}"
    within = result is not None and result.certificate.verdict is Verdict.WITHIN_TOLERANCE
    return f"{name} {upper:.4g}{' (its point within tolerance)' if within else ''}"


def _facts(study: GapStudy) -> tuple[str, str]:
    """The settings of a study, and what is known of its optimum."""
    settings = study.instance.settings.items()
    words = ", ".join(f"{word}\N{NO-BREAK SPACE}{value}" for word, value in settings)
    return words, _known(study.comparison, study.exact.name)
