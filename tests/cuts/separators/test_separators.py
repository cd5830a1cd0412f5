"""What separators of the library prove: against enumeration, and against those who pretend."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.cuts import CombinatorialBenders, ProvenRow, StalledError
from tests.references.brute_force import least, signed_rows, zero_one_optima
from tests.references.polytope_corners import corners
from tests.support.covering import covering
from tests.support.separations import benders
from tightmargin.solvers import Verdict


def points(n: int = 8, seed: int = 0) -> tm.TrainingData:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1, -1)
    return tm.TrainingData(rng.standard_normal((n, 2)) + 0.5 * y[:, None], y)


# --- combinatorial Benders -----------------------------------------------------------------------


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

    lying = Pretender(data, model.z, model.norm2, "free")
    found = tm.separate(model, lying)
    assert found.objective == 0
    assert found.verdict is Verdict.NOT_CERTIFIED
    assert "the word of separator pretender" in found.certificate.reason
    both = tm.separate(model, [true, lambda point: []])
    assert both.verdict is Verdict.NOT_CERTIFIED
    assert tm.separate(model, true).verdict is Verdict.CERTIFIED
    forged = ProvenRow(model.z[0] >= 1, lambda: None)
    assert tm.separate(model, [true, lambda p: [forged]]).verdict is Verdict.NOT_CERTIFIED


def test_z_that_is_no_longer_binary_is_no_01_loss() -> None:
    """Between 0 and 1 the rows of Benders need not hold."""
    model, cuts = benders(points(), 1.0, "free")
    for z in model.z.values():
        z.domain = pyo.NonNegativeIntegers
        z.setub(2)
    found = tm.separate(model, cuts)
    assert found.verdict is Verdict.NOT_CERTIFIED
    assert "z is not binary" in found.certificate.reason


# --- conflicts -----------------------------------------------------------------------------------


def loss(data: tm.TrainingData, price: float = 0.7) -> pyo.ConcreteModel:
    return tm.zero_one_big_m(data, penalty=price, big_m=50.0, intercept="penalised")


@pytest.mark.parametrize("engine", ["branch-and-bound", "scip"])
def test_conflicts_of_an_edited_model_keep_what_is_below_the_cutoff(engine: str) -> None:
    """Every z whose cost is at most the cutoff meets every row: by enumeration, with the edit."""
    data = points(8, seed=4)
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


def test_a_cutoff_below_the_optimum_is_a_bound_and_never_infeasible() -> None:
    data = points(8, seed=2)
    (optimum,) = zero_one_optima(data, [0.7], "penalised")
    model = loss(data)
    cuts = tm.cuts.conflicts(model, model.z, cutoff=0.9 * optimum)
    found = tm.separate(model, cuts, fractional=True)
    assert found.bound is not None
    assert found.bound <= optimum
    assert found.verdict is not Verdict.CERTIFIED
    assert found.status != "infeasible"


def test_a_model_that_was_changed_since_is_not_what_conflicts_speak_of() -> None:
    data = points(8, seed=2)
    (optimum,) = zero_one_optima(data, [0.7], "penalised")
    model = loss(data)
    cuts = tm.cuts.conflicts(model, model.z, cutoff=optimum * 1.01)
    model.penalty.set_value(0.1)  # cheaper points, which the conflicts know nothing of
    found = tm.separate(model, cuts, fractional=True)
    assert found.verdict is Verdict.NOT_CERTIFIED
    assert "not the one that conflicts were asked for" in found.certificate.reason


# --- concavity and facial cuts in a live linear program ------------------------------------------


def along(data: tm.TrainingData, nu: float) -> pyo.ConcreteModel:
    model = tm.extended_nu_svc_polar(data, nu=nu)
    model.objective.deactivate()
    model.along = pyo.Objective(expr=-model.w[0] - model.w[1])
    return model


def _or_stalled(model: pyo.ConcreteModel, cuts: Any, engine: str) -> tm.cuts.SeparationResult:
    """The result, also of a run that ended at a vertex as long as the known one."""
    try:
        return tm.separate(model, cuts, engine=engine)
    except tm.errors.SeparatorError as error:
        if not isinstance(error.__cause__, StalledError):
            raise
        return error.result


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
        found = _or_stalled(model, cuts, engine)
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
