"""The best weight of a run of cutting planes, and the length gamma up to which cuts may lose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.formulations.data.arrays import Array


@dataclass(eq=False)
class BestWeight:
    """The best weight so far; whoever finds a better one records it.

    Attributes
    ----------
    problem : PolarProblem
    tolerance : float
        Relative: a solution better by less than that may be cut off.
    weight : array (k,)
        Of norm 1.
    value : float
        Its objective h.
    """

    problem: PolarProblem
    tolerance: float
    weight: Array
    value: float

    @property
    def gamma(self) -> float:
        """Norm up to which weights may be lost."""
        return (1 + self.tolerance) / self.value

    def record(self, weight: Array) -> None:
        """Keep a weight (k,) of any length if its direction is better."""
        length = float(np.linalg.norm(weight))
        if length > 0:
            value = self.problem.value(weight)
            if value < self.value:
                self.weight, self.value = weight / length, value
