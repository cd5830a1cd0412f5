"""The proof file of a 0-1 or ramp result that cones of directions prove; checker.py has the format.

Edited models have one too where rows of w and b and limits of them were added and no more: each is
named by its row or column. Fixed columns are none of a file's, and so is a decision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, takewhile
from typing import Any, TypeAlias

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.solvers.certify.case import SEARCH_GAP, Case
from tightmargin.solvers.edits.searches import Statements
from tightmargin.solvers.exact import rounded_down
from tightmargin.solvers.kernel.cones import Caps, ConeProblem, Conflict, proven
from tightmargin.solvers.kernel.conflicts import KEPT, PACKING, REST, Evidence, packed_masks
from tightmargin.solvers.kernel.conflicts import WORDS as CONFLICTS
from tightmargin.solvers.kernel.signed_points import SideRows
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.proof_files.checker import Model, Packings
from tightmargin.solvers.proof_files.write import (
    NotProvenError,
    begun,
    claim_between,
    rounded_end,
    text,
)
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.result_proof import coordinates, register_document
from tightmargin.solvers.zero_one.cones import RAMP, ConeSearch, by_cones, cones_of, suits
from tightmargin.solvers.zero_one.conflicts import FEWEST, Tree, larger_splits
from tightmargin.solvers.zero_one.conflicts import POINTS as POINTS_OF_A_PART
from tightmargin.solvers.zero_one.node_bounds import Bounded, Nodes

# --- What proof files of 0-1 models have in common: the rows that keep points, and the claim -----


ZERO_ONE = ("zero_one_big_m", "zero_one_bilinear")
# Rows that keep a point.
ROWS = {"zero_one_big_m": "margin", "zero_one_bilinear": "kept", "ramp_big_m": "margin"}


def origin_of(case: Case) -> Origin:
    """Of a case whose family writes its files."""
    assert case.origin is not None
    return case.origin


def hyperplane_of(result: SolveResult) -> tuple[Array, float]:
    """The hyperplane of a result.

    Raises NotProvenError: it holds no point.
    """
    if not result.values:
        raise NotProvenError(f"the result is {result.status}, and holds no point")
    b = result.values.get("b")
    return result.values["w"], 0.0 if b is None else float(b)


def _numbered_names(names: Sequence[str], component: str) -> list[int]:
    """Places of the elements 0, 1, ... of a component; of a single one its own."""
    places = {name: k for k, name in enumerate(names)}
    if component in places:
        return [places[component]]
    return list(takewhile(lambda k: k >= 0, (places.get(f"{component}[{i}]", -1) for i in count())))


def columns_of(case: Case) -> tuple[list[int], int | None]:
    """The columns whose squares are priced, and that of an intercept that is not."""
    names = case.form.columns.names()
    columns, of_b = _numbered_names(names, "w"), _numbered_names(names, "b")
    if not of_b:
        return columns, None
    if origin_of(case).parameters["intercept"] == "free":
        return columns, of_b[0]
    return [*columns, of_b[0]], None


def point_rows(form: StandardForm, origin: Origin) -> list[list[Any]]:
    """For each point its row, its z, and the side of the row where it is a quadratic one.

    Raises NotProvenError: some point has no row.
    """
    z, lines = _numbered_names(form.columns.names(), "z"), form.rows.names()
    places = {name: [k] for k, name in enumerate(lines)}  # a bilinear one too, of a point at 0
    curved = {row.data.name: k for k, row in enumerate(form.quadratic)}
    found = []
    for i, column in enumerate(z):
        name = f"{ROWS[origin.entry]}[{i}]"
        if name not in places and name not in curved:
            raise NotProvenError("some point has no row in the model")
        own = [*places[name], column] if name in places else [curved[name], column, "upper"]
        found.append(own)
    return found


def with_claim(
    document: dict[str, Any], case: Case, result: SolveResult, lower: Fraction
) -> dict[str, Any]:
    """A document with what it claims: between `lower` and the point of a result.

    lower: without the constant of the objective.
    """
    point = coordinates(case, result)
    if point is None:
        return document | {"claim": {"kind": "bounds", "lower": text(lower)}}
    model, x = Model(document["model"]), point.numbers
    upper = rounded_end(model, model.objective.value(model.feasible(x)), 1)
    return document | {
        "claim": claim_between(model, lower, upper, case.limits.absolute_gap),
        "point": [text(value) for value in x],
    }


LONGEST = 200_000  # cells, which take the checker some minutes


@dataclass(frozen=True, eq=False)
class Beside:
    """What an edit adds: as the search takes it, and as it stands in the model."""

    side: SideRows
    statements: Statements


def cones_suit_a_file(origin: Origin, side: SideRows | None = None) -> bool:
    """Whether cones prove a model that one row a point states."""
    decided = side is not None and (
        side.kept.any() or side.paid.any() or side.counts or side.moved.any()
    )
    return origin.entry in ROWS and not decided and suits(origin, side)


def cone_document(
    case: Case, origin: Origin, result: SolveResult, seconds: float | None, beside: Beside | None
) -> dict[str, Any]:
    """The proof of a result of a model as it is built, or beside what an edit adds.

    seconds: for the search, which starts from the result's hyperplane.
    Raises NotProvenError: nothing is proven, the cells are too many, the result holds no point, or
        two points of different classes in one place of a ramp loss cost something whatever is done.
    """
    w, b = hyperplane_of(result)
    side = None if beside is None else beside.side
    problem = cones_of(origin, side)
    if problem.constant:
        raise NotProvenError("points of different classes are in one place")
    # More cells than a file holds are of no use to it.
    found = by_cones(origin, seconds, side, cell_limit=LONGEST, incumbent=(w, b))
    if found.lemma is None or found.cover.cells > LONGEST:
        raise NotProvenError(
            f"cones of directions prove a gap of {100 * found.gap:.2g} % in {found.cover.cells:,} "
            f"cells, and a file holds {LONGEST:,}"
        )
    document = begun(case.form)
    document["directed"] = directed(case, origin, problem, found, beside)
    lower = Fraction(found.bound) - Fraction(case.form.objective.constant)
    return with_claim(document, case, result, lower)


def directed(
    case: Case, origin: Origin, problem: ConeProblem, found: ConeSearch, beside: Beside | None
) -> dict[str, Any]:
    """The cover with what names its points, and the rows beside them, in the model."""
    form, names = case.form, case.form.columns.names()
    columns, of_b = _numbered_names(names, "w"), _numbered_names(names, "b")
    b = of_b[0] if of_b else None
    if problem.k > len(columns) and b is not None:
        columns.append(b)
    rows = point_rows(form, origin)
    centre = np.r_[problem.centre, np.zeros(len(columns) - len(problem.centre))]
    order = problem.order.tolist()
    document = {
        "columns": columns,
        "units": [text(value) for value in problem.units.tolist()],
        "centre": [text(value) for value in centre.tolist()],
        "intercept": b if problem.band else None,
        "points": [rows[i] for i in order],
        "bits": "".join("1" if bit else "0" for bit in found.cover.bits.tolist()),
        # One that rounding has left without a word is none.
        "conflicts": [
            _known(part)
            for part in found.cover.known
            if isinstance(part, Conflict) and proven(problem, [part])
        ],
    }
    if beside is not None:
        document["beside"] = _sides(case, beside.statements)
    if origin.entry == RAMP:
        slacks = _numbered_names(names, "xi")
        document["slacks"] = [slacks[i] for i in order]
        document["caps"] = [
            {**_known(part), "capped": part.capped.tolist()}
            for part in found.cover.known
            if isinstance(part, Caps)
        ]
    return document


def _known(part: Conflict | Caps) -> dict[str, Any]:
    rows = [[k, text(value)] for k, value in enumerate(part.of_rows.tolist()) if value]
    return {
        "points": part.points.tolist(),
        "multipliers": [text(a) for a in part.alpha.tolist()],
        **({"rows": rows} if rows else {}),
    }


def _sides(case: Case, statements: Statements) -> list[list[Any]]:
    """The rows and limits in the order in which SideRows has them: upper sides, then lower ones."""
    form = case.form
    upper: list[list[Any]] = []
    lower: list[list[Any]] = []
    rows = {name: k for k, name in enumerate(form.rows.names())}
    columns = {name: j for j, name in enumerate(form.columns.names())}
    for part in statements:
        assert part.statement is not None
        kind, *rest = part.statement
        if kind in ("lower", "upper"):
            (upper if kind == "upper" else lower).append(["column", columns[rest[0]], kind])
            continue
        _, _, low, high = rest
        if part.name not in rows:
            raise NotProvenError(f"row {part.name} is stated otherwise in the model")
        upper += [["row", rows[part.name], "upper"]] if high < np.inf else []
        lower += [["row", rows[part.name], "lower"]] if low > -np.inf else []
    return [*upper, *lower]


# --- What proves the bounds of a batch of nodes: the conflicts that were found, with multipliers


RecordedConflict: TypeAlias = tuple[tuple[int, int], ...]

UNIT = 2.0**40  # of the largest multiplier: norms are off by a share of some 1e-9 at most


@dataclass(eq=False)
class NodeRecord:
    """Of one node.

    given_up (point, conflict): points that cannot be kept, in order, and what keeping each with the
        kept ones costs.
    packing: disjoint in the points that are not kept.
    rest: what keeping all points costs that the packing leaves.
    kept: of the points that are kept.
    """

    given_up: list[tuple[int, RecordedConflict]] = field(default_factory=list)
    packing: list[RecordedConflict] = field(default_factory=list)
    rest: RecordedConflict | None = None
    kept: RecordedConflict = ()


def records_of(found: Evidence) -> list[NodeRecord]:
    """The conflicts of each node."""
    records, some = [NodeRecord() for _ in found.settled], found.conflicts
    for k in np.argsort(some.kind, kind="stable").tolist():
        record, conflict = records[some.node[k]], conflict_of(some.members[k], some.alpha[k])
        if some.kind[k] == PACKING:
            record.packing.append(conflict)
        elif some.kind[k] == REST:
            record.rest = conflict
        elif some.kind[k] == KEPT:
            record.kept = conflict
        else:
            record.given_up.append((int(some.point[k]), conflict))
    return records


def conflict_of(members: Index, alpha: Array) -> RecordedConflict:
    """Points with their multipliers as whole numbers, as conflicts are the same in any unit.

    members (m,).
    alpha (m,): negative for points that are given up; 0 says nothing.
    """
    largest = float(np.abs(alpha).max(initial=0.0))
    if largest == 0.0:
        return ()
    numbers = np.rint(alpha * (UNIT / largest)).astype(np.int64)
    pairs = zip(members.tolist(), numbers.tolist(), strict=True)
    return tuple(sorted((i, a) for i, a in pairs if a))


# --- The search once more below an optimum that is known, with what proves the bound of each node
# Recording is left out of the search itself: it would hold conflicts of every node in memory, for
# files that are rarely asked for, and many of its nodes are of the time before the best hyperplane
# was found. With that one as the cutoff the tree does not depend on the order of its nodes, and is
# smaller.


@dataclass(eq=False)
class Node:
    """What a file needs of a node; sets of points are the bits of a number.

    kept: points that the branches above keep.
    fixed: points that are kept besides: giving one of them up costs too much beside the packing.
    given_up (point, conflict): points that cannot be kept, in order.
    packing: those that are proven to reach the target, and the one of `kept` last.
    rest: what keeping all points costs that the packing leaves.
    halves (int, int): nodes in which the branch is kept and given up; None where it is not split.
    """

    kept: int
    fixed: int
    given_up: list[tuple[int, RecordedConflict]]
    packing: list[RecordedConflict]
    rest: RecordedConflict | None
    branch: int
    halves: tuple[int, int] | None = None

    @property
    def chain(self) -> list[RecordedConflict]:
        """The conflicts that bound the node."""
        if self.rest is None:
            return self.packing
        return [*self.packing[:-1], self.rest, self.packing[-1]]


class RecordedTree(Tree):
    """A tree whose nodes are kept, with their conflicts.

    written: the root first, halves after the node they are of.
    size: splits and leaves of a file, before any is found to be needless.
    interrupted: by Ctrl-C.
    """

    def __init__(self, data: TrainingData, penalty: float, intercept: str, gap: float) -> None:
        super().__init__(data, penalty, intercept, gap, SideRows.nothing(data.n, data.d))
        self.written: list[Node] = []
        self.size = 0
        self.interrupted = False
        self._place: dict[bytes, int] = {}  # of open nodes, by what they keep and give up

    def _bounded(self, nodes: Nodes, until: float) -> Bounded:
        """Bound nodes, those that keep their branch first, and write them down."""
        found = super()._bounded(nodes, until)
        records = records_of(found.evidence)
        masks = packed_masks(found.nodes.kept, found.nodes.violated)
        first = len(self.written)
        kept, after = _bits(nodes.kept), _bits(found.nodes.kept)
        new: list[Node] = []
        for k, record in enumerate(records):
            branch = int(found.branch[k])
            if np.isfinite(found.bound[k]) and branch >= 0:
                self._place[masks[k]] = first + k
            new.append(
                Node(kept[k], after[k] & ~kept[k], record.given_up, [*record.packing, record.kept],
                     record.rest, branch)
            )  # fmt: skip
            self.size += 1 + 2 * len(record.given_up)
        # An interrupt before these lines leaves the nodes of the batch as leaves.
        self.written += new
        for k, node in enumerate(self.batch):
            halves = (first + k, first + len(self.batch) + k)
            self.written[self._place[node[2]]].halves = halves
        return found


def _bits(masks: Mask) -> list[int]:
    """Rows of bool as numbers whose bits they are."""
    packed = np.packbits(masks, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


@dataclass(eq=False)
class RecordedPackings:
    """A tree as files have it: conflicts, and nodes by their numbers or as a point that splits.

    conflicts, list of conflicts.
    nodes, list of int or list of int.
    """

    conflicts: list[RecordedConflict] = field(default_factory=list)
    nodes: list[int | list[int]] = field(default_factory=list)


class _Writer:
    """Reads the nodes from the leaves to the root, so that only what is used is written."""

    def __init__(self, written: list[Node]) -> None:
        self.numbers: dict[RecordedConflict, int] = {}
        self.above: list[int] = []  # points that a conflict keeps, as bits
        self.nodes: list[list[int | list[int]]] = [[] for _ in written]
        self.needs = [0] * len(written)  # kept points that are made use of
        self.written = written

    def number(self, conflict: RecordedConflict) -> int:
        if conflict not in self.numbers:
            self.numbers[conflict] = len(self.numbers)
            self.above.append(sum(1 << i for i, a in conflict if a > 0))
        return self.numbers[conflict]

    def leaf(self, chain: list[RecordedConflict], kept: int) -> tuple[list[int], int]:
        """The numbers of a chain, and what it needs of the points that are kept."""
        numbers = [self.number(conflict) for conflict in chain if conflict]
        need = 0
        for k in numbers:
            need |= self.above[k] & kept
        return numbers, need

    def write(self, place: int) -> None:
        """One node, its halves being written."""
        node = self.written[place]
        kept = node.kept | node.fixed
        if node.halves is None:
            leaf, need = self.leaf(node.chain, kept)
            nodes: list[int | list[int]] = [leaf]
        else:
            nodes, need = self._joined(node.branch, *node.halves)
        for i in _places(node.fixed & need):
            leaf, more = self.leaf(node.packing, node.kept)
            nodes, need = [i, *nodes, leaf], need & ~(1 << i) | more
        for i, conflict in reversed(node.given_up):
            leaf, more = self.leaf([conflict], node.kept)
            nodes, need = [i, leaf, *nodes], need | more
        self.nodes[place], self.needs[place] = nodes, need

    def _joined(self, branch: int, first: int, second: int) -> tuple[list[int | list[int]], int]:
        """A split; where the point that is kept is not made use of, that half is the whole."""
        need, bit = self.needs[first], 1 << branch
        halves = self.nodes[first], self.nodes[second]
        self.nodes[first], self.nodes[second] = [], []
        if not need & bit:
            return halves[0], need
        return [branch, *halves[0], *halves[1]], need & ~bit | self.needs[second]


def _places(bits: int) -> list[int]:
    """The points of a set."""
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


def packings(written: list[Node]) -> RecordedPackings:
    """The nodes of a recorded tree as a file has them."""
    writer = _Writer(written)
    for place in reversed(range(len(written))):
        writer.write(place)
    return _renumbered(writer)


def _renumbered(writer: _Writer) -> RecordedPackings:
    """With the conflicts that occur, in their order."""
    old, new = list(writer.numbers), dict[int, int]()
    nodes = [
        node if isinstance(node, int) else [new.setdefault(k, len(new)) for k in node]
        for node in writer.nodes[0]
    ]
    return RecordedPackings([old[k] for k in new], nodes)


@reads_dense_points
def recorded(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: tuple[Array, float] | None,
    gap: float,
    cutoff: float,
    go_on: Callable[[RecordedTree], bool],
    until: float = np.inf,
) -> RecordedTree:
    """A tree that proves what it can below a known hyperplane.

    incumbent (w, b): none for that of the heuristic.
    cutoff: bounds from here on, or from the objective on, less `gap` of it, are of no interest.
    go_on(tree) -> bool: asked before open nodes are split; Ctrl-C ends the search as well, with
        what is proven.
    until: of time.monotonic(): a share of what is left is for the heuristic.
    """
    tree = RecordedTree(data, penalty, intercept, gap)
    tree.until = until
    try:
        tree.start(incumbent)
    except KeyboardInterrupt:
        tree.interrupted = True
        tree.start((np.zeros(data.d), 0.0))
    tree.cutoff, tree.until = cutoff, np.inf
    try:
        tree.root()
    except KeyboardInterrupt:
        tree.interrupted = True
        tree.root()
    try:
        while not tree.interrupted and tree.select() and go_on(tree):
            tree.expand()
    except KeyboardInterrupt:
        tree.interrupted = True
    return tree


# --- Trees of parts of the points for a proof file, each with its share of norm2 -----------------
# What their bounds add up to stands in conflicts.py.


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the points, and the tree of the problem in which they cost `times` as much."""

    points: list[int]
    tree: RecordedTree
    times: int

    @property
    def share(self) -> float:
        """Of the bound of all points."""
        return self.tree.bound / self.times

    @property
    def most(self) -> Fraction:
        """No leaf has to prove more."""
        return Fraction(self.tree.objective)


