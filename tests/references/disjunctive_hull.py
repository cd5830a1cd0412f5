"""The hull of every choice "keep at the margin, or pay", written out in cvxpy."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from tests.references.strengthened_sdp import known_objective, rows_of
from tightmargin.formulations import TrainingData


def disjunctive_hull(
    data: TrainingData, mode: str, penalty: float, inside: bool = True, known: float | None = None
) -> float:
    """Value with ||w||^2 <= t in both disjuncts, or once outside, and the box of (w, b)."""
    rows = rows_of(data, mode)
    k, n = rows.shape[1], data.n
    top = known_objective(data, mode, penalty) if known is None else known
    high, low = np.full(k, np.sqrt(top)), np.full(k, -np.sqrt(top))
    if mode == "free":
        for label, side, sign in ((-1.0, high, 1.0), (1.0, low, -1.0)):
            far = np.linalg.norm(data.X[data.y == label], axis=1).max()
            side[-1] = sign * max(1.0, np.sqrt(top) * far - 1.0)
    priced = k - 1 if mode == "free" else k
    w, t, z = cp.Variable(k), cp.Variable(), cp.Variable(n)
    held = [z >= 0, z <= 1, w <= high, w >= low, t <= top]
    if not inside:
        held.append(cp.sum_squares(w[:priced]) <= t)
    for i in range(n):
        p, q, tp, tq = cp.Variable(k), cp.Variable(k), cp.Variable(), cp.Variable()
        held += [p + q == w, tp + tq == t, rows[i] @ p >= 1 - z[i]]
        for part, size, share in ((p, tp, 1 - z[i]), (q, tq, z[i])):
            held += [part <= high * share, part >= low * share, size >= 0, size <= top * share]
            if inside:
                held.append(cp.quad_over_lin(part[:priced], share) <= size)
    problem = cp.Problem(cp.Minimize(t + penalty * data.multiplicity @ z), held)
    problem.solve(solver="CLARABEL")
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return float(problem.value)
