"""What section 3.2 says of the risk, held against test errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tightmargin.experiments.reproduce.framework.report import PaperClaim
from tightmargin.experiments.reproduce.takeda_sugiyama.risk_samples import COIN, FLIPPED, SAMPLED

Numbers = Mapping[str, Any]


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
