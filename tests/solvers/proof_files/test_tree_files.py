"""What branch and bound proves can be written, and the files say what enumeration finds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.solvers import (
    Branch,
    Case,
    Leaf,
    Limits,
    NotProvenError,
    Subject,
    TreeSearch,
    checker,
    standard_form,
    tree_search,
    write_tree,
)
from tests.references.multiclass import class_points
from tests.solvers.proof_files import second_checker, tiny_models, tiny_trees
from tests.solvers.proof_files.rewritten_models import enumerated
from tightmargin.formulations import zero_one_big_m
from tightmargin.solvers import Status, solve


def searched(
    model: pyo.ConcreteModel, node_limit: int | None = None, **limits: Any
) -> tuple[Case, TreeSearch]:
    case = Case(model, Subject(standard_form(model)), None, Limits(**{"time_limit": 60, **limits}))
    return case, tree_search(case, node_limit=node_limit)


def written(
    model: pyo.ConcreteModel, path: Path, node_limit: int | None = None, **limits: Any
) -> tuple[checker.Proof, dict[str, Any]]:
    """The proof of a search as the checker sees it, and its document, on which both agree."""
    case, search = searched(model, node_limit, **limits)
    proof = write_tree(path, case, search.point, search.proof)
    document = checker.read(str(path))
    assert checker.check(document).kind == proof.kind
    assert second_checker.decides(document)
    return proof, document


def agrees(proof: checker.Proof, document: dict[str, Any]) -> None:
    """What is claimed holds of the enumerated minimum, to the last place where that is exact."""
    least, off = enumerated(document["model"])
    if proof.kind == "infeasible":
        assert least is None
        return
    assert least is not None
    if proof.lower is not None:
        assert proof.lower + proof.model.constant <= least + off
    if proof.upper is not None:
        assert proof.upper + proof.model.constant >= least - off


@pytest.mark.parametrize("build", tiny_trees.ALL, ids=lambda build: build.__name__)
def test_files_of_models_that_are_enumerated(
    tmp_path: Path, build: Callable[[], pyo.ConcreteModel]
) -> None:
    proof, document = written(build(), tmp_path / "proof.json.gz")
    assert proof.kind == ("infeasible" if build in tiny_trees.INFEASIBLE else "optimum")
    agrees(proof, document)


@pytest.mark.parametrize("seed", range(30))
def test_files_of_drawn_models(tmp_path: Path, seed: int) -> None:
    """A minimum of 0 has a gap in absolute terms alone."""
    proof, document = written(tiny_trees.drawn(seed), tmp_path / "proof.json", absolute_gap=1e-7)
    assert proof.kind in ("optimum", "infeasible")
    agrees(proof, document)


@pytest.mark.parametrize("build", [tiny_trees.knapsack, tiny_trees.equation, tiny_trees.big_m])
def test_a_tree_that_is_not_closed_proves_bounds(
    tmp_path: Path, build: Callable[[], pyo.ConcreteModel]
) -> None:
    proof, document = written(build(), tmp_path / "proof.json", node_limit=1)
    assert proof.kind == "bounds"
    assert proof.lower is not None
    assert proof.upper is not None
    assert not proof.closed()
    agrees(proof, document)


def test_a_bound_is_written_without_a_point(tmp_path: Path) -> None:
    case, search = searched(tiny_trees.miqp())
    proof = write_tree(tmp_path / "proof.json", case, None, search.proof)
    assert proof.kind == "bounds"
    assert proof.upper is None
    agrees(proof, checker.read(str(tmp_path / "proof.json")))


def test_a_gap_that_was_asked_for_is_an_optimum(tmp_path: Path) -> None:
    proof, document = written(
        tiny_trees.equation(), tmp_path / "proof.json", node_limit=1, absolute_gap=100.0
    )
    assert proof.kind == "optimum"
    assert document["claim"]["absolute_gap"] == (100.0).hex()


def test_an_open_leaf_proves_nothing(tmp_path: Path) -> None:
    case, search = searched(tiny_trees.knapsack())
    for nodes in ((Leaf(-1),), (Branch(0, 0.0, 1, 2), search.proof.nodes[-1], Leaf(-1))):
        with pytest.raises(NotProvenError, match="no such index"):
            write_tree(tmp_path / "proof.json", case, None, replace(search.proof, nodes=nodes))
    twice = (Branch(0, 0.0, 1, 1), Leaf(0))
    with pytest.raises(NotProvenError, match="stands twice"):
        write_tree(tmp_path / "proof.json", case, None, replace(search.proof, nodes=twice))
    assert list(tmp_path.iterdir()) == []


def test_solve_writes_the_tree(tmp_path: Path) -> None:
    model = tiny_models.lp()
    model.x.domain = pyo.Integers
    model.half = pyo.Constraint(expr=2 * model.x >= 3)
    path = tmp_path / "proof.json"
    result = solve(model, proof=path, prove=10)
    assert f"the proof is in {path}" in result.message
    proof = checker.check(checker.read(str(path)))
    assert proof.kind == "optimum"
    assert proof.lower == pytest.approx(2)


def families() -> dict[str, tuple[pyo.ConcreteModel, str]]:
    """Models that searches of their families prove in ways of their own, and what did it."""
    points = outlier_data("clustered", n=16, d=2, sigma=0.4, seed=1)
    classes = class_points(2)
    return {
        "enumeration": (tm.zero_one_disjunctive(points, penalty=1.0), "enumeration"),
        "ramp": (tm.build("ramp_big_m", points, C=1.0, big_m="derived"), "cones"),
        "classes": (
            tm.build("multiclass_truncated", classes, ridge=0.1, truncation=-0.5, big_m="derived"),
            "branch and bound",
        ),
    }


@pytest.mark.parametrize("name", list(families()))
def test_what_a_search_of_a_family_proves_has_a_tree_too(tmp_path: Path, name: str) -> None:
    model, how = families()[name]
    path = tmp_path / "proof.json.gz"
    result = solve(model, proof=path)
    assert how in result.certificate.bound_method
    assert f"the proof is in {path}" in result.message
    document = checker.read(str(path))
    proof = checker.check(document)
    assert second_checker.decides(document)
    assert proof.kind == "optimum"
    assert result.interval is not None
    low, high = result.interval
    assert float(proof.lower + proof.model.constant) <= high * (1 + 1e-9)
    assert float(proof.upper + proof.model.constant) >= low * (1 - 1e-9)


def test_a_tree_for_a_file_takes_no_longer_than_was_asked(tmp_path: Path) -> None:
    points = outlier_data("clustered", n=60, d=6, sigma=0.4, seed=5)
    model = zero_one_big_m(points, penalty=1.0, big_m=60.0)
    path = tmp_path / "proof.json.gz"
    result = solve(model, "scip", time_limit=2.0, proof=path, options={"limits/nodes": 1})
    began = time.perf_counter()
    result = solve(model, "scip", time_limit=3.0, proof=path, options={"limits/nodes": 1})
    assert time.perf_counter() - began < 15.0
    assert "the proof is in" in result.message
    assert checker.check(checker.read(str(path))).kind == "bounds"
    off = tmp_path / "none.json"
    assert "no proof file was written" in solve(model, "scip", prove=False, proof=off,
                                                options={"limits/nodes": 1}).message  # fmt: skip
    assert not off.exists()


def test_solve_writes_that_there_is_no_point(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    result = solve(tiny_trees.discs(), method="branch-and-bound", proof=path)
    assert result.status is Status.INFEASIBLE
    assert checker.check(checker.read(str(path))).kind == "infeasible"


def test_rows_that_the_search_derives_are_in_the_file(tmp_path: Path) -> None:
    """A 0-1 loss with a price, and a row that no catalogue knows."""
    data = outlier_data("clustered", n=20, d=2, sigma=0.4, seed=2)
    model = zero_one_big_m(data, penalty=1.0, big_m=60.0)
    model.added = pyo.Constraint(expr=model.w[0] <= 0.5)
    began = time.perf_counter()
    case, search = searched(model)
    solved = time.perf_counter()
    proof = write_tree(tmp_path / "proof.json.gz", case, search.point, search.proof)
    document = checker.read(str(tmp_path / "proof.json.gz"))
    assert proof.kind == "optimum"
    assert sum("row" in step for step in document["steps"]) >= 20
    shares = [node for node in document["tree"]["nodes"] if isinstance(node, int)]
    assert len(document["tree"]["certificates"]) < len(shares)
    assert second_checker.decides(document)
    checking = time.perf_counter()
    checker.check(document)
    assert time.perf_counter() - checking < 2 * (solved - began)
    exact = search.point
    assert exact is not None
    assert proof.upper == Fraction(exact.varying)


def test_the_multipliers_of_free_columns_cancel_exactly(tmp_path: Path) -> None:
    """Only 7 and -3 times the rows leave no s - 2 t, which has no limits: 14 x - 6 y = 1."""
    free = {"s": (None, None), "t": (None, None)}
    model = tiny_trees.model({"x": (0, 3), "y": (0, 3)}, free)
    model.goal = pyo.Objective(expr=model.x)
    model.one = pyo.Constraint(expr=2 * model.x + 3 * model.s - 6 * model.t == 1)
    model.two = pyo.Constraint(expr=2 * model.y + 7 * model.s - 14 * model.t == 2)
    _, document = written(model, tmp_path / "proof.json")
    assert document["claim"] == {"kind": "infeasible"}
    for entry in document["tree"]["certificates"]:
        y = {i: checker.number(text, "") for i, text in entry["rows"]}
        assert 3 * y.get(0, 0) + 7 * y.get(1, 0) == 0
