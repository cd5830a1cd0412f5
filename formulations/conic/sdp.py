"""Convex relaxations of the 0-1 loss that need no big-M: one cone a point, and an SDP over all.

Cepeda, Gomez & Han 2024, Theorem 2 (21). Write x~_i for the point with its constant entry,
w~ = (w, b), u_i = y_i <w~, x~_i>, v_i = 1 - u_i, and T_i = <x~_i x~_i', W> - 2 u_i + 1, which is
at least v_i^2 where [[W, w~], [w~', 1]] is semidefinite.

Appendix A is the same for a kernel: only inner products count, so any factor F with kernel matrix
F F' gives rows x_i. Its order is the rank of the matrix, and no n x n matrix variable is needed.
The factor must be exact (tightmargin.formulations.data.training_data.GramData): with its leading
columns alone w is held in a subspace, and the value can be above that of the kernel, so that it
bounds nothing from below.

Appendix C bounds the number of violations in place of pricing them. The dual (19) is the relaxation
with a fixed strengthening (14) at its best strengthening: the strengthening itself as variables,
one semidefinite block. This is the form interior-point solvers finish most reliably.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    augmented_weight,
    signed_score,
    two_class_formulation,
)
from tightmargin.formulations.conic.checks import (
    check_budget,
    check_eliminated,
    check_fixed,
    check_sdp,
)
from tightmargin.formulations.conic.closed_form_bound import budget_share, strengthening_bound
from tightmargin.formulations.conic.strengthening import conic_loss, strengthening_values
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import (
    AffineRows,
    dot,
    equal_rows,
    shared,
    times,
    total,
)
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.cones import (
    RotatedCones,
    complement,
    lower_pairs,
    outer_products,
    psd,
)
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive
from tightmargin.formulations.zero_one.big_m import add_intercept_bound, intercept_bound_value

# --- What the semidefinite relaxations of the 0-1 loss share: the lifted matrix and its rows -----

Data = TrainingData | GramData


def lifted_model(
    data: Data,
    penalty: float | None,
    intercept: str,
    intercept_bound: float | str | None,
) -> pyo.ConcreteModel:
    """Model with w, b, W >= w~ w~' (row `outer`) and, for a free intercept, the bound on W_bb.

    penalty: none where a budget takes its place.
    intercept_bound: see `add_intercept_bound`.
    Raises ValueError: a free intercept without a bound, a bound where none belongs, an unknown
        intercept.
    """
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    if penalty is not None:
        add_parameter(m, "penalty", penalty)
    weight = augmented_weight(m)
    m.L = pyo.Set(initialize=lower_pairs(len(weight)), dimen=2)
    m.W = ArrayVar(m.L)
    rows = [[m.W[j, k] for k in range(j + 1)] for j in range(len(weight))]
    psd(m, "outer", [*rows, [*weight, 1.0]])
    add_intercept_bound(m, data, intercept, intercept_bound)
    return m


def lift_terms(m: pyo.ConcreteModel, data: Data) -> list[tuple[Any, Any]]:
    """Terms of T_i - 1 = <x~_i x~_i', W> - 2 u_i."""
    intercept = "free" if m.find_component("b") is not None else "none"
    linear = [(times(-2.0, part), variable) for part, variable in signed_score(m, data)]
    return [(shared(outer_products(augmented(data, intercept))), m.W), *linear]


def add_split(m: pyo.ConcreteModel, data: Data) -> None:
    """Variables p, q >= 0 with p_i - q_i = 1 - u_i."""
    m.p, m.q = (ArrayVar(m.I, lower=0.0) for _ in range(2))
    m.split = equal_rows(m.I, [*signed_score(m, data), (1.0, m.p), (-1.0, m.q)], 1.0)


def add_hinge_and_lift(m: pyo.ConcreteModel, data: Data) -> None:
    """Variables p_i >= (v_i)_+ (rows `hinge`) and T_i (rows `lifted`)."""
    m.p, m.T = (ArrayVar(m.I, lower=0.0) for _ in range(2))
    m.lifted = equal_rows(m.I, [*lift_terms(m, data), (-1.0, m.T)], -1.0)
    m.hinge = AffineRows(m.I, [*signed_score(m, data), (1.0, m.p)], lower=1.0)


