"""Paths over a parameter: rigorous SVM over its capacity, conic estimator, least CVaR over nu."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tightmargin.cuts.nu_path.cvar_profile import CvarProfile
from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    LARGE,
    PALE,
    VERMILLION,
    folded,
    new_figure,
    plain_logarithm,
    tidy,
)
from tightmargin.experiments.statistics.capacity_report import RsvmReport
from tightmargin.solvers.conic.path import ConicPath

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RSVM_SIZE, CONIC_SIZE, CVAR_SIZE = (7.0, 7.0), (7.0, 5.6), (7.0, 4.2)  # inches
MARKED = 40  # points that a curve marks one by one
WIDE = 100.0  # times the first: values of H^2 / n that take a logarithmic axis
BEYOND = 1.1  # times the last H^2 / n: a limit up to there is on the picture
BAND, CONSTANT = "#9CC5E0", "#EFEFEF"  # between the bounds of the CVaR; where it is constant


def _marks(given: Sequence[float]) -> dict[str, Any]:
    """Marks at the points of a curve where they are few."""
    return {"marker": "o", "ms": 3} if len(given) <= MARKED else {}


def rsvm_path_figure(report: RsvmReport, title: str = "") -> Figure:
    """Three panels over H^2 / n: loss and errors, C = 1 / gamma, and nu.

    Shaded is the zone of small H in which nu and D stand still; a line marks the largest H that
    matters where it is known, from which on gamma = 0.

    Parameters
    ----------
    report : RsvmReport
        A path with its maps and its bounds on the risk.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> from tightmargin.experiments.statistics.capacity_report import rsvm_report
    >>> report = rsvm_report(tm.paths.rsvm_path(data, [0.25, 0.5]), eta=0.05, form="printed")
    >>> len(tm.plots.rsvm_path_figure(report).axes)
    3
    """
    rows, n = report.path.rows, report.path.data.n
    given = [row.norm_bound**2 / n for row in rows]
    mark = _marks(given)
    figure = new_figure(*RSVM_SIZE)
    panels = figure.subplots(3, 1, sharex=True, height_ratios=(4, 3, 3))
    losses, costs, shares = panels
    loss, wrong = [row.point.objective / n for row in rows], [row.errors / n for row in rows]
    losses.plot(given, loss, color=BLUE, label="mean hinge loss E / n", **mark)
    losses.plot(given, wrong, color=VERMILLION, ls="--", label="training errors / n", **mark)
    losses.set_ylabel("per point")
    priced = [(x, maps.C) for x, maps in zip(given, report.maps, strict=True) if maps.active]
    costs.plot([x for x, _ in priced], [C for _, C in priced], color=GREEN, label="C", **mark)
    costs.set_ylabel("C = 1 / gamma")
    if priced:
        plain_logarithm(costs.yaxis)
    shares.plot(given, [maps.nu for maps in report.maps], color=BLUE, label="nu", **mark)
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
        losses.set_title(
            folded(title, RSVM_SIZE[0], LARGE), pad=20, fontsize=LARGE, parse_math=False
        )
    return figure


def _mark_zone(report: RsvmReport, panels: Any, given: list[float]) -> None:
    """Shade up to the largest H on the path that is degenerate."""
    zone = [x for x, maps in zip(given, report.maps, strict=True) if maps.degenerate]
    if not zone:
        return
    left = panels[-1].get_xlim()[0] if panels[-1].get_xscale() == "log" else 0.0
    for axes in panels:
        axes.axvspan(left, zone[-1], color=PALE, zorder=0, lw=0, label="nu and D constant")
        axes.set_xlim(left=left)
    panels[-1].legend(frameon=False)


def _mark_limit(report: RsvmReport, panels: Any, given: list[float]) -> None:
    limit = report.path.limit
    place = None if limit is None else limit.value**2 / report.path.data.n
    if place is None or not place <= given[-1] * BEYOND:
        return
    for axes in panels:
        axes.axvline(place, color=BLACK, ls=":", lw=1.2)
    panels[0].text(
        place, 1.01, f"H_lim² / n = {place:.4g}", ha="center", va="bottom",
        transform=panels[0].get_xaxis_transform(), fontsize=9,
    )  # fmt: skip


def save_rsvm_path(report: RsvmReport, file: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    report : RsvmReport
        A path with its maps and its bounds on the risk.
    file : str or path
        Of the picture: its suffix is one of SUFFIXES.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> from tightmargin.experiments.statistics.capacity_report import rsvm_report
    >>> report = rsvm_report(tm.paths.rsvm_path(data, [0.25, 0.5]), eta=0.05, form="printed")
    >>> tm.plots.save_rsvm_path(report, "capacity.svg")
    """
    rsvm_path_figure(report, title).savefig(file)


