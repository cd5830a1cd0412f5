"""What a cover by choices of kept points proves: its open nodes, and the least bound of all others.

A search says which nodes are split at which point, and gives evidence; here the nodes are kept, and
what is proven of them. Nothing that it says adds a bound, or loses a node.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TypeAlias

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.solvers.kernel.signed_points import (
    EPS,
    SideRows,
    SignedPoints,
    certified_norm2,
    signed_points,
)
from tightmargin.solvers.kernel.statement import SEAL

# --- What a search found out about a batch of nodes: multipliers of conflicts, any numbers at all


NOBODY = -1
PACKING, REST, KEPT = -1, -2, -3  # kinds of conflicts; from 0 on, of points that cannot be kept


@dataclass(frozen=True, eq=False)
class Conflicts:
    """K conflicts of some nodes.

    node (K,): whose conflict it is.
    kind (K,): PACKING: no two of a node share a point that the node leaves open. REST: at most one
        of a node, and it shares none with them. KEPT: of rows that the node keeps or gives up
        already. k >= 0: of the k-th round of points that the node gives up, since keeping them
        costs too much.
    point (K,): who is given up; NOBODY for the other kinds.
    members, alpha (K, m): rows of the problem and their multipliers, 0 where a place is empty.
    """

    node: Index
    kind: Index
    point: Index
    members: Index
    alpha: Array

    def take(self, some: Index | slice) -> Conflicts:
        """Some of them."""
        return Conflicts(
            self.node[some], self.kind[some], self.point[some], self.members[some],
            self.alpha[some],
        )  # fmt: skip

    @staticmethod
    def joined(parts: Sequence[Conflicts], width: int) -> Conflicts:
        """All of several, with at most `width` members each."""
        many = sum(len(part.node) for part in parts)
        node, kind, point = (np.zeros(many, np.intp) for _ in range(3))
        members, alpha = np.zeros((many, width), np.intp), np.zeros((many, width))
        first = 0
        for part in parts:
            rows, columns = slice(first, first + len(part.node)), slice(part.members.shape[1])
            node[rows], kind[rows], point[rows] = part.node, part.kind, part.point
            members[rows, columns], alpha[rows, columns] = part.members, part.alpha
            first += len(part.node)
        return Conflicts(node, kind, point, members, alpha)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is said of R nodes. Multipliers may be anything, and are judged by what they prove.

    settled (R, n + m): open points in no conflict of the packing that are to be kept, since giving
        one of them up costs too much beside it.
    """

    conflicts: Conflicts
    settled: Mask


# --- Bounds of nodes from the multipliers of their conflicts, whatever these are -----------------
# A node has points that are kept (K), points that are given up and paid for (V), and open ones. A
# hyperplane that keeps a point of V is one of the node's sibling, which keeps that point and costs
# no more: those of this node are asked for <a_i, v> <= 1 on V, and for <a_i, v> >= 1 on K. (Points
# that are paid for whatever happens, the `loose` ones, are not asked.) Let c = penalty |V|, and
# h(S) what multipliers prove of norm2 where K and S are kept beside these rows. What is proven
# with them holds in the node and below it alone. With disjoint sets S_1, S_2, ... of open points,
# h_j <= h(S_j), h_1 >= h_2 >= ..., a hyperplane of the node with norm2 below h_j violates a point
# of S_1, one of S_2, ... one of S_j. So with exactly k of the sets hit, norm2 >= h_{k+1}, and it
# costs at least
#     c + max_k min( h_1, h_2 + penalty, ..., h_k + (k - 1) penalty, h(K) + k penalty ).
# Where no more than r open points may be violated, one of S_1, ... S_{r+1} is kept whole, and the
# last term of k = r + 1 is not needed. A node is narrowed in two ways: a point is given up, where
# keeping it costs c + h({point}), and open points outside of all sets are kept, where violating
# one costs a penalty more than what the sets prove. What is cut off is told with what it costs.


NUMBERS = 4_000_000  # of the largest array at a time
LARGEST_MULTIPLIER = 1e100  # of a conflict with a larger one sums might be infinite