def add_reduced_cones(m: pyo.ConcreteModel, data: Data) -> None:
    """Rows hinge, lifted and inside[i]: p_i^2 <= T_i z_i, for a variable z of the model."""
    add_hinge_and_lift(m, data)
    m.inside = RotatedCones(m.I, m.p, m.T, m.z)


def add_cones_of_both_sides(m: pyo.ConcreteModel, data: Data) -> None:
    """z in [0, 1] with split, lifted[i]: T_i = s_i + r_i, and the cones of either sign of v_i.

    inside[i]: p_i^2 <= s_i z_i and outside[i]: q_i^2 <= r_i (1 - z_i).
    """
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    add_split(m, data)
    m.s, m.r = (ArrayVar(m.I, lower=0.0) for _ in range(2))
    m.lifted = AffineRows(m.I, [*lift_terms(m, data), (-1.0, m.s), (-1.0, m.r)], lower=-1.0)
    m.inside = RotatedCones(m.I, m.p, m.s, m.z)
    m.outside = RotatedCones(m.I, m.q, m.r, complement(m.z))


def lifted_norm(m: pyo.ConcreteModel, intercept: str) -> Any:
    """Trace of W over the coordinates that count in the norm: all but that of a free intercept.

    They are the d features and, if it is penalised, the intercept; the end of the paper's proof
    of Theorem 2 prints n of them.
    """
    k = len(augmented_weight(m)) - (1 if intercept == "free" else 0)
    return pyo.quicksum(m.W[j, j] for j in range(k))


# --- Convex relaxations of the 0-1 loss that need no big-M: one cone a point, and an SDP over all


