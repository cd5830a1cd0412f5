"""A row with its origin: what derives it again, and where it holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed
from tightmargin.solvers.model.reader import StandardForm


@dataclass(frozen=True, eq=False, repr=False)
class ProvenRow(Printed):
    """A relation and the function that derives it again.

    relation: over variables of the model that is solved.
    verify() -> None: raises InvalidCutError where the row does not follow from what it was derived
        from.
    cutoff: it holds at every point of the problem whose objective is at most this.
    exact: whether `verify` works in exact arithmetic; otherwise it agrees up to rounding.
    """

    relation: Any
    verify: Callable[[], None]
    cutoff: float = math.inf
    exact: bool = True
    _shown = ("cutoff", "exact")


@runtime_checkable
class Completing(Protocol):
    """A separator that can prove of a point that no row is missing there.

    problem: what it and the model say together, in words.
    """

    @property
    def problem(self) -> str:
        """What it and the model say together, in words."""
        ...

    def refusal(self, form: StandardForm) -> str:
        """Why its rows need not hold in a model with these arrays; empty where they do."""
        ...

    def completed(self, form: StandardForm, x: Array) -> Array | None:
        """A point (n,) next to x of which it is proven, in exact arithmetic, that all rows hold.

        Rows of the model itself are not looked at. None where there is no proof.
        """
        ...
