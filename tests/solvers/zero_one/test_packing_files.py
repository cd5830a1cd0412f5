"""Proof files of the conflict search, of all points or in parts: true, and forged ones refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import Case, Subject, plain, standard_form
from tests.inside.solvers import checker_read as read
from tests.inside.solvers import conflict_search_parts as parts
from tests.inside.solvers import packings_document as packing_document
from tests.inside.solvers import tree as trees
from tests.references.active_sets import zero_one_by_sets
from tests.references.brute_force import zero_one_optima
from tests.solvers.zero_one.clouds import clustered
from tests.support.both_checkers import accepted, refused
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict

SEARCH = "conflict-search"
BIG_M, BILINEAR = "zero_one_big_m", "zero_one_bilinear"
C = 1.5


def built(entry: str, data: TrainingData, penalty: float, intercept: str) -> Any:
    words = {"big_m": "derived"} if entry == BIG_M else {}
    return tm.build(entry, data, penalty=penalty, intercept=intercept, **words)


def written(model: Any, path: Path) -> Any:
    found = tm.solve(model, method=SEARCH, proof=str(path))
    assert str(path) in found.message, plain(found.message)
    return read(str(path))


def opened(data: TrainingData, intercept: str, entry: str = BIG_M) -> tuple[Case, Any]:
    """A model and its best point, of which nothing is said to be proven."""
    model = built(entry, data, C, intercept)
    found = tm.solve(model, method=SEARCH)
    assert found.certificate.verdict is Verdict.CERTIFIED
    nothing = replace(found.certificate, verdict=Verdict.NOT_CERTIFIED)
    case = Case(model, Subject(standard_form(model)), model.origin)
    return case, replace(found, bound=0.0, certificate=nothing)


def stopping(
    patch: pytest.MonkeyPatch, go_on: Callable[..., Any], *, of_parts: bool = False
) -> None:
    """Trees of all points, or of their parts, ask `go_on(tree, words)` whether they go on."""
    recorded = packing_document.recorded

    def asked(data: Any, **words: Any) -> Any:
        if of_parts != ("until" in words):  # a part has its share of the time
            return recorded(data, **words)
        return recorded(data, **words | {"go_on": lambda tree: go_on(tree, words)})

    patch.setattr(packing_document, "recorded", asked)


# --- files of all points -------------------------------------------------------------------------


def awkward(seed: int) -> TrainingData:
    """Few points: at random, on a grid with copies, or far from 0 and large."""
    data = clustered(9, 2, seed, ties=seed % 2 == 1)
    return TrainingData(1e3 * data.X + 50, data.y) if seed == 2 else data


@pytest.mark.parametrize(
    ("seed", "intercept"), [(0, "free"), (1, "penalised"), (2, "none"), (3, "free")]
)
def test_a_file_proves_the_enumerated_optimum(seed: int, intercept: str, tmp_path: Any) -> None:
    data, penalties = awkward(seed), (0.4, 6.0)
    optima = zero_one_optima(data, penalties, intercept)
    for penalty, optimum, entry in zip(penalties, optima, (BIG_M, BILINEAR), strict=True):
        document = written(built(entry, data, penalty, intercept), tmp_path / "proof.json")
        assert document["packed"]["nodes"]
        proof = accepted(document)
        assert proof.kind == "optimum"
        assert float(proof.lower) <= optimum * (1 + 1e-9)
        assert float(proof.upper) >= optimum * (1 - 1e-9)


@pytest.mark.parametrize(("method", "entry"), [(SEARCH, BIG_M), ("cone-search", BILINEAR)])
def test_a_point_at_0_without_an_intercept_has_a_row(
    method: str, entry: str, tmp_path: Path
) -> None:
    X = np.array([[0.0, 0.0], [1.0, 2.0], [-1.0, -2.0], [2.0, 1.0], [0.5, 1.0]])
    data = TrainingData(X, np.array([1.0, 1.0, -1.0, 1.0, -1.0]))
    (optimum,) = zero_one_optima(data, (3.0,), "none")
    path = str(tmp_path / "proof.json")
    tm.solve(built(entry, data, 3.0, "none"), method=method, proof=path)
    proof = accepted(read(path))
    assert float(proof.lower) == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("ends", ["a limit", "Ctrl-C"])
def test_a_stopped_search_has_a_file_of_what_it_proves(
    ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked = built(BIG_M, clustered(22, 5, 2), 1.0, "free"), []
    optimum = tm.solve(model, method=SEARCH).objective

    def few(tree: Any, words: Any) -> bool:
        asked.append(tree.nodes)
        if len(asked) == 2 and ends == "Ctrl-C":
            raise KeyboardInterrupt
        return len(asked) < 2

    stopping(monkeypatch, few)
    proof = accepted(written(model, tmp_path / "proof.json"))
    assert len(asked) == 2
    assert proof.kind == "bounds"
    assert 0 < proof.lower < Fraction(optimum) * Fraction(0.999)


def test_of_a_result_that_is_open_a_file_proves_more_or_as_much(monkeypatch: Any) -> None:
    case, found = opened(clustered(22, 5, 2), "free")
    weak = replace(found, bound=0.5 * found.objective)
    proof = accepted(packing_document.packing_document(case, weak, None))
    assert proof.kind == "optimum"
    stopping(monkeypatch, lambda tree, words: np.isfinite(words["cutoff"]))
    strong = replace(weak, bound=0.95 * found.objective)
    proof = accepted(packing_document.packing_document(case, strong, None))
    assert 0.949 * found.objective < proof.lower <= found.objective


def test_files_too_long_or_of_weighted_points_are_trees(tmp_path: Any, monkeypatch: Any) -> None:
    data = awkward(0)
    model = built(BIG_M, data, 2.0, "free")
    weighted = TrainingData(data.X, data.y, sample_weight=np.arange(1.0, data.n + 1))
    assert packing_document.packings_suit_a_file(model.origin)
    assert not packing_document.packings_suit_a_file(built(BIG_M, weighted, 2.0, "free").origin)
    for name in ("LONGEST", "MULTIPLIERS"):
        with monkeypatch.context() as patch:
            patch.setattr(packing_document, name, 2)
            assert "packed" not in written(model, tmp_path / "proof.json")


# --- files in parts ------------------------------------------------------------------------------


def small_parts(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parts, "POINTS", 8)
    patch.setattr(packing_document, "POINTS_OF_A_PART", 8)


def points(seed: int) -> TrainingData:
    return clustered(24, 2, seed, ties=seed % 2 == 1)


def optimum_of(data: TrainingData, penalty: float, intercept: str) -> float:
    return zero_one_by_sets(data, penalty=penalty, intercept=intercept).objective


def in_parts(monkeypatch: pytest.MonkeyPatch, case: Case, result: Any) -> Any:
    """The document where the tree of all points stops at once."""
    with monkeypatch.context() as patch:
        stopping(patch, lambda tree, words: False)
        return packing_document.packing_document(case, result, None)


@pytest.mark.parametrize(
    ("entry", "intercept", "seed"),
    [(BIG_M, "free", 0), (BILINEAR, "penalised", 1), (BIG_M, "none", 1)],
)
def test_parts_prove_the_mean_of_their_optima(
    entry: str, intercept: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch)
    data = points(seed)
    case, result = opened(data, intercept, entry)
    document = in_parts(monkeypatch, case, result)
    entries = document["packed"]["parts"]
    assert document["packed"]["nodes"] == []
    assert sorted(i for part in entries for i in part["points"]) == list(range(24))
    proof = accepted(document)
    many = len(entries)
    exact = [
        optimum_of(TrainingData(data.X[own], data.y[own]), many * C, intercept)
        for own in (part["points"] for part in entries)
    ]
    assert float(proof.lower) == pytest.approx(sum(exact) / many, rel=2e-6)
    assert float(proof.lower) <= optimum_of(data, C, intercept) * (1 + 1e-12)
    assert float(proof.upper) == pytest.approx(optimum_of(data, C, intercept), rel=1e-6)


def test_an_interrupt_leaves_a_file_of_what_was_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tree of a part, and before its root."""
    small_parts(monkeypatch)
    case, result = opened(points(0), "free")
    tree = packing_document.packing_document(case, result, None)
    assert "parts" not in tree["packed"], "a tree that proves more than parts is written"
    whole, seen = accepted(in_parts(monkeypatch, case, result)), list[int]()

    def second_call_is_ctrl_c(tree: Any, words: Any = None) -> bool:
        seen.append(tree.nodes)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return words is None or bool(words["go_on"](tree))

    with monkeypatch.context() as patch:
        stopping(patch, second_call_is_ctrl_c, of_parts=True)
        part = accepted(in_parts(patch, case, result))
    assert 0 < part.lower < whole.lower
    assert len(seen) < 6
    seen.clear()
    real = trees.Tree.root
    with monkeypatch.context() as patch:
        patch.setattr(trees.Tree, "root", lambda t: second_call_is_ctrl_c(t) and real(t))
        part = accepted(in_parts(patch, case, result))
    assert 0 < part.lower <= part.upper


