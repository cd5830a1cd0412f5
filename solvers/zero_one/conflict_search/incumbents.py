"""The best hyperplane of a search, and what the directions that it meets are worth.

Along a direction w the 0-1 problem is one-dimensional and solved exactly: with a free intercept, p
and q the margins y_i <w, x_i> of the two classes, each sorted upwards, giving up the a lowest of
one and the b lowest of the other leaves a band of width p_a + q_b (indices from 0), so that

    min over a, b with p_a + q_b > 0 of   4 ||w||^2 / (p_a + q_b)^2 + penalty (a + b).

With a penalised intercept, or none, v = (w, b) or w is stretched until all but the k lowest of the
margins u have reached 1:  min over k with u_k > 0 of  ||v||^2 / u_k^2 + penalty k.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.loss import (
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.proofs.packings.signed_points import SignedPoints
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import empty_sets, grow
from tightmargin.solvers.zero_one.conflict_search.hyperplanes import hyperplane
from tightmargin.solvers.zero_one.conflict_search.planes_beside import (
    planes_beside,
    with_best_intercept,
)
from tightmargin.solvers.zero_one.enumeration.directions import best_along

NEAR = 1e-9
PROMISING = 1e-3  # a free intercept bends the search's directions: worse values are not looked at
BETTER = 1e-9  # relative
REMEMBERED = 100_000  # sets of members that were looked at


class BestPlane:
    """The best hyperplane so far.

    Attributes
    ----------
    w, b : array (d,), float
    given_up : array (n,) of bool
        Points that are paid for.
    objective : float
        Infinite where side rows are and no hyperplane that meets them is known.
    """

    def __init__(self, data: TrainingData, penalty: float, intercept: str, side: SideRows) -> None:
        self.data, self.penalty, self.intercept, self.side = data, penalty, intercept, side
        self.w, self.b, self.objective = np.zeros(data.d), 0.0, np.inf
        self.given_up = np.ones(data.n, dtype=bool)
        self._seen: set[bytes] = set()

    def start(self, points: SignedPoints, w: Array, b: float) -> None:
        """Take a known hyperplane, and those with w = 0; beside side rows, improve them."""
        trivial = trivial_points(self.data, penalty=self.penalty, intercept=self.intercept)
        if self.side.empty:
            # The search itself meets only hyperplanes with points on their margin.
            self.take(trivial[0].w, trivial[0].b)
            self.take(w, b)
            return
        for point in trivial:
            missed = margins(self.data, point.w, point.b) < 1
            self._take_beside(point.w, point.b, missed | self.side.paid)
        kept = margins(self.data, w, b) >= 1 - NEAR
        for members in planes_beside(points, self.side, kept, self.penalty):
            self._offer_beside(points, members)

    def offer(self, points: SignedPoints, sets: list[Index], directions: Array) -> None:
        """Look at hyperplanes through working sets, and along their directions.

        Parameters
        ----------
        sets : list of arrays of int
            Members of working sets at which nothing was violated.
        directions : array (len(sets), k)
            Their v.
        """
        if not self.side.empty:
            for members in sets:
                self._offer_beside(points, members)
            return
        values = values_along(points, directions, self.penalty, self.objective)
        for k in np.argsort(values, kind="stable").tolist():
            if values[k] >= self.objective * (1 + PROMISING):
                return
            name = np.sort(sets[k]).tobytes()
            if name not in self._seen:
                self._seen.add(name)
                self._along(points, sets[k])
        if len(self._seen) > REMEMBERED:
            self._seen.clear()

    def _along(self, points: SignedPoints, members: Index) -> None:
        """The best hyperplane along the one through the members; then along that of what it keeps.

        Each round but the last one lowers the objective.
        """
        while (plane := hyperplane(points, members)) is not None:
            along = best_along(self.data, *plane, self.penalty, self.intercept)
            before = self.objective
            kept = self._take_stretched(*(plane if along is None else along))
            if kept is None or self.objective >= before * (1 - BETTER):
                return
            allowed = np.r_[kept, np.zeros(len(points.right) - self.data.n, dtype=bool)]
            found = grow(points, empty_sets(points, 1), allowed[None, :], np.full(1, np.inf))
            members = found.sets.members[0, : found.sets.count[0]]

    def _take_stretched(self, w: Array, b: float) -> Mask | None:
        kept = margins(self.data, w, b) >= 1 - NEAR
        stretched = scale_onto_margin(self.data, w, b, kept)
        if stretched is None:
            return None
        self.take(*stretched)
        return kept

    def take(self, w: Array, b: float) -> None:
        """Take a hyperplane if it is better than the best; there are no side rows."""
        value = zero_one_objective(self.data, w, b, penalty=self.penalty, intercept=self.intercept)
        if value < self.objective:
            self.w, self.b, self.objective = w, b, value
            self.given_up = margins(self.data, w, b) < 1

    def adopt(self, w: Array, b: float, given_up: Mask, objective: float) -> None:
        """Take what another search of the same problem has found, if it is better."""
        if objective < self.objective:
            self.w, self.b, self.given_up, self.objective = w, b, given_up, objective

    def _offer_beside(self, points: SignedPoints, members: Index) -> None:
        plane = hyperplane(points, members)
        if plane is None and self.intercept == "free":
            plane = with_best_intercept(points, self.data, self.side, members)
        if plane is not None:
            kept = margins(self.data, *plane) >= 1 - NEAR
            self._take_beside(*plane, ~kept | self.side.paid)

    def _take_beside(self, w: Array, b: float, given_up: Mask) -> None:
        """A stretched hyperplane would leave its side rows: what it misses by NEAR, it keeps."""
        norm2 = float(w @ w) + (b * b if self.intercept == "penalised" else 0.0)
        value = norm2 + self.penalty * int(given_up.sum())
        if value >= self.objective or not self.side.allows(given_up):
            return
        if self.side.admits(w, b, NEAR):
            self.w, self.b, self.objective, self.given_up = w, b, value, given_up


def values_along(points: SignedPoints, directions: Array, penalty: float, least: float) -> Array:
    """The least objective along each direction, inf where none below `least` is found, (R,).

    Parameters
    ----------
    directions : array (R, k)
        In the coordinates of the search.
    least : float
        Only numbers of violated points that cost less are tried.
    """
    n = points.n
    most = int(min(n, least / penalty + 1))
    if points.intercept == "free":
        w = directions[:, :-1]
        u = w @ points.counted[:n].T
        up, down = (np.sort(u[:, points.pull[:n] * sign > 0], axis=1) for sign in (1, -1))
        norm2 = 4 * (w * w).sum(axis=1) / points.scale**2
        best = np.full(len(w), np.inf)
        for a in range(min(most, up.shape[1])):
            width = up[:, a, None] + down[:, : most - a]
            best = np.minimum(best, _least_value(width, norm2, penalty, a))
        return best
    u = np.sort(directions @ points.rows[:n].T, axis=1)[:, :most]
    norm2 = (directions * directions).sum(axis=1) / points.scale**2
    return _least_value(u, norm2, penalty, 0)


def _least_value(width: Array, norm2: Array, penalty: float, already: int) -> Array:
    """Least norm2 / width^2 + penalty (already + column) of each row, over positive widths."""
    cost = penalty * (already + np.arange(width.shape[1]))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = norm2[:, None] / (width * width) + cost
    return np.asarray(np.where(width > 0, values, np.inf).min(axis=1, initial=np.inf))
