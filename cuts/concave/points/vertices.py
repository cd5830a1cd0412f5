"""Local search from vertex to vertex, and vertices in exact arithmetic.

A step replaces the concave objective by its tangent, which is never below it, and each reverse
convex row by its tangent, which holds only where the row does; the linear program that is left has
a vertex for its optimum, and the objective falls until the vertex is its own.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr

from tightmargin.cuts.concave.node_program import pass_rows
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.simplex import new_highs
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.exact import dyadic, scaled, solve_exactly
from tightmargin.solvers.kernel.points import proven_point
from tightmargin.solvers.kernel.statement import FeasiblePoint

STEPS = 100
SAME = 1e-13  # relative: a smaller fall is none
# Of the terms of a reverse convex row, by how much its tangent is overfulfilled: more than what
# HiGHS misses rows by, and what the tangent of the exact vertex may be off by itself.
MARGIN, EXACT_MARGIN = 1e-9, 1e-13
TIGHT = 1e-7  # relative: where a row counts as one that the vertex is on
INDEPENDENT = 1e-9


class VertexSearch:
    """Steps as the module's docstring describes them, in one linear program that is kept."""

    def __init__(self, program: ConcaveProgram) -> None:
        self.program = program
        form, K = program.form, len(program.constants)
        n, m = form.n, len(form.rows)
        self.solves = 0
        # Shortfalls s_k >= 0 of the tangents, so that a point without them can be looked for.
        filled = sp.csr_matrix(np.ones((K, n)))
        rows = sp.hstack([form.A, sp.csr_matrix((m, K))])
        tangents = sp.hstack([filled, sp.identity(K)])
        self._matrix = sp.vstack([rows, tangents], format="csc")
        self._lp = new_highs()
        pass_rows(
            self._lp,
            self._matrix,
            np.zeros(n + K),
            (np.concatenate([form.lower, np.zeros(K)]), np.concatenate([form.upper, np.zeros(K)])),
            (
                np.concatenate([form.row_lower, np.full(K, -np.inf)]),
                np.concatenate([form.row_upper, np.full(K, np.inf)]),
            ),
        )
        self.n, self.m, self.K = n, m, K
        self._all = np.arange(n + K, dtype=np.int32)
        self._short = np.arange(n, n + K, dtype=np.int32)

    def improved(self, x: Array) -> tuple[Array, float] | None:
        """A vertex of no larger objective that meets all rows, and its objective.

        None where none is found from here.
        """
        program = self.program
        if self.K and (program.sides(x) < 0).any():
            found = self._reached(x)
            if found is None:
                return None
            x = found
        best: tuple[Array, float] | None = None
        for _ in range(STEPS):
            y = self._step(x, program.gradient(x), room=False)
            if y is None or (self.K and (program.sides(y) < 0).any()):
                break
            value = program.value(y)
            if best is not None and not value < best[1] - SAME * abs(best[1]):
                break
            best, x = (y, value), y
        return best

    def vertex(self, cost: Array) -> Array | None:
        """A vertex of the polytope where cost'x is least, reverse convex rows left out."""
        lp = self._lp
        for k in range(self.K):
            lp.changeRowBounds(self.m + k, -np.inf, np.inf)
        return self._solved(np.concatenate([cost, np.zeros(self.K)]))

    def _reached(self, x: Array) -> Array | None:
        """A point that meets all reverse convex rows, by steps that lessen what is missed."""
        missed = np.inf
        for _ in range(STEPS):
            y = self._step(x, np.zeros(self.n), room=True)
            if y is None:
                return None
            values = self.program.sides(y)
            if (values >= 0).all():
                return y
            total = float(-np.minimum(values, 0.0).sum())
            if not total < missed * (1 - 1e-6):
                return None
            missed, x = total, y
        return None

    def _step(self, x: Array, cost: Array, *, room: bool) -> Array | None:
        """The linear program at a point; with `room` rows may be missed at a price."""
        lp, K = self._lp, self.K
        if K:
            slopes = self.program.gradients_of_sides(x)
            margin = MARGIN * self.program.size_of_sides(x)
            sides = slopes @ x - self.program.sides(x) + margin
            for k in range(K):
                for j in range(self.n):
                    lp.changeCoeff(self.m + k, j, float(slopes[k, j]))
                lp.changeRowBounds(self.m + k, float(sides[k]), np.inf)
            endless = np.full(K, np.inf if room else 0.0)
            lp.changeColsBounds(K, self._short, np.zeros(K), endless)
        return self._solved(np.concatenate([cost, np.ones(K)]))

    def _solved(self, cost: Array) -> Array | None:
        self.solves += 1
        self._lp.changeColsCost(len(self._all), self._all, cost)
        self._lp.run()
        if self._lp.getModelStatus().name != "kOptimal":
            self._lp.clearSolver()
            self._lp.run()
            if self._lp.getModelStatus().name != "kOptimal":
                return None
        return np.array(self._lp.getSolution().col_value)[: self.n]


