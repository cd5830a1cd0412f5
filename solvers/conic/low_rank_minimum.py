"""Minimum over all ranks of the low-rank form of the conic SDP: descend, and add a row if needed.

The staircase of Boumal, Voroninski & Bandeira 2016: where the slope Q in W has a negative
eigenvalue at a stationary F, its eigenvector becomes a further row; otherwise F is the optimum.
"""

from __future__ import annotations

import time

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.conic.low_rank import LowRank, compressed
from tightmargin.solvers.conic.trust_region import DescentResult, newton, quasi_newton

NEGATIVE = -1e-9  # an eigenvalue of Q, whose other part is I
LARGE = 1000  # numbers in F beyond which L-BFGS goes first
LEFT = 1e-5  # of ||F||: a slope that a descent has not finished with
SHORT = 1e-8  # of ||F||: a row that is none
LENGTHS = np.geomspace(1e-4, 1.0, 9)  # of the new row, against the size of F


def low_rank_minimum(
    problem: LowRank, penalty: float, start: Array | None = None, deadline: float | None = None
) -> Array:
    """F (1 + r, k) of least value at a penalty, from another F or from 0.

    Where points lie on their margin with nothing in W to spare, z jumps: a descent that meets this
    may stay there with a slope left, and is begun again from 0.

    The rank follows from the data. Nothing is proven here: see LowRank.proof.
    """
    nothing = np.zeros((1, problem.k))
    F = _staircase(problem, penalty, nothing if start is None else start, deadline)
    if start is None:
        return F
    value, slope = problem.value_and_gradient(F, penalty)
    if np.linalg.norm(slope) <= LEFT * np.linalg.norm(F):
        return F
    again = _staircase(problem, penalty, nothing, deadline)
    return again if problem.value_and_gradient(again, penalty)[0] < value else F


def _staircase(problem: LowRank, penalty: float, F: Array, deadline: float | None) -> Array:
    for _ in range(problem.k + 1):
        F = compressed(_descend(problem, penalty, F, deadline).point, SHORT)
        if deadline is not None and time.perf_counter() > deadline:
            break
        eigenvalues, vectors = np.linalg.eigh(problem.slope(F, penalty))
        if eigenvalues[0] >= NEGATIVE:
            break
        longer = _with_row(problem, penalty, F, vectors[:, 0])
        if longer is None:
            break
        F = longer
    return F


def refined(problem: LowRank, penalty: float, F: Array, deadline: float | None = None) -> Array:
    """F after Newton's method, whatever its size."""
    return compressed(_newton(problem, penalty, F, deadline).point, SHORT)


def _descend(problem: LowRank, penalty: float, F: Array, deadline: float | None) -> DescentResult:
    if F.size <= LARGE:
        return _newton(problem, penalty, F, deadline)
    return quasi_newton(lambda G: problem.value_and_gradient(G, penalty), F, deadline)


def _newton(problem: LowRank, penalty: float, F: Array, deadline: float | None) -> DescentResult:
    return newton(
        lambda G: problem.value_and_gradient(G, penalty),
        lambda G: problem.hessian(G, penalty),
        F,
        deadline,
    )


def _with_row(problem: LowRank, penalty: float, F: Array, direction: Array) -> Array | None:
    """F with a multiple of a row added, None where no multiple lowers the value."""
    value = problem.value_and_gradient(F, penalty)[0]
    longest = np.sqrt(value)  # ||F||^2 is below the value at any optimum
    tried = [np.vstack([F, length * longest * direction]) for length in LENGTHS]
    values = [problem.value_and_gradient(G, penalty)[0] for G in tried]
    best = int(np.argmin(values))
    return tried[best] if values[best] < value else None