@reads_dense_points
def recorded_parts(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: tuple[Array, float],
    gap: float,
    seconds: float,
    longest: int,
) -> list[Part]:
    """The parts that prove most, of larger ones as long as all before are closed in time.

    incumbent (w, b): a hyperplane to whose margins parts are alike.
    longest: splits and leaves of all parts together.
    """
    best: list[Part] = []
    end = time.monotonic() + seconds
    for split in larger_splits(data, *incumbent):
        parts, closed = list[Part](), True
        for k, own in enumerate(split):
            now = time.monotonic()
            until = now + (end - now) / (len(split) - k)
            tree = recorded(
                TrainingData(data.X[own], data.y[own]),
                penalty=len(split) * penalty,
                intercept=intercept,
                incumbent=None,
                gap=gap,
                cutoff=np.inf,
                go_on=_while(until, longest // len(split)),
                until=until,
            )
            parts.append(Part(own.tolist(), tree, len(split)))
            closed &= not tree.is_open
            if tree.interrupted:
                end = now  # of the others the roots alone
        if sum(part.share for part in parts) > sum(part.share for part in best):
            best = parts
        if not closed or time.monotonic() > end:
            break
    return best


def _while(until: float, most: int) -> Callable[[RecordedTree], bool]:
    return lambda tree: time.monotonic() < until and tree.size <= most


# --- The proof file of a 0-1 result by packings of conflicts; the format is in checker.py --------
# A file speaks of the model as it stands in it, and there a point that is given up has a_i'w + s_i
# b < 1: every (w, b) keeps it or does not, z_i >= 1 pays for it where it does not, and no bound
# needs the argument by which the search asks for the same row.


MULTIPLIERS = 8_000_000  # which take up 200 MB, near the most that the checker reads
POINTS, NUMBERS = 1000, 5_000_000  # of the data
OF_PARTS = 0.8  # of the time, where a result of many points is open


def packings_suit_a_file(origin: Origin) -> bool:
    """Whether the conflict search proves a model that one row a point states."""
    data = origin.data
    if origin.entry not in ZERO_ONE or is_weighted(data):
        return False
    return data.d > 0 and data.n <= POINTS and data.n * data.d <= NUMBERS


def packing_document(case: Case, result: SolveResult, seconds: float | None) -> dict[str, Any]:
    """The proof of a result of zero_one_big_m or zero_one_bilinear as it is built.

    seconds: for the search, which goes down once more from the result's hyperplane; the interval
        that it reaches within them is proven. Of many points whose result is open, parts have most
        of them.
    Raises NotProvenError: no bound above 0 is proven, the file would be too long, or the result
        holds no point.
    """
    data, left = origin_of(case).data, np.inf if seconds is None else seconds
    parts = list[Part]()
    if not result.certificate.verdict.closed and data.n >= FEWEST * POINTS_OF_A_PART:
        end = time.monotonic() + left
        parts = _parts(case, result, OF_PARTS * left)
        left = max(end - time.monotonic(), 0.0)
    tree = _grown(case, result, left)
    if sum(part.share for part in parts) > tree.bound:
        return _in_parts(case, result, parts)
    entry = _begun(case)
    entry |= dict(zip(("conflicts", "nodes"), _numbered(tree, range(data.n)), strict=True))
    _refuse_long([entry])
    document = begun(case.form) | {"packed": entry}
    proof = Packings(Model(document["model"]), entry)
    return with_claim(document, case, result, _least(proof, 0, Fraction(tree.objective)))


def _parts(case: Case, result: SolveResult, seconds: float) -> list[Part]:
    words = _problem(case, result)
    return recorded_parts(**words, seconds=seconds, longest=LONGEST)


def _problem(case: Case, result: SolveResult) -> dict[str, Any]:
    """The problem, the hyperplane of its result, and the gap that is left open."""
    origin = origin_of(case)
    words = {word: origin.parameters[word] for word in ("penalty", "intercept")}
    return words | {
        "data": origin.data.points,
        "incumbent": hyperplane_of(result),
        "gap": SEARCH_GAP,
    }


def _in_parts(case: Case, result: SolveResult, parts: list[Part]) -> dict[str, Any]:
    """The proof by trees of parts."""
    entries = [
        {"points": part.points, "lower": "0", "conflicts": conflicts, "nodes": nodes}
        for part in parts
        for conflicts, nodes in [_numbered(part.tree, part.points)]
    ]
    _refuse_long(entries)
    entry = _begun(case) | {"conflicts": [], "nodes": [], "parts": entries}
    document = begun(case.form) | {"packed": entry}
    proof = Packings(Model(document["model"]), entry)
    total = Fraction(0)
    for k, part in enumerate(parts):
        least = _least(proof, k, part.most)
        entries[k]["lower"] = text(least)
        total += least
    return with_claim(document, case, result, Fraction(rounded_down(total / len(parts))))


def _begun(case: Case) -> dict[str, Any]:
    columns, b = columns_of(case)
    points = point_rows(case.form, origin_of(case))
    return {"columns": columns, "intercept": b, "points": points}


def _numbered(tree: RecordedTree, places: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """The conflicts and nodes of a tree, its points by their places among all."""
    found = packings(tree.written)
    conflicts = [[[places[i], str(a)] for i, a in conflict] for conflict in found.conflicts]
    return conflicts, [places[i] if isinstance(i, int) else i for i in found.nodes]


def _refuse_long(entries: Sequence[Mapping[str, Any]]) -> None:
    nodes = sum(len(entry["nodes"]) for entry in entries)
    multipliers = sum(len(conflict) for entry in entries for conflict in entry["conflicts"])
    if nodes > LONGEST or multipliers > MULTIPLIERS:
        raise NotProvenError(
            f"the conflict search has {nodes:,} nodes with {multipliers:,} multipliers, and a file "
            f"holds {LONGEST:,} with {MULTIPLIERS:,}"
        )


def _least(proof: Packings, tree: int, most: Fraction) -> Fraction:
    """The bound of the weakest leaf of a tree, rounded down."""
    least = min(value for _, value in proof.leaves(most, tree))
    if least <= 0:
        raise NotProvenError("the conflict search proves no bound")
    return Fraction(rounded_down(least))


def _grown(case: Case, result: SolveResult, left: float) -> RecordedTree:
    """The tree below the result's hyperplane, or that of the result's bound if it proves more.

    What is closed at a bound takes fewer nodes than what is closed at the objective.
    """
    known = None if result.certificate.verdict.closed else result.bound
    if known is None or known <= 0:
        return _below(case, result, np.inf, left)
    tree = _below(case, result, np.inf, left / 2)
    if tree.bound >= known:
        return tree
    other = _below(case, result, known / (1 - SEARCH_GAP), left / 2)
    return other if other.bound > tree.bound else tree


def _below(case: Case, result: SolveResult, cutoff: float, seconds: float) -> RecordedTree:
    end = time.monotonic() + seconds
    return recorded(
        **_problem(case, result),
        cutoff=cutoff,
        go_on=lambda tree: time.monotonic() < end and tree.size <= LONGEST,
    )


# --- Proof files of 0-1 models by the search over kept points, beside those by cones -------------


register_document(ZERO_ONE, packing_document, when=packings_suit_a_file, proves=CONFLICTS)
