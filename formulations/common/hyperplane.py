"""The separating hyperplane every family shares: w, b, hinge losses, multipliers.

"free"       b is a variable that costs nothing (scikit-learn's SVC, Brooks)
"penalised"  b is the weight of a constant column and counts in the norm (Cepeda et al.)
"none"       b = 0, the homogeneous machine
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values, formulation
from tightmargin.formulations.common.margin_levels import ON_MARGIN
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import ClassWeight, class_factors
from tightmargin.formulations.data.sparse_points import Points, scaled_rows, with_ones
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, equal_rows, shared, squares
from tightmargin.formulations.parameters import INTERCEPTS, one_of

# --- The separating hyperplane every family shares: w, b and the three ways to treat the intercept


def add_hyperplane(m: pyo.ConcreteModel, data: TrainingData | GramData, intercept: str) -> None:
    """Index sets I (points) and J (features), variables w and, unless "none", b.

    Raises
    ------
    ValueError
        An unknown word for the intercept; a kernel matrix that is 0.
    """
    one_of("intercept", intercept, INTERCEPTS)
    if not data.d:
        raise ValueError("gram is 0: all points lie in one place, and w has no entry")
    m.I = pyo.RangeSet(0, data.n - 1)
    m.J = pyo.RangeSet(0, data.d - 1)
    m.w = pyo.Var(m.J)
    if intercept != "none":
        m.b = pyo.Var()


def signed_score(m: pyo.ConcreteModel, data: TrainingData | GramData) -> list[tuple[Any, Any]]:
    """Terms of y_i (<w, x_i> + b) for AffineRows."""
    terms: list[tuple[Any, Any]] = [((data.y, data.factor), m.w)]
    return [*terms, (data.y, m.b)] if m.find_component("b") is not None else terms


def squared_norm(m: pyo.ConcreteModel, intercept: str) -> Any:
    """||w||^2, plus b^2 when the intercept is penalised."""
    return squares(m.w) + (m.b**2 if intercept == "penalised" else 0)


def signed_scores(
    data: TrainingData | GramData, values: Mapping[str, Array]
) -> tuple[Array, Array, float]:
    """Numbers y_i (<w, x_i> + b) (n,), w (d,) and b recomputed from the values of a result."""
    w = np.asarray(values["w"], dtype=float)
    b = float(values["b"]) if "b" in values else 0.0
    return data.y * (data.factor @ w + b), w, b


def norm_of(w: Array, b: float, intercept: str) -> float:
    """Numerical twin of `squared_norm`."""
    return float(w @ w) + (b * b if intercept == "penalised" else 0.0)


def complete_plane(origin: Origin, w: Array, b: float) -> dict[str, Array]:
    """Values of w and of b, where the model has one."""
    return {"w": w} | ({} if origin.parameters["intercept"] == "none" else {"b": np.array(b)})


def weight_and_intercept(
    _: Any, values: Mapping[str, Array], __: Mapping[str, Array]
) -> tuple[Array, float]:
    """Classifier of an entry whose variables are w and b themselves."""
    return np.asarray(values["w"], dtype=float), float(values["b"]) if "b" in values else 0.0


two_class_formulation = partial(
    formulation,
    takes=(TrainingData, GramData),
    classifier=weight_and_intercept,
    weighted=True,
)
"""`formulation` with what most builders here say: weighted points or a kernel matrix, w and b."""


def augmented(data: TrainingData | GramData, intercept: str) -> Points:
    """Points with the constant column last, (n, d + 1); as they are when there is no intercept."""
    return data.factor if intercept == "none" else with_ones(data.factor)


def augmented_weight(m: pyo.ConcreteModel) -> list[Any]:
    """Variables (w, b) in the order of the columns of `augmented`."""
    return [*m.w.values()] + ([m.b] if m.find_component("b") is not None else [])


# --- Hinge losses: what a class weighs, and the objective recomputed from a hyperplane -----------


def point_weights(data: TrainingData | GramData, class_weight: ClassWeight) -> Array:
    """Weight of each point (n,): its own times that of its class.

    class_weight: by label; of label -1, then of label +1; or total / (2 mass of the class).
    """
    order = "two numbers, of label -1 and of label +1"
    factors = class_factors(class_weight, data.classes, np.array(data.masses), order)
    of_class = np.where(data.y > 0, factors[1], factors[0])
    return of_class if data.weights is None else of_class * data.weights


def mean_weights(data: TrainingData | GramData) -> float | Array:
    """What the loss of each point counts in the mean: 1 / n, or its share (n,) of all weights."""
    return 1 / data.n if data.weights is None else data.weights / data.total_weight


def hinge_check(origin: Origin, values: Values, norm_cost: float, costs: Array) -> PaperCheck:
    """norm_cost * norm + sum of costs times hinge losses, recomputed from (w, b)."""
    u, w, b = signed_scores(origin.data, values)
    xi = np.maximum(0.0, 1 - u)
    objective = norm_cost * norm_of(w, b, origin.parameters["intercept"]) + float(costs @ xi)
    facts = {
        "errors": int((u <= 0).sum()),
        "margin_violations": int((u < 1 - 1e-9).sum()),
        "support_vectors": int((u <= 1 + ON_MARGIN * max(1.0, float(np.abs(u).max()))).sum()),
    }
    return PaperCheck(objective, repaired={"xi": xi}, facts=facts)


# --- Multipliers of margin rows: the weight that they expand to, and how they are repaired -------


def dual_weight(origin: Origin, values: Values) -> Array:
    """Weight vector w = sum_i alpha_i y_i x_i in the coordinates of the factor."""
    return origin.data.factor.T @ (origin.data.y * values["alpha"])


def balanced_alpha(alpha: Array, y: Array, caps: Array, intercept: str) -> Array:
    """Nearest-by-scaling multipliers that satisfy the box and, if b is free, y'alpha = 0.

    Shrinking the heavier class keeps the box, so the result is feasible to rounding.
    """
    alpha = np.clip(alpha, 0.0, caps)
    if intercept != "free":
        return alpha
    mass = {sign: float(alpha[y == sign].sum()) for sign in (-1.0, 1.0)}
    target = min(mass.values())
    scale = {sign: target / total if total > 0 else 1.0 for sign, total in mass.items()}
    return alpha * np.where(y > 0, scale[1.0], scale[-1.0])


def in_masses(alpha: Array, y: Array, caps: Array, total: float, intercept: str) -> Array:
    """Multipliers in [0, caps] of that total, half of it in each class if b is free."""
    alpha = np.clip(alpha, 0.0, caps)
    groups = [y > 0, y < 0] if intercept == "free" else [y != 0]
    for group in groups:
        alpha[group] = with_total(alpha[group], caps[group], total / len(groups))
    return alpha


def dual_norm(origin: Origin, alpha: Array) -> tuple[Array, float, float]:
    """w, the homogeneous intercept y'alpha, and the squared norm the dual objective halves."""
    w = dual_weight(origin, {"alpha": alpha})
    b = float(origin.data.y @ alpha)
    return w, b, norm_of(w, b, origin.parameters["intercept"])


