"""What an engine hands back."""

from __future__ import annotations

from dataclasses import dataclass

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.kernel.statement import Infeasible, LowerBound
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.conic import Multipliers


@dataclass(frozen=True, eq=False)
class Ended:
    """Where a run ended.

    stop: PROVEN says that the engine has nothing left to do.
    status: of the point, as the engine says.
    x (n,): the best accepted point; where there is none, it is none.
    claimed: the engine's own bound on the minimisation, its word.
    duals: of the model with all rows, at the last solve.
    proof: of the model with all rows, where the engine proves what it says.
    """

    stop: StopReason
    status: Status
    message: str
    x: Array | None = None
    claimed: float | None = None
    duals: Multipliers | None = None
    proof: LowerBound | Infeasible | None = None
    version: str = ""
    nodes: int | None = None
    log: str = ""
