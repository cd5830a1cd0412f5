"""Every optimum that is certified can be written, and the file says what is true."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.cases import CASES, CONVEX
from tests.cases import known as optimum
from tests.conformance.exponential_problems import OPTIMA, two
from tests.inside.experiments import outlier_data
from tests.inside.solvers import (
    Branch,
    Leaf,
    NotProvenError,
    checker,
    classify,
    infeasible_document,
    multipliers_by_name,
    standard_form,
    write,
    write_document,
    write_tree,
)
from tests.references.multiclass import class_points
from tests.solvers.proof_files import tiny_trees
from tests.solvers.proof_files.test_checker import changed, rejected
from tests.solvers.proof_files.written_files import (
    BY_NAME,
    CONVEX_PROBLEMS,
    Build,
    Proven,
    convex_file,
    exponential_files,
    holds,
    known,
    proven,
    searched,
    solved,
    tree,
    tree_file,
    tree_truth,
)
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import Status, Verdict, solve

# Of each class, and with cones of every kind; with FULL all.
ENTRIES = [name for name in CASES if CATALOGUE[name].problem_class in CONVEX] if FULL else [
    "c_svc_dual", "rsvm_dual_perspective", "conic_sdp", "max_margin_svc", "weighted_svc",
    "zero_one_hinge", "conic_sdp_budget", "rsvm",
]  # fmt: skip


# --- convex models -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONVEX_PROBLEMS)
def test_files_of_problems_with_known_answers(name: str) -> None:
    proof, document = convex_file(name)
    least, off = known(name)
    assert holds(proof, least, off, off)
    assert proof.kind == (least if isinstance(least, str) else "optimum")
    if name == "lp_maximised":
        assert document["model"]["variables"] == ["x", "y"]
        assert [row["name"] for row in document["model"]["rows"]] == ["total", "slack"]


@pytest.mark.parametrize("name", ENTRIES)
def test_convex_entries_have_files(tmp_path: Path, name: str) -> None:
    mode = CASES[name].intercepts[-1]
    gap = 1e-8 if name == "conic_sdp_budget" else 0.0  # an optimum of 0
    path = tmp_path / "proof.json"
    solved(CASES[name].build(mode), path, method="direct", absolute_gap=gap)
    proof, document = proven(path)
    assert proof.kind == "optimum"
    expected = optimum(name, mode) * (1 if "minimised" in document["about"] else -1)
    slack = 2e-7 * max(1.0, abs(expected))  # of the other solve
    assert holds(proof, expected, slack, slack)


def test_exp_and_log_have_files_of_what_is_known() -> None:
    """The optimum in closed form, or that there is no point, or no least value."""
    for name, ((found, _), least) in exponential_files().items():
        assert found.kind == (least if isinstance(least, str) else "optimum"), name
        assert holds(found, least, 4e-16, 4e-16), name
        if found.kind == "optimum":
            assert found.upper - found.lower <= Fraction(1, 10**6) * max(1, abs(Fraction(least)))


def test_forged_parts_of_exp_and_log_are_rejected() -> None:
    def shifted(text: str, by: Fraction) -> str:
        return str(checker.number(text, "") + by)

    files = {name: document for name, ((_, document), _) in exponential_files().items()}
    for name in OPTIMA:
        whole = files[name]
        tight = copy.deepcopy(whole)
        for tangent in tight["steps"][0]["tangents"]:
            if tangent[2]:  # as much as it proves, and a little more
                tangent[1] = shifted(tangent[1], Fraction(1, 10**9))
        assert "claims more than it proves" in rejected(tight)
        column = whole["model"]["terms"][0]["column"]
        below = shifted(whole["point"][column], -Fraction(1, 10**6))
        assert "the point misses" in rejected(changed(whole, "point", column, to=below))
    unbounded = files["unbounded exp"]
    back = [str(-checker.number(v, "")) for v in unbounded["ray"]]
    assert "the ray leaves" in rejected(unbounded | {"ray": back})
    document = copy.deepcopy(files["sum"])
    shares = next(s for _, _, s in document["steps"][0]["tangents"] if "0x0.0p+0" not in s)
    shares[0] = shifted(shares[0], Fraction(1, 10**30))
    assert "slopes of nothing" in rejected(document)


@pytest.mark.parametrize(
    "build",
    [
        # exp(y) > 0 is never proven from multipliers to exclude exp(y) <= 0, nor a ray for log.
        two(goal=lambda m: pyo.exp(m.x), a=lambda m: pyo.exp(m.y) <= 0),
        two(gain=lambda m: pyo.log(m.x)),
    ],
)
def test_what_is_so_in_the_limit_alone_is_not_certified(build: Build) -> None:
    assert solve(build()).certificate.verdict is not Verdict.CERTIFIED


# --- trees ---------------------------------------------------------------------------------------


def agrees(build: Build, found: Proven) -> bool:
    """Whether what is claimed holds of the known minimum, to the last place where that is exact."""
    least, off = tree_truth(build, found[1])
    return holds(found[0], least, off, off)


@pytest.mark.parametrize("build", tiny_trees.ALL, ids=lambda build: build.__name__)
def test_files_of_models_whose_minimum_is_known(build: Build) -> None:
    assert agrees(build, tree_file(build))
    assert tree_file(build)[0].kind == ("infeasible" if build is tiny_trees.discs else "optimum")


@pytest.mark.parametrize("seed", range(30 if FULL else 6))
def test_files_of_drawn_models(tmp_path: Path, seed: int) -> None:
    """A minimum of 0 has a gap in absolute terms alone."""
    proof, document = tree(tiny_trees.drawn(seed), tmp_path / "proof.json", absolute_gap=1e-7)
    least = tiny_trees.enumerated(document["model"])
    assert proof.kind == ("optimum" if isinstance(least, Fraction) else "infeasible")
    assert holds(proof, least)


def test_a_tree_that_is_not_closed_proves_bounds(tmp_path: Path) -> None:
    for build in (tiny_trees.knapsack, tiny_trees.equation, tiny_trees.big_m):
        found = tree_file(build, 1)
        assert found[0].kind == "bounds"
        assert found[0].lower < found[0].upper
        assert not found[0].closed()
        assert agrees(build, found)
    case, search = searched(tiny_trees.miqp())
    proof = write_tree(tmp_path / "proof.json", case, None, search.proof)
    assert (proof.kind, proof.upper) == ("bounds", None), "without a point"
    assert agrees(tiny_trees.miqp, proven(tmp_path / "proof.json"))


def test_a_gap_that_was_asked_for_is_an_optimum(tmp_path: Path) -> None:
    limits = {"node_limit": 1, "absolute_gap": 100.0}
    proof, document = tree(tiny_trees.equation(), tmp_path / "proof.json", **limits)
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


def clustered(n: int = 16, d: int = 2, sigma: float = 0.4, seed: int = 1) -> Any:
    return outlier_data("clustered", n=n, d=d, sigma=sigma, seed=seed)


@pytest.mark.parametrize(
    ("build", "words", "how"),
    [
        (tiny_trees.lattice, {"prove": 10}, ""),
        (lambda: tm.zero_one_disjunctive(clustered(), penalty=1.0), {}, "enumeration"),
        (lambda: tm.ramp_big_m(clustered(), C=1.0, big_m="derived"), {}, "cones"),
        (lambda: tm.build("multiclass_truncated", class_points(2), ridge=0.1, truncation=-0.5,
                          big_m="derived"), {}, "branch and bound"),
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
    low, high = result.interval
    assert float(proof.lower + proof.model.constant) <= high * (1 + 1e-9)
    assert float(proof.upper + proof.model.constant) >= low * (1 - 1e-9)


def test_a_tree_for_a_file_takes_no_longer_than_was_asked(tmp_path: Path) -> None:
    """Searched for minutes it would be closed; in a second there are bounds."""
    model = tm.zero_one_big_m(clustered(40, 5, seed=5), penalty=1.0, big_m=60.0)
    words: dict[str, Any] = {"solver": "scip", "live": False, "options": {"limits/nodes": 1}}
    solved(model, tmp_path / "proof.json.gz", time_limit=1.0, **words)
    assert proven(tmp_path / "proof.json.gz")[0].kind == "bounds"
    off = tmp_path / "none.json"
    assert "no proof file was written" in solve(model, prove=False, proof=off, **words).message
    assert not off.exists()


def test_the_multipliers_of_free_columns_cancel_exactly(tmp_path: Path) -> None:
    """Only 7 and -3 times the rows leave no s - 2 t, which has no limits: 14 x - 6 y = 1."""
    model = tiny_trees.model(
        {"x": (0, 3), "y": (0, 3)}, {"s": (None, None), "t": (None, None)}, lambda m: m.x,
        lambda m: 2 * m.x + 3 * m.s - 6 * m.t == 1, lambda m: 2 * m.y + 7 * m.s - 14 * m.t == 2,
    )  # fmt: skip
    _, document = tree(model, tmp_path / "proof.json")
    assert document["claim"] == {"kind": "infeasible"}
    for entry in document["tree"]["certificates"]:
        y = {i: checker.number(text, "") for i, text in entry["rows"]}
        assert 3 * y.get(0, 0) + 7 * y.get(1, 0) == 0


# --- what is not written -------------------------------------------------------------------------


def box(goal: Callable[[Any], Any]) -> Build:
    ends = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    return lambda: tiny_trees.model({}, {**ends}, goal)


def integers_beside_exp() -> pyo.ConcreteModel:
    return tiny_trees.model({"y": (0, 3)}, {"x": (0, 3)}, lambda m: pyo.exp(m.x) + (m.y - m.x) ** 2)


@pytest.mark.parametrize(
    ("build", "words", "why"),
    [
        (box(lambda m: m.x * m.y), {}, "proof files are for convex models"),
        (box(lambda m: pyo.sin(m.x)), {}, ""),
        (tiny_trees.lattice, {"prove": False}, "the gap is not closed"),
        (integers_beside_exp, {}, "files of models with exp and log are for continuous variables"),
    ],
)
def test_what_has_no_file_is_said(
    build: Build, words: dict[str, Any], why: str, tmp_path: Path
) -> None:
    result = solve(build(), proof=tmp_path / "proof.json", **words)
    assert result.objective is not None
    assert f"no proof file was written: {why}" in result.message
    assert not (tmp_path / "proof.json").exists()


def test_a_document_that_does_not_check_is_never_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that claims a little too much is stopped by the checker."""
    honest = write.rounded_end

    def dishonest(model: checker.Model, value: Fraction, way: int) -> Fraction:
        return honest(model, value, way) + (1 if way > 0 else Fraction(1, 10**5))

    monkeypatch.setattr(write, "rounded_end", dishonest)
    result = solve(BY_NAME["lp_maximised"].build(), proof=tmp_path / "proof.json")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "no proof file was written: less than `lower` is proven" in result.message
    assert list(tmp_path.iterdir()) == []


def test_the_word_of_a_solver_is_no_proof_of_infeasibility(tmp_path: Path) -> None:
    """Of a disc and a line that meet, and of a disc and a line apart, without multipliers."""
    for name, empty in (("socp_disc_and_line_apart", True), ("socp_disc", False)):
        form = standard_form(BY_NAME[name].build())
        kind = classify(form)
        document = infeasible_document(form, kind, multipliers_by_name({}, form, kind))
        if empty:  # the limits of the disc say it
            assert write_document(document, tmp_path / "proof.json").kind == "infeasible"
        else:
            with pytest.raises(NotProvenError):
                write_document(document, tmp_path / "other.json")


@pytest.mark.parametrize("name", ["nowhere/proof.json", "proof.txt", "proof", "folder.json"])
def test_a_bad_path_is_refused_before_any_solver_starts(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder.json").mkdir()
    started = itertools.count()
    monkeypatch.setattr("tightmargin.solvers.dispatch.run_attempts", lambda *_, **__: next(started))
    with pytest.raises(ValueError, match=name.split("/")[0]):
        solve(BY_NAME["lp_maximised"].build(), proof=tmp_path / name)
    assert next(started) == 0
