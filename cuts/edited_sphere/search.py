"""Branch and cut over boxes on the unit sphere beside rows that an edit adds.

The nodes' programs keep the rows, and bounds come from their multipliers (node_bound.py). Every w
with an objective below a level has an h(w) below it, so that what is known of h, the box at the
root, holds here too. Points come from a sequence of linear programs on planes that touch the
sphere: the row <v, w> >= 1 for ||w||^2 = 1 about v is off by the square of a step, and steps that
do not help are made shorter.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.edited_sphere.program import SideProgram
from tightmargin.cuts.edited_sphere.statements import violation
from tightmargin.cuts.search.result import Incumbent, SearchResult, closed_below
from tightmargin.cuts.spatial_branching.branch_and_cut import BETTER, BoxSearch
from tightmargin.cuts.spatial_branching.node_bound import EPS, SideRows
from tightmargin.cuts.spatial_branching.node_program import BoxLP
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.execution.stop_reason import StopReason

STARTS = 8
STEPS = 60
REACHES = (0.3, 1e-9)  # of a step on a touching plane: the longest, and one that ends it
SHORTER = 0.25
# By so much points keep rows that are no equations: room for exact coordinates, and in a second
# attempt, of rows with b, rho or xi, for the tolerance of the programs.
INWARD, INWARD_OF_LEVELS = 1e-11, 3e-9
KEEPS = 1e-10  # equations may be missed by so much
SEEKS_EVERY = 128  # nodes
BEYOND = 1e3  # of the largest h: what no point is asked to be better than, where there is none
NONE_FOUND = "no point that keeps the rows was found"


@dataclass(eq=False, kw_only=True)
class EditedSearch(BoxSearch):
    """State of one run.

    Attributes
    ----------
    side : SideRows
        In units, over the unit sphere.
    point : dict
        The best (w, b, rho, xi) so far, in units; empty before there is one.
    """

    side: SideRows
    point: dict[str, Array] = field(default_factory=dict)

    def _program(self) -> BoxLP:
        self.sides = SideProgram(self.hulls, self.side, self.seed)
        levels = np.where(self.side.has_levels, INWARD_OF_LEVELS, INWARD)
        self.inward = [
            self.side.most - np.where(self.side.equal, 0.0, by) for by in (INWARD, levels)
        ]
        largest = self.hulls.nu * float(np.linalg.norm(self.hulls.signed, axis=1).max())
        # No h is larger; what is no better than that is not looked for.
        self.goal = largest * (1 + 1e-6) if self.side.about_weights else largest * BEYOND
        return self.sides

    # --- points --------------------------------------------------------------------------------

    def _first_points(self, starts: int, given: Sequence[Array]) -> None:
        rng = np.random.default_rng(self.seed)
        directions = [*given, *rng.standard_normal((starts, self.hulls.k))]
        for direction in directions:
            self.check_limits()
            self._seek(self.program.local_search(direction)[0])
            self._seek(direction)
        self._note()

    def _try(self, weight: Array) -> None:
        """A node's weight, and now and then what is near it."""
        length = float(np.linalg.norm(weight))
        if not 0 < length < math.inf:
            return
        if self._offer(weight / length) or (not self.point or self.steps % SEEKS_EVERY == 0):
            self._seek(weight)

    def _offer(self, weight: Array) -> bool:
        """Take a weight of norm 1 with its best levels as the incumbent if it is better."""
        return any(self._take(weight, most) for most in self.inward)

    def _take(self, weight: Array, most: Array) -> bool:
        self.evaluations += 1
        at, _ = self.sides.best_levels(weight, most)
        if at is None:
            return False
        scores = self.hulls.signed @ weight + self.hulls.y * float(at["b"])
        at["xi"] = np.maximum(np.maximum(at["xi"], 0.0), at["rho"] - scores)
        value = self._objective(at)
        allowed = np.where(self.side.equal, KEEPS, 0.0)
        kept = bool((violation(self.side, at) <= allowed).all())
        if not kept or not value < self.value * (1 - BETTER):
            return False
        self.best, self.value, self.point = weight, value, at
        self.goal = min(self.goal, closed_below(value, self.tolerance, self.absolute))
        return True

    def _seek(self, weight: Array) -> None:
        """Steps on touching planes, taken where they make the price of all missed rows less."""
        most = self.inward[0]
        weight = self._onto(weight)
        price, reach = self.sides.best_levels(weight, most)[1], REACHES[0]
        for _ in range(STEPS):
            self.check_limits()
            found = self.sides.step(weight, reach, most)
            if found is None or not found.any():
                return
            new = self._onto(found)
            # The sphere bends away from the plane by the square of the step, and what that makes
            # of rows is taken back by a step of that length.
            bend = 2 * float(np.abs(new - weight).max()) ** 2
            back = self.sides.step(new, bend, most) if bend > 0 else None
            new = new if back is None or not back.any() else self._onto(back)
            other = self.sides.best_levels(new, most)[1]
            if other < price - BETTER * abs(price):
                weight, price, reach = new, other, min(2 * reach, REACHES[0])
            else:
                reach *= SHORTER
            if reach < REACHES[1]:
                break
        if self._offer(weight):
            self._note()

    def _objective(self, at: dict[str, Array]) -> float:
        return float(self.hulls.caps @ at["xi"]) - self.hulls.nu * float(at["rho"])

    def _onto(self, weight: Array) -> Array:
        """The weight scaled onto the sphere, within the equations over weights."""
        side = self.side
        equal = side.equal & ~side.has_levels
        rows, sides = side.of_weight[equal], side.most[equal]
        if len(rows) == 0:
            return np.asarray(weight / np.linalg.norm(weight))
        inverse = np.linalg.pinv(rows)
        foot = inverse @ sides
        along = weight - inverse @ (rows @ weight)
        left, length = 1 - float(foot @ foot), float(np.linalg.norm(along))
        if left <= 0 or length == 0:
            return np.asarray(foot)
        return np.asarray(foot + along * (math.sqrt(left) / length))

    # --- telling -------------------------------------------------------------------------------

    def _result(self, stop: StopReason, message: str) -> SearchResult:
        if not self.point:
            self.best = np.zeros(self.hulls.k)
            self.best[0] = 1.0
            stop = StopReason.FINISHED if stop is StopReason.PROVEN else stop
            message = f"{NONE_FOUND}: {message}"
        found = super()._result(stop, message)
        # Fixed columns are constants of rows and norm in the model, where they are rounded.
        slack = 32 * EPS * self.hulls.k * self.hulls.nu * self.program.size * self.unit
        bound = found.bound - (slack if self.side.equal.any() else 0.0)
        if not self.point:
            return replace(found, bound=bound, best=replace(found.best, objective=math.inf))
        values = values_of(self.problem, self.point, self.unit)
        best = Incumbent(self.best, self.value * self.unit, values)
        return replace(found, best=best, bound=bound)


def values_of(problem: PolarProblem, point: dict[str, Array], unit: float) -> dict[str, Array]:
    """Variables of a model on the unit sphere at a point in units of centred points."""
    named = problem.split(point["w"]) | {"rho": point["rho"] * unit, "xi": point["xi"] * unit}
    if problem.intercept == "free":
        named["b"] = np.array(float(point["b"]) * unit - float(point["w"] @ problem.shift))
    return named


def edited_search(
    problem: PolarProblem, side: SideRows, *, tolerance: float, time_limit: float | None, seed: int
) -> SearchResult:
    """The extended nu-SVC below nu_bar beside rows, to a proven global optimum."""
    search = EditedSearch(
        problem=problem, tolerance=tolerance, absolute=0.0, time_limit=time_limit, step_limit=None,
        seed=seed, began=time.perf_counter(), cut_limit=0, known_points=(), side=side,
    )  # fmt: skip
    return search.supervised(STARTS, [])
