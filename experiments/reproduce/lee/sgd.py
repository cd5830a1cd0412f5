"""Sections 1 and 2: stochastic gradient descent against the proven optimum, and what they state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.plots.sgd import draw_sgd
from tightmargin.experiments.plots.style import NORMAL, ORANGE, new_figure, shared_legend
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks
from tightmargin.experiments.reproduce.lee.published import LINEAR, PAPER
from tightmargin.experiments.reproduce.lee.sgd_runs import (
    DATA,
    HARD,
    KERNEL,
    OPTIMUM,
    PRINTED,
    SOFT,
    WALK,
    Walks,
    ridge_text,
    work,
)
from tightmargin.experiments.reproduce.lee.statements.statements import (
    Finding,
    finding,
    with_statements,
)
from tightmargin.solvers.hinge.sgd import RULES
from tightmargin.solvers.kernel.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (9.0, 4.0)  # inches

NAME = "lee-sgd"
SEEDS, QUICK_SEEDS = 20, 5
STEPS, QUICK_STEPS = 1_000_000, 100_000
MARKS = (-13, -7, -1)  # of the places of a trace, evenly spaced logarithms of the step
KEYS = (Column("data", "data"), Column("rule", "rule"), Column("T", "$T$"))
COLUMNS = (
    Column("optimum", r"$f^\star$", ".6f"), Column("mean gap", "mean gap", ".2e"),
    Column("largest gap", "largest gap", ".2e"), Column("bound", "bound", ".2e"),
    Column("gap a run proves", "own gap", ".2e"),
)  # fmt: skip
NOTES = (
    "no intercept, as Algorithms 3 and 4; f = lambda ||w||^2 + mean hinge loss as in (5), so that "
    "their lambda is twice this one; gaps are those of the averaged iterate to the proven bound "
    "on the optimum",
    "rule printed: w = theta / (lambda t) as in Algorithm 3; rule update: theta / (lambda (t - 1)) "
    "as in the text before it",
    "the review states no rate. The bound is derived here for both rules; for the rule update it "
    "is Theorem 14.11 of Shalev-Shwartz & Ben-David 2014 with rho = 2 R and the harmonic sum for "
    "their 1 + log T. It is one of a mean over all draws, and the runs are a few of them",
    "gap a run proves: against the bound that the draws themselves make, without the optimum",
    "Theorem 1.2: expectations over points are exact, over samples means of 20; its constant is "
    "true and not the least: with rho^2 for 2 rho^2 in the third term it still holds. Theorem 1.1 "
    "is printed for an intercept too, where its first term doubles",
    "where a statement is a misprint, corrected is what it should say; the numbers are those of "
    "examples, and a statement that holds is not proven by them",
)


@reproduction(
    NAME,
    "stochastic gradient descent against the proven optimum; statements of sections 1 and 2",
    source=f"{PAPER}, sections 1 and 2, Algorithms 3 and 4",
    quick="5 runs of 100,000 steps each, instead of 20 of 1,000,000",
)
def run(effort: Effort) -> Report:
    """Walks and statements."""
    seeds, steps = (QUICK_SEEDS, QUICK_STEPS) if effort.quick else (SEEDS, STEPS)
    tasks = [
        *((OPTIMUM, name) for name in DATA), (HARD,), (SOFT,), (PRINTED,),
        *((WALK, name, rule, steps, seed) for name in DATA for rule in rules_of(name)
          for seed in range(seeds)),
    ]  # fmt: skip
    done = run_tasks(work, tasks, effort)
    all_walks = walks(done.results)
    rows = tuple(row for one in all_walks for row in _rows(one))
    table = Table(NAME, "gap of the averaged iterate after T steps", KEYS, COLUMNS, rows)
    report = Report(
        NAME, f"{PAPER}, sections 1 and 2: descent by random points", (table,),
        tuple(_claims(all_walks)), NOTES,
        figure=walks_figure(all_walks) if all_walks else None,
        unfinished=done.unfinished(len(tasks), "runs"),
    )  # fmt: skip
    averages = [average_finding(all_walks)] if all_walks else []
    return with_statements(
        report, "what sections 1 and 2 state", LINEAR, done.results, more=averages
    )


def rules_of(name: str) -> tuple[str, ...]:
    """Both rules on points; on a kernel matrix that of Algorithm 4."""
    return RULES[:1] if name == KERNEL else RULES


def walks(results: Iterable[Mapping[str, Any]]) -> list[Walks]:
    """Results of tasks, in any order, put together."""
    optima, runs = {}, []
    for result in results:
        what, *words = result["task"]
        if what == OPTIMUM:
            optima[words[0]] = result
        elif what == WALK:
            runs.append((words[0], words[1], words[3], result))
    found = []
    for name in DATA:
        for rule in rules_of(name):
            mine = [one for *key, _, one in sorted(runs, key=lambda run: run[:3])
                    if key == [name, rule]]  # fmt: skip
            if mine and name in optima:
                found.append(_together(name, rule, optima[name], mine))
    return found


def _together(
    name: str, rule: str, optimum: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]
) -> Walks:
    values = np.array([run["objective"] for run in runs])
    bounds = np.array([run["bound"] for run in runs])
    first = runs[0]
    return Walks(
        name, rule, optimum, np.array(first["steps"], dtype=float), np.array(first["rate"]),
        values - optimum["bound"], values - bounds,
    )  # fmt: skip


def _rows(one: Walks) -> Iterable[Row]:
    for mark in MARKS:
        cells = {
            "optimum": Cell(one.optimum["objective"]),
            "mean gap": Cell(float(one.gaps[:, mark].mean())),
            "largest gap": Cell(float(one.gaps[:, mark].max())),
            "bound": Cell(float(one.rates[mark])),
            "gap a run proves": Cell(float(one.proven_gaps[:, mark].mean())),
        }
        key = (one.data, one.rule, f"{one.steps[mark]:.0f}")
        verdict = Verdict(one.optimum["verdict"])
        yield Row(key, cells, one.optimum["relative_gap"], verdict)


def average_finding(all_walks: Sequence[Walks]) -> Finding:
    """The mean gap at the end, beside its bound, where the two are nearest to each other."""
    nearest = max(all_walks, key=lambda one: float(one.gaps[:, -1].mean() / one.rates[-1]))
    mean, bound = float(nearest.gaps[:, -1].mean()), float(nearest.rates[-1])
    found = finding("average", stated=bound, ours=mean, holds=mean <= bound)
    return found | {
        "gaps": [one.optimum["relative_gap"] for one in all_walks],
        "proofs": [one.optimum["verdict"] for one in all_walks],
    }


def _claims(all_walks: Sequence[Walks]) -> list[PaperClaim]:
    shares = [float((one.gaps.mean(axis=0) / one.rates).max()) for one in all_walks]
    falls = [float(one.gaps[:, MARKS[0]].mean() / one.gaps[:, -1].mean()) for one in all_walks]
    honest = all(bool((one.proven_gaps >= one.gaps * (1 - 1e-9)).all()) for one in all_walks)
    positive = all(bool((one.gaps >= 0).all()) for one in all_walks)
    first, last = (all_walks[0].steps[mark] for mark in (MARKS[0], -1)) if all_walks else (0, 0)
    return [
        PaperClaim(
            "the mean gap is within its bound after every number of steps that was looked at, and "
            f"at most {100 * max(shares, default=0):.0f} % of it",
            max(shares, default=0.0) <= 1,
        ),
        PaperClaim(
            f"from {first:.0f} to {last:.0f} steps the mean gap falls on every data set and by "
            f"either rule, by a factor of {min(falls, default=0):.0f} or more",
            min(falls, default=2.0) > 1,
        ),
        PaperClaim(
            "no run is below the proven optimum, and no run proves more of itself than is true",
            honest and positive,
        ),
    ]


def walks_figure(all_walks: Sequence[Walks]) -> Figure:
    """Gaps over steps by the printed rule, with the mean of the other rule beside it."""
    printed = [one for one in all_walks if one.rule == "printed"]
    others = {one.data: one for one in all_walks if one.rule != "printed"}
    figure = new_figure(*SIZE)
    panels = figure.subplots(1, len(printed), sharey=True, squeeze=False)[0]
    for axes, one in zip(panels, printed, strict=True):
        draw_sgd(axes, one.steps, one.gaps, one.proven_gaps, one.rates)
        if one.data in others:
            other = others[one.data]
            axes.plot(
                other.steps, other.gaps.mean(axis=0), color=ORANGE, ls="-.", lw=1.6,
                label="mean, rule of the text",
            )  # fmt: skip
        axes.set_title(ridge_text(one), loc="left", fontsize=NORMAL)
        axes.set_ylabel("")
    panels[0].set_ylabel("objective of the averaged iterate\nless the proven optimum")
    shared_legend(figure, columns=5)
    return figure
