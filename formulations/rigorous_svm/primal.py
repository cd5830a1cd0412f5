"""Rigorous SVM: least hinge loss at a capacity set by hand, and without a limit on it."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
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
from tightmargin.formulations.rigorous_svm.checks import ball_check, loss_check


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