@two_class_formulation(
    ProblemClass.SOCP,
    "Cepeda, Gomez & Han 2024, (14), corrected",
    relaxes="zero_one_big_m",
    check=check_fixed,
)
def conic_fixed(
    data: TrainingData | GramData,
    *,
    penalty: float,
    strengthening: ArrayLike | str,
    intercept: str = "penalised",
) -> pyo.ConcreteModel:
    """Conic relaxation with the strengthening gamma_i chosen beforehand.

        min   w~'(I - sum_i gamma_i x~_i x~_i') w~ + sum_i gamma_i (2 u_i - 1)
              + penalty sum_i z_i + sum_i gamma_i (s_i + r_i)
        s.t.  split[i]    p_i - q_i + u_i = 1,           p_i, q_i >= 0
              inside[i]   p_i^2 <= s_i z_i,              0 <= z_i <= 1
              outside[i]  q_i^2 <= r_i (1 - z_i),        s_i, r_i >= 0

    so that p_i = (1 - u_i)_+ and q_i = (1 - u_i)_-. Corrected: the second numerator is printed
    (1 - u_i - 1)_-. A point with gamma_i = 0 has no cones (index set A holds the others): its s_i
    would cost nothing, and its loss is 0.

    Parameters
    ----------
    strengthening : array (n,) or "equal", "inverse_norm", "scaled"
        gamma_i >= 0 with I - sum gamma_i x~_i x~_i' semidefinite; the words are in
        strengthening.py. The number of a weighted point is that of all its copies together.

    Raises
    ------
    ValueError
        When the quadratic term is not convex (naming its smallest eigenvalue), or with a free
        intercept: the sum over the constant column then forces gamma = 0.
    """
    if intercept == "free":
        raise ValueError(
            "conic_fixed needs intercept=penalised or none: without a price on b the quadratic "
            "term is convex only for strengthening 0, and the bound is worthless"
        )
    points = augmented(data, intercept)
    gamma = strengthening_values(points, strengthening, data.multiplicity)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    add_split(m, data)
    active = np.flatnonzero(gamma > 0)
    m.A = pyo.Set(initialize=active.tolist())
    m.s, m.r = (ArrayVar(m.A, lower=0.0) for _ in range(2))
    m.inside = RotatedCones(m.A, m.p, m.s, m.z)
    m.outside = RotatedCones(m.A, m.q, m.r, complement(m.z))
    hessian = np.eye(points.shape[1]) - points.T @ (gamma[:, None] * points)
    weight = augmented_weight(m)
    quadratic = pyo.quicksum(
        hessian[j, k].item() * (1 if j == k else 2) * weight[j] * weight[k]
        for j, k in lower_pairs(len(weight))
    )
    linear = (2 * gamma * data.y) @ points
    m.objective = pyo.Objective(
        expr=quadratic
        + pyo.quicksum(a * x for a, x in zip(linear.tolist(), weight, strict=True))
        - float(gamma.sum())
        + m.penalty * dot(data.multiplicity, m.z)
        + dot(gamma[active], m.s)
        + dot(gamma[active], m.r)
    )
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21), reduced",
    relaxes="zero_one_big_m",
    check=check_sdp,
)
def conic_sdp(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    intercept_bound: float | str | None = None,
) -> pyo.ConcreteModel:
    """SDP relaxation of the 0-1 loss with one rotated cone a point.

        min   <D, W> + penalty sum_i z_i                  D = I (features only if b is free)
        s.t.  lifted[i]   T_i = <x~_i x~_i', W> - 2 u_i + 1
              hinge[i]    p_i + u_i >= 1,                  p_i, T_i, z_i >= 0
              inside[i]   p_i^2 <= T_i z_i
              outer       [[W, w~], [w~', 1]] is semidefinite

    Equal in value to the printed form: T_i >= v_i^2 makes the (1 - z) term and z <= 1 redundant.
    With a free intercept W_bb <= intercept_bound^2 is added; without it the bound is 0.

    Parameters
    ----------
    intercept_bound : number or "derived"
        |b| of some optimum, demanded with a free intercept; "derived" is proven in big_m.py.

    Names here -> in the paper: penalty -> lambda; the dual of `lifted` is gamma.
    """
    m = lifted_model(data, positive("penalty", penalty), intercept, intercept_bound)
    m.z = ArrayVar(m.I, lower=0.0)
    add_reduced_cones(m, data)
    m.objective = pyo.Objective(
        expr=lifted_norm(m, intercept) + m.penalty * dot(data.multiplicity, m.z)
    )
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21)",
    relaxes="zero_one_big_m",
    check=check_sdp,
)
def conic_sdp_literal(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    intercept_bound: float | str | None = None,
) -> pyo.ConcreteModel:
    """The SDP of Theorem 2 as printed.

        min   <D, W> + penalty sum_i z_i
        s.t.  T_i >= (1 - u_i)_+^2 / z_i + (1 - u_i)_-^2 / (1 - z_i),   0 <= z_i <= 1
              [[W, w~], [w~', 1]] is semidefinite

    with rows split, inside, outside as in conic_fixed and lifted[i]: T_i = s_i + r_i. Parameters
    as for conic_sdp.
    """
    m = lifted_model(data, positive("penalty", penalty), intercept, intercept_bound)
    add_cones_of_both_sides(m, data)
    m.objective = pyo.Objective(
        expr=lifted_norm(m, intercept) + m.penalty * dot(data.multiplicity, m.z)
    )
    return m


