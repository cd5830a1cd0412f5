"""Clarabel: interior point for LP, QP, SOCP and SDP, straight from the conic form.

Ctrl-C and the clock stop it between two iterations. It draws no random numbers: there is no seed.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.modeling.semidefinite import order
from tightmargin.solvers.engines.registry import (
    apply_options,
    refuse_huge_bounds,
    unused,
    with_iterate,
)
from tightmargin.solvers.engines.running import (
    Limits,
    reported,
    supervised,
    uninterrupted,
    within_deadline,
    without_lines,
)
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import (
    ConicForm,
    Multipliers,
    conic_form,
    conic_multipliers,
    multipliers,
)
from tightmargin.solvers.model.convexity import Classification
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.scaling import Scaling, scaling

# A ray of the dual proves no feasible point. The certificate judges the last iterate of a run that
# stalled or is almost solved.
_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.INACCURATE,
    "PrimalInfeasible": Status.INFEASIBLE,
    "DualInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "AlmostPrimalInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "AlmostDualInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "InsufficientProgress": Status.INACCURATE,
    "NumericalError": Status.INACCURATE,
    "MaxIterations": Status.INACCURATE,
    "MaxTime": Status.INACCURATE,
    "CallbackTerminated": Status.INTERRUPTED,
}
# In numbers near 1 an optimum may still be small, and Clarabel's tolerances are absolute below 1.
CLOSER = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
# Merging the cliques of a sparse matrix breaks down on some patterns, and is no more than faster.
MERGING = "chordal_decomposition_merge_method"
# What a panic writes to standard error besides.
PANIC = (
    r"\s*$|thread '.*' panicked at |Eigval error: |index out of bounds: "
    r"|note: run with `RUST_BACKTRACE="
)


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a convex model."""
    refuse_huge_bounds("clarabel", form)
    return run_conic(conic_form(form, classification), len(form.rows), limits)


def run_scaled(
    form: StandardForm,
    classification: Classification,
    limits: Limits,
    factors: Scaling | None = None,
) -> Claim:
    """Solve a convex model in numbers near 1, the first attempt on badly scaled data."""
    n_rows = len(form.rows)
    conic = conic_form(form, classification)
    scaled = (factors or scaling(form)).conic(conic)
    claim = run_conic(scaled.conic, n_rows, replace(limits, options={**CLOSER, **limits.options}))

    def unscaled(duals: Multipliers) -> Multipliers:
        z = scaled.multipliers(conic_multipliers(scaled.conic, duals))
        return multipliers(conic, z, n_rows)

    if claim.farkas is not None:
        return replace(claim, farkas=unscaled(claim.farkas))
    if claim.x is None or claim.duals is None:
        return claim
    return replace(
        claim,
        x=scaled.point(claim.x),
        duals=unscaled(claim.duals),
        bound=None,
        objective=None,
        message=f"{claim.message}, after scaling",
    )


def run_conic(conic: ConicForm, n_rows: int, limits: Limits) -> Claim:
    """Solve a conic form; `n_rows` linear rows of the model receive multipliers."""
    import clarabel

    limits = within_deadline(limits)
    settings = clarabel.DefaultSettings()
    settings.verbose = limits.log
    if limits.time_limit is not None:
        settings.time_limit = float(limits.time_limit)
    if limits.threads is not None:
        settings.max_threads = int(limits.threads)
    apply_options("clarabel", settings, limits.options)
    pressed, progress = Event(), [""]

    def stop(info: Any) -> bool:
        residual = max(info.res_primal, info.res_dual)
        progress[0] = f"{info.iterations} steps, residual {residual:.1e}"
        return pressed.is_set()

    # Eigenvalues of matrices may not converge; the exception holds the message of a panic.
    panics = any(block.kind == "psd" for block in conic.blocks) and not limits.log
    traces = os.environ.get("RUST_BACKTRACE", "0") != "0"
    try:
        with without_lines(PANIC) if panics and not traces else nullcontext():
            with uninterrupted("clarabel's setup"):
                solver = clarabel.DefaultSolver(
                    sp.triu(conic.P).tocsc(),
                    conic.q,
                    conic.A,
                    conic.b,
                    cones(conic, clarabel),
                    settings,
                )
            solver.set_termination_callback(stop)
            finished = supervised(
                solver.solve,
                pressed.set,
                log=limits.log,
                name="clarabel",
                state=lambda: (None, None, progress[0]),
            )
    except BaseException as error:
        if not is_panic(error):
            raise
        if panics and MERGING not in limits.options:
            again = run_conic(
                conic, n_rows, replace(limits, options={**limits.options, MERGING: "none"})
            )
            return replace(again, message=f"{again.message}; its cliques were not merged")
        return Claim(Status.ERROR, message=f"broke down: {error}", version=clarabel.__version__)
    solution = finished.value
    word = str(solution.status)
    message = f"{word} after {solution.iterations} iterations" + unused("clarabel", limits, "seed")
    status, x, z = _STATUS.get(word, Status.ERROR), np.array(solution.x), np.array(solution.z)
    claim = Claim(status, message=message, version=clarabel.__version__)
    if "PrimalInfeasible" in word and np.isfinite(z).all():
        claim = replace(claim, farkas=multipliers(conic, z, n_rows))
    value, bound = (
        float(number) + conic.offset for number in (solution.obj_val, solution.obj_val_dual)
    )
    claim = with_iterate(claim, x, z, lambda: multipliers(conic, z, n_rows), value, bound)
    return reported(claim, finished)


def is_panic(error: BaseException) -> bool:
    """Whether Rust code broke down, as Clarabel does where it meets a NaN: this is no Exception."""
    return type(error).__name__ == "PanicException"


def cones(conic: ConicForm, clarabel: Any) -> list[Any]:
    """Clarabel's cone objects for the blocks."""
    kinds = {
        "zero": clarabel.ZeroConeT,
        "nonneg": clarabel.NonnegativeConeT,
        "soc": clarabel.SecondOrderConeT,
        "exp": lambda size: clarabel.ExponentialConeT(),
        "psd": lambda size: clarabel.PSDTriangleConeT(order(size)),
    }
    return [kinds[block.kind](block.size) for block in conic.blocks]
