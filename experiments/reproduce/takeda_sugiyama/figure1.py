"""Figure 1: the distribution of margin errors of trained machines, with its VaR and CVaR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog

from tightmargin.experiments.data.public_data import files_of
from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    GREY,
    NORMAL,
    PAGE,
    PALE,
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
    PAPER,
    SOURCES,
    points,
    relative_gap,
    source_notes,
    trained,
)
from tightmargin.experiments.statistics.margin_errors import margin_errors, value_at_risk
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.extended import min_cvar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "takeda-sugiyama-figure1"
NUS = {"wdbc": (0.5, 0.3, 0.1, 0.03), "liver": (0.8, 0.6, 0.3, 0.1)}
DRAWN = {"wdbc": (0.3, 0.1), "liver": (0.8, 0.3)}
SAME = 1e-9  # of the largest margin error: what three ways to one CVaR may differ by
OPTIMA = 2e-6  # relative: two proven optima, each to half of it
KEYS = (Column("data", "data"), Column("nu", r"$\nu$"))
COLUMNS = (
    Column("VaR", r"$\alpha_\beta$", ".5f"),
    Column("-rho", r"$-\rho$", ".5f"),
    Column("tail mean", r"$\phi_\beta$, tail", ".6f"),
    Column("(12)", r"$\min_\alpha F_\beta$", ".6f"),
    Column("(6)", r"$\min \phi_\beta$", ".6f"),
    Column("(3)/nu", r"(3) / $\nu$", ".6f"),
)
NOTES = (
    NO_NUMBERS,
    "beta = 1 - nu. VaR: the least a with at least the share beta of the margin errors at or below "
    "it; tail mean: the mean of the beta-tail distribution, by sorting; (12): the least of the "
    "function of Rockafellar and Uryasev over alpha, by a linear program; (6): the optimum of the "
    "model min_cvar, solved for itself; (3)/nu: the optimum of the extended nu-SVC over nu",
    "where (1 - nu) m is a whole number every alpha from one margin error to the next is optimal "
    "in (12): VaR is the least of them, and -rho need not be",
)

Numbers = dict[str, Any]
BINS = 36
ROW = 2.7  # inches
TAIL = "#9CC5E0"


def tail_mean(errors: Array, nu: float) -> float:
    """Mean of the beta-tail distribution, beta = 1 - nu.

    Phi_beta rises by [k/m - beta]_+ - [(k-1)/m - beta]_+, over nu, at the k-th smallest of m
    margin errors (section 3.1).
    """
    m = len(errors)
    reached = np.maximum(np.arange(m + 1) / m - (1 - nu), 0.0)
    return float(np.diff(reached) @ np.sort(errors)) / nu


def least_of_rockafellar(errors: Array, nu: float) -> float:
    """min over alpha of (12), alpha + sum_i [f_i - alpha]_+ / (nu m), as a linear program."""
    m = len(errors)
    answer = linprog(
        np.r_[1.0, np.full(m, 1 / (nu * m))],
        A_ub=np.hstack([-np.ones((m, 1)), -np.eye(m)]),
        b_ub=-errors,
        bounds=[(None, None)] + [(0, None)] * m,
        method="highs",
    )
    if answer.status != 0:
        raise RuntimeError(f"the linear program of (12) ended with: {answer.message}")
    return float(answer.fun)


def distributions(name: str, *nus: float) -> list[Numbers]:
    """Margin errors of the machine of every nu, and its CVaR in four ways."""
    data = points(name)
    found = []
    for row in trained(data, nus).rows:
        errors = margin_errors(data, row.w, row.b)
        model, least = optimum(min_cvar(data, beta=1 - row.nu))
        found.append({
            "data": name, "nu": row.nu, "side": row.side, "errors": errors.tolist(),
            "rho": row.rho, "VaR": value_at_risk(errors, row.nu),
            "tail mean": tail_mean(errors, row.nu),
            "(12)": least_of_rockafellar(errors, row.nu),
            "(6)": least, "(3)/nu": row.cvar,
            "relative_gap": relative_gap(row),
            "proofs": [str(row.verdict), str(model.certificate.verdict)],
        })  # fmt: skip
    return found


@reproduction(
    NAME,
    "margin errors of trained machines with their value at risk and its conditional mean",
    source=f"{PAPER}, Figure 1",
    quick="breast cancer only",
)
def run(effort: Effort) -> Report:
    """Every distribution, and what section 3.1 says of it."""
    names = ["wdbc"] if effort.quick else list(SOURCES)
    for name in names:
        points(name)
    tasks = [(name, *NUS[name]) for name in names]
    reads = files_of(SOURCES[name].spec for name in names)
    done = run_tasks(distributions, tasks, effort, reads=reads)
    found = [one for part in done.results for one in part]
    table = Table(
        NAME, "value at risk and conditional value at risk of the margin errors", KEYS, COLUMNS,
        tuple(_row(one) for one in found),
    )  # fmt: skip
    drawn = [one for one in found if one["nu"] in DRAWN[one["data"]]]
    return Report(
        NAME, f"{PAPER}, Figure 1", (table,),
        claims=tuple(claims(found)), notes=(*NOTES, *source_notes(names)),
        figure=distribution_figure(drawn),
        unfinished=done.unfinished(len(tasks), "data sets"),
    )  # fmt: skip


def _row(one: Numbers) -> Row:
    cells = {column.name: Cell(one[column.name]) for column in COLUMNS if column.name in one}
    cells["-rho"] = Cell(-one["rho"])
    key = (SOURCES[one["data"]].words, one["nu"])
    return Row.of_runs(key, cells, [one["relative_gap"]], one["proofs"])


def claims(found: Sequence[Numbers]) -> list[PaperClaim]:
    """The statements of sections 3.1 and Appendix A about one distribution."""
    ways = max(abs(one["tail mean"] - one["(12)"]) / max(map(abs, one["errors"])) for one in found)
    optima = max(
        abs(one[name] - one["tail mean"]) / abs(one["tail mean"])
        for one in found
        for name in ("(6)", "(3)/nu")
    )
    above = min(one["tail mean"] - one["VaR"] for one in found)
    quantiles = sum(_is_quantile(one) for one in found)
    negative = sum((one["tail mean"] < 0) == (one["side"] > 0) for one in found)
    count = len(found)
    return [
        PaperClaim(
            "the mean of the tail by sorting and the least of (12) by a linear program differ by "
            f"at most {ways:.1e} of the largest margin error in {count} machines",
            ways <= SAME,
        ),
        PaperClaim(
            "Theorem 1: the optimum of (6) and that of (3) over nu, each proven, are that mean to "
            f"{optima:.1e} of it",
            optima <= OPTIMA,
        ),
        PaperClaim(f"(5): CVaR >= VaR, by {above:.4g} or more", above >= 0),
        PaperClaim(
            f"-rho of the solved machine is a (1 - nu)-quantile of its margin errors in "
            f"{quantiles} of {count}",
            quantiles == count,
        ),
        PaperClaim(
            f"the CVaR is negative above nu_bar and positive below in {negative} of {count}",
            negative == count,
        ),
    ]


def _is_quantile(one: Numbers) -> bool:
    """Whether P(f < -rho) <= beta <= P(f <= -rho)."""
    errors, level = np.array(one["errors"]), -one["rho"]
    room = SAME * float(np.abs(errors).max())
    beta = 1 - one["nu"]
    below, within = (errors < level - room).mean(), (errors <= level + room).mean()
    return bool(below <= beta + SAME and beta <= within + SAME)


# --- the picture ----------------------------------------------------------------------------------


def distribution_figure(found: Sequence[Mapping[str, Any]]) -> Figure:
    """One panel for each distribution, two in a row.

    Bars are split at the VaR, so that the tail is the hatched part; VaR, CVaR and 0 are lines of
    three kinds.
    """
    rows = max(1, (len(found) + 1) // 2)
    figure = new_figure(PAGE, ROW * rows + 0.5)
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for axes in panels[len(found) :]:
        axes.set_visible(False)
    for axes, one in zip(panels, found, strict=False):
        _panel(axes, one)
    if found:
        shared_legend(figure, columns=5)
    return figure


def _panel(axes: Any, one: Mapping[str, Any]) -> None:
    errors, level = np.array(one["errors"]), one["VaR"]
    width = float(np.ptp(errors)) / BINS
    before, after = np.ceil([(level - errors.min()) / width, (errors.max() - level) / width])
    edges = level + width * np.arange(-before, after + 1)
    tail = errors >= level
    axes.hist(errors[~tail], edges, color=PALE, ec=GREY, lw=0.5, label="other points")
    axes.hist(
        errors[tail], edges, color=TAIL, ec=BLUE, lw=0.5, hatch="////", label="VaR and beyond"
    )
    axes.axvline(0.0, color=GREY, lw=1.0, ls=":", label="0: the hyperplane")
    axes.axvline(level, color=BLACK, lw=1.4, ls="--", label="VaR")
    axes.axvline(one["tail mean"], color=VERMILLION, lw=1.8, label="CVaR")
    side = "above" if one["side"] > 0 else "below"
    axes.set_title(
        f"{SOURCES[one['data']].words}, nu = {one['nu']:g}, {side} nu_bar\n"
        f"VaR {level:.3f}, CVaR {one['tail mean']:.3f}",
        fontsize=NORMAL,
    )
    axes.set_xlabel("margin error")
    axes.set_ylabel("points")
    tidy(axes)
