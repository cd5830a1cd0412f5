"""Of many proof files with one thing changed, none is accepted with a false claim.

Where the model is as it was, its minimum is known. Where the model was changed too, it is decided
again by nothing of the checkers': integers are enumerated, the rest is solved by another solve of
the model, which is written in Pyomo once more.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest

from tests.solvers.proof_files import tiny_trees
from tests.solvers.proof_files.mutations import mutated
from tests.solvers.proof_files.rewritten_models import enumerated, is_solvable, rebuilt
from tests.solvers.proof_files.written_files import (
    CONVEX_PROBLEMS,
    convex_file,
    exponential_files,
    holds,
    known,
    tree_file,
)
from tests.support.both_checkers import accepted
from tests.support.covering import FULL
from tightmargin.solvers import Status, solve

MARGIN = Fraction(1, 10**5)  # of max(1, |minimum|): how far a solve of a changed model may be off
Truth = tuple[Any, Any]
Decide = Callable[[Mapping[str, Any]], Truth | None]


def solved_again(model: Mapping[str, Any]) -> Truth | None:
    """The minimum of a document's model by another solve; None where no solver takes it."""
    if not is_solvable(model):
        return None
    result = solve(rebuilt(model), time_limit=20)
    if result.status is Status.INFEASIBLE:
        return "infeasible", 0
    if result.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED):
        return "unbounded", 0
    assert result.objective is not None, result.message
    least = Fraction(result.objective)
    return least, MARGIN * max(1, abs(least))


def enumerated_again(model: Mapping[str, Any]) -> Truth | None:
    whole = len(set(model["integer"])) == len(model["variables"])
    if not model["integer"] or not (whole or is_solvable(model)):
        return None
    least, off = enumerated(model)
    return "infeasible" if least is None else least, off


def convex() -> list[tuple[dict[str, Any], Truth]]:
    return [(convex_file(name)[1], known(name)) for name in CONVEX_PROBLEMS]


def trees() -> list[tuple[dict[str, Any], Truth]]:
    """A file of each tiny model with integers, and of two that were left open."""
    found = [tree_file(build)[1] for build in tiny_trees.ALL]
    found += [tree_file(build, 1)[1] for build in (tiny_trees.knapsack, tiny_trees.big_m)]
    truths = [enumerated_again(document["model"]) for document in found]
    return [(document, truth) for document, truth in zip(found, truths, strict=True) if truth]


def exponential() -> list[tuple[dict[str, Any], Truth]]:
    return [(document, (least, 4e-16)) for (_, document), least in exponential_files().values()]


# Files, what decides another model, mutants, and shares that must be reached of the accepted ones:
# of the same model, of another model.
FAMILIES: dict[str, tuple[Callable[[], Any], Decide, int, tuple[int, int]]] = {
    "convex": (convex, solved_again, 500, (2, 2)),
    "trees": (trees, enumerated_again, 300, (2, 2)),
    "exponential": (exponential, lambda model: None, 150, (2, 0)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_mutation_is_accepted_with_a_false_claim(family: str) -> None:
    """And both checkers say the same of each."""
    build, decide, count, least = FAMILIES[family]
    count *= 4 if FULL else 1
    files, tally, dice = build(), Counter[str](), random.Random(33)
    for k in range(count):
        document, truth = files[k % len(files)]
        original, way = document, ""
        while document == original:
            document, way = mutated(original, dice)
        proof = accepted(document)
        if proof is None:
            tally["rejected"] += 1
            continue
        same = document["model"] == original["model"]
        known = truth if same else decide(document["model"])
        if known is None:
            tally["numbers that no solver takes"] += 1
            continue
        tally["the same model" if same else "another model"] += 1
        assert holds(proof, known[0], known[1], known[1]), (k, way)
    assert tally["rejected"] > count / 2, tally
    assert tally["the same model"] > count * least[0] / 100, tally
    assert tally["another model"] >= count * least[1] / 100, tally
