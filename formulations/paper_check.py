"""What a formulation's own formula says of a point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.lemma import Lemma
from tightmargin.printing import Printed

Values = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, repr=False)
class PaperCheck(Printed):
    """A point re-evaluated from the data by the formulation's own formula.

    Attributes
    ----------
    objective : float
        The paper's objective at `repaired` (or at the given point when nothing was repaired).
    violation : float
        What remains infeasible after the repair, relative; 0 when the point is exactly feasible.
    unsaved : float
        Relative violation of rows through variables that no file holds. A saved result is held to
        it; of a model that is solved the rows themselves are checked.
    repaired : mapping
        Values that replace the solver's, for example w scaled until kept points reach margin 1.
    bound : Lemma or None
        A lower bound on the optimum, proven in closed form from the point (never a solver's word).
    error : float or None
        Where the repaired point has no doubles for coordinates, as w on a sphere: a proven bound
        on how far its exact objective may lie from `objective`. The rows are then met by the
        formula, and `repaired` is the nearest that doubles say. None where rows can be checked.
    known : iterable of mappings
        Points of the model that the formulation knows without a solver, by variable name and in
        rational numbers; each is made when it is asked for, and the kernel says what it is.
    unproven : str
        Why the model is no exact statement of the paper's problem (say, a big-M without proof);
        empty when it is one.
    facts : mapping
        What a reader of the result wants to know: error counts, degenerate optimum, ...
    """

    objective: float
    violation: float = 0.0
    unsaved: float = 0.0
    repaired: Values = field(default_factory=dict)
    bound: Lemma | None = None
    error: float | None = None
    known: Iterable[Mapping[str, Sequence[Fraction]]] = ()
    unproven: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
