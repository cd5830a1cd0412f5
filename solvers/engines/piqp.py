"""PIQP: proximal interior point for convex QP, handed over as sparse arrays.

It stops at absolute tolerances, so every row and the objective is first divided by its largest
coefficient. LPs are not offered: an infeasible or unbounded one runs into the iteration limit.

It holds the interpreter until its last iteration and offers no way to stop it: Ctrl-C is heard when
it has ended (the result is whole then, and says so), a second one as little as the first; the log
appears at the end. Where that matters, clarabel takes the same models. It has one thread and draws
no random numbers: neither can be set.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from tightmargin.solvers.engines.registry import apply_options, refuse_huge_bounds, unused
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
    found = solver.result
    word = found.info.status.name
    status = _STATUS.get(word, Status.ERROR)
    words = unused("piqp", limits, "seed", "threads")
    message = f"{word} after {found.info.iter} iterations" + (words and f"; {words}")
    claim = Claim(status, message=message, version=piqp.__version__)
    rows = np.zeros(len(low))
    rows[equal] = -found.y
    rows[between] = found.z_l - found.z_u
    rows *= cost * scale
    bounds = cost * (found.z_bl - found.z_bu)
    x = np.array(found.x)
    finite = bool(np.isfinite(np.r_[x, rows, bounds]).all())
    if status in (Status.OPTIMAL, Status.INACCURATE) and finite:
        # Short of the end the dual objective is that of a point that is not dual feasible.
        solved = status is Status.OPTIMAL
        bound = cost * float(found.info.dual_obj) + form.objective.constant if solved else None
        objective = cost * float(found.info.primal_obj) + form.objective.constant
        claim = replace(
            claim, x=x, duals=Multipliers(rows, bounds, {}), bound=bound, objective=objective
        )
    elif status is Status.INACCURATE:
        claim = replace(claim, status=Status.LIMIT_NO_SOLUTION)
    return reported(claim, finished)
