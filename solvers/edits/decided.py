"""Whether a statement g(x) >= side holds at every point of a model: a proof, or a point.

The least of g over the model is bounded from below by the kernel, from multipliers that solvers
find; where the bound reaches the side, the statement is implied. Where a feasible point, in exact
arithmetic, has g below the side, it is refuted. Otherwise nothing is said.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.attempts import Outcome, run_attempts
from tightmargin.solvers.certify.case import Case, Certified
from tightmargin.solvers.edits.edit import Edit
from tightmargin.solvers.engines import highs
from tightmargin.solvers.engines.registry import SOLVERS, choose
from tightmargin.solvers.engines.running import SHORTEST, Limits, seconds_left
from tightmargin.solvers.errors import RefusedError
from tightmargin.solvers.kernel.exact_bounds import exact_lp_bound
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.points import proven_point
from tightmargin.solvers.kernel.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.model.columns import Rows
from tightmargin.solvers.model.polynomial import Quadratic
from tightmargin.solvers.model.reader import StandardForm

NODES = 2_000  # of a solver that is asked about one statement
STRIDES = (1.0, 1e2, 1e4, 1e6)  # along a ray, until a statement is refuted
MISSED = "a feasible point misses it"
FEW = 1e-9  # multipliers below this share of the largest are not listed


class Answer(StrEnum):
    """Whether what one model says holds at every point of the other one."""

    UNASKED = "nothing was said"
    IMPLIED = "implied"
    REFUTED = "refuted"
    OPEN = "open"

    @property
    def holds(self) -> bool:
        """Whether nothing is left out by it, proven."""
        return self in (Answer.UNASKED, Answer.IMPLIED)


class Limit:
    """What stands for a row that no model has: a component of one row."""

    name = "limit"

    def parent_component(self) -> Limit:
        """Itself."""
        return self

    def index(self) -> None:
        """Of a component that is not indexed."""

    def is_indexed(self) -> bool:
        """It has one row."""
        return False


@dataclass(frozen=True, eq=False)
class Decision:
    """An answer with what shows it; see `Change`."""

    answer: Answer
    words: str
    multipliers: Mapping[str, float] = field(default_factory=dict)
    point: FeasiblePoint | None = None


UNASKED = Decision(Answer.UNASKED, "")


@dataclass
class Ground:
    """A model over which statements are decided, and the time that is left for it.

    model, form: the model and its arrays; a row beyond degree two is left out of proofs.
    until: on the clock of time.perf_counter; infinity for no limit.
    """

    model: pyo.ConcreteModel
    form: StandardForm
    until: float = math.inf

    def decide(self, goal: Quadratic, side: Fraction, like: int | None = None) -> Decision:
        """Whether the goal, its constant included, is at least `side` at every point.

        goal: over the columns of the form.
        like: number of a linear row that may imply it by itself.
        """
        target = side - Fraction(goal.constant)
        form = replace(self.form, objective=replace(goal, constant=0.0), sense=1)
        linear = replace(form, quadratic=(), psd=(), nonlinear=())
        if not goal.Q.nnz:
            found = self._by_rows(linear, target, like)
            if found is not None:
                return found
        return self._by_solving(form, target)

    def _by_rows(self, form: StandardForm, target: Fraction, like: int | None) -> Decision | None:
        """The proof from linear rows alone: of bounds, of one row, of those that HiGHS finds."""
        none, subject = np.zeros(len(form.rows)), Subject(form)
        guesses = [none]
        for weight in () if like is None else (1.0, -1.0):
            guess = none.copy()
            guess[like] = weight
            guesses.append(guess)
        for y in guesses:
            if _reaches(exact_lp_bound(subject, y), target):
                return Decision(Answer.IMPLIED, _implied(form, y), _listed(form, y))
        if not SOLVERS["highs"].installed or self._is_over():
            return None
        whole = Subject(replace(form, integer=np.zeros(form.n, dtype=bool)))
        claim = highs.run(whole.form, whole.classification, self._limits())
        y = none if claim.duals is None else claim.duals.rows
        if _reaches(exact_lp_bound(subject, y), target):
            return Decision(Answer.IMPLIED, _implied(form, y), _listed(form, y))
        return None

    def _by_solving(self, form: StandardForm, target: Fraction) -> Decision:
        if form.integer.any():
            # The bound of a mixed-integer model is that of its relaxation, which is quickly solved.
            alone = self._by_solving(replace(form, integer=np.zeros_like(form.integer)), target)
            if alone.answer is Answer.IMPLIED:
                return alone
        outcome = self._solved(form)
        if isinstance(outcome, str):
            return Decision(Answer.OPEN, outcome)
        found = outcome.found
        if _reaches(found.lower, target):
            assert found.lower is not None
            duals = outcome.claim.duals
            listed = {} if duals is None else _listed(form, duals.rows)
            return Decision(Answer.IMPLIED, f"implied, by {found.lower.words}", listed)
        point = _below(form, found, target)
        if point is None and not form.objective.Q.nnz and found.lower is None:
            point = self._nearer(form, target)
        if point is not None:
            return Decision(Answer.REFUTED, MISSED, point=point)
        return Decision(Answer.OPEN, "neither a proof nor a point was found")

    def _nearer(self, form: StandardForm, target: Fraction) -> FeasiblePoint | None:
        """A point that misses a statement by no more than its size, where none misses it most."""
        end = float(target)
        row = sp.csr_matrix(form.objective.a[None, :])
        limited = replace(
            form,
            matrix=sp.vstack([form.A, row], format="csr"),
            row_lower=np.append(form.row_lower, end - max(1.0, abs(end))),
            row_upper=np.append(form.row_upper, np.inf),
            rows=Rows(form.rows.arrays, [*form.rows.single, Limit()]),
        )
        found = self._certified(limited)
        return None if found is None else _below(form, found, target)

    def has_point(self) -> FeasiblePoint | None:
        """Some exactly feasible point; None where none is found."""
        nothing = Quadratic(sp.csr_matrix(self.form.objective.Q.shape), np.zeros(self.form.n), 0.0)
        found = self._certified(replace(self.form, objective=nothing, sense=1))
        point = None if found is None else found.point
        return point if point is not None and point.exact else None

    def _certified(self, form: StandardForm) -> Certified | None:
        """What becomes of a model of these columns; None where nobody takes it in time."""
        found = self._solved(form)
        return None if isinstance(found, str) else found.found

    def _solved(self, form: StandardForm) -> Outcome | str:
        if form.nonlinear:
            return "a row beyond degree two is in the way"
        if self._is_over():
            return "the time was up"
        case = Case(self.model, Subject(form), None, self._limits())
        kind = case.classification.problem_class
        try:
            choice = choose("auto", kind, form, timed=not math.isinf(self.until))
            return run_attempts(choice, case, automatic=True)
        except RefusedError as refusal:
            return f"no solver takes it: {refusal}"

    def _is_over(self) -> bool:
        return time.perf_counter() >= self.until

    def _limits(self) -> Limits:
        timed = not math.isinf(self.until)
        left = max(self.until - time.perf_counter(), SHORTEST) if timed else None
        return Limits(left, nodes=NODES)


def _reaches(bound: LowerBound | None, target: Fraction) -> bool:
    return bound is not None and Fraction(bound.varying) >= target


def _below(form: StandardForm, found: Certified, target: Fraction) -> FeasiblePoint | None:
    """An exactly feasible point at which the goal is below the target."""
    candidates = [found.point]
    if found.ray is not None and found.x is not None:
        candidates = [proven_point(form, _along(found.x, found.ray, t)) for t in STRIDES]
    for point in candidates:
        if point is not None and point.exact and Fraction(point.varying) < target:
            return point
    return None


def _along(x: Array, ray: Array, stride: float) -> Array:
    size = float(np.abs(ray).max(initial=0.0))
    return x + (stride / size) * ray if size else x


def _listed(form: StandardForm, y: Array) -> dict[str, float]:
    """Multipliers of linear rows by name, without the rounding of zeros."""
    least = FEW * float(np.abs(y).max(initial=0.0))
    used = np.flatnonzero(np.abs(y) > least)
    if not used.size:
        return {}
    names = form.rows.names()
    return {names[k]: float(y[k]) for k in used.tolist()}


def _implied(form: StandardForm, y: Array) -> str:
    terms = [f"{number:.6g} {name}" for name, number in _listed(form, y).items()]
    if not terms:
        return "implied by the bounds of the variables"
    shown = " + ".join(terms[:4]) + (f" + ... ({len(terms)} rows)" if len(terms) > 4 else "")
    return f"implied by {shown} and bounds"


def never_lower(model: pyo.ConcreteModel, form: StandardForm, edit: Edit) -> bool:
    """Whether the objective is the builder's, or the builder's and something proven >= 0."""
    if not edit.objective:
        return True
    if edit.more is None:
        return False
    left = seconds_left()
    ground = Ground(model, form, math.inf if left is None else time.perf_counter() + left)
    return ground.decide(edit.more, Fraction(0)).answer is Answer.IMPLIED
