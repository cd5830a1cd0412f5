"""Proof files of parts of the points: their mean is true, and forged ones are refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import Case, Subject, standard_form, zero_one_enumeration
from tests.inside.solvers import conflict_search_parts as parts
from tests.inside.solvers import packings_document as packing_document
from tests.inside.solvers import packings_parts as parts_of_files
from tests.inside.solvers import tree as trees
from tests.support.both_checkers import accepted, refused
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict

C = 1.5


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "POINTS", 8)
    monkeypatch.setattr(packing_document, "POINTS_OF_A_PART", 8)


def points(seed: int) -> TrainingData:
    """Points of two overlapping classes, on a grid with copies for odd seeds."""
    data = tm.data.outlier_data("clustered", n=24, d=2, sigma=0.8, seed=seed)
    X = np.round(2 * data.X) / 2 if seed % 2 else data.X
    return TrainingData(np.vstack([X[:20], X[:4]]) if seed % 2 else X, data.y)


def optimum(data: TrainingData, penalty: float, intercept: str) -> float:
    return zero_one_enumeration(data, penalty=penalty, intercept=intercept).objective


def opened(data: TrainingData, intercept: str, entry: str = "zero_one_big_m") -> Any:
    """A model and its best point, of which nothing is said to be proven."""
    words = {"big_m": "derived"} if entry == "zero_one_big_m" else {}
    model = tm.build(entry, data, penalty=C, intercept=intercept, **words)
    found = tm.solve(model, method="conflict-search")
    nothing = replace(found.certificate, verdict=Verdict.NOT_CERTIFIED)
    return (
        Case(model, Subject(standard_form(model)), model.origin),
        replace(found, bound=0.0, certificate=nothing),
    )


def in_parts(monkeypatch: pytest.MonkeyPatch, case: Case, result: Any) -> Any:
    """The document where the tree of all points stops at once."""
    recorded = packing_document.recorded
    with monkeypatch.context() as patch:
        patch.setattr(
            packing_document,
            "recorded",
            lambda data, **words: recorded(data, **words | {"go_on": lambda tree: False}),
        )
        return packing_document.packing_document(case, result, None)


@pytest.mark.parametrize(
    ("entry", "intercept", "seed"),
    [
        ("zero_one_big_m", "free", 0),
        ("zero_one_bilinear", "penalised", 1),
        ("zero_one_big_m", "none", 1),
    ],
)
def test_a_file_in_parts_proves_the_mean_of_their_optima(
    entry: str, intercept: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = points(seed)
    case, result = opened(data, intercept, entry)
    document = in_parts(monkeypatch, case, result)
    entries = document["packed"]["parts"]
    assert document["packed"]["nodes"] == []
    assert sorted(i for part in entries for i in part["points"]) == list(range(24))
    proof = accepted(document)
    assert proof is not None
    many = len(entries)
    exact = [
        optimum(TrainingData(data.X[own], data.y[own]), many * C, intercept)
        for own in (part["points"] for part in entries)
    ]
    assert float(proof.lower) == pytest.approx(sum(exact) / many, rel=2e-6)
    assert float(proof.lower) <= optimum(data, C, intercept) * (1 + 1e-12)
    assert float(proof.upper) == pytest.approx(optimum(data, C, intercept), rel=1e-6)


def test_an_interrupt_and_the_end_of_time_leave_a_file_of_what_was_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, result = opened(points(0), "free")
    tree = packing_document.packing_document(case, result, None)
    assert "parts" not in tree["packed"], "a tree that proves more than parts is written"
    assert accepted(tree).kind == "optimum"
    whole = accepted(in_parts(monkeypatch, case, result))
    recorded, seen = parts_of_files.recorded, list[int]()

    def pressed(data: TrainingData, **words: Any) -> Any:
        def go_on(tree: Any) -> bool:
            seen.append(tree.nodes)
            if len(seen) == 2:
                raise KeyboardInterrupt
            return bool(words["go_on"](tree))

        return recorded(data, **words | {"go_on": go_on})

    monkeypatch.setattr(parts_of_files, "recorded", pressed)
    part = accepted(in_parts(monkeypatch, case, result))
    assert whole is not None
    assert part is not None
    assert 0 < part.lower < whole.lower
    assert len(seen) < 6


def test_the_heuristic_of_a_part_has_a_share_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    heuristic, given = trees.zero_one_incumbent, list[float]()

    def limited(data: TrainingData, *, time_limit: float | None, **words: Any) -> Any:
        given.append(np.inf if time_limit is None else time_limit)
        return heuristic(data, time_limit=time_limit, **words)

    monkeypatch.setattr(trees, "zero_one_incumbent", limited)
    parts_of_files.recorded_parts(
        points(0), penalty=C, intercept="free", incumbent=(np.ones(2), 0.0), gap=1e-6,
        seconds=8.0, longest=1000,
    )  # fmt: skip
    assert len(given) >= 3
    assert max(given) <= 8.0 * trees.LOOKING


@pytest.mark.parametrize("at", ["heuristic", "root"])
def test_an_interrupt_before_a_part_is_split_leaves_its_root(
    at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, result = opened(points(0), "free")
    name = {"heuristic": "_heuristic", "root": "root"}[at]
    real, calls = getattr(trees.Tree, name), list[int]()

    def pressed(tree: trees.Tree) -> Any:
        calls.append(tree.data.n)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(tree)

    monkeypatch.setattr(trees.Tree, name, pressed)
    proof = accepted(in_parts(monkeypatch, case, result))
    assert proof is not None
    assert 0 < proof.lower <= proof.upper


# --- forged files --------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["free", "none"])
def found(request: pytest.FixtureRequest) -> Any:
    """A document in parts, its optimum, and what its parts prove."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "POINTS", 8)
        patch.setattr(packing_document, "POINTS_OF_A_PART", 8)
        data = points(2)
        document = in_parts(patch, *opened(data, request.param))
    return document, optimum(data, C, request.param)


