"""The matrix SVM of bounded rank solved by the search over cones of directions, without a solver.

It takes ranks 1 and one below full, and certifies its results like those of solvers.
"""

from __future__ import annotations

import time

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.matrix.shapes import checked_rank, checked_shape, frame
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import point_with
from tightmargin.solvers.certificates.certify import Case
from tightmargin.solvers.edits.model_identity import form_and_origin
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.matrix.branch_and_bound import (
    INTERRUPTED,
    PROVEN,
    MatrixSearch,
    matrix_search,
    search_name,
)
from tightmargin.solvers.result import SolveResult, Status
from tightmargin.solvers.search_results import certified_search, search_result

MATRIX_SEARCH = "matrix-search"
SEARCHED_MATRIX = ("matrix_svc_bilinear",)
STATUS = {PROVEN: Status.OPTIMAL, INTERRUPTED: Status.INTERRUPTED}


def solve_by_matrix_search(
    model: pyo.ConcreteModel,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int | None = None,
) -> SolveResult:
    """Solve matrix_svc_bilinear by branch and bound over one direction.

    Parameters
    ----------
    model
        Of matrix_svc_bilinear with rank 1 or min(m, n) - 1, not edited. Its incumbent is where the
        search starts.
    time_limit : float, optional
        Seconds; the best point and a proven bound are kept, as after Ctrl-C.
    threads, seed : int, optional
        Recorded; the search has one thread and draws nothing but its first incumbent.

    Returns
    -------
    SolveResult
        Values are also loaded into the model's variables. `solver` is "tightmargin"; facts hold
        the number of cells.

    Raises
    ------
    ValueError
        Another or an edited model, another rank.
    """
    began = time.perf_counter()
    limits = checked_limits(time_limit, threads, seed)
    form, origin = form_and_origin(model, SEARCHED_MATRIX, MATRIX_SEARCH)
    words = origin.parameters
    found = matrix_search(
        origin.data,
        **{word: words[word] for word in ("ridge", "shape", "rank", "intercept", "incumbent")},
        time_limit=limits.time_limit,
    )
    size = checked_shape(words["shape"], origin.data.d)
    U, V = frame(found.w, *size, checked_rank(words["rank"], *size))
    case = Case(model, form, classify(form), origin, limits)
    certified = certified_search(
        case,
        point_with(
            model,
            form,
            np.zeros(form.n),
            {"w": found.w, "b": np.asarray(found.b), "U": U.ravel(), "V": V.ravel()},
        ),
        STATUS.get(found.stop, Status.FEASIBLE),
        bound=found.lower_bound,
        proof=search_name(found.cells),
        facts={
            "no_duals": "a search over directions has no multipliers of the model's rows",
            "engine": MATRIX_SEARCH,
            "stop": found.stop,
            "cells": found.cells,
        },
    )
    return search_result(case, certified, began, message=_message(found))


def _message(found: MatrixSearch) -> str:
    if found.stop == PROVEN:
        return ""
    gap = found.objective - found.lower_bound
    ended = found.stop.replace("_", " ")
    return f"{ended}: the gap is {gap:.3g} after {found.cells:,} cells"
