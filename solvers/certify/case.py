"""What a certificate is computed from, and what is left of a claim after the check."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin, PaperCheck
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.kernel import statement as gap
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.points import constant_of
from tightmargin.solvers.kernel.statement import (
    FeasiblePoint,
    Infeasible,
    LowerBound,
    Unbounded,
)
from tightmargin.solvers.kernel.verdict import Judgement, judged
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.conic import ConicForm, Multipliers
from tightmargin.solvers.model.convexity import Classification
from tightmargin.solvers.model.names import named_values
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.residuals import badly_scaled
from tightmargin.solvers.model.scaling import (
    Scaling,
    objective_scale,
    objective_unit,
    scaling,
)
from tightmargin.solvers.result import Certificate

FEASIBILITY_TOLERANCE = 1e-6
GAP_TOLERANCE = gap.CLOSED
SEARCH_GAP = GAP_TOLERANCE / 2  # at which a search ends: the other half is for rounding
CLAIM_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Certified:
    """A claim after the check: the point and objective that stand, and the certificate.

    x: the point, repaired where the formulation knows how.
    objective: of the minimisation, recomputed.
    certificate: bounds are those of the minimisation too.
    proof: Farkas multipliers of an infeasible model; they take the place of the solver's duals.
    ray: direction in which an unbounded model falls for ever, from `x`.
    point: what is proven of `x`.
    lower: the best bound.
    written: the best one whose evidence a file can hold.
    absence: that there is no point, or no least value.
    searched: whether branch and bound was tried.
    """

    status: Status
    x: Array | None
    objective: float | None
    certificate: Certificate
    proof: Multipliers | None = None
    ray: Array | None = None
    point: FeasiblePoint | None = None
    lower: LowerBound | None = None
    written: LowerBound | None = None
    absence: Infeasible | Unbounded | None = None
    searched: bool = False


@dataclass(frozen=True, eq=False)
class Case:
    """Everything a certificate is computed from."""

    model: pyo.ConcreteModel
    subject: Subject
    origin: Origin | None = None  # None for foreign and for edited models
    limits: Limits = field(default_factory=Limits)
    automatic: bool = False  # whether the solver was ours to choose
    # What squares that became variables would leave in the constant if they were expanded.
    expanded: Fraction = Fraction(0)

    @property
    def form(self) -> StandardForm:
        """Arrays of the model."""
        return self.subject.form

    @property
    def classification(self) -> Classification:
        """Class of the model, as the kernel reads it."""
        return self.subject.classification

    @property
    def conic(self) -> ConicForm:
        """Conic form of the model, or of its continuous relaxation."""
        return self.subject.conic

    @cached_property
    def natural_size(self) -> float:
        """Natural size of the objective, see model/scaling.py."""
        return objective_unit(self.form)

    @cached_property
    def factors(self) -> Scaling:
        """Factors that bring the numbers of the model near 1."""
        return scaling(self.form)

    @cached_property
    def scaling(self) -> Scaling | None:
        """The factors of badly scaled numbers; None where they are near 1 already."""
        bad = not self.form.nonlinear and badly_scaled(self.form)
        return self.factors if bad else None

    @property
    def level(self) -> str:
        """Whether the formulation's own formula can be evaluated, or the model only."""
        known = self.origin is not None and CATALOGUE[self.origin.entry].check is not None
        return "paper" if known else "model"

    def scale(self, objective: float) -> float:
        """What the tolerances that solvers promise are relative to; no verdict rests on it."""
        # It costs a least-squares solve, and only objectives below 1 ask for it.
        size = self.unit(objective, objective)
        return objective_scale(size, self.natural_size if size < 1 else 1.0)

    @cached_property
    def constants(self) -> tuple[Fraction, Fraction]:
        """What proofs leave out of the objective, and its whole constant, as the kernel has it."""
        return constant_of(self.form)

    @property
    def constant(self) -> Any:
        """Additive constant of the objective that proofs leave out; no double where none is it."""
        exact = self.constants[0]
        return float(exact) if exact == Fraction(float(exact)) else exact

    @property
    def has_constant(self) -> bool:
        """Whether an optimum may be small beside what it is made of."""
        return any((*self.constants, self.expanded))

    def size(self, varying: float) -> float:
        """What a gap below this objective is measured against; the constant is left out of it."""
        if not math.isfinite(varying):
            return abs(varying)
        alpha = Fraction(varying) + self.constants[0]
        return self.unit(alpha, alpha)

    def unit(self, objective: float | Fraction, bound: float | Fraction) -> float:
        """What a gap between the two, their constant included, is relative to."""
        constant = self.constants[1]
        return min(gap.unit(objective, bound, k) for k in (constant, constant + self.expanded))

    def judged(self, point: FeasiblePoint | None, lower: LowerBound | None) -> Judgement:
        """The verdict on a point and a bound, with what the caller allows."""
        allowed = self.limits.absolute_gap
        return judged(point, lower, absolute_gap=allowed, expanded=self.expanded)

    def paper_check(self, x: Array) -> PaperCheck | None:
        """The point re-evaluated by the formulation's own formula; None without one."""
        if self.origin is None:
            return None
        check = CATALOGUE[self.origin.entry].check
        if check is None:
            return None
        return check(self.origin, named_values(self.model, self.form, x))

    def closes(self, objective: float, bound: LowerBound | None) -> bool:
        """Whether a bound would close the gap to an exact point of this objective."""
        if bound is None:
            return False
        left_out, constant = self.constants
        if not math.isfinite(objective):
            return False
        ks = (constant, constant + self.expanded)
        if all(gap.closes(objective, bound.end + left_out, k) for k in ks):
            return True
        return 0 <= Fraction(objective) - left_out - bound.end <= self.limits.absolute_gap


def onto_bounds(form: StandardForm, x: Array) -> Array:
    """The point with bounds and integrality met exactly where they are met to the tolerance.

    A bound missed by 1e-14 and a coefficient of 1e14 make a violation of 1 vanish in a row.
    """
    inside = np.where(form.integer, np.round(x), np.clip(x, form.lower, form.upper))
    close = np.abs(inside - x) <= FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(x))
    return np.where(close, inside, x)
