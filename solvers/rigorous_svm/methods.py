"""Models of the rigorous SVM solved by our own methods, certified like the results of solvers.

A method ends in (w, b) and alpha, from which come a point of the model and multipliers of its rows:

    rsvm        (w, b, xi)       margin: alpha,             norm: (||r||, r),  r = -F'(y o alpha)
    rsvm_dual   (alpha, v, t)    weight: -w, balance: -b,   length: (H, w) up to the sign of w

The multipliers of cones and bounds are what stationarity leaves. They prove the bound on the model
itself, here and again from a saved file.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import spsolve

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.parameters import one_of
from tightmargin.formulations.rigorous_svm.checks import OPTIMAL
from tightmargin.formulations.rigorous_svm.equivalence import equivalence
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.cone_recognition import Cone
from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.canonical_form.named_values import (
    multipliers_by_name,
    named_duals,
    point_with,
)
from tightmargin.solvers.certificates.certify import Case
from tightmargin.solvers.edits.model_identity import unedited_origin
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.result import SolveResult, Status, Verdict
from tightmargin.solvers.rigorous_svm.path.path import solve_rsvm
from tightmargin.solvers.rigorous_svm.path.path_result import LIMIT, METHODS, RsvmRow
from tightmargin.solvers.rigorous_svm.path.path_rows import INTERRUPTED, TIME_LIMIT
from tightmargin.solvers.rigorous_svm.point import RsvmPoint
from tightmargin.solvers.search_results import certified_search, search_result
from tightmargin.solvers.standard_form.standard_form import standard_form

Array = NDArray[np.float64]

PRIMAL = "rsvm"
SEARCHED_RSVM = (PRIMAL, "rsvm_dual", "rsvm_dual_perspective")
PROOF = "weak duality of the rigorous SVM at multipliers in [0, 1], recomputed from the data"
AT_ANY_NORM = (
    "least loss at any norm by multipliers of the linear program (10), or weak duality of the "
    "rigorous SVM, recomputed from the data"
)
STATUS = {
    "proven": Status.OPTIMAL,
    "interrupted": Status.INTERRUPTED,
    "time_limit": Status.FEASIBLE,
    "open": Status.FEASIBLE,
}


def is_rigorous(model: pyo.ConcreteModel) -> bool:
    """Whether gap tables leave this model to `solve_by_rsvm`: a free intercept, nothing edited."""
    if not isinstance(getattr(model, "origin", None), Origin):
        return False
    if model.origin.entry not in SEARCHED_RSVM or model.origin.parameters["intercept"] != "free":
        return False
    return unedited_origin(model, standard_form(model)) is not None


def solve_by_rsvm(
    model: pyo.ConcreteModel,
    method: str = "auto",
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
    absolute_gap: float = 0.0,
) -> SolveResult:
    """Solve a model of the rigorous SVM by a method that knows the problem.

    Parameters
    ----------
    model
        Of rsvm, rsvm_dual or rsvm_dual_perspective with a free intercept, not edited.
    method : str
        "segments", "decomposition", "socp", or "auto", which chooses by the size of the data.
    time_limit : float, optional
        Seconds; the best point and a proven bound are kept, as after Ctrl-C.
    threads, seed : int, optional
        Recorded; the methods have one thread and draw nothing.
    absolute_gap : float
        As of solve(): where no point pays, the loss is 0, and no gap is small beside it.

    Returns
    -------
    SolveResult
        Values are also loaded into the model's variables. `solver` is "tightmargin"; duals have
        the sign of all results; facts hold the method, and under "equivalence" the C, nu, D and
        ridge of the other machines with this solution, unless it was stopped far from it.

    Raises
    ------
    ValueError
        Another or an edited model, another intercept, an unknown method.
    """
    one_of("method", method, METHODS)
    limits = checked_limits(time_limit, threads, seed, absolute_gap=absolute_gap)
    form = standard_form(model)
    origin = unedited_origin(model, form)
    if origin is None or origin.entry not in SEARCHED_RSVM:
        raise ValueError(
            f"the methods of the rigorous SVM take a model of {', '.join(SEARCHED_RSVM)} as it was "
            "built"
        )
    if origin.parameters["intercept"] != "free":
        raise ValueError(
            f"method {method} takes the free intercept of the paper alone, not "
            f"{origin.parameters['intercept']!r}: --method direct leaves the model to a solver"
        )
    began = time.perf_counter()
    row = solve_rsvm(
        origin.data,
        norm_bound=origin.parameters["norm_bound"],
        method=method,
        time_limit=limits.time_limit,
    )
    case = Case(model, form, classify(form), origin, limits)
    duals = _multipliers(case, origin.entry, row.point)
    certified = certified_search(
        case,
        point_with(model, form, np.zeros(form.n), _values(origin, row.point)),
        STATUS[_stop(row)],
        bound=row.point.lower_bound if origin.entry == PRIMAL else 0.0 - row.point.value,
        proof=AT_ANY_NORM if origin.entry == PRIMAL and row.method == LIMIT else PROOF,
        facts=_facts(origin, row),
        duals=duals,
    )
    return search_result(
        case, certified, began, message=_message(row), duals=named_duals(form, duals)
    )


def _stop(row: RsvmRow) -> str:
    """Why a method ended, in a word of all searches."""
    if row.verdict is Verdict.CERTIFIED:
        return "proven"
    words = {INTERRUPTED: "interrupted", TIME_LIMIT: "time_limit"}
    return next((words[said] for said in words if row.stop.startswith(said)), "open")


def _message(row: RsvmRow) -> str:
    return (
        f"{row.stop}; a solution of rsvm_relaxed is returned" if row.method == LIMIT else row.stop
    )


def _values(origin: Origin, point: RsvmPoint) -> dict[str, Array]:
    """The variables of a model; those of the other entries are not in it and stay unused."""
    data, H = origin.data, point.norm_bound
    scores = data.y * (data.factor @ point.w + point.b)
    t = point.length if origin.entry == "rsvm_dual" else point.length * H
    return {
        "w": point.w,
        "b": np.asarray(point.b),
        "xi": np.maximum(0.0, 1 - scores),
        "alpha": point.alpha,
        "v": data.factor.T @ (data.y * point.alpha),
        "t": np.asarray(t),
        "gamma": np.asarray(point.gamma),
    }


def _multipliers(case: Case, entry: str, point: RsvmPoint) -> Multipliers:
    """Of the rows as the point names them; of cones and bounds by stationarity."""
    form = case.form
    named: Mapping[str, Any] = {"margin": point.alpha}
    if entry != PRIMAL:
        named = {"weight": -point.w, "balance": -point.b}
    rows = multipliers_by_name(named, form, case.classification).rows
    rest = form.objective.a - form.A.T @ rows
    cones: dict[int, Array] = {}
    for row, reading in zip(form.quadratic, case.classification.readings, strict=True):
        assert reading.cone is not None  # all three entries are convex
        z = _of_cone(reading.cone, rest[reading.cone.index])
        rest[reading.cone.index] -= reading.cone.A.T @ z
        cones[id(row.data)] = z
    bounded = np.isfinite(form.lower) | np.isfinite(form.upper)
    return Multipliers(rows, np.where(bounded, rest, 0.0), cones)


def _of_cone(cone: Cone, rest: Array) -> Array:
    """The z of least norm with A'z = rest, in the cone where its first entry is free."""
    A = sp.csc_matrix(cone.A)
    z = np.asarray(A @ spsolve(sp.csc_matrix(A.T @ A), rest))
    if not cone.A[0].any():
        z[0] = np.linalg.norm(z[1:])
    return z


def _facts(origin: Origin, row: RsvmRow) -> dict[str, Any]:
    found: dict[str, Any] = {
        "engine": row.method,
        "stop": _stop(row),
        "steps": row.steps,
        "gamma": row.point.gamma,
        "capacity_price": row.point.length,
        "intercepts": list(row.b_interval),
    }
    if row.point.gap <= OPTIMAL * max(1.0, row.point.value):
        same = equivalence(origin.data, row.norm_bound, row.point.alpha)
        found["equivalence"] = same.to_json()
    return found
