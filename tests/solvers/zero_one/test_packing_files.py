"""Proof files of the conflict search: what they prove is true, and forged ones are refused."""

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
from tests.inside.solvers import Case, Subject, check, plain, standard_form, zero_one_enumeration
from tests.inside.solvers import checker_read as read
from tests.inside.solvers import packings_document as packing_document
from tests.references.brute_force import zero_one_optima
from tests.solvers.zero_one.clouds import clustered
from tests.support.both_checkers import accepted, refused
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict

SEARCH = "conflict-search"
BIG_M, BILINEAR = "zero_one_big_m", "zero_one_bilinear"


def built(entry: str, data: TrainingData, penalty: float, intercept: str) -> Any:
    words = {"big_m": "derived"} if entry == BIG_M else {}
    return tm.build(entry, data, penalty=penalty, intercept=intercept, **words)


def written(model: Any, path: Path, **words: Any) -> tuple[Any, Any]:
    """A result and the document that was written for it."""
    found = tm.solve(model, method=SEARCH, proof=str(path), **words)
    assert str(path) in found.message, plain(found.message)
    return found, read(str(path))


# --- true files ----------------------------------------------------------------------------------


def awkward(seed: int) -> TrainingData:
    """Few points: at random, on a grid with ties, every one twice, or far from 0 and large."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(7, 10)), int(rng.integers(1, 4))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 0.5 * y[:, None]
    if seed % 4 == 1:
        X = np.round(2 * X) / 2
    elif seed % 4 == 2:
        X[n // 2 :] = X[: n - n // 2]
    elif seed % 4 == 3:
        X = 1e3 * X + 50
    return TrainingData(X, y)


@pytest.mark.parametrize(
    ("seed", "intercept"), [(0, "free"), (1, "penalised"), (2, "none"), (3, "free")]
)
def test_a_file_proves_the_optimum_that_enumeration_finds(
    seed: int, intercept: str, tmp_path: Path
) -> None:
    data = awkward(seed)
    penalties = (0.4, 6.0)
    optima = zero_one_optima(data, penalties, intercept)
    for penalty, optimum, entry in zip(penalties, optima, (BIG_M, BILINEAR), strict=True):
        model = built(entry, data, penalty, intercept)
        _, document = written(model, tmp_path / "proof.json")
        assert document["packed"]["nodes"]
        proof = accepted(document)
        assert proof is not None
        assert proof.kind == "optimum"
        assert float(proof.lower) <= optimum * (1 + 1e-9)
        assert float(proof.upper) >= optimum * (1 - 1e-9)


@pytest.mark.parametrize("method", [SEARCH, "cone-search"])
def test_a_point_at_0_without_an_intercept_has_a_row_of_its_own(
    method: str, tmp_path: Path
) -> None:
    X = np.array([[0.0, 0.0], [1.0, 2.0], [-1.0, -2.0], [2.0, 1.0], [0.5, 1.0]])
    data = TrainingData(X, np.array([1.0, 1.0, -1.0, 1.0, -1.0]))
    (optimum,) = zero_one_optima(data, (3.0,), "none")
    path = str(tmp_path / "proof.json")
    entry = BIG_M if method == SEARCH else BILINEAR
    tm.solve(built(entry, data, 3.0, "none"), method=method, proof=path)
    proof = accepted(read(path))
    assert proof is not None
    assert float(proof.lower) == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("ends", ["a limit", "Ctrl-C"])
def test_a_search_that_was_stopped_has_a_file_of_what_it_proves(
    ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = clustered(22, 5, 2)
    model = built(BIG_M, data, 1.0, "free")
    result = tm.solve(model, method=SEARCH)
    assert result.certificate.verdict is Verdict.CERTIFIED
    asked = []

    def few(tree: Any) -> bool:
        asked.append(tree.nodes)
        if len(asked) == 2 and ends == "Ctrl-C":
            raise KeyboardInterrupt
        return len(asked) < 2

    recorded = packing_document.recorded
    monkeypatch.setattr(
        packing_document, "recorded", lambda data, **words: recorded(data, **words | {"go_on": few})
    )
    _, document = written(model, tmp_path / "proof.json")
    proof = accepted(document)
    assert len(asked) == 2
    assert proof is not None
    assert proof.kind == "bounds"
    assert 0 < proof.lower < Fraction(result.objective) * Fraction(0.999)


def test_of_a_result_that_is_open_a_file_proves_more_or_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = clustered(22, 5, 2)
    model = built(BIG_M, data, 1.0, "free")
    case = Case(model, Subject(standard_form(model)), model.origin)
    found = tm.solve(model, method=SEARCH)
    open_one = replace(found.certificate, verdict=Verdict.NOT_CERTIFIED)
    weak = replace(found, bound=0.5 * found.objective, certificate=open_one)
    proof = accepted(packing_document.packing_document(case, weak, None))
    assert proof is not None
    assert proof.kind == "optimum"
    recorded = packing_document.recorded

    def only_below_a_bound(data: Any, **words: Any) -> Any:
        return recorded(data, **words | {"go_on": lambda tree: np.isfinite(words["cutoff"])})

    monkeypatch.setattr(packing_document, "recorded", only_below_a_bound)
    strong = replace(weak, bound=0.95 * found.objective)
    proof = accepted(packing_document.packing_document(case, strong, None))
    assert proof is not None
    assert 0.949 * found.objective < proof.lower <= found.objective


# --- where there is none -------------------------------------------------------------------------


def test_a_file_that_would_be_too_long_is_a_tree_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = awkward(0)
    for name in ("LONGEST", "MULTIPLIERS"):
        with monkeypatch.context() as patch:
            patch.setattr(packing_document, name, 2)
            _, document = written(built(BIG_M, data, 2.0, "free"), tmp_path / "proof.json")
        assert "packed" not in document
        assert check(document).lower is not None


def test_weighted_points_are_none_of_it() -> None:
    data = awkward(0)
    weighted = TrainingData(data.X, data.y, sample_weight=np.arange(1.0, data.n + 1))
    model = built(BIG_M, weighted, 2.0, "free")
    assert not packing_document.suits_a_file(model.origin)
    assert packing_document.suits_a_file(built(BIG_M, data, 2.0, "free").origin)


# --- forged files --------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["free", "penalised"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A document with splits, violated rows and several conflicts a leaf, and the optimum."""
    data = tm.data.outlier_data("clustered", n=12, d=2, sigma=1.2, seed=1)
    path = tmp_path_factory.mktemp("packed") / "proof.json"
    _, document = written(built(BIG_M, data, 1.5, request.param), path)
    return document, zero_one_enumeration(data, penalty=1.5, intercept=request.param).objective


