"""What our own computation confirms of a live program's last solve, for the rows as they stand."""

from __future__ import annotations

from dataclasses import replace

import pyomo.environ as pyo

from solvers.backend import Claim, Limits
from solvers.certify import Case, certify
from solvers.classify import classify
from solvers.conic_form import Multipliers
from solvers.exact_lp import exact_lp_bound
from solvers.live.primal import Answer
from solvers.result import Certificate
from solvers.standard_form import StandardForm


def certificate(
    model: pyo.ConcreteModel, form: StandardForm, answer: Answer, limits: Limits
) -> Certificate:
    """Certificate of an answer with a point; its bound is in the model's own sense."""
    duals = None
    if answer.y is not None:
        duals = Multipliers(answer.y, form.objective.a - form.A.T @ answer.y, {})
    claim = Claim(answer.status, answer.x, duals, message=answer.message)
    found = certify(Case(model, form, classify(form), None, limits), claim).certificate
    return found if found.bound is None else replace(found, bound=form.sense * found.bound)


def proven_bound(
    model: pyo.ConcreteModel, form: StandardForm, answer: Answer, limits: Limits
) -> float | None:
    """Bound from the multipliers alone: rational where that succeeds, else in double precision."""
    exact = None if answer.y is None else exact_lp_bound(form, answer.y)
    if exact is None:
        return certificate(model, form, answer, limits).bound
    return form.sense * exact
