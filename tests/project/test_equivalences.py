"""Scikit-learn and the literature as outside witnesses, duals and their primals, the range of nu.

Brooks: min 1/2 ||w||^2 + C #violations with a free intercept: penalty = 2 C, twice the objective.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC, NuSVC

from tests.cases import CASES, known
from tests.inside.experiments import load
from tests.inside.formulations import gram_data, loss_weights, nu_max
from tests.inside.solvers import zero_one_enumeration, zero_one_incumbent
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.covering import FULL, covering, in_turn
from tightmargin.formulations import (
    CATALOGUE,
    GramData,
    Origin,
    TrainingData,
    c_svc,
    c_svc_dual,
    kernel_soft_margin_svc,
    nu_svc,
    nu_svc_dual,
    zero_one_relaxed,
)
from tightmargin.solvers import SolveResult, Verdict, build, nu_range, solve

SEEDS = (0, 1, 2) if FULL else (1,)
KINDS = ("overlapping", "unbalanced")
LIBSVM = 1e-7  # stopping tolerance given to libsvm; smaller ones take it minutes where w is near 0
WIDTH = 0.4


def optimum(model: Any) -> SolveResult:
    result = solve(model, absolute_gap=1e-9)  # some optima are 0: points that two hulls share
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    return result


def scores(result: SolveResult, data: TrainingData | GramData) -> np.ndarray:
    """Decision values at the training points, by the classifier the catalogue gives an entry."""
    entry = CATALOGUE[result.formulation]
    assert entry.classifier is not None
    origin = Origin(result.formulation, data, result.parameters)
    w, b = entry.classifier(origin, result.values, result.duals)
    return data.factor @ w + b


def hinge_objective(decision: np.ndarray, y: np.ndarray, norm2: float, costs: Any) -> float:
    return norm2 / 2 + float(np.sum(costs * np.maximum(0.0, 1 - y * decision)))


# --- scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "C", "weights"),
    [("overlapping", 0.05, (1.0, 1.0)), ("unbalanced", 5.0, (1.0, 1.0)),
     ("unbalanced", 0.6, (1.0, 3.0))],
)  # fmt: skip
def test_c_svc_is_libsvms(kind: str, C: float, weights: tuple[float, float]) -> None:
    """Class weights come in the order of the labels."""
    data, by_label = points(kind, 1), dict(zip((-1, 1), weights, strict=True))
    theirs = SVC(C=C, kernel="linear", tol=LIBSVM, class_weight=by_label).fit(data.X, data.y)
    w = theirs.coef_.ravel()
    costs = C * np.where(data.y > 0, weights[1], weights[0])
    expected = hinge_objective(theirs.decision_function(data.X), data.y, w @ w, costs)
    ours = optimum(c_svc(data, C=C, class_weight=weights))
    # Their point is feasible, so it cannot be better; libsvm crawls where w is nearly 0.
    assert ours.objective <= expected * (1 + 1e-9)
    assert ours.objective == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(ours.values["w"], w, atol=2e-3)
    dual = optimum(c_svc_dual(data, C=C, class_weight=weights))
    assert dual.objective == pytest.approx(-expected, rel=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_kernel_machines_are_libsvms_with_the_rbf_kernel(seed: int) -> None:
    data, C = points("overlapping", seed, n=20), 0.9
    theirs = SVC(C=C, kernel="rbf", gamma=WIDTH, tol=LIBSVM).fit(data.X, data.y)
    decision = theirs.decision_function(data.X)
    gram = gram_data(data, kernel="rbf", width=WIDTH)
    signed = np.zeros(data.n)
    signed[theirs.support_] = theirs.dual_coef_.ravel()
    expected = hinge_objective(decision, data.y, signed @ gram.gram @ signed, C)
    dual = optimum(c_svc_dual(gram, C=C))
    assert dual.objective == pytest.approx(-expected, rel=1e-6)
    representer = optimum(kernel_soft_margin_svc(gram, ridge=1 / (2 * data.n * C)))
    assert representer.objective == pytest.approx(expected / (data.n * C), rel=1e-6)
    for ours in (dual, representer):
        np.testing.assert_allclose(scores(ours, gram), decision, atol=1e-3)


@pytest.mark.parametrize(("seed", "place"), in_turn((0, 1), (0.2, 0.8)))
def test_nu_svc_is_libsvms_inside_the_convex_range(seed: int, place: float) -> None:
    """libsvm solves 1/2 ||w||^2 - nu rho + 1/n sum xi, then divides w and b by rho."""
    data = points("overlapping", seed, n=24)
    ends = nu_range(data)
    nu = ends.nu_min + place * (ends.nu_max - ends.nu_min)
    theirs = NuSVC(nu=nu, kernel="linear", tol=1e-10).fit(data.X, data.y)
    ours = optimum(nu_svc(data, nu=nu))
    rho = float(ours.values["rho"])
    np.testing.assert_allclose(ours.values["w"] / rho, theirs.coef_.ravel(), rtol=2e-3, atol=2e-4)
    # Undo libsvm's division with our rho: its point must be as good as ours, and no better.
    w = theirs.coef_.ravel() * rho
    losses = np.maximum(0.0, rho - data.y * (theirs.decision_function(data.X) * rho))
    theirs_value = w @ w / 2 - nu * rho + losses.mean()
    assert ours.objective == pytest.approx(theirs_value, abs=2e-6)
    assert ours.objective <= theirs_value + 1e-8
    dual = optimum(nu_svc_dual(data, nu=nu))
    assert -dual.objective == pytest.approx(theirs_value, abs=2e-6)


# --- primal and dual -----------------------------------------------------------------------------


def test_a_dual_and_its_primal_are_known_by_one_number() -> None:
    """So that whatever stands as a dual of another entry in the catalogue is one."""
    duals = {name: entry.dual_of for name, entry in CATALOGUE.items() if entry.dual_of}
    assert len(duals) >= 9
    for dual, primal in duals.items():
        primal_model = CATALOGUE[primal].build(CASES[dual].data, **CASES[dual].words_of())
        expected = optimum(primal_model).objective
        assert known(dual) == pytest.approx(-expected, rel=1e-6, abs=1e-7), dual


# --- the range of nu -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "balance", "mode"), covering(KINDS, ["uniform", "balanced"], INTERCEPTS)
)
def test_upper_end_of_nu_is_where_the_dual_stops_being_feasible(
    kind: str, balance: str, mode: str
) -> None:
    data = points(kind, 9)
    share = np.where(data.y > 0, 0.5 / data.n_pos, 0.5 / data.n_neg)
    costs = share if balance == "balanced" else np.full(data.n, 1 / data.n)
    found = nu_range(data, class_balance=balance, intercept=mode).nu_max
    assert reference_solutions.nu_is_solvable(data, mode, found * (1 - 1e-5), costs)
    assert not reference_solutions.nu_is_solvable(data, mode, found * (1 + 1e-5), costs)
    if mode == "free" and balance == "uniform":
        assert found == pytest.approx(2 * min(data.n_pos, data.n_neg) / data.n)


@pytest.mark.parametrize(
    ("balance", "mode"), [("uniform", "free"), ("balanced", "penalised"), ("uniform", "none")]
)
def test_lower_end_of_nu_is_where_the_optimum_leaves_zero(balance: str, mode: str) -> None:
    data = points("overlapping", 10)
    costs = loss_weights(data, balance)
    edge = nu_range(data, class_balance=balance, intercept=mode).nu_min
    assert 0 < edge < nu_max(data, balance, mode)
    assert reference_solutions.nu_machine(data, mode, edge * 0.98, costs).value == pytest.approx(
        0, abs=1e-9
    )
    assert reference_solutions.nu_machine(data, mode, edge * 1.02, costs).value < -1e-7


# --- class balance -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_balanced_weights_are_the_witness_with_half_a_class(mode: str) -> None:
    data = points("unbalanced", 11)
    costs = np.where(data.y > 0, 0.5 / data.n_pos, 0.5 / data.n_neg)
    expected = reference_solutions.nu_machine(data, mode, 0.8, costs).value
    found = optimum(nu_svc(data, nu=0.8, class_balance="balanced", intercept=mode))
    assert found.objective == pytest.approx(expected, abs=1e-7)
    assert expected < -1e-4


# --- optima of the literature: synthetic instances of Brooks --------------------------------------

SMALL = [f"n60d{d}ATj{j}" for d in (2, 5, 10) for j in range(5)]


@pytest.fixture
def published(data_folder: Path) -> dict[str, tuple[float, float]]:
    """Best published bounds at C = 1, by instance."""
    with (data_folder / "hard_margin_loss" / "published_bounds.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if float(row["C"]) == 1]
    return {
        row["instance"]: (
            max(float(row["baseline_lower"]), float(row["benders_lower"])),
            min(float(row["baseline_upper"]), float(row["benders_upper"])),
        )
        for row in rows
    }


@pytest.mark.parametrize("name", SMALL if FULL else SMALL[::5])
def test_bound_published_optimum_incumbent(
    name: str, data_folder: Path, published: dict[str, tuple[float, float]]
) -> None:
    data = load(str(data_folder / "hard_margin_loss" / name))
    assert (data.n, data.d) == (60, int(name.partition("d")[2].partition("A")[0]))
    lower, upper = published[name]
    if data.d == 2:
        found = zero_one_enumeration(data, penalty=2.0, intercept="free")
        assert found.objective / 2 == pytest.approx(upper, rel=1e-6)
        assert found.bound <= found.objective
    sdp = solve(build("conic_sdp", data, penalty=2.0, intercept="free", intercept_bound="derived"))
    assert sdp.certificate.unproven == ""
    incumbent = zero_one_incumbent(data, penalty=2.0, intercept="free")
    relaxed = solve(
        zero_one_relaxed(
            data, penalty=2.0, big_m="derived", intercept="free",
            incumbent=(incumbent.w, incumbent.b),
        )
    )  # fmt: skip
    # With |b| bounded only by its derived value the SDP is worth next to nothing, and still valid.
    assert sdp.bound is not None
    assert sdp.bound / 2 <= upper * (1 + 1e-6)
    assert relaxed.bound is not None
    assert 0 < relaxed.bound / 2 <= upper * (1 + 1e-6)
    assert incumbent.objective / 2 >= lower * (1 - 1e-6)
