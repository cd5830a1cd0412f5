"""Concavity and facial cuts of the extended nu-SVC as separators of its polytope.

The model is extended_nu_svc_polar, where a longest w is looked for, with a linear objective in the
place of the norm, so that any engine has a vertex to show. The cuts keep what is longer than a
known weight: a point that long is accepted, and where nothing is left, none is longer. They are
derived again before they enter, up to rounding: the verdict rests on that, and says so.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.model_rows import LEVEL_HELD, level_of
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.generation.separation import BestWeight, VertexCuts
from tightmargin.cuts.generation.verification import verify_cut
from tightmargin.cuts.relaxation.faces import FaceProgram
from tightmargin.cuts.relaxation.pool import Pool
from tightmargin.cuts.relaxation.relaxation import Found, Relaxation
from tightmargin.cuts.search.run import given_weights
from tightmargin.cuts.separators.given_cuts import polar_problem_of
from tightmargin.cuts.separators.proven_row import ProvenRow
from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Readable
from tightmargin.solvers.live_lp import LiveResult

GAMMA = 1e-6  # by so much, relative, a weight must be longer than the known one to be accepted
LEAST_DEPTH = 1e-6


class StalledError(Exception):
    """A point is too short to be accepted, and no cut that removes it can be had."""


class _Known(BestWeight):
    """A weight that stays the one that was given: what is longer than it is for the engine."""

    def record(self, weight: Array) -> None:
        """Leave everything as it is."""


def concavity(model: pyo.ConcreteModel, *, known: ArrayLike) -> PolarCuts:
    """The separator of concavity cuts of an extended_nu_svc_polar model, for `separate`.

    Parameters
    ----------
    model : ConcreteModel
        Of extended_nu_svc_polar, with a linear objective in the place of its own.
    known : array (k,)
        A direction w, or (w, b) with a penalised intercept, of any length: what is not longer on
        the boundary of the polytope than its multiple there may be cut off.

    Raises
    ------
    ValueError
        Another model, or no direction.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> best = tm.search.cutting_plane(data, nu=0.1).best.weight
    >>> model = tm.extended_nu_svc_polar(data, nu=0.1)
    >>> model.objective.deactivate()
    >>> model.along = pyo.Objective(expr=-model.w[0] - model.w[1])
    >>> tm.separate(model, tm.cuts.concavity(model, known=best)).status.value
    'infeasible'
    """
    return _separator(model, known, "concavity")


def facial(model: pyo.ConcreteModel, *, known: ArrayLike) -> PolarCuts:
    """The separator of facial cuts, and of concavity cuts where no facial one can be had.

    Parameters
    ----------
    model : ConcreteModel
        As for `concavity`.
    known : array (k,)
        As for `concavity`.

    Raises
    ------
    ValueError
        Another model, or no direction.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> best = tm.search.cutting_plane(data, nu=0.1).best.weight
    >>> model = tm.extended_nu_svc_polar(data, nu=0.1)
    >>> model.objective.deactivate()
    >>> model.along = pyo.Objective(expr=-model.w[0] - model.w[1])
    >>> tm.separate(model, tm.cuts.facial(model, known=best)).status.value
    'infeasible'
    """
    return _separator(model, known, "literal")


def _separator(model: pyo.ConcreteModel, known: ArrayLike, strategy: str) -> PolarCuts:
    built = getattr(model, "origin", None)
    if not isinstance(built, Origin) or built.entry not in LEVEL_HELD:
        raise ValueError(f"the model must be one of {' or '.join(LEVEL_HELD)}")
    problem = polar_problem_of(model)
    assert problem is not None
    (weight,) = given_weights(problem, np.atleast_2d(known), "known")
    best = _Known(problem, GAMMA, weight / np.linalg.norm(weight), problem.value(weight))
    relaxation = Relaxation(problem, best.value, "primal")
    faces = None
    if strategy == "literal":
        faces = FaceProgram(Relaxation(problem, best.value, "primal", rebuilds=False))
    vertices = VertexCuts(
        problem, strategy, "projected", LEAST_DEPTH, relaxation, Pool(relaxation), faces, best, None
    )
    name = "concavity" if strategy == "concavity" else "facial"
    return PolarCuts(model, problem, vertices, name)


class PolarCuts(Readable):
    """What `concavity` and `facial` make: a function of a point, with the cuts it has found.

    cuts, list of Cut.
    gamma: length of a weight that is accepted, at objective 1.
    """

    needs_vertices = True

    def __init__(
        self, model: pyo.ConcreteModel, problem: PolarProblem, vertices: VertexCuts, name: str
    ) -> None:
        self._model, self._problem, self._vertices, self.name = model, problem, vertices, name
        self.cuts: list[Cut] = []
        self.gamma = vertices.best.gamma

    def _page(self) -> Page:
        facts = [("found", count_text(len(self.cuts), "cut")), ("next", ".cuts")]
        return Page(f"Separator {self.name} of the {self._problem._title()}", facts)

    def __call__(self, point: Any) -> list[ProvenRow]:
        """A cut that removes a vertex; none where it is longer than the known weight.

        Raises StalledError: it is shorter, and no cut can be had.
        """
        level = level_of(self._model, self._problem.fingerprint)
        assert isinstance(level, float)  # of an entry that holds it
        weight = self._problem.weight(point) / level
        if float(np.linalg.norm(weight)) >= self.gamma:
            return []
        # In the space of weights nothing is asked of the live program's own answer.
        cut, why = self._vertices.cut_at(Found(weight, cast(LiveResult, None)), len(self.cuts))
        if cut is None:
            raise StalledError(f"no cut removes a point that is too short ({why})")
        cut = cut.numbered(len(self.cuts), len(self.cuts))
        if not self._vertices.pool.add(cut):
            raise StalledError(f"{cut.name} says what an earlier cut says")
        if self._vertices.faces is not None:
            self._vertices.faces.relaxation.add(cut)
        earlier = tuple(self.cuts)
        self.cuts.append(cut)
        return [
            ProvenRow(
                cut.relation(self._model),
                lambda: verify_cut(cut, self._problem, earlier),
                math.inf,
                exact=False,
            )
        ]
