"""The linear program of the extended nu-SVC's local search, and its dual.

Takeda & Sugiyama 2008, (9) and Algorithm 7; Perez-Cruz et al. 2003, Table 2. Objective, rows,
class_balance, scale and intercept are those of extended.py; the norm row is linearised at a
reference weight w_ref. In the geometry of support_function.py the dual shoots a ray from 0 along
w_ref and finds where it leaves U; w is the normal of the facet that is hit.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import Origin, ProblemClass, Values
from tightmargin.formulations.common.hyperplane import (
    augmented,
    two_class_formulation,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import dot, equal_rows
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.nu.extended import risk, without_norm
from tightmargin.formulations.nu.extended_checks import (
    SCALES,
    check_linearised,
    check_linearised_dual,
    hulls_of,
    norm_squared,
    objective_factor,
)
from tightmargin.formulations.nu.feature_rank import refuse_dependent_features
from tightmargin.formulations.nu.support_function import best_levels
from tightmargin.formulations.nu.weights import checked_nu, loss_weights
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of


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
