"""The proof of the SDP relaxation as a file, from the multipliers at the end of the central path.

Where a conic solver's multipliers leave a gap, as at several hundred points, those that belong to
alpha and gamma of the dual prove the bound (sdp_dual.py, with Q and c as in central_path.py):

    lifted  gamma_i                    inside  ((penalty + gamma_i) / 2, (penalty - gamma_i) / 2,
    hinge   2 alpha_i                           -alpha_i), p_i^2 <= T_i z_i as a cone,
                                              with the penalty of the point's weight
    outer   [[Q, -c], [-c', c'Q^-1 c]]         and the row of a bound on the intercept -beta
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.named_values import multipliers_by_name, point_with
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.conic.central_path import CentralPoint
from tightmargin.solvers.conic.closing import POINT_LIMIT, end_of_path
from tightmargin.solvers.proof_files.model_document import NotProvenError
from tightmargin.solvers.proof_files.write import optimum_document
from tightmargin.solvers.result import SolveResult

ENTRIES = ("conic_sdp", "conic_sdp_eliminated")
# The semidefinite multiplier is brought inside its cone by this share of its corner.
INSIDE = 1e-10


def sdp_document(case: Case, result: SolveResult, seconds: float | None) -> dict[str, Any]:
    """The document of a result of conic_sdp or conic_sdp_eliminated as they are built.

    Raises
    ------
    NotProvenError
        The model has too many points for the central path, or the path has no end there.
    """
    origin = case.origin
    assert origin is not None
    if origin.data.n > POINT_LIMIT:
        raise NotProvenError(f"the gap is not closed, and {POINT_LIMIT} points are the most here")
    found = end_of_path(origin)
    if found is None:
        raise NotProvenError("the gap is not closed, and the central path has no end")
    duals = multipliers_by_name(_duals(origin, found), case.form, case.classification)
    x = point_with(case.model, case.form, np.zeros(case.form.n), result.values)
    gap = case.limits.absolute_gap
    return optimum_document(case.form, case.classification, x, duals, absolute_gap=gap)


def _duals(origin: Origin, found: CentralPoint) -> dict[str, Array]:
    p = origin.parameters
    prices, alpha, gamma = origin.data.prices(p["penalty"]), found.alpha, found.gamma
    points = augmented(origin.data, p["intercept"])
    free = p["intercept"] == "free"
    D = np.ones(points.shape[1])
    if free:
        D[-1] = found.price
    Q = np.diag(D) - points.T @ (gamma[:, None] * points)
    c = points.T @ ((alpha - gamma) * origin.data.y)
    corner = float(c @ np.linalg.solve(Q, c)) * (1 + INSIDE)
    outer = np.block([[Q, -c[:, None]], [-c[None, :], np.array([[corner]])]])
    quotients = origin.entry == "conic_sdp_eliminated"
    half = (prices - gamma) / 2
    cone = np.column_stack([(prices + gamma) / 2, -half if quotients else half, -alpha])
    duals = {"lifted": gamma, "hinge": 2 * alpha, "outer": outer}
    duals["quotients.cone" if quotients else "inside"] = cone
    return duals | ({"intercept_row": np.array(-found.price)} if free else {})
