"""The SDP relaxation of the 0-1 loss without its z: a semidefinite matrix and n quotients."""

from __future__ import annotations

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import ProblemClass, formulation
from tightmargin.formulations.common.hyperplane import weight_and_intercept
from tightmargin.formulations.conic.checks import check_eliminated
from tightmargin.formulations.conic.lifted_rows import add_hinge_and_lift, lifted_model, lifted_norm
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import positive


@formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21), z eliminated",
    relaxes="zero_one_big_m",
    check=check_eliminated,
    takes=(TrainingData, GramData),
    classifier=weight_and_intercept,
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
    (solvers/transformations/quotients.py): a result holds the z_i as `quotients.value`. Parameters
    as for conic_sdp.
    """
    m = lifted_model(data, positive("penalty", penalty), intercept, intercept_bound)
    add_hinge_and_lift(m, data)
    quotients = pyo.quicksum(m.p[i] ** 2 / m.T[i] for i in m.I)
    m.objective = pyo.Objective(expr=lifted_norm(m, intercept) + m.penalty * quotients)
    return m
