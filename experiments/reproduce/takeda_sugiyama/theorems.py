"""Theorems 3 to 5: the bounds on the risk over nu, beside test errors with their own limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import betaincinv

from tightmargin.experiments.data.public_data import files_of
from tightmargin.experiments.reproduce.framework.comparison import Cell, Column, Row, Table
from tightmargin.experiments.reproduce.framework.registry import Effort, reproduction
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.experiments.reproduce.framework.runs import run_tasks
from tightmargin.experiments.reproduce.takeda_sugiyama.machines import (
    LIVER_NOTE,
    NO_NUMBERS,
    PAPER,
    relative_gap,
    trained,
)
from tightmargin.experiments.reproduce.takeda_sugiyama.risk_samples import (
    COIN,
    FLIPPED,
    NOTES,
    RADIUS,
    SAMPLED,
    sample,
)
from tightmargin.experiments.reproduce.takeda_sugiyama.theorems_plot import bounds_figure
from tightmargin.experiments.statistics.risk_bounds import RiskBound, risk_bound
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.nu.feature_rank import orthonormal_reduction
from tightmargin.solvers.nu.nu_range import nu_range

NAME = "takeda-sugiyama-theorems"
QUICK = {"wdbc": 2, "liver": 2, COIN: 1}  # splits
FULL = {"wdbc": 10, "liver": 10, "adult": 3, COIN: 3}
CONSTANT, DELTA, CONFIDENCE = 1.0, 0.05, 0.95
KEYS = (Column("data", "data"), Column("nu", r"$\nu$"), Column("theorem", "theorem"))
COLUMNS = (
    Column("splits", "splits", ".0f"), Column("VaR", r"$\alpha_{1-\nu}$", ".3f"),
    Column("CVaR", r"$\phi_{1-\nu}$", ".3f"), Column("test error", "test error", ".3f"),
    Column("limit", "limit", ".3f"), Column("bound", "bound", ".3f"),
    Column("by CVaR", r"by $\phi$", ".3f"), Column("c from", "$c$ from", ".4f"),
    Column("c to", "$c$ to", ".4f"),
)  # fmt: skip
HOW = (
    NO_NUMBERS,
    f"bound: nu + G(VaR) in Theorems 3 and 4, an upper bound, nu - G(VaR) in Theorem 5, a lower "
    f"one, with c = {CONSTANT:g} and delta = {DELTA:g}; limit: {100 * CONFIDENCE:g} % limit "
    "(Clopper & Pearson) of the test error on the side of the bound. Of several splits: means of "
    "VaR, CVaR and test error, the worst limit and the worst bound",
    "c is a constant of the lemma behind the theorems that the paper says exists and does not "
    "give. c from: the least c at which the bound is beyond the limit on every split; c to: the "
    "largest at which it excludes any risk at all, 0 where none does",
    "by CVaR: the same with G(CVaR). In Theorem 3 it is a weaker bound on the risk. In Theorem 5 "
    "it bounds the bound and says nothing on the risk: a smaller CVaR need not lower it",
    "every theorem holds with probability 1 - delta for itself, not for all nu and splits at once",
)

Numbers = dict[str, Any]


def bounds(name: str, split: int) -> list[Numbers]:
    """The machines of one split over nu, with the theorem that applies to each."""
    train, test = sample(name, split)
    ends = nu_range(train)
    found = []
    for nu, w, b, proof in machines(name, train):
        bound = risk_bound(
            train, w, b, nu=nu, nu_bar=ends.nu_bar, radius=RADIUS, c=CONSTANT, delta=DELTA
        )
        wrong = int((test.y * (test.X @ w + b) <= 0).sum())
        low, high = clopper_pearson(wrong, test.n)
        limit = high if bound.side == "upper" else low
        found.append({
            "data": name, "split": split, "nu": nu, "m": train.n, "theorem": bound.theorem,
            "side": bound.side, "VaR": bound.value_at_risk, "CVaR": bound.cvar,
            "test error": wrong / test.n, "low": low, "high": high, "limit": limit,
            "bound": bound.bound, "vacuous": bound.vacuous, "by CVaR": bound.through_cvar,
            "without c": without_capacity(bound, m=train.n),
            "c from": least_constant(bound, limit, m=train.n),
            "c to": largest_constant(bound, m=train.n), **proof,
        })  # fmt: skip
    return found


def machines(name: str, train: TrainingData) -> list[tuple[float, Array, float, Numbers]]:
    """(nu, w, b, what proves it) for every nu; the coin's machine is given."""
    nus = SAMPLED[name].nus
    if name == COIN:
        return [(nu, np.ones(1), 0.0, {"relative_gap": None, "verdict": None}) for nu in nus]
    reduced = orthonormal_reduction(train)
    return [
        (
            row.nu, reduced.weight(row.w), row.b,
            {"relative_gap": relative_gap(row), "verdict": str(row.verdict)},
        )
        for row in trained(reduced.data, nus).rows
    ]  # fmt: skip


