"""HiGHS: LP, MILP and small convex QP, handed over as arrays.

Ctrl-C reaches its simplex, interior-point and branch-and-bound codes; its presolve and its QP code
end first.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.registry import own_names, refuse_huge_bounds, refused_option
from tightmargin.solvers.engines.running import (
    Limits,
    dropped,
    reported,
    supervised,
    within_deadline,
)
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.model.claim import Claim, Progress, Status
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.convexity import Classification
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.residuals import without_rounding

# --- A new HiGHS that prints nothing by itself ---------------------------------------------------


def quiet_highs(limits: Limits | None = None, **settings: Any) -> Any:
    """An empty HiGHS, with the log, seed and options of a solve where it is for one."""
    import highspy

    _first(highspy)
    h = highspy.Highs()
    if limits is None:
        return h
    settings |= {"output_flag": limits.log} | own_names(limits, seed="random_seed")
    for name, value in (settings | dict(limits.options)).items():
        try:
            accepted = h.setOptionValue(name, value).name == "kOk"
        except TypeError:
            accepted = False
        if not accepted:
            known = [word for word in dir(h.getOptions()) if word[0] != "_"]
            raise refused_option("highs", name, value, known)
    return h


def pass_arrays(
    h: Any, A: sp.csr_matrix | sp.csc_matrix, cost: Array, bounds: tuple[Array, Array],
    sides: tuple[Array, Array], integer: NDArray[np.bool_] | None = None, constant: float = 0.0,
) -> Any:  # fmt: skip
    """Hand a linear program or its integer version over, and return the status of HiGHS."""
    m, n = A.shape
    starts, index = (part.astype(np.int32, copy=False) for part in (A.indptr, A.indices))
    whole = np.zeros(n, dtype=np.int32) if integer is None else integer.astype(np.int32)
    order = 1 if A.format == "csc" else 2
    return h.passModel(
        n, m, A.nnz, order, 1, constant, cost, *bounds, *sides, starts, index, A.data, whole
    )


@cache
def _first(highspy: Any) -> None:
    """Make one HiGHS without its banner: versions from 1.16 on print one at the first."""
    with dropped():
        highspy.Highs()


# By the name of HiGHS' model status; a limit leaves what there is.
STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kModelEmpty": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kUnboundedOrInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "kTimeLimit": Status.FEASIBLE,
    "kIterationLimit": Status.FEASIBLE,
    "kSolutionLimit": Status.FEASIBLE,
    "kObjectiveBound": Status.FEASIBLE,
    "kObjectiveTarget": Status.FEASIBLE,
    "kMemoryLimit": Status.FEASIBLE,
    "kUnknown": Status.INACCURATE,
    "kInterrupt": Status.INTERRUPTED,
    "kHighsInterrupt": Status.INTERRUPTED,
}
_WITH_POINT = (Status.OPTIMAL, Status.FEASIBLE, Status.INACCURATE, Status.INTERRUPTED)


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve an LP, a convex QP or a MILP."""
    refuse_huge_bounds("highs", form)
    claim = _run(form, limits)
    if form.objective.Q.nnz and claim.status in (Status.UNBOUNDED, Status.ERROR):
        # The active-set code breaks down on some convex QPs and calls them unbounded, or nothing
        # at all; with the columns the other way round it rarely does.
        again = _run(form, limits, reverse=True)
        claim = replace(again, log=claim.log + again.log)
        a = form.objective.a
        bounded = np.isfinite(form.lower[a > 0]).all() and np.isfinite(form.upper[a < 0]).all()
        if claim.status is Status.UNBOUNDED and bounded:
            message = "highs calls a model unbounded that its bounds keep bounded; try clarabel"
            return replace(claim, status=Status.ERROR, message=message)
    return claim


