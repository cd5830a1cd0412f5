"""The 0-1 loss without a chosen M: bounds of the hyperplane, transformations, indicators."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.formulations import TRANSFORMATIONS
from tests.inside.solvers import (
    SOLVERS,
    hull_cuts,
    transformed,
    zero_one_incumbent,
)
from tests.inside.solvers import indicator_constraints as indicators_module
from tests.references import reference_solutions
from tests.references.active_sets import zero_one_by_sets
from tests.references.disjunctive_hull import disjunctive_hull
from tests.references.reference_solutions import INTERCEPTS
from tests.support.certified import certified, proven
from tests.support.covering import FULL, in_turn
from tightmargin.formulations import CATALOGUE, TrainingData, zero_one_disjunctive_relaxed
from tightmargin.solvers import SolverNotInstalledError, Verdict

PENALTY = 0.7


@cache
def points(seed: int, n: int = 6) -> TrainingData:
    return reference_solutions.points("overlapping", seed, n=n)


@cache
def optimum(seed: int, intercept: str, n: int = 6) -> float:
    return reference_solutions.zero_one_optimum(points(seed, n), intercept, PENALTY)


def incumbent(data: TrainingData, intercept: str, penalty: float = PENALTY) -> tuple[Any, float]:
    found = zero_one_incumbent(data, penalty=penalty, intercept=intercept)
    return found.w, found.b


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_bounds_from_an_incumbent_keep_an_optimum_at_every_penalty(intercept: str) -> None:
    """An optimum of every penalty lies in the box, also of one far from where it was built."""
    for seed in range(4 if FULL else 2):
        data = points(seed)
        known = incumbent(data, intercept, 0.3)
        model = tm.zero_one_bilinear(data, penalty=0.3, intercept=intercept, incumbent=known)
        for penalty in (0.01, 0.3, 2.0, 50.0):
            model.penalty = penalty
            radius = max(x.ub for x in model.w.values())
            best = zero_one_by_sets(data, penalty=penalty, intercept=intercept)
            assert np.abs(best.w).max() <= radius
            assert best.objective <= radius**2 * (1 + 1e-9), "the square of the radius is a value"
            if intercept != "none" and np.any(best.w):
                assert model.b.lb <= best.b <= model.b.ub


# --- transformations ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transformation", "intercept"),
    [
        (word, mode)
        for k, word in enumerate(TRANSFORMATIONS)
        for j, mode in enumerate(INTERCEPTS)
        if FULL or k % 3 == j
    ],
)
def test_every_transformation_has_the_enumerated_optimum(
    transformation: str, intercept: str
) -> None:
    """With an incumbent the box is tight, and a constant that is too small would show."""
    data = points(2, 5)
    model = tm.zero_one_disjunctive(
        data, penalty=PENALTY, intercept=intercept, transformation=transformation,
        incumbent=incumbent(data, intercept),
    )  # fmt: skip
    result = tm.solve(model, "scip")
    assert result.objective == pytest.approx(optimum(2, intercept, 5), rel=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.level == "paper"
    assert model.w[0].value == pytest.approx(float(result.values["w"][0]))


def root(model: pyo.ConcreteModel, transformation: str) -> float:
    relaxed = transformed(model, transformation)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(relaxed)
    value = tm.solve(relaxed, "clarabel").objective
    assert value is not None
    return value


def test_root_relaxations_are_ordered_as_theory_says() -> None:
    """bigm = mbigm <= cuttingplane <= hull <= optimum, and the ends differ."""
    data = points(1, 9)
    known = incumbent(data, "none")
    model = tm.zero_one_disjunctive(data, penalty=PENALTY, intercept="none", incumbent=known)
    found = {word: root(model, word) for word in ("bigm", "mbigm", "cuttingplane", "hull")}
    assert found["mbigm"] == pytest.approx(found["bigm"], rel=1e-6)
    assert found["bigm"] * (1 + 1e-6) < found["cuttingplane"] <= found["hull"] * (1 + 1e-7)
    assert found["hull"] < optimum(1, "none", n=9)


def test_a_cut_that_is_too_deep_is_moved_back_to_where_it_is_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Separation ends within a tolerance; a cut a tenth too deep must not survive."""
    data = points(1, 9)
    known = incumbent(data, "none")
    model = tm.zero_one_disjunctive(data, penalty=PENALTY, intercept="none", incumbent=known)
    proven = root(model, "cuttingplane")
    prove = hull_cuts._prove

    def deeper_first(hull: Any, cuts: Any, k: int) -> None:
        low, body, high = cuts[k].to_bounded_expression(evaluate_bounds=True)
        cuts[k].set_value(body >= low + 0.1 if low is not None else body <= high - 0.1)
        prove(hull, cuts, k)

    monkeypatch.setattr(hull_cuts, "_prove", deeper_first)
    assert root(model, "cuttingplane") <= proven * (1 + 1e-6) + 1e-3
    monkeypatch.setattr(hull_cuts, "_prove", lambda hull, cuts, k: None)
    assert root(model, "cuttingplane") == pytest.approx(proven, rel=1e-4), "its cuts were right"


