"""The best point of a search, and the local searches that find it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from tightmargin.cuts.concave.points.surface_points import SurfaceSearch, points_on_sides
from tightmargin.cuts.concave.points.vertices import VertexSearch, exact_vertex
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.concave.root_box import RootBox
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.kernel import statement as gap
from tightmargin.solvers.kernel.statement import FeasiblePoint

TOLERANCE = gap.CLOSED / 2  # the other half is for what exact points and roundings cost
STARTS = 4  # random vertices for each direction
BETTER = 1e-12  # relative: a smaller difference is rounding, and no better point


class Incumbent:
    """The best point so far.

    absolute_gap: a gap of so much counts as closed too.
    start (n,): where the first local search starts.
    x (n,): feasible to rounding.
    point: the same, proven feasible.
    value: its objective without the constant; infinity without a point.
    """

    def __init__(
        self,
        program: ConcaveProgram,
        root: RootBox,
        *,
        absolute_gap: float = 0.0,
        seed: int = 0,
        start: Array | None = None,
    ) -> None:
        self.program, self.root, self.absolute = program, root, absolute_gap
        # From vertex to vertex, or along the surfaces of convex sides where there are any.
        curved = program.convex.any()
        self.local = SurfaceSearch(program, root) if curved else VertexSearch(program)
        self.value, self.x = math.inf, start
        self.point: FeasiblePoint | None = None
        self._random = np.random.default_rng(seed)
        if start is not None:
            self.look_from(start)

    @property
    def is_known(self) -> bool:
        """Whether there is one."""
        return math.isfinite(self.value)

    @property
    def target(self) -> float:
        """What a bound has to reach to prove it best."""
        if not self.is_known:
            return math.inf
        return self.value - max(TOLERANCE * abs(self.value), self.absolute / 2)

    def seek(self, end: float) -> None:
        """Local searches from vertices that lie far out in some directions, and from sides."""
        for x in self._starts():
            if x is not None:
                self.look_from(x)
            if time.perf_counter() > end:
                return

    def _starts(self) -> Iterator[Array | None]:
        V, least = self.program.directions.vectors, self.program.linear[0]
        r = V.shape[1]
        yield self.local.vertex(least)
        if not self.root.is_closed or self.program.convex.any():
            yield from points_on_sides(self.program, self._random, STARTS + r)
        if isinstance(self.local, SurfaceSearch):
            return  # its steps are many
        for j in range(r):
            yield self.local.vertex(V[:, j])
            yield self.local.vertex(-V[:, j])
        for _ in range(STARTS * r):
            yield self.local.vertex(V @ self._random.normal(size=r))

    def look_from(self, x: Array) -> None:
        """Local search from a point; what it finds is kept where it is better."""
        found = self.local.improved(x)
        if found is None or not self._is_new(found[1]):
            return
        x, value = found
        point = exact_vertex(self.program, x)
        if point is not None and point.x is not None:
            x, value = point.x, point.varying
        if value < self.value:
            self.x, self.value, self.point = x, value, point

    def _is_new(self, value: float) -> bool:
        return value < (self.value - BETTER * abs(self.value) if self.is_known else math.inf)
