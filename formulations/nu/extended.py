"""Extended nu-SVC: nu-SVC below nu_min, where a negative margin is minimised; LP, SOCP, LRCP.

Takeda & Sugiyama 2008, (3) and (8)-(10); Perez-Cruz et al. 2003, (26)-(29). All builders share

    objective   -nu rho + sum_i c_i xi_i                                over w, b, rho, xi
    margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,    xi_i >= 0

with rho of either sign, and differ in what holds w away from 0:

    norm        ||w||^2 = 1            exact, not convex                            (3)
                ||w||^2 <= 1           the same optimum for nu > nu_bar, else 0     (8)
                ||w||^2 >= 1           the same optimum for nu <= nu_bar            (10)
                <w_ref, w> = 1         linear; in extended_linearised.py         (9)

nu_bar is the least weighted mean hinge loss, equal to nu_min of nu-SVC; solve() reports it first.
The optimum is negative above it, 0 at it, positive below. The objective is nu times the
conditional value at risk of the margin error, at level 1 - nu.

class_balance: c_i = 1 / n ("uniform"), 1 / (2 n_class) ("balanced"), or given weights of sum 1.
scale: "takeda" as above; "perez_cruz" has norm 2 for 1, and n times the objective.
intercept: a penalised b counts in every norm as one more entry of w, with an entry of w_ref.

Names here -> in the papers: n -> m, d -> n (Takeda), w_ref -> w tilde.
"""

from __future__ import annotations

from typing import Any

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
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.nu.extended_checks import (
    SCALES,
    check_ball,
    check_polar,
    check_reverse,
    check_sphere,
    norm_squared,
    objective_factor,
)
from tightmargin.formulations.nu.feature_rank import refuse_dependent_features
from tightmargin.formulations.nu.weights import checked_nu, loss_weights
from tightmargin.formulations.parameters import add_parameter, one_of


def without_norm(
    data: TrainingData | GramData,
    nu: float,
    class_balance: ArrayLike | str,
    scale: str,
    intercept: str,
) -> pyo.ConcreteModel:
    """Everything but the norm row and the objective."""
    one_of("scale", scale, SCALES)
    refuse_dependent_features(data, intercept)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "nu", checked_nu(data, nu, class_balance, intercept))
    m.rho = pyo.Var()
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (-1.0, m.rho), (1.0, m.xi)], lower=0.0)
    return m


def risk(
    m: pyo.ConcreteModel, data: TrainingData | GramData, class_balance: ArrayLike | str, scale: str
) -> Any:
    """-nu rho + sum c_i xi_i, times n in the scale of Perez-Cruz et al."""
    times = objective_factor(data.total_weight, scale)
    loss = dot(times * loss_weights(data, class_balance), m.xi)
    return total(-times * m.nu * m.rho, loss)


@two_class_formulation(
    ProblemClass.NONCONVEX,
    "Takeda & Sugiyama 2008, (3); Perez-Cruz et al. 2003, (26)-(29)",
    paper_class="non-convex QCQP",
    check=check_sphere,
)
def extended_nu_svc(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    scale: str = "takeda",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Extended nu-SVC: nu-SVC with w on the unit sphere, for every nu in (0, nu_max].

        min   -nu rho + sum_i c_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0
              norm        ||w||^2 = 1

    Above nu_bar extended_nu_svc_ball has the same optimum and is convex. With scale="perez_cruz"
    the norm is 2 and the objective n times this one.

    Raises
    ------
    ValueError
        nu outside (0, nu_max]; affinely dependent features, whose optimum would be a meaningless 0.
    """
    m = without_norm(data, nu, class_balance, scale, intercept)
    m.norm = pyo.Constraint(expr=squared_norm(m, intercept) == norm_squared(scale))
    m.objective = pyo.Objective(expr=risk(m, data, class_balance, scale))
    return m


@two_class_formulation(
    ProblemClass.SOCP,
    "Takeda & Sugiyama 2008, (8)",
    paper_class="convex QCQP",
    relaxes="extended_nu_svc",
    check=check_ball,
)
def extended_nu_svc_ball(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    scale: str = "takeda",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Extended nu-SVC with w in the unit ball: exact above nu_bar, w = 0 and value 0 below.

        min   -nu rho + sum_i c_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0
              norm        ||w||^2 <= 1

    The same hyperplane as nu_svc for the same nu.

    Raises
    ------
    ValueError
        As extended_nu_svc.
    """
    m = without_norm(data, nu, class_balance, scale, intercept)
    m.norm = pyo.Constraint(expr=squared_norm(m, intercept) <= norm_squared(scale))
    m.objective = pyo.Objective(expr=risk(m, data, class_balance, scale))
    return m


@two_class_formulation(
    ProblemClass.LRCP,
    "Takeda & Sugiyama 2008, (10)",
    relaxes="extended_nu_svc",
    check=check_reverse,
)
def extended_nu_svc_reverse(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    scale: str = "takeda",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Linear reverse convex form of the extended nu-SVC: exact up to nu_bar, unbounded above.

        min   -nu rho + sum_i c_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0
              norm        ||w||^2 >= 1

    At nu_bar the value is 0 and every multiple of a solution is one.

    Raises
    ------
    ValueError
        As extended_nu_svc; and from solve() when nu is above nu_bar.
    """
    m = without_norm(data, nu, class_balance, scale, intercept)
    m.norm = pyo.Constraint(expr=squared_norm(m, intercept) >= norm_squared(scale))
    m.objective = pyo.Objective(expr=risk(m, data, class_balance, scale))
    return m


@two_class_formulation(
    ProblemClass.NONCONVEX,
    "Takeda & Sugiyama 2008, (10), normalised by its objective",
    paper_class="maximisation of a convex function over a polytope",
    check=check_polar,
)
def extended_nu_svc_polar(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    scale: str = "takeda",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Longest w at objective 1: the polytope in which concavity and facial cuts live.

        min   -||w||^2
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0
              level       -nu rho + sum_i c_i xi_i <= 1

    The objective of (10) is positively homogeneous: below nu_bar its optimum is 1 / ||w|| for the
    longest w here, and w / ||w|| solves extended_nu_svc. With scale="perez_cruz" the left side of
    `level` is n times this one and the optimum there sqrt(2) / ||w||.

    Raises
    ------
    ValueError
        As extended_nu_svc; and from solve() when nu is at or above nu_bar, where w has no limit.
    """
    m = without_norm(data, nu, class_balance, scale, intercept)
    m.level = pyo.Constraint(expr=risk(m, data, class_balance, scale) <= 1)
    m.objective = pyo.Objective(expr=-squared_norm(m, intercept))
    return m