def test_a_missing_solver_of_a_transformation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(SOLVERS["highs"]), "installed", property(lambda self: False))
    for word, needed in (("mbigm", "highs"), ("cuttingplane", "ipopt or clarabel")):
        model = tm.zero_one_disjunctive(points(1), penalty=1.0, transformation=word)
        with pytest.raises(SolverNotInstalledError, match=f"transformation={word} needs {needed}"):
            tm.solve(model, "scip")


# --- indicators -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("solver", "intercept"), [("scip", "penalised"), ("gurobi", "none")])
def test_indicators_need_no_bound_and_no_constant(intercept: str, solver: str) -> None:
    """Without the box of the builder the logic alone must give the optimum."""
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    model = tm.zero_one_disjunctive(
        points(4), penalty=PENALTY, intercept=intercept, transformation="indicator"
    )
    for x in [*model.w.values(), *([model.b] if intercept != "none" else [])]:
        x.setlb(-30)
        x.setub(30)
    result = tm.solve(model, solver)
    assert result.certificate.level == "model", "the box was edited"
    assert result.objective == pytest.approx(optimum(4, intercept), rel=1e-5)


def test_scip_and_gurobi_get_indicators_and_not_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong side of every implication must move the optimum of both."""
    honest = indicators_module.implication
    moved: list[int] = []

    def wrong(form: Any, row: Any) -> Any:
        moved.append(1)
        found = honest(form, row)
        return type(found)(found.binary, found.columns, found.a, found.side - 1.0)

    monkeypatch.setattr("tightmargin.solvers.engines.scip.implication", wrong)
    model = tm.zero_one_disjunctive(points(4), penalty=PENALTY, transformation="indicator")
    result = tm.solve(model, "scip")
    assert len(moved) >= 6
    assert result.certificate.solver_bound > optimum(4, "penalised") * 1.01


def test_disjuncts_with_curved_rows_have_no_indicator() -> None:
    model = tm.zero_one_disjunctive(points(4), penalty=1.0, transformation="indicator")
    model.keep[0].curved = pyo.Constraint(expr=model.w[0] ** 2 <= 1)
    with pytest.raises(ValueError, match=r"takes linear rows, and keep\[0\].curved is none"):
        tm.solve(model)


def test_a_hyperplane_in_parts_is_not_shrunk() -> None:
    """With a free intercept and w = 0 any b from 1 on is optimal; the parts of b must fit it."""
    data = points(1)
    values = {"w": np.zeros(2), "b": np.array(1.287)}
    check = CATALOGUE["zero_one_disjunctive"].check
    for word, moved in (("bigm", True), ("hull", False)):
        model = tm.zero_one_disjunctive(
            data, penalty=PENALTY, intercept="free", transformation=word
        )
        found = check(model.origin, values)
        assert found.objective == pytest.approx(data.n_neg * PENALTY)
        assert ("b" in found.repaired) == moved
    short = values | {"b": np.array(1 - 1e-7)}
    repaired = check(model.origin, short).repaired
    assert repaired["b"] >= 1, "a margin that falls short by a tolerance is stretched in both"


# --- the hull of every choice ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("norm", "mode"), [("disjuncts", "free"), ("disjuncts", "none"), ("objective", "penalised")]
)
def test_the_value_is_that_of_the_hulls_written_out(mode: str, norm: str) -> None:
    data = points(1, 7)
    result = proven(zero_one_disjunctive_relaxed(data, penalty=1.5, intercept=mode, norm=norm))
    expected = disjunctive_hull(data, mode, 1.5, inside=norm == "disjuncts")
    assert result.objective == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(("norm", "mode"), in_turn(["disjuncts", "objective"], INTERCEPTS))
def test_a_saved_point_is_held_against_the_hulls(mode: str, norm: str) -> None:
    """A solver finds the least t at a hyperplane that is fixed; the check needs none for it."""
    data = points(1, 7)
    model = zero_one_disjunctive_relaxed(data, penalty=0.8, intercept=mode, norm=norm)
    check = CATALOGUE["zero_one_disjunctive_relaxed"].check
    for j, shift in enumerate((0.3, -0.2)):
        model.w[j].fix(0.1 + shift)
    values = {name: np.asarray(x) for name, x in certified(model).values.items()}

    def lacks(**other: Any) -> float:
        return check(model.origin, values | other).unsaved

    t, z, w = values["t"], values["z"], values["w"]
    assert lacks() < 1e-7
    assert lacks(t=t * 1.1) < 1e-7
    assert lacks(t=t - 1e-3 * max(1.0, float(t))) == pytest.approx(1e-3, rel=0.1)
    assert lacks(w=3 * w + 0.5) > 1e-2
    assert lacks(z=z - 2.0) >= 2.0 - z.min() - 1e-9
    assert lacks(w=0 * w, b=np.array(0.0), z=0 * z) == pytest.approx(1.0), "no point has its margin"
