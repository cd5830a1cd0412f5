"""Cross-validation: the tie rule by hand, fits by other packages, choices recounted, ways out."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from tests.inside.experiments import (
    TIES,
    Fit,
    Samples,
    choose,
    cross_validate,
    cross_validate_folds,
    cross_validation,
    fits,
    fold_numbers,
    gaussian_error,
    hinge_grid,
    loss_grids,
    mistakes,
    outlier_data,
    outlier_direction,
    papers_grid,
    splits,
    synthetic_samples,
)
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Status, Verdict

GRID = [0.1, 0.5, 0.9]
SPEC = "synthetic:clustered,n=60,d=2,sigma=0.3,seed=1"
SAMPLES = synthetic_samples(SPEC, test_points=2000)


def loop_mistakes(data: TrainingData, w: Any, b: float) -> int:
    """Mistakes point by point."""
    return sum(
        1
        for x, y in zip(data.X.tolist(), data.y.tolist(), strict=True)
        if y * (sum(p * q for p, q in zip(x, w, strict=True)) + b) <= 0
    )


# --- the tie rule and the grids ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "first", "middle", "last"),
    [
        ([3, 2, 5, 2, 2, 9], 1, 3, 4),
        ([4, 1, 1, 6], 1, 1, 2),
        ([7, None, 7], 0, 0, 2),
        ([0], 0, 0, 0),
        ([None, 8, None, 9], 1, 1, 1),
    ],
)
def test_the_tie_rule_by_hand(counts: list[int | None], first: int, middle: int, last: int) -> None:
    assert [choose(counts, tie) for tie in TIES] == [first, middle, last]


def test_the_grids_are_the_papers() -> None:
    """100 values of beta inside (0, 1), of kappa in (0, 0.5]; the paper's kappa = 0 is left out."""
    beta, kappa = papers_grid("hinge"), papers_grid("conic")
    assert beta.shape == kappa.shape == (100,)
    assert np.diff(beta) == pytest.approx(np.full(99, 1 / 101))
    assert (beta[0], beta[-1]) == pytest.approx((1 / 101, 100 / 101))
    assert np.diff(kappa) == pytest.approx(np.full(99, 0.005))
    assert (kappa[0], kappa[-1]) == pytest.approx((0.005, 0.5))


# --- the fits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.05, 0.5, 0.9])
def test_hinge_fits_are_those_of_scikit_learn(beta: float) -> None:
    """The paper's ||w||^2 + lambda sum of hinge losses, lambda = beta / (1 - beta)."""
    data = outlier_data("none", n=60, d=3, sigma=0.5, seed=3)
    (fit,) = fits("hinge", data, [beta])
    penalty = beta / (1 - beta)
    rows = np.hstack([data.X, np.ones((60, 1))])
    machine = LinearSVC(
        C=penalty / 2, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000
    ).fit(rows, data.y)

    def paper(weight: Any) -> float:
        hinge = np.maximum(0, 1 - data.y * (rows @ weight)).sum()
        return float(weight @ weight + penalty * hinge)

    assert fit.w is not None
    own = np.append(fit.w, fit.b)
    assert own == pytest.approx(machine.coef_[0], abs=1e-4)
    assert paper(own) == pytest.approx(paper(machine.coef_[0]), rel=1e-6)
    assert fit.objective == pytest.approx(paper(own) / 2, rel=1e-6)
    assert fit.bound == pytest.approx(fit.objective, rel=1e-6)
    assert fit.certified


@pytest.mark.parametrize("kappa", [0.05, 0.3])
def test_conic_fits_are_those_of_the_papers_budget_problem(kappa: float) -> None:
    data = outlier_data("clustered", n=30, d=2, sigma=0.4, seed=5)
    (fit,) = fits("conic", data, [kappa])
    expected = reference_solutions.theorem_2(data, "penalised", budget=kappa)
    assert fit.objective == pytest.approx(expected.value, rel=1e-5)
    assert fit.w == pytest.approx(expected.w, abs=1e-3)
    assert fit.b == pytest.approx(expected.b, abs=1e-3)
    assert fit.certified


# --- error rates ---------------------------------------------------------------------------------


def test_the_ideal_classifier_has_the_error_the_paper_prints() -> None:
    """0.6, 15.9 and 30.9 % for sigma 0.2, 0.5 and 1 (Table 1, Bayes)."""
    direction = outlier_direction(d=3, seed=0)
    for sigma, printed in ((0.2, 0.6), (0.5, 15.9), (1.0, 30.9)):
        error = gaussian_error(7 * direction, 0.0, centroid=direction / 2, sigma=sigma)
        assert 100 * error == pytest.approx(printed, abs=0.05)


@pytest.mark.parametrize("spec", ["spread,n=20,d=3,sigma=0.5,seed=4",
                                  "none,n=40,d=3,sigma=0.4,seed=6,features=2+0"])  # fmt: skip
