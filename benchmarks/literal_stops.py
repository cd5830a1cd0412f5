"""Two stops of Algorithm 10 on fifty instances: no face left, and nothing left; LITERAL_STOPS.md.

python -m benchmarks.literal_stops     a few minutes
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.branch_and_cut import clouds
from benchmarks.measuring import ROOT
from tightmargin.cuts.outer_loop.cutting_plane import cutting_plane
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.solvers.nu.nu_range import nu_range

LIMIT = 120.0  # seconds a run
GROUPS = ((2, 24, 0.3, 10), (2, 24, 0.6, 10), (2, 60, 0.5, 10), (3, 20, 0.3, 10), (3, 20, 0.6, 10))
SAME_VALUE = 1e-9  # relative
HEAD = (
    "n, d, nu / nu_bar", "instances", "no face left: cuts, LPs", "nothing left: cuts, LPs",
    "concavity cuts alone: cuts, LPs", "facial cuts", "faces: corners, proper, inside",
    "cuts after the first stop", "same optimum",
)  # fmt: skip
NOTE = """Strategy "literal" does what is printed: concavity cuts at corners of P, facial cuts at
its proper faces, and a stop when no face of P is left. A vertex inside of P, made by cuts alone, is
on no face; there it asks whether a face is left, and takes a concavity cut if one is. Then it goes
on until nothing is left, which is what strategy "concavity" asks for from the start. Medians of a
group; LPs count those that look for faces and depths, and those of bounds."""


@dataclass(frozen=True)
class Pair:
    """Both strategies on one instance."""

    literal: CuttingPlaneResult
    concavity: CuttingPlaneResult

    def agree(self) -> bool:
        """Whether both have proven the same optimum, and the first stop had it too."""
        stop, end = self.literal.no_face_left, self.concavity.objective
        values = [self.literal.objective, *([] if stop is None else [stop.upper])]
        proven = self.literal.proven and self.concavity.proven and stop is not None
        return proven and all(abs(value - end) <= SAME_VALUE * end for value in values)


def pair(n: int, d: int, share: float, seed: int) -> Pair:
    """One instance."""
    data = clouds(n, d, seed)
    nu = share * nu_range(data).nu_bar
    words = {"nu": nu, "time_limit": LIMIT}
    return Pair(cutting_plane(data, strategy="literal", **words), cutting_plane(data, **words))


def row(n: int, d: int, share: float, pairs: list[Pair]) -> tuple[str, ...]:
    """Medians of a group."""
    stops = [one.literal.no_face_left for one in pairs]
    kinds = [[face.kind for face in one.literal.faces] for one in pairs]
    counted = ("corner", "proper face", "inside")
    return (
        f"{n}, {d}, {share:g}", f"{len(pairs)}",
        f"{_median(stop.round for stop in stops if stop)}, "
        f"{_median(stop.lp_solves for stop in stops if stop)}",
        _effort(one.literal for one in pairs), _effort(one.concavity for one in pairs),
        _median(stop.facial for stop in stops if stop),
        ", ".join(_median(each.count(kind) for each in kinds) for kind in counted),
        _median(len(one.literal.cuts) - stop.round
                for one, stop in zip(pairs, stops, strict=True) if stop),
        f"{sum(one.agree() for one in pairs)} of {len(pairs)}",
    )  # fmt: skip


def _effort(runs: Iterable[CuttingPlaneResult]) -> str:
    found = list(runs)
    cuts, solves = (len(run.cuts) for run in found), (run.lp_solves for run in found)
    return f"{_median(cuts)}, {_median(solves)}"


def _median(numbers: Iterable[float]) -> str:
    known = list(numbers)
    return f"{statistics.median(known):g}" if known else "none"


def rows(groups: Iterable[tuple[int, int, float, int]] = GROUPS) -> Iterator[tuple[str, ...]]:
    """A row for each group, told on stderr as soon as it is measured."""
    for d, n, share, count in groups:
        made = row(n, d, share, [pair(n, d, share, seed) for seed in range(1, count + 1)])
        sys.stderr.write(f"{' | '.join(made)}\n")
        yield made


def text(found: Iterable[tuple[str, ...]]) -> str:
    """Text of LITERAL_STOPS.md."""
    table = [HEAD, ("---",) * len(HEAD), *found]
    return "\n\n".join([
        "# Two stops of Algorithm 10",
        "Written by `python -m benchmarks.literal_stops`.",
        NOTE,
        "\n".join(f"| {' | '.join(line)} |" for line in table),
    ]) + "\n"  # fmt: skip


def main() -> None:
    """Measure all groups and write the file."""
    written = text(rows())
    (ROOT / "benchmarks" / "LITERAL_STOPS.md").write_text(written, encoding="utf-8")
    sys.stdout.write(written)


if __name__ == "__main__":
    main()