# --- forged files --------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["free", "penalised"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A document with splits, violated rows and several conflicts a leaf."""
    data = tm.data.outlier_data("clustered", n=12, d=2, sigma=1.2, seed=1)
    path = tmp_path_factory.mktemp("packed") / "proof.json"
    return written(built(BIG_M, data, C, request.param), path)


@pytest.fixture(scope="module", params=["free", "none"])
def divided(request: pytest.FixtureRequest) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        small_parts(patch)
        return in_parts(patch, *opened(points(2), request.param))


def first_half(nodes: list[Any]) -> int:
    """Where the half that gives the first point up ends."""
    open_halves, end = 1, 1
    while open_halves:
        open_halves += 1 if isinstance(nodes[end], int) else -1
        end += 1
    return end


def leaf(part: Any) -> Any:
    return max((node for node in part["nodes"] if isinstance(node, list)), key=len)


def conflict(part: Any) -> Any:
    return max(part["conflicts"], key=len)


def violated(part: Any) -> int:
    """A conflict that uses a row of points that are given up below the root."""
    return next(k for k, c in enumerate(part["conflicts"]) if any("-" in a for _, a in c))


def change(part: Any, name: str, value: Callable[[Any], Any]) -> None:
    part[name] = value(part[name])


Forgery = Callable[[Any], Any]
FORGED: dict[str, tuple[Forgery, str]] = {
    "without a child": (
        lambda p: change(p, "nodes", lambda n: n[: first_half(n)]), "is not complete",
    ),
    "only one child": (
        lambda p: change(p, "nodes", lambda n: n[first_half(n) :]),
        "belongs to nothing|is decided|is proven|given up",
    ),
    "decided twice": (lambda p: change(p, "nodes", lambda n: [n[0], *n, *n[1:]]), "is decided"),
    "a point twice": (lambda p: conflict(p).append(list(conflict(p)[0])), "an index twice"),
    "one conflict twice": (lambda p: leaf(p).insert(0, leaf(p)[0]), "a point in two conflicts"),
    "a violated row everywhere": (
        lambda p: p.update(nodes=[[violated(p)]]), "a row of a point that is not given up",
    ),
    "an unknown conflict": (
        lambda p: leaf(p).__setitem__(0, len(p["conflicts"])), "no such index",
    ),
    "no leaf": (lambda p: p.update(nodes=[]), "is not complete"),
}  # fmt: skip


