"""What section 3.2 says of the profile of the least CVaR, held against one data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tightmargin.experiments.reproduce.framework.report import PaperClaim
from tightmargin.experiments.reproduce.takeda_sugiyama.machines import SOURCES
from tightmargin.solvers.proofs.verdict import Verdict

SAME = 1e-9  # relative: two values that a formula says are one
CLOSE = 1e-8  # between proven bounds of nu_bar
AGREE = 2e-6  # relative: two proven optima, each to half of it
NEAR = 1e-3  # zeta(C) - nu_bar at the largest C
TENFOLD = 0.11  # of it is left where C is ten times as large

Numbers = Mapping[str, Any]


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
