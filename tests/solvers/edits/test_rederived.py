"""M of an edited model, derived again from a point of it; the truth is SCIP's with M = 500.

Random edits are those of test_derived.py.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.experiments import outlier_data
from tests.inside.formulations import big_m_rule
from tests.inside.solvers import Limits, completed, standard_form, switched_rows
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tests.support.edited_models import CLOSE, build, is_relaxation, of_the_problem, steep
from tightmargin.formulations import TrainingData, formulation
from tightmargin.solvers import Verdict, rederive, solve

DATA = points("overlapping", 4, n=8)


# --- the statement about every point -------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["penalised", "none", "free"])
def test_no_point_below_the_cutoff_asks_for_more(intercept: str) -> None:
    """Hyperplanes at their best indicators, against the M of the rule for what each costs."""
    checked = 0
    for seed in range(6):
        data = points("overlapping", seed, n=8)
        rng = np.random.default_rng(seed)
        rule = big_m_rule(build("zero_one_big_m", data, penalty=5.0, big_m=1.0,
                                intercept=intercept).origin)  # fmt: skip
        assert rule is not None
        apart = data.X[data.y > 0].mean(axis=0) - data.X[data.y < 0].mean(axis=0)
        for _ in range(400):
            w = apart / np.linalg.norm(apart) + 0.5 * rng.normal(size=data.d)
            w *= rng.uniform(0.3, 3)
            middle = -float(data.X.mean(axis=0) @ w)
            b = (intercept != "none") * (middle + rng.normal() * rng.choice([0.5, 4]))
            u = data.y * (data.X @ w + b)
            out = u < 1
            norm2 = float(w @ w) + (intercept == "penalised") * b**2
            values = rule.everywhere(norm2 + 5.0 * float(out.sum()))
            assert (values[out] >= 1 - u[out]).all()
            checked += bool(np.isfinite(values).any() and out.any())
    assert checked > 20, "a statement that is never made is not tested"


# --- the point and its cutoff --------------------------------------------------------------------


def test_what_cannot_be_derived_is_said() -> None:
    with pytest.raises(ValueError, match="no big_m of the catalogue"):
        rederive(build("c_svc", C=1.0))
    with pytest.raises(ValueError, match="no big_m of the catalogue"):
        rederive(pyo.ConcreteModel())
    model = build("zero_one_big_m", penalty=0.6, big_m="derived")
    model.z[1].domain = pyo.NonNegativeReals
    with pytest.raises(ValueError, match=r"bounds of z\[1\] are wider"):
        rederive(model)
    empty = build("zero_one_big_m", penalty=0.6, big_m="derived")
    empty.one = pyo.Constraint(expr=sum(empty.z.values()) <= 0)
    empty.other = pyo.Constraint(expr=empty.w[0] <= -50)
    empty.third = pyo.Constraint(expr=empty.w[1] == 0)
    with pytest.raises(ValueError, match="no feasible point"):
        rederive(empty)


def test_after_rederive_a_stated_m_is_a_rule_too() -> None:
    model = build("zero_one_big_m", penalty=0.6, big_m=1.5)
    model.objective.set_value(model.objective.expr + 0.1 * model.w[0])
    assert solve(model).certificate.unproven.startswith("rows margin: big_m is stated")
    rederive(model)
    result = solve(model)
    assert result.certificate.unproven == ""
    paid = build("zero_one_big_m", penalty=0.6, big_m=500.0)
    paid.objective.set_value(paid.objective.expr + 0.1 * paid.w[0])
    assert result.objective == pytest.approx(solve(paid, "scip").objective, rel=1e-5)


def test_a_fixed_fraction_is_no_indicator() -> None:
    model = build("zero_one_relaxed", penalty=0.6, big_m="derived")
    model.z[0].fix(0.5)
    with pytest.raises(ValueError, match="fixed at a fraction"):
        rederive(model)
    exact = build("zero_one_big_m", penalty=0.6, big_m="derived")
    exact.z[0].domain = pyo.UnitInterval
    exact.z[0].fix(0.5)
    assert "was not derived again" in solve(exact).message


# --- of a builder that changes a model of the catalogue -----------------------------------------


def steep_zero_one(data: TrainingData, *, big_m: Any, steepness: float = 20.0) -> Any:
    """Steeper than any point as good as the one that the M of the catalogue is derived from."""
    m = build("zero_one_big_m", data, penalty=1.0, big_m=big_m)
    m.steep = pyo.Constraint(expr=m.w[0] >= steepness)
    return m


@pytest.mark.usefixtures("catalogue_as_it_was")
def test_m_is_that_of_the_problem_of_the_builder() -> None:
    """With the M of the problem without its row the model has no point at all."""
    data = outlier_data("clustered", n=16, d=2, sigma=0.3, seed=1)
    model = steep_zero_one(data, big_m=2000.0)
    truth = float(solve(model, "scip", prove=False, options=CLOSE).objective)
    built = formulation("MIQP", "here")(steep_zero_one)
    model = built(data, big_m="derived")
    with pytest.raises(ValueError, match="no option"):
        solve(model, "scip", options={"no/such/option": 1})
    assert model.origin.entry == "steep_zero_one"
    before = max(model.big_m.extract_values().values())
    found = solve(model)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.interval[0] <= truth * (1 + 1e-6)
    assert found.objective == pytest.approx(truth, rel=1e-6)
    assert (found.formulation, found.parameters["steepness"]) == ("steep_zero_one", 20.0)
    assert rederive(model).values.max() > before
    assert solve(model).objective == pytest.approx(truth, rel=1e-6)
    small = solve(built(data, big_m=20.0, steepness=3.0))
    assert "rows margin: big_m is stated and not proven" in small.certificate.unproven
    assert solve(built(data, big_m=2000.0, steepness=3.0), time_limit=20).certificate.unproven == ""


# --- the generic lemma ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4 if FULL else 1))
def test_that_the_objective_is_nowhere_lower_is_not_taken_from_rows_with_the_former_m(
    seed: int,
) -> None:
    """What is added is at least 0 by a margin row of the model, and not in the problem."""
    data = outlier_data("clustered", n=6, d=2, sigma=0.3, seed=seed + 40)
    former = build("zero_one_big_m", data, penalty=1.0, big_m="derived")
    sizes = former.big_m_proof.values

    def add_row(m: pyo.ConcreteModel) -> None:
        for i in range(3):
            u = data.y[i] * (sum(data.X[i, j] * m.w[j] for j in range(2)) + m.b)
            m.objective.set_value(m.objective.expr + 0.5 * (u + sizes[i] * m.z[i] - 1))
        m.edit = pyo.Constraint(expr=m.w[0] >= 3.0)

    paid = build("zero_one_big_m", data, penalty=1.0, big_m=500.0)
    add_row(paid)
    best = solve(paid, "scip", options=CLOSE).objective
    for name in ("zero_one_big_m", "zero_one_relaxed"):
        model = build(name, data, penalty=1.0, big_m="derived")
        add_row(model)
        result = of_the_problem(model)
        if result.certificate.unproven:
            assert result.bound is None or is_relaxation(model)
            continue
        facts = result.certificate.facts
        assert "own argument" not in facts.get("bounds_edited_problem", result.message)
        assert result.bound <= best + 1e-6 * abs(best)


def test_what_is_added_and_proven_to_be_positive_leaves_the_formulations_argument() -> None:
    model = steep(build("zero_one_big_m", penalty=0.6, big_m="derived"))
    model.objective.set_value(model.objective.expr + 0.3 * model.w[0] + 0.1 * model.w[1] ** 2)
    paid = steep(build("zero_one_big_m", penalty=0.6, big_m=500.0))
    paid.objective.set_value(paid.objective.expr + 0.3 * paid.w[0] + 0.1 * paid.w[1] ** 2)
    result = solve(model)
    assert "the formulation's own argument" in result.message
    assert result.objective == pytest.approx(solve(paid, "scip").objective, rel=1e-5)


def test_what_a_row_is_proven_to_be_contains_every_point_below_the_cutoff() -> None:
    """Brute force: hyperplanes below the cutoff, in fractions, against the M of the lemma."""
    model = build("zero_one_big_m", penalty=0.6, big_m="derived", intercept="none")
    model.objective.set_value(model.objective.expr - 0.5 * model.w[0] ** 2)
    rule = big_m_rule(model.origin)
    assert rule is not None
    rows = switched_rows(model, standard_form(model), rule)
    assert rows is not None
    cutoff = 4.0  # above the optimum, so that there are points to try
    values = completed(model, rows, np.full(DATA.n, np.inf), cutoff, Limits())
    rng = np.random.default_rng(1)
    below, closest = 0, np.inf
    for _ in range(4000):
        w = rng.normal(size=2) * rng.choice([0.3, 1.0, 3.0])
        u = DATA.y * (DATA.X @ w)
        out = u < 1
        f = Fraction(w[0]) ** 2 / 2 + Fraction(w[1]) ** 2 + Fraction(0.6) * int(out.sum())
        if f <= Fraction(cutoff):
            below += 1
            assert (1 - u[out] <= values[out]).all()
            closest = min(closest, float(np.min(values[out] / (1 - u[out]), initial=np.inf)))
    assert below > 100
    assert closest < 2, "and it is not much larger than the largest that occurs"
