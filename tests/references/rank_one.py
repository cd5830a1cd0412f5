"""The SDP with rank-one rows of groups once more, in cvxpy: every matrix from its definition."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable

import cvxpy as cp
import numpy as np

from tests.references.strengthened_sdp import rows_of
from tightmargin.formulations import TrainingData


def rank_one_sdp(
    data: TrainingData,
    mode: str,
    penalty: float,
    groups: Iterable[tuple[int, ...]] | None = None,
    *,
    bound_on_b: float | None = None,
    both: bool = False,
) -> float:
    """Value with the rows of some groups, all pairs by default; `both` has every sign pattern.

    The moment matrix of (v, 1) is taken as one expression A Z A', and every matrix of a group as
    semidefinite + nonnegative, two variables.
    """
    n, rows = data.n, rows_of(data, mode)
    k = rows.shape[1]
    Z = cp.Variable((k + 1, k + 1), PSD=True)
    z = cp.Variable(n)
    A = np.column_stack([-rows, np.ones(n)])
    V, v = A @ Z @ A.T, A @ Z[:, k]
    held = [Z[k, k] == 1, z >= 0, z <= 1]
    for i in range(n):
        quotients = cp.quad_over_lin(cp.pos(v[i]), z[i]) + cp.quad_over_lin(cp.neg(v[i]), 1 - z[i])
        held.append(V[i, i] >= quotients)
    if bound_on_b is not None:
        held.append(Z[k - 1, k - 1] <= bound_on_b**2)
    for group in itertools.combinations(range(n), 2) if groups is None else groups:
        at, size = list(group), len(group)
        for signs in itertools.product((1, -1), repeat=size) if both else [(1,) * size]:
            sign = np.array(signs, dtype=float)
            corner = sum(z[i] if s > 0 else 1 - z[i] for i, s in zip(at, signs, strict=True))
            side = cp.reshape(-cp.multiply(sign, v[at]), (size, 1), order="C")
            block = cp.multiply(np.outer(sign, sign), V[at][:, at])
            M = cp.bmat([[cp.reshape(corner, (1, 1), order="C"), side.T], [side, block]])
            part = cp.Variable((size + 1, size + 1), PSD=True)
            rest = cp.Variable((size + 1, size + 1), symmetric=True)
            held += [part + rest == M, rest >= 0]
    counted = k - 1 if mode == "free" else k
    problem = cp.Problem(
        cp.Minimize(cp.trace(Z[:counted, :counted]) + penalty * data.multiplicity @ z), held
    )
    with warnings.catch_warnings():  # its last digits differ from processor to processor
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        problem.solve(solver="CLARABEL")
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    return float(problem.value)
