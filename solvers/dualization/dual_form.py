"""The explicit dual of a linear or convex quadratic program, as arrays for any back end.

For  min 1/2 x'P x + c'x + k,  row_lower <= A x <= row_upper,  lower <= x <= upper  it is

    minimise   1/2 v'P v - sum_i (row_lower_i y_i+ + row_upper_i y_i-)
               - sum_j (lower_j r_j+ + upper_j r_j-) - k
    s.t.       A'y - P v + r = c,   y_i+, r_j+ >= 0 >= y_i-, r_j-,   y = y+ + y-,  r = r+ + r-

whose optimum is minus that of the model, and whose rows, one for each column of the model, have
the multipliers -x. Three things keep it small:

- a side that is infinite has no multiplier, and both sides of an equation share one without sign;
- the multiplier of a bound at zero costs nothing: it turns its row into an inequality;
- a column of a single row (the slack of a margin) becomes a bound on that row's multiplier,
  see slack_columns.py.

So the nu-LP and C-SVC with n points in d dimensions, which have n rows, get d + 2 and d + 1 rows
and n boxed columns. v has an entry for each column with a quadratic term; v = x at the optimum.

W. S. Dorn, Duality in quadratic programming, Quarterly of Applied Mathematics 18 (1960).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.dualization.layout import (
    Layout,
    dual_row_sides,
    has_dual,
    layout_of,
    multiplier_bounds,
)
from tightmargin.solvers.dualization.slack_columns import Slacks, slacks
from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.standard_form.coefficients import without_rounding
from tightmargin.solvers.standard_form.columns import Columns, Rows
from tightmargin.solvers.standard_form.names import Labels
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

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