@dataclass(frozen=True, eq=False)
class Narrowed:
    """Nodes as the evidence leaves them.

    kept, violated (R, n + m).
    bound (R,): no hyperplane of the node costs less; infinite where there is none.
    cut (R,): nor does one that was cut off.
    """

    kept: Mask
    violated: Mask
    bound: Array
    cut: Array


def narrowed(
    points: SignedPoints,
    penalty: float,
    kept: Mask,
    violated: Mask,
    inherited: Array,
    found: Evidence,
) -> Narrowed:
    """What evidence proves of nodes, which have at least the inherited bounds.

    Raises ValueError: it names a node or a point that is not there, narrows a node by a point that
        is not open, or two conflicts of a packing share one.
    """
    some = found.conflicts
    for numbers, many in (
        (some.node, len(kept)), (some.members, kept.shape[1]),
        (some.point[some.kind >= 0], kept.shape[1]),
    ):  # fmt: skip
        if numbers.min(initial=0) < 0 or numbers.max(initial=-1) >= many:
            raise ValueError("the evidence names a node or a point that is not there")
    nodes = _Nodes(points, penalty, kept.copy(), violated.copy(), found)
    nodes.keep_counted()
    for k in np.unique(some.kind[some.kind >= 0]):
        nodes.give_up(some.take(np.flatnonzero(some.kind == k)))
    bound = nodes.packed()
    return Narrowed(
        nodes.kept, nodes.violated, np.maximum(bound, inherited), np.maximum(nodes.cut, inherited)
    )


def packed_bounds(heights: Array, own: Array, penalty: float, room: Array) -> Array:
    """The bound of the module's docstring without c, of R nodes.

    heights (R, k): h_j in any order, -inf where there is none.
    own, room (R,): h(K), and how many more points may be violated.
    """
    ordered = -np.sort(-heights, axis=1)
    hit = penalty * np.arange(heights.shape[1])
    whole = np.minimum.accumulate(ordered + hit, axis=1)
    last = np.where(
        np.arange(heights.shape[1]) == room[:, None], np.inf, own[:, None] + hit + penalty
    )
    best = np.minimum(whole, last).max(axis=1, initial=-np.inf)
    return np.asarray(np.where(room < 0, np.inf, np.maximum(own, best)))


