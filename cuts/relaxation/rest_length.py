"""How long a weight can be that the cuts leave."""

from __future__ import annotations

import numpy as np

from tightmargin.cuts.relaxation.relaxation import Relaxation
from tightmargin.formulations.data.arrays import Array


def rest_length(relaxation: Relaxation, axis: Array) -> float | None:
    """Proven bound on ||w|| over a relaxation, from a box with one side along an axis (k,).

    The corner of the box that is farthest from 0 has the norm sqrt(sum_j m_j^2), m_j the larger
    distance of the two sides across axis j. None where a side has no proven bound, or where
    nothing seems to be left.

    Raises TimeIsUpError, InterruptedLoopError, LostNumbersError: as Relaxation.longest.
    """
    k = len(axis)
    axes = np.linalg.qr(np.column_stack([axis, np.eye(k)]))[0][:, :k].T
    square = 0.0
    for each in axes:
        sides = [relaxation.proven_length(sign * each) for sign in (1.0, -1.0)]
        if any(side is None or not np.isfinite(side) for side in sides):
            return None
        square += max(0.0, *(side for side in sides if side is not None)) ** 2
    return float(np.sqrt(square)) * (1 + 1e-12)
