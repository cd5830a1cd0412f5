"""The extended nu family and the 0-1 loss on a kernel matrix, beside its explicit features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.references import reference_solutions

DRAW = np.random.default_rng(6)
Y = np.where(np.arange(12) % 2, 1.0, -1.0)
POINTS = DRAW.normal(size=12) + 0.4 * Y
NEW = np.linspace(-2, 2, 9)


def explicit(x: np.ndarray) -> np.ndarray:
    """(1 + x x')^2 has the features sqrt(2) x and x^2, and a constant that centring removes."""
    return np.column_stack([np.sqrt(2) * x, x**2])


FEATURES = tm.TrainingData(explicit(POINTS), Y)
KERNEL = (1 + np.outer(POINTS, POINTS)) ** 2
MIDDLE = np.eye(12) - 1 / 12
CENTRED = tm.GramData(MIDDLE @ KERNEL @ MIDDLE, Y)
NU_BAR = tm.theory.nu_range(FEATURES).nu_bar
BELOW, ABOVE = 0.6 * NU_BAR, (1 + NU_BAR) / 2


def on_circle() -> float:
    costs = np.full(12, 1 / 12)
    found = reference_solutions.nu_risk_on_circle(FEATURES, "free", BELOW, costs)
    return float(found.value)


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("extended_nu_svc", {"nu": BELOW}, lambda: on_circle()),
        ("extended_nu_svc_reverse", {"nu": BELOW}, lambda: on_circle()),
        ("extended_nu_svc_polar", {"nu": BELOW}, lambda: -(on_circle() ** -2)),
        ("min_cvar", {"beta": 1 - BELOW}, lambda: on_circle() / BELOW),
        (
            "extended_nu_svc_ball",
            {"nu": ABOVE},
            lambda: reference_solutions.nu_risk_in_ball(
                FEATURES, "free", ABOVE, np.full(12, 1 / 12)
            ),
        ),
        (
            "zero_one_bilinear",
            {"penalty": 1.3, "intercept": "none"},
            lambda: reference_solutions.zero_one_optimum(
                tm.TrainingData(MIDDLE @ FEATURES.X, Y), "none", 1.3
            ),
        ),
    ],
)
def test_the_optimum_is_that_of_the_features_and_proven(
    name: str, words: dict[str, Any], expected: Any
) -> None:
    found = tm.solve(tm.build(name, CENTRED, **words))
    assert found.objective == pytest.approx(expected(), rel=1e-5)
    assert found.certificate.verdict.value == "CERTIFIED"


def test_every_search_takes_a_kernel_matrix() -> None:
    best = on_circle()
    for search in (tm.search.branch_and_cut, tm.search.hull_search, tm.search.cutting_plane):
        found = search(CENTRED, nu=BELOW)
        assert found.best.objective == pytest.approx(best, rel=1e-5)
        assert found.bound <= found.best.objective * (1 + 1e-9)
    assert tm.search.extended_nu_local(CENTRED, nu=BELOW).objective >= best * (1 - 1e-6)
    (row,) = tm.paths.extended_nu_path(CENTRED, [BELOW]).rows
    assert row.objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(
    ("kernel", "features", "intercept"),
    [
        ({"kpca": "full"}, explicit, "free"),  # components of the centred matrix
        ({}, lambda x: np.column_stack([np.ones(len(x)), explicit(x)]), "none"),
    ],
)
def test_a_machine_on_a_kernel_predicts_as_the_one_on_its_features(
    kernel: dict[str, Any], features: Any, intercept: str
) -> None:
    words = {"kernel": "poly", "degree": 2, "coef0": 1.0} | kernel
    common: dict[str, Any] = {"nu": 0.3, "intercept": intercept}
    ours = tm.FormulationClassifier("extended_nu_svc", **common, **words)
    other = tm.FormulationClassifier("extended_nu_svc", **common)
    assert ours.fit(POINTS[:, None], Y).certificate_.verdict.value == "CERTIFIED"
    scores = other.fit(features(POINTS), Y).decision_function(features(NEW))
    assert ours.decision_function(NEW[:, None]) == pytest.approx(scores, abs=1e-4)


def test_a_matrix_that_is_not_centred_is_refused_where_it_would_be_worth_nothing() -> None:
    with pytest.raises(ValueError, match=r"same score in feature space, 3 components.*H K H"):
        tm.extended_nu_svc(tm.GramData(KERNEL, Y), nu=BELOW)
    for search in (tm.search.branch_and_cut, tm.search.extended_nu_local):
        with pytest.raises(ValueError, match="kpca=full"):
            search(tm.GramData(KERNEL, Y), nu=BELOW)
    with pytest.raises(ValueError, match="kpca=full"):
        tm.paths.extended_nu_path(tm.GramData(KERNEL, Y), [BELOW])
    tm.extended_nu_svc(tm.GramData(KERNEL, Y), nu=0.2, intercept="none")
