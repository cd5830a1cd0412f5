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
# A column x_j >= 0 in row i alone, with coefficient a, cost c and no quadratic term, is a row
# a y_i <= c of the dual. It raises (a > 0) or lowers (a < 0) its row; x_j <= 0 does the opposite,
# and a free one both. It brings its row to the side that c / a asks for.


@dataclass(frozen=True, eq=False)
class Slacks:
    """At most one column per row that raises it and one that lowers it."""

    raising: Index  # column of each row, -1 where there is none; a free column stands in both
    lowering: Index
    raising_size: Array  # its coefficient, 1 where there is none
    lowering_size: Array
    low: Array  # interval that the sides and these columns leave to the row's multiplier
    high: Array

    @cached_property
    def columns(self) -> Index:
        """All of them, ascending."""
        both = np.concatenate([self.raising, self.lowering])
        # To sort or hash them, as numpy does, takes ten times as long.
        return np.flatnonzero(np.bincount(both[both >= 0]))

    def complete(self, A: sp.csr_matrix, row_lower: Array, row_upper: Array, x: Array) -> Array:
        """The point with these columns set from the others.

        A cost moves the row just into its sides, a gain to the far side.
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
    """How far to move: nowhere for a row that is met, or open there (the model is unbounded)."""
    return np.where(np.isfinite(distance), np.maximum(distance, 0.0), 0.0)


def slacks(form: StandardForm, A: sp.csc_matrix) -> Slacks:
    """Find the slack columns of a linear or convex quadratic program with rows A."""
    m = A.shape[0]
    # First the columns that lower their row, then those that raise it.
    taken, sizes = np.full((2, m), -1, dtype=np.int64), np.ones((2, m))
    limits = np.array(
        [
            np.where(np.isfinite(form.row_upper), -np.inf, 0.0),
            np.where(np.isfinite(form.row_lower), np.inf, 0.0),
        ]
    )
    # Columns with one entry, in a row that has a side, and no quadratic term.
    alone = np.diff(A.indptr) == 1
    alone[curved(form)] = False
    columns = np.flatnonzero(alone)
    rows = A.indices[A.indptr[columns]].astype(np.int64)
    sided = np.isfinite(form.row_lower[rows]) | np.isfinite(form.row_upper[rows])
    columns, rows = columns[sided], rows[sided]
    a = A.data[A.indptr[columns]]
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


def curved(form: StandardForm) -> Index:
    """Columns with a quadratic term, ascending."""
    return np.unique(form.objective.Q.indices).astype(np.int64)


# --- What of a model stands where in its explicit dual: sizes, bounds and sides, before any matrix


@dataclass(frozen=True, eq=False)
class Layout:
    """What of a model stands behind the columns of its dual, in this order, and behind its rows."""

    low: Index  # rows with a lower side, equations among them
    high: Index  # rows with an upper side
    bends: Index  # columns with a quadratic term
    lower: Index  # kept columns with a finite bound that is not 0, fixed ones among them
    upper: Index
    kept: Index  # columns that have a row in the dual

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


def layout_of(form: StandardForm, inner: Slacks) -> Layout:
    """Places in the dual of a model with the given slack columns."""
    has_low, has_high = np.isfinite(form.row_lower), np.isfinite(form.row_upper)
    kept = np.ones(form.n, dtype=bool)
    kept[inner.columns] = False
    fixed = form.lower == form.upper
    return Layout(
        low=np.flatnonzero(has_low),
        high=np.flatnonzero(has_high & (form.row_lower != form.row_upper)),
        bends=curved(form),
        lower=np.flatnonzero(kept & np.isfinite(form.lower) & (form.lower != 0)),
        upper=np.flatnonzero(kept & np.isfinite(form.upper) & (form.upper != 0) & ~fixed),
        kept=np.flatnonzero(kept),
    )


# A dual without a feasible point says that the model has no optimum, and not why.
_STATUS = {
    Status.INFEASIBLE: Status.INFEASIBLE_OR_UNBOUNDED,
    Status.UNBOUNDED: Status.INFEASIBLE,
}


@dataclass(frozen=True, eq=False)
class DualForm:
    """An explicit dual and the way back."""

    primal: StandardForm
    form: StandardForm  # the dual: a minimisation whose columns and rows have names alone
    layout: Layout
    slacks: Slacks  # columns of the model that have no row in the dual

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
        """A solver's claim about the dual as one about the model, with the bound that it claims."""
        primal = replace(
            claim, status=_STATUS.get(claim.status, claim.status), x=None, duals=None, bound=None,
            objective=None, message=f"dual form: {claim.message}",
        )  # fmt: skip
        if claim.x is None:
            return primal
        primal = replace(primal, bound=-self.form.objective.at(claim.x))
        if claim.duals is None or not np.isfinite(claim.duals.rows).all():
            stopped = primal.status is Status.INTERRUPTED
            return primal if stopped else replace(primal, status=Status.LIMIT_NO_SOLUTION)
        x, y = self.point(claim.duals.rows), self.row_multipliers(claim.x)
        reduced = self.primal.P @ x + self.primal.objective.a - self.primal.A.T @ y
        return replace(primal, x=x, duals=Multipliers(y, reduced, {}))


