"""The hull relaxation of the disjunctive 0-1 loss, with the norm inside the disjuncts or outside.

In zero_one_disjunctive the norm stands in the objective, and the hull of each choice sees linear
rows alone. With ||w||^2 <= t in both disjuncts of every choice, and t in the objective, the problem
is the same and the hull is that of a disjunction of convex quadratic sets. Pyomo's hull
transformation states it exactly, by perspectives without an epsilon
(Gusev & Bernal Neira 2025, arXiv 2508.16093): ||p||^2 / (1 - z) <= t_p is ||p||^2 <= t_p (1 - z).

Order.  Write C_i for the hull of choice i, and let D = I (the features only with a free b).

  linear hull <= exact hull <= optimum: ||p||^2 / (1 - z) + ||q||^2 / z >= ||p + q||^2, so t >= the
    norm follows; binary z are points of both.
  exact hull without bounds on (w, b, t) <= conic_sdp (b not free): by Theorem 1 of Cepeda, Gomez &
    Han (the module of conic_hull) C_i then contains all points, 0 <= z_i <= 1, with
        t >= ||w~||^2 - g v^2 + g v_+^2 / z_i + g v_-^2 / (1 - z_i),    g = 1 / ||x~_i||^2, v = v_i.
    In conic_sdp_literal T_i is at least the two quotients, and <I, W> >= ||w~||^2 + g (T_i - v^2),
    because W - w~ w~' is semidefinite and <x~_i x~_i', .> <= ||x~_i||^2 <I, .> on such matrices.
    So t = <I, W> is in every C_i.
  with them neither is always above the other: they know a hyperplane, and the SDP does not.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunct, Disjunction

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    augmented_weight,
    norm_of,
    signed_scores,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import add_parameter, one_of, positive
from tightmargin.formulations.zero_one.checks import Hyperplane
from tightmargin.formulations.zero_one.logic_models import bound_hyperplane, either, point_score

NORMS = ("disjuncts", "objective")


def _check(origin: Origin, values: Values) -> PaperCheck:
    """t + penalty sum z of the solution, and by how much t is below what (w, b) and z need."""
    data, p = origin.data, origin.parameters
    u, w, b = signed_scores(data, values)
    t, z = float(values["t"]), np.asarray(values["z"], dtype=float)
    objective = t + p["penalty"] * float(data.multiplicity @ z)
    m = _bounded_hyperplane(data, p["penalty"], p["intercept"], p.get("incumbent"))
    ends = np.array([(x.lb, x.ub) for x in augmented_weight(m)])
    x = np.append(w, b)[: len(ends)]
    rows = data.y[:, None] * augmented(data, p["intercept"])
    priced = np.arange(len(ends)) < data.d + (p["intercept"] == "penalised")
    outside = np.maximum(ends[:, 0] - x, x - ends[:, 1]) / np.maximum(1, np.abs(ends).max(axis=1))
    beyond = np.maximum(-z, z - 1)
    least, short = least_size(x, np.clip(z, 0, 1), rows, ends, priced)
    if p["norm"] == "objective":
        least = norm_of(w, b, p["intercept"])
    below = (least - t) / max(1.0, least)
    unsaved = max(0.0, float(outside.max()), float(beyond.max()), short, below)
    return PaperCheck(objective, unsaved=unsaved, facts={"errors": int((u <= 0).sum())})


def least_size(x: Array, z: Array, rows: Array, ends: Array, priced: Array) -> tuple[float, float]:
    """Least t that the hull of each choice allows at (w, b) and z, and what a margin lacks.

    x = p + q with p in (1 - z_i) [l, u], q in z_i [l, u] and a_i'p >= 1 - z_i, where a_i is row i
    of `rows`. With delta = p - (1 - z_i) x,

        ||p||^2 / (1 - z_i) + ||q||^2 / z_i = ||x||^2 + ||delta||^2 / (z_i (1 - z_i)),

    over the priced coordinates; the least delta is lambda a_i cut off at the ends, with the least
    lambda >= 0 that meets the margin. The limit r^2 on t, which is as wide, is left out.

    x (k,): (w, b).
    z (n,).
    rows (n, k): y_i (x_i, 1).
    ends (k, 2): l and u.
    priced (k,): coordinates that count in the norm.
    Returns: the largest over the points of each; what is lacking is 0 where every margin can be
        met.
    """
    kept = (1 - z)[:, None]
    low = np.maximum(kept * ends[:, 0], x - z[:, None] * ends[:, 1]) - kept * x
    high = np.minimum(kept * ends[:, 1], x - z[:, None] * ends[:, 0]) - kept * x
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    at_best = np.where(rows > 0, high, low)
    wanted = 1 - z - (1 - z) * (rows @ x)
    short = max(0.0, float(np.max(wanted - (rows * at_best).sum(axis=1))))

    def part(slope: Array) -> Array:
        """The least delta of each point that is at least so far along its row."""
        moved = np.clip(slope[:, None] * rows, low, high)
        return np.where(priced, moved, np.where(slope[:, None] > 0, at_best, 0.0))

    # What costs nothing is spent first; lambda is at most where every coordinate is cut off.
    unpriced = np.where(priced, 0.0, at_best)
    lacks = (rows * unpriced).sum(axis=1) < wanted
    smallest = np.min(np.where(rows == 0, np.inf, np.abs(rows)), axis=1)
    below, above = np.zeros(len(z)), np.where(lacks, np.abs(at_best).max(axis=1) / smallest, 0.0)
    for _ in range(100):
        middle = (below + above) / 2
        enough = (rows * part(middle)).sum(axis=1) >= wanted
        above, below = np.where(enough, middle, above), np.where(enough, below, middle)
    delta = np.where(priced, part(below), 0.0)
    room = z * (1 - z)
    extra = np.divide((delta**2).sum(axis=1), room, out=np.zeros(len(z)), where=room > 0)
    return float(x[priced] @ x[priced] + extra.max(initial=0.0)), short


@two_class_formulation(
    ProblemClass.SOCP,
    "Cepeda, Gomez & Han 2024, sec. 2, as a disjunctive program with the norm inside, exact hull",
    relaxes="zero_one_big_m",
    check=_check,
    takes=(TrainingData,),
)
def zero_one_disjunctive_relaxed(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str = "penalised",
    norm: str = "disjuncts",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """Hull relaxation of the disjunctive 0-1 loss, with a norm that the choices see.

        min   t + penalty sum_i z_i,       l <= (w, b) <= u,  0 <= t <= r^2
        s.t.  (w, b, t, z_i) in the hull of
              keep[i]: u_i >= 1, ||w||^2 <= t, z_i = 0     or    drop[i]: ||w||^2 <= t, z_i = 1

    for every point, with the bounds of zero_one_disjunctive on (w, b). The value is a lower bound
    on the 0-1 optimum, at least that of the linear hull. The disjuncts are transformed by Pyomo's
    `gdp.hull` with `exact_hull_quadratic`; the parts of (w, b, t) are on the block that it adds.

    Parameters
    ----------
    norm : "disjuncts" or "objective"
        Where ||w||^2 <= t stands: in both disjuncts, or once outside of them.
    incumbent : (w, b), optional
        A known hyperplane; its objective is recomputed. The better it is, the tighter are the
        bounds; without one they come from w = 0.

    The penalty is no Param: the bounds are derived from it, so a new one needs a new model.
    """
    one_of("norm", norm, NORMS)
    cost = positive("penalty", penalty)
    m = _bounded_hyperplane(data, cost, intercept, incumbent)
    m.t = pyo.Var(bounds=(0.0, m.w[0].ub ** 2))
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    size = squared_norm(m, intercept)
    m.keep, m.drop = Disjunct(m.I), Disjunct(m.I)
    for i in m.I:
        m.keep[i].margin = pyo.Constraint(expr=point_score(m, data, i) >= 1)
        if norm == "disjuncts":
            m.keep[i].size = pyo.Constraint(expr=size <= m.t)
            m.drop[i].size = pyo.Constraint(expr=size <= m.t)
    if norm == "objective":
        m.size = pyo.Constraint(expr=size <= m.t)
    m.choice = Disjunction(m.I, rule=either)
    m.given_up = pyo.Constraint(
        m.I, rule={i: m.z[i] == m.drop[i].binary_indicator_var for i in m.I}
    )
    m.objective = pyo.Objective(expr=m.t + cost * dot(data.multiplicity, m.z))
    pyo.TransformationFactory("gdp.hull").apply_to(m, exact_hull_quadratic=True)
    for disjunct in (*m.keep.values(), *m.drop.values()):
        disjunct.binary_indicator_var.domain = pyo.UnitInterval
    return m


def _bounded_hyperplane(
    data: TrainingData, cost: float, intercept: str, incumbent: Hyperplane | None
) -> pyo.ConcreteModel:
    """(w, b) between bounds that are numbers, outwards: they were expressions of the penalty."""
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", cost)
    bound_hyperplane(m, data, intercept, incumbent)
    for x in [*m.w.values(), *([m.b] if m.find_component("b") is not None else [])]:
        low, high = float(pyo.value(x.lb)), float(pyo.value(x.ub))
        x.setlb(float(np.nextafter(low, -np.inf)))
        x.setub(float(np.nextafter(high, np.inf)))
    m.del_component(m.penalty)
    return m
