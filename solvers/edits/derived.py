"""Derived quantities after an edit: which rows still say something of the edited problem.

A derived M, slack bound or intercept bound speaks of the points of the model that it was derived
for. Whether what is proven of an edited model is a statement about the edited problem (the 0-1
loss with the user's rows, say, not its big-M form) is decided here, by the kinds of reliances.py.

A relaxation stands for itself: what is proven of it is proven, and whether its bound is one of the
edited problem is said beside that. An exact model stands for its problem: where a number does not
hold there, and was not derived again (below), there is no bound. In both cases the
certificate names the rows and what to do.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.reliances import (
    BigM,
    BigMRule,
    Reliance,
    big_m_rule,
    has_derived_slack_bounds,
    reliances,
    rests_on_something,
    stated_quantities,
)
from tightmargin.solvers.certify.case import GAP_TOLERANCE, Case, Certified
from tightmargin.solvers.certify.certify import fixed_case, solve_fixed
from tightmargin.solvers.certify.multipliers import searched_bound
from tightmargin.solvers.certify.no_optimum import without_point
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.disjunctive import without_disjunctions
from tightmargin.solvers.edits.difference import Difference, column_names, difference
from tightmargin.solvers.edits.identity import as_edit_of_its_base, fingerprint, unedited_origin
from tightmargin.solvers.edits.switched_rows import (
    SwitchedRows,
    costs_no_less,
    is_of_the_edited,
    switched_rows,
    with_kept_bound,
)
from tightmargin.solvers.engines import clarabel, scip
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits, checked_limits, ends_within
from tightmargin.solvers.kernel import statement as gap
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import FeasiblePoint
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.conic import conic_multipliers
from tightmargin.solvers.model.convexity import CONVEX_CLASSES
from tightmargin.solvers.model.names import load_values, named_values
from tightmargin.solvers.model.polynomial import LocalQuadratic, Quadratic, QuadraticRow
from tightmargin.solvers.model.reader import StandardForm, refuse_other_objects, standard_form
from tightmargin.solvers.model.restated import representable
from tightmargin.solvers.model.rewrites import without_norms, without_quotients
from tightmargin.solvers.registry import first_point
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
    established: whether its M was derived again for it as it stands.
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
    plain = without_quotients(without_disjunctions(model, way))
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


# --- big_m="derived" established again for an edited model, before it is solved -------------------
# A feasible point of the edited problem gives a cutoff V. M_i then follows from the family's own
# statement about every point of objective at most V, where its hypotheses hold for the edited
# model, and else from the least that the row's body can be below the cutoff. The written model with
# such M has the same points of objective at most V as the edited problem, and one of them is known:
# what is proven of it is proven of the problem.


# --- A feasible point of an edited problem, in exact arithmetic: its objective is what M
#     starts from
# Where points are given up is found by a short run of a mixed-integer solver, or by giving up what
# a hyperplane misses; what is left is convex, is solved, and its point is made exact.


SHARE = 0.2  # of a time limit, for SCIP
NODES = 500  # of SCIP, so that every machine gets the same point
LARGE = (20.0, 1e3, 1e5)  # times the M at hand, one after the other until there is a point
ROUNDS = 3


def best_point(
    model: pyo.ConcreteModel, rows: SwitchedRows, limits: Limits, enough: float
) -> FeasiblePoint | None:
    """The best exactly feasible point of the edited problem that is found within a moment.

    enough: objective without its constant: a solver is not asked where a point as good is at hand.
    """
    best: FeasiblePoint | None = None
    for x, given_up in _candidates(model, rows, limits):
        for _ in range(ROUNDS):
            found = _with_indicators(model, rows, x, given_up, limits)
            if found is None or found.x is None:
                break
            if best is not None and found.varying >= best.varying:
                break
            best = found
            x, given_up = found.x, given_up & (rows.missed(found.x) | ~rows.may_be_kept)
        if best is not None and best.varying <= enough:
            return best
    return best


def _candidates(
    model: pyo.ConcreteModel, rows: SwitchedRows, limits: Limits
) -> Iterator[tuple[Array, Mask]]:
    """Points and what they give up: as the variables stand, by the family, all, and by SCIP."""
    start = rows.form.point()
    if np.isfinite(start).all():
        yield start, (rows.missed(start) | ~rows.may_be_kept) & rows.may_be_given_up
    others = rows.form.integer.copy()
    others[rows.column[rows.column >= 0]] = False
    if not others.any():
        first = first_point(model, rows.form)
        z = np.where(rows.column >= 0, np.append(first, 0)[rows.column], rows.held)
        if np.isfinite(z).all():
            yield np.zeros(rows.form.n), ((z > 0.5) | ~rows.may_be_kept) & rows.may_be_given_up
        yield np.zeros(rows.form.n), rows.may_be_given_up
    if not SOLVERS["scip"].installed or rows.form.psd:
        return
    seconds = None if limits.time_limit is None else SHARE * limits.time_limit
    asked = Limits(seconds, limits.threads, limits.seed, nodes=NODES)
    size = max(float(rows.big_m.max()), 1.0)
    for factor in LARGE:
        large = np.full(len(rows.big_m), factor * size)
        claim = scip.run(rows.binary(rows.with_m(large)), asked)
        if claim.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if claim.x is not None:
            z = np.where(rows.column >= 0, np.append(claim.x, 0)[rows.column], rows.held)
            yield claim.x, z > 0.5
            return


def _with_indicators(
    model: pyo.ConcreteModel, rows: SwitchedRows, x: Array, given_up: Mask, limits: Limits
) -> FeasiblePoint | None:
    """The best point that gives up these points and no others, made exact."""
    decided = rows.with_indicators(given_up)
    asked = Limits(limits.time_limit, limits.threads)
    case = Case(model, Subject(decided), None, asked)
    if decided.integer.any():
        case = fixed_case(case, x)
    claim = solve_fixed(case)
    if claim is None or claim.x is None or not np.isfinite(claim.x).all():
        return None
    form = replace(case.form, integer=np.zeros(case.form.n, dtype=bool))
    return exact_point(form, case.classification, claim.x, asked)


# --- How far the body of a row can fall at the points of an edited problem below a cutoff: its M
# For points with objective f <= V and z_i = 1, the least of body_i over the convex relaxation, by
# weak duality; V is the objective of a feasible point, and f <= V is a row of the model that is
# solved. It knows nothing of the catalogue, and holds for every edit.


OUTWARD = 1e-9  # of an M: what the reader rounds where it moves fixed variables to a side
LEAST = 1e-3  # an M is positive, and one below this is no use to a solver


def completed(
    model: pyo.ConcreteModel, rows: SwitchedRows, known: Array, cutoff: float, limits: Limits
) -> Array:
    """M with the infinite ones derived here as far as that is possible.

    known (n,): M that is valid at every point of objective at most the cutoff; infinite where
        unknown.
    cutoff: without the constant of the objective.
    """
    found = np.where(rows.row < 0, rows.big_m, known)
    found = np.where(rows.may_be_given_up, found, rows.big_m)
    began = time.perf_counter()
    share = np.inf if limits.time_limit is None else SHARE * limits.time_limit
    for i in np.flatnonzero(np.isinf(found)).tolist():
        if time.perf_counter() - began > share or not SOLVERS["clarabel"].installed:
            break
        least = _least_body(model, rows, found, i, cutoff)
        if least is None:
            break
        side = float(rows.sides()[i])
        room = abs(side) + abs(least)
        found[i] = max(side - least + OUTWARD * room, LEAST)
    return found


def _least_body(
    model: pyo.ConcreteModel, rows: SwitchedRows, big_m: Array, i: int, cutoff: float
) -> float | None:
    """A lower bound on the body of row i where it is switched off."""
    form = rows.with_m(big_m)
    body = np.asarray(form.A[[int(rows.row[i])]].todense()).ravel()
    lower = form.lower.copy()
    if rows.column[i] >= 0:
        body[rows.column[i]] = 0.0
        lower[rows.column[i]] = 1.0
    form = replace(form, lower=lower, integer=np.zeros(form.n, dtype=bool))
    subject = Subject(form)
    if form.nonlinear or not subject.classification.convex:
        return None
    reach = subject.reach(cutoff)
    if reach.empty:
        return float(rows.sides()[i])  # nobody gives it up below the cutoff
    goal = next(model.component_data_objects(pyo.Objective, active=True, descend_into=True))
    limited = replace(
        form,
        lower=reach.low,
        upper=reach.high,
        objective=Quadratic(sp.csr_matrix((form.n, form.n)), body, 0.0),
        quadratic=(*form.quadratic, *_below(form, cutoff, goal)),
        sense=1,
    )
    return _proven_least(model, limited, float(rows.sides()[i]))


def _below(form: StandardForm, cutoff: float, goal: Any) -> tuple[QuadraticRow, ...]:
    """The row f <= V; none where f is linear, whose limits the variables have already."""
    Q = form.objective.Q.tocoo()
    if not Q.nnz:
        return ()
    columns = np.unique(np.concatenate([Q.row, Q.col, np.flatnonzero(form.objective.a)]))
    at = np.full(form.n, -1, dtype=np.int64)
    at[columns] = np.arange(len(columns))
    local = LocalQuadratic(
        columns.astype(np.int64), at[Q.row], at[Q.col], Q.data, form.objective.a[columns], 0.0
    )
    return (QuadraticRow(local, -np.inf, cutoff, goal),)


def _proven_least(model: pyo.ConcreteModel, form: StandardForm, unused: float) -> float | None:
    """The least value by weak duality; `unused` where no point gives this one up."""
    subject = Subject(form)
    if not subject.classification.convex:
        return None
    claim = clarabel.run_conic(subject.conic, len(form.rows), Limits())
    if claim.status is Status.INFEASIBLE:
        found = without_point(Case(model, subject), claim)
        return unused if found.certificate.verdict is Verdict.CERTIFIED else None
    if claim.x is None or claim.duals is None:
        return None
    z = conic_multipliers(subject.conic, claim.duals)
    case = Case(model, subject)
    bound, _ = searched_bound(case, claim.x, z, form.objective.varying(claim.x))
    return None if bound is None else bound.varying


LONGER = 1 + 1e-11
NEARLY = 1e-6


@dataclass(frozen=True, eq=False)
class Rederived:
    """A copy of an edited model with its own M.

    model, form: the copy, and its arrays.
    big_m: with the objective of the point that it was derived from.
    words: for the message of a result.
    copied: the same in a few words, for its verdict.
    """

    model: pyo.ConcreteModel
    form: StandardForm
    big_m: BigM
    words: str
    copied: str


def rederive(model: pyo.ConcreteModel, *, time_limit: float | None = None) -> BigM:
    """Derive the M of an edited big-M model again, and set it.

    `solve` does the same on a copy for exact models that were built with big_m="derived", and
    solves a relaxation with the M that it has. This changes the model: for a relaxation that is to
    bound the edited problem, for whoever stated an M, or wants to see or keep the numbers.

    Parameters
    ----------
    model : ConcreteModel
        Of an entry with a big-M; its Param big_m is changed.
    time_limit : float, optional
        Seconds, for the search for a feasible point first of all.

    Returns
    -------
    BigM
        The values (n,), why they hold, and the objective of the point that they start from.

    Raises
    ------
    TypeError
        Anything but a Pyomo model that is constructed.
    ValueError
        The model has no M of the catalogue, its rows were changed themselves, or no M is proven.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived")
    >>> model.edit = pyo.Constraint(expr=model.w[0] >= 3.0)
    >>> tm.rederive(model).values.shape
    (12,)
    """
    refuse_other_objects("rederive", model)
    with ends_within(checked_limits(time_limit).time_limit), as_edit_of_its_base(model):
        origin = getattr(model, "origin", None)
        if not isinstance(origin, Origin) or big_m_rule(origin) is None:
            raise ValueError(
                f"{model.name} has no big_m of the catalogue that could be derived again"
            )
        found = put_again(model, Limits(time_limit))
    if isinstance(found, str):
        raise ValueError(f"{model.name}: no big_m is proven for the edited model: {found}")
    return found


def put_again(model: pyo.ConcreteModel, limits: Limits) -> BigM | str:
    """Set the M of a model that has one to what is derived for it; why none is, as a word."""
    target = without_norms(without_quotients(model))
    form = standard_form(target)
    unedited = unedited_origin(target, form)
    found = _derived(target, form, limits)
    if isinstance(found, str):
        return found
    if unedited is not None:
        _know(model, target, form, unedited, found.point)
    _put(model, found.big_m)
    now = standard_form(without_norms(without_quotients(model)))
    model.big_m_proof = replace(found.big_m, model=fingerprint(now))
    return found.big_m


def is_rederived(model: pyo.ConcreteModel, form: StandardForm) -> bool:
    """Whether `rederive` set the M of a model that was not changed since."""
    known = getattr(getattr(model, "big_m_proof", None), "model", "")
    return bool(known) and not form.nonlinear and known == fingerprint(form)


def rederived(
    model: pyo.ConcreteModel, form: StandardForm, origin: Origin | None, limits: Limits
) -> Rederived | str | None:
    """A copy with M derived again; None for models that need it not; why it cannot be done.

    model, form: exact, as it would be solved.
    origin: of a model that its builder wrote.
    """
    if origin is not None and not _is_repriced(model.origin, origin):
        return None
    dropped = ""
    if _has_slack_bounds(model):
        model = _without_slack_bounds(model)
        form, dropped = standard_form(model), ", and slack_bounds left out"
        origin = unedited_origin(model, form)
    elif not is_derived(model):
        return None
    found = _derived(model, form, limits)
    if isinstance(found, str):
        return found
    copy = model.clone()
    _put(copy, found.big_m)
    written = standard_form(copy)
    if found.point.x is not None:  # where searches and solvers may start from
        load_values(written, found.point.x)
    if origin is not None:
        _know(copy, model, form, origin, found.point)
    words, copied = _said(origin_now(model), found.big_m)
    return Rederived(copy, written, found.big_m, words + dropped, copied + dropped)


def with_room_for(model: pyo.ConcreteModel, form: StandardForm, x: Array) -> Rederived | None:
    """A copy whose M let in one point, which is known to be an optimum of the edited problem.

    They are those of the family's statement at its objective, which a restriction leaves true, and
    where that says nothing what the point itself needs: no point is better.

    model, form: edited, by rows, bounds and fixings alone.
    x (n,): its indicators say what it gives up.
    Returns: none where M is not derived, and what is asked about is the model as it is written; or
        where the rows with M are not those of the builder.
    """
    if not is_derived(model):
        return None
    now = origin_now(model)
    rule = big_m_rule(now)
    assert rule is not None
    rows = switched_rows(model, form, rule)
    if rows is None:
        return None
    value = form.value(x)
    below = rule.everywhere(value * (1 + NEARLY))
    room = rows.room_for(x)
    values = np.where(np.isfinite(below), np.maximum(below, room), room)
    values.setflags(write=False)
    big_m = BigM(values, f"from the edited problem's optimum {value:.9g}", value)
    copy = model.clone()
    _put(copy, big_m)
    return Rederived(copy, standard_form(copy), big_m, *_said(now, big_m))


def _know(
    changed: pyo.ConcreteModel,
    model: pyo.ConcreteModel,
    form: StandardForm,
    origin: Origin,
    point: FeasiblePoint,
) -> None:
    """Note the machine that M comes from, which the check of an unedited model asks for.

    It is a little longer, so that kept points are kept in doubles too.
    """
    classifier = CATALOGUE[origin.entry].classifier
    assert classifier is not None
    assert point.x is not None
    weights, b = classifier(origin, named_values(model, form, point.x), {})
    at = {"incumbent": (LONGER * np.asarray(weights), LONGER * b)}
    changed.origin = replace(changed.origin, parameters={**changed.origin.parameters, **at})


def is_derived(model: pyo.ConcreteModel) -> bool:
    """Whether the M of a model is what was derived for it, and not set by hand since."""
    origin = getattr(model, "origin", None)
    if not isinstance(origin, Origin) or big_m_rule(origin) is None:
        return False
    if origin.parameters.get("slack_bounds") is not None:
        return False  # its other rows hold at some optimum of the unedited model
    proof = getattr(model, "big_m_proof", None)  # of the builder's, or of `rederive`
    if proof is None:
        return False
    return bool(np.array_equal(origin_now(model).parameters["big_m"], proof.values))


def _has_slack_bounds(model: pyo.ConcreteModel) -> bool:
    """Whether M and other rows follow from slack bounds that hold at some optimum as built."""
    origin = getattr(model, "origin", None)
    if not isinstance(origin, Origin) or big_m_rule(origin) is None:
        return False
    now = origin_now(model).parameters
    proof = getattr(model, "big_m_proof", None)
    derived = proof is not None and np.array_equal(now["big_m"], proof.values)
    return derived and has_derived_slack_bounds(now)


def _without_slack_bounds(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    """A copy without the rows and bounds that follow from slack bounds; those of an edit stay."""
    now = origin_now(model)
    fresh = CATALOGUE[now.entry].build(now.data, **now.parameters)
    copy = model.clone()
    for key, z in copy.z.items():
        if (z.lb, z.ub) == (fresh.z[key].lb, fresh.z[key].ub):
            z.setlb(0)
            z.setub(1)
    theirs, ours = fresh.find_component("conflict"), copy.find_component("conflict")
    for key in () if theirs is None or ours is None else theirs:
        if key in ours and str(ours[key].expr) == str(theirs[key].expr):
            ours[key].deactivate()
    copy.origin = replace(copy.origin, parameters={**copy.origin.parameters, "slack_bounds": None})
    return copy


def _is_repriced(written: Origin, now: Origin) -> bool:
    return any(
        isinstance(value, int | float)
        and isinstance(now.parameters[word], int | float)
        and value != now.parameters[word]
        for word, value in written.parameters.items()
    )


def _put(model: pyo.ConcreteModel, found: BigM) -> None:
    for key, value in zip(list(model.big_m.keys()), found.values.tolist(), strict=True):
        model.big_m[key] = value
    model.big_m_proof = found


@dataclass(frozen=True, eq=False)
class _Found:
    """M, and the point of the edited problem that it was derived from."""

    big_m: BigM
    point: FeasiblePoint


def _derived(model: pyo.ConcreteModel, form: StandardForm, limits: Limits) -> _Found | str:
    """M of an edited model, or why there is none."""
    now = origin_now(model)
    rule = big_m_rule(now)
    assert rule is not None
    if form.nonlinear:
        return "a row or the objective is beyond degree two"
    if None in column_names(form):
        return "a variable of another model occurs in it"
    fresh = CATALOGUE[now.entry].build(now.data, **now.parameters)
    what = difference(model, form, fresh, now.parameters.get("transformation", "bigm"))
    why = _why_not(what, rule)
    rows = None if why else switched_rows(model, form, rule)
    if rows is None:
        return why or "its indicators or its M are gone, or an indicator is fixed at a fraction"
    point = best_point(model, rows, limits, _good_enough(model, what, form))
    if point is None:
        return "no feasible point of the edited problem was found"
    value = point.value(form.objective.exact_constant)
    known = _by_the_rule(model, rule, what, rows, value)
    values = completed(model, rows, known, point.varying, limits)
    if not np.isfinite(values).all():
        missing = int(np.argmin(np.isfinite(values)))
        return f"row {rule.row}[{missing}] is not bounded below the cutoff {value:.6g}"
    values.setflags(write=False)
    own = bool(np.isfinite(known).all())
    how = "the formulation's own argument" if own else "the least of each row below that objective"
    proof = f"from a feasible point of the edited model, of objective {value:.9g}, by {how}"
    return _Found(BigM(values, proof, value), point)


def _why_not(what: Difference, rule: BigMRule) -> str:
    """Why an edited model is none whose rows are those of the rule."""
    if what.loosened_otherwise:
        return what.loosened_otherwise
    own = [part.name for part in what.added if part.name.partition("[")[0] == rule.row]
    if own:
        return f"row {own[0]} was changed"
    held = sorted({name for part in what.added for name in part.holds_up} & rule.lowered)
    return f"the edit holds {', '.join(held)} up" if held else ""


def _good_enough(model: pyo.ConcreteModel, what: Difference, form: StandardForm) -> float:
    """Objective of a point with which no M grows, so that it need not be improved upon."""
    proof = getattr(model, "big_m_proof", None)
    if proof is None or what.objective or not what.is_restriction:
        return -np.inf
    return float(proof.upper_bound) - form.objective.constant


def _by_the_rule(
    model: pyo.ConcreteModel,
    rule: BigMRule,
    what: Difference,
    rows: SwitchedRows,
    value: float,
) -> Array:
    """M of the family's statement at a cutoff; infinite where it does not apply."""
    if not what.words:
        return rule.at_an_optimum(value)
    own = [name for name in what.dropped if name.partition("[")[0] == rule.row]
    gone = len(own) < len(what.dropped) or (rule.needs_rows and own)
    if gone or not costs_no_less(model, rule, rows, what):
        return np.full(len(rows.row), np.inf)
    return rule.everywhere(value)


def _said(now: Origin, found: BigM) -> tuple[str, str]:
    """What was derived again, with its proof, and in a few words."""
    former = float(np.max(now.parameters["big_m"]))
    largest = f"largest {found.values.max():.6g} in the place of {former:.6g}"
    return (
        f"big_m was derived again for the edited model, {found.proof}: {largest}",
        f"big_m derived again ({largest})",
    )
