"""Hyperplanes of the search: the best one so far, made as good as what it keeps allows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.hyperplane import norm_of
from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.loss import (
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.formulations.zero_one.ramp import ramp_objective
from tightmargin.solvers.hinge_batch.binary import hinge_machines
from tightmargin.solvers.proofs.cones.problem import ConeProblem
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.proofs.packings.signed_points import signed_points
from tightmargin.solvers.zero_one.cones.machine_beside import machine_beside
from tightmargin.solvers.zero_one.cones.planes import Plane, plane_along
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import empty_sets, grow
from tightmargin.solvers.zero_one.conflict_search.hyperplanes import hyperplane
from tightmargin.solvers.zero_one.conflict_search.planes_beside import (
    planes_beside,
    with_best_intercept,
)
from tightmargin.solvers.zero_one.enumeration.active_sets import distinct_points, from_members
from tightmargin.solvers.zero_one.enumeration.directions import best_along, hinge_directions
from tightmargin.solvers.zero_one.enumeration.incumbent import zero_one_incumbent
from tightmargin.solvers.zero_one.enumeration.least_norm import least_norm_members

NEAR = 1e-9
DESCENTS = 12
ENOUGH = 60  # machines' reach beside the points' size


class BestPlane:
    """The cheapest hyperplane met so far; `offer` improves what is offered first.

    Attributes
    ----------
    w, b, objective : array (d,), float, float
    given_up : array (n,) of bool
    """

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self.w, self.b, self.objective = np.zeros(data.d), 0.0, np.inf
        self.given_up = np.ones(data.n, dtype=bool)
        self.met: set[bytes] = set()

    def start(self) -> None:
        """Take what is known without a search."""
        raise NotImplementedError

    def take(self, w: Array, b: float) -> None:
        """Keep a hyperplane if it is better."""
        raise NotImplementedError

    def refined(self, w: Array, b: float) -> Iterable[Plane]:
        """Hyperplanes that are at least as good as this one, most likely."""
        raise NotImplementedError

    def decided(self, w: Array, b: float) -> Mask:
        """The points that a hyperplane is refined for."""
        return margins(self.data, w, b) >= 1 - NEAR

    def search(self) -> None:
        """A dearer heuristic, once."""

    def along(self, problem: ConeProblem, r: Array, half: Array) -> Plane | None:
        """The best hyperplane of a direction of the cube, or near it in a box."""
        return plane_along(problem, r, half)

    def offer(self, plane: Plane | None) -> None:
        """Take a hyperplane and what it can be made into, once for each set that decides that."""
        if plane is None or not np.isfinite(np.append(plane[0], plane[1])).all():
            return
        self.take(*plane)
        key = np.packbits(self.decided(*plane)).tobytes()
        if key not in self.met:
            self.met.add(key)
            for better in self.refined(*plane):
                self.take(*better)


class LeastCost(BestPlane):
    """Of the 0-1 loss as it is, points weighted or not."""

    def __init__(self, data: TrainingData, penalty: float, intercept: str) -> None:
        super().__init__(data)
        self.penalty, self.intercept = penalty, intercept
        self.points = distinct_points(data, intercept)

    def start(self) -> None:
        """From fits of the hinge loss."""
        trivial = trivial_points(self.data, penalty=self.penalty, intercept=self.intercept)[0]
        self.take(trivial.w, trivial.b)
        for w, b in hinge_directions(self.data, self.penalty, self.intercept):
            self.offer(best_along(self.data, w, b, self.penalty, self.intercept))

    def search(self) -> None:
        """By local search over active sets."""
        found = zero_one_incumbent(self.data, penalty=self.penalty, intercept=self.intercept)
        self.offer((found.w, found.b))

    def along(self, problem: ConeProblem, r: Array, half: Array) -> Plane | None:
        """The best multiple, for any number of points."""
        v = np.append(r / problem.units, 0.0)
        w, b = v[: self.data.d], float(v[self.data.d])
        return best_along(self.data, w, b, self.penalty, self.intercept)

    def take(self, w: Array, b: float) -> None:
        """Objectives are counted strictly."""
        value = zero_one_objective(self.data, w, b, penalty=self.penalty, intercept=self.intercept)
        if value < self.objective:
            self.w, self.b, self.objective = w, b, value
            self.given_up = margins(self.data, w, b) < 1

    def refined(self, w: Array, b: float) -> Iterable[Plane]:
        """The least norm that keeps what it keeps."""
        kept = margins(self.data, w, b) >= 1 - NEAR
        yield from _stretched(self.data, w, b, kept)
        members = least_norm_members(self.points, kept[self.points.original])
        if members is not None and len(members):
            v = from_members(self.points, members[None, :]).v[0]
            if np.isfinite(v).all():
                plane = self.points.hyperplane(v, int(members[0]))
                kept = margins(self.data, *plane) >= 1 - NEAR
                yield from _stretched(self.data, *plane, kept)


def _stretched(data: TrainingData, w: Array, b: float, kept: Mask) -> Iterable[Plane]:
    found = scale_onto_margin(data, w, b, kept)
    if found is not None:
        yield found


class LeastCostBeside(BestPlane):
    """Of the 0-1 loss beside side rows: rows are met, and points are kept, to NEAR."""

    def __init__(self, data: TrainingData, penalty: float, intercept: str, side: SideRows) -> None:
        super().__init__(data)
        self.penalty, self.intercept, self.side = penalty, intercept, side
        self.points = signed_points(data, intercept=intercept, side=side)

    def start(self) -> None:
        """From hyperplanes without w, and what a fit of the hinge loss keeps."""
        for point in trivial_points(self.data, penalty=self.penalty, intercept=self.intercept):
            self.take(point.w, point.b)
        for w, b in hinge_directions(self.data, self.penalty, self.intercept):
            self.offer(best_along(self.data, w, b, self.penalty, self.intercept))
        kept = margins(self.data, self.w, self.b) >= 1 - NEAR
        for members in planes_beside(self.points, self.side, kept, self.penalty):
            plane = self._plane(members)
            if plane is not None:
                self.take(*plane)

    def by_rows_alone(self) -> Plane | None:
        """The least norm that the rows allow; None where they ask for nothing."""
        return self._least(np.zeros(self.data.n, dtype=bool))

    def _least(self, kept: Mask) -> Plane | None:
        """The least norm that keeps some points beside the rows."""
        rows = np.ones(len(self.points.right) - self.data.n, dtype=bool)
        allowed = np.r_[kept & ~self.side.paid, rows][None, :]
        found = grow(self.points, empty_sets(self.points, 1), allowed, np.full(1, np.inf))
        if not found.finished[0]:
            return None
        return self._plane(found.sets.members[0, : found.sets.count[0]])

    def _plane(self, members: NDArray[np.intp]) -> Plane | None:
        plane = hyperplane(self.points, members)
        if plane is None and self.intercept == "free":
            return with_best_intercept(self.points, self.data, self.side, members)
        return plane

    def take(self, w: Array, b: float) -> None:
        """Where decided points, counts and rows allow it."""
        given_up = (margins(self.data, w, b) < 1 - NEAR) | self.side.paid
        value = norm_of(w, b, self.intercept) + self.penalty * self.data.mass(given_up)
        if value >= self.objective or not self.side.allows(given_up):
            return
        if self.side.admits(w, b, NEAR):
            self.w, self.b, self.objective, self.given_up = w, b, value, given_up

    def refined(self, w: Array, b: float) -> Iterable[Plane]:
        """The least norm that keeps what it keeps beside the rows."""
        kept = (margins(self.data, w, b) >= 1 - NEAR) | self.side.kept
        plane = self._least(kept)
        if plane is not None:
            yield plane


class LeastRamp(BestPlane):
    """Of the ramp loss, beside rows of w and b, which are met to NEAR, or as it is."""

    def __init__(
        self, data: TrainingData, C: float, intercept: str, side: SideRows | None = None
    ) -> None:
        super().__init__(data)
        self.C, self.intercept, self.side = C, intercept, side
        column = np.ones((data.n, 0 if intercept == "none" else 1))
        self.G = data.y[:, None] * np.hstack([data.X, column])
        self.price = np.ones(self.G.shape[1])
        if intercept == "free":
            self.price[-1] = 0.0

    def start(self) -> None:
        """From the machine of all points."""
        for b in (0.0,) if self.intercept == "none" else (0.0, 1.0, -1.0):
            self.take(np.zeros(self.data.d), b)
        self.offer((np.zeros(self.data.d), 0.0))
        for w, b in hinge_directions(self.data, 2 * self.C, self.intercept):
            self.offer((w, b))

    def take(self, w: Array, b: float) -> None:
        """Keep a hyperplane if it is better, and allowed."""
        value = ramp_objective(self.data, w, b, self.C, self.intercept)
        if value < self.objective and (self.side is None or self.side.admits(w, b, NEAR)):
            self.w, self.b, self.objective = w, b, value
            self.given_up = margins(self.data, w, b) < -1

    def decided(self, w: Array, b: float) -> Mask:
        """The points that it caps."""
        return margins(self.data, w, b) < -1

    def refined(self, w: Array, b: float) -> Iterable[Plane]:
        """Cap what is beyond the cap, solve the machine of the others, and again."""
        capped: Mask | None = None
        for _ in range(DESCENTS):
            beyond = margins(self.data, w, b) < -1
            if capped is not None and (beyond == capped).all():
                return
            capped = beyond
            costs = np.where(capped, 0.0, self.C * self.data.multiplicity)
            for v in self._machines(costs):
                if not np.isfinite(v).all():
                    return
                w, b = (v, 0.0) if self.intercept == "none" else (v[:-1], float(v[-1]))
                yield w, b

    def _machines(self, costs: Array) -> list[Array]:
        if self.side is None:
            size = float(np.linalg.norm(self.G, axis=1).max())
            reach = 2 + ENOUGH * float(np.sqrt(self.C * self.data.total_weight)) * size
            return [hinge_machines(self.G, self.price, costs[None, :], reach).v[0]]
        R = np.column_stack([self.side.weights, self.side.of_b])[:, : self.G.shape[1]]
        return machine_beside(self.G, self.price, costs, R, self.side.most)
