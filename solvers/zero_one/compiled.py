"""Room for the conflicts of some nodes, which compiled code fills."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.kernel.cones import DOWN, Cells, ProvenConflict
from tightmargin.solvers.kernel.conflicts import KEPT, NOBODY, PACKING, REST, Conflicts, Evidence
from tightmargin.solvers.kernel.signed_points import (
    EPS,
    LEAST,
    SignedPoints,
    signed_points,
    unit_of_doubt,
)
from tightmargin.solvers.zero_one.node_bounds import (
    DEPENDENT,
    PROBES,
    SINGULAR,
    STEPS,
    SURELY,
    VIOLATED,
    Bounded,
    Nodes,
    NotCompiledError,
    check_time,
    empty_sets,
)

# --- Working sets and what they prove, for a compiler: what signed_points.py says, to rounding ---
# numba compiles these files when it is asked to (`tightmargin solvers --compile`) and keeps the
# outcome beside them: after a change of one of them, delete what it has kept
# (`rm __pycache__/*.nb?`). A search loads what is kept and never compiles. The mathematics
# stands in node_bounds.py and signed_points.py, which are the reference; here are
# their loops. Every sum is rounded as theirs are, in another order, and gives away as much.
# A working set is (members, sense, alpha, count) in arrays of its own, with the Cholesky factor L
# of its inner products: a member that enters adds a row to L, one that leaves has what is behind
# it factored again.


TRACE = 1e-13  # of the diagonal, as in kept_gram

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Load at the first call what numba keeps, or compile and keep it."""
    words: dict[str, Any] = {"error_model": "numpy"}
    try:
        return cast(F, njit(cache=True, **words)(function))
    except RuntimeError:  # no folder for the outcome can be written to
        return cast(F, njit(**words)(function))


class _Refusal(event.Listener):
    """Ends a compilation of ours before it begins."""

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"]
        if function.__module__.startswith(__package__):
            raise NotCompiledError(function.__name__)

    def on_end(self, event: Any) -> None:
        pass


def loaded_only() -> AbstractContextManager[Any]:
    """Where calls load what numba keeps; NotCompiledError where it keeps nothing."""
    return cast("AbstractContextManager[Any]", event.install_listener("numba:compile", _Refusal()))


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


class Found(NamedTuple):
    """The fields of Conflicts; how many there are is an array of one number, since it changes."""

    node: Index
    kind: Index
    point: Index
    members: Index
    alpha: Array
    size: Index


@compiled
def noted(found: Found, node: int, kind: int, point: int, working: WorkingSet) -> None:
    """One conflict more."""
    at = found.size[0]
    found.node[at], found.kind[at], found.point[at] = node, kind, point
    found.members[at] = 0
    found.alpha[at] = 0.0
    for i in range(working.size[0]):
        found.members[at, i] = working.members[i]
        found.alpha[at, i] = working.alpha[i]
    found.size[0] = at + 1


def room_for(many: int, width: int) -> Found:
    """Room for so many conflicts."""
    node, kind, point = (np.zeros(many, np.intp) for _ in range(3))
    size = np.zeros(1, np.intp)
    return Found(node, kind, point, np.zeros((many, width), np.intp), np.zeros((many, width)), size)


def copied(found: Found, first: int) -> Conflicts:
    """What is there, its nodes counted from `first`."""
    used = slice(found.size[0])
    return Conflicts(
        found.node[used] + first, found.kind[used].copy(), found.point[used].copy(),
        found.members[used].copy(), found.alpha[used].copy(),
    )  # fmt: skip


# --- The dual active-set method of node_bounds.py for a compiler, one problem at a time -----------


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


# --- Points that cannot be kept, as in node_bounds.py, for a compiler ----------------------------


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


# --- The stages of node_bounds.py for a compiler, node by node; what it proves is the same -------


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


def compile_nodes() -> None:
    """Compile `bounded`, which takes a minute or two, unless numba keeps it."""
    data = TrainingData(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]))
    points = signed_points(data, intercept="free")
    nobody = np.zeros((1, 2), bool)
    nodes = Nodes(nobody, nobody, empty_sets(points, 1))
    bounded(points, nodes, penalty=1.0, target=9.0, suspects=nobody[0], within=nullcontext())


