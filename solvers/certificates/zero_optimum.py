"""Optima of 0, where no gap is small enough: the point and the bound are 0, or nothing is proven.

A gap is measured against the larger of objective and bound, and beside 0 no rounding is small. But
such an optimum often is 0 exactly: a sum of terms that are never negative, at a point where each is
0; or multipliers that are stationary with nothing left, such as a point that two hulls share. So
simple points near the solver's are tried in exact arithmetic, and the bound without cones and with
the stationarity of every column that has no bound of its own solved in rational numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.certificates.safe_bound import Reach
from tightmargin.solvers.certificates.weak_duality import proven_bound
from tightmargin.solvers.exact.ray_check import is_exactly_feasible
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Rounding a point to these fractions of 1 finds what it is near, if that is simple.
_GRIDS = (1.0, 2.0, 2.0**10, 2.0**20)
TERM_LIMIT = 200_000


def zero_bound(conic: ConicForm, form: StandardForm, z: Array, reach: Reach) -> float | None:
    """A bound of exactly 0 without the constant of the objective; None where none is found.

    Parameters
    ----------
    reach : Reach
        Limits of the variables at points of objective at most a known value.
    """
    straight = z.copy()
    for block in conic.blocks:
        if block.kind in ("soc", "psd"):
            straight[block.rows] = 0.0
    origin, flat = np.zeros(form.n), np.zeros(form.n)
    conic = replace(conic, P=sp.csc_matrix(conic.P.shape))  # convex: at 0 its tangent is flat
    cutoff = max(reach.cutoff, 0.0)
    wide, narrow = Reach(form.lower, form.upper, cutoff), replace(reach, cutoff=cutoff)
    for limits, multipliers in ((narrow, np.zeros(len(z))), (wide, straight)):
        found = proven_bound(conic, origin, multipliers, reach=limits, curvature=flat)
        if found is not None and found >= 0:
            return 0.0
    return None


def zero_point(form: StandardForm, x: Array) -> Array | None:
    """An exactly feasible point of objective exactly 0, constant left out; None if none is near."""
    if form.nonlinear or form.objective.Q.nnz + form.matrix.nnz > TERM_LIMIT:
        return None
    for candidate in _candidates(form, x):
        if _is_zero(form.objective, candidate) and is_exactly_feasible(form, candidate):
            return candidate
    return None


def _candidates(form: StandardForm, x: Array) -> Iterator[Array]:
    yield np.clip(np.zeros(form.n), form.lower, form.upper)
    for grid in _GRIDS:
        yield np.clip(np.round(x * grid) / grid, form.lower, form.upper)


def _is_zero(goal: Quadratic, x: Array) -> bool:
    """Whether x'Qx + a'x is 0, exactly."""
    if goal.varying(x) != 0:
        return False
    Q = goal.Q.tocoo()
    used = np.flatnonzero((goal.a != 0) & (x != 0)).tolist()
    total = sum((Fraction(float(goal.a[k])) * Fraction(float(x[k])) for k in used), Fraction(0))
    bent = np.flatnonzero((x[Q.row] != 0) & (x[Q.col] != 0)).tolist()
    for k in bent:
        pair = Fraction(float(x[Q.row[k]])) * Fraction(float(x[Q.col[k]]))
        total += Fraction(float(Q.data[k])) * pair
    return total == 0
