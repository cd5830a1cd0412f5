"""What a certificate is computed from, and what is left of a claim after the check."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Origin, PaperCheck
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.canonical_form.conic_form import ConicForm, Multipliers, conic_form
from tightmargin.solvers.canonical_form.named_values import named_values
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.proofs import gap
from tightmargin.solvers.result import Certificate, Status
from tightmargin.solvers.standard_form.standard_form import StandardForm
from tightmargin.solvers.transformations.least_squares_scaling import (
    objective_scale,
    objective_unit,
)
from tightmargin.solvers.transformations.scaling import Scaling, badly_scaled, scaling

FEASIBILITY_TOLERANCE = 1e-6
GAP_TOLERANCE = gap.CLOSED
CLAIM_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Certified:
    """A claim after the check: the point and objective that stand, and the certificate.

    Attributes
    ----------
    status : Status
    x : array or None
        The point, repaired where the formulation knows how.
    objective : float or None
        Of the minimisation, recomputed.
    certificate : Certificate
        Bounds are those of the minimisation too.
    proof : Multipliers or None
        Farkas multipliers of an infeasible model; they take the place of the solver's duals.
    ray : array or None
        Direction in which an unbounded model falls for ever, from `x`.
    """

    status: Status
    x: Array | None
    objective: float | None
    certificate: Certificate
    proof: Multipliers | None = None
    ray: Array | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """Everything a certificate is computed from."""

    model: pyo.ConcreteModel
    form: StandardForm
    classification: Classification
    origin: Origin | None = None  # None for foreign and for edited models
    limits: Limits = field(default_factory=Limits)

    @cached_property
    def natural_size(self) -> float:
        """Natural size of the objective, see transformations/least_squares_scaling.py."""
        return objective_unit(self.form)

    @cached_property
    def conic(self) -> ConicForm:
        """Conic form of the model, or of its continuous relaxation."""
        return conic_form(self.form, self.classification)

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
        return objective_scale(objective, self.natural_size if abs(objective) < 1 else 1.0)

    def unit(self, objective: float, bound: float | None) -> float:
        """What the gap between an objective and a bound is measured against, see gap.py."""
        return gap.unit(objective, objective if bound is None else bound, self.constant)

    @property
    def constant(self) -> float:
        """Additive constant of the objective, that of fixed variables included."""
        return self.form.objective.constant

    def paper_check(self, x: Array) -> PaperCheck | None:
        """The point re-evaluated by the formulation's own formula; None without one."""
        if self.origin is None:
            return None
        check = CATALOGUE[self.origin.entry].check
        if check is None:
            return None
        return check(self.origin, named_values(self.model, self.form, x))

    def closes(self, objective: float, bound: float | None) -> bool:
        """Whether a proven bound makes an objective the optimum; one above it proves nothing."""
        if gap.closes(objective, bound, self.constant):
            return True
        return bound is not None and 0 <= objective - bound <= self.limits.absolute_gap

    def exceeds(self, objective: float, bound: float | None) -> bool:
        """Whether a bound is above an objective by more than a closed gap: one of them is wrong."""
        if bound is None or bound <= objective:
            return False
        return not gap.closes(objective, bound, self.constant)


def onto_bounds(form: StandardForm, x: Array) -> Array:
    """The point with bounds and integrality met exactly where they are met to the tolerance.

    A bound missed by 1e-14 and a coefficient of 1e14 make a violation of 1 vanish in a row.
    """
    inside = np.where(form.integer, np.round(x), np.clip(x, form.lower, form.upper))
    close = np.abs(inside - x) <= FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(x))
    return np.where(close, inside, x)