@two_class_formulation(ProblemClass.SDP, "Cepeda, Gomez & Han 2024, App. C", check=check_budget)
def conic_sdp_budget(
    data: TrainingData | GramData,
    *,
    budget: float,
    intercept: str = "penalised",
    intercept_bound: float | None = None,
) -> pyo.ConcreteModel:
    """The SDP with a budget on violations instead of a price.

        min   <D, W>
        s.t.  spend    sum_i z_i <= budget n
              lifted, hinge, inside, outer as in conic_sdp

    Minus the multiplier of `spend` is the penalty of the conic_sdp with the same solution; a
    result has it as the fact `penalty`. The grid of the paper is `budget_grid`. Names here ->
    in the paper: budget -> kappa.

    Raises
    ------
    ValueError
        budget outside (0, 1].
    """
    share = budget_share(budget)
    m = lifted_model(data, None, intercept, intercept_bound)
    add_parameter(m, "budget", share)
    m.z = ArrayVar(m.I, lower=0.0)
    add_reduced_cones(m, data)
    m.spend = pyo.Constraint(
        expr=total(dot(data.multiplicity, m.z), -data.total_weight * m.budget) <= 0
    )
    m.objective = pyo.Objective(expr=lifted_norm(m, intercept))
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, Theorem 2 (21), z eliminated",
    relaxes="zero_one_big_m",
    check=check_eliminated,
)
def conic_sdp_eliminated(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    intercept_bound: float | str | None = None,
) -> pyo.ConcreteModel:
    """SDP relaxation of the 0-1 loss with quotients in the place of z.

        min   <D, W> + penalty sum_i p_i^2 / T_i          D = I (features only if b is free)
        s.t.  lifted[i]   T_i = <x~_i x~_i', W> - 2 u_i + 1
              hinge[i]    p_i + u_i >= 1,                  p_i, T_i >= 0
              outer       [[W, w~], [w~', 1]] is semidefinite

    The least z_i of conic_sdp for given (w~, W) is (1 - u_i)_+^2 / T_i, at most 1 because
    T_i >= (1 - u_i)^2; where T_i = 0 the point is on the margin and z_i = 0. The objective is
    convex, a sum of quadratics over linear functions, for which solve() puts rotated cones
    (solvers/model/rewrites.py): a result holds the z_i as `quotients.value`. Parameters
    as for conic_sdp.
    """
    m = lifted_model(data, positive("penalty", penalty), intercept, intercept_bound)
    add_hinge_and_lift(m, data)
    times = data.multiplicity.tolist()
    quotients = pyo.quicksum(times[i] * m.p[i] ** 2 / m.T[i] for i in m.I)
    m.objective = pyo.Objective(expr=lifted_norm(m, intercept) + m.penalty * quotients)
    return m


# --- Dual of the SDP: the strengthening itself as variables, one semidefinite block --------------


def _check(origin: Origin, values: Values) -> PaperCheck:
    """Value of the nearest feasible (gamma, alpha): a lower bound on the primal by itself."""
    p = origin.parameters
    points, prices = augmented(origin.data, p["intercept"]), origin.data.prices(p["penalty"])
    bound_on_b = intercept_bound_value(
        origin.data, p["penalty"], p["intercept"], p["intercept_bound"]
    )
    proofs = [
        strengthening_bound(
            points, origin.data.y, gamma, alpha, penalty=prices, bound_on_b=bound_on_b
        )
        for gamma, alpha in _feasible_pairs(values["gamma"], values["alpha"], prices)
    ]
    proof = max(filter(None, proofs), key=lambda found: found.value, default=None)
    if proof is None:
        return PaperCheck(float(values["tau"]) - 2 * float(values["alpha"].sum()), violation=np.inf)
    price = 0.0 if bound_on_b is None else bound_on_b**2 * proof.beta
    tau = 2 * float(proof.alpha.sum()) - price - proof.value
    repaired = {"gamma": proof.gamma, "alpha": proof.alpha, "tau": np.array(tau)}
    if bound_on_b is not None:
        repaired["beta"] = np.array(proof.beta)
    facts = {"active": int((proof.gamma > 1e-8).sum()), "strengthening": proof.gamma.tolist()}
    return PaperCheck(-proof.value, repaired=repaired, facts=facts)


def _feasible_pairs(gamma: Array, alpha: Array, penalty: Array) -> list[tuple[Array, Array]]:
    """(gamma, alpha) moved into alpha_i^2 <= penalty gamma_i: either of the two moves."""
    gamma, alpha = np.maximum(gamma, 0.0), np.maximum(alpha, 0.0)
    return [
        (np.maximum(gamma, alpha**2 / penalty), alpha),
        (gamma, np.minimum(alpha, np.sqrt(penalty * gamma))),
    ]


