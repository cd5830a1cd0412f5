"""Figure 2: the least CVaR as a function of nu, between proven bounds, and where it is 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.cuts.nu_path.cvar_profile import CvarProfile, cvar_profile
from tightmargin.cuts.nu_path.result import ExtendedNuPath
from tightmargin.experiments.data.public_data import files_of
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
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.experiments.reproduce.framework.runs import optimum, run_tasks
from tightmargin.experiments.reproduce.takeda_sugiyama.machines import (
    NO_NUMBERS,
    NU_MAX_BALANCED,
    PAPER,
    SOURCES,
    points,
    relative_gap,
    source_notes,
    trained,
)
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.nu.nu_svc import nu_svc
from tightmargin.formulations.svc.soft_margin import c_svc_dual
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.nu.nu_range import NuRange, nu_range

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "takeda-sugiyama-figure2"
INSIDE = 1 - 1e-10
ABOVE = (1.0, 0.75, 0.5, 0.25, 0.1, 0.02)  # shares of the way from nu_bar to nu_max
BELOW = (0.98, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05)  # of nu_bar
CONSTANT = (1.0, 0.5)  # of 2/m
COSTS = (1.0, 10.0, 100.0, 1000.0)
CURVE = 200  # nu of the picture
KEYS = (Column("data", "data"), Column("nu", r"$\nu$"))
COLUMNS = (
    Column("CVaR", r"$\phi$", ".6f"), Column("lower", "lower bound", ".6f"),
    Column("rho", r"$\rho$", ".4f"), Column("nu-SVC", r"$\nu$-SVC", ".6f"),
    Column("errors", "errors", ".0f"),
)  # fmt: skip
ENDS = (
    Column("m", "$m$", ".0f"), Column("nu_bar", r"$\bar\nu$", ".9f"),
    Column("from", r"$\bar\nu$ from", ".9f"), Column("to", r"$\bar\nu$ to", ".9f"),
    Column("zeta(C)", r"$\zeta(C)$", ".9f"), Column("nu_max", r"$\nu_{max}$", ".6f"),
    Column("nu_max, 1/m+-", r"$\nu_{max}$, $1/m_\pm$", ".6f"),
)  # fmt: skip
NOTES = (
    NO_NUMBERS,
    "lower: a proven bound on the least CVaR; nu-SVC: -sqrt(-2 f) / nu with f the optimum of "
    "nu-SVC, where it is negative; from, to: proven bounds on nu_bar; zeta(C): sum alpha / (C m) "
    f"of C-SVC at C = {COSTS[-1]:g}",
    "Lemma 2 says that the CVaR is strictly decreasing for all nu: it is constant up to nu = 2/m, "
    "where the tail is the worst point of each class. What holds for all nu is that Phi = nu CVaR "
    "is concave with Phi(0) = 0, so that the CVaR never rises and, once it has fallen, goes on",
    "section 4.3 calls nu_bar difficult to compute: it is the least mean hinge loss, one linear "
    "program. Section 5 leaves open whether nu_bar and nu_min are the same: they are, since both "
    "are the largest nu at which 0 is a difference of points of the reduced hulls",
    "section 2.5.2 prints that nu_max = 1 with 1/m_+ and 1/m_- on the slacks: the dual then has "
    "sum alpha up to 2. It is 1 with 1/(2 m_+) and 1/(2 m_-), as Perez-Cruz et al. have them",
)

Numbers = dict[str, Any]
SAME = 1e-9  # relative: two values that a formula says are one
CLOSE = 1e-8  # between proven bounds of nu_bar
AGREE = 2e-6  # relative: two proven optima, each to half of it
NEAR = 1e-3  # zeta(C) - nu_bar at the largest C
TENFOLD = 0.11  # of it is left where C is ten times as large
HEIGHT = 3.6  # inches


def chosen_nus(ends: NuRange) -> list[float]:
    """Numbers on both sides of nu_bar, and two where the CVaR is constant; falling."""
    above = [ends.nu_bar + share * (ends.nu_max - ends.nu_bar) for share in ABOVE]
    below = [share * ends.nu_bar for share in BELOW]
    constant = [share * ends.constant_until for share in CONSTANT]
    return sorted({*above, *below, *constant}, reverse=True)


def profile(name: str) -> Numbers:
    """The path of one data set, the curve between its proven bounds, and the ends of nu."""
    data = points(name)
    path = trained(data, chosen_nus(nu_range(data)))
    curve = cvar_profile(path, CURVE)
    return {
        "data": name, "m": data.n, "n_pos": data.n_pos, "n_neg": data.n_neg,
        "nu_bar": path.range.nu_bar, "nu_max": path.range.nu_max,
        "constant_until": path.range.constant_until,
        "nu_bar_bounds": list(path.nu_bar_bounds),
        "rows": rows(path),
        "zeta": [least_share(data, C) for C in COSTS],
        "curve": [curve.nu.tolist(), curve.lower.tolist(), curve.upper.tolist()],
    }  # fmt: skip


def rows(path: ExtendedNuPath) -> list[Numbers]:
    """The solved nu, from the largest to the smallest, above nu_bar with nu-SVC beside."""
    return [
        {
            "nu": row.nu, "side": row.side, "CVaR": row.cvar, "lower": row.bound / row.nu,
            "Phi": row.objective, "rho": row.rho, "errors": row.errors, "how": row.how,
            "relative_gap": relative_gap(row), "verdict": str(row.verdict),
            **(through_nu_svc(path.data, row.nu) if row.side > 0 else {}),
        }
        for row in path.rows
    ]  # fmt: skip


def through_nu_svc(data: TrainingData, nu: float) -> Numbers:
    """The least CVaR from nu-SVC, whose optimum f is -Phi^2 / 2 above nu_bar.

    With w = t u, ||u|| = 1, its objective is t^2/2 + t h(u), least at t = -h(u) where h(u) < 0.

    At nu_max the costs 1/n of one class add up to nu / 2, in doubles to a rounding less: then the
    model as written has a ray. So nu is taken just inside, which changes no digit that is printed.
    """
    largest = 2 * min(data.n_pos, data.n_neg) / data.n
    result, value = optimum(nu_svc(data, nu=min(nu, largest * INSIDE)))
    least = -math.sqrt(max(0.0, -2 * value)) / nu
    return {"nu-SVC": least, "nu-SVC verdict": str(result.certificate.verdict)}


def least_share(data: TrainingData, C: float) -> Numbers:
    """zeta(C) = sum alpha / (C m) of C-SVC, which falls to nu_min as C grows."""
    result, _ = optimum(c_svc_dual(data, C=C))
    total = float(np.asarray(result.values["alpha"]).sum())
    return {"C": C, "zeta": total / (C * data.n), "verdict": str(result.certificate.verdict)}


@reproduction(
    NAME,
    "the least CVaR over nu between proven bounds, with nu_bar",
    source=f"{PAPER}, Figure 2",
    quick="breast cancer only",
)
def run(effort: Effort) -> Report:
    """Every profile, and what section 3.2 says of it."""
    names = ["wdbc"] if effort.quick else list(SOURCES)
    for name in names:
        points(name)
    reads = files_of(SOURCES[name].spec for name in names)
    done = run_tasks(profile, [(name,) for name in names], effort, reads=reads)
    found = done.results
    values = Table(
        NAME, "the least CVaR, solved one nu after the other", KEYS, COLUMNS,
        tuple(_row(one, row) for one in found for row in one["rows"]),
    )  # fmt: skip
    ends = Table(
        f"{NAME}-ends", "the range of nu", KEYS[:1], ENDS, tuple(_ends(one) for one in found)
    )
    return Report(
        NAME, f"{PAPER}, Figure 2", (values, ends),
        claims=tuple(claim for one in found for claim in claims(one)),
        notes=(*NOTES, *source_notes(names)),
        figure=profiles_figure([(SOURCES[one["data"]].words, curve_of(one)) for one in found]),
        unfinished=done.unfinished(len(names), "data sets"),
    )  # fmt: skip


def _row(one: Numbers, row: Numbers) -> Row:
    cells = {column.name: Cell(row[column.name]) for column in COLUMNS if column.name in row}
    proofs = [row[name] for name in ("verdict", "nu-SVC verdict") if name in row]
    key = (SOURCES[one["data"]].words, row["nu"])
    return Row.of_runs(key, cells, [row["relative_gap"]], proofs)


def _ends(one: Numbers) -> Row:
    low, high = one["nu_bar_bounds"]
    balanced = 2.0 * min(one["n_pos"] / one["n_pos"], one["n_neg"] / one["n_neg"])
    cells = {
        "m": Cell(one["m"]), "nu_bar": Cell(one["nu_bar"]), "to": Cell(high),
        "zeta(C)": Cell(one["zeta"][-1]["zeta"]), "nu_max": Cell(one["nu_max"]),
        "nu_max, 1/m+-": Cell(balanced, NU_MAX_BALANCED, None),
    }  # fmt: skip
    cells |= {} if low is None else {"from": Cell(low)}
    proven = [part["verdict"] for part in one["zeta"]]
    return Row.of_runs((SOURCES[one["data"]].words,), cells, [], proven)


def curve_of(one: Numbers) -> CvarProfile:
    """The profile of a task's plain numbers."""
    rising: Sequence[Numbers] = one["rows"][::-1]
    nu, lower, upper = (np.array(part) for part in one["curve"])
    return CvarProfile(
        nu, lower, upper, one["nu_bar"], one["nu_max"], one["constant_until"],
        np.array([row["nu"] for row in rising]), np.array([row["lower"] for row in rising]),
        np.array([row["CVaR"] for row in rising]),
    )  # fmt: skip


