"""Sections 3.1 and 4: class probabilities from weighted machines, beside the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tightmargin.experiments.plots.probability_plots.simplex import draw_simplex
from tightmargin.experiments.plots.style import NORMAL, SMALL, look, new_figure, tidy
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table, largest
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks
from tightmargin.experiments.reproduce.lee.probability_runs import (
    CHECKS,
    IDEAL,
    LIMIT,
    SHOWN,
    SIGMA,
    STEPS,
    THREE,
    TWO,
    work,
)
from tightmargin.experiments.reproduce.lee.published import BINARY, PAPER
from tightmargin.experiments.reproduce.lee.statements.statements import with_statements
from tightmargin.solvers.probability.multiclass import (
    EXACT,
    HINGE_MACHINE,
    TRUNCATED,
    DirectProbabilities,
    simplex_grid,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "lee-probabilities"
SIZES, QUICK_SIZES = (100, 400, 1600, 6400), (100, 400, 1600)
SEEDS, QUICK_SEEDS = 10, 3
# Machine, points, steps of the grid; a grid of N steps has (N + 1)(N + 2) / 2 machines.
DIRECT = (
    *((HINGE_MACHINE, n, N) for n in (100, 400) for N in (10, 20, 40)),
    *((HINGE_MACHINE, 1600, N) for N in (10, 20)),
    *((TRUNCATED, n, N) for n in (100, 400) for N in (10, 20)),
    (TRUNCATED, 100, 40), (TRUNCATED, 1600, 10), (EXACT, 24, 4), (EXACT, 30, 6),
)  # fmt: skip
QUICK_DIRECT = (
    *((HINGE_MACHINE, n, N) for n in (100, 400) for N in (10, 20)),
    *((TRUNCATED, n, N) for n, N in ((100, 10), (100, 20), (400, 10))), (EXACT, 24, 4),
)  # fmt: skip
LEFT = 0.01  # what may be left between the largest sample and the limit of all points
DIRECT_SEEDS = 2  # of the quick run; the full one has SEEDS
SHOWN_TASK = (SHOWN, 200, 10, 0)
WEIGHTED, BEST, IDEAL_NAME = "weighted hinge", "best linear f", "true labels"

KEYS = (
    Column("scheme", "scheme"), Column("machine", "machine"), Column("n", "$n$"),
    Column("N", "$N$"),
)  # fmt: skip
COLUMNS = (
    Column("mean error", "mean error", ".4f"), Column("largest error", "largest error", ".3f"),
    Column("at odds", "at odds", ".4f"), Column("runs", "runs", ".0f"),
)  # fmt: skip
NOTES = (
    f"normal classes of equal weight with sigma = {SIGMA:g} in the plane, means on the unit "
    "circle, so that the true probabilities are known; lambda = 1 / (2 n), so that it falls with "
    "n as the theorems ask for. Errors are of |p-hat - p| at 2000 fresh points",
    "two classes: section 3.1, one weighted machine for every pi = j / N, each proven. at odds: "
    "share of points at which the signs turn back",
    f"machine {BEST}: what linear machines tend to as n grows and lambda falls, from closed forms "
    "of the expected hinge loss. It is not 0: for pi other than 1/2 the linear f of least risk is "
    "not 0 where p = pi. The minimiser over all f is (Wang, Shen & Liu 2008), and section 3.1 says "
    "nothing of how rich H must be. The truncated loss is another matter: where the best "
    "classifier is linear, as here, large multiples of it come as near as one likes to the least "
    "loss at every x",
    "direct: section 4.1, one machine for each weight of the simplex with step 1 / N, a border "
    "weight from the cell whose corners carry all labels. at odds: share of points with more than "
    "one such cell; there the mean is taken",
    "machine hinge: not consistent for three classes. truncated: s = -1/2 by the d.c. algorithm "
    "from the hinge machine, a good point and no proof, as in the paper that the review is about. "
    "exact: every optimum proven, which many points do not allow; the gap is the largest",
    f"machine {IDEAL_NAME}: the labels argmax pi_k p_k themselves, what the step of the grid costs "
    "where machines make no error. It falls as 1 / N where no p is near 0",
    "Theorem 4.3 is about the limit n to infinity and names no rate: no run can show it, and none "
    "of these numbers stands in the review",
)
SIZE = (11.0, 4.3)  # inches


@reproduction(
    NAME,
    "class probabilities of two classes by a grid of pi and of three by the direct scheme",
    source=f"{PAPER}, sections 3.1 and 4.1",
    quick="up to 1600 points of two and 400 of three classes, few seeds, N to 20 for three",
)
def run(effort: Effort) -> Report:
    """Errors beside the truth, and statements."""
    tasks = [(CHECKS,), (LIMIT,), SHOWN_TASK, *((IDEAL, N) for N in STEPS), *_tasks(effort.quick)]
    done = run_tasks(work, tasks, effort)
    rows = error_rows(done.results)
    table = Table(NAME, "distance from the true probabilities", KEYS, COLUMNS, tuple(rows))
    shown = [result for result in done.results if result["task"][0] == SHOWN]
    report = Report(
        NAME, f"{PAPER}, sections 3.1 and 4.1: probabilities from machines", (table,),
        tuple(_claims(rows, done.results)), (*NOTES, *_unconverged(done.results)),
        figure=errors_figure(rows, shown[0] if shown else None),
        unfinished=done.unfinished(len(tasks), "runs"),
    )  # fmt: skip
    return with_statements(report, "what sections 3.1 and 4.1 state", BINARY, done.results)


def _tasks(quick: bool) -> list[tuple[Any, ...]]:
    seeds, three = (QUICK_SEEDS, DIRECT_SEEDS) if quick else (SEEDS, SEEDS)
    two = [(TWO, n, seed) for n in (QUICK_SIZES if quick else SIZES) for seed in range(seeds)]
    return two + [
        (THREE, *words, seed) for words in (QUICK_DIRECT if quick else DIRECT)
        for seed in range(1 if words[0] == EXACT else three)
    ]  # fmt: skip


def error_rows(results: Iterable[Mapping[str, Any]]) -> list[Row]:
    """One row for each scheme, machine, n and N: means over the seeds."""
    cases: dict[tuple[str, str, int, int], list[Mapping[str, Any]]] = {}
    for result in results:
        what, *words = result["task"]
        if what in (TWO, LIMIT):
            machine, n = (WEIGHTED, words[0]) if what == TWO else (BEST, 0)
            for N, errors in result["errors"].items():
                one = {**errors, "verdict": result.get("verdict"), "gap": result.get("gap")}
                cases.setdefault(("two classes", machine, n, int(N)), []).append(one)
        elif what == THREE:
            machine, n, N, _ = words
            cases.setdefault(("direct", machine, n, N), []).append({**result, "verdict": None})
        elif what == IDEAL:
            one = {**result, "turned": 0.0, "verdict": None, "gap": None}
            cases.setdefault(("direct", IDEAL_NAME, 0, words[0]), []).append(one)
    order = (WEIGHTED, BEST, HINGE_MACHINE, TRUNCATED, EXACT, IDEAL_NAME)
    ordered = sorted(cases, key=lambda case: (order.index(case[1]), *case[2:]))
    return [_row(case, cases[case]) for case in ordered]


def _row(case: tuple[str, str, int, int], runs: Sequence[Mapping[str, Any]]) -> Row:
    cells = {
        "mean error": Cell(float(np.mean([one["mean"] for one in runs]))),
        "largest error": Cell(max(one["largest"] for one in runs)),
        "at odds": Cell(float(np.mean([one["turned"] for one in runs]))),
        "runs": Cell(float(len(runs))),
    }
    scheme, machine, n, N = case
    verdicts = [one["verdict"] for one in runs]
    key = (scheme, machine, str(n) if n else "-", str(N))
    gaps = [one["gap"] for one in runs]
    if None in verdicts:
        return Row(key, cells, largest(gaps))
    return Row.of_runs(key, cells, gaps, verdicts)


def _unconverged(results: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """How many of the truncated runs have d.c. searches that ran into their limit."""
    runs = [one for one in results if one["task"][0] == THREE and one["task"][1] == TRUNCATED]
    left = sorted({one["task"][2] for one in runs if not one["converged"]})
    if not left:
        return ()
    count = sum(not one["converged"] for one in runs)
    return (
        f"in {count} of {len(runs)} truncated runs, with n = {', '.join(map(str, left))}, some "
        "d.c. search did not converge; its machine is the best on the way",
    )


def mean_errors(rows: Iterable[Row], machine: str, N: str = "") -> list[float]:
    """Mean errors of a machine by n and N, or at one N."""
    return [
        row.cells["mean error"].ours
        for row in rows
        if row.words[1] == machine and row.words[3] == (N or row.words[3])
    ]


def _claims(rows: Sequence[Row], results: Iterable[Mapping[str, Any]]) -> list[PaperClaim]:
    fine = str(STEPS[-1])
    by_n, limit = mean_errors(rows, WEIGHTED, N=fine), mean_errors(rows, BEST, N=fine)
    off = abs(by_n[-1] - limit[0]) if by_n and limit else 0.0
    ideal = mean_errors(rows, IDEAL_NAME)
    shares = [after / before for before, after in pairwise(ideal)]
    odd = [result["odd"] for result in results if "odd" in result]
    return [
        PaperClaim(
            f"two classes, N = {fine}: the mean error is "
            f"{', '.join(f'{error:.3f}' for error in by_n)} as n grows, less at the end than 0.8 "
            "of the first",
            not by_n or by_n[-1] < 0.8 * by_n[0],
        ),
        PaperClaim(
            f"and ends within {LEFT:g} of {max(limit, default=0):.3f}, the error of the best "
            f"linear f for the whole distribution: off by {off:.4f}",
            off <= LEFT,
        ),
        PaperClaim(
            "from true labels the error of the direct scheme falls to "
            f"{', '.join(f'{share:.2f}' for share in shares)} of what it was each time that N is "
            "doubled; 1 / N is 0.50",
            all(share < 0.7 for share in shares),
        ),
        PaperClaim(
            "every point has an odd number of cells with all labels, and so at least one "
            f"({len(odd)} runs)",
            all(odd),
        ),
    ]


# --- the picture ----------------------------------------------------------------------------------


def errors_figure(rows: Sequence[Row], shown: Mapping[str, Any] | None) -> Figure:
    """Two panels of errors, and the labelled simplex of one point where it was computed."""
    figure = new_figure(*SIZE)
    widths = (1, 1, 1.15)
    two, three, simplex = figure.subplots(1, 3, width_ratios=widths)
    _errors(two, [row for row in rows if row.words[0] == "two classes"], "two classes")
    _errors(
        three, [row for row in rows if row.words[0] == "direct" and row.words[1] != EXACT],
        "three classes, direct scheme",
    )  # fmt: skip
    low, high = zip(*(axes.get_ylim() for axes in (two, three)), strict=True)
    for axes in (two, three):
        axes.set_ylim(min(low), max(high))
    if shown is None:
        simplex.axis("off")
    else:
        draw_simplex(simplex, fitted_again(shown), shown["x"], shown["truth"], size=SMALL)
    return figure


def fitted_again(shown: Mapping[str, Any]) -> DirectProbabilities:
    """The machines of the picture, from the plain values of their task."""
    _, _, N, _ = shown["task"]
    return DirectProbabilities(
        np.array(shown["B"]), np.array(shown["b"]), simplex_grid(3, N), 0.0, "truncated",
        shown["truncation"], "free", ("0", "1", "2"), 0.0, shown["complete"], shown["converged"],
    )  # fmt: skip


def _errors(axes: Any, rows: Sequence[Row], title: str) -> None:
    """Mean errors over N, one line for each machine and n."""
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row.words[1], row.words[2]), []).append(row)
    for number, ((machine, n), mine) in enumerate(lines.items()):
        seen = look(number)
        name = machine if n == "-" else f"{machine}, n = {n}"
        axes.plot(
            [int(row.words[3]) for row in mine], [row.cells["mean error"].ours for row in mine],
            color=seen.colour, ls=seen.line, marker=seen.mark, ms=4, lw=1.3, label=name,
        )  # fmt: skip
    steps = sorted({int(row.words[3]) for row in rows})
    if steps:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(steps, [str(N) for N in steps], minor=False)
        axes.set_xticks([], minor=True)
        axes.legend(frameon=False, fontsize=SMALL - 1, loc="lower left")
    axes.set_xlabel("steps N of the grid")
    axes.set_ylabel("mean of |p-hat - p|")
    axes.set_title(title, fontsize=NORMAL, loc="left")
    tidy(axes, SMALL)
