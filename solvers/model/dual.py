"""The explicit dual of a linear or convex quadratic program, as arrays for any back end.

For  min 1/2 x'P x + c'x + k,  row_lower <= A x <= row_upper,  lower <= x <= upper  it is

    minimise   1/2 v'P v - sum_i (row_lower_i y_i+ + row_upper_i y_i-)
               - sum_j (lower_j r_j+ + upper_j r_j-) - k
    s.t.       A'y - P v + r = c,   y_i+, r_j+ >= 0 >= y_i-, r_j-,   y = y+ + y-,  r = r+ + r-

whose optimum is minus that of the model, and whose rows, one for each column of the model, have
the multipliers -x. Three things keep it small:

- a side that is infinite has no multiplier, and both sides of an equation share one without sign;
- the multiplier of a bound at zero costs nothing: it turns its row into an inequality;
- a column of a single row (the slack of a margin) becomes a bound on that row's multiplier.

So the nu-LP and C-SVC with n points in d dimensions, which have n rows, get d + 2 and d + 1 rows
and n boxed columns. v has an entry for each column with a quadratic term; v = x at the optimum.

W. S. Dorn, Duality in quadratic programming, Quarterly of Applied Mathematics 18 (1960).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.columns import Columns, Labels, Rows
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.polynomial import Quadratic
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.residuals import without_rounding

# --- Columns of a single row: in the dual they are bounds on that row's multiplier, and no row ---
# A column x_j >= 0 that occurs in row i alone, with coefficient a and cost c and no quadratic
# term, asks of the dual only  c - a y_i >= 0, which is y_i <= c / a for a > 0 and y_i >= c / a for
# a < 0. Such a column raises (a > 0) or lowers (a < 0) the value of its row; x_j <= 0 does the
# opposite, and a free one does both and fixes y_i. Once the other columns are known, it takes the
# value that brings its row to the side the price c asks for.


@dataclass(frozen=True, eq=False)
class Slacks:
    """At most one column per row that raises it and one that lowers it.

    Attributes
    ----------
    raising, lowering : arrays (m,)
        Column of each row, -1 where there is none; a free column stands in both.
    raising_size, lowering_size : arrays (m,)
        Its coefficient, 1 where there is none.
    low, high : arrays (m,)
        Interval that the sides and these columns leave to the row's multiplier.
    """

    raising: Index
    lowering: Index
    raising_size: Array
    lowering_size: Array
    low: Array
    high: Array

    @cached_property
    def columns(self) -> Index:
        """All of them, ascending."""
        both = np.concatenate([self.raising, self.lowering])
        # Counted: to sort them, or to hash them as numpy does, takes ten times as long.
        return np.flatnonzero(np.bincount(both[both >= 0]))

    def complete(self, A: sp.csr_matrix, row_lower: Array, row_upper: Array, x: Array) -> Array:
        """The point with these columns set from the others (theirs in `x` are ignored).

        A column that costs something moves its row just into its sides; one that earns something
        moves it to the far side.
        """
        x = x.copy()
        x[self.columns] = 0.0
        value = A @ x
        here = self._raised
        if here.size:
            far = np.where(self.high[here] < 0, row_upper[here], row_lower[here])
            x[self.raising[here]] += _step(far - value[here]) / self.raising_size[here]
        here = self._lowered
        if here.size:
            far = np.where(self.low[here] > 0, row_lower[here], row_upper[here])
            x[self.lowering[here]] -= _step(value[here] - far) / self.lowering_size[here]
        return x

    @cached_property
    def _raised(self) -> Index:
        return np.flatnonzero(self.raising >= 0)

    @cached_property
    def _lowered(self) -> Index:
        return np.flatnonzero(self.lowering >= 0)


def _step(distance: Array) -> Array:
    """How far to move: nowhere for a row that is met.

    Nor for one that is open on the side the price asks for, where the model is unbounded.
    """
    step = np.maximum(distance, 0.0)
    return step if np.isfinite(step).all() else np.where(np.isfinite(step), step, 0.0)


def slacks(form: StandardForm, A: sp.csc_matrix) -> Slacks:
    """Find the slack columns of a linear or convex quadratic program with rows A."""
    m = A.shape[0]
    # First the columns that lower their row, then those that raise it.
    taken, sizes = np.full((2, m), -1, dtype=np.int64), np.ones((2, m))
    limits = np.array([
        np.where(np.isfinite(form.row_upper), -np.inf, 0.0),
        np.where(np.isfinite(form.row_lower), np.inf, 0.0),
    ])  # fmt: skip
    columns, rows, a = _singles(form, A)
    price = form.objective.a[columns] / a
    lower, upper = form.lower[columns], form.upper[columns]
    free = np.isneginf(lower) & np.isposinf(upper)
    nonnegative, nonpositive = (lower == 0) & np.isposinf(upper), np.isneginf(lower) & (upper == 0)
    raises = np.where(a > 0, nonnegative, nonpositive)
    # Free columns choose first, because they need both places of their row.
    for kind, places in (
        (free, [0, 1]),
        (raises, [1]),
        ((nonnegative | nonpositive) & ~raises, [0]),
    ):
        vacant = taken[places].max(axis=0)[rows] < 0
        # A price that leaves no multiplier is for a row of the dual to refuse.
        fits = (limits[0, rows] <= price) & (price <= limits[1, rows])
        chosen = np.flatnonzero(kind & vacant & fits)
        chosen = chosen[np.unique(rows[chosen], return_index=True)[1]]
        for place in places:
            at = rows[chosen]
            taken[place, at] = columns[chosen]
            sizes[place, at] = a[chosen]
            limits[place, at] = price[chosen]
    return Slacks(taken[1], taken[0], sizes[1], sizes[0], limits[0], limits[1])


def _singles(form: StandardForm, A: sp.csc_matrix) -> tuple[Index, Index, Array]:
    """Columns with one entry, in a row that has a side, and no quadratic term: column, row, a."""
    alone = np.diff(A.indptr) == 1
    alone[curved(form)] = False
    columns = np.flatnonzero(alone)
    entries = A.indptr[columns]
    rows = A.indices[entries].astype(np.int64)
    sided = np.isfinite(form.row_lower[rows]) | np.isfinite(form.row_upper[rows])
    return columns[sided], rows[sided], A.data[entries[sided]]


def curved(form: StandardForm) -> Index:
    """Columns with a quadratic term, ascending."""
    return np.unique(form.objective.Q.indices).astype(np.int64)


# --- What of a model stands where in its explicit dual: sizes, bounds and sides, before any matrix


@dataclass(frozen=True, eq=False)
class Layout:
    """What of a model stands behind the columns of its dual, in this order, and behind its rows.

    Attributes
    ----------
    low, high : arrays
        Rows with a lower side (equations among them), and rows with an upper side.
    bends : array
        Columns with a quadratic term.
    lower, upper : arrays
        Kept columns with a finite bound that is not zero; a fixed column stands in `lower`.
    kept : array
        Columns that have a row in the dual.
    """

    low: Index
    high: Index
    bends: Index
    lower: Index
    upper: Index
    kept: Index

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the dual."""
        parts = (self.low, self.high, self.bends, self.lower, self.upper)
        return len(self.kept), sum(map(len, parts))


