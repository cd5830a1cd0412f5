"""Optima of 0, where no gap is small enough: the point and the bound are 0, or nothing is proven.

A gap is measured against the larger of objective and bound, and beside 0 no rounding is small. But
such an optimum often is 0 exactly: a sum of terms that are never negative, at a point where each is
0; or multipliers that are stationary with nothing left, such as a point that two hulls share. So
simple points near the solver's are tried in exact arithmetic, and the bound without cones and with
the stationarity of every column that has no bound of its own solved in rational numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.exact_points.costless import costless_point
from tightmargin.solvers.proofs.feasible_point import proven_point
from tightmargin.solvers.proofs.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.proofs.weak_duality import proven_bound
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Rounding a point to these fractions of 1 finds what it is near, if that is simple.
_GRIDS = (1.0, 2.0, 2.0**10, 2.0**20)
# Entries that are read for each of many candidates, and for the few that solve the equations.
TERM_LIMIT, LARGEST = 200_000, 10_000_000
# Of the natural size of the objective: there a bound of exactly 0 is tried.
NEARLY_ZERO = 1e-6


def is_nearly_zero(case: Case, bound: float) -> bool:
    """Whether a bound is below 0 by so little that the optimum may be 0."""
    # The natural size of an objective takes a while, and counts for at most 1.
    near_one = bound < 0 and abs(bound) <= NEARLY_ZERO * max(1.0, abs(bound))
    return near_one and abs(bound) <= NEARLY_ZERO * case.scale(bound)


def zero_bound(subject: Subject, z: Array, cutoff: float) -> LowerBound | None:
    """A bound of 0 or more without the constant of the objective; None where none is found.

    Parameters
    ----------
    z : array (m,)
        Multipliers of the conic form.
    cutoff : float
        Of the points that matter, without the constant of the objective.
    """
    straight = z.copy()
    for block in subject.conic.blocks:
        if block.kind in ("soc", "psd"):
            straight[block.rows] = 0.0
    origin = np.zeros(subject.form.n)
    for limit, multipliers in ((max(cutoff, 0.0), np.zeros(len(z))), (None, straight)):
        found = proven_bound(subject, origin, multipliers, limit, tangent=True)
        if found is not None and found.varying >= 0:
            return found
    return None


def zero_point(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """An exactly feasible point of objective 0, constant left out; None if none is near."""
    terms = form.objective.Q.nnz + form.matrix.nnz
    if form.nonlinear or terms > LARGEST:
        return None
    for candidate in _candidates(form, x) if terms <= TERM_LIMIT else ():
        if form.objective.varying(candidate) == 0:
            found = proven_point(form, candidate)
            if found is not None and found.varying <= 0:
                return found
    return costless_point(form, x)


def _candidates(form: StandardForm, x: Array) -> Iterator[Array]:
    yield np.clip(np.zeros(form.n), form.lower, form.upper)
    for grid in _GRIDS:
        yield np.clip(np.round(x * grid) / grid, form.lower, form.upper)
