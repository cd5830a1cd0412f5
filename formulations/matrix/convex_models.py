"""Machines for predictors that are matrices, with a bound on the rank of the weight matrix.

Lee 2020, section 5. A predictor X_i (m x n) is a row x_i of the data, flattened row by row, and the
weights w are B in the same order: <X_i, B> = <x_i, w>. All builders share

    sum_i xi_i + ridge / 2 ||B||_F^2,     y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0

and the exact problem asks for rank(B) <= r besides. Without it c_svc with C = 1 / ridge has the
same solution and 1 / ridge times the objective. A penalised intercept adds ridge / 2 b^2.

The paper's rule r = max_i rank(X_i) says nothing as soon as one X_i has full rank, and no theorem
makes rank(B) <= rank(X_i) hold: r is the user's choice. Misprinted there: the test data of
section 5 is the training data. Names here -> in the paper: ridge -> lambda, rank -> r, n -> N.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    signed_score,
    squared_norm,
    two_class_formulation,
)
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.matrix.checks import check_full, check_nuclear, check_projection
from tightmargin.formulations.matrix.shapes import Shape, checked_rank, checked_shape
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.semidefinite import lower_pairs, psd
from tightmargin.formulations.parameters import add_parameter, positive


def hinge_model(data: TrainingData, ridge: float, intercept: str) -> pyo.ConcreteModel:
    """Variables w, b, xi and the rows `margin`."""
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.I, [*signed_score(m, data), (1.0, m.xi)], lower=1.0)
    return m


def with_b(m: pyo.ConcreteModel, norm: Any, price: Any, intercept: str) -> Any:
    """A priced norm of B, plus the price times b^2 when the intercept is penalised."""
    return norm + price * m.b**2 if intercept == "penalised" else norm


def _triangle(m: pyo.ConcreteModel, name: str, order: int) -> list[list[Any]]:
    """Add a symmetric matrix as the variable of its lower triangle; returns the rows of that."""
    index = pyo.Set(initialize=lower_pairs(order), dimen=2)
    m.add_component(f"{name}_index", index)
    entries = ArrayVar(index)
    m.add_component(name, entries)
    return [[entries[i, j] for j in range(i + 1)] for i in range(order)]


def _half_trace(price: pyo.Param, *triangles: list[list[Any]]) -> Any:
    """price / 2 times the sum of the traces of lower triangles, term by term.

    A price in front of the sum would be multiplied by its constant 0, and an infinite one that
    somebody sets in place has to be found out.
    """
    return pyo.quicksum(0.5 * price * row[-1] for triangle in triangles for row in triangle)


def _beside(m: pyo.ConcreteModel, first: list[list[Any]], second: list[list[Any]]) -> Any:
    """Lower-triangular rows of [[first, B'], [B, second]]."""
    columns = len(first)
    below = [
        [m.w[p * columns + q] for q in range(columns)] + row for p, row in enumerate(second)
    ]  # fmt: skip
    return [*first, *below]


@two_class_formulation(
    ProblemClass.QP,
    "Lee 2020, sec. 5, without the rank bound",
    relaxes="matrix_svc_bilinear",
    check=check_full,
    takes=(TrainingData,),
)
def matrix_svc_full(
    data: TrainingData, *, ridge: float, shape: Shape, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Matrix SVM with B of any rank.

        min   sum_i xi_i + ridge/2 ||B||_F^2
        s.t.  margin[i]   y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0

    The weakest bound on matrix_svc_bilinear, and its optimum when B happens to have that rank.

    Parameters
    ----------
    shape : "3x4" or (3, 4)
        Rows and columns of a predictor; their product is the number of features.

    Raises
    ------
    ValueError
        A shape that does not fit the data.
    """
    checked_shape(shape, data.d)
    m = hinge_model(data, ridge, intercept)
    m.objective = pyo.Objective(
        expr=dot(data.multiplicity, m.xi) + 0.5 * m.ridge * squared_norm(m, intercept)
    )  # fmt: skip
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Lee 2020, sec. 5; rank bound relaxed through projections",
    relaxes="matrix_svc_bilinear",
    check=check_projection,
    takes=(TrainingData,),
)
def matrix_svc_projection(
    data: TrainingData, *, ridge: float, shape: Shape, rank: int, intercept: str = "free"
) -> pyo.ConcreteModel:
    """SDP bound on matrix_svc_bilinear: the projection onto the columns of B is relaxed.

        min   sum_i xi_i + ridge/2 tr T
        s.t.  margin[i]   y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0
              outer       [[T, B'], [B, P]] is semidefinite
              inside      I - P is semidefinite
              spend       tr P <= rank

    A B of rank r meets the rows with T = B'B and P the projection onto its columns. The least tr T
    is a function of the singular values of B alone, the squared k-support norm at k = rank, which
    is the nuclear norm squared at rank 1: the largest convex function of B that is at most
    ||B||_F^2 on the matrices of that rank.

    Parameters and errors as for matrix_svc_bilinear.
    """
    rows, columns = checked_shape(shape, data.d)
    r = checked_rank(rank, rows, columns)
    m = hinge_model(data, ridge, intercept)
    T, P = _triangle(m, "T", columns), _triangle(m, "P", rows)
    psd(m, "outer", _beside(m, T, P))
    psd(m, "inside", [[(1.0 if i == j else 0.0) - x for j, x in enumerate(row)]
                      for i, row in enumerate(P)])  # fmt: skip
    m.spend = pyo.Constraint(expr=pyo.quicksum(P[i][i] for i in range(rows)) <= r)
    norm = with_b(m, _half_trace(m.ridge, T), 0.5 * m.ridge, intercept)
    m.objective = pyo.Objective(expr=dot(data.multiplicity, m.xi) + norm)
    return m


@two_class_formulation(
    ProblemClass.SDP,
    "Lee 2020, sec. 5; a nuclear norm in place of the rank bound",
    check=check_nuclear,
    takes=(TrainingData,),
)
def matrix_svc_nuclear(
    data: TrainingData, *, ridge: float, shape: Shape, tau: float, intercept: str = "free"
) -> pyo.ConcreteModel:
    """Matrix SVM with a price on the nuclear norm: another model, and no bound on a rank.

        min   sum_i xi_i + ridge/2 ||B||_F^2 + tau/2 (tr W1 + tr W2)
        s.t.  margin[i]   y_i (<X_i, B> + b) + xi_i >= 1,   xi_i >= 0
              outer       [[W1, B], [B', W2]] is semidefinite

    The least half trace is ||B||_*, the sum of the singular values. A larger tau sets more of them
    to 0, but no tau stands for a rank: the value of this model is neither below nor above that of
    matrix_svc_bilinear in general.

    Parameters
    ----------
    shape : "3x4" or (3, 4)
        Rows and columns of a predictor; their product is the number of features.
    tau : float
        Price of the nuclear norm, positive; matrix_svc_full is the limit 0.
    """
    rows, columns = checked_shape(shape, data.d)
    m = hinge_model(data, ridge, intercept)
    add_parameter(m, "tau", positive("tau", tau))
    W1, W2 = _triangle(m, "W1", rows), _triangle(m, "W2", columns)
    psd(m, "outer", _beside(m, W2, W1))
    m.objective = pyo.Objective(
        expr=dot(data.multiplicity, m.xi)
        + 0.5 * m.ridge * squared_norm(m, intercept)
        + _half_trace(m.tau, W1, W2)
    )  # fmt: skip
    return m
