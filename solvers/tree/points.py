"""Incumbents: integers fixed, the rest solved, and the point made exact before it counts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.solvers.certify.case import FEASIBILITY_TOLERANCE, SEARCH_GAP, Case
from tightmargin.solvers.certify.certify import fixed_case, solve_fixed
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.engines.running import WorkCount
from tightmargin.solvers.kernel.bound import Rows, minorant
from tightmargin.solvers.kernel.statement import FeasiblePoint
from tightmargin.solvers.model.residuals import primal_residual
from tightmargin.solvers.tree.node import NodeSolution, NodeSolver

NOISE = 2.0**-50
WHOLE = 1e-6
PART = 5  # of the open columns one in so many is fixed in each step of a dive
MOVES = 60  # that are tried from one point
STEPS = 200  # of one improvement
LOCKED = 1e-5
EXACT = 20  # relaxations that a point which is made exact is worth


class Incumbent:
    """The best exactly feasible point so far, and the integers that were tried."""

    def __init__(self, case: Case, work: WorkCount) -> None:
        self.point: FeasiblePoint | None = None
        self._case, self._work = case, work
        self._size = EXACT * int(case.form.A.nnz + case.form.objective.Q.nnz + case.form.n)
        self._integer = np.flatnonzero(case.form.integer)
        self._tried: set[bytes] = set()

    @property
    def best(self) -> float:
        """Its objective, the constant left out; infinity without a point."""
        return math.inf if self.point is None else self.point.varying

    @property
    def target(self) -> float:
        """Bound at which nothing better is left that a certificate would ask for."""
        if self.point is None:
            return math.inf
        least = NOISE * abs(self.best)  # a bound in doubles comes no nearer
        allowed = max(SEARCH_GAP * self._case.size(self.best), self._case.limits.absolute_gap / 2)
        return self.best - max(allowed, least)

    def take(self, x: Array) -> bool:
        """Fix the integers of x, make the rest as good as it gets, and keep what is better."""
        whole = np.where(self._case.form.integer, np.round(x), x)
        self._tried.add(whole[self._integer].tobytes())
        self._work.add(self._size)
        found = with_integers(self._case, whole)
        if found is None or not found.varying < self.best:
            return False
        self.point = found
        return True

    def begin(
        self, rows: Rows, solver: NodeSolver, start: Array, is_over: Callable[[], bool]
    ) -> None:
        """Try the integers of a start; where some are not known, what is best beside the others."""
        known = self._integer[np.isfinite(start[self._integer])]
        if len(known) == len(self._integer):
            within = np.clip(np.round(start[known]), rows.low[known], rows.high[known])
            whole = np.zeros(len(start))
            whole[known] = within
            self.take(whole)
        elif len(known):
            low, high = rows.low.copy(), rows.high.copy()
            low[known] = high[known] = np.clip(np.round(start[known]), low[known], high[known])
            self._dive(rows, solver, low, high, is_over)

    def offer(self, rows: Rows, solver: NodeSolver, x: Array) -> bool:
        """The same, where a quick look says that it is worth it."""
        if np.round(x[self._integer]).tobytes() in self._tried:
            return False
        near = looks_feasible(self._case, rows, solver, x)
        if near is None or self._case.form.objective.varying(near) >= self.target:
            self._tried.add(np.round(x[self._integer]).tobytes())
            return False
        return self.take(x)

    def improve(self, rows: Rows, solver: NodeSolver, is_over: Callable[[], bool]) -> None:
        """Move single integers by one while that pays, and keep the point that comes out.

        The multipliers at fixed integers say what a move costs at least, so that few are tried.
        """
        if self.point is None or self.point.x is None:
            return
        whole = np.round(self.point.x[self._integer])
        best, moved = self.best, False
        for _ in range(STEPS):  # where there is no least value they would never end
            if is_over():
                break
            step = self._move(rows, solver, whole, best)
            if step is None:
                break
            whole, best = step
            moved = True
        if moved and whole.tobytes() not in self._tried:
            x = self.point.x.copy()
            x[self._integer] = whole
            self.take(x)

    def _move(
        self, rows: Rows, solver: NodeSolver, whole: Array, best: float
    ) -> tuple[Array, float] | None:
        """The first move that makes the point better, and its objective."""
        low, high = rows.low[self._integer], rows.high[self._integer]
        if (whole < low).any() or (whole > high).any():
            return None
        found = self._fixed(rows, solver, whole)
        known = None if found is None else minorant(rows, found.multipliers)
        if found is None or known is None or not found.multipliers.mu:
            return None
        price = 0.5 * (known.low + known.high)
        change = np.concatenate([price, -price])
        allowed = np.concatenate([whole < high, whole > low])
        order = np.argsort(change, kind="stable")
        enough = best - max(SEARCH_GAP * abs(best), 1e-12)
        for place in order[allowed[order] & (found.bound + change[order] < enough)][:MOVES]:
            other = whole.copy()
            other[place % len(whole)] += 1.0 if place < len(whole) else -1.0
            there = self._fixed(rows, solver, other)
            if there is not None and there.multipliers.mu and there.bound < enough:
                return other, there.bound
        return None

    def _fixed(self, rows: Rows, solver: NodeSolver, whole: Array) -> NodeSolution | None:
        low, high = rows.low.copy(), rows.high.copy()
        low[self._integer] = high[self._integer] = whole
        return solver.solve(low, high)

    def dive(self, rows: Rows, solver: NodeSolver, is_over: Callable[[], bool]) -> None:
        """Fix integers a few at a time, nearest first, until all are."""
        self._dive(rows, solver, rows.low.copy(), rows.high.copy(), is_over)

    def _dive(
        self,
        rows: Rows,
        solver: NodeSolver,
        low: Array,
        high: Array,
        is_over: Callable[[], bool],
    ) -> None:
        left = self._integer[low[self._integer] < high[self._integer]]
        while len(left) and not is_over():
            found = solver.solve(low, high)
            if found is None or not found.multipliers.mu:
                return
            self.offer(rows, solver, rounded(rows, found.x, self._case.form.integer))
            distance = np.abs(found.x[left] - np.round(found.x[left]))
            if distance.max() < WHOLE:
                self.offer(rows, solver, found.x)
                return
            nearest = left[np.argsort(distance, kind="stable")[: max(1, len(left) // PART)]]
            whole = np.clip(np.round(found.x[nearest]), low[nearest], high[nearest])
            low[nearest] = high[nearest] = whole
            left = self._integer[low[self._integer] < high[self._integer]]
        if not len(left):
            self.offer(rows, solver, low)


def with_integers(case: Case, x: Array) -> FeasiblePoint | None:
    """The best exactly feasible point with the integers of x; None where none is found."""
    fixed = fixed_case(case, x)
    if (fixed.form.lower > fixed.form.upper).any():
        return None
    # Tolerances of a conic solver are those of numbers near 1.
    claim = solve_fixed(fixed, near_one=case.form.is_quadratic and fixed.scaling is not None)
    if claim is None or claim.x is None or not np.isfinite(claim.x).all():
        return None
    near = np.where(case.form.integer, np.round(x), claim.x)
    return exact_point(case.form, case.classification, near, case.limits)


def looks_feasible(case: Case, rows: Rows, solver: NodeSolver, x: Array) -> Array | None:
    """The relaxation with the integers of x; None where its point misses rows by much."""
    low, high, integer = rows.low.copy(), rows.high.copy(), case.form.integer
    whole = np.clip(np.round(x[integer]), low[integer], high[integer])
    low[integer] = high[integer] = whole
    found = solver.solve(low, high, widened=False)
    if found is None or not found.multipliers.mu or not np.isfinite(found.x).all():
        return None
    at = np.clip(found.x, low, high)
    return at if primal_residual(case.form, at)[0] <= FEASIBILITY_TOLERANCE else None


def rounded(rows: Rows, x: Array, integer: Mask) -> Array:
    """x with its integers rounded: to the side that no row forbids, else to the nearest."""
    A = rows.conic.A
    up, down = np.zeros(A.shape[1], dtype=bool), np.zeros(A.shape[1], dtype=bool)
    for block in rows.conic.blocks:
        part = A[block.rows]
        entries = part.tocoo()
        both = block.kind != "nonneg"
        up[entries.col[(entries.data > 0) | both]] = True
        down[entries.col[(entries.data < 0) | both]] = True
    whole = np.round(x)
    whole = np.where(~up & down, np.ceil(x - LOCKED), whole)
    whole = np.where(up & ~down, np.floor(x + LOCKED), whole)
    return np.where(integer, np.clip(whole, rows.low, rows.high), x)
