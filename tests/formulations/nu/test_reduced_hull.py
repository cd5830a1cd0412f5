"""Nearest points of the (reduced) hulls: the hard margin, the nu-SVC, and where nothing is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.formulations import MEET, gram_data
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import checked
from tests.support.covering import FULL
from tightmargin.solvers import SolveResult, Verdict


def certified(model: Any, **words: Any) -> SolveResult:
    result = tm.solve(model, **{"absolute_gap": 1e-7} | words)  # where the hulls meet it is 0
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    return result


def test_a_kernel_matrix_is_taken() -> None:
    gram = gram_data(points("overlapping", 3, n=20), kernel="rbf", width=0.8)
    for bound, cap in ((0.15, 0.15), ("none", 1.0)):
        result = certified(tm.reduced_hull_svc(gram, hull_bound=bound))
        expected = reference_solutions.hull_distance(gram.gram, gram.y, cap, "free")
        assert result.objective == pytest.approx(expected, rel=1e-6)
        assert "degenerate" not in result.certificate.facts, "rbf separates distinct points"


@pytest.mark.parametrize(("apart", "meet"), [(4e-5, True), (1e-2, False)])
def test_what_counts_as_meeting_is_a_share_of_the_spread_wherever_the_points_lie(
    apart: float, meet: bool
) -> None:
    """Two means `apart` from each other, of segments of length 2 that overlap."""
    X = 1e6 + np.array([[-1.0], [1.0 + 2 * apart], [-1.0], [1.0]])
    model = tm.reduced_hull_svc(tm.TrainingData(X, [1, 1, -1, -1]), hull_bound="none")
    facts = checked(model, alpha=np.full(4, 0.5)).facts
    assert facts["hull_distance"] == pytest.approx(apart, rel=1e-4)
    assert (facts.get("degenerate") == MEET) == meet


@given(
    seed=st.integers(0, 10**6),
    share=st.floats(0.0, 1.0),
    mode=st.sampled_from(INTERCEPTS),
    kind=st.sampled_from(["separable", "overlapping", "unbalanced"]),
)
@settings(max_examples=30 if FULL else 12)
def test_any_weights_give_a_distance_above_and_a_bound_below_the_optimum(
    seed: int, share: float, mode: str, kind: str
) -> None:
    rng, data = np.random.default_rng(seed), points(kind, seed % 5, n=10)
    least = 1 / min(data.n_pos, data.n_neg)
    cap = least + share * (1 - least)
    expected = reference_solutions.hull_distance(data.X @ data.X.T, data.y, cap, mode)
    model = tm.reduced_hull_svc(data, hull_bound=cap, intercept=mode)
    found = checked(model, alpha=rng.uniform(-0.3, 0.6, data.n))
    assert found.bound.value <= expected + 1e-9 <= found.objective + 2e-9
    alpha = found.repaired["alpha"]
    assert -1e-15 <= alpha.min() <= alpha.max() <= cap * (1 + 1e-12)
    sums = [alpha[data.y > 0].sum(), alpha[data.y < 0].sum()]
    assert sum(sums) == pytest.approx(2.0)
    assert mode != "free" or sums == pytest.approx([1.0, 1.0])


def test_at_the_end_of_the_range_the_smaller_class_is_its_mean() -> None:
    data = points("unbalanced", 1, n=14)
    result = certified(tm.reduced_hull_svc(data, hull_bound=1 / 4))
    np.testing.assert_allclose(result.values["alpha"][data.y > 0], 0.25, atol=1e-9)
