"""Separating on every engine, the library's separators, and those who pretend or fail."""

from __future__ import annotations

import itertools
import os
import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.cuts import CombinatorialBenders, ProvenRow, StalledError
from tests.inside.solvers import StopReason
from tests.references.brute_force import least, signed_rows, zero_one_optima
from tests.references.polytope_corners import corners
from tests.support.covering import covering
from tests.support.separations import MIXED, benders, cover, disc
from tightmargin.solvers import Verdict


def points(seed: int = 0, n: int = 8, *, equal: bool = False) -> tm.TrainingData:
    y = np.resize([-1, 1], n)
    X = np.random.default_rng(seed).standard_normal((n, 2)) + 0.5 * y[:, None]
    X[1] = X[0] if equal else X[1]
    return tm.TrainingData(X, y)


@pytest.mark.parametrize(
    ("engine", "intercept", "seed"),
    covering(MIXED, ("free", "penalised", "none"), range(3)),
)
def test_the_librarys_benders_cuts_are_certified(engine: str, intercept: str, seed: int) -> None:
    """Random points, equal ones among them; CERTIFIED only of what enumeration says too."""
    data, penalty = points(seed, 8 + seed, equal=True), (0.4, 1.3, 6.0)[seed]
    model, cuts = benders(data, penalty, intercept)
    found = tm.separate(model, cuts, engine=engine)
    (optimum,) = zero_one_optima(data, [penalty], intercept)
    assert found.verdict is Verdict.CERTIFIED, found.certificate.reason
    assert found.objective == pytest.approx(optimum, rel=1e-6)
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
    if engine != "branch-and-bound":  # which proves its bound, and claims none
        assert found.certificate.solver_bound == pytest.approx(10, abs=1e-5)
    if not fractional:
        assert all(seen)
    assert found.asked == len(seen)


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
    empty = pyo.ConcreteModel()
    for other, words in ((model, "has a component found_rows"), (empty, "none of an")):
        with pytest.raises(ValueError, match=words):
            found.add_to(other)


@pytest.mark.parametrize("engine", MIXED)
def test_a_row_that_cuts_the_debug_point_off_is_named_with_the_amount(engine: str) -> None:
    model, two = cover()
    wrong = lambda point: [*two(point), 4 * model.z[0] + 4 * model.z[1] <= 4]  # noqa: E731
    optimum = {"z": [1, 1, 0]}
    found = tm.separate(model, two, engine=engine, debug=optimum)
    assert found.objective == 3
    assert tm.separate(model, two, engine=engine, debug=found).objective == 3, "as a result too"
    late = lambda point: two(point) or (wrong(point) if point["z"][0] > 0.5 else [])  # noqa: E731
    with pytest.raises(tm.errors.InvalidCutError, match=r"row separator_\d+ .* by 4: ") as caught:
        tm.separate(model, late, engine=engine, debug=optimum)
    assert "4*z[0]" in str(caught.value)


def test_a_point_has_what_the_model_has() -> None:
    (model, _), (other, _) = cover(), cover()

    def looks(point: Any) -> list[Any]:
        assert point["z"].shape == (3,)
        assert point[model.z] is point["z"]
        assert point[model.z[1]] == point["z[1]"] == point["z"][1]
        assert list(point) == ["z"]
        with pytest.raises(KeyError, match="did you mean z"):
            point["zz"]
        with pytest.raises(KeyError, match="no variable of the model that is solved"):
            point[other.z[1]]
        with pytest.raises(ValueError, match="read-only"):
            point["z"][0] = 1.0
        return []

    found = tm.separate(model, looks)
    assert (found.objective, found.nodes) == (0, 1), "its relaxation is whole: nothing is split"


