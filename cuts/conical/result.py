"""What the search for the extended robust machine found and proved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.cuts.conical.simplicial import HalvedOrthants
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.printing import Drawn, Page
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.result import search_page
from tightmargin.solvers.tables import Framed
from tightmargin.solvers.zero_one.conflict_tree import TracePoint, open_share


@dataclass(frozen=True, eq=False, repr=False)
class RobustSearch(Framed, Drawn):
    """Result of a search over simplicial cones for the extended robust machine.

    w, b (d,): in the unit ball; 0 where no risk below 0 was found.
    risk: nu CVaR - mu CVaR there, rounded up.
    bound: proven by the kernel from `cover`: no machine in the ball has a smaller risk.
    outliers: points that are given up.
    cells: cones bounded.
    seconds: the kernel's included.
    trace: bounds of the search, and the proven one last.
    lemma: the bound as the kernel states it; None where nothing is proven, and the bound is that of
        the largest score.
    """

    w: Array
    b: float
    risk: float
    bound: float
    outliers: NDArray[np.intp]
    cells: int
    seconds: float
    stop: StopReason
    trace: tuple[TracePoint, ...]
    cover: HalvedOrthants
    lemma: Lemma | None

    def _page(self) -> Page:
        return search_page(
            f"RobustSearch: extended robust machine, {count_text(len(self.w), 'feature')}",
            self.risk,
            self.bound,
            ended=str(self.stop),
            effort=f"{count_text(self.cells, 'cone')}, {self.seconds:.2g} s",
            parts=".w, .b, .outliers, .trace, .to_frame()",
        )

    @property
    def gap(self) -> float:
        """(risk - bound) / |risk|."""
        return open_share(self.risk, self.bound)
