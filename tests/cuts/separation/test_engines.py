"""The same function on every engine, against enumeration and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.references.brute_force import zero_one_optima
from tests.support.covering import covering
from tests.support.separations import CONTINUOUS, MIXED, benders, disc
from tightmargin.solvers import Verdict

CLOSE = 1e-6


@pytest.mark.parametrize(
    ("engine", "intercept", "seed"),
    covering(MIXED, ("free", "penalised", "none"), range(3)),
)
def test_the_librarys_benders_cuts_are_certified(engine: str, intercept: str, seed: int) -> None:
    """Random points, equal ones among them; CERTIFIED only of what enumeration says too."""
    rng = np.random.default_rng(seed)
    n = 8 + seed
    X = rng.standard_normal((n, 2)) + 0.7 * np.sign(np.arange(n) % 2 - 0.5)[:, None]
    X[1] = X[0]
    data = tm.TrainingData(X, np.where(np.arange(n) % 2, 1, -1))
    penalty = (0.4, 1.3, 6.0)[seed]
    model, cuts = benders(data, penalty, intercept)
    found = tm.separate(model, cuts, engine=engine)
    (optimum,) = zero_one_optima(data, [penalty], intercept)
    assert found.verdict is Verdict.CERTIFIED, found.certificate.reason
    assert found.objective == pytest.approx(optimum, rel=CLOSE)
    assert found.bound is not None
    assert found.certificate.upper is not None
    assert found.bound * (1 - 1e-9) <= optimum <= found.certificate.upper * (1 + 1e-9)


@pytest.mark.parametrize("engine", MIXED)
@pytest.mark.parametrize("fractional", [False, True])
def test_a_cover_that_presolve_must_not_decide(engine: str, fractional: bool) -> None:
    """Without its hidden row every z is 0 at the optimum: nothing may be concluded from that."""
    model = pyo.ConcreteModel()
    model.z = pyo.Var(range(6), domain=pyo.Binary)
    model.objective = pyo.Objective(expr=sum((2 + i) * model.z[i] for i in range(6)))
    seen: list[bool] = []

    def cover(point: Any) -> list[Any]:
        z = point["z"]
        seen.append(bool(np.abs(z - np.round(z)).max() < 1e-6))
        pairs = [(0, 1), (1, 2), (2, 0), (3, 4)]
        return [model.z[i] + model.z[j] >= 1 for i, j in pairs if z[i] + z[j] < 1 - 1e-6]

    found = tm.separate(model, cover, engine=engine, fractional=fractional)
    assert (found.objective, found.status) == (2 + 3 + 5, "optimal")
    assert found.bound == pytest.approx(10, abs=1e-5)
    if not fractional:
        assert all(seen)
    assert found.asked == len(seen)


@pytest.mark.parametrize("engine", [*MIXED, *CONTINUOUS[:1]])
def test_a_separator_that_finds_nothing_leaves_the_model_as_it_is(engine: str) -> None:
    data = tm.data.outlier_data("clustered", n=10, d=2, sigma=0.3, seed=2)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived", intercept="penalised")
    (optimum,) = zero_one_optima(data, [1.0], "penalised")
    if engine == "live":
        data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
        model = tm.extended_nu_svc_linearised(data, nu=0.1, w_ref=[1.0, 0.2])
        optimum = tm.solve(model).objective
    found = tm.separate(model, lambda point: [], engine=engine)
    assert found.objective == pytest.approx(optimum, rel=CLOSE)
    assert found.rows == () == found.trace
    assert found.asked >= 1
    assert found.bound == pytest.approx(optimum, rel=1e-5)
    assert set(found.values) >= {"w"}


@pytest.mark.parametrize("engine", MIXED)
def test_rows_that_leave_no_point(engine: str) -> None:
    model = pyo.ConcreteModel()
    model.z = pyo.Var(range(3), domain=pyo.Binary)
    model.objective = pyo.Objective(expr=sum(model.z.values()))

    def parity(point: Any) -> list[Any]:
        ones = [i for i in range(3) if point["z"][i] > 0.5]
        return [sum(1 - model.z[i] if i in ones else model.z[i] for i in range(3)) >= 1]

    found = tm.separate(model, parity, engine=engine)
    assert (found.status, found.objective, found.values) == ("infeasible", None, {})
    assert len({str(row.relation) for row in found.rows}) == 8
    assert found.verdict is Verdict.NOT_CERTIFIED
    assert "proven to have no point" in found.certificate.reason


def test_the_rows_found_are_ordinary_constraints_on_request() -> None:
    model, tangents = disc(lambda x, y: -x - y)
    found = tm.separate(model, tangents)
    assert len(list(model.component_objects(pyo.Constraint))) == 0
    added = found.add_to(model)
    assert len(added) == len(found.rows) > 1
    again = tm.solve(model)
    assert again.objective == pytest.approx(found.objective, abs=1e-7)
    assert found.bound is not None
    assert again.certificate.upper is not None
    assert found.bound <= again.certificate.upper + 1e-9
    for other, words in (
        (model, "has a component found_rows"),
        (pyo.ConcreteModel(), "none of an"),
    ):
        with pytest.raises(ValueError, match=words):
            found.add_to(other)


def test_the_first_of_several_separators_that_finds_rows_counts() -> None:
    model, tangents = disc(lambda x, y: -x - 2 * y)
    half = lambda point: [model.y <= 0.5] if point["y"] > 0.5 else []  # noqa: E731
    found = tm.separate(model, [half, tangents])
    names = [step.separator for step in found.trace]
    assert names[0] == "separator"
    assert set(names[1:]) == {"tangents"}
    assert found.objective == pytest.approx(-1 - math.sqrt(0.75), abs=1e-5)
    frame = found.to_frame()
    assert list(frame["round"]) == list(range(1, len(names) + 1))
    assert {"separator", "violation", "before", "after"} <= set(frame.columns)
