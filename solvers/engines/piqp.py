"""PIQP: proximal interior point for convex QP, handed over as sparse arrays.

It stops at absolute tolerances, so every row and the objective is first divided by its largest
coefficient. LPs are not offered: an infeasible or unbounded one runs into the iteration limit.

It holds the interpreter until its last iteration: Ctrl-C has no effect before, and the log appears
at the end. Clarabel takes the same models. It has one thread and draws no random numbers.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from tightmargin.solvers.engines.registry import (
    apply_options,
    refuse_huge_bounds,
    unused,
    with_iterate,
)
from tightmargin.solvers.engines.running import Limits, reported, supervised
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.convexity import Classification
from tightmargin.solvers.model.reader import StandardForm

_STATUS = {
    "PIQP_SOLVED": Status.OPTIMAL,
    "PIQP_MAX_ITER_REACHED": Status.INACCURATE,
    "PIQP_NUMERICS": Status.INACCURATE,
    "PIQP_PRIMAL_INFEASIBLE": Status.INFEASIBLE,
    "PIQP_DUAL_INFEASIBLE": Status.INFEASIBLE_OR_UNBOUNDED,  # a point may not exist either
}


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a convex QP."""
    import piqp

    refuse_huge_bounds("piqp", form)
    if limits.time_limit is not None:
        raise ValueError(
            "piqp cannot be stopped by the clock: leave out time_limit, or give "
            "options={'max_iter': ...}"
        )
    solver = piqp.SparseSolver()
    solver.settings.verbose = limits.log
    apply_options("piqp", solver.settings, limits.options)
    scale = 1 / np.where(form.largest > 0, form.largest, 1.0)
    cost = float(max(np.abs(form.P.data).max(), np.abs(form.objective.a).max()))
    low, high = scale * form.row_lower, scale * form.row_upper
    A = (sp.diags(scale) @ form.A).tocsr()
    equal = form.row_lower == form.row_upper
    between = (np.isfinite(low) | np.isfinite(high)) & ~equal
    solver.setup(
        sp.triu(form.P / cost, format="csc"),
        form.objective.a / cost,
        A[equal].tocsc(),
        low[equal],
        A[between].tocsc(),
        low[between],
        high[between],
        form.lower,
        form.upper,
    )
    finished = supervised(solver.solve, log=limits.log, name="piqp")
    result = solver.result
    word = result.info.status.name
    message = f"{word} after {result.info.iter} iterations"
    message += unused("piqp", limits, "seed", "threads")
    claim = Claim(_STATUS.get(word, Status.ERROR), message=message, version=piqp.__version__)
    rows = np.zeros(len(low))
    rows[equal] = -result.y
    rows[between] = result.z_l - result.z_u
    rows *= cost * scale
    bounds = cost * (result.z_bl - result.z_bu)
    value, bound = (
        cost * float(number) + form.objective.constant
        for number in (result.info.primal_obj, result.info.dual_obj)
    )
    duals = partial(Multipliers, rows, bounds, {})
    z = np.concatenate([rows, bounds])
    return reported(with_iterate(claim, np.array(result.x), z, duals, value, bound), finished)
