"""A model as the kernel reads it: nobody else says what its class, its cones or its limits are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tightmargin.solvers.canonical_form.classification import Classification, classify
from tightmargin.solvers.canonical_form.conic_form import ConicForm, conic_form
from tightmargin.solvers.proofs.implied_limits import (
    Reach,
    limits_of_cones,
    limits_of_variables,
)
from tightmargin.solvers.standard_form.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class Subject:
    """What proofs of a model speak of.

    Attributes
    ----------
    form : StandardForm
        Its arrays; each double is the exact number that it is.
    """

    form: StandardForm

    @cached_property
    def classification(self) -> Classification:
        """Its class, its quadratic rows as cones, and the proven curvature of its objective."""
        return classify(self.form)

    @cached_property
    def conic(self) -> ConicForm:
        """Conic form of the model, or of its continuous relaxation."""
        return conic_form(self.form, self.classification)

    def reach(self, cutoff: float | None) -> Reach:
        """Limits of the variables at feasible points of objective <= `cutoff`, constant left out.

        None stands for any objective, and for what bounds and single cones say: it costs little.
        """
        if cutoff is None:
            return self._own_reach
        return _reach(self, cutoff)

    @property
    def bounds(self) -> Reach:
        """The bounds of the variables and nothing else."""
        return Reach(self.form.lower, self.form.upper, math.inf)

    @cached_property
    def _own_reach(self) -> Reach:
        return limits_of_cones(self.form, self.classification)


@lru_cache(maxsize=4)
def _reach(subject: Subject, cutoff: float) -> Reach:
    return limits_of_variables(subject.form, subject.classification, cutoff)