def _run(form: StandardForm, limits: Limits, *, reverse: bool = False) -> Claim:
    import highspy

    limits = within_deadline(limits)
    step = -1 if reverse else 1
    names = {"time_limit": "time_limit", "nodes": "mip_max_nodes", "threads": "threads"}
    h = quiet_highs(limits, mip_rel_gap=1e-9, **own_names(limits, **names))
    h.HandleUserInterrupt = True

    # Not in the other thread, whose fresh memory makes it slower, unless it has something to print.
    if not limits.log:
        _pass(h, form, step, highspy)

    def work() -> None:
        if limits.log:
            _pass(h, form, step, highspy)
        h.run()
        if h.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible:
            h.setOptionValue("presolve", "off")
            h.run()
        # Or the number of threads of this solve would stand for all others on the same thread.
        h.resetGlobalScheduler(True)

    known = _watched(h) if form.integer.any() else Progress()
    finished = supervised(
        work,
        h.cancelSolve,
        log=limits.log,
        name="highs",
        state=lambda: known.state(form.sense),
    )
    return reported(_claim(h, form, step), finished)


def _pass(h: Any, form: StandardForm, step: int, highspy: Any) -> None:
    A = without_rounding(form.matrix)
    if step == -1:
        A = A.tocsc()[:, ::-1]
    bounds, sides = (form.lower[::step], form.upper[::step]), (form.row_lower, form.row_upper)
    cost, integer = form.objective.a[::step], form.integer[::step]
    outcome = pass_arrays(h, A, cost, bounds, sides, integer, form.objective.constant)
    # A warning is about bounds that cross: infeasible, and for run() to say.
    refused = outcome == highspy.HighsStatus.kError
    if refused or h.getNumNz() != A.nnz or h.getNumRow() != A.shape[0]:
        raise NumberError(
            f"highs took {h.getNumRow()} of {A.shape[0]} rows and {h.getNumNz()} of {A.nnz} "
            "coefficients; solver=clarabel or scaled data would keep them"
        )
    if form.objective.Q.nnz:
        lower = sp.tril(form.P if step == 1 else form.P[::-1, ::-1]).tocsc()
        starts, index = (part.astype(np.int32) for part in (lower.indptr, lower.indices))
        outcome = h.passHessian(form.n, lower.nnz, 1, starts, index, lower.data)
        if outcome == highspy.HighsStatus.kError:
            raise NumberError("highs refused the quadratic objective; try solver=clarabel")
    # Present values of integer variables are a start; HiGHS finds the others.
    if form.integer.any():
        point = form.point()
        known = np.flatnonzero(form.integer & np.isfinite(point)).astype(np.int32)
        if known.size:
            h.setSolution(known.size, known, point[known])


def _watched(h: Any) -> Progress:
    """What bound and incumbent of a mixed-integer search go through, as HiGHS logs it."""
    progress = Progress()

    def note(event: Any) -> None:
        progress.add(event.data_out.mip_dual_bound, event.data_out.mip_primal_bound)
        progress.nodes = int(event.data_out.mip_node_count)

    h.cbMipLogging.subscribe(note)
    return progress


def _claim(h: Any, form: StandardForm, step: int) -> Claim:
    """What HiGHS says; a dual simplex stopped early has no point, but multipliers with a bound."""
    model_status, info, solution = h.getModelStatus(), h.getInfo(), h.getSolution()
    status = STATUS.get(model_status.name, Status.ERROR)
    message, version = h.modelStatusToString(model_status), h.version()
    if status not in _WITH_POINT:
        return Claim(status, message=message, version=version)
    integer = bool(form.integer.any())
    duals = None
    if solution.dual_valid and not integer:
        reduced = np.array(solution.col_dual)[::step]
        duals = Multipliers(np.array(solution.row_dual), reduced, {})
    bound = float(info.mip_dual_bound) if integer and np.isfinite(info.mip_dual_bound) else None
    x = None
    if solution.value_valid and info.primal_solution_status == 2:
        x = np.array(solution.col_value)[::step]
    if x is None and status is not Status.INTERRUPTED:
        status = Status.ERROR if status is Status.OPTIMAL else Status.LIMIT_NO_SOLUTION
    objective = None if x is None else float(info.objective_function_value)
    return Claim(
        status, x=x, duals=duals, bound=bound, message=message, version=version,
        objective=objective,
    )  # fmt: skip
