"""M of an edited big-M model, derived again from a feasible point of the edited problem.

The edited problem is the edited model with  z_i = 0  =>  body_i >= side  in the place of each row
body_i + M_i z_i >= side  that its builder wrote, and with z_i in {0, 1} where a relaxation has it
between the two. M plays no part in it.

A feasible point of it gives a cutoff V. M_i then follows from the family's own statement about
every point of objective at most V, where its hypotheses hold for the edited model, and else from
the least that the row's body can be below the cutoff. The written model with such M has the same
points of objective at most V as the edited problem, and one of them is known: what is proven of it
is proven of the problem.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.catalogue import CATALOGUE, Origin, origin_now
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.reliances import (
    BigM,
    BigMRule,
    big_m_rule,
    has_derived_slack_bounds,
)
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.certify import fixed_case, solve_fixed
from tightmargin.solvers.certify.multipliers import searched_bound
from tightmargin.solvers.certify.no_optimum import without_point
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.edits.decided import never_lower
from tightmargin.solvers.edits.edit import (
    Edit,
    as_built,
    as_edit_of_its_base,
    component_of,
    edit_of,
    set_anew,
    unedited_origin,
)
from tightmargin.solvers.engines import clarabel, scip
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits, checked_limits, ends_within
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import FeasiblePoint
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.conic import conic_multipliers
from tightmargin.solvers.model.difference import column_names
from tightmargin.solvers.model.names import load_values, named_values
from tightmargin.solvers.model.polynomial import LocalQuadratic, QuadraticRow, linear
from tightmargin.solvers.model.reader import StandardForm, refuse_other_objects, standard_form
from tightmargin.solvers.model.rewrites import without_norms, without_quotients
from tightmargin.solvers.registry import first_point

# --- The rows with M as implications -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SwitchedRows:
    """Where each point has its row and its indicator.

    form: the edited model as it is written.
    row (n,): number of its row; -1 where the edit took it out.
    column (n,): column of z_i; -1 where it is fixed.
    held (n,): what it is fixed at; 0 elsewhere.
    big_m (n,): as written.
    """

    form: StandardForm
    row: Index
    column: Index
    held: Array
    big_m: Array

    def indicators(self, x: Array) -> Array:
        """z at a point."""
        return np.where(self.column >= 0, np.append(x, 0)[self.column], self.held)

    @property
    def may_be_kept(self) -> Mask:
        """Points with a z that can be 0."""
        return self.indicators(self.form.lower) <= 0

    @property
    def may_be_given_up(self) -> Mask:
        """Points with a z that can be 1."""
        return self.indicators(self.form.upper) >= 1

    def with_m(self, big_m: Array) -> StandardForm:
        """The model with other M; a row without a finite one is left out."""
        form = self._with_sides(big_m)
        there = np.flatnonzero((self.row >= 0) & (self.column >= 0))
        change = np.where(np.isfinite(big_m), big_m - self.big_m, 0.0)[there]
        more = sp.csr_matrix((change, (self.row[there], self.column[there])), shape=form.A.shape)
        return replace(form, matrix=(form.A + more).tocsr())

    def with_indicators(self, given_up: Mask) -> StandardForm:
        """The problem once it is decided which points are given up."""
        form = self._with_sides(np.where(given_up, np.inf, self.big_m))
        there = self.column >= 0
        columns, numbers = self.column[there], given_up[there].astype(float)
        lower, upper = form.lower.copy(), form.upper.copy()
        lower[columns] = upper[columns] = numbers
        integer = form.integer.copy()
        integer[columns] = False
        return replace(form, lower=lower, upper=upper, integer=integer)

    def binary(self, form: StandardForm) -> StandardForm:
        """A form of these columns with every z in {0, 1}."""
        columns = self.column[self.column >= 0]
        integer, upper = form.integer.copy(), form.upper.copy()
        integer[columns] = True
        upper[columns] = np.minimum(upper[columns], 1.0)
        return replace(form, integer=integer, upper=upper)

    def missed(self, x: Array) -> Mask:
        """Which points a hyperplane would have to give up."""
        return self._bodies(x) < self.sides() - NEARLY

    def room_for(self, x: Array) -> Array:
        """M, raised where the rows of what a point gives up need it."""
        bodies, sides = self._bodies(x), self.sides()
        needed = sides - bodies + ROOM * (np.abs(sides) + np.abs(bodies))
        given_up = self.indicators(x) > 0.5
        return np.where(given_up & (self.row >= 0), np.maximum(self.big_m, needed), self.big_m)

    def _bodies(self, x: Array) -> Array:
        """The rows at a point without their M; infinite where the edit took a row out."""
        body = np.append(self.form.A @ x, np.inf)[self.row]  # where there is no row, the last
        return body - np.where(self.column >= 0, self.big_m * self.indicators(x), 0.0)

    def sides(self) -> Array:
        """What a body must reach where its point is kept; what is fixed is moved over."""
        low = np.append(self.form.row_lower, -np.inf)[self.row]  # where there is no row, the last
        return low + np.where(self.column >= 0, 0.0, self.big_m * self.held)

    def _with_sides(self, big_m: Array) -> StandardForm:
        """The rows without a finite M left out, and those of fixed z with theirs."""
        kept = np.where(np.isfinite(big_m), big_m, 0.0)
        needed = self.sides() - np.where(self.column >= 0, 0.0, kept * self.held)
        left_out = np.isinf(big_m) & ~((self.column < 0) & (self.held == 0))
        low, there = self.form.row_lower.copy(), self.row >= 0
        low[self.row[there]] = np.where(left_out, -np.inf, needed)[there]
        return replace(self.form, row_lower=low)


def costs_no_less(model: pyo.ConcreteModel, rule: BigMRule, rows: SwitchedRows, edit: Edit) -> bool:
    """Whether the objective is the builder's, or that and something proven to be at least 0.

    What the statement of the rule takes to be as small as possible may have no price of its own.
    """
    if edit.more is not None and rule.lowered:
        priced = np.flatnonzero(
            edit.more.a.astype(bool) | (np.diff(edit.more.Q.tocsr().indptr) > 0)
        )
        names = column_names(rows.form)
        if any(component_of(names[j] or "") in rule.lowered for j in priced.tolist()):
            return False
    # Nothing that the rows with this M imply may be used: they are not the problem's.
    return never_lower(model, rows.with_m(np.full(len(rows.row), np.inf)), edit)


ROOM = 1e-3  # beyond what a point needs, so that its rows do not look held by M
NEARLY = 1e-9  # of a margin of 1: who misses it by less is kept, and the solve that follows decides


def switched_rows(
    model: pyo.ConcreteModel, form: StandardForm, rule: BigMRule
) -> SwitchedRows | None:
    """The rows that a builder wrote; None where z or M are gone, or z is fixed at a fraction."""
    z, big_m = model.find_component("z"), model.find_component("big_m")
    if z is None or big_m is None or list(z.keys()) != list(big_m.keys()):
        return None
    number = {key: i for i, key in enumerate(z.keys())}
    row = np.full(len(number), -1, dtype=np.int64)
    component = model.find_component(rule.row)
    for k, (owner, key) in enumerate(form.rows.locations()):
        if owner is component:
            row[number[key]] = k
    column, values = form.columns.of(z)
    held = np.where(column < 0, values, 0.0)
    if not np.isin(held, (0.0, 1.0)).all():
        return None
    written = np.array([float(entry) for entry in big_m.extract_values().values()])
    return SwitchedRows(form, row, column, held, written)


# --- A feasible point of an edited problem, in exact arithmetic: its objective is where M starts --
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
        z = rows.indicators(first)
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
            yield claim.x, rows.indicators(claim.x) > 0.5
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
        objective=linear(body),
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


LONGER = 1 + 1e-11  # a hyperplane, so that kept points are kept in doubles too
ABOVE = 1 + 1e-6  # an optimum, as the cutoff of what holds at it


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


def fingerprint(form: StandardForm) -> str:
    """A digest of the names and numbers of a model of degree two, by which it is known again."""
    bodies = [row.body for row in form.quadratic]
    plain = (
        form.columns.names(), form.sense, form.objective.constant,
        [(row.lower, row.upper, row.body.constant) for row in form.quadratic],
    )  # fmt: skip
    digest = hashlib.sha256(repr(plain).encode())
    arrays = [form.lower, form.upper, form.integer, form.row_lower, form.row_upper]
    arrays += [form.objective.a, *(part for b in bodies for part in (b.index, b.i, b.j, b.v, b.a))]
    for matrix in (form.A, form.objective.Q.tocsr(), *(row.F.tocsr() for row in form.psd)):
        arrays += [matrix.indptr, matrix.indices, matrix.data]
    for array in (*arrays, *(row.g for row in form.psd)):
        digest.update(repr((array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def is_rederived(model: pyo.ConcreteModel, form: StandardForm) -> bool:
    """Whether `rederive` set the M of a model that was not changed since."""
    known = getattr(getattr(model, "big_m_proof", None), "model", "")
    return bool(known) and not form.nonlinear and known == fingerprint(form)


def rederived(
    model: pyo.ConcreteModel, form: StandardForm, limits: Limits
) -> Rederived | str | None:
    """A copy with M derived again; None for models that need it not; why it cannot be done.

    model, form: exact, as it would be solved.
    """
    origin = unedited_origin(model, form)
    if origin is not None and not set_anew(model.origin, origin):
        return None
    now, dropped = _derived_parameters(model), ""
    if now is None:
        return None
    if has_derived_slack_bounds(now):
        model = _without_slack_bounds(model, form)
        form, dropped = standard_form(model), ", and slack_bounds left out"
        origin = unedited_origin(model, form)
    elif now.get("slack_bounds") is not None:
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
    below = rule.everywhere(value * ABOVE)
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
    now = _derived_parameters(model)
    # Beside slack bounds other rows hold at some optimum of the unedited model.
    return now is not None and now.get("slack_bounds") is None


def _derived_parameters(model: pyo.ConcreteModel) -> Mapping[str, Any] | None:
    """Hyperparameters of a model whose M is what a builder or `rederive` has proven; else None."""
    origin = getattr(model, "origin", None)
    proof = getattr(model, "big_m_proof", None)
    if not isinstance(origin, Origin) or big_m_rule(origin) is None or proof is None:
        return None
    now = origin_now(model).parameters
    return now if np.array_equal(now["big_m"], proof.values) else None


def _without_slack_bounds(model: pyo.ConcreteModel, form: StandardForm) -> pyo.ConcreteModel:
    """A copy without the rows and bounds that follow from slack bounds; those of an edit stay."""
    fresh, copy = as_built(model, form), model.clone()
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
    edit = edit_of(model, form)
    assert edit is not None
    why = _why_not(edit, rule)
    rows = None if why else switched_rows(model, form, rule)
    if rows is None:
        return why or "its indicators or its M are gone, or an indicator is fixed at a fraction"
    point = best_point(model, rows, limits, _good_enough(model, edit, form))
    if point is None:
        return "no feasible point of the edited problem was found"
    value = point.value(form.objective.exact_constant)
    known = _by_the_rule(model, rule, edit, rows, value)
    values = completed(model, rows, known, point.varying, limits)
    if not np.isfinite(values).all():
        missing = int(np.argmin(np.isfinite(values)))
        return f"row {rule.row}[{missing}] is not bounded below the cutoff {value:.6g}"
    values.setflags(write=False)
    own = bool(np.isfinite(known).all())
    how = "the formulation's own argument" if own else "the least of each row below that objective"
    proof = f"from a feasible point of the edited model, of objective {value:.9g}, by {how}"
    return _Found(BigM(values, proof, value), point)


def _why_not(edit: Edit, rule: BigMRule) -> str:
    """Why an edited model is none whose rows are those of the rule."""
    if edit.loosened_otherwise:
        return edit.loosened_otherwise
    own = [part.name for part in edit.added if component_of(part.name) == rule.row]
    if own:
        return f"row {own[0]} was changed"
    held = sorted({name for part in edit.added for name in part.holds_up} & rule.lowered)
    return f"the edit holds {', '.join(held)} up" if held else ""


def _good_enough(model: pyo.ConcreteModel, edit: Edit, form: StandardForm) -> float:
    """Objective of a point with which no M grows, so that it need not be improved upon."""
    proof = getattr(model, "big_m_proof", None)
    if proof is None or edit.objective or not edit.is_restriction:
        return -np.inf
    return float(proof.upper_bound) - form.objective.constant


def _by_the_rule(
    model: pyo.ConcreteModel,
    rule: BigMRule,
    edit: Edit,
    rows: SwitchedRows,
    value: float,
) -> Array:
    """M of the family's statement at a cutoff; infinite where it does not apply."""
    if not edit.words:
        return rule.at_an_optimum(value)
    own = [name for name in edit.dropped if component_of(name) == rule.row]
    gone = len(own) < len(edit.dropped) or (rule.needs_rows and own)
    if gone or not costs_no_less(model, rule, rows, edit):
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
