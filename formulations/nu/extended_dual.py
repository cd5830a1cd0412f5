"""Dual of the extended nu-SVC in the multiplier of its norm row.

Perez-Cruz et al. 2003, (30)-(40). With the multiplier lambda / 2 of ||w||^2 = N (N = 2 in their
scale, where the objective is n times that of extended.py) the Lagrangian has its stationary point
in w at lambda w = n v, v = sum_i alpha_i y_i x_i, and for lambda > 0 its minimum there:

    - ||n v||^2 / (2 lambda) - lambda N / 2         over alpha and lambda together      (39)

The largest is at lambda = n ||v|| / sqrt(N), which is (40), and is -n sqrt(N) ||v||. For lambda < 0
the Lagrangian has no minimum in w: (39) is the dual of the ball ||w||^2 <= N, and of the extended
nu-SVC where its optimum is negative. Elsewhere lambda = 0 and v = 0, "the dual cannot be used".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import two_class_formulation
from tightmargin.formulations.common.intercept_recovery import nu_margin
from tightmargin.formulations.common.multipliers import add_dual_weight, dual_norm, with_total
from tightmargin.formulations.common.nu_property import multiplier_facts
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.nu.extended_checks import SCALES, norm_squared, objective_factor
from tightmargin.formulations.nu.weights import checked_nu, loss_weights
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of

NO_DIRECTION = 1e-7  # of the largest v there is: what interior point methods leave of a v that is 0


def _check(origin: Origin, values: Values) -> PaperCheck:
    """Multipliers on their box and masses, and the best lambda and t for their v, (40)."""
    data, parameters = origin.data, origin.parameters
    nu, intercept, scale = (parameters[word] for word in ("nu", "intercept", "scale"))
    caps = loss_weights(data, parameters["class_balance"])
    alpha = np.clip(values["alpha"], 0.0, caps)
    groups = [data.y > 0, data.y < 0] if intercept == "free" else [data.y != 0]
    for group in groups:
        alpha[group] = with_total(alpha[group], caps[group], nu / len(groups))
    v, v_b, norm = dual_norm(origin, alpha)
    length, radius = math.sqrt(norm), math.sqrt(norm_squared(scale))
    times = objective_factor(data.total_weight, scale)
    level = length * radius / 2
    repaired = {
        "alpha": alpha, "v": v, "norm_multiplier": np.array(length / radius), "t": np.array(level),
    }  # fmt: skip
    if intercept == "penalised":
        repaired["v_b"] = np.array(v_b)
    w, b = _classifier(origin, {"alpha": alpha}, {})
    facts: dict[str, Any] = {"errors": int((data.y * (data.factor @ w + b) <= 0).sum())}
    facts |= multiplier_facts(alpha, caps, nu) | {"norm_multiplier": times * length / radius}
    lengths = squared_lengths(data.factor) + (intercept != "none")
    if length <= NO_DIRECTION * nu * math.sqrt(float(lengths.max())):
        facts["degenerate"] = "v = 0 up to rounding: nu is at or below nu_bar, lambda is 0"
    return PaperCheck(2 * times * level, repaired=repaired, facts=facts)


def _classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """W of the norm of a solution, in the coordinates of the factor, with the b that fits."""
    data, parameters = origin.data, origin.parameters
    v, v_b, norm = dual_norm(origin, np.asarray(values["alpha"], dtype=float))
    times = math.sqrt(norm_squared(parameters["scale"]) / norm) if norm > 0 else 0.0
    w = times * v
    match parameters["intercept"]:
        case "none":
            return w, 0.0
        case "penalised":
            return w, times * v_b
    weights = loss_weights(data, parameters["class_balance"])
    return w, nu_margin(data.factor @ w, data.y, weights, parameters["nu"])[0]


@two_class_formulation(
    ProblemClass.SOCP,
    "Perez-Cruz et al. 2003, (39)",
    paper_class="dual of a QCQP",
    dual_of="extended_nu_svc_ball",
    check=_check,
    classifier=_classifier,
    keeps_sparse=True,
)
def extended_nu_svc_dual(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    scale: str = "takeda",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Dual of the extended nu-SVC in the multiplier of its norm, on points or on a kernel matrix.

        min   t + 1/2 lambda
        s.t.  cone        ||v||^2 <= 2 lambda t,   lambda >= 0,  t >= 0
              weight[j]   v = sum_i alpha_i y_i f_i,   0 <= alpha_i <= c_i
              balance     sum_i y_i alpha_i = 0              (for a free intercept)
              total       sum_i alpha_i = nu

    f_i are the rows of a factor of the kernel matrix (the points for the linear kernel). At the
    optimum lambda = ||v|| and t = ||v|| / 2. Above nu_bar minus the optimum is that of
    extended_nu_svc, alpha is a solution of nu_svc_dual and w = v / lambda; at or below nu_bar the
    optimum is 0 with v = 0, and says nothing of extended_nu_svc. With scale="perez_cruz" the
    objective is n (t + lambda) and lambda = ||v|| / sqrt(2).
    Names here -> in the paper: n alpha -> alpha, n norm_multiplier -> lambda.

    Raises
    ------
    ValueError
        nu outside (0, nu_max].
    """
    one_of("intercept", intercept, INTERCEPTS)
    one_of("scale", scale, SCALES)
    m = pyo.ConcreteModel()
    add_parameter(m, "nu", checked_nu(data, nu, class_balance, intercept))
    m.I = pyo.RangeSet(0, data.n - 1)
    m.alpha = ArrayVar(m.I, lower=0.0, upper=loss_weights(data, class_balance))
    m.norm_multiplier = pyo.Var(within=pyo.NonNegativeReals)
    m.t = pyo.Var(within=pyo.NonNegativeReals)
    norm = add_dual_weight(m, data, intercept)
    m.total = pyo.Constraint(expr=dot(1.0, m.alpha) == m.nu)
    m.cone = pyo.Constraint(expr=norm <= 2 * m.norm_multiplier * m.t)
    times = objective_factor(data.total_weight, scale)
    m.objective = pyo.Objective(
        expr=times * m.t + times * norm_squared(scale) / 2 * m.norm_multiplier
    )
    return m
