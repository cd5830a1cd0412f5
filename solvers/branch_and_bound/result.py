"""What a search over boxes returns."""

from __future__ import annotations

from dataclasses import dataclass

from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.execution.trace import Row
from tightmargin.solvers.proofs.statement import FeasiblePoint, Infeasible, LowerBound
from tightmargin.solvers.proofs.tree.tree import TreeProof


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Where a search ended.

    Attributes
    ----------
    point : FeasiblePoint or None
        The best one, exactly feasible.
    proof : TreeProof
    bound : LowerBound, Infeasible or None
        What the kernel makes of the proof.
    nodes : int
        Boxes that were bounded.
    stop : StopReason
    trace : tuple of (seconds, bound, incumbent)
        Of the minimisation, its constant included.
    falls : bool
        Whether the relaxation seems to have no least value although there is a point.
    """

    point: FeasiblePoint | None
    proof: TreeProof
    bound: LowerBound | Infeasible | None
    nodes: int
    stop: StopReason
    trace: tuple[Row, ...]
    falls: bool = False
