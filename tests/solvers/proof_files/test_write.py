"""Every optimum that is certified can be written, and the file says what is true."""

from __future__ import annotations

import copy
import functools
import itertools
import random
import tempfile
from collections import Counter
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
from tests.conformance.exponential_problems import INFEASIBLE, OPTIMA, UNBOUNDED, two
from tests.conformance.problems import PROBLEMS
from tests.inside.experiments import outlier_data
from tests.inside.solvers import (
    Absence,
    Branch,
    Case,
    FileEvidence,
    Leaf,
    Limits,
    NotProvenError,
    Subject,
    TreeSearch,
    checker,
    classify,
    conic_form,
    conic_multipliers,
    dispatch,
    evidence_of_search,
    multipliers_by_name,
    standard_form,
    tree_search,
    write,
    write_document,
)
from tests.references.multiclass import class_points
from tests.solvers.proof_files import tiny_trees
from tests.solvers.proof_files.mutations import mutated
from tests.solvers.proof_files.test_checker import changed, rejected
from tests.support.both_checkers import accepted
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Status, Verdict, solve

BY_NAME = {problem.name: problem for problem in PROBLEMS}
CONVEX_PROBLEMS = [name for name, problem in BY_NAME.items() if problem.problem_class in CONVEX]
Build = Callable[[], pyo.ConcreteModel]
Proven = tuple[checker.Proof, dict[str, Any]]


def proven(path: Path) -> Proven:
    """What a file proves to both checkers, and the document."""
    document = checker.read(str(path))
    proof = accepted(document)
    assert proof is not None
    return proof, document


def solved(model: pyo.ConcreteModel, path: Path, **words: Any) -> SolveResult:
    """The result of a solve that writes a file."""
    result = solve(model, proof=path, **words)
    assert f"the proof is in {path}" in result.message
    return result


def searched(
    model: pyo.ConcreteModel, node_limit: int | None = None, **limits: Any
) -> tuple[Case, TreeSearch]:
    case = Case(model, Subject(standard_form(model)), None, Limits(**{"time_limit": 60, **limits}))
    return case, tree_search(case, node_limit=node_limit)


def tree(model: pyo.ConcreteModel, path: Path, **limits: Any) -> Proven:
    """The proof of a search of our own, and its document."""
    kind = write_document(evidence_of_search(*searched(model, **limits)).document(), path).kind
    proof, document = proven(path)
    assert proof.kind == kind
    return proof, document


Known = tuple[checker.Proof, dict[str, Any], Any, Any]


@functools.cache
def written(family: str) -> dict[str, Known]:
    """Files of models whose minimum is known, that minimum, and how far it is off as a double."""
    found: dict[str, Known] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json.gz"
        for name in CONVEX_PROBLEMS if family == "convex" else ():
            solved(BY_NAME[name].build(), path)
            proof, document = proven(path)
            least, off = BY_NAME[name].answer, Fraction(0)
            if not isinstance(least, str):
                least = Fraction(least) * (1 if "minimised" in document["about"] else -1)
                off = abs(least) / 2**51
            found[name] = proof, document, least, off
        builds = {name: (build, "infeasible") for name, build in INFEASIBLE.items()}
        builds |= {f"{name} below": (build, "unbounded") for name, build in UNBOUNDED.items()}
        builds |= {f"{name} least": case for name, case in OPTIMA.items()}
        for name, (build, least) in builds.items() if family == "exponential" else ():
            solved(build(), path)
            found[name] = *proven(path), least, 4e-16
        for build in tiny_trees.ALL if family == "trees" else ():
            for limit in (None, 1) if build in OPEN else (None,):
                proof, document = tree(build(), path, node_limit=limit)
                least = tiny_trees.BY_HAND.get(build) or tiny_trees.enumerated(document["model"])
                off = Fraction(1, 2**50) if build is tiny_trees.cone else Fraction(0)
                found[f"{build.__name__} {limit or ''}"] = proof, document, least, off
    return found


OPEN = (tiny_trees.knapsack, tiny_trees.equation, tiny_trees.big_m)  # and left so at 1 node
FAMILIES = ("convex", "exponential", "trees")


