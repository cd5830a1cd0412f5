"""The separating hyperplane every family shares: w, b and the three ways to treat the intercept.

"free"       b is a variable that costs nothing (scikit-learn's SVC, Brooks)
"penalised"  b is the weight of a constant column and counts in the norm (Cepeda et al.)
"none"       b = 0, the homogeneous machine
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import formulation
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import Points, with_ones
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import squares
from tightmargin.formulations.parameters import INTERCEPTS, one_of


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
