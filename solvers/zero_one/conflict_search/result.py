"""What a conflict search found: the best hyperplane, the proven bound, and how they came about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.printing import Drawn, Page, Printed
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.printing.results import search_page
from tightmargin.solvers.printing.tables import Framed
from tightmargin.solvers.proofs.packings.cover import in_parts


def open_share(objective: float, bound: float) -> float:
    """What of an objective is not proven, as a share of its size; infinite without a point."""
    if not np.isfinite(objective):
        return np.inf
    if objective <= bound:
        return 0.0
    return (objective - bound) / abs(objective) if objective else np.inf


@dataclass(frozen=True, repr=False)
class TracePoint(Printed):
    """Bound and incumbent after some seconds."""

    seconds: float
    nodes: int
    bound: float
    objective: float


@dataclass(frozen=True, eq=False, repr=False)
class ConflictSearch(Framed, Drawn):
    """Result of a search.

    Attributes
    ----------
    w, b : array (d,), float
        The best hyperplane found; the points it keeps have margin 1 or more in floating point,
        beside side rows nearly so.
    given_up : array (n,) of bool
        Points that are paid for: those it violates, and those that side rows say are paid for.
    objective : float
        Its objective, violations counted strictly; infinite where no point was found.
    bound : float
        Proven by the kernel node by node; no hyperplane has a smaller objective.
    nodes, steps : int
        Nodes bounded, and steps of the active-set method.
    seconds : float
    stop : StopReason
    trace : tuple of TracePoint
        At most a few hundred.
    parts : int
        Parts of the points whose bounds add up to `bound` (parts.py); 1 where all are in one tree.
    lemma : Lemma or None
        The bound as the kernel states it; None where nothing is proven.
    """

    w: Array
    b: float
    given_up: NDArray[np.bool_]
    objective: float
    bound: float
    nodes: int
    steps: int
    seconds: float
    stop: StopReason
    trace: tuple[TracePoint, ...]
    parts: int
    lemma: Lemma | None

    def _page(self) -> Page:
        return search_page(
            f"ConflictSearch: 0-1 loss, {count_text(len(self.w), 'feature')}",
            self.objective,
            self.bound,
            ended=str(self.stop),
            effort=f"{count_text(self.nodes, 'node')}, {self.seconds:.2g} s{in_parts(self.parts)}",
            parts=".w, .b, .trace, .to_frame()",
        )

    @property
    def gap(self) -> float:
        """(objective - bound) / objective."""
        return open_share(self.objective, self.bound)
