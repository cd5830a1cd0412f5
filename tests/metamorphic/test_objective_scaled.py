"""An objective times a positive number, or a constant more: the optimum follows."""

from __future__ import annotations

import pytest

from tests.cases import CASES
from tests.inside.formulations import rests_on_something
from tests.metamorphic.certified import close, proven_gap, solved_first
from tests.metamorphic.changes import Trial, drawn
from tests.metamorphic.families import FAMILIES
from tests.support.covering import FULL, in_turn
from tightmargin.formulations import CATALOGUE, Origin, ProblemClass
from tightmargin.solvers import Verdict, solve

CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)
CLAIMED = 1e-5  # how near a solver ends where nothing is proven


def origin_of(trial: Trial) -> Origin:
    return Origin(trial.name, trial.data, trial.parameters | {"intercept": trial.mode})


@pytest.mark.parametrize(
    ("name", "factor"), in_turn(list(FAMILIES)[:: 1 if FULL else 2], [1e-6, 0.02, 3.7, 1e6])
)
def test_an_objective_times_a_number_has_the_optimum_times_that_number(
    name: str, factor: float
) -> None:
    trial = drawn(name, CASES[name].intercepts[-1])
    before = solved_first(name, trial.mode)
    model = CATALOGUE[name].build(trial.data, **trial.parameters, intercept=trial.mode)
    model.objective.set_value(factor * model.objective.expr)
    after = solve(model)
    assert after.certificate.level == "model", "the formula of the paper is not this objective"
    if after.certificate.unproven:
        # M and limits were derived from prices that are others now.
        assert rests_on_something(origin_of(trial))
    elif CATALOGUE[name].problem_class in CONVEX:
        assert after.certificate.verdict is Verdict.CERTIFIED, after.certificate
    else:
        assert after.certificate.verdict is not Verdict.NOT_CERTIFIED, after.certificate
    assert before.objective is not None
    assert after.objective is not None
    gaps = factor * proven_gap(before) + proven_gap(after)
    if after.bound is None:
        gaps += CLAIMED * abs(after.objective)
    assert close(after.objective, factor * before.objective, gaps)


@pytest.mark.parametrize(
    ("name", "constant"),
    in_turn([n for n in FAMILIES if CATALOGUE[n].problem_class in CONVEX][::3], [-1e6, 1e3]),
)
def test_a_constant_in_the_objective_is_in_the_optimum(name: str, constant: float) -> None:
    trial = drawn(name, CASES[name].intercepts[-1])
    before = solved_first(name, trial.mode)
    model = CATALOGUE[name].build(trial.data, **trial.parameters, intercept=trial.mode)
    model.objective.set_value(model.objective.expr + constant)
    after = solve(model)
    assert before.objective is not None
    assert after.objective is not None
    room = 1e-5 * abs(before.objective) + 1e-15 * abs(constant)
    if after.bound is not None:
        assert after.bound - constant <= before.objective + room
    if after.certificate.verdict is Verdict.CERTIFIED:
        assert abs(after.objective - constant - before.objective) <= room
