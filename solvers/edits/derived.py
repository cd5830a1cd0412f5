"""Derived quantities after an edit: which rows still say something of the edited problem.

A derived M, slack bound or intercept bound speaks of the points of the model that it was derived
for. Whether what is proven of an edited model is a statement about the edited problem (the 0-1
loss with the user's rows, say, not its big-M form) is decided here, by the kinds of reliances.py.

A relaxation stands for itself: what is proven of it is proven, and whether its bound is one of the
edited problem is said beside that. An exact model stands for its problem: where a number does not
hold there, and was not derived again (edits/rederive.py), there is no bound. In both cases the
certificate names the rows and what to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.big_m_rules import big_m_rule
from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.formulations.reliances import (
    Reliance,
    reliances,
    rests_on_something,
    stated_quantities,
)
from tightmargin.solvers.certify.case import GAP_TOLERANCE, Case, Certified
from tightmargin.solvers.disjunctive import is_disjunctive, transformed
from tightmargin.solvers.edits.difference import Difference, difference
from tightmargin.solvers.edits.switched_rows import (
    costs_no_less,
    is_of_the_edited,
    switched_rows,
    with_kept_bound,
)
from tightmargin.solvers.kernel import statement as gap
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.convexity import CONVEX_CLASSES
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import without_norms, without_quotients
from tightmargin.solvers.result import COPY, OF_THE_PROBLEM, SolveResult


@dataclass(frozen=True, eq=False)
class Edit:
    """An edited catalogue model: what it rests on, and how it differs from the builder's.

    blocks: models of the catalogue inside this one that rest on something, with what.
    repriced: whether the model is its builder's but for a Param that was set anew since something
        was derived from its former value: then the formulation's own check says whether that holds.
    itself: whether it is a relaxation, which stands for itself.
    rederived: where `rederive` has set its M for it as it stands: how.
    """

    reliances: tuple[Reliance, ...] = ()
    difference: Difference = field(default_factory=Difference)
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


def edit_of(
    model: pyo.ConcreteModel,
    form: StandardForm,
    origin: Origin | None,
    *,
    established: bool = False,
) -> Edit | None:
    """What is to be asked of an edited model; None when nothing is.

    model, form: as it is solved.
    origin: of a model that its builder wrote.
    established: whether its M was derived again for it as it stands (edits/rederive.py).
    """
    itself = stands_for_itself(model)
    if origin is not None:
        priced = None if established else _of_another_price(model.origin, origin)
        return priced if priced is None else replace(priced, itself=itself)
    blocks = _blocks(model)
    if not isinstance(getattr(model, "origin", None), Origin):
        return Edit(blocks=blocks) if blocks else None
    now = origin_now(model)
    if not rests_on_something(now):
        return Edit(blocks=blocks) if blocks else None
    fresh = CATALOGUE[now.entry].build(now.data, **now.parameters)
    found = reliances(model.origin, now, fresh, model)
    what = difference(model, form, fresh, now.parameters.get("transformation", "bigm"))
    how = ""
    if established:
        found = tuple(reliance for reliance in found if reliance.argument != "big_m")
        how = str(model.big_m_proof.proof)
    if what.is_restriction and not what.added:
        return None
    return Edit(found, what, blocks, itself=itself, rederived=how)


def difference_of(model: pyo.ConcreteModel) -> Difference | None:
    """How a catalogue model differs from a new one of its builder; None for foreign models."""
    if not isinstance(getattr(model, "origin", None), Origin):
        return None
    now = origin_now(model)
    way = now.parameters.get("transformation", "bigm")
    plain = without_quotients(transformed(model, way) if is_disjunctive(model) else model)
    target = without_norms(plain)
    fresh = CATALOGUE[now.entry].build(now.data, **now.parameters)
    stated, form = representable(target)
    return difference(stated, form, fresh, way)


def _of_another_price(written: Origin, now: Origin) -> Edit | None:
    """An unedited model with a Param that was set anew, where something was derived from it."""
    changed = [
        word
        for word, value in written.parameters.items()
        if isinstance(value, int | float)
        and isinstance(now.parameters[word], int | float)
        and value != now.parameters[word]
    ]
    if not changed:
        return None
    given = now.parameters.get("slack_bounds")
    if given is not None and not isinstance(given, str):
        names = " and ".join(changed)
        what = Difference(objective=f"{names} was set anew since")
        return Edit((Reliance("big_m and the bounds of z", "slack_bounds", False),), what)
    words = [written.parameters.get(word) for word in ("big_m", "intercept_bound")]
    derived = any(isinstance(word, str) and word == "derived" for word in words)
    return Edit(repriced=True) if derived else None


def _blocks(model: pyo.ConcreteModel) -> tuple[str, ...]:
    found = []
    for block in model.component_objects(pyo.Block, active=True, descend_into=True):
        origin = getattr(block, "origin", None)
        if isinstance(origin, Origin):
            words = stated_quantities(origin)
            if words:
                found.append(f"block {block.name} is {origin.entry} with its {' and '.join(words)}")
    return tuple(found)


def about_the_problem(case: Case, found: Certified, edit: Edit | None) -> Certified:
    """The certificate of an edited model, with what it says about the edited problem.

    Of an exact model with a derived quantity that the edit may invalidate there is no bound, and
    the verdict is NOT_CERTIFIED, also where the model as written has no point. With a stated one,
    and of a relaxation, the certificate is that of the model as written, and says so. Where the
    model as written falls without end its problem does, which has all its points.
    """
    if edit is None:
        return found
    if edit.repriced:
        doubt = "" if found.status is Status.INFEASIBLE else found.certificate.unproven
        if not doubt:
            return found
        if not edit.itself:
            return _without_bound(found, f"{doubt}: build the model again")
        doubt = f"{doubt}: take tm.rederive(model), or build the model again"
        return replace(found, certificate=replace(found.certificate, unproven=doubt))
    found = with_kept_bound(case, found, edit.difference)
    if is_of_the_edited(found):
        return found
    lost = [(r, why) for r in edit.reliances if (why := _lost(case, found, edit.difference, r))]
    words = [why for _, why in lost]
    words += [f"{block}: the result is about the model as written" for block in edit.blocks]
    if not words:
        return _bounds_the_problem(case, found, edit) if edit.itself else found
    if not edit.blocks and _is_empty_without(case, found, [r for r, _ in lost]):
        return found
    certificate = replace(found.certificate, unproven="; ".join(words))
    if (
        edit.itself
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


def _bounds_the_problem(case: Case, found: Certified, edit: Edit) -> Certified:
    """A relaxation whose bound is one of the edited problem too, with why it is."""
    value = _value(case, found)
    if found.certificate.bound is None or value is None:
        return found
    parts = [f"big_m was derived for it, {edit.rederived}"] if edit.rederived else []
    for reliance in edit.reliances:
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


def _lost(case: Case, found: Certified, what: Difference, reliance: Reliance) -> str:
    """Why a result says nothing about the edited problem as far as these rows go, or ""."""
    if not what.is_restriction and not _costs_no_less(case, what, reliance):
        reason = what.loosened or what.objective
        return _words(reliance, f"and {reason}", None)
    raised = {name for part in what.added for name in part.holds_up} & reliance.raised
    turned = {name for part in what.added for name in part.touched} & reliance.turned
    if raised or turned:
        names = ", ".join(sorted(raised | turned))
        return _words(reliance, f"and the edit ({what.words}) holds {names}", None)
    if reliance.always_lost:
        exchanged = f"and holds at some optimum that the edit ({what.words}) may exclude"
        return _words(reliance, exchanged, None)
    value = _value(case, found)
    if reliance.holds_at is None:
        return ""
    if found.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED):
        return _words(reliance, "so that points of a larger objective are left out", None)
    if value is None or reliance.holds_at(value):
        return ""
    excluded = f"the edit ({what.words}) may leave no point as good (the value is {value:.6g})"
    return _words(reliance, excluded, value if case.form.integer.any() else None)


def _costs_no_less(case: Case, what: Difference, reliance: Reliance) -> bool:
    """Whether an edit restricts, and adds to the objective what is at least 0 whatever M is."""
    if what.loosened or reliance.holds_at is None or reliance.argument != "big_m":
        return False
    rule = big_m_rule(origin_now(case.model))
    rows = None if rule is None else switched_rows(case.model, case.form, rule)
    return rule is not None and rows is not None and costs_no_less(case.model, rule, rows, what)


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


# --- Whether a row of a gap table and its exact problem were edited alike ------------------------
# The statements of an edit (rows, bounds, fixings, by names of variables and with their numbers)
# that are added to a relaxation must be among those added to the exact problem: every point of the
# edited exact problem then satisfies them, and the relaxation bounds it. A model that has lost
# rows or got another objective, or an edit of variables that the exact problem does not have, is
# another problem's, and nothing is said about the distance between the two.


EditFunction = Callable[[pyo.ConcreteModel], Any]

OTHER = "an edited model: its optimum is another problem's than that of the exact row"


@dataclass(frozen=True, eq=False)
class Side:
    """A row, or the exact problem, with the model it came from if that is at hand."""

    model: pyo.ConcreteModel | None
    result: SolveResult

    @property
    def name(self) -> str:
        """Its entry in the catalogue, or the name of a foreign model."""
        own = "" if self.model is None else str(self.model.name)
        return self.result.formulation or own

    @property
    def foreign(self) -> bool:
        """Whether it is no model of the catalogue: what it bounds is the user's word."""
        return self.result.formulation not in CATALOGUE

    @cached_property
    def edited(self) -> bool:
        """Whether a model of the catalogue is not what its builder writes."""
        checked = not self.foreign and CATALOGUE[self.result.formulation].check is not None
        unedited_without_point = (
            self.result.status is Status.INFEASIBLE and self._is_as_built
        )  # its level may be "model" because of a stated M
        return checked and self.result.certificate.level == "model" and not unedited_without_point

    @property
    def _is_as_built(self) -> bool:
        found = self.difference
        return found is not None and found.is_restriction and not found.added

    @cached_property
    def difference(self) -> Difference | None:
        """How its model differs from its builder's; None where there is none to ask."""
        return None if self.model is None else difference_of(self.model)


