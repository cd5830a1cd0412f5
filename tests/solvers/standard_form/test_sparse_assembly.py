"""Sparse blocks of rows are written a few rows at a time, and are the rows of dense points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

from tests.inside.solvers import sparse_assembly, standard_form
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData, c_svc


def drawn(n: int, d: int, density: float, seed: int) -> TrainingData:
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=density, rng=rng, format="csr")
    return TrainingData(X, np.where(np.arange(n) % 2, 1, -1))


def fix_a_weight(m: pyo.ConcreteModel) -> None:
    m.w[0].fix(2.0)


def drop_a_row(m: pyo.ConcreteModel) -> None:
    m.margin[1].deactivate()


def move_a_row(m: pyo.ConcreteModel) -> None:
    m.margin[0].set_value(m.margin[0].body >= 0.5)


EDITS = (fix_a_weight, drop_a_row, move_a_row)


FEW = [((), 3), (EDITS[:1], 1), (EDITS[1:2], 3), (EDITS[2:], 1000), (EDITS, 1), (EDITS, 3)]


@pytest.mark.parametrize(("edits", "at_once"), FEW)
def test_rows_are_those_of_dense_points(
    edits: tuple[Callable[[pyo.ConcreteModel], None], ...],
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sparse_assembly, "AT_ONCE", at_once)
    for seed in range(6 if FULL else 2):
        data = drawn(7, 3, 0.4, seed)
        forms = []
        for points in (data.X, data.X.toarray()):
            model = c_svc(TrainingData(points, data.y), C=1.0)
            for edit in edits:
                edit(model)
            forms.append(standard_form(model))
        kept, dense = forms
        assert np.array_equal(kept.A.toarray(), dense.A.toarray())
        assert np.array_equal(kept.A.indptr, dense.A.indptr), "no cell is stored twice or as 0"
        assert np.array_equal(kept.A.indices, dense.A.indices), "columns ascend"
        assert np.array_equal(kept.row_lower, dense.row_lower)
