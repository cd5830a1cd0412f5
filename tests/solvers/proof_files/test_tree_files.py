"""What branch and bound proves can be written, and the files say what enumeration finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.solvers import Branch, Leaf, NotProvenError, checker, write_tree
from tests.references.multiclass import class_points
from tests.solvers.proof_files import tiny_trees
from tests.solvers.proof_files.rewritten_models import enumerated
from tests.solvers.proof_files.written_files import (
    Build,
    Proven,
    holds,
    proven,
    searched,
    solved,
    tree,
    tree_file,
)
from tests.support.covering import FULL
from tightmargin.solvers import Status, solve


def agrees(found: Proven) -> None:
    """What is claimed holds of the enumerated minimum, to the last place where that is exact."""
    proof, document = found
    least, off = enumerated(document["model"])
    assert (least is None) == (proof.kind == "infeasible")
    assert holds(proof, "infeasible" if least is None else least, off, off)


@pytest.mark.parametrize("build", tiny_trees.ALL, ids=lambda build: build.__name__)
def test_files_of_models_that_are_enumerated(build: Build) -> None:
    agrees(tree_file(build))
    expected = "infeasible" if build in tiny_trees.INFEASIBLE else "optimum"
    assert tree_file(build)[0].kind == expected


@pytest.mark.parametrize("seed", range(30 if FULL else 8))
def test_files_of_drawn_models(tmp_path: Path, seed: int) -> None:
    """A minimum of 0 has a gap in absolute terms alone."""
    found = tree(tiny_trees.drawn(seed), tmp_path / "proof.json", absolute_gap=1e-7)
    assert found[0].kind in ("optimum", "infeasible")
    agrees(found)


@pytest.mark.parametrize("build", [tiny_trees.knapsack, tiny_trees.equation, tiny_trees.big_m])
def test_a_tree_that_is_not_closed_proves_bounds(build: Build) -> None:
    found = tree_file(build, 1)
    assert found[0].kind == "bounds"
    assert found[0].lower is not None
    assert found[0].upper is not None
    assert not found[0].closed()
    agrees(found)


def test_a_bound_is_written_without_a_point(tmp_path: Path) -> None:
    case, search = searched(tiny_trees.miqp())
    path = tmp_path / "proof.json"
    proof = write_tree(path, case, None, search.proof)
    assert (proof.kind, proof.upper) == ("bounds", None)
    agrees(proven(path))


def test_a_gap_that_was_asked_for_is_an_optimum(tmp_path: Path) -> None:
    proof, document = tree(
        tiny_trees.equation(), tmp_path / "proof.json", node_limit=1, absolute_gap=100.0
    )
    assert proof.kind == "optimum"
    assert document["claim"]["absolute_gap"] == (100.0).hex()


def test_an_open_leaf_proves_nothing(tmp_path: Path) -> None:
    case, search = searched(tiny_trees.knapsack())
    for nodes, why in (
        ((Leaf(-1),), "no such index"),
        ((Branch(0, 0.0, 1, 2), search.proof.nodes[-1], Leaf(-1)), "no such index"),
        ((Branch(0, 0.0, 1, 1), Leaf(0)), "stands twice"),
    ):
        with pytest.raises(NotProvenError, match=why):
            write_tree(tmp_path / "proof.json", case, None, replace(search.proof, nodes=nodes))
    assert list(tmp_path.iterdir()) == []


def clustered(n: int, d: int = 2, **words: Any) -> Any:
    points = outlier_data("clustered", n=n, d=d, sigma=0.4, seed=words.pop("seed", 1))
    return tm.zero_one_big_m(points, penalty=1.0, big_m=60.0)


def ramp() -> Any:
    points = outlier_data("clustered", n=16, d=2, sigma=0.4, seed=1)
    return tm.build("ramp_big_m", points, C=1.0, big_m="derived")


def truncated() -> Any:
    return tm.build(
        "multiclass_truncated", class_points(2), ridge=0.1, truncation=-0.5, big_m="derived"
    )


@pytest.mark.parametrize(
    ("build", "words", "how"),
    [
        (tiny_trees.integers_apart, {"prove": 10}, ""),
        (lambda: tm.zero_one_disjunctive(outlier_data("clustered", n=16, d=2, sigma=0.4, seed=1),
                                         penalty=1.0), {}, "enumeration"),
        (ramp, {}, "cones"),
        (truncated, {}, "branch and bound"),
        (tiny_trees.discs, {"method": "branch-and-bound"}, None),
    ],
    ids=["tree", "enumeration", "ramp", "classes", "no point"],
)  # fmt: skip
def test_solve_writes_what_a_search_proves(
    build: Build, words: dict[str, Any], how: str | None, tmp_path: Path
) -> None:
    result = solved(build(), tmp_path / "proof.json.gz", **words)
    proof, _ = proven(tmp_path / "proof.json.gz")
    if how is None:
        assert (result.status, proof.kind) == (Status.INFEASIBLE, "infeasible")
        return
    assert how in result.certificate.bound_method
    assert proof.kind == "optimum"
    assert result.interval is not None
    low, high = result.interval
    assert float(proof.lower + proof.model.constant) <= high * (1 + 1e-9)
    assert float(proof.upper + proof.model.constant) >= low * (1 - 1e-9)
    if build is tiny_trees.integers_apart:
        assert proof.lower == pytest.approx(2)


def test_a_tree_for_a_file_takes_no_longer_than_was_asked(tmp_path: Path) -> None:
    """Searched for minutes it would be closed; in a second there are bounds."""
    model = clustered(40, 5, seed=5)
    words: dict[str, Any] = {"solver": "scip", "live": False, "options": {"limits/nodes": 1}}
    solved(model, tmp_path / "proof.json.gz", time_limit=1.0, **words)
    assert proven(tmp_path / "proof.json.gz")[0].kind == "bounds"
    off = tmp_path / "none.json"
    assert "no proof file was written" in solve(model, prove=False, proof=off, **words).message
    assert not off.exists()


def test_the_multipliers_of_free_columns_cancel_exactly(tmp_path: Path) -> None:
    """Only 7 and -3 times the rows leave no s - 2 t, which has no limits: 14 x - 6 y = 1."""
    free = {"s": (None, None), "t": (None, None)}
    model = tiny_trees.model({"x": (0, 3), "y": (0, 3)}, free)
    model.goal = pyo.Objective(expr=model.x)
    model.one = pyo.Constraint(expr=2 * model.x + 3 * model.s - 6 * model.t == 1)
    model.two = pyo.Constraint(expr=2 * model.y + 7 * model.s - 14 * model.t == 2)
    _, document = tree(model, tmp_path / "proof.json")
    assert document["claim"] == {"kind": "infeasible"}
    for entry in document["tree"]["certificates"]:
        y = {i: checker.number(text, "") for i, text in entry["rows"]}
        assert 3 * y.get(0, 0) + 7 * y.get(1, 0) == 0
