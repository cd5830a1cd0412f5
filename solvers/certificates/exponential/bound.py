"""Bounds and points of models with exp, log and entropy in convex places.

A term is a column t above a few affine functions, which are tangents at the point found and a
little on each side of it: between those all slopes are to be had, so that multipliers can be made
to leave nothing on free variables. The model with them in the place of the terms is an ordinary
convex one, whose bound is proven as that of any, and the kernel says that it is one of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.conic_form import Multipliers, conic_multipliers
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.certificates.exponential.tangents import (
    outermost,
    slopes_at,
    start_of,
    with_terms,
)
from tightmargin.solvers.certificates.model_bound import Bound, model_bound, of_clarabel
from tightmargin.solvers.certificates.multiplier_search import ABOVE, larger
from tightmargin.solvers.exact_points.exact_point import exact_point
from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.execution.deadline import is_over
from tightmargin.solvers.proofs.exponential.affine_minorants import (
    Minorised,
    minorised,
    of_the_model,
)
from tightmargin.solvers.proofs.exponential.points import proven_exponential_point
from tightmargin.solvers.proofs.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.proofs.subject import Subject
from tightmargin.solvers.proofs.weak_duality import proven_bound
from tightmargin.solvers.standard_form.exponential_terms import exponential_form

ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A model with affine functions in the place of its terms, solved.

    Attributes
    ----------
    proof : Minorised
    case : Case
        Of that model.
    x : array
    duals : Multipliers
    """

    proof: Minorised
    case: Case
    x: Array
    duals: Multipliers


def relaxations(case: Case, x: Array) -> Iterator[Relaxation]:
    """Tangents near a point, then those at the optimum that they lead to besides, and so on."""
    read = exponential_form(case.form)
    assert read is not None
    at = start_of(read, x)
    slopes = outermost(read)
    for _ in range(ROUNDS):
        slopes += slopes_at(read, at)
        proof = minorised(case.form, slopes)
        if proof is None:
            return
        inner = Case(read.model, Subject(proof.form), None, case.limits)
        other = of_clarabel(inner, closer=True)
        if isinstance(other, str):
            return
        yield Relaxation(proof, inner, *other)
        if is_over():
            return
        at = with_terms(read, other[0])


def exponential_bound(case: Case, x: Array) -> Bound:
    """The best bound from tangents near a point, and from those at the optima that they lead to."""
    read = exponential_form(case.form)
    if read is None or read.form.nonlinear or not Subject(read.form).classification.convex:
        return Bound(reason=f"no convex relaxation: {case.classification.reason}")
    best = Bound(reason="no bound is proven")
    known = read.form.objective.varying(start_of(read, x))
    for relaxation in relaxations(case, x):
        best = best.better(_bound_of(case, relaxation, known))
        if case.closes(known + case.constant, best.proof):
            break
    return best


def exponential_point(case: Case, x: Array) -> FeasiblePoint | None:
    """A feasible point near one that is nearly so, and what it costs."""
    read = exponential_form(case.form)
    if read is None or read.form.nonlinear or not np.isfinite(x).all():
        return None
    at = start_of(read, x)
    found = proven_exponential_point(case.form, at)
    if found is not None and found.exact:
        return found
    proof = minorised(case.form, slopes_at(read, at))
    if proof is None:
        return found
    subject = Subject(proof.form)
    if subject.classification.convex:
        near = exact_point(proof.form, subject.classification, at, case.limits)
        if near is not None and near.x is not None:
            repaired = proven_exponential_point(case.form, near.x, near.rational)
            if repaired is not None and repaired.exact:
                return repaired
    return found


def _bound_of(case: Case, relaxation: Relaxation, known: float) -> LowerBound | None:
    """The bound of the model with affine functions, as one of the model."""
    proof, inner, x, duals = relaxation.proof, relaxation.case, relaxation.x, relaxation.duals
    # Values of terms are free, and there are as many as points: limits are cheaper than exactness.
    z = conic_multipliers(inner.conic, duals)
    found = proven_bound(inner.subject, x, z, known + abs(known) * ABOVE)
    if found is None or not case.closes(known + case.constant, of_the_model(proof, found)):
        found = larger(found, model_bound(inner, Claim(Status.OPTIMAL, x=x, duals=duals)).proof)
    return None if found is None else of_the_model(proof, found)
