"""What an edited model rests on: which derived numbers still say something of the edited problem.

A derived M, slack bound or intercept bound speaks of the points of the model that it was derived
for. Whether what is proven of an edited model is a statement about the edited problem (the 0-1
loss with the user's rows, say, not its big-M form) is decided here, by the kinds of reliances.py.

A relaxation stands for itself: what is proven of it is proven, and whether its bound is one of the
edited problem is said beside that. An exact model stands for its problem: where a number does not
hold there, and was not derived again (below), there is no bound. In both cases the
certificate names the rows and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.reliances import (
    Reliance,
    big_m_rule,
    reliances,
    rests_on_something,
    stated_quantities,
)
from tightmargin.solvers.certify.case import GAP_TOLERANCE, Case, Certified
from tightmargin.solvers.edits.decided import never_lower
from tightmargin.solvers.edits.edit import Edit, as_built, edit_of, set_anew, unedited_origin
from tightmargin.solvers.edits.rederive import costs_no_less, switched_rows
from tightmargin.solvers.edits.searches import bound_beside
from tightmargin.solvers.kernel import statement as gap
from tightmargin.solvers.kernel.statement import LowerBound, by_lemma
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.convexity import CONVEX_CLASSES
from tightmargin.solvers.model.names import named_values
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.registry import closing_bound
from tightmargin.solvers.result import COPY, OF_THE_PROBLEM, SolveResult


@dataclass(frozen=True, eq=False)
class Premises:
    """What an edited catalogue model rests on, and how it differs from the builder's.

    blocks: models of the catalogue inside this one that rest on something, with what.
    repriced: whether the model is its builder's but for a Param that was set anew since something
        was derived from its former value: then the formulation's own check says whether that holds.
    itself: whether it is a relaxation, which stands for itself.
    rederived: where `rederive` has set its M for it as it stands: how.
    """

    reliances: tuple[Reliance, ...] = ()
    edit: Edit = field(default_factory=Edit)
    blocks: tuple[str, ...] = ()
    repriced: bool = False
    itself: bool = False
    rederived: str = ""


def stands_for_itself(model: pyo.ConcreteModel) -> bool:
    """Whether a model of the catalogue is a relaxation, or convex, and not the exact problem."""
    origin = getattr(model, "origin", None)
    entry = CATALOGUE.get(origin.entry) if isinstance(origin, Origin) else None
    return entry is not None and (
        entry.relaxes is not None or entry.problem_class in CONVEX_CLASSES
    )


def premises_of(
    model: pyo.ConcreteModel, form: StandardForm, *, established: bool = False
) -> Premises | None:
    """What is to be asked of an edited model; None when nothing is.

    model, form: as it is solved.
    established: whether its M was derived again for it as it stands.
    """
    origin = unedited_origin(model, form)
    itself = stands_for_itself(model)
    if origin is not None:
        priced = None if established else _of_another_price(model.origin, origin)
        return priced if priced is None else replace(priced, itself=itself)
    blocks = _blocks(model)
    if not isinstance(getattr(model, "origin", None), Origin):
        return Premises(blocks=blocks) if blocks else None
    now = origin_now(model)
    if not rests_on_something(now):
        return Premises(blocks=blocks) if blocks else None
    edit, how = edit_of(model, form), ""
    if edit is None or edit.is_none:
        return None
    found = reliances(model.origin, now, as_built(model, form), model)
    if established:
        found = tuple(reliance for reliance in found if reliance.argument != "big_m")
        how = str(model.big_m_proof.proof)
    return Premises(found, edit, blocks, itself=itself, rederived=how)


def _of_another_price(written: Origin, now: Origin) -> Premises | None:
    """An unedited model with a Param that was set anew, where something was derived from it."""
    changed = set_anew(written, now)
    if not changed:
        return None
    given = now.parameters.get("slack_bounds")
    if given is not None and not isinstance(given, str):
        names = " and ".join(changed)
        edit = Edit(objective=f"{names} was set anew since")
        return Premises((Reliance("big_m and the bounds of z", "slack_bounds", False),), edit)
    words = [written.parameters.get(word) for word in ("big_m", "intercept_bound")]
    derived = any(isinstance(word, str) and word == "derived" for word in words)
    return Premises(repriced=True) if derived else None


def _blocks(model: pyo.ConcreteModel) -> tuple[str, ...]:
    found = []
    for block in model.component_objects(pyo.Block, active=True, descend_into=True):
        origin = getattr(block, "origin", None)
        if isinstance(origin, Origin):
            words = stated_quantities(origin)
            if words:
                found.append(f"block {block.name} is {origin.entry} with its {' and '.join(words)}")
    return tuple(found)


def about_the_problem(case: Case, found: Certified, premises: Premises) -> Certified:
    """The certificate of an edited model, with what it says about the edited problem.

    Of an exact model with a derived quantity that the edit may invalidate there is no bound, and
    the verdict is NOT_CERTIFIED, also where the model as written has no point. With a stated one,
    and of a relaxation, the certificate is that of the model as written, and says so. Where the
    model as written falls without end its problem does, which has all its points.
    """
    if premises.repriced:
        doubt = "" if found.status is Status.INFEASIBLE else found.certificate.unproven
        if not doubt:
            return found
        if not premises.itself:
            return _without_bound(found, f"{doubt}: build the model again")
        doubt = f"{doubt}: take tm.rederive(model), or build the model again"
        return replace(found, certificate=replace(found.certificate, unproven=doubt))
    found = with_kept_bound(case, found, premises.edit)
    if is_of_the_edited(found):
        return found
    lost = [(r, why) for r in premises.reliances if (why := _lost(case, found, premises.edit, r))]
    words = [why for _, why in lost]
    words += [f"{block}: the result is about the model as written" for block in premises.blocks]
    if not words:
        return _bounds_the_problem(case, found, premises) if premises.itself else found
    if not premises.blocks and _is_empty_without(case, found, [r for r, _ in lost]):
        return found
    certificate = replace(found.certificate, unproven="; ".join(words))
    if (
        premises.itself
        or found.status is Status.UNBOUNDED
        or all(reliance.stated for reliance, _ in lost)
    ):
        return replace(found, certificate=certificate)
    return _without_bound(replace(found, certificate=certificate), words[0])


def _is_empty_without(case: Case, found: Certified, lost: list[Reliance]) -> bool:
    """Whether the Farkas vector of an infeasible model leaves out the rows that were lost."""
    if found.status is not Status.INFEASIBLE or found.proof is None or found.proof.cones:
        return False
    if found.certificate.verdict is not Verdict.CERTIFIED:
        return False
    families = {reliance.rows.removeprefix("rows ") for reliance in lost}
    names = [component.name for component, _ in case.form.rows.locations()]
    if not families <= set(names):  # bounds of variables count in every Farkas vector
        return False
    used = {name for name, y in zip(names, found.proof.rows.tolist(), strict=True) if y}
    return not used & families


def _bounds_the_problem(case: Case, found: Certified, premises: Premises) -> Certified:
    """A relaxation whose bound is one of the edited problem too, with why it is."""
    value = _value(case, found)
    if found.certificate.bound is None or value is None:
        return found
    parts = [f"big_m was derived for it, {premises.rederived}"] if premises.rederived else []
    for reliance in premises.reliances:
        where = "" if reliance.holds_at is None else f" at its points of objective <= {value:.6g}"
        parts.append(f"{reliance.quantity} of {reliance.rows} holds{where} after the edit")
    facts = {**found.certificate.facts, OF_THE_PROBLEM: "; ".join(parts)}
    return replace(found, certificate=replace(found.certificate, facts=facts))


def by_a_copy(result: SolveResult, copied: str) -> SolveResult:
    """A result of the edited problem, proven of a copy of the model with numbers of its own."""
    facts = {**result.certificate.facts, COPY: copied}
    return replace(result, certificate=replace(result.certificate, facts=facts))


def _without_bound(found: Certified, why: str) -> Certified:
    """A result whose value says nothing from below."""
    reasons = (found.certificate.reason, f"no statement about the edited problem: {why}")
    certificate = replace(
        found.certificate, verdict=Verdict.NOT_CERTIFIED, bound=None, bound_method="", gap=None,
        reason="; ".join(reason for reason in reasons if reason),
    )  # fmt: skip
    status = Status.FEASIBLE if found.status is Status.OPTIMAL else found.status
    return replace(found, status=status, certificate=certificate)


def _lost(case: Case, found: Certified, edit: Edit, reliance: Reliance) -> str:
    """Why a result says nothing about the edited problem as far as these rows go, or ""."""
    if not edit.is_restriction and not _costs_no_less(case, edit, reliance):
        reason = edit.loosened or edit.objective
        return _words(reliance, f"and {reason}", None)
    raised = {name for part in edit.added for name in part.holds_up} & reliance.raised
    turned = {name for part in edit.added for name in part.touched} & reliance.turned
    if raised or turned:
        names = ", ".join(sorted(raised | turned))
        return _words(reliance, f"and the edit ({edit.words}) holds {names}", None)
    if reliance.always_lost:
        exchanged = f"and holds at some optimum that the edit ({edit.words}) may exclude"
        return _words(reliance, exchanged, None)
    value = _value(case, found)
    if reliance.holds_at is None:
        return ""
    if found.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED):
        return _words(reliance, "so that points of a larger objective are left out", None)
    if value is None or reliance.holds_at(value):
        return ""
    excluded = f"the edit ({edit.words}) may leave no point as good (the value is {value:.6g})"
    return _words(reliance, excluded, value if case.form.integer.any() else None)


def _costs_no_less(case: Case, edit: Edit, reliance: Reliance) -> bool:
    """Whether an edit restricts, and adds to the objective what is at least 0 whatever M is."""
    if edit.loosened or reliance.holds_at is None or reliance.argument != "big_m":
        return False
    rule = big_m_rule(origin_now(case.model))
    rows = None if rule is None else switched_rows(case.model, case.form, rule)
    return rule is not None and rows is not None and costs_no_less(case.model, rule, rows, edit)


def _value(case: Case, found: Certified) -> float | None:
    """Objective up to which statements must hold, for a bound and a value to be of the problem.

    Whatever points the problem has, none is below min(bound, V) when the statements hold up to V.
    """
    bound, objective = found.certificate.bound, found.objective
    claimed = found.certificate.solver_bound
    known = [bound]
    if objective is not None:
        known.append(objective - GAP_TOLERANCE * _unit(case, objective, bound))
    elif claimed is not None:
        known.append(claimed)
    numbers = [number for number in known if number is not None]
    return max(0.0, *numbers) if numbers else None


def _unit(case: Case, objective: float, bound: float | None) -> float:
    return gap.unit(objective, objective if bound is None else bound, case.constants[1])


def _words(reliance: Reliance, reason: str, value: float | None) -> str:
    rows, quantity = reliance.rows, reliance.quantity
    if reliance.stated:
        said = f"{rows}: {quantity} is stated and not proven for the edited problem"
    elif reliance.known is not None:
        said = f"{rows}: {quantity} was derived from a point of objective {reliance.known:.6g}"
    else:
        said = f"{rows}: {quantity} was derived for the unedited problem"
    return f"{said}, {reason}; {_advice(reliance, value)}"


def _advice(reliance: Reliance, value: float | None) -> str:
    argument = reliance.argument
    if not argument:
        return "edit only what leaves it alone, or take a formulation without these rows"
    if value is not None and reliance.needed_at is not None:
        needed = float(reliance.needed_at(value).max()) * (1 + 1e-5)  # six digits may round down
        if np.isfinite(needed):
            return f"rebuild with {argument}={needed:.6g} or more, valid for the edited problem"
    if argument == "big_m":
        return "take tm.rederive(model), or rebuild with a big_m that is valid for it"
    if argument == "incumbent":
        return "take the big-M form with a number for big_m"
    return f"rebuild without {argument}, or with one that is valid for the edited problem"


# --- Lower bounds of an unedited model that an edit leaves true ----------------------------------
# Every point of a model to which rows, bounds, fixings or integrality were added is a point of the
# model before; with the same objective, or one that is proven to be nowhere lower, what bounds the
# former bounds the latter. So the searches of a family, which know the unedited problem alone, say
# something of an edited model too: a bound, and a proof of the optimum where the edit leaves it
# in. A search that takes the edit along says more, and is asked first.


WORDS = "of the model as it is built, which the edit restricts"
BESIDE = "of the edited problem"


def is_of_the_edited(found: Certified) -> bool:
    """Whether a proven optimum rests on a search beside the edit, in which no M occurs."""
    lower = found.lower
    return found.certificate.verdict.closed and lower is not None and lower.words.endswith(BESIDE)


def with_kept_bound(case: Case, found: Certified, edit: Edit) -> Certified:
    """A result with the bound of the unedited model, where that is valid and better.

    Or with that of a search that takes the edit along.
    """
    if found.certificate.verdict.closed or found.objective is None:
        return found
    if found.point is None or found.status is Status.INTERRUPTED:
        return found
    bound = _of_the_unedited(case, found, edit)
    if bound is None or (found.lower is not None and found.lower.end >= bound.end):
        return found
    judgement = case.judged(found.point, bound)
    certificate = replace(
        found.certificate, bound=bound.value(case.constant), bound_method=bound.words,
        gap=judgement.gap, facts={**found.certificate.facts, "unit": judgement.unit},
    )  # fmt: skip
    status = found.status
    if judgement.verdict.closed or judgement.contradiction:
        certificate = replace(certificate, verdict=judgement.verdict, reason=judgement.reason)
        status = Status.INACCURATE if judgement.contradiction else Status.OPTIMAL
    return replace(found, status=status, certificate=certificate, lower=bound)


def _of_the_unedited(case: Case, found: Certified, edit: Edit) -> LowerBound | None:
    """The closing bound of the family, as a statement about the edited model."""
    written = getattr(case.model, "origin", None)
    if not isinstance(written, Origin) or not case.form.integer.any() or found.x is None:
        return None
    hypotheses = {
        "every point is one of the model as built": not edit.loosened,
        "no point costs less": never_lower(case.model, case.form, edit),
    }
    if not all(hypotheses.values()):
        return None
    values = named_values(case.model, case.form, found.x)
    own = None if edit.objective else bound_beside(case.model, case.form, values)
    if own is not None:
        beside = Lemma(own.value, f"{own.words}, {BESIDE}", own.hypotheses)
        return by_lemma(case.form, beside, case.constant)
    lemma = closing_bound(origin_now(case.model), values)
    if lemma is None:
        return None
    kept = Lemma(lemma.value, f"{lemma.words}, {WORDS}", {**lemma.hypotheses, **hypotheses})
    return by_lemma(case.form, kept, case.constant)
