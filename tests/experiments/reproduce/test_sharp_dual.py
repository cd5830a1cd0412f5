"""Multipliers of nu-SVC to rounding: the support vectors that there are, not a solver's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import NuSVC

from tests.inside.experiments import WIDTH, circles_and_disks
from tests.inside.experiments import perez_cruz_sharp_dual as module
from tests.inside.experiments import perez_cruz_table1 as table1
from tests.inside.experiments import sharp_dual_sharp_dual as sharp_dual
from tests.inside.formulations import gram_data
from tightmargin.formulations import GramData


def kernel_of(seed: int) -> GramData:
    return gram_data(circles_and_disks(seed), kernel="rbf", width=WIDTH)


@pytest.mark.parametrize(("seed", "nu"), [(2, 0.6)])
def test_support_vectors_are_counted_as_libsvm_finds_them(seed: int, nu: float) -> None:
    """At the solver's accuracy there were up to three more."""
    kernel = kernel_of(seed)
    machine = NuSVC(nu=nu, kernel="precomputed", tol=1e-10).fit(kernel.gram, kernel.y)
    found = table1._one(kernel, nu)
    assert found["vectors"] == sorted(machine.support_.tolist())
    assert found["SVs"] == pytest.approx(len(machine.support_) / kernel.n)


@pytest.mark.parametrize("nu", [0.1, 0.8])
def test_a_start_with_a_solvers_errors_leads_to_the_one_solution(nu: float) -> None:
    kernel, rng = kernel_of(3), np.random.default_rng(0)
    Q, cap = kernel.gram * np.outer(kernel.y, kernel.y), 1 / kernel.n
    machine = NuSVC(nu=nu, kernel="precomputed", tol=1e-10).fit(kernel.gram, kernel.y)
    libsvm = np.zeros(kernel.n)
    libsvm[machine.support_] = np.abs(machine.dual_coef_[0])
    libsvm *= nu / libsvm.sum()
    known = sharp_dual(kernel.gram, kernel.y, cap, nu, libsvm)
    assert known == pytest.approx(libsvm, abs=1e-5)
    assert known.sum() == pytest.approx(nu)
    assert known @ kernel.y == pytest.approx(0, abs=1e-12)
    assert known.min() == 0
    assert known.max() <= cap
    for sign in (1.0, -1.0):
        own, slope = kernel.y == sign, Q @ known
        assert slope[own & (known > 0)].max() <= slope[own & (known < cap)].min() + 1e-12
    for noise in (1e-6, 1e-4, 1e-2):
        start = np.clip(libsvm + noise * cap * rng.standard_normal(kernel.n), 0, cap)
        assert sharp_dual(kernel.gram, kernel.y, cap, nu, start) == pytest.approx(known, abs=1e-10)


def test_without_moves_a_wrong_split_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOVES", 1)
    kernel = kernel_of(3)
    with pytest.raises(RuntimeError, match=r"nu = 0\.5 are not found to rounding"):
        sharp_dual(kernel.gram, kernel.y, 1 / kernel.n, 0.5, np.zeros(kernel.n))
