"""Proof files of small models, each written once a process."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

from tests.cases import CONVEX
from tests.conformance.exponential_problems import INFEASIBLE, OPTIMA, UNBOUNDED
from tests.conformance.problems import PROBLEMS
from tests.inside.solvers import (
    Case,
    Limits,
    Subject,
    TreeSearch,
    checker,
    standard_form,
    tree_search,
    write_tree,
)
from tests.solvers.proof_files import tiny_trees
from tests.support.both_checkers import accepted
from tightmargin.solvers import SolveResult, solve

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
    case, search = searched(model, **limits)
    kind = write_tree(path, case, search.point, search.proof).kind
    proof, document = proven(path)
    assert proof.kind == kind
    return proof, document


@functools.cache
def convex_file(name: str) -> Proven:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json.gz"
        solved(BY_NAME[name].build(), path)
        return proven(path)


@functools.cache
def exponential_files() -> dict[str, tuple[Proven, Any]]:
    """A file of each model with exp and log, and its minimum."""
    builds: dict[str, tuple[Build, Any]] = {**OPTIMA}
    builds |= {f"infeasible {name}": (build, "infeasible") for name, build in INFEASIBLE.items()}
    builds |= {f"unbounded {name}": (build, "unbounded") for name, build in UNBOUNDED.items()}
    with tempfile.TemporaryDirectory() as folder:
        path, found = Path(folder) / "proof.json.gz", {}
        for name, (build, least) in builds.items():
            solved(build(), path)
            found[name] = proven(path), least
    return found


@functools.cache
def known(name: str) -> tuple[Any, Any]:
    """The minimum of what is minimised, and how far it is off as a double."""
    answer = BY_NAME[name].answer
    if isinstance(answer, str):
        return answer, 0
    minimised = "minimised" in convex_file(name)[1]["about"]
    least = Fraction(answer) * (1 if minimised else -1)
    return least, Fraction(1, 2**51) * abs(least)


@functools.cache
def tree_file(build: Build, node_limit: int | None = None) -> Proven:
    with tempfile.TemporaryDirectory() as folder:
        return tree(build(), Path(folder) / "proof.json", node_limit=node_limit)


def tree_truth(build: Build, document: dict[str, Any]) -> tuple[Any, Any]:
    """The minimum of a tiny model, and how far it is off as a double."""
    by_hand = tiny_trees.BY_HAND.get(build)
    if by_hand is None:
        return tiny_trees.enumerated(document["model"]), 0
    return by_hand, Fraction(1, 2**50) if build is tiny_trees.cone else 0


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
