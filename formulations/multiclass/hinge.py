"""One score function per class, with the hinge loss of several classes (Lee 2020, section 4)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.catalogue import Origin, PaperCheck, ProblemClass, Values, formulation
from tightmargin.formulations.common.margin_levels import ON_MARGIN
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import ClassWeight, class_factors
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, equal_rows, squares
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive


def class_costs(data: MulticlassData, class_weight: ClassWeight) -> Array:
    """Cost of each point (n,): its weight times that of its class, over the sum of the weights.

    class_weight (K,): positive numbers in the order of the classes, or by label, used as they are;
        or total / (K mass of the class); None is 1 for each.
    Raises ValueError: another number of weights, or one that is not positive and finite.
    """
    order = f"{data.n_classes} numbers, one for each class"
    factors = class_factors(class_weight, data.classes, data.masses, order)
    return factors[data.y] * data.multiplicity / data.total_weight


def score_matrix(data: MulticlassData, B: ArrayLike, b: ArrayLike) -> Array:
    """Scores f_k(x_i) = <B_k, x_i> + b_k (n, K)."""
    return data.X @ np.asarray(B, dtype=float).T + np.asarray(b, dtype=float)


def smallest_leads(data: MulticlassData, B: ArrayLike, b: ArrayLike) -> Array:
    """u_i = min over k other than y_i of f_{y_i}(x_i) - f_k(x_i) (n,).

    A point is classified correctly when its lead is positive; its hinge loss is max(0, 1 - u_i).
    """
    scores = score_matrix(data, B, b)
    own = scores[np.arange(data.n), data.y]
    others = scores.copy()
    others[np.arange(data.n), data.y] = -np.inf
    return own - others.max(axis=1)


def norm_of_classes(B: Array, b: Array, intercept: str) -> float:
    """sum_k ||B_k||^2, plus sum_k b_k^2 when the intercept is penalised."""
    return float((B**2).sum()) + (float(b @ b) if intercept == "penalised" else 0.0)


def sum_to_zero(values: Array) -> Array:
    """Values (K, ...) with their mean over the classes taken away.

    All differences f_y - f_k, hence all losses, stay as they are, and the norm does not grow.
    """
    return values - values.mean(axis=0)


def classes_and_intercepts(origin: Origin, values: Values, _: Values) -> tuple[Array, Array]:
    """Classifier of several classes: B (K, d) and b (K,), both summing to zero over the classes.

    The label of x is argmax_k <B_k, x> + b_k.
    """
    K, d = origin.data.n_classes, origin.data.d
    B = np.asarray(values["B"], dtype=float).reshape(K, d)
    b = np.asarray(values["b"], dtype=float).reshape(K) if "b" in values else np.zeros(K)
    return sum_to_zero(B), sum_to_zero(b)


multiclass_formulation = partial(
    formulation, takes=(MulticlassData,), classifier=classes_and_intercepts, weighted=True
)
"""`formulation` with what all builders of several classes say."""


def class_facts(data: MulticlassData, u: Array) -> dict[str, Any]:
    """What a reader wants to know of leads u (n,); a tie with another class counts as an error."""
    wrong = u <= 0
    return {
        "errors": int(wrong.sum()),
        "errors_by_class": np.bincount(data.y[wrong], minlength=data.n_classes).tolist(),
        "margin_violations": int((u < 1 - 1e-9).sum()),
        "support_vectors": int((u <= 1 + ON_MARGIN * max(1.0, float(np.abs(u).max()))).sum()),
    }


def add_classes(m: pyo.ConcreteModel, data: MulticlassData, intercept: str) -> None:
    """Sets I, J, K, Q (point, other class), variables B and b, and their sums of zero."""
    one_of("intercept", intercept, INTERCEPTS)
    n, d, K = data.n, data.d, data.n_classes
    m.I, m.J, m.K = pyo.RangeSet(0, n - 1), pyo.RangeSet(0, d - 1), pyo.RangeSet(0, K - 1)
    m.Q = pyo.Set(dimen=2, initialize=list(zip(*_pairs(data), strict=True)))
    m.B = pyo.Var(m.K, m.J)
    everyone = sp.csr_matrix(np.ones((1, K)))
    m.centred = equal_rows(m.J, [(sp.kron(everyone, sp.eye(d), format="csr"), m.B)], 0.0)
    if intercept != "none":
        m.b = pyo.Var(m.K)
        m.balanced = pyo.Constraint(expr=dot(1.0, m.b) == 0)


def lead_terms(m: pyo.ConcreteModel, data: MulticlassData) -> list[tuple[Any, Any]]:
    """Terms of f_{y_i}(x_i) - f_k(x_i) over Q for AffineRows."""
    point, other = _pairs(data)
    rows = len(point)
    at, d = np.arange(rows), data.d
    own = data.y[point]
    columns = np.hstack([own[:, None] * d + np.arange(d), other[:, None] * d + np.arange(d)])
    numbers = np.hstack([data.X[point], -data.X[point]])
    shape = (rows, data.n_classes * d)
    slopes = sp.csr_matrix((numbers.ravel(), (np.repeat(at, 2 * d), columns.ravel())), shape)
    terms: list[tuple[Any, Any]] = [(slopes, m.B)]
    if m.find_component("b") is not None:
        signs = np.tile([1.0, -1.0], rows)
        ends = np.column_stack([own, other]).ravel()
        shape = (rows, data.n_classes)
        terms.append((sp.csr_matrix((signs, (np.repeat(at, 2), ends)), shape), m.b))
    return terms


def of_its_point(data: MulticlassData) -> Any:
    """Coefficients over Q of a variable over I: 1 for the point of the row."""
    point, _ = _pairs(data)
    ones = np.ones(len(point))
    return sp.csr_matrix((ones, (np.arange(len(point)), point)), (len(point), data.n))


def squared_classes(m: pyo.ConcreteModel, intercept: str) -> Any:
    """sum_k ||B_k||^2, plus sum_k b_k^2 when the intercept is penalised."""
    return squares(m.B) + (squares(m.b) if intercept == "penalised" else 0)


def _pairs(data: MulticlassData) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Points and other classes of the n (K - 1) rows, point by point."""
    point, other = np.nonzero(data.y[:, None] != np.arange(data.n_classes))
    return point, other


