"""Ramp loss with the l1 norm of w: a mixed-integer linear program, and its linear relaxation.

Brooks 2011 with the norm of Bradley & Mangasarian; Baldomero-Naranjo, Martinez-Merino &
Rodriguez-Chia 2020 (arXiv 2403.07736) solve both norms by tightened M. The M here are those of
big_m.py with Hoelder's inequality in the place of Cauchy-Schwarz.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.common.hyperplane import (
    augmented,
    two_class_formulation,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.parameters import (
    positive,
)
from tightmargin.formulations.svc.losses import L1, regulariser_parts
from tightmargin.formulations.zero_one.big_m import (
    OUTWARD,
    BigM,
    best_known,
    same_class_reach,
    where_one_is_kept,
)
from tightmargin.formulations.zero_one.checks import Hyperplane
from tightmargin.formulations.zero_one.loss import EPS
from tightmargin.formulations.zero_one.ramp import RampNorm


def derive_ramp_l1_big_m(
    data: TrainingData, *, C: float, intercept: str, upper_bound: float | None = None
) -> BigM:
    """M_i for the ramp loss with the l1 norm: rows u_i >= 1 - xi_i - M_i z_i, 0 <= xi_i <= 2.

    As in `derive_ramp_big_m`, M_i must reach 1 - u_i only where z_i = 1, and each of these pays
    2 C: norm <= UB - 2 C.

    penalised, none: M_i = 1 + max(|x_i|, 1) (UB - 2 C) by Hoelder's inequality, |x_i| being the
        largest entry (without the 1 if there is no intercept).

    free: M_i = 2 + R_i (UB - 2 C) keeps one optimum, R_i = max_k max_j |x_kj - x_ij| over the
        points k of the class of i. The argument is that of `derive_ramp_big_m`: w = 0 with the
        label of the other class where all points of a class have z_i = 1, and otherwise
        1 - u_i <= 2 + y_i <w, x_i' - x_i> for a point with z_k = 0.

    Raises ValueError: bad C or intercept, or an upper bound that no point can have.
    """
    cost = positive("C", C)
    known = best_known(_trivial(data, cost, intercept), upper_bound)
    values = _values(data, cost, intercept, known)
    reach = "R_i" if intercept == "free" else "the largest entry of point i"
    start = 2 if intercept == "free" else 1
    reason = (
        f"where z_i = 1, 2 C is paid and the l1 norm is at most {known:.9g} - 2 C, so "
        f"1 - u_i <= {start} + {reach} times that by Hoelder's inequality: largest M "
        f"{values.max():.9g}"
    )
    return BigM(values, reason, known)


def ramp_l1_big_m_everywhere(
    data: TrainingData, cost: float, intercept: str, value: float
) -> Array:
    """M_i that every point of objective at most `value` satisfies; infinite where none is known."""
    return where_one_is_kept(
        data, _values(data, cost, intercept, value), intercept, value, 2 * cost
    )


def ramp_l1_big_m_below(data: TrainingData, cost: float, intercept: str, known: float) -> Array:
    """M_i that keep an optimum of a stated objective."""
    return _values(data, cost, intercept, known)


def _values(data: TrainingData, cost: float, intercept: str, known: float) -> Array:
    norm = np.maximum(known - 2 * cost * data.multiplicity, 0.0) + 4 * EPS * known
    if intercept == "free":
        values = 2.0 + same_class_reach(data, "chebyshev") * norm
    else:
        values = 1.0 + np.abs(np.asarray(augmented(data, intercept))).max(axis=1) * norm
    values = values * OUTWARD
    values.setflags(write=False)
    return values


def _trivial(data: TrainingData, C: float, intercept: str) -> float:
    """Best objective with w = 0: b = 0 or b the label of the larger class, between them linear."""
    minority, majority = sorted(data.masses)
    zero = C * (minority + majority)
    if intercept == "none":
        return zero
    return min(zero, 2 * C * minority + (1.0 if intercept == "penalised" else 0.0))


def _sizes_of(w: Array, b: float, intercept: str) -> tuple[float, Mapping[str, Any]]:
    return regulariser_parts(L1, None, w, b, intercept)


def _add_sizes(m: pyo.ConcreteModel, intercept: str) -> Any:
    """Variables size_j >= |w_j| and their sum; from 0 on, so that the objective limits each."""
    m.size = pyo.Var(m.J, within=pyo.NonNegativeReals)
    m.above = AffineRows(m.J, [(1.0, m.size), (-1.0, m.w)], lower=0.0)
    m.below = AffineRows(m.J, [(1.0, m.size), (1.0, m.w)], lower=0.0)
    if intercept != "penalised":
        return dot(1.0, m.size)
    m.size_b = pyo.Var(within=pyo.NonNegativeReals)
    m.above_b = pyo.Constraint(expr=m.size_b - m.b >= 0)
    m.below_b = pyo.Constraint(expr=m.size_b + m.b >= 0)
    return dot(1.0, m.size) + m.size_b


NORM = RampNorm(_sizes_of, _add_sizes, derive_ramp_l1_big_m)


def ramp_l1_objective(
    data: TrainingData, w: ArrayLike, b: float, C: float, intercept: str
) -> float:
    """l1 norm + C sum min(2, hinge loss) of a hyperplane; |b| counts where it is penalised."""
    return NORM.objective(data, w, b, C, intercept)


@two_class_formulation(
    ProblemClass.MILP,
    "Brooks 2011 with the l1 norm, as in Baldomero-Naranjo et al. 2020",
    check=NORM.check,
    takes=(TrainingData,),
)
def ramp_l1_big_m(
    data: TrainingData,
    *,
    C: float,
    big_m: ArrayLike | str,
    intercept: str = "free",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """Ramp loss SVM with the l1 norm.

        min   sum_j |w_j| + C (sum_i xi_i + 2 sum_i z_i)
        s.t.  margin[i]           y_i (<w, x_i> + b) + xi_i + M_i z_i >= 1
              above[j], below[j]  -size_j <= w_j <= size_j,      |w_j| = size_j at the optimum
              0 <= xi_i <= 2,   z_i in {0, 1}

    A penalised b adds |b|. There is no 1/2 before the norm.

    Parameters
    ----------
    big_m : number, array (n,) or "derived"
        "derived" uses the values proven in `derive_ramp_l1_big_m`. Values not proven valid make
        results upper bounds only.
    incumbent : (w, b), optional
        A known hyperplane, for "derived"; a closed-form point otherwise.
    """
    return NORM.model(data, C, big_m, intercept, incumbent)


@two_class_formulation(
    ProblemClass.LP,
    "Brooks 2011 with the l1 norm, as in Baldomero-Naranjo et al. 2020, relaxed",
    relaxes="ramp_l1_big_m",
    check=NORM.check_relaxed,
    takes=(TrainingData,),
)
def ramp_l1_relaxed(
    data: TrainingData,
    *,
    C: float,
    big_m: ArrayLike | str,
    intercept: str = "free",
    incumbent: Hyperplane | None = None,
) -> pyo.ConcreteModel:
    """Continuous relaxation of ramp_l1_big_m: 0 <= z_i <= 1.

        min   sum_j |w_j| + C (sum_i xi_i + 2 sum_i z_i)
        s.t.  margin, above, below as in ramp_l1_big_m
              0 <= xi_i <= 2,   0 <= z_i <= 1

    With M_i >= 2, which every derived M is, it is the l1 machine of the hinge loss with the costs
    2 C / M_i as long as no violation is above its M_i. A smaller valid M gives a larger bound.
    Parameters as for ramp_l1_big_m.
    """
    return NORM.model(data, C, big_m, intercept, incumbent, relaxed=True)
