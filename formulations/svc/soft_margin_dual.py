"""Dual of the soft margin with a ridge on the mean hinge loss."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values, formulation
from tightmargin.formulations.common.hyperplane import norm_of
from tightmargin.formulations.common.intercept_recovery import hinge_intercept
from tightmargin.formulations.common.multipliers import add_dual_weight, balanced_alpha, dual_norm
from tightmargin.formulations.common.nu_property import has_multiplier
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive

NAMED = "weak duality: minus the objective of the hyperplane that alpha names"


def _named(origin: Origin, values: Values) -> tuple[Array, float]:
    """w = F'(y o alpha) / (2 ridge), with the intercept of least loss where it is free."""
    data, scale = origin.data, 2 * origin.parameters["ridge"]
    v, v_b, _ = dual_norm(origin, np.asarray(values["alpha"], dtype=float))
    w = v / scale
    if origin.parameters["intercept"] == "free":
        return w, hinge_intercept(data.factor @ w, data.y, np.full(data.n, 1 / data.n))
    return w, v_b / scale if origin.parameters["intercept"] == "penalised" else 0.0


def _classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    return _named(origin, values)


def _objective_at_most(origin: Origin, w: Array, b: float) -> float:
    """Objective of soft_margin_svc at (w, b) with what rounding can hide added."""
    data = origin.data
    losses = np.maximum(0.0, 1 - data.y * (data.factor @ w + b))
    sizes = 1 + np.abs(data.factor) @ np.abs(w) + abs(b)
    norm = origin.parameters["ridge"] * norm_of(w, b, origin.parameters["intercept"])
    rounding = 4 * np.finfo(float).eps * np.sqrt(data.n + data.d) * (float(sizes.mean()) + norm)
    return norm + float(losses.mean()) + rounding


def _check(origin: Origin, values: Values) -> PaperCheck:
    """alpha made feasible; minus the objective of any hyperplane is below the model's optimum."""
    data, ridge = origin.data, origin.parameters["ridge"]
    intercept, caps = origin.parameters["intercept"], np.full(origin.data.n, 1 / origin.data.n)
    given = np.asarray(values["alpha"], dtype=float)
    alpha = balanced_alpha(given, data.y, caps, intercept)
    v, v_b, norm = dual_norm(origin, alpha)
    repaired = {"alpha": alpha, "v": v}
    if intercept == "penalised":
        repaired["v_b"] = np.array(v_b)
    w, b = _named(origin, {"alpha": alpha})
    u = data.y * (data.factor @ w + b)
    facts = {
        "errors": int((u <= 0).sum()),
        "support_vectors": int(has_multiplier(alpha, caps, u).sum()),
    }
    return PaperCheck(
        norm / (4 * ridge) - float(alpha.sum()),
        repaired=repaired,
        bound=-_objective_at_most(origin, w, b),
        bound_method=NAMED,
        facts=facts,
    )


@formulation(
    ProblemClass.QP,
    "dual of Lee 2020, (4), (5)",
    dual_of="soft_margin_svc",
    takes=(TrainingData, GramData),
    check=_check,
    classifier=_classifier,
)
def soft_margin_svc_dual(
    data: TrainingData | GramData, *, ridge: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Dual of soft_margin_svc, on points or on a kernel matrix.

        min   1/(4 ridge) ||v||^2 - sum_i alpha_i
        s.t.  weight[j]    v = sum_i alpha_i y_i f_i,   0 <= alpha_i <= 1/n
              balance      sum_i y_i alpha_i = 0

    f_i are the rows of a factor F with kernel matrix F F' (the points themselves for the linear
    kernel): ||v||^2 = alpha' Q alpha without spelling out n^2 terms. Stationarity in w gives
    w = v / (2 ridge). c_svc_dual with C = 1 / (2 n ridge) has the multipliers
    alpha / (2 ridge) = n C alpha, and this optimum over 2 ridge. The balance row belongs to the
    free intercept; a penalised one adds v_b = sum_i y_i alpha_i to the norm instead. Names here ->
    in the paper: ridge -> lambda, n -> m.
    """
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.I = pyo.RangeSet(0, data.n - 1)
    m.alpha = ArrayVar(m.I, lower=0.0, upper=1 / data.n)
    norm = add_dual_weight(m, data, intercept)
    m.objective = pyo.Objective(expr=norm / (4 * m.ridge) - dot(1.0, m.alpha))
    return m