@reproduction(
    NAME,
    "the bounds of Theorems 3 to 5 over nu beside test errors",
    source=f"{PAPER}, section 3.2",
    quick="few splits, without adult",
)
def run(effort: Effort) -> Report:
    """Every bound, and whether test errors are on its right side."""
    counts = QUICK if effort.quick else FULL
    for name in counts:
        sample(name, 0)
    tasks = [(name, split) for name, count in counts.items() for split in range(count)]
    reads = files_of(SAMPLED[name].spec for name in counts)
    done = run_tasks(bounds, tasks, effort, reads=reads)
    found = [one for part in done.results for one in part]
    title = "bounds on the risk and test errors"
    table = Table(NAME, title, KEYS, COLUMNS, tuple(_rows(found)))
    return Report(
        NAME, f"{PAPER}, Theorems 3 to 5", (table,),
        claims=tuple(claims(found)), notes=(*HOW, constant_note(found), *NOTES, LIVER_NOTE),
        figure=bounds_figure(found),
        unfinished=done.unfinished(len(tasks), "splits"),
    )  # fmt: skip


def _rows(found: Sequence[Numbers]) -> list[Row]:
    """One row for a nu and a theorem: near nu_bar splits of one nu may fall under two."""
    groups: dict[tuple[str, float, int], list[Numbers]] = {}
    for one in found:
        groups.setdefault((one["data"], one["nu"], one["theorem"]), []).append(one)
    order = list(SAMPLED)
    keys = sorted(groups, key=lambda key: (order.index(key[0]), -key[1], key[2]))
    return [_row(key, groups[key]) for key in keys]


def _row(key: tuple[str, float, int], group: Sequence[Numbers]) -> Row:
    name, nu, theorem = key
    upper = theorem != 5
    cells = {word: Cell(float(np.mean([one[word] for one in group])))
             for word in ("VaR", "CVaR", "test error")}  # fmt: skip
    cells["splits"] = Cell(len(group))
    cells["limit"] = Cell((max if upper else min)(one["limit"] for one in group))
    cells["bound"] = Cell((min if upper else max)(one["bound"] for one in group))
    through = [one["by CVaR"] for one in group if one["by CVaR"] is not None]
    cells |= {"by CVaR": Cell((min if upper else max)(through))} if through else {}
    cells["c from"] = Cell(max(one["c from"] for one in group))
    cells["c to"] = Cell(min(one["c to"] for one in group))
    shown = (SAMPLED[name].words, nu, theorem)
    if name == COIN:  # whose machine is given
        return Row(shown, cells)
    gaps, verdicts = ([one[word] for one in group] for word in ("relative_gap", "verdict"))
    return Row.of_runs(shown, cells, gaps, verdicts)


# --- limits of an error rate, and constants c for which a bound holds or says much ----------------


