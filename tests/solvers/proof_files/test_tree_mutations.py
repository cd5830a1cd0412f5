"""Of 1,000 trees with one thing changed, none is accepted with a false claim.

The integers of the models are enumerated, those of a changed model too. Where all columns are
integer that is exact; elsewhere the rest is solved again for each choice.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.inside.solvers import checker
from tests.solvers.proof_files import second_checker, tiny_trees
from tests.solvers.proof_files.rewritten_models import enumerated, is_solvable
from tests.solvers.proof_files.test_tree_files import written
from tests.solvers.proof_files.tree_mutations import WAYS, mutated_tree

COUNT = 1000
Truth = tuple[Fraction | None, Fraction]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """A real proof file of each tiny model, and of two that were left open."""
    folder: Path = tmp_path_factory.mktemp("proofs")
    found = [written(build(), folder / f"{build.__name__}.json")[1] for build in tiny_trees.ALL]
    for build in (tiny_trees.knapsack, tiny_trees.big_m):
        found.append(written(build(), folder / "open.json", node_limit=1)[1])
    return found


@pytest.fixture(scope="module")
def truths(files: list[dict[str, Any]]) -> list[Truth]:
    return [enumerated(document["model"]) for document in files]


def accepted(document: Any) -> checker.Proof | None:
    try:
        return checker.check(document)
    except checker.ProofError:
        return None


def holds(proof: checker.Proof, truth: Truth) -> bool:
    """Whether a claim is true of a model whose least objective is known."""
    least, off = truth
    constant = proof.model.constant
    if proof.kind == "infeasible":
        return least is None
    if proof.upper is not None and (least is None or proof.upper + constant < least - off):
        return False
    return proof.lower is None or least is None or proof.lower + constant <= least + off


def is_enumerable(model: Mapping[str, Any]) -> bool:
    """Whether it is as small as it was, and what is not integer can be given to a solver."""
    whole = len(set(model["integer"])) == len(model["variables"])
    return bool(model["integer"]) and (whole or is_solvable(model))


def test_no_mutation_is_accepted_with_a_false_claim(
    files: list[dict[str, Any]], truths: list[Truth]
) -> None:
    tally: Counter[str] = Counter()
    ways: Counter[str] = Counter()
    dice = random.Random(33)
    for k in range(COUNT):
        at = k % len(files)
        document, way = files[at], ""
        while document == files[at]:
            document, way = mutated_tree(files[at], dice)
        ways[way] += 1
        proof = accepted(document)
        if proof is None:
            tally["rejected"] += 1
            continue
        assert second_checker.decides(document), (k, at, way)
        if document["model"] == files[at]["model"]:
            tally["another proof of a true claim"] += 1
            assert holds(proof, truths[at]), (k, at, way)
        elif is_enumerable(document["model"]):
            tally["a true claim on another model"] += 1
            assert holds(proof, enumerated(document["model"])), (k, at, way)
        else:
            tally["numbers that no solver takes"] += 1
    assert sum(tally.values()) == COUNT
    assert tally["rejected"] > 500, tally
    assert tally["another proof of a true claim"] > 20, tally
    assert tally["a true claim on another model"] > 20, tally
    assert tally["numbers that no solver takes"] < 20, tally
    assert all(ways[way.__name__] > 20 for way in WAYS), ways


def test_the_second_checker_rejects_what_the_first_one_does(files: list[dict[str, Any]]) -> None:
    dice = random.Random(6)
    for k in range(300):
        document, way = mutated_tree(files[k % len(files)], dice)
        told = accepted(document) is not None
        assert second_checker.decides(document) == told, (k, way)
