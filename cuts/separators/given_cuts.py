"""Cuts that a function returns as they are: each is derived again before it enters."""

from __future__ import annotations

from functools import cached_property

import pyomo.environ as pyo

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.model_rows import LEVEL_HELD, NORM_HELD
from tightmargin.cuts.cut.polar_problem import PolarProblem, polar_problem
from tightmargin.cuts.generation.verification import verify_cut
from tightmargin.cuts.separators.proven_row import ProvenRow
from tightmargin.formulations.catalogue import Origin, origin_now


def polar_problem_of(model: pyo.ConcreteModel) -> PolarProblem | None:
    """The polytope of an extended nu-SVC, with its present nu; None for any other model."""
    built = getattr(model, "origin", None)
    if not isinstance(built, Origin) or built.entry not in (*LEVEL_HELD, *NORM_HELD):
        return None
    origin = origin_now(model)
    words = {name: origin.parameters[name] for name in ("nu", "class_balance", "intercept")}
    return polar_problem(origin.data, **words)


class GivenCuts:
    """The cuts that were given so far, those that no point has missed among them.

    A cut may rest on earlier ones, which have to be given before it or with it.
    """

    def __init__(self, model: pyo.ConcreteModel) -> None:
        self._model = model
        self._known: list[Cut] = []

    @cached_property
    def _problem(self) -> PolarProblem | None:
        return polar_problem_of(self._model)

    def add(self, cut: Cut) -> None:
        """Note a cut on which others may rest."""
        if not any(cut is other for other in self._known):
            self._known.append(cut)

    def row(self, cut: Cut) -> ProvenRow | object:
        """The cut over the variables of the model; without an origin where nobody knows that.

        Raises ValueError: as Cut.add_to.
        """
        relation, problem = cut.relation(self._model), self._problem
        if problem is None:
            return relation
        return ProvenRow(relation, lambda: verify_cut(cut, problem, self._known), exact=False)
