"""What a conflict search found: the best hyperplane, the proven bound, and how they came about."""

from __future__ import annotations

from dataclasses import dataclass

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.execution.stop_reason import StopReason


@dataclass(frozen=True)
class TracePoint:
    """Bound and incumbent after some seconds."""

    seconds: float
    nodes: int
    bound: float
    objective: float


@dataclass(frozen=True, eq=False)
class ConflictSearch:
    """Result of a search.

    Attributes
    ----------
    w, b : array (d,), float
        The best hyperplane found; the points it keeps have margin 1 or more in floating point.
    objective : float
        Its objective, violations counted strictly.
    bound : float
        Proven; no hyperplane has a smaller objective.
    nodes, steps : int
        Nodes bounded, and steps of the active-set method.
    seconds : float
    stop : StopReason
    trace : tuple of TracePoint
        At most a few hundred.
    """

    w: Array
    b: float
    objective: float
    bound: float
    nodes: int
    steps: int
    seconds: float
    stop: StopReason
    trace: tuple[TracePoint, ...]

    @property
    def gap(self) -> float:
        """(objective - bound) / objective."""
        return (self.objective - self.bound) / self.objective if self.objective else 0.0
