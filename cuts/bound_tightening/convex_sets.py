"""Convex sets that hold an optimum of the 0-1 loss problem, for bound tightening.

Both are made of what is known of that optimum (SlackBounds) and of one more row: its objective is
at most the cutoff.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.cuts.bound_tightening.linear_minima import ProvenMinimum
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    signed_score,
    squared_norm,
)
from tightmargin.formulations.conic.checks import ROOM
from tightmargin.formulations.conic.strengthened import (
    membership,
    prices_below,
    strengthened_model,
)
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds
from tightmargin.solvers.engines.running import WorkCount
from tightmargin.solvers.model.conic import conic_form
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.reader import standard_form

LITTLE = 1e-9  # least slope of v <= M z: a point that is almost kept leaves the row some room


@dataclass(frozen=True, eq=False)
class TighteningSet:
    """A set, ready to be minimised over.

    weight (k,): columns of w, and of b if there is one.
    z (n,): columns of z, -1 where a point is decided.
    objective: the objective over the columns,.
    offset: and what the decided points add to it.
    """

    minimum: ProvenMinimum
    weight: Index
    z: Index
    objective: Array
    offset: float

    def least(self, cost: Array, column: int = -1, pinned: float = 0.0) -> float:
        """Lower bound on <cost, x> over the set, or over its part where one column is pinned.

        Raises ValueError: when the whole set is proven empty.
        """
        if column >= 0:
            return self.minimum.least(cost, {column: pinned})
        bound = self.minimum.least(cost)
        if bound == np.inf:
            raise ValueError(
                "bounds hold at no optimum: nothing at or below the cutoff satisfies all of them"
            )
        return bound

    def violations(self, bounds: SlackBounds) -> Array | None:
        """The z of every point (n,) where the last function was least; None when it is unknown."""
        x = self.minimum.point
        if x is None:
            return None
        free = self.z >= 0
        z = bounds.violated.astype(float)
        z[free] = np.clip(x[self.z[free]], 0.0, 1.0)
        return z


def quick_model(
    data: TrainingData, bounds: SlackBounds, *, penalty: float, intercept: str, count: float
) -> pyo.ConcreteModel:
    """The big-M relaxation below the cutoff, with boxes: cheap, and enough to make M moderate.

        margin[i]    v_i <= U_i z_i,        0 <= z_i <= 1          i undecided, U_i = upper_i
        side[i]      lower_i <= v_i <= upper_i
        norm_row     norm2 <= t <= bounds.norm2
        cutoff_row   t + penalty sum_i z_i <= bounds.cutoff
        conflict[S]  sum_S z_i >= 1
        count_row    sum_i z_i >= count

    and b within its interval; norm2 without b^2 when the intercept is free.
    """
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    for i in np.flatnonzero(bounds.kept | bounds.violated).tolist():
        m.z[i].fix(float(bounds.violated[i]))
    score = signed_score(m, data)
    slope = np.maximum(bounds.upper, LITTLE)
    m.margin = AffineRows(m.I, [*score, (slope, m.z)], lower=1.0)
    m.side = AffineRows(m.I, score, lower=1 - bounds.upper, upper=1 - bounds.lower)
    if intercept != "none":
        m.b.setlb(bounds.intercept[0])
        m.b.setub(bounds.intercept[1])
    m.t = pyo.Var(bounds=(0.0, bounds.norm2))
    m.norm_row = pyo.Constraint(expr=squared_norm(m, intercept) <= m.t)
    objective = total(m.t, dot(prices_below(penalty, data.multiplicity), m.z))
    m.cutoff_row = pyo.Constraint(expr=objective <= bounds.cutoff)
    if bounds.conflicts:
        m.C = pyo.RangeSet(0, len(bounds.conflicts) - 1)
        m.conflict = AffineRows(m.C, [(membership(bounds.conflicts, data.n), m.z)], lower=1.0)
    _add_count(m, data, count)
    m.objective = pyo.Objective(expr=objective)
    return m


def lifted_model(
    data: TrainingData, bounds: SlackBounds, *, penalty: float, intercept: str, count: float
) -> pyo.ConcreteModel:
    """The rows of conic_sdp_strengthened, its cutoff row, and `count_row`."""
    m = strengthened_model(data, bounds, penalty=penalty, intercept=intercept, below_cutoff=True)
    _add_count(m, data, count)
    counted = data.d + (intercept == "penalised")
    norm = pyo.quicksum(m.W[j, j] for j in range(counted))
    m.objective = pyo.Objective(
        expr=total(norm, dot(prices_below(penalty, data.multiplicity), m.z))
    )
    return m


def _add_count(m: pyo.ConcreteModel, data: TrainingData, count: float) -> None:
    if count > 0:
        m.count_row = pyo.Constraint(expr=dot(data.multiplicity, m.z) >= count)


MODELS = {"qp": quick_model, "sdp": lifted_model}


def tightening_set(
    relaxation: str,
    data: TrainingData,
    bounds: SlackBounds,
    *,
    penalty: float,
    intercept: str,
    count: float,
    seconds: float | None = None,
    work: WorkCount | None = None,
) -> TighteningSet:
    """Set of one relaxation, "qp" or "sdp", with a solver prepared for it."""
    model = MODELS[relaxation](data, bounds, penalty=penalty, intercept=intercept, count=count)
    form = standard_form(model)
    parts = {part.component.name: part.columns for part in form.columns.parts}
    low, high = np.full(form.n, np.nan), np.full(form.n, np.nan)
    for name, (least, most) in _box(model, data, bounds, intercept).items():
        inside = parts[name] >= 0
        low[parts[name][inside]] = np.broadcast_to(least, inside.shape)[inside]
        high[parts[name][inside]] = np.broadcast_to(most, inside.shape)[inside]
    conic = conic_form(form, classify(form))
    weight = np.concatenate([parts[name] for name in ("w", "b") if name in parts])
    return TighteningSet(
        ProvenMinimum(conic, low, high, seconds, work),
        weight,
        parts["z"],
        conic.q,
        conic.offset,
    )


def _box(
    model: pyo.ConcreteModel, data: TrainingData, bounds: SlackBounds, intercept: str
) -> dict[str, tuple[Any, Any]]:
    """Bounds of every variable over the set, by its name."""
    radius = np.sqrt(bounds.norm2)
    box: dict[str, tuple[Any, Any]] = {"w": (-radius, radius), "z": (0.0, 1.0)}
    sizes = np.full(augmented(data, intercept).shape[1], radius)
    if intercept != "none":
        box["b"] = bounds.intercept
        sizes[-1] = max(map(abs, bounds.intercept))
    if model.find_component("W") is None:
        return box | {"t": (0.0, bounds.norm2)}
    j, k = np.array(list(model.L)).T
    # |W_jk| <= sqrt(W_jj W_kk) in a semidefinite matrix.
    reach = sizes[j] * sizes[k]
    box["W"] = np.where(j == k, 0.0, -reach), reach
    open_points = np.array(list(model.O), dtype=np.intp)
    far = np.maximum(bounds.upper[open_points], ROOM)
    near = np.maximum(-bounds.lower[open_points], ROOM)
    box |= {"p": (0.0, far), "q": (0.0, near), "s": (0.0, far**2), "r": (0.0, near**2)}
    return box