def test_the_exact_error_is_what_counting_finds(spec: str) -> None:
    """Of chosen columns it is the closed form of those columns."""
    samples = synthetic_samples(f"synthetic:{spec}", test_points=20_000)
    assert samples.exact is not None
    rng, d = np.random.default_rng(0), samples.test.d
    for _ in range(4):
        w, b = rng.standard_normal(d), float(rng.normal())
        error = samples.exact(w, b)
        seen = mistakes(samples.test.y, samples.test.X @ w + b) / samples.test.n
        assert abs(seen - error) < 5 * math.sqrt(error * (1 - error) / samples.test.n)
    assert samples.exact(np.zeros(d), 2.0) == 0.5
    assert samples.exact(np.zeros(d), 0.0) == 1.0, "a score of 0 takes no side"
    assert mistakes(np.array([1.0, -1.0, 1.0, -1.0]), np.array([0.0, 0.0, 0.1, 0.1])) == 3


def test_samples_share_their_law_and_no_point() -> None:
    train, validation, test = SAMPLES.train, SAMPLES.validation, SAMPLES.test
    assert (train.n, validation.n, test.n) == (60, 60, 2000)
    points = [tuple(x) for sample in (train, validation, test) for x in sample.X.tolist()]
    assert len(set(points)) == len(points)
    np.testing.assert_array_equal(
        train.X, outlier_data("clustered", n=60, d=2, sigma=0.3, seed=1).X
    )
    direction = outlier_direction(d=2, seed=1)
    far = [int((sample.X @ direction < -3).sum()) for sample in (train, validation, test)]
    assert far[0] > 0, "a cluster to train on"
    assert far[1] > 0, "and one to validate with"
    assert far[2] == 0, "test points are clean"


def test_flipped_labels_are_tested_without_flips() -> None:
    samples = synthetic_samples("synthetic:flip,n=80,d=2,tau=0.3,seed=2", test_points=500)
    assert samples.exact is None
    assert not reference_solutions.is_separable(samples.train, "free")
    assert not reference_solutions.is_separable(samples.validation, "free")
    assert reference_solutions.is_separable(samples.test, "free")


# --- the choice ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["hinge", "conic"])
def test_the_choice_agrees_with_a_recount(method: str) -> None:
    found = cross_validate(method, SAMPLES, grid=20, tie="last")
    assert len(found.rows) == 20
    counts = []
    for row in found.rows:
        (fit,) = row.fits
        assert fit.w is not None
        counts.append(loop_mistakes(SAMPLES.validation, fit.w, fit.b))
    assert [row.mistakes for row in found.rows] == counts
    best = [k for k, count in enumerate(counts) if count == min(counts)]
    assert found.choices["first"].row is found.rows[best[0]]
    assert found.chosen is found.choices["last"]
    assert found.chosen.row is found.rows[best[-1]]
    for choice in found.choices.values():
        assert choice.fit.w is not None
        assert choice.test_mistakes == loop_mistakes(SAMPLES.test, choice.fit.w, choice.fit.b)
        assert choice.exact_error == pytest.approx(choice.test_mistakes / 2000, abs=0.03)
    assert found.complaints == []


def spoiled(only: float) -> Any:
    """Fits whose certificate is lost at one value of the hyperparameter, and whose w at another."""
    original = loss_grids.fits

    def one(fit: Fit) -> Fit:
        if fit.hyperparameter == only:
            lost = replace(fit.certificate, verdict=Verdict.NOT_CERTIFIED, reason="the gap is 3e-5")
            return replace(fit, certificate=lost)
        if fit.hyperparameter == 0.9:
            return replace(fit, w=None, objective=None, status=Status.LIMIT_NO_SOLUTION)
        return fit

    return lambda *arguments, **settings: tuple(map(one, original(*arguments, **settings)))


def test_uncertified_fits_are_named_and_take_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cross_validate("hinge", SAMPLES, grid=GRID)
    best = whole.chosen.row.hyperparameter
    assert best == 0.5
    monkeypatch.setattr(cross_validation, "fits", spoiled(best))
    found = cross_validate("hinge", SAMPLES, grid=GRID)
    assert [row.hyperparameter for row in found.rows] == [0.1, 0.5, 0.9]
    assert [row.mistakes is None for row in found.rows] == [False, True, True]
    assert found.chosen.row.hyperparameter == 0.1
    lost, gone = found.complaints
    assert lost == "beta = 0.5: NOT_CERTIFIED: the gap is 3e-5"
    assert gone.startswith("beta = 0.9: ")
    assert "limit_no_solution" in gone
    asked = cross_validate("hinge", SAMPLES, grid=GRID, include_uncertified=True)
    assert asked.chosen.row.hyperparameter == best
    assert asked.rows[2].mistakes is None, "nothing to count with"
    assert asked.complaints == found.complaints


