"""nu-SVC, primal and dual, in the range of nu where it is convex and not trivial."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    norm_of,
    signed_score,
    signed_scores,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.common.intercept_recovery import nu_margin
from tightmargin.formulations.common.multipliers import (
    add_dual_weight,
    dual_norm,
    dual_weight,
    with_total,
)
from tightmargin.formulations.common.nu_property import NOT_ASKED, margin_facts, multiplier_facts
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.nu.weights import checked_nu, slack_prices
from tightmargin.formulations.parameters import (
    INTERCEPTS,
    add_parameter,
    one_of,
)

NO_DIRECTION = 1e-4


def _check_primal(origin: Origin, values: Values) -> PaperCheck:
    """Slacks found anew for (w, b, rho); w = 0 in its place where that is better."""
    u, w, b = signed_scores(origin.data, values)
    nu, intercept = origin.parameters["nu"], origin.parameters["intercept"]
    weights = slack_prices(origin.data, origin.parameters["class_balance"])
    rho = max(0.0, float(values["rho"]))
    xi = np.maximum(0.0, rho - u)
    objective = norm_of(w, b, intercept) / 2 - nu * rho + float(weights @ xi)
    if objective >= 0 and _is_nothing(origin, norm_of(w, b, intercept)):
        zero = {"w": 0 * w, "rho": np.array(0.0), "xi": 0 * xi}
        repaired = zero | ({} if intercept == "none" else {"b": np.array(0.0)})
        facts = {"degenerate": "w = 0: nu is at or below nu_min", "nu_property": NOT_ASKED}
        return PaperCheck(0.0, repaired=repaired, facts=facts)
    facts = margin_facts(u, rho, weights, nu, free=False)
    return PaperCheck(objective, repaired={"rho": np.array(rho), "xi": xi}, facts=facts)


def _is_nothing(origin: Origin, norm: float) -> bool:
    """Whether w is as near to 0 as solvers leave it; w = sum a_i y_i x_i with sum a_i = nu."""
    lengths = squared_lengths(origin.data.factor) + (origin.parameters["intercept"] != "none")
    largest = origin.parameters["nu"] * float(np.sqrt(lengths.max()))
    return norm <= (NO_DIRECTION * largest) ** 2


@two_class_formulation(
    ProblemClass.QP,
    "Takeda & Sugiyama 2008, sec. 2.4; Perez-Cruz et al. 2003, (4)-(6), (25)",
    check=_check_primal,
    keeps_sparse=True,
    takes=(TrainingData,),
)
def nu_svc(
    data: TrainingData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """nu-SVC: nu bounds the share of margin errors from above, of support vectors from below.

        min   1/2 ||w||^2 - nu rho + sum_i c_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0,  rho >= 0

    c_i = 1 / n, or 1 / (2 n_class) with class_balance="balanced" (Perez-Cruz (25)), or given
    numbers with sum 1; of weighted points c_i is in proportion to their weights. As doubles the c_i
    are rounded up where their sums would not reach nu_max. At or below nu_min the only solution is
    w = 0. Names here -> in the papers: n -> m.

    Raises
    ------
    ValueError
        nu outside (0, nu_max].
    """
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "nu", checked_nu(data, nu, class_balance, intercept))
    m.rho = pyo.Var(within=pyo.NonNegativeReals)
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (-1.0, m.rho), (1.0, m.xi)], lower=0.0)
    loss = dot(slack_prices(data, class_balance), m.xi)
    m.objective = pyo.Objective(expr=0.5 * squared_norm(m, intercept) - m.nu * m.rho + loss)
    return m


def _check_dual(origin: Origin, values: Values) -> PaperCheck:
    """Project alpha on the box, balance the classes, then fix the total by scaling or filling."""
    y, nu = origin.data.y, origin.parameters["nu"]
    intercept = origin.parameters["intercept"]
    caps = slack_prices(origin.data, origin.parameters["class_balance"])
    alpha = np.clip(values["alpha"], 0.0, caps)
    groups = [y > 0, y < 0] if intercept == "free" else [np.ones(origin.data.n, dtype=bool)]
    for group in groups:
        alpha[group] = with_total(alpha[group], caps[group], nu / len(groups))
    w, b, norm = dual_norm(origin, alpha)
    repaired = {"alpha": alpha, "v": w}
    if intercept == "penalised":
        repaired["v_b"] = np.array(b)
    weight, offset = _dual_classifier(origin, {"alpha": alpha}, {})
    errors = int((y * (origin.data.factor @ weight + offset) <= 0).sum())
    facts = {"errors": errors} | multiplier_facts(alpha, caps, nu)
    return PaperCheck(norm / 2, repaired=repaired, facts=facts)


def _dual_classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    w, y = dual_weight(origin, values), origin.data.y
    match origin.parameters["intercept"]:
        case "none":
            return w, 0.0
        case "penalised":
            return w, float(y @ values["alpha"])
    weights = slack_prices(origin.data, origin.parameters["class_balance"])
    b, _rho = nu_margin(origin.data.factor @ w, y, weights, origin.parameters["nu"])
    return w, b


@two_class_formulation(
    ProblemClass.QP,
    "Perez-Cruz et al. 2003, (16)-(19)",
    dual_of="nu_svc",
    check=_check_dual,
    classifier=_dual_classifier,
    keeps_sparse=True,
)
def nu_svc_dual(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Dual of nu_svc, on points or on a kernel matrix.

        min   1/2 ||v||^2
        s.t.  weight[j]   v = sum_i alpha_i y_i f_i,   0 <= alpha_i <= c_i
              balance     sum_i y_i alpha_i = 0
              total       sum_i alpha_i = nu

    f_i are the rows of a factor of the kernel matrix (the points for the linear kernel).

    Raises
    ------
    ValueError
        nu outside (0, nu_max].
    """
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    add_parameter(m, "nu", checked_nu(data, nu, class_balance, intercept))
    m.I = pyo.RangeSet(0, data.n - 1)
    m.alpha = ArrayVar(m.I, lower=0.0, upper=slack_prices(data, class_balance))
    norm = add_dual_weight(m, data, intercept)
    m.total = pyo.Constraint(expr=dot(1.0, m.alpha) == m.nu)
    m.objective = pyo.Objective(expr=0.5 * norm)
    return m
