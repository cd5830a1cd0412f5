"""Optima of 0 are attained exactly: separable data, hulls that intersect, what only seems so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import costless_point, standard_form
from tightmargin.solvers import Verdict


def separable(seed: int, n: int = 30, d: int = 3) -> tm.TrainingData:
    """Points in thirds, so that no margin is a double, on both sides of a plane by 1/3 or more."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, size=(n, d)) / 3
    X = X[np.abs(X[:, 0]) > 0.3]
    return tm.TrainingData(X, np.where(X[:, 0] > 0, 1, -1))


def mixed(seed: int, n: int = 24, d: int = 2, unit: float = 1 / 7) -> tm.TrainingData:
    """Classes whose hulls share points, in sevenths or another unit."""
    X = np.random.default_rng(seed).integers(-9, 10, size=(n, d)) * unit
    return tm.TrainingData(X, np.where(np.arange(n) % 2 > 0, 1, -1))


NU = {"nu": 0.3}
ZEROS: dict[str, tuple[str, tm.TrainingData, dict[str, Any]]] = {
    "least loss, free": ("rsvm_relaxed", separable(0), {"intercept": "free"}),
    "least loss, penalised": ("rsvm_relaxed", separable(1), {"intercept": "penalised"}),
    "least loss, no intercept": ("rsvm_relaxed", separable(2), {"intercept": "none"}),
    "least loss of a kernel": ("rsvm_kernel_relaxed", separable(3), {"intercept": "free"}),
    "distance of hulls": ("nu_svc_dual", mixed(0), NU),
    "distance, penalised": ("nu_svc_dual", mixed(1), NU | {"intercept": "penalised"}),
    # t and lambda have prices, and the norm of v is at most their product.
    "a norm that a cone prices": ("extended_nu_svc_dual", mixed(2), NU | {"scale": "takeda"}),
    "in another scale": ("extended_nu_svc_dual", mixed(3), NU | {"scale": "perez_cruz"}),
    **{
        f"a bound, units 2^{k}": (
            "nu_svc",
            mixed(3, 26, 3, 2.0**k),
            {"nu": 0.5, "intercept": "none"},
        )
        for k in (-22, -2, 18)
    },
}


@pytest.mark.parametrize("name", ZEROS)
def test_optima_of_zero_are_exactly_zero(name: str) -> None:
    entry, data, words = ZEROS[name]
    result = tm.solve(tm.build(entry, data, **words))
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.interval == (0, 0)


def test_hulls_that_nearly_touch_are_not_said_to() -> None:
    apart = 2.0**-30
    X = [[0.0, 0.0], [1.0, 1.0], [apart, -apart], [1.0, -1.0]]
    data = tm.TrainingData(X, [1, 1, -1, -1])
    for build in (tm.nu_svc_dual, tm.extended_nu_svc_dual):
        model = build(data, nu=0.5)
        form = standard_form(model)
        assert costless_point(form, np.full(form.n, 0.25)) is None
        result = tm.solve(model)
        assert not (result.certificate.verdict is Verdict.CERTIFIED and result.objective == 0)


def test_a_price_on_what_cannot_be_zero_has_no_costless_point() -> None:
    model = tm.rsvm_relaxed(separable(1))
    model.xi[0].setlb(0.5)
    form = standard_form(model)
    assert costless_point(form, np.ones(form.n)) is None
    assert tm.solve(model).objective == pytest.approx(0.5)
