"""What a run proves, and what it merely says.

The rows that were found belong to the problem, so a lower bound of the model with them is one of
the problem, whatever else its separators would return; the kernel proves it. That no row is missing
at the accepted point is another matter: a Python function has said so, and no proof rests on that.
The kernel therefore gets no feasible point of the problem, unless every separator is one of the
library that proves its rows and completes the point, both in exact arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tightmargin.cuts.separation.asking import Asking
from tightmargin.cuts.separation.engines.ended import Ended
from tightmargin.cuts.separators.combinatorial_benders import CombinatorialBenders
from tightmargin.cuts.separators.conflicts import Conflicts
from tightmargin.cuts.separators.proven_row import Completing
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.solvers.certify.case import Case, onto_bounds
from tightmargin.solvers.certify.multipliers import model_bound
from tightmargin.solvers.certify.no_optimum import find_infeasibility
from tightmargin.solvers.engines.running import SHORTEST, Limits, StopReason
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.points import proven_point
from tightmargin.solvers.kernel.statement import (
    FeasiblePoint,
    Infeasible,
    LowerBound,
    by_lemma,
    point_by_formula,
)
from tightmargin.solvers.kernel.verdict import Verdict, judged, judged_without_optimum
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.residuals import primal_residual
from tightmargin.solvers.result import Certificate
from tightmargin.solvers.tree.method import SIZE_LIMIT, budget
from tightmargin.solvers.tree.node import with_integers
from tightmargin.solvers.tree.search import tree_search


@dataclass(frozen=True)
class _Problem:
    """What a model and the separators of the library say together: a subject of proofs."""

    form: StandardForm
    words: str


def certificate_of(
    asking: Asking, ended: Ended, limits: Limits, prove: float | bool | None, seconds: float
) -> tuple[Array | None, Certificate]:
    """The accepted point, made exact where that can be proven, and what is proven of the problem.

    limits: of the whole run.
    prove: as in solve().
    seconds: that the run has taken so far.
    """
    x = None if ended.x is None else onto_bounds(asking.base, ended.x)
    case = asking.case(limits.without(seconds))
    proof = _proof(case, replace(ended, x=x), limits, prove, seconds)
    if isinstance(proof, Infeasible):
        return None, _without_point(asking, proof)
    found, certificate = _by_library(asking, case, x, proof) or _by_word(asking, ended, x, proof)
    return found, _told(asking, ended, found, proof, certificate)


def _proof(
    case: Case, ended: Ended, limits: Limits, prove: float | bool | None, seconds: float
) -> LowerBound | Infeasible | None:
    """The best the kernel proves of the model with all rows."""
    if ended.proof is not None:
        return ended.proof
    kind = case.classification
    if not kind.relaxes_to_convex:
        return None
    stopped = ended.stop is StopReason.INTERRUPTED
    if kind.has_integers and case.form.n <= SIZE_LIMIT and prove is not False and not stopped:
        asked = budget(limits.time_limit, seconds, prove)
        if asked is None or asked > SHORTEST:
            timed = replace(case, limits=replace(case.limits, time_limit=asked))
            return tree_search(timed, ended.x).bound
    claim = Claim(ended.status, ended.x, ended.duals, ended.claimed)
    if ended.status is Status.INFEASIBLE:
        return find_infeasibility(case.form, case.limits) or tree_search(case, node_limit=1).bound
    return model_bound(case, claim).proof


def _told(
    asking: Asking,
    ended: Ended,
    x: Array | None,
    proof: LowerBound | None,
    certificate: Certificate,
) -> Certificate:
    """The certificate with what every result has, in the sense of the model."""
    sense, constant = asking.base.sense, asking.base.objective.constant
    rows = count_text(len(asking.rows), "row")
    bound = None if proof is None else sense * proof.value(constant)
    if certificate.bound is not None:
        bound = sense * certificate.bound
    residual = None if x is None else primal_residual(asking.form, x)[0]
    return replace(
        certificate,
        primal_residual=residual,
        bound=bound,
        bound_method="" if proof is None else f"{proof.words}, with the {rows} that were found",
        solver_bound=None if ended.claimed is None else sense * ended.claimed,
        upper=None if certificate.upper is None else sense * certificate.upper,
    )


def _by_word(
    asking: Asking, ended: Ended, x: Array | None, proof: LowerBound | None
) -> tuple[Array | None, Certificate]:
    """Nobody but the separators says that no row is missing."""
    judgement = judged(None, proof)
    reason = judgement.reason
    if x is not None:
        said = " and ".join(asking.separators)
        reason = f"that no row is missing at the point is the word of separator {said}"
    elif ended.status is Status.INFEASIBLE:
        return x, Certificate(judgement.verdict, "that no point is left is the engine's word")
    if proof is None:
        reason += "; no bound is proven"
    return x, Certificate(judgement.verdict, reason)


def _without_point(asking: Asking, proof: Infeasible) -> Certificate:
    """No point is left: proven of the model with the rows, of which each is somebody's word."""
    judgement = judged_without_optimum(proof)
    trusted, cutoff = _trusted(asking), _cutoff(asking)
    sure = trusted is not None and not any(s.refusal(asking.base) for s in trusted)
    if sure and math.isfinite(cutoff):
        # The rows hold up to the cutoff only: what is proven is that nothing is as cheap as that.
        words = f"no point is known, and nothing of objective {cutoff:.9g} or less is left"
        bound = asking.base.sense * cutoff
        return Certificate(Verdict.NOT_CERTIFIED, words, bound=bound, bound_method=proof.words)
    if sure or not asking.rows:
        return Certificate(judgement.verdict, judgement.reason, bound_method=proof.words)
    rows = count_text(len(asking.rows), "row")
    said = " and ".join(dict.fromkeys(row.separator for row in asking.rows))
    reason = (
        f"the model with the {rows} found is proven to have no point; that the rows belong to the "
        f"problem is the word of separator {said}"
    )
    return Certificate(Verdict.NOT_CERTIFIED, reason, bound_method=proof.words)


