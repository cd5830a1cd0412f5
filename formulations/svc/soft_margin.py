"""C-SVC and the soft margin: hinge losses against the norm, kernels, class weights, and duals."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_dual_weight,
    add_hyperplane,
    balanced_alpha,
    complete_dual,
    dual_norm,
    hinge_check,
    mean_weights,
    norm_of,
    point_weights,
    signed_score,
    squared_norm,
    two_class_formulation,
    with_intercept,
)
from tightmargin.formulations.common.margin_levels import has_multiplier, hinge_intercept
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import ClassWeight
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.modeling.affine_rows import (
    AffineRows,
    dot,
    equal_rows,
    shared,
    squares,
)
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive

# --- C-SVC: margin against the sum of hinge losses, primal and dual ------------------------------


def _costs(origin: Origin) -> Array:
    return origin.parameters["C"] * point_weights(origin.data, origin.parameters["class_weight"])


def _check_c_svc(origin: Origin, values: Values) -> PaperCheck:
    return hinge_check(origin, values, 0.5, _costs(origin))


@two_class_formulation(
    ProblemClass.QP,
    "Takeda & Sugiyama 2008, sec. 2.3; Perez-Cruz et al. 2003, (1)-(3)",
    check=_check_c_svc,
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


def _check_c_svc_dual(origin: Origin, values: Values) -> PaperCheck:
    costs = _costs(origin)
    alpha = balanced_alpha(values["alpha"], origin.data.y, costs, origin.parameters["intercept"])
    repaired, norm = complete_dual(origin, alpha)
    facts = _dual_facts(origin, alpha, costs, *_c_svc_dual_classifier(origin, repaired, {}))
    return PaperCheck(norm / 2 - float(alpha.sum()), repaired=repaired, facts=facts)


def _dual_facts(origin: Origin, alpha: Array, caps: Array, w: Array, b: float) -> dict[str, int]:
    u = origin.data.y * (origin.data.factor @ w + b)
    vectors = int(has_multiplier(alpha, caps, u).sum())
    return {"errors": int((u <= 0).sum()), "support_vectors": vectors}


def _c_svc_dual_classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    w, b, _norm = dual_norm(origin, values["alpha"])
    return with_intercept(
        origin, w, b, lambda scores: hinge_intercept(scores, origin.data.y, _costs(origin))
    )


@two_class_formulation(
    ProblemClass.QP,
    "Bi & Vapnik 2003, (15); dual of Takeda & Sugiyama 2008, sec. 2.3",
    dual_of="c_svc",
    check=_check_c_svc_dual,
    classifier=_c_svc_dual_classifier,
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


# --- Soft margin with a ridge on the mean hinge loss: plain, with a kernel, with class weights ---

NAMED = "weak duality: minus the objective of the hyperplane that alpha names"


def _check_soft_margin(origin: Origin, values: Values) -> PaperCheck:
    return hinge_check(origin, values, origin.parameters["ridge"], _mean_costs(origin.data))


def _mean_costs(data: TrainingData | GramData) -> Array:
    return np.broadcast_to(mean_weights(data), data.n)


@two_class_formulation(
    ProblemClass.QP,
    "Lee 2020, (4), (5)",
    check=_check_soft_margin,
    keeps_sparse=True,
    takes=(TrainingData,),
)
def soft_margin_svc(
    data: TrainingData, *, ridge: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Soft margin as a ridge on the mean hinge loss.

        min   ridge ||w||^2 + (1/n) sum_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i >= 1,   xi_i >= 0

    The same classifier as c_svc with C = 1 / (2 n ridge). Names here -> in the paper:
    ridge -> lambda, n -> m.
    """
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    m.objective = pyo.Objective(
        expr=m.ridge * squared_norm(m, intercept) + dot(mean_weights(data), m.xi)
    )
    return m


def _strictly_inside(_: pyo.ConcreteModel, pi: float) -> bool:
    return 0 < pi < 1


def _weighted_costs(origin: Origin) -> Array:
    pi = origin.parameters["pi"]
    return np.where(origin.data.y > 0, 1 - pi, pi) * mean_weights(origin.data)


def _check_weighted(origin: Origin, values: Values) -> PaperCheck:
    return hinge_check(origin, values, origin.parameters["ridge"], _weighted_costs(origin))


