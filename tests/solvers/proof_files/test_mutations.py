"""Of many proof files with one thing changed, none is accepted with a false claim.

Where the model is as it was, its minimum is known. Where it was changed too, and all columns are
integers, they are enumerated.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.solvers.proof_files import tiny_trees
from tests.solvers.proof_files.mutations import mutated
from tests.solvers.proof_files.written_files import (
    CONVEX_PROBLEMS,
    convex_file,
    exponential_files,
    holds,
    known,
    tree_file,
    tree_truth,
)
from tests.support.both_checkers import accepted
from tests.support.covering import FULL

Known = list[tuple[dict[str, Any], tuple[Any, Any]]]  # documents, minima, how far they may be off


def convex() -> Known:
    return [(convex_file(name)[1], known(name)) for name in CONVEX_PROBLEMS]


def trees() -> Known:
    """A file of each tiny model with integers, and of two that were left open."""
    found = [(build, tree_file(build)[1]) for build in tiny_trees.ALL]
    found += [(b, tree_file(b, 1)[1]) for b in (tiny_trees.knapsack, tiny_trees.big_m)]
    return [(document, tree_truth(build, document)) for build, document in found]


def exponential() -> Known:
    return [(document, (least, 4e-16)) for (_, document), least in exponential_files().values()]


# Files, mutants, and shares of them that must be accepted: of the same model, of another one.
FAMILIES: dict[str, tuple[Callable[[], Known], int, tuple[float, float]]] = {
    "convex": (convex, 500, (0.02, 0)),
    "trees": (trees, 300, (0.02, 0.01)),
    "exponential": (exponential, 100, (0.02, 0)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_mutation_is_accepted_with_a_false_claim(family: str) -> None:
    """And both checkers say the same of each."""
    build, count, least = FAMILIES[family]
    count *= 4 if FULL else 1
    files, tally, dice = build(), Counter[str](), random.Random(33)
    for k in range(count):
        document, (minimum, off) = files[k % len(files)]
        original, way = document, ""
        while document == original:
            document, way = mutated(original, dice)
        proof = accepted(document)
        if proof is None:
            tally["rejected"] += 1
            continue
        model = document["model"]
        same = model == original["model"]
        if not same:
            if not 0 < len(set(model["integer"])) == len(model["variables"]):
                continue
            minimum, off = tiny_trees.enumerated(model), 0
        tally["the same model" if same else "another model"] += 1
        assert holds(proof, minimum, off, off), (k, way)
    assert tally["rejected"] > count / 2, tally
    assert tally["the same model"] > count * least[0], tally
    assert tally["another model"] >= count * least[1], tally
