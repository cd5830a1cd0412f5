"""Convex relaxations of the 0-1 loss that need no big-M: one cone a point, and an SDP over all.

Cepeda, Gomez & Han 2024, (14) and Theorem 2 (21). Write x~_i for the point with its constant
entry, w~ = (w, b), u_i = y_i <w~, x~_i>, v_i = 1 - u_i, and T_i = <x~_i x~_i', W> - 2 u_i + 1.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike, NDArray

from formulations.array_var import ArrayVar
from formulations.catalogue import ProblemClass, formulation
from formulations.cones import lower_pairs, outer_products, psd
from formulations.conic_checks import check_budget, check_fixed, check_sdp
from formulations.data import TrainingData
from formulations.hyperplane import (
    add_hyperplane,
    augmented,
    augmented_weight,
    signed_score,
    weight_and_intercept,
)
from formulations.intercept_bound import add_intercept_bound
from formulations.parameters import add_parameter, fraction, positive
from formulations.rotated_cones import RotatedCones, complement
from formulations.rows import AffineRows, dot, equal_rows, shared, times, total
from formulations.strengthening import strengthening_values

Array = NDArray[np.float64]


@formulation(
    ProblemClass.SOCP,
    "Cepeda, Gomez & Han 2024, (14), corrected",
    relaxes="zero_one_big_m",
    check=check_fixed,
    classifier=weight_and_intercept,
)
def conic_fixed(
    data: TrainingData,
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
        strengthening.py.

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
    gamma = strengthening_values(points, strengthening)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    _add_split(m, data)
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
        + m.penalty * dot(1.0, m.z)
        + dot(gamma[active], m.s)
        + dot(gamma[active], m.r)
    )
    return m


@formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21), reduced",
    relaxes="zero_one_big_m",
    check=check_sdp,
    classifier=weight_and_intercept,
)
def conic_sdp(
    data: TrainingData,
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
    m = _lifted_model(data, positive("penalty", penalty), intercept, intercept_bound)
    m.z = ArrayVar(m.I, lower=0.0)
    _add_reduced_cones(m, data)
    m.objective = pyo.Objective(expr=_lifted_norm(m, intercept) + m.penalty * dot(1.0, m.z))
    return m


@formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21)",
    relaxes="zero_one_big_m",
    check=check_sdp,
    classifier=weight_and_intercept,
)
def conic_sdp_literal(
    data: TrainingData,
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
    m = _lifted_model(data, positive("penalty", penalty), intercept, intercept_bound)
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    _add_split(m, data)
    m.s, m.r = (ArrayVar(m.I, lower=0.0) for _ in range(2))
    m.lifted = AffineRows(m.I, [*_lift_terms(m, data), (-1.0, m.s), (-1.0, m.r)], lower=-1.0)
    m.inside = RotatedCones(m.I, m.p, m.s, m.z)
    m.outside = RotatedCones(m.I, m.q, m.r, complement(m.z))
    m.objective = pyo.Objective(expr=_lifted_norm(m, intercept) + m.penalty * dot(1.0, m.z))
    return m


@formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, App. C",
    check=check_budget,
    classifier=weight_and_intercept,
)
def conic_sdp_budget(
    data: TrainingData,
    *,
    budget: float,
    intercept: str = "penalised",
    intercept_bound: float | None = None,
) -> pyo.ConcreteModel:
    """The SDP with a budget on violations instead of a price.

        min   <D, W>
        s.t.  spend    sum_i z_i <= budget n
              lifted, hinge, inside, outer as in conic_sdp

    The multiplier of `spend` is the penalty of the conic_sdp with the same solution. budget = 0
    would be the hard-margin problem (infeasible when the classes overlap), so the grid of the
    paper is (0, 0.5]. Names here -> in the paper: budget -> kappa.

    Raises
    ------
    ValueError
        budget outside (0, 1].
    """
    m = _lifted_model(data, None, intercept, intercept_bound)
    add_parameter(m, "budget", fraction("budget", budget))
    m.z = ArrayVar(m.I, lower=0.0)
    _add_reduced_cones(m, data)
    m.spend = pyo.Constraint(expr=total(dot(1.0, m.z), -data.n * m.budget) <= 0)
    m.objective = pyo.Objective(expr=_lifted_norm(m, intercept))
    return m


def _add_split(m: pyo.ConcreteModel, data: TrainingData) -> None:
    """Variables p, q >= 0 with p_i - q_i = 1 - u_i."""
    m.p, m.q = (ArrayVar(m.I, lower=0.0) for _ in range(2))
    m.split = equal_rows(m.I, [*signed_score(m, data), (1.0, m.p), (-1.0, m.q)], 1.0)


def _lifted_model(
    data: TrainingData,
    penalty: float | None,
    intercept: str,
    intercept_bound: float | str | None,
) -> pyo.ConcreteModel:
    """Hyperplane, lifted matrix W >= w~ w~' and, for a free intercept, the bound on W_bb."""
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    if penalty is not None:
        add_parameter(m, "penalty", penalty)
    weight = augmented_weight(m)
    m.L = pyo.Set(initialize=lower_pairs(len(weight)), dimen=2)
    m.W = ArrayVar(m.L)
    rows = [[m.W[j, k] for k in range(j + 1)] for j in range(len(weight))]
    psd(m, "outer", [*rows, [*weight, 1.0]])
    add_intercept_bound(m, data, intercept, intercept_bound)
    return m


def _lift_terms(m: pyo.ConcreteModel, data: TrainingData) -> list:
    """Terms of T_i - 1 = <x~_i x~_i', W> - 2 u_i."""
    intercept = "free" if m.find_component("b") is not None else "none"
    linear = [(times(-2.0, part), variable) for part, variable in signed_score(m, data)]
    return [(shared(outer_products(augmented(data, intercept))), m.W), *linear]


def _add_reduced_cones(m: pyo.ConcreteModel, data: TrainingData) -> None:
    m.p, m.T = (ArrayVar(m.I, lower=0.0) for _ in range(2))
    m.lifted = equal_rows(m.I, [*_lift_terms(m, data), (-1.0, m.T)], -1.0)
    m.hinge = AffineRows(m.I, [*signed_score(m, data), (1.0, m.p)], lower=1.0)
    m.inside = RotatedCones(m.I, m.p, m.T, m.z)


def _lifted_norm(m: pyo.ConcreteModel, intercept: str) -> pyo.Expression:
    """Trace of W over the coordinates that count in the norm."""
    k = len(augmented_weight(m)) - (1 if intercept == "free" else 0)
    return pyo.quicksum(m.W[j, j] for j in range(k))
