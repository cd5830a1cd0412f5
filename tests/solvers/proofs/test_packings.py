"""Covers over kept points: whatever a search says, no value is above the optimum."""

from __future__ import annotations

import heapq
import itertools
import pickle
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.inside.solvers import (
    COVERED,
    NOBODY,
    PACKING,
    REST,
    Bounded,
    Conflicts,
    Count,
    Evidence,
    OpenNode,
    PackingCover,
    PackingProblem,
    Remainder,
    SideRows,
    Tree,
    bounded,
    packed_bounds,
)
from tests.inside.solvers import cover as covers
from tests.inside.solvers import tree as growing
from tests.references.brute_force import zero_one_optima
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conflict_search

INTERCEPTS = ("free", "penalised", "none")
PENALTY, N, D = 3.0, 10, 3
Rng = np.random.Generator


def points(seed: int) -> TrainingData:
    """Two classes in one cloud, on a grid with copies for odd seeds."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(N) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(N, D))
    if seed % 2:
        X = np.round(X)
        X[-2:] = X[:2]
    return TrainingData(X, y)


def problem(seed: int = 0, intercept: str = "free", **beside: Any) -> PackingProblem:
    data = points(seed)
    side = replace(SideRows.nothing(data.n, data.d), **beside)
    return PackingProblem(data, PENALTY, intercept, side)


@cache
def least(seed: int, intercept: str) -> float:
    (value,) = zero_one_optima(points(seed), (PENALTY,), intercept)
    return value


def any_of(numbers: np.ndarray, others: Any, share: float, rng: Rng) -> np.ndarray:
    return np.where(rng.random(numbers.shape) < share, others, numbers)


def noisy(c: Conflicts, rng: Rng, n: int, rows: int) -> dict[str, Any]:
    return {"alpha": c.alpha * np.exp(rng.normal(size=c.alpha.shape) * rng.choice([1e-3, 1.0]))}


def enormous(c: Conflicts, rng: Rng, n: int, rows: int) -> dict[str, Any]:
    factors = [*19 * [1.0], 1e-300, 1e150, 1e308, np.nan, np.inf]
    with np.errstate(over="ignore"):
        return {"alpha": c.alpha * rng.choice(factors, c.alpha.shape)}


def other_members(c: Conflicts, rng: Rng, n: int, rows: int) -> dict[str, Any]:
    others = rng.integers(0, n, size=c.members.shape)
    return {"members": any_of(c.members, others, 0.2, rng)}


def other_kinds(c: Conflicts, rng: Rng, n: int, rows: int) -> dict[str, Any]:
    point = np.where(c.point == NOBODY, rng.integers(0, n, size=c.point.shape), c.point)
    return {"kind": any_of(c.kind, rng.integers(-3, 3), 0.3, rng), "point": point}


def other_nodes(c: Conflicts, rng: Rng, n: int, rows: int) -> dict[str, Any]:
    return {"node": any_of(c.node, rng.integers(0, rows), 0.3, rng)}


def lying(lie: Any, found: Bounded, rng: Rng) -> Bounded:
    """What is found with other conflicts, or with settled points or closed nodes that are none."""
    evidence, nodes = found.evidence, found.nodes
    if lie == "closed":
        return replace(found, bound=any_of(found.bound, np.inf, 0.4, rng))
    if lie == "settled":
        settled = any_of(evidence.settled, True, 0.1, rng) & ~nodes.kept & ~nodes.violated
        return replace(found, evidence=replace(evidence, settled=settled))
    conflicts = replace(evidence.conflicts, **lie(evidence.conflicts, rng, *nodes.kept.shape[::-1]))
    return replace(found, evidence=replace(evidence, conflicts=conflicts))


LIES = (noisy, enormous, other_members, other_kinds, other_nodes, "settled", "closed")


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("lie", LIES)
def test_whatever_a_search_says_no_bound_is_above_the_optimum(
    lie: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, turn = 0, LIES.index(lie)
    rng = np.random.default_rng(turn)
    monkeypatch.setattr(growing, "bounded", lambda *a, **b: lying(lie, bounded(*a, **b), rng))
    words: dict[str, Any] = {"step_limit": 3_000 if FULL else 400, "compiled": False}
    for seed in range(12 if FULL else 4):
        for intercept in INTERCEPTS if FULL else INTERCEPTS[(seed + turn) % 3 :][:1]:
            exact, start = least(seed, intercept), (np.zeros(D), 0.0)
            words |= {"penalty": PENALTY, "intercept": intercept, "incumbent": start}
            try:
                found = conflict_search(points(seed), **words)
            except ValueError:  # the kernel refuses what it is told
                counted += 1
                continue
            assert found.bound <= exact * (1 + 1e-9)
            if found.lemma is not None:
                assert found.lemma.value == found.bound
                counted += found.lemma.value > 0.3 * exact
    assert counted >= 2


def nothing_said(rows: int, n: int, width: int = 4) -> Evidence:
    none = np.zeros(0, np.intp)
    empty = Conflicts(none, none, none, np.zeros((0, width), np.intp), np.zeros((0, width)))
    return Evidence(empty, np.zeros((rows, n), dtype=bool))


def said(rows: int, n: int, conflicts: list[tuple[int, int, int, list[int]]]) -> Evidence:
    """Conflicts as (node, kind, point, members), whose multipliers are 1."""
    node, kind, point = (np.array([c[k] for c in conflicts], np.intp) for k in range(3))
    members = np.array([c[3] for c in conflicts], np.intp)
    some = Conflicts(node, kind, point, members, np.ones(members.shape))
    return replace(nothing_said(rows, n, members.shape[1]), conflicts=some)


def opened(found: PackingProblem) -> PackingCover:
    """A cover with an open root."""
    cover = PackingCover(found)
    cover.narrow_root(nothing_said(1, len(cover.points.right)), [b"root"])
    return cover


@pytest.mark.parametrize(
    ("conflicts", "why"),
    [
        ([(0, PACKING, NOBODY, [0, 1]), (0, PACKING, NOBODY, [1, 2])], "share a point"),
        ([(0, PACKING, NOBODY, [0, 1]), (0, REST, NOBODY, [1, 2])], "share a point"),
        ([(0, REST, NOBODY, [0, 1]), (0, REST, NOBODY, [1, 2])], "share a point"),
        ([(0, PACKING, NOBODY, [3, 3])], "share a point"),
        ([(0, PACKING, NOBODY, [0, -1])], "not there"),
        ([(0, PACKING, NOBODY, [0, N])], "not there"),
        ([(1, PACKING, NOBODY, [0, 1])], "not there"),
        ([(-1, PACKING, NOBODY, [0, 1])], "not there"),
        ([(0, 0, -1, [0, 1])], "not there"),
        ([(0, 0, 3, [3, 1]), (0, 1, 3, [3, 1])], "not open"),
    ],
)
def test_conflicts_that_are_none_are_refused(
    conflicts: list[tuple[int, int, int, list[int]]], why: str
) -> None:
    cover = PackingCover(problem())
    with pytest.raises(ValueError, match=why):
        cover.narrow_root(said(1, N, conflicts), [b""])
    assert cover.value == 0.0
    assert len(cover.taken) == 1


def test_settled_points_are_open_and_in_no_conflict() -> None:
    found = said(1, N, [(0, PACKING, NOBODY, [0, 1])])
    for i, kept in ((0, ()), (5, (5,))):
        beside = {"kept": np.isin(np.arange(N), kept)}
        settled = replace(found, settled=(np.arange(N) == i)[None])
        with pytest.raises(ValueError, match="settled"):
            PackingCover(problem(**beside)).narrow_root(settled, [b""])


def test_a_node_is_split_at_open_points_and_once() -> None:
    cover = opened(problem(kept=np.arange(N) == 3))
    nodes = cover.take(1, np.inf)
    with pytest.raises(ValueError, match="not open"):
        cover.split(nodes, np.array([3]), nothing_said(2, N), [b"", b""])
    cover.split(nodes, np.array([4]), nothing_said(2, N), [b"", b""])
    with pytest.raises(KeyError):
        cover.split(nodes, np.array([4]), nothing_said(2, N), [b"", b""])
    assert cover.waiting == 2


def test_a_node_that_is_forged_is_taken_for_what_it_is() -> None:
    cover = opened(problem())
    ((bound, number, masks, _),) = cover.take(1, np.inf)
    everything = np.ones((1, N), dtype=bool)
    forged = (1e6, number, covers.packed_masks(everything, ~everything)[0], b"")
    assert bound == 0.0
    assert forged[2] != masks
    cover.split([forged], np.array([0]), nothing_said(2, N), [b"", None])
    assert cover.value == 0.0, "the half without a note is closed at the bound it has"
    kept, _ = cover.masks(cover.take(1, np.inf))
    assert kept[0].tolist() == [True] + (N - 1) * [False]


def test_bounds_of_packings_are_those_of_all_numbers_of_hits() -> None:
    """Whoever hits k of the sets pays for k points, and keeps one of the k + 1 dearest whole."""
    rng = np.random.default_rng(0)
    for _ in range(80):
        heights = np.round(rng.exponential(2.0, size=rng.integers(0, 5)), 1)
        own, room = float(np.round(rng.exponential(), 1)), float(rng.choice([0, 1, 2, 3, np.inf]))
        ordered = np.sort(heights)[::-1]
        most = int(min(room, len(heights)))
        costs = [PENALTY * k + max([own, *ordered[k : k + 1]]) for k in range(most + 1)]
        padded = np.full((1, 6), -np.inf)
        padded[0, rng.permutation(6)[: len(heights)]] = heights
        found = packed_bounds(padded, np.array([own]), PENALTY, np.array([room]))
        assert found[0] == pytest.approx(min(costs), rel=1e-12)
    crowded = packed_bounds(np.zeros((1, 1)), np.zeros(1), PENALTY, np.array([-1.0]))
    assert crowded[0] == np.inf


def test_counts_keep_the_others_and_close_what_gives_up_too_many() -> None:
    cover = opened(problem(counts=(Count(np.arange(N) < 3, 1),)))
    nodes = cover.take(1, np.inf)
    cover.split(nodes, np.array([0]), nothing_said(2, N), [b"", b"given up"])
    (node,) = [node for node in cover.take(2, np.inf) if node[3]]
    kept, _ = cover.masks([node])
    assert kept[0].tolist() == [False, True, True] + (N - 3) * [False]
    nobody = opened(problem(counts=(Count(np.ones(N, dtype=bool), 0),), paid=np.arange(N) == 1))
    assert nobody.value == np.inf
    assert nobody.lemma(np.inf) is None


def grown(found: PackingProblem, rounds: int) -> Tree:
    tree = Tree(found.data, found.penalty, found.intercept, 1e-6, found.side)
    tree.width = 1
    tree.start((np.zeros(D), 0.0))
    tree.root()
    for _ in range(rounds):
        assert tree.select()
        tree.expand()
    return tree


def finish(tree: Tree) -> None:
    while tree.select():
        tree.expand()


def is_least(tree: Tree, exact: float) -> bool:
    return exact * (1 - 2e-6) <= tree.cover.value <= exact * (1 + 1e-9)


@pytest.mark.parametrize(("seed", "intercept"), [(0, "none"), (0, "penalised"), (1, "free")])
def test_what_is_true_proves_the_optimum(seed: int, intercept: str) -> None:
    tree = grown(problem(seed, intercept), 3)
    before = tree.cover.value
    assert before > 0
    tree.cover.begin_again()
    assert (tree.cover.value, len(tree.cover.taken)) == (before, 1), "what was proven stays so"
    tree = grown(problem(seed, intercept), 1)
    finish(tree)
    assert is_least(tree, least(seed, intercept))
    lemma = tree.cover.lemma(np.inf)
    assert (lemma.value, lemma.hypotheses) == (tree.cover.value, {COVERED: True})


def test_a_better_hyperplane_from_elsewhere_is_kept() -> None:
    tree = grown(problem(2), 0)
    before, tree.seed = tree.objective, 1  # 0 is the sample that is known
    tree.look_elsewhere()
    assert least(2, "free") - 1e-9 <= tree.objective < 0.9 * before


@pytest.mark.parametrize("at", range(1, 9) if FULL else (1, 5))
def test_an_interrupt_at_any_push_loses_no_node(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, real = itertools.count(1), heapq.heappush

    def pressed(heap: list[OpenNode], node: OpenNode) -> None:
        if next(calls) == at:
            raise KeyboardInterrupt
        real(heap, node)

    tree, exact = grown(problem(4), 1), least(4, "free")
    before = tree.cover.value
    with monkeypatch.context() as patch:
        patch.setattr(covers.heapq, "heappush", pressed)
        with pytest.raises(KeyboardInterrupt):
            finish(tree)
    assert before <= tree.cover.value < exact * (1 - 1e-3)
    tree.batch = []
    tree.cover.put_back(tree.cover.taken)
    finish(tree)
    assert is_least(tree, exact)


def lent(tree: Tree) -> tuple[list[OpenNode], Remainder]:
    """Nodes, and what is left of them after a search below."""
    nodes = tree.cover.take(2, np.inf)
    assert len(nodes) == 2
    other = Tree(tree.data, tree.penalty, tree.intercept, tree.gap, tree.side)
    other.adopt(pickle.loads(pickle.dumps(nodes)), np.inf)
    other.best.adopt(tree.best.w, tree.best.b, tree.best.given_up, tree.best.objective)
    assert other.cover.lemma(np.inf) is None, "nothing of the problem itself"
    assert other.select()
    other.expand()
    return nodes, pickle.loads(pickle.dumps(other.cover.remainder()))


def test_what_comes_back_stands_for_the_nodes_that_were_lent() -> None:
    tree = grown(problem(4), 2)
    nodes, left = lent(tree)
    tree.cover.take_back(nodes, left)
    assert not tree.cover.taken
    finish(tree)
    assert is_least(tree, least(4, "free"))


def test_nobody_else_says_what_is_left() -> None:
    tree = grown(problem(4), 2)
    nodes, left = lent(tree)
    with pytest.raises(TypeError, match="told by the cover"):
        Remainder(left.problem, left.begun, (), np.inf, 1, seal=None)
    with pytest.raises((TypeError, ValueError)):
        replace(left, open=())
    others = grown(problem(2), 2)
    with pytest.raises(ValueError, match="lent"):
        others.cover.take_back(others.cover.take(2, np.inf), left)
    with pytest.raises(ValueError, match="lent"):
        tree.cover.take_back(nodes[:1], left)
    assert len(tree.cover.taken) == 2
    dearer = grown(replace(problem(4), penalty=2 * PENALTY), 1)
    assert dearer.problem.name != tree.problem.name


def test_names_tell_problems_apart() -> None:
    own = problem()
    row = {"weights": np.ones((1, D)), "of_b": np.zeros(1), "most": np.ones(1)}
    parts: list[dict[str, Any]] = [
        {"kept": np.arange(N) == 1}, {"paid": np.arange(N) == 1}, row, {"moved": np.ones(N)},
        row | {"most": np.full(1, 2.0)},
        *({"counts": (Count(np.arange(N) < 4, most),)} for most in (1, 2)),
    ]  # fmt: skip
    others = [problem(2), problem(intercept="none"), replace(own, penalty=1.0)]
    others += [problem(**part) for part in parts]
    assert len({own.name, *(other.name for other in others)}) == len(others) + 1
    assert problem().name == own.name


def test_parts_that_are_none_are_refused() -> None:
    whole = PackingCover(problem())
    whole.add_parts(2)
    own, other = np.arange(0, 4), np.arange(4, N)
    part = PackingCover(whole.problem.part(own, 2))
    for wrong in (
        PackingCover(whole.problem.part(own, 1)),
        PackingCover(whole.problem.part(own, 3)),
        PackingCover(whole.problem.part(other, 2)),
        part.among(np.arange(4) == 0, np.zeros(4, dtype=bool)),
    ):
        with pytest.raises(ValueError, match="not that of the part"):
            whole.add_part(own, wrong)
    whole.add_part(own, part)
    rest, third = [*range(4, N - 2)], [N - 2, N - 1]
    for numbers, of_points, why in (
        ([*range(3, N)], [*range(3, N)], "in two parts"),
        ([5, 5], [5, 6], "in two parts"),
        ([-1], [N - 1, 0], "none of 2 parts"),
        (rest, rest, ""),
        (third, third, "none of 2 parts"),
    ):
        cover = PackingCover(whole.problem.part(np.array(of_points), 2))
        with pytest.raises(ValueError, match=why) if why else nullcontext():
            whole.add_part(np.array(numbers), cover)
    assert whole.value == 0.0
