"""Bounds of the 0-1 loss from parts of the points, each searched alone.

Where every point belongs to one of g parts P_1, ..., P_g,

    norm2 + penalty #{violated} = sum_j (norm2 + g penalty #{violated of P_j}) / g
                               >= sum_j (optimum of P_j at the price g penalty) / g,

and what a search has proven of an optimum may stand for it; they are added up by the cover of all
points (proofs/packings/cover.py). Disjoint conflicts are the case of
parts that cost one point each. Of 500 points in ten features a tree proves less than half of the
optimum in minutes, where trees of 100 points each are finished in seconds and leave a third.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.loss import margins
from tightmargin.solvers.zero_one.conflict_search.tree import Tree

POINTS = 100  # of a part, at first: so many in ten features are proven in seconds
FEWEST = 3  # parts; two of 100 points prove less than one tree of 200
AFTER = 1_000  # nodes of the whole tree
OPEN = 0.2  # share of the objective that is open, from which on parts are tried


def parts_are_due(search: Tree) -> bool:
    """Whether a tree has grown for long, and little of its objective is proven."""
    if search.nodes < AFTER or search.data.n < FEWEST * POINTS:
        return False
    return search.bound < (1 - OPEN) * search.objective


def split_points(data: TrainingData, w: Array, b: float, many: int) -> list[Index]:
    """Parts alike in their classes and in the margins of a hyperplane, at random else."""
    margin = margins(data, w, b)
    part = np.empty(data.n, dtype=np.intp)
    random = np.random.default_rng(0)
    for label in (-1.0, 1.0):
        own = np.flatnonzero(data.y == label)
        own = own[np.argsort(margin[own], kind="stable")]
        for first in range(0, len(own), many):
            some = own[first : first + many]
            part[some] = random.permutation(many)[: len(some)]
    return [np.flatnonzero(part == k) for k in range(many)]


def larger_splits(data: TrainingData, w: Array, b: float) -> Iterator[list[Index]]:
    """All points in parts, at first in many small ones."""
    rarest = min(int((data.y > 0).sum()), int((data.y < 0).sum()))
    many = min(data.n // POINTS, rarest)
    while many > 1:
        yield split_points(data, w, b, many)
        many = 4 * many // 5


def part_tree(search: Tree, own: Index, many: int) -> Tree:
    """The tree of one of so many parts; every part has the rows of w and b, and none has counts."""
    part = search.problem.part(own, many)
    return Tree(
        part.data, part.penalty, part.intercept, search.gap, part.side,
        max(search.compiled_after - search.nodes, 0),
    )  # fmt: skip
