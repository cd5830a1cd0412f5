"""Matrix predictors of several classes: one weight matrix per class, of bounded rank.

Lee 2020, section 6 names the extension of section 5 "similar to section 4" and states none. Here a
predictor X_i (m x n) is a row x_i of the data, flattened row by row, class k has the score
f_k(X) = <B_k, X> + b_k, and all builders share the loss and the sums of multiclass_hinge,

    ridge sum_k ||B_k||_F^2 + (1/N) sum_i c_{y_i} xi_i,
    f_{y_i}(X_i) - f_k(X_i) + xi_i >= 1 for k other than y_i,   sum_k B_k = 0,   sum_k b_k = 0.

The rank-bounded problem asks for rank(B_k) <= r for every k besides; without that this is
multiclass_hinge, and the builders here are convex.
The sum of zero is part of the problem here: taking the mean away from the B_k keeps all leads, but
not the ranks. Names here -> in the paper: ridge -> lambda, rank -> r, class_weight -> pi, N -> N.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import ClassWeight
from tightmargin.formulations.matrix.shapes import (
    Shape,
    beside,
    checked_rank,
    checked_shape,
    complete_nuclear,
    complete_projection,
    numerical_rank,
    shape_of,
    singular_values,
)
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, rows_by_index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.cones import lower_pairs, psd
from tightmargin.formulations.multiclass.hinge import (
    add_classes,
    class_costs,
    class_facts,
    classes_and_intercepts,
    lead_terms,
    multiclass_formulation,
    norm_of_classes,
    of_its_point,
    smallest_leads,
    squared_classes,
)
from tightmargin.formulations.parameters import add_parameter, positive


def _leads_model(
    data: MulticlassData, ridge: float, class_weight: ClassWeight, intercept: str
) -> tuple[pyo.ConcreteModel, Any]:
    """Everything but the norm of the B_k; the model and its mean loss."""
    costs = class_costs(data, class_weight)
    m = pyo.ConcreteModel()
    add_classes(m, data, intercept)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.Q, [*lead_terms(m, data), (of_its_point(data), m.xi)], lower=1.0)
    return m, dot(costs, m.xi)


def _triangles(m: pyo.ConcreteModel, name: str, order: int) -> list[list[list[Any]]]:
    """Rows of the lower triangles of a symmetric matrix for each class."""
    index = pyo.Set(initialize=[(k, *pair) for k in m.K for pair in lower_pairs(order)], dimen=3)
    m.add_component(f"{name}_index", index)
    entries = ArrayVar(index)
    m.add_component(name, entries)
    return [[[entries[k, i, j] for j in range(i + 1)] for i in range(order)] for k in m.K]


def _traces(price: Any, triangles: list[list[list[Any]]]) -> Any:
    return pyo.quicksum(price * row[-1] for triangle in triangles for row in triangle)


def _priced_intercepts(m: pyo.ConcreteModel, intercept: str) -> Any:
    return m.ridge * pyo.quicksum(b**2 for b in m.b.values()) if intercept == "penalised" else 0


def _point(origin: Origin, values: Values) -> tuple[Array, float, dict[str, Any], dict[str, Array]]:
    """B, the loss with the price of the intercepts, facts, and the repaired variables."""
    data, words = origin.data, origin.parameters
    B, b = classes_and_intercepts(origin, values, {})
    u = smallest_leads(data, B, b)
    xi = np.maximum(0.0, 1 - u)
    price = norm_of_classes(0 * B, b, words["intercept"])
    cost = float(class_costs(data, words["class_weight"]) @ xi) + words["ridge"] * price
    repaired = {"B": B, "xi": xi} | ({} if words["intercept"] == "none" else {"b": b})
    ranks = [numerical_rank(singular_values(row, *shape_of(origin))) for row in B]
    return B, cost, class_facts(data, u) | {"ranks": ranks}, repaired


def _stacked(parts: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """The matrices of all classes, one after another."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _check_projection(origin: Origin, values: Values) -> PaperCheck:
    """The best T_k and P_k for the B_k in closed form."""
    B, cost, facts, repaired = _point(origin, values)
    m, n = shape_of(origin)
    rank = checked_rank(origin.parameters["rank"], m, n)
    norms, lifted, _ = zip(*(complete_projection(row, m, n, rank) for row in B), strict=True)
    objective = cost + origin.parameters["ridge"] * sum(norms)
    return PaperCheck(objective, repaired=repaired | _stacked(lifted), facts=facts)


def _check_nuclear(origin: Origin, values: Values) -> PaperCheck:
    """The sums of the singular values for the traces."""
    B, cost, facts, repaired = _point(origin, values)
    totals, lifted = zip(*(complete_nuclear(row, *shape_of(origin)) for row in B), strict=True)
    words = origin.parameters
    objective = cost + words["ridge"] * float((B**2).sum()) + words["tau"] * sum(totals)
    facts |= {"nuclear_norm": sum(totals)}
    return PaperCheck(objective, repaired=repaired | _stacked(lifted), facts=facts)


