"""Models of the extended robust SVM through tm.solve: its search, its heuristic, and edits."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.cuts import conical_methods as methods
from tests.inside.formulations import level_price, robust_risk, window
from tests.inside.solvers import StopReason, automatic_method, method_names
from tests.references.extended_nu import by_all_outliers
from tightmargin.cuts import robust_search
from tightmargin.solvers import Status, Verdict

MODES = ("free", "penalised", "none")
NU, MU = 0.7, "1/9"


def noisy(n: int = 9, d: int = 2, seed: int = 0) -> tm.TrainingData:
    """Two classes apart, a point of which is far on the wrong side."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = 1.2 * y[:, None] + rng.standard_normal((n, d))
    X[0] = 4.0
    return tm.TrainingData(X, y)


@pytest.mark.parametrize("mode", MODES)
def test_auto_leaves_a_model_to_the_search_which_certifies_it(mode: str) -> None:
    data = noisy()
    expected = by_all_outliers(data, NU, 1, mode)
    assert expected < 0
    model = tm.extended_robust_svc(data, nu=NU, mu=MU, intercept=mode)
    found = tm.solve(model)
    certificate = found.certificate
    assert (certificate.verdict, certificate.level) == (Verdict.CERTIFIED, "paper")
    assert certificate.facts["engine"] == "robust-search"
    assert found.objective == pytest.approx(expected, rel=1e-6)
    assert found.bound <= expected + 1e-7 * abs(expected)
    w, b = found.values["w"], float(found.values.get("b", 0.0))
    risk, q = robust_risk(data, w, b, nu=NU, mu=MU)
    assert found.objective == pytest.approx(risk, rel=1e-9)
    np.testing.assert_array_equal(found.values["z"], q * data.n)
    assert certificate.facts["outliers"] == 1
    np.testing.assert_allclose([pyo.value(each) for each in model.w.values()], w)


@pytest.mark.parametrize("mode", MODES)
def test_the_bound_holds_for_the_doubles_of_the_model(mode: str) -> None:
    """In rational numbers: (nu - mu) n errors are not fewer than the prices of the model buy."""
    rng = np.random.default_rng(3)
    for n in rng.integers(2, 60, size=40).tolist():
        data = tm.TrainingData(rng.standard_normal((n, 1)), np.where(np.arange(n) % 2, 1.0, -1.0))
        nu = float(rng.uniform(0.05, 1.0)) if n % 3 else 1.0
        count = int(rng.integers(0, np.ceil(nu * n)))
        mu = Fraction(count, n)
        price = Fraction(level_price(data, nu, mu)) / Fraction(1 / n)
        wide = window(data, nu, mu)
        assert wide == Fraction(nu) * n - count
        assert wide * (1 - Fraction(1, 2**51)) <= price <= wide <= n - count


def test_the_heuristic_has_a_bound_and_is_never_chosen() -> None:
    data = noisy(n=12)
    model = tm.extended_robust_svc(data, nu=0.75, mu=1 / 6)
    found = tm.solve(model, method="dca", options={"starts": 3}, seed=2)
    expected = by_all_outliers(data, 0.75, 2, "penalised")
    assert found.bound <= expected + 1e-9
    assert found.bound == pytest.approx(expected, rel=1e-5)
    assert found.objective >= expected * (1 + 1e-6)
    facts = found.certificate.facts
    assert facts["engine"] == "dca"
    assert facts["starts"] == len(facts["start_values"]) == 3
    assert found.message.startswith("3 of 3 starts, the best ended at")
    assert set(method_names("extended_robust_svc")) == {
        "auto", "direct", "branch-and-bound", "robust-search", "dca",
    }  # fmt: skip
    own = automatic_method(model.origin)
    assert own is not None
    assert own[0].name == "robust-search"


def test_limits_and_ctrl_c_keep_a_point_and_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tm.extended_robust_svc(noisy(n=60, d=4, seed=2), nu=0.8, mu=0.1)
    found = tm.solve(model, time_limit=0.05)
    assert found.status is Status.FEASIBLE
    assert found.message.startswith("auto left it to a method")
    assert "time limit: the gap is" in found.message
    assert -np.inf < found.bound <= found.objective <= 0
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED

    def stopped(*args: Any, **words: Any) -> Any:
        found = robust_search(*args, **(words | {"cell_limit": 3}))
        return dataclasses.replace(found, stop=StopReason.INTERRUPTED)

    monkeypatch.setattr(methods, "robust_search", stopped)
    model = tm.extended_robust_svc(noisy(), nu=NU, mu=MU)
    for method in ("robust-search", "dca"):
        found = tm.solve(model, method=method)
        assert found.status is Status.INTERRUPTED
        assert np.isfinite(found.bound)


def test_what_the_search_does_not_take_is_left_to_others() -> None:
    """Too many features, features that depend on one another, too many points."""
    flat = tm.TrainingData(np.column_stack([noisy().X, np.full(9, 3.0)]), noisy().y)
    wide = tm.extended_robust_svc(noisy(n=8, d=15), nu=0.5, mu=0.125)
    dependent = tm.extended_robust_svc(flat, nu=NU, mu=MU)
    many = tm.extended_robust_svc(noisy(n=1200, d=1), nu=0.5, mu=0.125)
    for model in (wide, dependent, many):
        assert automatic_method(model.origin) is None
    found = tm.solve(wide, method="dca", options={"starts": 1})
    assert "cones" not in found.certificate.bound_method


def test_an_edited_model_is_proven_by_a_tree() -> None:
    """A point that must be kept: the problem without that choice of outliers."""
    data = noisy()
    model = tm.extended_robust_svc(data, nu=NU, mu=MU, intercept="none")
    before = tm.solve(model)
    out = int(np.argmax(before.values["z"]))
    model.z[out].fix(0)
    found = tm.solve(model)
    expected = min(0.0, *(_without(data, i) for i in range(data.n) if i != out))
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.certificate.level == "model"
    assert found.certificate.unproven == ""
    assert found.objective == pytest.approx(expected, rel=1e-5, abs=1e-8)
    assert found.objective > before.objective


def _without(data: tm.TrainingData, i: int) -> float:
    """The convex problem of all points but one, whose nu n errors that count are one fewer."""
    n = data.n
    fewer = tm.TrainingData(np.delete(data.X, i, 0), np.delete(data.y, i))
    share = (NU * n - 1) / (n - 1)
    return by_all_outliers(fewer, share, 0, "none") * (n - 1) / n


def test_an_edit_of_the_levels_says_what_it_rests_on() -> None:
    model = tm.extended_robust_svc(noisy(), nu=NU, mu=MU, intercept="none")
    model.more = pyo.Constraint(expr=model.rho <= 0.1)
    found = tm.solve(model)
    assert "a best rho is a score" in found.certificate.unproven
    assert found.certificate.verdict is Verdict.CERTIFIED  # of the model as it is written


def test_a_row_that_asks_for_a_positive_risk_unsettles_the_limit_of_b() -> None:
    """Beyond it risks are positive: a model whose points all have one is no statement of it."""
    model = tm.extended_robust_svc(noisy(), nu=0.6, mu=MU, intercept="free")
    assert tm.solve(model).certificate.verdict is Verdict.CERTIFIED
    model.far = pyo.Constraint(expr=model.w[0] == -1.0)
    found = tm.solve(model)
    assert found.objective > 0
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "the limit of a best b" in found.certificate.unproven