def conic_path_figure(path: ConicPath, title: str = "") -> Figure:
    """Two panels over the parameter: value and proven bound; sum z / n and the share of errors.

    Parameters
    ----------
    path : ConicPath
        What `tm.paths.conic_path` returned.
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
    >>> path = tm.paths.conic_path(data, penalties=[0.5, 1.0, 2.0])
    >>> len(tm.plots.conic_path_figure(path).axes)
    2
    """
    if not path.rows:
        raise ValueError("there is no finished row to draw")
    given = [getattr(row, path.parameter) for row in path.rows]
    mark = _marks(given)

    def alone(shape: str, size: float) -> dict[str, Any]:
        """One value makes no line: it needs a mark."""
        return {"marker": shape, "ms": size, "mew": 1.5} if len(given) == 1 else {}

    figure = new_figure(*CONIC_SIZE)
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(given, [row.objective for row in path.rows], color=BLUE, lw=3, label="value", **mark)
    upper.plot(
        given, [max(row.bound, 0.0) for row in path.rows],
        color=BLACK, ls=(0, (4, 4)), lw=1.2, label="proven lower bound", **alone("_", 14),
    )  # fmt: skip
    value = "trace W" if path.parameter == "budget" else "trace W + penalty sum z"
    upper.set_ylabel(value)
    lower.plot(given, [row.spent for row in path.rows], color=BLUE, label="sum z / n", **mark)
    lower.plot(
        given, [row.errors / path.data.n for row in path.rows],
        color=VERMILLION, ls=":", label="training errors / n", **alone("x", 6),
    )  # fmt: skip
    lower.set_ylabel("share of the points")
    lower.set_xlabel(path.parameter)
    lower.set_ylim(bottom=0.0)
    if path.parameter == "penalty":
        plain_logarithm(lower.xaxis)
    if len(given) == 1:
        upper.set_ylim(0.0, 1.1 * path.rows[0].objective or 1.0)
    elif min(row.objective for row in path.rows) > 0:
        plain_logarithm(upper.yaxis)
    for axes in (upper, lower):
        axes.legend(frameon=False)
        tidy(axes, LARGE)
    if title:
        upper.set_title(folded(title, CONIC_SIZE[0], LARGE), fontsize=LARGE, parse_math=False)
    return figure


def save_conic_path(path: ConicPath, file: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    path : ConicPath
        What `tm.paths.conic_path` returned.
    file : str or path
        Of the picture: its suffix is one of SUFFIXES.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.conic_path(data, penalties=[0.5, 1.0, 2.0])
    >>> tm.plots.save_conic_path(path, "path.svg")
    """
    conic_path_figure(path, title).savefig(file)


def profile_figure(profile: CvarProfile, title: str = "") -> Figure:
    """Draw the least CVaR: a curve where the bounds meet, a band where they do not.

    nu_bar is marked, with the convex side right of it, and the zone where the CVaR is constant.
    The picture is Figure 2 of Takeda & Sugiyama between proven bounds.

    Parameters
    ----------
    profile : CvarProfile
        What `tm.paths.cvar_profile` returned.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.extended_nu_path(data, [0.1, 0.3])
    >>> profile = tm.paths.cvar_profile(path, nu=20)
    >>> figure = tm.plots.profile_figure(profile)
    """
    figure = new_figure(*CVAR_SIZE)
    axes = figure.subplots()
    axes.fill_between(
        profile.nu, profile.lower, profile.upper, color=BAND, label="between proven bounds"
    )
    axes.plot(profile.nu, profile.upper, color=BLUE, label="best hyperplane found")
    axes.plot(
        profile.solved, profile.solved_upper, "o", ms=4, color=BLUE, label="solved", clip_on=False
    )
    axes.axhline(0.0, color="black", lw=0.8)
    axes.set_xlim(0.0, float(profile.nu[-1]))
    if profile.constant_until > 0:
        axes.axvspan(0.0, profile.constant_until, color=CONSTANT, label="constant", zorder=0)
    if 0 < profile.nu_bar <= profile.nu[-1]:
        axes.axvline(profile.nu_bar, color=VERMILLION, ls="--", lw=1.2)
        top = axes.get_xaxis_transform()
        axes.text(
            profile.nu_bar, 1.01, f"nu_bar = {profile.nu_bar:.4g}", color=VERMILLION,
            ha="center", va="bottom", transform=top,
        )  # fmt: skip
        for place, words in (
            (profile.nu_bar / 2, "not convex"),
            ((profile.nu_bar + float(profile.nu[-1])) / 2, "convex"),
        ):
            axes.text(place, 0.02, words, ha="center", va="bottom", transform=top)
    axes.set_xlabel("nu")
    axes.set_ylabel("least CVaR of the margin error")
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if title:
        shown = folded(title, CVAR_SIZE[0], LARGE)
        axes.set_title(shown, pad=22, fontsize=LARGE, parse_math=False)
    return figure


def save_profile(profile: CvarProfile, path: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how.

    Parameters
    ----------
    profile : CvarProfile
        What `tm.paths.cvar_profile` returned.
    path : str or path
        Of the file: its suffix is one of SUFFIXES.
    title : str
        Above the picture.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.extended_nu_path(data, [0.1, 0.3])
    >>> profile = tm.paths.cvar_profile(path, nu=20)
    >>> tm.plots.save_profile(profile, "cvar.svg")
    """
    profile_figure(profile, title).savefig(path)