def _check(origin: Origin, values: Values) -> PaperCheck:
    """Loss and norm recomputed from (B, b) after both are made to sum to zero."""
    data, words = origin.data, origin.parameters
    B, b = classes_and_intercepts(origin, values, {})
    u = smallest_leads(data, B, b)
    xi = np.maximum(0.0, 1 - u)
    objective = words["ridge"] * norm_of_classes(B, b, words["intercept"]) + float(
        class_costs(data, words["class_weight"]) @ xi
    )
    repaired = {"B": B, "xi": xi} | ({} if words["intercept"] == "none" else {"b": b})
    return PaperCheck(objective, repaired=repaired, facts=class_facts(data, u))


@multiclass_formulation(ProblemClass.QP, "Lee 2020, (11), sec. 4", check=_check)
def multiclass_hinge(
    data: MulticlassData,
    *,
    ridge: float,
    class_weight: ClassWeight = None,
    intercept: str = "free",
) -> pyo.ConcreteModel:
    """Soft margin of several classes: hinge loss of the smallest lead over another class.

        min   ridge sum_k ||B_k||^2 + (1/n) sum_i c_{y_i} xi_i
        s.t.  margin[i,k]   f_{y_i}(x_i) - f_k(x_i) + xi_i >= 1    for every class k but y_i
              centred[j]    sum_k B_kj = 0
              balanced      sum_k b_k = 0,   xi_i >= 0               f_k(x) = <B_k, x> + b_k

    J(f) of the paper is sum_k ||B_k||^2, without the intercepts unless intercept="penalised". The
    sums are zero for the coefficients, which is the paper's sum_k f_k(x) = 0 for every x. Of two
    classes this is soft_margin_svc with half the ridge, w = B_1 - B_0 and b = b_1 - b_0. The hinge
    loss is never below the truncated one, so this optimum is no bound on multiclass_truncated.

    Names here -> in the paper: class_weight -> pi, ridge -> lambda, B_k -> beta_k.

    Parameters
    ----------
    class_weight : sequence (K,), optional
        c, positive numbers used as they are; 1 for every class when left out.
    """
    costs = class_costs(data, class_weight)
    m = pyo.ConcreteModel()
    add_classes(m, data, intercept)
    add_parameter(m, "ridge", positive("ridge", ridge))
    m.xi = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.Q, [*lead_terms(m, data), (of_its_point(data), m.xi)], lower=1.0)
    m.objective = pyo.Objective(expr=m.ridge * squared_classes(m, intercept) + dot(costs, m.xi))
    return m
