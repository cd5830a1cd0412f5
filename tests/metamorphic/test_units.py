"""Verdicts in other units: points times 2^k, a constant added to the objective.

With s = 2^k the data of both problems are the same numbers but for their exponents, so that the
optima are related exactly: whatever is CERTIFIED of one may not contradict what is of the other,
and no bound may exceed the optimum of either. To prove less in odd units is no contradiction.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.metamorphic.certified import drawn
from tests.metamorphic.changes import Trial, scaled_by
from tests.metamorphic.families import FAMILIES, UNPRICED
from tests.support.covering import FULL, in_turn
from tightmargin.formulations import CATALOGUE, Origin
from tightmargin.solvers import NumberError, SolveResult, Verdict, solve

CONVEX = [name for name, family in FAMILIES.items() if CATALOGUE[name].problem_class in
          ("LP", "QP", "SOCP", "SDP")]  # fmt: skip
BOTH = [name for name in CONVEX if set(UNPRICED) <= set(FAMILIES[name].intercepts)]
POWERS = (-26, -9, 5, 26)
SEED = 5
NEW_POINTS = 1000
# Two certified objectives of one problem are 1e-6 of it apart at most, twice that together; a
# point may also miss its rows by 1e-6 of their size.
RELATIVE = 1e-5


def mode_of(name: str) -> str:
    """A way to treat the intercept in which points may be written in any units.

    Without one w is unique; the intercepts of least loss may be an interval.
    """
    return next(mode for mode in UNPRICED[::-1] if mode in FAMILIES[name].intercepts)


def answer(trial: Trial) -> SolveResult | None:
    """Result of a problem; None where the numbers are refused by name."""
    model = CATALOGUE[trial.name].build(trial.data, **trial.parameters, intercept=trial.mode)
    try:
        return solve(model)
    except NumberError:
        return None


def refuse_contradiction(one: SolveResult, other: SolveResult, factor: float, shift: float) -> None:
    """Assert that two results of one problem in different units do not contradict each other."""
    certified = [r for r in (one, other) if r.certificate.verdict is Verdict.CERTIFIED]
    if one not in certified or one.objective is None:
        return
    optimum = factor * one.objective
    wide = RELATIVE * abs(optimum)
    if other.bound is not None:
        assert other.bound - shift <= optimum + wide + 1e-9 * abs(shift) * 1e-3
    if other in certified:
        assert other.objective is not None
        assert abs(other.objective - shift - optimum) <= wide + 1e-15 * abs(shift)


def scores(trial: Trial, result: SolveResult, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Signed scores of new points relative to the terms that make them up."""
    classifier = CATALOGUE[trial.name].classifier
    assert classifier is not None
    origin = Origin(trial.name, trial.data, trial.parameters | {"intercept": trial.mode})
    w, b = classifier(origin, result.values, result.duals)
    return (points @ w + b) / (np.abs(points) @ np.abs(w) + abs(b) + 1e-300)


@pytest.mark.parametrize(("name", "power"), in_turn(CONVEX, POWERS))
def test_no_verdict_contradicts_another_in_other_units_and_labels_stay(
    name: str, power: int
) -> None:
    trial = drawn(name, SEED, mode_of(name))
    change = scaled_by(trial, 2.0**power)
    before, after = answer(trial), answer(change.after)
    assert before is not None
    assert before.certificate.verdict is Verdict.CERTIFIED, before.certificate
    if after is None:
        return
    refuse_contradiction(before, after, change.factor, 0.0)
    both = {before.certificate.verdict, after.certificate.verdict} == {Verdict.CERTIFIED}
    if not both or CATALOGUE[name].classifier is None or "linearised_dual" in name:
        return
    rng = np.random.default_rng(100 + power)
    points = 3 * rng.standard_normal((NEW_POINTS, trial.data.d))
    here = scores(trial, before, points)
    there = scores(change.after, after, 2.0**power * points)
    # Certified to 1e-6, a hyperplane is known to the root of that; beyond it the labels are one.
    sure = np.abs(here) > 1e-2
    assert sure.mean() > 0.9 or not np.abs(here).max() > 1e-2
    assert (np.sign(here[sure]) == np.sign(there[sure])).all()


@pytest.mark.parametrize(("name", "power"), in_turn(BOTH[:: 1 if FULL else 3], [-26, 26]))
def test_no_verdict_contradicts_another_beside_a_free_intercept(name: str, power: int) -> None:
    trial = drawn(name, SEED, "free")
    change = scaled_by(trial, 2.0**power)
    before, after = answer(trial), answer(change.after)
    assert before is not None
    if after is not None:
        refuse_contradiction(before, after, change.factor, 0.0)
        refuse_contradiction(after, before, 1 / change.factor, 0.0)


@pytest.mark.parametrize(("name", "constant"), in_turn(CONVEX[:: 1 if FULL else 3], [-1e6, 1e3]))
def test_a_constant_in_the_objective_contradicts_nothing(name: str, constant: float) -> None:
    trial = drawn(name, SEED, mode_of(name))
    before = answer(trial)
    model = CATALOGUE[name].build(trial.data, **trial.parameters, intercept=trial.mode)
    model.objective.set_value(model.objective.expr + constant)
    after = solve(model)
    assert before is not None
    refuse_contradiction(before, after, 1.0, constant)
