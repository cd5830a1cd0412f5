"""Derived quantities after an edit: which rows still say something of the edited problem.

A derived M, slack bound or intercept bound speaks of the points of the model that it was derived
for. An edited model with one is still the model that is written, and what is proven of it is
proven; but whether that is a statement about the edited problem (the 0-1 loss with the user's
rows, say, not its big-M form) is decided here, by the kinds of reliances.py. Where it is none,
the certificate says which rows it is for and what to do, and there is no bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.formulations.reliances import (
    Reliance,
    reliances,
    rests_on_something,
    stated_quantities,
)
from tightmargin.solvers.certificates.case import GAP_TOLERANCE, Case, Certified
from tightmargin.solvers.disjunctive.transformation import is_disjunctive, transformed
from tightmargin.solvers.edits.difference import Difference, difference
from tightmargin.solvers.edits.kept_bounds import is_of_the_edited, with_kept_bound
from tightmargin.solvers.proofs import gap
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.result import Status
from tightmargin.solvers.standard_form.standard_form import StandardForm, standard_form
from tightmargin.solvers.transformations.epigraphs import without_norms
from tightmargin.solvers.transformations.quotients import without_quotients


@dataclass(frozen=True, eq=False)
class Edit:
    """An edited catalogue model: what it rests on, and how it differs from the builder's.

    Attributes
    ----------
    blocks : tuple of str
        Models of the catalogue inside this one that rest on something, with what.
    repriced : bool
        Whether the model is its builder's but for a Param that was set anew since something was
        derived from its former value: then the formulation's own check says whether that holds.
    """

    reliances: tuple[Reliance, ...] = ()
    difference: Difference = field(default_factory=Difference)
    blocks: tuple[str, ...] = ()
    repriced: bool = False


def edit_of(
    model: pyo.ConcreteModel,
    form: StandardForm,
    origin: Origin | None,
    *,
    established: bool = False,
) -> Edit | None:
    """What is to be asked of an edited model; None when nothing is.

    Parameters
    ----------
    model, form
        As it is solved.
    origin : Origin or None
        Of a model that its builder wrote.
    established : bool
        Whether its M was derived again for it as it stands (rederived.py).
    """
    if origin is not None:
        return None if established else _of_another_price(model.origin, origin)
    blocks = _blocks(model)
    if not isinstance(getattr(model, "origin", None), Origin):
        return Edit(blocks=blocks) if blocks else None
    now = origin_now(model)
    if not rests_on_something(now):
        return Edit(blocks=blocks) if blocks else None
    fresh = CATALOGUE[now.entry].build(now.data, **now.parameters)
    found = reliances(model.origin, now, fresh, model)
    what = difference(model, form, fresh, now.parameters.get("transformation", "bigm"))
    if established:
        found = tuple(reliance for reliance in found if reliance.argument != "big_m")
    if what.is_restriction and not what.added:
        return None
    return Edit(found, what, blocks)


def difference_of(model: pyo.ConcreteModel) -> Difference | None:
    """How a catalogue model differs from a new one of its builder; None for foreign models."""
    if not isinstance(getattr(model, "origin", None), Origin):
        return None
    now = origin_now(model)
    way = now.parameters.get("transformation", "bigm")
    plain = without_quotients(transformed(model, way) if is_disjunctive(model) else model)
    target = without_norms(plain)
    fresh = CATALOGUE[now.entry].build(now.data, **now.parameters)
    return difference(target, standard_form(target), fresh, way)


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
    """The certificate of an edited model as a statement about the edited problem.

    With a derived quantity that the edit may invalidate there is no bound, and the verdict is
    NOT_CERTIFIED. With a stated one the certificate is that of the model as written, and says so.
    A model that is proven to have no point keeps its proof, which is about the model as written.
    """
    if edit is None:
        return found
    if edit.repriced:
        doubt = "" if found.status is Status.INFEASIBLE else found.certificate.unproven
        return _without_bound(found, f"{doubt}: build the model again") if doubt else found
    found = with_kept_bound(case, found, edit.difference)
    if is_of_the_edited(found):
        return found
    lost = [(r, why) for r in edit.reliances if (why := _lost(case, found, edit.difference, r))]
    words = [why for _, why in lost]
    words += [f"{block}: the result is about the model as written" for block in edit.blocks]
    if not words:
        return found
    certificate = replace(found.certificate, unproven="; ".join(words))
    nothing = found.status in (Status.INFEASIBLE, Status.UNBOUNDED)
    if nothing or all(reliance.stated for reliance, _ in lost):
        return replace(found, certificate=certificate)
    return _without_bound(replace(found, certificate=certificate), words[0])


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
    if not what.is_restriction:
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
    return gap.unit(objective, objective if bound is None else bound, case.constant)


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
        return "rebuild with big_m=<number> that is valid for the edited problem"
    if argument == "incumbent":
        return "take the big-M form with a number for big_m"
    return f"rebuild without {argument}, or with one that is valid for the edited problem"
