"""How any search of this package ends: its reason, and the best point it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.execution.stop_reason import StopReason


@dataclass(frozen=True, eq=False)
class Incumbent:
    """The best point found.

    Attributes
    ----------
    weight : array (k,)
        w of norm 1, or (w, b) with a penalised intercept.
    objective : float
        h(weight), the objective of extended_nu_svc, by sorting.
    values : mapping
        w, b, rho, xi by name, as extended_nu_svc has them.
    """

    weight: Array
    objective: float
    values: Mapping[str, Array]


class StopError(Exception):
    """Raised inside a search to end it, and caught where its result is put together."""

    def __init__(self, reason: StopReason, message: str, proof: str = "") -> None:
        super().__init__(message)
        self.reason, self.message, self.proof = reason, message, proof
