"""Proven bounds on C = 1 / gamma from proven losses at neighbouring H, whatever the solver said.

For alpha optimal at H, sum alpha - H' sqrt(S) is at most the least loss E at every other H', so
that -sqrt(S) is a slope of the convex E there:

    sqrt(S) >= (E(H) - E(H')) / (H' - H)  for H' > H,    <= (E(H') - E(H)) / (H - H')  for H' < H

and C = H / sqrt(S). At H' = 0, where w = 0, E is twice the number of points of the smaller class.
Nothing here needs the multipliers to be unique.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from tightmargin.experiments.reproduce.bi_vapnik.measured import Measured


def proven_costs(rows: Sequence[Measured], smaller: int) -> list[tuple[float, float]]:
    """Least and largest C that any optimal multipliers can have, at each row but the last.

    rows: by rising H.
    smaller: training points of the smaller class.
    """
    found = []
    below, loss_below = 0.0, 2.0 * smaller
    for row, following in pairwise(rows):
        H = row.norm_bound
        rise, fall = loss_below - row.bound, row.bound - following.objective
        most = H * (following.norm_bound - H) / fall if fall > 0 else math.inf
        found.append((H * (H - below) / rise if rise > 0 else math.inf, most))
        below, loss_below = H, row.objective
    return found


def least_cost(ratio: float, size: int, smaller: int) -> float:
    """H^2 / (2 n_min), below which C is for no data: E = sum alpha - H sqrt(S) >= 0."""
    return ratio * size / (2 * smaller)
