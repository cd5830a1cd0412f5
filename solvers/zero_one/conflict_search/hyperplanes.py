"""Hyperplanes through the members of a working set, in the coordinates of the data."""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.proofs.packings.signed_points import SignedPoints


def hyperplane(points: SignedPoints, members: Index) -> tuple[Array, float] | None:
    """The hyperplane of least norm with equality at all members, in the coordinates of the data.

    None when the members are empty, or say nothing of a free intercept.
    """
    if not members.size:
        return None
    right = points.right[members]
    if points.intercept != "free":
        v = _least_solution(points.rows[members], right)
        if points.intercept == "none":
            return v / points.scale, 0.0
        return v[:-1] / points.scale, float(v[-1]) / points.scale
    A, pull = points.counted[members], points.pull[members]
    size = float(pull @ pull)
    if size == 0:
        return None
    # The part of the equations that b has no say in.
    v = _least_solution(A - np.outer(pull, pull @ A) / size, right - pull * (pull @ right) / size)
    w = v / points.scale
    b = float(pull @ (right - A @ v)) / size
    return w, b + points.shift - float(points.centre @ w)


def least_weights(points: SignedPoints, members: Index) -> Array:
    """The least w with equality at members in which a free intercept does not occur."""
    A, right = points.counted[members], points.right[members]
    return _least_solution(A, right) / points.scale


def _least_solution(A: Array, right: Array) -> Array:
    return np.asarray(np.linalg.lstsq(A, right, rcond=1e-12)[0], dtype=np.float64)
