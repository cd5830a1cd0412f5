"""What a search over cones of directions found: the best hyperplane, the bound, its cover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.printing import Drawn, Page
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.printing.results import search_page
from tightmargin.solvers.printing.tables import Framed
from tightmargin.solvers.proofs.cones.cover import ConeCover
from tightmargin.solvers.zero_one.conflict_search.result import TracePoint, open_share


@dataclass(frozen=True, eq=False, repr=False)
class ConeSearch(Framed, Drawn):
    """Result of a search over cones of directions.

    Attributes
    ----------
    w, b : array (d,), float
        The best hyperplane found; the points it keeps have margin 1 or more in floating point,
        beside side rows nearly so.
    given_up : array (n,) of bool
        Points that are paid for; of the ramp loss, those that pay the most there is.
    objective : float
        Its objective, violations counted strictly; infinite where no point was found.
    bound : float
        Proven by the kernel from `cover`; no hyperplane has a smaller objective.
    cells : int
        Cells bounded.
    seconds : float
        The kernel's included.
    stop : StopReason
    trace : tuple of TracePoint
        Bounds of the search, and the proven one last; at most a few hundred.
    loss : str
        "0-1 loss", "ramp loss" or "count of errors".
    cover : ConeCover
        The boxes, and the conflicts that close what they leave.
    lemma : Lemma or None
        The bound as the kernel states it; None where nothing is proven.
    """

    w: Array
    b: float
    given_up: NDArray[np.bool_]
    objective: float
    bound: float
    cells: int
    seconds: float
    stop: StopReason
    trace: tuple[TracePoint, ...]
    loss: str
    cover: ConeCover
    lemma: Lemma | None

    def _page(self) -> Page:
        return search_page(
            f"ConeSearch: {self.loss}, {count_text(len(self.w), 'feature')}",
            self.objective,
            self.bound,
            ended=str(self.stop),
            effort=f"{count_text(self.cells, 'cell')}, {self.seconds:.2g} s",
            parts=".w, .b, .trace, .to_frame()",
        )

    @property
    def gap(self) -> float:
        """(objective - bound) / objective."""
        return open_share(self.objective, self.bound)
