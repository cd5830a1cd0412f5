"""Points on the border of the semidefinite cone moved into it without a solve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.inside.formulations import Array
from tests.inside.solvers import (
    FeasiblePoint,
    Limits,
    clarabel,
    classify,
    exact_point,
    standard_form,
)
from tests.support.semidefinite_models import least_eigenvalue, max_cut


@pytest.fixture(autouse=True)
def no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **words: Any) -> Any:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr(clarabel, "run_conic", refuse)


def found(model: Any, x: Array) -> FeasiblePoint | None:
    form = standard_form(model)
    return exact_point(form, classify(form), x, Limits())


@pytest.mark.parametrize(("n", "off"), [(4, 1e-10), (12, 0.0)])
def test_with_a_trace_of_one_the_way_leads_to_the_middle(n: int, off: float) -> None:
    """More on the diagonal alone would miss the trace."""
    half = np.random.default_rng(n).normal(size=(n, n))
    C = half + half.T
    values, vectors = np.linalg.eigh(C)
    X = np.outer(vectors[:, 0], vectors[:, 0]) - off * np.eye(n)
    point = found(least_eigenvalue(C), X[np.tril_indices(n)])
    assert point.exact
    assert point.varying >= values[0] - 1e-12 * abs(values[0])
    assert point.varying <= values[0] + max(1e-8, 100 * n * off) * abs(values[0])


@pytest.mark.parametrize(("n", "off"), [(5, 0.0), (12, 1e-10)])
def test_a_free_diagonal_takes_what_the_least_eigenvalue_lacks(n: int, off: float) -> None:
    model = max_cut(n, 0)
    form = standard_form(model)
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = form.psd[0].g
    laplacian = -(matrix + np.tril(matrix, -1).T)
    # Diag(y) with all y at the largest eigenvalue is on the border, a hair outside here.
    top = float(np.linalg.eigvalsh(laplacian)[-1])
    y = np.full(n, top - off * top)
    point = found(model, y)
    assert n * top * (1 - 1e-12) <= point.varying <= n * top * (1 + 1e-9 + 10 * off)
