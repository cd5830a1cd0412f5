"""Quadratic parts of a model as weighted squares, with a bound on what the squares do not hold.

For directions v_j and weights p_kj that anybody found, with z = V'x,

    objective       f(x)   = a'x - sum_j p_0j z_j^2 - x'E_0 x
    side of a row   h_k(x) = b_k'x + const_k + sum_j p_kj z_j^2 + x'E_k x >= 0,

which is true of any numbers, since E_k is defined by it. Weights above 0 make an objective concave
and a row reverse convex, weights below 0 a row convex. |E_k| is bounded entry by entry with every
rounding counted, so that no eigenvector has to be right and no matrix semidefinite: where the
squares are not what the model has, E_k is large and the bounds are poor, but never false.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Sizes of numbers, other than 0, whose products of up to four neither under- nor overflow.
SMALLEST, LARGEST = 2.0**-240, 2.0**240
SMALLEST_ENTRY, LARGEST_ENTRY = 2.0**-80, 2.0**80  # of directions, which are multiplied twice


@dataclass(frozen=True, eq=False)
class Directions:
    """Any numbers; what they are worth is for `squares_of` to say.

    Attributes
    ----------
    vectors : array (n, r)
    weights : array (1 + K, r)
        Of the objective first, then of each row.
    rows : tuple of (int, int)
        Numbers of K quadratic rows, with 1 for their lower side and -1 for their upper one.
    """

    vectors: Array
    weights: Array
    rows: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Squares:
    """The parts of a model in the terms of the module's docstring.

    Attributes
    ----------
    vectors : array (n, r)
    weights : array (1 + K, r)
    linear : array (1 + K, n)
        a and b_k.
    constants : tuple of pairs of floats
        const_k is the sum of the two, for each row.
    support : array of int
        Columns that occur in squares.
    excess : array (1 + K, s, s)
        Bounds on |E_k| over the support; 0 outside of it.
    """

    vectors: Array
    weights: Array
    linear: Array
    constants: tuple[tuple[float, float], ...]
    support: NDArray[np.int64]
    excess: Array

    def excess_within(self, size: Array) -> Array:
        """Bounds (1 + K,) on |x'E_k x| where |x| <= size (n,), rounded up; infinity without any."""
        reach = size[self.support]
        reach = np.where((reach > 0) & (reach < SMALLEST), SMALLEST, reach)  # products are kept
        with np.errstate(invalid="ignore"):
            along = np.where(self.excess > 0, self.excess * reach, 0.0).sum(axis=2)
            total = np.where(along > 0, along * reach, 0.0).sum(axis=1)
        return np.asarray(total * (1 + 4 * UNIT * (2 * len(reach) + 4)))


def squares_of(form: StandardForm, claimed: Directions) -> Squares | None:
    """The parts of a model over some directions; None where the numbers say nothing of it.

    Those are an objective or row beyond degree two, a side that is infinite, or numbers so large or
    small that products of them are lost.
    """
    vectors, weights, rows = claimed.vectors, claimed.weights, claimed.rows
    n, r = form.n, vectors.shape[1] if vectors.ndim == 2 else -1
    if form.goal is not None or vectors.shape != (n, r) or weights.shape != (1 + len(rows), r):
        return None
    if vectors.dtype != np.float64 or weights.dtype != np.float64:
        return None
    if not (usable(weights) and usable(vectors, SMALLEST_ENTRY, LARGEST_ENTRY)):
        return None
    lines, constants = [form.objective.a], []
    for number, sign in rows:
        known = type(number) is type(sign) is int and 0 <= number < len(form.quadratic)
        if not known or sign not in (-1, 1):
            return None
        row = form.quadratic[number]
        side = row.lower if sign == 1 else row.upper
        if not np.isfinite(side):
            return None
        line = np.zeros(n)
        line[row.body.index] = sign * row.body.a
        lines.append(line)
        constants.append((-sign * side, sign * row.body.constant))
    linear = np.array(lines)
    if not (usable(linear) and usable(np.array(constants))):
        return None
    support = _support(form, claimed)
    excess = _excess(form, claimed, support)
    if excess is None:
        return None
    return Squares(vectors, weights, linear, tuple(constants), support, excess)


def usable(numbers: Array, smallest: float = SMALLEST, largest: float = LARGEST) -> bool:
    """Whether all numbers are 0 or of a size that products keep."""
    size = np.abs(numbers)
    return bool(((size == 0) | ((size >= smallest) & (size <= largest))).all())


def _support(form: StandardForm, claimed: Directions) -> NDArray[np.int64]:
    used = claimed.vectors.any(axis=1)
    used |= np.diff(form.objective.Q.indptr) > 0
    for number, _ in claimed.rows:
        body = form.quadratic[number].body
        used[body.index[body.i]] = True
    return np.flatnonzero(used)


def _excess(form: StandardForm, claimed: Directions, support: NDArray[np.int64]) -> Array | None:
    """Bounds on |N_k - V diag(p_k) V'| over the support, with N_0 = -Q and N_k of the rows."""
    V = claimed.vectors[support]
    place = np.full(form.n, -1)
    place[support] = np.arange(len(support))
    matrices = [-form.objective.Q[support][:, support].toarray()]
    for number, sign in claimed.rows:
        body = form.quadratic[number].body
        matrix = np.zeros((len(support), len(support)))
        np.add.at(matrix, (place[body.index[body.i]], place[body.index[body.j]]), sign * body.v)
        matrices.append(matrix)
    # One square a column, of that column alone, times powers of 2: the products have one term, and
    # are exact.
    alone = bool(np.isin(np.frexp(np.abs(V))[0], (0.0, 0.5)).all())
    alone = alone and bool(((V != 0).sum(axis=0) <= 1).all() and ((V != 0).sum(axis=1) <= 1).all())
    found = []
    for matrix, weights in zip(matrices, claimed.weights, strict=True):
        if not usable(matrix):
            return None
        weighted = V * weights
        left = matrix - weighted @ V.T
        size = np.abs(matrix) + np.abs(weighted) @ np.abs(V).T
        terms = 1 if alone else len(weights) + 4
        # A difference of two doubles is 0 only where they are the same.
        rounding = 2 * UNIT * terms * (np.abs(left) if alone else size)
        found.append((np.abs(left) + rounding) * (1 + 4 * UNIT))
    return np.array(found)
