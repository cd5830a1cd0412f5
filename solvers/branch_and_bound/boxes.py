"""The bound of one box: the relaxation's multipliers, and others where they are not enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.branch_and_bound.emptiness import farkas_of_rows, violated_row
from tightmargin.solvers.branch_and_bound.growing_tree import Known
from tightmargin.solvers.branch_and_bound.node_solver import NodeSolver
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.proofs.tree.minorant import SparseMultipliers, minorant
from tightmargin.solvers.proofs.tree.rows import Rows
from tightmargin.solvers.proofs.tree.tree import lattice


@dataclass(frozen=True, eq=False)
class Bounded:
    """What is proven of a box, and a point of its relaxation, inside the box.

    The bound is infinite where the box has no point; `falls` says that the solver calls the
    relaxation unbounded.
    """

    known: Known | None
    bound: float
    x: Array
    falls: bool = False


class Boxes:
    """Bounds of boxes of one model under the rows of a root."""

    def __init__(self, case: Case, rows: Rows, solver: NodeSolver) -> None:
        self._case, self._rows, self._solver = case, rows, solver
        self._integer = np.flatnonzero(case.form.integer)
        self._step = lattice(case.subject)

    def bounded(self, low: Array, high: Array, target: float) -> Bounded:
        """The best bound of a box; dear means are for boxes below `target` without a branch."""
        x = np.clip(np.zeros(len(low)), low, high)
        empty = self._known(violated_row(self._rows, low, high), low, high)
        if empty is not None and empty.value(low, high, self._step) == math.inf:
            return Bounded(empty, math.inf, x)
        best: tuple[Known | None, float] = (None, -math.inf)
        found = self._solver.solve(low, high)
        if found is not None:
            x = np.clip(np.where(np.isfinite(found.x), found.x, 0.0), low, high)
            best = self._better(best, found.multipliers, low, high)
        if best[1] < target and (low[self._integer] == high[self._integer]).all():
            best = self._last(best, low, high)
        return Bounded(*best, x, found is not None and found.falls)

    def _last(
        self, best: tuple[Known | None, float], low: Array, high: Array
    ) -> tuple[Known | None, float]:
        """The best that is found of a box with all integers fixed, at some expense."""
        found = self._solver.solve(low, high, widened=False)
        if found is not None:
            best = self._better(best, found.multipliers, low, high)
            best = self._better(best, replace(found.multipliers, mu=0.0), low, high)
        if not math.isfinite(best[1]):
            farkas = farkas_of_rows(self._case.subject, low, high, self._case.limits)
            best = self._better(best, farkas, low, high)
        return best

    def _better(
        self,
        best: tuple[Known | None, float],
        multipliers: SparseMultipliers | None,
        low: Array,
        high: Array,
    ) -> tuple[Known | None, float]:
        known = self._known(multipliers, low, high)
        if known is None:
            return best
        value = known.value(low, high, self._step)
        return (known, value) if best[0] is None or value > best[1] else best

    def _known(
        self, multipliers: SparseMultipliers | None, low: Array, high: Array
    ) -> Known | None:
        if multipliers is None:
            return None
        inequality = minorant(self._rows, multipliers, box=(low, high))
        return None if inequality is None else Known(multipliers, inequality)
