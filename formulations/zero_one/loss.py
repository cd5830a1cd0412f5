"""The 0-1 loss objective of a hyperplane, counted strictly, and the points known without a solve.

    norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

where a point of weight s_i counts s_i times, with norm2 = ||w||^2 + b^2 (intercept penalised),
||w||^2 (free), or ||w||^2 and b = 0 (none). A point on the margin is kept; a solver's point that
misses it by 1e-9 is not, and counts in full. Hence `scale_onto_margin`: stretch a hyperplane until
the points it means to keep are kept.

Hyperplanes that look at no point: how a result says that its optimum is one of them.

The 0-1 loss problem has w = 0 among its optima when nothing else pays: with b = 0 everybody is
violated (value penalty * n), with b = +-1 one class is kept (value 1 + penalty * n_other when b is
penalised, the paper's w~ = +-e_1). Relaxations have them too, with b anywhere between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive

CONSTANT = 1e-4  # of the margin 1: smaller scores are those of w = 0 as solvers find it


EPS = float(np.finfo(np.float64).eps)


class TrivialPoint(NamedTuple):
    """A hyperplane with w = 0 and its 0-1 objective."""

    w: Array
    b: float
    objective: float


def _checked(data: TrainingData, w: ArrayLike, b: float, intercept: str) -> tuple[Array, float]:
    one_of("intercept", intercept, INTERCEPTS)
    weights, offset = np.asarray(w, dtype=np.float64), float(b)
    if weights.shape != (data.d,):
        raise ValueError(f"w must have shape ({data.d},), got {weights.shape}")
    if not (np.isfinite(weights).all() and np.isfinite(offset)):
        raise ValueError("w and b must be finite")
    if intercept == "none" and offset != 0.0:
        raise ValueError(f"intercept=none means b = 0, got b = {offset!r}")
    return weights, offset


def margins(data: TrainingData, w: ArrayLike, b: float) -> Array:
    """Numbers y_i (<w, x_i> + b), shape (n,)."""
    return data.y * (data.factor @ np.asarray(w, dtype=np.float64) + b)


def zero_one_objective(
    data: TrainingData, w: ArrayLike, b: float, *, penalty: float, intercept: str
) -> float:
    """0-1 objective of (w, b) as the floats stand: a margin of 1 - 1e-16 is a violation.

    Raises ValueError: w of the wrong shape, non-finite numbers, b != 0 without an intercept, a bad
        penalty.
    """
    cost = positive("penalty", penalty)
    weights, offset = _checked(data, w, b, intercept)
    norm2 = float(weights @ weights) + (offset * offset if intercept == "penalised" else 0.0)
    return norm2 + cost * data.mass(margins(data, weights, offset) < 1)


def trivial_points(data: TrainingData, *, penalty: float, intercept: str) -> list[TrivialPoint]:
    """Points with w = 0, best first: nobody kept, or one class kept by b = +-1.

    b = 0 violates everybody, penalty * n. b = c keeps class c and violates the other one,
    penalty * n_other, plus b^2 = 1 when the intercept is penalised; it needs an intercept. Of
    weighted points n and n_other are sums of weights.
    """
    cost = positive("penalty", penalty)
    one_of("intercept", intercept, INTERCEPTS)
    zero = np.zeros(data.d)
    points = [TrivialPoint(zero, 0.0, cost * data.total_weight)]
    if intercept != "none":
        negative, positive_mass = data.masses
        price = 1.0 if intercept == "penalised" else 0.0
        points.append(TrivialPoint(zero, 1.0, price + cost * negative))
        points.append(TrivialPoint(zero, -1.0, price + cost * positive_mass))
    return sorted(points, key=lambda point: point.objective)


def scale_onto_margin(
    data: TrainingData, w: ArrayLike, b: float, kept: Mask
) -> tuple[Array, float] | None:
    """The least multiple of (w, b) at which every kept point truly has margin >= 1.

    "Truly": a relative 1e-15 or so is added, the rounding error of a dot product, so that the
    margins reach 1 whichever way they are summed. None when a kept point is on the wrong side (up
    to rounding) or nobody is kept: then no multiple, or no least one, exists.
    """
    weights = np.asarray(w, dtype=np.float64)
    if not kept.any():
        return None
    size = np.abs(data.factor[kept]) @ np.abs(weights) + abs(b)
    least = margins(data, weights, b)[kept] - 2 * (data.d + 2) * EPS * size
    if least.min() <= 0:
        return None
    scale = (1 + 4 * EPS) / float(least.min())
    if not np.isfinite(scale):
        return None
    return weights * scale, b * scale


def degenerate(data: TrainingData | GramData, w: Array, b: float, intercept: str) -> str:
    """Why a hyperplane says nothing about the points, in a sentence; empty when it does.

    Scores that do not differ over the points count as w = 0: features may be constant.
    """
    scores = data.factor @ w if w.size else np.zeros(data.n)
    if float(np.ptp(scores)) > CONSTANT:
        return ""
    level = float(scores.mean()) + b
    if abs(level) <= CONSTANT:
        return "w = 0: every score is 0, which is no side (predict says -1)"
    side = int(np.sign(level))
    own, other = (data.n_pos, data.n_neg)[::side]
    size = "the majority" if own > other else "the minority" if own < other else "half of them"
    text = f"w = 0: every point is assigned to class {side:+d}, {size}"
    if intercept == "penalised" and abs(abs(level) - 1) <= CONSTANT:
        text += f" (w~ = {'+' if side > 0 else '-'}e_1, the constant column alone)"
    return text
