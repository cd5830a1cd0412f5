"""The matrix SVM with a bound on the rank of B, exact: B = U V' with orthonormal columns of U.

Bounds on it and what all matrix machines share are in convex_models.py.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.common.hyperplane import two_class_formulation
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.matrix.checks import (
    ROUNDING,
    MatrixPoint,
    check_bilinear,
    known_point,
    ranges,
)
from tightmargin.formulations.matrix.convex_models import hinge_model, with_b
from tightmargin.formulations.matrix.shapes import (
    Shape,
    checked_rank,
    checked_shape,
    frame,
)
from tightmargin.formulations.modeling.affine_rows import dot, squares
from tightmargin.formulations.modeling.semidefinite import lower_pairs


@two_class_formulation(
    ProblemClass.NONCONVEX,
    "Lee 2020, sec. 5",
    paper_class="rank-constrained",
    check=check_bilinear,
    takes=(TrainingData,),
)
def matrix_svc_bilinear(
    data: TrainingData,
    *,
    ridge: float,
    shape: Shape,
    rank: int,
    intercept: str = "free",
    incumbent: tuple[Any, float] | None = None,
) -> pyo.ConcreteModel:
    """Matrix SVM with rank(B) <= rank, exact: B = U V' with orthonormal columns of U.

        min   sum_i xi_i + ridge/2 ||V||_F^2                        (||V||_F = ||B||_F)
        s.t.  margin[i]      y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0
              product[p,q]   B_pq = sum_k U_pk V_qk                  B_pq is w[p n + q]
              frame[k,l]     sum_p U_pk U_pl = 1 if k = l else 0
              U_pk = 0 for p < k, U_kk >= 0

    The last row takes one of the pairs (U Q, V Q), Q orthogonal, that have the same product: a QR
    factorisation of the top of U finds the Q. Every B that is no worse than a known point with sum
    of losses E and norm N has ridge/2 ||B||_F^2 <= E + ridge/2 N^2, hence

        |V_qk|, |B_pq| <= sqrt(2 E / ridge + N^2),     |U_pk| <= 1,

    and with a free intercept some best b is one of the y_i - <X_i, B>, so that
    |b| <= 1 + max_i ||X_i||_F sqrt(2 E / ridge + N^2); a penalised one counts in the norm.

    Parameters
    ----------
    shape : "3x4" or (3, 4)
        Rows and columns of a predictor; their product is the number of features.
    rank : int
        From 1 to min(m, n).
    incumbent : (w, b), optional
        The known point, cut down to the rank; its objective is recomputed, and it is where a
        solver starts. By default B = 0. tightmargin.solvers.matrix.alternating finds better ones.

    Raises
    ------
    ValueError
        A shape that does not fit the data, a rank out of its range.
    """
    rows, columns = checked_shape(shape, data.d)
    r = checked_rank(rank, rows, columns)
    known = known_point(data, incumbent, (rows, columns), r, intercept)
    m = hinge_model(data, ridge, intercept)
    _add_factors(m, (rows, columns), r)
    _add_ranges(m, data, known, intercept)
    _start(m, known.w, known.b, known.xi, (rows, columns), r)
    norm = with_b(m, 0.5 * m.ridge * squares(m.V), 0.5 * m.ridge, intercept)
    m.objective = pyo.Objective(expr=dot(data.multiplicity, m.xi) + norm)
    return m


def _add_factors(m: pyo.ConcreteModel, shape: tuple[int, int], rank: int) -> None:
    """Variables U, V and the rows `product` and `frame`."""
    m.M, m.N = (pyo.RangeSet(0, size - 1) for size in shape)
    m.K = pyo.RangeSet(0, rank - 1)
    m.U, m.V = pyo.Var(m.M, m.K), pyo.Var(m.N, m.K)
    for p, k in m.U:
        m.U[p, k].setlb(0.0 if p <= k else -1.0)
        m.U[p, k].setub(0.0 if p < k else 1.0)
    m.product = pyo.Constraint(m.M, m.N)
    for p, q in itertools.product(m.M, m.N):
        B = pyo.quicksum(m.U[p, k] * m.V[q, k] for k in m.K)
        m.product[p, q] = m.w[p * shape[1] + q] == B
    m.frame_index = pyo.Set(initialize=lower_pairs(rank), dimen=2)
    m.frame = pyo.Constraint(m.frame_index)
    for k, j in m.frame_index:
        inner = pyo.quicksum(m.U[p, k] * m.U[p, j] for p in m.M)
        m.frame[k, j] = inner == (1.0 if k == j else 0.0)


def _add_ranges(
    m: pyo.ConcreteModel, data: TrainingData, known: MatrixPoint, intercept: str
) -> None:
    """Proven ranges of B, V and b, functions of ridge, so that a sweep keeps them true."""
    reach, limit = ((1 + ROUNDING) * end for end in ranges(data, known, m.ridge, intercept))
    for variable in (*m.w.values(), *m.V.values()):
        variable.setlb(-reach)
        variable.setub(reach)
    if intercept != "none":
        m.b.setlb(-limit)
        m.b.setub(limit)


def _start(
    m: pyo.ConcreteModel, w: Array, b: float, xi: Array, shape: tuple[int, int], rank: int
) -> None:
    """Give the variables the values of the known point."""
    U, V = frame(w, *shape, rank)
    for variable, numbers in ((m.w, w), (m.U, U), (m.V, V)):
        for entry, number in zip(variable.values(), np.ravel(numbers).tolist(), strict=True):
            entry.set_value(number)
    m.xi.load(xi)
    if m.find_component("b") is not None:
        m.b.set_value(b)
