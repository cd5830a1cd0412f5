"""The profile of the least CVaR over nu, as Takeda & Sugiyama's Figure 2, between proven bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tightmargin.cuts.nu_path.cvar_profile import CvarProfile
from tightmargin.experiments.plots.style import BLUE, DPI, VERMILLION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (7.0, 4.2)  # inches

CURVE, BAND, MARK, ZONE = BLUE, "#9CC5E0", VERMILLION, "#EFEFEF"


def profile_figure(profile: CvarProfile, title: str = "") -> Figure:
    """Draw the least CVaR: a curve where the bounds meet, a band where they do not.

    nu_bar is marked, with the convex side right of it, and the zone where the CVaR is constant.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DPI)
    figure.set_layout_engine("constrained")
    axes = figure.subplots()
    axes.fill_between(
        profile.nu, profile.lower, profile.upper, color=BAND, label="between proven bounds"
    )
    axes.plot(profile.nu, profile.upper, color=CURVE, label="best hyperplane found")
    axes.plot(
        profile.solved, profile.solved_upper, "o", ms=4, color=CURVE, label="solved", clip_on=False
    )
    axes.axhline(0.0, color="black", lw=0.8)
    axes.set_xlim(0.0, float(profile.nu[-1]))
    if profile.constant_until > 0:
        axes.axvspan(0.0, profile.constant_until, color=ZONE, label="constant", zorder=0)
    if 0 < profile.nu_bar <= profile.nu[-1]:
        axes.axvline(profile.nu_bar, color=MARK, ls="--", lw=1.2)
        top = axes.get_xaxis_transform()
        axes.text(
            profile.nu_bar, 1.01, f"nu_bar = {profile.nu_bar:.4g}", color=MARK,
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
        axes.set_title(title, pad=22, parse_math=False)
    return figure


def save_profile(profile: CvarProfile, path: str | Path, title: str = "") -> None:
    """Write the picture; the suffix says how."""
    profile_figure(profile, title).savefig(path)