def exact_vertex(program: ConcaveProgram, x: Array) -> FeasiblePoint | None:
    """The vertex next to a point, its equations solved without rounding; None where it is none.

    Equations of squares have no vertices.
    Where a reverse convex row is nearly met with equality, its tangent is one of the equations: the
    root that lies there is no rational number as a rule, and the vertex a little outside of it is.
    """
    form = program.form
    if program.held.any():
        return None
    slopes = program.gradients_of_sides(x)
    ends = slopes @ x - program.sides(x) + EXACT_MARGIN * program.size_of_sides(x)
    A = np.vstack([form.A.toarray(), slopes])
    low = np.concatenate([form.row_lower, ends])
    high = np.concatenate([form.row_upper, np.full(len(ends), np.inf)])
    values, size = A @ x, np.abs(A) @ np.abs(x) + 1e-300
    with np.errstate(invalid="ignore"):
        below, above = np.abs(values - low) <= TIGHT * size, np.abs(high - values) <= TIGHT * size
    point = x.copy()
    unit = np.maximum(np.abs(x), 1.0)
    at_low = np.abs(x - form.lower) <= TIGHT * unit
    at_high = np.abs(form.upper - x) <= TIGHT * unit
    point = np.where(at_low, form.lower, np.where(at_high, form.upper, x))
    free = np.flatnonzero(~(at_low | at_high))
    tight = np.flatnonzero(below | above)
    exact: dict[int, Fraction] = {}
    if len(free) and len(tight):
        exact = _solved_rows(A, np.where(below, low, high), point, free, tight)
    return proven_point(form, point, exact)


def _solved_rows(
    A: Array, side: Array, point: Array, free: Index, tight: Index
) -> dict[int, Fraction]:
    """Columns among `free` for which independent rows among `tight` are met exactly."""
    block = A[np.ix_(tight, free)]
    size = np.abs(block).max(axis=1, initial=0.0)
    tight, block = tight[size > 0], block[size > 0] / size[size > 0, None]
    if not len(tight):
        return {}
    _, R, order = qr(block.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > INDEPENDENT * diagonal[0]).sum())
    rows = tight[order[:rank]]
    _, _, order = qr(A[np.ix_(rows, free)], mode="economic", pivoting=True)
    basis = free[np.sort(order[:rank])]
    others = np.setdiff1d(np.arange(len(point)), basis)
    matrix, right = [], []
    for i in rows.tolist():
        line = dyadic(A[i])
        rest = sum((line.fraction(j) * Fraction(float(point[j])) for j in others.tolist()
                    if A[i, j]), Fraction(0))  # fmt: skip
        matrix.append([line.integers[j] for j in basis.tolist()])
        right.append((Fraction(float(side[i])) - rest) / scaled(1, line.exponent))
    found = solve_exactly(matrix, right)
    if found is None:
        return {}
    return dict(zip(basis.tolist(), found, strict=True))