def a_point_in_two_parts(packed: Any) -> None:
    first, second, *_ = packed["parts"]
    second["points"].append(first["points"][0])


def a_point_twice(packed: Any) -> None:
    own = packed["parts"][0]["points"]
    own.append(own[0])


def more_than_a_part_proves(packed: Any) -> None:
    packed["parts"][0]["lower"] = (2 * float.fromhex(packed["parts"][0]["lower"])).hex()


def less_together(packed: Any) -> None:
    packed["parts"][0]["lower"] = "0"


def one_part_alone(packed: Any) -> None:
    """What is left has fewer parts, so that its points cost less."""
    packed["parts"] = packed["parts"][:1]


def a_tree_beside(packed: Any) -> None:
    packed["nodes"] = [[]]


def no_parts(packed: Any) -> None:
    packed["parts"] = []


FORGERIES: dict[Callable[[Any], None], str] = {
    a_point_in_two_parts: "a point is in two parts",
    a_point_twice: "a point is in two parts",
    more_than_a_part_proves: "less than `lower` is proven at",
    less_together: "prove less than `lower` together",
    one_part_alone: "less than `lower`",
    a_tree_beside: "beside another tree",
    no_parts: "or none",
}


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_forged_file_is_refused(found: Any, forge: Callable[[Any], None]) -> None:
    forged = copy.deepcopy(found[0])
    forge(forged["packed"])
    refused(forged, FORGERIES[forge])


def changed(document: Any, rng: np.random.Generator) -> Any:
    """A copy with one thing of the parts made up, whose claim is what its parts say."""
    forged = copy.deepcopy(document)
    entries = forged["packed"]["parts"]
    part = entries[int(rng.integers(len(entries)))]
    other = entries[int(rng.integers(len(entries)))]
    kind = int(rng.integers(6))
    if kind == 0:
        other["points"].append(part["points"].pop())
    elif kind == 1:
        part["points"].pop()
    elif kind == 2:
        part["lower"] = (float.fromhex(part["lower"]) * (1 + float(rng.normal()) / 8)).hex()
    elif kind == 3:
        part["nodes"], other["nodes"] = other["nodes"], part["nodes"]
    elif kind == 4:
        conflict = part["conflicts"][int(rng.integers(len(part["conflicts"])))]
        conflict[0][1] = str(int(conflict[0][1]) + int(rng.integers(-1, 2)) * 2**36)
    else:
        entries.remove(part)
    total = sum(float.fromhex(entry["lower"]) for entry in entries) / len(entries)
    forged["claim"] = {"kind": "bounds", "lower": (total * (1 - 1e-12)).hex()}
    del forged["point"]
    return forged


def test_one_thing_changed_proves_nothing_false(found: Any) -> None:
    document, exact = found
    rng, refused = np.random.default_rng(5), 0
    for _ in range(200 if FULL else 24):
        proof = accepted(changed(document, rng))
        if proof is None:
            refused += 1
            continue
        assert float(proof.lower) <= exact * (1 + 1e-12)
    assert refused >= 6