def splits(nodes: list[Any]) -> list[int]:
    return [k for k, node in enumerate(nodes) if isinstance(node, int)]


def without_a_child(part: Any) -> None:
    """The half that gives the first point up is left out."""
    nodes, open_halves, end = part["nodes"], 1, 1
    while open_halves:
        open_halves += 1 if isinstance(nodes[end], int) else -1
        end += 1
    part["nodes"] = nodes[:end]


def only_one_child(part: Any) -> None:
    """The half that gives the first point up stands for the whole."""
    without = {"nodes": part["nodes"]}
    without_a_child(without)
    part["nodes"] = part["nodes"][len(without["nodes"]) :]


def decided_twice(part: Any) -> None:
    """The half that keeps the first point is split at that point again."""
    first = part["nodes"][0]
    part["nodes"] = [first, *part["nodes"], *part["nodes"][1:]]


def a_point_twice(part: Any) -> None:
    conflict = max(part["conflicts"], key=len)
    conflict.append(list(conflict[0]))


def one_conflict_twice(part: Any) -> None:
    leaf = max((node for node in part["nodes"] if isinstance(node, list)), key=len)
    leaf.insert(0, leaf[0])


def a_violated_row_everywhere(part: Any) -> None:
    """The root is closed by a conflict that uses a row of points that are given up below."""
    k = next(k for k, c in enumerate(part["conflicts"]) if any("-" in a for _, a in c))
    part["nodes"] = [[k]]


