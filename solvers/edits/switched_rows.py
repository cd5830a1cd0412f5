"""The rows of a big-M model as what they stand for: implications that z_i = 1 switches off.

The edited problem is the edited model with  z_i = 0  =>  body_i >= side  in the place of each row
body_i + M_i z_i >= side  that its builder wrote, and with z_i in {0, 1} where a relaxation has it
between the two. M plays no part in it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.catalogue import Origin, origin_now
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.reliances import BigMRule
from tightmargin.solvers.certify.case import Case, Certified
from tightmargin.solvers.edits.decided import Ground
from tightmargin.solvers.edits.difference import Difference, column_names, component_of
from tightmargin.solvers.edits.model_difference import Answer
from tightmargin.solvers.edits.searches import bound_beside
from tightmargin.solvers.engines.running import seconds_left
from tightmargin.solvers.kernel.statement import LowerBound, by_lemma
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.names import named_values
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.registry import closing_bound

# --- Lower bounds of an unedited model that an edit leaves true ----------------------------------
# Every point of a model to which rows, bounds, fixings or integrality were added is a point of the
# model before; with the same objective, or one that is proven to be nowhere lower, what bounds the
# former bounds the latter. So the searches of a family, which know the unedited problem alone, say
# something of an edited model too: a bound, and a proof of the optimum where the edit leaves it
# in. A search that takes the edit along says more, and is asked first.


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

    @property
    def may_be_kept(self) -> Mask:
        """Points with a z that can be 0."""
        return (
            np.where(self.column >= 0, np.append(self.form.lower, 0)[self.column], self.held) <= 0
        )

    @property
    def may_be_given_up(self) -> Mask:
        """Points with a z that can be 1."""
        return (
            np.where(self.column >= 0, np.append(self.form.upper, 1)[self.column], self.held) >= 1
        )

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
        z = np.where(self.column >= 0, np.append(x, 0)[self.column], self.held)
        needed = sides - bodies + ROOM * (np.abs(sides) + np.abs(bodies))
        return np.where((z > 0.5) & (self.row >= 0), np.maximum(self.big_m, needed), self.big_m)

    def _bodies(self, x: Array) -> Array:
        """The rows at a point without their M; infinite where the edit took a row out."""
        form = self.form
        there = self.row >= 0
        z = np.where(self.column >= 0, np.append(x, 0)[self.column], self.held)
        body = np.full(len(self.row), np.inf)
        body[there] = (form.A @ x)[self.row[there]]
        return body - np.where(self.column >= 0, self.big_m * z, 0.0)

    def sides(self) -> Array:
        """What a body must reach where its point is kept; what is fixed is moved over."""
        low = np.append(self.form.row_lower, -np.inf)[self.row]  # where there is no row, the last
        return low + np.where(self.column >= 0, 0.0, self.big_m * self.held)

    def _with_sides(self, big_m: Array) -> StandardForm:
        """The rows without a finite M left out, and those of fixed z with theirs."""
        low = self.form.row_lower.copy()
        there = self.row >= 0
        needed = self.sides() - np.where(self.column >= 0, 0.0, np.where(
            self.held > 0, np.where(np.isfinite(big_m), big_m, 0.0) * self.held, 0.0
        ))  # fmt: skip
        left_out = np.isinf(big_m) & ~((self.column < 0) & (self.held == 0))
        low[self.row[there]] = np.where(left_out, -np.inf, needed)[there]
        return replace(self.form, row_lower=low)


def costs_no_less(
    model: pyo.ConcreteModel, rule: BigMRule, rows: SwitchedRows, what: Difference
) -> bool:
    """Whether the objective is the builder's, or that and something proven to be at least 0.

    What the statement of the rule takes to be as small as possible may have no price of its own.
    """
    if what.more is not None and rule.lowered:
        priced = np.flatnonzero(
            what.more.a.astype(bool) | (np.diff(what.more.Q.tocsr().indptr) > 0)
        )
        names = column_names(rows.form)
        if any(component_of(names[j] or "") in rule.lowered for j in priced.tolist()):
            return False
    # Nothing that the rows with this M imply may be used: they are not the problem's.
    return never_lower(model, rows.with_m(np.full(len(rows.row), np.inf)), what)


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
