"""Working sets and what they prove, for a compiler: what signed_points.py says, to rounding.

numba compiles the files of this folder at their first use, and keeps the outcome beside them: after
a change of one of them, delete what it has kept (`rm __pycache__/*.nb?`). The mathematics stands
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

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.solvers.proofs.packings.signed_points import EPS, LEAST

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
