"""Truncations at which a loss finds the class of the largest weight, against a search over scores.

The witness minimises the risk over a grid of scores and looks at where they are largest; nothing
of it comes from the theorem.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.inside.formulations import confused_weights, population_risk
from tightmargin.formulations import admissible_truncation, is_consistent

Array = NDArray[np.float64]

LOSSES = {"hinge": lambda u: max(0.0, 1 - u), "logistic": lambda u: float(np.log1p(np.exp(-u)))}
GRID = np.arange(-8.0, 8.01, 0.5)
PLANE = np.array([(a, b, -a - b) for a, b in itertools.product(GRID, GRID)])


def risk_by_hand(loss: str, s: float, q: Any, f: Any) -> float:
    """sum_k q_k min(l(u_k), l(s)), one class after the other."""
    total = 0.0
    for k, weight in enumerate(q):
        lead = min(f[k] - f[j] for j in range(len(q)) if j != k)
        total += weight * min(LOSSES[loss](lead), LOSSES[loss](s))
    return total


def best_scores(loss: str, s: float, q: Any) -> Array:
    """Scores of the least risk on a grid of the plane f_1 + f_2 + f_3 = 0."""
    return PLANE[int(np.argmin([risk_by_hand(loss, s, q, f) for f in PLANE]))]


@pytest.mark.parametrize("K", [3, 4, 10])
def test_the_ranges_are_the_printed_ones_with_the_minus_put_right(K: int) -> None:
    assert admissible_truncation("hinge", K) == pytest.approx((-1 / (K - 1), 0.0), rel=1e-12)
    lower = -np.log(2 ** (K / (K - 1)) - 1)
    assert admissible_truncation("logistic", K) == pytest.approx((lower, 0.0), rel=1e-12)
    assert is_consistent("hinge", -1 / (K - 1), K)
    for loss in LOSSES:
        lower = admissible_truncation(loss, K)[0]
        assert is_consistent(loss, 0.99 * lower, K)
        assert is_consistent(loss, 0.0, K)
        assert not is_consistent(loss, 1.01 * lower, K)
        assert not is_consistent(loss, -np.inf, K)


@pytest.mark.parametrize(("loss", "share"), [("hinge", 1.0), ("hinge", 0.0), ("logistic", 1.0)])
def test_inside_the_range_the_best_scores_are_largest_at_the_largest_weight(
    loss: str, share: float
) -> None:
    s = share * admissible_truncation(loss, 3)[0]
    for q in ((0.3, 0.25, 0.45), (0.44, 0.16, 0.4), (0.1, 0.8, 0.1), (0.38, 0.31, 0.31)):
        f = best_scores(loss, s, q)
        assert int(np.argmax(f)) == int(np.argmax(q))
        assert np.sort(f)[-1] > np.sort(f)[-2]


@pytest.mark.parametrize(("loss", "factor"), [("hinge", 1.2), ("logistic", 3.0)])
def test_outside_the_range_there_are_weights_that_no_scores_tell_apart(
    loss: str, factor: float
) -> None:
    s = factor * admissible_truncation(loss, 3)[0]
    q = confused_weights(loss, s, 3)
    assert q.sum() == pytest.approx(1.0)
    assert q[0] > max(q[1:])
    by_hand = [risk_by_hand(loss, s, q, f) for f in PLANE[::50]]
    np.testing.assert_allclose(population_risk(loss, s, q, PLANE[::50]), by_hand, rtol=1e-12)
    np.testing.assert_allclose(best_scores(loss, s, q), 0.0)
    # With more weight on it the same loss does find the class.
    assert int(np.argmax(best_scores(loss, s, (0.7, 0.15, 0.15)))) == 0


@pytest.mark.parametrize(("loss", "s"), [("hinge", -1.0), ("logistic", -5.0)])
def test_two_classes_need_no_truncation(loss: str, s: float) -> None:
    assert admissible_truncation(loss, 2) == (-np.inf, 0.0)
    assert is_consistent(loss, s, 2)
    line = np.arange(-10.0, 10.0, 0.05)
    for q in ((0.42, 0.58), (0.6, 0.4)):
        risks = [risk_by_hand(loss, s, q, (f, -f)) for f in line]
        assert (line[int(np.argmin(risks))] > 0) == (q[0] > q[1])
