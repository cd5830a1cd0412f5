"""A claim that was checked, as the result that a user gets."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, origin_now
from tightmargin.formulations.data.class_labels import recorded_classes
from tightmargin.formulations.data.feature_names import recorded_features
from tightmargin.formulations.data.point_weights import recorded_weights
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.canonical_form.named_values import (
    named_duals,
    named_ray,
    named_values,
)
from tightmargin.solvers.certificates.case import Certified
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.result import EXACT_BOUND, EXACT_UPPER, Certificate, SolveResult
from tightmargin.solvers.standard_form.standard_form import StandardForm
from tightmargin.solvers.versions import versions


def settings_of(limits: Limits) -> dict[str, Any]:
    """What a result records of how it was asked for."""
    return {
        "threads": limits.threads,
        "seed": limits.seed,
        "time_limit": limits.time_limit,
        "versions": versions(),
    }


def result_of(
    model: pyo.ConcreteModel,
    form: StandardForm,
    classification: Classification,
    claim: Claim,
    found: Certified,
) -> SolveResult:
    """Result in the model's own sense: a maximisation gets its sign back."""
    certificate, sense = found.certificate, form.sense
    signed = replace(
        certificate,
        upper=_signed(certificate.upper, sense),
        bound=_signed(certificate.bound, sense),
        solver_bound=_signed(certificate.solver_bound, sense),
        facts={**certificate.facts, **_signed_ends(certificate, sense)},
    )
    described = describe(model)
    return SolveResult(
        status=found.status,
        objective=_signed(found.objective, sense),
        bound=signed.bound,
        values={} if found.x is None else named_values(model, form, found.x),
        duals=named_duals(form, claim.duals) if found.proof is None else _farkas(form, found),
        ray={} if found.ray is None else named_ray(model, form, found.ray),
        certificate=signed,
        solver="",
        problem_class=str(classification.problem_class),
        **described,
    )


def _farkas(form: StandardForm, found: Certified) -> dict[str, Any]:
    """Multipliers that prove a model infeasible: of the least violation, whatever the sense."""
    return named_duals(replace(form, sense=1), found.proof)


def describe(model: pyo.ConcreteModel) -> dict[str, Any]:
    """Formulation, hyperparameters and data of a model, for the record of its result."""
    if not isinstance(getattr(model, "origin", None), Origin):
        return {"formulation": "", "parameters": {}, "data": {}}
    origin = origin_now(model)
    data = origin.data
    return {
        "formulation": origin.entry,
        "parameters": dict(origin.parameters),
        "data": {"spec": data.spec, "n": data.n, "d": data.d, "sha256": data.sha256}
        | recorded_classes(data)
        | recorded_weights(data)
        | recorded_features(data),
    }


def _signed_ends(certificate: Certificate, sense: int) -> dict[str, str]:
    """The proven ends that are kept as fractions, in the model's own sense."""
    ends = {name: certificate.facts.get(name) for name in (EXACT_UPPER, EXACT_BOUND)}
    return {name: str(sense * Fraction(end)) for name, end in ends.items() if isinstance(end, str)}


def _signed(value: float | None, sense: int) -> float | None:
    return None if value is None or not np.isfinite(value) else sense * value + 0.0  # never -0.0
