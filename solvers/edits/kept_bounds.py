"""Lower bounds of an unedited model that an edit leaves true.

Every point of a model to which rows, bounds, fixings or integrality were added is a point of the
model before; with the same objective, or one that is proven to be nowhere lower, what bounds the
former bounds the latter. So the searches of a family, which know the unedited problem alone, say
something of an edited model too: a bound, and a proof of the optimum where the edit leaves it in.
A search that takes the edit along says more, and is asked first.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, origin_now
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.canonical_form.named_values import named_values
from tightmargin.solvers.certificates.case import Case, Certified
from tightmargin.solvers.edits.difference import Difference
from tightmargin.solvers.edits.differences.decided import Ground
from tightmargin.solvers.edits.differences.model_difference import Answer
from tightmargin.solvers.edits.searches import bound_beside
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.deadline import seconds_left
from tightmargin.solvers.methods import closing_bound
from tightmargin.solvers.proofs.lemma import by_lemma
from tightmargin.solvers.proofs.statement import LowerBound
from tightmargin.solvers.standard_form.standard_form import StandardForm

WORDS = "of the model as it is built, which the edit restricts"
BESIDE = "of the edited problem"


def never_lower(model: pyo.ConcreteModel, form: StandardForm, what: Difference) -> bool:
    """Whether the objective is the builder's, or the builder's and something proven >= 0."""
    if not what.objective:
        return True
    if what.more is None:
        return False
    left = seconds_left()
    ground = Ground(model, form, math.inf if left is None else time.perf_counter() + left)
    return ground.decide(what.more, Fraction(0)).answer is Answer.IMPLIED


def is_of_the_edited(found: Certified) -> bool:
    """Whether a proven optimum rests on a search beside the edit, in which no M occurs."""
    closed = found.certificate.verdict.closed and found.lower is not None
    return closed and found.lower is not None and found.lower.words.endswith(BESIDE)


def with_kept_bound(case: Case, found: Certified, what: Difference) -> Certified:
    """A result with the bound of the unedited model, where that is valid and better.

    Or with that of a search that takes the edit along.
    """
    if found.certificate.verdict.closed or found.objective is None:
        return found
    if found.point is None or found.status is Status.INTERRUPTED:
        return found
    bound = _of_the_unedited(case, found, what)
    if bound is None or (found.lower is not None and found.lower.end >= bound.end):
        return found
    judgement = case.judged(found.point, bound)
    certificate = replace(
        found.certificate, bound=bound.value(case.constant), bound_method=bound.words,
        gap=judgement.gap, facts={**found.certificate.facts, "unit": judgement.unit},
    )  # fmt: skip
    status = found.status
    if judgement.verdict.closed:
        certificate = replace(certificate, verdict=judgement.verdict, reason=judgement.reason)
        status = Status.OPTIMAL
    elif judgement.contradiction:
        certificate = replace(certificate, verdict=judgement.verdict, reason=judgement.reason)
        status = Status.INACCURATE
    return replace(found, status=status, certificate=certificate, lower=bound)


def _of_the_unedited(case: Case, found: Certified, what: Difference) -> LowerBound | None:
    """The closing bound of the family, as a statement about the edited model."""
    written = getattr(case.model, "origin", None)
    if not isinstance(written, Origin) or not case.form.integer.any() or found.x is None:
        return None
    hypotheses = {
        "every point is one of the model as built": not what.loosened,
        "no point costs less": never_lower(case.model, case.form, what),
    }
    if not all(hypotheses.values()):
        return None
    values = named_values(case.model, case.form, found.x)
    own = None if what.objective else bound_beside(case.model, case.form, values)
    if own is not None:
        beside = Lemma(own.value, f"{own.words}, {BESIDE}", own.hypotheses)
        return by_lemma(case.form, beside, case.constant)
    lemma = closing_bound(origin_now(case.model), values)
    if lemma is None:
        return None
    kept = Lemma(lemma.value, f"{lemma.words}, {WORDS}", {**lemma.hypotheses, **hypotheses})
    return by_lemma(case.form, kept, case.constant)