# --- what section 3.2 says of the profile ---------------------------------------------------------


def claims(one: Numbers) -> list[PaperClaim]:
    """Every statement about one data set, its words first."""
    return [
        PaperClaim(f"{SOURCES[one['data']].words}: {claim.text}", claim.holds)
        for claim in (_falls(one), _constant(one), _concave(one), _signs(one), _bar(one),
                      _nu_min(one), _convex(one))
    ]  # fmt: skip


def _falls(one: Numbers) -> PaperClaim:
    """The best value found at a larger nu is below the proven bound at the next smaller one."""
    solved = [row for row in one["rows"] if row["nu"] >= one["constant_until"] * (1 - 1e-12)]
    falls = [smaller["lower"] - larger["CVaR"] for larger, smaller in pairwise(solved)]
    least = min(falls)
    text = f"Lemma 2: from nu = 2/m on the CVaR falls with nu, proven at {len(falls)} steps: by "
    return PaperClaim(f"{text}{least:.2g} or more", least > 0)


def _constant(one: Numbers) -> PaperClaim:
    """On (0, 2/m] the tail is one point of each class."""
    zone = [row["CVaR"] for row in one["rows"] if row["nu"] <= one["constant_until"] * (1 + 1e-12)]
    off = (max(zone) - min(zone)) / max(map(abs, zone))
    text = f"up to nu = 2/m it does not: {len(zone)} values of it are {zone[0]:.9g}"
    return PaperClaim(text, len(zone) > 1 and off <= SAME)


