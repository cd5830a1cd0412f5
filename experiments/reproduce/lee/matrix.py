"""Section 5: matrix predictors with a bound on the rank, relaxed, by turns, and proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks
from tightmargin.experiments.reproduce.lee.matrix_figure import matrices_figure
from tightmargin.experiments.reproduce.lee.matrix_runs import CHECKS, FIT, RIDGE, STARTS, TAU, work
from tightmargin.experiments.reproduce.lee.published import MATRIX, PAPER
from tightmargin.experiments.reproduce.lee.statements.statements import SAME, with_statements

NAME = "lee-matrix"
# Rows, columns, rank and points.
CASES = ((3, 3, 1, 14), (3, 3, 2, 14), (3, 4, 1, 20), (4, 4, 1, 30))
QUICK_CASES = CASES[:3]
SEEDS, QUICK_SEEDS = 10, 3
RELAXED = ("full", "projection", "nuclear")
KEYS = (
    Column("shape", "shape"), Column("rank", "rank"), Column("n", "$N$"), Column("seed", "seed"),
)  # fmt: skip
COLUMNS = (
    Column("any rank", "any rank", ".5f"), Column("SDP", "SDP", ".5f"),
    Column("bound", "bound", ".5f"), Column("optimum", "optimum", ".5f"),
    Column("by turns", "by turns", ".5f"), Column("median start", "median start", ".5f"),
    Column("SDP gap, %", r"SDP gap, \%", ".1f"), Column("cones", "cones", ".0f"),
    Column("nuclear", "nuclear", ".5f"), Column("angle", "angle", ".1f"),
    Column("angle, any rank", "angle, any rank", ".1f"),
)  # fmt: skip
NOTES = (
    f"sum of hinge losses + lambda/2 ||B||^2 with lambda = {RIDGE:g} and a free intercept; normal "
    "predictors, labelled by a matrix of rank 1 with noise",
    "any rank: without a bound on the rank; SDP: the projection relaxation; both are proven lower "
    "bounds. bound and optimum: by our own search over cones of directions, which needs no solver "
    "that is to be believed. by turns: the best of "
    f"{STARTS} alternating starts, the algorithm that section 6 leaves to do; no proof",
    f"nuclear: a price of {TAU:g} on the nuclear norm in place of the rank. That is another model: "
    "its value includes the price, and it is no bound in either direction",
    "SDP gap: of the SDP below the optimum. The gap in the last column is what is left unproven. "
    "angle: degrees between B and the matrix that made the labels",
    "r = max rank(X_i), the rule of section 5: with predictors of rank 1 it may cut off the "
    "optimum, since B is a sum of them; with one of full rank it bars nothing. The rank is the "
    "reader's choice here",
    "Table 1: the score of least expected loss on a grid of 0.001, at ten p; at p = 1/2 the hinge "
    "has many",
)


@reproduction(
    NAME,
    "matrix predictors of bounded rank: relaxations, turns and the proven optimum; Table 1",
    source=f"{PAPER}, section 5, Table 1",
    quick="3 shapes and ranks, 3 samples each, instead of 4 and 10",
)
def run(effort: Effort) -> Report:
    """Values, bounds and statements."""
    cases, seeds = (QUICK_CASES, QUICK_SEEDS) if effort.quick else (CASES, SEEDS)
    tasks: list[tuple[Any, ...]] = [(CHECKS,)]
    tasks += [(FIT, *case, seed) for case in cases for seed in range(seeds)]
    done = run_tasks(work, tasks, effort)
    fits = [result for result in done.results if result["task"][0] == FIT]
    table = Table(NAME, "matrices of bounded rank", KEYS, COLUMNS, tuple(map(fit_row, fits)))
    report = Report(
        NAME, f"{PAPER}, section 5: matrix predictors", (table,), tuple(_claims(fits)), NOTES,
        figure=matrices_figure(fits) if fits else None,
        unfinished=done.unfinished(len(tasks), "runs"),
    )  # fmt: skip
    return with_statements(report, "what sections 5 and 6 state", MATRIX, done.results)


def fit_row(one: Mapping[str, Any]) -> Row:
    """All values of one sample."""
    _, rows, columns, rank, n, seed = one["task"]
    numbers = {
        "any rank": one["full"]["value"], "SDP": one["projection"]["value"],
        "bound": one["bound"], "optimum": one["exact"], "by turns": one["alternating"],
        "median start": median(one["each"]), "SDP gap, %": 100 * sdp_gap(one),
        "cones": one["cells"], "nuclear": one["nuclear"]["value"],
        "angle": one["angles"]["exact"], "angle, any rank": one["angles"]["full"],
    }  # fmt: skip
    gaps = [(one["exact"] - one["bound"]) / max(1.0, one["exact"])]
    gaps += [one[name]["relative_gap"] for name in RELAXED]
    return Row.of_runs(
        (f"{rows}x{columns}", str(rank), str(n), str(seed)),
        {name: Cell(float(number)) for name, number in numbers.items()},
        [0.0, *gaps], [one["proven"], *(one[name]["verdict"] for name in RELAXED)],
    )  # fmt: skip


def sdp_gap(one: Mapping[str, Any]) -> float:
    """(optimum - proven bound of the SDP) / optimum."""
    return float(1 - one["projection"]["bound"] / one["exact"])


def missed(one: Mapping[str, Any]) -> bool:
    """Whether the alternating starts all ended above the optimum."""
    return bool(one["alternating"] > one["exact"] + SAME * max(1.0, one["exact"]))


def in_order(one: Mapping[str, Any]) -> bool:
    """Any rank <= SDP <= optimum <= by turns, with proven bounds on the left of every sign."""
    slack = SAME * max(1.0, one["exact"])
    return bool(
        one["full"]["bound"] <= one["projection"]["value"] + slack
        and one["projection"]["bound"] <= one["exact"] + slack
        and one["bound"] <= one["exact"] + slack
        and one["exact"] <= one["alternating"] + slack
    )


def _claims(fits: Sequence[Mapping[str, Any]]) -> list[PaperClaim]:
    gaps = [sdp_gap(one) for one in fits if one["task"][3] == 1]
    ranks = all(one["ranks"]["exact"] <= one["task"][3] for one in fits)
    nearer = sum(one["angles"]["exact"] < one["angles"]["full"] for one in fits)
    other = sum(one["nuclear"]["bound"] > one["exact"] for one in fits)
    tight = sum(gap <= SAME for gap in gaps)
    return [
        PaperClaim(
            "any rank <= SDP <= optimum <= by turns for every sample",
            all(map(in_order, fits)),
        ),
        PaperClaim(
            f"all {len(fits)} optima are proven and of the rank asked for; {STARTS} alternating "
            f"starts miss {sum(map(missed, fits))} of them",
            ranks and all(one["proven"] for one in fits),
        ),
        PaperClaim(
            f"the SDP leaves {100 * min(gaps, default=0):.0f} to {100 * max(gaps, default=0):.0f} "
            f"% open at rank 1; it is tight in {tight} of {len(gaps)} samples: a bound, and in "
            "most samples no solution",
            not gaps or tight < len(gaps) / 2,
        ),
        PaperClaim(
            f"the value with a price on the nuclear norm is above the optimum in {other} of "
            f"{len(fits)} samples: no lower bound",
            not fits or other > 0,
        ),
        PaperClaim(
            f"the bound on the rank brings B nearer to the matrix that made the labels in {nearer} "
            f"of {len(fits)} samples",
            not fits or nearer > len(fits) / 2,
        ),
    ]
