"""The rigorous SVM without a norm bound in feature space: a linear program on a kernel matrix."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values, formulation
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, equal_rows, shared
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.formulations.rigorous_svm.checks import loss_check


def _classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """w = F'(y o beta) in the coordinates of the factor."""
    w = origin.data.factor.T @ (origin.data.y * values["beta"])
    return w, float(values["b"]) if "b" in values else 0.0


def _check(origin: Origin, values: Values) -> PaperCheck:
    w, b = _classifier(origin, values, {})
    found = loss_check(origin, {"w": w} | ({"b": np.array(b)} if "b" in values else {}))
    return PaperCheck(
        found.objective,
        repaired={"xi": found.repaired["xi"], "v": w},
        bound=found.bound,
        bound_method=found.bound_method,
        facts=found.facts,
    )


@formulation(
    ProblemClass.LP,
    "Bi & Vapnik 2003, (18)",
    relaxes="rsvm",
    takes=(TrainingData, GramData),
    check=_check,
    classifier=_classifier,
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
    signed = shared((data.y[:, None] * data.factor).T)
    m.weight = equal_rows(m.J, [(signed, m.beta), (-1.0, m.v)], 0.0)
    m.margin = AffineRows(m.I, [*score, (1.0, m.xi)], lower=1.0)
    m.objective = pyo.Objective(expr=dot(1.0, m.xi))
    return m
