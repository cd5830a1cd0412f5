"""Least values of concave functions over small polytopes, by all their vertices and edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
FEASIBLE = 1e-9


def vertices(A: Array, b: Array) -> Iterator[Array]:
    """Vertices of {A x <= b}, some of them several times: every choice of n rows is tried."""
    n = A.shape[1]
    for rows in combinations(range(len(A)), n):
        basis = A[list(rows)]
        if abs(np.linalg.det(basis)) < 1e-10:
            continue
        x = np.linalg.solve(basis, b[list(rows)])
        if (A @ x <= b + FEASIBLE * (1 + np.abs(b))).all():
            yield x


def least_concave(A: Array, b: Array, f: Callable[[Array], float]) -> float:
    """Least value of a concave function over a polytope; infinity where that is empty."""
    return min((f(x) for x in vertices(A, b)), default=np.inf)


def least_lrcp(A: Array, b: Array, c: Array, Q: Array, line: Array, side: float) -> float:
    """Least c'x over {A x <= b, x'Qx + line'x >= side}: at a vertex or on an edge of the polytope.

    Infinity where there is no point.
    """
    n = A.shape[1]

    def convex(x: Array) -> float:
        return float(x @ Q @ x + line @ x)

    best = min((float(c @ x) for x in vertices(A, b) if convex(x) >= side - FEASIBLE),
               default=np.inf)  # fmt: skip
    for rows in combinations(range(len(A)), n - 1):
        chosen = A[list(rows)].reshape(-1, n)
        if n > 1 and np.linalg.matrix_rank(chosen, 1e-10) < n - 1:
            continue
        start = np.linalg.lstsq(chosen, b[list(rows)], rcond=None)[0] if n > 1 else np.zeros(1)
        ray = np.linalg.svd(chosen)[2][-1] if n > 1 else np.ones(1)
        roots = np.roots([ray @ Q @ ray, (2 * Q @ start + line) @ ray, convex(start) - side])
        for t in roots[np.isreal(roots)].real:
            x = start + t * ray
            if (A @ x <= b + FEASIBLE * (1 + np.abs(b))).all():
                best = min(best, float(c @ x))
    return best
