"""Local search over active sets for the 0-1 loss.

An optimum touches the margin at a small set of points (enumeration.py), and a set is worth the 0-1
objective of its hyperplane. A set is exchanged for a better one until neither exchanging one point,
nor keeping one point more or less (the hard-margin machine solved again), helps.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.zero_one.enumeration.active_sets import (
    ActiveSets,
    Points,
    extend,
    from_members,
    set_margins,
    without_equations,
)
from tightmargin.solvers.zero_one.enumeration.least_norm import least_norm_members

ON_MARGIN = 1e-9
KICKED = 4  # a kick replaces at most so many points of a set
KICK_RANGE = 40  # and takes the new ones from so many nearest to the margin
NEIGHBOURS = 250
NEARLY_KEPT = 8
MARGINS_AT_ONCE = 2_000_000
WORK_LIMIT = 200_000_000  # in computed numbers, not seconds: the same result on any machine
SOLVE_PASSES = 50  # passes over the points that one hard-margin solve is counted for


@dataclass(eq=False)
class LocalSearch:
    """Local search over active sets; a set is worth the 0-1 objective of its hyperplane."""

    points: Points
    penalty: float
    until: float = np.inf  # of time.monotonic()
    spent: int = 0

    @property
    def exhausted(self) -> bool:
        """Whether the work or the time is over."""
        return self.spent > WORK_LIMIT or time.monotonic() > self.until

    def _count(self, many: int) -> None:
        """Add the work for the points, and their margins, of many active sets."""
        count, dimension = self.points.rows.shape
        self.spent += many * (count + 4 * dimension**2)

    def values(self, sets: ActiveSets) -> Array:
        """Objective of each set, points within ON_MARGIN kept; inf if v is numerically lost."""
        self._count(len(sets.members))
        violated = set_margins(self.points, sets) < 1 - ON_MARGIN
        values = sets.norm2 + self.penalty * (violated @ self.points.weight)
        lost = np.take_along_axis(violated, sets.members, axis=1).any(axis=1)
        return np.where(lost | ~np.isfinite(values), np.inf, values)

    def value(self, members: Index) -> float:
        """Objective of one set."""
        return float(self.values(from_members(self.points, members[None, :]))[0])

    def values_in_batches(self, members: Index) -> Array:
        """Objectives of many sets (P, s)."""
        batch = max(1, MARGINS_AT_ONCE // len(self.points.y))
        parts = [
            self.values(from_members(self.points, members[k : k + batch]))
            for k in range(0, len(members), batch)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def improve(self, members: Index, target: float) -> tuple[float, Index]:
        """Exchange points while that helps; below the target, also keep more or fewer points."""
        best = (self.value(members), members)
        while not self.exhausted:
            better = self._exchange(*best)
            if better is None and best[0] < target:
                better = self._rekeep(*best)
            if better is None:
                break
            best = better
        return best

    def _margins(self, members: Index) -> Array:
        return set_margins(self.points, from_members(self.points, members[None, :]))[0]

    def _nearest(self, members: Index, count: int) -> Index:
        """Points outside the set, nearest to its margin first."""
        order = np.argsort(np.abs(self._margins(members) - 1), kind="stable")
        return order[~np.isin(order, members)][:count]

    def kick(self, members: Index, rng: np.random.Generator) -> Index:
        """A few points of the set replaced by others near its margin."""
        near = self._nearest(members, KICK_RANGE)
        count = min(len(members), len(near), int(rng.integers(1, KICKED + 1)))
        kicked = members.copy()
        places = rng.choice(len(members), count, replace=False)
        kicked[places] = rng.choice(near, count, replace=False)
        return kicked

    def _exchange(self, value: float, members: Index) -> tuple[float, Index] | None:
        """Best set that differs by a point left out, a point added, or both; None if no better."""
        room = MARGINS_AT_ONCE // (len(members) * len(self.points.y))
        near = self._nearest(members, min(NEIGHBOURS, max(20, room)))
        full = from_members(self.points, members[None, :])
        candidates = [self._shortened(members)]
        candidates.append(self._extended(candidates[0], near))
        if len(members) < self.points.largest:
            candidates.append(self._extended(full, near))
        best = (value * (1 - ON_MARGIN), members)
        for sets in candidates:
            if sets.members.size and sets.members.shape[1] >= self._smallest:
                values = self.values(sets)
                k = int(values.argmin())
                if values[k] < best[0]:
                    best = (float(values[k]), sets.members[k])
        return None if best[1] is members else best

    @property
    def _smallest(self) -> int:
        return 2 if self.points.intercept == "free" else 1

    def _shortened(self, members: Index) -> ActiveSets:
        """The set without each of its points."""
        rest = np.array([np.delete(members, k) for k in range(len(members))])
        if rest.shape[1] == 0:
            return without_equations(self.points, members[:0])
        return from_members(self.points, rest)

    def _extended(self, sets: ActiveSets, new: Index) -> ActiveSets:
        """Each set with each new point."""
        count = len(sets.members)
        parent = np.repeat(np.arange(count, dtype=np.intp), len(new))
        return extend(self.points, sets, parent, np.tile(new, count))

    def _rekeep(self, value: float, members: Index) -> tuple[float, Index] | None:
        """First better set that keeps the same points, one on the margin less, or one more."""
        u = self._margins(members)
        kept = u >= 1 - ON_MARGIN
        outside = np.flatnonzero(~kept)
        nearly = outside[np.argsort(-u[outside], kind="stable")[:NEARLY_KEPT]]
        for change in [None, *members.tolist(), *nearly.tolist()]:
            wanted = kept.copy()
            if change is not None:
                wanted[change] = not wanted[change]
            self._count(SOLVE_PASSES)
            found = least_norm_members(self.points, wanted, value, members)
            if found is not None and len(found):
                reached = self.value(found)
                if reached < value * (1 - ON_MARGIN):
                    return reached, found
        return None
