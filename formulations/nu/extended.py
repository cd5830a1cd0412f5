"""Extended nu-SVC: nu-SVC below nu_min, where a negative margin is minimised; LP, SOCP, LRCP.

Takeda & Sugiyama 2008, (3) and (8)-(10); Perez-Cruz et al. 2003, (26)-(29). All builders share

    objective   -nu rho + sum_i c_i xi_i                                over w, b, rho, xi
    margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,    xi_i >= 0

with rho of either sign, and differ in what holds w away from 0:

    norm        ||w||^2 = 1            exact, not convex                            (3)
                ||w||^2 <= 1           the same optimum for nu > nu_bar, else 0     (8)
                ||w||^2 >= 1           the same optimum for nu <= nu_bar            (10)
                <w_ref, w> = 1         linear                                     (9)

nu_bar is the least weighted mean hinge loss, equal to nu_min of nu-SVC; solve() reports it first.
The optimum is negative above it, 0 at it, positive below. The objective is nu times the
conditional value at risk of the margin error, at level 1 - nu.

class_balance: c_i = 1 / n ("uniform"), 1 / (2 n_class) ("balanced"), or given weights of sum 1.
scale: "takeda" as above; "perez_cruz" has norm 2 for 1, and n times the objective.
intercept: a penalised b counts in every norm as one more entry of w, with an entry of w_ref.

Names here -> in the papers: n -> m, d -> n (Takeda), w_ref -> w tilde.

Dual of the extended nu-SVC in the multiplier of its norm row.

Perez-Cruz et al. 2003, (30)-(40). With the multiplier lambda / 2 of ||w||^2 = N (N = 2 in their
scale, where the objective is n times that above) the Lagrangian has its stationary point
in w at lambda w = n v, v = sum_i alpha_i y_i x_i, and for lambda > 0 its minimum there:

    - ||n v||^2 / (2 lambda) - lambda N / 2         over alpha and lambda together      (39)

The largest is at lambda = n ||v|| / sqrt(N), which is (40), and is -n sqrt(N) ||v||. For lambda < 0
the Lagrangian has no minimum in w: (39) is the dual of the ball ||w||^2 <= N, and of the extended
nu-SVC where its optimum is negative. Elsewhere lambda = 0 and v = 0, "the dual cannot be used".

The linear program of the extended nu-SVC's local search, and its dual.

Takeda & Sugiyama 2008, (9) and Algorithm 7; Perez-Cruz et al. 2003, Table 2. Objective, rows,
class_balance, scale and intercept are as above; the norm row is linearised at a
reference weight w_ref. In the geometry of reduced_hull.py the dual shoots a ray from 0 along
w_ref and finds where it leaves U; w is the normal of the facet that is hit.

Least conditional value at risk of the margin error: what the extended nu-SVC minimises.

Takeda & Sugiyama 2008, (4)-(6), (11), (12) and Theorem 1. The margin error of a point is its
signed distance to the wrong side, f_i = -y_i (<w, x_i> + b) / ||w||.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_dual_weight,
    add_hyperplane,
    augmented,
    complete_dual,
    dual_norm,
    errors_of,
    in_masses,
    signed_score,
    squared_norm,
    two_class_formulation,
    with_intercept,
)
from tightmargin.formulations.common.margin_levels import multiplier_facts, nu_margin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import squared_lengths
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, equal_rows, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.nu.extended_checks import (
    SCALES,
    check_ball,
    check_cvar,
    check_linearised,
    check_linearised_dual,
    check_polar,
    check_reverse,
    check_sphere,
    hulls_of,
    norm_squared,
    objective_factor,
)
from tightmargin.formulations.nu.feature_rank import refuse_dependent_features
from tightmargin.formulations.nu.nu_svc import checked_nu, loss_weights, nu_max
from tightmargin.formulations.nu.reduced_hull import best_levels
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of

# --- Extended nu-SVC: nu-SVC below nu_min, where a negative margin is minimised; LP, SOCP, LRCP


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


# --- Dual of the extended nu-SVC in the multiplier of its norm row -------------------------------

NO_DIRECTION = 1e-7  # of the largest v there is: what interior point methods leave of a v that is 0


def _check_dual(origin: Origin, values: Values) -> PaperCheck:
    """Multipliers on their box and masses, and the best lambda and t for their v, (40)."""
    data, parameters = origin.data, origin.parameters
    nu, intercept, scale = (parameters[word] for word in ("nu", "intercept", "scale"))
    caps = loss_weights(data, parameters["class_balance"])
    alpha = in_masses(values["alpha"], data.y, caps, nu, intercept)
    repaired, norm = complete_dual(origin, alpha)
    length, radius = math.sqrt(norm), math.sqrt(norm_squared(scale))
    times = objective_factor(data.total_weight, scale)
    level = length * radius / 2
    repaired |= {"norm_multiplier": np.array(length / radius), "t": np.array(level)}
    errors = errors_of(data, *_ball_dual_classifier(origin, repaired, {}))
    facts: dict[str, Any] = {"errors": errors}
    facts |= multiplier_facts(alpha, caps, nu) | {"norm_multiplier": times * length / radius}
    lengths = squared_lengths(data.factor) + (intercept != "none")
    if length <= NO_DIRECTION * nu * math.sqrt(float(lengths.max())):
        facts["degenerate"] = "v = 0 up to rounding: nu is at or below nu_bar, lambda is 0"
    return PaperCheck(2 * times * level, repaired=repaired, facts=facts)


def _ball_dual_classifier(origin: Origin, values: Values, _: Values) -> tuple[Array, float]:
    """W of the norm of a solution, in the coordinates of the factor, with the b that fits."""
    data, parameters = origin.data, origin.parameters
    v, v_b, norm = dual_norm(origin, np.asarray(values["alpha"], dtype=float))
    times = math.sqrt(norm_squared(parameters["scale"]) / norm) if norm > 0 else 0.0
    weights, nu = loss_weights(data, parameters["class_balance"]), parameters["nu"]
    return with_intercept(
        origin, times * v, times * v_b, lambda scores: nu_margin(scores, data.y, weights, nu)[0]
    )


@two_class_formulation(
    ProblemClass.SOCP,
    "Perez-Cruz et al. 2003, (39)",
    paper_class="dual of a QCQP",
    dual_of="extended_nu_svc_ball",
    check=_check_dual,
    classifier=_ball_dual_classifier,
    keeps_sparse=True,
)
def extended_nu_svc_dual(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    scale: str = "takeda",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Dual of the extended nu-SVC in the multiplier of its norm, on points or on a kernel matrix.

        min   t + 1/2 lambda
        s.t.  cone        ||v||^2 <= 2 lambda t,   lambda >= 0,  t >= 0
              weight[j]   v = sum_i alpha_i y_i f_i,   0 <= alpha_i <= c_i
              balance     sum_i y_i alpha_i = 0              (for a free intercept)
              total       sum_i alpha_i = nu

    f_i are the rows of a factor of the kernel matrix (the points for the linear kernel). At the
    optimum lambda = ||v|| and t = ||v|| / 2. Above nu_bar minus the optimum is that of
    extended_nu_svc, alpha is a solution of nu_svc_dual and w = v / lambda; at or below nu_bar the
    optimum is 0 with v = 0, and says nothing of extended_nu_svc. With scale="perez_cruz" the
    objective is n (t + lambda) and lambda = ||v|| / sqrt(2).
    Names here -> in the paper: n alpha -> alpha, n norm_multiplier -> lambda.

    Raises
    ------
    ValueError
        nu outside (0, nu_max].
    """
    one_of("intercept", intercept, INTERCEPTS)
    one_of("scale", scale, SCALES)
    m = pyo.ConcreteModel()
    add_parameter(m, "nu", checked_nu(data, nu, class_balance, intercept))
    m.I = pyo.RangeSet(0, data.n - 1)
    m.alpha = ArrayVar(m.I, lower=0.0, upper=loss_weights(data, class_balance))
    m.norm_multiplier = pyo.Var(within=pyo.NonNegativeReals)
    m.t = pyo.Var(within=pyo.NonNegativeReals)
    norm = add_dual_weight(m, data, intercept)
    m.total = pyo.Constraint(expr=dot(1.0, m.alpha) == m.nu)
    m.cone = pyo.Constraint(expr=norm <= 2 * m.norm_multiplier * m.t)
    times = objective_factor(data.total_weight, scale)
    m.objective = pyo.Objective(
        expr=times * m.t + times * norm_squared(scale) / 2 * m.norm_multiplier
    )
    return m


