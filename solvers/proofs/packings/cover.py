"""What a cover by choices of kept points proves: its open nodes, and the least bound of all others.

A search says which nodes are split at which point, and gives evidence; here the nodes are kept, and
what is proven of them. Nothing that it says adds a bound, or loses a node.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from typing import TypeAlias

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.lemma import Lemma
from tightmargin.number_words import count_text
from tightmargin.solvers.proofs.packings.evidence import Evidence
from tightmargin.solvers.proofs.packings.node_bounds import narrowed
from tightmargin.solvers.proofs.packings.problem import PackingProblem
from tightmargin.solvers.proofs.packings.signed_points import EPS, SignedPoints
from tightmargin.solvers.proofs.statement import SEAL

WORDS = "conflict search over"
COVERED = "the open nodes and the closed ones hold every hyperplane, each with a bound proven anew"
SHARED = "every point is in one part, and norm2 is shared among the parts"

# Bound, number, kept and violated points as bits, and what a search wants to know of the node.
OpenNode: TypeAlias = tuple[float, int, bytes, bytes]


@dataclass(frozen=True, eq=False)
class Remainder:
    """What is left of some nodes after a search below them, in whatever process; the kernel's own.

    Attributes
    ----------
    problem : str
        The name of the problem.
    begun : tuple of (bound, bytes)
        The nodes.
    open : tuple of OpenNode
        With which they are covered, beside what is closed.
    closed : float
        Least bound of that.
    nodes : int
        Bounded.
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

    Parameters
    ----------
    problem : PackingProblem
    shift : float
        Of its coordinates.
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

        Parameters
        ----------
        nodes : sequence of R nodes
            What counts of them is their number alone.
        points : array (R,) of int
        found : Evidence
            Of the halves that keep their points, then of the others.
        notes : sequence of 2 R bytes or None
            None closes a half at its bound.

        Raises
        ------
        ValueError
            A point is not open, or the evidence is none.
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

        Raises
        ------
        ValueError
            It is left of others.
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