def _concave(one: Numbers) -> PaperClaim:
    """No slope of Phi is larger than the one before it, but for gaps of the values at its ends."""
    at: Sequence[tuple[float, float, float]] = [
        (0.0, 0.0, 0.0),
        *((row["nu"], row["nu"] * row["lower"], row["Phi"]) for row in one["rows"][::-1]),
    ]
    bends = 0
    for left, middle, right in zip(at, at[1:], at[2:], strict=False):
        share = (middle[0] - left[0]) / (right[0] - left[0])
        chord = (1 - share) * left[1] + share * right[1]
        bends += middle[2] >= chord - SAME * abs(chord)
    text = f"Phi = nu CVaR is nowhere below the chord of its neighbours at {bends} nu"
    return PaperClaim(text, bends == len(at) - 2)


def _signs(one: Numbers) -> PaperClaim:
    right = [
        row["CVaR"] < 0 if row["side"] > 0 else row["lower"] > 0
        for row in one["rows"]
        if row["side"]
    ]
    text = "the CVaR is negative above nu_bar and positive below, proven at "
    return PaperClaim(f"{text}{sum(right)} of {len(right)} nu", all(right))


def _bar(one: Numbers) -> PaperClaim:
    low, high = one["nu_bar_bounds"]
    if low is None:
        return PaperClaim("nu_bar has no proven lower bound", False)
    return PaperClaim(
        f"nu_bar is proven to {max(high - low, 0.0):.1e}", -SAME <= high - low <= CLOSE
    )


def _nu_min(one: Numbers) -> PaperClaim:
    """zeta(C) = mean hinge loss + ||w||^2 / (C m), so that it falls to its limit as 1 / C."""
    off = [part["zeta"] - one["nu_bar"] for part in one["zeta"]]
    falls = all(0 < later < sooner for sooner, later in pairwise(off))
    steps = ", ".join(f"{distance:.1e}" for distance in off)
    costs = ", ".join(f"{part['C']:g}" for part in one["zeta"])
    return PaperClaim(
        "nu_min, the limit of zeta(C), is nu_bar: zeta(C) - nu_bar falls as 1 / C, "
        f"{steps} at C = {costs}",
        falls and off[-1] <= min(NEAR, TENFOLD * off[-2]),
    )


def _convex(one: Numbers) -> PaperClaim:
    """Lemma 6 and section 5: above nu_bar the ball problem and nu-SVC have one solution."""
    above = [row for row in one["rows"] if row["side"] > 0]
    off = max(abs(row["nu-SVC"] - row["CVaR"]) / abs(row["CVaR"]) for row in above)
    balls = sum(row["how"] == "ball" for row in above)
    proven = all(row["nu-SVC verdict"] == Verdict.CERTIFIED for row in above)
    return PaperClaim(
        f"Lemma 6: above nu_bar one convex problem, (8), gives the CVaR at {balls} of "
        f"{len(above)} nu, and nu-SVC the same to {off:.1e} of it",
        off <= AGREE and proven and balls == len(above),
    )


# --- the picture ----------------------------------------------------------------------------------


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
