"""Convex relaxations of the 0-1 loss that need no big-M: one cone a point, and an SDP over all.

Cepeda, Gomez & Han 2024, (14), Theorem 2 (21) and appendices A and C, on points or on a kernel
matrix. Symbols are those of lifted_rows.py; the SDP without its z is below too, its
dual in sdp_dual.py.

The SDP relaxation of the 0-1 loss without its z: a semidefinite matrix and n quotients.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    augmented_weight,
    two_class_formulation,
)
from tightmargin.formulations.conic.budget import budget_share
from tightmargin.formulations.conic.checks import (
    check_budget,
    check_eliminated,
    check_fixed,
    check_sdp,
)
from tightmargin.formulations.conic.lifted_rows import (
    add_cones_of_both_sides,
    add_hinge_and_lift,
    add_reduced_cones,
    add_split,
    lifted_model,
    lifted_norm,
)
from tightmargin.formulations.conic.strengthening import strengthening_values
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.rotated_cones import RotatedCones, complement
from tightmargin.formulations.modeling.semidefinite import lower_pairs
from tightmargin.formulations.parameters import add_parameter, positive


@two_class_formulation(
    ProblemClass.SOCP,
    "Cepeda, Gomez & Han 2024, (14), corrected",
    relaxes="zero_one_big_m",
    check=check_fixed,
)
def conic_fixed(
    data: TrainingData | GramData,
    *,
    penalty: float,
    strengthening: ArrayLike | str,
    intercept: str = "penalised",
) -> pyo.ConcreteModel:
    """Conic relaxation with the strengthening gamma_i chosen beforehand.

        min   w~'(I - sum_i gamma_i x~_i x~_i') w~ + sum_i gamma_i (2 u_i - 1)
              + penalty sum_i z_i + sum_i gamma_i (s_i + r_i)
        s.t.  split[i]    p_i - q_i + u_i = 1,           p_i, q_i >= 0
              inside[i]   p_i^2 <= s_i z_i,              0 <= z_i <= 1
              outside[i]  q_i^2 <= r_i (1 - z_i),        s_i, r_i >= 0

    so that p_i = (1 - u_i)_+ and q_i = (1 - u_i)_-. Corrected: the second numerator is printed
    (1 - u_i - 1)_-. A point with gamma_i = 0 has no cones (index set A holds the others): its s_i
    would cost nothing, and its loss is 0.

    Parameters
    ----------
    strengthening : array (n,) or "equal", "inverse_norm", "scaled"
        gamma_i >= 0 with I - sum gamma_i x~_i x~_i' semidefinite; the words are in
        strengthening.py. The number of a weighted point is that of all its copies together.

    Raises
    ------
    ValueError
        When the quadratic term is not convex (naming its smallest eigenvalue), or with a free
        intercept: the sum over the constant column then forces gamma = 0.
    """
    if intercept == "free":
        raise ValueError(
            "conic_fixed needs intercept=penalised or none: without a price on b the quadratic "
            "term is convex only for strengthening 0, and the bound is worthless"
        )
    points = augmented(data, intercept)
    gamma = strengthening_values(points, strengthening, data.multiplicity)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    add_split(m, data)
    active = np.flatnonzero(gamma > 0)
    m.A = pyo.Set(initialize=active.tolist())
    m.s, m.r = (ArrayVar(m.A, lower=0.0) for _ in range(2))
    m.inside = RotatedCones(m.A, m.p, m.s, m.z)
    m.outside = RotatedCones(m.A, m.q, m.r, complement(m.z))
    hessian = np.eye(points.shape[1]) - points.T @ (gamma[:, None] * points)
    weight = augmented_weight(m)
    quadratic = pyo.quicksum(
        hessian[j, k].item() * (1 if j == k else 2) * weight[j] * weight[k]
        for j, k in lower_pairs(len(weight))
    )
    linear = (2 * gamma * data.y) @ points
    m.objective = pyo.Objective(
        expr=quadratic
        + pyo.quicksum(a * x for a, x in zip(linear.tolist(), weight, strict=True))
        - float(gamma.sum())
        + m.penalty * dot(data.multiplicity, m.z)
        + dot(gamma[active], m.s)
        + dot(gamma[active], m.r)
    )
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21), reduced",
    relaxes="zero_one_big_m",
    check=check_sdp,
)
def conic_sdp(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    intercept_bound: float | str | None = None,
) -> pyo.ConcreteModel:
    """SDP relaxation of the 0-1 loss with one rotated cone a point.

        min   <D, W> + penalty sum_i z_i                  D = I (features only if b is free)
        s.t.  lifted[i]   T_i = <x~_i x~_i', W> - 2 u_i + 1
              hinge[i]    p_i + u_i >= 1,                  p_i, T_i, z_i >= 0
              inside[i]   p_i^2 <= T_i z_i
              outer       [[W, w~], [w~', 1]] is semidefinite

    Equal in value to the printed form: T_i >= v_i^2 makes the (1 - z) term and z <= 1 redundant.
    With a free intercept W_bb <= intercept_bound^2 is added; without it the bound is 0.

    Parameters
    ----------
    intercept_bound : number or "derived"
        |b| of some optimum, demanded with a free intercept; "derived" is proven in big_m.py.

    Names here -> in the paper: penalty -> lambda; the dual of `lifted` is gamma.
    """
    m = lifted_model(data, positive("penalty", penalty), intercept, intercept_bound)
    m.z = ArrayVar(m.I, lower=0.0)
    add_reduced_cones(m, data)
    m.objective = pyo.Objective(
        expr=lifted_norm(m, intercept) + m.penalty * dot(data.multiplicity, m.z)
    )
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21)",
    relaxes="zero_one_big_m",
    check=check_sdp,
)
def conic_sdp_literal(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    intercept_bound: float | str | None = None,
) -> pyo.ConcreteModel:
    """The SDP of Theorem 2 as printed.

        min   <D, W> + penalty sum_i z_i
        s.t.  T_i >= (1 - u_i)_+^2 / z_i + (1 - u_i)_-^2 / (1 - z_i),   0 <= z_i <= 1
              [[W, w~], [w~', 1]] is semidefinite

    with rows split, inside, outside as in conic_fixed and lifted[i]: T_i = s_i + r_i. Parameters
    as for conic_sdp.
    """
    m = lifted_model(data, positive("penalty", penalty), intercept, intercept_bound)
    add_cones_of_both_sides(m, data)
    m.objective = pyo.Objective(
        expr=lifted_norm(m, intercept) + m.penalty * dot(data.multiplicity, m.z)
    )
    return m


@two_class_formulation(ProblemClass.SDP, "Cepeda, Gomez & Han 2024, App. C", check=check_budget)
def conic_sdp_budget(
    data: TrainingData | GramData,
    *,
    budget: float,
    intercept: str = "penalised",
    intercept_bound: float | None = None,
) -> pyo.ConcreteModel:
    """The SDP with a budget on violations instead of a price.

        min   <D, W>
        s.t.  spend    sum_i z_i <= budget n
              lifted, hinge, inside, outer as in conic_sdp

    Minus the multiplier of `spend` is the penalty of the conic_sdp with the same solution; a
    result has it as the fact `penalty`. The grid of the paper is in budget.py. Names here ->
    in the paper: budget -> kappa.

    Raises
    ------
    ValueError
        budget outside (0, 1].
    """
    share = budget_share(budget)
    m = lifted_model(data, None, intercept, intercept_bound)
    add_parameter(m, "budget", share)
    m.z = ArrayVar(m.I, lower=0.0)
    add_reduced_cones(m, data)
    m.spend = pyo.Constraint(
        expr=total(dot(data.multiplicity, m.z), -data.total_weight * m.budget) <= 0
    )
    m.objective = pyo.Objective(expr=lifted_norm(m, intercept))
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21), z eliminated",
    relaxes="zero_one_big_m",
    check=check_eliminated,
)
def conic_sdp_eliminated(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    intercept_bound: float | str | None = None,
) -> pyo.ConcreteModel:
    """SDP relaxation of the 0-1 loss with quotients in the place of z.

        min   <D, W> + penalty sum_i p_i^2 / T_i          D = I (features only if b is free)
        s.t.  lifted[i]   T_i = <x~_i x~_i', W> - 2 u_i + 1
              hinge[i]    p_i + u_i >= 1,                  p_i, T_i >= 0
              outer       [[W, w~], [w~', 1]] is semidefinite

    The least z_i of conic_sdp for given (w~, W) is (1 - u_i)_+^2 / T_i, at most 1 because
    T_i >= (1 - u_i)^2; where T_i = 0 the point is on the margin and z_i = 0. The objective is
    convex, a sum of quadratics over linear functions, for which solve() puts rotated cones
    (solvers/model/rewrites.py): a result holds the z_i as `quotients.value`. Parameters
    as for conic_sdp.
    """
    m = lifted_model(data, positive("penalty", penalty), intercept, intercept_bound)
    add_hinge_and_lift(m, data)
    times = data.multiplicity.tolist()
    quotients = pyo.quicksum(times[i] * m.p[i] ** 2 / m.T[i] for i in m.I)
    m.objective = pyo.Objective(expr=lifted_norm(m, intercept) + m.penalty * quotients)
    return m
