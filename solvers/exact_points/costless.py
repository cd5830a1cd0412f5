"""Exactly feasible points at which nothing costs: every column with a price or a square is 0.

An optimum of 0, such as that of separable data or of hulls that intersect, is attained there. Then
a cone whose factors have a price leaves nothing of what it bounds either. What is left of the model
has no objective: its equations are solved on columns with room, and rows that a solver's point
meets to its last digits are met clearly by a multiple of it where the others scale along, as
margins do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.solvers.exact_points.equations import equations_of
from tightmargin.solvers.exact_points.one_sided_columns import with_rows_met
from tightmargin.solvers.proofs.feasible_point import proven_point
from tightmargin.solvers.proofs.statement import FeasiblePoint
from tightmargin.solvers.standard_form.standard_form import StandardForm

LONGER = (0.0, 2.0**-40, 2.0**-30, 2.0**-20, 2.0**-10, 1.0)


def costless_point(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """Such a point near a given one; None where none is found.

    Parameters
    ----------
    x : array (n,)
        A solver's point of an objective that is nearly 0.
    """
    costs = form.objective.a != 0
    costs |= np.diff(form.objective.Q.tocsr().indptr) > 0
    costs |= np.diff(form.objective.Q.tocsc().indptr) > 0
    costs |= _left_nothing(form, costs)
    if form.nonlinear or not ((form.lower <= 0) & (form.upper >= 0))[costs].all():
        return None
    fixed = replace(
        form, lower=np.where(costs, 0.0, form.lower), upper=np.where(costs, 0.0, form.upper)
    )
    for longer in LONGER:
        start = np.where(fixed.integer, x, (1 + longer) * x)
        start = np.clip(start, fixed.lower, fixed.upper)
        equations = equations_of(fixed, start)
        solved = None if equations is None else equations.solved(start)
        if solved is None:
            continue
        met = with_rows_met(fixed, *solved, clearly=True)
        found = proven_point(form, met, solved[1])
        if found is not None and found.varying <= 0:
            return found
    return None


def _left_nothing(form: StandardForm, zero: Mask) -> Mask:
    """Columns whose squares a quadratic row leaves no room where some columns are 0."""
    found = np.zeros(form.n, dtype=bool)
    for row in form.quadratic:
        body, up = row.body, bool(np.isfinite(row.upper))
        if up == bool(np.isfinite(row.lower)):
            continue
        sign = 1.0 if up else -1.0
        held = zero[body.index]
        rest = ~(held[body.i] | held[body.j])
        squares = (body.i == body.j) & (sign * body.v > 0)
        room = sign * ((row.upper if up else row.lower) - body.constant)
        if room <= 0 and squares[rest].all() and not body.a[~held].any():
            found[body.index[body.i[rest]]] = True
    return found