def dual_size(form: StandardForm) -> tuple[int, int] | None:
    """Rows and columns the explicit dual would have; None where there is no such dual."""
    if not has_dual(form):
        return None
    return layout_of(form, slacks(form, without_rounding(form.columnwise))).size


def has_dual(form: StandardForm) -> bool:
    """Whether a model is a continuous LP or QP."""
    return not (form.quadratic or form.psd or form.nonlinear or form.integer.any())


def layout_of(form: StandardForm, found: Slacks) -> Layout:
    """Places in the dual of a model with the given slack columns."""
    has_low, has_high = np.isfinite(form.row_lower), np.isfinite(form.row_upper)
    kept = np.ones(form.n, dtype=bool)
    kept[found.columns] = False
    fixed = form.lower == form.upper
    return Layout(
        low=np.flatnonzero(has_low),
        high=np.flatnonzero(has_high & (form.row_lower != form.row_upper)),
        bends=curved(form),
        lower=np.flatnonzero(kept & np.isfinite(form.lower) & (form.lower != 0)),
        upper=np.flatnonzero(kept & np.isfinite(form.upper) & (form.upper != 0) & ~fixed),
        kept=np.flatnonzero(kept),
    )


@dataclass(frozen=True, eq=False)
class MultiplierBounds:
    """Bounds of the multipliers at the lower and at the upper side of rows."""

    low_from: Array
    low_to: Array
    high_from: Array
    high_to: Array


def multiplier_bounds(
    row_lower: Array, row_upper: Array, low: Array, high: Array
) -> MultiplierBounds:
    """Bounds from the sides of rows and the interval [low, high] their slack columns leave.

    A row between two sides has a multiplier at each, and the interval is cut at zero for them.
    """
    has_low, has_high = np.isfinite(row_lower), np.isfinite(row_upper)
    equal = has_low & (row_lower == row_upper)
    between = has_low & has_high & ~equal
    return MultiplierBounds(
        low_from=np.where(equal, low, np.maximum(low, 0.0)),
        low_to=np.where(between, np.maximum(high, 0.0), high),
        high_from=np.where(between, np.minimum(low, 0.0), low),
        high_to=np.minimum(high, 0.0),
    )


