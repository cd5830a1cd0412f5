"""Truncated hinge loss of several classes, exact as a mixed-integer program, and relaxed."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import ClassWeight
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.multiclass.big_m import cap_of, derive_multiclass_big_m
from tightmargin.formulations.multiclass.checks import (
    Machine,
    check_truncated,
    check_truncated_relaxed,
    checked_machine,
    known_truncated_objective,
    truncated_objective,
)
from tightmargin.formulations.multiclass.hinge import (
    add_classes,
    class_costs,
    lead_terms,
    multiclass_formulation,
    of_its_point,
    squared_classes,
)
from tightmargin.formulations.parameters import add_parameter, per_point, positive

__all__ = [
    "Machine",
    "checked_machine",
    "multiclass_truncated",
    "multiclass_truncated_relaxed",
    "truncated_objective",
]


@multiclass_formulation(
    ProblemClass.MIQP,
    "Lee 2020, sec. 4.1, as a mixed-integer program",
    paper_class="nonconvex",
    check=check_truncated,
)
def multiclass_truncated(
    data: MulticlassData,
    *,
    ridge: float,
    truncation: float,
    big_m: ArrayLike | str,
    class_weight: ClassWeight = None,
    intercept: str = "free",
    incumbent: Machine | None = None,
) -> pyo.ConcreteModel:
    """Truncated hinge loss min([1 - u_i]_+, 1 - s) of several classes, exact.

        min   ridge sum_k ||B_k||^2 + (1/n) sum_i c_{y_i} (xi_i + (1 - s) z_i)
        s.t.  margin[i,k]   f_{y_i}(x_i) - f_k(x_i) + v_i >= 1     for every class k but y_i
              covered[i]    xi_i + M_i z_i >= v_i >= 0
              centred[j]    sum_k B_kj = 0
              balanced      sum_k b_k = 0,   0 <= xi_i <= 1 - s,   z_i in {0, 1}

    v_i is the violation, written once for all classes. u_i is the smallest of the leads
    f_{y_i}(x_i) - f_k(x_i). z_i = 1 pays 1 - s and leaves xi_i at 0; z_i = 0 pays the hinge loss,
    which xi_i <= 1 - s allows where u_i >= s. The rest is as in multiclass_hinge. With
    -1/(K - 1) <= s <= 0 the loss is Fisher consistent; below it the model holds as well, and its
    result says so. Names here -> in the paper: truncation -> s, class_weight -> pi,
    ridge -> lambda.

    Parameters
    ----------
    truncation : float
        s <= 0.
    big_m : number, array (n,) or "derived"
        "derived" uses the values proven in multiclass_big_m.derive_multiclass_big_m. Values not
        proven valid make results upper bounds only.
    class_weight : sequence (K,), optional
        c, positive numbers used as they are; 1 for every class when left out.
    incumbent : (B, b), optional
        Known scores, for "derived"; a closed-form point otherwise.
    """
    m = _without_z(data, ridge, truncation, big_m, class_weight, intercept, incumbent)
    m.z = ArrayVar(m.I, within=pyo.Binary)
    _add_rows(m, data, truncation, class_weight, intercept)
    return m


@multiclass_formulation(
    ProblemClass.QP,
    "Lee 2020, sec. 4.1, as a mixed-integer program, relaxed",
    relaxes="multiclass_truncated",
    check=check_truncated_relaxed,
)
def multiclass_truncated_relaxed(
    data: MulticlassData,
    *,
    ridge: float,
    truncation: float,
    big_m: ArrayLike | str,
    class_weight: ClassWeight = None,
    intercept: str = "free",
    incumbent: Machine | None = None,
) -> pyo.ConcreteModel:
    """Continuous relaxation of multiclass_truncated: 0 <= z_i <= 1.

        min   ridge sum_k ||B_k||^2 + (1/n) sum_i c_{y_i} (xi_i + (1 - s) z_i)
        s.t.  margin[i,k]   f_{y_i}(x_i) - f_k(x_i) + v_i >= 1     for every class k but y_i
              covered[i]    xi_i + M_i z_i >= v_i >= 0
              centred[j]    sum_k B_kj = 0
              balanced      sum_k b_k = 0,   0 <= xi_i <= 1 - s,   0 <= z_i <= 1

    With M_i >= 1 - s this is multiclass_hinge with the loss of point i multiplied by
    (1 - s) / M_i, as long as no violation is above its M_i. A lower bound only when M is valid;
    its value tends to 0 as M grows. Parameters as for multiclass_truncated.
    """
    m = _without_z(data, ridge, truncation, big_m, class_weight, intercept, incumbent)
    m.z = ArrayVar(m.I, lower=0.0, upper=1.0)
    _add_rows(m, data, truncation, class_weight, intercept)
    return m


def _without_z(
    data: MulticlassData,
    ridge: float,
    truncation: float,
    big_m: ArrayLike | str,
    class_weight: ClassWeight,
    intercept: str,
    incumbent: Machine | None,
) -> pyo.ConcreteModel:
    words: dict[str, Any] = {
        "ridge": positive("ridge", ridge),
        "truncation": truncation,
        "class_weight": class_weight,
        "intercept": intercept,
    }
    cap = cap_of(truncation)
    class_costs(data, class_weight)
    m = pyo.ConcreteModel()
    add_classes(m, data, intercept)
    add_parameter(m, "ridge", words["ridge"])
    known = known_truncated_objective(data, incumbent, words)
    if isinstance(big_m, str):
        if big_m != "derived":
            raise ValueError(f'big_m must be a number, an array (n,) or "derived", got {big_m!r}')
        m.big_m_proof = derive_multiclass_big_m(data, **words, upper_bound=known)
        numbers = m.big_m_proof.values
    else:
        numbers = per_point("big_m", big_m, data.n)
    m.big_m = pyo.Param(
        m.I, initialize=dict(enumerate(numbers.tolist())), mutable=True, within=pyo.PositiveReals
    )
    m.xi = ArrayVar(m.I, lower=0.0, upper=cap)
    return m


def _add_rows(
    m: pyo.ConcreteModel,
    data: MulticlassData,
    truncation: float,
    class_weight: ClassWeight,
    intercept: str,
) -> None:
    m.v = ArrayVar(m.I, lower=0.0)
    m.margin = AffineRows(m.Q, [*lead_terms(m, data), (of_its_point(data), m.v)], lower=1.0)
    m.covered = AffineRows(m.I, [(1.0, m.xi), (m.big_m, m.z), (-1.0, m.v)], lower=0.0)
    costs = class_costs(data, class_weight)
    loss = dot(costs, m.xi) + cap_of(truncation) * dot(costs, m.z)
    m.objective = pyo.Objective(expr=m.ridge * squared_classes(m, intercept) + loss)