def primal_point(
    data: TrainingData | GramData, values: Values, duals: Values, *, penalty: float, intercept: str
) -> dict[str, Array]:
    """Point of conic_sdp that the multipliers of conic_sdp_dual hold.

    The multiplier of `outer` is [[W, w~], [w~', 1]] times its corner, and z is the least that W
    and w~ allow, (1 - u_i)_+^2 / T_i.

    values, duals: of a result of conic_sdp_dual.
    Returns: w, b (unless intercept = none), W, z and the conic `losses` (n,) of Proposition 1 at
        gamma.
    Raises ValueError: the result holds no multiplier of `outer`, or one whose corner is not
        positive.
    """
    multiplier = duals.get("outer")
    if multiplier is None or not multiplier[-1, -1] > 0:
        raise ValueError(
            "the point is in the multiplier of outer, and the result holds none: solve this dual "
            "with clarabel, or solve conic_sdp"
        )
    lifted = multiplier / multiplier[-1, -1]
    weight, W = lifted[:-1, -1], lifted[:-1, :-1]
    points = augmented(data, intercept)
    v = 1 - data.y * (points @ weight)
    T = np.einsum("ij,jk,ik->i", points, W, points) + 2 * v - 1
    p = np.maximum(v, 0.0)
    z = np.where(p > 0, p**2 / np.maximum(T, np.where(p > 0, p**2, 1.0)), 0.0)
    losses = conic_loss(v, np.maximum(values["gamma"], 0.0), data.prices(penalty))
    w = weight if intercept == "none" else weight[:-1]
    found = {"w": w, "W": W, "z": z, "losses": losses}
    return found if intercept == "none" else found | {"b": np.asarray(weight[-1])}


def _classifier(origin: Origin, values: Values, duals: Values) -> tuple[Array, float]:
    """The hyperplane is the last column of the multiplier of `outer`, over its corner."""
    words = {word: origin.parameters[word] for word in ("penalty", "intercept")}
    point = primal_point(origin.data, values, duals, **words)
    return point["w"], float(point.get("b", 0.0))


@two_class_formulation(
    ProblemClass.SDP,
    "Cepeda, Gomez & Han 2024, (19), as one SDP",
    dual_of="conic_sdp",
    check=_check,
    classifier=_classifier,
)
def conic_sdp_dual(
    data: TrainingData | GramData,
    *,
    penalty: float,
    intercept: str = "penalised",
    intercept_bound: float | str | None = None,
) -> pyo.ConcreteModel:
    """Dual of conic_sdp: choose the strengthening gamma that gives the largest bound.

        min   tau - 2 sum_i alpha_i  (+ B^2 beta)
        s.t.  strength[i]   alpha_i^2 <= penalty gamma_i,     alpha_i, gamma_i >= 0
              outer         [ D - sum gamma_i x~_i x~_i'            .          ]
                            [ sum (gamma_i - alpha_i) y_i x~_i'   tau - sum gamma_i ]  semidefinite

    D = I, with beta >= 0 in the corner of a free intercept bounded by B. The multiplier of
    `outer`, divided by its corner, is [[W, w~], [w~', 1]]; `primal_point` takes it apart. Names
    here -> in the paper: penalty -> lambda.
    """
    one_of("intercept", intercept, INTERCEPTS)
    penalty = positive("penalty", penalty)
    bound_on_b = intercept_bound_value(data, penalty, intercept, intercept_bound)
    points = augmented(data, intercept)
    k = points.shape[1]
    m = pyo.ConcreteModel()
    add_parameter(m, "penalty", penalty)
    m.I = pyo.RangeSet(0, data.n - 1)
    m.alpha, m.gamma = (ArrayVar(m.I, lower=0.0) for _ in range(2))
    m.tau = pyo.Var()
    corner: Any = 1.0
    price: Any = 0.0
    if bound_on_b is not None:
        m.beta = pyo.Var(within=pyo.NonNegativeReals)
        add_parameter(m, "intercept_bound", bound_on_b)
        corner, price = m.beta, m.intercept_bound**2 * m.beta
    m.strength = RotatedCones(m.I, m.alpha, m.gamma, m.penalty, data.weights)
    block: list[list[Any]] = [[None] * (i + 1) for i in range(k)]
    for i, j in lower_pairs(k):
        entry = dot(-points[:, i] * points[:, j], m.gamma)
        diagonal = corner if i == k - 1 and bound_on_b is not None else 1.0
        block[i][j] = total(entry, diagonal) if i == j else entry
    signed = data.y[:, None] * points
    last = [dot(signed[:, j], m.gamma) - dot(signed[:, j], m.alpha) for j in range(k)]
    psd(m, "outer", [*block, [*last, m.tau - dot(1.0, m.gamma)]])
    m.objective = pyo.Objective(expr=m.tau - 2 * dot(1.0, m.alpha) + price)
    return m
