"""Row 4: equal points with opposite labels leave every model valid, and their number is said."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.cases import valid
from tests.inside.formulations import least_errors
from tests.support.covering import FULL
from tightmargin.solvers import Status, build

# Three places: two positive and one negative at 0, one of each at 2, one positive at 3.
X = np.array([[0.0, 1.0], [0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
Y = np.array([1, 1, -1, 1, -1, 1])
DATA = tm.TrainingData(X, Y)


def fewest_wrong(data: tm.TrainingData) -> int:
    """Every way to give each place a label, by brute force; on coordinates, not on bytes."""
    places = sorted({tuple(row) for row in data.X.tolist()})
    home = [places.index(tuple(row)) for row in data.X.tolist()]
    return min(
        sum(labels[p] != y for p, y in zip(home, data.y.tolist(), strict=True))
        for labels in itertools.product((-1.0, 1.0), repeat=len(places))
    )


@given(
    cells=st.lists(st.tuples(st.integers(-1, 1), st.sampled_from([0.0, -0.0, 1.0])), min_size=2),
    seed=st.integers(0, 999),
)
@settings(max_examples=120 if FULL else 30)
def test_row_04_the_least_number_of_errors_is_that_of_brute_force(
    cells: list[tuple[int, float]], seed: int
) -> None:
    y = np.random.default_rng(seed).choice([-1, 1], len(cells))
    y[:2] = 1, -1
    data = tm.TrainingData(np.array(cells, dtype=float), y)
    assert least_errors(data) == fewest_wrong(data)
    gram = tm.GramData(data.X @ data.X.T, y)
    assert least_errors(gram) >= least_errors(data), "the kernel can only merge places"


@pytest.mark.parametrize("name", ["c_svc", "zero_one_relaxed", "min_cvar", "max_margin_svc"])
def test_row_04_every_result_says_how_many_errors_cannot_be_avoided(name: str) -> None:
    settings_ = valid(name, "free") | ({"beta": 0.9} if name == "min_cvar" else {})
    # The CVaR is 0 here: what is proven of it, on a sphere that has no doubles, is within 1e-11.
    result = tm.solve(build(name, DATA, **settings_), absolute_gap=1e-11)
    facts = result.certificate.facts
    assert result.status is Status.OPTIMAL
    assert facts["least_errors"] == 2
    assert "every classifier makes at least 2 errors" in result.message
    assert facts.get("errors", 2) >= 2
    assert ("not separable" in facts.get("degenerate", "")) == (name == "max_margin_svc")
    clean = tm.solve(tm.c_svc(tm.TrainingData(X[[0, 4]], [1, -1]), C=1.0))
    assert "least_errors" not in clean.certificate.facts
    assert "classifier makes" not in clean.message
