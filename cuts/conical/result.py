"""What the search for the extended robust machine found and proved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.cuts.conical.simplicial import HalvedOrthants
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.solvers.searches import GlobalSearch


@dataclass(frozen=True, eq=False, repr=False)
class RobustSearch(GlobalSearch):
    """Result of a search over simplicial cones for the extended robust machine; see GlobalSearch.

    w, b (d,): in the unit ball; 0 where no risk below 0 was found.
    outliers: points that are given up.
    cells: cones bounded.
    cover: what the kernel proves `bound` from.
    lemma: the bound as the kernel states it; None where nothing is proven, and the bound is that of
        the largest score.
    """

    w: Array
    b: float
    outliers: NDArray[np.intp]
    cells: int
    cover: HalvedOrthants
    lemma: Lemma | None
    _parts = ".w, .b, .outliers, .trace, .to_frame()"

    @property
    def risk(self) -> float:
        """The objective: nu CVaR - mu CVaR at (w, b), rounded up."""
        return self.objective

    def _title(self) -> str:
        return f"RobustSearch: extended robust machine, {count_text(len(self.w), 'feature')}"

    def _effort(self) -> str:
        return f"{count_text(self.cells, 'cone')}, {self.seconds:.2g} s"
