"""Rows 5 and 6: dependent features change no optimum, and any shape is solved or refused.

tests/metamorphic adds columns to the data of every entry; tests/formulations/nu/test_extended.py
shows why its family refuses dependent features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.cases import modes, valid
from tests.faults.test_fault_01_non_finite import as_taken
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Status, Verdict, build

PLAIN = points("overlapping", 4, n=5)
DEPENDENT = tm.TrainingData(np.column_stack([PLAIN.X, PLAIN.X.sum(axis=1)]), PLAIN.y)
# The ball of the robust one makes such a w worth what w = 0 is; the dual has no w but its points.
EXEMPT = ("extended_robust_svc", "extended_nu_svc_dual")
EXTENDED = [n for n in CATALOGUE if ("extended" in n or n == "min_cvar") and n not in EXEMPT]


@pytest.mark.parametrize("name", EXTENDED)
def test_row_05_the_extended_family_refuses_by_name(name: str) -> None:
    """Its w has norm 1: along a direction that no point shows, that is for nothing."""
    with pytest.raises(ValueError, match=r"[Ff]eature.*orthonormal_reduction"):
        build(name, as_taken(name, DEPENDENT), **valid(name, "free"))


# --- row 6: few points, or more features than points ----------------------------------------------

# Where its optimum is the problem's its rows have no width: a lift in doubles misses by 1e-14.
ROUNDED_OFF = "conic_sdp_strengthened"
CLAIMED = ("NONCONVEX", "LRCP", "MIQP", "MILP")


def random_points(n: int, d: int) -> tm.TrainingData:
    """Alternating labels: every second point is negative."""
    X = np.random.default_rng([n, d]).standard_normal((n, d))
    return tm.TrainingData(X, np.where(np.arange(n) % 2 == 0, 1, -1))


SHAPES: dict[str, tm.TrainingData] = {
    "2 x 1": random_points(2, 1),
    "2 x 3": random_points(2, 3),
    "3 x 5": random_points(3, 5),
    "2 x 2 in one place": tm.TrainingData(np.ones((2, 2)), [1, -1]),
    "4 x 1 all zero": tm.TrainingData(np.zeros((4, 1)), [1, -1, 1, -1]),
    "4 x 8": random_points(4, 8),
}


def settings_of(name: str, intercept: str) -> dict[str, Any]:
    chosen = valid(name, intercept)
    return chosen | ({"big_m": "derived"} if "big_m" in chosen else {})


@pytest.mark.parametrize("turn", range(5))
def test_row_06_every_formulation_is_solved_or_refused_with_a_reason(turn: int) -> None:
    """Shapes and modes of the intercept in turn."""
    data, solved = list(SHAPES.values())[turn], 0
    for k, name in enumerate(sorted(CATALOGUE)):
        if not FULL and (k + turn) % 5:
            continue
        intercept = modes(name)[(k + turn + turn // 3) % len(modes(name))]
        try:
            model = build(name, as_taken(name, data), **settings_of(name, intercept))
            result = tm.solve(model, absolute_gap=1e-8)  # some optima are 0
        except ValueError as refusal:
            sentence = str(refusal)
            assert len(sentence.split()) > 5, (name, sentence)
            assert "\n" not in sentence
            continue
        solved += 1
        if name == ROUNDED_OFF:
            assert result.certificate.verdict.closed
        else:
            assert_settled(result, name)
    assert solved >= len(CATALOGUE) // (2 if FULL else 10)


def test_row_06_points_that_are_all_zero_without_an_intercept_are_settled() -> None:
    """No point has a strengthening."""
    model = build("conic_fixed", SHAPES["4 x 1 all zero"], **settings_of("conic_fixed", "none"))
    assert_settled(tm.solve(model, absolute_gap=1e-8), "conic_fixed")


def assert_settled(result: SolveResult, name: str) -> None:
    """Certified, or the solver's bound where the class leaves no more, or no point with a why."""
    verdict = result.certificate.verdict
    if verdict is Verdict.CERTIFIED:
        unbounded = {Status.UNBOUNDED} if name == "hard_margin_svc_dual" else set()
        assert result.status in {Status.OPTIMAL, Status.INFEASIBLE} | unbounded, name
    elif verdict is Verdict.SOLVER_BOUND:
        assert result.problem_class in CLAIMED, name
    else:
        # A cone alone can make a model infeasible; of that there is no proof in fractions.
        assert (name, result.status) == ("conic_sdp_budget", Status.INFEASIBLE)
        assert result.certificate.reason
