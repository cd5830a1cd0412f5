"""HiGHS: LP, MILP and small convex QP, handed over as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from solvers.backend import Claim, Limits
from solvers.classify import Classification
from solvers.conic_form import Multipliers
from solvers.errors import NumberError
from solvers.options import unknown_option
from solvers.registry import negligible
from solvers.result import Status
from solvers.standard_form import StandardForm

_STATUS = {
    "kOptimal": Status.OPTIMAL,
    "kInfeasible": Status.INFEASIBLE,
    "kUnbounded": Status.UNBOUNDED,
    "kUnboundedOrInfeasible": Status.INFEASIBLE_OR_UNBOUNDED,
    "kTimeLimit": Status.FEASIBLE,
    "kIterationLimit": Status.FEASIBLE,
    "kInterrupt": Status.INTERRUPTED,
}


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve an LP, a convex QP or a MILP."""
    import highspy

    h = highspy.Highs()
    settings: dict[str, Any] = {"output_flag": limits.log, "mip_rel_gap": 1e-9}
    if limits.time_limit is not None:
        settings["time_limit"] = float(limits.time_limit)
    if limits.threads is not None:
        settings["threads"] = int(limits.threads)
    if limits.seed is not None:
        settings["random_seed"] = int(limits.seed)
    for name, value in (settings | dict(limits.options)).items():
        if h.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise unknown_option("highs", name, _option_names(h))
    _pass(h, form, highspy)
    h.run()
    status = h.getModelStatus()
    if status == highspy.HighsModelStatus.kUnboundedOrInfeasible:
        h.setOptionValue("presolve", "off")
        h.run()
        status = h.getModelStatus()
    return _claim(h, form, status, highspy)


def _option_names(h: Any) -> list[str]:
    return [name for name in dir(h.getOptions()) if not name.startswith("_")]


def _pass(h: Any, form: StandardForm, highspy: Any) -> None:
    A = form.A.copy()
    A.data[negligible(A)] = 0.0
    A = A.tocsc()
    A.eliminate_zeros()
    outcome = h.passModel(
        form.n,
        A.shape[0],
        A.nnz,
        1,
        1,
        form.objective.constant,
        form.objective.a,
        form.lower,
        form.upper,
        form.row_lower,
        form.row_upper,
        A.indptr.astype(np.int32),
        A.indices.astype(np.int32),
        A.data,
        form.integer.astype(np.int32),
    )
    if outcome != highspy.HighsStatus.kOk or h.getNumNz() != A.nnz or h.getNumRow() != A.shape[0]:
        raise NumberError(
            f"highs took {h.getNumRow()} of {A.shape[0]} rows and {h.getNumNz()} of {A.nnz} "
            "coefficients; solver=clarabel or scaled data would keep them"
        )
    if form.objective.Q.nnz:
        lower = sp.tril(form.P).tocsc()
        outcome = h.passHessian(
            form.n,
            lower.nnz,
            1,
            lower.indptr.astype(np.int32),
            lower.indices.astype(np.int32),
            lower.data,
        )
        if outcome == highspy.HighsStatus.kError:
            raise NumberError("highs refused the quadratic objective; try solver=clarabel")


def _claim(h: Any, form: StandardForm, model_status: Any, highspy: Any) -> Claim:
    status = _STATUS.get(model_status.name, Status.ERROR)
    info, solution = h.getInfo(), h.getSolution()
    message, version = h.modelStatusToString(model_status), h.version()
    feasible = info.primal_solution_status == 2
    if not (status in (Status.OPTIMAL, Status.FEASIBLE, Status.INTERRUPTED) and feasible):
        if status is Status.FEASIBLE:
            status = Status.LIMIT_NO_SOLUTION
        return Claim(status, message=message, version=version)
    integer = bool(form.integer.any())
    duals = None
    if solution.dual_valid and not integer:
        duals = Multipliers(np.array(solution.row_dual), np.array(solution.col_dual), {})
    bound = info.mip_dual_bound if integer else None
    return Claim(
        status, x=np.array(solution.col_value), duals=duals, bound=bound, message=message,
        version=version,
    )  # fmt: skip
