"""What our own computation confirms of a live program's last solve, for the rows as they stand."""

from __future__ import annotations

from dataclasses import replace

import pyomo.environ as pyo

from tightmargin.solvers.canonical_form.conic_form import Multipliers
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.certify import certify
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.persistent.primal import LpSolution
from tightmargin.solvers.proofs.exact_lp import exact_lp_bound
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.result import Certificate
from tightmargin.solvers.standard_form.standard_form import StandardForm


def certificate(
    model: pyo.ConcreteModel, form: StandardForm, answer: LpSolution, limits: Limits
) -> Certificate:
    """Certificate of an answer with a point; its bound is in the model's own sense."""
    duals = None
    if answer.y is not None:
        duals = Multipliers(answer.y, form.objective.a - form.A.T @ answer.y, {})
    claim = Claim(answer.status, answer.x, duals, message=answer.message)
    found = certify(Case(model, Subject(form), None, limits), claim).certificate
    return replace(
        found,
        bound=None if found.bound is None else form.sense * found.bound,
        upper=None if found.upper is None else form.sense * found.upper,
    )


def proven_bound(
    model: pyo.ConcreteModel, form: StandardForm, answer: LpSolution, limits: Limits
) -> float | None:
    """Bound from the multipliers alone: rational where that succeeds, else in double precision."""
    exact = None if answer.y is None else exact_lp_bound(form, answer.y)
    if exact is None:
        return certificate(model, form, answer, limits).bound
    return form.sense * exact.value(form.objective.exact_constant)
