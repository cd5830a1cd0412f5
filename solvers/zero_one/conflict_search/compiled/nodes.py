"""The stages of node_bounds.py for a compiler, node by node; what it proves is the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.solvers.proofs.packings.evidence import (
    KEPT,
    NOBODY,
    PACKING,
    REST,
    Conflicts,
    Evidence,
)
from tightmargin.solvers.proofs.packings.signed_points import SignedPoints, unit_of_doubt
from tightmargin.solvers.zero_one.conflict_search.compiled.evidence import (
    Found,
    copied,
    noted,
    room_for,
)
from tightmargin.solvers.zero_one.conflict_search.compiled.probing import probed
from tightmargin.solvers.zero_one.conflict_search.compiled.steps import (
    CONFLICT,
    FINISHED,
    STUCK,
    grown,
)
from tightmargin.solvers.zero_one.conflict_search.compiled.working_sets import (
    Asked,
    Room,
    Space,
    WorkingSet,
    compiled,
    copy_set,
    empty_set,
    factored,
)
from tightmargin.solvers.zero_one.conflict_search.node_bounds import (
    PROBES,
    Bounded,
    Nodes,
    check_time,
)

UNWATCHED = 32  # nodes, between looks at the time
NUMBERS = 4_000_000  # multipliers that there is room for


class Problem(NamedTuple):
    """What is the same in all nodes; least_most is that of the counts of all points."""

    penalty: float
    target: float
    suspects: Mask
    loose: Mask
    counted: Mask  # (counts, n): the points of each count
    most: Array
    least_most: float


@compiled
def packed_heights(heights: Array, own: float, penalty: float, room: float) -> float:
    """packed_bounds of the kernel, for one node."""
    if room < 0:
        return np.inf
    best, whole = own, np.inf
    ordered = np.sort(heights)
    for k in range(len(heights)):
        whole = min(whole, ordered[len(heights) - 1 - k] + penalty * k)
        chain = whole if k == room else min(whole, own + penalty * (k + 1))
        best = max(best, chain)
    return best


@compiled
def crowded(problem: Problem, violated: Mask) -> bool:
    """Whether more are given up than some count allows."""
    n = problem.counted.shape[1]
    for c in range(len(problem.most)):
        if (violated[:n] & problem.counted[c]).sum() > problem.most[c]:
            return True
    return False


@compiled
def prepared(
    space: Space,
    problem: Problem,
    kept: Mask,
    violated: Mask,
    own: WorkingSet,
    room: Room,
    found: Found,
    node: int,
) -> tuple[float, float, int]:
    """The stages `count`, `keep` and `probe`: bound, norm2 of what is kept, and steps."""
    n = problem.counted.shape[1]
    for c in range(len(problem.most)):
        if (violated[:n] & problem.counted[c]).sum() >= problem.most[c]:
            for i in range(n):
                kept[i] = kept[i] or (problem.counted[c, i] and not violated[i])
    factored(space, own, 0)
    fixed = np.zeros(len(kept), np.bool_)
    paid = problem.penalty * violated.sum()
    asked = Asked(kept, violated & ~problem.loose, fixed)
    ended, norm2, _, steps = grown(space, own, asked, problem.target - paid, room)
    noted(found, node, KEPT, NOBODY, own)
    if ended == STUCK:
        own.size[0] -= 1
        own.alpha[: own.size[0]] = room.half[: own.size[0]]
    if paid + norm2 >= problem.target or crowded(problem, violated):
        return np.inf, norm2, steps
    for kind in range(PROBES):
        free = ~kept & ~violated
        wanted = problem.target - paid
        if not probed(space, own, free, wanted, room, fixed, found, node, kind):
            break
        violated |= fixed
        paid = problem.penalty * violated.sum()
        if paid + norm2 >= problem.target or crowded(problem, violated):
            return np.inf, norm2, steps
    return paid + norm2, norm2, steps


@compiled
def first_of(mask: Mask) -> int:
    """The first point of a mask, or nobody."""
    for i in range(len(mask)):
        if mask[i]:
            return i
    return NOBODY


@compiled
def free_members(working: WorkingSet, kept: Mask, violated: Mask, first: int) -> tuple[int, int]:
    """How many free points the proof of a set needs, and the one to branch on."""
    size, branch = 0, NOBODY
    for i in range(working.size[0]):
        at = working.members[i]
        if working.alpha[i] != 0 and not kept[at] and not violated[at]:
            size += 1
            if branch == NOBODY or branch != first:
                branch = at
    return size, branch


@compiled
def used_up(working: WorkingSet, available: Mask, asked: Asked) -> None:
    """Take the members of a conflict from what is available."""
    for i in range(working.size[0]):
        at = working.members[i]
        if working.alpha[i] != 0 and available[at]:
            available[at] = asked.allowed[at] = asked.costly[at] = False


@compiled
def packing(
    space: Space,
    problem: Problem,
    kept: Mask,
    violated: Mask,
    own: WorkingSet,
    working: WorkingSet,
    norm2: float,
    room: Room,
    noting: Found,
    node: int,
    settled: Mask,
) -> tuple[float, int, bool, int]:
    """The stages `pack` and `conclude`: bound, branch, whether the set is a candidate, steps."""
    paid = problem.penalty * violated.sum()
    left_over = problem.least_most - violated.sum()
    available = ~kept & ~violated
    asked = Asked(kept | available, violated & ~problem.loose, problem.suspects & available)
    heights = np.empty(len(kept) + 1)
    found, smallest, branch, steps = 0, len(kept) + 1, NOBODY, 0
    ended = CONFLICT
    while ended == CONFLICT:
        wanted = problem.target - paid - problem.penalty * found
        if norm2 >= wanted or found > left_over:
            return np.inf, branch, False, steps
        copy_set(own, working)
        ended, height, first, more = grown(space, working, asked, wanted, room)
        steps += more
        noted(noting, node, PACKING if ended == CONFLICT else REST, NOBODY, working)
        heights[found] = height
        found += 1
        size, chosen = free_members(working, kept, violated, first)
        if ended == CONFLICT:
            if not size:
                return np.inf, branch, False, steps
            used_up(working, available, asked)
        if 0 < size < smallest and (ended == CONFLICT or found == 1):
            smallest, branch = size, chosen
    bound = paid + packed_heights(heights[:found], norm2, problem.penalty, left_over)
    if branch == NOBODY:
        branch = first_of(available)
    rest = packed_heights(heights[: found - 1], norm2, problem.penalty, left_over - 1)
    if paid + problem.penalty + rest >= problem.target:
        kept |= available
        settled |= available
        if branch != NOBODY and available[branch]:
            branch = NOBODY
    return (np.inf if bound >= problem.target else bound), branch, ended == FINISHED, steps


@compiled
def bounded_nodes(
    space: Space,
    problem: Problem,
    kept: Mask,
    violated: Mask,
    members: Index,
    sense: Array,
    alpha: Array,
    count: Index,
    bound: Array,
    branch: Index,
    candidates: Index,
    sizes: Index,
    directions: Array,
    settled: Mask,
    found: Found,
) -> int:
    """Every node in its turn; the arrays from `kept` on are written to. Returns the steps."""
    largest, k = members.shape[1], space.across.shape[0]
    own, working = empty_set(largest), empty_set(largest)
    room = Room(
        np.zeros(k), np.zeros(len(space.right)), np.zeros(largest), np.zeros(largest),
        np.zeros(space.counted.shape[1]),
    )  # fmt: skip
    steps = 0
    for row in range(len(kept)):
        own.size[0] = count[row]
        own.members[:] = members[row]
        own.sense[:] = sense[row]
        own.alpha[:] = alpha[row]
        bound[row], norm2, more = prepared(
            space, problem, kept[row], violated[row], own, room, found, row
        )
        steps += more
        members[row] = own.members
        sense[row] = own.sense
        alpha[row] = own.alpha
        count[row] = own.size[0]
        branch[row], sizes[row] = NOBODY, 0
        if bound[row] < np.inf:
            bound[row], branch[row], candidate, more = packing(
                space, problem, kept[row], violated[row], own, working, norm2, room, found, row,
                settled[row],
            )  # fmt: skip
            steps += more
            if candidate:
                candidates[row] = working.members
                sizes[row] = working.size[0]
                directions[row] = room.v
    return steps


def space_of(points: SignedPoints) -> Space:
    """The numbers of the points as the compiled code reads them."""
    return Space(
        np.ascontiguousarray(points.rows.T), np.ascontiguousarray(points.counted), points.gram,
        points.right, points.pull, points.reach, points.doubt, points.intercept == "free",
        points.scale, unit_of_doubt(points, points.largest + 1),
    )  # fmt: skip


def bounded(
    points: SignedPoints,
    nodes: Nodes,
    *,
    penalty: float,
    target: float,
    suspects: Mask,
    until: float = np.inf,
) -> Bounded:
    """`bounded` of node_bounds.py."""
    limits = [count.most for count in points.counts if count.points.all()]
    problem = Problem(
        penalty, target, suspects, points.loose,
        np.array([c.points for c in points.counts], dtype=bool).reshape(-1, points.n),
        np.array([count.most for count in points.counts], dtype=float),
        float(min(limits, default=np.inf)),
    )  # fmt: skip
    kept, violated, sets = nodes.kept.copy(), nodes.violated.copy(), nodes.sets
    own = sets.take(np.arange(len(sets.count)))
    rows = len(kept)
    bound, branch = np.zeros(rows), np.zeros(rows, np.intp)
    candidates, sizes = np.zeros_like(own.members), np.zeros(rows, np.intp)
    directions = np.zeros((rows, points.rows.shape[1]))
    settled, width = np.zeros_like(kept), points.largest + 1
    space, steps = space_of(points), 0
    each = 2 * len(points.right) + 3  # no node has more conflicts
    watched = max(1, min(UNWATCHED, NUMBERS // (each * width)))
    room, blocks = room_for(watched * each, width), list[Conflicts]()
    for first in range(0, rows, watched):
        check_time(until)
        some = slice(first, first + watched)
        room.size[0] = 0
        steps += bounded_nodes(
            space, problem, kept[some], violated[some], own.members[some], own.sense[some],
            own.alpha[some], own.count[some], bound[some], branch[some], candidates[some],
            sizes[some], directions[some], settled[some], room,
        )  # fmt: skip
        blocks.append(copied(room, first))
    at = np.flatnonzero(sizes)
    found = [candidates[k, : sizes[k]] for k in at]
    evidence = Evidence(Conflicts.joined(blocks, width), settled)
    return Bounded(
        Nodes(kept, violated, own), bound, branch, found, directions[at], evidence, steps
    )