@pytest.mark.parametrize("engine", MIXED)
@pytest.mark.parametrize("end", ["clock", "ctrl-c", "error"])
def test_an_early_end_keeps_point_and_bound(end: str, engine: str) -> None:
    """However slow the machine: what was accepted before the end is there after it."""
    # Thirty points among one another, which no engine here proves within seconds.
    X = np.random.default_rng(0).standard_normal((30, 14))
    data = tm.TrainingData(X, np.resize([-1, 1], 30))
    model, cuts = benders(data, 0.3)
    accepted, presses = [], iter([end == "ctrl-c"])

    def separator(point: Any) -> list[Any]:
        rows = cuts(point)
        if accepted and end == "error":
            raise RuntimeError("tired")
        if accepted and next(presses, False):
            os.kill(os.getpid(), signal.SIGINT)
        if not rows:
            accepted.append(float(point["norm2"]) + 0.3 * float(point["z"].sum()))
        return rows

    limit = 0.7 if end == "clock" else 100.0
    try:
        found = tm.separate(model, separator, engine=engine, time_limit=limit)
    except tm.errors.SeparatorError as error:
        found = error.result
    stops = {"clock": StopReason.TIME_LIMIT, "ctrl-c": StopReason.INTERRUPTED}
    assert end == "error" or found.stop is stops[end], found.message
    assert found.verdict is Verdict.NOT_CERTIFIED
    assert (found.objective is not None) == bool(accepted)
    if found.objective is not None:
        assert found.objective <= accepted[0] * (1 + 1e-6)
        assert found.bound is not None
        assert found.bound < found.objective
        # The least norm that keeps what z says, by another solver.
        rows, price = signed_rows(data, "penalised")
        kept = np.flatnonzero(found.values["z"] < 0.5)
        cost = 0.0
        if len(kept):
            cost = least(price, np.zeros(len(price)), rows[kept], np.ones(len(kept)))
        assert found.values["norm2"] >= cost * (1 - 1e-5)


def test_a_live_program_stops_at_a_row_limit_and_says_where_it_has_no_end() -> None:
    model, tangents = disc(lambda x, y: -x - 2 * y)
    found = tm.separate(model, tangents, row_limit=3)
    assert found.stop is StopReason.ROUND_LIMIT
    assert (len(found.rows), found.objective) == (3, None)
    assert -6 <= found.bound < -np.sqrt(5)
    model.x.setub(None)
    found = tm.separate(model, lambda point: [])
    assert found.objective is None
    assert "give the variables bounds" in found.message


def test_a_row_whose_cost_is_raised_does_not_verify() -> None:
    _, cuts = benders(points(), 1.0)
    cost = cuts._cost(np.arange(5))
    assert cost is not None
    cuts._verify(cost)
    for forged in (
        replace(cost, rho=cost.rho * (1 + 1e-12)), replace(cost, alpha=cost.alpha[::-1] ** 2),
    ):  # fmt: skip
        with pytest.raises(tm.errors.InvalidCutError, match="is proven to cost"):
            cuts._verify(forged)


def test_only_the_librarys_own_separators_are_trusted() -> None:
    """A function that says of itself that it proves everything is a claim all the same."""
    data = points()
    model, true = benders(data, 1.0, "free")

    class Pretender(CombinatorialBenders):
        name = "pretender"

        def __call__(self, point: Any) -> list[ProvenRow]:
            return []

        def completed(self, form: Any, x: Any) -> Any:
            return x

    found = tm.separate(model, Pretender(data, model.z, model.norm2, "free"))
    assert found.objective == 0
    assert "the word of separator pretender" in found.certificate.reason
    assert tm.separate(model, true).verdict is Verdict.CERTIFIED
    forged = ProvenRow(model.z[0] >= 1, lambda: None)
    both = (tm.separate(model, [true, lambda p, rows=rows: rows]) for rows in ([], [forged]))
    assert {each.verdict for each in (found, *both)} == {Verdict.NOT_CERTIFIED}


def test_z_that_is_no_longer_binary_is_no_01_loss() -> None:
    """Between 0 and 1 the rows of Benders need not hold."""
    model, cuts = benders(points(), 1.0, "free")
    for z in model.z.values():
        z.domain = pyo.NonNegativeIntegers
        z.setub(2)
    found = tm.separate(model, cuts)
    assert found.verdict is Verdict.NOT_CERTIFIED
    assert "z is not binary" in found.certificate.reason


def loss(data: tm.TrainingData, price: float = 0.7) -> pyo.ConcreteModel:
    return tm.zero_one_big_m(data, penalty=price, big_m=50.0, intercept="penalised")


@pytest.mark.parametrize("engine", ["branch-and-bound", "scip"])
def test_conflicts_of_an_edited_model_keep_what_is_below_the_cutoff(engine: str) -> None:
    """Every z whose cost is at most the cutoff meets every row: by enumeration, with the edit."""
    data = points(seed=4)
    rows, price = signed_rows(data, "penalised")
    model = loss(data)
    model.mine = pyo.Constraint(expr=model.w[0] >= 0.3)
    beside = np.vstack([rows, [1.0, 0.0, 0.0]])
    costs = {}
    for z in itertools.product((0, 1), repeat=8):
        kept = [i for i in range(8) if not z[i]] + [8]
        right = np.r_[np.ones(len(kept) - 1), 0.3]
        costs[z] = 0.7 * sum(z) + least(price, np.zeros(3), beside[kept], right)
    optimum = min(costs.values())
    cutoff = optimum * 1.05
    cuts = tm.cuts.conflicts(model, model.z, cutoff=cutoff)
    found = tm.separate(model, cuts, engine=engine, fractional=True)
    assert len(found.rows) >= 1
    for row in found.rows:
        assert row.exact
        members = [str(v) for v in model.z.values()]
        named = [k for k, name in enumerate(members) if f"{name} " in f"{row.relation} "]
        assert named
        assert all(any(z[k] for k in named) for z, cost in costs.items() if cost <= cutoff)
    assert found.objective == pytest.approx(optimum, rel=1e-6)
    assert found.verdict is Verdict.CERTIFIED, found.certificate.reason


