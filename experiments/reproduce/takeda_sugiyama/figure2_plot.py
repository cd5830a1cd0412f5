"""The picture of Figure 2: one profile of the least CVaR for each data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tightmargin.cuts.nu_path.cvar_profile import CvarProfile
from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    NORMAL,
    PAGE,
    PALE,
    SKY,
    SMALL,
    VERMILLION,
    new_figure,
    shared_legend,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 3.6  # inches


def profiles_figure(profiles: Sequence[tuple[str, CvarProfile]]) -> Figure:
    """A panel for each profile: the curve between its bounds, its solved nu, nu_bar, both sides."""
    figure = new_figure(PAGE, HEIGHT)
    if not profiles:
        return figure
    for axes, (words, profile) in zip(
        figure.subplots(1, len(profiles), squeeze=False)[0], profiles, strict=True
    ):
        _panel(axes, profile)
        axes.set_title(words, fontsize=NORMAL, pad=16)
    shared_legend(figure, columns=3)
    return figure


def _panel(axes: Any, profile: CvarProfile) -> None:
    axes.fill_between(
        profile.nu, profile.lower, profile.upper, color=SKY, alpha=0.6,
        label="between proven bounds",
    )  # fmt: skip
    axes.plot(profile.nu, profile.upper, color=BLUE, lw=1.4, label="best machine found")
    axes.plot(profile.solved, profile.solved_upper, "o", ms=3.5, color=BLACK, label="solved")
    axes.axhline(0.0, color=BLACK, lw=0.8)
    axes.axvline(profile.nu_bar, color=VERMILLION, lw=1.2, ls="--", label="nu_bar")
    top = float(profile.nu[-1])
    axes.axvspan(profile.nu_bar, top, color=PALE, lw=0, zorder=0, label="above nu_bar: convex")
    axes.set_xlim(0.0, 1.01 * top)
    axes.text(
        profile.nu_bar, 1.01, f"nu_bar = {profile.nu_bar:.4f}", ha="center", va="bottom",
        transform=axes.get_xaxis_transform(), fontsize=SMALL, color=VERMILLION,
    )  # fmt: skip
    axes.set_xlabel("nu")
    axes.set_ylabel("least CVaR of the margin error")
    tidy(axes)
