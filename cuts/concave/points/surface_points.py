"""Local search where sides of quadratic rows are convex, a norm that is held for one.

A step solves the linear program in which every side is replaced by its tangent at the present
point, within a reach of z = V'x; sides may be missed at a price. A convex side bends away from its
tangent by the square of the step, which a second program, from where the first one ended and no
longer than that, takes back. A step that does not help is made shorter.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.cuts.concave.node_program import pass_rows
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.concave.root_box import RootBox
from tightmargin.cuts.simplex import new_highs
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.model.reader import StandardForm

STEPS = 60
REACHES = (0.15, 1e-9)  # of the width of the box: the first step at most, and one that ends it
SHORTER, LONGER = 0.25, 2.0
BETTER = 1e-12  # relative: a smaller fall is none
PRICE = 1e3  # of a side that is missed, over the ratio of the gradients of objective and side
MISSED = 1e-11  # of its terms: by so much a side may be missed at the end
MARGIN = 1e-12  # of its terms: by so much a side that is no equation is overfulfilled
# By so much of their largest number rows beside an equation of squares are overfulfilled: where
# one of them meets it there is no rational point, and next to it there are many.
INWARD = 1e-10


def points_on_sides(
    program: ConcaveProgram, random: np.random.Generator, count: int
) -> list[Array]:
    """Points in random directions, as far out as the first side is met that is not convex."""
    V, sides = program.directions.vectors, np.flatnonzero(~program.convex)
    found = []
    for direction in random.normal(size=(count if len(sides) else 0, V.shape[1])):
        x = V @ direction
        slope, bend = program.linear[1 + sides] @ x, program.directions.weights[1 + sides]
        bend = bend @ (V.T @ x) ** 2
        missing = np.maximum(-program.constants[sides], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            root = (np.sqrt(slope * slope + 4 * bend * missing) - slope) / (2 * bend)
        if np.isfinite(root).all():
            found.append(float(root.max()) * x)
    return found


class SurfaceSearch:
    """Steps as the module's docstring describes them, in one linear program that is kept.

    root: where steps stay.
    """

    def __init__(self, program: ConcaveProgram, root: RootBox) -> None:
        form, V = program.form, program.directions.vectors
        self.program, self.root, self.V = program, root, V
        self.n, self.r = V.shape
        self.m, self.K = len(form.rows), len(program.constants)
        self.solves = 0
        held = program.held
        self._margin = np.where(held, 0.0, MARGIN)
        bent = program.directions.weights[1:] != 0
        self._of_sides = (program.linear[1:] != 0) | (bent.astype(float) @ (V != 0).T > 0)
        rows = sp.hstack([form.A, sp.csr_matrix((self.m, self.K))])
        links = sp.hstack([sp.csr_matrix(V.T), sp.csr_matrix((self.r, self.K))])
        tangents = sp.hstack([sp.csr_matrix(self._of_sides.astype(float)), sp.identity(self.K)])
        matrix = sp.vstack([rows, links, tangents], format="csc")
        low, high = np.zeros(self.K), np.full(self.K, np.inf)
        ends, columns = _inside(form, bool(held.any()), (V != 0).any(axis=1), root.columns)
        self._lp = new_highs()
        pass_rows(
            self._lp,
            matrix,
            np.zeros(self.n + self.K),
            (np.r_[columns[0], low], np.r_[columns[1], high]),
            (
                np.r_[ends[0], root.directions[0], np.full(self.K, -np.inf)],
                np.r_[ends[1], root.directions[1], np.full(self.K, np.inf)],
            ),
        )
        self._all = np.arange(self.n + self.K, dtype=np.int32)
        self._links = np.arange(self.m, self.m + self.r, dtype=np.int32)
        self._sides = np.arange(self.m + self.r, self.m + self.r + self.K, dtype=np.int32)

    def vertex(self, cost: Array) -> Array | None:
        """A point where cost'x is least in the root box, sides left out."""
        self._within(*self.root.directions)
        self._ends(np.full(self.K, -np.inf))
        return self._solved(np.concatenate([cost, np.zeros(self.K)]))

    def improved(self, x: Array) -> tuple[Array, float] | None:
        """A point near that meets all sides and is locally best, and its objective.

        None where none is found from here.
        """
        program = self.program
        width = float((self.root.directions[1] - self.root.directions[0]).max(initial=0.0))
        if not np.isfinite(width):
            width = 2 * float(np.abs(self.V.T @ x).max(initial=0.0))
        price, reach = self._price(x), REACHES[0] * width
        for first in (reach, width):  # what is given may be off the linear rows
            start = self._step(x, first, price)
            if start is not None:
                break
        else:
            return None
        x, merit = start, self._merit(start, price)
        for _ in range(STEPS):
            if reach <= REACHES[1] * width:
                break
            y = self._step(x, reach, price)
            other = np.inf if y is None else self._merit(y, price)
            if y is not None and other < merit - BETTER * abs(merit):
                x, merit, reach = y, other, min(LONGER * reach, width)
            else:
                reach *= SHORTER
        if (program.sides(x) < -MISSED * program.size_of_sides(x)).any():
            return None
        return x, program.value(x)

    def _merit(self, x: Array, price: float) -> float:
        missed = float(-np.minimum(self.program.sides(x), 0.0).sum())
        return self.program.value(x) + price * missed

    def _price(self, x: Array) -> float:
        of_sides = float(np.abs(self.program.gradients_of_sides(x)).max(initial=0.0))
        return PRICE * float(np.abs(self.program.gradient(x)).max(initial=0.0)) / (of_sides or 1.0)

    def _step(self, x: Array, reach: float, price: float) -> Array | None:
        """A step on tangents, and what it bends taken back."""
        y = self._touching(x, reach, price)
        if y is None:
            return None
        z, moved = self.V.T @ x, float(np.abs(self.V.T @ (y - x)).max(initial=0.0))
        bend = 2 * moved * moved / max(float(np.abs(z).max(initial=0.0)), moved, 1e-300)
        back = self._touching(y, bend, price) if bend > 0 else None
        return y if back is None else back

    def _touching(self, x: Array, reach: float, price: float) -> Array | None:
        """The program with the tangents at a point."""
        program, z = self.program, self.V.T @ x
        slopes = program.gradients_of_sides(x)
        for k in range(self.K):
            for j in np.flatnonzero(self._of_sides[k]).tolist():
                self._lp.changeCoeff(int(self._sides[k]), j, float(slopes[k, j]))
        self._within(z - reach, z + reach)
        self._ends(slopes @ x - program.sides(x) + self._margin * program.size_of_sides(x))
        return self._solved(np.concatenate([program.gradient(x), np.full(self.K, price)]))

    def _within(self, low: Array, high: Array) -> None:
        for row, below, above in zip(self._links.tolist(), low, high, strict=True):
            self._lp.changeRowBounds(row, float(below), float(above))

    def _ends(self, ends: Array) -> None:
        for row, end in zip(self._sides.tolist(), ends.tolist(), strict=True):
            self._lp.changeRowBounds(row, end, np.inf)

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


def _inside(
    form: StandardForm, held: bool, in_squares: NDArray[np.bool_], columns: tuple[Array, Array]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Sides of rows, and limits of columns, moved inwards where squares are held."""
    rows = form.row_lower, form.row_upper
    if not held:
        return rows, columns
    sizes = np.asarray(abs(form.A).max(axis=1).todense()).ravel() * (
        (form.A != 0).astype(float) @ in_squares > 0
    )
    low, high = _moved((form.lower, form.upper), in_squares.astype(float))
    return _moved(rows, sizes), (np.maximum(low, columns[0]), np.minimum(high, columns[1]))


def _moved(ends: tuple[Array, Array], sizes: Array) -> tuple[Array, Array]:
    low, high = ends
    by = np.where(high - low > 4 * INWARD * sizes, INWARD * sizes, 0.0)
    return low + by, high - by
