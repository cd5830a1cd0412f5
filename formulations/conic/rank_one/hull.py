r"""The convex hull of one rank-one quadratic whose variables have step penalties.

The question is that of Choi, Cepeda, Gomez & Han 2025 (arXiv 2504.16330), of which only the
abstract was at hand: statement and proof below are our own. Given h in R^n with the support S, let

    X_h = {(v, z, t) : t >= (h'v)^2, z in {0, 1}^n, v_i <= 0 where z_i = 0, v_i >= 0 where z_i = 1}

and, over the points of S, let a point be on the side of h where zeta_i = 1,

    zeta_i = z_i where h_i > 0,  1 - z_i where h_i < 0,    k = sum_S zeta_i,  l = |S| - k.

Theorem.  cl conv X_h  =  C_h  :=  {(v, z, t) : 0 <= z <= 1,

    t >= (h'v)_+^2 / min(1, k)  +  (h'v)_-^2 / min(1, l)}

with 0/0 = 0 and a/0 infinite. For S = {i} this is Theorem 1 of Cepeda, Gomez & Han 2024.

Proof. C_h is closed and convex: a square over a concave nonnegative number is convex, and falls in
that number. It holds X_h: at binary z, k = 0 says h_i v_i <= 0 on all of S, so that (h'v)_+ = 0,
and k >= 1 leaves t >= (h'v)_+^2; likewise with l. At most one of the two parts is positive.

For the rest let (v, z, t) be in C_h with 0 < z < 1; such points are dense in C_h. Let s = h'v >= 0,
the other case being that of -h, and alpha = min(1, k) > 0. There is a random binary vector of mean
z with P(some zeta_i = 1) = alpha: lay intervals of lengths zeta_i, one after another, around a
circle of length 1. Where some zeta_i = 1 let v_i = s / (alpha h_i) for one such i and 0 elsewhere,
and otherwise v = 0. That is a mean of points of X_h with h'v = s at the cost s^2 / alpha <= t. It
remains to move v along h'x = 0. For i != j in S the set X_h holds all r (e_i / h_i - e_j / h_j),
r >= 0, with t = 0, at any z with zeta_i = 1, zeta_j = 0. With weight c / r and r growing they move
v by c (e_i / h_i - e_j / h_j) while z and t stay in the limit: these are directions of cl conv
X_h, as are their negatives (exchange i and j) and +-e_i off S. They span h'x = 0.  q.e.d.

For v_i = 1 - y_i <w~, x~_i> the hull in (w~, z, t) is the same as long as the points of S are
linearly independent, so that every v_S belongs to some w~. A shift changes nothing: (h'v - c)^2
is (h'v)^2 and an affine function.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.formulations.common.hyperplane import (
    add_hyperplane,
    augmented,
    augmented_weight,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import refuse_weights
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, add_parameter, one_of, positive


def checked_coefficients(coefficients: ArrayLike, n: int) -> Array:
    """h as an array (n,), not 0.

    Raises ValueError: another shape, numbers that are not finite, or zeros alone.
    """
    try:
        h = np.asarray(coefficients, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"coefficients must be {n} numbers") from None
    if h.shape != (n,) or not np.isfinite(h).all():
        raise ValueError(f"coefficients must be {n} finite numbers, got shape {h.shape}")
    if not h.any():
        raise ValueError("coefficients are all 0: there is no square to relax")
    return h


def rank_one_hull(
    data: TrainingData,
    *,
    penalty: float,
    coefficients: ArrayLike,
    target: float = 1.0,
    intercept: str = "penalised",
) -> pyo.ConcreteModel:
    """Convex hull of one square of violations with a price on each violated point.

        min   s + r - 2 target (p - q) + target^2 + penalty sum_i z_i
        s.t.  split     p - q = sum_i h_i v_i,           v_i = 1 - y_i <x~_i, w~>
              inside    p^2 <= s above,                  above <= 1,  above <= k
              outside   q^2 <= r below,                  below <= 1,  below <= l
              k = sum_{h_i > 0} z_i + sum_{h_i < 0} (1 - z_i),     l = |S| - k,     0 <= z <= 1

    It relaxes (h'v - target)^2 + penalty sum z_i over binary z with z_i = 1 where v_i > 0 and 0
    where v_i < 0, and has its optimum: the two do for every linear cost on h'v and z that is
    added, if the points with h_i != 0 are linearly independent (with their constant entry). The
    module has theorem and proof. By itself with h > 0 and target > 0 it is
    min(penalty, target^2). Weights of points are refused: h says what each counts.

    Parameters
    ----------
    data : TrainingData
    penalty : float
        Price of each z_i, positive.
    coefficients : array (n,)
        h, not 0; points with h_i = 0 are not in the square.
    target : float
        What h'v should be.
    intercept : "free", "penalised" or "none"
        There is no norm: penalised is free here.

    Raises
    ------
    ValueError
        Coefficients of another shape, not finite or all 0; a target that is not finite.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> model = tm.rank_one_hull(data, penalty=0.3, coefficients=[1.0, 2.0])
    >>> round(tm.solve(model).objective, 6)
    0.3
    """
    one_of("intercept", intercept, INTERCEPTS)
    refuse_weights("rank_one_hull", data)
    h, goal = checked_coefficients(coefficients, data.n), float(target)
    if not np.isfinite(goal):
        raise ValueError(f"target must be a finite number, got {target!r}")
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, intercept)
    add_parameter(m, "penalty", positive("penalty", penalty))
    m.z = pyo.Var(m.I, bounds=(0, 1))
    m.p, m.q, m.s, m.r = (pyo.Var(within=pyo.NonNegativeReals) for _ in range(4))
    m.above, m.below = (pyo.Var(bounds=(0, 1)) for _ in range(2))
    moved = (h * data.y) @ np.asarray(augmented(data, intercept))
    score = pyo.quicksum(a * x for a, x in zip(moved.tolist(), augmented_weight(m), strict=True))
    m.split = pyo.Constraint(expr=m.p - m.q + score == float(h.sum()))
    k = pyo.quicksum(m.z[i] if h[i] > 0 else 1 - m.z[i] for i in np.flatnonzero(h).tolist())
    m.share_above = pyo.Constraint(expr=m.above <= k)
    m.share_below = pyo.Constraint(expr=m.below <= np.count_nonzero(h) - k)
    m.inside = pyo.Constraint(expr=m.p**2 <= m.s * m.above)
    m.outside = pyo.Constraint(expr=m.q**2 <= m.r * m.below)
    m.objective = pyo.Objective(
        expr=m.s + m.r - 2 * goal * (m.p - m.q) + goal**2 + m.penalty * pyo.quicksum(m.z.values())
    )
    return m
