"""Without a time limit no clock decides: a clock that runs away gives the same verdict and tree."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.cuts import BRANCH_AND_CUT
from tests.inside.solvers import branch_and_bound_search as search
from tests.inside.solvers import dispatch, method, proof_first
from tests.inside.solvers import model_methods_registry as registry

DATA = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.4, seed=1)
SECONDS = re.compile(r"\d[\d.]* s\b")

Built = Callable[[], pyo.ConcreteModel]


def two_features() -> pyo.ConcreteModel:
    """The first task of docs/first_hour.md, over fewer points."""
    data = tm.data.outlier_data("clustered", n=14, d=3, sigma=0.3, seed=1)
    model = tm.c_svc(data, C=1.0)
    model.u = pyo.Var(model.J, within=pyo.Binary)
    model.over = pyo.Constraint(model.J, rule=lambda m, j: m.w[j] <= 10 * m.u[j])
    model.under = pyo.Constraint(model.J, rule=lambda m, j: m.w[j] >= -10 * m.u[j])
    model.few = pyo.Constraint(expr=sum(model.u.values()) <= 2)
    return model


def theirs() -> pyo.ConcreteModel:
    """The same as somebody else's model: a solver is asked first."""
    model = two_features()
    del model.origin
    return model


def concave() -> pyo.ConcreteModel:
    random = np.random.default_rng(1)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(12), bounds=(0, 1))
    rows, squares = random.uniform(-1, 1, (8, 12)), random.normal(size=(4, 12))
    model.rows = pyo.Constraint(
        range(8), rule=lambda m, i: pyo.sum_product(rows[i], m.x, index=range(12)) <= 1.5
    )
    bent = sum(pyo.sum_product(row, model.x, index=range(12)) ** 2 for row in squares)
    model.goal = pyo.Objective(expr=model.x[0] - bent)
    return model


def without_a_point() -> pyo.ConcreteModel:
    """No point, by a row that is not convex: a search is asked for one."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(-1, 1))
    model.product = pyo.Constraint(expr=model.x[0] * model.x[1] >= 1.5)
    model.goal = pyo.Objective(expr=model.x[0])
    return model


def dearer() -> pyo.ConcreteModel:
    """A price that M was not derived for, and a row of z beside w."""
    model = tm.zero_one_big_m(DATA, penalty=1.0, big_m="derived")
    model.objective.expr += 0.5 * sum(model.z[i] for i in list(model.z)[::3])
    model.floor = pyo.Constraint(expr=model.w[1] + 0.01 * model.z[0] >= 0.2)
    return model


def more_terms() -> pyo.ConcreteModel:
    """An objective that is nowhere lower, of a formulation whose bound a search proves."""
    model = tm.zero_one_big_m(DATA, penalty=1.0, big_m=50.0)
    model.objective.expr += 0.1 * (model.w[0] - model.w[1]) ** 2
    return model


MODELS: dict[str, Built] = {
    "edited": two_features,
    "foreign": theirs,
    "concave": concave,
    "no point": without_a_point,
    "M derived again": dearer,
    "kept bound": more_terms,
    "norm bound": lambda: tm.rsvm(DATA, norm_bound=0.5),
}


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stage ends early, so that small models go through all of them."""
    monkeypatch.setattr(dispatch, "_LONG", math.inf)  # the sentence that tells of seconds
    monkeypatch.setattr(proof_first, "PATIENCE", 20_000)
    monkeypatch.setattr(proof_first, "BEFORE_THE_WHOLE", 10_000)
    monkeypatch.setattr(search, "UNHURRIED", 40_000)
    monkeypatch.setattr(method, "MOST_NODES", 1)
    monkeypatch.setattr(method, "LEAST_NODES", 1)
    found = registry._METHODS[BRANCH_AND_CUT]
    monkeypatch.setitem(registry._METHODS, BRANCH_AND_CUT, replace(found, nodes=3))


def run_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every clock of Python runs a thousand times as fast from now on."""
    for name in ("perf_counter", "monotonic", "process_time", "time"):
        true = getattr(time, name)
        began = true()
        monkeypatch.setattr(time, name, lambda t=true, b=began: b + 1000 * (t() - b))


def told(result: tm.SolveResult) -> tuple[Any, ...]:
    """Verdict, route and tree of a result, without its seconds."""
    certificate = result.certificate
    facts = {k: v for k, v in certificate.facts.items() if k != "trace"}
    words = SECONDS.sub("", f"{result.message}; {certificate.reason}")
    return (
        certificate.verdict, result.status, result.solver, result.objective, certificate.bound,
        words, facts,
    )  # fmt: skip


@pytest.mark.usefixtures("stages")
@pytest.mark.parametrize("name", MODELS)
def test_a_clock_that_runs_away_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = told(tm.solve(MODELS[name]()))
    run_away(monkeypatch)
    assert told(tm.solve(MODELS[name]())) == calm


def compared() -> Any:
    def capped(model: Any) -> None:
        model.cap = pyo.Constraint(expr=model.w[0] <= 0.5)

    words = {"penalty": 1.0, "big_m": "derived"}
    found = tm.compare(DATA, ["zero_one_relaxed", "conic_sdp"], parameters=words, edit=capped)
    rows = [(row.label, row.bound, row.status, row.remark) for row in found.rows]
    return rows, found.exact.certificate.verdict


def tightened() -> Any:
    model = tm.build("zero_one_big_m", DATA, penalty=1.0, big_m="tightened", intercept="penalised")
    return np.asarray(model.origin.parameters["slack_bounds"].upper).tolist()


def differences() -> Any:
    found = tm.diff(more_terms())
    return [(change.name, change.kept, change.words) for change in found.changes]


def parts() -> Any:
    model = two_features()
    model.steep = pyo.Constraint(expr=sum(model.u.values()) >= 3)
    return [(part.name, part.needed) for part in tm.explain_infeasible(model).parts]


@pytest.mark.usefixtures("stages")
@pytest.mark.parametrize("run", [compared, tightened, differences, parts])
def test_nor_does_it_change_what_is_asked_around_a_solve(
    run: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = run()
    run_away(monkeypatch)
    assert run() == calm
