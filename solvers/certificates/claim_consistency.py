"""What a solver's answer says against itself, before anything of it is proven.

The point is evaluated, and the objective and the bound that came with it are held against that
value. Whatever disagrees is named in the result. A certificate of our own stands all the same,
because it rests on none of these words; a result that rests on the solver's bound does not.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Solvers evaluate the objective in their own order, and SCIP through a row, which holds to 1e-8 of
# its size: allowed is so much of the sum of its absolute terms and of a hundredth of its size.
OBJECTIVE = 1e-5
# Of the same sum and of the whole size, because a point within its tolerances may be too good.
BOUND = 1e-4

_SUCCESS = (Status.OPTIMAL, Status.FEASIBLE, Status.INACCURATE)


def with_contradictions(form: StandardForm, claim: Claim, size: float = 1.0) -> Claim:
    """The claim without what no number can be made of, and with its contradictions named.

    Parameters
    ----------
    form : StandardForm
        The model the claim is about.
    size : float
        Natural size of its objective, where that is known, see scaling.py.
    """
    said: list[str] = []
    status, x, duals, bound = claim.status, claim.x, claim.duals, claim.bound
    if x is not None and x.shape != (form.n,):
        said.append(f"a point of {x.size} numbers for a model of {form.n} variables")
        x = None
    if duals is not None and duals.rows.shape != (len(form.rows),):
        said.append(f"{duals.rows.size} multipliers for a model of {len(form.rows)} linear rows")
        duals = None
    if x is None and status in _SUCCESS:
        said.append(f"status {status} without a point")
        status = Status.ERROR
    if bound == -math.inf:
        bound = None
    if bound is not None and x is not None and not math.isfinite(bound):
        said.append(f"the bound {bound}")
        bound = None
    if x is not None and np.isfinite(x).all():
        said += _against_the_point(form, replace(claim, x=x, bound=bound), size)
    if not said:
        return replace(claim, bound=bound)
    return replace(
        claim,
        status=status,
        x=x,
        duals=duals,
        bound=bound,
        contradictions=tuple(said),
        message=f"{claim.message}; the solver returned {' and '.join(said)}",
    )


def _against_the_point(form: StandardForm, claim: Claim, size: float) -> list[str]:
    """Objective and bound of a claim that do not go with its point."""
    assert claim.x is not None
    value, goal, x = form.value(claim.x), form.objective, np.abs(claim.x)
    terms = (
        abs(value)
        if form.goal is not None
        else float(x @ (abs(goal.Q) @ x)) + float(np.abs(goal.a) @ x) + abs(goal.constant)
    )
    found = []
    reported = claim.objective
    allowed = OBJECTIVE * (terms + size / 100)
    if reported is not None and not abs(reported - value) <= allowed:
        shown = [form.sense * number for number in (reported, value)]
        found.append(f"objective {shown[0]:.9g} for a point where it is {shown[1]:.9g}")
    if claim.bound is not None and claim.bound > value + BOUND * (terms + size):
        shown = [form.sense * number for number in (claim.bound, value)]
        found.append(f"the bound {shown[0]:.9g} for a point whose objective is {shown[1]:.9g}")
    return found
