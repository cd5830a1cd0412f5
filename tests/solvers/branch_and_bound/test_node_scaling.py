"""Rows and columns of a node in other units, in which their numbers are near each other."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tests.inside.solvers import node_scaling


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
