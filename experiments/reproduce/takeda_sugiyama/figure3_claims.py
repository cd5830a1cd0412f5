"""What section 4.2.2 says of Algorithm 10, held against finished runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tightmargin.cuts.cut.cut import Kind
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.experiments.reproduce.framework.report import PaperClaim

EXACT = "exact rational bound"
OPTIMA = 2e-6  # relative: two optima, each proven to half of it

Run = tuple[Mapping[str, Any], CuttingPlaneResult]


def claims(runs: Sequence[Run], words: Mapping[str, str]) -> list[PaperClaim]:
    """Every statement about all runs."""
    plane = [run for run in runs if run[0]["d"] == 2]
    return [_nothing_left(runs), _no_face(plane), _one_face(plane), _longest(plane),
            *_strategies(runs, words)]  # fmt: skip


def _nothing_left(runs: Sequence[Run]) -> PaperClaim:
    exact = sum(result.proven and result.proof.startswith(EXACT) for _, result in runs)
    cuts = sum(len(result.cuts) for _, result in runs)
    return PaperClaim(
        f"that the {cuts} cuts leave nothing of P is proven in exact arithmetic in {exact} of "
        f"{len(runs)} runs",
        exact == len(runs),
    )


def _no_face(plane: Sequence[Run]) -> PaperClaim:
    none = sum(one["left"][-1] == [0, 0] for one, _ in plane)
    text = "step 6: in the plane no corner and no side of P remains at the end of "
    return PaperClaim(f"{text}{none} of {len(plane)} runs", none == len(plane))


def _one_face(plane: Sequence[Run]) -> PaperClaim:
    """A cut at a vertex that only cuts make need not remove any face of P."""
    at_faces = removing = others = 0
    for one, result in plane:
        before = [2 * one["corners"], *(sum(pair) for pair in one["left"])]
        for number, cut in enumerate(result.cuts):
            if cut.kind is Kind.CONCAVITY and cut.origin.parents:
                others += 1
                continue
            at_faces += 1
            removing += before[number + 1] < before[number]
    return PaperClaim(
        f"a cut at a corner or of a side removes at least one face of P: {removing} of {at_faces} "
        f"in the plane; {others} more cuts are at vertices that only cuts make, which the paper "
        "does not foresee",
        removing == at_faces,
    )


def _longest(plane: Sequence[Run]) -> PaperClaim:
    off = max(abs(result.best.objective * one["longest"] - 1) for one, result in plane)
    count = sum({one["data"]: one["corners"] for one, _ in plane}.values())
    text = f"step 7: the best local solution is the longest of all {count} corners of P, which are "
    return PaperClaim(f"{text}enumerated, to {off:.1e}", off <= OPTIMA)


def _strategies(runs: Sequence[Run], words: Mapping[str, str]) -> list[PaperClaim]:
    """Both strategies on one data set: the same optimum, and how many linear programs it took."""
    pairs: dict[str, dict[str, CuttingPlaneResult]] = {}
    for one, result in runs:
        pairs.setdefault(one["data"], {})[one["strategy"]] = result
    both = {name: pair for name, pair in pairs.items() if len(pair) == 2}
    if not both:
        return []
    off = max(
        abs(pair["literal"].best.objective / pair["concavity"].best.objective - 1)
        for pair in both.values()
    )
    times = {
        words[name]: pair["literal"].lp_solves / pair["concavity"].lp_solves
        for name, pair in both.items()
    }
    told = ", ".join(f"{name} {ratio:.1f}" for name, ratio in times.items())
    return [
        PaperClaim(
            f"with facial cuts and without the optimum is the same to {off:.1e}", off <= OPTIMA
        ),
        PaperClaim(
            f"facial cuts do not pay: with them a run takes more linear programs ({told} times)",
            min(times.values()) > 1,
        ),
    ]