def twice(text: str) -> str:
    return (2 * float.fromhex(text)).hex()


FORGED_PARTS: dict[str, tuple[Forgery, str]] = {
    "a point in two parts": (
        lambda p: p["parts"][1]["points"].append(p["parts"][0]["points"][0]),
        "a point is in two parts",
    ),
    "more than a part proves": (
        lambda p: change(p["parts"][0], "lower", twice), "less than `lower` is proven at",
    ),
    "less together": (
        lambda p: p["parts"][0].update(lower="0"), "prove less than `lower` together",
    ),
    # What is left has fewer parts, so that its points cost less.
    "one part alone": (lambda p: change(p, "parts", lambda all_: all_[:1]), "less than `lower`"),
    "a tree beside": (lambda p: p.update(nodes=[[]]), "beside another tree"),
    "no parts": (lambda p: p.update(parts=[]), "or none"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_file_is_refused(found: Any, name: str) -> None:
    forge, why = FORGED[name]
    forged = copy.deepcopy(found)
    forge(forged["packed"])
    refused(forged, why)


@pytest.mark.parametrize("name", FORGED_PARTS)
def test_a_forged_file_in_parts_is_refused(divided: Any, name: str) -> None:
    forge, why = FORGED_PARTS[name]
    forged = copy.deepcopy(divided)
    forge(forged["packed"])
    refused(forged, why)


def test_a_free_intercept_is_balanced_exactly() -> None:
    """Two points at 1 and -1: keeping both costs 1, and multipliers that are not equal no more."""
    margins = [
        {"name": str(i), "lower": "1", "upper": None, "linear": [[0, "1"], [1, y], [2 + i, "9"]]}
        for i, y in enumerate(("1", "-1"))
    ]
    document = {
        "schema": "tightmargin-proof/1",
        "model": {
            "variables": ["w", "b", "z0", "z1"],
            "lower": [None, None, "0", "0"],
            "upper": [None, None, "1", "1"],
            "integer": [2, 3],
            "objective": {
                "constant": "0", "linear": [[2, "3"], [3, "3"]], "products": [[0, 0, "1"]],
            },
            "rows": margins,
            "quadratic": [],
            "psd": [],
        },
        "claim": {"kind": "bounds", "lower": "1"},
        "packed": {
            "columns": [0], "intercept": 1, "points": [[0, 2], [1, 3]],
            "conflicts": [[[0, "1"], [1, "5/3"]]], "nodes": [[0]],
        },
    }  # fmt: skip
    assert accepted(document) is not None
    above = document | {"claim": {"kind": "bounds", "lower": "1000001/1000000"}}
    assert accepted(above) is None
    document["packed"] |= {"conflicts": [[[0, "1"]]]}  # b alone keeps a point
    assert accepted(document) is None