def test_preprocessing_is_fitted_on_the_training_points_alone() -> None:
    shifted = Samples(
        TrainingData(SAMPLES.train.X * [100, 1] + [3, 0], SAMPLES.train.y),
        TrainingData(SAMPLES.validation.X * [100, 1] + [3, 0], SAMPLES.validation.y),
        TrainingData(SAMPLES.test.X * [100, 1] + [3, 0], SAMPLES.test.y),
        SAMPLES.exact,
    )
    found = cross_validate("hinge", shifted, grid=[0.3], preprocessing={"normalise": "zscore"})
    scaler = StandardScaler().fit(shifted.train.X)
    (fit,) = fits("hinge", TrainingData(scaler.transform(shifted.train.X), shifted.train.y), [0.3])
    assert fit.w is not None
    scores = scaler.transform(shifted.validation.X) @ fit.w + fit.b
    assert found.rows[0].mistakes == mistakes(shifted.validation.y, scores)
    assert found.chosen.exact_error is None, "the closed form is that of the raw points"


# --- folds ---------------------------------------------------------------------------------------


def test_folds_are_even_in_both_classes() -> None:
    data = reference_solutions.points("unbalanced", 1, n=23)
    numbers = fold_numbers(data, 4, seed=3)
    assert sorted(set(numbers.tolist())) == [0, 1, 2, 3]
    for kind in (np.full(23, True), data.y > 0, data.y < 0):
        sizes = np.bincount(numbers[kind], minlength=4)
        assert np.ptp(sizes) <= 1
    assert numbers.tolist() == fold_numbers(data, 4, seed=3).tolist()
    assert numbers.tolist() != fold_numbers(data, 4, seed=4).tolist()
    seen = np.concatenate([validation.X for _, validation in splits(data, 4, seed=3)])
    assert sorted(map(tuple, seen.tolist())) == sorted(map(tuple, data.X.tolist()))


def test_mistakes_of_all_folds_are_added_and_the_chosen_machine_is_trained_on_all() -> None:
    data = reference_solutions.points("overlapping", 5, n=30)
    found = cross_validate_folds("hinge", data, folds=3, fold_seed=2, grid=[0.2, 0.8])
    for row in found.rows:
        count = 0
        for k in range(3):
            outside = fold_numbers(data, 3, seed=2) != k
            train = TrainingData(data.X[outside], data.y[outside])
            fit = reference_solutions.hinge(
                train, "penalised", 1.0, row.hyperparameter / (1 - row.hyperparameter)
            )
            held = TrainingData(data.X[~outside], data.y[~outside])
            count += loop_mistakes(held, fit.w, fit.b)
        assert row.mistakes == count
    chosen = found.chosen.row.hyperparameter
    expected = reference_solutions.hinge(data, "penalised", 1.0, chosen / (1 - chosen))
    assert found.chosen.fit.w == pytest.approx(expected.w, abs=1e-4)
    assert found.validation_points == 30


# --- the command ---------------------------------------------------------------------------------


def test_the_command_prints_every_tie_rule_and_writes_the_grid(tmp_path: Path) -> None:
    words = ["cross-validate", "hinge", "--data", SPEC, "--grid", "5", "--test-points", "300"]
    answer = run(*words, "--tie", "last", "--csv", tmp_path / "grid.csv", "--json")
    assert answer.code == 0, answer.stderr
    document = answer.json
    assert document["command"] == "cross-validate"
    assert list(document["choices"]) == list(TIES)
    with (tmp_path / "grid.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["beta"]) for row in rows] == pytest.approx(hinge_grid(5))
    assert [int(row["mistakes"]) for row in rows] == [row["mistakes"] for row in document["rows"]]
    counts = [int(row["mistakes"]) for row in rows]
    last = max(k for k, count in enumerate(counts) if count == min(counts))
    assert document["choices"]["last"]["beta"] == pytest.approx(hinge_grid(5)[last])
    text = run(*words, "--tie", "last").stdout
    (line,) = [line for line in text.splitlines() if "(chosen)" in line]
    assert line.startswith("last")


def test_the_command_cuts_other_data_into_folds(tmp_path: Path) -> None:
    train = write_csv(tmp_path / "train.csv", reference_solutions.points("overlapping", 2, n=20))
    words = ["cross-validate", "conic", "--data", train, "--grid", "2", "--folds", "2"]
    document = run(*words, "--set", "normalise=zscore", "--json").json
    assert document["folds"] == 2
    assert [len(row["objective"]) for row in document["rows"]] == [2, 2]
    assert document["choices"]["first"]["test_mistakes"] is None


def test_the_command_leaves_with_1_when_a_fit_is_not_certified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cross_validation, "fits", spoiled(0.25))
    words = ["cross-validate", "hinge", "--data", SPEC, "--grid", "3", "--test-points", "300"]
    answer = run(*words)
    assert answer.code == 1
    assert "hinge: beta = 0.25: NOT_CERTIFIED" in answer.stderr
    assert "beta = 0.25" in answer.stdout
