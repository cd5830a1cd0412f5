"""The extended robust SVM against all choices of outliers, and its d.c. algorithm against both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import robust_risk
from tests.inside.solvers import robust_dca as module
from tests.references.extended_nu import by_all_outliers
from tightmargin.formulations import extended_robust_svc
from tightmargin.solvers import Status, Verdict, robust_dca

N = 10


def noisy(seed: int) -> tm.TrainingData:
    """Two classes apart, two points of which are far on the wrong side."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(N) < N // 2, 1.0, -1.0)
    X = 1.5 * y[:, None] + rng.standard_normal((N, 2))
    X[0], X[-1] = [-6.0, -5.0], [7.0, 2.0]
    return tm.TrainingData(X, y)


@pytest.mark.parametrize(("seed", "mode"), [(1, "penalised"), (2, "none")])
def test_the_optimum_is_the_best_choice_of_outliers(seed: int, mode: str) -> None:
    data, nu, mu = noisy(seed), 0.6, 0.2
    found = tm.solve(
        extended_robust_svc(data, nu=nu, mu=mu, intercept=mode), method="branch-and-bound"
    )
    expected = by_all_outliers(data, nu, 2, mode)
    assert expected < 0  # the ball is the sphere
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(expected, rel=1e-6)
    w, b = found.values["w"], float(found.values["b"]) if mode == "penalised" else 0.0
    risk, q = robust_risk(data, w, b, nu=nu, mu=mu)
    assert risk == pytest.approx(expected, rel=1e-5)
    assert np.count_nonzero(q) == 2
    local = robust_dca(data, nu=nu, mu=mu, intercept=mode, starts=6)
    assert local.risk >= found.bound - 1e-9
    assert local.risk == pytest.approx(expected, rel=1e-5)
    assert local.ends.min() == local.risk
    assert sorted(local.outliers) == [0, N - 1]


@pytest.mark.parametrize(("mode", "power"), [("free", -600), ("none", 100)])
def test_the_unit_of_the_data_is_no_matter(power: int, mode: str) -> None:
    """Both modes are homogeneous: the risk has the unit of the data."""
    data = noisy(2)
    words: dict[str, Any] = {"nu": 0.6, "mu": 0.2, "intercept": mode, "starts": 3}
    scaled = tm.TrainingData(np.ldexp(data.X, power), data.y)
    one, other = robust_dca(data, **words), robust_dca(scaled, **words)
    assert one.risk < 0
    assert np.ldexp(other.risk, -power) == pytest.approx(one.risk, rel=1e-6)
    assert list(other.outliers) == list(one.outliers)


def test_limits_and_ctrl_c_keep_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    words: dict[str, Any] = {"nu": 0.6, "mu": 0.2}
    late = robust_dca(noisy(1), **words, starts=400, time_limit=1e-6)
    assert len(late.ends) == 1
    original, calls = module.solve, []

    def pressed(*args: Any, **keywords: Any) -> Any:
        found = original(*args, **keywords)
        if calls:
            return replace(found, status=Status.INTERRUPTED)
        if found.objective < -1e-3:  # a step that gains, and Ctrl-C in the next one
            calls.append(1)
        return found

    monkeypatch.setattr(module, "solve", pressed)
    stopped = robust_dca(noisy(1), **words)
    assert stopped.interrupted
    assert len(stopped.ends) < 20
    assert stopped.risk == stopped.ends.min() < 0
