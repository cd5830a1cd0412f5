"""The best point that the separators accept."""

from __future__ import annotations

import math

import numpy as np

from tightmargin.cuts.separation.asking import Asking
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.tree.node import with_integers


class Accepted:
    """The best accepted point of a run.

    x (n,).
    varying: its objective, the constant left out; infinity without a point.
    """

    def __init__(self, asking: Asking, limits: Limits) -> None:
        self.x: Array | None = None
        self.varying = math.inf
        self._asking, self._limits = asking, limits
        self._tried: set[tuple[bytes, int]] = set()

    @property
    def value(self) -> float:
        """Its objective."""
        return self.varying + self._asking.base.objective.constant

    def keep(self, x: Array) -> None:
        """Take a point that the separators have accepted, where it is better."""
        varying = self._asking.base.objective.varying(x)
        if varying < self.varying:
            self.x, self.varying = x, varying

    def offer(self, x: Array, bound: float | None, node: int | None = None) -> bool:
        """Fix the integers of a point, solve the rest, and ask until it is accepted or too dear.

        Returns: whether rows were found.
        Raises HaltError: see Asking.at.
        """
        asking, integer, added = self._asking, self._asking.base.integer, False
        while True:
            key = np.round(x[integer]).tobytes(), len(asking.rows)
            if key in self._tried:
                return added
            self._tried.add(key)
            found = with_integers(asking.case(self._limits), x)
            if found is None or found.x is None or found.varying >= self.varying:
                return added
            if not asking.at(found.x, bound, node):
                self.keep(found.x)
                return added
            added = True
