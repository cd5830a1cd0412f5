"""A bound on one box in rational arithmetic, for columns that have no limit on some side.

What floating-point multipliers leave of stationarity on such a column costs everything, however
little it is. With s_k = b_k'x and the multipliers w >= 0 of the sides as they are given,

    mu f(x) >= mu a'x - sum_k w_k s_k - sum_j P_j z_j^2 - sum_k w_k const_k - what squares leave,

and -P_j z_j^2 >= -c_j z_j + least of (c_j z - P_j z^2) in the box for any c: a secant where P_j > 0
and a tangent where P_j < 0. The linear program over (x, z, s) that this leaves goes to exact_lp.py,
which makes what is left of columns without limits exactly 0.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proofs.cover.leaf_bounds import READ, BoxMultipliers
from tightmargin.solvers.proofs.cover.linear_limits import exact_least
from tightmargin.solvers.proofs.cover.squares import LARGEST, Squares
from tightmargin.solvers.standard_form.columns import Columns, Rows
from tightmargin.solvers.standard_form.names import Labels, Listed
from tightmargin.solvers.standard_form.quadratic import Quadratic
from tightmargin.solvers.standard_form.standard_form import StandardForm


def exact_leaf(
    form: StandardForm,
    squares: Squares,
    found: BoxMultipliers,
    choice: int,
    box: tuple[Array, Array],
    excess: Array,
) -> float:
    """Lower bound on f in a box, infinity where it has no point, -inf without any.

    Parameters
    ----------
    found, choice : BoxMultipliers, int
        The multipliers that are tried.
    box : pair of arrays (r,)
        Finite, or nothing is proven.
    excess : array (1 + K,)
        Bounds on what the squares leave of the objective and of each row.
    """
    mu = float(found.mu[choice])
    ends = np.concatenate(box)
    if mu not in (0.0, 1.0) or not ((np.abs(ends) <= LARGEST).all() and np.isfinite(excess).all()):
        return -math.inf
    w = np.where(found.sides[choice] > 0, found.sides[choice], 0.0)
    t, y = found.slopes[choice], found.rows[choice].toarray().ravel()
    if not (np.abs(np.concatenate([w, t, y])) <= LARGEST).all():
        return -math.inf
    prices = np.append(mu, w)
    weights = [_dot(prices, column) for column in squares.weights.T]
    slopes = _slopes(weights, t, box)
    constant = sum((_least(*each) for each in zip(slopes, weights, *box, strict=True)), Fraction(0))
    constant -= _dot(prices, excess)
    paid = [sum((Fraction(c) for c in each), Fraction(0)) for each in squares.constants]
    paid = [Fraction(k) * c for k, c in zip(w.tolist(), paid, strict=True)]
    program = _linear(form, squares, box, mu * squares.linear[0], slopes, w)
    least = exact_least(program, np.concatenate([y, t, w]))
    if least is None:
        return -math.inf
    value = least + constant - sum(paid, Fraction(0))
    if mu == 0:
        sides = np.concatenate([form.row_lower, form.row_upper])
        size = float(np.abs(sides[np.isfinite(sides)]).max(initial=0.0))
        noise = READ * (size * float(np.abs(y).sum()) + float(sum(map(abs, paid))))
        return math.inf if value > noise else -math.inf
    return rounded_down(value)


def _dot(a: Array, b: Array) -> Fraction:
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return sum((Fraction(p) * Fraction(q) for p, q in pairs if p and q), Fraction(0))


def _slopes(weights: list[Fraction], t: Array, box: tuple[Array, Array]) -> Array:
    """c of each direction; any numbers would do."""
    P = np.array([float(weight) for weight in weights])
    with np.errstate(all="ignore"):
        at = np.clip(np.where(P < 0, t / (2 * P), 0.0), *box)
        slopes = np.where(P < 0, 2 * P * at, P * (box[0] + box[1]))
    return np.where(np.isfinite(slopes), slopes, 0.0)


def _linear(
    form: StandardForm,
    squares: Squares,
    box: tuple[Array, Array],
    cost: Array,
    slopes: Array,
    w: Array,
) -> StandardForm:
    """The linear program over x, z = V'x and s = B x."""
    n, r = squares.vectors.shape
    K = len(w)
    more, endless = np.arange(r + K), np.full(K, np.inf)
    links = sp.vstack([sp.csr_matrix(squares.vectors.T), sp.csr_matrix(squares.linear[1:])])
    rows = sp.hstack([form.A, sp.csr_matrix((len(form.rows), r + K))])
    names = Listed([f"direction {j}" for j in range(r)] + [f"side {k}" for k in range(K)])
    column_names = Labels(("", form.columns, np.arange(n)), ("", names, more))
    row_names = Labels(("", form.rows, np.arange(len(form.rows))), ("", names, more))
    return replace(
        form,
        columns=cast(Columns, column_names),
        lower=np.concatenate([form.lower, box[0], -endless]),
        upper=np.concatenate([form.upper, box[1], endless]),
        integer=np.zeros(n + r + K, dtype=bool),
        objective=Quadratic(
            sp.csr_matrix((n + r + K, n + r + K)), np.concatenate([cost, -slopes, -w]), 0.0
        ),
        sense=1,
        matrix=sp.vstack([rows, sp.hstack([links, -sp.identity(r + K)])], format="csr"),
        row_lower=np.concatenate([form.row_lower, np.zeros(r + K)]),
        row_upper=np.concatenate([form.row_upper, np.zeros(r + K)]),
        rows=cast(Rows, row_names),
        quadratic=(), psd=(), nonlinear=(),
    )  # fmt: skip


def _least(c: float, weight: Fraction, low: float, high: float) -> Fraction:
    """Least of c z - P z^2 in the box: at an end where it is concave, anywhere where convex."""
    slope = Fraction(float(c))
    if weight < 0:
        return slope * slope / (4 * weight)
    ends = (Fraction(float(low)), Fraction(float(high)))
    return min(slope * z - weight * z * z for z in ends)
