"""A mixed-integer point solved again with its integers fixed: what is left is convex, and proven.

A solver counts z = 1e-6 as 0, and with a large M buys margin for it; or it stops before the
continuous variables are at their best. With the integers fixed at the rounded incumbent the
optimum of the rest is certified here, and the better of the two points is kept.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import clarabel, highs
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.deadline import is_over
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.proofs.subject import Subject

# As many columns as are solved within a second or two; beyond that the point stands as it is.
SIZE_LIMIT = 20_000


def fixed_case(case: Case, x: Array) -> Case:
    """The continuous model that is left when the integers of a point are fixed."""
    form = case.form
    whole = np.round(x)
    held = replace(
        form,
        lower=np.where(form.integer, whole, form.lower),
        upper=np.where(form.integer, whole, form.upper),
        integer=np.zeros(form.n, dtype=bool),
    )
    return Case(case.model, Subject(held), None, case.limits)


def solve_fixed(fixed: Case, *, near_one: bool = False) -> Claim | None:
    """Claim of a free convex solver; None when none is there, or it would lose coefficients.

    Parameters
    ----------
    near_one : bool
        Whether to solve it in numbers near 1.
    """
    form, kind = fixed.form, fixed.classification
    if not kind.convex or form.n > SIZE_LIMIT or is_over():
        return None
    asked = Limits(time_limit=fixed.limits.time_limit, threads=fixed.limits.threads)
    linear = not form.is_quadratic and not form.psd
    try:
        if near_one:
            return clarabel.run_scaled(form, kind, asked) if SOLVERS["clarabel"].installed else None
        if linear and SOLVERS["highs"].installed:
            return highs.run(form, kind, asked)
        if SOLVERS["clarabel"].installed:
            return clarabel.run(form, kind, asked)
    except NumberError:
        return None
    return None
