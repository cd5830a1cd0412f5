"""A convex quadratic function as a sum of squares: x'qx + a'x = ||L x + e||^2 - rest.

Up to EXACT_ORDER variables the squares are found by elimination in rational numbers and then
rounded, so that every entry of L and e is right to a few units in its last place. Beyond that, and
where the rounding of q's own entries has made it indefinite, the squares come from eigenvectors,
and `Excess` says by how much they may miss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.curvature import EXACT_ORDER, block_curvature


@dataclass(frozen=True)
class Excess:
    """By how much x'qx + a'x may exceed the squares that stand for it.

    At most squares * sum_j x_j^2 + linear * sum_j |x_j| + constant.
    """

    squares: float = 0.0
    linear: float = 0.0
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class Squares:
    """See the module's docstring.

    Attributes
    ----------
    root : array (m, k)
        L.
    shift : array (m,)
        e.
    rest : Fraction
        e'e before rounding.
    excess : Excess or None
        None where every entry is right to a few units in its last place.
    exact : bool
        Whether L did not round at all, and e is 0.
    """

    root: Array
    shift: Array
    rest: Fraction
    excess: Excess | None = None
    exact: bool = False


def complete_squares(q: Array, a: Array) -> Squares | None:
    """Squares of x'qx + a'x; None where q is not semidefinite or a is not in its range."""
    k = len(q)
    if k == 0:
        return Squares(np.zeros((0, 0)), np.zeros(0), Fraction(0), exact=True)
    diagonal = np.diag(q)
    if np.count_nonzero(q) == np.count_nonzero(diagonal):
        return _of_diagonal(diagonal, a)
    exact = _by_elimination(q, a) if k <= EXACT_ORDER else None
    return _by_eigenvectors(q, a) if exact is None else exact


def _of_diagonal(diagonal: Array, a: Array) -> Squares | None:
    if diagonal.min() < 0 or a[diagonal == 0].any():
        return None
    kept = np.flatnonzero(diagonal)
    root = np.diag(np.sqrt(diagonal))[kept]
    pairs = zip(a[kept].tolist(), diagonal[kept].tolist(), strict=True)
    rest = sum((Fraction(b) ** 2 / (4 * Fraction(d)) for b, d in pairs if b), Fraction(0))
    roots = zip(np.sqrt(diagonal[kept]).tolist(), diagonal[kept].tolist(), strict=True)
    exact = not a.any() and all(Fraction(r) ** 2 == Fraction(d) for r, d in roots)
    return Squares(root, a[kept] / (2 * np.sqrt(diagonal[kept])), rest, exact=exact)


def _by_elimination(q: Array, a: Array) -> Squares | None:
    """q = sum_k d_k l_k l_k' with rational d_k > 0, and a = 2 sum_k d_k g_k l_k."""
    k = len(q)
    left = [[Fraction(entry) for entry in line] for line in q.tolist()]
    slope = [Fraction(entry) for entry in a.tolist()]
    roots, shifts, rest = [], [], Fraction(0)
    for i in range(k):
        pivot = left[i][i]
        if pivot < 0 or (pivot == 0 and (any(left[i][i + 1 :]) or slope[i])):
            return None
        if pivot == 0:
            continue
        line = [entry / pivot for entry in left[i]]
        g = slope[i] / (2 * pivot)
        for j in range(i + 1, k):
            if line[j]:
                left[j] = [x - left[i][j] * y for x, y in zip(left[j], line, strict=True)]
        slope = [x - 2 * pivot * g * y for x, y in zip(slope, line, strict=True)]
        left[i] = [Fraction(0)] * k
        for j in range(i + 1, k):
            left[j][i] = Fraction(0)
        size = math.sqrt(pivot)
        roots.append([size * float(entry) for entry in line])
        shifts.append(size * float(g))
        rest += pivot * g * g
    return Squares(np.array(roots).reshape(-1, k), np.array(shifts), rest)


def _by_eigenvectors(q: Array, a: Array) -> Squares | None:
    k = len(q)
    if block_curvature(q)[0] is None:
        return None
    values, vectors = np.linalg.eigh(q)
    keep = values > k * UNIT * values[-1]
    root = (vectors[:, keep] * np.sqrt(values[keep])).T
    miss = float(np.linalg.norm(q - root.T @ root))
    noise = (k + 4) * UNIT
    miss += 4 * noise * float(np.linalg.norm(np.abs(root).T @ np.abs(root)))
    if not a.any():
        return Squares(root, np.zeros(len(root)), Fraction(0), Excess(miss))
    shift = np.asarray(np.linalg.lstsq(root.T, a / 2, rcond=None)[0])
    off = float(np.abs(a - 2 * root.T @ shift).max())
    if off > k * noise * float(np.abs(a).max()) * 1e2:
        return None
    off += 4 * noise * float((np.abs(root).T @ np.abs(shift)).max() + np.abs(a).max())
    rest = sum((Fraction(entry) ** 2 for entry in shift.tolist()), Fraction(0))
    return Squares(root, shift, rest, Excess(miss, off))