def dual_row_sides(c: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Sides of the dual's rows: c, and open where a bound at zero has a multiplier for nothing."""
    return np.where(lower == 0, -np.inf, c), np.where(upper == 0, np.inf, c)


# A dual without a feasible point says that the model has no optimum, and not why.
_STATUS = {
    Status.INFEASIBLE: Status.INFEASIBLE_OR_UNBOUNDED,
    Status.UNBOUNDED: Status.INFEASIBLE,
}


@dataclass(frozen=True, eq=False)
class DualForm:
    """An explicit dual and the way back.

    Attributes
    ----------
    primal : StandardForm
        The model.
    form : StandardForm
        Its dual, of the same class, LP or QP, for any back end: a minimisation whose columns and
        rows have names and no Pyomo objects.
    layout : Layout
        Rows and columns of the model behind the columns and rows of the dual.
    slacks : Slacks
        Columns of the model that have no row in the dual.
    """

    primal: StandardForm
    form: StandardForm
    layout: Layout
    slacks: Slacks

    def point(self, row_duals: Array) -> Array:
        """Point of the model from the multipliers of the dual's rows."""
        x = np.zeros(self.primal.n)
        x[self.layout.kept] = -row_duals
        form = self.primal
        return self.slacks.complete(form.A, form.row_lower, form.row_upper, x)

    def row_multipliers(self, z: Array) -> Array:
        """Multipliers of the model's rows from a point of the dual."""
        low, high = self.layout.low, self.layout.high
        y = np.zeros(len(self.primal.rows))
        y[low] = z[: len(low)]
        y[high] += z[len(low) : len(low) + len(high)]
        return y

    def recovered(self, claim: Claim) -> Claim:
        """What a solver's claim about the dual says about the model.

        The bound is minus the dual's objective at the solver's point: still the solver's word,
        because only the solver says that the point is feasible.
        """
        status = _STATUS.get(claim.status, claim.status)
        told = replace(claim, status=status, x=None, duals=None, bound=None, objective=None)
        told = replace(told, message=f"dual form: {claim.message}")
        if claim.x is None:
            return told
        bound = -self.form.objective.at(claim.x)
        if claim.duals is None or not np.isfinite(claim.duals.rows).all():
            stopped = status is Status.INTERRUPTED
            return replace(
                told, status=status if stopped else Status.LIMIT_NO_SOLUTION, bound=bound
            )
        x, y = self.point(claim.duals.rows), self.row_multipliers(claim.x)
        reduced = self.primal.P @ x + self.primal.objective.a - self.primal.A.T @ y
        return replace(told, x=x, duals=Multipliers(y, reduced, {}), bound=bound)


def dual_form(form: StandardForm) -> DualForm | None:
    """Explicit dual of a model; None when it is no continuous LP or QP.

    Whether a quadratic objective is convex is for the caller to know (classify decides).
    """
    if not has_dual(form):
        return None
    A = without_rounding(form.columnwise)
    found = slacks(form, A)
    layout = layout_of(form, found)
    sides = multiplier_bounds(form.row_lower, form.row_upper, found.low, found.high)
    row_lower, row_upper = dual_row_sides(form.objective.a, form.lower, form.upper)
    at_lower, at_upper = form.lower[layout.lower], form.upper[layout.upper]
    zero, endless = np.zeros(len(layout.bends)), np.full(len(layout.bends), np.inf)
    fixed = at_lower == form.upper[layout.lower]
    low, high, kept = layout.low, layout.high, layout.kept
    dual = replace(
        form,
        columns=cast(Columns, _column_names(form, layout)),
        lower=np.concatenate([
            sides.low_from[low], sides.high_from[high], -endless,
            np.where(fixed, -np.inf, 0.0), np.full(len(at_upper), -np.inf),
        ]),
        upper=np.concatenate([
            sides.low_to[low], sides.high_to[high], endless,
            np.full(len(at_lower), np.inf), np.zeros(len(at_upper)),
        ]),
        integer=np.zeros(layout.size[1], dtype=bool),
        objective=Quadratic(
            _hessian_half(form, layout),
            np.concatenate([
                -form.row_lower[low], -form.row_upper[high], zero, -at_lower, -at_upper
            ]),
            -form.objective.constant,
        ),
        sense=1,
        matrix=_dual_matrix(form, A, layout),
        row_lower=row_lower[kept],
        row_upper=row_upper[kept],
        rows=cast(Rows, Labels(("condition of ", form.columns, kept))),
    )  # fmt: skip
    return DualForm(form, dual, layout, found)


def _dual_matrix(form: StandardForm, A: sp.csc_matrix, layout: Layout) -> sp.csc_matrix:
    """[A_low' A_high' -P E_lower E_upper] over the kept columns."""
    place = np.full(form.n, -1, dtype=np.int64)
    place[layout.kept] = np.arange(len(layout.kept))
    inner = A[:, layout.kept].tocsr()

    def unit(columns: Index) -> sp.csc_matrix:
        entries = (np.ones(len(columns)), (place[columns], np.arange(len(columns))))
        return sp.csc_matrix(entries, shape=(len(layout.kept), len(columns)))

    parts = [
        inner[layout.low].T,
        inner[layout.high].T,
        (-2.0 * form.objective.Q)[layout.kept][:, layout.bends],
        unit(layout.lower),
        unit(layout.upper),
    ]
    return sp.hstack(parts, format="csc")


def _hessian_half(form: StandardForm, layout: Layout) -> sp.csr_matrix:
    """Q of the dual's objective: that of the model, at the place of v."""
    block = form.objective.Q[layout.bends][:, layout.bends].tocoo()
    first, n = len(layout.low) + len(layout.high), layout.size[1]
    return sp.csr_matrix((block.data, (block.row + first, block.col + first)), shape=(n, n))


def _column_names(form: StandardForm, layout: Layout) -> Labels:
    return Labels(
        ("multiplier of the lower side of ", form.rows, layout.low),
        ("multiplier of the upper side of ", form.rows, layout.high),
        ("twin of ", form.columns, layout.bends),
        ("multiplier of the lower bound of ", form.columns, layout.lower),
        ("multiplier of the upper bound of ", form.columns, layout.upper),
    )


# --- When a model is better solved through its explicit dual -------------------------------------
# Measured with one thread on nu-LPs with |w_j| <= 1 (HiGHS) and on C-SVC and nu-SVC (Clarabel,
# PIQP) with n from 50 to 1e4 points in d = 5 to 100 dimensions, building the dual included.
# LP, with the options below: ratio of times primal / dual 1 at n = 200, 2 to 4 at n = 500, 3 to 5
# at n = 1000, 4 (d = 100) to 13 (d = 5) at n = 3000, and 7, 19, 42, 54 at n = 1e4 with d = 100,
# 30, 10, 5. QP: below 1 under n = 1000; then 1.0 to 1.5 where the dual has a twentieth of the
# rows, 1.1 to 2.3 (Clarabel) and 1.3 to 3 (PIQP) at n = 1e4, and 0.6 to 1 with fewer rows to save.


LP_ROWS, LP_RATIO = 300, 5
QP_ROWS, QP_RATIO = 1000, 20
SMALLEST, LARGEST = 1e-9, 1e15

# The dual has few rows and many boxed columns, which presolve only looks at: without it the first
# solve takes half the time. Scaling by the largest entry needs a half to a tenth of the iterations
# of the default, equilibration, and is no worse on columns of very different size.
HIGHS_OPTIONS = {"presolve": "off", "simplex_scale_strategy": 4}


def worthwhile(form: StandardForm) -> str:
    """Why the dual form of a model is the faster one; an empty string when it is not."""
    rows = len(form.rows)
    quadratic = form.objective.Q.nnz > 0
    least, ratio = (QP_ROWS, QP_RATIO) if quadratic else (LP_ROWS, LP_RATIO)
    if rows < least or not survives(form):
        return ""
    size = dual_size(form)
    if size is None or rows < ratio * size[0]:
        return ""
    return f"in dual form, which has {size[0]} rows where the model has {rows}"


def survives(form: StandardForm) -> bool:
    """Whether every number keeps its meaning where the dual has it.

    Sides and bounds become costs, and the Hessian becomes coefficients, which HiGHS drops below
    1e-9 without a word.
    """
    sides = (form.row_lower, form.row_upper, form.lower, form.upper)
    moved = [np.abs(numbers[np.isfinite(numbers)]) for numbers in sides]
    kept = np.abs(np.concatenate([form.objective.Q.data, without_rounding(form.columnwise).data]))
    return bool(
        all((numbers < LARGEST).all() for numbers in moved)
        and ((kept > SMALLEST) & (kept < LARGEST)).all()
    )
