"""Equations of A'S A + C with full columns, against a dense solve of the same."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.certificates.normal_matrix import NormalMatrix, solved


def instance(
    rng: np.random.Generator, n: int, d: int, *, curved: bool, chained: bool
) -> NormalMatrix:
    """Rows of points with a slack each, as in a support vector machine; slacks may be chained."""
    slacks = sp.identity(n)
    if chained:
        slacks = slacks + sp.diags(np.full(n - 1, 0.5), 1)
    A = sp.vstack([
        sp.hstack([sp.csc_matrix(rng.normal(size=(n, d))), slacks]),
        sp.hstack([sp.csc_matrix((n, d)), sp.identity(n)]),
    ]).tocsc()  # fmt: skip
    scaled = sp.diags(rng.random(2 * n) + 0.01).tocsr()
    curvature = np.zeros(n + d)
    if curved:
        curvature[:d] = 1.0
    return NormalMatrix(
        A, scaled, sp.diags(curvature).tocsc() if curved else sp.csc_matrix((n + d,) * 2)
    )


def dense(normal: NormalMatrix) -> Array:
    A = normal.A.toarray()
    return A.T @ normal.scaled.toarray() @ A + normal.curvature.toarray()


@pytest.mark.parametrize("curved", [True, False])
@pytest.mark.parametrize("chained", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_full_columns_are_eliminated_last(seed: int, *, curved: bool, chained: bool) -> None:
    rng = np.random.default_rng(seed)
    normal = instance(rng, 60, 5, curved=curved, chained=chained)
    assert normal.full.tolist() == [True] * 5 + [False] * 60
    target = rng.normal(size=65)
    right = np.linalg.solve(dense(normal), target)
    np.testing.assert_allclose(solved(normal, target), right, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(normal.times(target), dense(normal) @ target, rtol=1e-10, atol=1e-10)


def test_without_full_columns_the_matrix_is_factorised_as_it_is() -> None:
    rng = np.random.default_rng(1)
    A = sp.vstack([sp.identity(40), sp.diags(rng.random(39), 1, shape=(40, 40))]).tocsc()
    normal = NormalMatrix(A, sp.identity(80).tocsr(), sp.csc_matrix((40, 40)))
    assert not normal.full.any()
    target = rng.normal(size=40)
    np.testing.assert_allclose(
        solved(normal, target), np.linalg.solve(dense(normal), target), rtol=1e-8
    )


def test_multipliers_of_nothing_move_nothing() -> None:
    normal = instance(np.random.default_rng(2), 20, 2, curved=False, chained=False)
    nothing = NormalMatrix(normal.A, 0 * normal.scaled, normal.curvature)
    assert not solved(nothing, np.ones(22)).any()
