"""The surface of an inner hull as Qhull lists it, and the point of a hull nearest to 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

from tightmargin.formulations.data.arrays import Array, Index


@dataclass(frozen=True, eq=False)
class Surface:
    """Facets of an inner hull.

    points (m, k): points of U.
    simplices (f, k).
    normals (f, k): outer, of norm 1.
    offsets (f,): distance of each facet's plane from 0, negative where 0 is outside; Qhull's word.
    """

    points: Array
    simplices: Index
    normals: Array
    offsets: Array

    @classmethod
    def of_hull(cls, hull: Any) -> Surface:
        """A copy of the facets of a scipy.spatial.ConvexHull.

        What Qhull could not finish is of no use, hence the copy.
        """
        return cls(
            np.array(hull.points),
            np.array(hull.simplices, dtype=np.int64),
            np.array(hull.equations[:, :-1]),
            -np.array(hull.equations[:, -1]),
        )

    @classmethod
    def of_ends(cls, points: Array) -> Surface:
        """The two ends of U in one dimension, points (m, 1)."""
        ends = np.array([points.min(axis=0), points.max(axis=0)])
        normals = np.array([[-1.0], [1.0]])
        return cls(ends, np.array([[0], [1]]), normals, (ends * normals)[:, 0])


def nearest_shares(points: Array) -> Array:
    """Shares (m,), sum 1, of a point of the hull next to the one nearest to 0."""
    system = np.vstack([points.T, np.ones(len(points))])
    shares, _ = nnls(system, np.append(np.zeros(points.shape[1]), 1.0))
    return np.asarray(shares / shares.sum())
