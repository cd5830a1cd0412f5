"""What keeping one point more costs at least, for all points at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.solvers.proofs.packings.signed_points import SignedPoints, certified_norm2, signed
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import (
    DEPENDENT,
    WorkingSets,
    kept_gram,
)

SURELY = 1e-6  # relative: what is wanted by less is computed


@dataclass(frozen=True, eq=False)
class Probed:
    """Single points that were looked at: P pairs of a working set and a point.

    Attributes
    ----------
    row, point : arrays (P,) of int
    members : array (P, m + 1) of int
        Of the working set, with the point; places that are not used have a multiplier of 0.
    alpha : array (P, m + 1)
    norm2 : array (P,)
        What the multipliers prove: the least norm2 with the point kept as well.
    """

    row: Index
    point: Index
    members: Index
    alpha: Array
    norm2: Array


def probed_norm2(points: SignedPoints, sets: WorkingSets) -> Array:
    """Proven least norm2 with each single point kept as well, (R, n + m)."""
    found = np.zeros((len(sets.count), len(points.right)))
    looked = probed(points, sets)
    found[looked.row, looked.point] = looked.norm2
    return found


def probed(
    points: SignedPoints, sets: WorkingSets, free: Mask | None = None, wanted: Array | None = None
) -> Probed:
    """What keeping one point more costs, for all that one step shows to cost anything.

    The multiplier of the point grows by one step of the active-set method. With v of the working
    set, no multipliers of it and of the point prove more than equality in all of them costs,
    ||v||^2 + lack^2 / curvature: where that is not enough, nothing more is computed.

    Parameters
    ----------
    free : array (R, n + m) of bool, optional
        Points that are of interest.
    wanted : array (R,), optional
        Norms that are of interest; points that cannot reach them are left out.
    """
    W, filled = sets.members, sets.filled
    toward = np.where(filled[:, :, None], points.gram[W], 0.0)
    r = np.linalg.solve(kept_gram(points, sets), toward)
    own = np.diag(points.gram)
    curvature = own - (r * toward).sum(axis=1)
    lack = points.right - np.einsum("rm,rmn->rn", sets.alpha, toward)
    dependent = curvature <= DEPENDENT * own
    divisor = np.where(dependent, 1.0, curvature)
    look = lack > 0 if free is None else (lack > 0) & free
    if wanted is not None:
        v = np.einsum("rm,rmk->rk", sets.alpha, points.rows[W])
        most = (v * v).sum(axis=1)[:, None] + lack * lack / divisor
        enough = wanted * points.scale**2 * (1 - SURELY)
        look &= dependent | (most >= enough[:, None])
    row, point = np.nonzero(look)
    r, sense, alpha, filled = r[row, :, point], sets.sense[row], sets.alpha[row], filled[row]
    full = np.where(dependent, np.inf, lack / divisor)[row, point]
    shrinking = sense * r
    falling = filled & (shrinking > 1e-12)
    ratios = np.where(falling, np.abs(alpha) / np.where(falling, shrinking, 1.0), np.inf)
    step = np.minimum(ratios.min(axis=1), full)
    endless = ~np.isfinite(step)
    step = np.where(endless, 0.0, np.maximum(step, 0.0))
    alpha = np.where(endless[:, None], -r, alpha - step[:, None] * r)
    alpha = np.where(filled, alpha, 0.0)
    members = np.column_stack([W[row], point])
    alpha = np.column_stack([alpha, np.where(endless, 1.0, step)])
    sense = np.column_stack([sense, np.ones(len(row))])
    norm2 = certified_norm2(points, members, alpha, sense)
    return Probed(row, point, members, signed(alpha, sense), norm2)
