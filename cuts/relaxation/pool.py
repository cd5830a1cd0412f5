"""The cuts in a relaxation: none twice, and none that has become redundant for long."""

from __future__ import annotations

import numpy as np

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.relaxation.relaxation import Relaxation
from tightmargin.formulations.data.arrays import Array

PARALLEL = 1e-12  # one minus the cosine between two rows
TIGHT = 1e-7
OLD = 60  # rounds without being tight


class Pool:
    """Cuts that are in the relaxation, in their order.

    A cut leaves it in two ways, neither of which changes what is left of the polytope: a parallel
    cut goes further, or the others imply it. The second is asked by a linear program, of cuts that
    were not tight at any vertex for a long time; a cut that is merely not tight stays, since
    without it the loop could come back to where it has been.

    active, list of Cut.
    """

    def __init__(self, relaxation: Relaxation) -> None:
        self.relaxation = relaxation
        self.active: list[Cut] = []
        self.dropped = 0
        self._used: dict[int, int] = {}

    def add(self, cut: Cut) -> bool:
        """Put a cut into the relaxation; False for one that an earlier cut already implies."""
        row, side = self._unit(cut)
        for other in list(self.active):
            there, where = self._unit(other)
            if there.shape == row.shape and float(there @ row) >= 1 - PARALLEL:
                if where <= side:
                    return False
                self._drop(other)
        self.relaxation.add(cut)
        self.active.append(cut)
        self._used[cut.number] = cut.round
        return True

    def mark_tight(self, values: dict[str, Array], round_: int) -> None:
        """Remember which cuts over weights are tight at a vertex."""
        for cut in self.active:
            if abs(cut.violation(values)) <= TIGHT * cut.size_at(values):
                self._used[cut.number] = round_

    def prune(self, round_: int) -> None:
        """Take out old cuts over weights alone that the others imply."""
        problem = self.relaxation.problem
        for cut in list(self.active):
            if round_ - self._used[cut.number] < OLD or "xi" in cut.coefficients:
                continue
            self._used[cut.number] = round_  # asked again only after as long
            row = problem.weight_part(cut.coefficients)
            self.relaxation.remove(cut)
            found = self.relaxation.longest(row)
            if found is not None and float(row @ found.weight) <= cut.rhs:
                self._drop(cut, taken_out=True)
            else:
                self.relaxation.add(cut)

    def _drop(self, cut: Cut, taken_out: bool = False) -> None:
        if not taken_out:
            self.relaxation.remove(cut)
        self.active.remove(cut)
        self.dropped += 1

    def _unit(self, cut: Cut) -> tuple[Array, float]:
        row = np.concatenate([np.ravel(part) for part in cut.coefficients.values()])
        return row / cut.norm, cut.rhs / cut.norm