class _Nodes:
    """A batch while its evidence is read."""

    def __init__(
        self, points: SignedPoints, penalty: float, kept: Mask, violated: Mask, found: Evidence
    ) -> None:
        self.points, self.penalty, self.found = points, penalty, found
        self.kept, self.violated = kept, violated
        self.cut = np.full(len(kept), np.inf)

    @property
    def paid(self) -> Array:
        return self.penalty * self.violated.sum(axis=1)

    @property
    def open(self) -> Mask:
        return ~(self.kept | self.violated)

    def keep_counted(self) -> None:
        """Keep what no count allows to be violated any more."""
        n = self.points.n
        for count in self.points.counts:
            full = (self.violated[:, :n] & count.points).sum(axis=1) >= count.most
            self.kept[:, :n] |= full[:, None] & count.points & ~self.violated[:, :n]

    def _crowded(self) -> Mask:
        """Nodes that give up more than some count allows."""
        found = np.zeros(len(self.kept), dtype=bool)
        for count in self.points.counts:
            given_up = (self.violated[:, : self.points.n] & count.points).sum(axis=1)
            found |= given_up > count.most
        return found

    def _room(self) -> Array:
        given_up = self.violated.sum(axis=1)
        most = [count.most for count in self.points.counts if count.points.all()]
        return np.full(len(given_up), np.inf) if not most else min(most) - given_up

    def _norm2(self, node: Index, members: Index, alpha: Array, allowed: Mask) -> Array:
        """What multipliers prove of hyperplanes that keep what is allowed beside their node's."""
        short = self._of(self.violated, node, members) & ~self.points.loose[members]
        sense = np.where(allowed, 1.0, np.where(short, -1.0, 0.0))
        alpha = np.where(np.abs(alpha) <= LARGEST_MULTIPLIER, alpha, 0.0)
        found = np.zeros(len(node))
        wide = max(1, members.shape[1] * self.points.counted.shape[1])
        for first in range(0, len(node), max(1, NUMBERS // wide)):
            some = slice(first, first + max(1, NUMBERS // wide))
            found[some] = certified_norm2(self.points, members[some], alpha[some], sense[some])
        return np.where(found >= 0, found, 0.0)

    def _of(self, mask: Mask, node: Index, members: Index) -> Mask:
        """A mask of the nodes for members of theirs."""
        return np.asarray(mask[node[:, None], members])

    def give_up(self, some: Conflicts) -> None:
        """Points of one round, each of which costs too much beside what is kept."""
        node, point, members = some.node, some.point, some.members
        if not self.open[node, point].all():
            raise ValueError("a point is given up that is not open")
        allowed = self._of(self.kept, node, members) | (members == point[:, None])
        costs = self.paid[node] + self._norm2(node, members, some.alpha, allowed)
        np.minimum.at(self.cut, node, costs)
        self.violated[node, point] = True

    def packed(self) -> Array:
        """The bounds of all conflicts, after which settled points are kept."""
        found, own = self.found, np.zeros(len(self.kept))
        some = found.conflicts.take(np.flatnonzero(found.conflicts.kind < 0))
        node, members = some.node, some.members
        free = self.open
        is_open = self._of(free, node, members)
        allowed = is_open | self._of(self.kept, node, members)
        height = self._norm2(node, members, some.alpha, allowed)
        used = is_open & (some.alpha > 0)
        if self._most_used(node, members, used) > 1:
            raise ValueError("two conflicts of a packing share a point")
        alone = np.asarray(~used.any(axis=1))  # it needs nothing of the open points
        np.maximum.at(own, node[alone], height[alone])
        paid, room = self.paid, self._room()
        bound = paid + self._bounds(node, height, np.asarray(~alone), own, room)
        if found.settled.any():
            sets = ~alone & (some.kind == PACKING)
            cost = paid + self.penalty + self._bounds(node, height, sets, own, room - 1)
            in_sets = self._mask(node[sets], members[sets], used[sets])
            if (found.settled & ~(free & ~in_sets)).any():
                raise ValueError("a point is settled that is not open, or in a conflict")
            settled = found.settled.any(axis=1)
            self.cut[settled] = np.minimum(self.cut, cost)[settled]
            self.kept |= found.settled
        return np.where(self._crowded(), np.inf, bound)

    def _most_used(self, node: Index, members: Index, used: Mask) -> int:
        """How often an open point of a node is used at most."""
        row, place = np.nonzero(used)
        times = np.bincount(node[row] * self.kept.shape[1] + members[row, place])
        return int(times.max(initial=0))

    def _mask(self, node: Index, members: Index, used: Mask) -> Mask:
        found = np.zeros_like(self.kept)
        row, place = np.nonzero(used)
        found[node[row], members[row, place]] = True
        return found

    def _bounds(self, node: Index, height: Array, some: Mask, own: Array, room: Array) -> Array:
        """packed_bounds of the conflicts that `some` says."""
        node, height = node[some], height[some]
        order = np.argsort(node, kind="stable")
        node, height = node[order], height[order]
        many = np.bincount(node, minlength=len(own))
        place = np.arange(len(node)) - np.repeat(np.cumsum(many) - many, many)
        heights = np.full((len(own), int(many.max(initial=0))), -np.inf)
        heights[node, place] = height
        return packed_bounds(heights, own, self.penalty, room)


# --- The 0-1 problem of which a cover speaks -----------------------------------------------------
#     min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}
# over the hyperplanes that meet side rows. A point pays where its margin is below 1; what is said
# of its z is that it is kept, that it is paid for whatever happens, or that at most so many of
# some points pay. So keeping one more point never hurts.


ROUNDED = 8 * EPS  # of the sums of a node; norms are rounded down already


@dataclass(frozen=True, eq=False)
class PackingProblem:
    """Points, price and side rows.

    penalty: what a point costs that is given up; above 0.
    intercept: "penalised", "free" or "none".
    Raises ValueError: weighted points, or a price that is no positive number: they are counted one
        by one.
    """

    data: TrainingData
    penalty: float
    intercept: str
    side: SideRows

    def __post_init__(self) -> None:
        """Refuse what a packing does not bound."""
        if is_weighted(self.data) or not 0 < self.penalty < np.inf:
            raise ValueError("packings bound points of one positive price, each counted once")

    @cached_property
    def name(self) -> str:
        """The same for equal problems alone."""
        side = self.side
        found = sha256(repr((self.penalty, self.intercept, self.data.X.shape)).encode())
        for numbers in (
            self.data.X, self.data.y, side.weights, side.of_b, side.most, side.kept, side.paid,
            side.moved,
        ):  # fmt: skip
            found.update(repr(numbers.shape).encode() + np.ascontiguousarray(numbers).tobytes())
        for points, most in side.counts:
            found.update(np.packbits(points).tobytes() + str(most).encode())
        return found.hexdigest()

    @property
    def rounded(self) -> float:
        """Share of a bound that rounding may have added to it.

        A model adds up what points that are paid for cost, one by one.
        """
        return ROUNDED + EPS * int(self.side.paid.sum())

    def coordinates(self, shift: float = 0.0) -> SignedPoints:
        """Rows of all points and side rows; a free intercept is searched near a shift."""
        return signed_points(self.data, intercept=self.intercept, side=self.side, shift=shift)

    def part(self, own: Index, many: int) -> PackingProblem:
        """Some of the points at so many times their price: all rows of w and b, and no counts."""
        side = self.side
        beside = replace(
            side, kept=side.kept[own], paid=side.paid[own], moved=side.moved[own], counts=(),
            constant=0.0,
        )  # fmt: skip
        some = TrainingData(self.data.X[own], self.data.y[own])
        return PackingProblem(some, many * self.penalty, self.intercept, beside)


WORDS = "conflict search over"
COVERED = "the open nodes and the closed ones hold every hyperplane, each with a bound proven anew"
SHARED = "every point is in one part, and norm2 is shared among the parts"

# Bound, number, kept and violated points as bits, and what a search wants to know of the node.
OpenNode: TypeAlias = tuple[float, int, bytes, bytes]


@dataclass(frozen=True, eq=False)
class Remainder:
    """What is left of some nodes after a search below them, in whatever process; the kernel's own.

    problem: the name of the problem.
    begun (bound, bytes): the nodes.
    open: with which they are covered, beside what is closed.
    closed: least bound of that.
    nodes: bounded.
    """

    problem: str
    begun: tuple[tuple[float, bytes], ...]
    open: tuple[OpenNode, ...]
    closed: float
    nodes: int
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        """Refuse everybody who does not hold the seal."""
        if seal is not SEAL:
            raise TypeError("what is left of nodes is told by the cover that they are in")


class PackingCover:
    """The nodes of one problem, at first its root, which is taken.

    shift: of its coordinates.
    """

    def __init__(self, problem: PackingProblem, shift: float = 0.0) -> None:
        self._begin(problem, problem.coordinates(shift))

    def _begin(self, problem: PackingProblem, points: SignedPoints) -> None:
        self.problem, self.points, self.whole = problem, points, True
        self._kept, self._given_up = problem.side.kept, problem.side.paid
        self._known = 0.0  # from before it began again
        self._parts: list[tuple[Index, PackingCover]] = []
        self._many = 1
        self.nodes = self._numbered = 0
        self.parts = 1  # of the points, whose bounds add up to the value
        self._begun: tuple[tuple[float, bytes], ...] | None = None
        self._closed = np.inf
        self._waiting: list[OpenNode] = []
        self._taken: dict[int, OpenNode] = {}
        self._open_root()

    def among(self, kept: Mask, given_up: Mask) -> PackingCover:
        """A cover of hyperplanes that decide more points; nothing is proven of the problem."""
        cover = PackingCover.__new__(PackingCover)
        cover._begin(self.problem, self.points)
        cover.whole = False
        cover._kept, cover._given_up = cover._kept | kept, cover._given_up | given_up
        cover._open_root()
        return cover

    def below(self, nodes: Sequence[OpenNode]) -> PackingCover:
        """A cover of some nodes of another one of the same problem."""
        cover = PackingCover.__new__(PackingCover)
        cover._begin(self.problem, self.points)
        cover.whole = False
        cover._begun = tuple((bound, masks) for bound, _, masks, _ in nodes)
        cover._numbered = 1 + max((number for _, number, _, _ in nodes), default=0)
        cover._waiting, cover._taken = list(nodes), {}
        heapq.heapify(cover._waiting)
        return cover

    def _open_root(self) -> None:
        m = len(self.points.right) - self.points.n
        kept = np.r_[self._kept, np.ones(m, dtype=bool)]
        violated = np.r_[self._given_up, np.zeros(m, dtype=bool)]
        self._numbered += 1
        root = (0.0, self._numbered, packed_masks(kept[None], violated[None])[0], b"")
        self._taken = {self._numbered: root}
        self._waiting = []

    def begin_again(self) -> None:
        """From the root, which is taken; what is proven stays so."""
        self._known = max(self._known, self._least())
        self._closed = np.inf
        self._open_root()

    # --- nodes ---

    @property
    def least_waiting(self) -> float:
        """Least bound of the nodes that nobody has taken."""
        return self._waiting[0][0] if self._waiting else np.inf

    @property
    def waiting(self) -> int:
        """How many nodes nobody has taken."""
        return len(self._waiting)

    @property
    def taken(self) -> list[OpenNode]:
        """The nodes that are taken; at first the root."""
        return list(self._taken.values())

    def take(self, many: int, below: float) -> list[OpenNode]:
        """Up to so many nodes, least bound first, which stay open until they are split."""
        found: list[OpenNode] = []
        while len(found) < many and self.least_waiting < below:
            node = self._waiting[0]
            self._taken[node[1]] = node  # first, so that an interrupt loses no node
            found.append(node)
            heapq.heappop(self._waiting)
        return found

    def put_back(self, nodes: Sequence[OpenNode]) -> None:
        """Nodes that are taken still wait again."""
        for _, number, _, _ in nodes:
            if number in self._taken:
                heapq.heappush(self._waiting, self._taken[number])
                del self._taken[number]

    def masks(self, nodes: Sequence[OpenNode]) -> tuple[Mask, Mask]:
        """Kept and violated rows of some nodes, (R, n + m) each."""
        return _unpacked([node[2] for node in nodes], len(self.points.right))

    def narrow_root(self, found: Evidence, notes: Sequence[bytes | None]) -> None:
        """The root as evidence leaves it; without a note it is closed at its bound."""
        (root,) = self.taken
        kept, violated = self.masks([root])
        self._replace([root], kept, violated, np.zeros(1), found, notes)

    def split(
        self,
        nodes: Sequence[OpenNode],
        points: Index,
        found: Evidence,
        notes: Sequence[bytes | None],
    ) -> None:
        """Taken nodes in two: their point is kept in one half, and given up in the other.

        nodes: what counts of them is their number alone.
        points (R,).
        found: of the halves that keep their points, then of the others.
        notes: none closes a half at its bound.
        Raises ValueError: a point is not open, or the evidence is none.
        """
        nodes = [self._taken[number] for _, number, _, _ in nodes]
        kept, violated = self.masks(nodes)
        each = np.arange(len(nodes))
        if (kept | violated)[each, points].any():
            raise ValueError("a node is split at a point that is not open")
        more_kept, more_violated = kept.copy(), violated.copy()
        more_kept[each, points] = True
        more_violated[each, points] = True
        self._replace(
            nodes,
            np.vstack([more_kept, kept]),
            np.vstack([violated, more_violated]),
            np.array([node[0] for node in nodes] * 2),
            found,
            notes,
        )

    def _replace(
        self,
        nodes: Sequence[OpenNode],
        kept: Mask,
        violated: Mask,
        inherited: Array,
        found: Evidence,
        notes: Sequence[bytes | None],
    ) -> None:
        """New nodes in the place of taken ones; an interrupt on the way loses none."""
        new = narrowed(self.points, self.problem.penalty, kept, violated, inherited, found)
        masks = packed_masks(new.kept, new.violated)
        closed = float(new.cut.min(initial=np.inf))
        opened: list[OpenNode] = []
        for bound, note, bits in zip(new.bound.tolist(), notes, masks, strict=True):
            if note is None:
                closed = min(closed, bound)
            elif bound < np.inf:
                self._numbered += 1
                opened.append((bound, self._numbered, bits, note))
        self._closed = min(self._closed, closed)
        for node in opened:
            heapq.heappush(self._waiting, node)
        for _, number, _, _ in nodes:
            del self._taken[number]
        self.nodes += len(kept)

    # --- nodes that others search below ---

    def remainder(self) -> Remainder:
        """What is left of the nodes that it began with."""
        assert self._begun is not None
        left = (*self._waiting, *self._taken.values())
        return Remainder(self.problem.name, self._begun, left, self._closed, self.nodes, seal=SEAL)

    def take_back(self, nodes: Sequence[OpenNode], left: Remainder) -> None:
        """What is left of taken nodes in their place.

        Raises ValueError: it is left of others.
        """
        own = tuple((node[0], node[2]) for node in (self._taken[k] for _, k, _, _ in nodes))
        if left.problem != self.problem.name or left.begun != own:
            raise ValueError("what comes back is not what is left of the nodes that were lent")
        self._closed = min(self._closed, left.closed)
        for bound, _, masks, note in left.open:
            self._numbered += 1
            heapq.heappush(self._waiting, (bound, self._numbered, masks, note))
        for _, number, _, _ in nodes:
            del self._taken[number]
        self.nodes += left.nodes

    # --- what is proven ---

    def add_parts(self, many: int) -> None:
        """From now on covers of so many parts of the points may be added."""
        self._keep_shares()
        self._parts, self._many = [], many

    def add_part(self, own: Index, cover: PackingCover) -> None:
        """The cover of one of the parts; what it proves later on counts as well.

        Raises
        ------
        ValueError
            A point is in another part, there are more parts than were to be, or the cover is one of
        another problem.
        """
        if len(self._parts) >= self._many or own.min(initial=0) < 0:
            raise ValueError(f"it is none of {self._many} parts of the points")
        before = np.concatenate([np.zeros(0, np.intp), *(points for points, _ in self._parts)])
        if len(np.unique(np.r_[before, own])) < len(before) + len(own):
            raise ValueError("a point is in two parts")
        if not cover.whole or cover.problem.name != self.problem.part(own, self._many).name:
            raise ValueError("the cover is not that of the part")
        self._parts.append((own, cover))

    def _shares(self) -> float:
        """What covers of parts prove together; parts without one prove 0."""
        if not self._parts:
            return 0.0
        proven = [cover.value for _, cover in self._parts]
        return float(sum(proven)) / self._many * (1 - 2 * EPS * (len(proven) + 1))

    def _keep_shares(self) -> None:
        together = self._shares()
        if together > max(self._known, self._least()):
            self._known, self.parts = together, self._many

    def _least(self) -> float:
        """Of all nodes, less what rounding may have added."""
        taken = (node[0] for node in self._taken.values())
        least = min(self._closed, self.least_waiting, min(taken, default=np.inf))
        return float(least * (1 - self.problem.rounded)) if np.isfinite(least) else np.inf

    @property
    def value(self) -> float:
        """A number that no objective is below; infinite where there is no hyperplane."""
        self._keep_shares()
        least = self._least()
        if least > self._known:
            self._known, self.parts = least, 1
        return self._known

    def lemma(self, ceiling: float) -> Lemma | None:
        """The value as a lemma, at most `ceiling`; None where it says nothing of the problem."""
        value = min(self.value, ceiling)
        if not self.whole or not np.isfinite(value):
            return None
        words = f"{WORDS} {count_text(self.nodes, 'node')}{in_parts(self.parts)}"
        return Lemma(value, words, {COVERED: True} | ({SHARED: True} if self.parts > 1 else {}))


def in_parts(parts: int) -> str:
    """Words for a bound that adds up those of several parts."""
    return "" if parts == 1 else f", the points in {count_text(parts, 'part')}"


def packed_masks(kept: Mask, violated: Mask) -> list[bytes]:
    """Both masks of each node as bits."""
    both = np.packbits(np.stack([kept, violated], axis=1), axis=2)
    return [row.tobytes() for row in both]


def _unpacked(rows: Sequence[bytes], n: int) -> tuple[Mask, Mask]:
    width = -(-n // 8)
    bits = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), 2, width)
    both = np.unpackbits(bits, axis=2, count=n).astype(bool)
    return both[:, 0], both[:, 1]
