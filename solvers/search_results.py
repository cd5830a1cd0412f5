"""The verdict on a point that a search of ours found, with the bound the search proved.

Every search and heuristic of ours ends in these two functions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.solvers.backends.base import Claim
from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.canonical_form.named_values import load_values, named_values
from tightmargin.solvers.certificates.certify import (
    FEASIBILITY_TOLERANCE,
    Case,
    Certified,
    certify_point,
    open_gap_words,
    relative_gap,
    stands,
)
from tightmargin.solvers.dispatch import describe
from tightmargin.solvers.result import SolveResult, Status, Verdict
from tightmargin.solvers.versions import versions

Array = NDArray[np.float64]


def certified_search(
    case: Case,
    x: Array,
    status: Status,
    *,
    bound: float | None,
    proof: str,
    facts: Mapping[str, Any],
    duals: Multipliers | None = None,
) -> Certified:
    """The point checked, and the search's bound where it is the better one.

    Parameters
    ----------
    x : array
        Point of the standard form of the model.
    status : Status
        What the search says.
    bound : float or None
        Proven bound on the objective of the model.
    proof : str
        What proves it.
    facts : mapping
        Added to the certificate's.
    duals : Multipliers, optional
        Of the model's rows, from which a bound is proven as well.
    """
    checked = certify_point(case, Claim(status, x, duals), closing=False)
    certificate, objective = checked.certificate, checked.objective
    certificate = replace(certificate, facts={**certificate.facts, **facts})
    best, method = certificate.bound, certificate.bound_method
    if bound is not None and (best is None or bound > best):
        best, method = bound, proof
    certificate = replace(certificate, bound=best, bound_method=method)
    residual = certificate.primal_residual
    if objective is None or residual is None or residual > FEASIBILITY_TOLERANCE:
        return replace(checked, certificate=certificate)
    if not stands(case, checked):
        return replace(checked, certificate=certificate)
    if case.exceeds(objective, best):
        words = f"the proven bound {best:.9g} exceeds the objective {objective:.9g}"
        refused = replace(certificate, verdict=Verdict.NOT_CERTIFIED, reason=words, gap=None)
        return replace(checked, status=Status.INACCURATE, certificate=refused)
    gap = relative_gap(case, objective, best)
    if case.closes(objective, best):
        proven = replace(certificate, verdict=Verdict.CERTIFIED, reason="", gap=gap)
        return replace(checked, status=Status.OPTIMAL, certificate=proven)
    words = open_gap_words(case, objective, best)
    refused = replace(certificate, verdict=Verdict.NOT_CERTIFIED, reason=words, gap=gap)
    ended = Status.FEASIBLE if status is Status.OPTIMAL else status
    return replace(checked, status=ended, certificate=refused)


def search_result(
    case: Case,
    certified: Certified,
    began: float,
    *,
    message: str,
    duals: Mapping[str, Array] | None = None,
    options: Mapping[str, Any] | None = None,
) -> SolveResult:
    """What a search of ours returns: the certified point, loaded into the model's variables.

    Parameters
    ----------
    certified : Certified
        With a point: every search has one from its start on.
    began : float
        When it began, of time.perf_counter().
    duals : mapping, optional
        Multipliers by row, where the search has them.
    options : mapping, optional
        Its own settings.
    """
    assert certified.x is not None
    load_values(case.form, certified.x)
    known = versions()
    return SolveResult(
        status=certified.status,
        objective=certified.objective,
        bound=certified.certificate.bound,
        values=named_values(case.model, case.form, certified.x),
        duals=duals or {},
        certificate=certified.certificate,
        solver="tightmargin",
        version=known["tightmargin"],
        seconds=time.perf_counter() - began,
        options=options or {},
        message=message,
        problem_class=str(case.classification.problem_class),
        seed=case.limits.seed,
        threads=case.limits.threads,
        time_limit=case.limits.time_limit,
        versions=known,
        **describe(case.model),
    )