# --- The linear program of the extended nu-SVC's local search, and its dual ----------------------


def _mean(data: TrainingData | GramData, points: Array, label: float) -> Array:
    """Mean of the points of a class, each as often as it weighs."""
    mine = data.y == label
    if data.weights is None:
        return points[mine].mean(axis=0)
    return np.average(points[mine], axis=0, weights=data.weights[mine])


def _reference(
    data: TrainingData | GramData, w_ref: ArrayLike | str, scale: str, intercept: str
) -> Array:
    """Numbers of w_ref: as given, or the unit vector along the difference of the class means."""
    width = data.d + (intercept == "penalised")
    if isinstance(w_ref, str):
        one_of("w_ref", w_ref, ("mean_difference",))
        points = augmented(data, intercept) if intercept == "penalised" else data.points.X
        difference = _mean(data, points, 1.0) - _mean(data, points, -1.0)
        length = float(np.linalg.norm(difference))
        if length <= 1e-12 * float(np.abs(points).max()):
            raise ValueError("w_ref: the class means coincide; give numbers instead")
        return difference * (np.sqrt(norm_squared(scale)) / length)
    try:
        numbers = np.asarray(w_ref, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (width,):
        raise ValueError(f"w_ref must be mean_difference or {width} numbers, got {w_ref!r}")
    if not np.isfinite(numbers).all() or not numbers.any():
        raise ValueError(f"w_ref must be finite and not 0, got {w_ref!r}")
    return numbers


def _add_reference(m: pyo.ConcreteModel, numbers: Array) -> None:
    """Mutable Param w_ref over the features; one entry more for a penalised intercept."""
    m.K = pyo.RangeSet(0, len(numbers) - 1)
    m.w_ref = pyo.Param(
        m.K, initialize=dict(enumerate(numbers.tolist())), mutable=True, within=pyo.Reals
    )


@two_class_formulation(
    ProblemClass.LP,
    "Takeda & Sugiyama 2008, (9); Perez-Cruz et al. 2003, Table 2",
    check=check_linearised,
)
def extended_nu_svc_linearised(
    data: TrainingData | GramData,
    *,
    nu: float,
    w_ref: ArrayLike | str,
    class_balance: ArrayLike | str = "uniform",
    scale: str = "takeda",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Linear program of the local search: the norm row linearised at w_ref.

        min   -nu rho + sum_i c_i xi_i
        s.t.  margin[i]   y_i (<w, x_i> + b) - rho + xi_i >= 0,   xi_i >= 0
              norm        <w_ref, w> = 1                          (2 with scale="perez_cruz")

    With ||w_ref|| = 1 the feasible w have norm at least 1: up to nu_bar the value is an upper
    bound on that of extended_nu_svc_reverse, hence of extended_nu_svc, and equal to it when w_ref
    is a solution. nu and w_ref are mutable Params.

    Parameters
    ----------
    w_ref : array (d,) or "mean_difference"
        Where the norm is linearised, any length; d + 1 numbers with a penalised intercept. The
        word takes the difference of the class means, positive minus negative, scaled to the norm
        of a normalised w. There is no default: what comes out depends on it.

    Raises
    ------
    ValueError
        As extended_nu_svc; w_ref of a wrong shape or 0; and from solve() when nu is above nu_bar,
        where the program is unbounded for most w_ref and the search it belongs to fails.
    """
    m = without_norm(data, nu, class_balance, scale, intercept)
    _add_reference(m, _reference(data, w_ref, scale, intercept))
    weight = [*m.w.values()] + ([m.b] if intercept == "penalised" else [])
    row = pyo.quicksum(a * x for a, x in zip(m.w_ref.values(), weight, strict=True))
    m.norm = pyo.Constraint(expr=row == norm_squared(scale))
    m.objective = pyo.Objective(expr=risk(m, data, class_balance, scale))
    return m


def _dual_classifier(origin: Origin, values: Values, duals: Values) -> tuple[Array, float]:
    """Multipliers of the rows `line`, scaled onto <w_ref, w> = 1, with the intercept that fits."""
    if "line" not in duals:
        raise ValueError(
            "the solver returned no multipliers, which are the hyperplane of this dual: solve it "
            "with highs or clarabel, or solve extended_nu_svc_linearised"
        )
    w = np.asarray(duals["line"], dtype=float)
    w_ref = np.asarray(origin.parameters["w_ref"], dtype=float)
    w = w * (norm_squared(origin.parameters["scale"]) / float(w @ w_ref))
    if origin.parameters["intercept"] == "penalised":
        return w[:-1], float(w[-1])
    return w, best_levels(hulls_of(origin), w)[0]


@two_class_formulation(
    ProblemClass.LP,
    "dual of Takeda & Sugiyama 2008, (9)",
    dual_of="extended_nu_svc_linearised",
    check=check_linearised_dual,
    classifier=_dual_classifier,
)
def extended_nu_svc_linearised_dual(
    data: TrainingData | GramData,
    *,
    nu: float,
    w_ref: ArrayLike | str,
    class_balance: ArrayLike | str = "uniform",
    scale: str = "takeda",
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Dual of extended_nu_svc_linearised: how far w_ref reaches into the reduced hulls.

        min   -t
        s.t.  line[j]   sum_i alpha_i y_i x_ij + t w_ref_j = 0,   0 <= alpha_i <= c_i
              balance   sum_i y_i alpha_i = 0                     (for a free intercept)
              total     sum_i alpha_i = nu

    d + 2 rows and n bounded columns: much the smaller form when there are many points. The
    multipliers of `line` are w up to sign. With scale="perez_cruz" the objective is -2 n t.

    Raises
    ------
    ValueError
        As extended_nu_svc_linearised.
    """
    one_of("intercept", intercept, INTERCEPTS)
    one_of("scale", scale, SCALES)
    refuse_dependent_features(data, intercept)
    m = pyo.ConcreteModel()
    add_parameter(m, "nu", checked_nu(data, nu, class_balance, intercept))
    m.I = pyo.RangeSet(0, data.n - 1)
    _add_reference(m, _reference(data, w_ref, scale, intercept))
    m.alpha = ArrayVar(m.I, lower=0.0, upper=loss_weights(data, class_balance))
    m.t = pyo.Var()
    points = augmented(data, intercept) if intercept == "penalised" else data.points.X
    m.line = equal_rows(m.K, [((data.y[:, None] * points).T, m.alpha), (m.w_ref, m.t)], 0.0)
    if intercept == "free":
        m.balance = pyo.Constraint(expr=dot(data.y, m.alpha) == 0)
    m.total = pyo.Constraint(expr=dot(1.0, m.alpha) == m.nu)
    times = norm_squared(scale) * objective_factor(data.total_weight, scale)
    m.objective = pyo.Objective(expr=-times * m.t)
    return m


# --- Least conditional value at risk of the margin error: what the extended nu-SVC minimises -----


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