def edited_copy(model: pyo.ConcreteModel, edit: EditFunction, label: str) -> pyo.ConcreteModel:
    """A model that is ours to change, after the user's edit.

    Raises Exception: whatever the edit raises, with a note that names the row.
    """
    try:
        returned = edit(model)
    except Exception as error:
        error.add_note(f"raised by edit= on the row {label}")
        raise
    if returned is None:
        return model
    if not isinstance(returned, pyo.ConcreteModel) or not isinstance(
        getattr(returned, "origin", None), Origin
    ):
        raise ValueError(f"edit= must change the model or return it, and returned {returned!r}")
    return returned


def why_no_gap(row: Side, exact: Side) -> str:
    """Why a row says nothing about the exact problem because one was edited; empty if it does."""
    if row.foreign or (exact.foreign and not row.edited):
        return ""
    if not row.edited and not exact.edited:
        return ""
    if exact.foreign:
        return f"{OTHER}, which is no model of the catalogue"
    if row.edited and not exact.edited:
        return f"{OTHER}; edit= of compare edits both"
    if exact.edited and exact.difference is None:
        return "the exact row is a result of an edited model: give the model, or edit="
    return _why_apart(row, exact)


def _why_apart(row: Side, exact: Side) -> str:
    ours = row.difference if row.edited else Difference()
    theirs = exact.difference
    assert theirs is not None
    if ours is None:
        return f"{OTHER}, and its model is not at hand"
    for what, name in ((ours, "this row"), (theirs, "the exact row")):
        if not what.is_restriction:
            return f"{OTHER}: in {name} {what.loosened or what.objective}"
    if any(part.statement is None for part in ours.added):
        unread = ", ".join(part.name for part in ours.added if part.statement is None)
        return f"{OTHER}, as far as can be told: {unread} cannot be compared"
    missing = Counter(part.statement for part in ours.added) - Counter(
        part.statement for part in theirs.added
    )
    if missing:
        names = [part.name for part in ours.added if part.statement in missing]
        return f"{OTHER}, which does not have {', '.join(dict.fromkeys(names))}"
    return ""
