"""(24) of Cepeda, Gomez & Han 2024 against enumeration, the big-M model and its printed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import gram_data
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tightmargin.solvers import Verdict

DATA = points("overlapping", 1, n=8, d=2)
WIDE = points("separable", 2, n=5, d=9)  # more features than points: w is no other sum of them
KERNEL = gram_data(DATA, kernel="rbf", width=1.0)
PENALTY = 0.9


def printed(data: Any, found: tm.SolveResult, mode: str) -> tuple[float, np.ndarray]:
    """alpha' K alpha + penalty sum z and (K alpha)_i, with the n^2 products of (24)."""
    alpha, y = found.values["alpha"], data.y
    gram = data.gram if isinstance(data, tm.GramData) else data.X @ data.X.T
    K = np.outer(y, y) * (gram + (mode == "penalised"))
    u = K @ alpha + (y * found.values["b"] if mode == "free" else 0)
    return float(alpha @ K @ alpha) + PENALTY * float(found.values["z"].sum()), u


@pytest.mark.parametrize(
    ("data", "mode"),
    [(DATA, "free"), (DATA, "penalised"), (WIDE, "none"), (KERNEL, "free"), (KERNEL, "penalised")],
    ids=["flat-free", "flat-penalised", "wide-none", "kernel-free", "kernel-penalised"],
)
def test_multipliers_have_the_optimum_of_the_hyperplane(data: Any, mode: str) -> None:
    found = tm.solve(tm.zero_one_kernel(data, penalty=PENALTY, intercept=mode))
    other = tm.solve(tm.zero_one_big_m(data, penalty=PENALTY, intercept=mode, big_m="derived"))
    assert found.certificate.verdict is other.certificate.verdict is Verdict.CERTIFIED
    assert found.certificate.level == "paper"
    assert found.objective == pytest.approx(other.objective, rel=1e-6)
    if data is DATA:
        expected = reference_solutions.zero_one_optimum(data, mode, PENALTY)
        assert found.objective == pytest.approx(expected, rel=1e-6)
    value, u = printed(data, found, mode)
    assert value == pytest.approx(found.objective, rel=1e-9)
    z = found.values["z"]
    assert ((1 - u) * (1 - z) <= 1e-9).all()
    assert ((1 - u) * z >= -1e-9).all()
