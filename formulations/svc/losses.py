"""Losses of a margin and regularisers of w, as rows and terms of a model and as numbers.

With u_i = y_i (<w, x_i> + b), xi_i >= 0 unless it is said otherwise, and weights c_i of sum 1:

    hinge            max(0, 1 - u)           u + xi >= 1                    sum c xi
    squared_hinge    max(0, 1 - u)^2         u + xi >= 1                    sum c xi^2
    squared          (1 - u)^2               u + xi = 1, xi free            sum c xi^2
    huberised        see below               u + xi + q >= 1, q >= 0        sum c (xi + q^2 / (2 h))

The huberised hinge is 0 from u = 1 on, (1 - u)^2 / (2 h) down to 1 - h, and the line 1 - u - h / 2
with the same slope below: the split of 1 - u into xi and q chooses between the two by itself.

    ridge            ||w||^2, and b^2 where the intercept is penalised
    l1               sum_j |w_j|             -size_j <= w_j <= size_j       sum size
    group            sum_g sqrt(d_g) ||w_g||        ||w_g|| <= size_g       sum sqrt(d_g) size_g

over groups g of d_g features; a penalised intercept is an entry, or a group, of its own.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.common.hinge import mean_weights
from tightmargin.formulations.common.hyperplane import norm_of, signed_score, squared_norm
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, dot, rows_by_index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.parameters import one_of

HINGE, SQUARED_HINGE, SQUARED, HUBERISED = "hinge", "squared_hinge", "squared", "huberised"
LOSSES = (HINGE, SQUARED_HINGE, SQUARED, HUBERISED)
RIDGE, L1, GROUP = "ridge", "l1", "group"
REGULARISERS = (RIDGE, L1, GROUP)
ROUNDED_UP = 1 + 8 * float(np.finfo(float).eps)  # of a square root that is to be enough

Groups = Sequence[Any]


def add_loss(m: pyo.ConcreteModel, data: TrainingData | GramData, loss: str) -> Any:
    """Variables and rows `margin` of a loss; returns its mean. The Param `bend` is h."""
    m.xi = ArrayVar(m.I, lower=None if loss == SQUARED else 0.0)
    terms = [*signed_score(m, data), (1.0, m.xi)]
    if loss == HUBERISED:
        m.q = ArrayVar(m.I, lower=0.0)
        terms.append((1.0, m.q))
    one = 1.0
    m.margin = AffineRows(m.I, terms, lower=one, upper=one if loss == SQUARED else None)
    weights = mean_weights(data)
    if loss == HINGE:
        return dot(weights, m.xi)
    if loss == HUBERISED:
        return dot(weights, m.xi) + _weighted_squares(weights, m.q) / (2 * m.bend)
    return _weighted_squares(weights, m.xi)


def _weighted_squares(weights: float | Array, variable: ArrayVar) -> Any:
    numbers = np.broadcast_to(weights, len(variable)).tolist()
    return pyo.quicksum(c * x**2 for c, x in zip(numbers, variable.values(), strict=True))


def loss_parts(loss: str, u: Array, bend: float) -> tuple[Array, dict[str, Array]]:
    """Losses (n,) at scores u, and the variables of `add_loss` that have them."""
    short = 1 - u
    if loss == SQUARED:
        return short**2, {"xi": short}
    violation = np.maximum(0.0, short)
    if loss == HINGE:
        return violation, {"xi": violation}
    if loss == SQUARED_HINGE:
        return violation**2, {"xi": violation}
    q = np.minimum(violation, bend)
    return violation - q + q**2 / (2 * bend), {"xi": violation - q, "q": q}


def checked_regulariser(
    regulariser: str, groups: Groups | None, data: TrainingData | GramData
) -> str:
    """The word, or a ValueError: an unknown one, or one that speaks of features of a kernel."""
    one_of("regulariser", regulariser, REGULARISERS)
    if isinstance(data, GramData) and regulariser != RIDGE:
        raise ValueError(
            f"regulariser {regulariser} is a function of the features, and a kernel matrix has "
            "none: take ridge"
        )
    if groups is not None:
        members(groups, data.d)
    elif regulariser == GROUP:
        raise ValueError(f"regulariser {GROUP} needs groups: {data.d} labels, one for each feature")
    return regulariser


def members(groups: Groups, d: int) -> list[list[int]]:
    """Features of each group, in the order in which the groups first occur.

    Raises ValueError: no d labels.
    """
    listed = isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str)
    labels = list(groups) if listed and getattr(groups, "ndim", 1) == 1 else []
    if len(labels) != d or not all(map(_is_label, labels)):
        raise ValueError(f"groups must be {d} labels, one for each feature; got {groups!r}")
    found: dict[Any, list[int]] = {}
    for j, label in enumerate(labels):
        found.setdefault(label, []).append(j)
    return list(found.values())


def _is_label(label: Any) -> bool:
    if isinstance(label, float) and not math.isfinite(label):
        return False
    return isinstance(label, Hashable)


def add_regulariser(
    m: pyo.ConcreteModel, regulariser: str, groups: Groups | None, intercept: str
) -> Any:
    """Variables and rows of a regulariser of (w, b); returns it."""
    if regulariser == RIDGE:
        return squared_norm(m, intercept)
    if regulariser == L1:
        total = _add_sizes(m)
    else:
        assert groups is not None
        total = _add_norms(m, members(groups, len(m.J)))
    if intercept != "penalised":
        return total
    m.size_b = pyo.Var(within=pyo.NonNegativeReals)
    m.above_b = pyo.Constraint(expr=m.size_b - m.b >= 0)
    m.below_b = pyo.Constraint(expr=m.size_b + m.b >= 0)
    return total + m.size_b


def _add_sizes(m: pyo.ConcreteModel) -> Any:
    m.size = pyo.Var(m.J, within=pyo.NonNegativeReals)  # which the rows imply: a limit for proofs
    m.above = AffineRows(m.J, [(1.0, m.size), (-1.0, m.w)], lower=0.0)
    m.below = AffineRows(m.J, [(1.0, m.size), (1.0, m.w)], lower=0.0)
    return dot(1.0, m.size)


def _add_norms(m: pyo.ConcreteModel, parts: list[list[int]]) -> Any:
    m.G = pyo.RangeSet(0, len(parts) - 1)
    m.size = pyo.Var(m.G, within=pyo.NonNegativeReals)
    m.cone = rows_by_index(
        m.G, lambda g: pyo.quicksum(m.w[j] ** 2 for j in parts[g]) <= m.size[g] ** 2
    )
    return dot(np.sqrt([len(part) for part in parts]), m.size)


def regulariser_parts(
    regulariser: str, groups: Groups | None, w: Array, b: float, intercept: str
) -> tuple[float, dict[str, Array]]:
    """The regulariser of numbers (w, b), and the variables of `add_regulariser` that have it."""
    if regulariser == RIDGE:
        return norm_of(w, b, intercept), {}
    price_of_b = abs(b) if intercept == "penalised" else 0.0
    named = {"size_b": np.array(price_of_b)} if intercept == "penalised" else {}
    if regulariser == L1:
        return float(np.abs(w).sum()) + price_of_b, {"size": np.abs(w)} | named
    assert groups is not None
    parts = members(groups, len(w))
    sizes = np.array([float(np.linalg.norm(w[part])) * ROUNDED_UP for part in parts])
    roots = np.array([math.sqrt(len(part)) for part in parts])
    return float(roots @ sizes) + price_of_b, {"size": sizes} | named
