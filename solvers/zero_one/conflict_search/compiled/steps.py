"""The dual active-set method of dual_active_set.py for a compiler, one problem at a time."""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.solvers.proofs.packings.evidence import NOBODY
from tightmargin.solvers.zero_one.conflict_search.compiled.working_sets import (
    Asked,
    Room,
    Space,
    WorkingSet,
    compiled,
    dropped,
    factored,
    lacks,
    proven,
    toward,
)
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import (
    DEPENDENT,
    SINGULAR,
    STEPS,
    VIOLATED,
)

CONFLICT, FINISHED, GAVE_UP, STUCK = 1, 0, -1, -2


@compiled
def has_costly(working: WorkingSet, costly: Mask) -> bool:
    """Whether a member is costly."""
    found = False
    for i in range(working.size[0]):
        found = found or costly[working.members[i]]
    return found


@compiled
def chosen(space: Space, working: WorkingSet, asked: Asked, room: Room) -> tuple[int, float]:
    """The row that enters and its sense; nobody where all rows are met."""
    lacks(space, working, room)
    has = has_costly(working, asked.costly)
    best, other, over = NOBODY, NOBODY, NOBODY
    largest, wanted, beyond = VIOLATED, VIOLATED, VIOLATED
    for i in range(len(room.lack)):
        lack = room.lack[i]
        if asked.allowed[i]:
            if lack > largest:
                largest, best = lack, i
            if asked.costly[i] != has and lack > wanted:
                wanted, other = lack, i
        elif asked.short[i] and -lack > beyond:
            beyond, over = -lack, i
    if over != NOBODY:
        return over, -1.0
    return (best if other == NOBODY else other), 1.0


@compiled
def whole_step(
    space: Space, working: WorkingSet, entering: int, direction: float, entered: float, room: Room
) -> float:
    """The step at which the entering row is met, and in `room.r` what the others lose by it."""
    own = space.gram[entering, entering]
    curvature = toward(space, working, entering, room.half, room.r)
    lack = space.right[entering]
    for i in range(working.size[0]):
        lack -= working.alpha[i] * space.gram[working.members[i], entering]
        room.r[i] *= direction
    if curvature <= DEPENDENT * own or working.size[0] >= space.across.shape[0]:
        return np.inf
    return (direction * lack - entered * own) / curvature


@compiled
def combined(space: Space, working: WorkingSet, entering: int, direction: float, r: Array) -> None:
    """r again, from the rows themselves, whose condition is the root of that of their products."""
    m, k = working.size[0], space.across.shape[0]
    A, a = np.empty((k, m)), np.empty(k)
    for j in range(k):
        a[j] = direction * space.across[j, entering]
        for i in range(m):
            A[j, i] = space.across[j, working.members[i]]
    r[:m] = np.linalg.lstsq(A, a, SINGULAR)[0]


@compiled
def first_to_leave(working: WorkingSet, r: Array) -> tuple[float, int]:
    """The step at which a multiplier reaches 0, and whose."""
    limit, leaving = np.inf, NOBODY
    for i in range(working.size[0]):
        shrinking = working.sense[i] * r[i]
        if shrinking > 1e-12:
            ratio = abs(working.alpha[i]) / shrinking
            if ratio < limit:
                limit, leaving = ratio, i
    return limit, leaving


@compiled
def stepped(source: WorkingSet, target: WorkingSet, r: Array, step: float, endless: bool) -> None:
    """The multipliers after a step; both sets may be one."""
    for i in range(source.size[0]):
        a = -r[i] if endless else source.alpha[i] - step * r[i]
        target.alpha[i] = a if a * source.sense[i] > 0 else 0.0


@compiled
def joined(working: WorkingSet, entering: int, direction: float, entered: float) -> None:
    """One member more, not yet in the factor."""
    m = working.size[0]
    working.members[m] = entering
    working.sense[m] = direction
    working.alpha[m] = direction * entered
    working.size[0] = m + 1


@compiled
def attempted(
    space: Space,
    working: WorkingSet,
    entering: int,
    direction: float,
    entered: float,
    full: float,
    room: Room,
) -> tuple[float, float, float, int, bool]:
    """A step along `room.r`: what it proves, the entering multiplier, who leaves, and if nobody."""
    m = working.size[0]
    working.alpha[:m] = room.half[:m]
    limit, leaving = first_to_leave(working, room.r)
    step = max(min(limit, full), 0.0)
    endless = step == np.inf
    stepped(working, working, room.r, step, endless)
    after = 1.0 if endless else entered + step
    joined(working, entering, direction, after)
    return proven(space, working, room.s), after, limit, leaving, endless


@compiled
def grown(
    space: Space, working: WorkingSet, asked: Asked, target: float, room: Room
) -> tuple[int, float, int, int]:
    """`grow` for one problem: how it ended, the proven norm2, who came first, the steps taken.

    Where it is stuck, the set has a member more than its factor, and `room.half` its multipliers
    before that.
    """
    first, steps = NOBODY, 0
    entering, direction, entered = NOBODY, 1.0, 0.0
    for _ in range(STEPS):
        if entering == NOBODY:
            entering, direction = chosen(space, working, asked, room)
            if entering == NOBODY:
                return FINISHED, proven(space, working, room.s), first, steps
            entered = 0.0
            if first == NOBODY and direction > 0:
                first = entering
        steps += 1
        m = working.size[0]
        full = whole_step(space, working, entering, direction, entered, room)
        room.half[:m] = working.alpha[:m]  # which `attempted` starts from
        tried = attempted(space, working, entering, direction, entered, full, room)
        if tried[4] and tried[0] < target:
            working.size[0] = m
            combined(space, working, entering, direction, room.r)
            tried = attempted(space, working, entering, direction, entered, np.inf, room)
        norm2, entered, limit, leaving, endless = tried
        if norm2 >= target:
            factored(space, working, m)
            return CONFLICT, norm2, first, steps
        if endless:
            return STUCK, norm2, first, steps
        if full <= limit:
            factored(space, working, m)
            entering = NOBODY
        else:
            working.size[0] = m
            dropped(space, working, leaving)
    return GAVE_UP, proven(space, working, room.s), first, steps
