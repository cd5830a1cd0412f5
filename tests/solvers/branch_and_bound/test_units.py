"""The search in other units: multipliers of rows and cones are then of very different size."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.inside.solvers import node_scaling
from tests.support.covering import FULL
from tightmargin.solvers import Verdict


@pytest.mark.parametrize(("seed", "exponent"), [(0, -17), (4, 13), (7, 20)] if FULL else [(4, 13)])
def test_the_verdict_does_not_depend_on_the_unit_of_the_points(seed: int, exponent: int) -> None:
    """In s X the risk of a w in the unit ball is s times as large."""
    r = np.random.default_rng(seed)
    X, y = r.normal(size=(6, 2)), np.where(r.random(6) < 0.5, 1, -1)
    y[:2] = 1, -1
    plain, moved = (
        tm.solve(
            tm.extended_robust_svc(tm.TrainingData(X * s, y), nu=0.7, mu="1/6", intercept="none"),
            method="branch-and-bound",
        )
        for s in (1.0, 2.0**exponent)
    )
    assert moved.certificate.verdict is plain.certificate.verdict is Verdict.CERTIFIED
    assert moved.objective == pytest.approx(plain.objective * 2.0**exponent, rel=2e-6)


def test_numbers_near_each_other_are_left_as_they_are() -> None:
    A = sp.csr_matrix([[1.0, 3.0], [0.02, 40.0]])
    assert node_scaling(A, np.array([0, 1]), np.array([False, False])).is_one


def test_numbers_far_from_each_other_come_near_and_cones_stay_cones() -> None:
    """What is nothing but rounding beside the rest of its row has no say."""
    A = sp.csr_matrix([[1e6, 1.0, 0.0], [2e6, 1.0, 1e-60], [1.0, 0.0, 0.0], [0.0, 1e-6, 0.0]])
    found = node_scaling(A, np.array([0, 1, 2, 2]), np.array([False, False, True]))
    near = np.abs(sp.diags(found.rows) @ A @ sp.diags(found.columns)).toarray()[:, :2]
    near = near[near > 0]
    assert near.max() / near.min() < 1e3
    assert found.columns[2] == 1.0
    assert found.rows[2] == found.rows[3]
    assert (np.frexp(found.rows)[0] == 0.5).all()
    assert (np.frexp(found.columns)[0] == 0.5).all()
