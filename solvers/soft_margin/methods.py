"""Soft-margin models brought near their optimum by stochastic gradient descent, and never further.

The averaged iterate is a point of the model and the draws make multipliers of its margin rows, so
that a result holds a proven gap; it is certified where that closes, which takes more steps than
anybody waits for.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import Origin
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.canonical_form.named_values import (
    multipliers_by_name,
    named_duals,
    named_values,
    point_with,
)
from tightmargin.solvers.certificates.certify import Case, Certified
from tightmargin.solvers.certificates.model_bound import BOUND_POINT
from tightmargin.solvers.edits.model_identity import form_and_origin
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.result import SolveResult, Status, plain
from tightmargin.solvers.search_results import certified_search, search_result
from tightmargin.solvers.soft_margin.sgd import DONE, INTERRUPTED, Sgd, sgd
from tightmargin.solvers.soft_margin.sgd_rate import checked_steps, sgd_rate

Array = NDArray[np.float64]

SGD = "sgd"
DESCENDED = ("soft_margin_svc", "kernel_soft_margin_svc")
STEPS = 100_000  # a second or less
PROOF = "weak duality at multipliers in [0, 1/n] made of the draws, recomputed from the data"


def solve_by_sgd(
    model: pyo.ConcreteModel,
    *,
    steps: int = STEPS,
    seed: int | None = 0,
    time_limit: float | None = None,
    threads: int | None = None,
) -> SolveResult:
    """Run stochastic gradient descent on a soft-margin model, and prove how near it came.

    Parameters
    ----------
    model
        Of soft_margin_svc or kernel_soft_margin_svc with intercept="none", not edited. On points
        it is Algorithm 3 of Lee 2020, on a kernel matrix Algorithm 4.
    steps : int
        Random points looked at.
    seed : int, optional
        Of the draws; 0 when None.
    time_limit : float, optional
        Seconds; the averaged iterate so far and its bound are kept, as after Ctrl-C.
    threads : int, optional
        Recorded; there is one.

    Returns
    -------
    SolveResult
        Values are also loaded into the model's variables. FEASIBLE and NOT_CERTIFIED unless the
        proven gap closes. `solver` is "tightmargin"; facts hold the trace as rows of (steps,
        objective of the averaged iterate, bound), and what theory promises for the mean gap.

    Raises
    ------
    ValueError
        Another or an edited model, another intercept, bad steps, seed or time_limit.
    """
    checked_steps(steps)
    limits = checked_limits(time_limit, threads, 0 if seed is None else seed)
    form, origin = form_and_origin(model, DESCENDED, SGD)
    if origin.parameters["intercept"] != "none":
        raise ValueError(
            f"{SGD} takes no intercept, as its paper: build the model with intercept=none, not "
            f"{origin.parameters['intercept']!r}"
        )
    assert limits.seed is not None
    began = time.perf_counter()
    ridge = origin.parameters["ridge"]
    run = sgd(origin.data, ridge=ridge, steps=steps, seed=limits.seed, time_limit=limits.time_limit)
    case = Case(model, form, classify(form), origin, limits)
    duals = _multipliers(case, run.alpha)
    rate = sgd_rate(origin.data, ridge=ridge, steps=run.steps) if run.steps else None
    facts = {
        "engine": SGD,
        "stop": run.stop,
        "steps": run.steps,
        "descent": [[point.steps, point.objective, point.lower_bound] for point in run.trace],
        "expected_gap": rate,
    }
    certified = certified_search(
        case,
        point_with(model, form, np.zeros(form.n), _values(origin, run.coefficients)),
        Status.INTERRUPTED if run.stop == INTERRUPTED else Status.FEASIBLE,
        bound=run.lower_bound,
        proof=PROOF,
        facts=facts,
        duals=duals,
    )
    certified = _with_bound_point(case, certified, origin, run)
    return search_result(
        case,
        certified,
        began,
        message=_message(run, certified),
        duals=named_duals(form, duals),
        options={"steps": steps},
    )


def _values(origin: Origin, coefficients: Array) -> dict[str, Array]:
    """The variables of a model; those of the other entry are not in it and stay unused."""
    data = origin.data
    w = data.factor.T @ coefficients
    losses = np.maximum(0.0, 1 - data.y * (data.factor @ w))
    return {"w": w, "xi": losses, "alpha": coefficients, "v": w}


def _with_bound_point(case: Case, found: Certified, origin: Origin, run: Sgd) -> Certified:
    """The w that the multipliers name, where the bound is theirs, so that a file proves it too."""
    if found.certificate.bound_method != PROOF:
        return found
    named = _values(origin, origin.data.y * run.alpha / (2 * origin.parameters["ridge"]))
    x = point_with(case.model, case.form, np.zeros(case.form.n), named)
    point = {BOUND_POINT: plain(named_values(case.model, case.form, x))}
    facts = {**found.certificate.facts, **point}
    return replace(found, certificate=replace(found.certificate, facts=facts))


def _multipliers(case: Case, alpha: Array) -> Multipliers:
    """Of the margin rows as given; of xi >= 0 what stationarity leaves of 1/n."""
    form = case.form
    found = multipliers_by_name({"margin": alpha}, form, case.classification)
    rest = form.objective.a - form.A.T @ found.rows
    return replace(found, bounds=np.where(np.isfinite(form.lower), rest, 0.0))


def _message(run: Sgd, certified: Certified) -> str:
    ended = "" if run.stop == DONE else f"{run.stop.replace('_', ' ')}: "
    assert certified.objective is not None
    assert certified.certificate.bound is not None
    gap = certified.objective - certified.certificate.bound
    return f"{ended}{run.steps:,} steps of stochastic gradient descent, proven gap {gap:.2e}"
