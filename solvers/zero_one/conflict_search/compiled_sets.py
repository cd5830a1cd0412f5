"""The bounds of nodes again, node by node for a compiler: what node_bounds.py says, to rounding.

numba compiles this file at its first use, and keeps the outcome beside it. The mathematics stands
in node_bounds.py, dual_active_set.py and signed_points.py, which are the reference; here are their
loops. Every sum is rounded as theirs are, in another order, and gives away as much.

A working set is (members, sense, alpha, count) in arrays of its own, with the Cholesky factor L of
its inner products: a member that enters adds a row to L, one that leaves has what is behind it
factored again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.zero_one.loss import EPS
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import (
    DEPENDENT,
    NOBODY,
    STEPS,
    VIOLATED,
    Mask,
)
from tightmargin.solvers.zero_one.conflict_search.signed_points import LEAST, Index

CONFLICT, FINISHED, GAVE_UP = 1, 0, -1
TRACE = 1e-13  # of the diagonal, as in kept_gram

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile at the first call, and keep the outcome."""
    words: dict[str, Any] = {"error_model": "numpy"}
    try:
        return cast(F, njit(cache=True, **words)(function))
    except RuntimeError:  # no folder for the outcome can be written to
        return cast(F, njit(**words)(function))


class Space(NamedTuple):
    """SignedPoints; `across` are its rows, transposed."""

    across: Array
    counted: Array
    gram: Array
    right: Array
    pull: Array
    reach: Array
    doubt: Array
    free: bool
    scale: float
    rounding: float


class WorkingSet(NamedTuple):
    """One working set; its size is an array of one number, since it changes."""

    members: Index
    sense: Array
    alpha: Array
    size: Index
    factor: Array


class Asked(NamedTuple):
    """What a problem asks of the points, as in `grow`."""

    allowed: Mask
    short: Mask
    costly: Mask


class Room(NamedTuple):
    """Arrays that are written over at every step."""

    v: Array
    lack: Array
    r: Array
    half: Array
    s: Array


@compiled
def empty_set(largest: int) -> WorkingSet:
    """Nobody in the set."""
    return WorkingSet(
        np.zeros(largest, np.int64), np.ones(largest), np.zeros(largest), np.zeros(1, np.int64),
        np.zeros((largest, largest)),
    )  # fmt: skip


@compiled
def copy_set(source: WorkingSet, target: WorkingSet) -> None:
    """The same members, multipliers and factor."""
    m = source.size[0]
    target.size[0] = m
    for i in range(m):
        target.members[i] = source.members[i]
        target.sense[i] = source.sense[i]
        target.alpha[i] = source.alpha[i]
        for j in range(i + 1):
            target.factor[i, j] = source.factor[i, j]


@compiled
def shares(space: Space, working: WorkingSet) -> tuple[float, float]:
    """What is left of multipliers that pull b up, and down, for their sums to be equal."""
    up, down = 0.0, 0.0
    for i in range(working.size[0]):
        if working.alpha[i] * working.sense[i] > 0:
            pulled = working.alpha[i] * space.pull[working.members[i]]
            up += max(pulled, 0.0)
            down += max(-pulled, 0.0)
    common = min(up, down)
    return (common / up if up > 0 else 0.0), (common / down if down > 0 else 0.0)


@compiled
def proven(space: Space, working: WorkingSet, s: Array) -> float:
    """certified_norm2 of a working set."""
    up, down = shares(space, working) if space.free else (1.0, 1.0)
    total, off, slack = 0.0, 0.0, 0.0
    s[:] = 0.0
    for i in range(working.size[0]):
        a, at = working.alpha[i], working.members[i]
        if a * working.sense[i] <= 0:
            continue
        pulled = a * space.pull[at]
        if pulled != 0:
            a *= up if pulled > 0 else down
        total += a * space.right[at]
        off += abs(a) * space.doubt[at]
        slack += abs(a) * space.reach[at]
        for k in range(len(s)):
            s[k] += a * space.counted[at, k]
    square = 0.0
    for k in range(len(s)):
        square += s[k] * s[k]
    length = np.sqrt(square) + space.rounding * slack
    certain = max(total - space.rounding * off, 0.0)
    bound = certain / max(length, LEAST) / space.scale
    return bound * bound * (1 - 16 * EPS)


@compiled
def factored(space: Space, working: WorkingSet, start: int) -> None:
    """Rows of the Cholesky factor from `start` on."""
    L = working.factor
    for i in range(start, working.size[0]):
        at = working.members[i]
        for j in range(i):
            total = space.gram[at, working.members[j]]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total / L[j, j]
        own = space.gram[at, at]
        total = own * (1 + TRACE) if own > 0 else 1.0
        for k in range(i):
            total -= L[i, k] * L[i, k]
        L[i, i] = np.sqrt(max(total, TRACE * own, LEAST))


@compiled
def toward(space: Space, working: WorkingSet, at: int, half: Array, r: Array) -> float:
    """r with G r = the inner products of the members with one row, and the square that is left."""
    m, L = working.size[0], working.factor
    left = space.gram[at, at]
    for i in range(m):
        total = space.gram[working.members[i], at]
        for k in range(i):
            total -= L[i, k] * half[k]
        half[i] = total / L[i, i]
        left -= half[i] * half[i]
    for i in range(m - 1, -1, -1):
        total = half[i]
        for k in range(i + 1, m):
            total -= L[k, i] * r[k]
        r[i] = total / L[i, i]
    return left


@compiled
def dropped(space: Space, working: WorkingSet, place: int) -> None:
    """Take one member out: the last one gets its place."""
    last = working.size[0] - 1
    working.members[place] = working.members[last]
    working.sense[place] = working.sense[last]
    working.alpha[place] = working.alpha[last]
    working.size[0] = last
    factored(space, working, place)


@compiled
def lacks(space: Space, working: WorkingSet, room: Room) -> None:
    """What each row lacks, 0 for members."""
    v, lack = room.v, room.lack
    v[:] = 0.0
    for i in range(working.size[0]):
        for k in range(len(v)):
            v[k] += working.alpha[i] * space.across[k, working.members[i]]
    lack[:] = space.right
    for k in range(len(v)):
        for i in range(len(lack)):
            lack[i] -= v[k] * space.across[k, i]
    for i in range(working.size[0]):
        lack[working.members[i]] = 0.0


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
def grown(
    space: Space, working: WorkingSet, asked: Asked, target: float, room: Room
) -> tuple[int, float, int, int]:
    """`grow` for one problem: how it ended, the proven norm2, who came first, the steps taken."""
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
        limit, leaving = first_to_leave(working, room.r)
        step = max(min(limit, full), 0.0)
        endless = step == np.inf
        room.half[:m] = working.alpha[:m]  # in case that nothing comes of it
        stepped(working, working, room.r, step, endless)
        entered = 1.0 if endless else entered + step
        joined(working, entering, direction, entered)
        norm2 = proven(space, working, room.s)
        if norm2 >= target:
            factored(space, working, m)
            return CONFLICT, norm2, first, steps
        if endless:
            working.size[0] = m
            working.alpha[:m] = room.half[:m]
            return GAVE_UP, norm2, first, steps
        if full <= limit:
            factored(space, working, m)
            entering = NOBODY
        else:
            working.size[0] = m
            dropped(space, working, leaving)
    return GAVE_UP, proven(space, working, room.s), first, steps