def complete_dual(origin: Origin, alpha: Array) -> tuple[dict[str, Array], float]:
    """Values of alpha with their v = F'(y o alpha) and v_b, and the squared norm of these."""
    v, v_b, norm = dual_norm(origin, alpha)
    priced = origin.parameters["intercept"] == "penalised"
    return {"alpha": alpha, "v": v} | ({"v_b": np.array(v_b)} if priced else {}), norm


def with_intercept(
    origin: Origin, w: Array, b: float, best: Callable[[Array], float]
) -> tuple[Array, float]:
    """w with b where that is penalised, and with the best one for its scores where it is free."""
    match origin.parameters["intercept"]:
        case "free":
            return w, best(origin.data.factor @ w)
        case "penalised":
            return w, b
    return w, 0.0


def errors_of(data: TrainingData | GramData, w: Array, b: float) -> int:
    """Points on the wrong side of a hyperplane, or on it."""
    return int((data.y * (data.factor @ w + b) <= 0).sum())


def add_dual_weight(
    m: pyo.ConcreteModel, data: TrainingData | GramData, intercept: str
) -> pyo.Expression:
    """Variables v = F'(y o alpha) with their rows; returns ||v||^2 (plus v_b^2 if penalised)."""
    m.J = pyo.RangeSet(0, data.d - 1)
    m.v = pyo.Var(m.J)
    m.weight = equal_rows(
        m.J, [(shared(scaled_rows(data.y, data.factor).T), m.alpha), (-1.0, m.v)], 0.0
    )
    if intercept == "free":
        m.balance = pyo.Constraint(expr=dot(data.y, m.alpha) == 0)
    if intercept == "penalised":
        m.v_b = pyo.Var()
        m.weight_b = pyo.Constraint(expr=dot(data.y, m.alpha) == m.v_b)
        return squares(m.v) + m.v_b**2
    return squares(m.v)


def with_total(alpha: Array, caps: Array, total: float) -> Array:
    """Change alpha in [0, caps] in proportion so that it sums to `total` (at most sum of caps)."""
    have = float(alpha.sum())
    if have >= total:
        return alpha * (total / have) if have > 0 else alpha
    room = caps - alpha
    return alpha + room * min(1.0, (total - have) / max(float(room.sum()), 1e-300))
