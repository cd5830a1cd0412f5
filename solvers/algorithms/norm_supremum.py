"""The longest w of least hinge loss: what Bi & Vapnik (Proposition 6) call the limit of valid H.

    sup { ||w|| : (w, b) of least hinge sum E0 }

It is no limit of anything: with separable data every solution can be scaled up, so that it is
infinite, and otherwise longer solutions have the same loss as the shortest one, from which on gamma
is 0 (h_limit). To find it is to maximise a convex function. A diagnostic, on request only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from formulations.data import GramData, TrainingData
from formulations.hyperplane import add_hyperplane, signed_score
from formulations.parameters import one_of
from formulations.rows import AffineRows, squares
from solvers import highs
from solvers.algorithms.h_limit import NormLimit
from solvers.algorithms.h_limit_face import sides
from solvers.backend import Limits
from solvers.classify import classify
from solvers.result import Status
from solvers.solve import solve
from solvers.standard_form import standard_form
from solvers.values import named_values

Array = NDArray[np.float64]

METHODS = ("boxes", "scip", "gurobi")


@dataclass(frozen=True)
class NormSupremum:
    """Limits of the longest w of least loss; both are claims of the solvers named.

    Attributes
    ----------
    lower : float
        Norm of the longest w that was found; infinite when w is unbounded.
    upper : float
        No w of least loss is longer.
    source : str
        Where both come from.
    """

    lower: float
    upper: float
    source: str


def norm_supremum(
    data: TrainingData | GramData, limit: NormLimit, method: str = "boxes"
) -> NormSupremum:
    """Longest w of least loss.

    Parameters
    ----------
    data : TrainingData or GramData
    limit : NormLimit
        Of the same data: its multipliers describe the face.
    method : str
        "boxes" takes the range of every w_j over the face by two linear programs each, and the
        longest vector in the box; "scip" or "gurobi" then solves the non-convex problem in it.

    Raises
    ------
    ValueError
        An unknown method, or a limit that was not found.
    RuntimeError
        A linear program did not end at an optimum, in the solver's words.
    """
    one_of("method", method, METHODS)
    if math.isnan(limit.value):
        raise ValueError("limit holds no value: h_limit was stopped before it found one")
    if limit.separable:
        return NormSupremum(math.inf, math.inf, "separable: any solution can be scaled up")
    m = _face(data, limit)
    low, high, longest = _box(m, data.d)
    longest = max(longest, limit.value)
    if not np.isfinite([low, high]).all():
        return NormSupremum(math.inf, math.inf, "highs: a coordinate of w is unbounded")
    farthest = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))))
    if method == "boxes" or not data.d:
        return NormSupremum(longest, max(longest, farthest), "highs: ranges of the coordinates")
    for j, (a, z) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        m.w[j].setlb(a)
        m.w[j].setub(z)
    m.del_component(m.objective)
    m.objective = pyo.Objective(expr=-squares(m.w))
    result = solve(m, method)
    found = [longest] if result.objective is None else [longest, _root(result.objective)]
    claim = result.certificate.solver_bound if result.bound is None else result.bound
    upper = farthest if claim is None else min(farthest, _root(claim))
    return NormSupremum(max(found), max(upper, *found), f"{result.solver}: {result.status}")


def _root(negative_square: float) -> float:
    return math.sqrt(max(0.0, -negative_square))


def _face(data: TrainingData | GramData, limit: NormLimit) -> pyo.ConcreteModel:
    """All (w, b) of least loss; see h_limit_face."""
    side = sides(limit.alpha)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, "free")
    m.face = AffineRows(
        m.I,
        signed_score(m, data),
        lower=np.where(side >= 0, 1.0, -np.inf),
        upper=np.where(side <= 0, 1.0, np.inf),
    )
    m.objective = pyo.Objective(expr=0.0 * m.b)
    return m


def _box(m: pyo.ConcreteModel, d: int) -> tuple[Array, Array, float]:
    """Range of every w_j, and the norm of the longest solution met on the way."""
    ends = np.array([[-np.inf], [np.inf]]) * np.ones(d)
    longest = 0.0
    for j in range(d):
        for row, sign in ((0, 1.0), (1, -1.0)):
            m.del_component(m.objective)
            m.objective = pyo.Objective(expr=sign * m.w[j])
            form = standard_form(m)
            claim = highs.run(form, classify(form), Limits())
            if claim.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if claim.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED):
                continue
            if claim.status is not Status.OPTIMAL or claim.x is None:
                raise RuntimeError(f"the range of w[{j}] ended with: {claim.message}")
            w = np.asarray(named_values(m, form, claim.x)["w"], dtype=float)
            ends[row, j] = w[j]
            longest = max(longest, float(np.linalg.norm(w)))
    return ends[0], ends[1], longest
