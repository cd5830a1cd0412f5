"""What a method of ours found, as a claim that is checked like that of a solver, and a result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.attempts.attempts import Outcome
from tightmargin.solvers.backends.options import unknown_option
from tightmargin.solvers.canonical_form.cone_recognition import Cone
from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.canonical_form.named_values import (
    load_values,
    multipliers_by_name,
    named_values,
    point_with,
)
from tightmargin.solvers.certificates.case import Case, Certified
from tightmargin.solvers.certificates.certify_point import certify_point
from tightmargin.solvers.certificates.model_bound import BOUND_POINT
from tightmargin.solvers.disjunctive.transformation import copy_values
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.methods import OWN, Finding, Method, automatic_method, remark_on
from tightmargin.solvers.plain_json import plain
from tightmargin.solvers.records import result_of, settings_of
from tightmargin.solvers.remarks import remarks_on
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.versions import versions


def certified_finding(case: Case, finding: Finding) -> tuple[Claim, Certified]:
    """The finding as a claim, and what of it stands.

    The bound that it proves counts beside that of its multipliers on the model; no solver is asked.
    """
    x = point_with(case.model, case.form, np.zeros(case.form.n), finding.values)
    duals = _multipliers(case, finding) if finding.multipliers else None
    claim = Claim(
        finding.status, x, duals, message=finding.message, lemma=finding.bound, searched=True,
    )  # fmt: skip
    found = certify_point(case, claim, closing=False)
    facts = {**found.certificate.facts, "engine": finding.engine, **finding.facts}
    own = finding.bound is not None and found.certificate.bound_method == finding.bound.words
    if finding.bound_values and own:
        # So that the multipliers of a saved file prove the bound again.
        at = point_with(case.model, case.form, np.zeros(case.form.n), finding.bound_values)
        facts[BOUND_POINT] = plain(named_values(case.model, case.form, at))
    return claim, replace(found, certificate=replace(found.certificate, facts=facts))


def _multipliers(case: Case, finding: Finding) -> Multipliers:
    """Of the rows as the finding names them; of cones and bounds what stationarity leaves."""
    form = case.form
    rows = multipliers_by_name(finding.multipliers, form, case.classification).rows
    rest = form.objective.a - form.A.T @ rows
    cones: dict[int, Array] = {}
    for row, reading in zip(form.quadratic, case.classification.readings, strict=True):
        if reading.cone is not None:
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


def by_method(own: Method, why: str, model: pyo.ConcreteModel, case: Case) -> SolveResult:
    """Run a method of ours on a model as it was built, and judge what it found."""
    refuse_other_options(own, case.limits)
    if own.draws and case.limits.seed is None:
        case = replace(case, limits=replace(case.limits, seed=0))
    assert case.origin is not None
    said = (why, remark_on(case.origin))
    began = time.perf_counter()
    finding = own.run(_as_it_reads(own, case.origin), case.limits)
    result = result_of_finding(finding, said, model, case)
    return replace(result, seconds=time.perf_counter() - began)


def found_automatically(case: Case) -> Outcome | None:
    """What the method that "auto" takes finds of a model as it was built; None without one."""
    taken = None if case.origin is None else automatic_method(case.origin)
    if taken is None or case.origin is None:
        return None
    own, why = taken
    began = time.perf_counter()
    finding = own.run(_as_it_reads(own, case.origin), case.limits)
    claim, found = certified_finding(case, finding)
    message = f"proven by {own.name}: {why}" if found.certificate.verdict.closed else claim.message
    took = time.perf_counter() - began
    return Outcome(replace(claim, message=message), found, "", took)


def _as_it_reads(own: Method, origin: Origin) -> Origin:
    """The origin, with dense points where the method needs them."""
    if own.keeps_sparse or not isinstance(origin.data, TrainingData):
        return origin
    return replace(origin, data=origin.data.dense_for(f"method {own.name}", "take method=direct"))


def refuse_other_options(own: Method, limits: Limits) -> None:
    """Raise ValueError for options that a method does not have."""
    for name in limits.options:
        if name not in own.options:
            raise unknown_option(f"method {own.name}", name, own.options)


def result_of_finding(
    finding: Finding, said: Sequence[str], model: pyo.ConcreteModel, case: Case
) -> SolveResult:
    """A finding judged like a solver's claim; its point is loaded into the model.

    Parameters
    ----------
    said : sequence of str
        For the message, before what the finding says itself.
    """
    began = time.perf_counter()
    claim, found = certified_finding(case, finding)
    load(case, found, model)
    message = finding.message if found.objective is not None else finding.no_point
    known = versions()
    result = result_of(case.model, case.form, case.classification, claim, found)
    notes = remarks_on(
        case.model,
        result.values,
        integer=bool(case.form.integer.any()),
        solver=finding.solver,
        options=case.limits.options,
    )
    facts = {**result.certificate.facts, **notes.facts}
    parts = (*notes.sentences, *said, message or finding.message)
    return replace(
        result,
        certificate=replace(result.certificate, facts=facts),
        solver=finding.solver,
        version=finding.version or known[OWN],
        seconds=time.perf_counter() - began,
        options=finding.options or case.limits.options,
        message="; ".join(part for part in parts if part),
        **settings_of(case.limits),
    )


def load(case: Case, found: Certified, model: pyo.ConcreteModel) -> None:
    """Put a point into the variables of a model, and of the copy of it that was solved."""
    if found.x is not None:
        load_values(case.form, found.x)
        if case.model is not model:
            copy_values(case.model, model)
