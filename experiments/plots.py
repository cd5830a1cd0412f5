"""Pictures of gap tables: one panel for each study, one bar for each relaxation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.gap_study import Study
from solvers.result import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".pdf", ".svg")
WIDTH = 8.0  # inches; 100 dots an inch make 800 pixels
ROW, HEAD, FOOT = 0.36, 0.95, 0.55  # inches for a bar, a title and the axis below the last panel
DPI = 200

# Okabe and Ito's palette: told apart by colour-blind readers; the lightness differs in print too.
GAP, CLOSED, MISSING = "#0072B2", "#DCE6EE", "#8C8C8C"


def gap_figure(studies: Sequence[Study]) -> Figure:
    """Horizontal bars: how much of the optimum each relaxation leaves unexplained.

    A bar is as long as the relative gap, with its percentage; a row without a certified bound is
    hatched over the full width and says so, or over its gap where uncertified rows are included.

    Raises
    ------
    ValueError
        Nothing to draw.
    """
    from matplotlib.figure import Figure

    studies = [study for study in studies if study.comparison.rows]
    if not studies:
        raise ValueError("there is no finished row to draw")
    counts = [len(study.comparison.rows) for study in studies]
    heights = [HEAD + ROW * count for count in counts]
    figure = Figure(figsize=(WIDTH, sum(heights) + FOOT), dpi=DPI)
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.12)
    panels = figure.subplots(len(studies), 1, height_ratios=heights, squeeze=False)[:, 0]
    for axes, study in zip(panels, studies, strict=True):
        _draw(axes, study)
    known = "optimum" if all(map(_is_proven, studies)) else "best point known"
    panels[-1].set_xlabel(f"relative gap to the {known}, % (shorter is better)")
    return figure


def save_figure(studies: Sequence[Study], path: str | Path) -> None:
    """Write the picture; the suffix says how."""
    gap_figure(studies).savefig(path)


def _draw(axes: Any, study: Study) -> None:
    comparison = study.comparison
    for position, row in enumerate(comparison.rows):
        gap = comparison.relative_gap(row)
        if gap is None:
            axes.barh(position, 100, color="white", edgecolor=MISSING, hatch="///", height=0.62)
            axes.text(
                50, position, "no gap" if row.certified else "no bound",
                ha="center", va="center", fontsize=9,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
            )  # fmt: skip
            continue
        axes.barh(position, 100, color=CLOSED, height=0.62)
        if row.certified:
            axes.barh(position, 100 * gap, color=GAP, height=0.62)
        else:
            axes.barh(position, 100 * gap, color="white", edgecolor=GAP, hatch="///", height=0.62)
        mark = "" if row.certified else ", not certified"
        axes.text(101, position, f"{100 * gap:.1f} %{mark}", va="center", fontsize=10)
    axes.set_yticks(range(len(comparison.rows)), [row.label for row in comparison.rows])
    axes.tick_params(axis="y", length=0, labelsize=10)
    axes.invert_yaxis()
    axes.set_xlim(0, 110)
    axes.set_xticks(range(0, 101, 20))
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_bounds(0, 100)
    axes.set_title(study.instance.title, loc="left", fontsize=11, fontweight="bold", pad=20)
    axes.text(
        0, 1, _subtitle(study), transform=axes.transAxes, fontsize=10, va="bottom", clip_on=False
    )


def _is_proven(study: Study) -> bool:
    exact = study.comparison.exact
    return exact is not None and exact.certificate.verdict is Verdict.CERTIFIED


def _subtitle(study: Study) -> str:
    upper = study.comparison.upper
    name = study.exact.name if _is_proven(study) else f"best point known of {study.exact.name}"
    known = "no point known" if upper is None else f"{name} {upper:.4g}"
    words = [f"{word} {value}" for word, value in study.instance.settings.items()]
    return ", ".join([*words, known])
