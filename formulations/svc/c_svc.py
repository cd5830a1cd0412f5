"""C-SVC: margin against the sum of hinge losses, primal and dual."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hinge import hinge_check, point_weights
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    signed_score,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.common.intercept_recovery import hinge_intercept
from tightmargin.formulations.common.multipliers import (
    add_dual_weight,
    balanced_alpha,
    dual_norm,
    dual_weight,
)
from tightmargin.formulations.common.nu_property import has_multiplier
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import ClassWeight
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import (
    AffineRows,
    dot,
)
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import (
    INTERCEPTS,
    add_parameter,
    one_of,
    positive,
)


def _costs(origin: Origin) -> Array:
    return origin.parameters["C"] * point_weights(origin.data, origin.parameters["class_weight"])


def _check_primal(origin: Origin, values: Values) -> PaperCheck:
    return hinge_check(origin, values, 0.5, _costs(origin))


@two_class_formulation(
    ProblemClass.QP,
    "Takeda & Sugiyama 2008, sec. 2.3; Perez-Cruz et al. 2003, (1)-(3)",
    check=_check_primal,
    keeps_sparse=True,
    takes=(TrainingData,),
)
def c_svc(
    data: TrainingData, *, C: float, class_weight: ClassWeight = None, intercept: str = "free"
) -> pyo.ConcreteModel:
    """C-SVC, the soft margin with a cost on every slack.

        min   1/2 ||w||^2 + C sum_i s_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i >= 1,   xi_i >= 0

    s_i is the weight of i in the data times that of its class, 1 by default. Names here -> in the
    papers: n -> m, l; Perez-Cruz et al. write C / n for C.
    """
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "C", positive("C", C))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    loss = dot(point_weights(data, class_weight), m.xi)
    m.objective = pyo.Objective(expr=0.5 * squared_norm(m, intercept) + m.C * loss)
    return m


def _check_dual(origin: Origin, values: Values) -> PaperCheck:
    costs = _costs(origin)
    alpha = balanced_alpha(values["alpha"], origin.data.y, costs, origin.parameters["intercept"])
    w, _, norm = dual_norm(origin, alpha)
    objective = norm / 2 - float(alpha.sum())
    repaired = {"alpha": alpha, "v": w}
    if origin.parameters["intercept"] == "penalised":
        repaired["v_b"] = np.array(origin.data.y @ alpha)
    weight, offset = _dual_classifier(origin, {"alpha": alpha}, {})
    u = origin.data.y * (origin.data.factor @ weight + offset)
    facts = {
        "errors": int((u <= 0).sum()),
        "support_vectors": int(has_multiplier(alpha, costs, u).sum()),
    }
    return PaperCheck(objective, repaired=repaired, facts=facts)


def _dual_classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    w = dual_weight(origin, values)
    match origin.parameters["intercept"]:
        case "none":
            return w, 0.0
        case "penalised":
            return w, float(origin.data.y @ values["alpha"])
    return w, hinge_intercept(origin.data.factor @ w, origin.data.y, _costs(origin))


@two_class_formulation(
    ProblemClass.QP,
    "Bi & Vapnik 2003, (15); dual of Takeda & Sugiyama 2008, sec. 2.3",
    dual_of="c_svc",
    check=_check_dual,
    classifier=_dual_classifier,
    keeps_sparse=True,
)
def c_svc_dual(
    data: TrainingData | GramData,
    *,
    C: float,
    class_weight: ClassWeight = None,
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Dual of c_svc, on points or on a kernel matrix.

        min   1/2 ||v||^2 - sum_i alpha_i
        s.t.  weight[j]    v = sum_i alpha_i y_i f_i,   0 <= alpha_i <= C s_i
              balance      sum_i y_i alpha_i = 0

    f_i are the rows of a factor F with kernel matrix F F' (the points themselves for the linear
    kernel): ||v||^2 = alpha' Q alpha without spelling out n^2 terms. The balance row belongs to
    the free intercept; a penalised one adds v_b = sum_i y_i alpha_i to the norm instead.
    """
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    add_parameter(m, "C", positive("C", C))
    m.I = pyo.RangeSet(0, data.n - 1)
    m.alpha = ArrayVar(m.I, lower=0.0, upper=(point_weights(data, class_weight), m.C))
    norm = add_dual_weight(m, data, intercept)
    m.objective = pyo.Objective(expr=0.5 * norm - dot(1.0, m.alpha))
    return m
