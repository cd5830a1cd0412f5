"""All vertices in the space of the concave directions, by Qhull, where these are few.

The objective depends on z = V'x and the linear part a'x alone, so that its least value over the
polytope is that over the image in one dimension more than there are directions. The image is grown
from inside: every facet of the hull of the points so far is asked by a linear program whether the
polytope goes beyond it, until none does. Qhull works in floating point and proves nothing; the best
vertex goes to branch and cut, which then only has to prove it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from tightmargin.cuts.concave.box_search import BoxSearch
from tightmargin.cuts.concave.points.vertices import VertexSearch
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.concave.root_box import RootBox
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.running import StopReason

MOST_DIMENSIONS = 7  # of the image: facets of hulls explode beyond
BEYOND = 1e-9  # of the width of the image: a vertex so far beyond a facet is a new one
INDEPENDENT = 1e-9


@dataclass(frozen=True, eq=False)
class Hull:
    """What the enumeration found.

    x (n,): the best vertex.
    count: vertices of the image that were found.
    stop: FINISHED where no facet is left that the polytope goes beyond, as far as Qhull tells.
    """

    x: Array | None
    count: int
    stop: StopReason


def image_dimension(program: ConcaveProgram) -> int:
    """Dimension of the space in which vertices are enumerated, at most."""
    return len(_axes(program))


def _axes(program: ConcaveProgram) -> Array:
    """Independent directions (p, n) of the image, of length 1."""
    lines = np.vstack([program.directions.vectors.T, program.linear[0]])
    sizes = np.linalg.norm(lines, axis=1)
    lines = lines[sizes > 0] / sizes[sizes > 0, None]
    _, values, axes = np.linalg.svd(lines, full_matrices=False)
    return np.asarray(axes[values > INDEPENDENT * values.max(initial=0.0)])


def enumerate_image(program: ConcaveProgram, end: float) -> Hull:
    """Vertices of the image of the polytope, until `end` (of time.perf_counter)."""
    image = _Image(program)
    points = image.first_points()
    if points is None:
        return Hull(image.best, 0, StopReason.NUMERICAL)
    if len(image.axes) <= 1:
        return Hull(image.best, len(points), StopReason.FINISHED)
    try:
        return _grown(image, ConvexHull(points), end)
    except QhullError:
        return Hull(image.best, len(points), StopReason.NUMERICAL)


class _Image:
    """Points of the image, by linear programs, and the best vertex behind them."""

    def __init__(self, program: ConcaveProgram) -> None:
        self.program, self.search, self.axes = program, VertexSearch(program), _axes(program)
        self.best: Array | None = None

    def farthest(self, direction: Array) -> Array | None:
        """The point that lies farthest in a direction; None where HiGHS knows none."""
        x = self.search.vertex(-direction @ self.axes)
        if x is None:
            return None
        if self.best is None or self.program.value(x) < self.program.value(self.best):
            self.best = x
        return np.asarray(self.axes @ x)

    def first_points(self) -> Array | None:
        """The farthest points along the axes, which are turned into the span of these points."""
        one = np.eye(len(self.axes))
        found = [self.farthest(direction) for direction in np.vstack([one, -one])]
        points = np.array([point for point in found if point is not None])
        if len(points) < len(found):
            return None
        basis = _spanned(points)
        if len(basis) < len(self.axes):
            # The image is flat, or the first points do not show it.
            points, self.axes = points @ basis.T, basis @ self.axes
        return points


def _grown(image: _Image, hull: ConvexHull, end: float) -> Hull:
    """The hull with what lies beyond its facets, until nothing does."""
    width = float(np.ptp(hull.points, axis=0).max())
    asked: set[bytes] = set()
    while True:
        beyond = []
        for equation in hull.equations:
            key = np.round(equation, 12).tobytes()
            if key in asked:
                continue
            asked.add(key)
            found = image.farthest(equation[:-1])
            if found is None:
                return Hull(image.best, len(hull.vertices), StopReason.NUMERICAL)
            if float(equation[:-1] @ found) + equation[-1] > BEYOND * width:
                beyond.append(found)
            if time.perf_counter() > end:
                return Hull(image.best, len(hull.vertices), StopReason.TIME_LIMIT)
        fresh = _apart(hull.points, beyond, BEYOND * width)
        if not len(fresh):
            return Hull(image.best, len(hull.vertices), StopReason.FINISHED)
        # Built anew: where an incremental hull fails, Qhull ends the whole process.
        hull = ConvexHull(np.vstack([hull.points, fresh]))


def _apart(known: Array, fresh: list[Array], distance: float) -> Array:
    """New points, once each: facets find the same ones again, and Qhull stumbles over copies."""
    kept: list[Array] = []
    for point in fresh:
        others = np.vstack([known, *kept])
        if float(np.abs(others - point).max(axis=1).min()) > distance:
            kept.append(point)
    return np.array(kept).reshape(-1, known.shape[1])


def _spanned(points: Array) -> Array:
    """Orthonormal directions (p, d) in which points differ."""
    differences = points - points[0]
    _, values, axes = np.linalg.svd(differences, full_matrices=False)
    return np.asarray(axes[values > INDEPENDENT * max(1e-300, values.max(initial=0.0))])


def proving_search(
    program: ConcaveProgram, root: RootBox, hull: Hull, *, absolute_gap: float, seed: int
) -> BoxSearch:
    """Branch and cut that starts from the best vertex."""
    return BoxSearch(program, root, absolute_gap=absolute_gap, seed=seed, start=hull.x)


def seconds_left(end: float) -> float | None:
    """What is left of a limit; None without one."""
    return None if end == math.inf else max(1e-3, end - time.perf_counter())
