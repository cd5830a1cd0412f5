"""The hull of every choice of the disjunctive 0-1 loss, with the norm inside and outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.references import reference_solutions
from tests.references.disjunctive_hull import disjunctive_hull
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import proven
from tests.support.covering import FULL
from tightmargin.formulations import zero_one_disjunctive_relaxed


@pytest.mark.parametrize("mode", INTERCEPTS)
@pytest.mark.parametrize("norm", ["disjuncts", "objective"])
def test_the_value_is_that_of_the_hulls_written_out(mode: str, norm: str) -> None:
    data = points("overlapping", 1, n=7)
    result = proven(zero_one_disjunctive_relaxed(data, penalty=1.5, intercept=mode, norm=norm))
    expected = disjunctive_hull(data, mode, 1.5, inside=norm == "disjuncts")
    assert result.objective == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("seed", range(9)[:: 1 if FULL else 4])
def test_linear_hull_below_exact_hull_below_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, mode, penalty = int(rng.integers(4, 8)), INTERCEPTS[seed % 3], (0.2, 1.0, 5.0)[seed // 3]
    y = rng.permutation(np.where(np.arange(n) < 2, 1, -1))
    data = tm.TrainingData(rng.integers(-2, 3, size=(n, 2)).astype(float), y)
    words: dict[str, Any] = {"penalty": penalty, "intercept": mode}
    linear = proven(zero_one_disjunctive_relaxed(data, norm="objective", **words))
    exact = proven(zero_one_disjunctive_relaxed(data, **words))
    best = reference_solutions.zero_one_optimum(data, mode, penalty)
    room = 1e-6 * max(1.0, best)
    assert linear.bound <= exact.objective + room
    assert exact.bound <= best + room


def test_a_better_known_hyperplane_gives_a_larger_bound() -> None:
    data = points("overlapping", 2, n=7)
    best = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m="derived"))
    known = np.asarray(best.values["w"]), float(best.values["b"])
    plain = proven(zero_one_disjunctive_relaxed(data, penalty=1.0))
    better = proven(zero_one_disjunctive_relaxed(data, penalty=1.0, incumbent=known))
    assert plain.bound <= better.objective * (1 + 1e-6)
    assert better.bound <= best.objective * (1 + 1e-6)
