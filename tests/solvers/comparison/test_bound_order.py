"""Relaxation <= optimum <= heuristic, and no row that is not proven passes for a bound."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.inside.solvers import zero_one_incumbent
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.covering import FULL, in_turn
from tightmargin.formulations import (
    CATALOGUE,
    TrainingData,
    conic_fixed,
    conic_sdp,
    conic_sdp_dual,
    conic_sdp_eliminated,
    conic_sdp_lift,
    conic_sdp_literal,
    conic_sdp_rank_one,
    conic_sdp_strengthened,
    zero_one_big_m,
    zero_one_disjunctive_relaxed,
    zero_one_hinge,
    zero_one_relaxed,
)
from tightmargin.solvers import SolveResult, Verdict, solve

SLACK = 1e-6
CASES = [
    (kind, seed, mode)
    for (kind, seed), mode in in_turn(
        [("overlapping", 0), ("overlapping", 1), ("overlapping", 2), ("unbalanced", 0)], INTERCEPTS
    )
]
PENALTIES = (0.4, 1.5)  # in turn, by the seed


@functools.cache
def optimum(kind: str, seed: int, mode: str, penalty: float) -> float:
    return reference_solutions.zero_one_optimum(points(kind, seed, n=10), mode, penalty)


def proven(result: SolveResult) -> float:
    """The bound of a relaxation, or of the dual that is one by its value.

    A lift whose blocks vanish may have no exactly feasible point: its bound is proven all the same.
    """
    allowed = {Verdict.CERTIFIED}
    if result.formulation == "conic_sdp_lift":
        allowed.add(Verdict.WITHIN_TOLERANCE)
    assert result.certificate.verdict in allowed, result.certificate
    assert result.certificate.unproven == ""
    if CATALOGUE[result.formulation].dual_of:
        return -result.objective
    return result.bound


def relaxations(
    data: TrainingData, mode: str, penalty: float, incumbent: tuple[np.ndarray, float]
) -> dict[str, SolveResult]:
    """Every entry that relaxes the 0-1 problem, some with several hyperparameters."""
    bound = {"intercept_bound": "derived"} if mode == "free" else {}
    common: dict[str, Any] = {"penalty": penalty, "intercept": mode}
    derived = common | {"big_m": "derived", "incumbent": incumbent}
    found = {
        "M=1000": solve(zero_one_relaxed(data, big_m=1000.0, **common)),
        "derived M": solve(zero_one_relaxed(data, **derived)),
        "hinge reading": solve(zero_one_hinge(data, **derived)),
        "SDP": solve(conic_sdp(data, **common, **bound)),
        "printed SDP": solve(conic_sdp_literal(data, **common, **bound)),
        "SDP dual": solve(conic_sdp_dual(data, **common, **bound)),
        "SDP without z": solve(conic_sdp_eliminated(data, **common, **bound)),
        "strengthened SDP": solve(
            conic_sdp_strengthened(data, slack_bounds="derived", incumbent=incumbent, **common)
        ),
        "hull of choices": solve(zero_one_disjunctive_relaxed(data, **common)),
        "pairs of points": solve(conic_sdp_rank_one(data, partners=2, **common, **bound)),
        "lift": solve(conic_sdp_lift(data, incumbent=incumbent, partners="none", **common)),
    }
    if mode != "free":
        for word in ("equal", "inverse_norm", "scaled"):
            found[word] = solve(conic_fixed(data, strengthening=word, **common))
    return found


@pytest.mark.parametrize(("kind", "seed", "mode"), CASES)
def test_relaxations_stay_below_the_optimum_and_heuristics_above(
    kind: str, seed: int, mode: str
) -> None:
    data = points(kind, seed, n=10)
    for penalty in PENALTIES if FULL else (PENALTIES[seed % 2],):
        best = optimum(kind, seed, mode, penalty)
        ours = zero_one_incumbent(data, penalty=penalty, intercept=mode)
        assert ours.objective >= best - SLACK
        found = relaxations(data, mode, penalty, (ours.w, ours.b))
        for name, result in found.items():
            assert proven(result) <= best + SLACK, name
        # One relaxation inside another.
        values = {name: result.objective for name, result in found.items()}
        assert values["M=1000"] <= values["derived M"] + SLACK
        assert values["hinge reading"] <= values["derived M"] + SLACK
        if mode != "free":
            assert values["inverse_norm"] <= values["scaled"] + SLACK
            assert max(values["equal"], values["scaled"]) <= values["SDP"] + SLACK


# --- M without proof -----------------------------------------------------------------------------


def test_a_lying_incumbent_cannot_make_m_valid() -> None:
    """A stated hyperplane is re-evaluated: what it claims to reach does not matter."""
    data, penalty = points("overlapping", 2, n=10), 1.5
    best = optimum("overlapping", 2, "penalised", penalty)
    honest = zero_one_incumbent(data, penalty=penalty, intercept="penalised")
    good = zero_one_big_m(data, penalty=penalty, big_m="derived", incumbent=(honest.w, honest.b))
    lies = [(np.zeros(data.d), 0.0), (1e-9 * honest.w, 0.0), (1e6 * honest.w, honest.b)]
    for w, b in lies:
        model = zero_one_big_m(data, penalty=penalty, big_m="derived", incumbent=(w, b))
        # The true objective of the hyperplane, or a trivial point's: never less than the optimum.
        assert model.big_m_proof.upper_bound >= best - SLACK
        numbers = np.array([p.value for p in model.big_m.values()])
        assert (numbers >= [p.value for p in good.big_m.values()]).all()
    # Numbers below what is proven stay flagged whatever incumbent is stated beside them.
    small = 0.5 * good.big_m_proof.values
    for w, b in lies:
        result = solve(zero_one_relaxed(data, penalty=penalty, big_m=small, incumbent=(w, b)))
        assert "below the proven value" in result.certificate.unproven
    for w, b in ((np.zeros(3), 0.0), (np.full(2, np.nan), 0.0), (np.zeros(2), np.inf)):
        with pytest.raises(ValueError, match=r"incumbent must be \(w, b\)|must be finite"):
            zero_one_big_m(data, penalty=penalty, big_m="derived", incumbent=(w, b))
