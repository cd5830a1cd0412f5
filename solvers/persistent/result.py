"""What one solve of a live program found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed
from tightmargin.solvers.canonical_form.named_values import shaped
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.persistent.names import Directory


@dataclass(frozen=True, eq=False, repr=False)
class LiveResult(Printed):
    """How one resolve ended.

    Attributes
    ----------
    status : Status
        OPTIMAL is the solver's word; see LiveLP.certificate.
    objective : float or None
        At x, in the model's own sense; None without a point.
    x : array (n,) or None
        Columns of the model in the order of its standard form, then added ones; by the name of a
        variable: result["w"].
    multipliers : array (m,) or None
        Of the rows as the solver has them; see row_duals.
    iterations : int
        Simplex iterations of this run.
    seconds : float
    message : str
        The solver's words.
    """

    status: Status
    objective: float | None
    x: Array | None
    multipliers: Array | None
    iterations: int
    seconds: float
    message: str
    directory: Directory

    @cached_property
    def row_duals(self) -> Array | None:
        """d objective / d right-hand side of the rows: of the model first, then added ones."""
        if self.multipliers is None:
            return None
        return self.multipliers * self.directory.row_factors(len(self.multipliers))

    def __getitem__(self, name: str) -> Array:
        """Values of a variable, in the shape of its index."""
        component, columns, held = self.directory.find(name)
        if self.x is None:
            raise ValueError(f"there is no value of {name}: the solve ended with {self.status}")
        if columns.max() >= len(self.x):
            raise ValueError(f"there is no value of {name}: it was added after this solve")
        numbers = np.where(columns >= 0, self.x[columns], held)
        return np.asarray(numbers[0]) if component is None else shaped(component, numbers)