def an_unknown_conflict(part: Any) -> None:
    leaf = next(node for node in part["nodes"] if isinstance(node, list))
    leaf[0] = len(part["conflicts"])


def no_leaf(part: Any) -> None:
    part["nodes"] = []


FORGERIES: dict[Callable[[Any], None], str] = {
    without_a_child: "is not complete",
    only_one_child: "belongs to nothing|is decided|is proven|given up",
    decided_twice: "is decided",
    a_point_twice: "an index twice",
    one_conflict_twice: "a point in two conflicts",
    a_violated_row_everywhere: "a row of a point that is not given up",
    an_unknown_conflict: "no such index",
    no_leaf: "is not complete",
}


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_a_forged_file_is_refused(found: Any, forge: Callable[[Any], None]) -> None:
    forged = copy.deepcopy(found[0])
    forge(forged["packed"])
    refused(forged, FORGERIES[forge])


def test_a_bound_above_what_is_proven_is_refused(found: Any) -> None:
    document, optimum = found
    for lower in (optimum * (1 + 1e-9), 2 * optimum):
        forged = copy.deepcopy(document)
        forged["claim"] = {"kind": "bounds", "lower": float(lower).hex()}
        del forged["point"]
        assert accepted(forged) is None
    assert accepted(document | {"bound": {}}) is None, "two proofs of one bound"


def changed(document: Any, rng: np.random.Generator) -> Any:
    """A copy with one thing of the packings made up."""
    forged = copy.deepcopy(document)
    part, kind = forged["packed"], int(rng.integers(8))
    conflict = part["conflicts"][int(rng.integers(len(part["conflicts"])))]
    place = int(rng.integers(len(conflict)))
    leaves = [node for node in part["nodes"] if isinstance(node, list) and node]
    leaf = leaves[int(rng.integers(len(leaves)))]
    n = len(part["points"])
    if kind == 0:
        conflict[place][1] = str(int(conflict[place][1]) + int(rng.integers(-1, 2)) * 2**36)
    elif kind == 1:
        conflict[place][1] = str(-int(conflict[place][1]))
    elif kind == 2:
        conflict[place][0] = int(rng.integers(n))
    elif kind == 3:
        del conflict[place]
    elif kind == 4:
        leaf[int(rng.integers(len(leaf)))] = int(rng.integers(len(part["conflicts"])))
    elif kind == 5:
        del leaf[int(rng.integers(len(leaf)))]
    elif kind == 6:
        at = splits(part["nodes"])
        part["nodes"][at[int(rng.integers(len(at)))]] = int(rng.integers(n))
    else:
        a, b = rng.integers(n, size=2).tolist()
        part["points"][a], part["points"][b] = part["points"][b], part["points"][a]
    return forged


def test_one_thing_changed_proves_nothing_false(found: Any) -> None:
    document, optimum = found
    rng, refused = np.random.default_rng(3), 0
    for _ in range(200 if FULL else 24):
        proof = accepted(changed(document, rng))
        if proof is None:
            refused += 1
            continue
        assert proof.lower is not None
        assert float(proof.lower) <= optimum * (1 + 1e-9)
    assert refused >= 6


def test_a_free_intercept_is_balanced_exactly() -> None:
    """Two points at 1 and -1: keeping both costs 1, and multipliers that are not equal no more."""
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
            "rows": [
                {"name": "0", "lower": "1", "upper": None,
                 "linear": [[0, "1"], [1, "1"], [2, "9"]]},
                {"name": "1", "lower": "1", "upper": None,
                 "linear": [[0, "1"], [1, "-1"], [3, "9"]]},
            ],
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
    document["claim"] = {"kind": "bounds", "lower": "1000001/1000000"}
    assert accepted(document) is None
    document["claim"] = {"kind": "bounds", "lower": "1"}
    document["packed"] |= {"conflicts": [[[0, "1"]]]}  # b alone keeps a point
    assert accepted(document) is None