def dual_form(form: StandardForm) -> DualForm | None:
    """Explicit dual of an LP or a QP, whose convexity the caller knows; None of other models."""
    if not has_dual(form):
        return None
    A = without_rounding(form.columnwise)
    inner = slacks(form, A)
    layout = layout_of(form, inner)

    # Bounds of multipliers: a row between two sides has one at each, and the interval that slack
    # columns leave is cut at 0 for them. A bound at 0 opens a side of its row of the dual.
    equal = form.row_lower == form.row_upper
    between = np.isfinite(form.row_lower) & np.isfinite(form.row_upper) & ~equal
    low_from = np.where(equal, inner.low, np.maximum(inner.low, 0.0))
    low_to = np.where(between, np.maximum(inner.high, 0.0), inner.high)
    high_from = np.where(between, np.minimum(inner.low, 0.0), inner.low)
    high_to = np.minimum(inner.high, 0.0)
    row_lower = np.where(form.lower == 0, -np.inf, form.objective.a)
    row_upper = np.where(form.upper == 0, np.inf, form.objective.a)
    at_lower, at_upper = form.lower[layout.lower], form.upper[layout.upper]
    zero, endless = np.zeros(len(layout.bends)), np.full(len(layout.bends), np.inf)
    fixed = at_lower == form.upper[layout.lower]
    low, high, kept = layout.low, layout.high, layout.kept
    block = form.objective.Q[layout.bends][:, layout.bends].tocoo()  # of v
    at, n = len(low) + len(high), layout.size[1]
    Q = sp.csr_matrix((block.data, (block.row + at, block.col + at)), shape=(n, n))
    dual = replace(
        form,
        columns=cast(Columns, Labels(
            ("multiplier of the lower side of ", form.rows, low),
            ("multiplier of the upper side of ", form.rows, high),
            ("twin of ", form.columns, layout.bends),
            ("multiplier of the lower bound of ", form.columns, layout.lower),
            ("multiplier of the upper bound of ", form.columns, layout.upper),
        )),
        lower=np.concatenate([
            low_from[low], high_from[high], -endless,
            np.where(fixed, -np.inf, 0.0), np.full(len(at_upper), -np.inf),
        ]),
        upper=np.concatenate([
            low_to[low], high_to[high], endless,
            np.full(len(at_lower), np.inf), np.zeros(len(at_upper)),
        ]),
        integer=np.zeros(layout.size[1], dtype=bool),
        objective=Quadratic(
            Q,
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
    return DualForm(form, dual, layout, inner)


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
    """Whether HiGHS keeps all numbers where the dual has them: sides are costs, Q coefficients."""
    sides = (form.row_lower, form.row_upper, form.lower, form.upper)
    moved = [np.abs(numbers[np.isfinite(numbers)]) for numbers in sides]
    kept = np.abs(np.concatenate([form.objective.Q.data, without_rounding(form.columnwise).data]))
    return bool(
        all((numbers < LARGEST).all() for numbers in moved)
        and ((kept > SMALLEST) & (kept < LARGEST)).all()
    )
