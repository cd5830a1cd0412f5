"""Dual of the rigorous SVM as a second-order cone program, in the two forms of the paper.

The paper calls (12) hard to solve and its objective not surely convex; it is a norm less a linear
function, and a solution exists at every H > 0. Where S = 0 only the formula for w is 0 / 0: the
multipliers of the rows still hold w and b.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import two_class_formulation
from tightmargin.formulations.common.multipliers import add_dual_weight
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive
from tightmargin.formulations.rigorous_svm.checks import OPTIMAL, dual_check, dual_classifier
from tightmargin.formulations.rigorous_svm.equivalence import equivalence


def _multipliers(
    data: TrainingData | GramData, norm_bound: float, intercept: str
) -> tuple[pyo.ConcreteModel, pyo.Expression]:
    """Variables alpha, v and t with their rows, and ||v||^2."""
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    add_parameter(m, "norm_bound", positive("norm_bound", norm_bound))
    m.I = pyo.RangeSet(0, data.n - 1)
    m.alpha = ArrayVar(m.I, lower=0.0, upper=data.multiplicity)
    norm = add_dual_weight(m, data, intercept)
    m.t = pyo.Var(within=pyo.NonNegativeReals)
    return m, norm


def _checked(origin: Origin, values: Values) -> tuple[PaperCheck, float]:
    """dual_check; for its own intercept and points also the machines this norm_bound stands for.

    Those are read from an optimal alpha, not from wherever a solver was stopped.
    """
    found, length = dual_check(origin, values)
    if origin.parameters["intercept"] != "free" or "degenerate" in found.facts:
        return found, length
    if origin.data.weights is not None:
        return found, length
    if found.bound is None:
        return found, length
    if found.objective - found.bound.value > OPTIMAL * max(1.0, -found.bound.value):
        return found, length
    same = equivalence(origin.data, origin.parameters["norm_bound"], found.repaired["alpha"])
    return replace(found, facts={**found.facts, "equivalence": same.to_json()}), length


def _check(origin: Origin, values: Values) -> PaperCheck:
    found, length = _checked(origin, values)
    return replace(found, repaired={**found.repaired, "t": np.array(length)})


@two_class_formulation(
    ProblemClass.SOCP,
    "Bi & Vapnik 2003, (12)",
    dual_of="rsvm",
    check=_check,
    classifier=dual_classifier,
    keeps_sparse=True,
)
def rsvm_dual(
    data: TrainingData | GramData, *, norm_bound: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Dual of rsvm, on points or on a kernel matrix.

        min   H t - sum_i alpha_i
        s.t.  weight[j]    v = sum_i alpha_i y_i f_i,   0 <= alpha_i <= 1
              balance      sum_i y_i alpha_i = 0
              length       ||v||^2 <= t^2,   t >= 0

    f_i are the rows of a factor F with kernel matrix F F' (the points themselves for the linear
    kernel): t = sqrt(S), S = alpha' Q alpha, without spelling out n^2 terms. The multipliers of
    `weight` are -w and that of `balance` is -b, at S = 0 too, where the paper's
    w = sum_i alpha_i y_i f_i / gamma is 0 / 0 (norm_bound at or above the largest that matters,
    (10)). The balance row belongs to the free intercept; a penalised one adds
    v_b = sum_i y_i alpha_i to the norm instead. Names here -> in the paper: norm_bound -> H,
    n -> l.
    """
    m, norm = _multipliers(data, norm_bound, intercept)
    if data.d or intercept == "penalised":  # in no dimension at all t >= 0 says the same
        m.length = pyo.Constraint(expr=norm <= m.t**2)
    m.objective = pyo.Objective(expr=m.norm_bound * m.t - dot(1.0, m.alpha))
    return m


def _check_perspective(origin: Origin, values: Values) -> PaperCheck:
    """At the best gamma and t for alpha the value is that of rsvm_dual."""
    found, length = _checked(origin, values)
    H = origin.parameters["norm_bound"]
    best = {"gamma": np.array(length / H), "t": np.array(length * H)}
    return replace(found, repaired={**found.repaired, **best})


@two_class_formulation(
    ProblemClass.SOCP,
    "Bi & Vapnik 2003, (11)",
    dual_of="rsvm",
    check=_check_perspective,
    classifier=dual_classifier,
    keeps_sparse=True,
)
def rsvm_dual_perspective(
    data: TrainingData | GramData, *, norm_bound: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Dual of rsvm with the multiplier gamma of the norm row as a variable.

        min   (t + H^2 gamma) / 2 - sum_i alpha_i
        s.t.  weight[j]    v = sum_i alpha_i y_i f_i,   0 <= alpha_i <= 1
              balance      sum_i y_i alpha_i = 0
              length       ||v||^2 <= gamma t,   gamma, t >= 0

    t stands for S / gamma, the perspective of S, convex in (alpha, gamma) jointly; the best gamma
    is sqrt(S) / H, which gives rsvm_dual. Rows, multipliers and intercepts as there. The paper has
    gamma > 0; the cone takes in its limit gamma = 0 with S = 0, which is (10), printed there with
    min for max.
    """
    m, norm = _multipliers(data, norm_bound, intercept)
    m.gamma = pyo.Var(within=pyo.NonNegativeReals)
    m.length = pyo.Constraint(expr=norm <= m.gamma * m.t)
    capacity = 0.5 * m.t + 0.5 * m.norm_bound**2 * m.gamma
    m.objective = pyo.Objective(expr=capacity - dot(1.0, m.alpha))
    return m
