"""What bound tightening found, round by round."""

from __future__ import annotations

from dataclasses import dataclass

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds
from tightmargin.number_words import count_text, number_text
from tightmargin.printing import Drawn, Page, Printed
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.result import search_page
from tightmargin.solvers.tables import Framed


@dataclass(frozen=True, repr=False)
class TighteningRound(Printed):
    """The bounds after one round.

    relaxation: "qp" or "sdp".
    solves, failed: minimisations in the round, and those that proved nothing.
    mean_upper, mean_width: of upper_i and of upper_i - lower_i.
    kept, violated: points that are decided.
    count: at least so many points are violated; of weighted ones what they weigh, at least.
    bound: on the 0-1 optimum, from the set at the start of the round.
    seconds: since tightening began.
    """

    relaxation: str
    solves: int
    failed: int
    mean_upper: float
    mean_width: float
    kept: int
    violated: int
    count: float
    bound: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.relaxation}: mean upper {self.mean_upper:.4g}, {self.kept} kept and "
            f"{self.violated} violated, at least {violations_text(self.count)}, bound "
            f"{self.bound:.6g}, {self.seconds:.1f} s"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Tightened(Framed, Drawn):
    """Tighter statements, and how they came about.

    bounds: they hold at one optimum at least.
    bound: on the 0-1 optimum, proven from the bounds as they are at the end.
    count: violations of that optimum, at least; of weighted points what they weigh.
    incumbent (w, b): a known hyperplane,.
    objective: and its true objective.
    trace: the last one may be unfinished.
    """

    bounds: SlackBounds
    bound: float
    count: float
    incumbent: tuple[Array, float]
    objective: float
    trace: tuple[TighteningRound, ...]
    stop: StopReason
    seconds: float

    def _page(self) -> Page:
        return search_page(
            f"Tightened: {count_text(len(self.bounds.upper), 'slack bound')}",
            self.objective,
            self.bound,
            ended=f"{self.stop}, with at least {violations_text(self.count)}",
            effort=f"{count_text(len(self.trace), 'round')}, {self.seconds:.2g} s",
            parts=".bounds, .incumbent, .trace, .to_frame()",
        )

    @property
    def gap(self) -> float:
        """What is open between the bound and the known objective, relative to the latter."""
        return max(0.0, 1 - self.bound / self.objective)


def violations_text(count: float) -> str:
    """`2 violations`, or what those of weighted points weigh."""
    if float(count).is_integer():
        return count_text(int(count), "violation")
    return f"violations of weight {number_text(count)}"
