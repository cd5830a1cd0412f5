"""What a search over boxes asks for, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.execution.trace import Row
from tightmargin.solvers.proofs.statement import FeasiblePoint, Infeasible, LowerBound
from tightmargin.solvers.proofs.tree.tree import TreeProof


@dataclass(frozen=True, eq=False, repr=False)
class TreeSearch(Printed):
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
    _shown = ("point", "bound", "nodes", "stop", "trace")


@dataclass(frozen=True, eq=False)
class Answer:
    """What somebody who is asked for a point says.

    Attributes
    ----------
    x : array (n,) or None
    seconds : float or None
        What the search may still take, if that is for it to say.
    again : int or None
        Work of the search after which it may be asked again.
    within : float or None
        Seconds after which that is due in any case, where a clock was asked for.
    ends : bool
        Whether there is nothing left to prove.
    """

    x: Array | None
    seconds: float | None = None
    again: int | None = None
    within: float | None = None
    ends: bool = False


Helper = Callable[[], Answer]
