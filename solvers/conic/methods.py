"""The SDP relaxation of the 0-1 loss and its dual by low rank: a method, bounds, points, proofs.

One optimum of the low-rank form (conic/low_rank.py) serves all of them: its F is a point of the
SDP, its gamma, alpha and beta are one of the dual (formulations/conic/sdp.py). They are asked
for where any solver leaves a gap open, and where the 0-1 loss itself wants a bound.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.conic.closed_form_bound import CLOSED_FORM, strengthening_bound
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.zero_one.big_m import intercept_bound_value
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.multipliers import larger, model_bound, searched_bound
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.conic.low_rank import LOW_RANK, ConicOptimum, closed, conic_optimum
from tightmargin.solvers.conic.path import INTERIOR, by_interior_point
from tightmargin.solvers.engines import clarabel
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits, is_over, live_line, seconds_left
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import LowerBound
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import conic_multipliers
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.names import multipliers_by_name, point_with
from tightmargin.solvers.model.reader import standard_form
from tightmargin.solvers.proof_files.write import Evidence, NotProvenError
from tightmargin.solvers.registry import (
    ClosingBounds,
    Finding,
    Method,
    Values,
    register_closing_bounds,
    register_method,
)
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.result_proof import coordinates, point_of, register_document

PRIMAL, DUAL = "conic_sdp", "conic_sdp_dual"
CLOSED_ENTRIES = (PRIMAL, "conic_sdp_literal", "conic_sdp_eliminated", DUAL)
WRITTEN_ENTRIES = (PRIMAL, "conic_sdp_eliminated")


def _numbers(origin: Origin) -> tuple[Array, Array, float | None]:
    """Points (n, k), prices (n,) and B, which is derived for a 0-1 loss: its M keeps an optimum."""
    p, stated = origin.parameters, origin.parameters.get("intercept_bound")
    if is_zero_one(origin):
        stated = "derived" if p["intercept"] == "free" else None
    bound_on_b = intercept_bound_value(origin.data, p["penalty"], p["intercept"], stated)
    return augmented(origin.data, p["intercept"]), origin.data.prices(p["penalty"]), bound_on_b


def optimum_of(origin: Origin, seconds: float | None = None) -> ConicOptimum | None:
    """Nearly optimal points of a model of the pair and of its dual."""
    deadline = None if seconds is None else time.perf_counter() + seconds
    points, prices, bound_on_b = _numbers(origin)
    with live_line("low-rank form"):
        return conic_optimum(points, origin.data.y, prices, bound_on_b, deadline)


def bound_of_multipliers(
    origin: Origin, gamma: Array, alpha: Array, words: str = CLOSED_FORM
) -> Lemma | None:
    """Lower bound on a model of the primal, or on the 0-1 loss, from any gamma and alpha (n,)."""
    points, prices, bound_on_b = _numbers(origin)
    found = strengthening_bound(
        points, origin.data.y, gamma, alpha, penalty=prices, bound_on_b=bound_on_b
    )
    return None if found is None else Lemma(found.value, words, found.hypotheses(prices))


# --- The method -----------------------------------------------------------------------------------


# Points times entries of W from which on multipliers of the rows take longer than the optimum.
LARGE = 20_000


def _by_low_rank(origin: Origin, limits: Limits) -> Finding:
    started, left = time.perf_counter(), limits.time_limit
    found = optimum_of(origin, left)
    if found is None:
        raise ValueError(
            "method low-rank needs points with entries, and an intercept_bound above 0"
        )
    bound, message = bound_of_multipliers(origin, found.gamma, found.alpha), ""
    left = None if left is None else left - (time.perf_counter() - started)
    if bound is None or not closed(found.value, bound.value):  # the multipliers of a solver, then
        message = "time limit"
        if left is None or left > 0:
            model = CATALOGUE[DUAL].build(origin.data, **origin.parameters)
            other = by_interior_point(model, "auto", left)
            message = other.message
            if other.gamma is not None and other.alpha is not None:
                lemma = bound_of_multipliers(origin, other.gamma, other.alpha)
                if lemma is not None and (bound is None or lemma.value > bound.value):
                    found = replace(found, gamma=other.gamma, alpha=other.alpha, method=INTERIOR)
                    bound = lemma
    proven = bound is not None and closed(found.value, bound.value)
    k = found.F.shape[1]
    large = origin.data.n * k * (k + 1) // 2 >= LARGE
    why = "no multipliers: at this size the bound in closed form is proven without those of rows"
    return Finding(
        _primal_values(origin, found),
        Status.OPTIMAL if proven else Status.FEASIBLE,
        found.method,
        bound=bound,
        multipliers={} if large else _duals(origin, found, eliminated=False),
        facts={"strengthening": found.gamma} | ({"no_duals": why} if large else {}),
        message=message,
    )


def _primal_values(origin: Origin, found: ConicOptimum) -> Values:
    d, weight = origin.data.d, found.F[0]
    values = {"w": weight[:d], "W": found.W} | ({"b": weight[d]} if len(weight) > d else {})
    check = CATALOGUE[PRIMAL].check
    assert check is not None
    return values | dict(check(origin, values).repaired)


# --- Bounds and points where a gap is left open ---------------------------------------------------


BY_A_POINT = "weak duality with a feasible point of conic_sdp"
STRENGTHENED = "conic_sdp_strengthened"
# Where a cutoff leaves hardly any inside, an interior-point method that goes less far towards the
# boundary at every step ends with a digit more.
SHORTER_STEPS = (0.9, 0.7)
CLOSEST = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
COLUMN_LIMIT = 5_000


def sdp_bound(origin: Origin, values: Values | None) -> Lemma | None:
    """Lower bound from the other problem of the pair."""
    found = optimum_of(origin, seconds_left())
    if found is None:
        return None
    if origin.entry == DUAL:
        return _by_primal(origin, found)
    return bound_of_multipliers(origin, found.gamma, found.alpha)


def sdp_point(origin: Origin) -> Values | None:
    """Values of a model of the pair; its check gives the others."""
    found = optimum_of(origin, seconds_left())
    if found is None:
        return None
    if origin.entry == DUAL:
        # The check takes the rest from these two.
        others = {"tau": np.zeros(()), "beta": np.zeros(())}
        return {"alpha": found.alpha, "gamma": found.gamma, **others}
    return _primal_values(origin, found)


def _by_primal(origin: Origin, found: ConicOptimum) -> Lemma | None:
    """Minus the objective of an exactly feasible point of conic_sdp with the same numbers.

    Both models are made of the same doubles x~_i x~_i' and B^2, so that it holds in exact
    arithmetic: gamma T + penalty z >= 2 alpha p for every point, and the rest is sdp_dual.py.
    """
    model = CATALOGUE[PRIMAL].build(origin.data, **origin.parameters)
    form = standard_form(model)
    x = point_with(model, form, np.zeros(form.n), _primal_values(origin, found))
    point = exact_point(form, classify(form), x, Limits())
    if point is None:
        return None
    hypotheses = {
        "the point meets every row of conic_sdp in exact arithmetic": point.exact,
        "its data, penalty and bound on the intercept are those of the dual": (
            model.origin.data is origin.data
            and all(origin.parameters.get(k) == v for k, v in model.origin.parameters.items())
        ),
    }
    return Lemma(-point.value(form.objective.exact_constant), BY_A_POINT, hypotheses)


def strengthened_bound(origin: Origin, values: Values | None) -> Lemma | None:
    """Lower bound on the strengthened SDP from multipliers that are reached in shorter steps."""
    model = CATALOGUE[origin.entry].build(origin.data, **origin.parameters)
    form = standard_form(model)
    if form.n > COLUMN_LIMIT or not SOLVERS["clarabel"].installed:
        return None
    case = Case(model, Subject(form), origin)
    best: LowerBound | None = None
    for share in SHORTER_STEPS:
        if is_over():
            break
        options = {**CLOSEST, "max_step_fraction": share}
        limits = Limits(time_limit=seconds_left(), options=options)
        claim = clarabel.run_scaled(form, case.classification, limits, case.factors)
        if claim.x is None or claim.duals is None or not np.isfinite(claim.x).all():
            continue
        z = conic_multipliers(case.conic, claim.duals)
        if np.isfinite(z).all():
            found, _ = searched_bound(case, claim.x, z, form.objective.varying(claim.x))
            best = larger(best, found)
    if best is None:
        return None
    return Lemma(best.value(case.constant), best.words, {"it is one of the same model": True})


# --- Bounds on the 0-1 loss -----------------------------------------------------------------------


RELAXATION_METHOD = "closed form of the strengthening that the SDP relaxation chooses"
STRENGTHENING = "relaxation_strengthening"
WORK_LIMIT = 1_000_000  # points times entries of W: a second or two


def relaxation_bound(origin: Origin, limits: Limits) -> tuple[Lemma | None, Mapping[str, Any]]:
    """Lower bound on a 0-1 loss problem from its SDP relaxation, with what proves it again.

    (None, {}) for another problem, or too many points or features.
    """
    n, k = origin.data.n, origin.data.d + 1
    if is_over() or not is_zero_one(origin) or n * k * k > WORK_LIMIT:
        return None, {}
    found = optimum_of(origin, seconds_left())
    lemma = None if found is None else bound_of_strengthening(origin, found.gamma)
    if found is None or lemma is None:
        return None, {}
    return lemma, {STRENGTHENING: found.gamma.tolist()}


def bound_of_strengthening(origin: Origin, gamma: ArrayLike) -> Lemma | None:
    """Closed-form bound on a 0-1 loss problem from gamma (n,) alone, without any solver.

    alpha_i = sqrt(penalty gamma_i), the penalty times the weight of the point, is the largest the
    dual allows, and the one at its optimum.
    """
    gamma = np.asarray(gamma, dtype=float)
    if not is_zero_one(origin) or gamma.shape != (origin.data.n,):
        return None
    if not np.all(np.isfinite(gamma) & (gamma >= 0)):
        return None
    alpha = np.sqrt(origin.data.prices(origin.parameters["penalty"])) * np.sqrt(gamma)
    return bound_of_multipliers(origin, gamma, alpha, RELAXATION_METHOD)


def bound_from_facts(origin: Origin, facts: Mapping[str, Any]) -> Lemma | None:
    """The bound of a saved result from its strengthening; None without a usable one."""
    gamma = facts.get(STRENGTHENING)
    if not isinstance(gamma, list) or not all(isinstance(x, int | float) for x in gamma):
        return None
    return bound_of_strengthening(origin, gamma)


def is_zero_one(origin: Origin) -> bool:
    """Whether a model states the 0-1 loss problem."""
    return "zero_one_big_m" in (origin.entry, CATALOGUE[origin.entry].restates)


# --- Multipliers of the rows, for results and for proof files -------------------------------------
# With Q and c as in sdp_dual.py, and the penalty of the point's weight:
#     lifted  gamma_i                    inside  ((penalty + gamma_i) / 2, (penalty - gamma_i) / 2,
#     hinge   2 alpha_i                           -alpha_i), p_i^2 <= T_i z_i as a cone,
#     outer   [[Q, -c], [-c', c'Q^-1 c]]         and the row of a bound on the intercept -beta


# Q is singular at the optimum: with this share of the multipliers left out it is definite, and the
# semidefinite multiplier is brought inside its cone by a share of its corner.
LEFT_OUT, INSIDE_WRITTEN = 1e-8, 1e-10


def sdp_document(case: Case, result: SolveResult, seconds: float | None) -> dict[str, Any]:
    """The document of a result of conic_sdp or conic_sdp_eliminated as they are built."""
    origin = case.origin
    assert origin is not None
    found = optimum_of(origin, seconds)
    if found is None:
        raise NotProvenError("the gap is not closed, and the low-rank form has no optimum")
    named = _duals(origin, found, eliminated=origin.entry == "conic_sdp_eliminated")
    duals = multipliers_by_name(named, case.form, case.classification)
    x, point = point_of(case, result), coordinates(case, result)
    if x is None or point is None:
        raise NotProvenError("no point near the result is feasible in exact arithmetic")
    bound = model_bound(case, Claim(Status.OPTIMAL, x, duals)).proof
    proven = Evidence.of(case.form, case.classification, None, bound, case.limits.absolute_gap)
    return replace(proven, point=point).document()


def _duals(origin: Origin, found: ConicOptimum, *, eliminated: bool) -> dict[str, Array]:
    points, prices, bound_on_b = _numbers(origin)
    gamma, alpha = (1 - LEFT_OUT) * found.gamma, (1 - LEFT_OUT) * found.alpha
    D = np.ones(points.shape[1])
    if bound_on_b is not None:
        D[-1] = found.beta
    Q = np.diag(D) - points.T @ (gamma[:, None] * points)
    c = points.T @ ((alpha - gamma) * origin.data.y)
    corner = float(c @ np.linalg.solve(Q, c)) * (1 + INSIDE_WRITTEN)
    outer = np.block([[Q, -c[:, None]], [-c[None, :], np.array([[corner]])]])
    half = (prices - gamma) / 2
    cone = np.column_stack([(prices + gamma) / 2, -half if eliminated else half, -alpha])
    duals = {"lifted": gamma, "hinge": 2 * alpha, "outer": outer}
    duals["quotients.cone" if eliminated else "inside"] = cone
    return duals | ({} if bound_on_b is None else {"intercept_row": np.array(-found.beta)})


register_method(
    Method(
        LOW_RANK,
        (PRIMAL,),
        _by_low_rank,
        "the low-rank form of the SDP, bounded by the closed form of its strengthening",
        automatic=lambda origin: "the low-rank form ends sooner and closer than a conic solver",
        weighted=True,
    )
)
register_document(WRITTEN_ENTRIES, sdp_document)
register_closing_bounds(
    ClosingBounds(
        CLOSED_ENTRIES,
        sdp_bound,
        point=sdp_point,
        early=True,
        weighted=True,
    )
)
register_closing_bounds(ClosingBounds((STRENGTHENED,), strengthened_bound, weighted=True))
