"""Whoever asks for a proof gets at least the one that is there without asking."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import ASKED_ONCE, FACTS, check
from tests.support.covering import FULL
from tests.support.documented_models import example
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import Verdict

DATA = tm.TrainingData([[0, 0], [1, 3], [2, 1], [1, 1], [4, 4]], [-1, -1, -1, 1, 1])
Kind = Callable[[], pyo.ConcreteModel]


def model_of(goal: Any, *rows: Any, within: Any = pyo.Reals, bounds: Any = (0, 4)) -> Kind:
    """Two variables x and y in a box, an objective and rows, as functions of the two."""

    def build() -> pyo.ConcreteModel:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(bounds=bounds, within=within)
        m.y = pyo.Var(bounds=bounds)
        m.rows = pyo.ConstraintList()
        for row in rows:
            m.rows.add(row(m.x, m.y))
        m.goal = pyo.Objective(expr=goal(m.x, m.y))
        return m

    return build


def edited(name: str, edit: Callable[[Any], Any], **settings: Any) -> Kind:
    def build() -> pyo.ConcreteModel:
        m = tm.build(name, DATA, **settings)
        m.edit = pyo.Constraint(expr=edit(m))
        return m

    return build


PRICED = {"penalty": 1.0, "big_m": "derived"}
KINDS: dict[str, Kind] = {
    "LP": model_of(lambda x, y: x + y, lambda x, y: x + 2 * y >= 3),
    "QP": model_of(lambda x, y: x**2 + x * y + y**2 - y, lambda x, y: x + 2 * y >= 3),
    "SOCP": model_of(lambda x, y: x + 2 * y, lambda x, y: x**2 + y**2 <= 4, bounds=(-3, 3)),
    "MILP": model_of(lambda x, y: -x - y, lambda x, y: 2 * x + y <= 5.5, within=pyo.Integers),
    "MIQP": model_of(lambda x, y: (x - 1.3) ** 2 + (x - y) ** 2, within=pyo.Integers),
    "exp": model_of(lambda x, y: pyo.exp(x) - 2 * x + y, lambda x, y: x + y >= 1),
    "concave": model_of(lambda x, y: x - x**2 - (y - 1) ** 2, lambda x, y: x + 2 * y <= 7),
    "reverse convex": model_of(lambda x, y: x + 1.5 * y, lambda x, y: x**2 + y**2 >= 9),
    "infeasible": model_of(lambda x, y: x, lambda x, y: x + y >= 9),
    "infeasible in integers": model_of(
        lambda x, y: y, lambda x, y: 2 * x == 3 + 0 * y, within=pyo.Integers
    ),
    "unbounded": model_of(lambda x, y: x - y, lambda x, y: x >= y - 1, bounds=(None, None)),
    "edited 0-1": edited("zero_one_big_m", lambda m: m.w[0] >= 0.5, **PRICED),
    "0-1 with prices": edited("zero_one_big_m", lambda m: m.z[0] + m.z[1] <= 1, **PRICED),
    "edited nu": edited("extended_nu_svc", lambda m: m.w[0] <= 0.5, nu=0.3),
    "edited relaxation": edited("zero_one_relaxed", lambda m: m.w[0] >= 6.0, **PRICED),
}
# What a proof file is written of; of concave and sign-constrained models there is none yet.
WITHOUT_A_FILE = ("concave", "reverse convex", "edited nu")


def at_least(result: tm.SolveResult, plain: tm.SolveResult) -> bool:
    """Whether as much is proven, of the same optimum."""
    ranks = [list(Verdict).index(found.certificate.verdict) for found in (result, plain)]
    if plain.objective is None or result.objective is None:
        return ranks[0] <= ranks[1] and result.status is plain.status
    same = math.isclose(result.objective, plain.objective, rel_tol=1e-5, abs_tol=1e-6)
    return ranks[0] <= ranks[1] and same


@pytest.mark.parametrize("kind", KINDS)
def test_the_verdict_of_a_kind_of_models_stays(kind: str, tmp_path: Path) -> None:
    build, file = KINDS[kind], tmp_path / "proof.json.gz"
    plain = tm.solve(build())
    assert plain.certificate.verdict is Verdict.CERTIFIED
    asked: list[dict[str, Any]] = [{"prove": True}, {"second_solver": "scip"}]
    for words in [{"prove": 20}, *asked] if FULL else asked:
        result = tm.solve(build(), **words)
        assert at_least(result, plain), words
    heard = result.certificate.facts.get("second_solver", ASKED_ONCE)
    assert heard in result.message
    written = tm.solve(build(), proof=file)
    assert at_least(written, plain)
    assert file.exists() is (kind not in WITHOUT_A_FILE), written.message
    if file.exists():
        check(json.loads(gzip.decompress(file.read_bytes())))
    else:
        assert "no proof file was written: " in written.message


@pytest.mark.parametrize("kind", ["MIQP", "concave", "reverse convex"])
def test_a_named_solver_gets_a_proof_where_one_is_asked_for(kind: str) -> None:
    build = KINDS[kind]
    assert tm.solve(build(), "scip").certificate.verdict is Verdict.SOLVER_BOUND
    asked = tm.solve(build(), "scip", prove=True)
    assert asked.certificate.verdict is Verdict.CERTIFIED
    assert asked.solver == "scip"


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_verdict_of_an_entry_stays_and_its_facts_are_documented(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "proof.json"
    plain = tm.solve(example(name))
    assert plain.certificate.verdict is Verdict.CERTIFIED
    assert {"unit"} <= set(plain.certificate.facts) <= set(FACTS)
    if list(CATALOGUE).index(name) % 3 and not FULL:
        return
    result = tm.solve(example(name), prove=True, proof=file)
    assert at_least(result, plain)
    assert file.exists() is ("no proof file was written: " not in result.message)