@two_class_formulation(
    ProblemClass.QP,
    "Lee 2020, (10)",
    check=_check_weighted,
    keeps_sparse=True,
    takes=(TrainingData,),
)
def weighted_svc(
    data: TrainingData, *, ridge: float, pi: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Soft margin whose sign estimates whether P(Y = 1 | x) exceeds pi.

        min   ridge ||w||^2 + (1/n) [(1 - pi) sum_{y_i = 1} xi_i + pi sum_{y_i = -1} xi_i]
        s.t.  margin[i]   y_i (<w, x_i> + b) + xi_i >= 1,   xi_i >= 0

    J(f) of the paper is ||w||^2, without the intercept. Names here -> in the paper:
    ridge -> lambda, n -> m.

    Raises
    ------
    ValueError
        pi outside the open interval (0, 1): at its ends one class has no cost.
    """
    if not 0 < positive("pi", pi) < 1:
        raise ValueError(f"pi must lie strictly between 0 and 1, got {pi!r}")
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.pi = pyo.Param(
        initialize=pi, mutable=True, within=pyo.PositiveReals, validate=_strictly_inside
    )
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    positive_loss = dot((data.y > 0) * mean_weights(data), m.xi)
    negative_loss = dot((data.y < 0) * mean_weights(data), m.xi)
    m.objective = pyo.Objective(
        expr=m.ridge * squared_norm(m, intercept)
        + (1 - m.pi) * positive_loss
        + m.pi * negative_loss
    )
    return m


def representer_weight(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """Classifier of a representer expansion: w = F' alpha in the coordinates of the factor."""
    b = float(values["b"]) if "b" in values else 0.0
    return origin.data.factor.T @ values["alpha"], b


def _check_kernel(origin: Origin, values: Values) -> PaperCheck:
    w, b = representer_weight(origin, values, {})
    checked = _check_soft_margin(origin, {"w": w, "b": np.array(b)})
    return PaperCheck(
        checked.objective, repaired={"xi": checked.repaired["xi"], "v": w}, facts=checked.facts
    )


@two_class_formulation(
    ProblemClass.QP,
    "Lee 2020, (8) for the soft margin, corrected",
    check=_check_kernel,
    classifier=representer_weight,
    keeps_sparse=True,
)
def kernel_soft_margin_svc(
    data: TrainingData | GramData, *, ridge: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Soft margin in the representer form w = sum_j alpha_j psi(x_j).

        min   ridge alpha'G alpha + (1/n) sum_i xi_i
        s.t.  weight[k]   v = F' alpha                     (G = F F', so alpha'G alpha = ||v||^2)
              margin[i]   y_i (<f_i, v> + b) + xi_i >= 1,  xi_i >= 0     (<f_i, v> = (G alpha)_i)

    Corrected: the paper prints 1/2 for 1/n, G alpha_i for (G alpha)_i and no intercept. alpha is
    not unique when G is singular; v and the scores are. Names here -> in the paper:
    ridge -> lambda, n -> m.
    """
    one_of("intercept", intercept, INTERCEPTS)
    m = pyo.ConcreteModel()
    m.I = pyo.RangeSet(0, data.n - 1)
    m.J = pyo.RangeSet(0, data.d - 1)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.alpha, m.v = ArrayVar(m.I), pyo.Var(m.J)
    m.xi = ArrayVar(m.I, lower=0.0)
    score: list = [((data.y, data.factor), m.v)]
    norm = squares(m.v)
    if intercept != "none":
        m.b = pyo.Var()
        score.append((data.y, m.b))
        norm = norm + (m.b**2 if intercept == "penalised" else 0)
    m.weight = equal_rows(m.J, [(shared(data.factor.T), m.alpha), (-1.0, m.v)], 0.0)
    m.margin = AffineRows(m.I, [*score, (1.0, m.xi)], lower=1.0)
    m.objective = pyo.Objective(expr=m.ridge * norm + dot(mean_weights(data), m.xi))
    return m


# --- the dual -------------------------------------------------------------------------------------


def _soft_margin_dual_classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """w = F'(y o alpha) / (2 ridge), with the intercept of least loss where it is free."""
    data, scale = origin.data, 2 * origin.parameters["ridge"]
    v, v_b, _norm = dual_norm(origin, np.asarray(values["alpha"], dtype=float))
    costs = _mean_costs(data)
    return with_intercept(
        origin, v / scale, v_b / scale, lambda scores: hinge_intercept(scores, data.y, costs)
    )


def _objective_at_most(origin: Origin, w: Array, b: float) -> float:
    """Objective of soft_margin_svc at (w, b) with what rounding can hide added."""
    data, costs = origin.data, _mean_costs(origin.data)
    losses = np.maximum(0.0, 1 - data.y * (data.factor @ w + b))
    sizes = 1 + abs(data.factor) @ np.abs(w) + abs(b)
    norm = origin.parameters["ridge"] * norm_of(w, b, origin.parameters["intercept"])
    rounding = 4 * np.finfo(float).eps * np.sqrt(data.n + data.d) * (float(costs @ sizes) + norm)
    return norm + float(costs @ losses) + rounding


def _check_soft_margin_dual(origin: Origin, values: Values) -> PaperCheck:
    """alpha made feasible; minus the objective of any hyperplane is below the model's optimum."""
    data, ridge = origin.data, origin.parameters["ridge"]
    intercept, caps = origin.parameters["intercept"], _mean_costs(data)
    given = np.asarray(values["alpha"], dtype=float)
    alpha = balanced_alpha(given, data.y, caps, intercept)
    repaired, norm = complete_dual(origin, alpha)
    w, b = _soft_margin_dual_classifier(origin, repaired, {})
    return PaperCheck(
        norm / (4 * ridge) - float(alpha.sum()),
        repaired=repaired,
        bound=Lemma(-_objective_at_most(origin, w, b), NAMED, {"any hyperplane is feasible": True}),
        facts=_dual_facts(origin, alpha, caps, w, b),
    )


@two_class_formulation(
    ProblemClass.QP,
    "dual of Lee 2020, (4), (5)",
    dual_of="soft_margin_svc",
    check=_check_soft_margin_dual,
    classifier=_soft_margin_dual_classifier,
    keeps_sparse=True,
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
    m.alpha = ArrayVar(m.I, lower=0.0, upper=mean_weights(data))
    norm = add_dual_weight(m, data, intercept)
    m.objective = pyo.Objective(expr=norm / (4 * m.ridge) - dot(1.0, m.alpha))
    return m
