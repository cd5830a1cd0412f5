"""A concave program as the outer loop of concavity cuts sees it: inequalities in arrays.

The function is the objective, or of a linear program with one reverse convex row h(x) >= 0 its
negative -h over the part of the polytope where the objective is better than the best one known: the
loop shows that h < 0 there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.cuts.concave.node_program import pass_rows
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.problem import Cone, simplicial_cone, step_of_parabola
from tightmargin.cuts.proofs import COLUMN, CUT, CUTOFF, ROW, Side
from tightmargin.cuts.simplex import dual_ray, new_highs
from tightmargin.formulations.data.arrays import Array


@dataclass(frozen=True, eq=False)
class Least:
    """A minimiser and multipliers of the rows; without one a Farkas vector, if HiGHS has any."""

    x: Array | None
    multipliers: Array | None


class ExplicitRows:
    """See cuts/problem.py for what its methods promise.

    program: with a concave objective and linear rows, or with one reverse convex row.
    """

    def __init__(self, program: ConcaveProgram) -> None:
        form = program.form
        self.program, self.n, self.m = program, form.n, len(form.rows)
        self.part = 1 if len(program.constants) else 0
        self.cuts = 0
        self.solves = 0
        self._places = np.arange(self.n, dtype=np.int32)
        A, one = form.A.toarray(), np.eye(self.n)
        self.names: list[Side] = []
        rows, sides = [], []
        for kind, lines, low, high in (
            (ROW, A, form.row_lower, form.row_upper), (COLUMN, one, form.lower, form.upper)
        ):  # fmt: skip
            for sign, ends in ((1, low), (-1, high)):
                for k in np.flatnonzero(np.isfinite(ends)).tolist():
                    rows.append(sign * lines[k])
                    sides.append(sign * float(ends[k]))
                    self.names.append(Side(kind, k, sign))
        if self.part:
            self.names.append(Side(CUTOFF, 0, -1))
            rows.append(-form.objective.a)
            sides.append(-np.inf)
        self._cutoff = len(rows) - 1
        self.rows, self.sides = np.array(rows).reshape(-1, self.n), np.array(sides)
        self._lp: Any = new_highs()
        bounds, row_sides = (form.lower, form.upper), (form.row_lower, form.row_upper)
        pass_rows(self._lp, form.columnwise, np.zeros(self.n), bounds, row_sides)
        if self.part:
            self._lp.addRow(-np.inf, np.inf, self.n, self._places, form.objective.a)

    def set_cutoff(self, gamma: float) -> None:
        """Keep the points of objective at most gamma only; for a reverse convex row."""
        self._lp.changeRowBounds(self.m, -np.inf, gamma)
        self.sides[self._cutoff] = -gamma

    def value(self, x: Array) -> float:
        """The concave function."""
        return -float(self.program.sides(x)[0]) if self.part else self.program.value(x)

    def gradient(self, x: Array) -> Array:
        """Its gradient."""
        return -self.program.gradients_of_sides(x)[0] if self.part else self.program.gradient(x)

    def vertex(self, cost: Array) -> Array | None:
        """A vertex of what is left; None where nothing is, or HiGHS gives up."""
        self.solves += 1
        self._lp.changeColsCost(self.n, self._places, cost)
        self._lp.run()
        if self._lp.getModelStatus().name not in ("kOptimal", "kInfeasible"):
            self._lp.clearSolver()
            self._lp.run()
        if self._lp.getModelStatus().name != "kOptimal":
            return None
        return np.array(self._lp.getSolution().col_value)

    def least(self, cost: Array, held: list[int]) -> Least:
        """The least cost'x over what is left, some inequalities held as equations."""
        lp, ends = self._lp, []
        for k in held:
            name, end = self.names[k], self.names[k].sign * float(self.sides[k])
            if name.kind == COLUMN:
                ends.append((lp.changeColBounds, name.number, self._column_ends(name.number)))
                lp.changeColBounds(name.number, end, end)
            else:
                row = name.number if name.kind == ROW else self.m
                ends.append((lp.changeRowBounds, row, self._row_ends(row)))
                lp.changeRowBounds(row, end, end)
        try:
            x = self.vertex(cost)
            status = lp.getModelStatus().name
            if x is not None:
                return Least(x, self._ordered(np.array(lp.getSolution().row_dual)))
            ray = dual_ray(lp) if status == "kInfeasible" else None
            return Least(None, None if ray is None else self._ordered(_of_size_1(ray)))
        finally:
            for change, number, (low, high) in ends:
                change(number, low, high)

    def _column_ends(self, column: int) -> tuple[float, float]:
        return float(self.program.form.lower[column]), float(self.program.form.upper[column])

    def _row_ends(self, row: int) -> tuple[float, float]:
        form = self.program.form
        if row < self.m:
            return float(form.row_lower[row]), float(form.row_upper[row])
        return -np.inf, -float(self.sides[self._cutoff])

    def _ordered(self, y: Array) -> Array:
        """Multipliers in the order of the kernel: the cutoff is behind the cuts there."""
        return np.concatenate([y[: self.m], np.roll(y[self.m :], -self.part)])

    def cone_at(self, vertex: Array) -> Cone | None:
        """The cone of n independent rows that are tight there."""
        known = np.isfinite(self.sides)
        found = simplicial_cone(self.rows[known], self.sides[known], vertex)
        if found is None:
            return None
        places = np.flatnonzero(known)[found.basis]
        return Cone(found.vertex, found.rays, found.rows, found.sides, places)

    def steps(self, vertex: Array, rays: Array, level: float) -> Array:
        """Roots of parabolas."""
        weights, V = self.program.directions.weights[self.part], self.program.directions.vectors
        height, slopes = self.value(vertex) - level, rays @ self.gradient(vertex)
        bends = (rays @ V) ** 2 @ weights
        pairs = zip(slopes.tolist(), bends.tolist(), strict=True)
        return np.array([step_of_parabola(height, *pair) for pair in pairs])

    def add_cut(self, normal: Array, side: float) -> None:
        """Keep normal'x >= side only."""
        self._lp.addRow(side, np.inf, self.n, self._places, normal)
        self.names.append(Side(CUT, self.cuts, 1))
        self.rows, self.sides = np.vstack([self.rows, normal]), np.append(self.sides, side)
        self.cuts += 1

    def farkas(self) -> Array | None:
        """Multipliers over linear rows, cuts and the cutoff, once nothing is left."""
        if self._lp.getModelStatus().name != "kInfeasible":
            return None
        y = dual_ray(self._lp)
        if y is None:
            return None
        return self._ordered(_of_size_1(y))


def _of_size_1(y: Array) -> Array:
    """Multipliers of which the largest is 1, so that a violation costs 1 at most."""
    return np.asarray(y / max(float(np.abs(y).max(initial=0.0)), 1e-300))