@multiclass_formulation(
    ProblemClass.SDP,
    "Lee 2020, sec. 6; rank bounds relaxed through projections",
    check=_check_projection,
)
def multiclass_matrix_projection(
    data: MulticlassData,
    *,
    ridge: float,
    shape: Shape,
    rank: int,
    class_weight: ClassWeight = None,
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Matrix machine of several classes with the rank of each B_k relaxed through a projection.

        min   ridge sum_k tr T_k + (1/n) sum_i c_{y_i} xi_i
        s.t.  margin[i,k]   f_{y_i}(X_i) - f_k(X_i) + xi_i >= 1    for every class k but y_i
              outer_k       [[T_k, B_k'], [B_k, P_k]] is semidefinite
              inside_k      I - P_k is semidefinite
              spend[k]      tr P_k <= rank
              centred[j]    sum_k B_k,j = 0
              balanced      sum_k b_k = 0,   xi_i >= 0             f_k(X) = <B_k, X> + b_k

    A lower bound on the problem with rank(B_k) <= rank, and its optimum where the B_k have that
    rank; for the least tr T_k see matrix_svc_projection. The bound is above that of
    multiclass_hinge, which is this model with the largest rank. Of two classes it is
    matrix_svc_projection with n ridge in the place of ridge, over n.

    Parameters
    ----------
    shape : "3x4" or (3, 4)
        Rows and columns of a predictor; their product is the number of features.
    rank : int
        From 1 to min(m, n).
    class_weight : sequence (K,), optional
        c, positive numbers used as they are; 1 for every class when left out.

    Raises
    ------
    ValueError
        A shape that does not fit the data, a rank out of its range.
    """
    rows, columns = checked_shape(shape, data.d)
    r = checked_rank(rank, rows, columns)
    m, loss = _leads_model(data, ridge, class_weight, intercept)
    T, P = _triangles(m, "T", columns), _triangles(m, "P", rows)
    for k in m.K:
        psd(m, f"outer_{k}", beside([m.B[k, j] for j in m.J], T[k], P[k]))
        psd(m, f"inside_{k}", [[(1.0 if i == j else 0.0) - x for j, x in enumerate(row)]
                               for i, row in enumerate(P[k])])  # fmt: skip
    m.spend = rows_by_index(m.K, lambda k: pyo.quicksum(row[-1] for row in P[k]) <= r)
    m.objective = pyo.Objective(expr=_traces(m.ridge, T) + _priced_intercepts(m, intercept) + loss)
    return m


@multiclass_formulation(
    ProblemClass.SDP,
    "Lee 2020, sec. 6; nuclear norms in place of the rank bounds",
    check=_check_nuclear,
)
def multiclass_matrix_nuclear(
    data: MulticlassData,
    *,
    ridge: float,
    shape: Shape,
    tau: float,
    class_weight: ClassWeight = None,
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Matrix machine of several classes with a price on nuclear norms, and no bound on a rank.

        min   ridge sum_k ||B_k||_F^2 + tau/2 sum_k (tr W1_k + tr W2_k) + (1/n) sum_i c_{y_i} xi_i
        s.t.  margin[i,k]   f_{y_i}(X_i) - f_k(X_i) + xi_i >= 1    for every class k but y_i
              outer_k       [[W2_k, B_k'], [B_k, W1_k]] is semidefinite
              centred[j]    sum_k B_k,j = 0
              balanced      sum_k b_k = 0,   xi_i >= 0             f_k(X) = <B_k, X> + b_k

    The least half trace of a class is ||B_k||_*, the sum of its singular values.

    Parameters
    ----------
    shape : "3x4" or (3, 4)
        Rows and columns of a predictor; their product is the number of features.
    tau : float
        Price of the nuclear norms, positive; multiclass_hinge is the limit 0.
    class_weight : sequence (K,), optional
        c, positive numbers used as they are; 1 for every class when left out.

    Raises
    ------
    ValueError
        A shape that does not fit the data.
    """
    rows, columns = checked_shape(shape, data.d)
    m, loss = _leads_model(data, ridge, class_weight, intercept)
    add_parameter(m, "tau", positive("tau", tau))
    W1, W2 = _triangles(m, "W1", rows), _triangles(m, "W2", columns)
    for k in m.K:
        psd(m, f"outer_{k}", beside([m.B[k, j] for j in m.J], W2[k], W1[k]))
    half = 0.5 * m.tau
    norm = m.ridge * squared_classes(m, intercept)
    m.objective = pyo.Objective(expr=norm + _traces(half, W1) + _traces(half, W2) + loss)
    return m
