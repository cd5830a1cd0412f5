"""Clarabel: interior point for LP, QP, SOCP and SDP, straight from the conic form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from solvers.backend import Claim, Limits
from solvers.classify import Classification
from solvers.conic_form import (
    Block,
    ConicForm,
    conic_form,
    conic_multipliers,
    multipliers,
    unpack,
)
from solvers.options import apply_options
from solvers.result import Status
from solvers.scaling import equilibrated
from solvers.standard_form import StandardForm

# An almost solved or stalled run still returns its last iterate; whether that is good enough is
# for the certificate to say.
_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.INACCURATE,
    "PrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.UNBOUNDED,
    "AlmostPrimalInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "AlmostDualInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "InsufficientProgress": Status.INACCURATE,
    "NumericalError": Status.INACCURATE,
    "MaxIterations": Status.INACCURATE,
    "MaxTime": Status.INACCURATE,
}


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a convex model."""
    return run_conic(conic_form(form, classification), len(form.rows), limits)


def run_scaled(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a convex model after equilibration: the second attempt on badly scaled data."""
    conic = conic_form(form, classification)
    scaled = equilibrated(conic)
    claim = run_conic(scaled.conic, len(form.rows), limits)
    if claim.x is None or claim.duals is None:
        return claim
    z = scaled.multipliers(conic_multipliers(scaled.conic, claim.duals))
    return replace(
        claim,
        x=scaled.point(claim.x),
        duals=multipliers(conic, z, len(form.rows)),
        bound=None,
        message=f"{claim.message}, after equilibration",
    )


def run_conic(conic: ConicForm, n_rows: int, limits: Limits) -> Claim:
    """Solve a conic form; `n_rows` linear rows of the model receive multipliers."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = limits.log
    if limits.time_limit is not None:
        settings.time_limit = float(limits.time_limit)
    if limits.threads is not None:
        settings.max_threads = int(limits.threads)
    apply_options("clarabel", settings, limits.options)
    solver = clarabel.DefaultSolver(
        sp.triu(conic.P).tocsc(), conic.q, conic.A, conic.b, cones(conic, clarabel), settings
    )
    solution = solver.solve()
    status = _STATUS.get(str(solution.status), Status.ERROR)
    message = f"{solution.status} after {solution.iterations} iterations"
    x, z = np.array(solution.x), np.array(solution.z)
    has_point = status in (Status.OPTIMAL, Status.INACCURATE) and bool(
        np.isfinite(x).all() and np.isfinite(z).all()
    )
    if not has_point:
        if status is Status.INACCURATE:
            status = Status.LIMIT_NO_SOLUTION
        return Claim(status, message=message, version=clarabel.__version__)
    return Claim(
        status,
        x=x,
        duals=multipliers(conic, z, n_rows),
        bound=float(solution.obj_val_dual) + conic.offset,
        message=message,
        version=clarabel.__version__,
    )


def cones(conic: ConicForm, clarabel: Any) -> list[Any]:
    """Clarabel's cone objects for the blocks."""

    def of(block: Block) -> Any:
        match block.kind:
            case "zero":
                return clarabel.ZeroConeT(block.size)
            case "nonneg":
                return clarabel.NonnegativeConeT(block.size)
            case "soc":
                return clarabel.SecondOrderConeT(block.size)
        return clarabel.PSDTriangleConeT(len(unpack(np.zeros(block.size))))

    return [of(block) for block in conic.blocks]