def holds(proof: checker.Proof, least: Any, below: float | Any = 0, above: float | Any = 0) -> bool:
    """Whether a claim is true of a model whose minimum is known: a number, or "infeasible", or
    "unbounded"; `below` and `above` are what it may be off.
    """
    if proof.kind in ("infeasible", "unbounded"):
        return bool(least == proof.kind)
    constant = proof.model.constant
    low = None if proof.lower is None else proof.lower + constant
    high = None if proof.upper is None else proof.upper + constant
    if isinstance(least, str):
        return (high if least == "infeasible" else low) is None
    return (low is None or low <= least + above) and (high is None or high >= least - below)


# Of each class, and with cones of every kind; with FULL all.
ENTRIES = [name for name in CASES if CATALOGUE[name].problem_class in CONVEX] if FULL else [
    "c_svc_dual", "rsvm_dual_perspective", "conic_sdp", "max_margin_svc", "weighted_svc",
    "zero_one_hinge", "conic_sdp_budget", "rsvm",
]  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_files_prove_what_is_known(family: str) -> None:
    """The optimum in closed form, or that there is no point, or no least value."""
    for name, (proof, _, least, off) in written(family).items():
        assert holds(proof, least, off, off), name
        kind = "bounds" if name.endswith(" 1") else least if isinstance(least, str) else "optimum"
        assert proof.kind == kind, name
        assert kind != "bounds" or (proof.lower < proof.upper and not proof.closed()), name


def test_columns_and_rows_keep_their_names() -> None:
    model = written("convex")["lp_maximised"][1]["model"]
    assert model["variables"] == ["x", "y"]
    assert [row["name"] for row in model["rows"]] == ["total", "slack"]


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


def test_forged_parts_of_exp_and_log_are_rejected() -> None:
    def shifted(text: str, by: Fraction) -> str:
        return str(checker.number(text, "") + by)

    files = {name: document for name, (_, document, *_) in written("exponential").items()}
    for name in OPTIMA:
        whole = files[f"{name} least"]
        tight = copy.deepcopy(whole)
        for tangent in tight["steps"][0]["tangents"]:
            if tangent[2]:  # as much as it proves, and a little more
                tangent[1] = shifted(tangent[1], Fraction(1, 10**9))
        assert "claims more than it proves" in rejected(tight)
        column = whole["model"]["terms"][0]["column"]
        below = shifted(whole["point"][column], -Fraction(1, 10**6))
        assert "the point misses" in rejected(changed(whole, "point", column, to=below))
    unbounded = files["exp below"]
    back = [str(-checker.number(v, "")) for v in unbounded["ray"]]
    assert "the ray leaves" in rejected(unbounded | {"ray": back})
    document = copy.deepcopy(files["sum least"])
    shares = next(s for _, _, s in document["steps"][0]["tangents"] if "0x0.0p+0" not in s)
    shares[0] = shifted(shares[0], Fraction(1, 10**30))
    assert "slopes of nothing" in rejected(document)


def test_what_is_so_in_the_limit_alone_is_not_certified() -> None:
    """Multipliers never exclude exp(y) <= 0, and no ray falls without end along log."""
    nowhere = two(goal=lambda m: pyo.exp(m.x), a=lambda m: pyo.exp(m.y) <= 0)
    for build in (nowhere, two(gain=lambda m: pyo.log(m.x))):
        assert solve(build()).certificate.verdict is not Verdict.CERTIFIED


# --- trees ---------------------------------------------------------------------------------------


def test_a_bound_is_written_without_a_point(tmp_path: Path) -> None:
    case, search = searched(tiny_trees.miqp())
    document = evidence_of_search(case, replace(search, point=None)).document()
    assert write_document(document, tmp_path / "proof.json").upper is None
    proof, document = proven(tmp_path / "proof.json")
    assert (proof.kind, proof.upper) == ("bounds", None)
    assert proof.lower <= tiny_trees.enumerated(document["model"])


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
        forged = evidence_of_search(case, replace(search, proof=replace(search.proof, nodes=nodes)))
        with pytest.raises(NotProvenError, match=why):
            forged.write(tmp_path / "proof.json", None)
    assert list(tmp_path.iterdir()) == []