def clopper_pearson(wrong: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Limits of a probability, exact and of the same error on both sides.

    The lower one is the p at which `wrong` or more of n happen with probability
    (1 - confidence) / 2, the upper one that at which `wrong` or fewer do.

    Raises ValueError: wrong outside 0 to n, or a confidence outside (0, 1).
    """
    if not 0 <= wrong <= n or n < 1:
        raise ValueError(f"wrong must lie between 0 and n = {n}, got {wrong}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    tail = (1 - confidence) / 2
    low = 0.0 if wrong == 0 else float(betaincinv(wrong, n - wrong + 1, tail))
    high = 1.0 if wrong == n else float(betaincinv(wrong + 1, n - wrong, 1 - tail))
    return low, high


def least_constant(bound: RiskBound, limit: float, *, m: int) -> float:
    """Smallest c >= 0 at which a bound that was made with c = 1 reaches a limit.

    nu + G >= limit for an upper bound, nu - G <= limit for a lower one, where
    G = sqrt(2/m (c^2 capacity + confidence)).
    """
    distance = limit - bound.nu if bound.side == "upper" else bound.nu - limit
    return _constant(bound, distance, m)


def largest_constant(bound: RiskBound, *, m: int) -> float:
    """Largest c at which the bound excludes any risk between 0 and 1; 0 where none does."""
    return _constant(bound, 1 - bound.nu if bound.side == "upper" else bound.nu, m)


def without_capacity(bound: RiskBound, *, m: int) -> float:
    """The bound as c goes to 0: nu plus or minus sqrt(2/m (ln(2/delta) - 1))."""
    far = math.sqrt(max(0.0, 2 / m * bound.confidence))
    return bound.nu + far if bound.side == "upper" else bound.nu - far


def _constant(bound: RiskBound, distance: float, m: int) -> float:
    """The c at which G is a distance."""
    if distance <= 0:
        return 0.0
    return math.sqrt(max(0.0, distance**2 * m / 2 - bound.confidence) / bound.capacity)


# --- what section 3.2 says of the risk ------------------------------------------------------------


def claims(found: Sequence[Numbers]) -> list[PaperClaim]:
    """Every statement that the runs of a report can bear out."""
    real = [one for one in found if one["data"] != COIN]
    coin = [one for one in found if one["data"] == COIN]
    return [
        *(_right_side(real, theorem) for theorem in (3, 4, 5)),
        *([_coin(coin)] if coin else []),
        _vacuous(real),
        _through_cvar(found),
    ]


def _holds(one: Numbers) -> bool:
    """Whether the bound is beyond the limit of the test error."""
    return bool(
        one["bound"] >= one["high"] if one["side"] == "upper" else one["bound"] <= one["low"]
    )


def _right_side(real: Sequence[Numbers], theorem: int) -> PaperClaim:
    own = [one for one in real if one["theorem"] == theorem]
    held = sum(map(_holds, own))
    word = "below the lower" if theorem == 5 else "above the upper"
    nothing = sum(one["vacuous"] for one in own)
    return PaperClaim(
        f"Theorem {theorem}, c = 1: the bound is {word} limit of the test error for {held} of "
        f"{len(own)} machines; {nothing} of these bounds exclude nothing",
        held == len(own) and bool(own),
    )


def _coin(coin: Sequence[Numbers]) -> PaperClaim:
    """The risk is known, and bounds with c = 1 that exclude something are asked for."""
    right = sum(
        one["bound"] >= FLIPPED if one["side"] == "upper" else one["bound"] <= FLIPPED
        for one in coin
    )
    telling = [one for one in coin if not one["vacuous"]]
    theorems = sorted({one["theorem"] for one in telling})
    words = ", ".join(str(number) for number in theorems)
    return PaperClaim(
        f"coin, m = {coin[0]['m']}, risk {FLIPPED:g}: {right} of {len(coin)} bounds hold, and "
        f"{len(telling)} of them, by Theorems {words}, exclude something",
        right == len(coin) and theorems == [3, 4, 5],
    )


def _vacuous(real: Sequence[Numbers]) -> PaperClaim:
    """How little the real data sets allow to be said with c = 1."""
    nothing = sum(one["vacuous"] for one in real)
    upper = [one for one in real if one["side"] == "upper"]
    least = min((one["bound"] for one in upper), default=float("inf"))
    where = next((SAMPLED[one["data"]].words for one in upper if one["bound"] == least), "-")
    return PaperClaim(
        f"on real data {nothing} of {len(real)} bounds with c = 1 exclude nothing; the smallest "
        f"upper one is {least:.2f} ({where})",
        nothing == len(real),
    )


def constant_note(found: Sequence[Numbers]) -> str:
    """Bounds on real data that hold for every c, and the c that the others need."""
    real = [one for one in found if one["data"] != COIN]
    free = sum(one["c from"] == 0 for one in real)
    text = (
        f"on real data {free} of {len(real)} bounds are beyond the limit of the test error "
        "whatever c is, by nu and delta alone"
    )
    most = max((one["c from"] for one in real), default=0.0)
    return f"{text}; the least c that suffices for the others is {most:.2g}" if most else text


def _through_cvar(found: Sequence[Numbers]) -> PaperClaim:
    """Theorems 3 and 5: G falls with |level|, so that the CVaR gives the larger number in both."""
    own = [one for one in found if one["by CVaR"] is not None and one["theorem"] != 4]
    right = sum(one["bound"] <= one["by CVaR"] for one in own)
    return PaperClaim(
        f"nu + G(VaR) <= nu + G(CVaR) in Theorem 3 and nu - G(VaR) <= nu - G(CVaR) in Theorem 5 "
        f"for {right} of {len(own)} machines",
        right == len(own) and bool(own),
    )
