"""Equations of A'S A + C with full columns, against a dense solve of the same."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.inside.formulations import Array
from tests.inside.solvers import NormalMatrix, Root, normal_matrix, pack, solved, unpack


def test_multipliers_of_nothing_move_nothing() -> None:
    A = sp.csc_matrix(np.random.default_rng(2).normal(size=(20, 6)))
    nothing = NormalMatrix(A, sp.csr_matrix((20, 20)), sp.csc_matrix((6, 6)))
    assert not solved(nothing, np.ones(6)).any()


def with_matrices(
    rng: np.random.Generator, k: int, *, own_entries: bool
) -> tuple[NormalMatrix, Array]:
    """A block of order k beside plain rows, and its A'S A written out with S as a matrix."""
    size, plain = k * (k + 1) // 2, 12
    columns = size + 3 if own_entries else 9
    block = -np.eye(size, columns) if own_entries else rng.normal(size=(size, columns))
    block[rng.random(block.shape) < 0.3 * (not own_entries)] = 0.0
    A = np.vstack([rng.normal(size=(plain, columns)), block])
    A[:plain] *= rng.random(A[:plain].shape) < 0.5
    half = rng.normal(size=(k, k))
    root = half @ half.T / k + np.diag(np.arange(k) % 3 * 1e-3)
    S = np.zeros((plain + size, plain + size))
    S[:plain, :plain] = np.diag(rng.random(plain) + 0.1)
    for j, unit in enumerate(np.eye(size)):
        S[plain:, plain + j] = pack(root @ unpack(unit) @ root)
    scaled = sp.csr_matrix(np.where(np.arange(len(S)) < plain, S, 0.0))
    scaled = sp.csr_matrix(sp.diags((np.arange(len(S)) < plain).astype(float)) @ scaled)
    roots = [Root(slice(plain, plain + size), root)]
    nothing = sp.csc_matrix((columns, columns))
    return NormalMatrix(sp.csc_matrix(A), scaled, nothing, roots), A.T @ S @ A


@pytest.mark.parametrize("own_entries", [True, False])
@pytest.mark.parametrize("large", [True, False])
def test_semidefinite_blocks_are_applied_as_if_they_were_written_out(
    *, own_entries: bool, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    normal, whole = with_matrices(rng, 6, own_entries=own_entries)
    if large:
        monkeypatch.setattr(normal_matrix, "DENSE_LIMIT", 0)
    assert normal.is_large is large
    wanted = rng.normal(size=len(whole))
    np.testing.assert_allclose(normal.times(wanted), whole @ wanted, rtol=1e-10, atol=1e-10)
    if own_entries:  # of single entries the diagonal is known
        np.testing.assert_allclose(normal.near_diagonal(), np.diag(whole), rtol=1e-10)
    target = whole @ wanted
    left = whole @ solved(normal, target) - target
    assert np.abs(left).max() <= 1e-6 * np.abs(target).max()
