"""Figure 1: training and test risk of the digits over H^2/l, for five sizes of training set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import floor, isnan
from typing import TYPE_CHECKING, Any

from tightmargin.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    PURPLE,
    VERMILLION,
    Look,
    new_figure,
)
from tightmargin.experiments.reproduce.bi_vapnik.measured import (
    Curve,
    Measured,
    as_run,
    cut_short,
    measured,
)
from tightmargin.experiments.reproduce.bi_vapnik.published import (
    ADVISED,
    FIGURE1_SIZES,
    H_LIMIT_SQUARED,
    PAPER,
    RATIO,
)
from tightmargin.experiments.reproduce.bi_vapnik.samples import digits, sound_digits
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks
from tightmargin.solvers.rigorous_svm.norm_limit import norm_limit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "bi-vapnik-figure1"
QUICK = (100, 200)
FIRST, STEP = 3, 0.01  # H^2/l = 0.03, 0.04, ...
KEYS = (Column("l", r"$\ell$"), Column(RATIO, r"$H^2/\ell$"))
POINTS = (
    Column("R_trn", r"$R_{trn}$", ".2f"), Column("R_tst", r"$R_{tst}$", ".2f"),
    Column("E", "$E$", ".4f"),
)  # fmt: skip
FACTS = (
    Column("H_lim^2", r"$\hat H^2$", ".2f"), Column("last", r"last $H^2/\ell$", ".3f"),
    Column("least R_tst", r"least $R_{tst}$", ".2f"), Column("at", r"at $H^2/\ell$", ".3g"),
    Column("advised", r"least $R_{tst}$ in $[.05, .30]$", ".2f"),
)  # fmt: skip
NOTES = (
    "percent of errors; R_tst on the last 10000 digits; E the least loss, a sum",
    "H_lim^2 is the largest H^2 that matters: the digits are separable, and H_lim is 1 / margin. "
    f"{RATIO} goes up to min(H_lim^2, l) / l, rounded down to an integer H^2",
    "the figure prints no numbers: 90 is in the text, and the sentences checked above are its own; "
    "'advised' is the least R_tst with H^2/l in the range that the paper recommends",
)
SIZE = (9.0, 4.2)  # inches
LOOKS = (
    Look(BLACK, "-", "o"), Look(VERMILLION, "--", "s"), Look(BLUE, "-.", "^"),
    Look(GREEN, (0, (5, 1, 1, 1, 1, 1)), "D"), Look(PURPLE, ":", "v"),
)  # fmt: skip


def curve(size: int) -> dict[str, Any]:
    """Find the largest H, then the path up to it. A `Curve` in plain values."""
    sample = digits(size)
    limit = norm_limit(sample.train)
    if isnan(limit.value):
        raise RuntimeError(f"the largest norm bound of the first {size} digits was not found")
    run = measured(sample, grid(size, limit.value**2))
    return {"limit_squared": limit.value**2, "proven": limit.proven, "run": run.plain}


def grid(size: int, limit_squared: float) -> list[float]:
    """H^2/l from 0.03 to the last integer H^2 in [0, min(H_lim^2, l)]."""
    last = floor(min(limit_squared, size)) / size
    steps = [round(STEP * k, 10) for k in range(FIRST, round(1 / STEP))]
    return [ratio for ratio in steps if ratio < last - 1e-9] + [last]


@reproduction(
    NAME,
    "digits, odd against even: training and test risk over H^2/l",
    source=f"{PAPER}, Figure 1",
    quick="l = 100 and 200",
)
def run(effort: Effort) -> Report:
    """All curves, and what the paper says of them."""
    reads = [sound_digits()]
    sizes = QUICK if effort.quick else FIGURE1_SIZES
    tasks = [(size,) for size in sizes]
    done = run_tasks(
        curve, tasks, effort, stopped=lambda plain: cut_short(plain["run"]), reads=reads
    )
    curves = [
        Curve(size, one["limit_squared"], one["proven"], as_run(one["run"]))
        for size, one in zip(sizes, done.results, strict=False)
        if one["run"]["rows"]
    ]
    points = Table(
        f"{NAME}-points", "what the picture draws", KEYS, POINTS,
        tuple(_point(one, row) for one in curves for row in one.rows),
        shown=False,
    )  # fmt: skip
    facts = Table(NAME, "each curve", KEYS[:1], FACTS, tuple(_facts(one) for one in curves))
    return Report(
        NAME, f"{PAPER}, Figure 1: l = {', '.join(map(str, sizes))}", (facts, points),
        claims=tuple(_claims(curves)), notes=NOTES,
        figure=risk_figure(curves) if curves else None,
        unfinished=done.unfinished(len(sizes), "curves"),
    )  # fmt: skip


def _point(one: Curve, row: Measured) -> Row:
    cells = {
        "R_trn": Cell(row.train.errors), "R_tst": Cell(row.test.errors), "E": Cell(row.objective),
    }  # fmt: skip
    return Row((str(one.size), f"{row.ratio:g}"), cells, row.relative_gap, row.verdict)


def _facts(one: Curve) -> Row:
    best = _best(one.rows)
    advised = _advised(one)
    cells = {
        "H_lim^2": Cell(one.limit_squared),
        "last": Cell(one.rows[-1].ratio),
        "least R_tst": Cell(best.test.errors),
        "at": Cell(best.ratio),
    }
    cells |= {"advised": Cell(advised.test.errors)} if advised else {}
    gaps = [row.relative_gap for row in one.rows]
    return Row.of_runs((str(one.size),), cells, gaps, [one.proven, *(r.verdict for r in one.rows)])


def _best(rows: tuple[Measured, ...] | list[Measured]) -> Measured:
    return min(rows, key=lambda row: row.test.errors)


def _advised(one: Curve) -> Measured | None:
    inside = [row for row in one.rows if ADVISED[0] <= row.ratio <= ADVISED[1]]
    return _best(inside) if inside else None


def _claims(curves: list[Curve]) -> list[PaperClaim]:
    """The sentences of section 6 about the figure."""
    inner = [one for one in curves if 0 < one.rows.index(_best(one.rows)) < len(one.rows) - 1]
    more = max(
        (row.test.errors - _best(one.rows).test.errors for one in curves if (row := _advised(one))),
        default=0.0,
    )
    return [
        *(_limit_claim(one) for one in curves if one.size in H_LIMIT_SQUARED),
        _falls(curves),
        _errors_fall(curves),
        PaperClaim(
            f"the test risk has its least value inside the range for {len(inner)} of "
            f"{len(curves)} sizes; the best of {RATIO} {ADVISED[0]} to {ADVISED[1]} is within "
            f"{more:.2f} points of it",
            len(inner) == len(curves),
        ),
    ]


def _limit_claim(one: Curve) -> PaperClaim:
    cell = Cell(one.limit_squared, H_LIMIT_SQUARED[one.size])
    how = "proven" if one.proven else "not proven"
    text = f"the largest H^2 that matters of the first {one.size} digits is {cell.ours:.4f}, {how}"
    return PaperClaim(f"{text}, where the paper has {cell.printed}", cell.equal and one.proven)


def _falls(curves: list[Curve]) -> PaperClaim:
    falls = [
        row.bound - following.objective for one in curves for row, following in pairwise(one.rows)
    ]
    least = min(falls, default=0.0)
    text = f"E falls from every point to the next for every l, proven: by {least:.2g} or more"
    return PaperClaim(text, least > 0)


def _errors_fall(curves: list[Curve]) -> PaperClaim:
    """The paper says that the training risk falls monotonically."""
    rises = [
        (one.size, following.ratio, round((following.train.errors - row.train.errors) * one.size))
        for one in curves
        for row, following in pairwise(one.rows)
        if following.train.errors > row.train.errors
    ]
    most = max((hundredths / 100 for _, _, hundredths in rises), default=0.0)
    where = ", ".join(f"l {size} at {ratio:g}" for size, ratio, _ in rises)
    text = (
        f"the share of training errors, which the paper says falls monotonically, rises at "
        f"{len(rises)} of {sum(len(one.rows) - 1 for one in curves)} steps"
    )
    more = f", by one training point ({where})" if rises else ""
    return PaperClaim(text + more, most <= 1)


# --- the picture ----------------------------------------------------------------------------------


def risk_figure(curves: Sequence[Curve]) -> Figure:
    """Training risk on the left; test risk on the right with its least value and the advised H."""
    figure = new_figure(*SIZE)
    left, right = figure.subplots(1, 2)
    for number, (one, look) in enumerate(zip(curves, LOOKS, strict=False)):
        ratios = [row.ratio for row in one.rows]
        tested = [row.test.errors for row in one.rows]
        style: dict[str, Any] = {
            "color": look.colour, "ls": look.line, "marker": look.mark, "ms": 4, "lw": 1.3,
            "markevery": (number, 8), "label": f"$\\ell$ = {one.size}",
        }  # fmt: skip
        left.plot(ratios, [row.train.errors for row in one.rows], **style)
        right.plot(ratios, tested, **style)
        best = min(range(len(tested)), key=tested.__getitem__)
        right.plot(
            ratios[best], tested[best], "o", ms=11, mfc="none", mec=look.colour, mew=1.2, ls="none"
        )
    right.axvspan(*ADVISED, color="#EEEEEE", zorder=0, lw=0)
    left.set_title("training risk", fontsize=11)
    right.set_title("test risk", fontsize=11)
    right.text(
        0.98, 0.98, "ring: the least\ngrey: the range the paper advises",
        transform=right.transAxes, ha="right", va="top", fontsize=9,
    )  # fmt: skip
    for axes in (left, right):
        axes.set_xlabel(r"$H^2 / \ell$")
        axes.set_ylabel("errors, %")
        axes.set_xlim(0, 1.02)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    left.set_ylim(bottom=-0.2)
    left.legend(frameon=False)
    return figure
