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

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values, formulation
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    signed_scores,
    squared_norm,
    weight_and_intercept,
)
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import add_parameter, one_of, positive
from tightmargin.formulations.zero_one.checks import Hyperplane
from tightmargin.formulations.zero_one.logic_models import bound_hyperplane, either, point_score

NORMS = ("disjuncts", "objective")


def _check(origin: Origin, values: Values) -> PaperCheck:
    """t + penalty sum z of the solution; the bound is that of the multipliers."""
    data, p = origin.data, origin.parameters
    u, _, _ = signed_scores(data, values)
    objective = float(values["t"]) + p["penalty"] * float(data.multiplicity @ values["z"])
    return PaperCheck(objective, facts={"errors": int((u <= 0).sum())})


@formulation(
    ProblemClass.SOCP,
    "Cepeda, Gomez & Han 2024, sec. 2, as a disjunctive program with the norm inside, exact hull",
    relaxes="zero_one_big_m",
    check=_check,
    classifier=weight_and_intercept,
    weighted=True,
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
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", cost)
    bound_hyperplane(m, data, intercept, incumbent)
    _fix_bounds(m)
    m.del_component(m.penalty)
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


def _fix_bounds(m: pyo.ConcreteModel) -> None:
    """Bounds of w and b as numbers, outwards: they were expressions of the penalty."""
    for x in [*m.w.values(), *([m.b] if m.find_component("b") is not None else [])]:
        low, high = float(pyo.value(x.lb)), float(pyo.value(x.ub))
        x.setlb(float(np.nextafter(low, -np.inf)))
        x.setub(float(np.nextafter(high, np.inf)))
