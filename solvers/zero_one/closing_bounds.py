"""Bounds that close a mixed-integer result by our own computation, where that is affordable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.catalogue import CATALOGUE, Origin
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.conic.closed_form_bound import strengthening_bound
from tightmargin.formulations.zero_one.checks import best_exact_point
from tightmargin.formulations.zero_one.intercept_bound import intercept_bound_value
from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.backends.base import Limits
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import named_values
from tightmargin.solvers.matrix.closing_bounds import EXACT as MATRIX
from tightmargin.solvers.matrix.closing_bounds import matrix_bound
from tightmargin.solvers.multiclass.closing_bounds import BRANCHES, truncated_bound
from tightmargin.solvers.standard_form.standard_form import standard_form
from tightmargin.solvers.zero_one.conflict_search.result import Stop
from tightmargin.solvers.zero_one.conflict_search.search import conflict_search
from tightmargin.solvers.zero_one.enumeration.enumeration import count_sets, zero_one_enumeration
from tightmargin.solvers.zero_one.enumeration.ramp_enumeration import ramp_bound

Array = NDArray[np.float64]

SET_LIMIT = 2_000_000
ENUMERATION = "enumeration of"
CONFLICTS = "conflict search over"
# Begin the names of bounds that end at a point, and so are the optimum.
ENDED = (ENUMERATION, CONFLICTS, BRANCHES)
CONFLICT_GAP = 5e-7  # half of what a certificate allows; the other half is for rounding
STEP_LIMIT = 100_000  # a few seconds
POINT_LIMIT_OF_CONFLICTS, FEATURE_LIMIT_OF_CONFLICTS = 400, 40
# Of the SDP relaxation: beyond either it takes more than a second or two.
POINT_LIMIT, FEATURE_LIMIT = 200, 30
RELAXATION = "conic_sdp"
RELAXATION_METHOD = "closed form of the strengthening that the SDP relaxation chooses"
STRENGTHENING = "relaxation_strengthening"


def closed_bound(
    origin: Origin | None, values: Mapping[str, Array] | None = None
) -> tuple[float | None, str]:
    """Lower bound on the paper's problem by a search of our own, and its name.

    The 0-1 loss is enumerated up to 2,000,000 active sets; beyond, the conflict search works for
    as long as STEP_LIMIT allows, and its bound counts whether it finished or not.

    Parameters
    ----------
    values : mapping, optional
        With "w" and "b", a hyperplane to start from.

    Returns
    -------
    (None, "")
        When the entry has no such proof (the ramp loss: see ramp_bound.py; the matrix SVM:
        matrix_proofs.py; the truncated hinge loss of several classes: truncated_proof.py).
    """
    if origin is not None and origin.entry == "ramp_big_m":
        return ramp_bound(origin)
    if origin is not None and origin.entry == "multiclass_truncated":
        return truncated_bound(origin)
    if origin is not None and origin.entry == MATRIX:
        return matrix_bound(origin, values)
    if origin is None or not _is_zero_one(origin):
        return None, ""
    data, parameters = origin.data, origin.parameters
    sets = count_sets(data.n, data.d, parameters["intercept"], data.n_pos)
    if sets > SET_LIMIT:
        return _bound_by_conflicts(origin, values)
    found = zero_one_enumeration(
        data.points,
        penalty=parameters["penalty"],
        intercept=parameters["intercept"],
        limit=SET_LIMIT,
    )
    return found.lower_bound, f"{ENUMERATION} {sets:,} active sets"


def _bound_by_conflicts(
    origin: Origin, values: Mapping[str, Array] | None
) -> tuple[float | None, str]:
    data, parameters = origin.data.points, origin.parameters
    if data.n > POINT_LIMIT_OF_CONFLICTS or data.d > FEATURE_LIMIT_OF_CONFLICTS:
        return None, ""
    known = None
    if values is not None and "w" in values:
        known = best_exact_point(origin, values)
    found = conflict_search(
        data,
        penalty=parameters["penalty"],
        intercept=parameters["intercept"],
        incumbent=None if known is None else (known[1], known[2]),
        gap=CONFLICT_GAP,
        step_limit=STEP_LIMIT,
    )
    if found.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    if found.stop is Stop.PROVEN:
        return found.lower_bound, f"{CONFLICTS} {found.nodes:,} nodes"
    return found.lower_bound, f"unfinished {CONFLICTS} {found.nodes:,} nodes"


def relaxation_bound(
    origin: Origin | None, limits: Limits
) -> tuple[float | None, str, Mapping[str, Any]]:
    """Lower bound on a 0-1 loss problem from its SDP relaxation, with what proves it again.

    The relaxation is solved for its strengthening gamma alone; the bound is its closed form.

    Returns
    -------
    (None, "", {})
        Another problem, too many points or features, or no solver for it.
    """
    nothing: tuple[None, str, Mapping[str, Any]] = None, "", {}
    if origin is None or not _is_zero_one(origin) or not SOLVERS["clarabel"].installed:
        return nothing
    data = origin.data
    if data.n > POINT_LIMIT or data.d > FEATURE_LIMIT:
        return nothing
    words = {word: origin.parameters[word] for word in ("penalty", "intercept")}
    model = CATALOGUE[RELAXATION].build(data, **words, intercept_bound=_limit_of(words))
    form = standard_form(model)
    claim = clarabel.run(form, classify(form), Limits(limits.time_limit, limits.threads))
    check = CATALOGUE[RELAXATION].check
    if claim.x is None or not np.isfinite(claim.x).all() or check is None:
        return nothing
    found = check(model.origin, named_values(model, form, claim.x))
    if found.unproven or found.bound is None:
        return nothing
    gamma = found.facts["strengthening"]
    value = bound_of_strengthening(origin, gamma)
    return (value, RELAXATION_METHOD, {STRENGTHENING: gamma}) if value is not None else nothing


def bound_of_strengthening(origin: Origin, gamma: ArrayLike) -> float | None:
    """Closed-form bound on a 0-1 loss problem from gamma (n,) alone, without any solver.

    alpha_i = sqrt(penalty gamma_i) is the largest the dual allows, and the one at its optimum.
    """
    gamma = np.asarray(gamma, dtype=float)
    if not _is_zero_one(origin) or gamma.shape != (origin.data.n,):
        return None
    if not np.all(np.isfinite(gamma) & (gamma >= 0)):
        return None
    penalty, intercept = origin.parameters["penalty"], origin.parameters["intercept"]
    stated = _limit_of(origin.parameters)
    limit = intercept_bound_value(origin.data, penalty, intercept, stated)
    found = strengthening_bound(
        augmented(origin.data, intercept),
        origin.data.y,
        gamma,
        np.sqrt(penalty) * np.sqrt(gamma),
        penalty=penalty,
        bound_on_b=limit,
    )
    return None if found is None else found.value


def _limit_of(parameters: Mapping[str, Any]) -> str | None:
    """The intercept bound that keeps an optimum: derived when the intercept is free."""
    return "derived" if parameters["intercept"] == "free" else None


def _is_zero_one(origin: Origin) -> bool:
    return "zero_one_big_m" in (origin.entry, CATALOGUE[origin.entry].restates)
