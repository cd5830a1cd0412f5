"""Bounds and points of the SDP relaxation and of its dual, asked for where a gap is left open."""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.conic.closed_form_bound import CLOSED_FORM, strengthening_bound
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.zero_one.intercept_bound import intercept_bound_value
from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.conic_form import conic_multipliers
from tightmargin.solvers.canonical_form.named_values import named_values, point_with
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.multiplier_search import larger, searched_bound
from tightmargin.solvers.conic.central_path import CentralPoint, central_point
from tightmargin.solvers.exact_points.exact_point import exact_point
from tightmargin.solvers.execution.deadline import is_over, seconds_left
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.methods import Values
from tightmargin.solvers.proofs.statement import LowerBound
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.standard_form.standard_form import standard_form

PRIMAL, DUAL = "conic_sdp", "conic_sdp_dual"
ENTRIES = (PRIMAL, "conic_sdp_literal", "conic_sdp_eliminated", DUAL)
POINT_LIMIT = 400  # a second; the path solves systems of this order a hundred times
STRENGTHENED = "conic_sdp_strengthened"
# Where a cutoff leaves hardly any inside, an interior-point method that goes less far towards the
# boundary at every step ends with a digit more.
SHORTER_STEPS = (0.9, 0.7)
CLOSEST = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
COLUMN_LIMIT = 5_000
BY_A_POINT = "weak duality with a feasible point of conic_sdp"


def has_central_path(origin: Origin) -> bool:
    """Whether a model is one of the pair, of a size that takes no longer than a second."""
    return origin.entry in ENTRIES and origin.data.n <= POINT_LIMIT


def sdp_bound(origin: Origin, values: Values | None) -> Lemma | None:
    """Lower bound from the other problem of the pair, at the end of the central path."""
    found = end_of_path(origin)
    if found is None:
        return None
    return _by_primal(origin, found) if origin.entry == DUAL else _by_dual(origin, found)


def sdp_point(origin: Origin) -> Values | None:
    """Values of a model at the end of the central path; its check gives the others."""
    found = end_of_path(origin)
    if found is None:
        return None
    if origin.entry == DUAL:
        # The check takes the rest from these two.
        others = {"tau": np.zeros(()), "beta": np.zeros(())}
        return {"alpha": found.alpha, "gamma": found.gamma, **others}
    return _primal_values(origin, found)


def end_of_path(origin: Origin) -> CentralPoint | None:
    """Nearly optimal points of a model of the pair and of its dual."""
    p = origin.parameters
    points = augmented(origin.data, p["intercept"])
    prices = origin.data.prices(p["penalty"])
    return central_point(points, origin.data.y, prices, _limit(origin))


def _limit(origin: Origin) -> float | None:
    p = origin.parameters
    return intercept_bound_value(origin.data, p["penalty"], p["intercept"], p["intercept_bound"])


def _primal_values(origin: Origin, found: CentralPoint) -> Values:
    d = origin.data.d
    values = {"w": found.weight[:d], "W": found.W}
    return values | ({"b": found.weight[d]} if len(found.weight) > d else {})


def _by_dual(origin: Origin, found: CentralPoint) -> Lemma | None:
    p = origin.parameters
    prices = origin.data.prices(p["penalty"])
    proof = strengthening_bound(
        augmented(origin.data, p["intercept"]),
        origin.data.y,
        found.gamma,
        found.alpha,
        penalty=prices,
        bound_on_b=_limit(origin),
    )
    if proof is None:
        return None
    return Lemma(proof.value, CLOSED_FORM, proof.hypotheses(prices))


def _by_primal(origin: Origin, found: CentralPoint) -> Lemma | None:
    """Minus the objective of an exactly feasible point of conic_sdp with the same numbers.

    Both models are made of the same doubles x~_i x~_i' and B^2, so that it holds in exact
    arithmetic: gamma T + penalty z >= 2 alpha p for every point, and the rest is sdp_dual.py.
    """
    entry = CATALOGUE[PRIMAL]
    model = entry.build(origin.data, **origin.parameters)
    form = standard_form(model)
    x = point_with(model, form, np.zeros(form.n), _primal_values(origin, found))
    assert entry.check is not None
    repaired = entry.check(model.origin, named_values(model, form, x)).repaired
    x = point_with(model, form, x, repaired)
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
