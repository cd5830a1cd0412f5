"""Dual of the SDP: the strengthening itself as variables, one semidefinite block.

Cepeda, Gomez & Han 2024, (19): the fixed-strengthening relaxation at its best strengthening. This
is the form interior-point solvers finish most reliably.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import augmented, two_class_formulation
from tightmargin.formulations.conic.closed_form_bound import strengthening_bound
from tightmargin.formulations.conic.loss import conic_loss
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, total
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.rotated_cones import RotatedCones
from tightmargin.formulations.modeling.semidefinite import lower_pairs, psd
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive
from tightmargin.formulations.zero_one.big_m import intercept_bound_value


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