def test_a_low_cutoff_gives_a_bound_and_a_changed_model_is_not_what_conflicts_speak_of() -> None:
    data = points(seed=2)
    (optimum,) = zero_one_optima(data, [0.7], "penalised")
    model = loss(data)
    cuts = tm.cuts.conflicts(model, model.z, cutoff=0.9 * optimum)
    found = tm.separate(model, cuts, fractional=True)
    assert found.bound is not None
    assert found.bound <= optimum
    assert found.verdict is not Verdict.CERTIFIED
    assert found.status != "infeasible"
    cuts = tm.cuts.conflicts(model, model.z, cutoff=optimum * 1.01)
    model.penalty.set_value(0.1)  # cheaper points, which the conflicts know nothing of
    found = tm.separate(model, cuts, fractional=True)
    assert found.verdict is Verdict.NOT_CERTIFIED
    assert "not the one that conflicts were asked for" in found.certificate.reason


def along(data: tm.TrainingData, nu: float) -> pyo.ConcreteModel:
    model = tm.extended_nu_svc_polar(data, nu=nu)
    model.objective.deactivate()
    model.along = pyo.Objective(expr=-model.w[0] - model.w[1])
    return model


@pytest.mark.parametrize(
    ("engine", "kind", "seed"),
    covering(("live", "highs", "scip"), ("concavity", "facial"), (1, 2)),
)
def test_cuts_in_a_live_program_leave_nothing_longer_than_the_optimum(
    engine: str, kind: str, seed: int
) -> None:
    data = tm.data.outlier_data("clustered", n=14, d=2, sigma=0.5, seed=seed)
    best = tm.search.hull_search(data, nu=0.15)
    model = along(data, 0.15)
    cuts = getattr(tm.cuts, kind)(model, known=best.best.weight)
    found = tm.separate(model, cuts, engine=engine)
    assert found.status == "infeasible", found.message
    assert found.verdict is Verdict.NOT_CERTIFIED, "their proof is one up to rounding"
    # A direction that is worse leaves a longer vertex, or runs into one of its own length.
    for known in ([1.0, -0.3], [0.2, 1.0]):
        model = along(data, 0.15)
        cuts = getattr(tm.cuts, kind)(model, known=known)
        gamma = cuts.gamma
        try:
            found = tm.separate(model, cuts, engine=engine)
        except tm.errors.SeparatorError as error:
            if not isinstance(error.__cause__, StalledError):
                raise
            found = error.result  # it ended at a vertex as long as the known one
        for cut in cuts.cuts:
            for corner in corners(data, 0.15, cuts._problem.hulls.caps):
                if np.linalg.norm(corner) > gamma * (1 + 1e-7):
                    at = cuts._problem.split(corner)
                    assert cut.violation(at) <= 1e-7 * cut.size_at(at)
        if found.objective is not None:
            assert np.linalg.norm(found.values["w"]) >= gamma


def test_cuts_of_a_finished_loop_are_derived_again_before_they_enter() -> None:
    data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=4)
    loop = tm.search.cutting_plane(data, nu=0.15)
    assert any(cut.origin.parents for cut in loop.cuts)
    found = tm.separate(along(data, 0.15), lambda point: loop.cuts)
    assert found.status == "infeasible"
    assert 1 <= len(found.rows) <= len(loop.cuts)
    assert all(row.verify is not None and not row.exact for row in found.rows)
    steep = [replace(cut, rhs=cut.rhs - 0.1) for cut in loop.cuts]
    with pytest.raises(tm.errors.InvalidCutError, match="does not follow from its origin"):
        tm.separate(along(data, 0.15), lambda point: steep)
    orphans = [cut for cut in loop.cuts if cut.origin.parents]
    with pytest.raises(tm.errors.InvalidCutError, match="needs the cuts"):
        tm.separate(along(data, 0.15), lambda point: orphans)
    with pytest.raises(ValueError, match="other data, nu, weights or intercept"):
        tm.separate(along(data, 0.14), lambda point: loop.cuts)
