"""Closed-form bound on a 0-1 loss problem from the strengthening that its SDP chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.conic.closed_form_bound import strengthening_bound
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.zero_one.intercept_bound import intercept_bound_value
from tightmargin.solvers.engines import clarabel
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits, is_over, seconds_left
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.names import named_values
from tightmargin.solvers.model.reader import standard_form

# Of the SDP relaxation: beyond either it takes more than a second or two.
POINT_LIMIT, FEATURE_LIMIT = 200, 30
RELAXATION = "conic_sdp"
RELAXATION_METHOD = "closed form of the strengthening that the SDP relaxation chooses"
STRENGTHENING = "relaxation_strengthening"


def relaxation_bound(origin: Origin, limits: Limits) -> tuple[Lemma | None, Mapping[str, Any]]:
    """Lower bound on a 0-1 loss problem from its SDP relaxation, with what proves it again.

    The relaxation is solved for its strengthening gamma alone; the bound is its closed form.

    Returns
    -------
    (None, {})
        Another problem, too many points or features, or no solver for it.
    """
    nothing: tuple[None, Mapping[str, Any]] = None, {}
    if is_over() or not is_zero_one(origin) or not SOLVERS["clarabel"].installed:
        return nothing
    data = origin.data
    if data.n > POINT_LIMIT or data.d > FEATURE_LIMIT:
        return nothing
    words = {word: origin.parameters[word] for word in ("penalty", "intercept")}
    model = CATALOGUE[RELAXATION].build(data, **words, intercept_bound=_limit_of(words))
    form = standard_form(model)
    claim = clarabel.run(form, classify(form), Limits(seconds_left(), limits.threads))
    check = CATALOGUE[RELAXATION].check
    if claim.x is None or not np.isfinite(claim.x).all() or check is None:
        return nothing
    found = check(model.origin, named_values(model, form, claim.x))
    if found.unproven or found.bound is None:
        return nothing
    gamma = found.facts["strengthening"]
    lemma = bound_of_strengthening(origin, gamma)
    return (lemma, {STRENGTHENING: gamma}) if lemma is not None else nothing


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
    penalty, intercept = origin.parameters["penalty"], origin.parameters["intercept"]
    stated = _limit_of(origin.parameters)
    limit = intercept_bound_value(origin.data, penalty, intercept, stated)
    prices = origin.data.prices(penalty)
    found = strengthening_bound(
        augmented(origin.data, intercept),
        origin.data.y,
        gamma,
        np.sqrt(prices) * np.sqrt(gamma),
        penalty=prices,
        bound_on_b=limit,
    )
    if found is None:
        return None
    return Lemma(found.value, RELAXATION_METHOD, found.hypotheses(prices))


def bound_from_facts(origin: Origin, facts: Mapping[str, Any]) -> Lemma | None:
    """The bound of a saved result from its strengthening; None without a usable one."""
    gamma = facts.get(STRENGTHENING)
    if not isinstance(gamma, list) or not all(isinstance(x, int | float) for x in gamma):
        return None
    return bound_of_strengthening(origin, gamma)


def _limit_of(parameters: Mapping[str, Any]) -> str | None:
    """The intercept bound that keeps an optimum: derived when the intercept is free."""
    return "derived" if parameters["intercept"] == "free" else None


def is_zero_one(origin: Origin) -> bool:
    """Whether a model states the 0-1 loss problem."""
    return "zero_one_big_m" in (origin.entry, CATALOGUE[origin.entry].restates)
