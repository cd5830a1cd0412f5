"""Columns for missed rows: looking at few entries finds what looking at all of them finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.inside.solvers import Moves, StandardForm, moves_of, one_sided_columns, standard_form
from tightmargin.formulations import TrainingData, c_svc, conic_sdp, nu_svc, rsvm

MODELS: dict[str, Callable[[TrainingData], Any]] = {
    "c-SVC": lambda data: c_svc(data, C=1.0),
    "nu-SVC": lambda data: nu_svc(data, nu=0.6),
    "rigorous SVM": lambda data: rsvm(data, norm_bound=1.0),
    "conic": lambda data: conic_sdp(data, penalty=1.0),
}


def form_of(name: str, seed: int, n: int = 60) -> StandardForm:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return standard_form(MODELS[name](TrainingData(X, y)))


def listed(moves: Moves) -> list[tuple[int, int, float]]:
    return sorted(zip(moves.row.tolist(), moves.column.tolist(), moves.step.tolist(), strict=True))


@pytest.mark.parametrize(("name", "seed"), [(name, k) for k, name in enumerate(MODELS)])
def test_few_entries_find_the_columns_that_all_entries_find(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    form, rng = form_of(name, seed), np.random.default_rng(seed)
    x = rng.normal(size=form.n)
    need = np.where(rng.random(len(form.rows) + len(form.quadratic)) < 0.3, 1e-9, 0.0)
    if seed % 2:
        need[len(form.rows) :] = 0.0
    quick = listed(moves_of(form, x, need))
    monkeypatch.setattr(one_sided_columns, "_unblocked", lambda form: None)
    assert quick == listed(moves_of(form, x, need))