def _cutoff(asking: Asking) -> float:
    """Objective of the minimisation up to which all rows hold."""
    return min((row.cutoff for row in asking.rows), default=math.inf)


# --- separators of the library that prove what they say ------------------------------------------


def _trusted(asking: Asking) -> list[Completing] | None:
    """The separators, where each proves its rows and completes points; None otherwise."""
    known: list[Completing] = []
    for separator in asking.separators.values():
        # By class: nobody else's function can say of itself that it is one of these.
        if type(separator) is CombinatorialBenders or type(separator) is Conflicts:
            known.append(separator)
    whole = len(known) == len(asking.separators)
    return known if whole and all(row.exact for row in asking.rows) else None


def _by_library(
    asking: Asking, case: Case, x: Array | None, proof: LowerBound | None
) -> tuple[Array, Certificate] | None:
    """The verdict on the problem of separators that prove what they say; None where one does not.

    A row that holds up to a cutoff U makes min(U, bound) a bound of the problem.
    """
    trusted = _trusted(asking)
    if trusted is None or x is None or proof is None:
        return None
    base, constant = asking.base, asking.base.objective.constant
    reasons = [reason for s in trusted if (reason := s.refusal(base))]
    if reasons:
        return x, Certificate(Verdict.NOT_CERTIFIED, "; ".join(reasons))
    point = _completed(replace(case, subject=Subject(base)), x, trusted)
    if point is None or point.x is None:
        words = "no point next to the accepted one is proven to be one of the problem"
        return x, Certificate(Verdict.NOT_CERTIFIED, words)
    subject = _Problem(base, "; ".join(s.problem for s in trusted))
    rows = count_text(len(asking.rows), "row")
    lemma = Lemma(
        min(proof.value(constant), _cutoff(asking)),
        f"{proof.words}, with the {rows} that were found",
        {"every row was derived again in exact arithmetic": all(row.exact for row in asking.rows)},
    )
    lower = by_lemma(subject, lemma, constant)
    exact = point_by_formula(subject, point.varying, 0.0, subject.words, point.x)
    judgement = judged(exact, lower, absolute_gap=case.limits.absolute_gap)
    return point.x, Certificate(
        judgement.verdict,
        judgement.reason,
        gap=judgement.gap,
        upper=exact.value(constant),
        bound=None if lower is None else lower.value(constant),
        facts={} if judgement.unit is None else {"unit": judgement.unit},
    )


def _completed(base: Case, x: Array, trusted: list[Completing]) -> FeasiblePoint | None:
    """A point of the model next to x at which the separators miss no row, all of it proven."""
    integers = base.form.integer.any()
    near = with_integers(base, x) if integers else None
    at = x if near is None or near.x is None else near.x
    for separator in trusted:
        found = separator.completed(base.form, at)
        if found is None:
            return None
        at = found
    return proven_point(base.form, at)
