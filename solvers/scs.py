"""SCS: splitting method for LP, QP, SOCP and SDP, straight from the conic form.

SCS stops at an absolute tolerance, so rows of coefficients 1e-5 would be ignored: every row, every
cone and the objective is first divided by its largest coefficient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from formulations.cones import order
from solvers.backend import Claim, Limits
from solvers.classify import Classification
from solvers.conic_form import ConicForm, conic_form, multipliers
from solvers.errors import ProblemClassError
from solvers.options import unknown_option
from solvers.result import Status
from solvers.standard_form import StandardForm

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# At 1e-7 half of the semidefinite models keep a proven gap above 1e-6; this costs a fifth more.
TOLERANCE = 1e-9

OPTIONS = (
    "linear_solver", "verbose", "normalize", "adaptive_scale", "adaptive_diag_scale", "scale",
    "rho_x", "alpha", "max_iters", "eps_abs", "eps_rel", "eps_infeas", "time_limit_secs",
    "acceleration_lookback", "acceleration_interval", "acceleration_type_1",
    "acceleration_regularization", "acceleration_relaxation", "write_data_filename",
    "log_csv_filename",
)  # fmt: skip

# At a limit SCS guesses: 2 is an iterate to be judged by the certificate, -6 and -7 are nothing.
_STATUS = {
    1: Status.OPTIMAL,
    2: Status.INACCURATE,
    -1: Status.UNBOUNDED,
    -2: Status.INFEASIBLE,
    -5: Status.INTERRUPTED,
    -6: Status.LIMIT_NO_SOLUTION,
    -7: Status.LIMIT_NO_SOLUTION,
}
_WITH_POINT = (Status.OPTIMAL, Status.INACCURATE, Status.INTERRUPTED)


def run(form: StandardForm, classification: Classification, limits: Limits) -> Claim:
    """Solve a convex model."""
    if not form.n:
        raise ProblemClassError("scs needs a variable that is not fixed")
    return run_conic(conic_form(form, classification), len(form.rows), limits)


def run_conic(conic: ConicForm, n_rows: int, limits: Limits) -> Claim:
    """Solve a conic form; `n_rows` linear rows of the model receive multipliers."""
    import scs

    settings: dict[str, Any] = {
        "verbose": limits.log,
        "eps_abs": TOLERANCE,
        "eps_rel": TOLERANCE,
        "max_iters": 200_000,
    }
    if limits.time_limit is not None:
        settings["time_limit_secs"] = float(limits.time_limit)
    for name in limits.options:
        if name not in OPTIONS:
            raise unknown_option("scs", name, OPTIONS)
    settings |= limits.options
    rows, scale = _row_order(conic), _row_scale(conic)
    cost = _largest(np.abs(np.r_[conic.q, conic.P.data]))
    data = {
        "P": sp.triu(conic.P / cost, format="csc"),
        "A": (sp.diags(scale) @ conic.A).tocsr()[rows].tocsc(),
        "b": (scale * conic.b)[rows],
        "c": conic.q / cost,
    }
    cones = _cones(conic)
    if not len(rows):  # SCS wants at least one: 0 <= 1
        data |= {"A": sp.csc_matrix((1, len(conic.q))), "b": np.ones(1)}
        cones["l"] = 1
    found = scs.SCS(data, cones, **settings).solve()
    info = found["info"]
    status = _STATUS.get(info["status_val"], Status.ERROR)
    message = f"{info['status']} after {info['iter']} iterations"
    x, z = found["x"], np.empty(len(rows))
    z[rows] = found["y"][: len(rows)]
    z *= scale * cost
    if status not in _WITH_POINT or not (np.isfinite(x).all() and np.isfinite(z).all()):
        if status is Status.INACCURATE:
            status = Status.LIMIT_NO_SOLUTION
        return Claim(status, message=message, version=scs.__version__)
    return Claim(
        status,
        x=x,
        duals=multipliers(conic, z, n_rows),
        bound=cost * float(info["dobj"]) + conic.offset,
        message=message,
        version=scs.__version__,
    )


def _cones(conic: ConicForm) -> dict[str, Any]:
    """Sizes of the cones; SCS wants them in the order of our blocks."""

    def sizes(kind: str) -> list[int]:
        return [block.size for block in conic.blocks_of(kind)]

    return {
        "z": sum(sizes("zero")),
        "l": sum(sizes("nonneg")),
        "q": sizes("soc"),
        "s": [order(size) for size in sizes("psd")],
    }


def _row_order(conic: ConicForm) -> Index:
    """Our row behind each row of SCS, which reads lower triangles column by column."""
    rows = np.arange(len(conic.b))
    for block in conic.blocks_of("psd"):
        rows[block.rows] = block.start + np.lexsort(np.tril_indices(order(block.size)))
    return rows


def _row_scale(conic: ConicForm) -> Array:
    """Positive factors that bring every linear row and every cone to largest coefficient 1."""
    size = abs(conic.A).max(axis=1).toarray().ravel()
    for block in conic.blocks:
        if block.kind in ("soc", "psd"):
            size[block.rows] = size[block.rows].max()
    return 1 / np.where(size > 0, size, 1.0)


def _largest(sizes: Array) -> float:
    largest = float(sizes.max(initial=0.0))
    return largest if largest > 0 else 1.0
