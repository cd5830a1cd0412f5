"""A point of our own for a model that a solver calls infeasible: one is enough to refute it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.backends import clarabel, scip
from tightmargin.solvers.backends.preference import needs_gigabytes
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.residuals import primal_residual
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Tighter than what a certificate asks: a model whose rows barely cross is left to the solver.
TOLERANCE = 1e-9
NODES = 5_000  # of SCIP, where nothing quicker applies


def feasible_point(
    form: StandardForm, classification: Classification, limits: Limits
) -> tuple[Array, float] | None:
    """A point that meets all rows, bounds and integrality, and its largest relative violation.

    Convex models are solved without their objective. Integer variables of a relaxed point are
    rounded up, to the nearest and down, and the others follow: with all binaries at one a big-M
    model has a point. For other models SCIP is asked, for some nodes.
    """
    for x in _candidates(form, classification, limits):
        if not np.isfinite(x).all():
            continue
        x = np.where(form.integer, np.round(x), np.clip(x, form.lower, form.upper))
        residual, _ = primal_residual(form, x)
        if residual <= TOLERANCE:
            return x, residual
    return None


def _candidates(
    form: StandardForm, classification: Classification, limits: Limits
) -> Iterator[Array]:
    yield form.point()
    nothing = Quadratic(sp.csr_matrix((form.n, form.n)), np.zeros(form.n), 0.0)
    aimless = replace(form, objective=nothing, sense=1)
    asked = Limits(limits.time_limit, limits.threads, limits.seed)
    if needs_gigabytes(form):
        return
    if classification.relaxes_to_convex:
        relaxed = clarabel.run(aimless, classification, replace(asked, seed=None)).x
        if relaxed is None:
            return
        yield relaxed
        if form.integer.any():
            for whole in (np.ceil, np.round, np.floor):
                found = _held(aimless, classification, whole(relaxed - 1e-9), asked).x
                if found is not None:
                    yield found
    elif SOLVERS["scip"].installed and not form.nonlinear:
        found = scip.run(aimless, replace(asked, nodes=NODES)).x
        if found is not None:
            yield found


def _held(
    form: StandardForm, classification: Classification, whole: Array, limits: Limits
) -> Claim:
    """Clarabel's claim with the integer variables held where they are put."""
    held = replace(
        form,
        lower=np.where(form.integer, whole, form.lower),
        upper=np.where(form.integer, whole, form.upper),
    )
    return clarabel.run(held, classification, replace(limits, seed=None))