def bounded(
    points: SignedPoints,
    nodes: Nodes,
    *,
    penalty: float,
    target: float,
    suspects: Mask,
    until: float = np.inf,
    within: AbstractContextManager[Any] | None = None,
) -> Bounded:
    """`bounded` of node_bounds.py, with numbers equal to rounding; within `loaded_only`."""
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
        with within or loaded_only():
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


# --- The costs of cells in a band again, cell by cell for a compiler ------------------------------
# Each pair of thresholds is one rounded sum and each number of points one quotient and two
# products, as there, and what is compared is the same: so bounds are equal to the last bit. The
# kernel, which proves the cover in the end, uses its own.


REACH = 2.0 * DOWN


def cheapest_levels(
    cells: Cells,
    ends: tuple[Array, Array],
    nearest: tuple[Array, Array],
    levels: int,
    conflict: ProvenConflict | None,
) -> Array:
    """What `cheapest_levels` of the kernel says."""
    price = cells.problem.price
    assert price is not None
    near = [np.ascontiguousarray(part[:, 0]) for part in nearest]
    first, second = (np.ascontiguousarray(part) for part in ends)
    square, dearer = (0.0, 0.0) if conflict is None else (conflict.square, conflict.price)
    m, low, high = (np.ascontiguousarray(part) for part in (cells.m, cells.low, cells.high))
    with loaded_only():
        return _cheapest(
            first, second, near[0], near[1], levels, m, low, high, float(price),
            conflict is not None, float(square), float(dearer),
        )  # fmt: skip


def compile_levels() -> None:
    """Compile `cheapest_levels`, which takes seconds, unless numba keeps it."""
    one, row = np.zeros(1), np.zeros((1, 1))
    _cheapest(row, row, one, one, 0, one, one, one, 1.0, False, 0.0, 0.0)


@compiled
def _widen(widths: Array, first: Array, second: Array) -> None:
    """Raise each width k to the largest first_a + second_b with a + b = k."""
    count = len(widths)
    for a in range(min(len(first), count)):
        end = first[a]
        for b in range(min(len(second), count - a)):
            width = end + second[b]
            widths[a + b] = width if width > widths[a + b] else widths[a + b]


@compiled
def _cost(width: float, m: float, low: float, high: float, lost: float) -> float:
    """`Cells.costs` of one width."""
    if width <= 0:
        return np.inf
    t = REACH / width
    if t > high:
        return np.inf
    t = max(t, low)
    return m * t * t + lost if t < np.inf else np.inf


@compiled
def _cheapest(
    first: Array,
    second: Array,
    near_first: Array,
    near_second: Array,
    levels: int,
    m: Array,
    low: Array,
    high: Array,
    price: float,
    known: bool,
    square: float,
    dearer: float,
) -> Array:
    """Of the pairs of thresholds, `whole` are those that keep all points of the conflict."""
    count = min(levels, first.shape[1] + second.shape[1] - 2) + 1
    found = np.full(len(first), np.inf)
    whole, apart = np.empty(count), np.empty(count)
    for i in range(len(first)):
        whole[:] = -np.inf
        apart[:] = -np.inf
        p, q = 0, 0
        if known:
            p = min(count, np.searchsorted(first[i], near_first[i], side="right"))
            q = min(count, np.searchsorted(second[i], near_second[i], side="right"))
        # Loops over slices from 0 on are what the compiler makes vectors of.
        _widen(whole, first[i, :p], second[i, :q])
        _widen(apart[q:], first[i, :p], second[i, q:])
        _widen(apart[p:], first[i, p:], second[i])
        for k in range(count):
            lost = price * k
            if lost >= found[i]:
                break
            cost = _cost(apart[k], m[i], low[i], high[i], lost)
            if known:
                own = _cost(whole[k], m[i], low[i], high[i], lost)
                cost = min(cost, own + dearer, max(own, lost + square))
            found[i] = min(found[i], cost)
    return found
