"""Least conditional value at risk of the margin error: what the extended nu-SVC minimises.

Takeda & Sugiyama 2008, (4)-(6), (11), (12) and Theorem 1. The margin error of a point is its
signed distance to the wrong side, f_i = -y_i (<w, x_i> + b) / ||w||.
"""

from __future__ import annotations

import math

import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    signed_score,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.nu.extended_checks import check_cvar
from tightmargin.formulations.nu.feature_rank import refuse_dependent_features
from tightmargin.formulations.nu.weights import loss_weights, nu_max


def _checked_beta(
    data: TrainingData | GramData, beta: float, class_balance: ArrayLike | str, intercept: str
) -> float:
    number = beta if isinstance(beta, int | float) and not isinstance(beta, bool) else math.nan
    least = 1 - nu_max(data, class_balance, intercept)
    if not least - 1e-12 <= number < 1:
        raise ValueError(
            f"beta must be a number in [1 - nu_max, 1) = [{least:g}, 1), got {beta!r}: below it "
            "the risk has no minimum"
        )
    return max(float(number), least)


@two_class_formulation(
    ProblemClass.NONCONVEX,
    "Takeda & Sugiyama 2008, (6), (11), (12)",
    paper_class="non-convex QCQP",
    check=check_cvar,
)
def min_cvar(
    data: TrainingData | GramData,
    *,
    beta: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Least conditional value at risk (CVaR): mean of the worst 1 - beta of the margin errors.

        min   a + sum_i c_i xi_i / (1 - beta)                       a = value_at_risk
        s.t.  tail[i]   y_i (<w, x_i> + b) + a + xi_i >= 0,   xi_i >= 0
              norm      ||w||^2 = 1

    The optimum is that of extended_nu_svc with nu = 1 - beta divided by nu, and a = -rho there.
    Up to nu = 2 min c_i it does not change any more: the worst point of each class is the tail.
    Names here -> in the paper: value_at_risk -> alpha.

    Raises
    ------
    ValueError
        beta outside [1 - nu_max, 1); affinely dependent features.
    """
    refuse_dependent_features(data, intercept)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    m.beta = pyo.Param(
        initialize=_checked_beta(data, beta, class_balance, intercept),
        mutable=True,
        within=pyo.NonNegativeReals,
    )
    m.value_at_risk = pyo.Var()
    m.xi = ArrayVar(m.I, lower=0.0)
    terms = [*signed_score(m, data), (1.0, m.value_at_risk), (1.0, m.xi)]
    m.tail = AffineRows(m.I, terms, lower=0.0)
    m.norm = pyo.Constraint(expr=squared_norm(m, intercept) == 1)
    loss = dot(loss_weights(data, class_balance), m.xi)
    m.objective = pyo.Objective(expr=m.value_at_risk + loss / (1 - m.beta))
    return m
