"""Rigorous SVM: least hinge loss at a capacity set by hand, without a limit on it, and its duals.

Dual of the rigorous SVM as a second-order cone program, in the two forms of the paper.

The paper calls (12) hard to solve and its objective not surely convex; it is a norm less a linear
function, and a solution exists at every H > 0. Where S = 0 only the formula for w is 0 / 0: the
multipliers of the rows still hold w and b.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_dual_weight,
    add_hyperplane,
    signed_score,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import scaled_rows
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, equal_rows, shared
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive
from tightmargin.formulations.rigorous_svm.equivalence import (
    OPTIMAL,
    ball_check,
    dual_check,
    dual_classifier,
    equivalence,
    loss_check,
)

# --- Rigorous SVM: least hinge loss at a capacity set by hand, and without a limit on it ---------


def _least_loss(data: TrainingData, intercept: str) -> pyo.ConcreteModel:
    """Everything but the norm row."""
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    m.objective = pyo.Objective(expr=dot(data.multiplicity, m.xi))
    return m


@two_class_formulation(
    ProblemClass.SOCP,
    "Bi & Vapnik 2003, (3)-(5)",
    paper_class="QCQP",
    check=ball_check,
    keeps_sparse=True,
    takes=(TrainingData,),
)
def rsvm(data: TrainingData, *, norm_bound: float, intercept: str = "free") -> pyo.ConcreteModel:
    """Rigorous SVM: least sum of hinge losses with ||w|| at most norm_bound.

        min   sum_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i >= 1,   xi_i >= 0
              norm        ||w||^2 <= H^2

    H^2 + 1 estimates the VC dimension, so that H sets the capacity. The multiplier of half the
    norm row is gamma = sqrt(S) / H and dE/dH = -gamma H; up to the length of the shortest w that
    solves rsvm_relaxed the row is active, above it gamma = 0. c_svc with C = 1 / gamma has the
    same hyperplane. Misprinted in the paper: Proposition 2 has sqrt(S) / H for C = H / sqrt(S), and
    (6) has gamma for the gamma / 2 that (7), (11) and (12) follow from. Its notion of a valid H,
    some solution has ||w|| = H, is not the one that matters: on separable points every large H is
    valid in that sense. Names here -> in the paper: norm_bound -> H, n -> l.
    """
    m = _least_loss(data, intercept)
    add_parameter(m, "norm_bound", positive("norm_bound", norm_bound))
    m.norm = pyo.Constraint(expr=squared_norm(m, intercept) <= m.norm_bound**2)
    return m


@two_class_formulation(
    ProblemClass.LP,
    "Bi & Vapnik 2003, (13)",
    relaxes="rsvm",
    check=loss_check,
    keeps_sparse=True,
    takes=(TrainingData,),
)
def rsvm_relaxed(data: TrainingData, *, intercept: str = "free") -> pyo.ConcreteModel:
    """Least sum of hinge losses at any norm.

        min   sum_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i >= 1,   xi_i >= 0

    Equal to rsvm from the norm of its shortest solution on, and below it for smaller H; 0 exactly
    when the points are separable. A penalised intercept costs nothing without a norm.
    """
    return _least_loss(data, intercept)


# --- in feature space -----------------------------------------------------------------------------


def _kernel_classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """w = F'(y o beta) in the coordinates of the factor."""
    w = origin.data.factor.T @ (origin.data.y * values["beta"])
    return w, float(values["b"]) if "b" in values else 0.0


def _kernel_check(origin: Origin, values: Values) -> PaperCheck:
    w, b = _kernel_classifier(origin, values, {})
    found = loss_check(origin, {"w": w} | ({"b": np.array(b)} if "b" in values else {}))
    return PaperCheck(
        found.objective,
        repaired={"xi": found.repaired["xi"], "v": w},
        bound=found.bound,
        facts=found.facts,
    )


@two_class_formulation(
    ProblemClass.LP,
    "Bi & Vapnik 2003, (18)",
    relaxes="rsvm",
    check=_kernel_check,
    classifier=_kernel_classifier,
    keeps_sparse=True,
)
def rsvm_kernel_relaxed(
    data: TrainingData | GramData, *, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Least sum of hinge losses of w = sum_j beta_j y_j psi(x_j), at any norm.

        min   sum_i xi_i
        s.t.  weight[k]   v = sum_j beta_j y_j f_j
              margin[i]   y_i (<f_i, v> + b) + xi_i >= 1,   xi_i >= 0

    f_i are the rows of a factor F with kernel matrix K = F F', so that <f_i, v> is the paper's
    sum_j beta_j y_j K_ij. beta is free and seldom unique. Equal to rsvm_relaxed for the linear
    kernel, and 0 for every positive definite one (rbf on distinct points). The paper takes the
    largest norm of a solution for the upper limit of H (Proposition 6); the smallest is, and a
    linear program looks for neither. Names here -> in the paper: n -> l.
    """
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, data.n - 1)
    m.J = pyo.RangeSet(0, data.d - 1)
    m.beta, m.v = ArrayVar(m.I), pyo.Var(m.J)
    m.xi = ArrayVar(m.I, lower=0.0)
    score: list = [((data.y, data.factor), m.v)]
    if intercept != "none":
        m.b = pyo.Var()
        score.append((data.y, m.b))
    signed = shared(scaled_rows(data.y, data.factor).T)
    m.weight = equal_rows(m.J, [(signed, m.beta), (-1.0, m.v)], 0.0)
    m.margin = AffineRows(m.I, [*score, (1.0, m.xi)], lower=1.0)
    m.objective = pyo.Objective(expr=dot(data.multiplicity, m.xi))
    return m


# --- Dual of the rigorous SVM as a second-order cone program, in the two forms of the paper ------


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
