"""What a method of ours found, as a claim that is checked like that of a solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.cone_recognition import Cone
from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.canonical_form.named_values import (
    multipliers_by_name,
    named_values,
    point_with,
)
from tightmargin.solvers.certificates.case import Case, Certified
from tightmargin.solvers.certificates.certify_point import certify_point
from tightmargin.solvers.certificates.model_bound import BOUND_POINT
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.methods import Finding
from tightmargin.solvers.plain_json import plain


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
