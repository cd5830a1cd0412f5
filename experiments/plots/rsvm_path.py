"""The rigorous SVM over its capacity H^2 / n: what it loses, and the C and nu that stand for H."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    DPI,
    GREEN,
    LARGE,
    PALE,
    VERMILLION,
    plain_logarithm,
    tidy,
)
from tightmargin.experiments.statistics.capacity_report import RsvmReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (7.0, 7.0)  # inches
MARKED = 40  # points that a curve marks one by one
WIDE = 100.0  # times the first: values of H^2 / n that take a logarithmic axis
BEYOND = 1.1  # times the last H^2 / n: a limit up to there is on the picture

LOSS, ERRORS, COST, NU = BLUE, VERMILLION, GREEN, BLUE
LIMIT, ZONE = BLACK, PALE


def rsvm_path_figure(report: RsvmReport, title: str = "") -> Figure:
    """Three panels over H^2 / n: loss and errors, C = 1 / gamma, and nu.

    Shaded is the zone of small H in which nu and D stand still; a line marks the largest H that
    matters where it is known, from which on gamma = 0.
    """
    from matplotlib.figure import Figure

    rows, n = report.path.rows, report.path.data.n
    given = [row.norm_bound**2 / n for row in rows]
    mark = {"marker": "o", "ms": 3} if len(given) <= MARKED else {}
    figure = Figure(figsize=SIZE, dpi=DPI)
    figure.set_layout_engine("constrained")
    panels = figure.subplots(3, 1, sharex=True, height_ratios=(4, 3, 3))
    losses, costs, shares = panels
    loss, wrong = [row.point.value / n for row in rows], [row.errors / n for row in rows]
    losses.plot(given, loss, color=LOSS, label="mean hinge loss E / n", **mark)
    losses.plot(given, wrong, color=ERRORS, ls="--", label="training errors / n", **mark)
    losses.set_ylabel("per point")
    priced = [(x, maps.C) for x, maps in zip(given, report.maps, strict=True) if maps.active]
    costs.plot([x for x, _ in priced], [C for _, C in priced], color=COST, label="C", **mark)
    costs.set_ylabel("C = 1 / gamma")
    if priced:
        plain_logarithm(costs.yaxis)
    shares.plot(given, [maps.nu for maps in report.maps], color=NU, label="nu", **mark)
    shares.set_ylabel("nu")
    shares.set_xlabel("capacity H² / n")
    for axes in (losses, shares):
        axes.set_ylim(bottom=0.0)
    if given[-1] > WIDE * given[0]:
        plain_logarithm(shares.xaxis)
    losses.legend(frameon=False)
    _mark_zone(report, panels, given)
    _mark_limit(report, panels, given)
    for axes in panels:
        tidy(axes, LARGE)
    if title:
        losses.set_title(title, pad=20, parse_math=False)
    return figure


def _mark_zone(report: RsvmReport, panels: Any, given: list[float]) -> None:
    """Shade up to the largest H on the path that is degenerate."""
    zone = [x for x, maps in zip(given, report.maps, strict=True) if maps.degenerate]
    if not zone:
        return
    left = panels[-1].get_xlim()[0] if panels[-1].get_xscale() == "log" else 0.0
    for axes in panels:
        axes.axvspan(left, zone[-1], color=ZONE, zorder=0, lw=0, label="nu and D constant")
        axes.set_xlim(left=left)
    panels[-1].legend(frameon=False)


def _mark_limit(report: RsvmReport, panels: Any, given: list[float]) -> None:
    limit = report.path.limit
    place = None if limit is None else limit.value**2 / report.path.data.n
    if place is None or not place <= given[-1] * BEYOND:
        return
    for axes in panels:
        axes.axvline(place, color=LIMIT, ls=":", lw=1.2)
    panels[0].text(
        place, 1.01, f"H_lim² / n = {place:.4g}", ha="center", va="bottom",
        transform=panels[0].get_xaxis_transform(), fontsize=9,
    )  # fmt: skip


def save_rsvm_path(report: RsvmReport, file: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how."""
    rsvm_path_figure(report, title).savefig(file)