def clustered(n: int = 16, d: int = 2, sigma: float = 0.4, seed: int = 1) -> Any:
    return outlier_data("clustered", n=n, d=d, sigma=sigma, seed=seed)


@pytest.mark.parametrize(
    ("build", "words", "how"),
    [
        (tiny_trees.lattice, {"prove": 10}, ""),
        (lambda: tm.zero_one_disjunctive(clustered(), penalty=1.0), {}, "cones"),
        (lambda: tm.ramp_big_m(clustered(10), C=1.0, big_m="derived"), {}, "cones"),
        (lambda: tm.build("multiclass_truncated", class_points(2), ridge=0.1, truncation=-0.5,
                          big_m="derived"), {}, "branch and bound"),
        (tiny_trees.discs, {"method": "branch-and-bound"}, None),
    ],
    ids=["tree", "disjunctive", "ramp", "classes", "no point"],
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
    """Searched for minutes it would be closed; in half a second there are bounds."""
    model = tm.zero_one_big_m(clustered(40, 5, seed=5), penalty=1.0, big_m=60.0)
    words: dict[str, Any] = {"solver": "scip", "live": False, "options": {"limits/nodes": 1}}
    solved(model, tmp_path / "proof.json.gz", time_limit=0.5, **words)
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
        return honest(model, value, way) + Fraction(2 if way > 0 else 1, 10**9)

    monkeypatch.setattr(write, "rounded_end", dishonest)
    result = solve(BY_NAME["lp_maximised"].build(), proof=tmp_path / "proof.json")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "no proof file was written: less than `lower` is proven" in result.message
    assert list(tmp_path.iterdir()) == []


def test_the_word_of_a_solver_is_no_proof_of_infeasibility(tmp_path: Path) -> None:
    """A disc and a line that meet or are apart; (x, y) from (3, 4) on is farther away than 4.9.

    The limits of a disc and of a cone say it, or multipliers that are not all in the dual cone.
    """
    ends = {"x": (3.0, 4.0), "y": (4.0, 5.0), "t": (0.0, 4.9)}
    norm = tiny_trees.model({}, {**ends}, lambda m: m.t, lambda m: m.x**2 + m.y**2 <= m.t**2)
    ends = {"x": (1.0, 1.5), "y": (0.0, 1.0), "t": (0.0, 1.0)}
    product = tiny_trees.model({}, {**ends}, lambda m: m.t, lambda m: 4 * m.x**2 <= m.y * m.t)
    outside = {"rows": [[1.0, -0.606, -0.808]]}
    for model, duals, empty in (
        (BY_NAME["socp_disc_and_line_apart"].build(), {}, True), (product, {}, True),
        (norm, outside, True), (norm, {}, False), (BY_NAME["socp_disc"].build(), {}, False),
    ):  # fmt: skip
        form = standard_form(model)
        kind = classify(form)
        z = conic_multipliers(conic_form(form, kind), multipliers_by_name(duals, form, kind))
        document = FileEvidence(form, kind, absence=Absence(z=z)).document()
        if empty:
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
    monkeypatch.setattr(dispatch, "run_attempts", lambda *_, **__: next(started))
    with pytest.raises(ValueError, match=name.split("/")[0]):
        solve(BY_NAME["lp_maximised"].build(), proof=tmp_path / name)
    assert next(started) == 0


# Mutants, and how many of them must be accepted: of the same model, of another one.
SHARES = {"convex": (500, 10, 0), "trees": (300, 6, 3), "exponential": (100, 2, 0)}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_mutation_is_accepted_with_a_false_claim(family: str) -> None:
    """And both checkers say the same of each. Another model is enumerated if it is of integers."""
    files, tally, dice = [*written(family).values()], Counter[str](), random.Random(33)
    times = 4 if FULL else 1
    count, same_model, another = (times * number for number in SHARES[family])
    for k in range(count):
        _, original, minimum, off = files[k % len(files)]
        document, way = original, ""
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
    assert tally["the same model"] > same_model, tally
    assert tally["another model"] >= another, tally
