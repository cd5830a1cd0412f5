"""Bounds on (w, b) that an optimum of the 0-1 loss satisfies, whatever the penalty is set to."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.common.hyperplane import norm_of
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import finite_hyperplane
from tightmargin.formulations.zero_one.big_m import OUTWARD
from tightmargin.formulations.zero_one.checks import Hyperplane
from tightmargin.formulations.zero_one.loss import EPS, margins, zero_one_objective


def bound_hyperplane(
    m: pyo.ConcreteModel, data: TrainingData, intercept: str, incumbent: Hyperplane | None
) -> None:
    """Bounds of w and b in a model with a mutable Param `penalty`.

    A hyperplane of norm2 N with k violations costs N + penalty k at every penalty, so

        U(penalty) = least of N + penalty k  over  w = 0 and the incumbent

    is an upper bound of the optimum, an expression of the Param. An optimum has norm2 <= U =: r^2,
    so |w_j| <= r, and |b| <= r where the intercept counts in the norm. With a free one, b of one
    optimum lies between

        -max(1, r max{||x_i|| : y_i = 1} - 1)   and   max(1, r max{||x_i|| : y_i = -1} - 1):

    if a class has no kept point, w = 0 with b = +-1 is an optimum; otherwise a kept positive point
    says b >= 1 - <w, x_i> >= 1 - r ||x_i||, and a kept negative one b <= r ||x_i|| - 1.

    Raises
    ------
    ValueError
        An incumbent that is no finite (w, b) of this dimension, or has b without an intercept.
    """
    radius = reduce(_least, _costs(m, data, intercept, incumbent)) ** 0.5 * OUTWARD
    for x in m.w.values():
        x.setlb(-radius)
        x.setub(radius)
    if intercept == "penalised":
        m.b.setlb(-radius)
        m.b.setub(radius)
    if intercept == "free":
        m.b.setlb(-_reach(radius, data.X[data.y > 0]))
        m.b.setub(_reach(radius, data.X[data.y < 0]))


def _costs(
    m: pyo.ConcreteModel, data: TrainingData, intercept: str, incumbent: Hyperplane | None
) -> list[Any]:
    """Objectives of known hyperplanes as expressions of the penalty."""
    minority = min(data.n_pos, data.n_neg)
    found: list[Any] = []
    if intercept != "free":
        found.append(m.penalty * data.n)
    if intercept != "none":
        found.append((1.0 if intercept == "penalised" else 0.0) + m.penalty * minority)
    if incumbent is not None:
        w, b = finite_hyperplane("incumbent", incumbent, data.d)
        # Refuses b != 0 without an intercept; the number itself is of one penalty only.
        zero_one_objective(data, w, b, penalty=pyo.value(m.penalty), intercept=intercept)
        violations = int((margins(data, w, b) < 1).sum())
        found.append(norm_of(w, b, intercept) + m.penalty * violations)
    return found


def _least(a: Any, b: Any) -> Any:
    """The smaller of two expressions, never below it by rounding."""
    return (a + b - abs(a - b)) / 2 + 4 * EPS * (a + b)


def _reach(radius: Any, points: NDArray[np.float64]) -> Any:
    """max(1, radius max ||x|| - 1), as an expression."""
    far = radius * float(np.linalg.norm(points, axis=1).max())
    return (far + abs(far - 2)) / 2 * OUTWARD
