"""Points that cannot be kept, as in probing.py, for a compiler."""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Mask
from tightmargin.solvers.zero_one.conflict_search.compiled.evidence import Found, noted
from tightmargin.solvers.zero_one.conflict_search.compiled.steps import (
    first_to_leave,
    joined,
    stepped,
    whole_step,
)
from tightmargin.solvers.zero_one.conflict_search.compiled.working_sets import (
    Room,
    Space,
    WorkingSet,
    compiled,
    empty_set,
    lacks,
    proven,
)
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import DEPENDENT
from tightmargin.solvers.zero_one.conflict_search.probing import SURELY


@compiled
def reached(space: Space, working: WorkingSet, at: int, room: Room) -> float:
    """What probing a row can prove at most, after `lacks`, in the units of the search."""
    m, L = working.size[0], working.factor
    own = space.gram[at, at]
    left = own
    for i in range(m):
        total = space.gram[working.members[i], at]
        for k in range(i):
            total -= L[i, k] * room.half[k]
        room.half[i] = total / L[i, i]
        left -= room.half[i] * room.half[i]
    if left <= DEPENDENT * own:
        return np.inf
    square = 0.0
    for k in range(len(room.v)):
        square += room.v[k] * room.v[k]
    return square + room.lack[at] * room.lack[at] / left


@compiled
def probed(
    space: Space,
    working: WorkingSet,
    free: Mask,
    wanted: float,
    room: Room,
    fixed: Mask,
    found: Found,
    node: int,
    kind: int,
) -> bool:
    """Mark free points that cannot be kept as well; whether there are any."""
    lacks(space, working, room)
    other = empty_set(len(working.alpha))
    before = found.size[0]
    m = working.size[0]
    other.members[:m] = working.members[:m]
    other.sense[:m] = working.sense[:m]
    enough = wanted * space.scale * space.scale * (1 - SURELY)
    for j in range(len(free)):
        fixed[j] = False
        if not free[j] or room.lack[j] <= 0:
            continue
        if reached(space, working, j, room) < enough:
            continue
        full = whole_step(space, working, j, 1.0, 0.0, room)
        limit, _ = first_to_leave(working, room.r)
        step = max(min(full, limit), 0.0)
        endless = step == np.inf
        stepped(working, other, room.r, step, endless)
        other.size[0] = m
        joined(other, j, 1.0, 1.0 if endless else step)
        if proven(space, other, room.s) >= wanted:
            fixed[j] = True
            noted(found, node, kind, j, other)
    return found.size[0] > before
