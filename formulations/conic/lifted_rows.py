"""What the semidefinite relaxations of the 0-1 loss share: the lifted matrix and its rows.

Cepeda, Gomez & Han 2024, Theorem 2 (21). Write x~_i for the point with its constant entry,
w~ = (w, b), u_i = y_i <w~, x~_i>, v_i = 1 - u_i, and T_i = <x~_i x~_i', W> - 2 u_i + 1, which is
at least v_i^2 where [[W, w~], [w~', 1]] is semidefinite.

Appendix A is the same for a kernel: only inner products count, so any factor F with kernel matrix
F F' gives rows x_i. Its order is the rank of the matrix, and no n x n matrix variable is needed.
The factor must be exact (tightmargin.formulations.data.training_data.GramData): with its leading
columns alone w is held in a subspace, and the value can be above that of the kernel, so that it
bounds nothing from below.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    augmented_weight,
    signed_score,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, equal_rows, shared, times
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.rotated_cones import RotatedCones, complement
from tightmargin.formulations.modeling.semidefinite import lower_pairs, outer_products, psd
from tightmargin.formulations.parameters import add_parameter
from tightmargin.formulations.zero_one.big_m import add_intercept_bound

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
